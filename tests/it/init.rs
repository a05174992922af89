//! `macml init` through the binary: what the first macml.toml says, and what is never overwritten.

use crate::support::project::Project;
use crate::support::published::{Published, Rel};
use crate::support::server::FakeIndex;

const MAC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts/m5-macos26.json");

fn text(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.path().join(name)).unwrap()
}

#[test]
fn the_mac_that_is_there_is_the_lowest_that_must_work() {
    let project = Project::empty();
    let run = project.run(&["init", "--host", MAC, "--offline"]);
    run.says(0, &["macml.toml written for project", "next: macml add torch"]);
    let manifest = text(&project, "macml.toml");
    assert!(manifest.contains("chip = \"m5\" ") && manifest.contains("macos = \"26.4\" "), "{manifest}");
    assert!(manifest.contains("# the lowest chip that must work: this Mac\n"), "{manifest}");
    project.run(&["init"]).says(2, &["`macml.toml` is there already", "`macml add NAME`"]);
    assert_eq!(text(&project, "macml.toml"), manifest);
    // What it wrote is a manifest; nothing is asked for, so that no index is needed.
    project.run(&["lock", "--offline"]).says(0, &["macml.lock written: 0 packages"]);
}

#[test]
fn elsewhere_a_mac_is_guessed_and_said_to_be() {
    let project = Project::empty();
    project
        .run(&["init", "new folder/p", "--python", ">=3.12,<3.14", "-f", "pytorch,torchvision", "--cpu"])
        .says(0, &["new folder/p/macml.toml written for project `p`", "a guess", "torch = \"*\"", "next: cd"]);
    let manifest = text(&project, "new folder/p/macml.toml");
    assert!(manifest.contains("python = \">=3.12, <3.14\"") && manifest.contains("gpu = \"optional\""), "{manifest}");
    project.run(&["init", "linux", "--platform", "linux-x86_64"]).says(0, &["platforms = [\"linux-x86_64\"]"]);
    project.run(&["init", "x", "--platform", "linux-x86_64", "--chip", "m2"]).says(2, &["about Macs"]);
    let intel = r#"{"cpu": "Intel(R) Core(TM) i7", "macos": "14.6", "process": "native", "memory": 17179869184, "arm64": false}"#;
    project.write("intel.json", intel);
    project.run(&["init", "y", "--offline", "--host", "intel.json"]).says(2, &["Intel processor", "--chip m1"]);
    let words = ["init", "y", "--offline", "--host", "intel.json", "--chip", "m1", "--macos", "14.0"];
    project.run(&words).says(0, &["as it was asked for"]);
}

#[test]
fn the_range_is_the_one_in_which_frameworks_are_newest() {
    let wheel =
        |tags: &[&str]| Rel { wheel_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..Rel::default() };
    let both = wheel(&["cp311-cp311-macosx_11_0_arm64", "cp312-cp312-macosx_11_0_arm64"]);
    let old = wheel(&["cp313-cp313-macosx_11_0_arm64"]);
    let published = Published::default().with_release("lib", "2.0", both).with_release("lib", "1.0", old);
    let index = FakeIndex::from_published(&published);
    let project = Project::asking(&index, "14.0", ">=3.12", "");
    let run = project.run(&["init", "p", "-f", "lib"]);
    run.says(0, &["python = \">=3.11,<3.13\"  # lib 2.0 works on each of these; 3.13 has older ones only"]);
    project.run(&["init", "q", "-f", "absent"]).says(1, &["there is no package `absent`"]);
    assert!(!project.path().join("q/macml.toml").exists());
}

#[test]
fn files_of_others_get_lines_and_lose_none() {
    let project = Project::empty();
    project.write(".gitignore", "*.pyc\n.venv");
    let run = project.run(&["init", "--offline", "--gitignore", "--envrc"]);
    run.says(0, &[".gitignore has `.venv-*` now", ".envrc has `use macml` now", "direnv allow"]);
    assert_eq!(text(&project, ".gitignore"), "*.pyc\n.venv\n.venv-*\n");
    assert_eq!(text(&project, ".envrc"), "use macml\n");
    std::fs::remove_file(project.path().join("macml.toml")).unwrap();
    project.run(&["init", "--offline", "--gitignore", "--envrc"]).never_says(&[" now"]);
    // Another project lies above: it is said which of them counts.
    project.run(&["init", "inner", "--offline"]).says(0, &["below it counts instead of `macml.toml`"]);
    project.write("file", "");
    assert_ne!(project.run(&["init", "file/p", "--offline"]).code, 0);
}

/// A broken include writes nothing; else every line is told, and what is written is a manifest that locks.
#[test]
fn what_a_project_asks_for_already_is_taken_over() {
    let project = Project::empty();
    let init = |folder: &str, from: &str| project.run(&["init", folder, "--offline", "--from", from]);
    project.write(
        "requirements.txt",
        "-r base.txt\ntorch==2.8.0+cu128 # CUDA\nxformers\nx @ git+https://example.test/x\nnumpy\n",
    );
    init("p", "requirements.txt").says(2, &["line 1 of `requirements.txt` includes `base.txt`", "no such file"]);
    assert!(!project.path().join("p").exists());
    project.write("base.txt", "\u{feff}numpy<2\n");
    init("p", "requirements.txt").says(
        0,
        &[
            "requirements.txt:2 translated: `torch==2.8.0+cu128` -> `torch = \"==2.8.0\"`: `+cu128` is a build",
            "requirements.txt:3 dropped: `xformers` -- ",
            "requirements.txt:4 refused: `x @ git+https://example.test/x` -- ",
            "requirements.txt:5 translated: `numpy` -> `numpy = \"<2\"`: line 1 of `base.txt`",
            "2 lines kept as they are, 3 translated or dropped, 1 refused",
            "next: cd p && macml lock",
        ],
    );
    let manifest = text(&project, "p/macml.toml");
    assert!(manifest.contains("torch = \"==2.8.0\"") && manifest.contains("numpy = \"<2\""), "{manifest}");
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let conda = "\u{feff}dependencies:\r\n  - python=3.12\r\n  - pytorch>=2.8\r\n";
    std::fs::write(project.path().join("environment.yml"), utf16(conda)).unwrap();
    init("c", "environment.yml").says(0, &["environment.yml:3 translated: `pytorch>=2.8` -> `torch = \">=2.8\"`"]);
    assert!(text(&project, "c/macml.toml").contains("python = \"==3.12.*\""));
    let site = project.path().join(".venv/lib/python3.12/site-packages");
    std::fs::create_dir_all(site.join("six-1.16.0.dist-info")).unwrap();
    init("e", ".venv").says(0, &["six = \"==1.16.0\"", "python = \"==3.12.*\""]);
    init("f", "c").says(2, &["no environment of Python"]);
    init("g", "absent.txt").says(2, &["`absent.txt`", "no such file"]);
}
