//! Versions and specifiers (PEP 440).

use std::fmt;
use std::str::FromStr;

pub use pep440_rs::Version;

use super::range::VersionRange;

/// A set of version specifiers, for example `>=2.1,!=2.3.*,<3`; none at all admits every version.
///
/// Whether pre-releases count is the caller's decision: here they are versions like any other.
#[derive(Clone, PartialEq, Eq)]
pub struct Specifiers {
    text: pep440_rs::VersionSpecifiers,
    range: VersionRange,
}

/// Why a text is no set of specifiers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a version specifier: {reason}")]
pub struct SpecifiersError {
    text: String,
    reason: String,
}

impl Specifiers {
    /// Returns the empty set of specifiers, which admits every version.
    pub fn any() -> Self {
        Self { text: pep440_rs::VersionSpecifiers::empty(), range: VersionRange::full() }
    }

    /// Returns whether no specifier is in the set.
    pub fn is_any(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns whether `version` satisfies every specifier, pre-releases included.
    pub fn contains(&self, version: &Version) -> bool {
        self.range.contains(&version.clone().into())
    }

    /// Returns the versions that the set admits.
    pub fn range(&self) -> &VersionRange {
        &self.range
    }

    /// Returns the version of an `==` (without `.*`) or `===` in the set.
    pub fn exact(&self) -> Option<&Version> {
        use pep440_rs::Operator::{Equal, ExactEqual};
        let exact = self.text.iter().find(|one| matches!(one.operator(), Equal | ExactEqual));
        exact.map(pep440_rs::VersionSpecifier::version)
    }

    /// Returns whether some specifier names a pre-release or development release.
    pub fn names_prerelease(&self) -> bool {
        self.text.iter().any(|one| one.version().any_prerelease())
    }
}

impl FromStr for Specifiers {
    type Err = SpecifiersError;

    fn from_str(text: &str) -> Result<Self, SpecifiersError> {
        let _ = text;
        unimplemented!("pep helper")
    }
}

impl fmt::Display for Specifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = f;
        unimplemented!("pep helper: `>=2.1, <3` with one blank after the comma; `*` when empty")
    }
}

impl fmt::Debug for Specifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
