//! Facts of real wheels from the real index, each wheel downloaded and read once for all runs, for tests that were asked for
//! by `MACML_LIVE`. They count only for the reader that read them: another one reads everything anew.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use macml::check::facts;
use macml::check::facts::{FactsCache, WheelFacts};
use macml::index::Config;
use macml::index::download::{Downloads, Wanted};
use macml::install;
use macml::pep::{Sha256, WheelName};
use macml::progress::Silent;
use macml::sys::Env;

/// The wheels that are on the disk at once, in number and bytes; a larger one is there alone.
const AT_ONCE: (usize, u64) = (8, 400_000_000);

/// What had to be fetched for a test.
#[derive(Default)]
pub(crate) struct Fetched {
    pub(crate) wheels: usize,
    pub(crate) bytes: u64,
}

/// The digest of the sources of what reads wheels.
fn reader() -> Sha256 {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check/facts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.extend(
        files.clone().iter().filter(|path| path.is_dir()).flat_map(|folder| {
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
        }),
    );
    files.retain(|path| path.extension().is_some_and(|end| end == "rs"));
    files.sort();
    let texts: Vec<Vec<u8>> = files.iter().map(|path| std::fs::read(path).unwrap()).collect();
    Sha256::of(&texts.concat())
}

/// Where pages of the index are kept, and wheels while they are read.
pub(crate) fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-facts/cache")
}

/// Returns the folder with the facts of this reader; those of others are removed.
fn kept() -> FactsCache {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-facts/read");
    let own = &reader().to_string()[..16];
    for entry in std::fs::read_dir(&all).into_iter().flatten() {
        let entry = entry.unwrap();
        if entry.file_name() != *own {
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    FactsCache::inside(&all.join(own))
}

/// Reads a wheel that lies there.
pub(crate) fn read(path: &Path, name: &WheelName) -> WheelFacts {
    let bytes = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    facts::read_wheel(&mut install::open(bytes, name).unwrap()).unwrap()
}

/// Hands on the facts of wheels, one after the other, and says what was fetched for that.
pub(crate) fn each(wanted: &[Wanted], mut look: impl FnMut(&Wanted, WheelFacts)) -> Fetched {
    // One at a time, since several tests look at the same wheels.
    static FETCHING: Mutex<()> = Mutex::new(());
    let _fetching = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept();
    let (there, missing): (Vec<_>, Vec<_>) =
        wanted.iter().cloned().partition(|one| matches!(kept.get(&one.wheel, one.sha256), Ok(Some(_))));
    for one in there {
        look(&one, kept.get(&one.wheel, one.sha256).unwrap().unwrap());
    }
    let config = Config { cache_dir: Some(cache()), ..Config::new(Env::capture().unwrap()) };
    let mut rest = &missing[..];
    let mut fetched = Fetched::default();
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |one: &&Wanted| {
            bytes += one.size;
            bytes <= AT_ONCE.1
        };
        let count = rest.iter().take(AT_ONCE.0).take_while(fits).count().max(1);
        let (some, after) = rest.split_at(count);
        for ready in Downloads::begin(&config, some, Arc::new(Silent)).unwrap() {
            let ready = ready.unwrap();
            let one = some.iter().find(|one| one.sha256 == ready.sha256).unwrap();
            let began = Instant::now();
            let facts = read(&ready.path, &one.wheel);
            eprintln!("read {} ({} MB) in {:.1?}", one.wheel, one.size / 1_000_000, began.elapsed());
            ready.discard().unwrap();
            kept.put(&one.wheel, one.sha256, &facts).unwrap();
            fetched.wheels += 1;
            fetched.bytes += one.size;
            look(one, facts);
        }
        rest = after;
    }
    fetched
}
