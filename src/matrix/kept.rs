//! Answers of cells on disk, beside the pages that they were made from.
//!
//! ```text
//! <cache>/matrix-v1/<digest of everything that the answer depends on>
//!     sha256 of the rest, line feed, JSON
//! ```
//!
//! The digest covers what is asked (as in macml.lock, see `manifest::inputs`), this macml, all of the knowledge, and by
//! which addresses indexes are reached. It cannot cover the state of the indexes; so an answer counts for as long as a
//! page that was fetched with it may count, and longer only where the network is switched off. What is foreign or
//! damaged does not exist.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

use serde::Deserialize;
use serde::Serialize;

use crate::cache::MATRIX;
use crate::index::Config;
use crate::index::source::DIRECT;
use crate::knowledge::Knowledge;
use crate::manifest::model::RootSource;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::progress::Progress;
use crate::resolve::Request;
use crate::sys::fs;
use crate::sys::fs::Durability;

use super::Answer;
use super::Question;
use super::Reuse;

/// Seconds for which an answer counts: as long as a page of an index that does not say.
const FRESH: u64 = 600;

/// Where answers are kept, and which count.
pub(super) struct Kept<'p> {
    folder: Option<PathBuf>,
    reuse: Reuse,
    /// Answers made from pages of unknown age must not look new.
    writes: bool,
    way: Sha256,
    /// When this run began, in seconds since 1970.
    now: u64,
    progress: &'p dyn Progress,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    made: u64,
    /// Name and version of each; absent for a refusal.
    packages: Option<BTreeMap<PackageName, String>>,
    reasons: Vec<String>,
}

impl<'p> Kept<'p> {
    pub(super) fn new(config: &Config, reuse: Reuse, progress: &'p dyn Progress) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let folder = config.cache_dir.as_ref().map(|cache| cache.join(MATRIX));
        Self { folder, reuse, writes: !config.offline, way: way(config), now, progress }
    }

    /// Reads the answer to a request, if there is one that counts.
    pub(super) fn read(&self, question: &Question, request: &Request) -> Option<Answer> {
        if self.reuse == Reuse::Nothing {
            return None;
        }
        let text = fs::read_text(&self.path(question, request)?).ok()??;
        let (sum, body) = text.split_once('\n')?;
        if sum.parse() != Ok(Sha256::of(body.as_bytes())) {
            return None;
        }
        let stored: Stored = serde_json::from_str(body).ok()?;
        // What comes from the future was written under a wrong clock.
        let fresh = stored.made <= self.now && self.now - stored.made < FRESH;
        if self.reuse == Reuse::Fresh && !fresh {
            return None;
        }
        let Some(packages) = stored.packages else { return Some(Answer::Refusal(stored.reasons)) };
        let packages = packages.into_iter().map(|(name, version)| Some((name, version.parse().ok()?)));
        packages.collect::<Option<_>>().map(Answer::Set)
    }

    /// Keeps an answer; where that fails it is mentioned once.
    pub(super) fn write(&mut self, question: &Question, request: &Request, answer: &Answer) {
        let Some(path) = self.path(question, request).filter(|_| self.writes) else { return };
        let (packages, reasons) = match answer {
            Answer::Set(set) => {
                let texts = set.iter().map(|(name, version)| (name.clone(), version.to_string()));
                (Some(texts.collect()), Vec::new())
            }
            Answer::Refusal(reasons) => (None, reasons.clone()),
        };
        let stored = Stored { made: self.now, packages, reasons };
        let body = serde_json::to_string(&stored).expect("names are text keys");
        let text = format!("{}\n{body}", Sha256::of(body.as_bytes()));
        if let Err(error) = fs::write_atomic(&path, text.as_bytes(), Durability::Cached) {
            self.writes = false;
            self.progress.note(&format!("no answer is kept for the next run: {error} ({})", error.cause));
        }
    }

    /// Returns where the answer to a request is kept; wheels by path may change unseen.
    fn path(&self, question: &Question, request: &Request) -> Option<PathBuf> {
        let by_path = request.env.roots.iter().any(|root| matches!(root.source, RootSource::Path(_)));
        let folder = self.folder.as_ref().filter(|_| !by_path)?;
        let mut text = String::new();
        let mut line = |name: &str, value: &dyn std::fmt::Display| {
            writeln!(text, "{name} {value}").expect("writing to a String does not fail");
        };
        line("macml-matrix", &1);
        line("macml", &env!("CARGO_PKG_VERSION"));
        line("knowledge", &question.known);
        line("way", &self.way);
        line("inputs", &request.env.inputs(request.platform, &question.indexes));
        Some(folder.join(Sha256::of(text.as_bytes()).to_string()))
    }
}

/// Digests by which addresses indexes are reached; those of the manifest are inputs already.
fn way(config: &Config) -> Sha256 {
    let mirrors = config.mirrors.iter().map(|mirror| (mirror.index.as_str(), mirror.url.as_str()));
    let way = (DIRECT, mirrors.collect::<Vec<_>>(), config.mirror_only);
    Sha256::of(serde_json::to_string(&way).expect("plain data always encodes").as_bytes())
}

/// Digests all that is known: its date alone does not change with every rule.
pub(super) fn digest(knowledge: &Knowledge) -> Sha256 {
    let Knowledge { date, darwin_only, newest, one_night, wheels, inner_tags, .. } = knowledge;
    let rules = knowledge.rules();
    let text = format!("{:?}", (date, darwin_only, newest, one_night, wheels, inner_tags, rules));
    Sha256::of(text.as_bytes())
}
