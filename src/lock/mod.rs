//! Stage 4: the lockfile.

pub mod model;

pub use model::Lockfile;
