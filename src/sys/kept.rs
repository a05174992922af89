//! Files that macml keeps for itself in a project, where others may have put anything in their place.
//!
//! Unlike files that a person names, they are neither pipes nor devices, which would be waited for or read for ever, nor
//! links, whose targets would be written over.

use std::io::Error;
use std::path::Path;

use super::fs;
use super::fs::{Durability, FsError};

/// Reads such a file, of at most `most` bytes; `None` when there is none.
///
/// # Errors
/// When what is there is something else, is longer, or cannot be read.
pub fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, FsError> {
    let refused = |why: String| FsError { doing: "read", path: path.to_owned(), cause: Error::other(why) };
    match (fs::kind(path)?, fs::size(path)?) {
        (None, _) => Ok(None),
        (Some(_), None) => Err(refused("it is no file".to_owned())),
        (Some(_), Some(size)) if size > most => Err(refused(format!("it has {size} bytes, of {most} at most"))),
        (Some(_), Some(_)) => fs::read_bytes(path),
    }
}

/// Puts bytes into such a file as one step, as [`fs::write_atomic`] does.
///
/// # Errors
/// When something else is there, or it cannot be written.
pub fn write(path: &Path, bytes: &[u8], durability: Durability) -> Result<(), FsError> {
    let refused = |why: &str| FsError { doing: "write", path: path.to_owned(), cause: Error::other(why.to_owned()) };
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Err(refused("it is a link, and what it leads to is not written over")),
        Ok(found) if !found.is_file() => Err(refused("it is no file")),
        Err(cause) if !fs::is_absent(&cause) => Err(FsError { doing: "look at", path: path.to_owned(), cause }),
        _ => fs::write_atomic(path, bytes, durability).map(drop),
    }
}

/// Has git ignore a folder that is macml's own, unless somebody decided on that there already.
///
/// # Errors
/// When that is not possible.
pub fn ignore_in_git(own: &Path) -> Result<(), FsError> {
    let path = own.join(".gitignore");
    match std::fs::symlink_metadata(&path) {
        Ok(found) if !found.is_file() || found.len() > 0 => Ok(()),
        _ => fs::write_atomic(&path, b"*\n", Durability::Cached).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(path: &Path) {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    fn what_is_no_file_is_neither_waited_for_nor_read_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        pipe(&at("pipe"));
        std::fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("endless")).unwrap();
        for name in ["pipe", "folder", "endless"] {
            let error = read(&at(name), 10).unwrap_err();
            assert_eq!((error.doing, error.cause.to_string().as_str()), ("read", "it is no file"), "{name}");
            write(&at(name), b"new", Durability::Cached).unwrap_err();
        }
        std::fs::write(at("long"), "12345678901").unwrap();
        assert_eq!(read(&at("long"), 10).unwrap_err().cause.to_string(), "it has 11 bytes, of 10 at most");
        assert_eq!(read(&at("long"), 11).unwrap().unwrap(), b"12345678901");
        assert_eq!(read(&at("none"), 10).unwrap(), None);
    }

    #[test]
    fn what_a_link_leads_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("precious"), "mine").unwrap();
        for name in ["record", ".gitignore"] {
            std::os::unix::fs::symlink("precious", at(name)).unwrap();
        }
        write(&at("record"), b"new", Durability::Cached).unwrap_err();
        ignore_in_git(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(at("precious")).unwrap(), "mine");
    }

    #[test]
    fn git_ignores_it_as_somebody_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own/.gitignore");
        ignore_in_git(&folder.path().join("own")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "*\n");
        std::fs::write(&path, "env\n").unwrap();
        ignore_in_git(&folder.path().join("own")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "env\n");
    }
}
