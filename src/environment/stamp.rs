//! `Stamp`: what a generation was built from, written inside it, last.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::tree;

/// The name of its file in the root of a generation.
pub const STAMP_NAME: &str = "macml-stamp.json";

/// The name of the file that marks a tree for another machine, in its root.
pub const STAGED_NAME: &str = "macml-staged.json";

/// No stamp is longer: one line for each package.
const LONGEST: u64 = 4 << 20;

/// What a generation was built from. Another macml may have written it: one whose version is not this one's is not read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stamp {
    /// The version of this form.
    pub version: u32,
    /// The environment's name.
    pub env: String,
    /// The project's folder, with every link followed: commands in `bin` name it.
    pub project: PathBuf,
    /// Digest of everything that decides what is in it: 64 hex digits.
    pub content: String,
    /// The interpreter, as [`crate::python::Interpreter::stamp`] tells it.
    pub interpreter: String,
    /// The Python's version, with the patch.
    pub python: String,
    /// The platform, as in the lock.
    pub platform: String,
    /// The folder that packages lie in, relative to the root, with `/`.
    pub site: String,
    /// When something in that folder last came or went.
    pub site_time: FolderTime,
    /// When something in `bin` last came or went.
    pub bin_time: FolderTime,
    /// A secret of this generation: only who built it, or may read it, knows it.
    pub token: String,
    /// When it was built, in seconds since the beginning of 1970.
    pub built: u64,
    /// Its packages, by name.
    pub packages: Vec<Package>,
}

/// A package of a generation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Package {
    /// Its normalized name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A package that came, went or moved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageChange {
    /// Its name.
    pub name: String,
    /// Its version before; `None` for one that came.
    pub before: Option<String>,
    /// Its version now; `None` for one that went.
    pub after: Option<String>,
}

/// Compares two sets of packages, by name.
pub fn package_changes(before: &[Package], after: &[Package]) -> Vec<PackageChange> {
    let versions = |all: &[Package]| -> BTreeMap<String, String> {
        all.iter().map(|package| (package.name.clone(), package.version.clone())).collect()
    };
    let (mut old, new) = (versions(before), versions(after));
    let mut changes = Vec::new();
    for (name, after) in new {
        let before = old.remove(&name);
        if before.as_ref() != Some(&after) {
            changes.push(PackageChange { name, before, after: Some(after) });
        }
    }
    changes.extend(old.into_iter().map(|(name, before)| PackageChange { name, before: Some(before), after: None }));
    changes.sort_by(|one, other| one.name.cmp(&other.name));
    changes
}

/// When something in a folder last came or went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FolderTime(pub i64, pub i64);

impl Stamp {
    /// The version of the form that this macml writes.
    pub const VERSION: u32 = 1;

    /// Reads the stamp of a generation; `None` when there is none, or none that this macml understands.
    ///
    /// # Errors
    /// When there is one that cannot be read.
    pub fn read(generation: &Path) -> Result<Option<Self>, FsError> {
        let path = generation.join(STAMP_NAME);
        // A pipe would be waited for, and a folder is no stamp either.
        if !tree::facts(&path)?.is_some_and(|facts| facts.plain && facts.size <= LONGEST) {
            return Ok(None);
        }
        let Some(bytes) = fs::read_bytes(&path)? else { return Ok(None) };
        Ok(serde_json::from_slice(&bytes).ok().filter(|stamp: &Self| stamp.version == Self::VERSION))
    }

    /// Returns its text.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers") + "\n"
    }

    /// Returns whether nothing came into the two folders of a generation, or went, since it was stamped.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn is_untouched(&self, generation: &Path) -> Result<bool, FsError> {
        let same = |folder: &str, time: FolderTime| Ok(FolderTime::of(&generation.join(folder))? == Some(time));
        Ok(same(&self.site, self.site_time)? && same("bin", self.bin_time)?)
    }
}

impl FolderTime {
    /// Takes it of a folder; `None` when there is none.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn of(folder: &Path) -> Result<Option<Self>, FsError> {
        let Some(facts) = tree::facts(folder)? else { return Ok(None) };
        let since = facts.modified.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Some(Self(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()))))
    }
}
