//! Where the project is: the nearest folder upward that has a macml.toml.

use std::path::Path;
use std::path::PathBuf;

use super::Error;
use super::FILE_NAME;
use crate::sys::fs;

/// Finds the macml.toml of `start` or of the nearest folder above it; `home` is the last folder looked at.
///
/// Above the home folder lie other people's files: what is found there was not meant for this project.
///
/// # Errors
/// When there is none, or a folder cannot be looked into.
pub fn discover(start: &Path, home: Option<&Path>) -> Result<PathBuf, Error> {
    for folder in start.ancestors() {
        let path = folder.join(FILE_NAME);
        if fs::kind(&path)? == Some(fs::Kind::File) {
            return Ok(path);
        }
        if Some(folder) == home {
            break;
        }
    }
    Err(Error::NotFound { start: start.to_owned() })
}
