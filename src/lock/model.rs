//! `Lockfile`: what macml.lock says.

use crate::pep::{ExtraName, PackageName, Sha256, Version};
use crate::resolve::resolution::Origin;
use crate::target::{Platform, PythonMinor};

/// A whole macml.lock.
#[derive(Clone, PartialEq, Debug)]
pub struct Lockfile {
    /// The knowledge it was solved with, a date; empty before there is knowledge.
    pub knowledge: String,
    /// One entry for each environment and platform, in the manifest's order, then the platforms'.
    pub envs: Vec<LockedEnv>,
    /// Every release of any environment, by name, version and origin.
    pub packages: Vec<LockedPackage>,
}

/// One environment on one platform.
#[derive(Clone, PartialEq, Debug)]
pub struct LockedEnv {
    /// The environment's name.
    pub name: String,
    /// The platform.
    pub platform: Platform,
    /// macOS floor as text; Macs only.
    pub macos: Option<String>,
    /// Chip floor as text; Macs only.
    pub chip: Option<String>,
    /// glibc floor as text; Linux only.
    pub glibc: Option<String>,
    /// `required` or `optional`.
    pub gpu: String,
    /// The chosen Python.
    pub python: PythonMinor,
    /// Patch releases left over, as specifiers; `None` when all.
    pub python_full: Option<String>,
    /// Digest of the parts of the manifest that the answer depends on.
    pub inputs: Sha256,
    /// Ids of the knowledge that shaped the answer, sorted.
    pub rules: Vec<String>,
    /// The packages of the environment, sorted by name.
    pub packages: Vec<LockedRef>,
}

/// A package in an environment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockedRef {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// Extras in use, sorted.
    pub extras: Vec<ExtraName>,
}

/// A release with its files.
#[derive(Clone, PartialEq, Debug)]
pub struct LockedPackage {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// Where its files are found again.
    pub origin: Origin,
    /// Names it depends on; where environments differ, `requires_in` has the others.
    pub requires: Vec<PackageName>,
    /// Environments (`name platform`) whose edges differ from `requires`, with theirs.
    pub requires_in: Vec<(String, Vec<PackageName>)>,
    /// Its files, sorted by name.
    pub wheels: Vec<LockedWheel>,
}

/// One file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockedWheel {
    /// The file's name.
    pub file: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its digest.
    pub sha256: Sha256,
}
