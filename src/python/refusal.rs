//! `Refusal`: why a candidate is not taken, in words that follow its path, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::choose;
use super::find::{self, Candidate, Origin};
use super::header::Arch;
use super::look::Seen;
use super::machine::{Machine, System};
use crate::pep::{Specifiers, Version};

/// Why a candidate is not taken. Its text goes on after the candidate's path: "is built for x86_64, …".
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Nothing stands at the path.
    Absent,
    /// The folder has no Python in it.
    Empty,
    /// The file cannot be looked at, with what the system said.
    Unreadable(String),
    /// Nobody may run the file.
    NotExecutable,
    /// It is Apple's stand-in for the Python of its developer tools.
    AppleShim,
    /// It is the Python of Apple's developer tools.
    AppleTools,
    /// It is the Python that conda itself runs on.
    CondaBase,
    /// It belongs to a virtual environment, made from the Python in this folder.
    Virtual(String),
    /// It is a script.
    Script,
    /// It is no program of this system.
    NoProgram(System),
    /// It has code for other architectures only.
    Architecture {
        /// Those that it has code for.
        found: Vec<Arch>,
        /// The one that is needed.
        needed: Arch,
        /// The system.
        system: System,
    },
    /// It has no code signature, without which nothing runs on Apple Silicon.
    Unsigned,
    /// The system refused to start it, with what it said.
    NotStarted(String),
    /// It was ended by a signal.
    Signal {
        /// Which.
        signal: i32,
        /// The system, which decides what the signal means.
        system: System,
        /// The module that it was loading, or its file where that is known.
        loading: Option<String>,
        /// What it said before.
        said: String,
    },
    /// It ended with an error.
    Failed {
        /// Its exit code.
        code: i32,
        /// What it said.
        said: String,
    },
    /// It said something else than a Python says.
    Nonsense(String),
    /// It did not end in time.
    OutOfTime {
        /// How long it was given.
        limit: Duration,
        /// The module that it was loading.
        loading: Option<String>,
    },
    /// It is not CPython but this.
    Implementation(String),
    /// It is older than every Python that is locked for.
    TooOld(Version),
    /// It is a pre-release.
    Prerelease(Version),
    /// It is built without the global lock.
    FreeThreaded,
    /// It runs as this machine, though it has code for the right one.
    RunsAs(String),
    /// It is linked to another C library than glibc.
    NotGlibc,
    /// The standard library lacks these modules.
    Lacks(Vec<String>),
    /// A module is there and cannot be loaded.
    Broken {
        /// The module.
        module: String,
        /// The reason.
        why: String,
    },
    /// It is fine, and another one is asked for.
    OtherVersion(Version),
    /// It is of the right minor, and its patch release is excluded.
    Excluded {
        /// What it is.
        version: Version,
        /// What is admitted.
        admitted: Specifiers,
    },
}

/// The oldest minor that is locked for.
pub const OLDEST: (u64, u64) = (3, 8);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => write!(f, "does not exist"),
            Self::Empty => write!(f, "is a folder without a Python in it"),
            Self::Unreadable(cause) => write!(f, "cannot be looked at: {cause}"),
            Self::NotExecutable => write!(f, "may not be run: it has no executable bit"),
            Self::AppleShim => {
                write!(f, "is Apple's stand-in for the Python of its developer tools, not one to build on")
            }
            Self::AppleTools => {
                write!(f, "is the Python of Apple's developer tools, which their updates replace, not one to build on")
            }
            Self::CondaBase => write!(f, "is conda's base, which conda itself runs on and changes"),
            Self::Virtual(home) if home.is_empty() => write!(f, "belongs to a virtual environment"),
            Self::Virtual(home) => {
                write!(f, "belongs to a virtual environment; it was made from the Python in `{home}`")
            }
            Self::Script => write!(f, "is a script that starts something else, not a Python"),
            Self::NoProgram(System::Mac) => write!(f, "is not a program for Macs, or it is damaged"),
            Self::NoProgram(System::Linux) => write!(f, "is not a program for Linux, or it is damaged"),
            Self::Architecture { found, needed, system } => {
                let names: Vec<&str> = found.iter().map(|arch| arch.on(*system)).collect();
                let machine = match (system, needed) {
                    (System::Mac, Arch::Arm64) => "Apple Silicon",
                    _ => "this machine",
                };
                write!(f, "is built for {}, and {machine} needs {}", names.join(" and "), needed.on(*system))
            }
            Self::Unsigned => write!(f, "has no code signature, and macOS kills such programs on Apple Silicon"),
            Self::NotStarted(cause) => write!(f, "cannot be started: {cause}"),
            Self::Signal { signal, system, loading, said } => {
                match (signal, system) {
                    (9, System::Mac) => write!(f, "was killed by macOS (signal 9)")?,
                    (9, _) => write!(f, "was killed (signal 9)")?,
                    (signal, _) => write!(f, "crashed (signal {signal})")?,
                }
                if let Some(loading) = loading {
                    write!(f, " while it loaded `{loading}`")?;
                }
                if (*signal, *system) == (9, System::Mac) {
                    write!(f, ": that is what a broken code signature does")?;
                }
                if said.is_empty() { Ok(()) } else { write!(f, "; it said: {said}") }
            }
            Self::Failed { code, said } if said.is_empty() => write!(f, "ended with code {code} when asked what it is"),
            Self::Failed { code, said } => write!(f, "ended with code {code} when asked what it is: {said}"),
            Self::Nonsense(said) if said.is_empty() => write!(f, "did not say what it is"),
            Self::Nonsense(said) => write!(f, "did not say what it is, but: {said}"),
            Self::OutOfTime { limit, loading } => {
                write!(f, "did not say within {} s what it is", limit.as_secs_f64())?;
                loading.as_ref().map_or(Ok(()), |module| write!(f, ", and hung while it loaded `{module}`"))
            }
            Self::Implementation(name) => write!(f, "is {}, and wheels are locked for CPython", known(name)),
            Self::TooOld(version) => {
                write!(f, "is Python {version}, and {}.{} is the oldest that is locked for", OLDEST.0, OLDEST.1)
            }
            Self::Prerelease(version) => write!(f, "is a pre-release, {version}"),
            Self::FreeThreaded => write!(f, "is a free-threaded build, for which few packages have wheels"),
            Self::RunsAs(machine) => write!(f, "runs as {machine}, though it has code for this machine"),
            Self::NotGlibc => write!(f, "is not linked to glibc, which locked wheels for Linux need"),
            Self::Lacks(modules) => {
                let names: Vec<String> = modules.iter().map(|module| format!("`{module}`")).collect();
                write!(f, "lacks {}", names.join(" and "))?;
                let uses = modules.iter().map(|module| needed_by(module)).collect::<Vec<_>>();
                write!(f, ", needed by {}", uses.join(", and by "))
            }
            Self::Broken { module, why } => write!(f, "cannot load `{module}`: {why}"),
            Self::OtherVersion(version) => write!(f, "is Python {version}"),
            Self::Excluded { version, admitted } => write!(f, "is Python {version}, which `{admitted}` excludes"),
        }
    }
}

fn known(implementation: &str) -> &str {
    match implementation {
        "pypy" => "PyPy",
        "graalpy" => "GraalPy",
        other => other,
    }
}

fn needed_by(module: &str) -> &'static str {
    match module {
        "_lzma" => "torchvision and pandas among others",
        "_bz2" => "packages that read archives",
        "_ssl" => "everything that downloads",
        "_ctypes" => "numpy and most of what has native parts",
        "_sqlite3" => "notebooks and experiment trackers",
        _ => "packages",
    }
}

impl Refusal {
    /// Returns the word for it in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Empty => "empty-folder",
            Self::Unreadable(_) => "unreadable",
            Self::NotExecutable => "not-executable",
            Self::AppleShim | Self::AppleTools => "apple",
            Self::CondaBase => "conda-base",
            Self::Virtual(_) => "virtual-environment",
            Self::Script => "script",
            Self::NoProgram(_) => "no-program",
            Self::Architecture { .. } => "architecture",
            Self::Unsigned => "unsigned",
            Self::NotStarted(_) => "not-started",
            Self::Signal { .. } => "killed",
            Self::Failed { .. } => "failed",
            Self::Nonsense(_) => "nonsense",
            Self::OutOfTime { .. } => "out-of-time",
            Self::Implementation(_) => "implementation",
            Self::TooOld(_) => "too-old",
            Self::Prerelease(_) => "pre-release",
            Self::FreeThreaded => "free-threaded",
            Self::RunsAs(_) => "runs-as",
            Self::NotGlibc => "not-glibc",
            Self::Lacks(_) => "lacks-modules",
            Self::Broken { .. } => "broken-module",
            Self::OtherVersion(_) => "other-version",
            Self::Excluded { .. } => "excluded",
        }
    }

    /// Returns what to do about a refused candidate, in one sentence; `None` where nothing is wrong with it.
    ///
    /// `minor` is what to install where another one is needed and its name does not say which.
    pub(super) fn remedy(&self, seen: &Seen, machine: &Machine, minor: (u64, u64)) -> Option<String> {
        let Seen { candidate, version, .. } = seen;
        let version = version.as_ref();
        let path = candidate.path.display();
        Some(match self {
            Self::OtherVersion(_) => return None,
            Self::Absent | Self::Empty | Self::Nonsense(_) => "name the file of a Python".to_owned(),
            Self::Unreadable(_) => "look at its permissions, or name another".to_owned(),
            Self::NotExecutable => format!("`chmod +x {}`, if it is a Python", word(&candidate.path)),
            Self::Script => "name the Python that it starts".to_owned(),
            Self::Virtual(home) if home.is_empty() => "name the Python that it was made from".to_owned(),
            Self::Virtual(home) => format!("name that one: `{}`", Path::new(home).join("python3").display()),
            Self::RunsAs(_) if machine.system == System::Mac => {
                "use a terminal that does not run under Rosetta".to_owned()
            }
            Self::Lacks(modules) => {
                let what = libraries(modules, machine.system);
                match (&candidate.origin, machine.system) {
                    (Origin::Pyenv, _) => format!("{what}, then `{}`", rebuild(candidate, machine)),
                    (Origin::Homebrew | Origin::Uv | Origin::Conda(_), _) => again(candidate, version, machine),
                    (_, System::Linux) if candidate.path.starts_with(machine.at("usr/bin")) => {
                        "install the rest of its standard library with the system's package manager".to_owned()
                    }
                    _ => format!("{what}, then build that Python again"),
                }
            }
            Self::Signal { signal: 9, system: System::Mac, .. } | Self::Unsigned => {
                let file = match self {
                    Self::Signal { loading: Some(file), .. } if Path::new(file).is_absolute() => PathBuf::from(file),
                    _ => candidate.resolved.clone(),
                };
                let sign = format!("`codesign --force --sign - {}`", word(&file));
                match candidate.origin {
                    Origin::Homebrew | Origin::Pyenv | Origin::Uv | Origin::Conda(_) => {
                        again(candidate, version, machine)
                    }
                    _ => format!("install it again, or sign it: {sign}"),
                }
            }
            Self::Broken { .. } | Self::Signal { .. } | Self::Failed { .. } | Self::NotStarted(_) => {
                again(candidate, version, machine)
            }
            Self::OutOfTime { .. } => format!("find out why `{path} -c ''` hangs, or name another"),
            Self::Architecture { .. } | Self::NoProgram(_) => match (&candidate.origin, machine.system) {
                (Origin::Pyenv, _) => again(candidate, version, machine),
                (Origin::Uv, System::Mac) => {
                    // By its whole name, as uv itself may be an Intel program.
                    format!("`uv python install cpython-{}-macos-aarch64-none`", minor_of(candidate, version))
                }
                (Origin::Uv, System::Linux) => again(candidate, version, machine),
                _ => {
                    let named = find::minor_in_name(&candidate.path).filter(|named| *named >= OLDEST);
                    choose::install(machine, named.unwrap_or(minor), None)
                }
            },
            Self::Excluded { .. }
            | Self::AppleShim
            | Self::AppleTools
            | Self::CondaBase
            | Self::NotGlibc
            | Self::RunsAs(_)
            | Self::Implementation(_)
            | Self::TooOld(_)
            | Self::Prerelease(_)
            | Self::FreeThreaded => choose::install(machine, minor, None),
        })
    }
}

/// Says how to install the Python again that a candidate is of.
fn again(candidate: &Candidate, version: Option<&Version>, machine: &Machine) -> String {
    let minor = minor_of(candidate, version);
    match &candidate.origin {
        Origin::Homebrew => format!("`brew reinstall python@{minor}`"),
        Origin::Pyenv => format!("`{}`", rebuild(candidate, machine)),
        Origin::Uv => format!("`uv python install --reinstall {minor}`"),
        Origin::Conda(name) => format!("`conda install -n {} --force-reinstall python={minor}`", word(Path::new(name))),
        Origin::PythonOrg => format!("install Python {minor} from python.org again"),
        _ => "install it again, or name another".to_owned(),
    }
}

/// Returns the minor that a candidate is of, as far as that is known.
fn minor_of(candidate: &Candidate, version: Option<&Version>) -> String {
    let said = || Some((*version?.release().first()?, *version?.release().get(1)?));
    let minor = find::minor_in_name(&candidate.path).or_else(said);
    minor.map_or_else(|| "3".to_owned(), |(major, minor)| format!("{major}.{minor}"))
}

/// Returns the command by which pyenv builds a version again, for the right architecture.
fn rebuild(candidate: &Candidate, machine: &Machine) -> String {
    let name = find::prefix(&candidate.path).and_then(Path::file_name).unwrap_or_default();
    let arch = if machine.system == System::Mac { "arch -arm64 " } else { "" };
    format!("{arch}pyenv install --force {}", word(Path::new(name)))
}

/// Says what to install so that a Python which is built afterwards has these modules.
fn libraries(modules: &[String], system: System) -> String {
    let names = modules.iter().filter_map(|module| match (module.as_str(), system) {
        ("_lzma", System::Mac) => Some("xz"),
        ("_bz2", System::Mac) => Some("bzip2"),
        ("_ssl", System::Mac) => Some("openssl@3"),
        ("_ctypes", System::Mac) => Some("libffi"),
        ("_sqlite3", System::Mac) => Some("sqlite"),
        ("_lzma", System::Linux) => Some("xz"),
        ("_bz2", System::Linux) => Some("bzip2"),
        ("_ssl", System::Linux) => Some("OpenSSL"),
        ("_ctypes", System::Linux) => Some("libffi"),
        ("_sqlite3", System::Linux) => Some("SQLite"),
        _ => None,
    });
    let names: Vec<&str> = names.collect();
    match system {
        // In full, as an Intel one may come first on PATH.
        System::Mac => format!("`/opt/homebrew/bin/brew install {}`", names.join(" ")),
        System::Linux => format!("install the development files of {}", names.join(", ")),
    }
}

/// Quotes a path for a shell, where it needs that.
pub(crate) fn word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=@:,%".contains(c);
    if text.chars().all(plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
