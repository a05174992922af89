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
