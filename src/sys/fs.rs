//! Files. Every error names the path.

use std::fs::File;
use std::io::{ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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

impl FsError {
    /// Returns what belongs to another user where this one was refused: macml's own folder if the path lies in one, else
    /// what is nearest to the path. `None` where it was not refused, or all of it is this user's.
    #[cfg(unix)]
    pub fn of_another(&self) -> Option<&Path> {
        use std::os::unix::fs::MetadataExt as _;
        if self.cause.kind() != ErrorKind::PermissionDenied {
            return None;
        }
        let user = rustix::process::geteuid().as_raw();
        let another = |path: &&Path| path.symlink_metadata().is_ok_and(|found| found.uid() != user);
        let there = self.path.ancestors().find(|path| path.symlink_metadata().is_ok()).filter(another)?;
        let own = |path: &&Path| path.file_name().is_some_and(|name| name == ".macml" || name == "macml");
        Some(there.ancestors().find(own).filter(another).unwrap_or(there))
    }
}

/// Whether an error says that nothing is there: neither the file nor, perhaps, a folder for it.
pub(super) fn is_absent(cause: &std::io::Error) -> bool {
    matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Opens a file for reading without waiting for somebody who writes: a pipe that nobody writes to is empty.
pub(super) fn at_once(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = File::options().read(true).custom_flags(low_bits(OFlags::NONBLOCK)).open(path)?;
    // Who does write is waited for, as by everybody.
    if !file.metadata()?.is_file() {
        let flags = fcntl_getfl(&file)?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    }
    Ok(file)
}

fn low_bits(flags: rustix::fs::OFlags) -> i32 {
    i32::try_from(flags.bits()).expect("these are low bits")
}

/// Reads a text file; `None` when there is none.
///
/// # Errors
/// On any other failure, bytes that are not UTF-8 included.
pub fn read_text(path: &Path) -> Result<Option<String>, FsError> {
    let read = |mut file: File| {
        let mut text = String::new();
        file.read_to_string(&mut text).map(|_| text)
    };
    match at_once(path).and_then(read) {
        Ok(text) => Ok(Some(text)),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(FsError { doing: "read", path: path.to_owned(), cause }),
    }
}

/// Reads a file; `None` when there is none.
///
/// # Errors
/// On any other failure.
pub fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, FsError> {
    let read = |mut file: File| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map(|_| bytes)
    };
    match at_once(path).and_then(read) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(FsError { doing: "read", path: path.to_owned(), cause }),
    }
}

/// Reads the first bytes of a file, at most so many; `None` when there is none.
///
/// # Errors
/// On any other failure.
pub fn read_start(path: &Path, most: u64) -> Result<Option<Vec<u8>>, FsError> {
    let failed = |cause| FsError { doing: "read", path: path.to_owned(), cause };
    let file = match at_once(path) {
        Ok(file) => file,
        Err(cause) if is_absent(&cause) => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

/// Opens a file for reading; `None` when there is none.
///
/// # Errors
/// On any other failure.
pub fn open(path: &Path) -> Result<Option<File>, FsError> {
    match at_once(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(FsError { doing: "read", path: path.to_owned(), cause }),
    }
}

/// Reads to the end, piece by piece, of what has about so many bytes: for few of them no large piece is made.
///
/// # Errors
/// When reading fails, or `take` does.
pub fn pieces(
    from: &mut dyn Read,
    expected: u64,
    take: &mut dyn FnMut(&[u8]) -> Result<(), std::io::Error>,
) -> Result<(), std::io::Error> {
    const PIECE: usize = 256 << 10;
    let mut piece = vec![0; usize::try_from(expected).unwrap_or(PIECE).clamp(1, PIECE)];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&piece[..count])?,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// Whether a written file must outlive a power failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Flushed to the disk before it takes the old one's place.
    Flushed,
    /// May be lost, and can be made again.
    Cached,
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
/// A file that holds these bytes already is not touched. Folders above it are made. What is no file, such as a pipe, is
/// written to as it is.
///
/// # Errors
/// When a folder or the file cannot be written; the old file is then as it was.
pub fn write_atomic(path: &Path, bytes: &[u8], durability: Durability) -> Result<Written, FsError> {
    let failed = |cause| FsError { doing: "write", path: path.to_owned(), cause };
    // A device may have no end, and a pipe none yet: neither is read, nor replaced. Of a pipe `/dev/stdout` is a link that
    // cannot be followed, only opened.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut file = std::fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        return Ok(Written::Changed);
    }
    // Renaming onto a link would put a plain file in its place.
    let link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let place = if link { linked(path).map_err(failed)? } else { path.to_owned() };
    let old_mode = match std::fs::metadata(&place) {
        Ok(found) if found.len() == bytes.len() as u64 && std::fs::read(&place).map_err(failed)? == bytes => {
            return Ok(Written::Unchanged);
        }
        Ok(found) => Some(found.permissions()),
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound) => None,
        Err(cause) => return Err(failed(cause)),
    };
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED.0).suffix(UNFINISHED.1);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // A name of its own for each writer: two at once replace each other's whole file, never mix.
    let mut file = match builder.tempfile_in(folder) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            create_folder(folder)?;
            builder.tempfile_in(folder)
        }
        made => made,
    }
    .map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    if let Some(mode) = old_mode {
        file.as_file().set_permissions(mode).map_err(failed)?;
    }
    if durability == Durability::Flushed {
        // Without it a power cut can leave the new name with no content.
        file.as_file().sync_all().map_err(failed)?;
    }
    file.persist(&place).map_err(|error| failed(error.error))?;
    if durability == Durability::Flushed {
        // Folders of files that are flushed are people's own.
        sweep(folder, SystemTime::now() - LONGEST_WRITE);
    }
    Ok(Written::Changed)
}

/// Adds `bytes` to the end of a file that belongs to somebody else, which is made where it is not there.
///
/// # Errors
/// When it cannot be written, a pipe from which nobody reads included.
pub fn append(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let failed = |cause| FsError { doing: "write", path: path.to_owned(), cause };
    let at_once = low_bits(rustix::fs::OFlags::NONBLOCK);
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.append(true).create(true).custom_flags(at_once).open(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)
}

/// Follows a link to the place that it names, which need not be there yet.
fn linked(path: &Path) -> std::io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => {
            let named = std::fs::read_link(path)?;
            let place = path.parent().unwrap_or(Path::new("")).join(named);
            // Of a chain of links only the last may lead nowhere yet.
            if std::fs::symlink_metadata(&place).is_ok_and(|found| found.is_symlink()) { Err(cause) } else { Ok(place) }
        }
        found => found,
    }
}

/// How names of files begin and end that are being written.
const UNFINISHED: (&str, &str) = (".macml-", ".tmp");

/// Returns whether a name is that of a file that [`write_atomic`] has not finished.
pub fn is_unfinished(name: &str) -> bool {
    name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1)
}

/// A file that nobody has written to for so long was left by a process that was killed.
const LONGEST_WRITE: Duration = Duration::from_secs(3600);

/// Removes what killed processes left in a folder before `then`, as far as that is possible.
fn sweep(folder: &Path, then: SystemTime) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(is_unfinished);
        let old = || entry.metadata().and_then(|found| found.modified()).is_ok_and(|modified| modified < then);
        if ours && old() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Makes a folder and those above it.
///
/// # Errors
/// When that is not possible.
pub fn create_folder(path: &Path) -> Result<(), FsError> {
    std::fs::create_dir_all(path).map_err(|cause| FsError { doing: "create folder", path: path.to_owned(), cause })
}

/// Removes a file, if it is there.
///
/// # Errors
/// When it is there and stays.
pub fn remove_file(path: &Path) -> Result<(), FsError> {
    match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => {
            Err(FsError { doing: "remove", path: path.to_owned(), cause })
        }
        _ => Ok(()),
    }
}

/// What stands at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A file, or a link to one.
    File,
    /// A folder, or a link to one.
    Folder,
    /// A socket, a pipe, a device.
    Other,
}

/// Says what stands at a path, links followed; `None` when nothing does.
///
/// # Errors
/// When that cannot be told.
pub fn kind(path: &Path) -> Result<Option<Kind>, FsError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(Kind::File)),
        Ok(metadata) if metadata.is_dir() => Ok(Some(Kind::Folder)),
        Ok(_) => Ok(Some(Kind::Other)),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(FsError { doing: "look at", path: path.to_owned(), cause }),
    }
}

/// Returns whether a folder is there; what cannot be looked at is none.
pub fn is_folder(path: &Path) -> bool {
    matches!(kind(path), Ok(Some(Kind::Folder)))
}

/// Returns whether a file is there; what cannot be looked at is none.
pub fn is_file(path: &Path) -> bool {
    matches!(kind(path), Ok(Some(Kind::File)))
}

/// Returns the size of a file; `None` when there is none.
///
/// # Errors
/// When that cannot be told.
pub fn size(path: &Path) -> Result<Option<u64>, FsError> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata.len()).filter(|_| metadata.is_file())),
        Err(cause) if is_absent(&cause) => Ok(None),
        Err(cause) => Err(FsError { doing: "look at", path: path.to_owned(), cause }),
    }
}

/// Lists the files below a folder, in order, links not followed; empty when there is no such folder.
///
/// # Errors
/// When a folder cannot be read.
pub fn walk(folder: &Path) -> Result<Vec<PathBuf>, FsError> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |cause| FsError { doing: "list", path: folder.clone(), cause };
        let entries = match std::fs::read_dir(&folder) {
            Err(cause) if cause.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            match entry.file_type().map_err(failed)? {
                kind if kind.is_dir() => folders.push(entry.path()),
                _ => files.push(entry.path()),
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a file of at most so many bytes; `None` when there is none, or it is larger, or something else than a file stands
/// there: a pipe would be waited for, and a device has no end.
///
/// # Errors
/// On any other failure.
pub fn read_plain(path: &Path, most: u64) -> Result<Option<Vec<u8>>, FsError> {
    let Some(file) = open(path)? else { return Ok(None) };
    let failed = |cause| FsError { doing: "read", path: path.to_owned(), cause };
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() || found.len() > most {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Some(bytes))
}

/// Lists what stands in a folder by name, in order; empty when there is no such folder. Names that are not UTF-8 are left
/// out.
///
/// # Errors
/// When the folder cannot be read.
pub fn names(folder: &Path) -> Result<Vec<String>, FsError> {
    let failed = |cause| FsError { doing: "list", path: folder.to_owned(), cause };
    let entries = match std::fs::read_dir(folder) {
        Err(cause) if is_absent(&cause) => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(failed)?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

/// Holds a lock on a file until dropped; the system lets go of it when the process dies.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl FileLock {
    /// Waits for the lock that excludes all others. The file is made when missing and stays.
    ///
    /// # Errors
    /// When the file cannot be made or its volume knows no locks.
    pub fn exclusive(path: &Path) -> Result<Self, FsError> {
        Self::hold(path, File::lock)
    }

    /// Waits for a lock that excludes exclusive ones.
    ///
    /// # Errors
    /// As for [`FileLock::exclusive`].
    pub fn shared(path: &Path) -> Result<Self, FsError> {
        Self::hold(path, File::lock_shared)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn hold(path: &Path, lock: fn(&File) -> std::io::Result<()>) -> Result<Self, FsError> {
        let failed = |cause| FsError { doing: "lock", path: path.to_owned(), cause };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_folder(folder)?;
        }
        let file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
        lock(&file).map_err(failed)?;
        Ok(Self { file })
    }
}

impl From<File> for FileLock {
    /// Takes an open file that was locked, or that cannot be.
    fn from(file: File) -> Self {
        Self { file }
    }
}

/// Returns 32 hex digits that nobody can guess.
///
/// # Errors
/// When the system gives no random bytes.
pub fn secret() -> Result<String, FsError> {
    use std::io::Read as _;
    const SOURCE: &str = "/dev/urandom";
    let mut bytes = [0; 16];
    let read = File::open(SOURCE).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|cause| FsError { doing: "read", path: SOURCE.into(), cause })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Opens a nameless file that vanishes when closed.
///
/// # Errors
/// When the system's folder for such files cannot be written.
pub fn scratch() -> Result<File, FsError> {
    tempfile::tempfile().map_err(|cause| FsError { doing: "write", path: std::env::temp_dir(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atomic_write_makes_folders_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.txt");
        write_atomic(&path, b"one", Durability::Flushed).unwrap();
        write_atomic(&path, b"two", Durability::Cached).unwrap();
        assert_eq!(read_bytes(&path).unwrap().unwrap(), b"two");
        assert_eq!(walk(folder.path()).unwrap(), [path]);
    }

    #[test]
    fn what_a_killed_process_left_goes_with_a_later_write() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, hours) in [(".macml-killed.tmp", 2), (".macml-busy.tmp", 0), (".macml-mine", 2), ("x.tmp", 2)] {
            let file = File::create(at(name)).unwrap();
            file.set_modified(SystemTime::now() - hours * LONGEST_WRITE).unwrap();
        }
        write_atomic(&at("macml.lock"), b"", Durability::Cached).unwrap();
        assert_eq!(walk(folder.path()).unwrap().len(), 5);
        write_atomic(&at("macml.lock"), b"new", Durability::Flushed).unwrap();
        let left = [".macml-busy.tmp", ".macml-mine", "macml.lock", "x.tmp"].map(at);
        assert_eq!(walk(folder.path()).unwrap(), left);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_written_to_and_never_read() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("later/target", &link).unwrap();
        assert_eq!(write_atomic(&link, b"one", Durability::Cached).unwrap(), Written::Changed);
        assert_eq!(std::fs::read(folder.path().join("later/target")).unwrap(), b"one");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        // It takes all and gives nothing; a reader of `/dev/zero` would never end.
        assert_eq!(write_atomic(Path::new("/dev/null"), b"one", Durability::Flushed).unwrap(), Written::Changed);
        assert_eq!(write_atomic(Path::new("/dev/zero"), b"one", Durability::Flushed).unwrap(), Written::Changed);
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
        // What `/dev/stdout` leads to where that is a pipe.
        let (mut reader, writer) = std::io::pipe().unwrap();
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        assert_eq!(write_atomic(Path::new(&path), b"one", Durability::Flushed).unwrap(), Written::Changed);
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one");
        let round = folder.path().join("round");
        std::os::unix::fs::symlink("round", &round).unwrap();
        write_atomic(&round, b"one", Durability::Cached).unwrap_err();
        write_atomic(folder.path(), b"one", Durability::Cached).unwrap_err();
    }

    #[test]
    fn names_are_in_order_and_of_no_folder_there_are_none() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", "10"] {
            File::create(folder.path().join(name)).unwrap();
        }
        assert_eq!(names(folder.path()).unwrap(), ["10", "a", "b"]);
        assert!(names(&folder.path().join("none")).unwrap().is_empty());
        assert!(names(&folder.path().join("a")).unwrap().is_empty());
    }

    #[test]
    fn errors_name_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write_atomic(&file, b"", Durability::Cached).unwrap();
        // A home folder that is none (`HOME=/dev/null`) holds no settings.
        assert_eq!(read_text(&file.join("below/x")).unwrap(), None);
        let error = write_atomic(&file.join("below"), b"", Durability::Cached).unwrap_err();
        assert!(error.to_string().contains(&*file.to_string_lossy()), "{error}");
    }

    #[test]
    fn a_lock_keeps_others_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = FileLock::exclusive(&path).unwrap();
        assert!(File::open(&path).unwrap().try_lock_shared().is_err());
        drop(first);
        let _both = (FileLock::shared(&path).unwrap(), FileLock::shared(&path).unwrap());
    }
}
