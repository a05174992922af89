//! Vocabulary fixed by the Python packaging standards, one file for each.
//!
//! Everything answers as the `packaging` package from PyPI does; a live test compares them. On purpose it does not:
//!
//! * `===` takes a version and compares versions, not texts: `===1.0` admits `1.0.0`.
//! * `*` alone is the set of specifiers that admits everything.
//! * Numbers end at 64 bits; names are ASCII and neither begin nor end in `-`, `_` or `.`, in wheel names too.
//! * A requirement is one line, without control characters; a wheel's file name has no blanks or slashes either.
//! * A marker compares a variable with a text, never two of a kind; `extras` and `dependency_groups` are read in markers
//!   of lockfiles only; a text in a marker holds no backslash. Comparisons that `packaging` answers with an error are false.

pub mod hash;
pub mod name;
pub mod version;

pub mod range;

pub mod marker;
pub mod requirement;
pub mod requirements_file;

pub mod wheel_name;

pub mod tag;

pub mod metadata;

#[cfg(test)]
mod tests;

pub use hash::Sha256;
pub use marker::{Asked, Marker, MarkerEnv, Truth, Variable};
pub use metadata::Metadata;
pub use name::{ExtraName, PackageName};
pub use range::{Point, VersionRange};
pub use requirement::{Requirement, RequirementSource};
pub use tag::Tags;
pub use version::{Specifiers, Version};
pub use wheel_name::WheelName;
