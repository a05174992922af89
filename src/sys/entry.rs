//! Entries of folders that somebody tidies up: how large and how old they are, and what makes them go.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::fs::{self, FileLock, FsError};
use super::tree;

/// What tells whether an entry is worth keeping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its length in bytes.
    pub size: u64,
    /// When it was last written to. When it was read tells nothing: backups and search read everything.
    pub written: SystemTime,
}

impl Entry {
    /// Looks at a plain file; `None` when there is none, or something else.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn of(path: &Path) -> Result<Option<Self>, FsError> {
        let failed = |cause| FsError { doing: "look at", path: path.to_owned(), cause };
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.is_file() => {
                Ok(Some(Self { size: found.len(), written: found.modified().map_err(failed)? }))
            }
            Ok(_) => Ok(None),
            Err(cause) if fs::is_absent(&cause) => Ok(None),
            Err(cause) => Err(failed(cause)),
        }
    }
}

/// Adds up the files below a folder, links not followed: how many, and their bytes.
///
/// # Errors
/// When a folder cannot be read.
pub fn weigh(folder: &Path) -> Result<(u64, u64), FsError> {
    let mut sum = (0, 0);
    for file in fs::walk(folder)? {
        // One that went meanwhile weighs nothing.
        let Some(entry) = Entry::of(&file)? else { continue };
        sum = (sum.0 + 1, sum.1 + entry.size);
    }
    Ok(sum)
}

/// Lists the folders in a folder, in order, links not among them; empty when there is no such folder.
///
/// # Errors
/// When it cannot be read.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>, FsError> {
    let paths = fs::names(folder)?.into_iter().map(|name| folder.join(name));
    Ok(paths.filter(|path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())).collect())
}

/// Lets two folders change places: in one step where the system and the volume can, else in two renames.
///
/// # Errors
/// When that is not possible; both are where they were then.
pub fn exchange(new: &Path, old: &Path) -> Result<(), FsError> {
    let failed = |cause| FsError { doing: "replace", path: old.to_owned(), cause };
    let here = rustix::fs::CWD;
    if rustix::fs::renameat_with(here, new, here, old, rustix::fs::RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    let mut aside = new.as_os_str().to_owned();
    aside.push("-old");
    std::fs::rename(old, &aside).map_err(failed)?;
    if let Err(cause) = std::fs::rename(new, old) {
        let _ = std::fs::rename(&aside, old);
        return Err(failed(cause));
    }
    std::fs::rename(&aside, new).map_err(failed)
}

/// Removes from a folder what killed processes left there: folders whose names begin with `prefix` and that hold a file
/// called `lock` which nobody has locked.
///
/// # Errors
/// When they cannot be listed or removed.
pub fn sweep(parent: &Path, prefix: &str, lock: &str) -> Result<(), FsError> {
    for folder in folders(parent)? {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let lock = folder.join(lock);
        let left = || matches!(FileLock::try_exclusive(&lock), Ok(Some(_)));
        if name.starts_with(prefix) && fs::kind(&lock)?.is_some() && left() {
            tree::remove(&folder)?;
        }
    }
    Ok(())
}

impl FileLock {
    /// Waits for a lock that excludes exclusive ones; `waiting` is called once, when a second has passed.
    ///
    /// # Errors
    /// As for [`FileLock::shared`].
    pub fn shared_saying(path: &Path, waiting: &mut dyn FnMut()) -> Result<Self, FsError> {
        let begun = Instant::now();
        let mut said = false;
        loop {
            match Self::hold(path, |file| file.try_lock_shared().map_err(std::io::Error::from)) {
                Err(error) if error.cause.kind() == std::io::ErrorKind::WouldBlock => {}
                held => return held,
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
    fn folders_change_places() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        for (path, text) in [(&one, "1"), (&two, "22")] {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("x"), text).unwrap();
        }
        exchange(&one, &two).unwrap();
        assert_eq!(std::fs::read(one.join("x")).unwrap(), b"22");
        assert_eq!((weigh(&one).unwrap(), weigh(&two).unwrap()), ((1, 2), (1, 1)));
        exchange(&one, &folder.path().join("none")).unwrap_err();
        assert_eq!(folders(folder.path()).unwrap(), [one, two]);
    }
}
