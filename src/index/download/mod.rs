//! Wheels, whole and checked, in the cache: what is locked goes in, files with that sha256 come out.
//!
//! ```text
//!   Wanted, Wanted, …  ──> what is there already ──> is there room ──> 32 at once, biggest first ──> Ready, Ready, …
//!                              (store)             (one error)       (carry: mirror, mirror, …, the index itself)
//! ```
//!
//! A lock names no addresses. A wheel is found again on the page of its package, by file name and sha256; a page in
//! the cache does, however old, while it lists the file and the address still serves it. Whoever sends the bytes, and
//! in however many pieces, only the sha256 of all of them counts, and what is not right never has the final name.
//!
//! # Files
//!
//! ```text
//! <cache>/downloads-v1/<two digits>/<sha256>.whl     whole: it had this sha256 when it got this name
//! <cache>/downloads-v1/<two digits>/<sha256>.part    as far as it came; its holder has it locked
//! ```
//!
//! * A wheel stays here only until it is unpacked: who unpacks it calls [`Ready::discard`] once the unpacked one is in
//!   place. Another process may do that first; who finds the file gone looks for the unpacked one, and asks again only
//!   when that is not there either.
//! * What a killed run left is taken by the next one that wants the same file: a whole one after its sha256 was
//!   computed anew, an unfinished one as a beginning, whoever serves the rest. Nothing else removes them but pruning
//!   and cleaning the cache, for which nobody else may be using it.
//! * Nothing is flushed to the disk: after a power cut the sha256 tells.

mod carry;
mod error;
mod store;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use tokio::task::JoinSet;
use url::Url;

use super::config::Config;
use super::fetch;
use super::fetch::Network;
use super::source::IndexName;
use crate::diag::Finding;
use crate::pep::{Sha256, WheelName};
use crate::progress::Progress;
use crate::sys::disk;
use crate::sys::fs;
pub use error::{DownloadError, Fault, Said};
pub use store::is_whole;
use store::{Meter, State, Store, Tally};

/// The folder of wheel files.
pub const FOLDER: &str = "downloads-v1";

/// Files under way at once. With a Mac's usual 256 open files, there is room for twice as many.
const AT_ONCE: usize = 32;

/// A wheel to have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// Where it is found.
    pub place: Place,
    /// Its file name.
    pub wheel: WheelName,
    /// Its size in bytes.
    pub size: u64,
    /// Its digest.
    pub sha256: Sha256,
}

/// Where a wheel is found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// On the page that this index, or a mirror of it, has of the package.
    Index(IndexName),
    /// At this address.
    Address(Url),
    /// In this file.
    Path(PathBuf),
}

/// A wheel that is there, with its size and sha256 checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ready {
    /// Its digest.
    pub sha256: Sha256,
    /// Where it lies.
    pub path: PathBuf,
    /// Whether it was there, or another process got it: that one may still want it.
    pub found: bool,
}

impl Ready {
    /// Removes the file, which is not needed once it is unpacked.
    ///
    /// # Errors
    /// When it stays.
    pub fn discard(self) -> Result<(), fs::FsError> {
        fs::remove_file(&self.path)
    }
}

/// Wheels on their way: an iterator over them as they become ready, each digest once. One that nobody has is an error of
/// its own, and others follow; after any other error it ends.
///
/// Dropping it stops what is under way; the next run goes on from there.
pub struct Downloads {
    ready: mpsc::Receiver<Result<Ready, DownloadError>>,
    /// Absent when nothing is missing.
    network: Option<Arc<Network>>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Downloads {
    /// Looks what is there, makes sure that the rest has room, and begins to get it.
    ///
    /// # Errors
    /// Before anything is asked for: when there is no cache, when something is missing offline, when the missing bytes
    /// do not fit, when a setting cannot be used.
    pub fn begin(config: &Config, wanted: &[Wanted], progress: Arc<dyn Progress>) -> Result<Self, DownloadError> {
        let mut seen = HashSet::new();
        let wanted: Vec<&Wanted> = wanted.iter().filter(|one| seen.insert((one.sha256, one.size))).collect();
        let store = Store::new(config.cache_dir.as_deref().ok_or(DownloadError::NoCache)?);
        let states = store.survey(&wanted)?;
        let (sender, ready) = mpsc::channel();
        let mut missing = Vec::new();
        for (wanted, state) in wanted.into_iter().zip(states) {
            match state {
                State::Whole => sender.send(Ok(store.found(wanted))).expect("the receiver is here"),
                State::Begun(length) => missing.push((wanted.clone(), length)),
            }
        }
        if missing.is_empty() {
            return Ok(Self { ready, network: None, runtime: None });
        }
        let unreachable = |one: &&(Wanted, u64)| !matches!(one.0.place, Place::Path(_));
        let unreachable: Vec<_> = missing.iter().filter(unreachable).map(|(one, _)| one.wheel.to_string()).collect();
        if config.offline && !unreachable.is_empty() {
            return Err(DownloadError::Offline { missing: unreachable });
        }
        let network = Arc::new(Network::new(config, progress.clone())?);
        let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0_u64, u64::saturating_add);
        let total = sum(&mut missing.iter().map(|(one, _)| one.size));
        let present = sum(&mut missing.iter().map(|(_, begun)| *begun));
        let needed = total.saturating_sub(present);
        fs::create_folder(store.root())?;
        let space = disk::space(store.root())?;
        if needed > space.free {
            return Err(DownloadError::NoSpace { needed, space, cause: None });
        }
        let runtime = fetch::runtime("macml-download", 4).map_err(|cause| {
            DownloadError::Disk(fs::FsError { doing: "start threads for", path: store.root().to_owned(), cause })
        })?;
        progress.downloading(missing.len(), total, present);
        // Equal sizes in the order of their names, so that the same run asks in the same order.
        missing.sort_by_cached_key(|(one, _)| (std::cmp::Reverse(one.size), one.wheel.to_string()));
        let run = Arc::new(Run { network: network.clone(), store, tally: Arc::new(Tally::new(progress, needed)) });
        runtime.spawn(run.all(missing, sender));
        Ok(Self { ready, network: Some(network), runtime: Some(runtime) })
    }

    /// Returns what was wrong so far without standing in the way, such as a mirror that lacked a file.
    pub fn findings(&self) -> Vec<Finding> {
        self.network.as_ref().map(|network| network.findings()).unwrap_or_default()
    }
}

impl Iterator for Downloads {
    type Item = Result<Ready, DownloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ready.recv().ok()
    }
}

impl Drop for Downloads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(std::time::Duration::from_millis(200));
        }
    }
}

/// What all files of a run share.
struct Run {
    network: Arc<Network>,
    store: Store,
    tally: Arc<Tally>,
}

impl Run {
    /// Gets files, so many at a time, until something stands in the way of all.
    async fn all(self: Arc<Self>, missing: Vec<(Wanted, u64)>, ready: mpsc::Sender<Result<Ready, DownloadError>>) {
        let mut under_way = JoinSet::new();
        let mut queue = missing.into_iter();
        loop {
            while under_way.len() < AT_ONCE
                && let Some((wanted, begun)) = queue.next()
            {
                let run = self.clone();
                under_way.spawn(async move { run.one(&wanted, begun).await });
            }
            let Some(done) = under_way.join_next().await else { break };
            let done = done.unwrap_or(Err(DownloadError::Lost));
            let goes_on = matches!(done, Ok(_) | Err(DownloadError::Unobtainable { .. }));
            // Leaving lets go of what is under way; nothing that arrived is lost.
            if ready.send(done).is_err() || !goes_on {
                break;
            }
        }
    }

    async fn one(&self, wanted: &Wanted, begun: u64) -> Result<Ready, DownloadError> {
        let meter = Meter::new(self.tally.clone(), begun);
        let Some(mut body) = self.store.claim(wanted, meter).await? else { return Ok(self.store.found(wanted)) };
        if !body.is_whole(wanted) {
            carry::carry(&self.network, wanted, &mut body).await?;
        }
        body.publish(wanted, &self.store)?;
        Ok(Ready { found: false, ..self.store.found(wanted) })
    }
}
