//! Facts of wheels: kept, read from unpacked ones, fetched from an index on loopback; and what stands in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use macml::check::facts::FactsCache;
use macml::index::download::{DownloadError, Downloads, Place, Wanted};
use macml::index::{Config, IndexAddress};
use macml::install::{Bytes, WheelCache};
use macml::lock::model::LockedWheel;
use macml::pep::Sha256;
use macml::pipeline::check::File;
use macml::pipeline::check::facts::{Facts, From, Why, gather};
use macml::progress::Silent;
use macml::sys::Env;

use crate::support::published::{Published, Rel};
use crate::support::server::FakeIndex;
use crate::support::zip::Crafted;

const NAMES: [&str; 3] = ["one-1.0-py3-none-any.whl", "two-1.0-py3-none-any.whl", "bad-1.0-py3-none-any.whl"];
const ONE: &str = NAMES[0];
const TWO: &str = NAMES[1];
const BAD: &str = NAMES[2];

/// Two wheels with a library of Linux each, and one that would write outside of where it is unpacked.
fn index() -> FakeIndex {
    let with = |path: &str| Rel {
        files: BTreeMap::from([(path.to_owned(), "\u{7f}ELF, or so it says".to_owned())]),
        ..Rel::default()
    };
    let published = Published::default()
        .with_release("one", "1.0", with("one/x.so"))
        .with_release("two", "1.0", with("two/y.so"))
        .with_release("bad", "1.0", with("../bad.so"));
    FakeIndex::from_published(&published)
}

fn file(index: &FakeIndex, name: &str) -> File {
    let bytes = index.bytes(name);
    let place = Place::Index("pypi".into());
    File { wheel: name.parse().unwrap(), sha256: Sha256::of(&bytes), size: Some(bytes.len() as u64), place }
}

fn config(index: &FakeIndex, cache: &Path) -> Config {
    let mut config = Config::new(Env::from_map(BTreeMap::new(), "/".into()));
    config.indexes = vec![IndexAddress { name: "pypi".to_owned(), url: index.url() }];
    config.cache_dir = Some(cache.to_owned());
    config
}

fn fetching(config: &Config, files: &[File]) -> Facts {
    let download = |wanted: &[Wanted]| Downloads::begin(config, wanted, Arc::new(Silent));
    let from = From { cache: config.cache_dir.as_deref(), download: Some(&download) };
    gather(&files.iter().collect::<Vec<_>>(), &from, &Silent)
}

fn here(cache: Option<&Path>, files: &[File]) -> Facts {
    gather(&files.iter().collect::<Vec<_>>(), &From { cache, download: None }, &Silent)
}

/// Returns the library that a wheel is known to have.
#[track_caller]
fn library(facts: &Facts, file: &File) -> String {
    let facts = facts.get(file).unwrap_or_else(|| panic!("`{}` is not known: {:?}", file.wheel, facts.unread));
    assert_eq!(facts.foreign.len(), 1);
    facts.foreign[0].path.clone()
}

fn unread(facts: &Facts) -> Vec<(String, String)> {
    facts.unread.iter().map(|one| (one.wheel.to_string(), one.why.to_string())).collect()
}

/// Returns the downloads that are left.
fn left(cache: &Path) -> BTreeSet<String> {
    let folder = cache.join("downloads-v1");
    let files = if folder.exists() { macml::sys::fs::walk(&folder).unwrap() } else { Vec::new() };
    files.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

fn put_download(cache: &Path, file: &File, ending: &str, bytes: &[u8]) {
    let digest = file.sha256.to_string();
    let folder = cache.join("downloads-v1").join(&digest[..2]);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{digest}.{ending}")), bytes).unwrap();
}

fn unpack(index: &FakeIndex, cache: &Path, file: &File) {
    let (bytes, open) = (index.bytes(&file.wheel.to_string()), WheelCache::inside(cache).open().unwrap());
    let locked = LockedWheel { file: file.wheel.clone(), size: bytes.len() as u64, sha256: file.sha256 };
    open.unpack(&locked, std::io::Cursor::new(bytes), Bytes::Unchecked).unwrap();
}

#[test]
fn wheels_are_fetched_once_read_and_thrown_away() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    let config = config(&index, cache.path());
    let files = [ONE, TWO, ONE].map(|name| file(&index, name));
    let facts = fetching(&config, &files);
    assert_eq!([&files[0], &files[1]].map(|file| library(&facts, file)), ["one/x.so", "two/y.so"]);
    assert_eq!((facts.fetched.wheels, facts.fetched.bytes), (2, files[0].size.unwrap() + files[1].size.unwrap()));
    assert!(left(cache.path()).is_empty() && facts.unread.is_empty());
    assert_eq!(index.files().len(), 2);
    // From then on they are kept, for those who fetch and those who do not.
    let again = fetching(&config, &files);
    assert_eq!((again.fetched.wheels, index.files().len()), (0, 2));
    assert_eq!(library(&here(Some(cache.path()), &files), &files[0]), "one/x.so");
    assert!(!cache.path().join("wheels-v1").join(files[0].sha256.to_string()).exists());
}

/// A lock may say what it likes: a wheel is of one release.
#[test]
fn one_wheel_is_not_of_two_releases() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    let config = config(&index, cache.path());
    let own = file(&index, ONE);
    let other = File { wheel: TWO.parse().unwrap(), ..own.clone() };
    let facts = fetching(&config, &[own.clone(), other.clone()]);
    assert_eq!(library(&facts, &own), "one/x.so");
    assert!(facts.get(&other).is_none());
    let told = unread(&facts);
    let expected = format!("`{ONE}` has the same sha256, and no wheel is of two releases");
    assert_eq!(told, [(TWO.to_owned(), expected)]);
    // Nor is one whose facts were kept for another project.
    let facts = here(Some(cache.path()), std::slice::from_ref(&other));
    assert!(facts.get(&other).is_none());
    assert_eq!(facts.unread[0].why, Why::NotFetched);
}

#[test]
fn nothing_is_fetched_unless_that_is_wished() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    let files = [ONE, TWO].map(|name| file(&index, name));
    unpack(&index, cache.path(), &files[0]);
    let facts = here(Some(cache.path()), &files);
    assert_eq!(library(&facts, &files[0]), "one/x.so");
    assert_eq!(facts.unread.len(), 1);
    assert_eq!((facts.unread[0].sha256, &facts.unread[0].why), (files[1].sha256, &Why::NotFetched));
    assert!(index.requests().is_empty());
    // It is kept without the wheel.
    assert!(FactsCache::inside(cache.path()).get(&files[0].wheel, files[0].sha256).unwrap().is_some());
}

#[test]
fn without_a_cache_what_lies_on_the_disk_is_read() {
    let (index, folder) = (index(), tempfile::tempdir().unwrap());
    let at = |name: &str| File { place: Place::Path(folder.path().join(name)), ..file(&index, name) };
    std::fs::write(folder.path().join(ONE), index.bytes(ONE)).unwrap();
    std::fs::write(folder.path().join(TWO), index.bytes(ONE)).unwrap();
    let files = [at(ONE), at(TWO), at(BAD), File { sha256: Sha256::of(b""), ..file(&index, ONE) }];
    let facts = here(None, &files);
    assert_eq!(library(&facts, &files[0]), "one/x.so");
    let told = unread(&facts);
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].1.contains("is not the locked file"), "{told:?}");
    assert!(told[1].1.ends_with("is not there"), "{told:?}");
    assert_eq!(facts.unread[2].why, Why::NotFetched);
    assert!(!folder.path().join("facts-v1").exists());
}

#[test]
fn what_cannot_be_had_or_read_is_in_nobodys_way() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    let config = config(&index, cache.path());
    let unsized_ = File { size: None, sha256: Sha256::of(b"unsized"), ..file(&index, ONE) };
    let other = File { sha256: Sha256::of(b"other"), ..file(&index, TWO) };
    let files = [file(&index, BAD), other, unsized_, file(&index, ONE), file(&index, TWO)];
    let facts = fetching(&config, &files);
    assert_eq!([&files[3], &files[4]].map(|file| library(&facts, file)), ["one/x.so", "two/y.so"]);
    let told = unread(&facts);
    assert_eq!(told.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [BAD, TWO, ONE]);
    assert!(told[0].1.contains("is refused"), "{told:?}");
    assert!(told[1].1.contains("could not be had as locked"), "{told:?}");
    assert!(told[2].1.contains("its size is not known"), "{told:?}");
    assert!(left(cache.path()).is_empty());
}

#[test]
fn offline_what_is_kept_is_known() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    let mut config = config(&index, cache.path());
    fetching(&config, &[file(&index, ONE)]);
    config.offline = true;
    let files = [ONE, TWO].map(|name| file(&index, name));
    let facts = fetching(&config, &files);
    assert_eq!(library(&facts, &files[0]), "one/x.so");
    let expected = (TWO.to_owned(), "it is not in the cache, and the network is switched off".to_owned());
    assert_eq!(unread(&facts), [expected]);
}

#[test]
fn what_killed_processes_left_is_taken_and_goes() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    let config = config(&index, cache.path());
    let files = [ONE, TWO].map(|name| file(&index, name));
    put_download(cache.path(), &files[0], "whl", &index.bytes(ONE));
    put_download(cache.path(), &files[1], "part", &index.bytes(TWO)[..100]);
    let facts = fetching(&config, &files);
    assert_eq!([&files[0], &files[1]].map(|file| library(&facts, file)), ["one/x.so", "two/y.so"]);
    assert_eq!((facts.fetched.wheels, index.sent()), (1, index.bytes(TWO).len() - 100));
    assert!(left(cache.path()).is_empty());
}

#[test]
fn what_another_process_fetched_stays_its_own() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    let config = config(&index, cache.path());
    let files = [file(&index, ONE)];
    put_download(cache.path(), &files[0], "whl", &index.bytes(ONE));
    let _another = WheelCache::inside(cache.path()).open().unwrap();
    assert_eq!(library(&fetching(&config, &files), &files[0]), "one/x.so");
    assert_eq!(left(cache.path()), BTreeSet::from([format!("{}.whl", files[0].sha256)]));
}

#[test]
fn one_that_another_process_took_is_looked_for_again() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    let config = config(&index, cache.path());
    let (files, taken) = ([file(&index, ONE)], std::cell::Cell::new(0));
    // It is whole, and gone when it is opened: the first time nothing stands for it, then its unpacked files.
    let download = |wanted: &[Wanted]| -> Result<Downloads, DownloadError> {
        taken.set(taken.get() + 1);
        put_download(cache.path(), &files[0], "whl", &index.bytes(ONE));
        let downloads = Downloads::begin(&config, wanted, Arc::new(Silent))?;
        let digest = files[0].sha256.to_string();
        std::fs::remove_file(cache.path().join(format!("downloads-v1/{}/{digest}.whl", &digest[..2]))).unwrap();
        if taken.get() == 2 {
            unpack(&index, cache.path(), &files[0]);
        }
        Ok(downloads)
    };
    let from = From { cache: Some(cache.path()), download: Some(&download) };
    assert_eq!(library(&gather(&[&files[0]], &from, &Silent), &files[0]), "one/x.so");
    assert_eq!(taken.get(), 2);
}

#[test]
fn a_cut_entry_or_a_touched_wheel_counts_for_nothing() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    let config = config(&index, cache.path());
    let files = [ONE, TWO].map(|name| file(&index, name));
    fetching(&config, &files[..1]);
    let entry = cache.path().join("facts-v1").join(files[0].sha256.to_string());
    let whole = std::fs::read(&entry).unwrap();
    std::fs::write(&entry, &whole[..whole.len() - 1]).unwrap();
    unpack(&index, cache.path(), &files[1]);
    let touched = cache.path().join("wheels-v1").join(files[1].sha256.to_string()).join("files/two/y.so");
    std::fs::write(&touched, "written to").unwrap();
    assert_eq!(here(Some(cache.path()), &files).unread.len(), 2);
    let facts = fetching(&config, &files);
    assert_eq!([&files[0], &files[1]].map(|file| library(&facts, file)), ["one/x.so", "two/y.so"]);
    assert_eq!(facts.fetched.wheels, 2);
    assert_eq!(std::fs::read(&entry).unwrap(), whole);
    assert_eq!(std::fs::read(&touched).unwrap(), b"written to");
}

#[test]
fn a_cache_that_takes_nothing_is_no_failure() {
    let (index, cache) = (index(), tempfile::tempdir().unwrap());
    // Also for those whom permissions do not stop.
    std::fs::write(cache.path().join("facts-v1"), "a file").unwrap();
    let config = config(&index, cache.path());
    let files = [ONE, TWO].map(|name| file(&index, name));
    unpack(&index, cache.path(), &files[0]);
    std::fs::remove_file(cache.path().join("wheels-v1/lock")).unwrap();
    std::fs::create_dir(cache.path().join("wheels-v1/lock")).unwrap();
    assert_eq!(library(&here(Some(cache.path()), &files), &files[0]), "one/x.so");
    let facts = fetching(&config, &files);
    assert_eq!([&files[0], &files[1]].map(|file| library(&facts, file)), ["one/x.so", "two/y.so"]);
    assert_eq!(std::fs::read(cache.path().join("facts-v1")).unwrap(), b"a file");
}

/// As of xgboost 2.1.3 and cmake 3.31.4: pip and uv install them.
#[test]
fn a_wheel_whose_record_is_wrong_is_read_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let honest = Crafted::new(&[("pkg/x.so", "\u{7f}ELF")]);
    let lying = Crafted { record: Some(honest.true_record().replace(",4\n", ",7\n")), ..honest };
    let path = folder.path().join(&lying.file);
    std::fs::write(&path, lying.bytes()).unwrap();
    let locked = lying.locked();
    let place = Place::Path(path);
    let file = File { wheel: locked.file.clone(), sha256: locked.sha256, size: Some(locked.size), place };
    let facts = here(Some(folder.path()), std::slice::from_ref(&file));
    assert_eq!(library(&facts, &file), "pkg/x.so");
    let said = "`pkg/x.so` has 4 bytes, its RECORD says 7";
    assert_eq!(facts.get(&file).unwrap().refused.as_deref(), Some(said));
}
