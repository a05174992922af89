//! An environment's files for another machine, in a folder of their own: for looking at them, and for bundles. No
//! interpreter is needed, and none is in it.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::environment::STAGED_NAME;
use crate::install::Interpreter;
use crate::install::Layout;
use crate::install::LinkMode;
use crate::install::Linked;
use crate::manifest::Project;
use crate::pipeline;
use crate::progress::Progress;
use crate::progress::Step;
use crate::sys;
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
use crate::target::PythonMinor;

use super::Amount;
use super::Error;
use super::Reaching;
use super::Source;
use super::Which;
use super::fetch::Fetch;
use super::locked;
use super::select;
use super::tree::Made;
use super::tree::Tree;

/// How the names of folders begin that trees are made in, and the file in each that is locked meanwhile.
const NEW: &str = ".macml-staging-";
/// The largest mark: it names each file of a tree.
const LONGEST_MARK: u64 = 256 << 20;

const NEW_LOCK: &str = ".macml-staging-lock";

/// What is asked of [`stage()`].
#[derive(Clone, Debug)]
pub struct StageJob {
    /// Where the lock and its wheels come from.
    pub source: Source,
    /// The environment.
    pub env: String,
    /// The platform.
    pub platform: Platform,
    /// The Mac's macOS; the floor where it is `None`.
    pub macos: Option<MacosVersion>,
    /// The folder, absolute.
    pub target: PathBuf,
    /// How files get into it.
    pub link_mode: Option<LinkMode>,
}

/// What [`stage()`] did.
#[derive(Debug)]
pub struct Staged {
    /// The manifest.
    pub project: Project,
    /// What came of solving, where that was needed.
    pub solved: Option<Box<pipeline::Outcome>>,
    /// The environment.
    pub env: String,
    /// The platform.
    pub platform: Platform,
    /// The Mac's macOS.
    pub macos: Option<MacosVersion>,
    /// The Python.
    pub python: PythonMinor,
    /// How many packages it has.
    pub packages: usize,
    /// How many files they have.
    pub files: usize,
    /// What was downloaded.
    pub downloads: Amount,
    /// How its files were made.
    pub linked: Linked,
}

/// What [`STAGED_NAME`] says.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub(in crate::pipeline) struct Mark {
    version: u32,
    pub(in crate::pipeline) env: String,
    platform: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    macos: Option<String>,
    python: String,
    packages: Vec<String>,
    /// Every file, by its path in the folder, this one left out: what else is there is somebody's.
    files: BTreeSet<String>,
}

impl Mark {
    const VERSION: u32 = 1;

    /// Reads the one of a folder; `None` where there is none that this macml understands.
    pub(in crate::pipeline) fn of(folder: &Path) -> Result<Option<Self>, FsError> {
        let Some(bytes) = fs::read_plain(&folder.join(STAGED_NAME), LONGEST_MARK)? else { return Ok(None) };
        Ok(serde_json::from_slice(&bytes).ok().filter(|mark: &Self| mark.version == Self::VERSION))
    }

    /// Returns the machine that it was staged for.
    pub(in crate::pipeline) fn machine(&self) -> Option<(Platform, Option<MacosVersion>)> {
        let macos = self.macos.as_ref().map(|macos| macos.parse()).transpose().ok()?;
        Some((self.platform.parse().ok()?, macos))
    }

    /// Returns whether a path in the folder was made by macml, or by a Python or a Finder that looked at it.
    fn knows(&self, path: &str) -> bool {
        let compiled = path.split('/').any(|part| part == "__pycache__") && path.ends_with(".pyc");
        self.files.contains(path) || path == STAGED_NAME || compiled || path.ends_with(".DS_Store")
    }
}

/// Stages the files of an environment: built beside the folder, which is replaced when all are there.
///
/// # Errors
/// When that is not possible; the folder is what it was then.
pub fn stage(job: &StageJob, reaching: &mut Reaching<'_>, progress: &dyn Progress) -> Result<Staged, Error> {
    let which = Which::Named(vec![job.env.clone()]);
    let request = locked::Request { source: &job.source, which: &which, platform: job.platform, writes: true };
    // Of a link the folder that it leads to is replaced.
    let target = sys::resolve(&job.target)?.unwrap_or_else(|| job.target.clone());
    check_target(&target)?;
    let locked = locked::read(&request, reaching.connect, progress)?;
    let env = locked.envs.first().expect("one was asked for");
    let entry = locked.entry(env, job.platform)?;
    let macos = match (&entry.floor, job.macos) {
        (Floor::Mac { macos: floor, .. }, Some(asked)) if asked < *floor => {
            return Err(Error::BelowFloor { env: job.env.clone(), floor: *floor, asked });
        }
        (Floor::Mac { macos: floor, .. }, asked) => Some(asked.unwrap_or(*floor)),
        (Floor::Glibc(..), _) => None,
    };
    let chosen = select::files(&locked.lockfile, entry, env, macos)?;
    let cache = super::open_cache(&job.source, progress)?;
    let manifest = &locked.project.manifest;
    let interpreter = Interpreter::on_path(entry.python);
    let tree = Tree {
        fetch: Fetch {
            cache: &cache,
            folder: &sys::resolve(&locked.folder)?.unwrap_or_else(|| locked.folder.clone()),
            wheels: job.source.wheels.as_deref(),
            download: &|wanted| (reaching.download)(manifest, wanted),
        },
        chosen: &chosen,
        layout: Layout::venv(entry.python, job.platform, interpreter),
        allow_overlap: &env.resolution.allow_overlap,
        link_mode: job.link_mode,
        progress,
    };
    let parent = target.parent().unwrap_or(Path::new("/"));
    fs::create_folder(parent)?;
    entry::sweep(parent, NEW, NEW_LOCK)?;
    let begin = || {
        let new = NewFolder::in_folder(parent, NEW)?;
        // On a volume without locks nobody removes what a killed run left.
        let building = FileLock::exclusive(&new.path().join(NEW_LOCK)).ok();
        Ok((new, building))
    };
    let Made { root: (root, building), plan, linked, got } = tree.make(&begin, &|(root, _)| root.path())?;
    progress.step(Step::Linked);
    let mark = Mark {
        version: Mark::VERSION,
        env: job.env.clone(),
        platform: job.platform.to_string(),
        macos: macos.map(|macos| macos.to_string()),
        python: entry.python.to_string(),
        packages: chosen.iter().map(|one| format!("{} {}", one.package.name, one.package.version)).collect(),
        files: plan.files.keys().cloned().collect(),
    };
    let text = serde_json::to_string_pretty(&mark).expect("texts and numbers") + "\n";
    fs::write_atomic(&root.path().join(STAGED_NAME), text.as_bytes(), Durability::Cached)?;
    fs::remove_file(&root.path().join(NEW_LOCK))?;
    drop(building);
    put_in_place(root, &target)?;
    progress.step(Step::Published);
    let (python, packages, files) = (entry.python, chosen.len(), plan.files.len());
    let (env, platform) = (job.env.clone(), job.platform);
    let (project, solved) = (locked.project.clone(), locked.solved);
    Ok(Staged { project, solved, env, platform, macos, python, packages, files, downloads: got, linked })
}

/// Refuses a folder with something in it that macml did not put there.
fn check_target(target: &Path) -> Result<(), Error> {
    let taken = || Error::TargetTaken { folder: target.to_owned() };
    match fs::kind(target)? {
        // A link to nowhere is something too.
        None if tree::facts(target)?.is_some() => return Err(taken()),
        None => return Ok(()),
        Some(fs::Kind::Folder) if tree::is_empty(target)? => return Ok(()),
        Some(fs::Kind::Folder) => {}
        Some(_) => return Err(taken()),
    }
    let mark = Mark::of(target)?.ok_or_else(taken)?;
    for path in fs::walk(target)? {
        let name = path.strip_prefix(target).unwrap_or(&path).to_string_lossy().into_owned();
        if !mark.knows(&name) {
            return Err(Error::TargetHas { folder: target.to_owned(), name });
        }
    }
    Ok(())
}

/// Puts a tree in its place.
fn put_in_place(new: NewFolder, target: &Path) -> Result<(), Error> {
    let Some(new) = new.publish(target)? else { return Ok(()) };
    // It was empty or macml's when this began.
    check_target(target)?;
    // What is left in its place is the old one, which goes with it.
    Ok(entry::exchange(new.path(), target)?)
}
