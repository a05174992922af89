//! What is in a generation that macml did not put there: told when a sync builds another one without it.

use std::collections::BTreeSet;
use std::path::Path;

use super::generation::Generation;
use super::stamp::{Package, STAGED_NAME, Stamp};
use super::venv;
use crate::install;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::sys::fs;
use crate::sys::fs::FsError;

impl Generation {
    /// Lists what is in it and was not put there by macml: distributions that its stamp does not know, as `name version`,
    /// and files beside packages or in `bin` that no RECORD names, by their path.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn strays(&self, stamp: &Stamp) -> Result<Vec<String>, FsError> {
        let site = fs::names(&self.path.join(&stamp.site))?;
        let mut owned = own_paths(&stamp.site);
        let mut strays = Vec::new();
        for entry in &site {
            let Some(found) = distribution(entry) else { continue };
            let folder = format!("{}/{entry}", stamp.site);
            if !stamp.packages.iter().any(|known| is_same(known, &found)) {
                strays.push(format!("{} {}", found.name, found.version));
            }
            // A folder and a file are both possible for `.egg-info`.
            let record = fs::read_bytes(&self.path.join(&folder).join("RECORD"))?.unwrap_or_default();
            owned.insert(folder);
            let rows = install::recorded(&record).unwrap_or_default();
            owned.extend(rows.iter().filter_map(|row| place(&stamp.site, &row.path)));
        }
        let beside = site.iter().filter(|name| *name != "__pycache__").map(|name| format!("{}/{name}", stamp.site));
        let commands = fs::names(&self.path.join("bin"))?;
        let commands = commands.iter().filter(|name| *name != "__pycache__").map(|name| format!("bin/{name}"));
        strays.extend(beside.chain(commands).filter(|path| !owned.contains(path)));
        strays.sort();
        Ok(strays)
    }
}

/// Lists the distributions in a folder of packages, whoever put them there, by their folders of metadata.
///
/// # Errors
/// When it cannot be read.
pub fn distributions(site: &Path) -> Result<Vec<Package>, FsError> {
    Ok(distribution_folders(site)?.into_iter().map(|(_, package)| package).collect())
}

/// Lists the distributions in a folder of packages, each with the name of its folder of metadata.
///
/// # Errors
/// When it cannot be read.
pub fn distribution_folders(site: &Path) -> Result<Vec<(String, Package)>, FsError> {
    Ok(fs::names(site)?.into_iter().filter_map(|entry| Some((entry.clone(), distribution(&entry)?))).collect())
}

/// Lists the paths that macml itself puts into a tree besides packages, relative to its root.
pub fn own_paths(site: &str) -> BTreeSet<String> {
    let own = venv::own_paths(site, venv::Pip::Launcher);
    own.into_iter().chain(["lib64", STAGED_NAME].map(str::to_owned)).collect()
}

/// Reads the name of a distribution's folder.
fn distribution(entry: &str) -> Option<Package> {
    let stem = entry.strip_suffix(".dist-info").or_else(|| entry.strip_suffix(".egg-info"))?;
    let (name, version) = stem.split_once('-')?;
    let name: PackageName = name.parse().ok()?;
    // No name of a folder has a hyphen in its version.
    Some(Package { name: name.to_string(), version: version.replace('_', "-") })
}

/// Returns whether two are one release: `1.0` and `1.0.0` are one version.
pub fn is_same(known: &Package, found: &Package) -> bool {
    let version = |package: &Package| package.version.parse::<Version>().ok();
    known.name == found.name
        && (known.version == found.version || version(known).is_some_and(|known| Some(known) == version(found)))
}

/// Returns what a path of RECORD stands for: a command, or a file or folder directly in the folder of packages, from the
/// root on; `None` for what lies elsewhere.
fn place(site: &str, path: &str) -> Option<String> {
    let path = install::from_root(site, path)?;
    let parts: Vec<&str> = path.split('/').collect();
    let depth = if parts.first() == Some(&"bin") { 2 } else { site.split('/').count() + 1 };
    let path = parts.get(..depth)?.join("/");
    (path.starts_with("bin/") || path.starts_with(site)).then_some(path)
}
