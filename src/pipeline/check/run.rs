//! The order in which a check looks at things.

use crate::index::download::DownloadError;
use crate::index::download::Downloads;
use crate::index::download::Wanted;
use crate::index::source::Source;
use crate::index::source::SourceError;
use crate::manifest::model::IndexSpec;
use crate::pipeline::Connect;
use crate::progress::Progress;

use super::job::Job;
use super::job::Outcome;

/// Reaches indexes that are declared elsewhere than in a manifest, beside those that macml knows.
pub type Open<'a> = &'a mut dyn FnMut(&[IndexSpec]) -> Result<Box<dyn Source>, SourceError>;

/// Begins to download wheels, with the indexes that are declared.
pub type Download<'a> = &'a dyn Fn(&[IndexSpec], &[Wanted]) -> Result<Downloads, DownloadError>;

/// How the world is reached, where that is needed at all.
pub struct Reaching<'a> {
    /// Reaches the indexes of a manifest.
    pub connect: Connect<'a>,
    /// Reaches other indexes.
    pub open: Open<'a>,
    /// Begins to download wheels.
    pub download: Download<'a>,
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The parts are not joined yet.
    #[error("not joined yet")]
    NotJoined,
}

/// Looks at what was asked for.
///
/// # Errors
/// When it could not be looked at.
pub fn check(_job: &Job, _reaching: Reaching<'_>, _progress: &dyn Progress) -> Result<Outcome, Error> {
    Err(Error::NotJoined)
}
