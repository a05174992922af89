//! A bundle: the locked wheels of some environments as a folder, from which a machine without a network installs the same.
//!
//! ```text
//! mnist-bundle/
//!   macml.toml  macml.lock      as they are in the project
//!   torch-2.14.1-….whl  …       every wheel by its file name; one by path also where macml.toml names it
//!   macml-bundle.json           says that the folder is a bundle, and all that is in it
//! ```
//!
//! It is built beside the place where it goes, which it takes as a whole. The lock says what is in it and is used as it is.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde::Serialize;

use crate::diag::Finding;
use crate::index::Config;
use crate::index::download;
use crate::index::download::DownloadError;
use crate::index::download::Downloads;
use crate::index::download::Ready;
use crate::index::download::Wanted;
use crate::install::WheelCache;
use crate::lock;
use crate::lock::Lockfile;
use crate::lock::model::LockedEnv;
use crate::lock::pick::Picker;
use crate::manifest;
use crate::manifest::Manifest;
use crate::manifest::Project;
use crate::manifest::model::EnvSpec;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::progress::Progress;
use crate::sys;
use crate::sys::disk;
use crate::sys::disk::Bytes;
use crate::sys::disk::Space;
use crate::sys::entry;
use crate::sys::fs;
use crate::sys::fs::Durability;
use crate::sys::fs::FileLock;
use crate::sys::fs::FsError;
use crate::sys::tree;
use crate::sys::tree::NewFolder;
use crate::target::Floor;
use crate::target::MacosVersion;
use crate::target::Platform;

use super::LOCK_NAME;
use super::NotCurrent;

/// The file that tells a bundle from any other folder.
pub const BUNDLE_NAME: &str = "macml-bundle.json";

/// How the name of a bundle begins that is being built, and which file in it is locked meanwhile.
const NEW: &str = ".macml-bundle-";
const NEW_LOCK: &str = "building";

/// What is asked of [`bundle`].
#[derive(Clone, Debug)]
pub struct BundleJob {
    /// Where the search for macml.toml begins.
    pub start: PathBuf,
    /// Where it ends at the latest.
    pub home: Option<PathBuf>,
    /// The version of this macml.
    pub version: semver::Version,
    /// Environments by name; all of the manifest when empty.
    pub only: Vec<String>,
    /// The platform; every one that is locked without.
    pub platform: Option<Platform>,
    /// The macOS of the Macs that it is for; every one from the floor up without.
    pub macos: Option<MacosVersion>,
    /// Where it goes; `<project>-bundle` in `cwd` without.
    pub to: Option<PathBuf>,
    /// The folder that paths are relative to.
    pub cwd: PathBuf,
}

/// A bundle that was written.
#[derive(Clone, Debug)]
pub struct Bundled {
    /// Its folder.
    pub folder: PathBuf,
    /// What it is for.
    pub envs: Vec<(String, Platform)>,
    /// Its wheels, by name.
    pub wheels: Vec<BundledWheel>,
    /// Warnings and notes.
    pub findings: Vec<Finding>,
}

/// A wheel of a bundle.
#[derive(Clone, Debug)]
pub struct BundledWheel {
    /// Its file name.
    pub file: String,
    /// Its size.
    pub size: u64,
    /// Its digest.
    pub sha256: Sha256,
    /// Whether the bundle before had it.
    pub kept: bool,
}

/// Why there is no bundle, or still the one before.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The manifest, the environments, or a lock that cannot be used as it is.
    #[error(transparent)]
    NotCurrent(#[from] NotCurrent),
    /// An environment is not for the platform.
    #[error("environment `{env}` is not locked for {platform}")]
    OtherPlatform {
        /// The environment.
        env: String,
        /// The platform.
        platform: Platform,
    },
    /// The macOS is below what was declared.
    #[error("environment `{env}` is for macOS {floor} and later, so that nothing of it is for macOS {macos}")]
    BelowFloor {
        /// The environment.
        env: String,
        /// Its floor.
        floor: MacosVersion,
        /// What was asked for.
        macos: MacosVersion,
    },
    /// A package has no locked wheel that fits.
    #[error("no locked wheel of `{name}` is for environment `{env}` on {platform}")]
    NoWheel {
        /// The package.
        name: PackageName,
        /// The environment.
        env: String,
        /// The platform.
        platform: Platform,
    },
    /// Two wheels have one name.
    #[error("two locked wheels have the name `{file}`, which can be in one folder once")]
    SameName {
        /// The name.
        file: String,
    },
    /// Something stands there that is not to be replaced.
    #[error("`{}` {what}", folder.display())]
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// What it is, as the end of a sentence.
        what: String,
    },
    /// The wheels do not fit.
    #[error(
        "no space for the bundle: {} needed, {} free on the volume `{}`",
        Bytes(*.needed), Bytes(.space.free), .space.volume.display()
    )]
    NoSpace {
        /// How many bytes.
        needed: u64,
        /// How much is left, and where.
        space: Space,
    },
    /// Wheels could not be had.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// A file could not be read or written.
    #[error(transparent)]
    Disk(#[from] FsError),
}

impl From<lock::Error> for BundleError {
    fn from(error: lock::Error) -> Self {
        Self::NotCurrent(super::Error::from(error).into())
    }
}

impl From<manifest::Error> for BundleError {
    fn from(error: manifest::Error) -> Self {
        Self::NotCurrent(super::Error::from(error).into())
    }
}

/// What a bundle says of itself.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Label {
    /// The version of this form: 1.
    version: u32,
    project: String,
    environments: Vec<LabelledEnv>,
    /// Every file, by its path in the bundle, `macml-bundle.json` left out.
    files: BTreeSet<String>,
}

#[derive(Serialize, Deserialize)]
struct LabelledEnv {
    name: String,
    platform: String,
}

/// Writes the locked wheels into a folder. `config` makes what reaches the manifest's indexes.
///
/// # Errors
/// When the lock is stale, a wheel cannot be had, something else stands there or the disk fails; what was there is then
/// as it was.
pub fn bundle(
    job: &BundleJob,
    config: &dyn Fn(&Manifest) -> Config,
    progress: Arc<dyn Progress>,
) -> Result<Bundled, BundleError> {
    let manifest = manifest::discover(&job.start, job.home.as_deref())?;
    let project = manifest::read(&manifest, &job.version)?;
    let folder = manifest.parent().unwrap_or(Path::new("")).to_owned();
    let lock_path = folder.join(LOCK_NAME);
    let lock = super::current_lock(&project, &job.only)?;
    let envs = chosen(job, &project, &lock)?;
    let files = files(job, &lock, &envs, &folder)?;

    let to = job.to.clone().unwrap_or_else(|| default_name(&project.manifest.name).into());
    let to = job.cwd.join(to);
    let to = sys::resolve(&to)?.unwrap_or(to);
    let before = Before::look(&to, &folder)?;
    let mut kept = BTreeSet::new();
    for (name, file) in &files {
        if before.names.contains(name) && download::is_whole(&to.join(name), file.size, file.sha256)? {
            kept.insert(name.clone());
        }
    }
    let missing: Vec<Wanted> =
        files.iter().filter(|(name, _)| !kept.contains(*name)).map(|(_, one)| one.clone()).collect();

    let parent = to.parent().unwrap_or(Path::new("/"));
    fs::create_folder(parent)?;
    entry::sweep(parent, NEW, NEW_LOCK)?;
    let config = config(&project.manifest);
    let cache = config.cache_dir.clone().ok_or(DownloadError::NoCache)?;
    // Nobody removes downloads meanwhile.
    let mut waiting = || progress.note("waiting for another macml that tidies the cache");
    let _use = WheelCache::inside(&cache).open_saying(&mut waiting)?;
    check_space(&missing, &cache, parent)?;
    let mut downloads = Downloads::begin(&config, &missing, progress)?;
    let ready: BTreeMap<Sha256, Ready> =
        downloads.by_ref().map(|ready| ready.map(|ready| (ready.sha256, ready))).collect::<Result<_, _>>()?;

    let new = NewFolder::in_folder(parent, NEW)?;
    // On a volume without locks nobody removes what a killed run left.
    let building = FileLock::exclusive(&new.path().join(NEW_LOCK)).ok();
    let mut label = Label {
        version: 1,
        project: project.manifest.name.clone(),
        environments: envs
            .iter()
            .map(|env| LabelledEnv { name: env.name.clone(), platform: env.platform.to_string() })
            .collect(),
        files: BTreeSet::new(),
    };
    for (name, file) in &files {
        let from = match kept.contains(name) {
            true => to.join(name),
            false => ready.get(&file.sha256).expect("each digest that is missing comes").path.clone(),
        };
        put(&from, &new.path().join(name))?;
        label.files.insert(name.clone());
        if let Some(named) = within(&file.place, &folder)
            && label.files.insert(named.clone())
        {
            let place = new.path().join(&named);
            fs::create_folder(place.parent().unwrap_or(new.path()))?;
            put(&new.path().join(name), &place)?;
        }
    }
    for (name, path) in [("macml.toml", &manifest), (LOCK_NAME, &lock_path)] {
        let bytes = fs::read_bytes(path)?.unwrap_or_default();
        fs::write_atomic(&new.path().join(name), &bytes, Durability::Cached)?;
        label.files.insert(name.to_owned());
    }
    let text = serde_json::to_string_pretty(&label).expect("texts and numbers") + "\n";
    fs::write_atomic(&new.path().join(BUNDLE_NAME), text.as_bytes(), Durability::Cached)?;
    fs::remove_file(&new.path().join(NEW_LOCK))?;
    drop(building);
    publish(new, &to)?;
    // Only now: what a killed run had is there for the next. What stays costs space until the cache is pruned.
    ready.into_values().for_each(|ready| drop(ready.discard()));
    let wheel = |(name, file): (&String, &Wanted)| BundledWheel {
        file: name.clone(),
        size: file.size,
        sha256: file.sha256,
        kept: kept.contains(name),
    };
    Ok(Bundled {
        folder: to,
        envs: envs.iter().map(|env| (env.name.clone(), env.platform)).collect(),
        wheels: files.iter().map(wheel).collect(),
        findings: downloads.findings(),
    })
}

/// Reads the lock, which has to answer the manifest in all that is to be bundled.
fn wanted(job: &BundleJob, project: &Project) -> Result<Vec<EnvSpec>, BundleError> {
    let all = &project.manifest.envs;
    job.only.iter().try_for_each(|name| super::env(all, name).map(drop)).map_err(NotCurrent::from)?;
    let chosen = |env: &&EnvSpec| job.only.is_empty() || job.only.contains(&env.name);
    Ok(all.iter().filter(chosen).cloned().collect())
}

/// Picks the locked environments.
fn chosen<'a>(job: &BundleJob, project: &Project, lock: &'a Lockfile) -> Result<Vec<&'a LockedEnv>, BundleError> {
    let mut envs = Vec::new();
    for env in wanted(job, project)? {
        let fits = |locked: &&LockedEnv| {
            locked.name == env.name && job.platform.is_none_or(|platform| locked.platform == platform)
        };
        let found = lock.envs.iter().filter(fits).collect::<Vec<_>>();
        if let (Some(platform), []) = (job.platform, found.as_slice()) {
            return Err(BundleError::OtherPlatform { env: env.name, platform });
        }
        envs.extend(found);
    }
    let Some(macos) = job.macos else { return Ok(envs) };
    let mut macs = false;
    for env in &envs {
        if let Floor::Mac { macos: floor, .. } = env.floor {
            macs = true;
            if macos < floor {
                return Err(BundleError::BelowFloor { env: env.name.clone(), floor, macos });
            }
        }
    }
    if macs { Ok(envs) } else { Err(NotCurrent::from(super::Error::NoMac).into()) }
}

/// Lists the wheels by name.
fn files(
    job: &BundleJob,
    lock: &Lockfile,
    envs: &[&LockedEnv],
    folder: &Path,
) -> Result<BTreeMap<String, Wanted>, BundleError> {
    let mut files: BTreeMap<String, Wanted> = BTreeMap::new();
    for env in envs {
        let picker = job.macos.map_or_else(|| Picker::new(env), |macos| Picker::on(env, macos));
        for entry in &env.packages {
            let package = lock.package(entry).expect("a lock that was read has every release of its environments");
            let picked = picker.files(package);
            if picked.is_empty() {
                let (name, env, platform) = (entry.name.clone(), env.name.clone(), env.platform);
                return Err(BundleError::NoWheel { name, env, platform });
            }
            for wheel in picked {
                let place = super::place_of(&package.origin, folder);
                let wanted = Wanted { place, wheel: wheel.file.clone(), size: wheel.size, sha256: wheel.sha256 };
                let file = wheel.file.to_string();
                match files.get(&file) {
                    Some(other) if other.sha256 != wheel.sha256 => return Err(BundleError::SameName { file }),
                    Some(_) => {}
                    None => drop(files.insert(file, wanted)),
                }
            }
        }
    }
    Ok(files)
}

/// Returns where a wheel by path lies in the project; `None` when it is none, or lies elsewhere.
fn within(place: &download::Place, folder: &Path) -> Option<String> {
    let download::Place::Path(path) = place else { return None };
    let inside = path.strip_prefix(folder).ok()?;
    let mut parts = Vec::new();
    for part in inside.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(parts.join("/"))
}

/// Names the bundle of a project whose name may be any text.
fn default_name(project: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ') { c } else { '-' };
    let name: String = project.chars().map(plain).collect();
    format!("{}-bundle", name.trim_start_matches('.'))
}

/// What stands where the bundle goes.
struct Before {
    /// The files of the bundle that is there.
    names: BTreeSet<String>,
}

impl Before {
    /// Looks, and refuses what is not to be replaced.
    fn look(to: &Path, project: &Path) -> Result<Self, BundleError> {
        let occupied = |what: String| BundleError::Occupied { folder: to.to_owned(), what };
        match fs::kind(to)? {
            None => return Ok(Self { names: BTreeSet::new() }),
            Some(fs::Kind::Folder) => {}
            Some(_) => return Err(occupied("is no folder".to_owned())),
        }
        if sys::resolve(project)?.as_deref() == Some(to) {
            return Err(occupied("is the project itself".to_owned()));
        }
        let label = fs::read_bytes(&to.join(BUNDLE_NAME))?;
        let label = label.and_then(|bytes| serde_json::from_slice::<Label>(&bytes).ok());
        let Some(label) = label.filter(|label| label.version == 1) else {
            return match tree::is_empty(to)? {
                true => Ok(Self { names: BTreeSet::new() }),
                false => Err(occupied("is there, and is no bundle".to_owned())),
            };
        };
        for path in fs::walk(to)? {
            let name = path.strip_prefix(to).unwrap_or(&path).to_string_lossy().into_owned();
            // Finder leaves one in each folder that it shows.
            let known = label.files.contains(&name) || name == BUNDLE_NAME || name.ends_with(".DS_Store");
            if !known {
                return Err(occupied(format!("has `{name}` in it, which no bundle has")));
            }
        }
        Ok(Self { names: label.files })
    }
}

/// Makes sure that the wheels fit. On the volume of the cache they take the place that downloading takes, of which it
/// makes sure itself.
fn check_space(missing: &[Wanted], cache: &Path, parent: &Path) -> Result<(), BundleError> {
    let volume = |folder: &Path| Ok::<_, FsError>(tree::facts(folder)?.map(|facts| facts.identity.0));
    if volume(cache)? == volume(parent)? {
        return Ok(());
    }
    let needed = missing.iter().fold(0_u64, |sum, wheel| sum.saturating_add(wheel.size));
    let space = disk::space(parent)?;
    if needed > space.free { Err(BundleError::NoSpace { needed, space }) } else { Ok(()) }
}

/// Gives a bundle a file: without taking space where the volume can.
fn put(from: &Path, to: &Path) -> Result<(), FsError> {
    tree::clone_file(from, to).or_else(|_| tree::hard_link(from, to)).or_else(|_| tree::copy_file(from, to))
}

/// Puts a bundle in its place.
fn publish(new: NewFolder, to: &Path) -> Result<(), FsError> {
    match new.publish(to)? {
        None => Ok(()),
        // What is left in its place is the old one, which goes with it.
        Some(back) => entry::exchange(back.path(), to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_has_a_name_that_a_folder_can_have() {
        for (project, name) in [
            ("mnist-mps", "mnist-mps-bundle"),
            ("a/b", "a-b-bundle"),
            ("../x", "-x-bundle"),
            ("実験 é", "実験 é-bundle"),
        ] {
            assert_eq!(default_name(project), name);
        }
    }

    #[test]
    fn a_wheel_by_path_keeps_its_place_only_inside_the_project() {
        let check = |path: &str, expected: Option<&str>| {
            let place = download::Place::Path(Path::new("/p").join(path));
            assert_eq!(within(&place, Path::new("/p")).as_deref(), expected, "{path}");
        };
        check("vendor/a.whl", Some("vendor/a.whl"));
        check("./a.whl", Some("a.whl"));
        check("../a.whl", None);
        check("vendor/../../a.whl", None);
        check("/elsewhere/a.whl", None);
    }
}
