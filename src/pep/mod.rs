//! Vocabulary fixed by the Python packaging standards, one file for each.

pub mod hash;
pub mod name;
pub mod version;

pub mod range;

pub mod marker;
pub mod requirement;

pub mod tag;
pub mod wheel_name;

pub mod metadata;

#[cfg(test)]
mod tests;

pub use hash::Sha256;
pub use marker::{Marker, MarkerEnv, Truth};
pub use metadata::Metadata;
pub use name::{ExtraName, PackageName};
pub use range::{Point, VersionRange};
pub use requirement::{Requirement, RequirementSource};
pub use tag::Tags;
pub use version::{Specifiers, Version};
pub use wheel_name::WheelName;
