//! `macml tree`, `macml diff` and `macml outdated` through the binary: three ways to read a lock.

use std::path::Path;
use std::process::Command;

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::server::FakeIndex;

const REST: &str = "\n[dependencies]\napp = \"*\"\n";

fn index() -> FakeIndex {
    let published = Published::default()
        .with("lib", "2.3.1", &[])
        .with("lib", "3.0", &[])
        .with("app", "3.0.2", &["lib<3", "util"])
        .with("util", "1.0", &["lib"]);
    FakeIndex::from_published(&published)
}

fn git(folder: &Path, words: &[&str]) {
    let who = ["-c", "user.name=x", "-c", "user.email=x@example.test", "-c", "init.defaultBranch=main"];
    let output = Command::new("git").args(who).args(words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_tree_goes_down_from_macml_toml_or_up_to_it() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    project.run(&["tree"]).says(1, &["there is no `macml.lock`"]);
    project.run(&["lock"]).says(0, &[]);
    let run = project.run_with(&[("LANG", "en_US.UTF-8")], &["tree"]);
    let expected = "default on macos-arm64: Python 3.12\n└── app 3.0.2\n    ├── lib 2.3.1\n    └── util 1.0\n        └── lib 2.3.1\n";
    assert_eq!(run.stdout, expected);
    let run = project.run(&["tree", "lib", "--invert"]);
    let expected = "default on macos-arm64: Python 3.12\n`-- lib 2.3.1\n    |-- app 3.0.2 (in macml.toml)\n    `-- util 1.0\n        `-- app 3.0.2 (in macml.toml)\n";
    assert_eq!(run.stdout, expected);
    let report = project.run(&["tree", "--depth", "0", "--output-format", "json"]).json_as("tree.schema.json");
    assert_eq!(report["environments"][0]["packages"].as_array().unwrap().len(), 1);
    project.run(&["tree", "gone"]).says(1, &["`gone` is in no environment"]);
    project.run(&["tree", "--platform", "linux-x86_64"]).says(2, &["nothing is locked for linux-x86_64"]);
    project.run(&["tree", "--invert"]).says(2, &["PACKAGE"]);
}

#[test]
fn what_is_newer_is_told_with_what_holds_it() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    project.run(&["outdated"]).says(0, &["nothing is newer"]);
    let told = "lib 2.3.1 -> 3.0: `app` 3.0.2 asks for `lib` <3";
    project.run(&["outdated", "--all"]).says(0, &["default on macos-arm64", told]);
    let report = project.run(&["outdated", "--all", "--output-format", "json"]).json_as("outdated.schema.json");
    assert_eq!(report["packages"][0]["newest"], "3.0");
    assert_eq!(project.lock(), None, "nothing is written");
}

#[test]
fn locks_of_commits_files_and_the_folder_are_compared() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    project.run(&["diff"]).says(2, &["`HEAD` is neither a file nor a revision of git here"]);
    let folder = project.path();
    git(folder, &["init", "-q"]);
    git(folder, &["add", "macml.toml"]);
    git(folder, &["commit", "-qm", "one"]);
    project.run(&["lock"]).says(0, &[]);
    // There was no lock: all of it is new.
    project.run(&["diff"]).says(0, &["default on macos-arm64 (new)", "+ app 3.0.2", "+ lib 2.3.1"]);
    git(folder, &["add", "."]);
    git(folder, &["commit", "-qm", "two"]);
    project.run(&["diff"]).says(0, &["no difference"]);
    std::fs::copy(folder.join("macml.lock"), folder.join("old.lock")).unwrap();
    let manifest = std::fs::read_to_string(folder.join("macml.toml")).unwrap();
    project.write("macml.toml", &manifest.replace("app = \"*\"", "lib = \"*\""));
    project.run(&["lock", "-U"]).says(0, &[]);
    for words in [&["diff"][..], &["diff", "HEAD"], &["diff", "old.lock"], &["diff", "old.lock", "macml.lock"]] {
        project.run(words).says(0, &["- app 3.0.2", "~ lib 2.3.1 -> 3.0", "- util 1.0"]);
    }
    project.run(&["diff", "--exit-code"]).says(1, &["- app"]);
    project.run(&["diff", "HEAD~1", "HEAD"]).says(0, &["+ app 3.0.2"]);
    let report = project.run(&["diff", "--output-format", "json"]).json_as("diff.schema.json");
    assert_eq!(report["changes"][0]["changes"].as_array().unwrap().len(), 3);
    for hostile in ["--output=/tmp/x", "HEAD:macml.toml", "nonsense"] {
        project.run(&["diff", "--", hostile]).says(2, &["neither a file nor a revision of git"]);
    }
    // From below the project's folder, and with a project below the top of the repository.
    std::fs::create_dir(folder.join("src")).unwrap();
    let output = project.command(&["diff"]).current_dir(folder.join("src")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("- app 3.0.2"));
}

#[test]
fn what_a_change_means_for_the_gpu_is_said() {
    let lock = |torch: &str| {
        format!(
            "version = 1\nrevision = 0\n\n[[env]]\nname = \"default\"\nplatform = \"macos-arm64\"\nmacos = \"14.0\"\nchip = \"m1\"\n\
             gpu = \"required\"\npython = \"3.13\"\n\
             inputs = \"sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\"\npackages = [\"torch {torch}\"]\n\n\
             [[package]]\nname = \"torch\"\nversion = \"{torch}\"\nindex = \"pypi\"\nwheels = [\n  {{ file = \
             \"torch-{torch}-cp313-cp313-macosx_14_0_arm64.whl\", size = 1, sha256 = \
             \"afa327c9725ec6910715bc9ef32a827440914497d86468fb8758426886ae8931\" }},\n]\n"
        )
    };
    let project = Project::empty();
    project.write("old.lock", &lock("2.14.1"));
    project.write("new.lock", &lock("2.15.0"));
    project.write("older.lock", &lock("2.12.1"));
    let run = project.run(&["diff", "old.lock", "new.lock"]);
    run.says(0, &["~ torch 2.14.1 -> 2.15.0", "new: torch 2.15.0 needs macOS >=15.0", "torch-2.15-mps-needs-macos-15"]);
    let run = project.run(&["diff", "older.lock", "old.lock"]);
    run.says(0, &["gone: wrong results of torch 2.12.1", "new: wrong results of torch 2.14.1", "mps-bmm-long-inner"]);
    let report = project.run(&["diff", "old.lock", "new.lock", "--output-format", "json"]).json_as("diff.schema.json");
    let gained = report["meanings"][0]["gained"].as_array().unwrap();
    assert!(gained.iter().any(|hit| hit["rule"] == "torch-2.15-mps-needs-macos-15"), "{gained:?}");
}
