//! `macml sync` through the binary: real environments of made-up wheels, with the real Python of the machine.

mod failing;
mod kills;
pub(crate) mod live;
mod mac;
mod staging;
mod wheels;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;

use macml::pep::Sha256;

use crate::support::project::Project;
use crate::support::project::Run;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::python::python;
use crate::support::server::FakeIndex;
use crate::support::wheel::base64_url;

/// The platform of this machine, as a manifest names it.
fn platform() -> &'static str {
    match (cfg!(target_os = "macos"), cfg!(target_arch = "x86_64")) {
        (true, _) => "macos-arm64",
        (false, true) => "linux-x86_64",
        (false, false) => "linux-aarch64",
    }
}

/// A project on this machine that asks an index.
pub(crate) struct Here {
    pub(crate) project: Project,
}

impl Here {
    /// Makes one that depends on `roots`, lines of `[dependencies]`.
    pub(crate) fn new(index: &FakeIndex, roots: &str) -> Self {
        let this = Self { project: Project::asking(index, "14.0", ">=3", "") };
        this.depend(roots);
        this
    }

    /// Makes the project depend on other packages.
    pub(crate) fn depend(&self, roots: &str) {
        self.project.write("macml.toml", &manifest(roots));
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.project.path().canonicalize().unwrap()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.project.command(words);
        command.env("MACML_PYTHON", &python().0);
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.run_with(&[], words)
    }

    pub(crate) fn run_with(&self, vars: &[(&str, &str)], words: &[&str]) -> Run {
        let python = python().0.display().to_string();
        self.project.run_with(&[vars, &[("MACML_PYTHON", &python)]].concat(), words)
    }

    /// Runs `macml sync`, which must end well.
    pub(crate) fn sync(&self) -> Run {
        let run = self.run(&["sync"]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        run
    }

    /// Returns the folder that `.venv` leads to.
    pub(crate) fn generation(&self) -> PathBuf {
        self.path().join(".venv").canonicalize().unwrap()
    }

    pub(crate) fn site(&self) -> PathBuf {
        self.generation().join(site())
    }

    /// Runs the environment's Python.
    pub(crate) fn python(&self, code: &str) -> String {
        let output = Command::new(self.path().join(".venv/bin/python")).args(["-c", code]).output().unwrap();
        assert!(output.status.success(), "{code}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

/// Where packages are in an environment.
fn site() -> String {
    format!("lib/python{}/site-packages", python().1)
}

/// Writes a manifest for this machine.
pub(crate) fn manifest(roots: &str) -> String {
    let (platform, minor) = (platform(), &python().1);
    let mac = if platform == "macos-arm64" { "chip = \"m1\"\nmacos = \"14.0\"\n" } else { "" };
    format!(
        "[project]\nname = \"made\"\n\n[target]\nplatforms = [\"{platform}\"]\n{mac}gpu = \"optional\"\n\
         python = \"=={minor}.*\"\n\n[dependencies]\n{roots}\n"
    )
}

/// A release with more files than its `__init__.py`.
fn with_files(requires: &[&str], files: &[(&str, &str)]) -> Rel {
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Rel { requires: requires.iter().map(|one| (*one).to_owned()).collect(), files, ..Rel::default() }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Looks at a tree: every file of every RECORD is there with its digest, and nothing is there that no RECORD names.
/// Returns its packages, as `name-version`.
pub(crate) fn packages(root: &Path, site: &str) -> BTreeSet<String> {
    let packages = root.join(site);
    let mut owned = BTreeSet::new();
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(&packages).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(stem) = name.strip_suffix(".dist-info") else { continue };
        found.insert(stem.to_owned());
        let record = std::fs::read_to_string(packages.join(&name).join("RECORD")).unwrap();
        for line in record.lines() {
            let mut fields = line.rsplitn(3, ',');
            let (size, hash) = (fields.next().unwrap(), fields.next().unwrap());
            let path = packages.join(fields.next().unwrap().trim_matches('"'));
            let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{stem}: {}: {error}", path.display()));
            if !hash.is_empty() {
                let right = format!("sha256={}", base64_url(Sha256::of(&bytes).as_bytes()));
                assert_eq!((hash, size), (&*right, &*bytes.len().to_string()), "{stem}: {}", path.display());
            }
            owned.insert(path.canonicalize().unwrap());
        }
    }
    for path in walk(&packages) {
        let own = path.components().any(|part| part.as_os_str() == "__pycache__")
            || path.file_name().unwrap() == "macml-project.pth";
        assert!(own || owned.contains(&path.canonicalize().unwrap()), "nobody owns {}", path.display());
    }
    found
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => files.extend(walk(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    files
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

fn two() -> Published {
    Published::default().with("aa", "1.0", &["bb"]).with("bb", "1.0", &[]).with("bb", "2.0", &[])
}

#[test]
fn from_nothing_to_an_environment_and_again() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    let first = here.sync();
    first.says(0, &["macml.lock written: 2 packages", ".venv ready: 2 packages, Python 3."]);
    first.never_says(&[" + ", "warning"]);
    assert_eq!(packages(&here.generation(), &site()), names(&["aa-1.0", "bb-2.0"]));
    assert_eq!(here.python("import aa, bb; print(aa.__version__, bb.__version__)"), "1.0 2.0");
    // The prefix is what was started, and the packages are found through it.
    let prefix = here.python("import sys; print(sys.prefix != sys.base_prefix, sys.prefix)");
    assert_eq!(prefix, format!("True {}", here.path().join(".venv").display()));

    let requests = index.requests().len();
    let before = here.generation();
    let again = here.sync();
    again.says(0, &[".venv unchanged, "]);
    assert_eq!((index.requests().len(), here.generation()), (requests, before.clone()));
    assert_eq!(again.stderr, "");

    here.depend("aa = \"*\"\nbb = \"<2\"");
    let third = here.sync();
    third.says(0, &["macml.lock written", " ~ bb 2.0 -> 1.0\n", ".venv ready"]);
    assert_eq!(packages(&here.generation(), &site()), names(&["aa-1.0", "bb-1.0"]));
    // The one before is left as it was, whole.
    assert_ne!(here.generation(), before);
    assert_eq!(packages(&before, &site()), names(&["aa-1.0", "bb-2.0"]));
}

#[test]
fn a_sync_with_nothing_to_do_writes_nothing() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    let state = || {
        let files = walk(&here.path()).into_iter();
        let facts = files.map(|path| (std::fs::symlink_metadata(&path).unwrap().modified().unwrap(), path));
        facts.collect::<BTreeSet<_>>()
    };
    let before = state();
    here.sync().says(0, &["unchanged"]);
    assert_eq!(state(), before);
    // The note on what counts, and that on what counted before.
    assert_eq!(walk(&here.path().join(".local/state/macml/built")).len(), 2);
}

/// Also when the lock has gone back meanwhile to what is there, so that nothing is to be built.
#[test]
fn what_a_killed_run_left_goes_with_the_next() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    let store = here.generation().parent().unwrap().to_owned();
    let (left, lock) = (store.join(".new-killed"), store.with_file_name(".lock"));
    std::fs::create_dir_all(left.join("lib")).unwrap();
    // Somebody may be building in it.
    let building = std::fs::File::open(&lock).unwrap();
    building.lock().unwrap();
    here.sync().says(0, &["unchanged"]);
    assert!(left.exists());
    drop(building);
    here.sync().says(0, &["unchanged"]);
    assert!(!left.exists() && here.generation().exists());
}

#[test]
fn json_says_what_was_done() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    let json = |words: &[&str], code: i32| {
        let run = here.run(&[&["sync", "--output-format", "json"], words].concat());
        assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
        run.json_as("sync.schema.json")
    };
    let would = json(&["--dry-run"], 0);
    assert_eq!((&would["verdict"], &would["environments"][0]["downloads"]), (&"differs".into(), &2.into()));
    assert!(!here.path().join(".venv").exists() && !here.path().join("macml.lock").exists());
    assert!(!here.path().join(".cache/macml/wheels-v1").exists());
    let built = json(&[], 0);
    let env = &built["environments"][0];
    assert_eq!((&built["verdict"], &built["lock-written"]), (&"built".into(), &true.into()));
    assert_eq!((&env["packages"], &env["downloads"], &env["strays"]), (&2.into(), &2.into(), &serde_json::json!([])));
    assert_eq!(
        env["generation"],
        here.generation().display().to_string().replace(&here.path().display().to_string(), "[HERE]")
    );
    assert_eq!(json(&[], 0)["verdict"], "unchanged");
    let checked = json(&["--check"], 0);
    assert_eq!((&checked["verdict"], checked.get("error")), (&"unchanged".into(), None));
    std::fs::write(here.site().join("by_hand.py"), "").unwrap();
    let checked = json(&["--check"], 1);
    assert_eq!((&checked["verdict"], &checked["exit-code"]), (&"differs".into(), &1.into()));
    assert_eq!(checked["error"]["kind"], "stale");
    here.depend("absent = \"*\"");
    let refused = json(&[], 1);
    assert_eq!((&refused["verdict"], &refused["error"]["kind"]), (&"refused".into(), &"unsatisfiable".into()));
}

#[test]
fn a_stale_lock_is_solved_refused_or_taken_as_it_is() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"\nbb = \"*\"");
    here.run(&["sync", "--locked"]).says(1, &["there is no `macml.lock`", "`macml lock` writes it"]);
    here.run(&["sync", "--frozen"]).says(1, &["there is no `macml.lock`"]);
    here.sync();
    let lock = here.project.lock();
    here.depend("aa = \"*\"\nbb = \"<2\"");
    let before = here.generation();
    here.run(&["sync", "--locked"]).says(1, &["`macml.lock` does not answer `macml.toml`", "has changed"]);
    here.run_with(&[("MACML_LOCKED", "1")], &["sync"]).says(1, &["does not answer"]);
    here.run(&["sync", "--check"]).says(1, &["does not answer"]);
    here.run(&["sync", "--frozen"]).says(0, &[".venv unchanged"]);
    here.run_with(&[("MACML_FROZEN", "1")], &["sync"]).says(0, &[".venv unchanged"]);
    here.run(&["sync", "--dry-run"]).says(
        0,
        &["macml.lock would be written", " ~ bb 2.0 -> 1.0", ".venv would be built: 2 packages", "1 wheel to download"],
    );
    assert_eq!((here.project.lock(), here.generation()), (lock, before));
    here.run(&["sync"]).says(0, &[" ~ bb 2.0 -> 1.0"]);
    here.run(&["sync", "--locked"]).says(0, &["unchanged"]);
}

#[test]
fn what_was_put_in_by_hand_is_named_and_dropped() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    let old = here.generation();
    std::fs::write(here.site().join("stray.py"), "x = 1\n").unwrap();
    std::fs::create_dir(here.site().join("hand-3.0.dist-info")).unwrap();
    here.run(&["sync", "--check"]).says(1, &["`.venv` is not as locked", "by hand", "`hand 3.0`"]);
    let run = here.sync();
    run.says(0, &[".venv ready", "warning: dropped", "`hand 3.0`", "stray.py", "hint: "]);
    assert_ne!(here.generation(), old);
    packages(&here.generation(), &site());
    here.sync().says(0, &["unchanged"]);
}

#[test]
fn what_macml_did_not_make_stays_unless_it_may_be_moved() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.project.write(".venv/own.txt", "mine");
    let refused = here.run(&["sync"]);
    refused.says(2, &["`", "/.venv` is not macml's: it stays as it is", "hint: `macml sync --replace`"]);
    here.run(&["run", "true"]).says(2, &["hint: `macml sync --replace`"]);
    // That was known before anything was downloaded.
    assert_eq!(index.asked("/files/").iter().filter(|path| path.ends_with(".whl")).count(), 0);
    assert_eq!(std::fs::read_to_string(here.path().join(".venv/own.txt")).unwrap(), "mine");
    here.run(&["sync", "--replace"]).says(0, &["is now `.venv.before-macml`", ".venv ready"]);
    assert_eq!(std::fs::read_to_string(here.path().join(".venv.before-macml/own.txt")).unwrap(), "mine");
    packages(&here.generation(), &site());
}

#[test]
fn a_cloned_environment_is_built_anew() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    let cloned = here.generation();
    std::fs::remove_dir_all(here.path().join(".local")).unwrap();
    here.run(&["sync", "--check"]).says(1, &["no note of having built it"]);
    here.sync().says(0, &[".venv ready"]);
    assert_ne!(here.generation(), cloned);
    here.sync().says(0, &["unchanged"]);
}

#[test]
fn several_environments_and_those_for_other_machines() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"\n[env.old.dependencies]\nbb = \"<2\"");
    here.run(&["sync", "--env", "old"]).says(0, &[".venv-old ready: 1 package"]);
    assert!(!here.path().join(".venv").exists());
    here.run(&["sync", "--all"]).says(0, &[".venv ready: 2 packages", ".venv-old unchanged"]);
    let prompt = |words: &[&str]| {
        let code = ["python", "-c", "import os; print(os.environ['VIRTUAL_ENV_PROMPT'])"];
        here.run(&[&["run"], words, &code].concat()).stdout
    };
    assert_eq!([prompt(&[]), prompt(&["--env", "old"])], ["made\n", "made:old\n"]);
    let old = here.path().join(".venv-old").canonicalize().unwrap();
    assert_eq!(packages(&old, &site()), names(&["bb-1.0"]));
    here.run(&["sync", "--env", "odl"]).says(2, &["no environment `odl`", "its environments: `default`, `old`"]);
    let other = manifest("aa = \"*\"").replace(platform(), "linux-aarch64");
    if platform() != "linux-aarch64" {
        here.project.write("macml.toml", &other);
        let words = [
            "`default` is not for ",
            "macml.toml has it for linux-aarch64",
            "to `platforms` under `[target]`",
            "`macml sync --target DIR --platform linux-aarch64`",
        ];
        here.run(&["sync"]).says(1, &words);
        here.run(&["sync", "--all"]).says(1, &words);
    }
}

#[test]
fn two_syncs_at_once_end_as_one() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.run(&["lock"]).says(0, &[]);
    let both: Vec<_> =
        (0..4).map(|_| here.command(&["sync"]).stdout(std::process::Stdio::piped()).spawn().unwrap()).collect();
    let ends: Vec<String> = both
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
            said(&output)
        })
        .collect();
    assert_eq!(ends.iter().filter(|end| end.contains(".venv ready")).count(), 1, "{ends:?}");
    assert_eq!(ends.iter().filter(|end| end.contains(".venv unchanged")).count(), 3, "{ends:?}");
    packages(&here.generation(), &site());
    assert_eq!(
        std::fs::read_dir(here.generation().parent().unwrap())
            .unwrap()
            .filter(|entry| { !entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.') })
            .count(),
        1
    );
}

#[test]
fn what_is_only_looked_at_leaves_the_cache_as_it_is() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    let wheels = || {
        let names = std::fs::read_dir(here.path().join(".cache/macml/wheels-v1")).unwrap();
        names.filter(|entry| entry.as_ref().unwrap().file_name() != "lock").count()
    };
    here.project.write(".config/macml/config.toml", "cache-size = \"1kB\"\n");
    here.depend("aa = \"*\"\nbb = \"<2\"");
    here.run(&["sync", "--dry-run"]).says(0, &["1 wheel to download"]);
    assert_eq!(wheels(), 2);
    here.run(&["lock"]).says(0, &[]);
    here.run(&["sync", "--check"]).says(1, &["not as locked"]);
    assert_eq!(wheels(), 2);
    // What downloads holds it to the limit.
    here.run(&["sync", "--target", "tree", "--platform", platform()]).says(0, &["staged"]);
    assert_eq!(wheels(), 0);
    here.sync().says(0, &["ready"]);
    assert_eq!(wheels(), 0);
}

/// A Python that was chosen by hand stays the environment's: `run` and the next sync ask no more for it.
#[test]
fn a_python_that_was_named_once_stays() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    // The same Python by another path, in an environment of conda, which it says.
    let bin = here.path().join("miniforge3/envs/mine/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir_all(here.path().join("miniforge3/envs/mine/conda-meta")).unwrap();
    let named = bin.join(format!("python{}", python().1));
    std::os::unix::fs::symlink(&python().0, &named).unwrap();
    let first = here.run(&["sync", "--python", named.to_str().unwrap()]);
    first.says(0, &["ready", "is of conda's environment `mine`"]);
    assert_eq!(std::fs::read_link(here.generation().join("bin/python")).unwrap(), named);
    // Nothing names it now, and another one comes first.
    let folder = python().0.parent().unwrap().display().to_string();
    let vars = [("PATH", &*folder), ("MACML_PYTHON", "")];
    let before = here.generation();
    for words in [&["run", "python", "-c", ""][..], &["sync"]] {
        let output = here.project.run_with(&vars, words);
        output.says(0, &[]);
        output.never_says(&["ready"]);
    }
    assert_eq!(here.generation(), before);
    // It is the same file by both paths, so only the path tells which of them counts.
    let json = here.project.run_with(&vars, &["sync", "--output-format", "json"]).json_as("sync.schema.json");
    let shown = named.display().to_string().replace(&here.path().display().to_string(), "[HERE]");
    assert_eq!(json["environments"][0]["interpreter"], shown);
    // It goes with what it was chosen for.
    std::fs::remove_file(&named).unwrap();
    here.project.run_with(&vars, &["sync"]).says(0, &["ready"]);
    assert_ne!(std::fs::read_link(here.generation().join("bin/python")).unwrap(), named);
}
