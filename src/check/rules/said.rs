//! A finding with what it is about, so that programs need not read its sentence.

use crate::diag::Finding;
use crate::pep::PackageName;

/// A finding, and what of an environment it is about.
#[derive(Clone, PartialEq, Debug)]
pub struct Said {
    /// What.
    pub finding: Finding,
    /// The distribution that it is about; the first where they are several.
    pub package: PackageName,
    /// The file that it is about, from `site-packages`; the first where they are several. `None` where it is about none.
    pub path: Option<String>,
    /// Whether a distribution could cure it that is not in the case: it misses something.
    pub misses: bool,
}

impl Said {
    pub(super) fn about(package: &PackageName, path: &str, finding: Finding) -> Self {
        Self { finding, package: package.clone(), path: Some(path.to_owned()), misses: false }
    }

    /// Says of it whether another distribution could cure it.
    pub(super) fn missing(mut self, misses: bool) -> Self {
        self.misses = misses;
        self
    }
}
