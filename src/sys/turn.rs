//! `Turn`: one process at a time does something to what a file stands for, and says when it waits.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::fs::FsError;

/// Held until dropped, or until the process ends in whatever way.
#[derive(Debug)]
pub struct Turn {
    /// Closing it lets go. `None` where the volume cannot lock files.
    _file: Option<File>,
}

impl Turn {
    /// Waits until no other process holds the lock on `path`, which must exist and is only opened for reading.
    ///
    /// `waiting` is called once, when a second has passed. On a volume without locks it goes on without one: files
    /// still appear whole or not at all, only the second of two writers wins.
    ///
    /// # Errors
    /// When the file cannot be opened, or waiting for it fails.
    pub fn take(path: &Path, waiting: &mut dyn FnMut()) -> Result<Self, FsError> {
        let error = |cause| FsError { doing: "lock", path: path.to_owned(), cause };
        let file = File::open(path).map_err(error)?;
        let begun = Instant::now();
        let mut said = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: Some(file) }),
                Err(std::fs::TryLockError::WouldBlock) => {}
                Err(std::fs::TryLockError::Error(cause)) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                // NFS refuses an exclusive lock on a file opened for reading, other volumes have none at all.
                Err(std::fs::TryLockError::Error(_)) => return Ok(Self { _file: None }),
            }
            if !said && begun.elapsed() >= Duration::from_secs(1) {
                said = true;
                waiting();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_waits_for_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("macml.toml");
        std::fs::write(&path, "").unwrap();
        let first = Turn::take(&path, &mut || ()).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let second = std::thread::spawn({
            let path = path.clone();
            move || Turn::take(&path, &mut || tell.send(()).unwrap()).map(drop)
        });
        told.recv_timeout(Duration::from_secs(20)).expect("it says that it waits");
        assert!(!second.is_finished());
        drop(first);
        second.join().unwrap().unwrap();
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Turn::take(Path::new("/nowhere/macml.toml"), &mut || ()).unwrap_err();
        assert_eq!(error.to_string(), "could not lock `/nowhere/macml.toml`");
    }
}
