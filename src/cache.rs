//! All that lies below macml's cache folder: how much it is, and what of it goes.
//!
//! ```text
//! <cache>/wheels-v1/     unpacked wheels, as `install` lays them out
//! <cache>/downloads-v1/  wheels that are not unpacked yet, whole and begun
//! <cache>/pages-v1/      pages of indexes
//! <cache>/metadata-v2/   METADATA                   \
//! <cache>/members-v1/    other files out of wheels  | one kind: what is known of single files
//! <cache>/digests-v1/    sizes and digests          /
//! <cache>/python-v1/     what interpreters said
//! <cache>/matrix-v1/     cells
//! <cache>/facts-v1/      facts of the libraries of wheels
//! ```
//!
//! Somebody may name a folder as the cache that holds other things too, their home for example. So nothing is looked at but
//! these folders, and nothing in them counts, or goes, but what has the name that macml gives.
//!
//! Who uses wheels holds the shared lock of the unpacked ones; who removes anything holds the exclusive one. Pages and
//! answers are read as they are, and one that went is fetched again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::index::cache::{
    CHECKED, DIGESTS, MEMBERS, METADATA, PAGES, is_whole, member_name, metadata_name, page_name,
};
use crate::index::download;
use crate::install::{AloneCache, CachedWheel, WheelCache};
use crate::pep::{PackageName, Sha256};
use crate::python;
use crate::sys::Partial;
use crate::sys::entry;
use crate::sys::entry::Entry;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::tree;

/// The folder of cells.
pub const MATRIX: &str = "matrix-v1";

/// The folder of facts of the libraries of wheels.
pub const FACTS: &str = "facts-v1";

/// Without a limit, what was not used for so long goes.
pub const UNUSED: Duration = Duration::from_secs(90 * DAY);

/// What was begun and not gone on with for so long goes.
const ABANDONED: Duration = Duration::from_secs(DAY);

const DAY: u64 = 24 * 3600;

/// When it is said that others are waited for, and how often is looked.
const LONG_WAIT: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Unpacked wheels.
    Wheels,
    /// Wheels that are not unpacked yet.
    Downloads,
    /// Pages of indexes.
    Pages,
    /// METADATA and other files of wheels, sizes and digests of files.
    Metadata,
    /// What interpreters said.
    Pythons,
    /// Answers of `macml matrix`.
    Matrix,
    /// Facts of the libraries of wheels.
    Facts,
}

impl Kind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 7] =
        [Self::Wheels, Self::Downloads, Self::Pages, Self::Metadata, Self::Pythons, Self::Matrix, Self::Facts];

    /// Returns its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wheels => "wheels",
            Self::Downloads => "downloads",
            Self::Pages => "pages",
            Self::Metadata => "metadata",
            Self::Pythons => "pythons",
            Self::Matrix => "matrix",
            Self::Facts => "facts",
        }
    }
}

/// How much of something.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Amount {
    /// Files.
    pub files: u64,
    /// Their bytes. Of an unpacked wheel, environments may share them by hard links: those stay in use when it goes.
    pub bytes: u64,
}

/// How much of each kind, in the order of [`Kind::ALL`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Amounts(Vec<(Kind, Amount)>);

/// What is to be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// What was used, or fetched, in the last [`UNUSED`].
    Recent,
    /// So many bytes: of wheels those used last, and the rest as far as there is room.
    AtMost(u64),
}

/// What is done while another process uses the cache.
pub enum Wait<'a> {
    /// Nothing: the answer is [`Error::InUse`].
    Never,
    /// It is waited for, and this is called once if that takes a second.
    Saying(&'a mut dyn FnMut()),
}

/// Why the cache is as it was, or was only tidied in part.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process uses it.
    #[error("the cache is in use by another macml")]
    InUse,
    /// Something could not be read or removed.
    #[error(transparent)]
    File(#[from] FsError),
}

/// The cache folder.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Amounts {
    fn none() -> Self {
        Self(Kind::ALL.map(|kind| (kind, Amount::default())).into())
    }

    fn add(&mut self, found: &Found) {
        for (kind, amount) in &mut self.0 {
            if *kind == found.kind {
                amount.files += found.files;
                amount.bytes += found.bytes;
            }
        }
    }

    /// Returns them by kind.
    pub fn by_kind(&self) -> impl Iterator<Item = (Kind, Amount)> + '_ {
        self.0.iter().copied()
    }

    /// Adds them up.
    pub fn total(&self) -> Amount {
        let sum = |sum: Amount, (_, one): &(Kind, Amount)| Amount {
            files: sum.files + one.files,
            bytes: sum.bytes + one.bytes,
        };
        self.0.iter().fold(Amount::default(), sum)
    }
}

/// Something that is kept.
struct Found {
    kind: Kind,
    place: Place,
    files: u64,
    bytes: u64,
    used: SystemTime,
    /// It is not whole, and either never will be or has been gone on with at `used`.
    unfinished: bool,
}

/// Where something is kept.
enum Place {
    File(PathBuf),
    Wheel(CachedWheel),
}

impl Found {
    fn path(&self) -> &Path {
        match &self.place {
            Place::File(path) => path,
            Place::Wheel(wheel) => &wheel.folder,
        }
    }

    /// Returns whether it is of use to nobody any more, as far as its name and time tell.
    fn is_left_over(&self, now: SystemTime) -> bool {
        let abandoned = || now.duration_since(self.used).is_ok_and(|since| since >= ABANDONED);
        match self.place {
            // What is being unpacked is not there while one is alone.
            Place::Wheel(_) => self.unfinished,
            Place::File(_) => self.unfinished && abandoned(),
        }
    }

    /// Returns whether its bytes are not those that were written.
    fn is_broken(&self) -> bool {
        let path = match &self.place {
            Place::File(path) => path,
            Place::Wheel(wheel) => return wheel.is_touched().unwrap_or(false),
        };
        // What cannot be read is kept: the reason may pass.
        let Ok(Some(bytes)) = (if self.unfinished { Ok(None) } else { fs::read_bytes(path) }) else { return false };
        match self.kind {
            Kind::Pages | Kind::Metadata => !is_whole(&bytes),
            Kind::Pythons | Kind::Matrix | Kind::Facts => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                end.is_none_or(|end| bytes[..end] != *Sha256::of(&bytes[end + 1..]).to_string().as_bytes())
            }
            // A download is held against its digest by whoever takes it.
            Kind::Wheels | Kind::Downloads => false,
        }
    }
}

impl Cache {
    /// Names macml's cache folder. Nothing is made.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Adds up what is in it: all, and of that what nobody needs, which pruning removes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn size(&self, now: SystemTime) -> Result<(Amounts, Amounts), FsError> {
        let (mut all, mut left_over) = (Amounts::none(), Amounts::none());
        // What is not whole may be on its way while somebody uses the cache.
        let idle = matches!(self.wheels().try_alone(), Ok(Some(_)));
        for found in self.look()? {
            all.add(&found);
            if found.is_left_over(now) && (idle || found.kind != Kind::Wheels) {
                left_over.add(&found);
            }
        }
        Ok((all, left_over))
    }

    /// Removes what is broken, what was begun and given up, and what is not to be kept.
    ///
    /// # Errors
    /// When another process uses it and is not waited for, or something cannot be removed.
    pub fn prune(&self, keep: Keep, now: SystemTime, wait: Wait<'_>) -> Result<Amounts, Error> {
        let alone = self.alone(wait)?;
        Ok(self.tidy(&alone, keep, now, Depth::Content)?)
    }

    /// Holds it to a limit, if nobody else uses it just now: for the end of a run that put something into it, and has let
    /// go of it. Never waits; `None` when nothing was looked at.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn hold_to(&self, most: u64, now: SystemTime) -> Result<Option<Amounts>, FsError> {
        match self.alone(Wait::Never) {
            Ok(alone) => self.tidy(&alone, Keep::AtMost(most), now, Depth::Names).map(Some),
            Err(Error::InUse) => Ok(None),
            Err(Error::File(error)) => Err(error),
        }
    }

    /// Removes everything that macml put there. Environments keep their files.
    ///
    /// # Errors
    /// As for [`Cache::prune`].
    pub fn clean(&self, wait: Wait<'_>) -> Result<Amounts, Error> {
        let alone = self.alone(wait)?;
        let mut gone = Amounts::none();
        for found in self.look()? {
            if remove(&alone, &found)? {
                gone.add(&found);
            }
        }
        for folder in [download::FOLDER, PAGES, METADATA, MEMBERS, DIGESTS, python::CACHE_FOLDER, MATRIX, FACTS] {
            remove_empty_below(&self.root.join(folder), 2)?;
        }
        Ok(gone)
    }

    /// Removes wheels, pages and METADATA of packages. Downloads bear no names, and stay.
    ///
    /// # Errors
    /// As for [`Cache::prune`].
    pub fn clean_packages(&self, names: &[PackageName], wait: Wait<'_>) -> Result<Amounts, Error> {
        let alone = self.alone(wait)?;
        let pages: Vec<String> = names.iter().map(page_name).collect();
        let mut gone = Amounts::none();
        for found in self.look()? {
            let theirs = match (&found.place, found.kind) {
                (Place::Wheel(wheel), _) => wheel.name.as_ref().is_some_and(|wheel| names.contains(&wheel.name)),
                (Place::File(path), Kind::Pages) => {
                    path.file_name().is_some_and(|file| pages.iter().any(|page| **page == *file))
                }
                (Place::File(path), Kind::Metadata) => {
                    let entry = fs::read_bytes(path)?;
                    let name = entry.and_then(|entry| member_name(&entry).or_else(|| metadata_name(&entry)));
                    name.is_some_and(|name| names.contains(&name))
                }
                _ => false,
            };
            if theirs && remove(&alone, &found)? {
                gone.add(&found);
            }
        }
        Ok(gone)
    }

    fn tidy(&self, alone: &AloneCache, keep: Keep, now: SystemTime, depth: Depth) -> Result<Amounts, FsError> {
        let mut gone = Amounts::none();
        let mut left = Vec::new();
        for found in self.look()? {
            if found.is_left_over(now) || depth == Depth::Content && found.is_broken() {
                if remove(alone, &found)? {
                    gone.add(&found);
                }
            } else {
                left.push(found);
            }
        }
        // Pages and answers are small, and are noted when they are written, not when they are read: they go last. Ties by
        // path, so that the same is kept of the same.
        let small = |found: &Found| !matches!(found.kind, Kind::Wheels | Kind::Downloads);
        left.sort_by(|a, b| (small(a), a.used, a.path()).cmp(&(small(b), b.used, b.path())));
        let mut bytes: u64 = left.iter().map(|found| found.bytes).sum();
        for found in left {
            let goes = match keep {
                Keep::Recent => now.duration_since(found.used).is_ok_and(|since| since >= UNUSED),
                Keep::AtMost(most) => bytes > most,
            };
            if goes && remove(alone, &found)? {
                bytes -= found.bytes;
                gone.add(&found);
            }
        }
        Ok(gone)
    }

    fn wheels(&self) -> WheelCache {
        WheelCache::inside(&self.root)
    }

    fn alone(&self, mut wait: Wait<'_>) -> Result<AloneCache, Error> {
        let begun = Instant::now();
        let mut said = false;
        loop {
            if let Some(alone) = self.wheels().try_alone()? {
                return Ok(alone);
            }
            let Wait::Saying(say) = &mut wait else { return Err(Error::InUse) };
            if !said && begun.elapsed() >= LONG_WAIT {
                said = true;
                say();
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Lists everything that macml put there.
    fn look(&self) -> Result<Vec<Found>, FsError> {
        let mut all = Vec::new();
        for wheel in self.wheels().wheels()? {
            all.push(Found {
                kind: Kind::Wheels,
                files: wheel.files,
                bytes: wheel.bytes,
                used: wheel.used.unwrap_or(SystemTime::UNIX_EPOCH),
                unfinished: wheel.name.is_none(),
                place: Place::Wheel(wheel),
            });
        }
        let mut take = |kind: Kind, folder: &Path, ours: &dyn Fn(&str) -> bool| files(kind, folder, ours, &mut all);
        for folder in digits(&self.root.join(download::FOLDER), 2)? {
            take(Kind::Downloads, &folder, &is_download)?;
        }
        for folder in digits(&self.root.join(PAGES), 16)? {
            take(Kind::Pages, &folder, &is_page)?;
        }
        for told in [METADATA, MEMBERS].map(|folder| self.root.join(folder)) {
            for teller in digits(&told, 16)?.into_iter().chain([told.join(CHECKED)]) {
                for folder in digits(&teller, 2)? {
                    take(Kind::Metadata, &folder, &is_digest)?;
                }
            }
        }
        take(Kind::Metadata, &self.root.join(DIGESTS), &is_digest)?;
        take(Kind::Pythons, &self.root.join(python::CACHE_FOLDER), &is_digest)?;
        take(Kind::Matrix, &self.root.join(MATRIX), &is_digest)?;
        take(Kind::Facts, &self.root.join(FACTS), &is_digest)?;
        Ok(all)
    }
}

/// How closely entries are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Their names, sizes and times.
    Names,
    /// Their bytes.
    Content,
}

/// Lists the files of a folder that macml put there.
fn files(kind: Kind, folder: &Path, ours: &dyn Fn(&str) -> bool, into: &mut Vec<Found>) -> Result<(), FsError> {
    for name in fs::names(folder)? {
        let unfinished = fs::is_unfinished(&name) || kind == Kind::Downloads && is_partial(&name);
        if !unfinished && !ours(&name) {
            continue;
        }
        let path = folder.join(&name);
        if let Some(Entry { size, written: used }) = Entry::of(&path)? {
            into.push(Found { kind, place: Place::File(path), files: 1, bytes: size, used, unfinished });
        }
    }
    Ok(())
}

/// Lists the folders in a folder whose names are so many hexadecimal digits.
fn digits(folder: &Path, count: usize) -> Result<Vec<PathBuf>, FsError> {
    let mut folders = entry::folders(folder)?;
    folders.retain(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_hex(name, count)));
    Ok(folders)
}

fn is_hex(name: &str, count: usize) -> bool {
    name.len() == count && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_digest(name: &str) -> bool {
    is_hex(name, 64)
}

fn is_download(name: &str) -> bool {
    name.strip_suffix(".whl").is_some_and(is_digest)
}

/// Whether a name is that of a download that was begun; on volumes without locks it ends in letters of its own.
fn is_partial(name: &str) -> bool {
    name.split_once(".part")
        .is_some_and(|(digest, rest)| is_digest(digest) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn is_page(name: &str) -> bool {
    match name.strip_prefix('.') {
        Some(digest) => is_digest(digest),
        None => name.parse::<PackageName>().is_ok_and(|parsed| parsed.as_str() == name),
    }
}

/// Removes something; says whether it went. What somebody is still downloading stays.
fn remove(alone: &AloneCache, found: &Found) -> Result<bool, FsError> {
    match &found.place {
        Place::Wheel(wheel) => alone.remove(wheel)?,
        Place::File(path) if found.kind == Kind::Downloads && found.unfinished => {
            let Some(mut partial) = Partial::claim(path)? else { return Ok(false) };
            let cleared = partial.clear();
            cleared.map_err(|cause| FsError { doing: "remove", path: path.clone(), cause })?;
            drop(partial);
            fs::remove_file(path)?;
        }
        Place::File(path) => fs::remove_file(path)?,
    }
    Ok(true)
}

/// Removes folders without files, down to a depth.
fn remove_empty_below(folder: &Path, depth: usize) -> Result<(), FsError> {
    if depth > 0 {
        for below in entry::folders(folder)? {
            remove_empty_below(&below, depth - 1)?;
        }
    }
    tree::remove_if_empty(folder);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_macml_gives_are_ours() {
        let digest = Sha256::of(b"x").to_string();
        for (ours, name, expected) in [
            (is_download as fn(&str) -> bool, format!("{digest}.whl"), true),
            (is_download, "torch-2.14.1-cp313-cp313-macosx_14_0_arm64.whl".to_owned(), false),
            (is_partial, format!("{digest}.part"), true),
            (is_partial, format!("{digest}.partAb12"), true),
            (is_partial, format!("{digest}.part.old"), false),
            (is_partial, "a.part".to_owned(), false),
            (is_page, "torch-vision".to_owned(), true),
            (is_page, format!(".{digest}"), true),
            (is_page, "Notes.TXT".to_owned(), false),
            (is_page, ".bashrc".to_owned(), false),
            (is_digest, digest.to_uppercase(), false),
            (is_digest, digest[1..].to_owned(), false),
        ] {
            assert_eq!(ours(&name), expected, "{name}");
        }
    }
}
