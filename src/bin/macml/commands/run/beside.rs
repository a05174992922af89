//! What is done beside a program that runs: what it prints to its standard error is read along, and told of at its end.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use macml::sys::Exec;
use macml::sys::Watched;

use super::fallbacks::Printed;
use super::fallbacks::Watch;
use crate::characters;
use crate::commands::explain;
use crate::context::Context;
use crate::printer::Level;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::styled;
use crate::tail::Tail;

/// How much of what was printed is kept at least: the cause stands near the end.
const MOST: usize = 1 << 20;

/// The signal of Ctrl-C, after which nobody asks what happened.
const INTERRUPT: i32 = 2;

/// What is wanted of a run.
#[derive(Debug)]
pub(super) struct Beside {
    /// `--report-fallbacks`.
    pub(super) watch: Option<Watch>,
    /// `--explain`.
    pub(super) explain: bool,
}

/// What was printed, as each reader wants it.
#[derive(Debug)]
struct Read {
    printed: Option<Printed>,
    tail: Option<Tail>,
}

impl Read {
    fn take(&mut self, bytes: &[u8]) {
        if let Some(printed) = &mut self.printed {
            printed.read(bytes);
        }
        if let Some(tail) = &mut self.tail {
            tail.take(bytes);
        }
    }
}

impl Beside {
    /// Runs the program to its end and tells; the program's own end is what is returned.
    pub(super) fn run(self, exec: Exec, context: &Context, printer: &Printer) -> std::io::Result<ExitCode> {
        let read =
            Read { printed: self.watch.is_some().then(Printed::default), tail: self.explain.then(|| Tail::new(MOST)) };
        let read = Arc::new(Mutex::new(read));
        let reading = read.clone();
        let ended = exec.watched(move |bytes| reading.lock().unwrap_or_else(PoisonError::into_inner).take(bytes))?;
        let (printed, tail) = {
            let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
            (read.printed.take(), read.tail.take())
        };
        let reported = self.watch.is_some();
        if let (Some(watch), Some(printed)) = (self.watch, printed) {
            watch.report_on(printed, context, printer);
        }
        if let Some(tail) = tail.filter(|_| !ended.succeeded() && printer.level() > Level::Quiet) {
            tell(tail, ended, reported, context, printer);
        }
        Ok(ended.pass_on())
    }
}

/// Tells why it failed.
fn tell(mut tail: Tail, ended: Watched, reported: bool, context: &Context, printer: &Printer) {
    // The report has ended the line.
    let within_line = tail.is_within_line() && !reported;
    let last = tail.lines();
    if let Some(said) = ended.signal().and_then(said_by_a_shell) {
        // A shell would say so below it; here macml has the shell's place.
        if tail.is_within_line() {
            tail.take(b"\n");
        }
        tail.take(said.as_bytes());
    }
    let silent = tail.bytes().iter().all(u8::is_ascii_whitespace);
    let found = if silent { None } else { explain::cause(&tail, Some(&explain::facts(context))) };
    let text = match found {
        Some(mut found) => {
            if found.matched.line > last {
                found.matched.text =
                    format!("{} (as a shell says it: the program printed nothing of it)", found.matched.text);
            }
            explain::explanation(&found, characters::language(&context.env))
        }
        None if ended.signal() == Some(INTERRUPT) => return,
        None => format!(
            "{}: macml knows no cause of this failure; `macml doctor` looks at the machine and the project\n",
            styled(NAME, "note")
        ),
    };
    let gap = if within_line { "\n" } else { "" };
    printer.error(&format!("{gap}{text}"));
}

/// Returns what a shell says of a program that a signal ended, as far as macOS and Linux number it alike.
fn said_by_a_shell(signal: i32) -> Option<&'static str> {
    match signal {
        4 => Some("Illegal instruction: 4"),
        5 => Some("Trace/BPT trap: 5"),
        6 => Some("Abort trap: 6"),
        9 => Some("Killed: 9"),
        11 => Some("Segmentation fault: 11"),
        _ => None,
    }
}
