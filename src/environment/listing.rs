//! What environments a project has on disk, declared or left over, and what is known of their generations.

use std::collections::BTreeSet;
use std::path::Path;

use super::generation::{Generation, Generations, IN_USE_NAME};
use super::place::{Place, Standing};
use super::stamp::Stamp;
use crate::sys::entry;
use crate::sys::fs;
use crate::sys::fs::{FileLock, FsError};
use crate::sys::tree;

/// An environment on disk.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Where it lies.
    pub place: Place,
    /// What stands at its link.
    pub standing: Standing,
    /// Its whole generations, the newest first.
    pub generations: Vec<ListedGeneration>,
}

/// A generation of an environment.
#[derive(Clone, Debug)]
pub struct ListedGeneration {
    /// The generation.
    pub generation: Generation,
    /// Its stamp.
    pub stamp: Stamp,
    /// Whether the link leads to it.
    pub current: bool,
    /// Whether a rollback leads to it.
    pub before: bool,
    /// Whether something runs in it.
    pub in_use: bool,
}

/// Lists the names of environments that a project has on disk: those that have a link or a folder of generations.
///
/// # Errors
/// When a folder cannot be read.
pub fn names(project: &Place) -> Result<BTreeSet<String>, FsError> {
    let mut names = BTreeSet::new();
    for name in fs::names(&project.project)? {
        match name.strip_prefix(".venv") {
            Some("") => names.insert("default".to_owned()),
            Some(rest) => rest.strip_prefix('-').is_some_and(|env| !env.is_empty() && names.insert(env.to_owned())),
            None => false,
        };
    }
    if let Some(stores) = project.store.parent() {
        for folder in entry::folders(stores)? {
            let name = folder.file_name().and_then(|name| name.to_str());
            names.extend(name.filter(|name| !name.starts_with('.')).map(str::to_owned));
        }
    }
    Ok(names)
}

impl Listed {
    /// Looks at an environment.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn of(place: Place) -> Result<Self, FsError> {
        let standing = place.standing()?;
        let (current, before) = (Generations::current(&place)?, Generations::before_of(&place)?);
        let mut generations = Vec::new();
        for generation in Generations::all(&place)? {
            let Some(stamp) = generation.stamp()? else { continue };
            generations.push(ListedGeneration {
                current: current.as_ref() == Some(&generation),
                before: before.as_ref() == Some(&generation),
                in_use: is_in_use(&generation.path)?,
                generation,
                stamp,
            });
        }
        Ok(Self { place, standing, generations })
    }

    /// Returns whether there is something that macml made.
    pub fn is_there(&self) -> bool {
        matches!(self.standing, Standing::Ours(_)) || !self.generations.is_empty()
    }
}

impl ListedGeneration {
    /// Adds up its files: how many, and their bytes, those shared by hard links too.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn weigh(&self) -> Result<(u64, u64), FsError> {
        entry::weigh(&self.generation.path)
    }
}

/// Says whether something runs in a generation.
fn is_in_use(generation: &Path) -> Result<bool, FsError> {
    let path = generation.join(IN_USE_NAME);
    match tree::facts(&path)? {
        Some(facts) if facts.plain => match FileLock::try_exclusive(&path) {
            Ok(lock) => Ok(lock.is_none()),
            // On a volume without locks, or of another user: nobody can tell.
            Err(_) => Ok(false),
        },
        _ => Ok(false),
    }
}
