//! The project's own lock: whether it answers macml.toml, and the sets that it has for each Mac that is judged for.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::few;
use crate::environment;
use crate::environment::Unfit;
use crate::host::Chip;
use crate::host::Host;
use crate::host::Processor;
use crate::knowledge::Circumstances;
use crate::lock;
use crate::lock::Lockfile;
use crate::lock::ReadOutcome;
use crate::lock::Stale;
use crate::lock::diff::Sign;
use crate::lock::model::LockedEnv;
use crate::manifest;
use crate::manifest::Project;
use crate::manifest::model::EnvSpec;
use crate::pipeline;
use crate::pipeline::Connect;
use crate::pipeline::Error;
use crate::pipeline::Job;
use crate::pipeline::LOCK_NAME;
use crate::pipeline::Outcome;
use crate::pipeline::Present;
use crate::pipeline::sync::select;
use crate::progress::Progress;
use crate::target::Floor;
use crate::target::MacosVersion;
use crate::target::Platform;

use super::environment::Form;
use super::environment::Found;
use super::part::Because;
use super::part::Level;
use super::part::Of;
use super::part::On;
use super::part::Part;
use super::part::Sum;
use super::part::Told;
use super::part::Word;
use super::set::File;
use super::set::Mac;
use super::set::Release;
use super::set::Set;

/// How many packages of an environment are named that another lock would have.
const MOST_CHANGES: usize = 5;

/// Where a project's lock is looked for, and what of it counts.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where the search for macml.toml begins.
    pub start: PathBuf,
    /// Where it ends at the latest.
    pub home: Option<PathBuf>,
    /// The version of this macml.
    pub version: semver::Version,
    /// Environments to look at, by name; all when empty.
    pub only: Vec<String>,
}

/// A project's lock.
#[derive(Clone, Debug)]
pub struct Locked {
    /// The manifest.
    pub project: Project,
    /// Its folder.
    pub folder: PathBuf,
    /// The lock as it is on disk, current or not; `None` where there is none that can be read.
    pub lockfile: Option<Lockfile>,
    /// Whether it answers the manifest.
    pub part: Part,
}

/// For which Macs a lock is judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Judged<'a> {
    /// Environments, by name; all when empty.
    pub only: &'a [String],
    /// The Macs that were asked about.
    pub macs: &'a [Mac],
    /// This Mac; `None` on other machines.
    pub here: Option<&'a Host>,
    /// The environments that are there.
    pub found: &'a [Found],
}

/// What a lock has for the Macs that it is judged for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sets {
    /// A set for each environment, platform and Mac, in the order of the lock: the floor's first.
    pub sets: Vec<Set>,
    /// Of each Mac that was asked about whether the lock is for it, and of the others that it has not all files for them.
    pub parts: Vec<Part>,
}

/// Reads the lock of a project, and says whether it answers the manifest: as `macml lock --check` does, and without a
/// network where nothing changed, or where there is nothing to compare an answer with.
///
/// # Errors
/// When the manifest cannot be read or does not have an environment that was named, and when the lock is of a newer macml.
pub fn read(source: &Source, connect: Connect<'_>, progress: &dyn Progress) -> Result<Locked, Error> {
    let begun = Instant::now();
    let path = manifest::discover(&source.start, source.home.as_deref())?;
    let project = manifest::read(&path, &source.version)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let all = &project.manifest.envs;
    source.only.iter().try_for_each(|name| pipeline::env(all, name).map(drop))?;
    let named = |env: &&EnvSpec| source.only.is_empty() || source.only.contains(&env.name);
    let envs: Vec<EnvSpec> = all.iter().filter(named).cloned().collect();
    let mut told: Vec<Told> = Vec::new();
    let mut lockfile = None;
    match lock::read(&folder.join(LOCK_NAME))? {
        ReadOutcome::Absent => told.push(missing().into()),
        ReadOutcome::Conflicted { .. } => {
            told.push(damaged("a merge left both sides in it, with git's markers").into())
        }
        ReadOutcome::Damaged { error, .. } => told.push(damaged(&error.to_string()).into()),
        whole @ ReadOutcome::Whole(_) => {
            let present = Present::from(whole);
            let job = job(source);
            let reasons = present.stale(&project, &envs);
            let is_kept = envs.iter().all(|env| present.keep(&job, env, &project, &folder).is_some());
            if !reasons.is_empty() || !is_kept {
                let solved = solve(&job, connect, progress)?;
                if let Solved::Answer(outcome) = &solved {
                    let new = outcome.findings.iter().filter(|one| !project.findings.contains(one));
                    told.extend(new.cloned().map(Told::from));
                }
                told.push(stale(&present, &reasons, &envs, &solved).into());
            }
            lockfile = present.lock;
        }
    }
    told.sort_by_key(|one| one.finding.severity);
    let stale = [Code::LockMissing, Code::LockDamaged, Code::LockStale];
    let part = Part {
        level: Level::Lock,
        of: None,
        word: if told.iter().any(|one| stale.contains(&one.finding.code)) { Word::Stale } else { Word::Current },
        // Without a lock there is nothing to look at.
        otherwise: if lockfile.is_some() { Word::Current } else { Word::Unsure },
        sum: lockfile.as_ref().map_or(Sum::Nothing, |lock| Sum::Releases(releases(lock, &source.only))),
        told,
        took: begun.elapsed(),
    };
    Ok(Locked { project, folder, lockfile, part })
}

/// Counts the releases that are locked for some environments, or for all where none is named.
fn releases(lock: &Lockfile, only: &[String]) -> usize {
    let envs = lock.envs.iter().filter(|env| only.is_empty() || only.contains(&env.name));
    let each = envs.flat_map(|env| &env.packages).map(|one| (&one.name, &one.version, &one.origin));
    each.collect::<BTreeSet<_>>().len()
}

fn job(source: &Source) -> Job {
    Job {
        start: source.start.clone(),
        home: source.home.clone(),
        version: source.version.clone(),
        only: source.only.clone(),
        upgrade: pipeline::Upgrade::Nothing,
        trial: pipeline::Trial::default(),
        purpose: pipeline::Purpose::Check,
    }
}

/// What came of solving what a lock does not answer.
enum Solved {
    Answer(Box<Outcome>),
    /// There is no answer: in a sentence.
    Nothing(String),
}

/// Finds out what the lock should say. That it does not say it is known whatever comes of this.
fn solve(job: &Job, connect: Connect<'_>, progress: &dyn Progress) -> Result<Solved, Error> {
    match pipeline::lock(job, connect, progress) {
        Ok(outcome) => Ok(Solved::Answer(Box::new(outcome))),
        Err(error) if error.is_refusal() => {
            Ok(Solved::Nothing("nothing satisfies `macml.toml` as it is now: `macml lock` explains it".to_owned()))
        }
        Err(error) => Err(error),
    }
}

fn missing() -> Finding {
    Finding::error(Code::LockMissing, "there is no `macml.lock`").hinting("`macml lock` writes it")
}

fn damaged(why: &str) -> Finding {
    Finding::error(Code::LockDamaged, "`macml.lock` cannot be used as it is")
        .noting(why)
        .hinting("`macml lock` solves afresh, close to what can be read of it")
}

/// Says why a lock does not answer the manifest, and what would change.
fn stale(present: &Present, reasons: &[Stale], envs: &[EnvSpec], solved: &Solved) -> Finding {
    let mut finding = Finding::error(Code::LockStale, "`macml.lock` does not answer `macml.toml`");
    for reason in reasons {
        let changes = changes(present, reason, envs);
        let more = if changes.is_empty() { String::new() } else { format!(": {}", changes.join(", ")) };
        finding = finding.noting(format!("{reason}{more}"));
    }
    if reasons.is_empty() {
        finding = finding.noting("a wheel that `macml.toml` names by path is another one than was locked, or gone");
    }
    match solved {
        Solved::Answer(outcome) => {
            if let Some(why) = &outcome.unsolved {
                finding = finding.noting(format!("what should be in it could not be found out: {why}"));
            }
            for line in differences(outcome) {
                finding = finding.noting(line);
            }
        }
        Solved::Nothing(why) => finding = finding.noting(why.clone()),
    }
    finding.hinting("`macml lock` brings it up to date")
}

/// Says in words what an environment asks for that it did not before.
fn changes(present: &Present, reason: &Stale, envs: &[EnvSpec]) -> Vec<String> {
    let Stale::InputsChanged { env, platform } = reason else { return Vec::new() };
    let locked = present.lock.as_ref().and_then(|lock| lock.env(env, *platform));
    let wanted = envs.iter().find(|one| one.name == *env);
    locked.zip(wanted).map_or_else(Vec::new, |(locked, wanted)| lock::satisfies::changes(locked, wanted))
}

/// Says what another lock would have, a line for each environment and platform.
fn differences(outcome: &Outcome) -> Vec<String> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for line in outcome.diff().lines() {
        let sign = match line.sign {
            Sign::Heading => {
                all.push((line.text, Vec::new()));
                continue;
            }
            Sign::Added => '+',
            Sign::Removed => '-',
            Sign::Changed => '~',
        };
        if let Some((_, changes)) = all.last_mut() {
            changes.push(format!("{sign} {}", line.text));
        }
    }
    let said = |(heading, changes): (String, Vec<String>)| match changes.is_empty() {
        true => heading,
        false => format!("{heading}: {}", few(&changes, MOST_CHANGES)),
    };
    all.into_iter().map(said).collect()
}

/// Makes the sets of a lock: for each environment and platform one for the lowest Mac, one for this Mac where the
/// environment is there, one for each Mac that was asked about, and one for the Mac that a tree was staged for.
pub fn sets(locked: &Locked, judged: &Judged<'_>) -> Sets {
    let mut sets = Sets::default();
    let Some(lock) = &locked.lockfile else { return sets };
    for entry in lock.envs.iter().filter(|entry| judged.only.is_empty() || judged.only.contains(&entry.name)) {
        let one = One { locked, lock, entry };
        let Floor::Mac { macos: floor, chip } = &entry.floor else {
            one.add(None, &mut sets);
            continue;
        };
        one.add(Some(one.on(*floor, chip, Because::Floor)), &mut sets);
        let found = judged.found.iter().filter(|one| one.env == entry.name && one.platform == entry.platform);
        for found in found {
            let on = match found.form {
                Form::Built => judged.here.and_then(|host| one.here(host)),
                Form::Staged => {
                    found.macos.filter(|macos| macos > floor).map(|macos| one.on(macos, chip, Because::Asked))
                }
            };
            on.into_iter().for_each(|on| one.add(Some(on), &mut sets));
        }
        let mut before: Vec<&Mac> = Vec::new();
        for mac in judged.macs {
            if !before.contains(&mac) {
                one.asked(mac, &mut sets);
                before.push(mac);
            }
        }
    }
    sets
}

/// One environment on one platform.
struct One<'a> {
    locked: &'a Locked,
    lock: &'a Lockfile,
    entry: &'a LockedEnv,
}

impl One<'_> {
    fn on(&self, macos: MacosVersion, chip: &Chip, because: Because) -> On {
        On { mac: Circumstances { macos, chip: chip.clone(), gpu: self.entry.gpu }, because }
    }

    fn of(&self, on: Option<On>) -> Of {
        Of { env: self.entry.name.clone(), platform: self.entry.platform, python: self.entry.python, on }
    }

    /// Returns this Mac, if it is at or above the floor.
    fn here(&self, host: &Host) -> Option<On> {
        let Floor::Mac { chip: floor, .. } = &self.entry.floor else { return None };
        let macos = match environment::fit(host, self.lock, self.entry, None) {
            Ok(fit) => fit.macos,
            // What has no file is told of the set.
            Err(Unfit::NoWheel { .. }) => MacosVersion::told_by(&host.macos)?,
            Err(_) => return None,
        };
        let chip = match host.processor() {
            Processor::Chip(chip) => chip,
            Processor::Unnamed | Processor::Foreign => floor.clone(),
        };
        Some(self.on(macos, &chip, Because::Here))
    }

    /// Adds the set of a Mac that was asked about, unless the lock was not made for it.
    fn asked(&self, mac: &Mac, sets: &mut Sets) {
        let Floor::Mac { macos: floor, chip } = &self.entry.floor else { return };
        let on = self.on(mac.macos, &mac.chip, Because::Asked);
        if mac.macos < *floor || mac.chip.generation() < chip.generation() {
            let hint = match mac.macos < *floor {
                true => format!("`macml lock --macos {}` says what a lock for it would have", mac.macos),
                false => format!("write `chip = \"m{}\"` in `macml.toml`, and run `macml lock`", mac.chip.generation()),
            };
            let env = &self.entry.name;
            let message = format!(
                "environment `{env}` is locked for macOS {floor} on {chip} and later, not for macOS {} on {}",
                mac.macos, mac.chip
            );
            let told = vec![Finding::error(Code::BelowFloor, message).hinting(hint).into()];
            sets.parts.push(part(self.of(Some(on)), Sum::Nothing, told));
            return;
        }
        self.add(Some(on), sets);
    }

    /// Adds a set, and what is to be said of its files.
    fn add(&self, on: Option<On>, sets: &mut Sets) {
        let of = self.of(on);
        let macos = of.on.as_ref().map(|on| on.mac.macos);
        let mut told = of.on.as_ref().map_or_else(Vec::new, newer);
        let mut releases = Vec::with_capacity(self.entry.packages.len());
        for (package, wheel) in select::each(self.lock, self.entry, macos) {
            let (name, version) = (package.name.clone(), package.version.clone());
            let file = wheel.map(|wheel| File {
                wheel: wheel.file.clone(),
                sha256: wheel.sha256,
                size: Some(wheel.size),
                place: pipeline::place_of(&package.origin, &self.locked.folder),
            });
            if file.is_none() {
                let whom = macos.map_or_else(|| self.entry.platform.to_string(), |macos| format!("macOS {macos}"));
                let message = format!("`{name}` {version} has no locked file for {whom}");
                let hint = format!("`macml lock -P {name}` looks for a release that has one");
                let finding = Finding::error(Code::NoWheel, message).hinting(hint);
                told.push(Told { finding, package: Some(name.clone()), path: None });
            }
            releases.push(Release { name, version, file });
        }
        let lacks = releases.iter().any(|release| release.file.is_none());
        let asked = of.on.as_ref().is_some_and(|on| on.because == Because::Asked);
        if lacks || asked {
            let files = releases.iter().filter(|release| release.file.is_some()).count();
            told.sort_by_key(|one| one.finding.severity);
            sets.parts.push(part(of.clone(), Sum::Files(files), told));
        }
        let solved_with = Some(self.lock.knowledge.clone()).filter(|date| !date.is_empty());
        let (unknown, ignored) = (BTreeSet::new(), self.entry.ignored.clone());
        sets.sets.push(Set { of, releases, unknown, ignored, solved_with });
    }
}

/// Says that a Mac is a later one than there was when this macml was made.
fn newer(on: &On) -> Vec<Told> {
    let (macos, chip) = (on.mac.macos, &on.mac.chip);
    let mut told = Vec::new();
    if macos.major() > MacosVersion::NEWEST_MAJOR {
        let known = MacosVersion::NEWEST_MAJOR;
        let message = format!("macOS {macos} is newer than macml knows; it is treated like {known}");
        told.push(Finding::note(Code::NewerThanKnown, message).into());
    }
    if chip.generation() > Chip::NEWEST_GENERATION {
        let message =
            format!("chip `{chip}` is newer than macml knows; it is treated like `m{}`", Chip::NEWEST_GENERATION);
        told.push(Finding::note(Code::NewerThanKnown, message).into());
    }
    told
}

fn part(of: Of, sum: Sum, told: Vec<Told>) -> Part {
    let no = told.iter().any(|one| one.finding.severity == crate::diag::Severity::Error);
    let word = if no { Word::Unfit } else { Word::Readable };
    // A Mac that the lock is not for was not judged at all.
    let judged = told.iter().all(|one| one.finding.code != Code::BelowFloor);
    let otherwise = if judged { Word::Readable } else { Word::Unsure };
    Part { level: Level::Lock, of: Some(of), word, otherwise, sum, told, took: Duration::ZERO }
}

impl Locked {
    /// Lists the environments and platforms of the lock: those of these names, or all.
    pub fn entries<'a>(&'a self, only: &'a [String]) -> impl Iterator<Item = &'a LockedEnv> {
        let all = self.lockfile.iter().flat_map(|lock| &lock.envs);
        all.filter(|entry| only.is_empty() || only.contains(&entry.name))
    }

    /// Returns what is locked of an environment on a platform.
    pub fn entry(&self, env: &str, platform: Platform) -> Option<&LockedEnv> {
        self.lockfile.as_ref()?.env(env, platform)
    }
}
