//! `macml verify` through the binary. The environments are made: their Python is a script that answers what real
//! frameworks answered once, whole or with a part of it changed, or that breaks and hangs.

mod interrupted;
mod live;
mod native;
mod operators;
mod project;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use macml::verify::Transcript;
use macml::verify::protocol::Event;

use crate::support::program::program;
use crate::support::project::{Project, Run};

/// What a real framework answered, by the name of its file in tests/transcripts.
fn recorded(name: &str) -> Vec<Event> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/{name}.json"));
    let transcript: Transcript = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    transcript.events
}

/// What torch 2.13.0 answered on a processor, all right.
fn good() -> Vec<Event> {
    recorded("torch-2.13.0-linux-cpu.ok")
}

/// Puts a release of torch into an answer.
fn of_release(mut events: Vec<Event>, release: &str) -> Vec<Event> {
    for event in &mut events {
        if let Event::Hello(hello) = event {
            hello.versions.insert("torch".into(), release.into());
        }
    }
    events
}

fn lines(events: &[Event]) -> String {
    events.iter().map(|event| event.to_line() + "\n").collect()
}

/// A folder with an environment that macml did not make, in `env`.
struct Prefix {
    project: Project,
}

impl Prefix {
    /// Makes one with these distributions, whose Python does as a script for `sh` says.
    fn new(distributions: &[&str], script: &str) -> Self {
        let this = Self { project: Project::empty() };
        for name in distributions {
            std::fs::create_dir_all(this.site().join(format!("{name}.dist-info"))).unwrap();
        }
        program(&this.path().join("env/bin/python"), format!("#!/bin/sh\n{script}\n"));
        this
    }

    /// Makes one with torch, whose Python answers this and does as a script says then.
    fn answering(release: &str, events: &[Event], then: &str) -> Self {
        let this = Self::new(&[&format!("torch-{release}")], &format!("/bin/cat \"${{0%/*}}/answer\"\n{then}"));
        std::fs::write(this.path().join("env/bin/answer"), lines(events)).unwrap();
        this
    }

    fn path(&self) -> &Path {
        self.project.path()
    }

    fn site(&self) -> PathBuf {
        self.path().join("env/lib/python3.13/site-packages")
    }

    fn verify(&self, words: &[&str]) -> Run {
        self.verify_with(&[], words)
    }

    fn verify_with(&self, vars: &[(&str, &str)], words: &[&str]) -> Run {
        let path = [("PATH", "/usr/bin:/bin")];
        self.project.run_with(&[&path, vars].concat(), &[&["verify", "--prefix", "env"], words].concat())
    }

    /// Runs it for a program, whose report must be as the schema says.
    fn json(&self, words: &[&str]) -> serde_json::Value {
        let run = self.verify(&[&["--output-format", "json"], words].concat());
        let json = run.json_as("verify.schema.json");
        assert_eq!(json["exit-code"], run.code, "{json:#}");
        json
    }
}

/// Verifies an environment of real frameworks on the processor, which must be all right. Returns the verdicts.
pub(crate) fn verified(prefix: &Path, words: &[&str]) -> Vec<serde_json::Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_macml"));
    command.args(["verify", "--device", "cpu", "--output-format", "json", "--prefix"]).arg(prefix).args(words);
    let output = command.env("MACML_NO_CONFIG", "1").stdin(Stdio::null()).output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    let json = Run { code: 0, stdout, stderr }.json_as("verify.schema.json");
    assert_eq!(json["verdict"], "ok", "{json:#}");
    let verdicts = json["verdicts"].as_array().unwrap();
    for one in verdicts {
        eprintln!(
            "{} {} {}: {} compared in {} s",
            one["framework"], one["version"], one["probe"], one["compared"], one["seconds"]
        );
    }
    verdicts.clone()
}

/// The path of a recorded Mac.
fn host(name: &str) -> String {
    format!("{}/tests/hosts/{name}.json", env!("CARGO_MANIFEST_DIR"))
}
