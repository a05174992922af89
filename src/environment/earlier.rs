//! Notes on generations that this user's macml built and that do not count any more: after a rollback the note is again
//! what it was. A generation that a repository brought has none, so that going back to it is not believed.

use std::path::{Path, PathBuf};

use super::generation::Generation;
use super::place::Place;
use super::trust::Built;
use crate::sys::fs;
use crate::sys::fs::{Durability, FsError};
use crate::sys::tree;

/// The most notes that are kept; far more generations than are kept.
const MOST: usize = 32;

impl Built {
    fn earlier_path(state: &Path, place: &Place) -> PathBuf {
        Self::path(state, place).with_extension("earlier.json")
    }

    /// Returns the note on a generation as it was when that was built; `None` where this user's macml built none such.
    ///
    /// # Errors
    /// When the notes cannot be read.
    pub fn of_earlier(state: &Path, place: &Place, generation: &Generation) -> Result<Option<Self>, FsError> {
        let stamp = generation.stamp()?;
        let token = stamp.map(|stamp| stamp.token);
        let theirs = |built: &Self| {
            built.version == Self::VERSION
                && built.project == place.project
                && built.env == place.env
                && built.generation == generation.path
                && Some(&built.token) == token.as_ref()
        };
        Ok(Self::all_earlier(state, place)?.into_iter().find(theirs))
    }

    /// Keeps this note for the time when another generation counts. Those on generations that are gone go.
    pub(super) fn keep(&self, state: &Path, place: &Place) -> Result<(), FsError> {
        let mut all = Self::all_earlier(state, place)?;
        all.retain(|other| {
            let there = matches!(tree::facts(&other.generation), Ok(Some(facts)) if facts.folder);
            other.generation != self.generation && there
        });
        all.insert(0, self.clone());
        all.truncate(MOST);
        let text = serde_json::to_string_pretty(&all).expect("texts and numbers") + "\n";
        fs::write_atomic(&Self::earlier_path(state, place), text.as_bytes(), Durability::Cached).map(drop)
    }

    /// Removes every note on an environment, of whatever generation.
    ///
    /// # Errors
    /// When one stays.
    pub fn forget_all(state: &Path, place: &Place) -> Result<(), FsError> {
        fs::remove_file(&Self::path(state, place))?;
        fs::remove_file(&Self::earlier_path(state, place))
    }

    fn all_earlier(state: &Path, place: &Place) -> Result<Vec<Self>, FsError> {
        let bytes = fs::read_bytes(&Self::earlier_path(state, place))?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }
}
