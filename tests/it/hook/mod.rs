//! Being in an environment: the hook and the activation scripts in the real shells, and the real direnv.
//!
//! A shell that is not installed is skipped, and says so; where `MACML_LIVE` is set it is a failure.

mod activate;
mod direnv;
mod follow;
mod trust;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use macml::environment::{Built, FolderTime, Package, Place, STAMP_NAME, Shell, Stamp, activate_scripts};
use macml::pep::Sha256;

use crate::support::program::program;

/// Returns the shells that follow a project.
fn shells() -> Vec<Shell> {
    let all = [(Shell::Bash, "bash"), (Shell::Zsh, "zsh"), (Shell::Fish, "fish")];
    all.into_iter().filter(|(_, name)| installed(name)).map(|(shell, _)| shell).collect()
}

/// Returns whether a program is installed, and says so when not.
fn installed(name: &str) -> bool {
    let path = std::env::var("PATH").unwrap();
    let there = path.split(':').any(|folder| Path::new(folder).join(name).is_file());
    if !there {
        assert!(std::env::var_os("MACML_LIVE").is_none(), "{name} has to be installed where MACML_LIVE is set");
        eprintln!("skipped: needs {name}");
    }
    there
}

/// Names that a shell which does not quote falls for.
const HOSTILE: &str = "$(touch owned) `touch owned` it's \"q\" \\ \n;touch owned; 実験 é %n!!";

/// A home with projects, and macml by a path of its own.
struct Home {
    folder: tempfile::TempDir,
}

/// Where it is missing, fish's first start reads every manual page of the machine.
const FISH_COMPLETIONS: &str = ".local/share/fish/generated_completions";

/// The variables of a shell when one was asked for.
type Seen = BTreeMap<String, String>;

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Self { folder };
        for inner in ["bin", "out", "elsewhere", ".config/fish", ".local/state", FISH_COMPLETIONS] {
            std::fs::create_dir_all(home.path().join(inner)).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_macml"), home.path().join("bin/macml")).unwrap();
        home.write(".bashrc", "eval \"$(macml hook bash)\"\n");
        home.write(".zshrc", "eval \"$(macml hook zsh)\"\n");
        home.write(".config/fish/config.fish", "macml hook fish | source\n");
        home
    }

    /// With every link followed, as macml names it.
    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn write(&self, place: &str, text: &str) {
        let path = self.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn state(&self) -> PathBuf {
        self.path().join(".local/state/macml")
    }

    /// Makes a project without an environment.
    fn project(&self, name: &str) -> PathBuf {
        let project = self.path().join(name);
        std::fs::create_dir_all(project.join("sub/sub")).unwrap();
        std::fs::write(project.join("macml.toml"), "# one\n").unwrap();
        std::fs::write(project.join("macml.lock"), "# lock\n").unwrap();
        project
    }

    /// Makes a project with an environment that this user's macml built.
    fn built(&self, name: &str, run_env: &[(&str, &str)]) -> PathBuf {
        let project = self.project(name);
        self.build(&project, "default", name, run_env);
        project
    }

    /// Builds an environment, as sync does: the generation, its link, the note.
    fn build(&self, project: &Path, env: &str, prompt: &str, run_env: &[(&str, &str)]) -> Place {
        let home = self.path();
        let place = Place::within(project, env, Some(&home), Some(&home.join(".local/share/macml"))).unwrap();
        let token = "t".repeat(32);
        let generation = lay(&place, 1, prompt, &token);
        note(&place, &generation, prompt, &token, run_env).write(&self.state(), &place).unwrap();
        place
    }

    /// A command that sees this home and nothing else of the machine but its programs.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:{}", self.path().join("bin").display(), std::env::var("PATH").unwrap());
        command.env_clear().env("HOME", self.path()).env("PATH", path).env("TERM", "dumb").env("LANG", "C.UTF-8");
        command.current_dir(self.path()).env("OUT", self.path().join("out"));
        command
    }

    /// Types lines into an interactive shell, each of which it prompts for, and returns what was seen by `SNAP name`, in
    /// order of the names, and what the shell wrote to stderr.
    fn type_in(&self, shell: Shell, lines: &[String]) -> (BTreeMap<String, Seen>, String) {
        self.type_with(shell, &[], lines)
    }

    fn type_with(&self, shell: Shell, vars: &[(&str, &str)], lines: &[String]) -> (BTreeMap<String, Seen>, String) {
        let out = self.path().join("out");
        let text: String = lines
            .iter()
            .map(|line| match line.strip_prefix("SNAP ") {
                Some(name) => format!("env -0 > {}\n", shell.quote(&out.join(name).display().to_string())),
                None => format!("{line}\n"),
            })
            .map(|line| if shell == Shell::Fish { line + "emit fish_prompt\n" } else { line })
            .collect();
        let mut command = match shell {
            Shell::Bash => self.command("bash"),
            Shell::Zsh => self.command("zsh"),
            Shell::Fish => self.command("fish"),
            Shell::Csh => self.command("tcsh"),
        };
        if shell != Shell::Fish {
            command.arg("-i");
        }
        let mut child = command
            .envs(vars.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let first = if shell == Shell::Fish { "emit fish_prompt\n" } else { "" };
        stdin.write_all(format!("{first}{text}").as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let mut seen = BTreeMap::new();
        for entry in std::fs::read_dir(&out).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            let pair = |one: &str| one.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
            seen.insert(
                path.file_name().unwrap().to_str().unwrap().to_owned(),
                text.split('\0').filter_map(pair).collect(),
            );
        }
        (seen, said)
    }

    /// Fails when something that stood in a name or a value was run.
    #[track_caller]
    fn nothing_was_run(&self) {
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                assert_ne!(entry.file_name(), "owned", "{:?}", entry.path());
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
            }
        }
    }
}

/// Lays out a generation with its link.
fn lay(place: &Place, number: u32, prompt: &str, token: &str) -> PathBuf {
    let generation = place.store.join(format!("0123456789abcdef.{number}"));
    let site = generation.join("lib/python3.13/site-packages");
    std::fs::create_dir_all(site.join("__pycache__")).unwrap();
    std::fs::create_dir_all(generation.join("bin")).unwrap();
    for (path, text) in activate_scripts(&place.link, prompt) {
        std::fs::write(generation.join(path), text).unwrap();
    }
    program(&generation.join("bin/greet"), "#!/bin/sh\necho greetings\n");
    std::fs::write(generation.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    let stamp = Stamp {
        version: Stamp::VERSION,
        env: place.env.clone(),
        project: place.project.clone(),
        content: "0".repeat(64),
        interpreter: "cpython".to_owned(),
        python: "3.13.1".to_owned(),
        platform: "linux-x86_64".to_owned(),
        site: "lib/python3.13/site-packages".to_owned(),
        site_time: FolderTime::of(&site).unwrap().unwrap(),
        bin_time: FolderTime::of(&generation.join("bin")).unwrap().unwrap(),
        token: token.to_owned(),
        built: 1_700_000_000,
        packages: Vec::<Package>::new(),
    };
    std::fs::write(generation.join(STAMP_NAME), stamp.text()).unwrap();
    let _ = std::fs::remove_file(&place.link);
    symlink(generation.strip_prefix(&place.project).unwrap_or(&generation), &place.link).unwrap();
    generation
}

fn note(place: &Place, generation: &Path, prompt: &str, token: &str, run_env: &[(&str, &str)]) -> Built {
    let digest = |name: &str| Sha256::of(&std::fs::read(place.project.join(name)).unwrap()).to_string();
    Built {
        version: Built::VERSION,
        project: place.project.clone(),
        env: place.env.clone(),
        generation: generation.to_owned(),
        token: token.to_owned(),
        site: "lib/python3.13/site-packages".to_owned(),
        site_time: FolderTime::of(&generation.join("lib/python3.13/site-packages")).unwrap().unwrap(),
        bin_time: FolderTime::of(&generation.join("bin")).unwrap().unwrap(),
        prompt: prompt.to_owned(),
        run_env: run_env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        manifest: digest("macml.toml"),
        lock: digest("macml.lock"),
    }
}

/// Lines of a shell.
fn cd(shell: Shell, folder: &Path) -> String {
    format!("cd {}", shell.quote(&folder.display().to_string()))
}

fn set(shell: Shell, name: &str, value: &str) -> String {
    match shell {
        Shell::Fish => format!("set -gx {name} {}", shell.quote(value)),
        Shell::Csh => format!("setenv {name} {}", shell.quote(value)),
        Shell::Bash | Shell::Zsh => format!("export {name}={}", shell.quote(value)),
    }
}

fn snap(name: &str) -> String {
    format!("SNAP {name}")
}

/// The first folder of PATH.
fn first(seen: &Seen) -> &str {
    seen["PATH"].split(':').next().unwrap()
}

/// What two states of a shell differ in, but for what every shell changes.
fn differences(one: &Seen, other: &Seen) -> Vec<String> {
    let passing = ["PWD", "OLDPWD", "_", "SHLVL", "LINES", "COLUMNS"];
    let names = one.keys().chain(other.keys()).filter(|name| !passing.contains(&name.as_str()));
    let mut names: Vec<String> = names.filter(|name| one.get(*name) != other.get(*name)).cloned().collect();
    names.sort();
    names.dedup();
    names
}
