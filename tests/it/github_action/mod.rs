//! `.github/actions/check`: its script as its steps call it, without GitHub, with a made macml and a made cargo; and whether
//! action.yml says what the script does.

mod script;
mod steps;

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::program::program;

/// The folder of the action, from the top of a checkout.
const ACTION: &str = ".github/actions/check";

/// What the script may use beside macml and cargo; one digest program is enough.
const TOOLS: [&str; 9] = ["bash", "dirname", "find", "getconf", "ls", "sh", "sha256sum", "shasum", "sort"];

/// Tells how it was called; `FAKE_CODE` is its answer, `FAKE_CACHE` its cache.
const MACML: &str = r#"#!/bin/sh
case "$1" in
--version) echo 'macml 0.1.0' ;;
cache) printf '%s\n' "$FAKE_CACHE" ;;
check)
    printf '%s\0' "$@" >"$FAKE_SEEN"
    pwd >"$FAKE_SEEN.folder"
    echo '::error file=macml.toml::told'
    exit "${FAKE_CODE:-0}"
    ;;
esac
"#;

/// Tells how it was called, and makes a macml where it is told to.
const CARGO: &str = r#"#!/bin/sh
printf '%s\0' "$@" >"$FAKE_SEEN"
pwd >"$FAKE_SEEN.folder"
printf '%s' "${RUSTFLAGS-unset}${CARGO_BUILD_TARGET-unset}" >"$FAKE_SEEN.settings"
while [ "$1" != --root ]; do shift; done
mkdir -p "$2/bin"
printf '%s' "$FAKE_MACML" >"$2/bin/macml"
chmod +x "$2/bin/macml"
exit "${FAKE_CODE:-0}"
"#;

/// A machine that runs jobs: a workspace, a folder for what is temporary, and a checkout of the action. Every path has a
/// space.
struct Runner {
    folder: tempfile::TempDir,
}

/// What came of one step.
#[derive(Debug)]
struct Step {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    outputs: BTreeMap<String, String>,
}

impl Step {
    /// Asserts that the step ended as one that could not tell, and that the page of the run says why.
    #[track_caller]
    fn failed_with(&self, expected: &str) {
        assert_eq!(self.code, Some(2), "{self:?}");
        let line = self.stdout.lines().last().unwrap_or_default();
        assert!(line.starts_with("::error title=macml check::") && line.contains(expected), "{self:?}");
    }

    #[track_caller]
    fn output(&self, name: &str) -> &str {
        self.outputs.get(name).unwrap_or_else(|| panic!("no `{name}` in {self:?}"))
    }
}

impl Runner {
    fn new() -> Self {
        let runner = Self { folder: tempfile::Builder::new().prefix("a runner ").tempdir().unwrap() };
        for name in ["work", "temp", "bin", "tools"] {
            std::fs::create_dir_all(runner.path(name)).unwrap();
        }
        let path = std::env::var("PATH").unwrap();
        for tool in TOOLS.iter().chain(&["uname", "cat", "chmod", "mkdir", "pwd"]) {
            let found = path.split(':').map(|folder| Path::new(folder).join(tool)).find(|file| file.is_file());
            if let Some(found) = found {
                symlink(found, runner.path("tools").join(tool)).unwrap();
            }
        }
        let checkout = runner.path("action");
        program(&checkout.join(ACTION).join("run.sh"), read(&format!("{ACTION}/run.sh")));
        for (name, text) in
            [("Cargo.toml", "[package]\n"), ("Cargo.lock", "version = 4\n"), ("src/lib.rs", "//! It.\n")]
        {
            let file = checkout.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        runner
    }

    /// With every link followed.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Puts the made macml on PATH.
    fn with_macml(self) -> Self {
        program(&self.path("bin/macml"), MACML);
        self
    }

    fn with_cargo(self) -> Self {
        program(&self.path("bin/cargo"), CARGO);
        self
    }

    /// Runs a step in the workspace, with these variables besides those that GitHub sets.
    fn step(&self, verb: &str, vars: &[(&str, &str)]) -> Step {
        let outputs = self.path("outputs");
        std::fs::write(&outputs, "").unwrap();
        let ran = Command::new(self.path("tools/bash"))
            .arg(self.path("action").join(ACTION).join("run.sh"))
            .arg(verb)
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", format!("{}:{}", self.text("bin"), self.text("tools")))
            .env("HOME", self.path("home"))
            .env("GITHUB_OUTPUT", &outputs)
            .env("RUNNER_TEMP", self.path("temp"))
            .env("MACML", self.path("bin/macml"))
            .env("FAKE_SEEN", self.path("seen"))
            .env("FAKE_CACHE", self.path("the cache"))
            .env("FAKE_MACML", MACML)
            .envs(vars.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = std::fs::read_to_string(outputs).unwrap();
        let outputs = told.lines().map(|line| line.split_once('=').unwrap());
        Step {
            code: ran.status.code(),
            stdout: String::from_utf8(ran.stdout).unwrap(),
            stderr: String::from_utf8(ran.stderr).unwrap(),
            outputs: outputs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        }
    }

    /// Returns the arguments of the made program, and forgets them; `None` where it did not run.
    fn seen(&self) -> Option<Vec<String>> {
        let text = std::fs::read_to_string(self.path("seen")).ok()?;
        std::fs::remove_file(self.path("seen")).unwrap();
        Some(text.split_terminator('\0').map(str::to_owned).collect())
    }

    /// Returns the folder in which the made program ran.
    fn seen_in(&self) -> PathBuf {
        std::fs::read_to_string(self.path("seen.folder")).unwrap().trim_end_matches('\n').into()
    }
}

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}
