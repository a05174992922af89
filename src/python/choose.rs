//! Choosing an interpreter: the first candidate that fits, or why none does and the one thing to do about it.

use std::fmt;

use super::Interpreter;
use super::find::{self, Candidate};
use super::header::Arch;
use super::look::{Search, Seen};
use super::machine::{Machine, System};
use super::refusal::Refusal;
use crate::pep::{Specifiers, Version};
use crate::sys::fs;

/// Which Python is wanted.
#[derive(Clone, PartialEq, Debug)]
pub struct Wanted {
    /// The system that it must run on.
    pub system: System,
    /// The architecture that it must run as.
    pub arch: Arch,
    /// The minor; `None` where any in `within` will do.
    pub minor: Option<(u64, u64)>,
    /// Releases that are admitted: the patches of a lock's `python-full`, or the range of a manifest.
    pub within: Specifiers,
    /// The minor to install where none is there.
    pub suggested: (u64, u64),
}

/// Why no interpreter was chosen.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Error {
    /// The environment is for another kind of machine.
    #[error("an environment for {wanted} needs a Python that this machine, {here}, cannot run")]
    OtherMachine {
        /// What it is for.
        wanted: String,
        /// What this machine is.
        here: String,
    },
    /// The one that was named does not fit.
    #[error("`{}` {}", .0.seen.candidate.path.display(), .0.refusal)]
    Named(Box<Misfit>),
    /// None fits.
    #[error("{}", none(.wanted, .seen))]
    None {
        /// What was wanted.
        wanted: Box<Wanted>,
        /// Everything that was looked at, in order, with the reason against each.
        seen: Vec<Misfit>,
        /// What to do.
        remedy: String,
    },
}

/// A candidate with the reason against it.
#[derive(Clone, PartialEq, Debug)]
pub struct Misfit {
    /// What was seen of it.
    pub seen: Seen,
    /// Why it is not taken, perhaps only because another version is wanted.
    pub refusal: Refusal,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// The minor to install where nothing says which: the one that most packages have wheels for.
pub const USUAL: (u64, u64) = (3, 13);

impl Search {
    /// Chooses the first candidate that fits. Candidates after it are not run.
    ///
    /// # Errors
    /// When none fits.
    pub fn choose(&self, wanted: &Wanted) -> Result<Interpreter, Error> {
        let Machine { system, arch, .. } = self.machine;
        if (wanted.system, wanted.arch) != (system, arch) {
            let name = |system, arch: Arch| match system {
                System::Mac => format!("macOS on {}", arch.on(system)),
                System::Linux => format!("Linux on {}", arch.on(system)),
            };
            return Err(Error::OtherMachine { wanted: name(wanted.system, wanted.arch), here: name(system, arch) });
        }
        let mut misfits = Vec::new();
        for candidate in self.candidates() {
            let seen = match candidate {
                Err(seen) => *seen,
                Ok(candidate) => match self.other_by_name(&candidate, wanted) {
                    Some(seen) => seen,
                    None => self.look(&candidate),
                },
            };
            let refusal = match seen.verdict.clone() {
                Ok(interpreter) => match wanted.against(&interpreter.version) {
                    None => return Ok(interpreter),
                    Some(refusal) => refusal,
                },
                Err(refusal) => refusal,
            };
            let remedy = refusal.remedy(&seen, &self.machine, wanted.suggested);
            misfits.push(Misfit { seen, refusal, remedy });
        }
        if self.named.is_some()
            && let Some(mut misfit) = misfits.pop()
        {
            if matches!(misfit.refusal, Refusal::OtherVersion(_)) {
                misfit.remedy = Some(format!("name one that is {wanted}, or let macml choose"));
            }
            return Err(Error::Named(Box::new(misfit)));
        }
        let patches = wanted.minor.and(Some(&wanted.within)).filter(|within| !within.is_any());
        let remedy = install(&self.machine, wanted.suggested, patches);
        Err(Error::None { wanted: Box::new(wanted.clone()), seen: misfits, remedy })
    }

    /// Passes over a candidate that another minor is in the name of: why start a stranger?
    fn other_by_name(&self, candidate: &Candidate, wanted: &Wanted) -> Option<Seen> {
        let (major, minor) = find::minor_in_name(&candidate.path).filter(|_| self.named.is_none())?;
        let version = Version::new([major, minor]);
        let refusal = Refusal::OtherVersion(version.clone());
        let other = wanted.minor.is_some_and(|wanted| wanted != (major, minor));
        other.then(|| Seen { candidate: candidate.clone(), version: Some(version), verdict: Err(refusal) })
    }
}

impl Wanted {
    /// Says what speaks against a version.
    fn against(&self, version: &Version) -> Option<Refusal> {
        let [major, minor] = [0, 1].map(|at| version.release().get(at).copied().unwrap_or_default());
        if self.minor.is_some_and(|wanted| wanted != (major, minor)) {
            return Some(Refusal::OtherVersion(version.clone()));
        }
        let excluded = || Refusal::Excluded { version: version.clone(), admitted: self.within.clone() };
        (!self.within.contains(version)).then(excluded)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.minor, self.within.is_any()) {
            (Some((major, minor)), true) => write!(f, "Python {major}.{minor}"),
            (Some((major, minor)), false) => write!(f, "Python {major}.{minor} ({})", self.within),
            (None, true) => write!(f, "Python"),
            (None, false) => write!(f, "Python {}", self.within),
        }
    }
}

fn none(wanted: &Wanted, seen: &[Misfit]) -> String {
    match seen.len() {
        0 => "no Python was found on this machine".to_owned(),
        1 => format!("no {wanted} that can be used: the one Python found does not fit"),
        count => format!("no {wanted} that can be used: none of the {count} Pythons found fits"),
    }
}

/// Returns the command that installs a Python: with what is there already, else with what is usual on the system.
///
/// `patches` are specifiers that the release must satisfy besides its minor.
pub(super) fn install(machine: &Machine, (major, minor): (u64, u64), patches: Option<&Specifiers>) -> String {
    let there = |file: &std::path::Path| matches!(fs::kind(file), Ok(Some(fs::Kind::File)));
    let on_path = |name: &str| machine.path.iter().any(|folder| there(&folder.join(name)));
    let brew = machine.system == System::Mac && there(&machine.at("opt/homebrew/bin/brew"));
    let uv = on_path("uv") || machine.home.as_ref().is_some_and(|home| there(&home.join(".local/bin/uv")));
    let pyenv = machine.pyenv.as_ref().is_some_and(|root| there(&root.join("bin/pyenv"))) || on_path("pyenv");
    // Homebrew has the newest patch of minors that are still maintained.
    let brewed = machine.system == System::Mac && minor >= 10 && patches.is_none();
    match patches {
        Some(patches) => format!("`uv python install '=={major}.{minor}.*,{patches}'`"),
        None if brew && brewed => format!("`brew install python@{major}.{minor}`"),
        None if uv => format!("`uv python install {major}.{minor}`"),
        None if pyenv => format!("`pyenv install {major}.{minor}`"),
        None if brewed => format!("`brew install python@{major}.{minor}`"),
        None => format!("`uv python install {major}.{minor}`"),
    }
}
