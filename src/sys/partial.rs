//! `Partial`: a file on its way to its name. One process at a time has it, and the next goes on where that one stopped.
//!
//! The unfinished file is its own lock: the system lets go of it when its holder ends in whatever way, and what the
//! holder had written stays. It takes the final name by a rename, so that nothing unfinished is ever found there.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use super::fs::FsError;

/// Held until dropped. One without content is removed then, any other stays for the next.
#[derive(Debug)]
pub struct Partial {
    file: File,
    path: PathBuf,
    length: u64,
    published: bool,
    /// On a volume without locks: removed when dropped.
    own: Option<tempfile::TempPath>,
}

impl Partial {
    /// Takes the file at `path`, which is made when missing; `None` while another holds it. Its folder must exist.
    ///
    /// On a volume that knows no locks a new file beside it is taken: nothing is resumed there, and nothing mixed.
    ///
    /// # Errors
    /// When it cannot be read and written.
    pub fn claim(path: &Path) -> Result<Option<Self>, FsError> {
        Self::claim_by(path, File::try_lock)
    }

    fn claim_by(path: &Path, lock: fn(&File) -> Result<(), TryLockError>) -> Result<Option<Self>, FsError> {
        let failed = |cause| FsError { doing: "write", path: path.to_owned(), cause };
        loop {
            let file = File::options().create(true).truncate(false).read(true).write(true).open(path);
            let file = file.map_err(failed)?;
            match lock(&file) {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(cause)) if cause.kind() == ErrorKind::Interrupted => continue,
                Err(TryLockError::Error(_)) => return Self::own(path).map(Some),
            }
            let held = file.metadata().map_err(failed)?;
            match std::fs::metadata(path) {
                Ok(found) if (found.dev(), found.ino()) == (held.dev(), held.ino()) => {}
                // Between opening and locking, its holder gave it its final name or removed it.
                Ok(_) => continue,
                Err(cause) if cause.kind() == ErrorKind::NotFound => continue,
                Err(cause) => return Err(failed(cause)),
            }
            let length = held.len();
            return Ok(Some(Self { file, path: path.to_owned(), length, published: false, own: None }));
        }
    }

    fn own(path: &Path) -> Result<Self, FsError> {
        let name = path.file_name().unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new("."));
        let made =
            tempfile::Builder::new().prefix(name).permissions(PermissionsExt::from_mode(0o666)).tempfile_in(folder);
        let (file, own) = made.map_err(|cause| FsError { doing: "write", path: path.to_owned(), cause })?.into_parts();
        Ok(Self { file, path: own.to_path_buf(), length: 0, published: false, own: Some(own) })
    }

    /// Returns how many bytes are there.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns where it lies until it has its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what is there, in pieces; more is written behind it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn replay(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<(), FsError> {
        let failed = |cause| FsError { doing: "read", path: self.path.clone(), cause };
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let (mut length, mut buffer) = (0, vec![0; 1 << 18]);
        let mut there = (&self.file).take(self.length);
        loop {
            match there.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    take(&buffer[..count]);
                    length += count as u64;
                }
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(failed(cause)),
            }
        }
        self.file.seek(SeekFrom::Start(length)).map_err(failed)?;
        self.length = length;
        Ok(())
    }

    /// Writes more, once what is there was replayed or cleared.
    ///
    /// # Errors
    /// When it does not fit, or cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Throws away what is there.
    ///
    /// # Errors
    /// When that is impossible.
    pub fn clear(&mut self) -> std::io::Result<()> {
        if self.length > 0 {
            self.file.set_len(0)?;
        }
        self.file.seek(SeekFrom::Start(0))?;
        self.length = 0;
        Ok(())
    }

    /// Gives it its name, in the same folder, as one step.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn publish(mut self, place: &Path) -> Result<(), FsError> {
        let renamed = std::fs::rename(&self.path, place);
        renamed.map_err(|cause| FsError { doing: "write", path: place.to_owned(), cause })?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if self.length == 0 && !self.published && self.own.is_none() {
            // The lock is still held: who waits for it will see that the name is gone, and begin anew.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fs;

    fn all(partial: &mut Partial) -> Vec<u8> {
        let mut bytes = Vec::new();
        partial.replay(&mut |piece| bytes.extend_from_slice(piece)).unwrap();
        bytes
    }

    #[test]
    fn one_holder_at_a_time_and_the_next_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let (part, place) = (folder.path().join("x.part"), folder.path().join("x"));
        let mut first = Partial::claim(&part).unwrap().unwrap();
        assert!(Partial::claim(&part).unwrap().is_none());
        first.append(b"one").unwrap();
        drop(first);
        let mut second = Partial::claim(&part).unwrap().unwrap();
        assert_eq!((second.length(), all(&mut second)), (3, b"one".to_vec()));
        second.append(b" two").unwrap();
        second.publish(&place).unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), b"one two");
        assert_eq!(fs::walk(folder.path()).unwrap(), [place]);
    }

    #[test]
    fn what_was_cleared_is_written_from_the_start_and_nothing_empty_stays() {
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("x.part");
        let mut partial = Partial::claim(&part).unwrap().unwrap();
        partial.append(b"wrong").unwrap();
        partial.clear().unwrap();
        partial.append(b"so").unwrap();
        assert_eq!(all(&mut partial), b"so");
        partial.clear().unwrap();
        drop(partial);
        assert!(fs::walk(folder.path()).unwrap().is_empty());
    }

    /// A waiter that opened the file before it was renamed holds the lock of the finished one.
    #[test]
    fn a_lock_on_a_file_that_has_its_name_counts_for_nothing() {
        static PLACE: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
        let folder = tempfile::tempdir().unwrap();
        PLACE.set(folder.path().to_owned()).unwrap();
        let renaming = |file: &File| {
            let part = PLACE.get().unwrap().join("x.part");
            if std::fs::read(&part).unwrap() == b"whole" {
                std::fs::rename(part, PLACE.get().unwrap().join("x")).unwrap();
            }
            file.try_lock()
        };
        let part = folder.path().join("x.part");
        std::fs::write(&part, "whole").unwrap();
        let mut partial = Partial::claim_by(&part, renaming).unwrap().unwrap();
        assert_eq!(partial.length(), 0);
        partial.append(b"other").unwrap();
        assert_eq!(std::fs::read(folder.path().join("x")).unwrap(), b"whole");
    }

    #[test]
    fn without_locks_everybody_has_a_file_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let (part, place) = (folder.path().join("x.part"), folder.path().join("x"));
        std::fs::write(&part, "of somebody").unwrap();
        let none = |_: &File| Err(TryLockError::Error(ErrorKind::Unsupported.into()));
        let claim = || Partial::claim_by(&part, none).unwrap().unwrap();
        let (mut first, mut second) = (claim(), claim());
        assert_ne!(first.path(), second.path());
        first.append(b"whole").unwrap();
        second.append(b"who").unwrap();
        first.publish(&place).unwrap();
        drop(second);
        assert_eq!(std::fs::read(&place).unwrap(), b"whole");
        assert_eq!(fs::walk(folder.path()).unwrap(), [place, part]);
    }
}
