//! `macml add` and `macml remove` through the binary: what macml.toml and macml.lock are afterwards, and that both are as they
//! were where there is no answer.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::server::FakeIndex;

fn index() -> FakeIndex {
    let published = Published::default()
        .with("lib", "1.0", &[])
        .with("lib", "2.3.1", &[])
        .with("app", "3.0.2", &["lib<3"])
        .with("app", "1.0", &["lib<2"]);
    FakeIndex::from_published(&published)
}

const REST: &str = "\n# what we use\n[dependencies]\nlib = '>=1' # ours\n";

fn manifest(project: &Project) -> String {
    std::fs::read_to_string(project.path().join("macml.toml")).unwrap()
}

#[test]
fn a_package_comes_in_with_the_version_that_was_chosen() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    let before = manifest(&project);
    project.run(&["add", "app", "--dry-run"]).says(0, &["+ app = \">=3.0\"", "not written (--dry-run)"]);
    assert_eq!((manifest(&project), project.lock()), (before.clone(), None));
    project.run(&["add", "App"]).says(0, &["macml.toml written", "+ app = \">=3.0\"", "macml.lock written"]);
    assert_eq!(manifest(&project), before.replace("[dependencies]\n", "[dependencies]\napp = \">=3.0\"\n"));
    assert!(project.lock().unwrap().contains("app 3.0.2"));
    // What was written is what the lock answers.
    project.run(&["lock", "--check"]).says(0, &["unchanged"]);
    project.run(&["add", "app"]).says(0, &["macml.toml unchanged", "macml.lock unchanged"]);
    let report = project.run(&["add", "app==1.0", "--output-format", "json"]).json();
    assert_eq!((&report["command"], &report["verdict"]), (&"add".into(), &"written".into()));
    assert_eq!(report["lines"], serde_json::json!(["app = \"==1.0\""]));
    assert!(manifest(&project).contains("[dependencies]\napp = \"==1.0\"\nlib = '>=1' # ours\n"));
    project.run(&["remove", "app"]).says(0, &["- app = \"==1.0\""]);
    assert_eq!(manifest(&project), before);
    project.run(&["lock", "--check"]).says(0, &["unchanged"]);
}

#[test]
fn what_has_no_answer_leaves_both_files_as_they_were() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    project.run(&["lock"]).says(0, &[]);
    let before = (manifest(&project), project.lock());
    let unlike = |words: &[&str], code: i32, parts: &[&str]| {
        project.run(words).says(code, parts);
        assert_eq!((manifest(&project), project.lock()), before, "{words:?}");
    };
    unlike(&["add", "app==3.0.2", "lib==3"], 1, &["no set of packages", "as they were"]);
    unlike(&["add", "absent"], 1, &["there is no package `absent`", "as they were"]);
    unlike(&["add", "lib 2"], 2, &["`lib 2` is not a dependency specifier"]);
    unlike(&["add", "git+https://example.test/x.git"], 2, &["git requirement"]);
    unlike(&["add", "x @ https://example.test/x-1-py3-none-any.whl"], 2, &["without a digest", "#sha256="]);
    unlike(&["add", "gone-1.0-py3-none-any.whl"], 2, &["there is no file"]);
    unlike(&["add", "app", "--env", "tf"], 2, &["no environment `tf`"]);
    unlike(&["remove", "app"], 2, &["`app` is in none of"]);
    unlike(&["remove", "lib", "app"], 2, &["`app` is in none of"]);
}

#[test]
fn a_lock_that_cannot_be_written_takes_the_edit_back() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    let before = manifest(&project);
    std::fs::create_dir(project.path().join("macml.lock")).unwrap();
    let run = project.run(&["add", "app"]);
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert_eq!(manifest(&project), before);
}

#[test]
fn a_link_stays_a_link_and_leads_to_the_edited_file() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    std::fs::create_dir(project.path().join("kept")).unwrap();
    std::fs::rename(project.path().join("macml.toml"), project.path().join("kept/macml.toml")).unwrap();
    std::os::unix::fs::symlink("kept/macml.toml", project.path().join("macml.toml")).unwrap();
    project.run(&["add", "app"]).says(0, &["macml.lock written"]);
    assert!(std::fs::read_link(project.path().join("macml.toml")).is_ok());
    assert!(manifest(&project).contains("app = "));
    assert!(project.lock().is_some(), "the lock lies beside the macml.toml that was found");
}

#[test]
fn rights_of_the_file_stay() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.12,<3.13", REST);
    let path = project.path().join("macml.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    project.run(&["add", "app"]).says(0, &[]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}
