//! Trees for other machines, and wheels from a folder.

use std::os::unix::fs::PermissionsExt as _;

use super::Here;
use super::names;
use super::packages;
use super::site;
use super::two;
use super::with_files;
use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;

fn mac() -> Published {
    let tags = ["cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_15_0_arm64", "cp313-cp313-manylinux_2_17_x86_64"];
    let gpu = Rel { wheel_tags: tags.map(str::to_owned).to_vec(), ..Rel::default() };
    let tool = with_files(
        &["gpu"],
        &[
            ("{info}/entry_points.txt", "[console_scripts]\ntool = tool:main\n"),
            ("{data}/scripts/scripted", "#!python -u\nprint()\n"),
        ],
    );
    Published::default().with_release("gpu", "1.0", gpu).with_release("tool", "1.0", tool)
}

fn project(index: &FakeIndex) -> Project {
    Project::asking(index, "14.0", "==3.13.*", "[dependencies]\ntool = \"*\"\n")
}

#[test]
fn a_mac_tree_on_any_machine() {
    let index = FakeIndex::from_published(&mac());
    let project = project(&index);
    let words = ["sync", "--target", "mac", "--platform", "macos-arm64"];
    project.run(&words).says(0, &["macml.lock written", "mac staged for macOS 14.0: 2 packages, ", "Python 3.13"]);
    let root = project.path().join("mac");
    let site = "lib/python3.13/site-packages";
    assert_eq!(packages(&root, site), names(&["gpu-1.0", "tool-1.0"]));
    let launcher = std::fs::read_to_string(root.join("bin/tool")).unwrap();
    assert!(launcher.starts_with("#!/usr/bin/env python3.13\nimport sys\n"), "{launcher}");
    assert_eq!(std::fs::metadata(root.join("bin/tool")).unwrap().permissions().mode() & 0o111, 0o111);
    let scripted = std::fs::read_to_string(root.join("bin/scripted")).unwrap();
    assert!(scripted.starts_with("#!/bin/sh\n'exec' '/usr/bin/env' 'python3.13' '-u' \"$0\" \"$@\"\n"), "{scripted}");
    let wheel = |folder: &str| {
        let path = project.path().join(folder).join(site).join("gpu-1.0.dist-info/WHEEL");
        std::fs::read_to_string(path).unwrap()
    };
    assert!(wheel("mac").contains("macosx_14_0_arm64"), "{}", wheel("mac"));
    assert!(!root.join("bin/python").exists());
    assert!(!project.path().join(".venv").exists());

    // A newer Mac gets the file that is for it.
    project
        .run(&["sync", "--target", "new/mac", "--platform", "macos-arm64", "--macos", "15.2"])
        .says(0, &["new/mac staged for macOS 15.2"]);
    assert!(wheel("new/mac").contains("macosx_15_0_arm64"), "{}", wheel("new/mac"));
    let below = ["sync", "--target", "old", "--platform", "macos-arm64", "--macos", "13.0"];
    project.run(&below).says(2, &["is locked for macOS 14.0 and later, not for 13.0"]);

    // A tree of macml's is replaced, with what Python made of it; anything else is not.
    std::fs::create_dir_all(root.join("lib/__pycache__")).unwrap();
    std::fs::write(root.join("lib/__pycache__/tool.pyc"), "").unwrap();
    project.run(&words).says(0, &["mac staged"]);
    assert!(!root.join("lib/__pycache__").exists());
    let stray = root.join("lib/more.txt");
    std::fs::write(&stray, "mine").unwrap();
    project
        .run(&words)
        .says(2, &["mac` has `lib/more.txt` in it, which macml did not put there", "hint: move it away"]);
    assert_eq!(std::fs::read_to_string(&stray).unwrap(), "mine");
    std::fs::remove_file(&stray).unwrap();
    project.write("own/file.txt", "mine");
    let own = ["sync", "--target", "own", "--platform", "macos-arm64"];
    project.run(&own).says(2, &["own` is there, and was not staged by macml: it stays as it is"]);
    assert_eq!(std::fs::read_to_string(project.path().join("own/file.txt")).unwrap(), "mine");
    std::fs::create_dir(project.path().join("empty")).unwrap();
    // A run that was killed left one of these; the other is somebody's.
    for (name, file) in [("left", ".macml-staging-lock"), ("mine", "file")] {
        let folder = project.path().join(format!(".macml-staging-{name}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(file), "").unwrap();
    }
    project.run(&["sync", "--target", "empty", "--platform", "macos-arm64"]).says(0, &["empty staged"]);
    let left: Vec<String> = std::fs::read_dir(project.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let left: Vec<&String> = left.iter().filter(|name| name.contains("staging")).collect();
    assert_eq!(left, [".macml-staging-mine"]);
    let json = project.run(&[&words[..], &["--output-format", "json"]].concat()).json_as("sync.schema.json");
    assert_eq!((&json["verdict"], &json["staged"]["macos"]), (&"staged".into(), &"14.0".into()));
    let other = ["sync", "--target", "x", "--platform", "linux-aarch64"];
    project.run(&other).says(1, &["is not for linux-aarch64: macml.toml has it for macos-arm64"]);
}

#[test]
fn links_are_followed_and_names_that_are_no_text_are_seen() {
    use std::os::unix::ffi::OsStrExt as _;
    let index = FakeIndex::from_published(&mac());
    let project = project(&index);
    let stage = |target: &str| project.run(&["sync", "--target", target, "--platform", "macos-arm64"]);
    let at = |name: &str| project.path().join(name);
    std::fs::create_dir(at("folder")).unwrap();
    std::os::unix::fs::symlink("folder", at("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
    for _ in 0..2 {
        stage("link").says(0, &["link staged"]);
        assert!(at("link").is_symlink() && at("folder/bin/tool").exists());
    }
    stage("dangling").says(2, &["dangling` is there, and was not staged by macml"]);
    // A Mac's volumes have no such names.
    std::fs::create_dir(at("odd")).unwrap();
    let odd = at("odd").join(std::ffi::OsStr::from_bytes(b"\xff"));
    if std::fs::write(&odd, "mine").is_ok() {
        stage("odd").says(2, &["odd` is there, and was not staged by macml"]);
        assert_eq!(std::fs::read_to_string(&odd).unwrap(), "mine");
    }
}

#[test]
fn wheels_from_a_folder_and_no_index() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.run(&["lock"]).says(0, &[]);
    let folder = here.path().join("bundle");
    std::fs::create_dir(&folder).unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let (aa, bb) = ("aa-1.0-py3-none-any.whl", "bb-2.0-py3-none-any.whl");
    put(aa, &index.bytes(aa));
    let requests = index.requests().len();
    let words = ["sync", "--from", "bundle"];
    here.run(&["sync", "--from", "elsewhere"]).says(2, &["there is no folder `", "elsewhere`", "`macml bundle`"]);
    here.run(&words).says(2, &["bundle` lacks `bb-2.0-py3-none-any.whl`"]);
    let mut wrong = index.bytes(bb);
    let middle = wrong.len() / 2;
    wrong[middle] ^= 1;
    put(bb, &wrong);
    here.run(&words).says(1, &["`bb-2.0-py3-none-any.whl` could not be had as locked", "bundle/bb-2.0"]);
    assert!(!here.path().join(".venv").exists());
    put(bb, &index.bytes(bb));
    here.run(&words).says(0, &["ready: 2 packages"]);
    assert_eq!(index.requests().len(), requests);
    packages(&here.generation(), &site());
    here.run(&words).says(0, &["unchanged"]);
}
