//! Mistakes as people make them, through the binary: each is one clear error with the right exit code, and writes nothing.

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::Action;
use crate::support::server::FakeIndex;

fn wheel(tag: &str) -> Rel {
    Rel { wheel_tags: vec![tag.to_owned()], ..Rel::default() }
}

fn index() -> FakeIndex {
    let mac = |version: &str| (version.to_owned(), wheel("cp313-none-macosx_11_0_arm64"));
    let mut published = Published::default()
        .with("alpha", "1.0", &[])
        .with_release("intel-only", "1.0", wheel("cp313-cp313-macosx_10_9_x86_64"))
        .with_release("intel-only", "0.9", wheel("cp313-cp313-manylinux_2_17_x86_64"))
        .with_release("modern", "1.0", wheel("cp313-cp313-macosx_26_0_arm64"));
    for (version, release) in ["2.7.0", "2.8.0"].map(mac) {
        let vision = Rel { requires: vec![format!("torch=={version}")], ..release.clone() };
        let minor = if version == "2.7.0" { "0.22.0" } else { "0.23.0" };
        published = published.with_release("torch", &version, release).with_release("torchvision", minor, vision);
    }
    FakeIndex::from_published(&published)
}

/// Locks `dependencies` and says how that fails.
fn fails(index: &FakeIndex, dependencies: &str, code: i32, parts: &[&str]) {
    let rest = format!("[dependencies]\n{dependencies}\n");
    fails_with(&Project::asking(index, "14.0", ">=3.13,<3.14", &rest), code, parts);
}

fn fails_with(project: &Project, code: i32, parts: &[&str]) {
    let before = project.lock();
    let run = project.run(&["lock"]);
    run.says(code, parts);
    assert_eq!(run.stdout, "", "what failed has no result");
    let errors = run.stderr.lines().filter(|line| line.starts_with("error: ")).count();
    assert_eq!(errors, 1, "one error, not\n{}", run.stderr);
    assert_eq!(project.lock(), before, "nothing is written");
    let mut files: Vec<_> = std::fs::read_dir(project.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    files.retain(|name| !matches!(name.to_str(), Some("macml.toml" | "macml.lock" | ".cache" | "Library")));
    assert_eq!(files, [""; 0], "nothing is left behind");
}

#[test]
fn a_misspelt_key() {
    let project = Project::new("[target]\nchip = \"m1\"\nmacoss = \"14.0\"\npython = \">=3.11,<3.14\"\n");
    fails_with(&project, 2, &["unknown key `macoss`; did you mean `macos`?", "macml.toml:3:1", "1 error in"]);
}

#[test]
fn a_python_without_an_operator() {
    let project = Project::new("[target]\nchip = \"m1\"\nmacos = \"14.0\"\npython = \"3.12\"\n");
    fails_with(&project, 2, &["error[bare-version]", "macml.toml:4:10", "\"==3.12.*\"", "\">=3.12\"", "1 error in"]);
}

#[test]
fn a_version_without_an_operator() {
    let index = index();
    fails(&index, "torch = \"2.13\"", 2, &["error[bare-version]", "\"==2.13.*\"", "\">=2.13\"", "1 error in"]);
    assert!(index.requests().is_empty(), "what is wrong in the manifest needs no index");
}

#[test]
fn a_package_that_does_not_exist() {
    let parts =
        ["macml.toml:7: torchvison", "there is no package `torchvison` on `pypi`", "did you mean `torchvision`?"];
    fails(&index(), "torchvison = \"*\"", 1, &parts);
    fails(&index(), "zzz-nothing-near = \"*\"", 1, &["there is no package `zzz-nothing-near` on `pypi`"]);
}

/// The misspelt name may be why nothing fits.
#[test]
fn a_refusal_does_not_hide_that_a_rule_to_ignore_is_misspelt() {
    let lines = "modern = \"*\"\n[resolution]\nignore-rules = [\"torch-2.15-mps-needs-macos-14\"]";
    let parts = ["warning[unknown-rule]: ", "did you mean `torch-2.15-mps-needs-macos-15`?", "needs macOS 26"];
    fails(&index(), lines, 1, &parts);
}

#[test]
fn a_release_without_an_arm64_wheel() {
    fails(&index(), "intel-only = \"==1.0\"", 1, &["macml.toml:7: intel-only ==1.0", "only Intel wheels"]);
}

#[test]
fn a_floor_that_no_wheel_reaches() {
    let parts =
        ["`modern` 1.0: needs macOS 26; your floor is 14.0", "hint: [target] macos = \"26.0\" gives modern 1.0"];
    fails(&index(), "modern = \"*\"", 1, &parts);
}

#[test]
fn two_lines_that_exclude_each_other() {
    let parts = [
        "macml.toml:7: torch ==2.8.*",
        "macml.toml:8: torchvision ==0.22.*",
        "`torchvision` 0.22.0 asks for `torch` ==2.7.0",
        "hint: ",
    ];
    fails(&index(), "torch = \"==2.8.*\"\ntorchvision = \"==0.22.*\"", 1, &parts);
}

#[test]
fn an_index_that_says_error_with_status_200() {
    let index = index();
    let page = b"<html><head><title>Service unavailable</title></head><body>Sorry</body></html>";
    index.rule("/simple/", 99, Action::Body("text/html".to_owned(), page.to_vec()));
    fails(&index, "alpha = \"*\"", 2, &["no package index", "titled `Service unavailable`", "/simple/alpha/"]);
}

#[test]
fn a_large_page_works_and_a_huge_one_is_refused() {
    // One file that is there, and a great many that nobody asks for.
    let page = |megabytes: usize| {
        let real = "{\"filename\": \"alpha-1.0-py3-none-any.whl\", \"url\": \"../../files/alpha-1.0-py3-none-any.whl\", \"hashes\": {}}";
        let filler = |at: usize| {
            let padding = "x".repeat(900);
            format!(
                "{{\"filename\": \"alpha-0.{at}.tar.gz\", \"url\": \"a/{at}\", \"hashes\": {{}}, \"padding\": \"{padding}\"}}"
            )
        };
        let files: Vec<String> = std::iter::once(real.to_owned()).chain((0..megabytes << 10).map(filler)).collect();
        let page = format!(
            "{{\"meta\": {{\"api-version\": \"1.0\"}}, \"name\": \"alpha\", \"files\": [{}]}}",
            files.join(",")
        );
        Action::Body("application/vnd.pypi.simple.v1+json".to_owned(), page.into_bytes())
    };
    let index = index();
    index.rule("/simple/", 1, page(20));
    let project = Project::asking(&index, "14.0", ">=3.13,<3.14", "[dependencies]\nalpha = \"*\"\n");
    project.run(&["lock"]).says(0, &["macml.lock written: 1 package"]);
    index.rule("/simple/", 99, page(72));
    fails(&index, "alpha = \"*\"", 2, &["alpha", "larger than the limit of 67108864"]);
}

#[test]
fn a_lock_of_a_newer_macml() {
    let index = index();
    let project = Project::asking(&index, "14.0", ">=3.13,<3.14", "[dependencies]\nalpha = \"*\"\n");
    project.write("macml.lock", "version = 2\nrevision = 0\n");
    fails_with(&project, 2, &["was written by a newer macml: version 2, this macml reads 1", "hint: update macml"]);
    assert!(index.requests().is_empty(), "no index is asked for a lock that may not be replaced");
}
