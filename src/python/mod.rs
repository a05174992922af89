//! Interpreters: where they are, which of them can carry an environment, and which one serves a lock.
//!
//! Input: a [`Machine`], which says where to look and what fits, and what is [`Wanted`]. Output: an [`Interpreter`], or a
//! [`Refusal`] for each candidate, in words that follow its path, with a remedy.
//!
//! ```text
//! Machine -> candidates -> header -> cache -> query.py -> verdict
//!            (names only)  (bytes)   (answer as before, or run it once)
//! ```
//!
//! No stranger is run: what lies in a place that is refused anyway, is built for another architecture, has no signature, or
//! is no program at all is refused by what can be read from outside. Knows nothing of manifests, locks and environments.

mod machine;

mod find;
mod header;

mod ask;
mod cache;

mod refusal;

mod look;

mod choose;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use crate::pep::Version;
use crate::sys::Identity;

pub use cache::FOLDER as CACHE_FOLDER;
pub use choose::{Error, Misfit, USUAL, Wanted};
pub use find::{Candidate, Origin, candidate, candidates, prefix, virtual_home};
pub use header::{Arch, Head};
pub use look::{Remembered, Search, Seen, USUAL_LIMIT};
pub use machine::{Machine, System};
pub(crate) use refusal::word;
pub use refusal::{OLDEST, Refusal};

/// A Python that can carry an environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interpreter {
    /// Its path as an environment should name it: one that stays when its installer updates it.
    pub path: PathBuf,
    /// The file that it leads to.
    pub resolved: PathBuf,
    /// Whose it is.
    pub origin: Origin,
    /// Its version, with the patch.
    pub version: Version,
    /// Its minor, such as 3 and 13.
    pub minor: (u64, u64),
    /// What it runs as.
    pub arch: Arch,
    /// The platform that it was built for: `macosx-11.0-arm64`.
    pub platform: String,
    /// The prefix of its standard library.
    pub base_prefix: PathBuf,
    /// Its standard library.
    pub stdlib: PathBuf,
    /// Its headers.
    pub include: PathBuf,
    /// `lib`, or `lib64` where its environments have native packages there.
    pub platlibdir: String,
    /// The end of the names of its extension modules, such as `cpython-313-darwin`.
    pub soabi: Option<String>,
    /// Whether its own `venv` could make an environment with pip; macml needs neither.
    pub venv: bool,
    /// Which file it is now.
    pub identity: Identity,
}

impl Interpreter {
    /// Returns what an environment made from it is stamped with: another file, or another version, is another text.
    pub fn stamp(&self) -> String {
        format!("{} {} {}", self.version, self.identity, self.resolved.display())
    }

    /// Returns what people should know who build on it.
    pub fn note(&self) -> Option<String> {
        look::note(&self.origin, &self.path)
    }
}
