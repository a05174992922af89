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
        let file = File::open(path).map_err(|cause| FsError { doing: "lock", path: path.to_owned(), cause })?;
        Ok(Self::wait(file, Instant::now(), &mut false, waiting))
    }

    /// Waits likewise for the lock on a file that is made when missing. When it returns, the file that is locked is the
    /// one at the path, whoever removed it meanwhile.
    ///
    /// # Errors
    /// When the file cannot be made or opened.
    pub fn make(path: &Path, waiting: &mut dyn FnMut()) -> Result<Self, FsError> {
        use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
        let error = |cause| FsError { doing: "lock", path: path.to_owned(), cause };
        let (begun, mut said) = (Instant::now(), false);
        loop {
            // A pipe that stands there would be waited for.
            let at_once = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("it is a low bit");
            let mut options = File::options();
            options.create(true).truncate(false).write(true).custom_flags(at_once);
            let file = options.open(path).map_err(error)?;
            let ours = file.metadata().map_err(error)?;
            let turn = Self::wait(file, begun, &mut said, waiting);
            match std::fs::metadata(path) {
                Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => return Ok(turn),
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => return Err(error(cause)),
                _ => {}
            }
        }
    }

    fn wait(file: File, begun: Instant, said: &mut bool, waiting: &mut dyn FnMut()) -> Self {
        loop {
            match file.try_lock() {
                Ok(()) => return Self { _file: Some(file) },
                Err(std::fs::TryLockError::WouldBlock) => {}
                Err(std::fs::TryLockError::Error(cause)) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                // NFS refuses an exclusive lock on a file opened for reading, other volumes have none at all.
                Err(std::fs::TryLockError::Error(_)) => return Self { _file: None },
            }
            if !*said && begun.elapsed() >= Duration::from_secs(1) {
                *said = true;
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
    fn a_file_that_was_removed_meanwhile_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Turn::make(&path, &mut || ()).unwrap();
        let second = std::thread::spawn({
            let path = path.clone();
            move || Turn::make(&path, &mut || ()).unwrap()
        });
        std::thread::sleep(Duration::from_millis(100));
        std::fs::remove_file(&path).unwrap();
        drop(first);
        let _second = second.join().unwrap();
        assert!(File::open(&path).unwrap().try_lock().is_err(), "the file that is there is the one that is locked");
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(Turn::make(&path, &mut || ()).unwrap_err().doing, "lock");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Turn::take(Path::new("/nowhere/macml.toml"), &mut || ()).unwrap_err();
        assert_eq!(error.to_string(), "could not lock `/nowhere/macml.toml`");
    }
}
