//! Room on volumes: how much is free, on which one, and how people say it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

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
    Ok(match format(folder)?.as_deref() {
        Some("exfat") => Some("exFAT"),
        Some("msdos") => Some("FAT"),
        _ => None,
    })
}

/// Returns the name that the system has for the format of a folder's volume: `apfs`, `exfat`, `ext4`; `None` for one that
/// has no name here.
///
/// # Errors
/// When that cannot be told.
pub fn format(folder: &Path) -> Result<Option<String>, FsError> {
    format_name(folder).map_err(|cause| FsError { doing: "look at", path: folder.to_owned(), cause })
}

#[cfg(target_os = "macos")]
fn format_name(folder: &Path) -> std::io::Result<Option<String>> {
    let told = rustix::fs::statfs(folder)?;
    let name: Vec<u8> = told.f_fstypename.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    Ok(String::from_utf8(name).ok().filter(|name| !name.is_empty()))
}

#[cfg(target_os = "linux")]
fn format_name(folder: &Path) -> std::io::Result<Option<String>> {
    // The numbers of the kernel's `magic.h`. A word has 32 bits or more, and the number has 32.
    let name = match rustix::fs::statfs(folder)?.f_type & 0xffff_ffff {
        0x2011_bab0 => "exfat",
        0x4d44 => "msdos",
        0xef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x2fc1_2fc1 => "zfs",
        0x0102_1994 => "tmpfs",
        0x794c_7630 => "overlay",
        0x6969 => "nfs",
        0xff53_4d42 | 0xfe53_4d42 => "smb",
        0x6573_5546 => "fuse",
        0x0102_1997 => "9p",
        0x5346_544e | 0x7366_746e => "ntfs",
        _ => return Ok(None),
    };
    Ok(Some(name.to_owned()))
}

#[cfg(not(any(target_os = "macos", target_os = "linux")))]
fn format_name(_folder: &Path) -> std::io::Result<Option<String>> {
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

/// A text that is no number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("is not a number of bytes such as `20GB` or `500MB`")]
pub struct BytesError;

impl FromStr for Bytes {
    type Err = BytesError;

    /// Reads `20GB`, `1.5 TB`, `500MiB` or `0`; without an `i` the units are those of disks, powers of a thousand.
    fn from_str(text: &str) -> Result<Self, BytesError> {
        const UNITS: [(&str, u64); 10] = [
            ("", 1),
            ("B", 1),
            ("KB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("TB", 1_000_000_000_000),
            ("KIB", 1 << 10),
            ("MIB", 1 << 20),
            ("GIB", 1 << 30),
            ("TIB", 1 << 40),
        ];
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = unit.trim_start().to_uppercase();
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(BytesError)?;
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        // Thousandths of a unit are as fine as anybody says it.
        if whole.is_empty() || part.is_empty() || part.len() > 3 || part.contains('.') {
            return Err(BytesError);
        }
        let thousandths: u64 = format!("{part:0<3}").parse().map_err(|_| BytesError)?;
        let whole: u64 = whole.parse().map_err(|_| BytesError)?;
        let bytes = whole.checked_mul(*unit).ok_or(BytesError)?;
        bytes.checked_add(unit / 1000 * thousandths + unit % 1000 * thousandths / 1000).map(Self).ok_or(BytesError)
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
        assert!(format(folder.path()).unwrap().is_none_or(|name| name != "exfat"));
        let error = super::space(&folder.path().join("absent")).unwrap_err();
        assert!(error.to_string().contains("absent"), "{error}");
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let check = |text: &str, bytes: Option<u64>| assert_eq!(text.parse().ok(), bytes.map(Bytes), "{text}");
        check("20GB", Some(20_000_000_000));
        check("1.5 tb", Some(1_500_000_000_000));
        check("500MiB", Some(500 << 20));
        check("1.5KiB", Some(1536));
        check(" 0 ", Some(0));
        check("12", Some(12));
        check("0.001MB", Some(1000));
        for text in ["", "GB", "-1GB", "1.GB", ".5GB", "1.2.3GB", "1e9", "20 G", "99999999999TB", "20GB!"] {
            check(text, None);
        }
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
