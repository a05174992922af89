//! What is kept on disk between runs: parsed pages, METADATA, and what files hash to.
//!
//! ```text
//! <cache>/pages-v1/<hash of the index's address>/<package>     see `stored`
//! <cache>/metadata-v2/<who told>/<two digits>/<sha256 of the wheel>       the fields that resolving reads
//! <cache>/members-v1/<who told>/<two digits>/<sha256>           a file out of a wheel, by wheel and path
//! <cache>/digests-v1/<hash of the file's address>              size and sha256 of a file whose page does not say
//! ```
//!
//! METADATA is kept for good under the sha256 of its wheel, and mostly nobody has seen the whole wheel: whoever told
//! it could have told anything. So it counts only for who asks the same teller again; what was read out of a wheel
//! that has the sha256 counts for everybody. Another file out of a wheel is kept in the same way, with the wheel's name.
//!
//! Every entry ends up in place by a rename and begins with a checksum, so that two processes, a full disk or a
//! crash can at worst lose one. A cache that cannot be written is mentioned once and otherwise done without.
//! All writing is done by one thread, away from those who wait for answers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};

use super::source::Page;
use super::stored;
use crate::pep::{PackageName, Sha256, WheelName};
use crate::progress::Progress;
use crate::sys::fs::{self, Durability};
use crate::sys::http::Validators;

/// The folder of pages, by index and package.
pub const PAGES: &str = "pages-v1";
/// The folder of METADATA, by teller and the wheel's sha256.
pub const METADATA: &str = "metadata-v2";
/// The folder of other files out of wheels, by teller and digest of the wheel's sha256 and the file's path.
pub const MEMBERS: &str = "members-v1";
/// The folder of sizes and digests, by address.
pub const DIGESTS: &str = "digests-v1";

/// The folder of METADATA that was read out of wheels whose sha256 was computed.
pub const CHECKED: &str = "checked";

const MAGIC: &[u8; 8] = b"macml-1\n";

/// The cache folder.
pub(super) struct Cache {
    root: Option<PathBuf>,
    jobs: Option<mpsc::Sender<(PathBuf, Vec<u8>)>>,
    writer: Option<JoinHandle<()>>,
}

/// What was said with a page.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Said {
    /// When it was fetched or confirmed, in seconds since 1970.
    pub(super) fetched: u64,
    /// Until when it needs no question.
    pub(super) fresh_until: u64,
    /// `ETag`.
    pub(super) etag: Option<String>,
    /// `Last-Modified`.
    pub(super) last_modified: Option<String>,
    /// The index does not know the package.
    pub(super) absent: bool,
}

impl Said {
    /// Returns whether the page may be used without asking.
    pub(super) fn is_fresh(&self, now: u64) -> bool {
        // A page from the future was written under a wrong clock.
        self.fetched <= now && now < self.fresh_until
    }

    /// Returns what to ask with.
    pub(super) fn validators(&self) -> Validators {
        Validators { etag: self.etag.clone(), last_modified: self.last_modified.clone() }
    }
}

/// A file that was read whole, with what tells whether it is still the same.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Digest {
    pub(super) size: u64,
    pub(super) sha256: Sha256,
    /// `ETag`.
    pub(super) etag: Option<String>,
    /// `Last-Modified`.
    pub(super) last_modified: Option<String>,
}

impl Digest {
    /// Returns whether a server that now says `size` and `validators` still has that file.
    pub(super) fn is_still(&self, size: u64, validators: &Validators) -> bool {
        let told = self.etag.is_some() || self.last_modified.is_some();
        told && self.size == size && self.etag == validators.etag && self.last_modified == validators.last_modified
    }
}

/// Whom METADATA is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Teller<'a> {
    /// The index or mirror at this address: a metadata file, or some ranges of the wheel.
    Index(&'a str),
    /// The whole wheel, which has the sha256.
    Wheel,
}

/// A page of the cache.
pub(super) struct Kept {
    pub(super) said: Said,
    /// Empty when absent.
    pub(super) page: Arc<Page>,
    entry: Arc<[u8]>,
    start: usize,
}

impl Kept {
    /// Returns the stored files.
    pub(super) fn stored(&self) -> &[u8] {
        &self.entry[self.start..]
    }
}

impl Cache {
    /// Uses `root`, or nothing.
    pub(super) fn new(root: Option<PathBuf>, progress: Arc<dyn Progress>) -> Self {
        let (jobs, queue) = mpsc::channel::<(PathBuf, Vec<u8>)>();
        let shown = root.clone().unwrap_or_default();
        let writer = root.is_some().then(|| {
            std::thread::spawn(move || {
                let mut broken = false;
                for (path, bytes) in queue {
                    if broken {
                        continue;
                    }
                    if let Err(error) = fs::write_atomic(&path, &bytes, Durability::Cached) {
                        broken = true;
                        let cause = error.cause;
                        let folder = shown.display();
                        progress.note(&format!(
                            "the cache `{folder}` cannot be written ({cause}); nothing more is kept in this run"
                        ));
                    }
                }
            })
        });
        Self { root, jobs: Some(jobs), writer }
    }

    /// Reads the page of `name` that `address` served.
    pub(super) fn page(&self, address: &str, name: &PackageName) -> Option<Kept> {
        let entry = self.read(&self.page_path(address, name)?)?;
        let (length, rest) = entry.get(CONTENT..)?.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let said: Said = postcard::from_bytes(rest.get(..length)?).ok()?;
        let start = CONTENT + 4 + length;
        let page = if said.absent { Page::default() } else { stored::open(entry.clone(), start)? };
        Some(Kept { said, page: Arc::new(page), entry, start })
    }

    /// Keeps the page of `name`; `stored` is what [`stored::encode`] made.
    pub(super) fn keep_page(&self, address: &str, name: &PackageName, said: &Said, stored: &[u8]) {
        let Some(path) = self.page_path(address, name) else { return };
        let said = postcard::to_stdvec(said).expect("plain data always encodes");
        self.write(path, &[&(said.len() as u32).to_le_bytes(), &said, stored]);
    }

    /// Reads what `teller` told of METADATA of the wheel with this sha256.
    pub(super) fn metadata(&self, teller: Teller<'_>, sha256: Sha256) -> Option<Vec<u8>> {
        let entry = self.read(&self.metadata_path(teller, sha256)?)?;
        entry.get(CONTENT..).map(<[u8]>::to_vec)
    }

    /// Keeps what `teller` told of METADATA of a wheel.
    pub(super) fn keep_metadata(&self, teller: Teller<'_>, sha256: Sha256, metadata: &[u8]) {
        if let Some(path) = self.metadata_path(teller, sha256) {
            self.write(path, &[metadata]);
        }
    }

    /// Reads what `teller` told of a file of a wheel.
    pub(super) fn member(&self, teller: Teller<'_>, wheel: &WheelName, sha256: Sha256, path: &str) -> Option<Vec<u8>> {
        let entry = self.read(&self.member_path(teller, sha256, path)?)?;
        let rest = entry.get(CONTENT..)?.strip_prefix(wheel.to_string().as_bytes())?;
        rest.strip_prefix(b"\n").map(<[u8]>::to_vec)
    }

    /// Keeps what `teller` told of a file of a wheel.
    pub(super) fn keep_member(&self, teller: Teller<'_>, wheel: &WheelName, sha256: Sha256, path: &str, bytes: &[u8]) {
        if let Some(path) = self.member_path(teller, sha256, path) {
            self.write(path, &[format!("{wheel}\n").as_bytes(), bytes]);
        }
    }

    /// Reads what the file at `address` was when it was last digested.
    pub(super) fn digest(&self, address: &str) -> Option<Digest> {
        let entry = self.read(&self.digest_path(address)?)?;
        postcard::from_bytes(entry.get(CONTENT..)?).ok()
    }

    /// Keeps what the file at `address` is now.
    pub(super) fn keep_digest(&self, address: &str, digest: &Digest) {
        if let Some(path) = self.digest_path(address) {
            self.write(path, &[&postcard::to_stdvec(digest).expect("plain data always encodes")]);
        }
    }

    fn digest_path(&self, address: &str) -> Option<PathBuf> {
        Some(self.root.as_ref()?.join(DIGESTS).join(Sha256::of(address.as_bytes()).to_string()))
    }

    fn page_path(&self, address: &str, name: &PackageName) -> Option<PathBuf> {
        let folder = self.root.as_ref()?.join(PAGES).join(folder_of(address));
        Some(folder.join(page_name(name)))
    }

    fn metadata_path(&self, teller: Teller<'_>, sha256: Sha256) -> Option<PathBuf> {
        self.told_path(METADATA, teller, sha256)
    }

    fn member_path(&self, teller: Teller<'_>, sha256: Sha256, path: &str) -> Option<PathBuf> {
        self.told_path(MEMBERS, teller, Sha256::of(format!("{sha256} {path}").as_bytes()))
    }

    fn told_path(&self, kind: &str, teller: Teller<'_>, digest: Sha256) -> Option<PathBuf> {
        let teller = match teller {
            Teller::Index(address) => folder_of(address),
            Teller::Wheel => CHECKED.to_owned(),
        };
        let digest = digest.to_string();
        Some(self.root.as_ref()?.join(kind).join(teller).join(&digest[..2]).join(digest))
    }

    /// Reads an entry; what is missing, unreadable or damaged does not exist.
    fn read(&self, path: &Path) -> Option<Arc<[u8]>> {
        let entry: Arc<[u8]> = fs::read_bytes(path).ok()??.into();
        is_whole(&entry).then_some(entry)
    }

    fn write(&self, path: PathBuf, parts: &[&[u8]]) {
        let mut entry = Vec::with_capacity(CONTENT + parts.iter().map(|part| part.len()).sum::<usize>());
        entry.extend(MAGIC);
        entry.extend([0; 8]);
        parts.iter().for_each(|part| entry.extend_from_slice(part));
        let sum = checksum(&entry[CONTENT..]).to_le_bytes();
        entry[8..CONTENT].copy_from_slice(&sum);
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send((path, entry));
        }
    }
}

impl Drop for Cache {
    /// Waits until everything is written.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Says whether these are the bytes of an entry as it was written.
pub fn is_whole(entry: &[u8]) -> bool {
    let parts = entry.split_first_chunk::<8>().and_then(|(magic, rest)| Some((magic, rest.split_first_chunk::<8>()?)));
    parts.is_some_and(|(magic, (sum, content))| magic == MAGIC && u64::from_le_bytes(*sum) == checksum(content))
}

/// Names the file of a package's page in the folder of an index.
pub fn page_name(name: &PackageName) -> String {
    match name.as_str() {
        short if short.len() <= LONGEST_NAME => short.to_owned(),
        // No volume takes more than 255 bytes. The `.` keeps it apart from names that are written out.
        long => format!(".{}", Sha256::of(long.as_bytes())),
    }
}

/// Reads out of an entry of METADATA which package it is of.
pub fn metadata_name(entry: &[u8]) -> Option<PackageName> {
    let text = std::str::from_utf8(entry.get(CONTENT..)?).ok()?;
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.into_iter().find(|(field, _)| field.eq_ignore_ascii_case("name"))?.1.trim().parse().ok()
}

/// Reads out of an entry of another file which package its wheel is of.
pub fn member_name(entry: &[u8]) -> Option<PackageName> {
    let line = entry.get(CONTENT..)?.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line).ok()?.parse::<WheelName>().ok().map(|wheel| wheel.name)
}

/// The longest package name that becomes a file's name, with room for the ending of a file being written.
const LONGEST_NAME: usize = 200;

/// Names the folder of an index by its address.
fn folder_of(address: &str) -> String {
    let mut digest = Sha256::of(address.as_bytes()).to_string();
    digest.truncate(16);
    digest
}

/// Where the content of an entry begins: after magic and checksum.
const CONTENT: usize = 16;

/// Finds accidents, not malice; eight bytes at a time, since a page is read for every package of a run.
fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)))
}
