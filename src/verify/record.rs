//! `Record`: what was verified of an environment, kept in the project's `.macml/`, and whether that is still so.
//!
//! One small JSON file for each environment, `.macml/verified/NAME.json`. It is only ever taken for what it says: another
//! lock, other content of the environment, another macOS or another chip, and nothing of it counts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::protocol::Device;
use super::verdict::{Verdict, Word};
use crate::host::Host;
use crate::lock::model::{LockedEnv, Lockfile};
use crate::pep::Sha256;
use crate::sys::fs::{Durability, FsError};
use crate::sys::kept;

/// How long a file with a record may be: one of every framework, probe and device has a few thousand bytes.
const LONGEST: u64 = 8 << 20;

/// What was verified of one environment. Another macml may have written it: one whose version is not this one's is not
/// read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Record {
    /// The version of this form.
    pub version: u32,
    /// The environment's name.
    pub env: String,
    /// Of what it was verified, and where.
    pub circumstances: Circumstances,
    /// What came of it, one for each framework, probe and device.
    pub verified: Vec<Verified>,
}

/// Of what something was verified, and where: all of it has to be the same for that to count.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Circumstances {
    /// What [`lock_digest`] says; none for an environment that no lock is about.
    pub lock: Option<Sha256>,
    /// The content digest of the environment's generation; none for one that macml did not make.
    pub content: Option<String>,
    /// The system with its version: `macOS 15.6.1`. A patch of it counts as another one, since kernels come with it.
    pub system: String,
    /// The processor: `Apple M3 Max`; empty where it is no Mac.
    pub chip: String,
}

impl Circumstances {
    /// Puts them together: `lock` and `content` as [`Circumstances`] says, and the Mac, or none where it is no Mac.
    pub fn of(lock: Option<Sha256>, content: Option<String>, host: Option<&Host>) -> Self {
        let system = match host {
            Some(host) => format!("macOS {}", host.macos),
            None => format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        };
        Self { lock, content, system, chip: host.map(|host| host.cpu.clone()).unwrap_or_default() }
    }
}

/// What came of one probe.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Verified {
    /// When, in seconds since the beginning of 1970.
    pub when: u64,
    /// What was found.
    pub verdict: Verdict,
}

/// Whether an environment is verified on a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It is, since this time at the latest: all that was asked on this device is right.
    Verified {
        /// The oldest of the verdicts, in seconds since the beginning of 1970.
        since: u64,
    },
    /// It was asked, and not all is right: the worst word.
    NotRight(Word),
    /// On this device nothing was asked.
    Never,
    /// It was verified with another lock.
    OtherLock,
    /// The lock is the same, and the environment was built anew with other content.
    OtherContent,
    /// It was verified on this other system.
    OtherSystem(String),
    /// It was verified on this other chip.
    OtherChip(String),
}

impl Record {
    /// The version of the form that this macml writes.
    pub const VERSION: u32 = 1;

    /// Returns where the record of an environment lies.
    pub fn path(project: &Path, env: &str) -> PathBuf {
        project.join(".macml/verified").join(format!("{env}.json"))
    }

    /// Reads the record of an environment; `None` when there is none, or none that this macml understands.
    ///
    /// # Errors
    /// When there is one that cannot be read.
    pub fn read(project: &Path, env: &str) -> Result<Option<Self>, FsError> {
        let Some(bytes) = kept::read(&Self::path(project, env), LONGEST)? else { return Ok(None) };
        let known = |record: &Self| record.version == Self::VERSION && record.env == env;
        Ok(serde_json::from_slice(&bytes).ok().filter(known))
    }

    /// Writes it in the place of the one before.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn write(&self, project: &Path) -> Result<(), FsError> {
        // Whoever makes `.macml` first.
        kept::ignore_in_git(&project.join(".macml"))?;
        let text = serde_json::to_string_pretty(self).expect("plain data with text keys") + "\n";
        kept::write(&Self::path(project, &self.env), text.as_bytes(), Durability::Cached)
    }

    /// Adds what was found now to what is known: verdicts of the same framework, probe and device are replaced, and none
    /// stays that was found in other circumstances.
    pub fn add(before: Option<Self>, env: &str, now: Circumstances, found: Vec<Verified>) -> Self {
        let key = |one: &Verified| (one.verdict.framework, one.verdict.probe, one.verdict.device);
        let same = before.filter(|record| record.env == env && record.circumstances == now);
        let mut verified = same.map_or_else(Vec::new, |record| record.verified);
        verified.retain(|old| !found.iter().any(|new| key(new) == key(old)));
        verified.extend(found);
        verified.sort_by_key(key);
        Self { version: Self::VERSION, env: env.to_owned(), circumstances: now, verified }
    }

    /// Says whether the environment is verified on a device, now that these are the circumstances.
    ///
    /// Frameworks that nobody asked about are the caller's to notice, by [`Record::verdicts`].
    pub fn standing(&self, now: &Circumstances, device: Device) -> Standing {
        let then = &self.circumstances;
        if then.lock != now.lock {
            return Standing::OtherLock;
        }
        if then.content != now.content {
            return Standing::OtherContent;
        }
        if then.system != now.system {
            return Standing::OtherSystem(then.system.clone());
        }
        if then.chip != now.chip {
            return Standing::OtherChip(then.chip.clone());
        }
        let there = || self.verified.iter().filter(move |one| one.verdict.device == device);
        let worst = there().map(|one| one.verdict.word).filter(|word| *word != Word::Ok);
        match (worst.max_by_key(|word| word.class()), there().map(|one| one.when).min()) {
            (Some(word), _) => Standing::NotRight(word),
            (None, Some(since)) => Standing::Verified { since },
            (None, None) => Standing::Never,
        }
    }

    /// Lists what was found on a device.
    pub fn verdicts(&self, device: Device) -> impl Iterator<Item = &Verdict> {
        self.verified.iter().map(|one| &one.verdict).filter(move |verdict| verdict.device == device)
    }
}

/// Digests what an environment of a lock installs: every release with its files. What changes for other environments,
/// or only in how the answer was found, does not change it.
pub fn lock_digest(lock: &Lockfile, env: &LockedEnv) -> Sha256 {
    let mut text = format!("{} {} {}\n", env.name, env.platform, env.python);
    for entry in &env.packages {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{} {}", entry.name, entry.version);
        let wheels = lock.package(entry).map_or(&[][..], |package| &package.wheels);
        for wheel in wheels {
            let _ = writeln!(text, "  {}", wheel.sha256);
        }
    }
    Sha256::of(text.as_bytes())
}
