//! The index that is served: what was recorded, what is recorded on demand, or what was made up.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use macml::pep::Sha256;

use crate::record;

/// What the server answers to one path.
#[derive(Clone)]
pub(crate) struct Entry {
    /// The body as it is; empty where it is a file.
    pub(crate) body: Vec<u8>,
    /// The file that the body is, for what is too large to be kept in memory.
    pub(crate) file: Option<PathBuf>,
    /// The body packed, where the real index would pack it.
    pub(crate) gzip: Option<Vec<u8>>,
    /// Names the body.
    pub(crate) etag: String,
    /// Which headers go with it.
    pub(crate) kind: Kind,
}

/// What an entry is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An index page: fresh for ten minutes.
    Page,
    /// A metadata file: never changes.
    Metadata,
    /// A wheel: never changes.
    Wheel,
}

impl Entry {
    pub(crate) fn new(body: Vec<u8>, kind: Kind) -> Self {
        let etag = format!("\"{}\"", Sha256::of(&body));
        Self { body, file: None, gzip: None, etag, kind }
    }
}

/// Paths and their answers; `None` is a recorded 404.
pub(crate) struct Index {
    entries: RwLock<HashMap<String, Option<Arc<Entry>>>>,
    /// Where recordings lie; absent for a made-up index, which has nothing to ask.
    recordings: Option<PathBuf>,
    fetched: AtomicUsize,
}

impl Index {
    /// Serves `entries`, and, where there is a folder for recordings, what lies there or is recorded there on demand.
    pub(crate) fn new(entries: HashMap<String, Option<Arc<Entry>>>, recordings: Option<PathBuf>) -> Self {
        Self { entries: RwLock::new(entries), recordings, fetched: AtomicUsize::new(0) }
    }

    /// Returns how many answers had to be got from PyPI or from the disk since the start: a timed run in which this
    /// grows does not count.
    pub(crate) fn fetched(&self) -> usize {
        self.fetched.load(Ordering::Relaxed)
    }

    /// Answers `path`.
    pub(crate) fn get(&self, path: &str) -> Option<Arc<Entry>> {
        if let Some(known) = self.entries.read().unwrap().get(path) {
            return known.clone();
        }
        let folder = self.recordings.as_deref()?;
        let question = record::Question::from_path(path)?;
        self.fetched.fetch_add(1, Ordering::Relaxed);
        let entry = load(folder, &question).map(Arc::new);
        self.entries.write().unwrap().insert(path.to_owned(), entry.clone());
        entry
    }
}

/// Reads a recording, which is made first where there is none.
fn load(folder: &Path, question: &record::Question) -> Option<Entry> {
    let file = folder.join(question.file());
    let absent = file.with_added_extension("absent");
    if absent.exists() {
        return None;
    }
    if !file.exists() {
        match record::fetch(question) {
            Some(body) => publish(&file, &body),
            None => {
                publish(&absent, b"");
                return None;
            }
        }
    }
    if question.kind() == Kind::Wheel {
        let etag = format!("\"{}\"", file.file_name()?.display());
        return Some(Entry { body: Vec::new(), file: Some(file), gzip: None, etag, kind: Kind::Wheel });
    }
    let mut entry = Entry::new(std::fs::read(&file).unwrap(), question.kind());
    if entry.kind == Kind::Page {
        let packed = file.with_added_extension("gz");
        if !packed.exists() {
            publish(&packed, &record::gzip(&file));
        }
        entry.gzip = Some(std::fs::read(packed).unwrap());
    }
    Some(entry)
}

/// Writes a file that is there whole or not at all, whoever else is writing it.
fn publish(file: &Path, body: &[u8]) {
    let folder = file.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    let mut temporary = tempfile::NamedTempFile::new_in(folder).unwrap();
    std::io::Write::write_all(&mut temporary, body).unwrap();
    temporary.persist(file).unwrap();
}
