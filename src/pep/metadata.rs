//! Core metadata (the METADATA file of a wheel).

use super::name::{ExtraName, PackageName};
use super::requirement::Requirement;
use super::version::{Specifiers, Version};

/// The parts of METADATA that resolving needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// `Name`.
    pub name: PackageName,
    /// `Version`.
    pub version: Version,
    /// `Requires-Dist`, in order.
    pub requires_dist: Vec<Requirement>,
    /// `Requires-Python`.
    pub requires_python: Option<Specifiers>,
    /// `Provides-Extra`, in order.
    pub provides_extra: Vec<ExtraName>,
}

/// Why METADATA cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// A field that must be there is not.
    #[error("no `{0}` field")]
    Missing(&'static str),
    /// A field does not read as what it should be.
    #[error("field `{field}`: {reason}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl Metadata {
    /// Parses METADATA (email headers; the description is ignored).
    pub fn parse(bytes: &[u8]) -> Result<Self, MetadataError> {
        let _ = bytes;
        unimplemented!("pep helper")
    }
}
