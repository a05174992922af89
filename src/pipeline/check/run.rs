//! The order in which a check looks at things: the lock, the indexes, then of each environment its files, its libraries and
//! what is known of its releases.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;
use std::time::SystemTime;

use crate::check::contents::Tree;
use crate::check::contents::Wanted as Contents;
use crate::check::rules::Installed;
use crate::diag;
use crate::diag::Code;
use crate::diag::Finding;
use crate::index::download::DownloadError;
use crate::index::download::Downloads;
use crate::index::download::Wanted;
use crate::index::source::Source;
use crate::index::source::SourceError;
use crate::install::WheelCache;
use crate::knowledge::Knowledge;
use crate::lock;
use crate::manifest::model::IndexSpec;
use crate::pep::PackageName;
use crate::pipeline;
use crate::pipeline::Connect;
use crate::pipeline::LOCK_NAME;
use crate::pipeline::Reach;
use crate::progress::Progress;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::target::Platform;

use super::environment;
use super::environment::Found;
use super::environment::Homes;
use super::environment::Read;
use super::environment::There;
use super::facts;
use super::facts::Facts;
use super::foreign;
use super::foreign::Foreign;
use super::foreign::Lacks;
use super::job::Job;
use super::job::Locks;
use super::job::Outcome;
use super::job::Subject;
use super::known::known;
use super::libraries::libraries;
use super::locked;
use super::locked::Judged;
use super::offered::offered;
use super::part::Because;
use super::part::Level;
use super::part::Of;
use super::part::Part;
use super::part::Sum;
use super::part::Word;
use super::prefix;
use super::prefix::Prefix;
use super::set::Declared;
use super::set::File;
use super::set::Release;
use super::set::Set;

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
    /// The manifest or its lock cannot be read.
    #[error(transparent)]
    Pipeline(#[from] pipeline::Error),
    /// What was named is no tree that was staged.
    #[error(transparent)]
    Staged(#[from] environment::Error),
    /// The lock of another tool cannot be judged.
    #[error(transparent)]
    Foreign(#[from] foreign::Error),
    /// The environment that was named cannot be judged.
    #[error(transparent)]
    Prefix(#[from] prefix::Error),
    /// An environment of Linux is to be as a lock says that is judged for Macs.
    #[error("`{}` is an environment of {platform}, and `{}` is judged for Macs", root.display(), lock.display())]
    NotOfAMac {
        /// The folder.
        root: PathBuf,
        /// Its platform.
        platform: Platform,
        /// The lock.
        lock: PathBuf,
    },
    /// The indexes cannot be reached at all: a setting is wrong.
    #[error(transparent)]
    Connect(SourceError),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] FsError),
}

/// Looks at what was asked for.
///
/// # Errors
/// When it could not be looked at.
pub fn check(job: &Job, reaching: Reaching<'_>, progress: &dyn Progress) -> Result<Outcome, Error> {
    let begun = Instant::now();
    let run = Run {
        job,
        knowledge: Knowledge::built_in(),
        wheels: job.cache.as_deref().map(WheelCache::inside),
        download: reaching.download,
        progress,
    };
    let looked = match &job.subject {
        Subject::Project { .. } => run.project(reaching.connect)?,
        Subject::Lock(locks) => run.lock(locks, reaching.open)?,
        Subject::Prefix { root, declared } => run.prefix(root, declared)?,
    };
    let Looked { lock, mut parts, mut findings, manifest, source, lines } = looked;
    job.policy.apply(&mut parts, &mut findings);
    let verdict = job.policy.verdict(&parts, &findings, job.here);
    Ok(Outcome { lock, parts, findings, manifest, source, lines, verdict, took: begun.elapsed() })
}

/// What was looked at, before a policy: the fields of an [`Outcome`].
#[derive(Default)]
struct Looked {
    lock: Option<PathBuf>,
    parts: Vec<Part>,
    findings: Vec<Finding>,
    manifest: Option<diag::Source>,
    source: Option<diag::Source>,
    lines: BTreeMap<PackageName, (PathBuf, usize)>,
}

/// What every look needs.
struct Run<'a> {
    job: &'a Job,
    knowledge: std::sync::Arc<Knowledge>,
    wheels: Option<WheelCache>,
    download: Download<'a>,
    progress: &'a dyn Progress,
}

/// An environment of the project that was looked at, and what is in it that is not its wheels'.
struct Own {
    found: Found,
    read: Vec<Read>,
    /// Packages whose facts are not those of their wheels.
    touched: Vec<PackageName>,
    /// Files that are gone, from the folder of packages.
    gone: BTreeMap<String, PackageName>,
}

impl Run<'_> {
    fn project(&self, connect: Connect<'_>) -> Result<Looked, Error> {
        let Subject::Project { start, home, data, version, only, target } = &self.job.subject else {
            unreachable!("it is a project that is looked at")
        };
        let staged = target.as_deref().map(|target| environment::staged(target, only)).transpose()?;
        let only = staged.as_ref().map_or_else(|| only.clone(), |found| vec![found.env.clone()]);
        let (start, home, version) = (start.clone(), home.clone(), version.clone());
        let source = locked::Source { start, home, version, only: only.clone() };
        let locked = locked::read(&source, connect, self.progress)?;

        let homes = Homes { home: source.home.as_deref(), data: data.as_deref(), host: self.job.host.as_ref() };
        let is_meant = |platform: Platform| staged.as_ref().is_none_or(|found| found.platform == platform);
        let mut files: Vec<(Of, Part)> = Vec::new();
        let mut own: Vec<Own> = Vec::new();
        if let Some(found) = staged.clone() {
            self.look(found, &locked, &mut files, &mut own)?;
        } else {
            for entry in locked.entries(&only) {
                match environment::built(&locked.folder, entry, &homes)? {
                    There::Tree(found) => self.look(*found, &locked, &mut files, &mut own)?,
                    There::Nothing(part) => files.extend(part.of.clone().map(|of| (of, *part))),
                }
            }
        }

        let found: Vec<Found> = own.iter().map(|one| one.found.clone()).collect();
        let judged = Judged { only: &only, macs: &self.job.on, here: self.job.host.as_ref(), found: &found };
        let locked::Sets { mut sets, parts: fitting } = locked::sets(&locked, &judged);
        sets.retain(|set| is_meant(set.of.platform));
        let indexes = &locked.project.manifest.indexes;
        let lock_path = locked.folder.join(LOCK_NAME);
        let lines = match &locked.lockfile {
            Some(_) => lines_of(&lock_path)?,
            None => BTreeMap::new(),
        };
        let mut parts = vec![locked.part.clone()];
        parts.extend(fitting.into_iter().filter(|part| part.of.as_ref().is_none_or(|of| is_meant(of.platform))));
        self.unasked(sets.iter().map(|set| &set.of), &mut parts);
        if self.job.index {
            let mut source = connect(&locked.project.manifest, Reach::Network).map_err(Error::Connect)?;
            parts.push(offered(&sets, &mut *source, self.today()));
        }
        let facts = self.gather(&sets, indexes);
        let mut fetched = Some((facts.fetched.wheels, facts.fetched.bytes));
        let mut before: Option<(String, Platform)> = None;
        for set in &sets {
            let this = (set.of.env.clone(), set.of.platform);
            if before.as_ref() != Some(&this) {
                take(&mut files, &this, &mut parts);
                before = Some(this);
            }
            let own = own.iter().find(|own| own.is_of(set));
            let mut part = self.libraries(set, &facts, own);
            part.fetching(&mut fetched);
            parts.push(part);
            parts.push(known(set, &self.knowledge));
        }
        parts.extend(files.into_iter().map(|(_, part)| part));
        let source = locked.project.source.clone();
        Ok(Looked {
            lock: Some(lock_path),
            parts,
            findings: locked.project.findings.clone(),
            manifest: Some(source.clone()),
            source: Some(source),
            lines,
        })
    }

    /// Holds an environment against its lock, and reads of it what its wheels do not speak for.
    fn look(
        &self,
        mut found: Found,
        locked: &locked::Locked,
        files: &mut Vec<(Of, Part)>,
        own: &mut Vec<Own>,
    ) -> Result<(), Error> {
        let Some(lock) = &locked.lockfile else { return Ok(()) };
        if let Some(entry) = locked.entry(&found.env, found.platform) {
            found.at_least(entry);
        }
        let mut judged = found.judge(lock, self.job.level, self.wheels.as_ref())?;
        let touched = judged.touched.keys().cloned().collect();
        let wanted = locked.entry(&found.env, found.platform).map(|entry| Contents::of(lock, entry, found.macos));
        let read = match (found.platform.is_mac(), wanted) {
            (true, Some(wanted)) => {
                let environment::Environment { part, touched, .. } = &mut judged;
                environment::read(&found.tree, &wanted, self.wheels.as_ref(), touched, part)?
            }
            _ => Vec::new(),
        };
        files.extend(judged.part.of.clone().map(|of| (of, judged.part)));
        own.push(Own { found, read, touched, gone: judged.gone });
        Ok(())
    }

    fn lock(&self, locks: &Locks, open: Open<'_>) -> Result<Looked, Error> {
        let Job { on, host, level, .. } = self.job;
        let mut declared = locks.declared.clone();
        // The environment says which Python the lock is to be read for.
        if let (Some(root), None) = (&locks.prefix, declared.python) {
            declared.python = Tree::prefixes(root)?.first().map(|tree| tree.python);
        }
        let mut foreign = foreign::read(&locks.file, &declared, &locks.choice, on, host.as_ref())?;
        let is_open = match foreign.lacks() {
            Lacks::Nothing => false,
            Lacks::Sizes => self.job.wheels,
            Lacks::Files => true,
        };
        let mut source = None;
        if is_open || self.job.index {
            source = Some(open(&foreign.indexes).map_err(Error::Connect)?);
        }
        if let (true, Some(source)) = (is_open, &mut source) {
            foreign::complete(&mut foreign, &mut **source);
        }
        let prefixes = match (&locks.prefix, foreign.sets.first()) {
            (Some(root), Some(set)) => {
                let wanted = foreign::wanted(&foreign, set);
                let all = prefix::prefix(root, &declared, on, host.as_ref(), *level, Some(&wanted))?;
                if let Some(other) = all.iter().find(|one| !one.of.platform.is_mac()) {
                    let (root, platform, lock) = (root.clone(), other.of.platform, locks.file.clone());
                    return Err(Error::NotOfAMac { root, platform, lock });
                }
                all
            }
            _ => Vec::new(),
        };
        let index = match (&mut source, self.job.index) {
            (Some(source), true) => Some(offered(&foreign.sets, &mut **source, self.today())),
            _ => None,
        };
        let Foreign { part, sets, indexes, source, lines, .. } = foreign;
        let mut parts = vec![part];
        parts.extend(index);
        let named = |name: &PackageName| sets.first()?.releases.iter().find(|release| release.name == *name);
        match prefixes.is_empty() {
            true => {
                let facts = self.gather(&sets, &indexes);
                let mut fetched = Some((facts.fetched.wheels, facts.fetched.bytes));
                for set in &sets {
                    let mut part = self.libraries(set, &facts, None);
                    part.fetching(&mut fetched);
                    parts.push(part);
                    parts.push(known(set, &self.knowledge));
                }
            }
            // What is there counts, and what is known of the lock's releases with their wheels.
            false => {
                for prefix in &prefixes {
                    self.judge(prefix, &mut parts, &|release| named(&release.name).cloned());
                }
            }
        }
        let lock = Some(locks.file.clone());
        Ok(Looked { lock, parts, source: Some(source), lines, ..Looked::default() })
    }

    fn prefix(&self, root: &Path, declared: &Declared) -> Result<Looked, Error> {
        let Job { on, host, level, .. } = self.job;
        let mut parts = Vec::new();
        for prefix in &prefix::prefix(root, declared, on, host.as_ref(), *level, None)? {
            self.judge(prefix, &mut parts, &|_| None);
        }
        self.unasked(std::iter::empty(), &mut parts);
        Ok(Looked { parts, ..Looked::default() })
    }

    /// Says so where Macs were asked about and nothing there is for any.
    fn unasked<'a>(&self, mut sets: impl Iterator<Item = &'a Of>, parts: &mut Vec<Part>) {
        let Some(first) = self.job.on.first() else { return };
        let is_asked = |of: &Of| of.on.as_ref().is_some_and(|on| on.because == Because::Asked);
        let nothing = parts.iter().any(|part| part.level == Level::Lock && part.otherwise == Word::Unsure);
        let is_there = sets.any(is_asked) || parts.iter().filter_map(|part| part.of.as_ref()).any(is_asked);
        if nothing || is_there {
            return;
        }
        let message = format!(
            "nothing here is for Macs, so that nothing can be said of {} with macOS {}",
            first.chip, first.macos
        );
        let finding = Finding::error(Code::LockUnfit, message)
            .hinting("leave `--on` out, or name the environment or the folder that is for Macs");
        let (level, word, otherwise, sum) = (Level::Lock, Word::Unfit, Word::Unsure, Sum::Nothing);
        let took = std::time::Duration::ZERO;
        parts.push(Part { level, of: None, word, otherwise, sum, told: vec![finding.into()], took });
    }

    /// Judges what is in an environment, of which `locked` may know the wheels.
    fn judge(&self, prefix: &Prefix, parts: &mut Vec<Part>, locked: &dyn Fn(&Release) -> Option<Release>) {
        parts.extend(prefix.judged(&self.knowledge, locked));
    }

    /// Gets the facts of all wheels that Macs take.
    fn gather(&self, sets: &[Set], indexes: &[IndexSpec]) -> Facts {
        let macs = sets.iter().filter(|set| set.of.on.is_some());
        let files: Vec<&File> = macs.flat_map(|set| &set.releases).filter_map(|one| one.file.as_ref()).collect();
        let download = |wanted: &[Wanted]| (self.download)(indexes, wanted);
        let mut from = facts::From { cache: self.job.cache.as_deref(), download: None };
        if self.job.wheels {
            from.download = Some(&download);
        }
        facts::gather(&files, &from, self.progress)
    }

    /// Judges the libraries of a set: those of its wheels, but for what an environment has in their place.
    fn libraries(&self, set: &Set, facts: &Facts, own: Option<&Own>) -> Part {
        let touched: &[PackageName] = own.map_or(&[], |own| &own.touched);
        let read: &[Read] = own.map_or(&[], |own| &own.read);
        let mut installed: Vec<Installed<'_>> = Vec::with_capacity(set.releases.len());
        for release in set.releases.iter().filter(|release| !touched.contains(&release.name)) {
            let Some(file) = &release.file else { continue };
            let Some(facts) = facts.get(file) else { continue };
            let (name, version, wheel) = (&release.name, &release.version, Some(&file.wheel));
            installed.push(Installed { name, version, wheel, facts });
        }
        for Read { name, version, wheel, facts } in read {
            let Some(version) = version else { continue };
            installed.push(Installed { name, version, wheel: wheel.as_ref(), facts });
        }
        installed.sort_by_key(|one| one.name);
        // What is not installed was told of the environment, and is nothing that could still be read.
        let is_gone = |release: &Release| touched.contains(&release.name) && !read.iter().any(|one| one.is(release));
        let there = Set { releases: set.releases.iter().filter(|one| !is_gone(one)).cloned().collect(), ..set.clone() };
        let none = BTreeMap::new();
        let gone = own.map_or(&none, |own| &own.gone);
        libraries(&there, &installed, &facts.unread, gone, &self.knowledge)
    }

    /// Returns the day, counted from the beginning of 1970.
    fn today(&self) -> u64 {
        self.job.now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() / (24 * 60 * 60))
    }
}

impl Own {
    /// Returns whether the environment is one for the Mac of a set.
    fn is_of(&self, set: &Set) -> bool {
        let macos = set.of.on.as_ref().map(|on| on.mac.macos);
        self.found.env == set.of.env && self.found.platform == set.of.platform && self.found.macos == macos
    }
}

impl Read {
    fn is(&self, release: &Release) -> bool {
        self.name == release.name && self.version.is_some()
    }
}

impl Part {
    /// Notes what was fetched for all parts, on the first of them.
    fn fetching(&mut self, fetched: &mut Option<(usize, u64)>) {
        if let Sum::Libraries { fetched: here, .. } = &mut self.sum {
            *here = fetched.take().unwrap_or_default();
        }
    }
}

/// Moves the parts of an environment on a platform.
fn take(files: &mut Vec<(Of, Part)>, this: &(String, Platform), parts: &mut Vec<Part>) {
    let (here, rest) =
        std::mem::take(files).into_iter().partition(|(of, _)| (&of.env, of.platform) == (&this.0, this.1));
    let here: Vec<(Of, Part)> = here;
    parts.extend(here.into_iter().map(|(_, part)| part));
    *files = rest;
}

/// Finds the line of each package in macml.lock, from 1; of several releases of one name that of the first.
fn lines_of(path: &Path) -> Result<BTreeMap<PackageName, (PathBuf, usize)>, FsError> {
    let text = fs::read_text(path)?.unwrap_or_default();
    let mut lines = BTreeMap::new();
    for (name, line) in lock::format::package_lines(&text) {
        lines.entry(name).or_insert_with(|| (path.to_owned(), line));
    }
    Ok(lines)
}
