//! Room on volumes: how much is free, on which one, and how people say it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::fs::FsError;

/// What a volume has left for us.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Space {
    /// Bytes that may still be written, what is reserved for the administrator left out.
    pub free: u64,
    /// Where the volume is mounted.
    pub volume: PathBuf,
}

/// Returns the room on the volume that a folder, which must exist, lies on.
///
/// # Errors
/// When that cannot be told.
pub fn space(folder: &Path) -> Result<Space, FsError> {
    look(folder).map_err(|cause| FsError { doing: "look at", path: folder.to_owned(), cause })
}

#[cfg(target_os = "macos")]
fn look(folder: &Path) -> std::io::Result<Space> {
    use std::os::unix::ffi::OsStrExt as _;
    let told = rustix::fs::statfs(folder)?;
    // The mount point is asked for, not looked for: `/Users` lies on another volume than `/` without being a mount.
    let mount: Vec<u8> = told.f_mntonname.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    let volume = PathBuf::from(std::ffi::OsStr::from_bytes(&mount));
    Ok(Space { free: told.f_bavail.saturating_mul(u64::from(told.f_bsize)), volume })
}

#[cfg(not(target_os = "macos"))]
fn look(folder: &Path) -> std::io::Result<Space> {
    use std::os::unix::fs::MetadataExt as _;
    let told = rustix::fs::statvfs(folder)?;
    let folder = std::fs::canonicalize(folder)?;
    let device = std::fs::metadata(&folder)?.dev();
    let same = |above: &&Path| std::fs::metadata(above).is_ok_and(|found| found.dev() == device);
    let volume = folder.ancestors().take_while(same).last().unwrap_or(&folder).to_owned();
    Ok(Space { free: told.f_bavail.saturating_mul(told.f_frsize), volume })
}

/// Returns the name of a volume's format if it is one for carrying files about: it has neither owners nor modes nor hard
/// links, and no symbolic links that every system takes for such.
///
/// # Errors
/// When that cannot be told.
pub fn exchange_format(folder: &Path) -> Result<Option<&'static str>, FsError> {
    format(folder).map_err(|cause| FsError { doing: "look at", path: folder.to_owned(), cause })
}

#[cfg(target_os = "macos")]
fn format(folder: &Path) -> std::io::Result<Option<&'static str>> {
    let told = rustix::fs::statfs(folder)?;
    let name: Vec<u8> = told.f_fstypename.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    Ok(match &*name {
        b"exfat" => Some("exFAT"),
        b"msdos" => Some("FAT"),
        _ => None,
    })
}

#[cfg(target_os = "linux")]
fn format(folder: &Path) -> std::io::Result<Option<&'static str>> {
    // The kernel's `EXFAT_SUPER_MAGIC` and `MSDOS_SUPER_MAGIC`.
    Ok(match rustix::fs::statfs(folder)?.f_type {
        0x2011_bab0 => Some("exFAT"),
        0x4d44 => Some("FAT"),
        _ => None,
    })
}

#[cfg(not(any(target_os = "macos", target_os = "linux")))]
fn format(_folder: &Path) -> std::io::Result<Option<&'static str>> {
    Ok(None)
}

/// Returns whether a write failed because nothing more fits, by the volume or by a quota.
pub fn is_full(cause: &std::io::Error) -> bool {
    matches!(cause.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

/// A number of bytes as people say it: `1.2 GB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        match bytes {
            0..1_000_000 => write!(f, "{} kB", bytes.div_ceil(1000)),
            1_000_000..1_000_000_000 => write!(f, "{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
            _ => write!(f, "{}.{} GB", bytes / 1_000_000_000, bytes / 100_000_000 % 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_above_its_folders_and_has_room() {
        let folder = tempfile::tempdir().unwrap();
        let space = space(folder.path()).unwrap();
        assert!(folder.path().canonicalize().unwrap().starts_with(&space.volume), "{space:?}");
        assert!(space.free > 0, "{space:?}");
        assert_eq!(exchange_format(folder.path()).unwrap(), None);
        let error = super::space(&folder.path().join("absent")).unwrap_err();
        assert!(error.to_string().contains("absent"), "{error}");
    }

    #[test]
    fn sizes_as_people_say_them() {
        let check = |bytes: u64, text: &str| assert_eq!(Bytes(bytes).to_string(), text);
        check(0, "0 kB");
        check(1, "1 kB");
        check(999_000, "999 kB");
        check(1_250_000, "1.2 MB");
        check(999_999_999, "999.9 MB");
        check(13_960_000_000, "13.9 GB");
    }
}
