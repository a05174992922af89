//! Real packages of the real index: locked, built, changed, killed; and Mac trees of the examples. Runs when `MACML_LIVE`
//! is set.

use std::path::Path;

use super::Here;
use super::kills::Moving;
use super::kills::killed;
use super::manifest;
use super::packages;
use super::site;
use crate::live_index::live;
use crate::support::project::Project;

const DOZEN: [&str; 12] = [
    "numpy",
    "pandas",
    "scikit-learn",
    "matplotlib",
    "requests",
    "pillow",
    "rich",
    "httpx",
    "pydantic",
    "sqlalchemy",
    "pytest",
    "jinja2",
];

#[test]
fn a_dozen_real_packages() {
    if !live() {
        return;
    }
    let here = Here { project: Project::new(&manifest(&DOZEN.map(|name| format!("{name} = \"*\"\n")).concat())) };
    here.run(&["lock"]).says(0, &["macml.lock written"]);
    here.sync().says(0, &[".venv ready"]);
    let first = packages(&here.generation(), &site());
    let code = "import numpy, pandas, sklearn.linear_model as l, matplotlib, PIL, sqlalchemy, pydantic, httpx, rich\n\
                print(l.LinearRegression().fit([[1], [2]], [2, 4]).predict([[3]]).round())";
    assert_eq!(here.python(code), "[6.]");
    here.sync().says(0, &["unchanged"]);
    here.depend("numpy = \"*\"\nrequests = \"<2.32\"");
    here.sync().says(0, &[" ~ requests ", " - pandas ", ".venv ready"]);
    let second = packages(&here.generation(), &site());
    assert!(second.len() < first.len(), "{second:?}");
    assert!(here.python("import numpy, requests; print(requests.__version__)").starts_with("2.31"));
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

/// The Mac files of examples, on whatever machine this is: `MACML_LIVE=full` stages the large ones too.
#[test]
fn mac_trees_of_the_examples() {
    if !live() {
        return;
    }
    let full = std::env::var("MACML_LIVE").as_deref() == Ok("full");
    let examples: &[&str] = if full { &["mlx", "pytorch", "tensorflow"] } else { &["mlx"] };
    for example in examples {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example);
        let project = Project::new(&std::fs::read_to_string(folder.join("macml.toml")).unwrap());
        project.write("macml.lock", &std::fs::read_to_string(folder.join("macml.lock")).unwrap());
        let run = project.run(&["sync", "--frozen", "--target", "mac", "--platform", "macos-arm64"]);
        run.says(0, &["mac staged for macOS 14.0"]);
        let python = std::fs::read_dir(project.path().join("mac/lib")).unwrap().next().unwrap().unwrap().file_name();
        let found = packages(&project.path().join("mac"), &format!("lib/{}/site-packages", python.to_str().unwrap()));
        eprintln!("{example}: {} packages, every file of every RECORD", found.len());
        assert!(found.len() > 5, "{found:?}");
    }
}
