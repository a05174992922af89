//! `macml python` through the binary. What is found on a whole machine, and how it is judged, is tested beside the code
//! on machines laid out in a folder; here is a real Python, and wiring.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::support::project::Project;
use crate::support::project::Run;

/// The real Python of this machine: its file, its version with the patch, its minor.
fn real() -> (PathBuf, String, String) {
    let query = "import os, sys; v = sys.version_info; print(os.path.realpath(sys._base_executable)); \
                 print('%d.%d.%d' % v[:3]); print('%d.%d' % v[:2])";
    let output = Command::new("python3").args(["-I", "-c", query]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    (lines[0].into(), lines[1].to_owned(), lines[2].to_owned())
}

/// Runs the verb on a machine whose PATH is one folder of the project.
fn ask(project: &Project, words: &[&str]) -> Run {
    let bin = project.path().join("bin").display().to_string();
    project.run_with(&[("PATH", &bin)], &[&["python"], words].concat())
}

fn named(project: &Project, python: &Path, words: &[&str]) -> Run {
    let python = python.display().to_string();
    project.run_with(&[("MACML_PYTHON", &python)], &[&["python"], words].concat())
}

fn program(project: &Project, place: &str, bytes: &[u8]) {
    crate::support::program::program(&project.path().join(place), bytes);
}

/// An ELF program for a processor that no machine of ours has.
fn foreign() -> Vec<u8> {
    let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 243, 0];
    bytes.resize(64, 0);
    bytes
}

const MANIFEST: &str = "\
[target]
platforms = [\"macos-arm64\", \"linux-x86_64\", \"linux-aarch64\"]
chip = \"m1\"
macos = \"14.0\"
gpu = \"optional\"
python = \">=3.10,<3.15\"
";

#[test]
fn the_real_python_is_found_and_asked_once() {
    let (python, version, minor) = real();
    let project = Project::empty();
    let found = named(&project, &python, &["find", &minor]);
    assert_eq!((found.code, found.stderr.as_str()), (0, ""));
    let path = found.stdout.trim_end();
    assert_eq!(Path::new(path).canonicalize().unwrap(), python);
    let json = named(&project, &python, &["find", &minor, "--output-format", "json"]).json_as("python.schema.json");
    let one = &json["pythons"][0];
    assert_eq!(
        (&json["command"], &json["exit-code"], &one["verdict"]),
        (&"python find".into(), &0.into(), &"ok".into())
    );
    assert_eq!((&one["version"], &one["path"]), (&version.as_str().into(), &path.into()));
    let list = named(&project, &python, &["list"]);
    list.says(0, &["ok       ", &version, path]);

    // What it said is kept in one file, and believed: with another version written into it, rightly summed, that is told.
    let kept = std::fs::read_dir(project.path().join(".cache/macml/python-v1")).unwrap();
    let kept: Vec<PathBuf> = kept.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    let text = std::fs::read_to_string(&kept[0]).unwrap();
    let numbers: Vec<&str> = version.split('.').collect();
    let json = text.split_once('\n').unwrap().1;
    let other = json.replace(&format!("[{}]", numbers.join(",")), &format!("[{},{},99]", numbers[0], numbers[1]));
    assert_ne!(json, other);
    let sum = macml::pep::Sha256::of(other.as_bytes());
    std::fs::write(&kept[0], format!("{sum}\n{other}")).unwrap();
    named(&project, &python, &["list"]).says(0, &[&format!("{minor}.99")]);
    // Without its sum it is not.
    std::fs::write(&kept[0], &other).unwrap();
    named(&project, &python, &["list"]).says(0, &[&version]);
}

#[test]
fn nothing_of_the_users_reaches_the_python_that_is_asked() {
    let (python, version, minor) = real();
    let project = Project::empty();
    for name in ["sysconfig.py", "sitecustomize.py", "_lzma.py", "os.py", "importlib/__init__.py"] {
        project.write(name, "raise SystemExit('not asked for')\n");
    }
    let own = project.path().display().to_string();
    let vars =
        [("PYTHONPATH", own.as_str()), ("PYTHONHOME", "/nowhere"), ("PYTHONSTARTUP", "/nowhere"), ("LD_PRELOAD", "")];
    let python = python.display().to_string();
    let run = project.run_with(&vars, &["python", "find", &minor, "--python", &python]);
    run.says(0, &[]);
    project.run_with(&vars, &["python", "list", "--python", &python]).says(0, &[&version]);
}

#[test]
fn a_copy_without_lzma_is_refused_and_a_mended_one_is_not() {
    let (python, _, minor) = real();
    let query = "import _lzma, sys, os; print(getattr(_lzma, '__file__', '')); print(os.path.dirname(os.__file__))";
    let output = Command::new(&python).args(["-I", "-c", query]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (lzma, library) = text.trim_end().split_once('\n').unwrap();
    if lzma.is_empty() || cfg!(target_os = "macos") {
        eprintln!("the Python of this machine has _lzma built in, or cannot be copied: nothing to take away");
        return;
    }
    // The library by links, but for the folder of native modules, in which one is left out.
    let project = Project::empty();
    let copy = project.path().join(format!("copy/bin/python{minor}"));
    program(&project, &format!("copy/bin/python{minor}"), &std::fs::read(&python).unwrap());
    let native = Path::new(lzma).parent().unwrap();
    let own = project.path().join(format!("copy/lib/python{minor}"));
    std::fs::create_dir_all(own.join("lib-dynload")).unwrap();
    for (from, to) in [(Path::new(library), own.clone()), (native, own.join("lib-dynload"))] {
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            if entry.path() != native && entry.path() != Path::new(lzma) {
                std::os::unix::fs::symlink(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    }
    let run = named(&project, &copy, &["find", &minor]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    run.says(
        1,
        &[
            "lacks `_lzma`, needed by torchvision",
            "hint: install the development files of xz, then build that Python again",
        ],
    );
    let json = named(&project, &copy, &["list", "--output-format", "json"]).json_as("python.schema.json");
    assert_eq!(json["pythons"][0]["refusal"]["reason"], "lacks-modules");
    // The file comes back; the Python itself is the same.
    let name = Path::new(lzma).file_name().unwrap();
    std::os::unix::fs::symlink(lzma, own.join("lib-dynload").join(name)).unwrap();
    named(&project, &copy, &["find", &minor]).says(0, &["copy/bin/python"]);
    // And is replaced by one that cannot be loaded.
    std::fs::remove_file(own.join("lib-dynload").join(name)).unwrap();
    std::fs::write(own.join("lib-dynload").join(name), "no library").unwrap();
    named(&project, &copy, &["find", &minor]).says(1, &["cannot load `_lzma`: ImportError: "]);
}

#[test]
fn what_cannot_be_used_is_listed_with_reason_and_remedy() {
    let project = Project::empty();
    program(&project, "bin/python3.12", &foreign());
    let path = project.path().join("bin/python3.12");
    let run = named(&project, &path, &["list"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], "refused  -  named  [HERE]/bin/python3.12");
    if cfg!(target_os = "linux") {
        let machine = if cfg!(target_arch = "x86_64") { "x86_64" } else { "aarch64" };
        let reason = format!("         is built for another architecture, and this machine needs {machine}");
        assert_eq!(lines[1..], [reason.as_str(), "         remedy: `uv python install 3.12`"]);
        assert_eq!(run.stdout, ask(&project, &["list"]).stdout.replace("  PATH  ", "  named  "));
    }
    let json = named(&project, &path, &["find", "--output-format", "json"]).json_as("python.schema.json");
    assert_eq!((&json["exit-code"], &json["error"]["kind"]), (&1.into(), &"unsatisfiable".into()));
    assert_eq!(json["pythons"].as_array().unwrap().len(), 1);
}

#[test]
fn finding_none_is_a_no_and_listing_none_is_not() {
    if cfg!(target_os = "macos") {
        eprintln!("a Mac has Pythons in places that a test cannot move");
        return;
    }
    let project = Project::empty();
    let hint = "hint: `uv python install 3.13`";
    ask(&project, &["find", "3.13"]).fails(1, &format!("error: no Python was found on this machine\n\n{hint}"));
    let list = ask(&project, &["list"]);
    let note = format!("note: no Python was found on this machine\n{hint}\n");
    assert_eq!((list.code, list.stdout.as_str(), list.stderr.as_str()), (0, "", note.as_str()));
    let json = ask(&project, &["list", "--output-format", "json"]);
    assert_eq!(json.json_as("python.schema.json")["pythons"].as_array().unwrap().len(), 0);
    program(&project, "bin/python3", b"#!/bin/sh\nexit 99\n");
    ask(&project, &["find"]).fails(
        1,
        "error: no Python that can be used: the one Python found does not fit\n  \
         cause: `[HERE]/bin/python3` is a script that starts something else, not a Python\n\n\
         hint: `uv python install 3.13`",
    );
}

#[test]
fn the_lock_says_which_python_and_without_one_the_range_does() {
    let project = Project::new(MANIFEST);
    program(&project, "bin/python3.12", &foreign());
    let python = project.path().join("bin/python3.12");
    let wants = |wanted: &str, installed: &str| {
        if cfg!(target_os = "linux") {
            ask(&project, &["find"]).says(
                1,
                &[
                    &format!("error: no Python {wanted} that can be used"),
                    &format!("hint: `uv python install {installed}`"),
                ],
            );
        }
    };
    wants(">=3.10, <3.15", "3.13");
    project.run(&["lock", "--offline", "--python", "3.12"]);
    project.run(&["lock", "--offline"]).says(0, &[]);
    let lock = project.lock().unwrap();
    let locked = lock.lines().find_map(|line| line.strip_prefix("python = \"")).unwrap().trim_end_matches('"');
    wants(locked, locked);
    // A patch release that the lock leaves out.
    let full = lock.replace(
        &format!("python = \"{locked}\"\n"),
        &format!("python = \"{locked}\"\npython-full = \"!={locked}.1\"\n"),
    );
    assert_ne!(full, lock);
    project.write("macml.lock", &full);
    wants(&format!("{locked} (!={locked}.1)"), &format!("'=={locked}.*,!={locked}.1'"));
    // A lock that macml.toml has moved away from does not count, and neither does one that cannot be read.
    project.write("macml.toml", &MANIFEST.replace(">=3.10,<3.15", ">=3.10,<3.12"));
    wants(">=3.10, <3.12", "3.11");
    project.write("macml.lock", "version = 1\nnonsense\n");
    wants(">=3.10, <3.12", "3.11");
    named(&project, &python, &["find"]).says(1, &["note: `macml.lock` cannot be used as it is"]);
    project.write("macml.lock", "version = 99\n");
    named(&project, &python, &["find"]).says(2, &["was written by a newer macml"]);
    // A Python that is asked for by number needs neither.
    named(&project, &python, &["find", "3.12"]).says(1, &["python3.12` is "]);
}

#[test]
fn what_makes_no_sense_is_told_with_2() {
    let project = Project::new(MANIFEST);
    let python = project.path().join("nowhere");
    named(&project, &python, &["find", "--env", "tf"]).says(2, &["macml.toml has no environment `tf`"]);
    named(&project, &python, &["find", "3"]).says(2, &["`3` is not a Python such as `3.13`"]);
    named(&project, &python, &["find", "3.13", "--env", "default"]).says(2, &["cannot be used with"]);
    named(&project, &python, &["find"])
        .fails(1, "error: `[HERE]/nowhere` does not exist\n\nhint: name the file of a Python");
    project.run(&["python"]).says(2, &["Usage: macml python"]);
    project.write("macml.toml", "nonsense = 1\n");
    let run = named(&project, &python, &["find", "--output-format", "json"]);
    assert_eq!(run.code, 2);
    assert_eq!(run.json_as("python.schema.json")["error"]["kind"], "manifest");
    let empty = Project::empty();
    named(&empty, &python, &["find", "--env", "tf"]).says(2, &["there is no macml.toml whose environment"]);
}
