//! `History`: the runs of an environment, kept in the project's `.macml/bench/NAME.jsonl`, one a line, the oldest first.
//!
//! A run is added whole or not at all, whoever adds another meanwhile. A line that is not understood stays where it is.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::run::Run;
use super::shown;
use crate::sys::Turn;
use crate::sys::fs;
use crate::sys::fs::{Durability, FsError};
use crate::sys::kept;

/// How long a file with runs may be: some fifty thousand of them.
const LONGEST: u64 = 256 << 20;

/// The runs that were kept.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct History {
    /// Those that this macml understands, the oldest first.
    pub runs: Vec<Run>,
    /// Lines that it does not.
    pub unread: Vec<Unread>,
}

/// A line that is no run of this macml's form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unread {
    /// Its number, from 1.
    pub line: usize,
    /// The version of its form, where it says one.
    pub version: Option<u32>,
}

/// Which earlier run is meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The last one on the same machine and device.
    Last,
    /// The one with this number, 1 being the last that was kept.
    Number(usize),
    /// The last one of this day, in UTC.
    Day(String),
}

impl History {
    /// Returns where the runs of an environment are kept.
    pub fn path(project: &Path, env: &str) -> PathBuf {
        project.join(".macml/bench").join(format!("{env}.jsonl"))
    }

    /// Reads the runs of an environment.
    ///
    /// # Errors
    /// When there are some that cannot be read.
    pub fn read(project: &Path, env: &str) -> Result<Self, FsError> {
        let bytes = kept::read(&Self::path(project, env), LONGEST)?.unwrap_or_default();
        Ok(Self::parse(&String::from_utf8_lossy(&bytes)))
    }

    /// Reads lines.
    fn parse(text: &str) -> Self {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let mut history = Self::default();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Run>(line) {
                Ok(run) if run.version == Run::VERSION => history.runs.push(run),
                _ => {
                    let version = serde_json::from_str::<Version>(line).ok().map(|version| version.version);
                    history.unread.push(Unread { line: at + 1, version });
                }
            }
        }
        history
    }

    /// Adds a run, whole or not at all; `waiting` is called when another process is adding one for long.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(project: &Path, run: &Run, waiting: &mut dyn FnMut()) -> Result<(), FsError> {
        let path = Self::path(project, &run.env);
        // Whoever makes `.macml` first.
        kept::ignore_in_git(&project.join(".macml"))?;
        let folder = path.parent().expect("a file lies in a folder");
        fs::create_folder(folder)?;
        let _turn = Turn::make(&folder.join(".lock"), waiting)?;
        let mut bytes = kept::read(&path, LONGEST)?.unwrap_or_default();
        // A line that was torn stays by itself, instead of tearing this one.
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.push(b'\n');
        }
        serde_json::to_writer(&mut bytes, run).expect("plain data with text keys");
        bytes.push(b'\n');
        kept::write(&path, &bytes, Durability::Flushed)
    }

    /// Numbers the runs as [`Which::Number`] does, the last first.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.runs.iter().rev().enumerate().map(|(at, run)| (at + 1, run))
    }

    /// Finds an earlier run; `now` is the one that is to be compared, of which [`Which::Last`] has to be of the same machine
    /// and to have measured one of the same devices.
    pub fn find(&self, which: &Which, now: &Run) -> Option<&Run> {
        let last_of = |wanted: &dyn Fn(&Run) -> bool| self.runs.iter().rev().find(|run| wanted(run));
        match which {
            Which::Last => last_of(&|run| {
                run.is_of_machine(now) && now.measurements.iter().any(|one| run.same(one, one.device).is_some())
            }),
            Which::Number(number) => self.numbered().find(|(at, _)| at == number).map(|(_, run)| run),
            Which::Day(day) => last_of(&|run| shown::day(run.when) == *day),
        }
    }
}

impl Which {
    /// Reads `2` or `2026-11-30`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Ok(number) = text.parse::<usize>() {
            return (number > 0).then_some(Self::Number(number));
        }
        let parts: Vec<&str> = text.split('-').collect();
        let is_day = parts.len() == 3 && digits(parts[0], 4) && digits(parts[1], 2) && digits(parts[2], 2);
        is_day.then(|| Self::Day(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::run::tests::{measured, run};
    use crate::verify::protocol::Device;

    fn one(when: u64) -> Run {
        run(when, vec![measured(Device::Cpu, &[1.0])])
    }

    fn whens(history: &History) -> Vec<u64> {
        history.runs.iter().map(|run| run.when).collect()
    }

    #[test]
    fn what_is_not_understood_is_told_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path();
        let path = History::path(project, "default");
        History::add(project, &one(1), &mut || ()).unwrap();
        let torn = fs::read_text(&path).unwrap().unwrap();
        let later = r#"{"version":2,"when":2,"measured":{}}"#;
        let text = format!("{torn}{later}\n{}", &torn[..torn.len() / 2]);
        fs::write_atomic(&path, text.as_bytes(), Durability::Cached).unwrap();
        let unread = vec![Unread { line: 2, version: Some(2) }, Unread { line: 3, version: None }];
        let history = History::read(project, "default").unwrap();
        assert_eq!((whens(&history), &history.unread), (vec![1], &unread));
        History::add(project, &one(3), &mut || ()).unwrap();
        let history = History::read(project, "default").unwrap();
        assert_eq!((whens(&history), history.unread), (vec![1, 3], unread));
        assert!(fs::read_text(&path).unwrap().unwrap().starts_with(&text));
        assert_eq!(fs::read_text(&project.join(".macml/.gitignore")).unwrap().as_deref(), Some("*\n"));
        assert_eq!(History::read(project, "other").unwrap(), History::default());
    }

    #[test]
    fn many_add_at_once_and_all_are_there() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let project = folder.path();
                scope.spawn(move || {
                    for at in 0..5 {
                        History::add(project, &one(writer * 5 + at), &mut || ()).unwrap();
                    }
                });
            }
        });
        let history = History::read(folder.path(), "default").unwrap();
        let mut all = whens(&history);
        all.sort_unstable();
        assert_eq!((all, history.unread), ((0..20).collect(), vec![]));
    }

    #[test]
    fn an_earlier_run_is_found() {
        let gpu = run(86_400, vec![measured(Device::Mps, &[1.0]), measured(Device::Cpu, &[1.0])]);
        let stranger = Run { memory: Some(1 << 30), ..one(2 * 86_400 + 7) };
        let history = History { runs: vec![one(1), gpu.clone(), one(86_401), stranger], unread: Vec::new() };
        let find = |which: &str, now: &Run| {
            let which = if which.is_empty() { Which::Last } else { Which::parse(which).unwrap() };
            history.find(&which, now).map(|run| run.when)
        };
        assert_eq!(find("", &one(9)), Some(86_401));
        assert_eq!(find("", &run(9, vec![measured(Device::Mps, &[1.0])])), None);
        assert_eq!(find("", &gpu), Some(86_401));
        assert_eq!(find("", &run(9, vec![measured(Device::Cuda, &[1.0])])), None);
        assert_eq!((find("1", &gpu), find("4", &gpu), find("5", &gpu)), (Some(172_807), Some(1), None));
        assert_eq!((find("1970-01-02", &gpu), find("1970-01-04", &gpu)), (Some(86_401), None));
        assert_eq!(["0", "x", "1970-1-2", "1970-01", "-1"].map(Which::parse), [const { None }; 5]);
    }
}
