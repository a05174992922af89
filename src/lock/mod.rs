//! Stage 4: the lockfile.

pub mod error;
pub mod format;
pub mod model;
pub mod parse;

pub use error::{BuildError, Error, FormatError, Problem};
pub use model::Lockfile;
