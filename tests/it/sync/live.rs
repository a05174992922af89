//! Environments from the real index, on this machine, whole (when `MACML_LIVE` is set): built, used, changed, rolled back,
//! killed; the examples trained on the CPU; and the trees of Macs, staged here.

use std::path::Path;

use macml::verify::Record;
use macml::verify::Standing;
use macml::verify::protocol::Device;

use super::Here;
use super::kills::Moving;
use super::kills::killed;
use super::manifest;
use super::packages;
use super::site;
use super::walk;
use crate::real_answers::live;
use crate::support::project::Project;
use crate::support::project::Run;
use crate::support::python::python;

/// Returns the variables that all of these runs share: one cache, this machine's Python, and the way to the network.
pub(crate) fn vars() -> Vec<(String, String)> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-sync");
    let mut vars: Vec<(String, String)> =
        std::env::vars().filter(|(name, _)| name.to_ascii_lowercase().ends_with("_proxy")).collect();
    vars.push(("MACML_CACHE_DIR".to_owned(), cache.display().to_string()));
    vars.push(("MACML_PYTHON".to_owned(), python().0.display().to_string()));
    vars
}

pub(crate) fn run(project: &Project, words: &[&str]) -> Run {
    let vars = vars();
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    project.run_with(&vars, words)
}

#[track_caller]
pub(crate) fn good(project: &Project, words: &[&str]) -> String {
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

const DOZEN: &str = "numpy = \"*\"
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
    let project = Project::new(&manifest(DOZEN));
    good(&project, &["lock"]);
    good(&project, &["sync"]);
    let first = std::fs::read_link(project.path().join(".venv")).unwrap();
    assert!(good(&project, &["run", "python", "-c", IMPORTS]).contains("3.0 3"), "it computes");
    assert!(good(&project, &["sync"]).contains("unchanged"));
    packages(&project.path().join(".venv").canonicalize().unwrap(), &site());

    project.write("macml.toml", &manifest(&format!("{DOZEN}networkx = \"*\"\n")));
    good(&project, &["sync"]);
    let second = std::fs::read_link(project.path().join(".venv")).unwrap();
    assert_ne!(first, second);
    good(&project, &["run", "python", "-c", "import networkx"]);
    packages(&project.path().join(".venv").canonicalize().unwrap(), &site());

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
    let root = if cfg!(target_os = "macos") { "mlx = \"*\"" } else { "mlx = { version = \"*\", extras = [\"cpu\"] }" };
    // Its wheels for Linux need a later glibc than the floor that nobody declares.
    let floor = if cfg!(target_os = "macos") { "[target]\n" } else { "[target]\nglibc = \"2.35\"\n" };
    trains("mlx", &manifest(root).replace("[target]\n", floor), "mlx.core");
}

#[test]
fn the_example_for_tensorflow_trains() {
    if !live() {
        return;
    }
    trains("tensorflow", &manifest("tensorflow = \"*\""), "tensorflow");
}

/// Runs an example's train.py in an environment for this machine.
fn trains(example: &str, manifest: &str, import: &str) {
    let project = Project::new(manifest);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example).join("train.py");
    project.write("train.py", &std::fs::read_to_string(script).unwrap());
    let said = good(&project, &["run", "python", "train.py"]);
    assert!(said.contains("trained on"), "{said}");
    good(&project, &["run", "--device", "cpu", "python", "-c", &format!("import {import}")]);
    let said = good(&project, &["verify", "--device", "cpu"]);
    assert!(said.starts_with(&format!("ok  {example} ")) && said.ends_with(".venv on cpu: ok\n"), "{said}");
    eprint!("{said}");
    let record = Record::read(project.path(), "default").unwrap().unwrap();
    let standing = record.standing(&record.circumstances, Device::Cpu);
    assert!(matches!(standing, Standing::Verified { .. }), "{standing:?}");
}

/// The trees that Macs would have: every file of every RECORD, and nothing else.
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
        let minor = std::fs::read_dir(tree.join("lib")).unwrap().next().unwrap().unwrap().file_name();
        let found = packages(&tree, &format!("lib/{}/site-packages", minor.to_str().unwrap()));
        assert_eq!(found.len(), project.lock().unwrap().matches("[[package]]").count(), "{example}: {found:?}");
        let library = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "dylib" || end == "so");
        let files = walk(&tree);
        assert!(files.iter().any(|path| library(&path)), "{example}");
        eprintln!("{example}: {} packages, {} files, each with its digest", found.len(), files.len());
    }
}

#[test]
fn real_packages_killed() {
    if !live() {
        return;
    }
    let here = Here { project: Project::new("") };
    let lock = |roots: &str| {
        here.depend(roots);
        here.sync();
        let code = "import numpy, requests, rich, pydantic; print(numpy.__version__, requests.__version__)";
        (here.project.lock().unwrap(), packages(&here.generation(), &site()), here.python(code))
    };
    let rest = "rich = \"*\"\npydantic = \"*\"\n";
    let first = lock(&format!("numpy = \"<2\"\nrequests = \"<2.32\"\n{rest}"));
    let second = lock(&format!("numpy = \">=2\"\nrequests = \">=2.32\"\n{rest}"));
    let moving = Moving {
        here,
        locks: [first.0, second.0],
        packages: [first.1, second.1],
        code: "import numpy, requests, rich, pydantic; print(numpy.__version__, requests.__version__)".to_owned(),
        prints: [first.2, second.2],
    };
    moving.go(0);
    moving.settle(0);
    // Nobody downloads hundreds of megabytes twenty times: the wheels stay in the cache.
    killed(&moving, 20, usize::MAX);
}
