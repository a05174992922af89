//! The cache of unpacked wheels, by the sha256 of the wheel.
//!
//! ```text
//! ~/.cache/macml/wheels-v1/
//!   lock                 shared by users, exclusive for those who remove
//!   <sha256>/marker      written last: without a whole one the entry does not exist
//!   <sha256>/files/…     as in the wheel, each checked against RECORD while it was written
//!   .new-…, .old-…       being made, being removed: nobody looks inside; swept when nobody else is here
//! ```
//!
//! An entry appears by one rename and goes by one. Files are not flushed to the disk one by one: after a power cut a file
//! can be short or empty, and its size and time say so when it is linked.
//!
//! **Whether a file was touched** is told by its size and its time. All files of a wheel bear one time, long past and made
//! from the wheel's sha256; whoever writes to one, through a hard link in some environment for example, gives it the
//! present. That needs no record, costs one look at each file when it is linked (about a microsecond), and misses only
//! those who write and then put the old time back: `macml check` reads every byte. The time differs from wheel to wheel,
//! because Python takes two sources of one path, size and time for the same.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use sha2::Digest as _;

use super::fault::{Fault, WheelError};
use super::marker;
use super::marker::{CachedFile, Marker};
use super::scripts;
use super::wheel;
use super::wheel::{About, Wheel};
use crate::lock::model::LockedWheel;
use crate::pep::{Sha256, WheelName};
use crate::sys::disk;
use crate::sys::entry;
use crate::sys::fs;
use crate::sys::fs::{FileLock, FsError};
use crate::sys::tree;
use crate::sys::tree::{Mode, NewFile, NewFolder};

/// The largest script whose first line is rewritten.
const SCRIPT_LIMIT: u64 = 4 << 20;

/// How often an entry that another process keeps in the way is tried again.
const MOST_TRIES: usize = 8;

/// Why a wheel is not in the cache.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It is damaged, or lies.
    #[error(transparent)]
    Wheel(#[from] WheelError),
    /// It is not the locked one.
    #[error("`{wheel}` is not the locked file: its sha256 is {found}, not {expected}")]
    Digest {
        /// The wheel.
        wheel: Box<WheelName>,
        /// What is locked.
        expected: Sha256,
        /// What is there.
        found: Sha256,
    },
    /// The volume is full, or this user's part of it.
    #[error("there is no room to unpack `{wheel}`, which takes {needed} bytes, into `{}`", folder.display())]
    Full {
        /// The wheel.
        wheel: Box<WheelName>,
        /// The cache's folder.
        folder: PathBuf,
        /// What its files need together.
        needed: u64,
        /// What the system said.
        #[source]
        cause: FsError,
    },
    /// A file could not be written or read.
    #[error(transparent)]
    File(#[from] FsError),
}

/// Whether the bytes of a wheel still have to be held against the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bytes {
    /// They were, just now, while they were written.
    Checked,
    /// They have lain somewhere.
    Unchecked,
}

/// A wheel in the cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unpacked {
    /// Its file name.
    pub name: WheelName,
    /// The wheel's digest.
    pub sha256: Sha256,
    /// What it says of itself.
    pub about: About,
    /// Its files, sorted by path.
    pub files: Vec<Arc<CachedFile>>,
    /// The scripts whose first line is to be rewritten, whole, by path.
    pub scripts: BTreeMap<String, Vec<u8>>,
    /// Where its files are.
    pub folder: PathBuf,
}

/// The files of `.dist-info` that an installer writes: a wheel must not say for it what they say.
pub const INSTALLERS: [&str; 4] = ["RECORD", "INSTALLER", "REQUESTED", "direct_url.json"];

impl Unpacked {
    /// Returns the files that it brings into a tree: all but those that an installer writes.
    pub fn own_files(&self) -> impl Iterator<Item = &Arc<CachedFile>> {
        self.files.iter().filter(|file| {
            let inside = file.path.strip_prefix(&self.about.dist_info).and_then(|rest| rest.strip_prefix('/'));
            !inside.is_some_and(|name| INSTALLERS.contains(&name))
        })
    }

    /// Returns whether all its files are there and were not written to since they were unpacked.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn is_intact(&self) -> Result<bool, FsError> {
        for file in &self.files {
            if !is_untouched(&self.folder.join(&file.path), file, self.time())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the time that its files bear until somebody writes to them.
    pub fn time(&self) -> SystemTime {
        time(&self.sha256)
    }
}

/// Returns the time that every file bears that is linked, cloned or copied from a wheel: between 2000 and 2017, of an even
/// second, since some file systems know no others.
pub fn time(sha256: &Sha256) -> SystemTime {
    const YEAR_2000: u64 = 946_684_800;
    let [first, second, third, fourth, ..] = sha256.as_bytes();
    let part = u32::from_be_bytes([*first, *second, *third, *fourth]) >> 4;
    tree::at_second(YEAR_2000 + u64::from(part) * 2)
}

/// The cache, in a folder of its own.
#[derive(Clone, Debug)]
pub struct WheelCache {
    root: PathBuf,
}

impl WheelCache {
    /// Names the cache inside macml's cache folder. Nothing is made yet.
    pub fn inside(cache: &Path) -> Self {
        Self { root: cache.join("wheels-v1") }
    }

    /// Returns its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Returns whether it has a wheel, at a glance and without writing anything: whether its files were touched is not told.
    ///
    /// # Errors
    /// When something is there and cannot be read.
    pub fn has(&self, wheel: &LockedWheel) -> Result<bool, FsError> {
        let Some(bytes) = fs::read_bytes(&self.root.join(wheel.sha256.to_string()).join("marker"))? else {
            return Ok(false);
        };
        let marker = std::str::from_utf8(&bytes).ok().and_then(marker::parse);
        Ok(marker.is_some_and(|marker| marker.name == wheel.file))
    }

    /// Returns a wheel that is there, and notes nothing: it may be removed at any time, and whether its files were touched is
    /// not told.
    ///
    /// # Errors
    /// When something is there and cannot be read.
    pub fn look(&self, wheel: &WheelName, sha256: Sha256) -> Result<Option<Unpacked>, FsError> {
        read(&self.root, wheel, sha256)
    }

    /// Begins to use it: until the answer is dropped nobody removes entries. What killed processes left goes, if
    /// nobody else uses the cache just now.
    ///
    /// # Errors
    /// When its folder cannot be made or locked.
    pub fn open(&self) -> Result<OpenCache, FsError> {
        self.open_saying(&mut || ())
    }

    /// Begins to use it as [`WheelCache::open`] does; `waiting` is called once, when one who removes entries has kept it
    /// waiting for a second.
    ///
    /// # Errors
    /// When its folder cannot be made or locked.
    pub fn open_saying(&self, waiting: &mut dyn FnMut()) -> Result<OpenCache, FsError> {
        let path = self.lock();
        let lock = match FileLock::try_exclusive(&path)? {
            Some(lock) => {
                sweep(&self.root)?;
                lock.into_shared(&path)?
            }
            None => FileLock::shared_saying(&path, waiting)?,
        };
        Ok(OpenCache { root: self.root.clone(), _lock: lock })
    }

    /// Takes it for oneself, if nobody uses it just now. Where no cache is, that is so too, and nothing is made.
    ///
    /// # Errors
    /// When its folder cannot be locked.
    pub fn try_alone(&self) -> Result<Option<AloneCache>, FsError> {
        let lock = match fs::kind(&self.root)? {
            Some(fs::Kind::Folder) => match FileLock::try_exclusive(&self.lock())? {
                Some(lock) => Some(lock),
                None => return Ok(None),
            },
            _ => None,
        };
        Ok(Some(AloneCache { root: self.root.clone(), _lock: lock }))
    }

    /// Lists what is in it, whole or not.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn wheels(&self) -> Result<Vec<CachedWheel>, FsError> {
        let mut all = Vec::new();
        for name in fs::names(&self.root)?.iter().filter(|name| is_entry(name)) {
            let folder = self.root.join(name);
            let path = folder.join("marker");
            let marker = fs::read_bytes(&path)?.and_then(|bytes| marker::parse(std::str::from_utf8(&bytes).ok()?));
            let used = tree::facts(&path)?.map(|facts| facts.modified);
            let (files, bytes) = match &marker {
                Some(marker) if !is_aside(name) => {
                    (marker.files.len() as u64, marker.files.iter().map(|file| file.size).sum())
                }
                _ => entry::weigh(&folder)?,
            };
            let name = marker.map(|marker| marker.name).filter(|_| !is_aside(name));
            all.push(CachedWheel { folder, name, files, bytes, used });
        }
        Ok(all)
    }
}

/// Something in the cache of wheels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CachedWheel {
    /// Its folder.
    pub folder: PathBuf,
    /// The wheel's name, where it is whole: what is not is of use to nobody.
    pub name: Option<WheelName>,
    /// How many files it has.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When it was last used.
    pub used: Option<SystemTime>,
}

impl CachedWheel {
    /// Returns whether a file of it is gone or was written to since it was unpacked: a look at each of them.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn is_touched(&self) -> Result<bool, FsError> {
        let bytes = fs::read_bytes(&self.folder.join("marker"))?;
        let Some(marker) = bytes.and_then(|bytes| marker::parse(std::str::from_utf8(&bytes).ok()?)) else {
            return Ok(true);
        };
        let sha256 = self.folder.file_name().and_then(|name| name.to_str()?.parse().ok());
        let Some(time) = sha256.as_ref().map(time) else { return Ok(true) };
        for file in &marker.files {
            if !is_untouched(&self.folder.join("files").join(&file.path), file, time)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The cache while nobody uses it.
#[derive(Debug)]
pub struct AloneCache {
    root: PathBuf,
    /// Absent where there is no cache.
    _lock: Option<FileLock>,
}

impl AloneCache {
    /// Removes one of [`WheelCache::wheels`]. Environments keep what they linked.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, wheel: &CachedWheel) -> Result<(), FsError> {
        // A part of it must not be taken for the whole.
        if wheel.name.is_some() { put_away(&self.root, &wheel.folder) } else { tree::remove(&wheel.folder) }
    }
}

/// Takes an entry out by one rename; its files go after that, or with a later sweep.
fn put_away(root: &Path, entry: &Path) -> Result<(), FsError> {
    let aside = NewFolder::in_folder(root, ".old-")?;
    match tree::rename(entry, &aside.path().join("entry")) {
        // Another was faster.
        Err(error) if error.cause.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes what is being made or removed by nobody: the caller is alone.
fn sweep(root: &Path) -> Result<(), FsError> {
    for name in fs::names(root)? {
        if is_aside(&name) {
            tree::remove(&root.join(name))?;
        }
    }
    Ok(())
}

/// Whether a name in the cache is that of something that is being made or removed.
fn is_aside(name: &str) -> bool {
    name.starts_with(".new-") || name.starts_with(".old-")
}

/// Whether a name in the cache is one that macml gives.
fn is_entry(name: &str) -> bool {
    is_aside(name) || name.parse::<Sha256>().is_ok()
}

/// The cache in use.
#[derive(Debug)]
pub struct OpenCache {
    root: PathBuf,
    _lock: FileLock,
}

impl OpenCache {
    /// Returns its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a wheel that is there, and notes that it was used. Whether its files were touched since is told by
    /// [`Unpacked::is_intact`], and again when they are linked.
    ///
    /// # Errors
    /// When something is there and cannot be read.
    pub fn get(&self, wheel: &LockedWheel) -> Result<Option<Unpacked>, FsError> {
        let found = read(&self.root, &wheel.file, wheel.sha256)?;
        if found.is_some() {
            tree::touch(&self.root.join(wheel.sha256.to_string()).join("marker"));
        }
        Ok(found)
    }

    /// Takes a wheel out of the cache, one that was touched for example. Environments keep what they linked.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn discard(&self, sha256: Sha256) -> Result<(), FsError> {
        put_away(&self.root, &self.root.join(sha256.to_string()))
    }

    /// Unpacks a wheel into the cache, unless it is there whole and untouched.
    ///
    /// # Errors
    /// When the wheel is not the locked one, is damaged or lies, or its files cannot be written. Nothing is left then
    /// that looks like a wheel.
    pub fn unpack<R: Read + Seek>(
        &self,
        wheel: &LockedWheel,
        mut archive: R,
        bytes: Bytes,
    ) -> Result<Unpacked, UnpackError> {
        if let Some(found) = self.get(wheel)?
            && found.is_intact()?
        {
            return Ok(found);
        }
        if bytes == Bytes::Unchecked {
            check_digest(wheel, &mut archive)?;
        }
        let mut wheel_in = wheel::open(archive, &wheel.file)?;
        let needed = wheel_in.unpacked_size();
        self.fill(wheel, &mut wheel_in).map_err(|error| match error {
            UnpackError::File(cause) if disk::is_full(&cause.cause) => {
                UnpackError::Full { wheel: Box::new(wheel.file.clone()), folder: self.root.clone(), needed, cause }
            }
            other => other,
        })
    }

    fn fill<R: Read + Seek>(&self, locked: &LockedWheel, wheel: &mut Wheel<R>) -> Result<Unpacked, UnpackError> {
        let mut new = NewFolder::in_folder(&self.root, ".new-")?;
        write(new.path(), locked, wheel)?;
        let entry = self.root.join(locked.sha256.to_string());
        for _ in 0..MOST_TRIES {
            match new.publish(&entry)? {
                None => break,
                Some(back) => new = back,
            }
            // Another process may have been faster; else what is there is damaged.
            if let Some(found) = self.get(locked)?
                && found.is_intact()?
            {
                return Ok(found);
            }
            self.discard(locked.sha256)?;
        }
        let gone = || FsError { doing: "publish", path: entry.clone(), cause: ErrorKind::AlreadyExists.into() };
        Ok(self.get(locked)?.ok_or_else(gone)?)
    }
}

/// Reads an entry of the cache.
fn read(root: &Path, wheel: &WheelName, sha256: Sha256) -> Result<Option<Unpacked>, FsError> {
    let entry = root.join(sha256.to_string());
    let Some(bytes) = fs::read_bytes(&entry.join("marker"))? else { return Ok(None) };
    let Some(marker) = std::str::from_utf8(&bytes).ok().and_then(marker::parse) else { return Ok(None) };
    // The same bytes under another name were judged by that name.
    if marker.name != *wheel {
        return Ok(None);
    }
    let folder = entry.join("files");
    let mut scripts = BTreeMap::new();
    for file in marker.files.iter().filter(|file| file.python_script) {
        let text = fs::read_bytes(&folder.join(&file.path))?;
        // It becomes part of a file of its own, so that its bytes are looked at and not its time.
        let Some(text) = text.filter(|text| Sha256::of(text) == file.sha256) else { return Ok(None) };
        scripts.insert(file.path.clone(), text);
    }
    Ok(Some(Unpacked { name: marker.name, sha256, about: marker.about, files: marker.files, scripts, folder }))
}

fn check_digest<R: Read + Seek>(wheel: &LockedWheel, archive: &mut R) -> Result<(), UnpackError> {
    let unread = |cause| WheelError { wheel: Box::new(wheel.file.clone()), fault: Fault::Read(cause) };
    archive.seek(SeekFrom::Start(0)).map_err(unread)?;
    let mut digest = sha2::Sha256::new();
    let mut take = |bytes: &[u8]| {
        digest.update(bytes);
        Ok(())
    };
    fs::pieces(archive, wheel.size, &mut take).map_err(unread)?;
    let found = Sha256::from_bytes(digest.finalize().into());
    if found == wheel.sha256 {
        return Ok(());
    }
    Err(UnpackError::Digest { wheel: Box::new(wheel.file.clone()), expected: wheel.sha256, found })
}

/// Writes the files of a wheel and, when all are right, the marker.
fn write<R: Read + Seek>(entry: &Path, locked: &LockedWheel, wheel: &mut Wheel<R>) -> Result<(), UnpackError> {
    let root = entry.join("files");
    let time = time(&locked.sha256);
    tree::make_folder(&root)?;
    let mut made = PathBuf::new();
    let scripts = wheel.about.data.as_ref().map(|data| format!("{data}/scripts/"));
    let mut files = Vec::with_capacity(wheel.files.len());
    for file in wheel.files.clone() {
        let path = root.join(&file.path);
        let folder = path.parent().expect("it lies in `files`");
        // Sorted by path, so that a folder's files mostly follow each other.
        if folder != made {
            fs::create_folder(folder)?;
            made = folder.to_owned();
        }
        let mut new = NewFile::create(&path, Mode { executable: file.executable, writable: true })?;
        let mut head = Vec::with_capacity(HEAD);
        let sha256 = wheel.unpack(&file, |piece| {
            if head.len() < HEAD {
                head.extend(piece.iter().take(HEAD - head.len()));
            }
            new.write(piece).map_err(UnpackError::from)
        })?;
        let native = is_native(&head);
        if native {
            new.read_only();
        }
        new.finish(Some(time))?;
        let script = scripts.as_ref().is_some_and(|folder| file.path.starts_with(folder));
        let python_script = script && head.starts_with(scripts::PYTHON) && file.size <= SCRIPT_LIMIT;
        let (size, executable) = (file.size, file.executable);
        files.push(Arc::new(CachedFile { path: file.path, size, sha256, executable, native, python_script }));
    }
    let marker = Marker { name: wheel.name.clone(), about: wheel.about.clone(), files };
    let mut new = NewFile::create(&entry.join("marker"), Mode::PLAIN)?;
    new.write(marker::text(&marker).as_bytes())?;
    Ok(new.finish(None)?)
}

/// How much of a file tells what it is.
const HEAD: usize = 8;

/// Whether a file begins as a Mach-O image, thin or universal.
fn is_native(head: &[u8]) -> bool {
    let Some((magic, next)) = head.split_first_chunk::<4>() else { return false };
    let Some(next) = next.first_chunk::<4>() else { return false };
    match u32::from_be_bytes(*magic) {
        0xfeed_face | 0xfeed_facf | 0xcefa_edfe | 0xcffa_edfe => true,
        // Java's classes begin alike, and go on with a version above 44 where images say how many parts they have.
        0xcafe_babe | 0xcafe_babf => u32::from_be_bytes(*next) < 44,
        _ => false,
    }
}

/// Whether a file of the cache is there as it was written.
pub(super) fn is_untouched(path: &Path, file: &CachedFile, time: SystemTime) -> Result<bool, FsError> {
    Ok(tree::facts(path)?.is_some_and(|found| found.plain && found.size == file.size && found.modified == time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_first_bytes() {
        let check = |head: &[u8], expected: bool| assert_eq!(is_native(head), expected, "{head:x?}");
        check(b"\xcf\xfa\xed\xfe\x0c\0\0\x01", true);
        check(b"\xfe\xed\xfa\xce\0\0\0\x07", true);
        check(b"\xca\xfe\xba\xbe\0\0\0\x02", true);
        check(b"\xca\xfe\xba\xbe\0\0\0\x34", false);
        check(b"\xcf\xfa\xed\xfe", false);
        check(b"\x7fELF\x02\x01\x01\0", false);
        check(b"", false);
    }

    #[test]
    fn each_wheel_has_a_time_that_is_past() {
        let check = |sha256: [u8; 32], seconds: u64| {
            assert_eq!(time(&Sha256::from_bytes(sha256)), tree::at_second(seconds));
        };
        check([0; 32], 946_684_800);
        check([0xff; 32], 946_684_800 + (0x0fff_ffff << 1));
        // Both are in the past: the latest is in 2017.
        assert!(time(&Sha256::from_bytes([0xff; 32])) < tree::at_second(1_514_764_800));
    }
}
