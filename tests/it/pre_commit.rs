//! `.pre-commit-hooks.yaml`: that the READMEs name hooks which are there; and the real `pre-commit`, which runs them in a
//! made project with a made macml, or builds this one (live).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::real_answers::live;
use crate::support::program::program;
use crate::support::real::full;

const HOOKS: &str = ".pre-commit-hooks.yaml";

/// Tells how it was called, and answers no.
const MACML: &str = "#!/bin/sh\nprintf '%s\\n' \"$@\" >called\necho 'told by macml'\nexit 1\n";

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn ids(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("- id: ")?.split(' ').next()).collect()
}

#[test]
fn the_readmes_show_hooks_that_are_there() {
    let hooks = read(HOOKS);
    assert_eq!(ids(&hooks), ["macml-check", "macml-check-system", "macml-check-lock", "macml-check-lock-system"]);
    for file in ["README.md", "README.zh-CN.md"] {
        let text = read(file);
        let shown = ids(&text);
        assert!(!shown.is_empty(), "{file} shows no hook");
        assert!(shown.iter().all(|id| ids(&hooks).contains(id)), "{file}: {shown:?}");
    }
}

/// A project under git, the hooks under git, and what `pre-commit` keeps.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    /// Writes the project's files, and the repository of the hooks with these files of ours.
    fn new(files: &[(&str, &str)], ours: &[String]) -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            std::fs::create_dir_all(project.path("project")).unwrap();
            std::fs::write(project.path("project").join(name), text).unwrap();
        }
        for name in ours {
            let to = project.path("hooks").join(name);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), to).unwrap();
        }
        for repository in ["project", "hooks"] {
            project.git(repository, &["init", "--quiet"]);
            project.git(repository, &["add", "--all"]);
            project.git(repository, &["commit", "--quiet", "--no-verify", "--message", "all"]);
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn command(&self, program: &str, folder: &str) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        command.current_dir(self.path(folder)).env("PATH", path).env("PRE_COMMIT_HOME", self.path("kept"));
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "somebody")
                .env(format!("GIT_{role}_EMAIL"), "somebody@example.org");
        }
        command
    }

    fn git(&self, folder: &str, words: &[&str]) -> String {
        let ran = self.command("git", folder).args(words).output().unwrap();
        assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    /// Runs a hook over all files of the project, with arguments, as its configuration would say.
    fn run(&self, hook: &str, args: &[&str], vars: &[(&str, &str)]) -> (bool, String) {
        let hooks = self.path("hooks");
        let config = format!(
            "repos:\n- repo: {}\n  rev: {}\n  hooks:\n  - id: {hook}\n    args: {args:?}\n",
            hooks.display(),
            self.git("hooks", &["rev-parse", "HEAD"])
        );
        std::fs::write(self.path("project/.pre-commit-config.yaml"), config).unwrap();
        self.git("project", &["add", ".pre-commit-config.yaml"]);
        let ran = self
            .command("pre-commit", "project")
            .args(["run", "--all-files", "--verbose", "--color", "never"])
            .envs(vars.iter().copied())
            .output()
            .unwrap();
        (ran.status.success(), String::from_utf8(ran.stdout).unwrap() + &String::from_utf8_lossy(&ran.stderr))
    }

    fn called(&self) -> Option<String> {
        std::fs::read_to_string(self.path("project/called")).ok()
    }
}

#[test]
fn pre_commit_runs_the_hooks() {
    if !live() {
        eprintln!("not asked for: set MACML_LIVE=1 to run the hooks in the real pre-commit");
        return;
    }
    let files = [("macml.toml", ""), ("macml.lock", ""), ("uv.lock", ""), ("train.py", "")];
    let project = Project::new(&files, &[HOOKS.to_owned()]);
    program(&project.path("bin/macml"), MACML);

    let (passed, text) = project.run("macml-check-system", &["--env", "a b"], &[]);
    assert!(!passed && text.contains("told by macml") && text.contains("exit code: 1"), "{text}");
    assert_eq!(project.called().as_deref(), Some("check\n--env\na b\n"));

    let (passed, text) = project.run("macml-check-lock-system", &["--macos", "14.0", "--chip", "m1"], &[]);
    assert!(!passed && text.contains("told by macml"), "{text}");
    assert_eq!(project.called().as_deref(), Some("check\n--lock\nuv.lock\n--macos\n14.0\n--chip\nm1\n"));

    // As people try it first.
    let hooks = project.path("hooks");
    let tried = project
        .command("pre-commit", "project")
        .args(["try-repo", hooks.to_str().unwrap(), "macml-check-system", "--files", "macml.toml", "train.py"])
        .output()
        .unwrap();
    assert_eq!(tried.status.code(), Some(1));
    assert_eq!(project.called().as_deref(), Some("check\n"));

    // A commit that touches none of its files does not start it.
    std::fs::remove_file(project.path("project/called")).unwrap();
    let skipped = project
        .command("pre-commit", "project")
        .args(["try-repo", hooks.to_str().unwrap(), "macml-check-system", "--files", "train.py"])
        .output()
        .unwrap();
    assert!(skipped.status.success());
    assert_eq!(project.called(), None);
}

#[test]
fn pre_commit_builds_macml_from_this_source() {
    if !full() {
        eprintln!("not asked for: set MACML_LIVE=full to build macml as pre-commit does");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tracked = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output().unwrap();
    let ours: Vec<String> =
        String::from_utf8(tracked.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect();
    assert!(ours.iter().any(|file| file == HOOKS), "this needs a clone");
    let (manifest, lock) = (read("macml.toml"), read("macml.lock"));
    let project = Project::new(&[("macml.toml", &manifest), ("macml.lock", &lock)], &ours);
    // Whether it installs, not how fast it is.
    let vars = [
        ("CARGO_TARGET_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/pre-commit")),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
        ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
        ("MACML_NO_CONFIG", "1"),
        ("MACML_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/pre-commit-cache")),
    ];
    let (passed, text) = project.run("macml-check", &[], &vars);
    assert!(passed, "{text}");
}
