//! Stage 4: the lockfile, macml.lock: one TOML file for all environments and platforms, written by macml alone.
//!
//! In: [`Resolution`](crate::resolve::Resolution)s, with the digest of what each depends on ([`build()`]), or a path
//! ([`read()`]). Out: a [`Lockfile`] that later stages install, check and export without asking an index, and the bytes
//! that a project commits ([`write()`]).
//!
//! # Goals of the format, in order
//!
//! 1. **The same bytes from any machine.** No address of an index or mirror, no time, no version of the tool, no
//!    absolute path, nothing of the system that wrote it. Every list has one order, lines end in LF, and the writer
//!    ([`format`](mod@format)) is our own, so no library can move a byte. Files are found again by index name, file
//!    name and sha256.
//! 2. **Every file it may install has name, size and sha256.** A lock that says less is refused when read.
//! 3. **A reviewer can read a diff.** One file a line; lists on one line while short and one item a line when long;
//!    what several environments share is said once, with the differences beside it (`requires-in`).
//! 4. **Old locks stay readable.** Every version that was ever released has fixtures in `tests/locks/vN` and is read.
//!
//! # What stands in it
//!
//! * `version` and `revision` of the format; `knowledge`, the date of the rules it was solved with (absent without).
//! * `[[env]]`, one for each environment and platform: the floor (`macos` and `chip`, or `glibc`), `gpu`, `wheels`
//!   (absent when `host`), `python`, `python-full` (absent when every patch release fits), `inputs` (digest of the
//!   parts of the manifest that the answer depends on), `rules` (the knowledge that shaped it), `ignore-rules` (the
//!   knowledge that was switched off; both absent when empty), and `packages` as references: `torch 2.14.1`, `datasets[vision] 4.1.0`, and `mylib 1.0 (index corp)` where the file has more than one
//!   `mylib 1.0`.
//! * `[[package]]`, one for each release: where its files are found again (`index`, or `path` relative to the
//!   project, or the user's own `url`), what it `requires` after markers and extras in the first environment that
//!   has it, the other environments whose edges differ (`requires-in`), and `wheels`: the union of what its
//!   environments may install. [`pick`] tells which of them one environment takes, and which one Mac.
//!
//! # Rules for changing it
//!
//! * A reader refuses a newer `version` and never overwrites such a file. It reads a newer `revision` and passes over
//!   keys that it does not know.
//! * So a revision may only add what an old reader may ignore and an old writer may drop. Anything without which the
//!   rest means something else (another unit, another order, a condition on a file) is a new version.
//! * Never give an old key a new meaning. Retired keys stay reserved.
//! * A new version or revision, in the same commit: the number in [`format`](mod@format), `schema/lock.schema.json`,
//!   fixtures in `tests/locks`, a line in the changelog. The old fixtures stay and keep passing.
//! * Changing the layout of the text, with equal meaning, still makes a diff in every project: only together with a
//!   new version.
//!
//! # Files that are not whole
//!
//! A file with git's conflict markers, or one that was damaged, is never an obstacle: it is solved afresh, and what
//! can be made out of it ([`Pins`]) is what the new answer stays close to. Only a newer version stops everything.
//!
//! # Locks of other tools
//!
//! [`export`] writes what is locked as they have it. [`foreign`] reads those of projects that keep uv or pip. They are looked at and never written, and no answer of macml
//! stays close to them.

pub mod error;
pub mod model;

pub mod format;
pub mod parse;
mod table;

pub mod build;
pub mod conflict;
pub mod file;
pub mod pick;
pub mod pins;

pub mod diff;
pub mod satisfies;
pub mod tree;

pub mod export;
pub mod foreign;

pub use build::{Answer, build, with_envs};
pub use diff::{Diff, diff};
pub use error::{BuildError, Error, FormatError, Problem};
pub use file::{ReadOutcome, read, write};
pub use model::Lockfile;
pub use pins::{Pins, combine, preferences};
pub use satisfies::{Stale, satisfies};

#[cfg(test)]
mod tests;
