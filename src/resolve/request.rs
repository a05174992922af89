//! `Request`: one environment on one platform, and what the answer should stay close to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::index::source::{File, IndexName};
use crate::knowledge::Knowledge;
use crate::manifest::model::EnvSpec;
use crate::pep::{PackageName, Version};
use crate::target::{Platform, PythonMinor};

/// What is to be solved.
#[derive(Clone, Debug)]
pub struct Request {
    /// The environment, with its roots and settings.
    pub env: EnvSpec,
    /// The platform of it that is solved here.
    pub platform: Platform,
    /// Names of the indexes that serve packages which name none, first match wins.
    pub indexes: Vec<IndexName>,
    /// Versions (and a Python) to keep where they still fit.
    pub preferences: Preferences,
    /// Wheels by path or address, which stand for all releases of their package.
    pub direct: BTreeMap<PackageName, Arc<File>>,
    /// `--python`: only this minor.
    pub python: Option<PythonMinor>,
    /// What metadata leaves out.
    pub knowledge: Arc<Knowledge>,
}

/// What an earlier lock or another platform chose.
#[derive(Clone, Debug, Default)]
pub struct Preferences {
    /// The Python to try first.
    pub python: Option<PythonMinor>,
    /// The versions to try first, best first.
    pub versions: BTreeMap<PackageName, Vec<Version>>,
    /// A platform solved before, and the packages of which it chose the best version.
    pub alike: Option<(Platform, BTreeSet<PackageName>)>,
}
