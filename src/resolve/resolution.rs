//! `Resolution`: the answer as a graph.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::Finding;
use crate::index::source::{File, IndexName};
use crate::manifest::model::EnvSpec;
use crate::pep::{ExtraName, PackageName, Sha256, Specifiers, Version};
use crate::target::{Platform, PythonMinor};

/// What one environment on one platform consists of.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// The environment it answers.
    pub env: EnvSpec,
    /// The platform it answers.
    pub platform: Platform,
    /// The chosen Python.
    pub python: PythonMinor,
    /// Patch releases of it that are left over; any when all.
    pub python_full: Specifiers,
    /// The packages, by name.
    pub packages: BTreeMap<PackageName, Package>,
    /// Frameworks and other roots that are older than the newest release, with the reason, for the summary.
    pub held: Vec<Held>,
    /// Why no later Python of the range was taken, where there is one and that can be told.
    pub python_held: Option<PythonHeld>,
    /// Names of the knowledge that shaped the answer, sorted.
    pub rules: Vec<String>,
    /// Warnings and notes about this answer.
    pub findings: Vec<Finding>,
}

/// A Python of the declared range, later than the one that was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PythonHeld {
    /// The newest of the range.
    pub newer: PythonMinor,
    /// The package that has nothing for it.
    pub by: PackageName,
    /// What it lacks, as a lowercase fragment.
    pub reason: String,
}

/// One chosen release.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its version.
    pub version: Version,
    /// Where its files are found again.
    pub origin: Origin,
    /// Extras in use, sorted.
    pub extras: Vec<ExtraName>,
    /// Names it depends on here, after markers and extras, sorted, without repeats.
    pub requires: Vec<PackageName>,
    /// Files that may be installed, sorted by name; every one with size and sha256.
    pub wheels: Vec<Arc<File>>,
}

/// Where a release comes from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// An index.
    Index(IndexName),
    /// A wheel by path, as written in the manifest.
    Path(String),
    /// A wheel by address.
    Url {
        /// The address as written in the manifest.
        url: String,
        /// Its digest.
        sha256: Sha256,
    },
}

/// A root that did not get its newest release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// The package.
    pub name: PackageName,
    /// What it got.
    pub chosen: Version,
    /// What exists.
    pub newest: Version,
    /// Why, as a lowercase fragment: `needs macOS 14; your floor is 13.0`.
    pub reason: String,
    /// Who keeps it back.
    pub by: HeldBy,
}

/// Who keeps a newer release out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeldBy {
    /// A line of the manifest on the package itself.
    Line,
    /// The macOS or glibc floor.
    Floor,
    /// A piece of knowledge, by its name.
    Rule(String),
    /// The chosen Python.
    Python,
    /// Another package of the set.
    Package(PackageName),
    /// A setting of `[resolution]`.
    Setting,
    /// Its own files: none is for the platform, or it was withdrawn.
    Itself,
    /// What only another solve could tell: the lock, or several together.
    Open,
}
