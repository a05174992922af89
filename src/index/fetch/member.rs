//! A file of a wheel, asked of the same transports in the same order as METADATA, and kept as that is.

use std::sync::Arc;

use super::{Faults, FileFault, Network, Transport, address};
use crate::index::direct;
use crate::index::fault::IndexError;
use crate::index::members::MemberAnswer;
use crate::index::remote_zip::Member;
use crate::index::source::{DIRECT, File, IndexName};
use crate::pep::{Sha256, WheelName};

impl Network {
    /// Answers what the file at `path` in a wheel is.
    pub(in crate::index) async fn member(
        &self,
        index: &IndexName,
        file: &Arc<File>,
        path: &str,
    ) -> Result<MemberAnswer, IndexError> {
        if let Some(wheel) = direct::path(file).filter(|_| **index == *DIRECT) {
            return tokio::task::block_in_place(|| direct::member(&wheel, file, path));
        }
        if let Some(bytes) = self.kept_member(index, &file.wheel, file.sha256, path)? {
            return Ok(MemberAnswer::Found(bytes));
        }
        if self.offline {
            return Ok(MemberAnswer::Offline);
        }
        let mut faults = Faults::default();
        for at in self.ways(index, file)? {
            let Some((transport, listed)) = self.listed(index, at, file).await else { continue };
            // A page without hashes does not make the file another one.
            let listed = File { sha256: listed.sha256.or(file.sha256), ..File::clone(&listed) };
            match self.member_via(transport, &listed, path).await {
                Ok(bytes) => return Ok(MemberAnswer::Found(bytes)),
                Err(fault) => faults.0.push(self.seen(transport, file, fault)),
            }
        }
        match faults.verdict() {
            FileFault::Unusable(reason) => Ok(MemberAnswer::Unusable(reason)),
            FileFault::Missing => Ok(MemberAnswer::Missing),
            FileFault::Error(error) => Err(IndexError::All(vec![error])),
        }
    }

    /// Returns a file of a wheel that an earlier run kept, as with METADATA: told by one that this run would ask as well, or
    /// read out of the whole wheel.
    pub(in crate::index) fn kept_member(
        &self,
        index: &IndexName,
        wheel: &WheelName,
        sha256: Option<Sha256>,
        path: &str,
    ) -> Result<Option<Vec<u8>>, IndexError> {
        let Some(sha256) = sha256 else { return Ok(None) };
        Ok(self.tellers(index)?.find_map(|teller| self.cache.member(teller, wheel, sha256, path)))
    }

    async fn member_via(&self, transport: &Transport, file: &File, path: &str) -> Result<Vec<u8>, FileFault> {
        let url = address(transport, file)?;
        let found = self.in_wheel(transport, file, url, Member::At(path)).await?;
        let teller = found.teller(transport);
        if let Some(sha256) = file.sha256 {
            self.cache.keep_member(teller, &file.wheel, sha256, path, &found.bytes);
        }
        Ok(found.bytes)
    }
}
