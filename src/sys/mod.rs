//! The only place for files, environment variables, programs and sockets.

#![expect(clippy::disallowed_methods, reason = "this is the place that wraps them")]

mod env;
pub mod fs;
pub mod http;
mod identity;
pub mod process;
mod turn;

pub use env::Env;
pub use identity::Identity;
pub use identity::resolve;
pub use turn::Turn;
