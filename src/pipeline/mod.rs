//! The order of the stages, once, readable from top to bottom.
//!
//! Plain data and an index go in, an outcome as data comes out. Nothing here knows of flags, colours or terminals.
//!
//! Locking is on this page; what begins from a lock has one of its own: [`sync`] builds it, [`bundle`] takes it along,
//! [`check`] proves it from files, [`verify`] on the device, [`ops`] tells which operators it has there.

mod arriving;
pub mod bundle;
pub mod check;
pub mod compare;
pub mod doctor;
mod edit;
pub mod export;
pub mod ops;
pub mod sync;
mod told;
pub mod verify;
mod why;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use crate::diag::Code;
use crate::diag::Finding;
use crate::index::builtin;
use crate::index::download::Place;
use crate::index::source::File;
use crate::index::source::IndexName;
use crate::index::source::Source;
use crate::index::source::SourceError;
use crate::knowledge::Knowledge;
use crate::lock;
use crate::lock::Lockfile;
use crate::lock::Pins;
use crate::lock::ReadOutcome;
use crate::lock::Stale;
use crate::lock::model::LockedEnv;
use crate::manifest;
use crate::manifest::Manifest;
use crate::manifest::Project;
use crate::manifest::model::EnvSpec;
use crate::manifest::model::Root;
use crate::manifest::model::RootSource;
use crate::manifest::model::RootTable;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::pep::Specifiers;
use crate::progress::Progress;
use crate::progress::Silent;
use crate::resolve;
use crate::resolve::Facts;
use crate::resolve::Request;
use crate::resolve::Resolution;
use crate::resolve::held::Kept;
use crate::resolve::request::Preferences;
use crate::resolve::resolution::Held;
use crate::resolve::resolution::Origin;
use crate::resolve::resolution::PythonHeld;
use crate::sys::Turn;
use crate::sys::fs;
use crate::target::MacosVersion;
use crate::target::Platform;
use crate::target::PythonMinor;

pub use edit::{Change, Edited, edit};
pub use told::{KnownProblem, Set, Told, tell};
pub use why::{Standing, Why, why};

/// The name of the lock, which lies beside the manifest.
const LOCK_NAME: &str = "macml.lock";

/// How long an index may keep a person waiting whose lock is current.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is asked of [`lock()`].
#[derive(Clone, Debug)]
pub struct Job {
    /// Where the search for macml.toml begins.
    pub start: PathBuf,
    /// Where it ends at the latest.
    pub home: Option<PathBuf>,
    /// The version of this macml.
    pub version: semver::Version,
    /// Environments to look at, by name; all when empty.
    pub only: Vec<String>,
    /// Which pins may move although they still fit.
    pub upgrade: Upgrade,
    /// What to try instead of what is declared.
    pub trial: Trial,
    /// What becomes of the answer.
    pub purpose: Purpose,
}

/// Which pins may move although they still fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Upgrade {
    /// None.
    Nothing,
    /// All, and the Python.
    Everything,
    /// Those of these packages.
    Packages(BTreeSet<PackageName>),
}

impl Upgrade {
    /// Warns of packages that are in none of these locks, so that nothing of them can move.
    fn in_vain(&self, locks: &[Option<&Lockfile>]) -> Vec<Finding> {
        let Self::Packages(names) = self else { return Vec::new() };
        let locked = |name: &PackageName| {
            locks.iter().flatten().any(|lock| lock.packages.iter().any(|package| package.name == *name))
        };
        let warn = |name: &PackageName| {
            let meant = manifest::meant::meant(name.as_str()).map(|meant| format!("; did you mean `{meant}`?"));
            let message = format!("no environment has `{name}`: there is nothing of it to upgrade");
            Finding::warning(Code::NothingToUpgrade, message + &meant.unwrap_or_default())
        };
        names.iter().filter(|name| !locked(name)).map(warn).collect()
    }
}

/// What to try instead of what is declared. What comes of it is never written, unless it is what is declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Trial {
    /// Another floor on Macs.
    pub macos: Option<MacosVersion>,
    /// One Python.
    pub python: Option<PythonMinor>,
}

/// What becomes of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// It is written.
    Write,
    /// It is compared with the lock, which should be current.
    Check,
    /// It is shown.
    Show,
}

/// Reaches the indexes of a manifest.
pub type Connect<'a> = &'a mut dyn FnMut(&Manifest, Reach) -> Result<Box<dyn Source>, SourceError>;

/// How far a [`Connect`] reaches, where the network is not switched off anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// The indexes.
    Network,
    /// The indexes, for something that a person can do without: no word of what fails.
    Aside,
    /// What is cached, however old.
    Cache,
}

/// What [`lock()`] found.
#[derive(Debug)]
pub struct Outcome {
    /// In one word.
    pub verdict: Verdict,
    /// The manifest that was answered.
    pub project: Project,
    /// Its folder.
    pub folder: PathBuf,
    /// What is in macml.lock, would be in it, or came of a trial.
    pub lockfile: Lockfile,
    /// What was in macml.lock before.
    pub before: Before,
    /// One for each environment and platform looked at, in the order of the manifest.
    pub answers: Vec<Answer>,
    /// Warnings and notes on the manifest, then those of the indexes.
    pub findings: Vec<Finding>,
    /// Why the lock before did not answer the manifest; empty when it did, or when there was none.
    pub stale: Vec<Stale>,
    /// Why a stale lock could not be solved afresh; `lockfile` has the old answer then, if there was one.
    pub unsolved: Option<Box<Error>>,
}

/// What was in macml.lock before.
#[derive(Clone, Debug)]
pub enum Before {
    /// There was none.
    Absent,
    /// A lock.
    Whole(Box<Lockfile>),
    /// Git's conflict markers, or something that is no lock any more: what could be made out was preferred.
    Broken,
}

/// What became of macml.lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It answers the manifest, and nothing was done.
    Unchanged,
    /// It was written.
    Written,
    /// It would be written.
    Differs,
    /// It does not answer the manifest, and was to.
    Stale,
    /// Something else than the manifest was tried.
    Tried,
}

/// One environment on one platform.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The environment as it was solved, trial included.
    pub env: EnvSpec,
    /// The platform.
    pub platform: Platform,
    /// Whether it was solved in this run.
    pub origin: AnswerOrigin,
    /// Why no later Python of the range was taken.
    pub python_held: Option<PythonHeld>,
    /// Roots that are older than their newest release.
    pub held: Vec<Held>,
    /// What is known to go wrong at the floor, the worst first.
    pub problems: Vec<KnownProblem>,
    /// Warnings and notes.
    pub findings: Vec<Finding>,
}

/// Where an [`Answer`] comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerOrigin {
    /// From the lock.
    Kept,
    /// From the solver, just now.
    Solved,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Stage 1 failed.
    #[error(transparent)]
    Manifest(#[from] manifest::Error),
    /// The manifest does not have an environment that was asked for.
    #[error("macml.toml has no environment `{name}`")]
    UnknownEnv {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A macOS was to be tried, and no environment looked at is for Macs.
    #[error("no environment looked at is for Macs, so there is no macOS floor to try")]
    NoMac,
    /// A Python was to be tried that does not exist, or not yet.
    #[error("macml knows no release of Python {python}")]
    UnknownPython {
        /// The Python.
        python: PythonMinor,
    },
    /// A wheel by path or address whose file name says nothing.
    #[error("could not take `{name}` from a wheel")]
    DirectWheel {
        /// The package.
        name: PackageName,
        /// Why.
        #[source]
        cause: crate::pep::wheel_name::WheelNameError,
    },
    /// The indexes cannot be reached at all: a setting is wrong.
    #[error(transparent)]
    Connect(SourceError),
    /// The lock cannot be read or written.
    #[error(transparent)]
    Lockfile(#[from] lock::Error),
    /// The answers do not go into one lock.
    #[error("could not put the answers into one lockfile")]
    Build(#[from] lock::BuildError),
    /// An environment has no answer, or none could be found out.
    #[error("{cause}")]
    Resolve {
        /// Why.
        cause: resolve::Error,
        /// The manifest, for places in it.
        project: Box<Project>,
    },
    /// The manifest cannot be edited as asked for.
    #[error(transparent)]
    Edit(#[from] manifest::edit::EditError),
    /// Someone edited the manifest in the meantime.
    #[error("`{}` changed while it was being solved", manifest.display())]
    ManifestChanged {
        /// The manifest.
        manifest: PathBuf,
    },
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] fs::FsError),
}

/// Brings macml.lock in line with macml.toml, or says what that would mean.
///
/// Where the lock answers the manifest, no index is needed: the cache tells what the summary says of newer releases.
/// Only of frameworks that it has no page of an index is asked, unless the lock was only to be checked.
///
/// # Errors
/// When there is no answer, or something stood in the way; nothing was written then.
pub fn lock(job: &Job, connect: Connect<'_>, progress: &dyn Progress) -> Result<Outcome, Error> {
    let manifest = manifest::discover(&job.start, job.home.as_deref())?;
    let _turn = take_turn(job.purpose, &manifest, progress)?;
    let project = manifest::read(&manifest, &job.version)?;
    let lock_path = project.folder().join(LOCK_NAME);
    let present = Present::from(lock::read(&lock_path)?);
    present.announce(progress);
    let Answered { lockfile, answers, findings, stale, unsolved, current, tried } =
        answer(job, &project, &present, connect, progress)?;
    let verdict = match job.purpose {
        _ if tried => Verdict::Tried,
        _ if current => Verdict::Unchanged,
        Purpose::Check => Verdict::Stale,
        Purpose::Show if present.lock.as_ref() == Some(&lockfile) => Verdict::Unchanged,
        Purpose::Show => Verdict::Differs,
        Purpose::Write => {
            unchanged_since(&manifest, &project.source.text)?;
            match lock::write(&lock_path, &lockfile)? {
                fs::Written::Unchanged => Verdict::Unchanged,
                fs::Written::Changed => Verdict::Written,
            }
        }
    };
    let folder = project.folder().to_owned();
    Ok(Outcome { verdict, project, folder, lockfile, before: present.before(), answers, findings, stale, unsolved })
}

/// What a manifest comes to, before anything is written.
struct Answered {
    lockfile: Lockfile,
    answers: Vec<Answer>,
    findings: Vec<Finding>,
    stale: Vec<Stale>,
    unsolved: Option<Box<Error>>,
    /// Whether the lock that is there answers it.
    current: bool,
    /// Whether something else than the manifest was solved.
    tried: bool,
}

/// Solves what the lock that is there does not answer.
fn answer(
    job: &Job,
    project: &Project,
    present: &Present,
    connect: Connect<'_>,
    progress: &dyn Progress,
) -> Result<Answered, Error> {
    let folder = project.folder();
    let envs = wanted(job, project, present)?;
    let tried = envs.iter().any(|env| !project.manifest.envs.contains(env));
    let kept = envs.iter().map(|env| present.keep(job, env, project, folder)).collect::<Vec<_>>();
    let mut source = match kept.iter().all(Option::is_some) {
        true => None,
        false => Some(connect(&project.manifest, Reach::Network).map_err(Error::Connect)?),
    };
    let mut facts = source.as_deref_mut().map(|source| Facts::new(source, progress));

    let solve = Solve { job, project, present, folder };
    let mut answers = Vec::new();
    let mut solved = Vec::new();
    let mut unsolved = None;
    for (env, kept) in envs.iter().zip(kept) {
        let (None, Some(facts)) = (&kept, &mut facts) else {
            answers.extend(kept.into_iter().flatten());
            continue;
        };
        match solve.solve(env, facts) {
            Ok(new) => {
                answers.extend(new.iter().map(|one| Answer::solved(env, &one.resolution)));
                solved.extend(new);
            }
            // That the lock is stale is known without knowing what it should be.
            Err(error) if job.purpose == Purpose::Check && !error.is_refusal() => {
                unsolved.get_or_insert(Box::new(error));
            }
            Err(error) => return Err(error),
        }
    }

    drop(facts);
    solve.look(&mut answers, connect, progress);
    let mut findings = project.findings.clone();
    findings.extend(source.iter().flat_map(|source| source.findings()));

    let stale = present.stale(project, &envs);
    let current = stale.is_empty() && solved.is_empty() && unsolved.is_none();
    let lockfile = if current { present.whole() } else { present.with(project, &solved)? };
    let knowledge = Knowledge::built_in();
    for answer in &mut answers {
        if let Some(locked) = lockfile.env(&answer.env.name, answer.platform) {
            answer.tell(&knowledge, locked);
        }
    }
    findings.extend(job.upgrade.in_vain(&[present.lock.as_ref(), Some(&lockfile)]));
    Ok(Answered { lockfile, answers, findings, stale, unsolved, current, tried })
}

/// Why a lock is not used as it is.
#[derive(Debug, thiserror::Error)]
pub enum NotCurrent {
    /// The manifest, or the lock, could not be read.
    #[error(transparent)]
    Pipeline(#[from] Error),
    /// There is no lock.
    #[error("there is no `{LOCK_NAME}`")]
    Unlocked,
    /// The lock cannot be read.
    #[error("`{LOCK_NAME}` cannot be used as it is")]
    Broken,
    /// The lock does not answer the manifest.
    #[error("`{LOCK_NAME}` does not answer `macml.toml`")]
    Stale(Vec<Stale>),
}

/// Returns the lock beside a manifest, if it answers the environments that are named: all of them where none is.
///
/// # Errors
/// When it does not, or one of these is no environment.
pub fn current_lock(project: &Project, only: &[String]) -> Result<Lockfile, NotCurrent> {
    let all = &project.manifest.envs;
    only.iter().try_for_each(|name| env(all, name).map(drop))?;
    let chosen = |env: &&EnvSpec| only.is_empty() || only.contains(&env.name);
    let envs: Vec<EnvSpec> = all.iter().filter(chosen).cloned().collect();
    let present = Present::from(lock::read(&project.folder().join(LOCK_NAME)).map_err(Error::from)?);
    let broken = present.is_broken();
    let stale = present.stale(project, &envs);
    match present.lock {
        None if broken => Err(NotCurrent::Broken),
        None => Err(NotCurrent::Unlocked),
        Some(_) if !stale.is_empty() => Err(NotCurrent::Stale(stale)),
        Some(lock) => Ok(lock),
    }
}

/// Lets nobody else write this project's lock meanwhile. The manifest stands for the lock: it is there, and a file of
/// our own would be litter.
fn take_turn(purpose: Purpose, manifest: &Path, progress: &dyn Progress) -> Result<Option<Turn>, Error> {
    if purpose != Purpose::Write {
        return Ok(None);
    }
    let mut waiting = || progress.note("waiting for another macml that is locking this project");
    Ok(Some(Turn::take(manifest, &mut waiting)?))
}

/// Finds an environment of a manifest.
///
/// # Errors
/// When there is none of that name.
pub fn env<'a>(envs: &'a [EnvSpec], name: &str) -> Result<&'a EnvSpec, Error> {
    let known = || envs.iter().map(|env| env.name.clone()).collect();
    let found = envs.iter().find(|env| env.name == name);
    found.ok_or_else(|| Error::UnknownEnv { name: name.to_owned(), known: known() })
}

/// Says where the files of a locked release are found, of a project in `folder`.
fn place_of(origin: &Origin, folder: &Path) -> Place {
    match origin {
        Origin::Index(index) => Place::Index(index.clone()),
        Origin::Path(path) => Place::Path(folder.join(path)),
        Origin::Url { url, .. } => {
            Place::Address(url.parse().expect("the address of a wheel is checked when the lock is read"))
        }
    }
}

/// Picks the environments to look at, changed as the trial says.
fn wanted(job: &Job, project: &Project, present: &Present) -> Result<Vec<EnvSpec>, Error> {
    let all = &project.manifest.envs;
    job.only.iter().try_for_each(|name| env(all, name).map(drop))?;
    // Entries of the others cannot be carried over from a lock that is broken.
    let every = job.only.is_empty() || present.is_broken();
    let mut envs: Vec<_> = all.iter().filter(|env| every || job.only.contains(&env.name)).cloned().collect();
    if let Some(macos) = job.trial.macos {
        envs.retain(|env| env.mac.is_some());
        if envs.is_empty() {
            return Err(Error::NoMac);
        }
        for mac in envs.iter_mut().filter_map(|env| env.mac.as_mut()) {
            mac.macos = macos;
        }
    }
    if let Some(python) = job.trial.python {
        if PythonMinor::RELEASED.iter().all(|(released, _)| *released != python) {
            return Err(Error::UnknownPython { python });
        }
        let only: Specifiers = format!("=={python}.*").parse().expect("a minor makes a specifier");
        envs.iter_mut().for_each(|env| env.python = only.clone());
    }
    Ok(envs)
}

/// What every environment of a run is solved with.
struct Solve<'a> {
    job: &'a Job,
    project: &'a Project,
    present: &'a Present,
    /// The project's folder.
    folder: &'a Path,
}

impl Solve<'_> {
    /// Solves an environment: the first platform by itself, the others close to it.
    fn solve(&self, env: &EnvSpec, facts: &mut Facts<'_>) -> Result<Vec<lock::Answer>, Error> {
        let mut answers: Vec<lock::Answer> = Vec::new();
        for platform in env.platforms.iter().copied() {
            let before = self.present.preferences(&self.job.upgrade, &env.name, platform);
            let preferences = match answers.first() {
                Some(first) => prefer(&first.resolution, before),
                None => before,
            };
            let inputs = env.inputs(platform, &self.project.manifest.indexes);
            let request = self.request(env, platform, preferences)?;
            let resolution = resolve::resolve(&request, facts)
                .map_err(|cause| Error::Resolve { cause, project: Box::new(self.project.clone()) })?;
            answers.push(lock::Answer { resolution, inputs });
        }
        Ok(answers)
    }

    fn request(&self, env: &EnvSpec, platform: Platform, preferences: Preferences) -> Result<Request, Error> {
        request(&self.project.manifest, self.folder, (env, platform), preferences)
    }

    /// Says of the answers kept which of their roots have newer releases, and why those are not in the lock: from the
    /// cache, and of frameworks that it knows nothing of, from their indexes. Whatever fails leaves the answers bare.
    fn look(&self, answers: &mut [Answer], connect: Connect<'_>, progress: &dyn Progress) {
        let kept = answers.iter_mut().filter(|answer| answer.origin == AnswerOrigin::Kept);
        let mut looks = kept.filter_map(|answer| Look::new(self, answer)).collect::<Vec<_>>();
        if looks.is_empty() {
            return;
        }
        let manifest = &self.project.manifest;
        if let Ok(mut cache) = connect(manifest, Reach::Cache) {
            let mut facts = Facts::new(&mut *cache, &Silent);
            looks.iter_mut().for_each(|look| look.take(None, &mut facts));
        }
        looks.retain(|look| !look.unseen.is_empty());
        if looks.is_empty() || self.job.purpose == Purpose::Check {
            return;
        }
        if let Ok(mut indexes) = connect(manifest, Reach::Aside) {
            let mut facts = Facts::new(&mut *indexes, progress);
            facts.set_deadline(Some(Instant::now() + PATIENCE));
            for look in &mut looks {
                let unseen = std::mem::take(&mut look.unseen);
                look.take(Some(&unseen), &mut facts);
            }
        }
    }
}

/// Puts together what is asked of the solver for an environment of a manifest, which need not be declared there, on a
/// platform; `folder` is the project's.
///
/// # Errors
/// When a wheel by path or address has a file name that says nothing.
pub fn request(
    manifest: &Manifest,
    folder: &Path,
    (env, platform): (&EnvSpec, Platform),
    preferences: Preferences,
) -> Result<Request, Error> {
    let (indexes, direct) = (indexes(manifest), direct(env, platform, folder)?);
    let knowledge = Knowledge::built_in();
    Ok(Request { env: env.clone(), platform, indexes, preferences, direct, python: None, knowledge })
}

/// Names the indexes that serve packages which name none: the manifest's, then the default one.
fn indexes(manifest: &Manifest) -> Vec<IndexName> {
    let own = manifest.indexes.iter().filter(|index| !index.explicit);
    let mut names = own.map(|index| IndexName::from(&*index.name)).collect::<Vec<_>>();
    if manifest.indexes.iter().all(|index| index.name != builtin::DEFAULT) {
        names.push(builtin::DEFAULT.into());
    }
    names
}

/// Lists the packages of an environment in a lock as one can look at them.
fn kept(lock: &Lockfile, env: &LockedEnv) -> BTreeMap<PackageName, Kept> {
    let package = |entry: &lock::model::LockedRef| {
        let requires = lock.package(entry)?.edges(&env.name, env.platform).to_vec();
        let (version, extras) = (entry.version.clone(), entry.extras.clone());
        Some((entry.name.clone(), Kept { version, extras, requires }))
    };
    env.packages.iter().filter_map(package).collect()
}

/// A kept answer, and what it takes to say which newer releases there are.
struct Look<'a> {
    answer: &'a mut Answer,
    request: Request,
    python: PythonMinor,
    packages: BTreeMap<PackageName, Kept>,
    /// Frameworks of which nothing could be found out yet.
    unseen: Vec<PackageName>,
}

impl<'a> Look<'a> {
    fn new(solve: &Solve<'_>, answer: &'a mut Answer) -> Option<Self> {
        let lock = solve.present.lock.as_ref()?;
        let env = lock.env(&answer.env.name, answer.platform)?;
        let mut preferences = solve.present.preferences(&Upgrade::Nothing, &env.name, env.platform);
        let first = answer.env.platforms.first().filter(|first| **first != answer.platform);
        if let Some(first) = first.and_then(|first| lock.env(&env.name, *first)) {
            let same = env.packages.iter().filter(|entry| first.packages.contains(entry));
            preferences.alike = Some((first.platform, same.map(|entry| entry.name.clone()).collect()));
        }
        let request = solve.request(&answer.env, answer.platform, preferences).ok()?;
        let packages = kept(lock, env);
        Some(Self { answer, request, python: env.python, packages, unseen: Vec::new() })
    }

    /// Finds out about all roots, or about `only` those.
    fn take(&mut self, only: Option<&[PackageName]>, facts: &mut Facts<'_>) {
        let looked = resolve::held::look(&self.request, &self.packages, self.python, only, facts);
        self.unseen = looked.unseen;
        let rank = |name: &PackageName| {
            let framework = |root: &Root| root.table == RootTable::Frameworks && root.name == *name;
            !self.request.env.roots.iter().any(framework)
        };
        self.answer.python_held = looked.python.or(self.answer.python_held.take());
        self.answer.held.extend(looked.held);
        self.answer.held.sort_by_cached_key(|held| (rank(&held.name), held.name.clone()));
    }
}

/// Puts what another platform chose before what the lock chose.
fn prefer(first: &Resolution, before: Preferences) -> Preferences {
    let chosen = first.packages.iter().map(|(name, package)| (name.clone(), vec![package.version.clone()]));
    let mut versions: BTreeMap<_, _> = chosen.collect();
    for (name, others) in before.versions {
        let best = versions.entry(name).or_default();
        others.into_iter().for_each(|version| {
            if !best.contains(&version) {
                best.push(version)
            }
        });
    }
    let alike = Some((first.platform, first.packages.keys().cloned().collect()));
    Preferences { python: Some(first.python), versions, alike }
}

/// Describes the wheels by path and address that an environment names for a platform.
fn direct(env: &EnvSpec, platform: Platform, folder: &Path) -> Result<BTreeMap<PackageName, Arc<File>>, Error> {
    let mut files = BTreeMap::new();
    for root in env.roots.iter().filter(|root| root.platform.is_none_or(|only| only == platform)) {
        let (url, sha256) = match &root.source {
            RootSource::Versions(_) => continue,
            RootSource::Path(path) => (file_url(&folder.join(path)), None),
            RootSource::Url { url, sha256 } => (url.clone(), Some(*sha256)),
        };
        let filename = root.source.file_name();
        let wheel = filename.parse().map_err(|cause| Error::DirectWheel { name: root.name.clone(), cause })?;
        let file = File { filename: filename.into(), sha256, ..File::at(wheel, url.as_str()) };
        files.insert(root.name.clone(), Arc::new(file));
    }
    Ok(files)
}

fn file_url(path: &Path) -> url::Url {
    url::Url::from_file_path(path).expect("the project's folder is an absolute path")
}

/// Refuses to write the answer to a manifest that is no longer there.
fn unchanged_since(manifest: &Path, read: &str) -> Result<(), Error> {
    match fs::read_text(manifest)? {
        Some(text) if text == read => Ok(()),
        _ => Err(Error::ManifestChanged { manifest: manifest.to_owned() }),
    }
}

impl Error {
    /// Returns whether the answer is no, rather than missing.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Resolve { cause: resolve::Error::NoSolution(_), .. })
    }
}

impl Outcome {
    /// Compares with the lock before.
    pub fn diff(&self) -> lock::Diff {
        let before = match &self.before {
            Before::Whole(lock) => Some(&**lock),
            Before::Absent | Before::Broken => None,
        };
        lock::diff(before, Some(&self.lockfile))
    }
}

impl Answer {
    /// Puts in what the knowledge tells of its releases.
    fn tell(&mut self, knowledge: &Knowledge, locked: &LockedEnv) {
        let releases = locked.packages.iter().map(|entry| (entry.name.clone(), entry.version.clone())).collect();
        let (env, platform, python) = (&self.env, self.platform, locked.python);
        let told = told::tell(knowledge, Set { env, platform, python, releases: &releases, held: &self.held });
        self.problems = told.problems;
        self.findings.extend(told.findings);
    }

    fn solved(env: &EnvSpec, resolution: &Resolution) -> Self {
        Self {
            env: env.clone(),
            platform: resolution.platform,
            origin: AnswerOrigin::Solved,
            python_held: resolution.python_held.clone(),
            held: resolution.held.clone(),
            problems: Vec::new(),
            findings: resolution.findings.clone(),
        }
    }

    fn kept(env: &EnvSpec, platform: Platform) -> Self {
        Self {
            env: env.clone(),
            platform,
            origin: AnswerOrigin::Kept,
            python_held: None,
            held: Vec::new(),
            problems: Vec::new(),
            findings: Vec::new(),
        }
    }
}

/// macml.lock as it is.
struct Present {
    lock: Option<Lockfile>,
    /// What it chose, several times where a merge has left both sides.
    pins: Vec<Pins>,
    /// Why it cannot be kept as it is.
    broken: Option<String>,
}

impl From<ReadOutcome> for Present {
    fn from(read: ReadOutcome) -> Self {
        match read {
            ReadOutcome::Absent => Self { lock: None, pins: Vec::new(), broken: None },
            ReadOutcome::Whole(lock) => Self { pins: vec![Pins::from(&*lock)], lock: Some(*lock), broken: None },
            ReadOutcome::Conflicted { ours, theirs } => {
                let broken = "`macml.lock` has conflict markers: solving afresh, both sides as preferences".to_owned();
                Self { lock: None, pins: vec![ours, theirs], broken: Some(broken) }
            }
            ReadOutcome::Damaged { error, pins } => {
                let broken =
                    format!("`macml.lock` is damaged ({error}): solving afresh, close to what can be read of it");
                Self { lock: None, pins: vec![pins], broken: Some(broken) }
            }
        }
    }
}

impl Present {
    fn announce(&self, progress: &dyn Progress) {
        self.broken.iter().for_each(|text| progress.note(text));
    }

    fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Returns why it does not answer the manifest, as far as `envs` are concerned.
    fn stale(&self, project: &Project, envs: &[EnvSpec]) -> Vec<Stale> {
        let Some(lock) = &self.lock else { return Vec::new() };
        let digests = project.manifest.envs.iter().flat_map(|env| {
            let inputs = |platform: &Platform| env.inputs(*platform, &project.manifest.indexes);
            env.platforms.iter().map(move |platform| (env.name.clone(), *platform, inputs(platform)))
        });
        let mut reasons = lock::satisfies(lock, &digests.collect::<Vec<_>>());
        reasons.retain(|reason| match reason {
            Stale::MissingEnv { env } | Stale::MissingPlatform { env, .. } | Stale::InputsChanged { env, .. } => {
                envs.iter().any(|one| one.name == *env)
            }
            Stale::ExtraEnv { .. } | Stale::ExtraPlatform { .. } | Stale::UnusedPackage { .. } => true,
        });
        reasons
    }

    /// Returns the answers of an environment that need no solving.
    fn keep(&self, job: &Job, env: &EnvSpec, project: &Project, folder: &Path) -> Option<Vec<Answer>> {
        let entries = self.lock.as_ref()?.envs.iter().filter(|entry| entry.name == env.name).collect::<Vec<_>>();
        let answered = |platform: &Platform| {
            let inputs = env.inputs(*platform, &project.manifest.indexes);
            entries.iter().any(|entry| entry.platform == *platform && entry.inputs == inputs)
        };
        let moves = match &job.upgrade {
            Upgrade::Nothing => false,
            Upgrade::Everything => true,
            Upgrade::Packages(names) => {
                entries.iter().any(|entry| entry.packages.iter().any(|package| names.contains(&package.name)))
            }
        };
        let keeps = !moves
            && !self.changed_wheels(env, folder)
            && entries.len() == env.platforms.len()
            && env.platforms.iter().all(answered);
        keeps.then(|| env.platforms.iter().map(|platform| Answer::kept(env, *platform)).collect())
    }

    /// Returns whether a wheel that an environment names by path is another one than was locked, or gone.
    fn changed_wheels(&self, env: &EnvSpec, folder: &Path) -> bool {
        let packages = self.lock.iter().flat_map(|lock| &lock.packages).collect::<Vec<_>>();
        env.roots.iter().any(|root| {
            let RootSource::Path(path) = &root.source else { return false };
            let origin = Origin::Path(path.clone());
            let locked = packages.iter().find(|package| package.name == root.name && package.origin == origin);
            let Some(wheel) = locked.and_then(|package| package.wheels.first()) else { return false };
            let bytes = fs::read_bytes(&folder.join(path)).ok().flatten();
            bytes.is_none_or(|bytes| bytes.len() as u64 != wheel.size || Sha256::of(&bytes) != wheel.sha256)
        })
    }

    /// Returns what to stay close to.
    fn preferences(&self, upgrade: &Upgrade, env: &str, platform: Platform) -> Preferences {
        let pins = self.pins.iter().collect::<Vec<_>>();
        let mut all = match upgrade {
            Upgrade::Everything => return Preferences::default(),
            Upgrade::Nothing | Upgrade::Packages(_) => lock::combine(&pins, env, platform),
        };
        if let Upgrade::Packages(names) = upgrade {
            all.versions.retain(|name, _| !names.contains(name));
        }
        all
    }

    /// Returns it as it is; called where nothing was to be solved.
    fn whole(&self) -> Lockfile {
        self.lock.clone().expect("a lock that answers everything is whole")
    }

    /// Returns it with new answers in, and without what the manifest no longer has.
    fn with(&self, project: &Project, solved: &[lock::Answer]) -> Result<Lockfile, Error> {
        let new = lock::build(&Knowledge::built_in().date, solved)?;
        let Some(lock) = &self.lock else { return Ok(new) };
        let mut old = lock.clone();
        old.envs.retain(|entry| project.manifest.envs.iter().any(|env| env.name == entry.name));
        Ok(lock::with_envs(&old, &new)?)
    }

    fn before(self) -> Before {
        match self.lock {
            _ if self.broken.is_some() => Before::Broken,
            Some(lock) => Before::Whole(Box::new(lock)),
            None => Before::Absent,
        }
    }
}
