//! What this user's macml built for a project, noted outside the project: a cloned repository can bring a `.venv` and a
//! `.macml` of its own, but no note. The shell hook acts on nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::generation::Generation;
use super::place::{Place, Standing};
use super::stamp::FolderTime;
use crate::pep::Sha256;
use crate::sys::fs;
use crate::sys::fs::{Durability, FsError};

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

impl Built {
    /// The version of the form that this macml writes.
    pub const VERSION: u32 = 1;

    /// Returns where the note on an environment is kept; `state` is this user's folder for macml's notes.
    pub fn path(state: &Path, place: &Place) -> PathBuf {
        let key = format!("{}\0{}", place.project.display(), place.env);
        state.join("built").join(format!("{}.json", Sha256::of(key.as_bytes())))
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
            Standing::Ours(_) | Standing::Foreign => return Ok(Self::Changed("is another one than macml built")),
        }
        let generation = Generation::at(&built.generation);
        let stamp = generation.as_ref().map(Generation::stamp).transpose()?.flatten();
        let Some(stamp) = stamp.filter(|stamp| stamp.token == built.token) else {
            return Ok(Self::Changed("is another one than macml built"));
        };
        // The stamp lies where the repository could write; the note does not.
        let same = |folder: &str, time: FolderTime| Ok(FolderTime::of(&built.generation.join(folder))? == Some(time));
        if stamp.site != built.site || !same(&built.site, built.site_time)? || !same("bin", built.bin_time)? {
            return Ok(Self::Changed("was changed since macml built it"));
        }
        Ok(Self::Built(Box::new(built)))
    }
}
