//! The facts of wheels, kept by the wheel's sha256: they are of its bytes alone, and hold for good.
//!
//! ```text
//! <cache>/facts-v1/<sha256>   a line with the digest of what follows; that of the wheel's sha256 and release; the facts, deflated
//! ```
//!
//! What is there counts only whole and for its own wheel: an entry that was cut short, or copied from another wheel, is as
//! none. So is that of a wheel which a lock gives out as another release than it is: whoever reads that wheel finds out. Another form of the facts needs another [`FORM`]; another place of the parts another folder.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::image::WheelFacts;
use crate::cache::FACTS;
use crate::pep::{Sha256, WheelName};
use crate::sys::fs;
use crate::sys::fs::{Durability, FsError};

/// The form of the facts: changed with their types, and with what the reader reads.
const FORM: u8 = 4;

/// The largest entry, and what it may inflate to. TensorFlow's are 3 MB and 30 MB.
const LARGEST: u64 = 256 << 20;
const LARGEST_INFLATED: u64 = 1 << 30;

const DIGEST: usize = 32;

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
    let mut packer = DeflateEncoder::new(body, Compression::default());
    packer.write_all(&plain).expect("memory takes every byte");
    let body = packer.finish().expect("memory takes every byte");
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
    let mut plain = Vec::new();
    DeflateDecoder::new(packed).take(LARGEST_INFLATED).read_to_end(&mut plain).ok()?;
    postcard::from_bytes(&plain).ok()
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
