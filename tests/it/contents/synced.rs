//! Trees that `macml sync` made, held against their lock and the cache; the digest across folders, ways and installers.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use macml::check::contents::Contents;
use macml::check::contents::Level;
use macml::check::contents::Tree;
use macml::check::contents::Wanted;
use macml::check::contents::look;
use macml::check::contents::of_wheels;
use macml::environment::Stamp;
use macml::install::Unpacked;
use macml::install::WheelCache;
use macml::lock;
use macml::lock::Lockfile;
use macml::lock::ReadOutcome;
use macml::pep::Sha256;

use super::told;
use super::unsure;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::python::python;
use crate::support::server::FakeIndex;
use crate::support::wheel::base64_url;
use crate::support::wheel::build;
use crate::sync::Here;

fn release(files: &[(&str, &str)]) -> Rel {
    Rel { files: files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect(), ..Rel::default() }
}

fn tool() -> Rel {
    release(&[
        ("{info}/entry_points.txt", "[console_scripts]\ntool = tool.cli:main\n"),
        ("{data}/scripts/scripted", "#!python\nprint('a')\n"),
        ("{data}/scripts/future", "#!python\n'''x'''\nfrom __future__ import annotations\n"),
        ("{data}/headers/tool.h", "int x;\n"),
        ("{data}/data/share/tool/x", "x"),
        ("tool/cli.py", "def main(): pass\n"),
    ])
}

fn published() -> Published {
    Published::default().with_release("tool", "1.0", tool()).with_release(
        "mods",
        "1.0",
        release(&[("mods/sub/one.py", "one = 1\n"), ("mods/sub/two.py", "two = 2\n")]),
    )
}

const ROOTS: &str = "tool = \"*\"\nmods = \"*\"";

/// A project that was synced.
struct Synced {
    here: Here,
    lock: Lockfile,
}

impl Synced {
    fn new(index: &FakeIndex) -> Self {
        let here = Here::new(index, ROOTS);
        here.sync();
        let ReadOutcome::Whole(lock) = lock::read(&here.path().join("macml.lock")).unwrap() else { panic!() };
        Self { here, lock: *lock }
    }

    fn wanted(&self) -> Wanted {
        Wanted::of(&self.lock, &self.lock.envs[0], None)
    }

    fn tree(&self) -> Tree {
        let root = self.here.generation();
        let stamp = Stamp::read(&root).unwrap().unwrap();
        Tree::generation(&root, &stamp, &self.here.path().join(".venv")).unwrap().unwrap()
    }

    fn cache(&self) -> WheelCache {
        WheelCache::inside(&self.here.path().join(".cache/macml"))
    }

    fn wheels(&self) -> Vec<Unpacked> {
        let wheels = self.wanted().packages.into_iter().map(|package| package.wheel.unwrap());
        wheels.map(|(name, sha256)| self.cache().look(&name, sha256).unwrap().unwrap()).collect()
    }

    fn look(&self, level: Level) -> Contents {
        look(&self.tree(), &self.wanted(), level, Some(&self.cache())).unwrap()
    }

    fn digest(&self) -> Sha256 {
        let contents = self.look(Level::Full);
        assert_eq!((told(&contents), unsure(&contents)), (vec![], vec![]));
        contents.digest.unwrap()
    }

    /// Runs `change` on a file that is a copy of what is there, and puts back what was; returns what two levels tell.
    fn with(&self, path: &str, change: &dyn Fn(&Path)) -> [Contents; 2] {
        let path = self.here.generation().join(path);
        let aside = self.here.path().join("aside");
        // What is linked is the cache's file too.
        fs::rename(&path, &aside).unwrap();
        fs::copy(&aside, &path).unwrap();
        set_time(&path, fs::metadata(&aside).unwrap().modified().unwrap());
        change(&path);
        let told = [Level::Times, Level::Full].map(|level| self.look(level));
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).unwrap();
        }
        fs::rename(&aside, &path).unwrap();
        told
    }
}

fn set_time(path: &Path, time: SystemTime) {
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Writes a file and gives it the time that it had.
fn quietly(path: &Path, text: &str) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, text).unwrap();
    set_time(path, time);
}

fn encoded(text: &str) -> String {
    base64_url(Sha256::of(text.as_bytes()).as_bytes())
}

#[test]
fn each_edit_of_a_generation_is_told() {
    let index = FakeIndex::from_published(&published());
    let synced = Synced::new(&index);
    let digest = synced.digest();
    assert_eq!(digest, of_wheels(&synced.tree(), &synced.wheels()));
    let sound = synced.look(Level::Times);
    assert_eq!((told(&sound).len(), sound.hashed, sound.files), (0, 0, 21));
    let site = synced.tree().site;
    let (one, two) = (format!("{site}/mods/sub/one.py"), format!("{site}/mods/sub/two.py"));
    let check = |path: &str, change: &dyn Fn(&Path), times: &[&str], full: &[&str]| {
        let [at_times, at_full] = synced.with(path, change);
        assert_eq!((told(&at_times), told(&at_full)), (words(times), words(full)), "{path}");
        assert_ne!(at_full.digest, Some(digest), "{path}");
    };
    let both = |path: &str, change: &dyn Fn(&Path), expected: &str| check(path, change, &[expected], &[expected]);
    both(&one, &|path| fs::write(path, "one = 2\n").unwrap(), &format!("mods: changed {one}: bytes"));
    both(&one, &|path| quietly(path, "longer = 2\n"), &format!("mods: changed {one}: size 8 -> 11"));
    both(&one, &|path| fs::remove_file(path).unwrap(), &format!("mods: missing {one}"));
    let link = |path: &Path| {
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink("two.py", path).unwrap();
    };
    both(&one, &link, &format!("mods: changed {one}: a symbolic link"));
    check(&one, &|path| quietly(path, "one = 2\n"), &[], &[&format!("mods: changed {one}: bytes")]);
    // A command, and a script.
    let append = |path: &Path| fs::write(path, fs::read_to_string(path).unwrap() + "print()\n").unwrap();
    for name in ["bin/tool", "bin/scripted", "share/tool/x"] {
        let [at_times, at_full] = synced.with(name, &append);
        assert!(told(&at_times)[0].starts_with(&format!("tool: changed {name}: size ")), "{:?}", told(&at_times));
        assert_eq!(told(&at_times), told(&at_full));
        assert_ne!(at_full.digest, Some(digest));
    }
    // Run or not is no part of the digest, and told all the same.
    let [at_times, at_full] = synced.with("bin/tool", &|path| set_mode(path, 0o644));
    for contents in [&at_times, &at_full] {
        assert_eq!(told(contents), ["tool: changed bin/tool: not executable"]);
    }
    assert_eq!(at_full.digest, Some(digest));
    // Another Python is started.
    let other = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text.replacen("/bin/python", "/bin/pythom", 1)).unwrap();
    };
    both("bin/tool", &other, "tool: changed bin/tool: bytes");
    // Whatever was touched is read, and found to be the same.
    let [at_times, at_full] = synced.with(&two, &|path| set_time(path, SystemTime::now()));
    assert_eq!((told(&at_times).len(), at_times.hashed, at_full.digest), (0, 1, Some(digest)));
    assert_eq!(synced.digest(), digest);
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

/// RECORD is in the wheel that is locked: whoever edits a file with its row is found out by the cache.
#[test]
fn an_edited_record_is_told_where_the_cache_has_the_wheel() {
    let index = FakeIndex::from_published(&published());
    let synced = Synced::new(&index);
    let site = synced.tree().site;
    let record = format!("{site}/mods-1.0.dist-info/RECORD");
    let one = synced.here.generation().join(&site).join("mods/sub/one.py");
    let (old, new) = ("one = 1\n", "one = 2\n");
    let bytes = fs::read(&one).unwrap();
    let edit = |path: &Path| {
        fs::remove_file(&one).unwrap();
        fs::write(&one, new).unwrap();
        let text = fs::read_to_string(path).unwrap().replace(&encoded(old), &encoded(new));
        fs::write(path, text).unwrap();
    };
    let expected = [format!("mods: changed {record}: bytes"), format!("mods: changed {site}/mods/sub/one.py: bytes")];
    let [times, full] = synced.with(&record, &edit);
    assert_eq!((told(&times), told(&full)), (expected.to_vec(), expected.to_vec()));
    assert_eq!((unsure(&times), unsure(&full)), (vec![], vec![]));
    // Without the wheel nobody can tell, and that is what is said.
    let gone = synced.with(&record, &|path| {
        edit(path);
        fs::rename(synced.cache().root(), synced.here.path().join("gone")).unwrap();
    });
    assert_eq!(
        gone.map(|contents| (told(&contents), unsure(&contents).contains(&"mods: record".to_owned()))),
        [(); 2].map(|()| (vec![], true))
    );
    fs::rename(synced.here.path().join("gone"), synced.cache().root()).unwrap();
    // A row too many, and one too few.
    fs::remove_file(&one).unwrap();
    fs::write(&one, &bytes).unwrap();
    let edited = format!("mods: changed {record}: bytes");
    let [times, full] = synced.with(&record, &|path| {
        let text = fs::read_to_string(path).unwrap();
        let kept: String =
            text.lines().filter(|line| !line.contains("two.py")).map(|line| format!("{line}\n")).collect();
        fs::write(path, kept + "new.py,,\n").unwrap();
    });
    assert_eq!((told(&times), told(&full)), (vec![edited.clone()], vec![edited]));
    let [times, full] = synced.with(&record, &|path| fs::remove_file(path).unwrap());
    let missing = vec![format!("mods: missing {record}")];
    assert_eq!((told(&times), told(&full)), (missing.clone(), missing));
    // A command and its row.
    let [_, full] = synced.with("bin/tool", &|path| {
        let text = fs::read_to_string(path).unwrap();
        let new = text.replace("import sys\n", "import sys, os\n");
        let record = synced.here.generation().join(&site).join("tool-1.0.dist-info/RECORD");
        let rows = fs::read_to_string(&record).unwrap();
        let rows =
            rows.replace(&format!("{},{}", encoded(&text), text.len()), &format!("{},{}", encoded(&new), new.len()));
        fs::write(record, rows).unwrap();
        fs::write(path, new).unwrap();
    });
    assert_eq!(told(&full), ["tool: changed bin/tool: bytes"]);
}

#[test]
fn files_are_told_by_the_cache_where_their_distribution_is_gone() {
    let index = FakeIndex::from_published(&published());
    let synced = Synced::new(&index);
    let site = synced.tree().site;
    fs::remove_dir_all(synced.here.generation().join(&site).join("mods-1.0.dist-info")).unwrap();
    let info = ["METADATA", "WHEEL"].map(|name| format!("mods: missing {site}/mods-1.0.dist-info/{name}"));
    let expected = [&["mods: not installed, locked 1.0".to_owned()][..], &info].concat();
    for level in [Level::Times, Level::Full] {
        assert_eq!(told(&synced.look(level)), expected);
    }
}

/// Two folders, of which one makes commands go through `sh`; each way of linking; a tree that was staged; one of pip's.
#[test]
fn the_digest_is_the_same_wherever_and_by_whomever() {
    let index = FakeIndex::from_published(&published());
    let synced = Synced::new(&index);
    let digest = synced.digest();
    let deep = Here::new(&index, ROOTS);
    let project = deep.path().join("with a blank").join("x".repeat(100));
    fs::create_dir_all(&project).unwrap();
    for name in ["macml.toml", "macml.lock"] {
        fs::copy(synced.here.path().join(name), project.join(name)).unwrap();
    }
    for mode in ["copy", "hardlink", "clone"] {
        let run = deep.command(&["sync", "--frozen", "--link-mode", mode]).current_dir(&project).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let root = project.join(".venv").canonicalize().unwrap();
        let stamp = Stamp::read(&root).unwrap().unwrap();
        let tree = Tree::generation(&root, &stamp, &project.canonicalize().unwrap().join(".venv")).unwrap().unwrap();
        let cache = WheelCache::inside(&deep.path().join(".cache/macml"));
        let contents = look(&tree, &synced.wanted(), Level::Full, Some(&cache)).unwrap();
        assert_eq!((told(&contents), unsure(&contents), contents.digest), (vec![], vec![], Some(digest)), "{mode}");
        fs::remove_file(project.join(".venv")).unwrap();
        fs::remove_dir_all(project.join(".macml")).unwrap();
    }
    let platform = synced.lock.envs[0].platform.to_string();
    let run = synced.here.run(&["sync", "--target", "staged", "--platform", &platform]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let tree = Tree::staged(&synced.here.path().join("staged")).unwrap().unwrap();
    let contents = look(&tree, &synced.wanted(), Level::Full, Some(&synced.cache())).unwrap();
    assert_eq!((told(&contents), unsure(&contents), contents.digest), (vec![], vec![], Some(digest)));
}

#[test]
fn pip_installs_the_same() {
    let (python, _) = python();
    let pip = |words: &[&str]| Command::new(python).args(["-I", "-m", "pip"]).args(words).output().unwrap();
    if !pip(&["--version"]).status.success() {
        eprintln!("this Python has no pip");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("prefix");
    let mut wheels: Vec<PathBuf> = Vec::new();
    for (name, releases) in published().packages {
        for built in releases.iter().flat_map(|(version, release)| build(&name, version, release)) {
            wheels.push(folder.path().join(&built.filename));
            fs::write(wheels.last().unwrap(), built.bytes).unwrap();
        }
    }
    let mut words =
        vec!["install", "--quiet", "--no-index", "--no-deps", "--no-warn-script-location", "--ignore-installed"];
    words.extend(["--disable-pip-version-check", "--prefix", root.to_str().unwrap()]);
    words.extend(wheels.iter().map(|path| path.to_str().unwrap()));
    let run = pip(&words);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));

    let index = FakeIndex::from_published(&published());
    let synced = Synced::new(&index);
    let [tree] = &Tree::prefixes(&root).unwrap()[..] else { panic!() };
    // It names the Python that ran it.
    let tree = Tree { bins: vec![python.parent().unwrap().to_owned()], ..tree.clone() };
    let contents = look(&tree, &synced.wanted(), Level::Full, Some(&synced.cache())).unwrap();
    assert_eq!((told(&contents), unsure(&contents)), (vec![], vec![]));
    assert_eq!(contents.digest, Some(synced.digest()));
}
