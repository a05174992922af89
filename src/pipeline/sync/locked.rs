//! From macml.toml to the lock that counts: as it is, solved afresh, or refused.

use std::path::Path;
use std::path::PathBuf;

use crate::lock;
use crate::lock::Lockfile;
use crate::lock::model::LockedEnv;
use crate::manifest;
use crate::manifest::Project;
use crate::manifest::model::EnvSpec;
use crate::pep::Sha256;
use crate::pipeline;
use crate::pipeline::Connect;
use crate::pipeline::LOCK_NAME;
use crate::pipeline::Present;
use crate::pipeline::Trial;
use crate::pipeline::Upgrade;
use crate::progress::Progress;
use crate::sys::fs;
use crate::target::Platform;

use super::Error;
use super::Source;
use super::Staleness;
use super::Which;

/// Which part of which lock is needed.
pub(super) struct Request<'a> {
    pub(super) source: &'a Source,
    pub(super) which: &'a Which,
    pub(super) platform: Platform,
    /// Whether a lock that was solved is written.
    pub(super) writes: bool,
}

/// A lock that counts, and for which environments.
pub(super) struct Locked {
    pub(super) project: Project,
    pub(super) folder: PathBuf,
    pub(super) lockfile: Lockfile,
    /// Digest of its file.
    pub(super) digest: Sha256,
    /// The environments asked for, in the order of the manifest.
    pub(super) envs: Vec<EnvSpec>,
    /// What came of solving.
    pub(super) solved: Option<Box<pipeline::Outcome>>,
    frozen: bool,
}

impl Locked {
    /// Returns what is locked of an environment on a platform.
    pub(super) fn entry(&self, env: &EnvSpec, platform: Platform) -> Result<&LockedEnv, Error> {
        let entries = self.lockfile.envs.iter().filter(|entry| entry.name == env.name);
        let has = entries.map(|entry| entry.platform).collect::<Vec<_>>();
        match self.lockfile.env(&env.name, platform) {
            Some(entry) => Ok(entry),
            None if has.is_empty() => Err(Error::NotLocked { env: env.name.clone() }),
            None => {
                let by = if self.frozen { "macml.lock" } else { "macml.toml" };
                Err(Error::OtherPlatform { env: env.name.clone(), platform, by, has })
            }
        }
    }
}

/// Reads the lock, or makes it.
pub(super) fn read(request: &Request<'_>, connect: Connect<'_>, progress: &dyn Progress) -> Result<Locked, Error> {
    let Request { source, .. } = request;
    let path = manifest::discover(&source.start, source.home.as_deref())?;
    let project = manifest::read(&path, &source.version)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let lock_path = folder.join(LOCK_NAME);
    let frozen = source.staleness == Staleness::Ignore;
    let envs = request.envs(&project, frozen)?;
    let present = Present::from(lock::read(&lock_path)?);
    let job = |purpose| {
        let job = request.job(&envs, &present, purpose);
        pipeline::Job { purpose, ..job }
    };
    let mut solved = None;
    match source.staleness {
        Staleness::Ignore if present.is_broken() => return Err(Error::BrokenLock),
        Staleness::Ignore if present.lock.is_none() => return Err(Error::NoLock),
        Staleness::Ignore => {}
        Staleness::Refuse => {
            let job = job(pipeline::Purpose::Check);
            let current = present.stale(&project, &envs).is_empty()
                && envs.iter().all(|env| present.keep(&job, env, &project, &folder).is_some());
            if !current {
                let outcome = pipeline::lock(&job, connect, progress)?;
                if outcome.verdict == pipeline::Verdict::Stale {
                    return Err(Error::Stale(Box::new(outcome)));
                }
                solved = Some(outcome);
            }
        }
        Staleness::Solve => {
            let job = job(if request.writes { pipeline::Purpose::Write } else { pipeline::Purpose::Show });
            // Also what is locked and no longer declared makes a lock stale.
            if !present.stale(&project, &envs).is_empty()
                || !envs.iter().all(|env| present.keep(&job, env, &project, &folder).is_some())
            {
                solved = Some(pipeline::lock(&job, connect, progress)?);
            }
        }
    }
    let digest = fs::read_bytes(&lock_path)?.map_or_else(|| Sha256::of(b""), |bytes| Sha256::of(&bytes));
    Ok(match solved {
        None => Locked { project, folder, lockfile: present.whole(), digest, envs, solved: None, frozen },
        Some(outcome) => {
            // Somebody may have edited the manifest between two looks at it.
            let project = outcome.project.clone();
            let envs = request.envs(&project, frozen)?;
            let lockfile = outcome.lockfile.clone();
            Locked { project, folder, lockfile, digest, envs, solved: Some(Box::new(outcome)), frozen }
        }
    })
}

impl Request<'_> {
    /// Picks the environments, all of which must be for the platform; what the manifest says of that does not count
    /// where only the lock does.
    fn envs(&self, project: &Project, frozen: bool) -> Result<Vec<EnvSpec>, Error> {
        let all = &project.manifest.envs;
        let here = |env: &&EnvSpec| frozen || env.platforms.contains(&self.platform);
        let names = match self.which {
            Which::All if all.iter().any(|env| here(&env)) => return Ok(all.iter().filter(here).cloned().collect()),
            Which::All => all.iter().map(|env| env.name.clone()).collect(),
            Which::Default => vec!["default".to_owned()],
            Which::Named(names) => names.clone(),
        };
        names.iter().try_for_each(|name| pipeline::env(all, name).map(drop))?;
        let envs = all.iter().filter(|env| names.contains(&env.name)).cloned().collect::<Vec<_>>();
        match envs.iter().find(|env| !here(env)) {
            None => Ok(envs),
            Some(env) => Err(Error::OtherPlatform {
                env: env.name.clone(),
                platform: self.platform,
                by: "macml.toml",
                has: env.platforms.clone(),
            }),
        }
    }

    /// Says what is to be solved: what was asked for, or everything where there is no lock to leave the rest in.
    fn job(&self, envs: &[EnvSpec], present: &Present, purpose: pipeline::Purpose) -> pipeline::Job {
        let only = match present.lock {
            Some(_) => envs.iter().map(|env| env.name.clone()).collect(),
            None => Vec::new(),
        };
        pipeline::Job {
            start: self.source.start.clone(),
            home: self.source.home.clone(),
            version: self.source.version.clone(),
            only,
            upgrade: Upgrade::Nothing,
            trial: Trial::default(),
            purpose,
        }
    }
}
