//! `Transcript`: all that is known of one run of a probe, as plain data: what was asked, what it said, how it ended. What
//! Macs and other GPUs answered is kept in this form, and judged again wherever macml runs.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fallback::{Became, Said};
use super::protocol::{
    AT, At, Check, DeviceSeen, Done, Event, Fallback, Hello, Operator, PREFIX, ProbeKind, Request, Skipped, Training,
    Why,
};

/// One run of a probe.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Transcript {
    /// Where it comes from: `run`, `recorded` with the machine, `made` with the source of each field.
    #[serde(default)]
    pub source: String,
    /// Which probe was run.
    pub probe: ProbeKind,
    /// What it was asked.
    pub request: Request,
    /// What it said, in order.
    pub events: Vec<Event>,
    /// The first thing behind the prefix that was no event.
    #[serde(default)]
    pub unreadable: Option<String>,
    /// The last lines of what else it printed, for people.
    #[serde(default)]
    pub printed: Vec<String>,
    /// Operators that fell back to the CPU, as a framework printed it past its probe.
    #[serde(default)]
    pub printed_fallbacks: Vec<Fallback>,
    /// How it ended.
    pub ended: Ended,
}

/// How a probe ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It could not be started, with what the system said.
    NotStarted(String),
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed after as many seconds.
    OutOfTime(u64),
}

/// How many lines for people are kept.
const MOST_LINES: usize = 40;

/// How much of a line for people is kept.
const LONGEST_LINE: usize = 400;

impl Transcript {
    /// Reads what a probe printed.
    pub fn read(probe: ProbeKind, request: Request, printed: Printed<'_>, ended: Ended) -> Self {
        let stdout = String::from_utf8_lossy(printed.stdout);
        let stderr = String::from_utf8_lossy(printed.stderr);
        let mut events = Vec::new();
        let mut unreadable = None;
        let mut others = Vec::new();
        for line in stdout.lines() {
            match Event::of_line(line) {
                Some(Ok(event)) if is_possible(&event) => events.push(flat(event)),
                Some(_) => {
                    unreadable.get_or_insert_with(|| cut(line.split_once(PREFIX).map_or(line, |(_, rest)| rest)));
                }
                None => others.push(line),
            }
        }
        others.extend(stderr.lines());
        others.retain(|line| !line.trim().is_empty());
        let printed_fallbacks = fallbacks(&others, &events);
        others.retain(|line| !line.contains(AT));
        let from = others.len().saturating_sub(MOST_LINES);
        let printed = others[from..].iter().map(|line| cut(line)).collect();
        Self { source: "run".into(), probe, request, events, unreadable, printed, printed_fallbacks, ended }
    }

    /// Returns who spoke.
    pub fn hello(&self) -> Option<&Hello> {
        self.events.iter().find_map(|event| if let Event::Hello(hello) = event { Some(hello) } else { None })
    }

    /// Returns the version of the framework that was loaded.
    pub fn version(&self) -> Option<&str> {
        let hello = self.hello()?;
        hello.versions.get(&hello.framework.to_string()).map(String::as_str)
    }

    /// Returns what was found where the device should be.
    pub fn device(&self) -> Option<&DeviceSeen> {
        self.events.iter().find_map(|event| if let Event::Device(device) = event { Some(device) } else { None })
    }

    /// Lists what came of computations.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.events.iter().filter_map(|event| if let Event::Check(check) = event { Some(check) } else { None })
    }

    /// Lists what came of trainings.
    pub fn trainings(&self) -> impl Iterator<Item = &Training> {
        self.events.iter().filter_map(|event| if let Event::Training(training) = event { Some(training) } else { None })
    }

    /// Lists what came of operators, as it was said; [`super::tried`] says what it means.
    pub fn operators(&self) -> impl Iterator<Item = &Operator> {
        self.events.iter().filter_map(|event| if let Event::Operator(operator) = event { Some(operator) } else { None })
    }

    /// Lists the operators that fell back to the CPU, each once.
    pub fn fallbacks(&self) -> Vec<&Fallback> {
        let told =
            self.events.iter().filter_map(|event| if let Event::Fallback(one) = event { Some(one) } else { None });
        told.chain(&self.printed_fallbacks).collect()
    }

    /// Returns whether the probe said that it is through.
    pub fn is_done(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Done(_)))
    }

    /// Returns whether the probe left something out, because its time was over.
    pub fn is_late(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Skipped(Skipped { why: Why::Time, .. })))
    }

    /// Returns what had begun last, when nothing came of it.
    pub fn unfinished(&self) -> Option<&At> {
        let began = self.events.iter().rposition(|event| matches!(event, Event::At(_)))?;
        let Event::At(at) = &self.events[began] else { return None };
        let ends = |event: &Event| match event {
            Event::Check(check) => check.id == at.id,
            Event::Training(training) => training.id == at.id,
            Event::Skipped(skipped) => skipped.id == at.id,
            Event::Operator(operator) => operator.id() == at.id,
            Event::Device(_) | Event::Done(_) | Event::Hello(_) | Event::CannotLoad(_) => true,
            Event::At(_) | Event::Fallback(_) | Event::Planned(_) => false,
        };
        (!self.events[began + 1..].iter().any(ends)).then_some(at)
    }

    /// Returns the printed line that most likely says why it ended: that of an assertion or of an error, else the last.
    pub fn last_words(&self) -> Option<&str> {
        const TELLING: [&str; 6] = ["assert", "rror:", "terminat", "Abort", "what():", "atal"];
        let telling = |line: &&String| TELLING.iter().any(|word| line.contains(word));
        self.printed.iter().rev().find(telling).or(self.printed.last()).map(String::as_str)
    }

    /// Returns the printed line with which a loader refuses to start a program or to load a library.
    pub fn loader_words(&self) -> Option<&str> {
        // dyld's, that of glibc and that of musl.
        const LOADERS: [&str; 7] = [
            "Library not loaded",
            "Symbol not found",
            "image not found",
            "error while loading shared libraries",
            "cannot open shared object file",
            "symbol lookup error",
            "Error loading shared library",
        ];
        let telling = |line: &&String| LOADERS.iter().any(|words| line.contains(words));
        self.printed.iter().find(telling).map(String::as_str)
    }
}

/// What a program printed.
#[derive(Clone, Copy, Debug)]
pub struct Printed<'a> {
    /// On its standard output.
    pub stdout: &'a [u8],
    /// On its standard error.
    pub stderr: &'a [u8],
}

/// Finds the operators of which torch printed that they fall back, less those that the probe told itself.
///
/// Warnings of threads that are not Python's (those of the backward pass) reach no Python.
fn fallbacks(lines: &[&str], events: &[Event]) -> Vec<Fallback> {
    let mut found: Vec<Fallback> = Vec::new();
    let mut during = "";
    for line in lines {
        if let Some((_, id)) = line.split_once(AT) {
            during = id.trim_end();
        }
        let Some(Said { operator, became, .. }) = Said::of(line) else { continue };
        if became == Became::Failed {
            continue;
        }
        // Of one that was tried all are told with it, and else each once, wherever it was.
        let told = match events.iter().find_map(|event| as_tried(event, during)) {
            Some(tried) => tried.fallbacks.contains(&operator),
            None => events.iter().any(|event| matches!(event, Event::Fallback(one) if one.operator == operator)),
        };
        if !told && !found.iter().any(|one| one.operator == operator && one.during == during) {
            found.push(Fallback { operator, during: during.into(), message: cut(line) });
        }
    }
    found
}

/// Returns what came of the operator with this id.
fn as_tried<'a>(event: &'a Event, id: &str) -> Option<&'a Operator> {
    if let Event::Operator(operator) = event { Some(operator).filter(|one| one.id() == id) } else { None }
}

/// Returns whether a computation can have come to this: errors and times are not below zero.
fn is_possible(event: &Event) -> bool {
    let sizes = match event {
        Event::Check(Check { max_abs, max_rel, seconds, .. }) => vec![*max_abs, *max_rel, Some(*seconds)],
        Event::Training(Training { apart, device, cpu, .. }) => vec![*apart, Some(device.seconds), Some(cpu.seconds)],
        Event::Operator(Operator { max_abs, max_rel, seconds, .. }) => vec![*max_abs, *max_rel, Some(*seconds)],
        Event::Done(Done { seconds, .. }) => vec![Some(*seconds)],
        _ => Vec::new(),
    };
    sizes.into_iter().flatten().all(|size| size >= 0.0)
}

/// Makes names one line each, since they are shown within lines; what a framework said may have more of them.
fn flat(mut event: Event) -> Event {
    let names = match &mut event {
        Event::Hello(hello) => {
            let versions = std::mem::take(&mut hello.versions).into_iter();
            hello.versions = versions.map(|(name, version)| (one_line(&name), one_line(&version))).collect();
            vec![&mut hello.system]
        }
        Event::Device(device) => device.id.iter_mut().chain(&mut device.name).collect(),
        Event::At(at) => vec![&mut at.id],
        Event::Check(check) => vec![&mut check.id],
        Event::Training(training) => vec![&mut training.id],
        Event::Skipped(skipped) => vec![&mut skipped.id],
        Event::Fallback(fallback) => vec![&mut fallback.operator, &mut fallback.during],
        Event::Planned(planned) => planned.operators.iter_mut().collect(),
        Event::Operator(operator) => {
            std::iter::once(&mut operator.name).chain(&mut operator.asked).chain(&mut operator.fallbacks).collect()
        }
        Event::CannotLoad(_) | Event::Done(_) => Vec::new(),
    };
    names.into_iter().for_each(|name| *name = one_line(name));
    event
}

fn one_line(name: &str) -> String {
    name.chars().take(LONGEST_LINE).map(|one| if one.is_control() { ' ' } else { one }).collect()
}

/// Cuts a line where people would not read on, and takes out what a terminal would obey.
fn cut(line: &str) -> String {
    line.trim_end().chars().filter(|one| !one.is_control()).take(LONGEST_LINE).collect()
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(cause) => write!(f, "could not be started: {cause}"),
            Self::Code(code) => write!(f, "ended with code {code}"),
            Self::Signal(signal) => match name_of(*signal) {
                Some(name) => write!(f, "was ended by signal {signal} ({name})"),
                None => write!(f, "was ended by signal {signal}"),
            },
            Self::OutOfTime(seconds) => write!(f, "was stopped after {seconds} s"),
        }
    }
}

/// Names the signals with which broken programs end; these numbers are the same on every system that macml runs on.
fn name_of(signal: i32) -> Option<&'static str> {
    Some(match signal {
        4 => "illegal instruction",
        5 => "trap",
        6 => "abort",
        8 => "arithmetic error",
        9 => "killed",
        11 => "segmentation fault",
        15 => "terminated",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::protocol::{Device, Framework, Limits, PROTOCOL, Sizes, Tolerances};
    use super::*;

    fn request() -> Request {
        Request {
            protocol: PROTOCOL,
            framework: Framework::Torch,
            release: None,
            device: Device::Mps,
            seed: 1,
            questions: Vec::new(),
            types: Vec::new(),
            sizes: Sizes::for_memory(8 << 30),
            limits: Limits { begin: 1, end: 2 },
            tolerances: Tolerances::default(),
            operators: Vec::new(),
        }
    }

    fn read(stdout: &str, stderr: &str) -> Transcript {
        let printed = Printed { stdout: stdout.as_bytes(), stderr: stderr.as_bytes() };
        Transcript::read(ProbeKind::Python, request(), printed, Ended::Code(0))
    }

    #[test]
    fn events_are_told_from_what_else_is_printed() {
        let stdout = "hello\nwarn macml-probe: {\"event\":\"at\",\"id\":\"import\"}\nmacml-probe: {\"event\":\nmore";
        let read = read(stdout, "one\n\n\u{1b}[31mtwo");
        assert_eq!(read.events.len(), 1);
        assert_eq!(read.unreadable.as_deref(), Some("{\"event\":"));
        assert_eq!(read.printed, ["hello", "more", "one", "[31mtwo"]);
        assert_eq!(read.unfinished().unwrap().id, "import");
    }

    #[test]
    fn a_name_cannot_leave_its_line() {
        let hello = r#"{"event":"hello","protocol":1,"probe":"python","framework":"torch","versions":{"torch":"2\n\u001b[2J"},"system":"a\rb"}"#;
        let device = r#"{"event":"device","available":true,"name":"GPU\nenv on mps: ok"}"#;
        let at = r#"{"event":"at","id":"conv\n2d"}"#;
        let lines = [hello, device, at].map(|event| format!("{PREFIX}{event}\n")).concat();
        let read = read(&lines, "");
        assert_eq!((read.version(), read.hello().unwrap().system.as_str()), (Some("2  [2J"), "a b"));
        assert_eq!(read.device().unwrap().name.as_deref(), Some("GPU env on mps: ok"));
        assert_eq!(read.unfinished().unwrap().id, "conv 2d");
    }

    #[test]
    fn what_cannot_be_is_no_answer() {
        let check = r#"{"event":"check","id":"product","type":"float32","elements":4"#;
        for wrong in ["\"max-rel\":-1.0", "\"max-abs\":-1e308", "\"seconds\":-0.1"] {
            let read = read(&format!("{PREFIX}{check},{wrong}}}\n"), "");
            assert_eq!((read.events.len(), read.unreadable.is_some()), (0, true), "{wrong}");
        }
        assert_eq!(read(&format!("{PREFIX}{check},\"max-rel\":0.0}}\n"), "").events.len(), 1);
    }

    #[test]
    fn of_much_that_is_printed_the_end_is_kept() {
        let many: String = (0..100).map(|at| format!("line {at} {}\n", "x".repeat(1000))).collect();
        let read = read("", &many);
        assert_eq!(read.printed.len(), MOST_LINES);
        assert!(read.printed.last().unwrap().starts_with("line 99 x") && read.printed[0].len() == LONGEST_LINE);
    }

    #[test]
    fn fallbacks_that_only_reach_standard_error_are_found_once() {
        let line = "[W1] Warning: The operator 'aten::linalg_cholesky_ex.L' is not currently supported on the MPS backend \
                    and will fall back to run on the CPU. (function operator())";
        let told = Event::Fallback(Fallback {
            operator: "aten::told".into(),
            during: "conv2d".into(),
            message: "the operator".into(),
        });
        let other = line.replace("aten::linalg_cholesky_ex.L", "aten::told");
        let read = read(&told.to_line(), &format!("{line}\n{line}\n{other}\n"));
        let names: Vec<_> = read.fallbacks().iter().map(|one| one.operator.as_str()).collect();
        assert_eq!(names, ["aten::told", "aten::linalg_cholesky_ex.L"]);
    }

    #[test]
    fn the_line_that_tells_most_is_found() {
        let read = read("", "loading\n/x/MPSNDArray.mm:78: failed assertion `destination must be contiguous'\nbye\n");
        assert!(read.last_words().unwrap().contains("failed assertion"));
        assert_eq!(read.loader_words(), None);
        let read = self::read("", "dyld[7]: Library not loaded: @rpath/libc10.dylib\n  Referenced from: <A> /x\n");
        assert!(read.loader_words().unwrap().contains("libc10"));
    }
}
