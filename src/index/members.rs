//! `Members`: single files out of wheels, by ranged reads where the server knows ranges, else out of the whole wheel.
//!
//! **What is promised of the bytes** is what is promised of METADATA that was read out of a wheel: a part of a wheel cannot
//! be held against the wheel's sha256, so it is as true as the index or mirror that sent it, and the archive's own checksum
//! tells accidents only. It is kept for good by that sha256, and counts for who asks the same index or mirror again; out of
//! a wheel that came whole and has the sha256 it counts for everybody.
//!
//! Nothing is installed of it.

use std::sync::Arc;

use super::config::Config;
use super::download::{Place, Wanted};
use super::fault::IndexError;
use super::fetch;
use super::fetch::{Got, Network};
use super::source::{DIRECT, File, IndexName, Page, PageAnswer};
use crate::diag::Finding;
use crate::pep::PackageName;
use crate::progress::Progress;

/// Reads single files out of wheels.
pub struct Members {
    network: Network,
    runtime: tokio::runtime::Runtime,
}

/// The answer about a file of a wheel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberAnswer {
    /// Its bytes.
    Found(Vec<u8>),
    /// The wheel has no such file.
    Missing,
    /// The wheel cannot be had or read: why, as a lowercase fragment.
    Unusable(String),
    /// Not in the cache, and the network is switched off.
    Offline,
}

impl Members {
    /// Makes one; nothing is asked yet.
    ///
    /// # Errors
    /// When a setting cannot be used.
    pub fn new(config: &Config, progress: Arc<dyn Progress>) -> Result<Self, IndexError> {
        let network = Network::new(config, progress)?;
        let runtime = fetch::runtime("macml-members", 2).map_err(|cause| crate::sys::fs::FsError {
            doing: "start threads for",
            path: "the network".into(),
            cause,
        })?;
        Ok(Self { network, runtime })
    }

    /// Answers which files an index has of a package.
    ///
    /// # Errors
    /// When nobody could be asked.
    pub fn page(&self, index: &IndexName, name: &PackageName) -> Result<PageAnswer, IndexError> {
        self.runtime.block_on(self.network.page(index, name))
    }

    /// Reads the file at `path` of a wheel that a page lists.
    ///
    /// # Errors
    /// When nobody could be asked.
    pub fn read(&self, index: &IndexName, file: &Arc<File>, path: &str) -> Result<MemberAnswer, IndexError> {
        self.runtime.block_on(self.network.member(index, file, path))
    }

    /// Reads the file at `path` of a wheel that is locked, and found again by its name and sha256.
    ///
    /// # Errors
    /// When nobody could be asked.
    pub fn read_locked(&self, wanted: &Wanted, path: &str) -> Result<MemberAnswer, IndexError> {
        let (index, address) = match &wanted.place {
            Place::Index(index) => (index.clone(), None),
            Place::Address(url) => (DIRECT.into(), Some(url.clone())),
            Place::Path(path) => {
                let missing = || IndexError::MissingWheel { path: path.clone() };
                (DIRECT.into(), Some(url::Url::from_file_path(path).map_err(|()| missing())?))
            }
        };
        if let Some(url) = address {
            return self.read(&index, &Arc::new(file_at(wanted, url.as_str())), path);
        }
        // What was kept needs no page.
        if let Some(bytes) = self.network.kept_member(&index, &wanted.wheel, Some(wanted.sha256), path)? {
            return Ok(MemberAnswer::Found(bytes));
        }
        let name = &wanted.wheel.name;
        let listed = |page: &Page| {
            let release = page.release(&wanted.wheel.version)?;
            let same = |file: &&Arc<File>| {
                *file.filename == *wanted.wheel.to_string() && file.sha256.is_none_or(|sha256| sha256 == wanted.sha256)
            };
            let file = release.wheels.iter().find(same)?;
            Some(Arc::new(File { sha256: Some(wanted.sha256), size: Some(wanted.size), ..File::clone(file) }))
        };
        let mut file = match self.page(&index, name)? {
            PageAnswer::Found(page) => listed(&page),
            PageAnswer::Absent => None,
            PageAnswer::Offline => return Ok(MemberAnswer::Offline),
        };
        // The page that the cache has may be older than the lock.
        for at in 0..self.network.transports(&index)?.len() {
            if file.is_none()
                && let Ok(Got::Page(page)) = self.runtime.block_on(self.network.page_anew(&index, at, name))
            {
                file = listed(&page);
            }
        }
        match file {
            Some(file) => self.read(&index, &file, path),
            None => {
                Ok(MemberAnswer::Unusable(format!("index `{index}` does not list it any more with the locked sha256")))
            }
        }
    }

    /// Returns what was wrong so far without standing in the way, such as a mirror that lacked a file.
    pub fn findings(&self) -> Vec<Finding> {
        self.network.findings()
    }
}

/// Makes the file of a wheel that no page lists.
fn file_at(wanted: &Wanted, url: &str) -> File {
    let (sha256, size) = (Some(wanted.sha256), Some(wanted.size));
    File { sha256, size, ..File::at(wanted.wheel.clone(), url) }
}
