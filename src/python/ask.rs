//! Asking an interpreter what it is: run `query.py` in it, under a time limit, and read what it says.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use crate::sys::process::{self, End, Program};

/// What an interpreter is asked.
pub(super) const QUERY: &str = include_str!("query.py");

/// What an interpreter said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// What it is.
    pub(super) facts: Facts,
    /// Modules of the standard library that it lacks.
    pub(super) missing: Vec<String>,
    /// Modules that it has and cannot load, with the reason.
    pub(super) broken: Vec<(String, String)>,
    /// The files of the modules that it loaded.
    pub(super) files: Vec<PathBuf>,
}

/// What an interpreter says it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Facts {
    /// `cpython`, `pypy`, …
    pub(super) implementation: String,
    /// Major, minor and patch.
    pub(super) version: [u64; 3],
    /// `final`, or `alpha`, `beta`, `candidate`.
    pub(super) level: String,
    /// The number of the pre-release.
    pub(super) serial: u64,
    /// Whether it is built without the global lock.
    pub(super) free_threaded: bool,
    /// `d` for a debug build.
    pub(super) abi_flags: String,
    /// `macosx-11.0-arm64`, `linux-x86_64`, …
    pub(super) platform: String,
    /// What it runs as: `x86_64` under Rosetta.
    pub(super) machine: String,
    /// `darwin`, `linux`.
    pub(super) system: String,
    /// `glibc 2.36`, where it is that.
    pub(super) libc: Option<String>,
    /// `sys.base_prefix`.
    pub(super) base_prefix: PathBuf,
    /// Where its standard library is.
    pub(super) stdlib: PathBuf,
    /// Where the native part of its standard library is.
    pub(super) platstdlib: PathBuf,
    /// Where its headers are.
    pub(super) include: PathBuf,
    /// `lib` or `lib64`: where an environment has packages with native parts.
    pub(super) platlibdir: String,
    /// The end of the names of its extension modules.
    pub(super) soabi: Option<String>,
    /// Whether its own `venv` could make an environment with pip.
    pub(super) venv: bool,
}

/// Why an interpreter did not answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    /// How it ended.
    pub(super) end: FaultEnd,
    /// The module that it was loading, with the file.
    pub(super) loading: Option<Loading>,
    /// The first line of what it said instead, cut; empty when it said nothing.
    pub(super) said: String,
}

/// How an interpreter that did not answer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FaultEnd {
    /// It could not be started.
    NotStarted,
    /// By itself, with a code that is not 0.
    Code(i32),
    /// By itself, as if all were well.
    Nonsense,
    /// By a signal.
    Signal(i32),
    /// It was killed when its time was over.
    OutOfTime(Duration),
}

/// A module that was being loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Loading {
    /// Its name.
    pub(super) module: String,
    /// Its file.
    pub(super) file: Option<PathBuf>,
}

/// One line of what the query prints after the facts.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Missing { missing: String },
    Loading { loading: String, file: Option<PathBuf> },
    Loaded { loaded: String },
    Broken { broken: String, why: String },
    End { end: bool },
}

/// Asks an interpreter.
pub(super) fn ask(machine: &Machine, path: &Path, limit: Duration) -> Result<Answer, Fault> {
    let mut words = machine.starter.clone();
    words.push(path.into());
    // Alone, without site-packages, and leaving no compiled files behind.
    words.extend(["-I", "-S", "-B", "-c", QUERY].map(OsString::from));
    let program = Program {
        path: words.remove(0).into(),
        args: words,
        // An environment must work wherever it is started, so what this terminal has set does not count.
        env: BTreeMap::from(
            [("PATH", "/usr/bin:/bin"), ("LC_ALL", "C")].map(|(key, value)| (key.into(), value.into())),
        ),
        limit,
    };
    let failed = |error: process::ProcessError| Fault {
        end: FaultEnd::NotStarted,
        loading: None,
        said: first_line(&error.cause.to_string()),
    };
    let output = process::run(&program).map_err(failed)?;
    let (answer, loading) = read(&output.stdout);
    let fault = |end, said: &[u8]| {
        Err(Fault { end, loading: loading.clone(), said: first_line(&String::from_utf8_lossy(said)) })
    };
    match (output.end, answer) {
        (End::Code(0), Some(answer)) => Ok(answer),
        (End::Code(0), None) if output.stdout.is_empty() => fault(FaultEnd::Nonsense, &output.stderr),
        (End::Code(0), None) => fault(FaultEnd::Nonsense, &output.stdout),
        (End::Code(code), _) => fault(FaultEnd::Code(code), last_line(&output.stderr)),
        (End::Signal(signal), _) => fault(FaultEnd::Signal(signal), &output.stderr),
        (End::OutOfTime, _) => fault(FaultEnd::OutOfTime(limit), b""),
    }
}

/// Reads what the query printed: the answer if it is whole, and the module that was being loaded at its end.
fn read(printed: &[u8]) -> (Option<Answer>, Option<Loading>) {
    let mut loading = None;
    let mut parse = || {
        let text = std::str::from_utf8(printed).ok()?;
        let mut lines = text.lines();
        let facts: Facts = serde_json::from_str(lines.next()?).ok()?;
        let mut answer = Answer { facts, missing: Vec::new(), broken: Vec::new(), files: Vec::new() };
        for line in lines.by_ref() {
            match serde_json::from_str(line).ok()? {
                Line::Missing { missing } => answer.missing.push(missing),
                Line::Loading { loading: module, file } => loading = Some(Loading { module, file }),
                Line::Loaded { loaded } => {
                    let Loading { file, .. } = loading.take().filter(|one| one.module == loaded)?;
                    answer.files.extend(file);
                }
                Line::Broken { broken, why } => {
                    loading = None;
                    answer.broken.push((broken, first_line(&why)));
                }
                Line::End { end } => return (end && lines.next().is_none()).then_some(answer),
            }
        }
        None
    };
    let answer = parse();
    (answer, loading)
}

/// Returns the first line that says something, cut where people would not read on.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(300).collect()
}

/// Returns the last line that says something: that of a Python traceback which names the error.
fn last_line(text: &[u8]) -> &[u8] {
    let blank = |line: &&[u8]| line.iter().all(u8::is_ascii_whitespace);
    text.rsplit(|byte| *byte == b'\n').find(|line| !blank(line)).unwrap_or_default()
}
