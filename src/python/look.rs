//! Looking at candidates: their header first, then, of what may be run, its own answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Interpreter;
use super::ask::{self, Answer, Facts, Fault, FaultEnd, Loading};
use super::cache::{Asked, Cache};
use super::choose;
use super::find::{self, Candidate, Named, Origin};
use super::header::{Arch, Header, Signature};
use super::machine::{Machine, System};
use super::refusal::{OLDEST, Refusal};
use crate::pep::Version;
use crate::sys::Identity;
use crate::sys::fs;
use crate::sys::parallel;

/// A search for interpreters on one machine.
#[derive(Clone, Debug)]
pub struct Search {
    /// Where is looked, and what fits.
    pub machine: Machine,
    /// The folder of all caches; `None` keeps nothing.
    pub cache: Option<PathBuf>,
    /// How long an interpreter may take to say what it is.
    pub limit: Duration,
    /// Look at this file or folder only: `--python PATH`.
    pub named: Option<PathBuf>,
}

/// A candidate that was looked at.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// The candidate.
    pub candidate: Candidate,
    /// Its version, where that is known.
    pub version: Option<Version>,
    /// What it is, or why it is not taken.
    pub verdict: Result<Interpreter, Refusal>,
}

/// What an interpreter said of itself before, and what still counts.
#[derive(Clone, PartialEq, Debug)]
pub struct Remembered {
    /// Its version.
    pub version: Version,
    /// Modules of the standard library that it lacks.
    pub missing: Vec<String>,
    /// Its standard library.
    pub stdlib: PathBuf,
}

/// How long an interpreter is usually given: the first start after an update takes seconds on a Mac, which looks at every
/// library then.
pub const USUAL_LIMIT: Duration = Duration::from_secs(20);

/// How many interpreters are asked at once.
const AT_ONCE: usize = 8;

impl Seen {
    /// Returns what to do about it, in one sentence; `None` where nothing is wrong with it.
    pub fn remedy(&self, machine: &Machine) -> Option<String> {
        self.verdict.as_ref().err()?.remedy(self, machine, choose::USUAL)
    }
}

impl Search {
    /// Lists the candidates in the order in which they are preferred, or the one that is named; looks at nothing yet.
    pub(super) fn candidates(&self) -> Vec<Result<Candidate, Box<Seen>>> {
        let Some(path) = &self.named else {
            return find::candidates(&self.machine).into_iter().map(Ok).collect();
        };
        let unseen = |refusal| {
            let candidate = Candidate { path: path.clone(), resolved: path.clone(), origin: Origin::Elsewhere };
            Err(Box::new(Seen { candidate, version: None, verdict: Err(refusal) }))
        };
        vec![match find::named(&self.machine, path) {
            Named::Candidate(candidate) => Ok(candidate),
            Named::Absent => unseen(Refusal::Absent),
            Named::Empty => unseen(Refusal::Empty),
        }]
    }

    /// Looks at every candidate, several at once, and lists them in the order in which they are preferred.
    pub fn all(&self) -> Vec<Seen> {
        let candidates = self.candidates();
        parallel::map(&candidates, AT_ONCE, |candidate| match candidate {
            Ok(candidate) => self.look(candidate),
            Err(seen) => (**seen).clone(),
        })
    }

    /// Returns what a candidate said before, where that still counts; runs nothing.
    pub fn remembered(&self, candidate: &Candidate) -> Option<Remembered> {
        let identity = Identity::of(&candidate.resolved).ok().flatten()?;
        let asked = Asked { path: &candidate.resolved, identity, starter: &self.machine.starter };
        let Answer { facts, missing, .. } = Cache::new(self.cache.as_deref()).answer(asked)?;
        Some(Remembered { version: version(&facts), missing, stdlib: facts.stdlib })
    }

    /// Looks at one candidate.
    pub fn look(&self, candidate: &Candidate) -> Seen {
        let seen = |version, verdict| Seen { candidate: candidate.clone(), version, verdict };
        let (arch, identity) = match self.outside(candidate) {
            Ok(found) => found,
            Err(Refusal::TooOld(version)) => return seen(Some(version.clone()), Err(Refusal::TooOld(version))),
            Err(refusal) => return seen(None, Err(refusal)),
        };
        let cache = Cache::new(self.cache.as_deref());
        let asked = Asked { path: &candidate.resolved, identity, starter: &self.machine.starter };
        let answer = cache.answer(asked).map_or_else(
            || {
                let answer = ask::ask(&self.machine, &candidate.path, self.limit)?;
                cache.keep(asked, &answer);
                Ok(answer)
            },
            Ok,
        );
        match answer {
            Err(fault) => seen(None, Err(self.refusal_of(fault))),
            Ok(answer) => {
                let version = version(&answer.facts);
                let refusal = self.judge(&answer, &version, arch);
                let verdict = refusal.map_or_else(|| Ok(interpreter(candidate, answer, arch, identity)), Err);
                seen(Some(version), verdict)
            }
        }
    }

    /// Judges a file without running it: its place, its permissions, its header.
    fn outside(&self, candidate: &Candidate) -> Result<(Arch, Identity), Refusal> {
        let Candidate { path, resolved, origin } = candidate;
        let unreadable = |error: fs::FsError| Refusal::Unreadable(error.cause.to_string());
        if let Some(home) = find::virtual_home(path) {
            return Err(Refusal::Virtual(home));
        }
        match origin {
            Origin::Apple if *path == self.machine.at("usr/bin/python3") => return Err(Refusal::AppleShim),
            Origin::Apple => return Err(Refusal::AppleTools),
            _ => {}
        }
        // By its name at most, as an old one may not even know how it is asked.
        let named = find::minor_in_name(resolved).filter(|minor| *minor < OLDEST);
        if let Some((major, minor)) = named {
            return Err(Refusal::TooOld(Version::new([major, minor])));
        }
        let identity = Identity::of(resolved).map_err(unreadable)?.ok_or(Refusal::Absent)?;
        // A pipe would keep us waiting.
        match fs::kind(resolved).map_err(unreadable)? {
            Some(fs::Kind::File) => {}
            _ => return Err(Refusal::NoProgram(self.machine.system)),
        }
        if !identity.may_run() {
            return Err(Refusal::NotExecutable);
        }
        let mut file = fs::open(resolved).map_err(unreadable)?.ok_or(Refusal::Absent)?;
        let header = Header::read(&mut file).map_err(|cause| Refusal::Unreadable(cause.to_string()))?;
        let arch = self.fit(&header)?;
        match origin {
            Origin::CondaBase => Err(Refusal::CondaBase),
            _ => Ok((arch, identity)),
        }
    }

    /// Returns the architecture as which a program with this header runs here.
    fn fit(&self, header: &Header) -> Result<Arch, Refusal> {
        let Machine { system, arch: needed, .. } = self.machine;
        let slices = match (header, system) {
            (Header::Script, _) => return Err(Refusal::Script),
            (Header::Other, _) | (Header::Elf(_), System::Mac) | (Header::MachO(_), System::Linux) => {
                return Err(Refusal::NoProgram(system));
            }
            (Header::Elf(_), System::Linux) => &[][..],
            (Header::MachO(slices), System::Mac) => slices,
        };
        if !header.archs().contains(&needed) {
            return Err(Refusal::Architecture { found: header.archs(), needed, system });
        }
        let own = slices.iter().find(|slice| slice.arch == needed);
        if own.is_some_and(|slice| slice.signature == Signature::Missing) {
            return Err(Refusal::Unsigned);
        }
        Ok(needed)
    }

    fn refusal_of(&self, fault: Fault) -> Refusal {
        let Fault { end, loading, said } = fault;
        let module = loading.as_ref().map(|loading| loading.module.clone());
        let file = loading.map(|Loading { module, file }| file.map_or(module, |file| file.display().to_string()));
        match end {
            FaultEnd::NotStarted => Refusal::NotStarted(said),
            FaultEnd::Code(code) => Refusal::Failed { code, said },
            FaultEnd::Nonsense => Refusal::Nonsense(said),
            FaultEnd::Signal(signal) => Refusal::Signal { signal, system: self.machine.system, loading: file, said },
            FaultEnd::OutOfTime(limit) => Refusal::OutOfTime { limit, loading: module },
        }
    }

    fn judge(&self, answer: &Answer, version: &Version, arch: Arch) -> Option<Refusal> {
        let Answer { facts, missing, broken, .. } = answer;
        let [major, minor, _] = facts.version;
        if facts.implementation != "cpython" {
            return Some(Refusal::Implementation(facts.implementation.clone()));
        }
        if (major, minor) < OLDEST {
            return Some(Refusal::TooOld(version.clone()));
        }
        if facts.level != "final" {
            return Some(Refusal::Prerelease(version.clone()));
        }
        if facts.free_threaded {
            return Some(Refusal::FreeThreaded);
        }
        let system = match self.machine.system {
            System::Mac => "darwin",
            System::Linux => "linux",
        };
        if facts.system != system {
            return Some(Refusal::Nonsense(format!("it runs on `{}`", facts.system)));
        }
        // Linux says aarch64 and macOS arm64, but a container may say what its host says.
        let same = |name: &str| name == arch.on(System::Mac) || name == arch.on(System::Linux);
        if !same(&facts.machine) {
            return Some(Refusal::RunsAs(facts.machine.clone()));
        }
        if self.machine.system == System::Linux && !facts.libc.as_ref().is_some_and(|libc| libc.starts_with("glibc ")) {
            return Some(Refusal::NotGlibc);
        }
        if !missing.is_empty() {
            return Some(Refusal::Lacks(missing.clone()));
        }
        let (module, why) = broken.first()?.clone();
        Some(Refusal::Broken { module, why })
    }
}

/// Returns the version that an interpreter says it is.
fn version(facts: &Facts) -> Version {
    let [major, minor, patch] = facts.version;
    let end = match facts.level.as_str() {
        "alpha" => format!("a{}", facts.serial),
        "beta" => format!("b{}", facts.serial),
        "candidate" => format!("rc{}", facts.serial),
        _ => String::new(),
    };
    let plain = || Version::new([major, minor, patch]);
    format!("{major}.{minor}.{patch}{end}").parse().unwrap_or_else(|_| plain())
}

fn interpreter(candidate: &Candidate, answer: Answer, arch: Arch, identity: Identity) -> Interpreter {
    let Facts { version: [major, minor, _], platform, base_prefix, stdlib, include, platlibdir, soabi, venv, .. } =
        answer.facts.clone();
    Interpreter {
        path: candidate.path.clone(),
        resolved: candidate.resolved.clone(),
        origin: candidate.origin.clone(),
        version: version(&answer.facts),
        minor: (major, minor),
        arch,
        platform,
        base_prefix,
        stdlib,
        include,
        platlibdir,
        soabi,
        venv,
        identity,
    }
}

/// Returns the note that goes with an interpreter's origin.
pub(super) fn note(origin: &Origin, path: &Path) -> Option<String> {
    match origin {
        Origin::Conda(name) => Some(format!(
            "`{}` is of conda's environment `{name}`: what conda changes there changes beneath what is built on it",
            path.display()
        )),
        _ => None,
    }
}
