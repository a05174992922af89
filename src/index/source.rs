//! `Source`: what a solver asks of indexes, and the answers. The only part of this stage that solving sees.
//!
//! Asking never blocks and waiting never asks, so the solver can run ahead of the network without threads of its
//! own, and a test can answer in any order.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::diag::Finding;
use crate::pep::{Metadata, PackageName, Sha256, Specifiers, Version, WheelName};

/// An index's name: a built-in one (`pypi`, `pytorch`, …) or one of `[[index]]`.
pub type IndexName = Arc<str>;

/// Stands for no index: the file is fetched or read from its `url` (`https://…` or `file://…`) as it is.
pub const DIRECT: &str = "";

/// A question. A wheel by path or address is asked about with [`DIRECT`] as its index.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// Which files does the index have of the package?
    Page {
        /// The index.
        index: IndexName,
        /// The package.
        name: PackageName,
    },
    /// What does the wheel's METADATA say?
    Metadata {
        /// The index.
        index: IndexName,
        /// The wheel.
        file: Arc<File>,
    },
    /// What are the wheel's size and sha256, where the page did not say?
    Complete {
        /// The index.
        index: IndexName,
        /// The wheel.
        file: Arc<File>,
    },
}

/// The answer to one [`Ask`].
#[derive(Clone, Debug)]
pub enum Answer {
    /// To [`Ask::Page`].
    Page(PageAnswer),
    /// To [`Ask::Metadata`].
    Metadata(MetadataAnswer),
    /// To [`Ask::Complete`]: the file with `size` and `sha256` present.
    Complete(Arc<File>),
}

/// What an index has of a package.
#[derive(Clone, Debug)]
pub enum PageAnswer {
    /// Its files.
    Found(Arc<Page>),
    /// The index does not know the name.
    Absent,
    /// Not in the cache, and the network is switched off.
    Offline,
}

/// What a wheel says of itself.
#[derive(Clone, Debug)]
pub enum MetadataAnswer {
    /// Its METADATA.
    Found(Arc<Metadata>),
    /// The file cannot be used: why, as a lowercase fragment.
    Unusable(Arc<str>),
    /// Not in the cache, and the network is switched off.
    Offline,
}

/// One wheel of an index page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name, parsed.
    pub wheel: WheelName,
    /// Its name as served: the key under which it is found again.
    pub filename: Arc<str>,
    /// Where the page says it is, absolute.
    pub url: Arc<str>,
    /// Its sha256, where the page says.
    pub sha256: Option<Sha256>,
    /// Its size in bytes, where the page says.
    pub size: Option<u64>,
    /// `requires-python` of the page.
    pub requires_python: Option<Specifiers>,
    /// UTC day of the upload (`YYYY-MM-DD`), where the page says.
    pub upload_day: Option<Arc<str>>,
    /// Why it was withdrawn, when it was; the text may be empty.
    pub yanked: Option<Arc<str>>,
    /// sha256 of its PEP 658 metadata file: `None` not offered, `Some(None)` offered without a hash.
    pub metadata_file: Option<Option<Sha256>>,
}

impl File {
    /// Makes one of which nothing is known but where it is.
    pub fn at(wheel: WheelName, url: &str) -> Self {
        Self {
            filename: wheel.to_string().into(),
            wheel,
            url: url.into(),
            sha256: None,
            size: None,
            requires_python: None,
            upload_day: None,
            yanked: None,
            metadata_file: None,
        }
    }
}

impl std::hash::Hash for File {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.filename.hash(state);
    }
}

/// The releases of a package on one index. Files are read when their version is looked at: of thousands of files,
/// solving sees a few.
pub struct Page {
    /// Oldest first.
    releases: Vec<(Version, OnceLock<Release>)>,
    all_dated: bool,
    load: Box<dyn Fn(usize) -> Release + Send + Sync>,
}

/// The files of one version.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Release {
    /// Wheels, in the order of the page.
    pub wheels: Vec<Arc<File>>,
    /// Whether a source archive is offered.
    pub source_archive: bool,
}

impl Page {
    /// Makes a page from its releases.
    pub fn new(releases: BTreeMap<Version, Release>) -> Self {
        let all_dated = releases.values().flat_map(|release| &release.wheels).all(|file| file.upload_day.is_some());
        let releases = releases.into_iter().map(|(version, release)| (version, OnceLock::from(release))).collect();
        Self { releases, all_dated, load: Box::new(|_| Release::default()) }
    }

    /// Makes a page from its versions, oldest first and without repeats, whether all wheels have a day of upload, and
    /// what reads the release at a position.
    pub(super) fn lazy(
        versions: Vec<Version>,
        all_dated: bool,
        load: Box<dyn Fn(usize) -> Release + Send + Sync>,
    ) -> Self {
        Self { releases: versions.into_iter().map(|version| (version, OnceLock::new())).collect(), all_dated, load }
    }

    /// Returns whether every wheel has a day of upload; reads no release.
    pub(super) fn all_dated(&self) -> bool {
        self.all_dated
    }

    /// Returns every version, newest first.
    pub fn versions(&self) -> impl Iterator<Item = &Version> {
        self.releases.iter().rev().map(|(version, _)| version)
    }

    /// Returns the files of `version`.
    pub fn release(&self, version: &Version) -> Option<&Release> {
        let at = self.releases.binary_search_by(|(one, _)| one.cmp(version)).ok()?;
        Some(self.releases[at].1.get_or_init(|| (self.load)(at)))
    }
}

impl Default for Page {
    fn default() -> Self {
        Self::new(BTreeMap::new())
    }
}

impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        self.versions().eq(other.versions()) && self.versions().all(|one| self.release(one) == other.release(one))
    }
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.versions().map(|version| (version, self.release(version)))).finish()
    }
}

/// Answers questions about indexes.
pub trait Source {
    /// Takes up a question; never blocks. Who asks remembers what was asked.
    fn ask(&mut self, ask: Ask);

    /// Waits until some question taken up earlier is answered; each is answered once. `None` when `until` has passed
    /// first. An error belongs to its question: it ends the run only if the solver needs the answer.
    fn wait(&mut self, until: Option<Instant>) -> Option<(Ask, Result<Answer, SourceError>)>;

    /// Returns what was wrong so far without standing in the way, such as a mirror that lacked a file.
    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }
}

/// Why a question has no answer (transport, refusal, disk), with the message laid out by the stage that knows.
#[derive(Clone, Debug)]
pub struct SourceError(pub Arc<dyn std::error::Error + Send + Sync>);

impl std::fmt::Display for SourceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// Indexes held in memory, for tests of the solver.
#[derive(Default)]
pub struct InMemorySource {
    /// Pages by index and package.
    pub pages: HashMap<(IndexName, PackageName), Arc<Page>>,
    /// Metadata by file name.
    pub metadata: HashMap<Arc<str>, MetadataAnswer>,
    /// Picks which pending question is answered next: given how many are pending, the position of one of them.
    pub order: Option<Box<dyn FnMut(usize) -> usize>>,
    pending: VecDeque<Ask>,
}

impl Source for InMemorySource {
    fn ask(&mut self, ask: Ask) {
        self.pending.push_back(ask);
    }

    fn wait(&mut self, _until: Option<Instant>) -> Option<(Ask, Result<Answer, SourceError>)> {
        let at = self.order.as_mut().map_or(0, |pick| pick(self.pending.len()));
        let ask = self.pending.remove(at).expect("wait is only called with questions pending");
        let answer = match &ask {
            Ask::Page { index, name } => {
                let page = self.pages.get(&(index.clone(), name.clone()));
                Answer::Page(page.map_or(PageAnswer::Absent, |page| PageAnswer::Found(page.clone())))
            }
            Ask::Metadata { file, .. } => {
                let missing = || MetadataAnswer::Unusable("no metadata in this test".into());
                Answer::Metadata(self.metadata.get(&file.filename).cloned().unwrap_or_else(missing))
            }
            Ask::Complete { file, .. } => {
                let mut file = File::clone(file);
                file.size.get_or_insert(0);
                file.sha256.get_or_insert_with(|| Sha256::of(file.filename.as_bytes()));
                Answer::Complete(Arc::new(file))
            }
        };
        Some((ask, Ok(answer)))
    }
}
/// What an index has of a package, or why that is not known.
pub type Known = Result<PageAnswer, String>;

/// Asks for all of some pages at once, then waits for each.
pub fn pages(
    asked: &BTreeSet<(IndexName, PackageName)>,
    source: &mut dyn Source,
) -> BTreeMap<(IndexName, PackageName), Known> {
    for (index, name) in asked {
        source.ask(Ask::Page { index: index.clone(), name: name.clone() });
    }
    let mut pages = BTreeMap::new();
    while pages.len() < asked.len() {
        // Nothing limits the wait.
        let Some((Ask::Page { index, name }, answer)) = source.wait(None) else { continue };
        let known = match answer {
            Ok(Answer::Page(page)) => Ok(page),
            Ok(_) => unreachable!("a page was asked for"),
            Err(error) => Err(error.to_string()),
        };
        pages.insert((index, name), known);
    }
    pages
}
