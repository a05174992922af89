//! `macml bundle` through the binary: what is in it, what it costs to make it again, and that it is whole or not there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use macml::lock::ReadOutcome;
use macml::pep::Sha256;

use crate::support::project::Project;
use crate::support::published::{Published, Rel};
use crate::support::server::{Action, FakeIndex};
use crate::support::wheel;

fn tagged(tags: &[&str]) -> Rel {
    Rel { wheel_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..Rel::default() }
}

const M14: &str = "native-1.0-cp313-cp313-macosx_14_0_arm64.whl";
const M15: &str = "native-1.0-cp313-cp313-macosx_15_0_arm64.whl";
const LINUX: &str = "native-1.0-cp313-cp313-manylinux_2_28_x86_64.whl";
const PLAIN: &str = "plain-2.0-py3-none-any.whl";
const OTHER: &str = "other-3.0-py3-none-any.whl";

fn index() -> FakeIndex {
    let tags = ["cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_15_0_arm64", "cp313-cp313-manylinux_2_28_x86_64"];
    let published = Published::default()
        .with_release("native", "1.0", tagged(&tags))
        .with("plain", "1.0", &[])
        .with("plain", "2.0", &[])
        .with("other", "3.0", &[]);
    FakeIndex::from_published(&published)
}

/// A project with two environments, of which the default one is for Linux too, locked.
fn project(index: &FakeIndex) -> Project {
    let rest = "platforms = [\"macos-arm64\", \"linux-x86_64\"]\n[dependencies]\nnative = \"*\"\nplain = \"*\"\n\
                [env.tf.dependencies]\nother = \"*\"\n[project]\nname = \"demo\"\n";
    let project = Project::asking(index, "14.0", "==3.13.*", rest);
    project.run(&["lock"]).says(0, &[]);
    project
}

/// The files of a folder by their paths in it.
fn files(folder: &Path) -> BTreeSet<String> {
    let files = macml::sys::fs::walk(folder).unwrap();
    files.into_iter().map(|path| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()).collect()
}

fn with(wheels: &[&str]) -> BTreeSet<String> {
    let own = ["macml.toml", "macml.lock", "macml-bundle.json"];
    own.iter().chain(wheels).map(|name| (*name).to_owned()).collect()
}

/// Looks that every wheel of a bundle is one that its own lock has, byte for byte.
fn check(bundle: &Path) {
    let ReadOutcome::Whole(lock) = macml::lock::read(&bundle.join("macml.lock")).unwrap() else {
        panic!("the bundle has a lock")
    };
    for name in files(bundle).iter().filter(|name| name.ends_with(".whl")) {
        let bytes = std::fs::read(bundle.join(name)).unwrap();
        let file = name.rsplit('/').next().unwrap();
        let mut locked = lock.packages.iter().flat_map(|package| &package.wheels);
        let locked = locked.find(|wheel| wheel.file.to_string() == file).unwrap();
        assert_eq!((bytes.len() as u64, Sha256::of(&bytes)), (locked.size, locked.sha256), "{name}");
    }
}

/// Looks that nothing was left where bundles are built, and no wheel in the cache.
fn nothing_left(project: &Project) {
    let names = macml::sys::fs::names(project.path()).unwrap();
    assert!(!names.iter().any(|name| name.starts_with(".macml-")), "{names:?}");
    let downloads = macml::sys::fs::walk(&project.path().join(".cache/macml/downloads-v1")).unwrap();
    assert!(downloads.is_empty(), "{downloads:?}");
}

#[test]
fn a_bundle_holds_what_the_lock_has_for_every_machine() {
    let index = index();
    let project = project(&index);
    let run = project.run(&["bundle"]);
    run.says(0, &["demo-bundle written: 4 wheels, ", "for default on macos-arm64, default on linux-x86_64, "]);
    run.says(0, &["`macml sync --from demo-bundle` installs it without a network"]);
    let bundle = project.path().join("demo-bundle");
    assert_eq!(files(&bundle), with(&[M14, M15, LINUX, PLAIN]));
    check(&bundle);
    nothing_left(&project);
    for name in ["macml.toml", "macml.lock"] {
        assert_eq!(std::fs::read(bundle.join(name)).unwrap(), std::fs::read(project.path().join(name)).unwrap());
    }

    let json = project.run(&["bundle", "out/all", "--all", "--output-format", "json"]).json_as("bundle.schema.json");
    assert_eq!(json["environments"].as_array().unwrap().len(), 4);
    assert_eq!(files(&project.path().join("out/all")), with(&[M14, M15, LINUX, PLAIN, OTHER]));
    let holds = |name: &str, words: &[&str], wheels: &[&str]| {
        project.run(&[&["bundle", name], words].concat()).says(0, &[]);
        assert_eq!(files(&project.path().join(name)), with(wheels));
        check(&project.path().join(name));
    };
    holds("mac", &["--platform", "macos-arm64"], &[M14, M15, PLAIN]);
    holds("mac14", &["--platform", "macos-arm64", "--macos", "14.6"], &[M14, PLAIN]);
    holds("mac26", &["--platform", "macos-arm64", "--macos", "26.0"], &[M15, PLAIN]);
    holds("linux", &["--platform", "linux-x86_64"], &[LINUX, PLAIN]);
    holds("tf", &["--env", "tf"], &[OTHER]);
}

#[test]
fn a_bundle_made_again_keeps_what_is_right() {
    let index = index();
    let project = project(&index);
    project.run(&["bundle", "b"]).says(0, &[]);
    let bundle = project.path().join("b");
    let asked = index.files().len();
    project.run(&["bundle", "b", "--offline"]).says(0, &["4 wheels, ", "4 of them there before"]);
    assert_eq!(index.files().len(), asked);
    // One that is damaged is fetched, one that the lock has no more goes.
    let mut bytes = std::fs::read(bundle.join(M14)).unwrap();
    bytes[40] ^= 1;
    std::fs::write(bundle.join(M14), bytes).unwrap();
    let manifest = std::fs::read_to_string(project.path().join("macml.toml")).unwrap();
    project.write("macml.toml", &manifest.replace("plain = \"*\"", "plain = \"<2\""));
    let stale = project.run(&["bundle", "b"]);
    stale.says(1, &["error: `macml.lock` does not answer `macml.toml`", "environment `default`", "hint: `macml lock`"]);
    assert_eq!(index.files().len(), asked);
    assert!(files(&bundle).contains(PLAIN));
    project.run(&["lock"]).says(0, &[]);
    let asked = index.files().len();
    let json = project.run(&["bundle", "b", "--output-format", "json"]).json_as("bundle.schema.json");
    let kept = json["wheels"].as_array().unwrap().iter().filter(|wheel| wheel["kept"] == true).count();
    assert_eq!(kept, 2, "{json}");
    assert_eq!(files(&bundle), with(&[M14, M15, LINUX, "plain-1.0-py3-none-any.whl"]));
    check(&bundle);
    nothing_left(&project);
    assert_eq!(index.files().len(), asked + 2);
}

#[test]
fn without_every_wheel_there_is_no_bundle_and_the_next_run_goes_on() {
    let index = index();
    let project = project(&index);
    index.rule(&format!("/files/{LINUX}"), 99, Action::Status(404));
    project
        .run(&["bundle", "b"])
        .says(2, &["error: `native-1.0-cp313-cp313-manylinux_2_28_x86_64.whl` could not be had"]);
    assert!(!project.path().join("b").exists());
    let names = macml::sys::fs::names(project.path()).unwrap();
    assert_eq!(names, [".cache", "macml.lock", "macml.toml"]);
    index.behave(|behaviour| behaviour.rules.clear());
    let asked = index.files().len();
    project.run(&["bundle", "b"]).says(0, &[]);
    // Three were in the cache already, or were asked for once more when they were cut off.
    assert!(index.files().len() - asked <= 4);
    check(&project.path().join("b"));
    nothing_left(&project);

    // A bundle that is there stays when the next cannot be made.
    let before = files(&project.path().join("b"));
    index.rule(&format!("/files/{OTHER}"), 99, Action::Status(404));
    project.run(&["bundle", "b", "--all"]).says(2, &["could not be had"]);
    assert_eq!(files(&project.path().join("b")), before);
    check(&project.path().join("b"));
    project
        .run(&["bundle", "c", "--env", "tf", "--offline"])
        .says(2, &["the network is switched off", "hint: run it once"]);
}

#[test]
fn what_a_killed_run_left_goes_and_what_another_builds_stays() {
    let index = index();
    let project = project(&index);
    let at = |name: &str| project.path().join(name);
    for name in [".macml-bundle-killed", ".macml-bundle-busy"] {
        project.write(&format!("{name}/building"), "");
        project.write(&format!("{name}/x.whl"), "half");
    }
    project.write(".macml-bundle-of-somebody/notes", "mine");
    let busy = std::fs::File::open(at(".macml-bundle-busy/building")).unwrap();
    busy.lock().unwrap();
    project.run(&["bundle", "b"]).says(0, &[]);
    let left =
        [".macml-bundle-killed", ".macml-bundle-busy", ".macml-bundle-of-somebody"].map(|name| at(name).exists());
    assert_eq!(left, [false, true, true]);
}

#[test]
fn a_folder_that_is_no_bundle_stays() {
    let index = index();
    let project = project(&index);
    let refused = |folder: &str, what: &str| {
        let there = || project.path().join(folder).is_dir().then(|| files(&project.path().join(folder)));
        let before = there();
        let run = project.run(&["bundle", folder]);
        assert_eq!(run.code, 2);
        run.fails(2, &format!("error: `{folder}` {what}\n\nhint: name another folder, or remove it"));
        assert_eq!(there(), before);
    };
    project.write("mine/notes.txt", "mine");
    refused("mine", "is there, and is no bundle");
    // So looks a project that somebody put wheels into.
    project.write("other/macml.toml", "");
    project.write("other/macml.lock", "");
    refused("other", "is there, and is no bundle");
    project.write("file", "mine");
    refused("file", "is no folder");
    std::fs::create_dir_all(project.path().join("nested/folder")).unwrap();
    refused("nested", "is there, and is no bundle");
    project.run(&["bundle", "b"]).says(0, &[]);
    project.write("b/notes.txt", "mine");
    refused("b", "has `notes.txt` in it, which no bundle has");
    std::fs::create_dir(project.path().join("empty")).unwrap();
    project.run(&["bundle", "empty"]).says(0, &[]);
    let inside = project.run(&["bundle", ".", "-C", "empty"]);
    inside.says(2, &["is the project itself"]);
    // A link to a bundle is followed, and stays.
    std::os::unix::fs::symlink("empty", project.path().join("link")).unwrap();
    project.run(&["bundle", "link"]).says(0, &["4 of them there before"]);
    assert!(project.path().join("link").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn wheels_by_path_and_by_address_are_in_it() {
    let index = index();
    let built = wheel::build("vendored", "1.0", &Rel::default()).remove(0);
    let address = index.root().join(&format!("files/{OTHER}")).unwrap();
    let digest = Sha256::of(&index.bytes(OTHER));
    let rest = format!(
        "[dependencies]\nvendored = {{ path = \"vendor/{}\" }}\nother = {{ url = \"{address}\", sha256 = \"{digest}\" }}\n",
        built.filename
    );
    let project = Project::asking(&index, "14.0", "==3.13.*", &rest);
    let vendored = project.path().join("vendor").join(&built.filename);
    std::fs::create_dir_all(vendored.parent().unwrap()).unwrap();
    std::fs::write(&vendored, &built.bytes).unwrap();
    project.run(&["lock"]).says(0, &[]);
    project.run(&["bundle", "b"]).says(0, &["2 wheels"]);
    let bundle = project.path().join("b");
    assert_eq!(files(&bundle), with(&[OTHER, &built.filename, &format!("vendor/{}", built.filename)]));
    check(&bundle);
    // In the bundle itself the lock is current, without a network.
    project.run(&["lock", "--check", "--offline", "-C", "b"]).says(0, &["unchanged"]);
    project.run(&["bundle", "b", "--offline"]).says(0, &["2 of them there before"]);
    assert!(vendored.exists());
    // One that is another now than was locked is none of the lock's.
    std::fs::write(&vendored, "other bytes").unwrap();
    project.run(&["bundle", "c"]).says(2, &["vendored-1.0-py3-none-any.whl` could not be had as locked"]);
}

#[test]
fn what_cannot_be_meant_is_told_before_anything_is_asked() {
    let index = index();
    let project = project(&index);
    let asked = index.requests().len();
    let check = |words: &[&str], code: i32, part: &str| {
        let run = project.run(&[&["bundle"], words, &["--output-format", "json"]].concat());
        assert!(run.stderr.contains(part), "{}", run.stderr);
        assert_eq!(run.code, code, "{}", run.stderr);
        assert_eq!(run.json_as("bundle.schema.json")["exit-code"], code);
    };
    check(&["--env", "tff"], 2, "macml.toml has no environment `tff`");
    check(&["--platform", "linux-aarch64"], 2, "environment `default` is not locked for linux-aarch64");
    check(
        &["--macos", "13.0"],
        2,
        "environment `default` is for macOS 14.0 and later, so that nothing of it is for macOS 13.0",
    );
    check(&["--platform", "linux-x86_64", "--macos", "14.0"], 2, "no environment looked at is for Macs");
    project.write("macml.lock", "version = 1\nnonsense\n");
    check(&[], 1, "`macml.lock` cannot be used as it is");
    std::fs::remove_file(project.path().join("macml.lock")).unwrap();
    check(&[], 1, "there is no `macml.lock`");
    assert_eq!(index.requests().len(), asked);
    let entries: Vec<PathBuf> = std::fs::read_dir(project.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 2, "{entries:?}");
}
