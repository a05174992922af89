//! Locks that other tools wrote: `uv.lock`, `pylock.toml` (PEP 751) and requirements files, read into one plain model.
//!
//! [`read()`] looks at the disk and returns a [`ForeignLock`], which says everything that the file says about releases and
//! their wheels. [`ForeignLock::on`] is pure: it decides markers, extras and groups for one kind of Mac and says which
//! releases its tool would install there, each with the wheel that it would take or with the reason why none fits. Nothing
//! is ever fetched, and nothing of these files is ever written.
//!
//! # What holds
//!
//! * User names, passwords, queries and fragments of addresses are dropped when a file is read; what an error quotes is
//!   masked.
//! * Files of a newer version of a format are refused. Keys that are unknown are passed over: other tools add some with
//!   every release, and none of them may change what is installed within a version.
//! * Wheels are ranked by [`resolve::candidate`](crate::resolve::candidate) as macml's own are, but by their tags alone: the
//!   other tools know nothing of tags that are wrong.
//! * A requirements file names hashes without saying of which file: these stay [`Taken::OneOf`] until somebody who knows
//!   the files of the release looks for them.

pub mod address;
pub mod error;
pub mod model;

mod pieces;
mod told;

mod pylock;
mod requirements;
mod uv;

mod file;
mod on;
mod walk;

pub use address::Address;
pub use error::{Error, Refusal, masked, without_secrets};
pub use file::{decoded, read, read_with_text};
pub use model::{ForeignLock, Format, Origin, Release, Wheel};
pub use on::{Choice, Chosen, Machine, Presence, Selected, Selection, Taken};
pub use told::{Note, Told};

#[cfg(test)]
mod tests;
