//! Wheels that macml.toml names by path or address: no index lists them, so the file itself is all that is known.
//!
//! Those on disk are read here, network or not. Those by address go the way of an index's files, with a transport that
//! stands for no index.

use std::fs::File as DiskFile;
use std::io::{Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use url::Url;

use super::fault::IndexError;
use super::members::MemberAnswer;
use super::remote_zip;
use super::remote_zip::ZipFault;
use super::source::File;
use crate::pep::Sha256;
use crate::sys::fs;

/// A wheel on disk, read whole.
pub(super) struct OnDisk {
    pub(super) size: u64,
    pub(super) sha256: Sha256,
    /// Its METADATA, or why it has none, for people.
    pub(super) metadata: Result<Vec<u8>, String>,
}

/// Returns where a wheel lies, when it is one by path.
pub(super) fn path(file: &File) -> Option<PathBuf> {
    Url::parse(&file.url).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

/// Reads the wheel at `path`.
pub(super) fn read(path: &Path, file: &File) -> Result<OnDisk, IndexError> {
    let mut disk: DiskFile = fs::open(path)?.ok_or_else(|| IndexError::MissingWheel { path: path.to_owned() })?;
    let failed = |cause| fs::FsError { doing: "read", path: path.to_owned(), cause };
    let mut hasher: sha2::Sha256 = sha2::Digest::new();
    let mut size = 0;
    let mut take = |bytes: &[u8]| {
        sha2::Digest::update(&mut hasher, bytes);
        size += bytes.len() as u64;
        Ok(())
    };
    fs::pieces(&mut disk, u64::MAX, &mut take).map_err(failed)?;
    disk.seek(SeekFrom::Start(0)).map_err(failed)?;
    let metadata = remote_zip::extract_metadata(disk, &file.wheel);
    Ok(OnDisk { size, sha256: Sha256::from_bytes(sha2::Digest::finalize(hasher).into()), metadata })
}

/// Reads the file at `inside` of the wheel at `path`.
pub(super) fn member(path: &Path, file: &File, inside: &str) -> Result<MemberAnswer, IndexError> {
    let disk: DiskFile = fs::open(path)?.ok_or_else(|| IndexError::MissingWheel { path: path.to_owned() })?;
    Ok(match remote_zip::extract_member(disk, &file.wheel, inside) {
        Ok(bytes) => MemberAnswer::Found(bytes),
        Err(ZipFault::Missing(_)) => MemberAnswer::Missing,
        Err(fault) => MemberAnswer::Unusable(fault.to_string()),
    })
}
