//! The binary over an index on loopback: what a person reads when an index is there, slow to reach, or gone.

use std::path::Path;
use std::process::Command;

use crate::support::published::{Published, Rel};
use crate::support::server::FakeIndex;

/// Runs `macml lock` in `folder` with these mirrors alone; returns the exit code, standard output and standard error.
fn lock(folder: &Path, mirrors: &[&str], words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_macml"));
    command.arg("lock").args(words).current_dir(folder).env_clear().env("HOME", folder);
    command.env("MACML_MIRROR", mirrors.join(",")).env("MACML_MIRROR_ONLY", "1");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "[target]\nchip = \"m1\"\nmacos = \"14.0\"\ngpu = \"optional\"\npython = \">=3.11,<3.14\"\n\
                    [frameworks]\ntorch = \"==1.*\"\n";
    std::fs::write(folder.path().join("macml.toml"), manifest).unwrap();
    folder
}

fn published() -> Published {
    Published::default().with("torch", "1.13", &[]).with("torch", "2.0", &[])
}

/// A fresh clone has a lock and an empty cache.
#[test]
fn a_fresh_clone_gets_the_whole_summary_and_never_fails_for_it() {
    const HELD: &str = "torch 2.0 exists; held at 1.13: your line asks for `==1.*`";
    let index = FakeIndex::from_published(&published());
    let project = project();
    let mirror = index.url().to_string();
    let check = |words: &[&str], told: bool| {
        let (code, stdout, stderr) = lock(project.path(), &[&mirror], words);
        assert_eq!((code, stderr.as_str()), (0, ""), "{words:?}");
        assert_eq!(stdout.contains(HELD), told, "{words:?}: {stdout}");
    };
    check(&["--cache-dir", "one"], true);
    check(&["--cache-dir", "one", "--check"], true);
    check(&["--cache-dir", "one", "--offline"], true);
    check(&["--cache-dir", "two", "--check"], false);
    check(&["--cache-dir", "two", "--offline"], false);
    check(&["--cache-dir", "two"], true);
    drop(index);
    check(&["--cache-dir", "two"], true);
    check(&["--cache-dir", "three"], false);
}

#[test]
fn a_mirror_that_is_down_is_told_once() {
    let index = FakeIndex::from_published(&published());
    let project = project();
    let down = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (down, up) = (format!("http://{down}/simple/"), index.url().to_string());
    let mirrors = [&*down, &*up];
    let (code, _, stderr) = lock(project.path(), &mirrors, &[]);
    assert_eq!((code, stderr.matches("gave no answer").count()), (0, 1), "{stderr}");
}

#[test]
fn where_platforms_differ_is_told_with_and_without_solving() {
    let for_macs = |tags: &str| Rel { wheel_tags: vec![tags.to_owned()], ..Rel::default() };
    let published = Published::default()
        .with_release("fast", "2.0", for_macs("cp313-cp313-macosx_11_0_arm64"))
        .with_release("fast", "1.0", for_macs("cp313-cp313-manylinux_2_17_x86_64"))
        .with("same", "1.0", &[]);
    let index = FakeIndex::from_published(&published);
    let project = tempfile::tempdir().unwrap();
    let manifest = "[target]\nplatforms = [\"macos-arm64\", \"linux-x86_64\"]\nchip = \"m1\"\nmacos = \"14.0\"\n\
                    python = \">=3.13,<3.14\"\n[dependencies]\nfast = \"*\"\nsame = \"*\"\n";
    std::fs::write(project.path().join("macml.toml"), manifest).unwrap();
    for _ in 0..2 {
        let (code, stdout, stderr) = lock(project.path(), &[index.url().as_ref()], &[]);
        assert_eq!((code, stderr.as_str()), (0, ""));
        assert!(stdout.contains("\n  unlike macos-arm64: fast 1.0 (there 2.0)\n"), "{stdout}");
    }
}
