//! `Facts`: every answer got so far in this run, shared by all its solves.
//!
//! Answers arrive in any order, but what the solver reads here never depends on that order: it asks for one thing and
//! waits until that thing is there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crate::index::source::{Answer, Ask, File, IndexName, MetadataAnswer, PageAnswer, Source, SourceError};
use crate::pep::PackageName;
use crate::progress::Progress;

/// What the indexes said.
pub struct Facts<'s> {
    source: &'s mut dyn Source,
    progress: &'s dyn Progress,
    pages: HashMap<(IndexName, PackageName), Result<PageAnswer, SourceError>>,
    metadata: HashMap<(IndexName, Arc<str>), Result<MetadataAnswer, SourceError>>,
    complete: HashMap<(IndexName, Arc<str>), Result<Arc<File>, SourceError>>,
    asked: HashSet<Ask>,
    answered: usize,
    deadline: Option<Instant>,
}

/// The deadline passed while waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutOfTime;

impl<'s> Facts<'s> {
    /// Starts with nothing known.
    pub fn new(source: &'s mut dyn Source, progress: &'s dyn Progress) -> Self {
        Self {
            source,
            progress,
            pages: HashMap::new(),
            metadata: HashMap::new(),
            complete: HashMap::new(),
            asked: HashSet::new(),
            answered: 0,
            deadline: None,
        }
    }

    /// Limits waiting until the next call with `None`.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    pub(crate) fn out_of_time(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(crate) fn progress(&self) -> &'s dyn Progress {
        self.progress
    }

    /// Asks unless that was asked before.
    pub(crate) fn ask(&mut self, ask: Ask) {
        if self.asked.insert(ask.clone()) {
            self.progress.requested(&describe(&ask), self.asked.len() - self.answered);
            self.source.ask(ask);
        }
    }

    /// Takes in one answer and returns its question.
    pub(crate) fn wait(&mut self) -> Result<Ask, OutOfTime> {
        let (ask, answer) = self.source.wait(self.deadline).ok_or(OutOfTime)?;
        self.answered += 1;
        self.progress.answered(&describe(&ask), self.answered, self.asked.len() - self.answered);
        match &ask {
            Ask::Page { index, name } => {
                let answer = answer.map(|answer| match answer {
                    Answer::Page(page) => page,
                    _ => unreachable!("a page was asked for"),
                });
                self.pages.insert((index.clone(), name.clone()), answer);
            }
            Ask::Metadata { index, file } => {
                let answer = answer.map(|answer| match answer {
                    Answer::Metadata(metadata) => metadata,
                    _ => unreachable!("metadata was asked for"),
                });
                self.metadata.insert((index.clone(), file.filename.clone()), answer);
            }
            Ask::Complete { index, file } => {
                let answer = answer.map(|answer| match answer {
                    Answer::Complete(file) => file,
                    _ => unreachable!("a complete file was asked for"),
                });
                self.complete.insert((index.clone(), file.filename.clone()), answer);
            }
        }
        Ok(ask)
    }

    pub(crate) fn page(&self, index: &IndexName, name: &PackageName) -> Option<&Result<PageAnswer, SourceError>> {
        self.pages.get(&(index.clone(), name.clone()))
    }

    pub(crate) fn metadata(&self, index: &IndexName, file: &File) -> Option<&Result<MetadataAnswer, SourceError>> {
        self.metadata.get(&(index.clone(), file.filename.clone()))
    }

    pub(crate) fn complete(&self, index: &IndexName, file: &File) -> Option<&Result<Arc<File>, SourceError>> {
        self.complete.get(&(index.clone(), file.filename.clone()))
    }
}

fn describe(ask: &Ask) -> String {
    match ask {
        Ask::Page { name, .. } => name.to_string(),
        Ask::Metadata { file, .. } => format!("{} {}", file.wheel.name, file.wheel.version),
        Ask::Complete { file, .. } => file.filename.to_string(),
    }
}
