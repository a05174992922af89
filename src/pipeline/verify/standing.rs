//! What of an environment was verified: writing that down, and telling from it how its GPU stands now.

use std::collections::BTreeMap;
use std::path::Path;

use crate::host::Host;
use crate::lock;
use crate::lock::Lockfile;
use crate::lock::ReadOutcome;
use crate::lock::model::LockedEnv;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::pipeline::LOCK_NAME;
use crate::sys::fs::FsError;
use crate::verify::Circumstances;
use crate::verify::Record;
use crate::verify::Standing;
use crate::verify::Verified;
use crate::verify::Word;
use crate::verify::frameworks;
use crate::verify::lock_digest;
use crate::verify::protocol::Device;
use crate::verify::protocol::Framework;

use super::Outcome;

/// An environment that is what a lock says.
#[derive(Clone, Copy, Debug)]
pub struct Locked<'a> {
    /// The project's folder.
    pub folder: &'a Path,
    /// The lock.
    pub lockfile: &'a Lockfile,
    /// What it says of the environment.
    pub entry: &'a LockedEnv,
    /// The content digest of the generation.
    pub content: &'a str,
    /// The Mac that this is; `None` elsewhere.
    pub host: Option<&'a Host>,
}

/// Reads the lock that lies beside a manifest; `None` where there is none that counts.
///
/// # Errors
/// When there is one that cannot be read.
pub fn lock_in(folder: &Path) -> Result<Option<Lockfile>, lock::Error> {
    Ok(match lock::read(&folder.join(LOCK_NAME))? {
        ReadOutcome::Whole(lockfile) => Some(*lockfile),
        ReadOutcome::Absent | ReadOutcome::Conflicted { .. } | ReadOutcome::Damaged { .. } => None,
    })
}

/// What became of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kept {
    /// It was written.
    Written,
    /// Nothing was found out that is of the environment rather than of this process.
    Nothing,
}

impl Locked<'_> {
    /// Says of what something is found out in it: of which lock and content, on which machine.
    pub fn circumstances(&self) -> Circumstances {
        let lock = lock_digest(self.lockfile, self.entry);
        Circumstances::of(Some(lock), Some(self.content.to_owned()), self.host)
    }
}

/// Writes down what was found, beside what is known already; `now` is in seconds since the beginning of 1970.
///
/// What says something of this process alone, that it sees no GPU or that a probe was not run, takes no verdict's place.
///
/// # Errors
/// When it cannot be written.
pub fn keep(locked: &Locked<'_>, outcome: &Outcome, now: u64) -> Result<Kept, FsError> {
    let of_process = |word| matches!(word, Word::NotRun | Word::NotVisible);
    let verdicts = outcome.answers.iter().map(|answer| &answer.verdict).filter(|one| !of_process(one.word));
    let found: Vec<_> = verdicts.map(|verdict| Verified { when: now, verdict: verdict.clone() }).collect();
    if found.is_empty() {
        return Ok(Kept::Nothing);
    }
    let env = &locked.entry.name;
    // One that cannot be read is replaced.
    let before = Record::read(locked.folder, env).ok().flatten();
    Record::add(before, env, locked.circumstances(), found).write(locked.folder)?;
    Ok(Kept::Written)
}

/// Says how the GPU of a Mac stands in an environment; `None` for one without a framework that could use it.
pub fn standing(locked: &Locked<'_>) -> Option<Standing> {
    let set: BTreeMap<PackageName, Version> =
        locked.entry.packages.iter().map(|entry| (entry.name.clone(), entry.version.clone())).collect();
    let asked: Vec<Framework> = frameworks(&set).into_iter().map(|(framework, _)| framework).collect();
    if asked.is_empty() {
        return None;
    }
    // Most often there is none, and then nothing is digested. What cannot be read says nothing either.
    let Ok(Some(record)) = Record::read(locked.folder, &locked.entry.name) else { return Some(Standing::Never) };
    let standing = record.standing(&locked.circumstances(), Device::Mps);
    let answered = |framework| record.verdicts(Device::Mps).any(|verdict| verdict.framework == framework);
    Some(match standing {
        Standing::Verified { .. } if !asked.into_iter().all(answered) => Standing::Never,
        other => other,
    })
}
