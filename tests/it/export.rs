//! `macml export` through the binary: what is refused, where the addresses of a pylock.toml come from, and (live) that pip and
//! uv install what was written and `packaging` reads it.

use std::path::Path;
use std::process::Command;

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::python::python;
use crate::support::python::python_with;
use crate::support::server::FakeIndex;

const REST: &str = "\n[dependencies]\napp = \"*\"\n";

fn index() -> FakeIndex {
    FakeIndex::from_published(&Published::default().with("lib", "2.3.1", &[]).with("app", "3.0.2", &["lib<3"]))
}

#[test]
fn what_is_locked_is_written_in_both_forms() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    project.run(&["export"]).says(1, &["there is no `macml.lock`", "`macml lock` writes it"]);
    project.run(&["lock"]).says(0, &[]);
    let run = project.run(&["export"]);
    run.says(0, &["app==3.0.2 \\\n    --hash=sha256:", "# via macml.toml", "lib==2.3.1", "# via app", "Python 3.12"]);
    assert_eq!(run.stderr, "");
    // The network is off, and nobody is missed.
    assert_eq!(project.run(&["export", "--offline"]).stdout, run.stdout);
    project.run(&["export", "-o", "out/requirements.txt"]).says(2, &["there is no folder `out`"]);
    project.run(&["export", "-o", "requirements.txt"]).says(0, &["requirements.txt written"]);
    assert_eq!(std::fs::read_to_string(project.path().join("requirements.txt")).unwrap(), run.stdout);
    project.run(&["export", "-o", "pylock.toml"]).says(0, &["pylock.toml written"]);
    let text = std::fs::read_to_string(project.path().join("pylock.toml")).unwrap();
    let lock: toml::Table = text.parse().unwrap();
    assert_eq!(lock["lock-version"].as_str(), Some("1.0"));
    let packages = lock["packages"].as_array().unwrap();
    let wheel = &packages[0]["wheels"][0];
    assert_eq!(
        (packages[0]["name"].as_str(), wheel["name"].as_str()),
        (Some("app"), Some("app-3.0.2-py3-none-any.whl"))
    );
    assert!(wheel["url"].as_str().unwrap().starts_with(index.root().as_str()), "{wheel}");
    assert_eq!(project.run(&["export", "--format", "pylock", "--offline"]).stdout, text, "pages are kept");
}

#[test]
fn a_lock_that_is_stale_or_for_others_is_not_exported() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    project.run(&["lock"]).says(0, &[]);
    project.run(&["export", "--platform", "linux-x86_64"]).says(2, &["not locked for linux-x86_64", "`platforms`"]);
    project.run(&["export", "--env", "tf"]).says(2, &["no environment `tf`"]);
    project.write("macml.lock", "<<<<<<< ours\n");
    project.run(&["export"]).says(1, &["cannot be used as it is"]);
    project.run(&["lock"]).says(0, &[]);
    let manifest = std::fs::read_to_string(project.path().join("macml.toml")).unwrap();
    project.write("macml.toml", &manifest.replace("app = \"*\"", "app = \"<3\""));
    project.run(&["export"]).says(1, &["does not answer `macml.toml`"]);
}

#[test]
fn files_that_are_not_offered_any_more_are_named() {
    let project = {
        let index = index();
        let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
        project.run(&["lock"]).says(0, &[]);
        project
    };
    let other = FakeIndex::from_published(&Published::default().with("lib", "2.3.1", &[]).with("app", "4.0", &[]));
    let moved = Project::asking(&other, "14.0", ">=3.12,<3.13", REST);
    moved.write("macml.lock", &project.lock().unwrap());
    moved.run(&["export", "--format", "pylock"]).says(2, &["app-3.0.2-py3-none-any.whl", "macml check --index"]);
}

fn succeeds(program: &Path, words: &[&str], folder: &Path) -> String {
    let output = Command::new(program).args(words).current_dir(folder).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{} {words:?}\n{}", program.display(), text(&output.stderr));
    text(&output.stdout)
}

/// Lists what an environment has, but what it began with.
fn installed(python: &Path, folder: &Path) -> Vec<String> {
    let query = "from importlib.metadata import distributions as d\n\
                 for name in sorted(f'{x.name} {x.version}'.lower().replace('_', '-') for x in d()): print(name)";
    let all = succeeds(python, &["-I", "-c", query], folder);
    let seeds = ["pip ", "setuptools "];
    all.lines().filter(|line| !seeds.iter().any(|seed| line.starts_with(seed))).map(str::to_owned).collect()
}

/// pip with `--require-hashes` and `uv pip sync` install what is locked, and `packaging` reads the pylock.
#[test]
fn others_install_what_is_exported() {
    if !matches!(std::env::var("MACML_LIVE").as_deref(), Ok("1" | "full")) {
        eprintln!("skipped: needs the real index, set MACML_LIVE=1");
        return;
    }
    let (base, minor) = python();
    let next: u32 = minor.rsplit('.').next().unwrap().parse::<u32>().unwrap() + 1;
    let project = Project::new(&format!(
        "[target]\nplatforms = [\"macos-arm64\", \"linux-x86_64\"]\nchip = \"m1\"\nmacos = \"14.0\"\ngpu = \"optional\"\n\
         python = \">={minor},<3.{next}\"\n[dependencies]\nnumpy = \"*\"\nrequests = {{ version = \"*\", extras = [\"socks\"] }}\n"
    ));
    project.run(&["lock"]).says(0, &[]);
    let folder = project.path();
    project.run(&["export", "-o", "requirements.txt"]).says(0, &[]);
    project.run(&["export", "-o", "pylock.toml"]).says(0, &[]);
    let lock = project.lock().unwrap();
    let locked = |name: &str| {
        let start = lock.find(&format!("\nname = \"{name}\"\nversion = \"")).unwrap();
        lock[start..].lines().nth(2).unwrap().trim_start_matches("version = ").trim_matches('"').to_owned()
    };
    let wanted = [format!("numpy {}", locked("numpy")), format!("pysocks {}", locked("pysocks"))];

    succeeds(base, &["-m", "venv", "by-pip"], folder);
    let by_pip = folder.join("by-pip/bin/python");
    let pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "--no-deps"];
    succeeds(&by_pip, &[&pip[..], &["-r", "requirements.txt"]].concat(), folder);
    let mine = installed(&by_pip, folder);
    assert!(wanted.iter().all(|one| mine.contains(one)), "{mine:?}");
    // Nothing is missing: pip itself finds every requirement met.
    succeeds(&by_pip, &["-m", "pip", "check"], folder);

    let uv = python_with("uv", "uv").parent().unwrap().join("uv");
    succeeds(base, &["-m", "venv", "--without-pip", "by-uv"], folder);
    let by_uv = folder.join("by-uv/bin/python");
    succeeds(&uv, &["pip", "sync", "-q", "--python", by_uv.to_str().unwrap(), "pylock.toml", "--preview"], folder);
    assert_eq!(installed(&by_uv, folder), mine);

    let packaging = python_with("packaging-oracle", "packaging==26.4");
    let read = "import sys, tomllib\nfrom packaging.pylock import Pylock\n\
                lock = Pylock.from_dict(tomllib.load(open('pylock.toml', 'rb')))\nlock.validate()\n\
                print(len(lock.packages), all(w.hashes['sha256'] for p in lock.packages for w in p.wheels))";
    let said = succeeds(&packaging, &["-c", read], folder);
    assert!(said.trim().ends_with("True") && !said.starts_with('0'), "{said}");
}
