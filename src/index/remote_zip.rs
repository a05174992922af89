//! One file of a wheel that stays where it is, METADATA most of all: a wheel is a zip archive, and the directory of a zip
//! archive is its end, so one ranged read mostly suffices for METADATA and three for another file. A server without ranges
//! sends the whole wheel instead.

use std::fs::File as DiskFile;
use std::io::{self, Read, Seek, SeekFrom, Write as _};

use url::Url;
use zip::ZipArchive;

use crate::pep::{Sha256, WheelName};
use crate::sys::fs;
use crate::sys::http::{Auth, ByteRange, Client, Head, HttpError, Request, Sink, shown};

/// The largest wheel that is read whole.
const WHOLE_LIMIT: u64 = 8 << 30;

/// The largest METADATA, and the largest other file.
const MEMBER_LIMIT: u64 = 16 << 20;

/// The largest directory.
const DIRECTORY_LIMIT: u64 = 64 << 20;

/// Ranged reads per wheel; a sound one needs at most three.
const MOST_READS: usize = 6;

/// Which file of a wheel is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Member<'a> {
    /// `*.dist-info/METADATA`.
    Metadata,
    /// The one at this path.
    At(&'a str),
}

/// What was read, and what was learned on the way.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    pub(super) size: u64,
    /// Present when the whole wheel came by.
    pub(super) sha256: Option<Sha256>,
}

/// Why METADATA could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ZipFault {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("status {0}")]
    Status(u16),
    #[error("`{address}` answered other bytes than asked for: {reason}")]
    Lie { address: String, reason: String },
    #[error("{0}")]
    Broken(String),
    /// The wheel is sound, and has no such file.
    #[error("it holds no `{0}`")]
    Missing(String),
}

/// Where a wheel is.
pub(super) struct Place {
    pub(super) url: Url,
    pub(super) auth: Option<Auth>,
    /// As the page says.
    pub(super) size: Option<u64>,
}

/// Reads a file of `wheel`.
pub(super) async fn read(
    client: &Client,
    place: &Place,
    wheel: &WheelName,
    member: Member<'_>,
) -> Result<Found, ZipFault> {
    let (mut sparse, sha256) = match tail(client, place).await? {
        Begun::Sparse(sparse) => (sparse, None),
        Begun::Whole(mut spill) => {
            let (size, sha256) = (spill.size, spill.digest());
            let bytes = extract(&mut spill, wheel, member, &mut Stage::Directory)?;
            return Ok(Found { bytes, size, sha256: Some(sha256) });
        }
    };
    for _ in 0..MOST_READS {
        sparse.missing = None;
        let mut stage = Stage::Directory;
        let outcome = extract(&mut sparse, wheel, member, &mut stage);
        let Some(missing) = sparse.missing else {
            return Ok(Found { bytes: outcome?, size: sparse.total, sha256 });
        };
        let (first, last) = sparse.window(missing, stage);
        if last - first > DIRECTORY_LIMIT {
            return Err(ZipFault::Broken(format!("its directory is larger than {DIRECTORY_LIMIT} bytes")));
        }
        let mut request = Request::get(place.url.clone(), last - first + 1);
        request.auth.clone_from(&place.auth);
        request.range = Some(ByteRange::Span(first, last));
        let response = client.get(&request).await?;
        match response.head.status {
            206 => sparse.add(place, &response.head, response.body, first)?,
            200 => return Err(lie(place, "the whole file where it sent a part before")),
            status => return Err(ZipFault::Status(status)),
        }
    }
    Err(ZipFault::Broken("its directory lies scattered over the file".to_owned()))
}

enum Begun {
    Sparse(Sparse),
    Whole(Spill),
}

/// Asks for the end of the file.
async fn tail(client: &Client, place: &Place) -> Result<Begun, ZipFault> {
    let mut request = Request::get(place.url.clone(), WHOLE_LIMIT);
    request.auth.clone_from(&place.auth);
    // Not every server that knows ranges knows suffixes.
    request.range = Some(match place.size {
        Some(0) => return Err(ZipFault::Broken("it is empty".to_owned())),
        Some(size) => ByteRange::Span(size - guess(size).min(size), size - 1),
        None => ByteRange::Suffix(guess(8 << 20)),
    });
    let mut spill = Spill::new();
    let mut head = client.fetch(&request, &mut spill).await?;
    if matches!(head.status, 400 | 416 | 501) {
        spill = Spill::new();
        request.range = None;
        head = client.fetch(&request, &mut spill).await?;
    }
    match head.status {
        206 => {
            let body = spill.into_memory().ok_or_else(|| lie(place, "more than was asked for"))?;
            let (first, _, total) = head.content_range().ok_or_else(|| lie(place, "no usable Content-Range"))?;
            if place.size.is_some_and(|size| size != total) {
                return Err(lie(place, &format!("the file has {total} bytes, and the index says another size")));
            }
            if first + body.len() as u64 != total {
                return Err(lie(place, "not the end of the file"));
            }
            let mut sparse = Sparse { total, chunks: Vec::new(), at: 0, missing: None };
            sparse.add(place, &head, body, first)?;
            Ok(Begun::Sparse(sparse))
        }
        200 => {
            if place.size.is_some_and(|size| size != spill.size) {
                return Err(lie(place, &format!("the file has {} bytes, and the index says another size", spill.size)));
            }
            Ok(Begun::Whole(spill))
        }
        status => Err(ZipFault::Status(status)),
    }
}

/// How much of the end mostly holds the directory, RECORD and METADATA: of 150 everyday wheels of PyPI, four in five
/// need no second read.
fn guess(size: u64) -> u64 {
    match size {
        ..=65_536 => size,
        _ => (size / 32).clamp(32 << 10, 192 << 10),
    }
}

fn lie(place: &Place, reason: &str) -> ZipFault {
    ZipFault::Lie { address: shown(&place.url), reason: reason.to_owned() }
}

/// Reads METADATA of a wheel that is here; the reason is for people.
pub(super) fn extract_metadata<R: Read + Seek>(reader: R, wheel: &WheelName) -> Result<Vec<u8>, String> {
    extract(reader, wheel, Member::Metadata, &mut Stage::Directory).map_err(|fault| fault.to_string())
}

/// Reads a file of a wheel that is here.
pub(super) fn extract_member<R: Read + Seek>(reader: R, wheel: &WheelName, path: &str) -> Result<Vec<u8>, ZipFault> {
    extract(reader, wheel, Member::At(path), &mut Stage::Directory)
}

/// How far [`extract`] came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Directory,
    /// The file, of which so much is asked for at first.
    Member(u64),
}

/// Reads a file out of an archive.
fn extract<R: Read + Seek>(
    reader: R,
    wheel: &WheelName,
    member: Member<'_>,
    stage: &mut Stage,
) -> Result<Vec<u8>, ZipFault> {
    let broken = |cause: zip::result::ZipError| ZipFault::Broken(format!("it is no readable zip archive: {cause}"));
    let mut archive = ZipArchive::new(reader).map_err(broken)?;
    let (at, what) = match member {
        Member::Metadata => {
            *stage = Stage::Member(96 << 10);
            (metadata_in(&archive, wheel).map_err(ZipFault::Broken)?, "METADATA")
        }
        Member::At(path) => {
            *stage = Stage::Member(256 << 10);
            let at = archive.file_names_raw().position(|name| name == path.as_bytes());
            (at.ok_or_else(|| ZipFault::Missing(path.to_owned()))?, path.rsplit('/').next().unwrap_or(path))
        }
    };
    let file = archive.by_index(at).map_err(broken)?;
    let mut bytes = Vec::new();
    file.take(MEMBER_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|cause| ZipFault::Broken(format!("its {what} cannot be unpacked: {cause}")))?;
    if bytes.len() as u64 > MEMBER_LIMIT {
        return Err(ZipFault::Broken(format!("its {what} is larger than {MEMBER_LIMIT} bytes")));
    }
    Ok(bytes)
}

/// Finds METADATA in an archive; the reason is for people.
fn metadata_in<R: Read + Seek>(archive: &ZipArchive<R>, wheel: &WheelName) -> Result<usize, String> {
    let ours = |path: &[u8]| {
        let folder = std::str::from_utf8(path).ok()?.strip_suffix("/METADATA")?.strip_suffix(".dist-info")?;
        let (name, version) = folder.split_once('-')?;
        Some(name.parse().is_ok_and(|name| wheel.name == name) && version.parse().is_ok_and(|one| wheel.version == one))
    };
    let mut at = None;
    let mut stranger = None;
    for (place, path) in archive.file_names_raw().enumerate() {
        match ours(path) {
            Some(true) => at = Some(place),
            Some(false) => stranger = Some(String::from_utf8_lossy(path).into_owned()),
            None => {}
        }
    }
    at.ok_or_else(|| match stranger {
        Some(path) => format!("its `{path}` belongs to another package or version than its name says"),
        None => "it holds no `.dist-info/METADATA`".to_owned(),
    })
}

/// A file of which some parts are here. Reading elsewhere fails and notes where.
struct Sparse {
    total: u64,
    chunks: Vec<(u64, Vec<u8>)>,
    at: u64,
    missing: Option<u64>,
}

impl Sparse {
    fn add(&mut self, place: &Place, head: &Head, body: Vec<u8>, first: u64) -> Result<(), ZipFault> {
        let fits = |(from, to, total)| from == first && to + 1 - from == body.len() as u64 && total == self.total;
        if body.is_empty() || !head.content_range().is_some_and(fits) {
            return Err(lie(place, "a range that does not match its headers"));
        }
        self.chunks.push((first, body));
        Ok(())
    }

    /// What to read so that `missing` is here: the directory up to the known end of the file, a file by a guess.
    fn window(&self, missing: u64, stage: Stage) -> (u64, u64) {
        let next = self.chunks.iter().map(|(first, _)| *first).filter(|first| *first > missing).min();
        let end = next.unwrap_or(self.total);
        match stage {
            // METADATA mostly lies before the directory, with RECORD between, which grows with the directory.
            Stage::Directory => {
                let before = ((end - missing) / 4 * 3).clamp(32 << 10, 512 << 10);
                (missing.saturating_sub(before), end - 1)
            }
            Stage::Member(guess) => (missing, (missing + guess).min(end) - 1),
        }
    }
}

impl Read for Sparse {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.total || buffer.is_empty() {
            return Ok(0);
        }
        for (first, bytes) in &self.chunks {
            let Some(offset) = self.at.checked_sub(*first).map(|offset| offset as usize) else { continue };
            if let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
                let length = rest.len().min(buffer.len());
                buffer[..length].copy_from_slice(&rest[..length]);
                self.at += length as u64;
                return Ok(length);
            }
        }
        self.missing.get_or_insert(self.at);
        Err(io::Error::other("not read yet"))
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(offset) => self.total.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

/// A body in memory while it is small, else in a nameless file; digested as it comes.
pub(super) struct Spill {
    memory: Vec<u8>,
    file: Option<DiskFile>,
    hasher: sha2::Sha256,
    size: u64,
    at: u64,
}

impl Spill {
    const MEMORY: usize = 4 << 20;

    fn new() -> Self {
        Self { memory: Vec::new(), file: None, hasher: sha2::Digest::new(), size: 0, at: 0 }
    }

    fn into_memory(self) -> Option<Vec<u8>> {
        self.file.is_none().then_some(self.memory)
    }

    fn digest(&self) -> Sha256 {
        Sha256::from_bytes(sha2::Digest::finalize(self.hasher.clone()).into())
    }
}

impl Sink for Spill {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        sha2::Digest::update(&mut self.hasher, bytes);
        self.size += bytes.len() as u64;
        if self.file.is_none() && self.memory.len() + bytes.len() > Self::MEMORY {
            let mut file = fs::scratch().map_err(|error| error.cause)?;
            file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes),
            None => {
                self.memory.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn restart(&mut self) -> io::Result<()> {
        *self = Self::new();
        Ok(())
    }
}

impl Read for Spill {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            return file.read(buffer);
        }
        let mut rest = self.memory.get(self.at as usize..).unwrap_or_default();
        let length = rest.read(buffer)?;
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for Spill {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if let Some(file) = &mut self.file {
            return file.seek(to);
        }
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(offset) => self.size.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
