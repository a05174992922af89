//! Answers of interpreters, kept by the identity of the files that gave them, so that none is asked twice.
//!
//! ```text
//! <cache>/python-v1/<sha256 of the resolved path>    sha256 of the rest, line feed, JSON
//! ```
//!
//! An entry counts for the same question, asked of the same file with the same modules: what was cut off, copied from
//! elsewhere or overtaken by an update is asked again. What did not answer, or could not load a module that it has, is not
//! kept: the cause may lie in any library of the system, and be gone next time.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ask::{Answer, QUERY};
use crate::pep::Sha256;
use crate::sys::Identity;
use crate::sys::fs::{self, Durability};

/// The folder of answers, by the sha256 of the interpreter's path.
pub const FOLDER: &str = "python-v1";

/// The folder of the kept answers, if there is one.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
}

/// An answer with all that it depends on.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The digest of the question.
    query: Sha256,
    /// How it was started.
    starter: Vec<String>,
    /// The resolved path.
    path: PathBuf,
    /// The file there.
    identity: Identity,
    /// The modules it loaded, and the folder that a missing one would appear in.
    others: Vec<(PathBuf, Option<Identity>)>,
    /// What it said.
    answer: Answer,
}

/// What is asked now.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The resolved path.
    pub(super) path: &'a Path,
    /// The file there.
    pub(super) identity: Identity,
    /// How it is started.
    pub(super) starter: &'a [std::ffi::OsString],
}

impl Cache {
    /// Uses the folder of all caches, or nothing.
    pub(super) fn new(root: Option<&Path>) -> Self {
        Self { folder: root.map(|root| root.join(FOLDER)) }
    }

    /// Returns what was answered before, when nothing that it depends on has changed.
    pub(super) fn answer(&self, asked: Asked<'_>) -> Option<Answer> {
        let text = fs::read_text(&self.place(asked.path)?).ok().flatten()?;
        let (digest, json) = text.split_once('\n')?;
        if Sha256::of(json.as_bytes()).to_string() != digest {
            return None;
        }
        let entry: Entry = serde_json::from_str(json).ok()?;
        let expected = asked.entry(&entry.answer)?;
        (entry == expected).then_some(entry.answer)
    }

    /// Keeps an answer. What cannot be kept is asked again next time.
    pub(super) fn keep(&self, asked: Asked<'_>, answer: &Answer) {
        let Some(place) = self.place(asked.path).filter(|_| answer.broken.is_empty()) else { return };
        let Some(entry) = asked.entry(answer) else { return };
        let Ok(json) = serde_json::to_string(&entry) else { return };
        let text = format!("{}\n{json}", Sha256::of(json.as_bytes()));
        let _ = fs::write_atomic(&place, text.as_bytes(), Durability::Cached);
    }

    fn place(&self, path: &Path) -> Option<PathBuf> {
        let name = Sha256::of(path.to_string_lossy().as_bytes());
        Some(self.folder.as_ref()?.join(name.to_string()))
    }
}

impl Asked<'_> {
    /// Makes the entry of an answer given now; `None` when what it depends on cannot be looked at.
    fn entry(self, answer: &Answer) -> Option<Entry> {
        let native = answer.facts.platstdlib.join("lib-dynload");
        let others = answer.files.iter().chain([&native, &answer.facts.stdlib]).cloned();
        let others = others.map(|path| Identity::of(&path).map(|identity| (path, identity)));
        Some(Entry {
            query: Sha256::of(QUERY.as_bytes()),
            starter: self.starter.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            path: self.path.to_owned(),
            identity: self.identity,
            others: others.collect::<Result<_, _>>().ok()?,
            answer: answer.clone(),
        })
    }
}
