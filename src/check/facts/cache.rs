//! The facts of wheels, kept by the wheel's sha256: they are of its bytes alone, and hold for good.
//!
//! ```text
//! <cache>/facts-v1/<sha256>   a line with the digest of what follows; that of the wheel's sha256 and release; the form; the facts, in blocks
//! block                       size packed, size inflated (4 bytes each), deflated bytes
//! ```
//!
//! The facts of TensorFlow are nearly all of an environment's, so that its blocks are inflated side by side.
//!
//! What is there counts only whole and for its own wheel: an entry that was cut short, or copied from another wheel, is as
//! none. So is that of a wheel which a lock gives out as another release than it is: whoever reads that wheel finds out. Another form of the facts needs another [`FORM`]; another place of the parts another folder.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::image::WheelFacts;
use crate::cache::FACTS;
use crate::pep::{Sha256, WheelName};
use crate::sys::fs;
use crate::sys::fs::{Durability, FsError};
use crate::sys::parallel;

/// The form of the facts: changed with their types, and with what the reader reads.
const FORM: u8 = 7;

/// The largest entry, and what it may inflate to. TensorFlow's are 3 MB and 30 MB.
const LARGEST: u64 = 256 << 20;
const LARGEST_INFLATED: usize = 1 << 30;

/// How much is packed together: as much as still packs as well as the whole.
const BLOCK: usize = 1 << 20;

const DIGEST: usize = 32;

/// Each of the two sizes before a block.
const SIZE: usize = 4;

/// Facts of wheels in a folder.
#[derive(Clone, Debug)]
pub struct FactsCache {
    root: PathBuf,
}

impl FactsCache {
    /// Names the facts inside macml's cache folder. Nothing is made.
    pub fn inside(cache: &Path) -> Self {
        Self { root: cache.join(FACTS) }
    }

    fn path(&self, wheel: Sha256) -> PathBuf {
        self.root.join(wheel.to_string())
    }

    /// Returns the facts of a wheel, if they are there and whole.
    ///
    /// # Errors
    /// When something is there and cannot be read.
    pub fn get(&self, wheel: &WheelName, sha256: Sha256) -> Result<Option<WheelFacts>, FsError> {
        Ok(fs::read_plain(&self.path(sha256), LARGEST)?.and_then(|bytes| decode(key(wheel, sha256), &bytes)))
    }

    /// Keeps the facts of a wheel.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put(&self, wheel: &WheelName, sha256: Sha256, facts: &WheelFacts) -> Result<(), FsError> {
        let bytes = encode(key(wheel, sha256), facts);
        fs::write_atomic(&self.path(sha256), &bytes, Durability::Cached).map(drop)
    }
}

/// Returns what an entry is known by to be that of a wheel, as the release that it was read for.
fn key(wheel: &WheelName, sha256: Sha256) -> Sha256 {
    Sha256::of(format!("{sha256} {} {}", wheel.name, wheel.version).as_bytes())
}

/// Makes the bytes of an entry.
fn encode(key: Sha256, facts: &WheelFacts) -> Vec<u8> {
    let plain = postcard::to_stdvec(facts).expect("plain data always encodes");
    let mut body = key.as_bytes().to_vec();
    body.push(FORM);
    for block in plain.chunks(BLOCK) {
        put_block(block, &mut body);
    }
    [format!("{}\n", Sha256::of(&body)).as_bytes(), &body].concat()
}

/// Reads an entry; `None` where it is not whole, of another wheel or of another form.
fn decode(key: Sha256, entry: &[u8]) -> Option<WheelFacts> {
    let (sum, body) = entry.split_at_checked(2 * DIGEST)?;
    let body = body.strip_prefix(b"\n")?;
    if std::str::from_utf8(sum).ok()?.parse() != Ok(Sha256::of(body)) {
        return None;
    }
    let packed = body.strip_prefix(key.as_bytes())?.strip_prefix(&[FORM])?;
    postcard::from_bytes(&inflate(packed)?).ok()
}

/// Packs bytes of at most [`BLOCK`], with their sizes before them.
fn put_block(plain: &[u8], into: &mut Vec<u8>) {
    // However badly bytes pack, none takes more than nine bits.
    let mut packed = Vec::with_capacity(plain.len() + plain.len() / 8 + 64);
    let done = Compress::new(Compression::default(), false).compress_vec(plain, &mut packed, FlushCompress::Finish);
    assert!(matches!(done, Ok(Status::StreamEnd)), "there is room for every byte");
    for size in [packed.len(), plain.len()] {
        into.extend_from_slice(&u32::try_from(size).expect("a block is small").to_le_bytes());
    }
    into.extend_from_slice(&packed);
}

/// Inflates blocks, several at a time; `None` where they are not what [`put_block`] makes.
fn inflate(mut packed: &[u8]) -> Option<Vec<u8>> {
    let mut blocks: Vec<(&[u8], usize)> = Vec::new();
    let mut whole = 0;
    while !packed.is_empty() {
        let mut take_size = || {
            let (size, rest) = packed.split_first_chunk::<SIZE>()?;
            packed = rest;
            usize::try_from(u32::from_le_bytes(*size)).ok()
        };
        let (size, inflated) = (take_size()?, take_size()?);
        let (block, rest) = packed.split_at_checked(size)?;
        packed = rest;
        whole += inflated;
        if inflated > BLOCK || whole > LARGEST_INFLATED {
            return None;
        }
        blocks.push((block, inflated));
    }
    let mut plain = vec![0; whole];
    let mut left = &mut plain[..];
    let mut places = Vec::with_capacity(blocks.len());
    for (block, inflated) in blocks {
        let (place, rest) = std::mem::take(&mut left).split_at_mut(inflated);
        left = rest;
        places.push((block, Mutex::new(place)));
    }
    let done = parallel::map(&places, parallel::cores(), |(block, place)| {
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inflater = Decompress::new(false);
        let status = inflater.decompress(block, &mut place, FlushDecompress::Finish).ok()?;
        let whole = status == Status::StreamEnd && inflater.total_in() == block.len() as u64;
        (whole && inflater.total_out() == place.len() as u64).then_some(())
    });
    drop(places);
    done.into_iter().collect::<Option<()>>().map(|()| plain)
}

#[cfg(test)]
mod tests {
    use super::super::image::{Import, Imports, Kind, Markers, Ordinal, Signature, Slice, Table};
    use super::super::{Exports, Image, Trie};
    use super::*;

    fn facts() -> WheelFacts {
        let import = |name| Import { ordinal: Ordinal::Dependency(3), name, weak: true, lazy: false };
        let trie = b"\x00\x01_a\x00\x06\x02\x00\x10\x00".to_vec();
        let slice = |exports| Slice {
            kind: Kind::Bundle,
            two_level: true,
            install_name: None,
            dependencies: Vec::new(),
            rpaths: vec!["@loader_path".to_owned()],
            build: None,
            imports: Imports::new(Table::Opcodes, ["_b", "_a", "_b"].map(import)),
            exports,
            signature: Signature::Intact,
            markers: Markers::default(),
        };
        let image =
            |path: &str, exports| Image { path: path.to_owned(), architectures: vec![], slice: Ok(slice(exports)) };
        let exports = [Exports::Trie(Trie::of_linker(&trie).unwrap()), Exports::of_names(["_x"])];
        let images = ["a.so", "b.so"].into_iter().zip(exports).map(|(path, exports)| image(path, exports)).collect();
        WheelFacts { images, requires: ["torch".parse().unwrap()].into(), ..WheelFacts::default() }
    }

    #[test]
    fn facts_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, wheel) = (FactsCache::inside(folder.path()), Sha256::of(b"wheel"));
        let called: [WheelName; 3] =
            ["a-1-py3-none-any.whl", "b-1-py3-none-any.whl", "a-2-py3-none-any.whl"].map(|name| name.parse().unwrap());
        assert_eq!(cache.get(&called[0], wheel).unwrap(), None);
        cache.put(&called[0], wheel, &facts()).unwrap();
        assert_eq!(cache.get(&called[0], wheel).unwrap(), Some(facts()));
        assert_eq!(cache.get(&called[0], Sha256::of(b"other")).unwrap(), None);
        for other in &called[1..] {
            assert_eq!(cache.get(other, wheel).unwrap(), None, "they are not those of {other}");
        }
        let Ok(slice) = &facts().images[0].slice else { panic!() };
        assert_eq!(slice.imports.iter().map(|import| import.name).collect::<Vec<_>>(), ["_a", "_b"]);
    }

    #[test]
    fn blocks_come_back_as_one() {
        let mut noise = 1_u32;
        let mut random = || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        };
        for size in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            for plain in [vec![b'a'; size], (0..size).map(|_| random()).collect()] {
                let mut packed = Vec::new();
                plain.chunks(BLOCK).for_each(|block| put_block(block, &mut packed));
                assert!(inflate(&packed).as_ref() == Some(&plain), "{size}");
                for cut in 1..packed.len().min(20) {
                    assert!(inflate(&packed[..packed.len() - cut]).as_ref() != Some(&plain), "{size} {cut}");
                }
            }
        }
        let mut block = Vec::new();
        put_block(b"some bytes", &mut block);
        let other = |at: usize, size: u32| {
            let mut other = block.clone();
            other[at..at + SIZE].copy_from_slice(&size.to_le_bytes());
            inflate(&other)
        };
        assert_eq!(other(SIZE, 10).as_deref(), Some(&b"some bytes"[..]));
        for size in [0, 9, 11, u32::MAX] {
            assert_eq!(other(SIZE, size), None, "{size}");
            assert_eq!(other(0, size), None, "{size}");
        }
    }

    #[test]
    fn an_entry_that_is_not_whole_or_not_its_own_is_none() {
        let (wheel, other) = (Sha256::of(b"wheel"), Sha256::of(b"other"));
        let whole = encode(wheel, &facts());
        assert_eq!(decode(wheel, &whole), Some(facts()));
        for length in 0..whole.len() {
            assert_eq!(decode(wheel, &whole[..length]), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            assert_eq!(decode(wheel, &flipped), None, "{at}");
        }
        assert_eq!(decode(other, &whole), None);
        assert_eq!(decode(wheel, &[&whole[..], b"x"].concat()), None);
        // Signed anew, but of another form, or with a body that is none.
        let signed = |body: &[u8]| [format!("{}\n", Sha256::of(body)).as_bytes(), body].concat();
        let body = &whole[2 * DIGEST + 1..];
        assert!(decode(wheel, &signed(body)).is_some());
        let mut later = body.to_vec();
        later[DIGEST] = FORM + 1;
        assert_eq!(decode(wheel, &signed(&later)), None);
        assert_eq!(decode(wheel, &signed(&body[..DIGEST + 1])), None);
        assert_eq!(decode(wheel, &signed(&[wheel.as_bytes(), &[FORM][..], b"\xff\xff\xff"].concat())), None);
    }
}
