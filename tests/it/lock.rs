//! macml.lock on disk: the fixtures of every version, the schema, and writing as one step.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use macml::lock::{self, Lockfile, ReadOutcome, format, parse};
use macml::sys::fs::Written;
use macml::target::Platform;

const FOLDER: &str = "tests/locks/v1";

fn fixture(name: &str) -> String {
    std::fs::read_to_string(Path::new(FOLDER).join(name)).unwrap()
}

fn whole(name: &str) -> Lockfile {
    parse::parse(&fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn read(path: &Path) -> ReadOutcome {
    lock::read(path).unwrap()
}

/// Goal one of the format: what was read is what is written.
#[test]
fn fixtures_are_written_as_they_were_read() {
    for name in ["small.lock", "basic.lock", "two-platforms.lock", "origins.lock", "ignored-rules.lock"] {
        assert_eq!(format::to_text(&whole(name)), fixture(name), "{name}");
    }
}

/// A later revision may only add what this reader may ignore.
#[test]
fn a_newer_revision_reads_as_the_same_lock() {
    assert_eq!(whole("newer-revision.lock"), whole("basic.lock"));
}

/// Each names what is to be said of it in its first line.
#[test]
fn bad_locks_are_refused_with_their_place() {
    let mut failures = Vec::new();
    let mut files: Vec<_> = std::fs::read_dir(Path::new(FOLDER).join("bad")).unwrap().map(|one| one.unwrap()).collect();
    files.sort_by_key(std::fs::DirEntry::path);
    assert!(files.len() > 20);
    for file in files {
        let text = std::fs::read_to_string(file.path()).unwrap();
        let expected = text.lines().next().unwrap().strip_prefix("# Expected: ").unwrap_or("nothing");
        let said = parse::parse(&text).map_or_else(|error| error.to_string(), |_| "nothing".to_owned());
        if said != expected {
            failures.push(format!("{}\n  expected {expected}\n  but said {said}", file.path().display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_newer_version_is_an_error_and_never_overwritten() {
    let error = lock::read(&Path::new(FOLDER).join("bad/newer-version.lock")).unwrap_err().to_string();
    assert!(error.ends_with("was written by a newer macml: version 2, this macml reads 1"), "{error}");
}

#[test]
fn both_sides_of_a_conflict_are_preferences() {
    let ReadOutcome::Conflicted { ours, theirs } = read(&Path::new(FOLDER).join("conflicted.lock")) else {
        panic!("not seen as conflicted");
    };
    let wanted = lock::combine(&[&ours, &theirs], "default", Platform::MacosArm64);
    assert_eq!(wanted.python.unwrap().to_string(), "3.13");
    let versions = |name: &str| -> Vec<String> {
        wanted.versions[&name.parse().unwrap()].iter().map(ToString::to_string).collect()
    };
    assert_eq!(versions("filelock"), ["3.20.0", "3.19.1"]);
    assert_eq!(versions("torch"), ["2.14.1"]);
}

#[test]
fn a_damaged_lock_gives_what_can_be_made_out() {
    let ReadOutcome::Damaged { error, pins } = read(&Path::new(FOLDER).join("bad/cut-off.lock")) else {
        panic!("not seen as damaged");
    };
    assert!(error.line > 10, "{error}");
    let wanted = lock::combine(&[&pins], "default", Platform::MacosArm64);
    assert_eq!(wanted.versions[&"torch".parse().unwrap()][0].to_string(), "2.14.1");
}

#[test]
fn no_file_and_an_empty_one_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("macml.lock");
    assert_eq!(read(&path), ReadOutcome::Absent);
    std::fs::write(&path, "").unwrap();
    let ReadOutcome::Damaged { error, pins } = read(&path) else { panic!("not seen as damaged") };
    assert_eq!(error.to_string(), "line 1, column 1: the file has no `version`");
    assert!(pins.is_empty());
}

#[test]
fn writing_is_one_step_and_only_when_needed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("macml.lock");
    assert_eq!(lock::write(&path, &whole("basic.lock")).unwrap(), Written::Changed);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let modified = || std::fs::metadata(&path).unwrap().modified().unwrap();
    let before = modified();
    assert_eq!(lock::write(&path, &whole("basic.lock")).unwrap(), Written::Unchanged);
    assert_eq!(modified(), before);
    assert_eq!(lock::write(&path, &whole("small.lock")).unwrap(), Written::Changed);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), fixture("small.lock"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file was left");
}

/// A new file is as readable as the umask lets it be, unlike temporary files, which are the owner's alone.
#[test]
fn a_new_lock_has_the_usual_mode() {
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (usual, path) = (folder.path().join("usual"), folder.path().join("macml.lock"));
    std::fs::write(&usual, "").unwrap();
    lock::write(&path, &whole("small.lock")).unwrap();
    assert_eq!(mode(&path), mode(&usual));
}

#[test]
fn a_linked_lock_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (real, path) = (folder.path().join("real.lock"), folder.path().join("macml.lock"));
    std::fs::write(&real, "").unwrap();
    std::os::unix::fs::symlink("real.lock", &path).unwrap();
    lock::write(&path, &whole("small.lock")).unwrap();
    assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(&real).unwrap(), fixture("small.lock"));
}

#[test]
fn what_would_not_read_back_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("macml.lock");
    lock::write(&path, &whole("small.lock")).unwrap();
    let mut broken = whole("small.lock");
    broken.packages.pop();
    let error = lock::write(&path, &broken).unwrap_err().to_string();
    assert!(error.starts_with("refused to write"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), fixture("small.lock"));
}

#[test]
fn two_writers_and_a_reader_never_meet_half_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("macml.lock");
    let locks = [whole("basic.lock"), whole("two-platforms.lock")];
    lock::write(&path, &locks[0]).unwrap();
    std::thread::scope(|scope| {
        for lock in &locks {
            scope.spawn(|| (0..40).all(|_| lock::write(&path, lock).is_ok()));
        }
        for _ in 0..200 {
            match read(&path) {
                ReadOutcome::Whole(found) => assert!(locks.contains(&found)),
                other => panic!("{other:?}"),
            }
        }
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file was left");
}

#[test]
fn a_place_that_cannot_be_written_to_is_named() {
    let error = lock::write(Path::new("Cargo.toml/macml.lock"), &whole("small.lock")).unwrap_err();
    assert_eq!(error.to_string(), "could not write `Cargo.toml/macml.lock`");
}

fn schema() -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string("schema/lock.schema.json").unwrap()).unwrap()
}

fn valid(text: &str) -> Result<(), String> {
    let lock: toml::Value = toml::from_str(text).map_err(|error| error.to_string())?;
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("lock.schema.json", schema()).unwrap();
    let index = compiler.compile("lock.schema.json", &mut schemas).unwrap();
    let lock = serde_json::to_value(lock).unwrap();
    schemas.validate(&lock, index).map_err(|error| format!("{error:#}"))
}

#[test]
fn the_schema_accepts_the_fixtures() {
    for name in
        ["small.lock", "basic.lock", "two-platforms.lock", "origins.lock", "ignored-rules.lock", "newer-revision.lock"]
    {
        valid(&fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// What the schema can tell, it tells; the rest needs more than one place of the file.
#[test]
fn the_schema_refuses_bad_locks() {
    for name in [
        "absolute-path",
        "index-address",
        "linux-with-macos",
        "newer-version",
        "no-sha256",
        "no-version",
        "no-wheels",
        "path-in-file",
        "short-sha256",
        "two-origins",
        "unknown-key",
    ] {
        assert!(valid(&fixture(&format!("bad/{name}.lock"))).is_err(), "{name}");
    }
}

#[test]
fn the_schema_has_the_keys_of_the_code() {
    let schema = schema();
    // The described keys of a table, and those that revision 0 allows in it.
    let check = |described: &str, allowed: &str, keys: &[&str]| {
        let described = schema.pointer(described).unwrap()["properties"].as_object().unwrap();
        let described: BTreeSet<&str> = described.keys().map(String::as_str).collect();
        let allowed = schema.pointer(&format!("/then{allowed}/propertyNames/enum")).unwrap().as_array().unwrap();
        let allowed: BTreeSet<&str> = allowed.iter().filter_map(|key| key.as_str()).collect();
        let keys: BTreeSet<&str> = keys.iter().copied().collect();
        assert_eq!((&described, &allowed), (&keys, &keys));
    };
    check("", "", format::TOP_KEYS);
    check("/$defs/env", "/properties/env/items", format::ENV_KEYS);
    let package = "/properties/package/items";
    check("/$defs/package", package, format::PACKAGE_KEYS);
    check("/$defs/edges", &format!("{package}/properties/requires-in/items"), format::EDGES_KEYS);
    check("/$defs/wheel", &format!("{package}/properties/wheels/items"), format::WHEEL_KEYS);
    assert_eq!(schema["properties"]["version"]["const"], format::VERSION);
    assert_eq!(schema["if"]["properties"]["revision"]["const"], format::REVISION);
}
