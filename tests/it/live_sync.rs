//! Environments from the real index, on this machine, whole (when `MACML_LIVE` is set): built, used, changed, rolled back,
//! killed; the examples trained on the CPU; and the trees of Macs, staged here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use macml::pep::Sha256;

use crate::real_answers::live;
use crate::support::project::Project;
use crate::support::project::Run;

/// The `[target]` that makes an environment for this machine and the Python on its PATH.
fn here() -> String {
    let platform = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "platforms = [\"linux-x86_64\"]",
        ("linux", "aarch64") => "platforms = [\"linux-aarch64\"]",
        ("macos", _) => "chip = \"m1\"\nmacos = \"14.0\"",
        other => panic!("macml makes no environments for {other:?}"),
    };
    let version = "import sys; print('%d.%d' % sys.version_info[:2])";
    let python = Command::new("python3").args(["-c", version]).output().unwrap().stdout;
    let python = String::from_utf8(python).unwrap();
    format!("[target]\n{platform}\ngpu = \"optional\"\npython = \"=={}.*\"\n", python.trim())
}

/// Returns the variables that all of these runs share: one cache, and this machine's Pythons.
fn vars() -> Vec<(String, String)> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-sync");
    let kept = |(name, _): &(String, String)| {
        name.to_ascii_lowercase().ends_with("_proxy") || matches!(name.as_str(), "PATH" | "PYENV_ROOT")
    };
    let mut vars: Vec<(String, String)> = std::env::vars().filter(kept).collect();
    vars.push(("MACML_CACHE_DIR".to_owned(), cache.display().to_string()));
    if std::env::var_os("PYENV_ROOT").is_none()
        && let Some(home) = std::env::home_dir()
    {
        vars.push(("PYENV_ROOT".to_owned(), home.join(".pyenv").display().to_string()));
    }
    vars
}

fn run(project: &Project, words: &[&str]) -> Run {
    let vars = vars();
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    project.run_with(&vars, words)
}

#[track_caller]
fn good(project: &Project, words: &[&str]) -> String {
    let run = run(project, words);
    assert_eq!(run.code, 0, "{words:?}\n{}{}", run.stdout, run.stderr);
    run.stdout
}

/// Everything that a dozen packages bring in, by what is imported.
const IMPORTS: &str =
    "import numpy, pandas, sklearn, matplotlib, scipy, requests, yaml, rich, pydantic, click, jinja2, tqdm, sympy
import sys
assert sys.prefix != sys.base_prefix
print(numpy.__version__, (numpy.eye(3) @ numpy.ones(3)).sum(), pandas.DataFrame({'a': [1, 2]}).a.sum())
from sklearn.linear_model import LinearRegression
print(LinearRegression().fit([[0], [1]], [0, 1]).coef_[0].round(3))";

const DOZEN: &str = "[dependencies]
numpy = \"*\"
pandas = \"*\"
scikit-learn = \"*\"
matplotlib = \"*\"
requests = \"*\"
pyyaml = \"*\"
rich = \"*\"
pydantic = \"*\"
click = \"*\"
jinja2 = \"*\"
tqdm = \"*\"
sympy = \"*\"
";

#[test]
fn a_dozen_packages_are_locked_built_used_changed_and_rolled_back() {
    if !live() {
        return;
    }
    let project = Project::new(&(here() + DOZEN));
    good(&project, &["lock"]);
    good(&project, &["sync"]);
    let first = std::fs::read_link(project.path().join(".venv")).unwrap();
    assert!(good(&project, &["run", "python", "-c", IMPORTS]).contains("3.0 3"), "it computes");
    assert!(good(&project, &["sync"]).contains("unchanged"));
    every_record_holds(&project.path().join(".venv"));

    project.write("macml.toml", &(here() + DOZEN + "networkx = \"*\"\n"));
    good(&project, &["sync"]);
    let second = std::fs::read_link(project.path().join(".venv")).unwrap();
    assert_ne!(first, second);
    good(&project, &["run", "python", "-c", "import networkx"]);
    every_record_holds(&project.path().join(".venv"));

    good(&project, &["env", "rollback"]);
    assert_eq!(std::fs::read_link(project.path().join(".venv")).unwrap(), first);
    assert_ne!(run(&project, &["run", "--no-sync", "python", "-c", "import networkx"]).code, 0);
    good(&project, &["run", "--no-sync", "python", "-c", IMPORTS]);
}

/// On the CPU, which is what this machine has; the same file runs on a Mac's GPU.
#[test]
fn the_example_for_mlx_trains() {
    if !live() {
        return;
    }
    trains("mlx", "[frameworks]\nmlx = { version = \"*\", extras = [\"cpu\"] }\n", &["mlx"]);
}

#[test]
fn the_example_for_tensorflow_trains() {
    if !live() {
        return;
    }
    trains("tensorflow", "[frameworks]\ntensorflow = \"*\"\n", &["tensorflow"]);
}

/// Runs an example's train.py in an environment for this machine.
fn trains(example: &str, rest: &str, imports: &[&str]) {
    let rest = if cfg!(target_os = "macos") {
        rest.replace("{ version = \"*\", extras = [\"cpu\"] }", "\"*\"")
    } else {
        rest.to_owned()
    };
    let project = Project::new(&(here() + &rest));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example).join("train.py");
    project.write("train.py", &std::fs::read_to_string(script).unwrap());
    let said = good(&project, &["run", "python", "train.py"]);
    assert!(said.contains("trained on"), "{said}");
    for import in imports {
        good(&project, &["run", "--device", "cpu", "python", "-c", &format!("import {import}")]);
    }
}

/// The trees that Macs would have, file for file.
#[test]
fn trees_for_macs_are_staged_whole() {
    if !live() {
        return;
    }
    for example in ["tensorflow", "pytorch", "mlx"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example);
        let project = Project::empty();
        for file in ["macml.toml", "macml.lock"] {
            project.write(file, &std::fs::read_to_string(source.join(file)).unwrap());
        }
        good(&project, &["sync", "--locked", "--target", "tree", "--platform", "macos-arm64"]);
        let tree = project.path().join("tree");
        let files = every_record_holds(&tree);
        let lock = project.lock().unwrap();
        assert!(files > 300, "{example}: {files} files");
        let of_macs =
            walk(&tree).iter().filter(|path| path.extension().is_some_and(|end| end == "dylib" || end == "so")).count();
        assert!(of_macs > 0, "{example}");
        let packages = lock.matches("[[package]]").count();
        let infos = walk(&tree).iter().filter(|path| path.ends_with("RECORD")).count();
        assert_eq!(infos, packages, "{example}");
    }
}

/// Kills `macml sync` at instants spread over its run, between two locks of real packages.
#[test]
fn real_packages_survive_twenty_kills() {
    if !live() {
        return;
    }
    const KILLS: u32 = 20;
    let old = here() + "[dependencies]\nnumpy = \"<2.3\"\nrich = \"<14\"\nscipy = \"*\"\n";
    let new = here() + "[dependencies]\nnumpy = \">=2.3\"\nrich = \">=14\"\nscipy = \"*\"\npandas = \"*\"\n";
    let project = Project::new(&old);
    let mut locks = Vec::new();
    for manifest in [&old, &new] {
        project.write("macml.toml", manifest);
        let _ = std::fs::remove_file(project.path().join("macml.lock"));
        // Both are in the cache, so that the time goes into building.
        good(&project, &["sync"]);
        locks.push((manifest.clone(), project.lock().unwrap()));
    }
    let place = |(manifest, lock): &(String, String)| {
        project.write("macml.toml", manifest);
        project.write("macml.lock", lock);
    };
    let forget = || {
        // Without the generations of before, so that each is built anew.
        let _ = std::fs::remove_dir_all(project.path().join(".macml"));
        let _ = std::fs::remove_file(project.path().join(".venv"));
    };
    forget();
    place(&locks[0]);
    good(&project, &["sync"]);
    place(&locks[1]);
    let begun = Instant::now();
    good(&project, &["sync"]);
    let whole = begun.elapsed();
    let (mut before, mut after, mut during) = (0, 0, 0);
    for kill in 0..KILLS {
        forget();
        place(&locks[0]);
        good(&project, &["sync"]);
        place(&locks[1]);
        let mut command = project.command(&["sync"]);
        let mut child = command.envs(vars()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * kill / KILLS + Duration::from_millis(1));
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        let unfinished = std::fs::read_dir(project.path().join(".macml/env/default"))
            .unwrap()
            .any(|entry| entry.unwrap().file_name().to_str().unwrap().starts_with(".new-"));
        during += u32::from(unfinished && !ended.success());
        let pandas = project.path().join(".venv/bin/python");
        let has_new =
            Command::new(pandas).args(["-c", "import pandas"]).stderr(Stdio::null()).status().unwrap().success();
        *(if has_new { &mut after } else { &mut before }) += 1;
        let wanted = if has_new { "numpy, rich, scipy, pandas" } else { "numpy, rich, scipy" };
        let check = format!(
            "import {wanted}; from importlib.metadata import version as v; assert ({} == (int(v('numpy').split('.')[1]) >= 3))",
            if has_new { "True" } else { "False" }
        );
        good(&project, &["run", "--no-sync", "python", "-c", &check]);
        every_record_holds(&project.path().join(".venv"));
        good(&project, &["sync"]);
        good(&project, &["run", "--no-sync", "python", "-c", "import pandas"]);
    }
    eprintln!(
        "{KILLS} kills: {before} left the old environment, {after} the new one, {during} in the middle of a build"
    );
    assert!(during > 0, "no kill landed while files were written");
}

/// Holds every file of every RECORD of a tree against it; returns how many there are.
pub(crate) fn every_record_holds(root: &Path) -> usize {
    let root = std::fs::canonicalize(root).unwrap();
    let files = walk(&root);
    let records: Vec<&PathBuf> = files.iter().filter(|path| path.ends_with("RECORD")).collect();
    assert!(!records.is_empty(), "{} has no packages", root.display());
    let mut owned = BTreeSet::new();
    for record in records {
        let site = record.parent().unwrap().parent().unwrap();
        for row in std::fs::read_to_string(record).unwrap().lines() {
            let (path, rest) = match row.strip_prefix('"') {
                Some(quoted) => quoted.split_once("\",").unwrap(),
                None => row.split_once(',').unwrap(),
            };
            let file = plain(&site.join(path));
            let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            if let Some((digest, size)) = rest.strip_prefix("sha256=").and_then(|rest| rest.split_once(',')) {
                assert_eq!(bytes.len().to_string(), size, "{}", file.display());
                assert_eq!(unpadded(&Sha256::of(&bytes)), digest, "{}", file.display());
            } else {
                assert!(path.ends_with("RECORD"), "{row}");
            }
            owned.insert(file);
        }
    }
    owned.len()
}

/// A digest as RECORD has it: base64 for addresses, without padding.
fn unpadded(digest: &Sha256) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for three in digest.as_bytes().chunks(3) {
        let word = three.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        let letters = (0..=three.len()).map(|at| LETTERS[(word >> (18 - 6 * at) & 63) as usize] as char);
        text.extend(letters);
    }
    text
}

/// Takes `..` out of a path.
fn plain(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            parts.pop();
        } else {
            parts.push(part)
        }
    }
    parts
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files.extend(walk(&entry.path())),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}
