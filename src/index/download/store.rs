//! Wheel files on disk: which are whole, which were begun, and how one grows.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{DownloadError, FOLDER, Ready, Wanted};
use crate::pep::Sha256;
use crate::progress::{Downloaded, Progress};
use crate::sys::Partial;
use crate::sys::disk;
use crate::sys::fs::{self, FsError};
use crate::sys::http::Sink;
use crate::sys::parallel;

/// How often is looked whether another process has finished.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// When it is said that another process is waited for.
const LONG_WAIT: Duration = Duration::from_secs(1);

/// How much of a file is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// All, with the right sha256.
    Whole,
    /// So many bytes, of which nothing is known yet.
    Begun(u64),
}

/// The folder of wheel files.
pub(super) struct Store {
    root: PathBuf,
}

impl Store {
    pub(super) fn new(cache: &Path) -> Self {
        Self { root: cache.join(FOLDER) }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn place(&self, sha256: Sha256, ending: &str) -> PathBuf {
        let digest = sha256.to_string();
        self.root.join(&digest[..2]).join(format!("{digest}.{ending}"))
    }

    /// Returns where a whole file is that somebody else got.
    pub(super) fn found(&self, wanted: &Wanted) -> Ready {
        Ready { sha256: wanted.sha256, path: self.place(wanted.sha256, "whl"), found: true }
    }

    /// Looks at all files, several at a time: whole ones are read.
    pub(super) fn survey(&self, wanted: &[&Wanted]) -> Result<Vec<State>, FsError> {
        parallel::map(wanted, parallel::cores(), |one| self.state(one)).into_iter().collect()
    }

    fn state(&self, wanted: &Wanted) -> Result<State, FsError> {
        if self.has(wanted)? {
            return Ok(State::Whole);
        }
        let length = fs::size(&self.place(wanted.sha256, "part"))?.unwrap_or(0);
        // One that is too long is no beginning.
        Ok(State::Begun(if length > wanted.size { 0 } else { length }))
    }

    /// Returns whether the file is there and right. One that is not is in nobody's way: the right one replaces it.
    fn has(&self, wanted: &Wanted) -> Result<bool, FsError> {
        is_whole(&self.place(wanted.sha256, "whl"), wanted.size, wanted.sha256)
    }

    /// Waits for the right to write the file; `None` when another process has finished it meanwhile.
    pub(super) async fn claim(&self, wanted: &Wanted, mut meter: Meter) -> Result<Option<Body>, DownloadError> {
        let part = self.place(wanted.sha256, "part");
        let folder = part.parent().expect("it lies in the store");
        fs::create_folder(folder).map_err(|cause| meter.tally.disk(cause, &self.root))?;
        let begun = Instant::now();
        let mut said = false;
        let partial = loop {
            match Partial::claim(&part).map_err(|cause| meter.tally.disk(cause, &self.root))? {
                Some(partial) => break partial,
                None if !said && begun.elapsed() >= LONG_WAIT => {
                    said = true;
                    meter.tally.progress.note(&format!("waiting for another macml that downloads `{}`", wanted.wheel));
                }
                None => {}
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        };
        // Who had it may have finished it.
        if tokio::task::block_in_place(|| self.has(wanted))? {
            meter.set(wanted.size);
            meter.tally.whole(wanted, 0, begun.elapsed());
            return Ok(None);
        }
        let (hasher, root) = (sha2::Digest::new(), self.root.clone());
        let mut body = Body { partial, hasher, meter, root, begun: Instant::now(), arrived: 0 };
        body.recall(wanted)?;
        Ok(Some(body))
    }
}

/// Returns whether a file is there with this size and digest; it is read whole if the size is right.
///
/// # Errors
/// When it is there and cannot be read.
pub fn is_whole(path: &Path, size: u64, sha256: Sha256) -> Result<bool, FsError> {
    if fs::size(path)? != Some(size) {
        return Ok(false);
    }
    let Some(mut file) = fs::open(path)? else { return Ok(false) };
    let mut hasher: sha2::Sha256 = sha2::Digest::new();
    let digested = fs::pieces(&mut file, size, &mut |bytes| {
        sha2::Digest::update(&mut hasher, bytes);
        Ok(())
    });
    digested.map_err(|cause| FsError { doing: "read", path: path.to_owned(), cause })?;
    Ok(Sha256::from_bytes(sha2::Digest::finalize(hasher).into()) == sha256)
}

/// A file that grows, with the digest of all that it has.
pub(super) struct Body {
    partial: Partial,
    hasher: sha2::Sha256,
    meter: Meter,
    root: PathBuf,
    begun: Instant,
    arrived: u64,
}

impl Body {
    /// Digests what an earlier run left.
    fn recall(&mut self, wanted: &Wanted) -> Result<(), DownloadError> {
        if self.partial.length() > wanted.size {
            self.clear()?;
        }
        let hasher = &mut self.hasher;
        let partial = &mut self.partial;
        tokio::task::block_in_place(|| partial.replay(&mut |bytes| sha2::Digest::update(hasher, bytes)))?;
        self.meter.set(self.partial.length());
        // All of it and still not right: nothing that comes would change that.
        if self.partial.length() >= wanted.size && !self.is_whole(wanted) {
            self.clear()?;
        }
        Ok(())
    }

    pub(super) fn length(&self) -> u64 {
        self.partial.length()
    }

    pub(super) fn sha256(&self) -> Sha256 {
        Sha256::from_bytes(sha2::Digest::finalize(self.hasher.clone()).into())
    }

    pub(super) fn is_whole(&self, wanted: &Wanted) -> bool {
        self.length() == wanted.size && self.sha256() == wanted.sha256
    }

    /// Throws away what is there.
    pub(super) fn clear(&mut self) -> Result<(), DownloadError> {
        self.restart().map_err(|cause| self.failed(cause))
    }

    /// Says why bytes could not be kept.
    pub(super) fn failed(&self, cause: std::io::Error) -> DownloadError {
        let cause = FsError { doing: "write", path: self.partial.path().to_owned(), cause };
        self.meter.tally.disk(cause, &self.root)
    }

    /// Gives the file its name.
    pub(super) fn publish(self, wanted: &Wanted, store: &Store) -> Result<(), DownloadError> {
        debug_assert!(self.is_whole(wanted), "nothing wrong gets the final name");
        let Self { partial, meter, root, begun, arrived, .. } = self;
        partial.publish(&store.place(wanted.sha256, "whl")).map_err(|cause| meter.tally.disk(cause, &root))?;
        meter.tally.whole(wanted, arrived, begun.elapsed());
        Ok(())
    }
}

impl Sink for Body {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.partial.append(bytes)?;
        sha2::Digest::update(&mut self.hasher, bytes);
        self.arrived += bytes.len() as u64;
        self.meter.arrived(bytes.len() as u64);
        Ok(())
    }

    fn restart(&mut self) -> std::io::Result<()> {
        self.partial.clear()?;
        self.hasher = sha2::Digest::new();
        self.meter.set(0);
        Ok(())
    }
}

/// How much is still to come, over all files.
pub(super) struct Tally {
    progress: Arc<dyn Progress>,
    left: AtomicU64,
}

impl Tally {
    pub(super) fn new(progress: Arc<dyn Progress>, left: u64) -> Self {
        Self { progress, left: AtomicU64::new(left) }
    }

    fn whole(&self, wanted: &Wanted, arrived: u64, took: Duration) {
        let file = wanted.wheel.to_string();
        self.progress.downloaded(&Downloaded { file: &file, size: wanted.size, arrived, took });
    }

    /// Tells a full volume from other failures.
    fn disk(&self, error: FsError, root: &Path) -> DownloadError {
        match disk::space(root) {
            Ok(space) if disk::is_full(&error.cause) => {
                let needed = self.left.load(Ordering::Relaxed);
                DownloadError::NoSpace { needed, space, cause: Some(error.cause) }
            }
            _ => DownloadError::Disk(error),
        }
    }
}

/// How much of one file counts as there.
pub(super) struct Meter {
    tally: Arc<Tally>,
    there: u64,
}

impl Meter {
    /// Begins with what was counted before.
    pub(super) fn new(tally: Arc<Tally>, there: u64) -> Self {
        Self { tally, there }
    }

    fn arrived(&mut self, bytes: u64) {
        self.there += bytes;
        self.tally.left.fetch_sub(bytes, Ordering::Relaxed);
        self.tally.progress.arrived(bytes);
    }

    /// Corrects the count.
    fn set(&mut self, there: u64) {
        if there > self.there {
            let found = there - self.there;
            self.tally.left.fetch_sub(found, Ordering::Relaxed);
            self.tally.progress.found(found);
        } else if there < self.there {
            let lost = self.there - there;
            self.tally.left.fetch_add(lost, Ordering::Relaxed);
            self.tally.progress.lost(lost);
        }
        self.there = there;
    }
}
