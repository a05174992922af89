//! From macml.lock to an environment: exactly as locked, or the old one untouched.
//!
//! ```text
//! macml.toml -> lock (solved where it is stale) -> environments asked for, on this platform
//!   -> does this Mac carry it -> which files -> which Python -> digest of it all == the stamp's?  yes: nothing to do
//!   -> wheels into the cache -> plan -> a new generation beside the old -> its name -> the link -> this user's note
//! ```
//!
//! Everything that can say no says so before the first download, and everything that can fail does so before the link
//! is replaced.

mod build;
mod content;
mod error;
mod fetch;
mod locked;
pub(super) mod select;
mod stage;
mod tree;

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use crate::diag::Finding;
use crate::environment;
use crate::environment::Built;
use crate::environment::Fit;
use crate::environment::Generation;
use crate::environment::Generations;
use crate::environment::Known;
use crate::environment::Package;
use crate::environment::PackageChange;
use crate::environment::Place;
use crate::environment::Replace;
use crate::environment::Stamp;
use crate::environment::Standing;
use crate::host::Host;
use crate::host::chip::Processor;
use crate::index::download::DownloadError;
use crate::index::download::Downloads;
use crate::index::download::Wanted;
use crate::install::LinkMode;
use crate::install::Linked;
use crate::install::OpenCache;
use crate::install::WheelCache;
use crate::knowledge::Knowledge;
use crate::lock::model::LockedEnv;
use crate::manifest::Manifest;
use crate::manifest::Project;
use crate::manifest::model::EnvSpec;
use crate::pep::Sha256;
use crate::pep::Specifiers;
use crate::pep::Version;
use crate::pipeline;
use crate::progress::Progress;
use crate::progress::Step;
use crate::python;
use crate::python::Search;
use crate::sys;
use crate::sys::fs;
use crate::sys::tree::may_make;
use crate::target::Platform;
use crate::verify;

use content::Content;
use locked::Locked;
use select::Chosen;

use super::Connect;
use super::KnownProblem;
use super::Set;
use super::Told;
use super::told;

pub use crate::environment::STAGED_NAME;
pub use error::Error;
pub(super) use stage::Mark;
pub use stage::{StageJob, Staged, stage};

/// What is asked of [`sync()`].
#[derive(Clone, Debug)]
pub struct Job {
    /// Where the lock comes from.
    pub source: Source,
    /// Which environments.
    pub which: Which,
    /// What becomes of a difference.
    pub purpose: Purpose,
    /// How files get into the environment; `None` where the file systems decide.
    pub link_mode: Option<LinkMode>,
    /// Whether modules are compiled.
    pub compile: bool,
    /// What happens to something at the link that macml did not make.
    pub replace: Replace,
    /// Where Pythons are looked for.
    pub search: Search,
    /// This Mac; `None` on other machines.
    pub host: Option<Host>,
    /// This user's folder for environments of projects whose own folder does not suit them.
    pub data: Option<PathBuf>,
    /// This user's folder for notes on what was built.
    pub state: Option<PathBuf>,
    /// The time.
    pub now: SystemTime,
}

/// Where a lock and its wheels come from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where the search for macml.toml begins.
    pub start: PathBuf,
    /// Where it ends at the latest.
    pub home: Option<PathBuf>,
    /// The version of this macml.
    pub version: semver::Version,
    /// What a lock that does not answer macml.toml means.
    pub staleness: Staleness,
    /// The folder of caches.
    pub cache: Option<PathBuf>,
    /// A folder of wheels, which is asked instead of any index.
    pub wheels: Option<PathBuf>,
}

/// What a lock that does not answer macml.toml means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Staleness {
    /// It is solved first.
    Solve,
    /// It is an error.
    Refuse,
    /// Nobody looks.
    Ignore,
}

/// Which environments of a manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The default one.
    Default,
    /// These.
    Named(Vec<String>),
    /// Every one that is for this platform.
    All,
}

/// What becomes of a difference between an environment and its lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The environment is built.
    Build,
    /// It is told, and nothing is written.
    Show,
    /// It is a no; nothing is written.
    Check,
}

/// Begins to get wheels of a manifest's indexes.
pub type Download<'a> = dyn Fn(&Manifest, &[Wanted]) -> Result<Downloads, DownloadError> + 'a;

/// How indexes are reached.
pub struct Reaching<'a> {
    /// To solve.
    pub connect: Connect<'a>,
    /// To get wheels.
    pub download: &'a Download<'a>,
}

/// What [`sync()`] did, or would do.
#[derive(Debug)]
pub struct Outcome {
    /// The manifest.
    pub project: Project,
    /// Its folder.
    pub folder: PathBuf,
    /// What came of solving, where that was needed.
    pub solved: Option<Box<super::Outcome>>,
    /// The environments, in the order of the manifest.
    pub environments: Vec<Synced>,
    /// Warnings and notes on the manifest.
    pub findings: Vec<Finding>,
    /// Whether a difference is a no.
    pub checked: bool,
}

/// What became of an environment.
#[derive(Clone, PartialEq, Debug)]
pub struct Synced {
    /// Its name.
    pub name: String,
    /// The platform.
    pub platform: Platform,
    /// In one word.
    pub verdict: Verdict,
    /// What people and editors name: `.venv`.
    pub link: PathBuf,
    /// The generation at the link now; `None` where there is none yet.
    pub generation: Option<PathBuf>,
    /// The version of its Python.
    pub python: Version,
    /// The Python that it is made from.
    pub interpreter: PathBuf,
    /// How many packages it has.
    pub packages: usize,
    /// Why it is, or was, not as locked, packages apart.
    pub differences: Vec<Difference>,
    /// Whether there was a generation before, so that `changes` compares with something.
    pub had_before: bool,
    /// What came, went and moved.
    pub changes: Vec<PackageChange>,
    /// What was not put there by macml, and is not in the new generation.
    pub strays: Vec<String>,
    /// What was downloaded, or would be: wheels and bytes.
    pub downloads: Amount,
    /// How its files were made.
    pub linked: Option<Linked>,
    /// The new name of what was at the link and macml did not make.
    pub moved_aside: Option<PathBuf>,
    /// What is known to go wrong on this machine, the worst first; told when something was built.
    pub problems: Vec<KnownProblem>,
    /// What else the knowledge tells of it then.
    pub findings: Vec<Finding>,
    /// What is not as it should be and did not stand in the way, a sentence each.
    pub warnings: Vec<String>,
    /// How its GPU stands; `None` where it is no Mac's, has nothing that would use it, or is not there.
    pub gpu: Option<verify::Standing>,
    /// How long it took.
    pub took: Duration,
}

/// What became of an environment, in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It was as locked, and nothing was done.
    Unchanged,
    /// It was built, and is as locked now.
    Built,
    /// It is not as locked, and nothing was done.
    Differs,
}

/// Why an environment is not as locked, packages apart.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Difference {
    /// There is none.
    #[error("it was not built yet")]
    Absent,
    /// Something is there that macml did not make.
    #[error("what was there was not made by macml")]
    Foreign,
    /// What is there was built by somebody else, or elsewhere, or that cannot be told.
    #[error("this user's macml had no note of having built it")]
    Unknown,
    /// It was built for a folder that the project is no longer in.
    #[error("it was built for `{}`", .0.display())]
    Moved(PathBuf),
    /// It has another Python.
    #[error("its Python was {old} and is to be {new}")]
    Python {
        /// The version that it has.
        old: String,
        /// The version that it is to have.
        new: String,
    },
    /// Something came into it or went from it.
    #[error("something was put into it or removed from it by hand")]
    Touched,
    /// Its packages are others.
    #[error("its packages were not those that are locked")]
    Packages,
    /// Something else differs: a setting, the Python's file, the form of environments.
    #[error("it was built from other files or settings")]
    Settings,
}

/// Wheels and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Amount {
    /// How many wheels.
    pub wheels: usize,
    /// How many bytes.
    pub bytes: u64,
}

/// Brings environments in line with macml.lock, or says what that would mean.
///
/// # Errors
/// When one cannot be; it is what it was then. Those before it are as locked.
pub fn sync(job: &Job, reaching: &mut Reaching<'_>, progress: &dyn Progress) -> Result<Outcome, Error> {
    let platform = platform(job)?;
    let request =
        locked::Request { source: &job.source, which: &job.which, platform, writes: job.purpose == Purpose::Build };
    let locked = locked::read(&request, reaching.connect, progress)?;
    // Whatever speaks against one environment is told before anything is done for another.
    let ready = locked.envs.iter().map(|env| Ready::new(job, &locked, env)).collect::<Result<Vec<_>, _>>()?;
    let mut environments = Vec::new();
    for one in &ready {
        let begun = Instant::now();
        let synced = one.sync(reaching, progress)?;
        environments.push(Synced { gpu: one.gpu(&synced)?, took: begun.elapsed(), ..synced });
    }
    let findings = locked.project.findings.clone();
    let Locked { project, folder, solved, .. } = locked;
    let checked = job.purpose == Purpose::Check;
    Ok(Outcome { project, folder, solved, environments, findings, checked })
}

/// An environment that nothing speaks against.
struct Ready<'a> {
    job: &'a Job,
    locked: &'a Locked,
    env: &'a EnvSpec,
    entry: &'a LockedEnv,
    place: Place,
    fit: Option<Fit>,
    chosen: Vec<Chosen<'a>>,
    interpreter: python::Interpreter,
    content: Content,
}

/// What is at the link before.
struct Present {
    generation: Generation,
    stamp: Stamp,
}

impl<'a> Ready<'a> {
    fn new(job: &'a Job, locked: &'a Locked, env: &'a EnvSpec) -> Result<Self, Error> {
        let platform = platform(job)?;
        let entry = locked.entry(env, platform)?;
        let place = Place::within(&locked.folder, &env.name, job.source.home.as_deref(), job.data.as_deref())?;
        if [&place.link, &place.store].iter().any(|path| path.as_os_str().as_encoded_bytes().contains(&b':')) {
            return Err(Error::Colon(place.project));
        }
        let fit = match &job.host {
            Some(host) if platform.is_mac() => Some(environment::fit(host, &locked.lockfile, entry, env.memory)?),
            _ => None,
        };
        let macos = fit.as_ref().map(|fit| fit.macos);
        let chosen = select::files(&locked.lockfile, entry, env, macos)?;
        let wanted = wanted(entry);
        let interpreter = match kept(job, &place, &wanted)? {
            Some(interpreter) => interpreter,
            None => job.search.choose(&wanted)?,
        };
        let content = Content::new(locked, env, &place, platform, &chosen, &interpreter);
        Ok(Self { job, locked, env, entry, place, fit, chosen, interpreter, content })
    }

    fn sync(&self, reaching: &Reaching<'_>, progress: &dyn Progress) -> Result<Synced, Error> {
        if self.place.standing()? == Standing::Foreign
            && self.job.purpose == Purpose::Build
            && self.job.replace == Replace::Never
        {
            return Err(environment::Error::Foreign { link: self.place.link.clone() }.into());
        }
        let (present, differences) = self.compare()?;
        if differences.is_empty() {
            return self.unchanged(present.expect("what does not differ is there"));
        }
        if self.job.purpose != Purpose::Build {
            return self.differing(present.as_ref(), differences);
        }
        let mut waiting = || progress.note("waiting for another macml that changes environments of this project");
        let generations = Generations::open(&self.place, &mut waiting)?;
        progress.step(Step::Begun);
        // Who was waited for may have built it.
        let (present, differences) = self.compare()?;
        if differences.is_empty() {
            return self.unchanged(present.expect("what does not differ is there"));
        }
        build::build(self, &generations, present, differences, reaching, progress)
    }

    /// Says how the GPU stands: one small file is read, and another one where there is a record.
    fn gpu(&self, synced: &Synced) -> Result<Option<verify::Standing>, Error> {
        let Some(generation) = synced.generation.as_ref().filter(|_| self.entry.platform.is_mac()) else {
            return Ok(None);
        };
        let stamp = Stamp::read(generation)?;
        let locked = pipeline::verify::Locked {
            folder: &self.locked.folder,
            lockfile: &self.locked.lockfile,
            entry: self.entry,
            content: stamp.as_ref().map_or("", |stamp| stamp.content.as_str()),
            host: self.job.host.as_ref(),
        };
        let standing = pipeline::verify::standing(&locked);
        // Of what is not as locked nothing was verified with this lock.
        Ok(standing.map(|standing| if synced.verdict == Verdict::Differs { verify::Standing::Never } else { standing }))
    }

    /// Compares what is there with what should be: a few files, no walk.
    fn compare(&self) -> Result<(Option<Present>, Vec<Difference>), Error> {
        match self.place.standing()? {
            Standing::Nothing => return Ok((None, vec![Difference::Absent])),
            Standing::Foreign => return Ok((None, vec![Difference::Foreign])),
            Standing::Ours(_) => {}
        }
        let Some(generation) = Generations::current(&self.place)? else { return Ok((None, vec![Difference::Absent])) };
        let Some(stamp) = generation.stamp()? else { return Ok((None, vec![Difference::Absent])) };
        let mut differences = Vec::new();
        if stamp.project != self.place.project {
            differences.push(Difference::Moved(stamp.project.clone()));
        }
        let python = self.interpreter.version.to_string();
        if stamp.python != python {
            differences.push(Difference::Python { old: stamp.python.clone(), new: python });
        }
        if !changes(Some(&stamp), &self.chosen).is_empty() {
            differences.push(Difference::Packages);
        }
        // Its Python may still be there by another path, and no longer by this one.
        let runs = fs::kind(&generation.path.join("bin/python"))? == Some(fs::Kind::File);
        if differences.is_empty() && !(runs && self.content.accepts(&stamp.content, self.job.compile)) {
            differences.push(Difference::Settings);
        }
        if !stamp.is_untouched(&generation.path)? {
            differences.push(Difference::Touched);
        }
        // A cloned repository can bring a whole generation, but not this user's note on it.
        if let Some(state) = &self.job.state
            && differences.is_empty()
            && !matches!(Known::of(state, &self.place), Ok(Known::Built(_)))
            && self.may_note(state)
        {
            differences.push(Difference::Unknown);
        }
        Ok((Some(Present { generation, stamp }), differences))
    }

    /// Returns whether a note on what is built can be made: where it cannot, each sync would build one more.
    fn may_note(&self, state: &Path) -> bool {
        match self.job.purpose {
            Purpose::Build => Built::may_write(state, &self.place),
            Purpose::Check | Purpose::Show => may_make(&state.join(Built::FOLDER)).is_ok(),
        }
    }

    fn unchanged(&self, present: Present) -> Result<Synced, Error> {
        let unknown = match self.job.purpose {
            Purpose::Build => {
                // Left-overs are in nobody's way.
                let _ = Generations::tidy(&self.place);
                self.note(&present.generation, &present.stamp)
            }
            Purpose::Check | Purpose::Show => None,
        };
        let synced = self.synced(Verdict::Unchanged, Some(&present));
        let warnings = synced.warnings.iter().cloned().chain(unknown).collect();
        Ok(Synced { generation: Some(present.generation.path), changes: Vec::new(), warnings, ..synced })
    }

    fn differing(&self, present: Option<&Present>, differences: Vec<Difference>) -> Result<Synced, Error> {
        let synced = self.synced(Verdict::Differs, present);
        Ok(Synced {
            differences,
            strays: strays(present)?,
            downloads: fetch::missing(self.job.source.cache.as_deref(), &self.chosen)?,
            ..synced
        })
    }

    fn synced(&self, verdict: Verdict, present: Option<&Present>) -> Synced {
        Synced {
            name: self.env.name.clone(),
            platform: self.entry.platform,
            verdict,
            link: self.place.link.clone(),
            generation: present.map(|present| present.generation.path.clone()),
            python: self.interpreter.version.clone(),
            interpreter: self.interpreter.path.clone(),
            packages: self.chosen.len(),
            differences: Vec::new(),
            had_before: present.is_some(),
            changes: changes(present.map(|present| &present.stamp), &self.chosen),
            strays: Vec::new(),
            downloads: Amount::default(),
            linked: None,
            moved_aside: None,
            problems: Vec::new(),
            findings: Vec::new(),
            warnings: self.warnings(),
            gpu: None,
            took: Duration::ZERO,
        }
    }

    /// Lists what is not as declared and no obstacle.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.fit.iter().flat_map(|fit| fit.warnings.clone()).collect::<Vec<_>>();
        let missing = environment::missing_paths(&self.locked.folder, &self.locked.project.manifest.paths);
        warnings.extend(
            missing.into_iter().map(|path| format!("there is no folder `{path}`, which `paths` in macml.toml names")),
        );
        warnings
    }

    /// Writes down that this user's macml built a generation, unless that is written. What comes of it where that is not
    /// possible is a warning: the environment is there all the same.
    fn note(&self, generation: &Generation, stamp: &Stamp) -> Option<String> {
        let state = self.job.state.as_ref()?;
        let built = Built {
            version: Built::VERSION,
            project: self.place.project.clone(),
            env: self.env.name.clone(),
            generation: generation.path.clone(),
            token: stamp.token.clone(),
            site: stamp.site.clone(),
            site_time: stamp.site_time,
            bin_time: stamp.bin_time,
            prompt: self.content.prompt.clone(),
            run_env: self.locked.project.manifest.run_env.clone(),
            manifest: Sha256::of(self.locked.project.source.text.as_bytes()).to_string(),
            lock: self.locked.digest.to_string(),
        };
        let known = || Known::of(state, &self.place).is_ok_and(|known| known == Known::Built(Box::new(built.clone())));
        let written = if known() { Ok(()) } else { built.write(state, &self.place) };
        let error = written.err()?;
        let name = Place::link_name(&self.env.name);
        let remedy = "XDG_STATE_HOME names another folder for such notes";
        Some(format!("no shell activates `{name}` by itself: {error} ({}); {remedy}", error.cause))
    }

    /// Says what the knowledge tells of the environment on exactly this machine.
    fn told(&self) -> Told {
        let mut env = self.env.clone();
        if let (Some(mac), Some(fit)) = (&mut env.mac, &self.fit) {
            mac.macos = fit.macos;
            if let Some(Processor::Chip(chip)) = self.job.host.as_ref().map(Host::processor) {
                mac.chip = chip;
            }
        }
        let releases = self.entry.packages.iter().map(|entry| (entry.name.clone(), entry.version.clone())).collect();
        let (platform, python) = (self.entry.platform, self.entry.python);
        let set = Set { env: &env, platform, python, releases: &releases, held: &[] };
        told::tell(&Knowledge::built_in(), set)
    }
}

/// Begins to use the cache of unpacked wheels, saying so when that has to wait.
fn open_cache(source: &Source, progress: &dyn Progress) -> Result<OpenCache, Error> {
    let mut waiting = || progress.note("waiting for another macml that removes wheels from the cache");
    let cache = WheelCache::inside(source.cache.as_deref().ok_or(Error::NoCache)?);
    Ok(cache.open_saying(&mut waiting)?)
}

/// Returns the platform of this machine. On a Mac whatever is wrong with it is for the environment to say.
fn platform(job: &Job) -> Result<Platform, Error> {
    match job.host {
        Some(_) => Ok(Platform::MacosArm64),
        None => Platform::of(&job.search.machine).ok_or(Error::NoPlatform),
    }
}

/// Says which Python an environment needs.
fn wanted(entry: &LockedEnv) -> python::Wanted {
    let (system, arch) = entry.platform.interpreters();
    let minor = entry.python.into();
    let within = entry.python_full.clone().unwrap_or_else(Specifiers::any);
    python::Wanted { system, arch, minor: Some(minor), within, suggested: minor }
}

/// Finds the Python that an environment is made from, which stays its own while it fits: somebody may have named it.
fn kept(job: &Job, place: &Place, wanted: &python::Wanted) -> Result<Option<python::Interpreter>, Error> {
    let (None, Some(state)) = (&job.search.named, &job.state) else { return Ok(None) };
    // What others brought is not run.
    let Known::Built(built) = Known::of(state, place)? else { return Ok(None) };
    let Some(path) = sys::tree::read_link(&built.generation.join("bin/python"))? else { return Ok(None) };
    let search = Search { named: Some(path), ..job.search.clone() };
    Ok(search.choose(wanted).ok())
}

/// Compares the packages of a generation with those that are to be there, by name.
fn changes(stamp: Option<&Stamp>, chosen: &[Chosen<'_>]) -> Vec<PackageChange> {
    environment::package_changes(stamp.map_or(&[], |stamp| &stamp.packages), &packages(chosen))
}

fn packages(chosen: &[Chosen<'_>]) -> Vec<Package> {
    let package =
        |one: &Chosen<'_>| Package { name: one.package.name.to_string(), version: one.package.version.to_string() };
    chosen.iter().map(package).collect()
}

/// Names what is in a generation and was not put there by macml.
fn strays(present: Option<&Present>) -> Result<Vec<String>, Error> {
    let Some(Present { generation, stamp }) = present else { return Ok(Vec::new()) };
    if stamp.is_untouched(&generation.path)? {
        return Ok(Vec::new());
    }
    Ok(generation.strays(stamp)?)
}
