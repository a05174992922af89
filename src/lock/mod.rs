//! Stage 4: the lockfile.

pub mod error;
pub mod model;

pub mod format;
pub mod parse;

pub mod build;
pub mod conflict;
pub mod file;
pub mod pick;
pub mod pins;

pub mod diff;
pub mod satisfies;

pub use build::{Answer, build, with_envs};
pub use diff::{Diff, diff};
pub use error::{BuildError, Error, FormatError, Problem};
pub use file::{ReadOutcome, read, write};
pub use model::Lockfile;
pub use pins::{Pins, combine, preferences};
pub use satisfies::{Stale, satisfies};
