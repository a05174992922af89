//! Where a finding is to be pointed at: a line of a lock or of macml.toml.

use std::path::PathBuf;

use macml::diag::Finding;
use macml::diag::Source;
use macml::pipeline::check::Outcome;
use macml::pipeline::check::Told;

use crate::context::Context;

/// A place in a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    /// The file, absolute.
    pub(crate) file: PathBuf,
    /// The line, from 1, where it is known.
    pub(crate) line: Option<usize>,
    /// The column in characters, from 1, where it is known.
    pub(crate) column: Option<usize>,
}

/// Says where a finding of a part belongs: where its label points, else where its package is locked, else the lock.
pub(crate) fn place(told: &Told, outcome: &Outcome, context: &Context) -> Option<Place> {
    if let Some(found) = outcome.source.as_ref().and_then(|source| labelled(&told.finding, source, context)) {
        return Some(found);
    }
    let line = told.package.as_ref().and_then(|package| outcome.lines.get(package));
    match (line, &outcome.lock) {
        (Some((file, line)), _) => {
            Some(Place { file: context.cwd.join(file), line: Some(*line).filter(|line| *line > 0), column: None })
        }
        (None, Some(lock)) => Some(Place { file: context.cwd.join(lock), line: None, column: None }),
        (None, None) => None,
    }
}

/// Says where the first label of a finding points.
pub(super) fn labelled(finding: &Finding, source: &Source, context: &Context) -> Option<Place> {
    let (line, column) = source.line_column(finding.labels.first()?.span.start);
    Some(Place { file: context.cwd.join(&source.name), line: Some(line), column: Some(column) })
}

/// Names a file as people know it.
pub(crate) fn shown(source: &Source, context: &Context) -> Source {
    Source { name: context.shown(&context.cwd.join(&source.name)), text: source.text.clone() }
}
