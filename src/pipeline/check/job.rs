//! What is asked of a check, and what comes back. Plain data.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use crate::check::contents;
use crate::diag::Finding;
use crate::diag::Source;
use crate::host::Host;
use crate::lock::foreign::Choice;
use crate::pep::PackageName;
use crate::target::Platform;

use super::part::Part;
use super::policy::Policy;
use super::policy::Verdict;
use super::set::Declared;
use super::set::Mac;

/// What is asked of [`check()`](super::check()).
#[derive(Clone, Debug)]
pub struct Job {
    /// What is looked at.
    pub subject: Subject,
    /// Macs that are asked about, beside the lowest.
    pub on: Vec<Mac>,
    /// Whether wheels that were never read are fetched.
    pub wheels: bool,
    /// Whether the indexes are asked if they still offer what is locked.
    pub index: bool,
    /// How closely the files of an environment are looked at.
    pub level: contents::Level,
    /// What findings mean.
    pub policy: Policy,
    /// This Mac, or the recorded one that stands for it; `None` on other machines.
    pub host: Option<Host>,
    /// The platform whose environments can be here; `None` where it is none of ours.
    pub here: Option<Platform>,
    /// The folder of caches.
    pub cache: Option<PathBuf>,
    /// The time.
    pub now: SystemTime,
}

/// What is looked at. Paths are absolute.
#[derive(Clone, PartialEq, Debug)]
pub enum Subject {
    /// A project with a macml.toml.
    Project {
        /// Where the search for macml.toml begins.
        start: PathBuf,
        /// Where it ends at the latest.
        home: Option<PathBuf>,
        /// This user's folder for environments of projects whose own folder does not suit them.
        data: Option<PathBuf>,
        /// The version of this macml.
        version: semver::Version,
        /// Environments to look at, by name; all when empty.
        only: Vec<String>,
        /// A tree that was staged, which is looked at instead of the environments.
        target: Option<PathBuf>,
    },
    /// The lock of another tool.
    Lock(Box<Locks>),
    /// An environment that somebody made.
    Prefix {
        /// Its folder.
        root: PathBuf,
        /// What is declared for it.
        declared: Declared,
    },
}

/// The lock of another tool.
#[derive(Clone, PartialEq, Debug)]
pub struct Locks {
    /// The file.
    pub file: PathBuf,
    /// What is declared for it.
    pub declared: Declared,
    /// What of it is asked for.
    pub choice: Choice,
    /// An environment that is to be as it says.
    pub prefix: Option<PathBuf>,
}

/// What came of a check.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The lock; `None` where there is none to look at.
    pub lock: Option<PathBuf>,
    /// One for each thing that was looked at, with what the policy makes of it: the lock first, then by environment,
    /// platform and Mac.
    pub parts: Vec<Part>,
    /// What is to be said of macml.toml.
    pub findings: Vec<Finding>,
    /// macml.toml, into which the labels of `findings` point.
    pub manifest: Option<Source>,
    /// The file into which the labels of findings of `parts` point.
    pub source: Option<Source>,
    /// Where packages are locked: a file and a line, from 1.
    pub lines: BTreeMap<PackageName, (PathBuf, usize)>,
    /// What all of it comes to.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
}
