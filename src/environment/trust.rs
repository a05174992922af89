//! What this user's macml built for a project, noted outside the project: a cloned repository can bring a `.venv` and a
//! `.macml` of its own, but no note. The shell hook acts on nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::place::{Place, Standing};
use super::stamp::{FolderTime, STAMP_NAME, Stamp};
use crate::pep::Sha256;
use crate::sys;
use crate::sys::fs;
use crate::sys::fs::{Durability, FsError};
use crate::sys::tree;

/// A note on the generation that counts for an environment of a project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Built {
    /// The version of this form.
    pub version: u32,
    /// The project's folder, with every link followed.
    pub project: PathBuf,
    /// The environment's name.
    pub env: String,
    /// The generation's folder.
    pub generation: PathBuf,
    /// The secret in the generation's stamp.
    pub token: String,
    /// The folder that packages lie in, relative to the generation.
    pub site: String,
    /// When something in that folder last came or went.
    pub site_time: FolderTime,
    /// When something in `bin` last came or went.
    pub bin_time: FolderTime,
    /// What the prompt shows.
    pub prompt: String,
    /// `[run.env]` when it was built: these values are set, and no others.
    pub run_env: BTreeMap<String, String>,
    /// The digest of macml.toml when it was built.
    pub manifest: String,
    /// The digest of macml.lock when it was built.
    pub lock: String,
}

/// What is known of an environment of a project.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Known {
    /// Nothing: this user's macml built none here.
    Nothing,
    /// The generation at the link is the one that was built.
    Built(Box<Built>),
    /// Something was built, and something else is there now; with a word on what differs, as in "… was changed".
    Changed(&'static str),
}

/// What differs where the generation is not the one that was built.
const ANOTHER: &str = "is another one than macml built";

/// What differs where something came into it.
const CHANGED: &str = "was changed since macml built it";

/// Reads the secret in a generation's stamp.
fn token(generation: &Path) -> Result<Option<String>, FsError> {
    Ok(Stamp::read(generation)?.map(|stamp| stamp.token))
}

/// Returns whether a folder of a generation, reached without links, is as it was.
fn is_since(generation: &Path, folder: &str, time: FolderTime) -> Result<bool, FsError> {
    let mut path = generation.to_owned();
    for name in folder.split('/') {
        path.push(name);
        if !tree::facts(&path)?.is_some_and(|facts| facts.folder) {
            return Ok(false);
        }
    }
    Ok(FolderTime::of(&path)? == Some(time))
}

impl Built {
    /// The version of the form that this macml writes.
    pub const VERSION: u32 = 1;

    /// The folder of notes, in this user's folder for macml's notes.
    pub const FOLDER: &str = "built";

    /// Returns where the note on an environment is kept; `state` is this user's folder for macml's notes.
    pub fn path(state: &Path, place: &Place) -> PathBuf {
        let key = format!("{}\0{}", place.project.display(), place.env);
        state.join(Self::FOLDER).join(format!("{}.json", Sha256::of(key.as_bytes())))
    }

    /// Finds out whether a note can be kept, by keeping something else for a moment.
    pub fn may_write(state: &Path, place: &Place) -> bool {
        const ENOUGH: [u8; 4096] = [b' '; 4096];
        let path = Self::path(state, place).with_extension("probe");
        let kept = fs::write_atomic(&path, &ENOUGH, Durability::Cached).is_ok();
        let _ = fs::remove_file(&path);
        kept
    }

    /// Writes the note.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn write(&self, state: &Path, place: &Place) -> Result<(), FsError> {
        self.keep(state, place)?;
        let text = serde_json::to_string_pretty(self).expect("texts and numbers") + "\n";
        fs::write_atomic(&Self::path(state, place), text.as_bytes(), Durability::Cached).map(drop)
    }
}

impl Known {
    /// Looks at the note on an environment and at what is there: a few files, no walk.
    ///
    /// # Errors
    /// When something is there that cannot be read.
    pub fn of(state: &Path, place: &Place) -> Result<Self, FsError> {
        let Some(bytes) = fs::read_bytes(&Built::path(state, place))? else { return Ok(Self::Nothing) };
        let Ok(built) = serde_json::from_slice::<Built>(&bytes) else { return Ok(Self::Nothing) };
        if built.version != Built::VERSION || built.project != place.project || built.env != place.env {
            return Ok(Self::Nothing);
        }
        match place.standing()? {
            Standing::Nothing => return Ok(Self::Nothing),
            Standing::Ours(generation) if generation == built.generation => {}
            Standing::Ours(_) | Standing::Foreign => return Ok(Self::Changed(ANOTHER)),
        }
        // A link on the way would lead to what somebody else may have brought.
        let root = place.root();
        let Ok(below) = built.generation.strip_prefix(root) else { return Ok(Self::Changed(ANOTHER)) };
        let straight = sys::resolve(root)?.map(|root| root.join(below));
        if straight.is_none() || sys::resolve(&built.generation)? != straight {
            return Ok(Self::Changed(ANOTHER));
        }
        let Some(token) = token(&built.generation)? else { return Ok(Self::Changed(ANOTHER)) };
        if token != built.token {
            return Ok(Self::Changed(ANOTHER));
        }
        // It says which Python counts, and lies beside `bin`, not in it.
        let time = |name: &str| {
            Ok(tree::facts(&built.generation.join(name))?.filter(|facts| facts.plain).map(|facts| facts.modified))
        };
        let config = time("pyvenv.cfg")?;
        if config.is_none() || config > time(STAMP_NAME)? {
            return Ok(Self::Changed(CHANGED));
        }
        // The stamp lies where the repository could write; the note does not.
        let same = |folder: &str, time: FolderTime| is_since(&built.generation, folder, time);
        if !same(&built.site, built.site_time)? || !same("bin", built.bin_time)? {
            return Ok(Self::Changed(CHANGED));
        }
        Ok(Self::Built(Box::new(built)))
    }
}
