//! Files. Every error names the path.

use std::path::{Path, PathBuf};

/// A file operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("could not {doing} `{}`", path.display())]
pub struct FsError {
    /// `read`, `write`, `create folder`, …
    pub doing: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub cause: std::io::Error,
}

/// Reads a text file; `None` when there is none.
///
/// # Errors
/// On any other failure, bytes that are not UTF-8 included.
pub fn read_text(path: &Path) -> Result<Option<String>, FsError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(FsError { doing: "read", path: path.to_owned(), cause }),
    }
}

/// Returns whether there is a file (not a folder) at `path`, symbolic links followed.
///
/// # Errors
/// When that cannot be told, for example in a folder that must not be entered.
pub fn is_file(path: &Path) -> Result<bool, FsError> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_file()),
        Err(cause) if matches!(cause.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(cause) => Err(FsError { doing: "look for", path: path.to_owned(), cause }),
    }
}
