//! Why an environment is not as locked after [`super::sync()`]: it is what it was.

use std::path::PathBuf;

use crate::environment;
use crate::environment::Unfit;
use crate::environment::VenvError;
use crate::index::download::DownloadError;
use crate::install::InterpreterError;
use crate::install::LinkError;
use crate::install::PlanError;
use crate::install::UnpackError;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::python;
use crate::sys::disk::Bytes;
use crate::sys::disk::Space;
use crate::sys::fs::FsError;
use crate::target::MacosVersion;
use crate::target::Platform;

/// Why an environment could not be brought in line with its lock.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifest cannot be read, or there is no lock and none could be made.
    #[error(transparent)]
    Lock(#[from] crate::pipeline::Error),
    /// The lock does not answer the manifest, and was to.
    #[error("`macml.lock` does not answer `macml.toml`")]
    Stale(Box<crate::pipeline::Outcome>),
    /// There is no lock, and none was to be made.
    #[error("there is no `macml.lock`")]
    NoLock,
    /// The lock cannot be used as it is, and was to be.
    #[error("`macml.lock` cannot be used as it is: it is damaged, or a merge left both sides in it")]
    BrokenLock,
    /// No environment is for such a machine.
    #[error("environments are for Macs with Apple's chips, and for Linux on x86_64 and aarch64: this machine is none")]
    NoPlatform,
    /// An environment is not for this platform.
    #[error("environment `{env}` is not for {platform}: {by} has it for {}", listed(.has))]
    OtherPlatform {
        /// The environment.
        env: String,
        /// The platform that was asked for.
        platform: Platform,
        /// What says so: `macml.toml` or `macml.lock`.
        by: &'static str,
        /// What it is for.
        has: Vec<Platform>,
    },
    /// An environment is not in the lock.
    #[error("environment `{env}` is not in `macml.lock`")]
    NotLocked {
        /// The environment.
        env: String,
    },
    /// The Mac cannot carry it.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The lock has no file of a package for this machine.
    #[error("`macml.lock` has no file of `{name}` {version} for {}", machine(*.platform, *.macos))]
    NoFile {
        /// The package.
        name: PackageName,
        /// Its version.
        version: Version,
        /// The platform.
        platform: Platform,
        /// The macOS.
        macos: Option<MacosVersion>,
    },
    /// There is no Python for it.
    #[error(transparent)]
    Python(#[from] python::Error),
    /// There is no folder for caches.
    #[error("there is no place for wheels: neither HOME nor MACML_CACHE_DIR is set")]
    NoCache,
    /// A folder of wheels lacks some.
    #[error("`{}` lacks {}", folder.display(), names(.missing))]
    NotInFolder {
        /// The folder.
        folder: PathBuf,
        /// The files, in the order of the lock.
        missing: Vec<String>,
    },
    /// A wheel could not be had.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// A wheel could not be unpacked.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// Something does not fit.
    #[error(
        "no space for {what}: {} needed, {} free on the volume `{}`",
        Bytes(*.needed), Bytes(.space.free), .space.volume.display()
    )]
    NoSpace {
        /// What does not fit.
        what: String,
        /// How many bytes it takes.
        needed: u64,
        /// How much is left, and where.
        space: Space,
        /// What the system said, when it became full meanwhile.
        #[source]
        cause: Option<FsError>,
    },
    /// The wheels cannot be in one environment.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No command can name the environment's Python.
    #[error(transparent)]
    Interpreter(#[from] InterpreterError),
    /// The files could not be made.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// What an environment has besides wheels could not be made.
    #[error(transparent)]
    Venv(#[from] VenvError),
    /// Generations cannot be changed.
    #[error(transparent)]
    Environment(#[from] environment::Error),
    /// A file could not be read or written.
    #[error(transparent)]
    Disk(#[from] FsError),
    /// Something stands where a tree was to be staged.
    #[error("`{}` is there, and was not staged by macml: it stays as it is", folder.display())]
    TargetTaken {
        /// The folder.
        folder: PathBuf,
    },
    /// Something is in a staged tree that macml did not put there.
    #[error("`{}` has `{name}` in it, which macml did not put there: it stays as it is", folder.display())]
    TargetHas {
        /// The folder.
        folder: PathBuf,
        /// What it is, as a path in it.
        name: String,
    },
    /// No PATH can name the programs of an environment.
    #[error("no environment can be in `{}`: its path holds a `:`, at which PATH is cut", .0.display())]
    Colon(PathBuf),
    /// There is no folder of wheels.
    #[error("there is no folder `{}`", .0.display())]
    NoFolder(PathBuf),
    /// A tree was asked for below the floor that was solved for.
    #[error("environment `{env}` is locked for macOS {floor} and later, not for {asked}")]
    BelowFloor {
        /// The environment.
        env: String,
        /// The floor.
        floor: MacosVersion,
        /// What was asked for.
        asked: MacosVersion,
    },
}

/// Every error of the stages before is one of the lock's.
macro_rules! of_lock {
    ($($cause:ty),*) => {
        $(impl From<$cause> for Error {
            fn from(cause: $cause) -> Self {
                Self::Lock(cause.into())
            }
        })*
    };
}

of_lock!(crate::manifest::Error, crate::lock::Error);

fn listed(platforms: &[Platform]) -> String {
    platforms.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn machine(platform: Platform, macos: Option<MacosVersion>) -> String {
    match macos {
        Some(macos) => format!("macOS {macos}"),
        None => platform.to_string(),
    }
}

fn names(missing: &[String]) -> String {
    const MOST: usize = 3;
    let told = missing.iter().take(MOST).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match missing.len().saturating_sub(MOST) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}
