//! What is there, section by section: a line with a mark for each thing that was looked at.

use serde::Serialize;

use super::diagnosis::{Diagnosis, Subject};
use super::facts::Facts;
use crate::diag::Severity;

/// Lines about one subject.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Section {
    /// What it is about.
    pub subject: Subject,
    /// Its heading.
    pub title: String,
    /// What was seen.
    pub lines: Vec<Line>,
}

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Line {
    /// How it is.
    pub mark: Mark,
    /// What it is.
    pub text: String,
}

/// How something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// Perhaps a problem.
    Warning,
    /// A problem.
    Error,
    /// It could not be seen.
    Unseen,
}

/// Says what is there.
pub fn sections(facts: &Facts, diagnoses: &[Diagnosis]) -> Vec<Section> {
    let worst = |subject| diagnoses.iter().filter(|one| one.subject == subject).map(|one| one.severity).min();
    let mut lines = Vec::new();
    if let Some(host) = &facts.machine.host {
        let mark = match worst(Subject::Mac) {
            Some(Severity::Error) => Mark::Error,
            Some(Severity::Warning) => Mark::Warning,
            Some(Severity::Note) | None => Mark::Good,
        };
        lines.push(Line { mark, text: format!("{}, macOS {}", host.cpu, host.macos) });
    }
    let unseen = |one: &super::facts::Unseen| format!("{} could not be seen: {}", one.what, one.why);
    lines.extend(facts.unseen.iter().map(|one| Line { mark: Mark::Unseen, text: unseen(one) }));
    let mac = Section { subject: Subject::Mac, title: "Mac".to_owned(), lines };
    [mac].into_iter().filter(|section| !section.lines.is_empty()).collect()
}
