//! Stage 1: what the user asked for.
//!
//! `macml.toml` text goes in; a [`Manifest`] that is always valid comes out, or every mistake at once.

pub mod model;

pub use model::Manifest;
