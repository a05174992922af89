//! The only place for files, environment variables, programs and sockets.

#![expect(clippy::disallowed_methods, reason = "this is the place that wraps them")]

pub mod disk;
mod env;
pub mod fs;
pub mod http;
mod partial;
mod turn;

pub use env::Env;
pub use partial::Partial;
pub use turn::Turn;
