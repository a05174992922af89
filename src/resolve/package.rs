//! `Node`: what pubgrub calls a package.
//!
//! Python is a package like any other: the root depends on it, and each minor depends on the user's requirements *as
//! seen by that minor*. So markers are decided once, one run tries the next Python by itself, and one derivation
//! tree explains all of them.

use std::fmt;

use crate::pep::{ExtraName, PackageName};
use crate::target::PythonMinor;

/// One package in the solver's sense.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Node {
    /// The environment itself, in its only version.
    Root,
    /// Python; its versions are minors.
    Python,
    /// The patch releases of one minor: all known ones, and one that stands for those to come.
    PythonFull(PythonMinor),
    /// A package, or one extra of it, as seen by one minor.
    Release {
        /// The package.
        name: PackageName,
        /// The extra; the node then pins the package itself and [`Node::Needs`] to its own version, and knows nothing
        /// else: so a version that the package cannot take is passed over without reading its metadata.
        extra: Option<ExtraName>,
        /// The Python.
        minor: PythonMinor,
    },
    /// What one extra of a package asks for, as seen by one minor.
    Needs {
        /// The package.
        name: PackageName,
        /// The extra.
        extra: ExtraName,
        /// The Python.
        minor: PythonMinor,
    },
    /// A rule that binds, as seen by one minor. One that requires something has a version for each alternative, 1
    /// and up; one that keeps two packages apart has 1 for its own side and 2 for the other.
    Rule {
        /// Its place among the rules.
        at: usize,
        /// The Python.
        minor: PythonMinor,
    },
    /// Packages whose nightly builds must be of one night, as seen by one minor; its versions are nights.
    Night {
        /// Its place among the groups.
        at: usize,
        /// The Python.
        minor: PythonMinor,
    },
}

impl Node {
    /// Makes the node of a package.
    pub(crate) fn base(name: &PackageName, minor: PythonMinor) -> Self {
        Self::Release { name: name.clone(), extra: None, minor }
    }

    /// Makes the node of what an extra asks for.
    pub(crate) fn needs(name: &PackageName, extra: &ExtraName, minor: PythonMinor) -> Self {
        Self::Needs { name: name.clone(), extra: extra.clone(), minor }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the environment"),
            Self::Python => f.write_str("python"),
            Self::PythonFull(minor) => write!(f, "python {minor}"),
            Self::Release { name, extra: None, .. } => write!(f, "{name}"),
            Self::Release { name, extra: Some(extra), .. } | Self::Needs { name, extra, .. } => {
                write!(f, "{name}[{extra}]")
            }
            Self::Rule { at, .. } => write!(f, "rule {at}"),
            Self::Night { at, .. } => write!(f, "night {at}"),
        }
    }
}
