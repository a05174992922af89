//! Bytes that lie: nothing panics, nothing takes memory or time without bound. Each corpus file once, then changed at
//! random from a seed; `MACML_FUZZ=600` goes on for so many seconds with seeds of its own, and says the seed of a find.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use macml::check::facts::macho::{Pages, read};
use macml::check::facts::{FactsCache, Slice, Trie, TrieError, Unloadable, read_tree};
use macml::pep::Sha256;

use super::made::image;
use crate::support::macho::{ARM64, Made, MadeExport, MadeImports, MadeSignature, X86_64, fat, uleb};

/// How long one reading may take, on a machine that others use too.
const LONGEST: Duration = Duration::from_secs(5);

/// How many changed files are read when nobody asks for more.
const USUAL: u64 = 400;

/// Numbers from a seed (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Changes some bytes: bits, numbers that are often a limit, parts that are repeated, moved or gone.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    const LIMITS: [u64; 10] =
        [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, u64::MAX];
    for _ in 0..=random.below(6) {
        if bytes.is_empty() {
            return;
        }
        // Most of what is read stands at the start, or in the tables at the end.
        let at = match random.below(4) {
            0 => random.below(bytes.len()),
            1 => bytes.len() - 1 - random.below(bytes.len().min(1024)),
            _ => random.below(bytes.len().min(2048)),
        };
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 | 3 => {
                let number = LIMITS[random.below(LIMITS.len())].wrapping_add(random.below(3) as u64).to_le_bytes();
                let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            4 => {
                let number = (random.below(bytes.len() * 2) as u32).to_le_bytes();
                let width = 4.min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
            5 => {
                let end = (at + 1 + random.below(64)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len() - part.len() + 1);
                bytes[to..to + part.len()].copy_from_slice(&part);
            }
            6 => bytes.truncate(bytes.len() - random.below(bytes.len().min(256))),
            _ => {
                let end = (at + 1 + random.below(64)).min(bytes.len());
                bytes[at..end].fill([0x80, 0xff, 0, b'_'][random.below(4)]);
            }
        }
    }
}

/// Runs a reader over a corpus and over changed files of it.
fn fuzz(corpus: &[(String, Vec<u8>)], read: impl Fn(&[u8])) {
    let run = |bytes: &[u8], name: &str, seed: u64| {
        let begun = Instant::now();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(bytes)));
        let took = begun.elapsed();
        if outcome.is_err() || took > LONGEST {
            let find = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("find-{seed}"));
            std::fs::write(&find, bytes).unwrap();
            panic!("`{name}` changed by seed {seed} took {took:?}, kept at {}", find.display());
        }
    };
    corpus.iter().for_each(|(name, bytes)| run(bytes, name, 0));
    let seconds: Option<u64> = std::env::var("MACML_FUZZ").ok().map(|seconds| seconds.parse().unwrap());
    let begun = Instant::now();
    let first = if seconds.is_some() {
        std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64 | 1
    } else {
        0x9e37_79b9_7f4a_7c15
    };
    let mut count = 0;
    while seconds.map_or(count < USUAL, |seconds| begun.elapsed().as_secs() < seconds) {
        let seed = first.wrapping_add(count);
        let mut random = Random(seed);
        // The first numbers of neighbouring seeds are neighbours.
        for _ in 0..8 {
            random.next();
        }
        let (name, bytes) = &corpus[random.below(corpus.len())];
        let mut bytes = bytes.clone();
        change(&mut bytes, &mut random);
        run(&bytes, name, seed);
        count += 1;
    }
    if seconds.is_some() {
        let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = peak.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown").to_owned();
        eprintln!("{count} files, {peak}");
    }
}

fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/facts/corpus")
}

/// Returns committed files whose names begin so.
fn committed(start: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(corpus_folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with(start) {
            found.push((name, std::fs::read(path).unwrap()));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no corpus of `{start}`");
    found
}

/// Small images of every kind.
fn images() -> Vec<(String, Vec<u8>)> {
    let exports = BTreeMap::from([
        ("_png_write_info", MadeExport::At(0x1000)),
        ("_png_write_info_before_PLTE", MadeExport::At(0x1004)),
        ("_renamed", MadeExport::Other(2, "_there")),
        ("_GetPjrtApi", MadeExport::At(0x1000)),
    ]);
    let some = vec![(1, "_malloc", false), (2, "_weak", true), (-2, "_PyLong_Type", false), (0, "_own", false)];
    let base = Made {
        exports,
        rpaths: vec!["@loader_path"],
        newer: vec![("@rpath/newer.dylib", 3)],
        code: [0xb000_0000_u32, 0x9100_4000, 0xd65f_03c0].iter().flat_map(|word| word.to_le_bytes()).collect(),
        data: b"numpy._core._multiarray_umath\0NumPy C-API version 0x%x (NumPy 1.23) \0KMP_REGISTERED_LIB".to_vec(),
        ..Made::default()
    };
    let with = |imports| Made { imports, ..base.clone() };
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for format in 1..=3 {
        all.push((format!("chained-{format}"), with(MadeImports::Chained(format, some.clone())).bytes()));
    }
    all.push(("opcodes".to_owned(), with(MadeImports::Opcodes(some.clone(), some.clone())).bytes()));
    let symbols = Made { no_trie: true, ..with(MadeImports::Symbols(some.clone())) };
    all.push(("symbols".to_owned(), symbols.bytes()));
    let alternate = Some(MadeSignature { page: 14, alternate: true });
    all.push(("alternate".to_owned(), Made { signature: alternate, build: None, ..base.clone() }.bytes()));
    let thin = with(MadeImports::Chained(1, some)).bytes();
    let intel = Made { cpu: X86_64, ..base }.bytes();
    for wide in [false, true] {
        all.push((format!("fat-{wide}"), fat(&[(X86_64, intel.clone()), (ARM64, thin.clone())], wide)));
    }
    all
}

fn read_image(bytes: &[u8]) {
    for pages in [Pages::Hashed, Pages::Skipped] {
        // Without pages most of a file is not even read, and everything else is the same.
        let Some(image) = read("x", bytes.len() as u64, &mut Cursor::new(bytes), pages).unwrap() else { return };
        let Ok(slice) = image.slice else { continue };
        look_up(&slice);
    }
}

/// Looks every import up among the exports, whatever comes of it.
fn look_up(slice: &Slice) {
    for import in slice.imports.iter() {
        slice.exports.find(import.name);
    }
    slice.exports.has_prefix("_TF_");
}

fn read_trie(bytes: &[u8]) {
    let Ok(trie) = Trie::of_linker(bytes) else { return };
    let exports = macml::check::facts::Exports::Trie(trie);
    for name in exports.names() {
        exports.find(&name);
    }
    for name in ["", "_", "_a", "_png_write_info", "_png_write_info_before_PLTE"] {
        exports.find(name);
        exports.has_prefix(name);
    }
}

#[test]
fn damaged_images() {
    let corpus: Vec<_> = images().into_iter().chain(committed("image")).collect();
    // Undamaged they are good, or the damage proves nothing.
    for (name, bytes) in images() {
        image(&bytes).slice.unwrap_or_else(|error| panic!("{name}: {error:?}"));
    }
    fuzz(&corpus, read_image);
}

#[test]
fn damaged_tries() {
    fuzz(&committed("trie"), read_trie);
}

/// Files of other kinds that a wheel has, through the reader of a tree.
#[test]
fn damaged_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.py");
    fuzz(&committed("other"), |bytes| {
        std::fs::write(&path, bytes).unwrap();
        let files = ["x.py", "./x.py"];
        read_tree(folder.path(), files, Pages::Hashed).unwrap();
    });
}

/// Entries of the cache, each with a true sum.
#[test]
fn damaged_facts() {
    let folder = tempfile::tempdir().unwrap();
    let cache = FactsCache::inside(folder.path());
    let (called, wheel) = ("a-1-py3-none-any.whl".parse().unwrap(), Sha256::of(b"wheel"));
    let mut facts = macml::check::facts::WheelFacts::default();
    facts.images.extend(images().iter().map(|(_, bytes)| image(bytes)));
    cache.put(&called, wheel, &facts).unwrap();
    let path = folder.path().join("facts-v1").join(wheel.to_string());
    let whole = std::fs::read(&path).unwrap();
    let body = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    fuzz(&[("facts".to_owned(), whole[body..].to_vec())], |body| {
        let entry = [format!("{}\n", Sha256::of(body)).as_bytes(), body].concat();
        std::fs::write(&path, entry).unwrap();
        for image in cache.get(&called, wheel).unwrap().into_iter().flat_map(|facts| facts.images) {
            let Ok(slice) = image.slice else { continue };
            look_up(&slice);
        }
    });
}

#[test]
fn tries_that_lead_nowhere() {
    let error = |bytes: &[u8]| Trie::of_linker(bytes).unwrap_err();
    // To itself, to its parent, and two ways to one node, doubled over and over.
    assert_eq!(error(b"\0\x01a\0\0"), TrieError::NoTree);
    assert_eq!(error(b"\0\x01a\0\x05\0\x01b\0\0"), TrieError::NoTree);
    let mut doubled = Vec::new();
    for level in 1..30 {
        let next = uleb(level * 8);
        let mut node = vec![0, 2, b'a', 0];
        node.extend(&next);
        node.extend([b'b', 0]);
        node.extend(&next);
        node.resize(8, 0);
        doubled.extend(node);
    }
    doubled.extend([0; 4]);
    assert!(matches!(error(&doubled), TrieError::NoTree | TrieError::Short));
    // Past the end: a node, a terminal, a name, a count; and numbers without end.
    assert_eq!(error(b"\0\x01a\0\x20"), TrieError::Short);
    assert_eq!(error(b"\x20\0"), TrieError::Short);
    assert_eq!(error(b"\0\x01aaaa"), TrieError::Short);
    assert_eq!(error(b"\0\xff"), TrieError::Short);
    assert_eq!(error(&[0x80; 20]), TrieError::Large);
    assert_eq!(error(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0"), TrieError::Large);
    assert!(Trie::of_linker(&[]).is_ok());
}

#[test]
fn counts_and_names_without_end() {
    let made = |imports| Made { imports, ..Made::default() }.bytes();
    let malformed = |bytes: &[u8]| match image(bytes).slice {
        Err(Unloadable::Malformed(reason)) => reason,
        other => panic!("{other:?}"),
    };
    // Four billion imports.
    let mut bytes = made(MadeImports::Chained(1, vec![(1, "_a", false)]));
    let header = [0_u32, 28, 28, 32, 1, 1, 0].iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let at = bytes.windows(28).position(|window| window == header).unwrap();
    bytes[at + 16..at + 20].fill(0xff);
    malformed(&bytes);
    // Many imports of one name as long as the table: time by the product, were it not for the limit.
    let mut raw = Vec::new();
    for ordinal in 0..200_000_u64 {
        raw.push(0x20);
        raw.extend(uleb(ordinal));
        raw.push(0x90);
    }
    let long = [b"\x40_", &vec![b'x'; 100_000][..], b"\0", &raw].concat();
    assert!(malformed(&made(MadeImports::Raw(long, vec![], vec![]))).contains("more names than any"));
    // A name, and a number, that do not end.
    malformed(&made(MadeImports::Raw(b"\x40_aaaaaaa".to_vec(), vec![], vec![])));
    malformed(&made(MadeImports::Raw([&[0x20][..], &[0xff; 19]].concat(), vec![], vec![])));
    malformed(&made(MadeImports::Raw(b"\x11\x40\xff\xfe\0\x90".to_vec(), vec![], vec![])));
    malformed(&made(MadeImports::Raw(b"\xd0\0".to_vec(), vec![], vec![])));
    // Load commands without end: by number, and by size.
    for (at, number) in [(16, u32::MAX), (20, u32::MAX), (36, 0), (36, u32::MAX)] {
        let mut bytes = Made::default().bytes();
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        malformed(&bytes);
    }
}
