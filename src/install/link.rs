//! From a plan to files in a folder: cloned, hard-linked or copied, whichever the file systems can, each file of the cache
//! looked at before.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::marker::CachedFile;
use super::plan::{Plan, Planned, PlannedWheel, Source};
use super::unpack::is_untouched;
use crate::pep::{Sha256, WheelName};
use crate::sys::disk;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::tree;
use crate::sys::tree::{Mode, NewFile};

/// How many files a thread takes at once: neighbours, so that each folder is mostly made by one.
const AT_ONCE: usize = 256;

/// How files get from the cache into an environment: what `--link-mode` takes.
///
/// Symlinks are not among them: an environment must outlive the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkMode {
    /// A file of its own that shares its bytes until it is written to (APFS, Btrfs, XFS).
    Clone,
    /// A second name for the cache's file.
    Hardlink,
    /// A file of its own.
    Copy,
}

/// Why a text is no link mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a link mode: `clone`, `hardlink` or `copy`")]
pub struct LinkModeError(String);

impl LinkMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Clone, Self::Hardlink, Self::Copy];
}

impl FromStr for LinkMode {
    type Err = LinkModeError;

    fn from_str(text: &str) -> Result<Self, LinkModeError> {
        Self::ALL.into_iter().find(|one| one.to_string() == text).ok_or_else(|| LinkModeError(text.to_owned()))
    }
}

impl fmt::Display for LinkMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clone => "clone",
            Self::Hardlink => "hardlink",
            Self::Copy => "copy",
        })
    }
}

/// The ways to try for a file, in order.
///
/// On a Mac libraries are not cloned: macOS scans each clone again when it is first loaded, which takes 18 s instead of
/// 5 s for the first `import torch`.
fn ways(mode: Option<LinkMode>, native: bool, mac: bool) -> &'static [LinkMode] {
    use LinkMode::{Clone, Copy, Hardlink};
    match mode {
        Some(Clone) => &[Clone, Copy],
        Some(Hardlink) => &[Hardlink, Copy],
        Some(Copy) => &[Copy],
        None if mac && !native => &[Clone, Hardlink, Copy],
        None => &[Hardlink, Copy],
    }
}

/// Why files are not all there.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Files of the cache were written to, or are gone: these wheels must be unpacked again.
    #[error("the cache no longer has what was unpacked from {}", .0.iter().map(|one| format!("`{}`", one.wheel)).collect::<Vec<_>>().join(", "))]
    Damaged(Vec<Damage>),
    /// The volume is full, or this user's part of it.
    #[error("there is no room left in `{}`", folder.display())]
    Full {
        /// The tree's folder.
        folder: PathBuf,
        /// What the system said.
        #[source]
        cause: FsError,
    },
    /// A file or folder could not be made.
    #[error(transparent)]
    File(#[from] FsError),
}

/// A wheel whose unpacked files are not what they were.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Its file name.
    pub wheel: WheelName,
    /// Its digest, by which to discard it.
    pub sha256: Sha256,
    /// The first file that tells.
    pub path: String,
}

/// How the files of a tree were made.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Linked {
    /// How many were cloned.
    pub cloned: usize,
    /// How many were hard-linked.
    pub hard_linked: usize,
    /// How many were copied.
    pub copied: usize,
    /// How many were written: launchers, RECORD and its like.
    pub written: usize,
    /// The way that was wanted and is not possible here, and what the system said.
    pub fell_back: Option<(LinkMode, String)>,
}

/// Makes trees in one way, or in the best that there is.
#[derive(Clone, Debug)]
pub struct Linker {
    mode: Option<LinkMode>,
    mac: bool,
    /// Ways that this pair of volumes does not know.
    impossible: Vec<LinkMode>,
    linked: Linked,
}

impl Linker {
    /// Makes one; without a mode it chooses by the file systems.
    pub fn new(mode: Option<LinkMode>) -> Self {
        Self { mode, mac: cfg!(target_os = "macos"), impossible: Vec::new(), linked: Linked::default() }
    }

    /// Makes the files of a plan below a folder in which none of them is yet, on several threads: most of the time goes
    /// into what the file system does for each folder and each name.
    ///
    /// # Errors
    /// When a file of the cache was touched: all wheels of which that is so are named, and the folder holds a part of the
    /// tree. When something cannot be written.
    pub fn link(self, plan: &Plan, root: &Path) -> Result<Linked, LinkError> {
        fs::create_folder(root)?;
        let files: Vec<(&String, &Planned)> = plan.files.iter().collect();
        let parts: Vec<&[(&String, &Planned)]> = files.chunks(AT_ONCE).collect();
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || {
            let mut part = Part { linker: self.clone(), plan, root, made: HashSet::new(), damaged: BTreeMap::new() };
            while !failed.load(Ordering::Relaxed)
                && let Some(files) = parts.get(next.fetch_add(1, Ordering::Relaxed))
            {
                if let Err(error) = part.link(files) {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            Ok(part)
        };
        let others = tree::workers().min(parts.len()).saturating_sub(1);
        let all = std::thread::scope(|scope| {
            let others: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
            let own = work();
            let others = others.into_iter().map(|other| other.join().expect("linking does not panic"));
            std::iter::once(own).chain(others).collect::<Vec<_>>()
        });
        let mut linked = Linked::default();
        let mut damaged = BTreeMap::new();
        for part in all {
            let part = part.map_err(|error| match error {
                cause if disk::is_full(&cause.cause) => LinkError::Full { folder: root.to_owned(), cause },
                cause => LinkError::File(cause),
            })?;
            linked.add(part.linker.linked);
            damaged.extend(part.damaged);
        }
        if damaged.is_empty() { Ok(linked) } else { Err(LinkError::Damaged(damaged.into_values().collect())) }
    }

    /// Makes one file; `false` when the cache's is not what it was.
    fn link_file(&mut self, wheel: &PlannedWheel, file: &CachedFile, to: &Path) -> Result<bool, FsError> {
        let from = wheel.folder.join(&file.path);
        if !is_untouched(&from, file, wheel.time)? {
            return Ok(false);
        }
        let ways = ways(self.mode, file.native, self.mac);
        let mut last = None;
        for way in ways {
            if self.impossible.contains(way) {
                continue;
            }
            let (outcome, count) = match way {
                LinkMode::Clone => (tree::clone_file(&from, to), &mut self.linked.cloned),
                LinkMode::Hardlink => (tree::hard_link(&from, to), &mut self.linked.hard_linked),
                LinkMode::Copy => (tree::copy_file(&from, to), &mut self.linked.copied),
            };
            let error = match outcome {
                Ok(()) => {
                    *count += 1;
                    return Ok(true);
                }
                Err(error) => error,
            };
            match error.cause.kind() {
                // Another process found it damaged and put it away between two looks.
                ErrorKind::NotFound if tree::facts(&from)?.is_none() => return Ok(false),
                ErrorKind::NotFound | ErrorKind::AlreadyExists => return Err(error),
                _ if disk::is_full(&error.cause) => return Err(error),
                // This file has as many names as it may have; others have not.
                ErrorKind::TooManyLinks => {}
                _ if *way == LinkMode::Copy => {}
                _ => {
                    self.impossible.push(*way);
                    let wanted = self.mode.is_none_or(|mode| mode == *way);
                    if wanted && self.linked.fell_back.is_none() {
                        self.linked.fell_back = Some((*way, error.cause.to_string()));
                    }
                }
            }
            last = Some(error);
        }
        Err(last.expect("a copy is always tried"))
    }
}

/// What one thread makes of a tree.
struct Part<'a> {
    linker: Linker,
    plan: &'a Plan,
    root: &'a Path,
    /// Folders that are there.
    made: HashSet<&'a str>,
    /// Wheels of which a file was touched, by their place in the plan.
    damaged: BTreeMap<usize, Damage>,
}

impl<'a> Part<'a> {
    fn link(&mut self, files: &[(&'a String, &'a Planned)]) -> Result<(), FsError> {
        for (path, planned) in files {
            make_folders(self.root, path, &mut self.made)?;
            let to = self.root.join(path);
            let (bytes, mode) = match &planned.source {
                Source::Text(bytes) => (bytes, Mode::PLAIN),
                Source::Command(bytes) => (bytes, Mode::PROGRAM),
                // One file tells enough of a wheel.
                Source::Cached(_) if self.damaged.contains_key(&planned.owner) => continue,
                Source::Cached(file) => {
                    let wheel = &self.plan.wheels[planned.owner];
                    if !self.linker.link_file(wheel, file, &to)? {
                        let damage =
                            Damage { wheel: wheel.name.clone(), sha256: wheel.sha256, path: file.path.clone() };
                        self.damaged.insert(planned.owner, damage);
                    }
                    continue;
                }
            };
            let mut new = NewFile::create(&to, mode)?;
            new.write(bytes)?;
            new.finish(None)?;
            self.linker.linked.written += 1;
        }
        Ok(())
    }
}

impl Linked {
    fn add(&mut self, other: Self) {
        self.cloned += other.cloned;
        self.hard_linked += other.hard_linked;
        self.copied += other.copied;
        self.written += other.written;
        self.fell_back = self.fell_back.take().or(other.fell_back);
    }
}

/// Makes the folders on the way to a path that were not made yet.
fn make_folders<'a>(root: &Path, path: &'a str, made: &mut HashSet<&'a str>) -> Result<(), FsError> {
    let Some(at) = path.rfind('/') else { return Ok(()) };
    let folder = &path[..at];
    if made.contains(folder) {
        return Ok(());
    }
    make_folders(root, folder, made)?;
    tree::make_folder(&root.join(folder))?;
    made.insert(folder);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_words() {
        for mode in LinkMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        let error = "symlink".parse::<LinkMode>().unwrap_err();
        assert_eq!(error.to_string(), "`symlink` is not a link mode: `clone`, `hardlink` or `copy`");
    }

    #[test]
    fn libraries_are_not_cloned_on_a_mac() {
        use LinkMode::{Clone, Copy, Hardlink};
        assert_eq!(ways(None, false, true), [Clone, Hardlink, Copy]);
        assert_eq!(ways(None, true, true), [Hardlink, Copy]);
        assert_eq!(ways(None, false, false), [Hardlink, Copy]);
        assert_eq!(ways(Some(Clone), true, true), [Clone, Copy]);
        for mode in LinkMode::ALL {
            assert_eq!(ways(Some(mode), true, false)[0], mode);
        }
    }
}
