//! What is told of wheels that were not read.

use std::fmt;

use crate::pep::Sha256;
use crate::pep::WheelName;

/// A wheel that was not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unread {
    /// The wheel.
    pub wheel: WheelName,
    /// Its digest.
    pub sha256: Sha256,
    /// Its size, where it is known.
    pub size: Option<u64>,
    /// Why.
    pub why: Why,
}

/// Why a wheel was not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// It would have to be fetched, and nobody wished that.
    NotFetched,
    /// It could not be had or read: why, as a fragment.
    Failed(String),
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFetched => out.write_str("it was never read, and was not to be fetched"),
            Self::Failed(reason) => out.write_str(reason),
        }
    }
}
