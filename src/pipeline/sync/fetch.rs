//! Wheels into the cache: those that are missing are got, and unpacked while others still arrive.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use crate::index::download::DownloadError;
use crate::index::download::Downloads;
use crate::index::download::Place;
use crate::index::download::Ready;
use crate::index::download::Wanted;
use crate::install;
use crate::install::Bytes;
use crate::install::OpenCache;
use crate::install::UnpackError;
use crate::install::Unpacked;
use crate::install::WheelCache;
use crate::lock::model::LockedWheel;
use crate::pep::Sha256;
use crate::pipeline;
use crate::pipeline::arriving;
use crate::sys::disk;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::parallel;
use crate::sys::tree;

use super::Amount;
use super::Error;
use super::select::Chosen;

/// How often a wheel is got anew that others remove again and again.
const MOST_TRIES: usize = 4;

/// How many times larger than itself a wheel may be once unpacked before its size is not looked up.
const COMPRESSED_AT_MOST: u64 = 16;

/// Where wheels come from.
pub(super) struct Fetch<'a> {
    pub(super) cache: &'a OpenCache,
    /// The project's folder, for wheels by path.
    pub(super) folder: &'a Path,
    /// A folder of wheels that is asked instead of any index.
    pub(super) wheels: Option<&'a Path>,
    pub(super) download: &'a dyn Fn(&[Wanted]) -> Result<Downloads, DownloadError>,
}

/// Returns what would be downloaded, without writing anything.
pub(super) fn missing(cache: Option<&Path>, chosen: &[Chosen<'_>]) -> Result<Amount, FsError> {
    let mut amount = Amount::default();
    for one in chosen {
        let there = match cache {
            Some(cache) => WheelCache::inside(cache).has(one.wheel)?,
            None => false,
        };
        if !there {
            amount.wheels += 1;
            amount.bytes += one.wheel.size;
        }
    }
    Ok(amount)
}

impl Fetch<'_> {
    /// Sees to it that all wheels are in the cache; returns them in their order, and what was missing.
    pub(super) fn all(&self, chosen: &[Chosen<'_>]) -> Result<(Vec<Unpacked>, Amount), Error> {
        let mut there = self.present(chosen)?;
        let mut got = Amount::default();
        for _ in 0..MOST_TRIES {
            let missing: Vec<&Chosen<'_>> =
                chosen.iter().filter(|one| !there.contains_key(&one.wheel.sha256)).collect();
            if missing.is_empty() {
                break;
            }
            if got == Amount::default() {
                got.wheels = missing.len();
                got.bytes = missing.iter().map(|one| one.wheel.size).sum();
            }
            self.check_folder(&missing)?;
            self.get(&missing, &mut there)?;
        }
        let mut wheels = Vec::with_capacity(chosen.len());
        for one in chosen {
            let gone = || Error::Download(DownloadError::Lost);
            wheels.push(there.get(&one.wheel.sha256).cloned().ok_or_else(gone)?);
        }
        Ok((wheels, got))
    }

    /// Reads what the cache has, several at a time.
    fn present(&self, chosen: &[Chosen<'_>]) -> Result<HashMap<Sha256, Unpacked>, FsError> {
        let found = parallel::map(chosen, tree::workers(), |one| self.cache.get(one.wheel)).into_iter();
        found.filter_map(Result::transpose).map(|one| one.map(|unpacked| (unpacked.sha256, unpacked))).collect()
    }

    /// Names every wheel that a folder of wheels lacks.
    fn check_folder(&self, missing: &[&Chosen<'_>]) -> Result<(), Error> {
        let Some(folder) = self.wheels else { return Ok(()) };
        if fs::kind(folder)? != Some(fs::Kind::Folder) {
            return Err(Error::NoFolder(folder.to_owned()));
        }
        let mut lacking = Vec::new();
        for one in missing {
            let name = one.wheel.file.to_string();
            if fs::kind(&folder.join(&name))? != Some(fs::Kind::File) {
                lacking.push(name);
            }
        }
        if lacking.is_empty() {
            return Ok(());
        }
        Err(Error::NotInFolder { folder: folder.to_owned(), missing: lacking })
    }

    fn wanted(&self, chosen: &Chosen<'_>) -> Wanted {
        let LockedWheel { file, size, sha256 } = chosen.wheel;
        let place = match self.wheels {
            Some(folder) => Place::Path(folder.join(file.to_string())),
            None => pipeline::place_of(&chosen.package.origin, self.folder),
        };
        Wanted { place, wheel: file.clone(), size: *size, sha256: *sha256 }
    }

    /// Gets wheels, and unpacks each as it arrives.
    fn get(&self, missing: &[&Chosen<'_>], there: &mut HashMap<Sha256, Unpacked>) -> Result<(), Error> {
        let locked: HashMap<Sha256, &LockedWheel> = missing.iter().map(|one| (one.wheel.sha256, one.wheel)).collect();
        let wanted: Vec<Wanted> = missing.iter().map(|one| self.wanted(one)).collect();
        let downloads = (self.download)(&wanted)?;
        let mut failed = None;
        let work = |ready: Ready| unpack(self.cache, locked[&ready.sha256], ready);
        arriving::each(downloads, missing.len(), work, |outcome| {
            match outcome.map_err(Error::from).flatten() {
                Ok(Some(unpacked)) => drop(there.insert(unpacked.sha256, unpacked)),
                // Another process took it, and it was removed from there too: once more.
                Ok(None) => {}
                Err(error) => drop(failed.get_or_insert(error)),
            }
            // What a wheel is refused for, no other wheel makes good.
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        failed.map_or(Ok(()), Err)
    }
}

fn unpack(cache: &OpenCache, wheel: &LockedWheel, ready: Ready) -> Result<Option<Unpacked>, Error> {
    let Some(file) = fs::open(&ready.path)? else { return Ok(cache.get(wheel)?) };
    make_sure_of_room(cache, wheel, &file)?;
    let unpacked = cache.unpack(wheel, file, Bytes::Checked).map_err(|error| told_of_space(cache, error))?;
    ready.discard()?;
    Ok(Some(unpacked))
}

/// Looks whether a wheel fits, before half of it is written.
fn make_sure_of_room(cache: &OpenCache, wheel: &LockedWheel, file: &std::fs::File) -> Result<(), Error> {
    let space = disk::space(cache.root())?;
    if space.free / COMPRESSED_AT_MOST > wheel.size {
        return Ok(());
    }
    let needed = install::open(file, &wheel.file).map_err(UnpackError::from)?.unpacked_size();
    if needed <= space.free {
        return Ok(());
    }
    Err(Error::NoSpace { what: format!("unpacking `{}`", wheel.file), needed, space, cause: None })
}

fn told_of_space(cache: &OpenCache, error: UnpackError) -> Error {
    match (error, disk::space(cache.root())) {
        (UnpackError::Full { wheel, needed, cause, .. }, Ok(space)) => {
            Error::NoSpace { what: format!("unpacking `{wheel}`"), needed, space, cause: Some(cause) }
        }
        (other, _) => other.into(),
    }
}
