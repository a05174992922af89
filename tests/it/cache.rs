//! `macml cache` through the binary: what counts, what goes, and what must stay whatever folder is named as the cache.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use macml::cache::{Cache, Keep, Wait};
use macml::install::{Bytes, OpenCache, WheelCache};
use macml::pep::Sha256;

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::server::FakeIndex;
use crate::support::zip::Crafted;

const DAY: u64 = 24 * 3600;

fn published() -> Published {
    Published::default().with("alpha", "1.0", &["beta"]).with("beta", "2.0", &[])
}

/// A project that was locked, so that pages and metadata are there.
fn locked(index: &FakeIndex) -> Project {
    let project = Project::asking(index, "14.0", "==3.13.*", "[dependencies]\nalpha = \"*\"\n");
    project.run(&["lock"]).says(0, &[]);
    project
}

fn cache(project: &Project) -> PathBuf {
    project.path().join(".cache/macml")
}

fn unpack(open: &OpenCache, name: &str, days: u64) {
    let wheel = Crafted::named(name, &[("f", &"x".repeat(10_000))]);
    let unpacked = open.unpack(&wheel.locked(), Cursor::new(wheel.bytes()), Bytes::Unchecked).unwrap();
    age(&unpacked.folder.with_file_name("marker"), days);
}

/// Makes a file one that was written so many days ago.
fn age(path: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * DAY + 60);
    std::fs::File::open(path).unwrap().set_modified(then).unwrap();
}

/// Puts a file into the folder of downloads.
fn download(cache: &Path, ending: &str, length: usize, days: u64) -> PathBuf {
    let digest = Sha256::of(format!("{ending}{length}").as_bytes()).to_string();
    let path = cache.join("downloads-v1").join(&digest[..2]).join(format!("{digest}.{ending}"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, vec![0; length]).unwrap();
    age(&path, days);
    path
}

fn files(folder: &Path) -> Vec<PathBuf> {
    macml::sys::fs::walk(folder).unwrap()
}

fn only_in(folder: &Path, part: &str) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|path| path.to_str().unwrap().contains(part)).collect()
}

#[test]
fn every_file_of_a_cache_is_counted_as_one_kind() {
    let index = FakeIndex::from_published(&published());
    let project = locked(&index);
    let folder = cache(&project);
    unpack(&WheelCache::inside(&folder).open().unwrap(), "alpha", 0);
    download(&folder, "whl", 500, 0);
    download(&folder, "part", 700, 2);
    for (name, text) in [("python-v1", "abc"), ("matrix-v1", "abcd"), ("facts-v1", "abcde")] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
        std::fs::write(folder.join(name).join(Sha256::of(b"x").to_string()), text).unwrap();
    }
    let dir = project.run(&["cache", "dir", "-q"]);
    assert_eq!((dir.code, dir.stdout.as_str(), dir.stderr.as_str()), (0, "[HERE]/.cache/macml\n", ""));
    let json = project.run(&["cache", "size", "--output-format", "json"]).json_as("cache.schema.json");
    let kind = |name: &str| {
        let kinds = json["present"]["kinds"].as_array().unwrap();
        let one = kinds.iter().find(|kind| kind["kind"] == name).unwrap();
        (one["files"].as_u64().unwrap(), one["bytes"].as_u64().unwrap())
    };
    let real = |name: &str| {
        let all = only_in(&folder, &format!("/{name}"));
        (all.len() as u64, all.iter().map(|path| path.metadata().unwrap().len()).sum::<u64>())
    };
    assert_eq!(kind("downloads"), (2, 1200));
    assert_eq!((kind("pages"), kind("metadata")), (real("pages-v1"), real("metadata-v2")));
    assert!(kind("pages").0 == 2 && kind("metadata").0 == 2, "{json}");
    assert_eq!((kind("pythons"), kind("matrix"), kind("facts")), ((1, 3), (1, 4), (1, 5)));
    let wheels = only_in(&folder, "/files/");
    assert_eq!(kind("wheels").0, wheels.len() as u64);
    assert_eq!(json["left-over"]["bytes"], 700);
    // All but the lock and the marker of the wheel.
    assert_eq!(json["present"]["files"].as_u64().unwrap(), files(&folder).len() as u64 - 2);

    let text = project.run(&["cache", "size"]);
    let lines: Vec<&str> = text.stdout.lines().collect();
    assert_eq!(lines.len(), 9, "{}", text.stdout);
    assert!(lines[1] == "downloads             2 files   2 kB", "{}", text.stdout);
    assert!(lines[..8].iter().all(|line| line.len() == lines[0].len()), "{}", text.stdout);
    assert_eq!(lines[8], "1 kB of it is left over: `macml cache prune` removes it");
}

#[test]
fn pruning_removes_what_is_broken_given_up_or_long_unused() {
    let index = FakeIndex::from_published(&published());
    let project = locked(&index);
    let folder = cache(&project);
    let open = WheelCache::inside(&folder).open().unwrap();
    unpack(&open, "alpha", 89);
    unpack(&open, "beta", 91);
    drop(open);
    let wheels = folder.join("wheels-v1");
    std::fs::create_dir_all(wheels.join("0".repeat(64)).join("files")).unwrap();
    std::fs::create_dir_all(wheels.join(".new-killed/files")).unwrap();
    std::fs::write(wheels.join(".new-killed/files/x"), "12345").unwrap();
    // Nobody can tell what was killed from what is at work, as long as somebody is.
    let left_over = || Cache::at(&folder).size(SystemTime::now()).unwrap().1.total().bytes;
    assert_eq!(left_over(), 5);
    let open = WheelCache::inside(&folder).open().unwrap();
    std::fs::create_dir_all(wheels.join(".new-killed/files")).unwrap();
    std::fs::write(wheels.join(".new-killed/files/x"), "12345").unwrap();
    assert_eq!(left_over(), 0);
    drop(open);
    let [given_up, begun] = [(1, 2), (2, 0)].map(|(length, days)| download(&folder, "part", length, days));
    let [old, new] = [(3, 91), (4, 5)].map(|(length, days)| download(&folder, "whl", length, days));
    let pages = only_in(&folder, "/pages-v1/");
    let mut damaged = std::fs::read(&pages[0]).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(&pages[0], damaged).unwrap();
    let killed = pages[1].with_file_name(".macml-abc.tmp");
    std::fs::write(&killed, "half").unwrap();
    age(&killed, 2);
    let run = project.run(&["cache", "prune"]);
    run.says(0, &["removed ", "unpacked wheels", "downloads 1 kB", "index pages"]);
    assert_eq!(run.stderr, "");
    assert!(!given_up.exists() && begun.exists() && !old.exists() && new.exists());
    assert!(!pages[0].exists() && pages[1].exists() && !killed.exists());
    let left = macml::sys::fs::names(&wheels).unwrap();
    let alpha = Crafted::named("alpha", &[("f", &"x".repeat(10_000))]).locked().sha256.to_string();
    assert_eq!(left, [alpha, "lock".to_owned()]);
    project.run(&["cache", "prune"]).says(0, &["nothing to remove\n"]);
    // What a lock needs is fetched again.
    std::fs::remove_file(project.path().join("macml.lock")).unwrap();
    project.run(&["lock"]).says(0, &[]);
    assert_eq!(only_in(&folder, "/pages-v1/").len(), 2);
}

#[test]
fn with_a_limit_the_wheels_that_were_used_longest_ago_go_first() {
    let index = FakeIndex::from_published(&published());
    let project = locked(&index);
    let folder = cache(&project);
    let open = WheelCache::inside(&folder).open().unwrap();
    for (name, days) in [("cc", 1), ("aa", 300), ("bb", 2)] {
        unpack(&open, name, days);
    }
    let old = download(&folder, "whl", 9000, 3);
    let there = || {
        let wheels = WheelCache::inside(&folder).wheels().unwrap();
        ["aa", "bb", "cc"].map(|name| wheels.iter().any(|wheel| wheel.name.as_ref().unwrap().name.as_str() == name))
    };
    drop(open);
    // Pages are older than all of them, and stay as long as a wheel can go in their place.
    only_in(&folder, "/pages-v1/").iter().for_each(|path| age(path, 400));
    project.write(".config/macml/config.toml", "cache-size = \"40kB\"\n");
    project.run(&["cache", "size"]).says(0, &["the limit is 40 kB, which `macml cache prune` restores"]);
    project.run(&["cache", "prune", "--max-size", "1GB"]).says(0, &["nothing to remove"]);
    let json = project.run(&["cache", "prune", "--output-format", "json"]).json_as("cache.schema.json");
    assert_eq!((&json["limit"], &json["command"]), (&40_000.into(), &"cache prune".into()));
    assert_eq!(there(), [false, true, true]);
    assert!(old.exists());
    // The same from the library, as a run does it at its end: not while somebody uses the cache, and without waiting.
    let library = Cache::at(&folder);
    let using = WheelCache::inside(&folder).open().unwrap();
    let begun = Instant::now();
    assert_eq!(library.hold_to(0, SystemTime::now()).unwrap(), None);
    assert!(begun.elapsed() < Duration::from_millis(500));
    drop(using);
    let gone = library.hold_to(20_000, SystemTime::now()).unwrap().unwrap();
    assert!(gone.total().files > 0 && !old.exists());
    assert_eq!(there(), [false, false, true]);
    project.run(&["cache", "prune", "--max-size", "0"]).says(0, &["removed "]);
    let (left, _) = library.size(SystemTime::now()).unwrap();
    assert_eq!(left.total().files, 0);
}

#[test]
fn cleaning_leaves_what_macml_did_not_put_there() {
    let index = FakeIndex::from_published(&published());
    let project = locked(&index);
    // The cache is the home folder, in which people have folders of all names.
    let home = project.path().display().to_string();
    let vars = [("MACML_CACHE_DIR", home.as_str())];
    project.run_with(&vars, &["lock", "-U"]).says(0, &[]);
    unpack(&WheelCache::inside(project.path()).open().unwrap(), "alpha", 0);
    download(project.path(), "whl", 10, 0);
    let digest = Sha256::of(b"mine").to_string();
    let mine = [
        "notes.txt".to_owned(),
        "wheels-v1/thesis.txt".to_owned(),
        "wheels-v1/torch-2.14.1/data".to_owned(),
        "downloads-v1/holiday.jpg".to_owned(),
        "downloads-v1/ab/film.part".to_owned(),
        format!("downloads-v1/{digest}.whl"),
        "pages-v1/book/chapter".to_owned(),
        "pages-v1/0123456789abcdef/Chapter 1.txt".to_owned(),
        "metadata-v2/checked/ab/x".to_owned(),
        "metadata-v2/photos/x".to_owned(),
        "python-v1/script.py".to_owned(),
        "matrix-v1/neo.mp4".to_owned(),
        format!("matrix-v1/{digest}.mp4"),
    ];
    for name in &mine {
        project.write(name, "mine");
        age(&project.path().join(name), 1000);
    }
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join(&digest), "mine").unwrap();
    std::os::unix::fs::symlink(outside.path(), project.path().join("pages-v1/fedcba9876543210")).unwrap();
    let size = project.run_with(&vars, &["cache", "size", "--output-format", "json"]).json_as("cache.schema.json");
    project.run_with(&vars, &["cache", "prune", "--max-size", "0"]).says(0, &["removed "]);
    let json = project.run_with(&vars, &["cache", "clean", "--output-format", "json"]).json_as("cache.schema.json");
    assert_eq!(json["removed"]["files"], 0, "{size}");
    let cached = ["pages-v1", "metadata-v2", "downloads-v1", "wheels-v1", "python-v1", "matrix-v1", "notes"];
    let mut left: Vec<String> = files(project.path())
        .into_iter()
        .map(|path| path.strip_prefix(project.path()).unwrap().to_str().unwrap().to_owned())
        .filter(|name| cached.iter().any(|folder| name.starts_with(folder)))
        .collect();
    left.retain(|name| name != "wheels-v1/lock" && name != "pages-v1/fedcba9876543210");
    let mut mine = mine.to_vec();
    left.sort();
    mine.sort();
    assert_eq!(left, mine);
    assert!(outside.path().join(&digest).exists());
}

#[test]
fn packages_are_cleaned_by_name_and_environments_keep_their_files() {
    let index = FakeIndex::from_published(&published());
    let project = locked(&index);
    let folder = cache(&project);
    let open = WheelCache::inside(&folder).open().unwrap();
    unpack(&open, "alpha", 0);
    unpack(&open, "beta", 0);
    drop(open);
    let file = only_in(&folder, "/files/").into_iter().find(|path| path.ends_with("f")).unwrap();
    let linked = project.path().join("linked");
    std::fs::hard_link(file, &linked).unwrap();
    let json = project.run(&["cache", "clean", "Alpha", "--output-format", "json"]).json_as("cache.schema.json");
    let kinds = json["removed"]["kinds"].as_array().unwrap();
    let files_of = |kind: &str| kinds.iter().find(|one| one["kind"] == kind).unwrap()["files"].as_u64().unwrap();
    assert!(files_of("wheels") > 0, "{json}");
    assert_eq!((files_of("pages"), files_of("metadata"), files_of("downloads")), (1, 1, 0));
    assert!(only_in(&folder, "/pages-v1/")[0].ends_with("beta"));
    assert_eq!(std::fs::read(&linked).unwrap().len(), 10_000);
    project.run(&["cache", "clean"]).says(0, &["removed "]);
    assert_eq!(files(&folder), [folder.join("wheels-v1/lock")]);
    assert_eq!(macml::sys::fs::names(&folder).unwrap(), ["wheels-v1"]);
    assert_eq!(std::fs::read(&linked).unwrap().len(), 10_000);
    project.run(&["cache", "clean"]).says(0, &["nothing to remove"]);
    project.run(&["lock", "-U"]).says(0, &[]);
}

#[test]
fn who_uses_the_cache_is_waited_for_and_that_is_said() {
    let project = Project::empty();
    let folder = cache(&project);
    let open = WheelCache::inside(&folder).open().unwrap();
    unpack(&open, "alpha", 0);
    let run = project.run(&["cache", "clean", "--no-wait", "--output-format", "json"]);
    let said = "error: the cache is in use by another macml\n\nhint: without `--no-wait` macml waits for it to end\n";
    assert_eq!((run.code, run.stderr.as_str()), (2, said));
    assert_eq!(run.json_as("cache.schema.json")["error"]["kind"], "disk");
    let waiting = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1300));
        drop(open);
    });
    let run = project.run(&["cache", "clean"]);
    waiting.join().unwrap();
    assert_eq!((run.code, run.stderr.as_str()), (0, "note: waiting for another macml that uses the cache\n"));
    assert!(only_in(&folder, "/files/").is_empty());
    // What is not there is not made.
    let nowhere = Cache::at(&project.path().join("nowhere"));
    let mut say = || panic!("nobody is waited for");
    nowhere.prune(Keep::Recent, SystemTime::now(), Wait::Saying(&mut say)).unwrap();
    nowhere.clean(Wait::Never).unwrap();
    assert!(!nowhere.root().exists());
}

#[test]
fn a_download_that_another_process_goes_on_with_stays() {
    let folder = tempfile::tempdir().unwrap();
    let part = download(folder.path(), "part", 10, 5);
    let held = macml::sys::Partial::claim(&part).unwrap().unwrap();
    let cache = Cache::at(folder.path());
    let gone = cache.prune(Keep::AtMost(0), SystemTime::now(), Wait::Never).unwrap();
    assert_eq!((gone.total().files, std::fs::read(&part).unwrap().len()), (0, 10));
    drop(held);
    let gone = cache.prune(Keep::Recent, SystemTime::now(), Wait::Never).unwrap();
    assert_eq!((gone.total().files, gone.total().bytes, part.exists()), (1, 10, false));
}

#[test]
fn what_makes_no_sense_is_told_with_2() {
    let project = Project::empty();
    project.run(&["cache", "prune", "--max-size", "lots"]).says(2, &["`lots` is not a number of bytes such as `20GB`"]);
    project.run(&["cache", "clean", "a b"]).says(2, &["a b"]);
    project
        .run_with(&[("HOME", "")], &["cache", "dir"])
        .says(2, &["there is no cache: neither HOME nor MACML_CACHE_DIR"]);
    project.write(".config/macml/config.toml", "cache-size = \"big\"\n");
    project.run(&["cache", "size"]).says(2, &["`big` is not a number of bytes", "cache-size"]);
}
