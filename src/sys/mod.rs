//! The only place for files, environment variables, programs and sockets.

#![expect(clippy::disallowed_methods, reason = "this is the place that wraps them")]

mod env;
pub mod fs;
pub mod http;
pub mod tree;
mod turn;

pub use env::Env;
pub use turn::Turn;
