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

/// Whether [`write_atomic`] had anything to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// The file holds other bytes than before.
    Changed,
    /// The file held these bytes already and was not touched.
    Unchanged,
}

/// Puts `bytes` into a file as one step: a reader, or a crash at any instant, sees the old bytes or the new ones.
///
/// The file keeps its mode; a new one gets what the umask leaves of 0666. A symlink stays and its target is written.
/// A file that holds these bytes already is not touched.
///
/// # Errors
/// When the folder cannot be written to; the old file is then still there.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<Written, FsError> {
    use std::io::Write as _;
    let failed = |cause| FsError { doing: "write", path: path.to_owned(), cause };
    // Renaming onto a link would put a plain file in its place.
    let link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let place = if link { std::fs::canonicalize(path).map_err(failed)? } else { path.to_owned() };
    let old_mode = match std::fs::read(&place) {
        Ok(old) if old == bytes => return Ok(Written::Unchanged),
        Ok(_) => Some(std::fs::metadata(&place).map_err(failed)?.permissions()),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => None,
        Err(cause) => return Err(failed(cause)),
    };
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".macml-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // A name of its own for each writer: two at once replace each other's whole file, never mix.
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    if let Some(mode) = old_mode {
        file.as_file().set_permissions(mode).map_err(failed)?;
    }
    // Without it a power cut can leave the new name with no content.
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&place).map_err(|error| failed(error.error))?;
    Ok(Written::Changed)
}
