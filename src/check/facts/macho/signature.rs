//! The pages of an image, held against its code directory. It tells that no byte was changed since it was signed, not that
//! macOS likes who signed it.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use object::BigEndian;
use object::macho;
use object::read::macho::{CodeDirectory, CodeSignature};
use sha2::{Digest as _, Sha256};

use super::super::image::Signature;
use super::Trouble;

/// How large pages nearly always are, as a power of two; those of other sizes cost a second walk.
const USUAL_PAGE: u8 = 12;

/// The sizes that are taken for one.
const PAGES: std::ops::RangeInclusive<u8> = 10..=24;

const DIGEST: usize = 32;

/// Digests of pages of the usual size, as they go by.
pub(super) struct PageDigests {
    /// Where hashing ends.
    end: u64,
    at: u64,
    page: Sha256,
    digests: Vec<[u8; DIGEST]>,
}

impl PageDigests {
    pub(super) fn new(end: u64) -> Self {
        Self { end, at: 0, page: Sha256::new(), digests: Vec::new() }
    }

    /// Takes the bytes at a place. All up to the end come, in order.
    pub(super) fn pass(&mut self, at: u64, block: &[u8]) {
        if at >= self.end {
            return;
        }
        let mut rest = &block[..block.len().min((self.end - at) as usize)];
        while !rest.is_empty() {
            let missing = (1 << USUAL_PAGE) - (self.at & ((1 << USUAL_PAGE) - 1));
            let (now, later) = rest.split_at(rest.len().min(missing as usize));
            rest = later;
            self.page.update(now);
            self.at += now.len() as u64;
            if now.len() as u64 == missing || self.at == self.end {
                self.digests.push(self.page.finalize_reset().into());
            }
        }
    }
}

/// Holds the pages of the slice at `slice` against its signature, which begins at `start`.
pub(super) fn check<R: Read + Seek>(
    bytes: &[u8],
    pages: &PageDigests,
    start: u64,
    reader: &mut R,
    slice: Range<u64>,
) -> Result<Signature, Trouble> {
    let unusable = |reason: &str| Ok(Signature::Unusable(reason.to_owned()));
    let directory = match find(bytes) {
        Ok(Some(directory)) => directory,
        Ok(None) => return unusable("it has no code directory with SHA-256"),
        Err(error) => return unusable(&error.to_string()),
    };
    let header = directory.header();
    let (size, limit) = (header.page_size, directory.code_limit());
    if !PAGES.contains(&size) || usize::from(header.hash_size) != DIGEST {
        return unusable("its pages are of no known size");
    }
    if limit > start {
        return unusable("it covers more than the code");
    }
    let count = limit.div_ceil(1 << size);
    if u64::from(header.n_code_slots.get(BigEndian)) != count {
        return unusable("it has another number of pages than the code");
    }
    let expected = |page: usize| directory.code_hash(u32::try_from(page).unwrap_or(u32::MAX));
    let other;
    let found: &[[u8; DIGEST]] = if size == USUAL_PAGE && limit == pages.end {
        &pages.digests
    } else {
        // A directory that is too short for its pages is not worth the walk.
        if count > 0 && expected(count as usize - 1).is_err() {
            return unusable("its code directory is cut short");
        }
        other = hash(reader, slice.start, limit, size)?;
        &other
    };
    for (page, digest) in found.iter().enumerate() {
        match expected(page) {
            Ok(expected) if expected == digest => {}
            Ok(_) => return Ok(Signature::Broken((page as u64) << size)),
            Err(error) => return unusable(&error.to_string()),
        }
    }
    Ok(Signature::Intact)
}

/// Finds the code directory with SHA-256, which may be an alternate one.
fn find(bytes: &[u8]) -> Result<Option<CodeDirectory<'_>>, object::read::Error> {
    let signature = CodeSignature::parse(bytes)?;
    let mut blobs = signature.blobs();
    while let Some(blob) = blobs.next()? {
        if let Some(directory) = blob.code_directory()?
            && directory.header().hash_type == macho::CS_HASHTYPE_SHA256
        {
            return Ok(Some(directory));
        }
    }
    Ok(None)
}

/// Hashes the pages of a slice, of any size.
fn hash<R: Read + Seek>(reader: &mut R, start: u64, limit: u64, size: u8) -> Result<Vec<[u8; DIGEST]>, Trouble> {
    reader.seek(SeekFrom::Start(start))?;
    let mut page = vec![0; 1 << size];
    let mut digests = Vec::new();
    let mut at = 0;
    while at < limit {
        let length = (limit - at).min(1 << size) as usize;
        reader.read_exact(&mut page[..length])?;
        digests.push(Sha256::digest(&page[..length]).into());
        at += length as u64;
    }
    Ok(digests)
}
