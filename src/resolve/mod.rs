//! Stage 3: which versions.

pub mod candidate;
pub mod request;
pub mod resolution;

pub use request::Request;
pub use resolution::Resolution;
