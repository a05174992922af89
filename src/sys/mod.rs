//! The only place for files, environment variables, programs and sockets.

#![expect(clippy::disallowed_methods, reason = "this is the place that wraps them")]

pub mod disk;
pub mod entry;
mod env;
mod exec;
pub mod fs;
mod group;
pub mod http;
mod identity;
pub mod kept;
pub mod mac;
pub mod memory;
mod own;
pub mod parallel;
mod partial;
pub mod process;
mod signals;
pub mod survey;
pub mod terminal;
pub mod tree;
mod turn;
mod watched;

pub use env::{Env, Folder};
pub use exec::Exec;
pub use identity::Identity;
pub use identity::resolve;
pub use own::own_path;
pub use partial::Partial;
pub use turn::Turn;
pub use watched::Watched;
