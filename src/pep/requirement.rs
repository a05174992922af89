//! Dependency specifiers (PEP 508).

use std::fmt;
use std::str::FromStr;

use super::marker::Marker;
use super::name::{ExtraName, PackageName};
use super::version::Specifiers;

/// A dependency specifier: `torch[opt]>=2.1; sys_platform == "darwin"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// The package asked for.
    pub name: PackageName,
    /// Extras asked for, sorted, without repeats.
    pub extras: Vec<ExtraName>,
    /// Versions or an address.
    pub source: RequirementSource,
    /// Where it applies; `None` is everywhere.
    pub marker: Option<Marker>,
}

/// What a requirement accepts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequirementSource {
    /// Releases of an index.
    Versions(Specifiers),
    /// One artifact at an address (`name @ url`).
    Url(String),
}

/// Why a text is no dependency specifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a dependency specifier: {reason}")]
pub struct RequirementError {
    text: String,
    reason: String,
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let _ = text;
        unimplemented!("pep helper")
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = f;
        unimplemented!("pep helper")
    }
}
