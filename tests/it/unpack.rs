//! The cache of unpacked wheels, and trees that are linked from it: whole or not there, whoever kills, fills the disk or
//! edits a file.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use macml::cache::{Amount, Cache, Keep, Wait};
use macml::install::{
    Arriving, Bytes, Interpreter, Layout, LinkError, LinkMode, Linked, Linker, OpenCache, Plan, UnpackError, Unpacked,
    WheelCache, direct_url, plan,
};
use macml::pep::Sha256;
use macml::target::{Platform, PythonMinor};

use crate::live_index::live;
use crate::support::zip::{Crafted, Item};

const SITE: &str = "lib/python3.13/site-packages";

/// The beginning of a thin arm64 image.
const MACHO: &[u8] = b"\xcf\xfa\xed\xfe\x0c\0\0\x01\0\0\0\0";

fn wheel() -> Crafted {
    let base = Crafted::new(&[
        ("pkg/__init__.py", "x = 1\n"),
        ("pkg/sub/data.txt", "data\n"),
        ("pkg/empty", ""),
        ("pkg-1.0.data/scripts/run", "#!python\nimport sys; print('ran', *sys.argv[1:])\n"),
        ("pkg-1.0.data/scripts/tool", "#!/bin/sh\necho tool\n"),
        ("pkg-1.0.data/data/share/pkg/x", "x"),
        ("pkg-1.0.dist-info/entry_points.txt", "[console_scripts]\npkg-cli = pkg.cli:main\n"),
        ("pkg/cli.py", "import sys\ndef main():\n    print('cli', *sys.argv[1:])\n    return 7\n"),
    ]);
    base.with(Item { mode: 0o100_755, ..Item::new("pkg/libpkg.dylib", MACHO) })
        .with(Item { mode: 0o100_755, ..Item::new("pkg/helper", b"#!/bin/sh\n") })
}

fn unpack(cache: &OpenCache, wheel: &Crafted) -> Unpacked {
    cache.unpack(&wheel.locked(), Cursor::new(wheel.bytes()), Bytes::Unchecked).unwrap()
}

fn planned(wheels: &[&Unpacked], interpreter: &str) -> Plan {
    let arriving: Vec<Arriving<'_>> =
        wheels.iter().map(|wheel| Arriving { wheel, requested: true, direct_url: None }).collect();
    let python = PythonMinor { major: 3, minor: 13 };
    let layout = Layout::venv(python, Platform::MacosArm64, Interpreter::new(interpreter).unwrap());
    plan(&arriving, &layout, &[]).unwrap()
}

fn link(plan: &Plan, root: &Path, mode: Option<LinkMode>) -> Linked {
    Linker::new(mode).link(plan, root).unwrap()
}

/// Reads a tree that has files only: each with its bytes and mode.
fn tree(root: &Path) -> BTreeMap<String, (Vec<u8>, u32)> {
    tree_without(root, |path| panic!("{} is no file", path.display()))
}

/// Reads the files of a tree, and tells of everything else that is no folder.
fn tree_without(root: &Path, mut other: impl FnMut(&Path)) -> BTreeMap<String, (Vec<u8>, u32)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                found.insert(name, (std::fs::read(&path).unwrap(), kind.mode() & 0o777));
            } else {
                other(&path);
            }
        }
    }
    found
}

/// Looks that every entry of a cache that has a marker is whole, byte for byte; returns how many there are.
fn whole_entries(cache: &Path, wheels: &[Crafted]) -> usize {
    let cache = WheelCache::inside(cache).open().unwrap();
    let found = wheels.iter().filter_map(|wheel| cache.get(&wheel.locked()).unwrap());
    let check = |unpacked: Unpacked| {
        assert!(unpacked.is_intact().unwrap());
        for file in &unpacked.files {
            let bytes = std::fs::read(unpacked.folder.join(&file.path)).unwrap();
            assert_eq!(Sha256::of(&bytes), file.sha256, "{}", file.path);
        }
    };
    found.map(check).count()
}

fn leftovers(cache: &Path) -> Vec<String> {
    let names = std::fs::read_dir(WheelCache::inside(cache).root()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with('.')).collect()
}

#[test]
fn a_wheel_is_unpacked_once_and_linked_in_every_mode() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(&folder.path().join("cache")).open().unwrap();
    let unpacked = unpack(&cache, &wheel());
    assert_eq!(cache.get(&wheel().locked()).unwrap().unwrap(), unpacked);
    // Nobody reads the wheel again.
    let again = cache.unpack(&wheel().locked(), Cursor::new(Vec::new()), Bytes::Unchecked).unwrap();
    assert_eq!(again, unpacked);

    let plan = planned(&[&unpacked], "/p/.venv/bin/python");
    let mut trees = Vec::new();
    for mode in [None, Some(LinkMode::Clone), Some(LinkMode::Hardlink), Some(LinkMode::Copy)] {
        let root = folder.path().join(format!("{mode:?}"));
        let linked = link(&plan, &root, mode);
        let from_cache = plan.files.len() - linked.written;
        // Launcher, script, INSTALLER, REQUESTED, RECORD.
        assert_eq!((linked.written, linked.cloned + linked.hard_linked + linked.copied), (5, from_cache), "{mode:?}");
        let counted = match mode {
            Some(LinkMode::Hardlink) => linked.hard_linked,
            Some(LinkMode::Copy) => linked.copied,
            // Not every file system has clones, and then they are copied and it is said.
            Some(LinkMode::Clone) => match &linked.fell_back {
                None => linked.cloned,
                Some((LinkMode::Clone, _)) => linked.copied,
                Some(other) => panic!("{other:?}"),
            },
            None => from_cache,
        };
        assert_eq!(counted, from_cache, "{mode:?}: {linked:?}");
        trees.push(tree(&root));
    }
    assert!(trees.windows(2).all(|pair| pair[0] == pair[1]), "the same tree in every mode");
    let tree = &trees[0];
    assert_eq!(tree.keys().collect::<Vec<_>>(), plan.files.keys().collect::<Vec<_>>());
    let mode = |path: &str| tree[path].1;
    let umask = 0o777 & !mode("bin/pkg-cli");
    for program in ["bin/run", "bin/tool", &format!("{SITE}/pkg/helper")] {
        assert_eq!(mode(program), 0o777 & !umask, "{program}");
    }
    assert_eq!(mode(&format!("{SITE}/pkg/__init__.py")), 0o666 & !umask);
    assert_eq!(mode(&format!("{SITE}/pkg/libpkg.dylib")), 0o555 & !umask, "a library is kept read-only");
    assert!(tree["bin/run"].0.starts_with(b"#!/p/.venv/bin/python\nimport sys"));
    assert_eq!(tree["bin/tool"].0, b"#!/bin/sh\necho tool\n");
    // RECORD is true: each path is there with that size.
    let record = String::from_utf8(tree[&format!("{SITE}/pkg-1.0.dist-info/RECORD")].0.clone()).unwrap();
    assert_eq!(record.lines().count(), tree.len());
    for line in record.lines() {
        let mut fields = line.rsplitn(3, ',');
        let (size, _, path) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let place = folder.path().join("None").join(SITE).join(path);
        let found = std::fs::metadata(&place).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(size.is_empty() || size.parse::<u64>().unwrap() == found.len(), "{line}");
    }
}

#[test]
fn hard_links_share_and_copies_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(&folder.path().join("cache")).open().unwrap();
    let unpacked = unpack(&cache, &wheel());
    let plan = planned(&[&unpacked], "/python");
    let inode = |path: &Path| path.metadata().unwrap().ino();
    let source = unpacked.folder.join("pkg/__init__.py");
    for (mode, shared) in [(LinkMode::Hardlink, true), (LinkMode::Copy, false)] {
        let root = folder.path().join(mode.to_string());
        link(&plan, &root, Some(mode));
        assert_eq!(inode(&root.join(SITE).join("pkg/__init__.py")) == inode(&source), shared, "{mode}");
    }
}

/// An environment on another volume than the cache is copied, and it is said why. On Linux `/dev/shm` is mostly another.
#[test]
fn another_volume_falls_back_to_copies() {
    let folder = tempfile::tempdir().unwrap();
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return eprintln!("skipped: there is no second volume") };
    if other.path().metadata().unwrap().dev() == folder.path().metadata().unwrap().dev() {
        return eprintln!("skipped: there is no second volume");
    }
    let cache = WheelCache::inside(folder.path()).open().unwrap();
    let unpacked = unpack(&cache, &wheel());
    let plan = planned(&[&unpacked], "/python");
    let linked = link(&plan, &other.path().join("env"), None);
    assert_eq!((linked.cloned, linked.hard_linked, linked.copied), (0, 0, plan.files.len() - linked.written));
    assert!(linked.fell_back.is_some());
    let same = link(&plan, &folder.path().join("env"), None);
    assert_eq!(same.fell_back, None);
    assert_eq!(tree(&other.path().join("env")), tree(&folder.path().join("env")));
}

/// The story of issue 4: a hard-linked file is edited in one environment, and another environment is made.
#[test]
fn an_edited_file_is_not_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(&folder.path().join("cache")).open().unwrap();
    let plan_of = |unpacked: &Unpacked| planned(&[unpacked], "/python");
    type Edit = fn(&Path);
    let edits: [(&str, Edit); 4] = [
        // As long as before, at once after it was unpacked.
        ("same length", |path| std::fs::write(path, "x = 2\n").unwrap()),
        ("other length", |path| std::fs::write(path, "").unwrap()),
        ("gone from the cache", |path| {
            let cache = path.ancestors().nth(6).unwrap().join("cache/wheels-v1");
            let entry = std::fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
            std::fs::remove_file(entry.unwrap().join("files/pkg/__init__.py")).unwrap();
        }),
        ("the time alone", |path| {
            std::fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::now()).unwrap();
        }),
    ];
    for (name, edit) in edits {
        let unpacked = unpack(&cache, &wheel());
        let first = folder.path().join(format!("one {name}"));
        link(&plan_of(&unpacked), &first, Some(LinkMode::Hardlink));
        edit(&first.join(SITE).join("pkg/__init__.py"));

        let found = cache.get(&wheel().locked()).unwrap().expect("the marker is as it was");
        assert!(!found.is_intact().unwrap(), "{name}");
        let second = folder.path().join(format!("two {name}"));
        let Err(LinkError::Damaged(damaged)) = Linker::new(None).link(&plan_of(&found), &second) else {
            panic!("{name}: the damage was passed on")
        };
        assert_eq!((damaged.len(), damaged[0].path.as_str(), damaged[0].sha256), (1, "pkg/__init__.py", found.sha256));
        assert!(!second.join(SITE).join("pkg/__init__.py").exists());

        cache.discard(found.sha256).unwrap();
        let healed = unpack(&cache, &wheel());
        let third = folder.path().join(format!("three {name}"));
        link(&plan_of(&healed), &third, None);
        assert_eq!(std::fs::read(third.join(SITE).join("pkg/__init__.py")).unwrap(), b"x = 1\n", "{name}");
    }
    // Unpacking sees it by itself, too.
    let unpacked = unpack(&cache, &wheel());
    std::fs::write(unpacked.folder.join("pkg/empty"), "no more").unwrap();
    let healed = unpack(&cache, &wheel());
    assert!(healed.is_intact().unwrap());
    assert_eq!(std::fs::read(healed.folder.join("pkg/empty")).unwrap(), b"");
    // A file that is replaced by another, as editors do, does not concern the cache.
    let env = folder.path().join("replaced");
    link(&plan_of(&healed), &env, Some(LinkMode::Hardlink));
    let own = env.join(SITE).join("pkg/__init__.py");
    std::fs::write(env.join("new"), "x = 2\n").unwrap();
    std::fs::rename(env.join("new"), &own).unwrap();
    assert!(healed.is_intact().unwrap());
}

#[test]
fn a_script_that_was_edited_in_the_cache_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(folder.path()).open().unwrap();
    let unpacked = unpack(&cache, &wheel());
    let script = unpacked.folder.join("pkg-1.0.data/scripts/run");
    let text = std::fs::read_to_string(&script).unwrap().replace("ran", "RAN");
    std::fs::write(&script, text).unwrap();
    assert_eq!(cache.get(&wheel().locked()).unwrap(), None);
}

#[test]
fn entries_without_a_whole_marker_do_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(folder.path());
    let open = cache.open().unwrap();
    let unpacked = unpack(&open, &wheel());
    let marker = unpacked.folder.with_file_name("marker");
    let whole = std::fs::read(&marker).unwrap();
    for bytes in [&whole[..whole.len() - 1], &whole[..whole.len() / 2], b"", b"\xff"] {
        std::fs::write(&marker, bytes).unwrap();
        assert_eq!(open.get(&wheel().locked()).unwrap(), None);
        let listed = cache.wheels().unwrap();
        assert!(listed.len() == 1 && listed[0].name.is_none(), "it is there, and counts as nothing");
        assert_eq!(unpack(&open, &wheel()), unpacked);
    }
    assert_eq!(std::fs::read(&marker).unwrap(), whole);
    // The same bytes under another name are another wheel.
    let mut renamed = wheel().locked();
    renamed.file = "pkg-1.0-py2.py3-none-any.whl".parse().unwrap();
    assert_eq!(open.get(&renamed).unwrap(), None);
}

#[test]
fn size_prune_and_clean() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(folder.path());
    let tidy = Cache::at(folder.path());
    let prune = |most| tidy.prune(Keep::AtMost(most), SystemTime::now(), Wait::Saying(&mut || ())).unwrap().total();
    // A program that another test starts just now may hold the lock for a moment.
    let clean = || tidy.clean(Wait::Saying(&mut || ())).unwrap().total();
    assert_eq!((prune(0), clean(), cache.wheels().unwrap()), (Amount::default(), Amount::default(), Vec::new()));
    assert!(!cache.root().exists(), "asking makes nothing");
    let content = "x".repeat(10_000);
    let wheels: Vec<Crafted> = ["aa", "bb", "cc"].map(|name| Crafted::named(name, &[("f", &content)])).to_vec();
    let open = cache.open().unwrap();
    let unpacked: Vec<Unpacked> = wheels.iter().map(|wheel| unpack(&open, wheel)).collect();
    let listed = cache.wheels().unwrap();
    assert_eq!(listed.len(), 3);
    let size: u64 = listed.iter().map(|one| one.bytes).sum();
    let real: u64 = unpacked.iter().flat_map(|one| &one.files).map(|file| file.size).sum();
    assert_eq!(size, real);
    // `bb` was used long ago, `aa` longer ago still; something is no entry.
    for (at, days) in [(1, 1), (0, 2)] {
        let marker = unpacked[at].folder.with_file_name("marker");
        let then = SystemTime::now() - Duration::from_secs(days * 86_400);
        std::fs::File::open(marker).unwrap().set_modified(then).unwrap();
    }
    let broken = cache.root().join("0".repeat(64));
    std::fs::create_dir_all(broken.join("files")).unwrap();
    std::fs::create_dir(cache.root().join(".new-killed")).unwrap();

    // Who uses the cache is waited for.
    let (tell, told) = std::sync::mpsc::channel();
    let pruning = std::thread::spawn({
        let tidy = tidy.clone();
        let keep = Keep::AtMost(size / 3 * 2 + 3);
        move || tell.send(tidy.prune(keep, SystemTime::now(), Wait::Saying(&mut || ())).unwrap()).unwrap()
    });
    assert!(told.recv_timeout(Duration::from_millis(200)).is_err(), "it waits");
    drop(open);
    let gone = told.recv_timeout(Duration::from_secs(60)).unwrap();
    pruning.join().unwrap();
    let files = unpacked[0].files.len() as u64;
    assert_eq!(gone.total(), Amount { files, bytes: size / 3 });
    let open = cache.open().unwrap();
    let there: Vec<bool> = wheels.iter().map(|wheel| open.get(&wheel.locked()).unwrap().is_some()).collect();
    assert_eq!(there, [false, true, true]);
    assert!(!broken.exists() && leftovers(folder.path()).is_empty());
    drop(open);
    assert_eq!((clean().bytes, cache.wheels().unwrap()), (size / 3 * 2, Vec::new()));
    assert_eq!(std::fs::read_dir(cache.root()).unwrap().count(), 1, "only the lock");
}

#[test]
fn using_a_wheel_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(folder.path());
    let wheels: Vec<Crafted> = ["aa", "bb"].map(|name| Crafted::named(name, &[("f", "x")])).to_vec();
    let open = cache.open().unwrap();
    for wheel in &wheels {
        let marker = unpack(&open, wheel).folder.with_file_name("marker");
        let then = SystemTime::now() - Duration::from_secs(86_400);
        std::fs::File::open(marker).unwrap().set_modified(then).unwrap();
    }
    open.get(&wheels[0].locked()).unwrap().unwrap();
    drop(open);
    let bytes: u64 = cache.wheels().unwrap().iter().map(|one| one.bytes).sum();
    Cache::at(folder.path()).prune(Keep::AtMost(bytes - 1), SystemTime::now(), Wait::Never).unwrap();
    let open = cache.open().unwrap();
    assert!(open.get(&wheels[0].locked()).unwrap().is_some());
    assert!(open.get(&wheels[1].locked()).unwrap().is_none());
}

/// Files of which some are large enough that a kill lands inside.
fn large(name: &str) -> Crafted {
    let text = "0123456789abcdef".repeat(4096);
    let paths: Vec<String> = (0..150).map(|at| format!("{name}/{at:03}.txt")).collect();
    Crafted::named(name, &paths.iter().map(|path| (path.as_str(), text.as_str())).collect::<Vec<_>>())
}

const CHILD: &str = "MACML_TEST_UNPACKS_INTO";

/// Not a test of its own: the program that other tests start and kill.
#[test]
fn child_that_unpacks() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let done = child_work(&folder);
    let (name, text) = done.map_or_else(|error| ("error", error), |()| ("done", String::new()));
    std::fs::write(folder.join(name), text).unwrap();
}

/// Unpacks two wheels, and links them where there is a folder for that.
fn child_work(folder: &Path) -> Result<(), String> {
    let cache = WheelCache::inside(&folder.join("cache"));
    let open = cache.open().map_err(|error| error.to_string())?;
    let mut unpacked = Vec::new();
    for name in ["aa", "bb"] {
        let wheel = std::fs::File::open(folder.join(format!("{name}-1.0-py3-none-any.whl"))).unwrap();
        let done = open.unpack(&large(name).locked(), wheel, Bytes::Checked);
        unpacked.push(done.map_err(|error| error.to_string())?);
    }
    let place = folder.join("place");
    if place.exists() {
        let plan = planned(&unpacked.iter().collect::<Vec<_>>(), "/python");
        Linker::new(None).link(&plan, &place.join("env")).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn child(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "unpack::child_that_unpacks", "--test-threads=1"]).env(CHILD, folder);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn prepare(folder: &Path) -> [Crafted; 2] {
    ["aa", "bb"].map(|name| {
        let wheel = large(name);
        std::fs::write(folder.join(&wheel.file), wheel.bytes()).unwrap();
        wheel
    })
}

/// Kills at many instants, from the first write to the last: what has a marker is whole, and the next run finishes.
#[test]
fn a_killed_run_leaves_nothing_that_looks_whole() {
    let folder = tempfile::tempdir().unwrap();
    let wheels = prepare(folder.path());
    let cache = folder.path().join("cache");
    let begun = |folder: &Path| {
        let names = std::fs::read_dir(folder.join("cache/wheels-v1"));
        names.is_ok_and(|mut names| names.any(|entry| entry.unwrap().file_name() != "lock"))
    };
    let start = Instant::now();
    assert!(child(folder.path()).status().unwrap().success());
    let whole_run = start.elapsed();
    assert_eq!(whole_entries(&cache, &wheels), 2);
    let (mut inside, mut seen) = (0, [0; 3]);
    for round in 0..24_u32 {
        std::fs::remove_dir_all(&cache).unwrap();
        let _ = std::fs::remove_file(folder.path().join("done"));
        let mut running = child(folder.path()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !begun(folder.path()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(whole_run / 24 * round / 2);
        running.kill().unwrap();
        running.wait().unwrap();
        if !folder.path().join("done").exists() {
            inside += 1;
        }
        // Opening it sweeps what was left.
        seen[whole_entries(&cache, &wheels)] += 1;
        assert_eq!(leftovers(&cache), Vec::<String>::new());
    }
    assert!(inside >= 8, "{inside} kills landed inside: {seen:?}");
    assert!(child(folder.path()).status().unwrap().success());
    assert_eq!(whole_entries(&cache, &wheels), 2);
}

#[test]
fn two_processes_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let wheels = prepare(folder.path());
    for _ in 0..3 {
        let mut children = [child(folder.path()).spawn().unwrap(), child(folder.path()).spawn().unwrap()];
        for child in &mut children {
            let status = child.wait().unwrap();
            let error = std::fs::read_to_string(folder.path().join("error")).unwrap_or_default();
            assert!(status.success() && error.is_empty(), "{error}");
        }
        assert_eq!(whole_entries(&folder.path().join("cache"), &wheels), 2);
        assert_eq!(leftovers(&folder.path().join("cache")), Vec::<String>::new());
        std::fs::remove_dir_all(folder.path().join("cache")).unwrap();
    }
}

/// Runs the child where `small` is a volume of two megabytes, in a namespace of its own; returns the child's error and what
/// is left in `small`. `None` where no volume can be made.
fn in_small(folder: &Path, small: &str) -> Option<(String, String)> {
    prepare(folder);
    let script = "mount -t tmpfs -o size=2m none \"$0\" && touch mounted && \"$@\"; ls -A \"$0\" >listed";
    let mut command = Command::new("unshare");
    std::fs::create_dir_all(folder.join(small)).unwrap();
    command.args(["-r", "-m", "sh", "-c", script]).arg(folder.join(small)).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "unpack::child_that_unpacks", "--test-threads=1"]);
    command.env(CHILD, folder).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let ran = command.status().is_ok_and(|status| status.success());
    if !ran || !folder.join("mounted").exists() {
        eprintln!("skipped: no volume can be made here");
        return None;
    }
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    Some((read("error"), read("listed")))
}

#[test]
fn a_full_volume_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let Some((error, left)) = in_small(folder.path(), "cache/wheels-v1") else { return };
    let place = folder.path().join("cache/wheels-v1");
    assert!(error.starts_with("there is no room to unpack `aa-1.0-py3-none-any.whl`, which takes "), "{error}");
    assert!(error.ends_with(&format!(" bytes, into `{}`", place.display())), "{error}");
    let bytes: u64 = error.split("takes ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let needed: u64 = 150 * 65_536;
    assert!((needed..needed + 50_000).contains(&bytes), "{bytes}");
    assert_eq!(left, "lock\n", "nothing is left");
}

#[test]
fn a_full_environment_is_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let Some((error, _)) = in_small(folder.path(), "place") else { return };
    assert_eq!(error, format!("there is no room left in `{}`", folder.path().join("place/env").display()));
    // The cache has all of it.
    assert_eq!(whole_entries(&folder.path().join("cache"), &prepare(folder.path())), 2);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // For root no folder is read-only; a file in the place of one stops everybody.
    std::fs::write(folder.path().join("wheels-v1"), "").unwrap();
    let error = WheelCache::inside(folder.path()).open().unwrap_err().to_string();
    assert_eq!(error, format!("could not create folder `{}`", folder.path().join("wheels-v1").display()));
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    let cache = WheelCache::inside(&closed);
    drop(cache.open().unwrap());
    std::fs::set_permissions(cache.root(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let writable = std::fs::write(cache.root().join("probe"), "").is_ok();
    if writable {
        return eprintln!("skipped: this user may write everywhere");
    }
    let open = cache.open().unwrap();
    let outcome = open.unpack(&wheel().locked(), Cursor::new(wheel().bytes()), Bytes::Checked);
    let Err(UnpackError::File(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.to_string(), format!("could not create a folder in `{}`", cache.root().display()));
    std::fs::set_permissions(cache.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// R07: between two wheels of which one takes a file over from the other, the new tree has every file of every RECORD.
#[test]
fn r07_a_library_that_moves_to_another_wheel_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(folder.path()).open().unwrap();
    let old = unpack(&cache, &Crafted::named("mlx", &[("mlx/core.py", "old"), ("mlx/lib/libmlx.dylib", "old")]));
    let mut new_mlx = Crafted::named("mlx", &[("mlx/core.py", "new")]);
    new_mlx.zip.comment = b"another build".to_vec();
    let new = unpack(&cache, &new_mlx);
    let metal = unpack(&cache, &Crafted::named("mlx_metal", &[("mlx/lib/libmlx.dylib", "new")]));
    link(&planned(&[&old], "/python"), &folder.path().join("one"), None);
    let plan = planned(&[&new, &metal], "/python");
    link(&plan, &folder.path().join("two"), None);
    let tree = tree(&folder.path().join("two"));
    assert_eq!(tree[&format!("{SITE}/mlx/lib/libmlx.dylib")].0, b"new");
    assert!(plan.files.keys().all(|path| tree.contains_key(path)));
}

/// R22: a folder with blanks, quotes, accents and a long name. The interpreter is a script that shows what it was given.
#[test]
fn r22_commands_start_from_paths_with_blanks() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(&folder.path().join("cache")).open().unwrap();
    let unpacked = unpack(&cache, &wheel());
    let long = "x".repeat(120);
    let names = ["plain", "Application Support/実験 \u{e9}", "it's $HOME \"q\" `z` \\n", "e\u{301} *", long.as_str()];
    for name in names {
        let root = folder.path().join(name);
        let python = root.join("bin/python3.13");
        let plan = planned(&[&unpacked], python.to_str().unwrap());
        link(&plan, &root, None);
        std::fs::write(&python, "#!/bin/sh\nprintf '%s|' \"$0\" \"$@\"\n").unwrap();
        std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
        for command in ["pkg-cli", "run"] {
            let path = root.join("bin").join(command);
            let output = Command::new(&path).args(["a b", "c'd", ""]).output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let expected = format!("{}|{}|a b|c'd||", python.display(), path.display());
            assert_eq!(said, expected, "{name}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// The same commands to a real Python, where there is one: the line for `sh` is nothing to it.
#[test]
fn r22_python_reads_what_sh_reads() {
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let Some(real) = python.ok().filter(|output| output.status.success()) else {
        return eprintln!("skipped: there is no python3");
    };
    let real = String::from_utf8(real.stdout).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(&folder.path().join("cache")).open().unwrap();
    let future = "#!python\n'''Says what it is.'''\nfrom __future__ import annotations\nprint(__doc__, __file__)\n";
    let latin = Item::new("pkg-1.0.data/scripts/latin", b"#!python\n# coding: latin-1\nprint(ascii('\xe9'))\n");
    let wheel = wheel().with(Item::new("pkg-1.0.data/scripts/future", future.as_bytes())).with(latin);
    let unpacked = unpack(&cache, &wheel);
    for name in ["plain", "a b's \\N{x} \"実験\""] {
        let root = folder.path().join(name);
        let link_to_python = root.join("python");
        let plan = planned(&[&unpacked], link_to_python.to_str().unwrap());
        link(&plan, &root, None);
        std::os::unix::fs::symlink(real.trim(), &link_to_python).unwrap();
        let run = |command: &str| {
            let mut command = Command::new(root.join("bin").join(command));
            let output =
                command.args(["a b"]).env("PYTHONPATH", root.join(SITE)).env("PYTHONWARNINGS", "error").output();
            let output = output.unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        assert_eq!(run("pkg-cli"), (Some(7), "cli a b\n".to_owned()));
        assert_eq!(run("run"), (Some(0), "ran a b\n".to_owned()));
        let place = root.join("bin/future");
        assert_eq!(run("future"), (Some(0), format!("Says what it is. {}\n", place.display())));
        assert_eq!(run("latin"), (Some(0), "'\\xe9'\n".to_owned()));
    }
}

#[test]
fn where_a_wheel_came_from_is_in_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(&folder.path().join("cache")).open().unwrap();
    let unpacked = unpack(&cache, &wheel());
    let text = direct_url(&"https://u:p@example.com/pkg.whl".parse().unwrap(), unpacked.sha256);
    let python = PythonMinor { major: 3, minor: 13 };
    let layout = Layout::venv(python, Platform::LinuxX86_64, Interpreter::new("/python").unwrap());
    let arriving = Arriving { wheel: &unpacked, requested: false, direct_url: Some(text) };
    let plan = plan(&[arriving], &layout, &[]).unwrap();
    link(&plan, &folder.path().join("env"), None);
    let info = folder.path().join("env").join(SITE).join("pkg-1.0.dist-info");
    let text = std::fs::read_to_string(info.join("direct_url.json")).unwrap();
    assert!(text.contains("https://example.com/pkg.whl") && !text.contains("u:p"), "{text}");
    assert!(!info.join("REQUESTED").exists());
    assert_eq!(std::fs::read_to_string(info.join("INSTALLER")).unwrap(), "macml\n");
}

/// What pip lays out for real wheels, and macml the same: every path, every byte, every executable bit.
#[test]
fn pip_lays_out_the_same_tree() {
    if !live() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let venv = at("pip");
    run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv));
    let version = run(Command::new("python3").args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]));
    let python: PythonMinor = version.trim().parse().unwrap();
    let pip = |words: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "--disable-pip-version-check"]).args(words);
        command
    };
    let wheels = at("wheels");
    let names = ["numpy==2.2.6", "jmespath==1.0.1", "jsonschema==4.23.0", "PyYAML==6.0.2", "pytz==2025.1", "uv==0.5.0"];
    run(pip(&["download", "--no-deps", "--only-binary=:all:", "-d"]).arg(&wheels).args(names));
    let cache = WheelCache::inside(&at("cache")).open().unwrap();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&wheels).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), names.len());
    let unpacked: Vec<Unpacked> = files
        .iter()
        .map(|path| {
            let bytes = std::fs::read(path).unwrap();
            let wheel = macml::lock::model::LockedWheel {
                file: path.file_name().unwrap().to_str().unwrap().parse().unwrap(),
                size: bytes.len() as u64,
                sha256: Sha256::of(&bytes),
            };
            cache.unpack(&wheel, Cursor::new(bytes), Bytes::Unchecked).unwrap()
        })
        .collect();
    let interpreter = Interpreter::new(venv.join("bin/python").to_str().unwrap()).unwrap();
    let layout = Layout::venv(python, Platform::LinuxX86_64, interpreter);
    let arriving: Vec<Arriving<'_>> =
        unpacked.iter().map(|wheel| Arriving { wheel, requested: true, direct_url: None }).collect();
    let plan = plan(&arriving, &layout, &[]).unwrap();
    link(&plan, &at("ours"), None);
    let before = tree_without(&venv, |_| {});
    run(pip(&["--python"])
        .arg(venv.join("bin/python"))
        .args(["install", "--no-deps", "--no-index", "--no-compile"])
        .args(&files));
    let theirs: BTreeMap<_, _> =
        tree_without(&venv, |_| {}).into_iter().filter(|(path, _)| !before.contains_key(path)).collect();
    let ours = tree(&at("ours"));
    // pip notes that a file by path came from there; macml tells that for the wheels that the lock has by path.
    let only = |here: &BTreeMap<String, _>, there: &BTreeMap<String, _>| -> Vec<String> {
        let alone = |path: &&String| !there.contains_key(*path) && !path.ends_with("/direct_url.json");
        here.keys().filter(alone).cloned().collect()
    };
    assert_eq!((only(&ours, &theirs), only(&theirs, &ours)), (Vec::new(), Vec::new()));
    assert!(ours.contains_key("bin/jp.py") && ours.contains_key("bin/uv") && ours.len() > 1500, "{}", ours.len());
    let installers = ["/RECORD", "/INSTALLER"];
    for (path, (bytes, mode)) in &ours {
        let (their_bytes, their_mode) = &theirs[path];
        assert_eq!(mode & 0o111, their_mode & 0o111, "{path}");
        // Launchers are each tool's own.
        let own = path.starts_with("bin/") && bytes != their_bytes && bytes.starts_with(b"#!");
        if !own && !installers.iter().any(|name| path.ends_with(name)) {
            assert_eq!(bytes, their_bytes, "{path}");
        }
    }
}

/// What a wheel of a thousand files costs; the bounds are far off, and the times are printed.
#[test]
fn a_thousand_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = "x = 1\n".repeat(1000);
    let paths: Vec<String> = (0..1000).map(|at| format!("pkg/{}/{at:04}.py", at % 40)).collect();
    let wheel = Crafted::new(&paths.iter().map(|path| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let (bytes, locked) = (wheel.bytes(), wheel.locked());
    let cache = WheelCache::inside(&folder.path().join("cache")).open().unwrap();
    let timed = |name: &str, work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        let took = start.elapsed();
        eprintln!("{name}: {} ms", took.as_millis());
        assert!(took < Duration::from_secs(30), "{name}");
    };
    let mut unpacked = None;
    timed("unpack", &mut || {
        unpacked = Some(cache.unpack(&locked, Cursor::new(&bytes), Bytes::Checked).unwrap());
    });
    let mut found = None;
    timed("read the marker", &mut || found = cache.get(&locked).unwrap());
    let found = found.unwrap();
    assert_eq!(Some(&found), unpacked.as_ref());
    timed("look at every file", &mut || assert!(found.is_intact().unwrap()));
    let mut made = None;
    timed("plan", &mut || made = Some(planned(&[&found], "/python")));
    let made = made.unwrap();
    for mode in [LinkMode::Hardlink, LinkMode::Copy] {
        timed(&mode.to_string(), &mut || {
            link(&made, &folder.path().join(mode.to_string()), Some(mode));
        });
    }
    let marker = std::fs::metadata(found.folder.with_file_name("marker")).unwrap().len();
    let all: u64 = found.files.iter().map(|file| file.size).sum();
    eprintln!("wheel {} bytes, files {all} bytes, marker {marker} bytes", bytes.len());
    assert!(marker < 200 * 1100);
}
