//! The table of operators that a torch wheel for Macs carries: of the locked torch, or of a release by its number.
//!
//! ```text
//! macml.lock -> locked wheel ─┬─> unpacked in the cache: checked bytes
//! a release  -> page, a wheel ┴─> index::members: what an earlier run kept, else ranges of the wheel, else all of it
//! ```
//!
//! A project is needed only where no release is named.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diag::Finding;
use crate::index::Config;
use crate::index::IndexError;
use crate::index::MemberAnswer;
use crate::index::Members;
use crate::index::builtin;
use crate::index::download::Wanted;
use crate::index::source::File;
use crate::index::source::IndexName;
use crate::index::source::Page;
use crate::index::source::PageAnswer;
use crate::install::WheelCache;
use crate::lock;
use crate::lock::Lockfile;
use crate::lock::model::LockedWheel;
use crate::lock::pick::Picker;
use crate::manifest;
use crate::manifest::Manifest;
use crate::operators::TABLE_PATH;
use crate::operators::Table;
use crate::operators::TableError;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::progress::Progress;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::target::Platform;

use super::LOCK_NAME;
use super::Present;

/// The package.
const TORCH: &str = "torch";

/// What is asked of [`read`].
#[derive(Clone, Debug)]
pub struct OpsJob {
    /// Where the search for macml.toml begins.
    pub start: PathBuf,
    /// Where it ends at the latest.
    pub home: Option<PathBuf>,
    /// The version of this macml.
    pub version: semver::Version,
    /// The environment whose torch it is, where no release is named.
    pub env: String,
    /// A release instead of the locked one.
    pub torch: Option<Version>,
    /// A release to compare with.
    pub compare: Option<Version>,
}

/// The tables that were asked for.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The one.
    pub one: Carried,
    /// The one to compare with.
    pub other: Option<Carried>,
    /// Warnings and notes.
    pub findings: Vec<Finding>,
}

/// A table, and the wheel that carries it.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The release.
    pub version: Version,
    /// The wheel.
    pub wheel: WheelName,
    /// The digest of the table's text.
    pub sha256: Sha256,
    /// The table.
    pub table: Table,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum OpsError {
    /// The manifest, or the environments.
    #[error(transparent)]
    Pipeline(#[from] super::Error),
    /// There is no lock.
    #[error("there is no `{LOCK_NAME}`, which says which torch is meant")]
    Unlocked,
    /// The lock cannot be read.
    #[error("`{LOCK_NAME}` cannot be used as it is")]
    Broken,
    /// The environment is for other machines only.
    #[error("environment `{env}` is not locked for {}", Platform::MacosArm64)]
    NotForMacs {
        /// The environment.
        env: String,
        /// The torch that it has elsewhere.
        torch: Option<Version>,
    },
    /// The environment has no torch.
    #[error("environment `{env}` has no `{TORCH}`")]
    NoTorch {
        /// The environment.
        env: String,
    },
    /// The index has no such release.
    #[error("index `{index}` has no `{TORCH}` {version}")]
    NoRelease {
        /// The index.
        index: String,
        /// The release.
        version: Version,
        /// Those that have wheels for Macs, newest first.
        known: Vec<Version>,
    },
    /// The release has no wheel for Macs.
    #[error("`{TORCH}` {version} has no wheel for Apple Silicon Macs")]
    NoMacWheel {
        /// The release.
        version: Version,
        /// Those that have, newest first.
        known: Vec<Version>,
    },
    /// The network is switched off, and nothing is kept.
    #[error("offline, and the cache has neither the table of `{TORCH}` {version} nor its wheel")]
    Offline {
        /// The release.
        version: Version,
    },
    /// The wheel has no table.
    #[error("`{wheel}` carries no `{TABLE_PATH}`")]
    NoTable {
        /// The wheel.
        wheel: Box<WheelName>,
    },
    /// The wheel cannot be had or read.
    #[error("`{wheel}` cannot be used: {reason}")]
    Unusable {
        /// The wheel.
        wheel: Box<WheelName>,
        /// Why.
        reason: String,
    },
    /// The table is of a form that is not known.
    #[error("the table of operators in `{wheel}` cannot be used")]
    Table {
        /// The wheel.
        wheel: Box<WheelName>,
        /// Why.
        #[source]
        cause: TableError,
    },
    /// An index could not be asked.
    #[error("could not ask for the table of operators of `{TORCH}`")]
    Index(#[source] IndexError),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] FsError),
}

impl From<manifest::Error> for OpsError {
    fn from(error: manifest::Error) -> Self {
        Self::Pipeline(error.into())
    }
}

/// Reads the tables; `serve` says how the indexes of a manifest are reached, and without one.
///
/// # Errors
/// When it is not clear which torch is meant, or its table cannot be had.
pub fn read(
    job: &OpsJob,
    serve: &dyn Fn(Option<&Manifest>) -> Config,
    progress: &Arc<dyn Progress>,
) -> Result<Tables, OpsError> {
    let manifest = match manifest::discover(&job.start, job.home.as_deref()) {
        Ok(path) => Some(path),
        // Whoever names a release needs no project.
        Err(manifest::Error::NotFound { .. }) if job.torch.is_some() => None,
        Err(error) => return Err(error.into()),
    };
    let project = manifest.as_deref().map(|path| manifest::read(path, &job.version)).transpose();
    let project = match project {
        Err(_) if job.torch.is_some() => None,
        other => other?,
    };
    let config = serve(project.as_ref().map(|project| &project.manifest));
    let reader = Reader { config: &config, members: Members::new(&config, progress.clone()).map_err(OpsError::Index)? };
    let one = match (&job.torch, &manifest, &project) {
        (Some(version), ..) => reader.release(version)?,
        (None, Some(path), Some(project)) => {
            super::env(&project.manifest.envs, &job.env)?;
            let folder = path.parent().unwrap_or(Path::new(""));
            reader.locked(&job.env, folder)?
        }
        (None, ..) => unreachable!("without a release, a project was read"),
    };
    let other = job.compare.as_ref().map(|version| reader.release(version)).transpose()?;
    Ok(Tables { one, other, findings: reader.members.findings() })
}

/// Returns the releases that have a wheel for Macs, newest first.
pub fn mac_releases(page: &Page) -> Vec<Version> {
    page.versions().filter(|version| mac_wheel(page, version).is_some()).cloned().collect()
}

/// Returns a wheel for Macs of a release, the same each time: they differ in their Python only.
pub fn mac_wheel(page: &Page, version: &Version) -> Option<Arc<File>> {
    let mac = |tag: &str| tag.starts_with("macosx_") && tag.ends_with("_arm64");
    let wheels = page.release(version)?.wheels.iter().filter(|file| file.wheel.platform_tags().any(mac));
    wheels.min_by(|a, b| a.filename.cmp(&b.filename)).cloned()
}

struct Reader<'a> {
    config: &'a Config,
    members: Members,
}

impl Reader<'_> {
    /// Reads the table of the torch that an environment has locked for Macs.
    fn locked(&self, env: &str, folder: &Path) -> Result<Carried, OpsError> {
        let present = Present::from(lock::read(&folder.join(LOCK_NAME)).map_err(super::Error::from)?);
        if present.is_broken() {
            return Err(OpsError::Broken);
        }
        let lock = present.lock.ok_or(OpsError::Unlocked)?;
        let torch: PackageName = TORCH.parse().expect("a constant");
        let elsewhere = |lock: &Lockfile| {
            let envs = lock.envs.iter().filter(|one| one.name == env);
            envs.filter_map(|one| one.entry(&torch)).map(|entry| entry.version.clone()).next()
        };
        let Some(entry) = lock.env(env, Platform::MacosArm64) else {
            return Err(OpsError::NotForMacs { env: env.to_owned(), torch: elsewhere(&lock) });
        };
        let found = entry.entry(&torch).ok_or_else(|| OpsError::NoTorch { env: env.to_owned() })?;
        let package = lock.package(found).expect("a lock that was read has every release of its environments");
        let wheels = Picker::new(entry).kept(package);
        let wheel = *wheels.first().expect("a locked release has files");
        if let Some(text) = self.unpacked(wheel)? {
            return carried(&wheel.file, &text);
        }
        let place = super::place_of(&package.origin, folder);
        let wanted = Wanted { place, wheel: wheel.file.clone(), size: wheel.size, sha256: wheel.sha256 };
        let answer = self.members.read_locked(&wanted, TABLE_PATH).map_err(OpsError::Index)?;
        taken(&wheel.file, answer)
    }

    /// Reads the table out of an unpacked wheel, if the cache has it as it was.
    fn unpacked(&self, wheel: &LockedWheel) -> Result<Option<Vec<u8>>, OpsError> {
        let Some(folder) = &self.config.cache_dir else { return Ok(None) };
        let cache = WheelCache::inside(folder);
        if fs::kind(cache.root())?.is_none() {
            return Ok(None);
        }
        let open = cache.open()?;
        let Some(unpacked) = open.get(wheel)? else { return Ok(None) };
        let Some(file) = unpacked.files.iter().find(|file| file.path == TABLE_PATH) else { return Ok(None) };
        let bytes = fs::read_bytes(&unpacked.folder.join(&file.path))?;
        Ok(bytes.filter(|bytes| Sha256::of(bytes) == file.sha256))
    }

    /// Reads the table of a release of the default index.
    fn release(&self, version: &Version) -> Result<Carried, OpsError> {
        let index: IndexName = builtin::DEFAULT.into();
        let torch: PackageName = TORCH.parse().expect("a constant");
        let page = match self.members.page(&index, &torch).map_err(OpsError::Index)? {
            PageAnswer::Found(page) => page,
            PageAnswer::Offline => return Err(OpsError::Offline { version: version.clone() }),
            PageAnswer::Absent => {
                let (index, version) = (index.to_string(), version.clone());
                return Err(OpsError::NoRelease { index, version, known: Vec::new() });
            }
        };
        if page.release(version).is_none() {
            let (index, version) = (index.to_string(), version.clone());
            return Err(OpsError::NoRelease { index, version, known: mac_releases(&page) });
        }
        let file = mac_wheel(&page, version)
            .ok_or_else(|| OpsError::NoMacWheel { version: version.clone(), known: mac_releases(&page) })?;
        taken(&file.wheel, self.members.read(&index, &file, TABLE_PATH).map_err(OpsError::Index)?)
    }
}

fn taken(wheel: &WheelName, answer: MemberAnswer) -> Result<Carried, OpsError> {
    match answer {
        MemberAnswer::Found(bytes) => carried(wheel, &bytes),
        MemberAnswer::Missing => Err(OpsError::NoTable { wheel: Box::new(wheel.clone()) }),
        MemberAnswer::Unusable(reason) => Err(OpsError::Unusable { wheel: Box::new(wheel.clone()), reason }),
        MemberAnswer::Offline => Err(OpsError::Offline { version: wheel.version.clone() }),
    }
}

fn carried(wheel: &WheelName, bytes: &[u8]) -> Result<Carried, OpsError> {
    let failed = |cause| OpsError::Table { wheel: Box::new(wheel.clone()), cause };
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| failed(TableError { line: 1, reason: "it is no text".to_owned() }))?;
    let table = Table::parse(text).map_err(failed)?;
    Ok(Carried { version: wheel.version.clone(), wheel: wheel.clone(), sha256: Sha256::of(bytes), table })
}
