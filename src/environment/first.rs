//! Files that Python runs first, in every process that inherits PYTHONPATH.
//!
//! They lie in this user's folder for macml's notes, by their digest: a generation never changes, and the cache may be
//! emptied while programs run that will start others.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::pep::Sha256;
use crate::sys::fs;
use crate::sys::fs::{Durability, FsError};

/// What all of them end with: changing modules after their import, and making way for the next such file.
const REST: &str = include_str!("first.py");

/// Puts a file for Python in place, below a folder of `state` that is called `name`; returns what PYTHONPATH becomes where
/// it was `path`.
pub(super) fn put(state: &Path, name: &str, own: &str, path: Option<&OsStr>) -> Result<OsString, FsError> {
    let text = format!("{own}{REST}");
    let digest = Sha256::of(text.as_bytes()).to_string();
    let folder = state.join(name).join(&digest[..16]);
    fs::write_atomic(&folder.join("sitecustomize.py"), text.as_bytes(), Durability::Cached)?;
    let mut first = folder.into_os_string();
    if let Some(path) = path {
        first.push(":");
        first.push(path);
    }
    Ok(first)
}
