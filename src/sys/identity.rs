//! `Identity`: which file a path leads to, told without reading it.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fs::FsError;
use super::fs::is_absent;

/// What tells a file from every other and from what it was before it was written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
    mode: u32,
}

impl Identity {
    /// Takes it of what `path` leads to, links followed; `None` when nothing is there.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn of(path: &Path) -> Result<Option<Self>, FsError> {
        match std::fs::metadata(path) {
            Ok(found) => Ok(Some(Self {
                device: found.dev(),
                inode: found.ino(),
                size: found.size(),
                seconds: found.mtime(),
                nanoseconds: found.mtime_nsec(),
                mode: found.mode(),
            })),
            Err(cause) if is_absent(&cause) => Ok(None),
            Err(cause) => Err(FsError { doing: "look at", path: path.to_owned(), cause }),
        }
    }

    /// Returns whether the file may be run by somebody.
    pub fn may_run(&self) -> bool {
        self.mode & 0o111 != 0
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, inode, size, seconds, nanoseconds, mode } = self;
        write!(f, "{device}.{inode}.{size}.{seconds}.{nanoseconds}.{mode:o}")
    }
}

/// Follows every link of a path to the end; `None` when nothing is there.
///
/// # Errors
/// When that cannot be told: links that run in a circle, a folder that may not be entered.
pub fn resolve(path: &Path) -> Result<Option<PathBuf>, FsError> {
    match std::fs::canonicalize(path) {
        Ok(resolved) => Ok(Some(resolved)),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(FsError { doing: "look at", path: path.to_owned(), cause }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_and_another_content_are_another_identity() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), "1").unwrap();
        std::fs::write(at("b"), "1").unwrap();
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        let of = |name: &str| Identity::of(&at(name)).unwrap().unwrap();
        let before = of("a");
        assert_eq!(of("link"), before);
        assert_ne!(of("b"), before);
        std::fs::write(at("a"), "22").unwrap();
        assert_ne!(of("a"), before);
        assert!(!before.may_run());
        assert_eq!(Identity::of(&at("none")).unwrap(), None);
        assert_eq!(Identity::of(&at("a/below")).unwrap(), None);
        assert_eq!(resolve(&at("link")).unwrap(), resolve(&at("a")).unwrap());
        assert_eq!(resolve(&at("none")).unwrap(), None);
    }

    #[test]
    fn links_in_a_circle_are_an_error_that_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("round");
        std::os::unix::fs::symlink("round", &path).unwrap();
        assert_eq!(resolve(&path).unwrap_err().to_string(), format!("could not look at `{}`", path.display()));
    }
}
