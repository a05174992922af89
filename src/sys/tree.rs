//! Trees of files: folders that appear whole, files that are made new, linked or cloned, and what tells whether one was
//! touched since. Every error names the path.

use std::fs::{File, FileTimes, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::fs::{FileLock, FsError};

fn failed<'a>(doing: &'static str, path: &'a Path) -> impl Fn(io::Error) -> FsError + use<'a> {
    move |cause| FsError { doing, path: path.to_owned(), cause }
}

/// What the system keeps of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Whether it is a plain file, neither folder nor link.
    pub plain: bool,
    /// Whether it is a folder, and no link to one.
    pub folder: bool,
    /// Whether it is a symbolic link.
    pub link: bool,
    /// Its length in bytes.
    pub size: u64,
    /// When its content was last written.
    pub modified: SystemTime,
    /// Whether somebody may run it.
    pub executable: bool,
    /// Whether its owner may write to it.
    pub writable: bool,
    /// The volume, and the file on it.
    pub identity: (u64, u64),
    /// How many names it has.
    pub names: u64,
}

impl Facts {
    #[cfg(unix)]
    pub(super) fn of(found: &Metadata) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt as _;
        Ok(Self {
            plain: found.is_file(),
            folder: found.is_dir(),
            link: found.is_symlink(),
            size: found.len(),
            modified: found.modified()?,
            executable: found.mode() & 0o111 != 0,
            writable: found.mode() & 0o200 != 0,
            identity: (found.dev(), found.ino()),
            names: found.nlink(),
        })
    }

    #[cfg(not(unix))]
    pub(super) fn of(found: &Metadata) -> io::Result<Self> {
        Ok(Self {
            plain: found.is_file(),
            folder: found.is_dir(),
            link: found.is_symlink(),
            size: found.len(),
            modified: found.modified()?,
            executable: false,
            writable: !found.permissions().readonly(),
            identity: (0, 0),
            names: 1,
        })
    }
}

/// Returns whether what stands at a path, a link not followed, has the flag by which macOS hides it.
#[cfg(target_os = "macos")]
pub fn is_hidden(path: &Path) -> bool {
    use std::os::macos::fs::MetadataExt as _;
    // `chflags hidden`, by `sys/stat.h`.
    const UF_HIDDEN: u32 = 0x8000;
    path.symlink_metadata().is_ok_and(|found| found.st_flags() & UF_HIDDEN != 0)
}

/// Returns whether what stands at a path has the flag by which macOS hides it: no other system has one.
#[cfg(not(target_os = "macos"))]
pub fn is_hidden(_path: &Path) -> bool {
    false
}

/// Returns whether a file has an extended attribute; `None` where that cannot be told.
pub fn has_attribute(path: &Path, name: &str) -> Option<bool> {
    #[cfg(target_vendor = "apple")]
    const ABSENT: rustix::io::Errno = rustix::io::Errno::NOATTR;
    #[cfg(not(target_vendor = "apple"))]
    const ABSENT: rustix::io::Errno = rustix::io::Errno::NODATA;
    match rustix::fs::getxattr(path, name, &mut [0_u8; 1]) {
        Ok(_) | Err(rustix::io::Errno::RANGE) => Some(true),
        Err(ABSENT) => Some(false),
        Err(_) => None,
    }
}

/// Says what stands at a path, a link not followed; `None` when nothing does.
///
/// # Errors
/// When that cannot be told.
pub fn facts(path: &Path) -> Result<Option<Facts>, FsError> {
    match path.symlink_metadata().and_then(|found| Facts::of(&found)) {
        Ok(facts) => Ok(Some(facts)),
        Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(cause) => Err(failed("look at", path)(cause)),
    }
}

/// What may be done with a new file, before the umask takes its part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    /// Whether it may be run.
    pub executable: bool,
    /// Whether it may be written to, once it is finished.
    pub writable: bool,
}

impl Mode {
    /// Read and written, not run.
    pub const PLAIN: Self = Self { executable: false, writable: true };
    /// Read, written and run.
    pub const PROGRAM: Self = Self { executable: true, writable: true };
}

/// A file that is being written where none was.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    path: PathBuf,
    mode: Mode,
}

impl NewFile {
    /// Makes it; there must be nothing of its name.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn create(path: &Path, mode: Mode) -> Result<Self, FsError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(if mode.executable { 0o777 } else { 0o666 });
        }
        Ok(Self { file: options.open(path).map_err(failed("create", path))?, path: path.to_owned(), mode })
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// When they cannot be written, for lack of space above all.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        self.file.write_all(bytes).map_err(failed("write", &self.path))
    }

    /// Says that it is not to be written to once it is finished.
    pub fn read_only(&mut self) {
        self.mode.writable = false;
    }

    /// Ends it; `modified` is the time that it shall bear.
    ///
    /// # Errors
    /// When its time or mode cannot be set.
    pub fn finish(self, modified: Option<SystemTime>) -> Result<(), FsError> {
        let error = failed("write", &self.path);
        if let Some(modified) = modified {
            self.file.set_times(FileTimes::new().set_modified(modified)).map_err(&error)?;
        }
        if !self.mode.writable {
            let mut permissions = self.file.metadata().map_err(&error)?.permissions();
            permissions.set_readonly(true);
            self.file.set_permissions(permissions).map_err(&error)?;
        }
        Ok(())
    }
}

/// Gives a file a second name.
///
/// # Errors
/// When the volume cannot, when the two names would be on different volumes, when there is such a name already.
pub fn hard_link(from: &Path, to: &Path) -> Result<(), FsError> {
    std::fs::hard_link(from, to).map_err(failed("make a hard link at", to))
}

/// Makes a file that shares its bytes with another until one of them is written to, with the same mode and time.
///
/// # Errors
/// When the volume cannot, when the two would be on different volumes, when there is such a file already.
pub fn clone_file(from: &Path, to: &Path) -> Result<(), FsError> {
    clone(from, to).map_err(failed("make a clone at", to))
}

#[cfg(target_os = "macos")]
fn clone(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    Ok(rustix::fs::fclonefileat(&source, rustix::fs::CWD, to, rustix::fs::CloneFlags::empty())?)
}

#[cfg(target_os = "linux")]
fn clone(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let found = source.metadata()?;
    let new = OpenOptions::new().write(true).create_new(true).open(to)?;
    let shared = rustix::fs::ioctl_ficlone(&new, &source).map_err(io::Error::from);
    let done = shared
        .and_then(|()| new.set_times(FileTimes::new().set_modified(found.modified()?)))
        .and_then(|()| new.set_permissions(found.permissions()));
    // What could not be filled must not stay, or the next way would find the name taken.
    done.inspect_err(|_| drop(std::fs::remove_file(to)))
}

#[cfg(not(any(target_os = "macos", target_os = "linux")))]
fn clone(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Makes a file with the bytes, the mode and the time of another.
///
/// # Errors
/// When that is not possible, when there is such a file already.
pub fn copy_file(from: &Path, to: &Path) -> Result<(), FsError> {
    let error = failed("copy to", to);
    let mut source = File::open(from).map_err(failed("read", from))?;
    let found = source.metadata().map_err(failed("read", from))?;
    let mut new = OpenOptions::new().write(true).create_new(true).open(to).map_err(&error)?;
    // On Linux this is `copy_file_range`, which shares bytes where the file system can.
    io::copy(&mut source, &mut new).map_err(&error)?;
    let modified = found.modified().map_err(&error)?;
    new.set_times(FileTimes::new().set_modified(modified)).map_err(&error)?;
    new.set_permissions(found.permissions()).map_err(&error)
}

/// Returns how many threads are worth having for work that is mostly the file system's: more only wait for each other.
pub fn workers() -> usize {
    const MOST: usize = 6;
    std::thread::available_parallelism().map_or(2, usize::from).clamp(1, MOST)
}

/// Makes a folder, whose own folder must exist; one that is there already will do.
///
/// # Errors
/// When that is not possible.
pub fn make_folder(path: &Path) -> Result<(), FsError> {
    match std::fs::create_dir(path) {
        Err(cause)
            if cause.kind() == ErrorKind::AlreadyExists && path.symlink_metadata().is_ok_and(|it| it.is_dir()) =>
        {
            Ok(())
        }
        made => made.map_err(failed("create folder", path)),
    }
}

/// Gives a file or folder another name. An empty folder of that name is replaced.
///
/// # Errors
/// When that is not possible: the old name is gone, the new one is that of a folder with something in it.
pub fn rename(from: &Path, to: &Path) -> Result<(), FsError> {
    std::fs::rename(from, to).map_err(failed("rename to", to))
}

/// Returns what a symbolic link leads to, as it is written there; `None` when nothing or something else stands there.
///
/// # Errors
/// When that cannot be told.
pub fn read_link(path: &Path) -> Result<Option<PathBuf>, FsError> {
    match std::fs::read_link(path) {
        Ok(target) => Ok(Some(target)),
        // What is no link is an invalid argument to the system.
        Err(cause)
            if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput) =>
        {
            Ok(None)
        }
        Err(cause) => Err(failed("look at", path)(cause)),
    }
}

/// Makes a symbolic link at `path`, where nothing may be.
///
/// # Errors
/// When that is not possible; on volumes without symbolic links that is so.
#[cfg(unix)]
pub fn symlink(target: &Path, path: &Path) -> Result<(), FsError> {
    std::os::unix::fs::symlink(target, path).map_err(failed("make the link", path))
}

/// Puts a symbolic link at `path` in one step: at any instant what was there is there, or the link is.
///
/// It is made first in one of the folders of `making`, tried in order as long as they are on another volume, under a name
/// that begins with `prefix`. Where `over` is none, there must be nothing at `path`; else it must be a link or a file.
///
/// # Errors
/// When that is not possible; what was there is there then.
#[cfg(unix)]
pub fn put_link(target: &Path, path: &Path, making: &[&Path], prefix: &str, over: Over) -> Result<(), FsError> {
    let error = failed("make the link", path);
    let mut last = None;
    for folder in making {
        let make = |name: &Path| std::os::unix::fs::symlink(target, name);
        let made = tempfile::Builder::new().prefix(prefix).make_in(folder, make).map_err(&error)?;
        let put = match over {
            Over::Link => std::fs::rename(made.path(), path),
            Over::Nothing => rename_onto_nothing(made.path(), path),
        };
        match put {
            Ok(()) => {
                // The name is another's from now on.
                let _ = made.into_temp_path().keep();
                return Ok(());
            }
            Err(cause) if cause.kind() == ErrorKind::CrossesDevices => last = Some(cause),
            Err(cause) => return Err(error(cause)),
        }
    }
    Err(error(last.unwrap_or_else(|| ErrorKind::NotFound.into())))
}

/// Finds out whether a symbolic link can be made in a folder, by making one that leads nowhere for a moment.
///
/// # Errors
/// When not.
#[cfg(unix)]
pub fn may_link(folder: &Path, prefix: &str) -> Result<(), FsError> {
    let make = |name: &Path| std::os::unix::fs::symlink("nowhere", name);
    tempfile::Builder::new().prefix(prefix).make_in(folder, make).map(drop).map_err(failed("make a link in", folder))
}

/// What [`put_link`] may replace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// Nothing.
    Nothing,
    /// A link.
    Link,
}

/// Renames something to a name that nothing has; `false` when the name is taken.
///
/// # Errors
/// When renaming fails for another reason.
pub fn rename_to_free(from: &Path, to: &Path) -> Result<bool, FsError> {
    match rename_onto_nothing(from, to) {
        Ok(()) => Ok(true),
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(cause) => Err(failed("rename to", to)(cause)),
    }
}

#[cfg(any(target_os = "macos", target_os = "linux"))]
fn rename_onto_nothing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags};
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every volume can do both as one.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            rename_if_nothing(from, to)
        }
        done => Ok(done?),
    }
}

#[cfg(not(any(target_os = "macos", target_os = "linux")))]
fn rename_onto_nothing(from: &Path, to: &Path) -> io::Result<()> {
    rename_if_nothing(from, to)
}

fn rename_if_nothing(from: &Path, to: &Path) -> io::Result<()> {
    match to.symlink_metadata() {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => std::fs::rename(from, to),
    }
}

/// Returns whether an error says that a volume has no symbolic links, of a folder that can be written to otherwise.
pub fn has_no_links(cause: &io::Error) -> bool {
    // Linux says EPERM, which is 1 everywhere; the rest is ENOTSUP and ENOSYS.
    cause.kind() == ErrorKind::Unsupported || cause.raw_os_error() == Some(1)
}

/// Finds out whether this user could make and remove names in a folder, without doing it.
///
/// # Errors
/// When not: with the reason, such as a volume that is read-only.
#[cfg(unix)]
pub fn may_write(folder: &Path) -> Result<(), FsError> {
    use rustix::fs::Access;
    rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|cause| failed("write to", folder)(cause.into()))
}

/// Finds out whether this user could make names in a folder, which need not be there yet, without doing it.
///
/// # Errors
/// When not, as far as modes and volumes tell.
#[cfg(unix)]
pub fn may_make(folder: &Path) -> Result<(), FsError> {
    for above in folder.ancestors().filter(|above| !above.as_os_str().is_empty()) {
        match above.metadata() {
            Ok(found) if found.is_dir() => return may_write(above),
            Ok(_) => return Err(failed("create folder", folder)(ErrorKind::NotADirectory.into())),
            Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(cause) => return Err(failed("look at", above)(cause)),
        }
    }
    Err(failed("create folder", folder)(ErrorKind::NotFound.into()))
}

/// Removes a folder if nothing is in it; says whether it is gone.
pub fn remove_if_empty(folder: &Path) -> bool {
    match std::fs::remove_dir(folder) {
        Ok(()) => true,
        Err(cause) => cause.kind() == ErrorKind::NotFound,
    }
}

/// Removes a folder with all that is in it, if it is there.
///
/// # Errors
/// When something stays.
pub fn remove(folder: &Path) -> Result<(), FsError> {
    match std::fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Err(failed("remove", folder)(cause)),
        _ => Ok(()),
    }
}

/// Returns whether nothing is in a folder, not even something whose name is no text.
///
/// # Errors
/// When it cannot be read.
pub fn is_empty(folder: &Path) -> Result<bool, FsError> {
    Ok(std::fs::read_dir(folder).map_err(failed("list", folder))?.next().is_none())
}

/// Notes that a file was used just now, if its owner may.
pub fn touch(path: &Path) {
    let now = FileTimes::new().set_modified(SystemTime::now());
    // A hint for what to throw away first: it may be missed.
    let _ = File::open(path).and_then(|file| file.set_times(now));
}

/// A folder under a name that no other has, which goes with this value unless it is published.
#[derive(Debug)]
pub struct NewFolder {
    folder: tempfile::TempDir,
}

impl NewFolder {
    /// Makes it in `parent`; its name begins with `prefix`.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn in_folder(parent: &Path, prefix: &str) -> Result<Self, FsError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix);
        // By itself it would be for its owner only, and so would the tree that is linked from it.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        Ok(Self { folder: builder.tempdir_in(parent).map_err(failed("create a folder in", parent))? })
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives it its lasting name as one step, if nothing has that name; else hands it back.
    ///
    /// # Errors
    /// When renaming fails for another reason.
    pub fn publish(self, to: &Path) -> Result<Option<Self>, FsError> {
        match std::fs::rename(self.path(), to) {
            Ok(()) => {
                let _ = self.folder.keep();
                Ok(None)
            }
            Err(cause) if matches!(cause.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty) => {
                Ok(Some(self))
            }
            Err(cause) => Err(failed("rename to", to)(cause)),
        }
    }
}

impl FileLock {
    /// Takes the lock that excludes all others if nobody holds one; the file is made when missing and stays.
    ///
    /// # Errors
    /// When the file cannot be made or its volume knows no locks.
    pub fn try_exclusive(path: &Path) -> Result<Option<Self>, FsError> {
        match Self::hold(path, |file| file.try_lock().map_err(io::Error::from)) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.cause.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a lock that excludes exclusive ones, on a file that is there and is not written to; `None` when there is
    /// none. Where the volume knows no locks, it is as if it were held.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn shared_if_there(path: &Path) -> Result<Option<Self>, FsError> {
        let file = match File::open(path) {
            Err(cause) if super::fs::is_absent(&cause) => return Ok(None),
            opened => opened.map_err(failed("lock", path))?,
        };
        // An exclusive one is held for a moment only; what fails is a volume that has no locks.
        let _ = file.lock_shared();
        Ok(Some(Self::from(file)))
    }

    /// Returns the volume and the file that is locked: the path may have become another's.
    ///
    /// # Errors
    /// When that cannot be told.
    #[cfg(unix)]
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        Ok(Facts::of(&self.file().metadata()?)?.identity)
    }

    /// Keeps it held by the programs that this process starts, or becomes, until the last of them has ended.
    ///
    /// # Errors
    /// When the system does not allow that.
    #[cfg(unix)]
    pub fn inherited(self) -> io::Result<Self> {
        // Scripts take descriptors below ten for their own, and close what they find there.
        const FREE: i32 = 64;
        let lock = rustix::io::fcntl_dupfd_cloexec(self.file(), FREE).map_or(self, |file| Self::from(File::from(file)));
        rustix::io::fcntl_setfd(lock.file(), rustix::io::FdFlags::empty())?;
        Ok(lock)
    }

    /// Waits for a lock that excludes exclusive ones, keeping the file of this one. Another may have had it in between.
    ///
    /// # Errors
    /// When waiting fails.
    pub fn into_shared(self, path: &Path) -> Result<Self, FsError> {
        self.file().lock_shared().map_err(failed("lock", path))?;
        Ok(self)
    }
}

/// Returns the time that is `seconds` after the beginning of 1970, or the end of the year 9999 where that is later than
/// systems can say.
pub fn at_second(seconds: u64) -> SystemTime {
    const END_OF_9999: u64 = 253_402_300_799;
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.min(END_OF_9999))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::sys::fs;

    #[test]
    fn a_new_file_has_the_time_and_mode_it_was_made_with() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("plain", Mode::PLAIN), ("run", Mode { executable: true, writable: false })] {
            let path = folder.path().join(name);
            let mut file = NewFile::create(&path, mode).unwrap();
            file.write(b"12345").unwrap();
            file.finish(Some(at_second(1_000_000_002))).unwrap();
            let found = facts(&path).unwrap().unwrap();
            assert_eq!((found.plain, found.size, found.modified), (true, 5, at_second(1_000_000_002)));
            assert_eq!((found.executable, found.writable, found.names), (mode.executable, mode.writable, 1));
            let again = NewFile::create(&path, mode).unwrap_err();
            assert_eq!(again.to_string(), format!("could not create `{}`", path.display()));
        }
        assert_eq!(facts(&folder.path().join("plain/below")).unwrap(), None);
    }

    #[test]
    fn a_copy_and_a_link_are_like_their_source() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut file = NewFile::create(&at("a"), Mode { executable: true, writable: false }).unwrap();
        file.write(b"x").unwrap();
        file.finish(Some(at_second(1_000_000_000))).unwrap();
        copy_file(&at("a"), &at("copied")).unwrap();
        hard_link(&at("a"), &at("linked")).unwrap();
        let [source, copied, linked] = ["a", "copied", "linked"].map(|name| facts(&at(name)).unwrap().unwrap());
        assert_eq!(linked, source);
        assert_eq!(source.names, 2);
        assert_eq!(Facts { identity: source.identity, names: 2, ..copied }, source);
        assert_ne!(copied.identity, source.identity);
        for outcome in [copy_file(&at("a"), &at("copied")), hard_link(&at("a"), &at("copied"))] {
            assert_eq!(outcome.unwrap_err().cause.kind(), ErrorKind::AlreadyExists);
        }
    }

    /// Whether this machine's file system can or cannot: there is a whole clone, or nothing.
    #[test]
    fn a_clone_is_whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), "bytes").unwrap();
        match clone_file(&at("a"), &at("b")) {
            Ok(()) => {
                assert_eq!(std::fs::read(at("b")).unwrap(), b"bytes");
                assert_eq!(facts(&at("b")).unwrap().unwrap().modified, facts(&at("a")).unwrap().unwrap().modified);
            }
            Err(_) => assert_eq!(facts(&at("b")).unwrap(), None),
        }
        std::fs::write(at("c"), "other").unwrap();
        assert_eq!(clone_file(&at("a"), &at("c")).unwrap_err().cause.kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(at("c")).unwrap(), b"other");
    }

    #[test]
    fn a_folder_is_published_once() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("entry");
        let make = || {
            let new = NewFolder::in_folder(folder.path(), ".new-").unwrap();
            std::fs::write(new.path().join("x"), "").unwrap();
            new
        };
        assert!(make().publish(&target).unwrap().is_none());
        let second = make().publish(&target).unwrap().expect("the name is taken");
        drop(second);
        assert_eq!(fs::names(folder.path()).unwrap(), ["entry"]);
        assert!(make_folder(&target).is_ok());
        assert!(make_folder(&target.join("x")).is_err());
    }

    #[test]
    fn a_link_is_put_over_a_link_and_over_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let put = |to: &str, over| put_link(Path::new(to), &at("link"), &[folder.path()], ".link-", over);
        put("a", Over::Nothing).unwrap();
        assert_eq!(put("b", Over::Nothing).unwrap_err().cause.kind(), ErrorKind::AlreadyExists);
        assert_eq!(read_link(&at("link")).unwrap().unwrap(), Path::new("a"));
        put("b", Over::Link).unwrap();
        assert_eq!(read_link(&at("link")).unwrap().unwrap(), Path::new("b"));
        std::fs::remove_file(at("link")).unwrap();
        std::fs::create_dir(at("link")).unwrap();
        for over in [Over::Nothing, Over::Link] {
            assert_eq!(
                put("c", over).unwrap_err().to_string(),
                format!("could not make the link `{}`", at("link").display())
            );
        }
        assert_eq!(fs::names(folder.path()).unwrap(), ["link"]);
        std::fs::write(at("other"), "x").unwrap();
        assert!(!rename_to_free(&at("link"), &at("other")).unwrap());
        assert!(rename_to_free(&at("link"), &at("free")).unwrap());
        assert_eq!(fs::names(folder.path()).unwrap(), ["free", "other"]);
        assert!(remove_if_empty(&at("free")) && remove_if_empty(&at("free")) && !remove_if_empty(&at("other")));
    }

    #[test]
    fn the_exclusive_lock_is_not_had_while_another_holds_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let shared = FileLock::shared(&path).unwrap();
        assert!(FileLock::try_exclusive(&path).unwrap().is_none());
        drop(shared);
        let exclusive = FileLock::try_exclusive(&path).unwrap().unwrap();
        let _shared = exclusive.into_shared(&path).unwrap();
        let _other = FileLock::shared(&path).unwrap();
    }
}
