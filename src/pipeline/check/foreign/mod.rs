//! `macml check --lock FILE`: the lock of a project that keeps its tool, read for the Macs that it is judged for.
//!
//! ```text
//! uv.lock, pylock.toml, requirements -> read -> Foreign: a Set for each Mac ─> complete: what only an index knows
//!                                                  └─> wanted: what should be in an environment made of it
//! ```
//!
//! Reading asks nobody. What the lock leaves open, such as which file a digest in a list of requirements is of, is found on
//! the pages of the index when that is needed, by [`complete()`].
//!
//! Whether a lock still answers what its project asks for is for its own tool to tell (`uv lock --check`).

mod complete;
mod places;
mod python;
mod read;
mod told;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::check::contents::Wanted;
use crate::check::contents::WantedPackage;
use crate::diag;
use crate::index::download::Place;
use crate::index::source::IndexName;
use crate::lock::foreign;
use crate::manifest::model::IndexSpec;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::pep::Specifiers;
use crate::pep::WheelName;
use crate::pipeline::check::part::Part;
use crate::pipeline::check::set::Set;
use crate::sys::fs::FsError;

pub use complete::complete;
pub use read::{from_source, read};

/// A lock of another tool, read for some Macs.
#[derive(Clone, PartialEq, Debug)]
pub struct Foreign {
    /// What came of reading it.
    pub part: Part,
    /// What each Mac gets of it, that of the floor first; none for a Mac that the lock is not for. Their environment is
    /// called as the file is.
    pub sets: Vec<Set>,
    /// The indexes that places in `sets` name and macml has no address for.
    pub indexes: Vec<IndexSpec>,
    /// Its name and text, without secrets, for labels of findings.
    pub source: diag::Source,
    /// Where each package stands: a file and a line, from 1.
    pub lines: BTreeMap<PackageName, (PathBuf, usize)>,
    /// The file.
    lock: PathBuf,
    /// What belongs to each of `sets`.
    beside: Vec<Beside>,
}

/// What is known of a set beside what everybody needs.
#[derive(Clone, PartialEq, Debug, Default)]
struct Beside {
    /// Packages that an environment may have, or not.
    spare: BTreeSet<PackageName>,
    /// What only an index knows.
    open: Vec<Open>,
}

/// Something about a release that the lock does not say.
#[derive(Clone, PartialEq, Debug)]
struct Open {
    /// The place of the release in its set.
    at: usize,
    /// What is looked for, and where.
    find: Find,
}

/// What is looked for.
#[derive(Clone, PartialEq, Debug)]
enum Find {
    /// Size or digest of a wheel that one of these indexes lists.
    Listed(Vec<IndexName>, WheelName, Option<Sha256>),
    /// Size or digest of a wheel that is at this address or in this file.
    Direct(Place, WheelName, Option<Sha256>),
    /// On these indexes, the best wheel among those with these digests; none at all for any.
    OneOf(Vec<IndexName>, Vec<Sha256>),
}

/// How much only an index knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lacks {
    /// Nothing.
    Nothing,
    /// How large some files are, which is needed to fetch them.
    Sizes,
    /// Which files some releases have.
    Files,
}

impl Foreign {
    /// Says what [`complete()`] would look for.
    pub fn lacks(&self) -> Lacks {
        let open = self.sets.iter().zip(&self.beside).flat_map(|(set, beside)| {
            beside.open.iter().map(|open| match set.releases[open.at].file {
                Some(_) => Lacks::Sizes,
                None => Lacks::Files,
            })
        });
        open.max().unwrap_or(Lacks::Nothing)
    }
}

/// Why a lock of another tool could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error(transparent)]
    Lock(#[from] foreign::Error),
    /// The disk.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// Nobody says which Python.
    #[error("`{}` does not say for which Python it is", lock.display())]
    NoPython {
        /// The lock.
        lock: PathBuf,
    },
    /// No Python that macml knows.
    #[error("`{}` is for Python {requires}, and macml knows none of these", lock.display())]
    NoSuchPython {
        /// The lock.
        lock: PathBuf,
        /// What it asks for.
        requires: Specifiers,
    },
    /// `.python-version` names none that macml judges for.
    #[error("`{}` names `{}`, which is no CPython that macml judges for", path.display(), text.escape_debug())]
    UnknownPython {
        /// The file.
        path: PathBuf,
        /// What it names.
        text: String,
    },
    /// Nobody says which macOS, and this is no Mac.
    #[error("`{}` does not say for which macOS it is judged", lock.display())]
    NoMacos {
        /// The lock.
        lock: PathBuf,
    },
}

impl Error {
    /// Returns the remedy, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Lock(error) => error.hint(),
            Self::Fs(_) => None,
            Self::NoPython { .. } | Self::NoSuchPython { .. } | Self::UnknownPython { .. } => {
                Some("`--python` names one, such as `--python 3.12`")
            }
            Self::NoMacos { .. } => Some("`--macos` names the lowest that must work, such as `--macos 14.0`"),
        }
    }
}

/// What environments have that nobody locks.
const SEEDS: [&str; 3] = ["pip", "setuptools", "wheel"];

/// Says what should be in an environment that was made of the lock for one of its sets.
///
/// The project itself and what is linked from folders may be there or not, and so may what only some Macs get.
pub fn wanted(foreign: &Foreign, set: &Set) -> Wanted {
    let beside = foreign.sets.iter().position(|one| one.of == set.of).map(|at| &foreign.beside[at]);
    let mut spare = beside.map_or_else(BTreeSet::new, |beside| beside.spare.clone());
    let packages = set.releases.iter().filter(|release| !spare.contains(&release.name));
    let packages: Vec<WantedPackage> = packages
        .map(|release| WantedPackage {
            name: release.name.clone(),
            version: release.version.clone(),
            wheel: release.file.as_ref().map(|file| (file.wheel.clone(), file.sha256)),
        })
        .collect();
    let seeds = SEEDS.iter().map(|seed| seed.parse::<PackageName>().expect("these are names"));
    spare.extend(seeds.filter(|seed| !packages.iter().any(|one| one.name == *seed)));
    Wanted { packages, spare }
}
