//! `--report-fallbacks`: what torch left to the CPU in a run, from what Pythons noted and from what was printed.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;

use macml::environment::FallbackNotes;
use macml::environment::Late;
use macml::environment::Noted;
use macml::operators::kernels;
use macml::operators::kernels::Later;
use macml::pep::Version;
use macml::sys::fs;
use macml::sys::fs::Durability;
use macml::verify::Became;
use macml::verify::Said;

use crate::amount::count;
use crate::context::Context;
use crate::error::CommandError;
use crate::error::Kind;
use crate::inside::Inside;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::report;
use crate::report::fallbacks::By;
use crate::report::fallbacks::Operator;
use crate::report::fallbacks::Report;
use crate::report::fallbacks::SetLate;
use crate::report::fallbacks::Variable;

/// By what torch is told to go on with the CPU. It reads it once, when it is loaded.
const VARIABLE: &str = "PYTORCH_ENABLE_MPS_FALLBACK";

/// How much of a printed line is looked at, and how many operators are kept.
const LONGEST_LINE: usize = 4096;
const MOST_OPERATORS: usize = 2000;

/// A run to be reported on.
#[derive(Debug)]
pub(super) struct Watch {
    notes: FallbackNotes,
    variable: Variable,
    /// What the shell has, where macml.toml decides.
    passed_over: Option<String>,
    /// Where the report as JSON goes.
    to: Option<PathBuf>,
}

impl Watch {
    /// Prepares it; `changes` become the program's variables.
    pub(super) fn begin(
        inside: &Inside,
        to: Option<&Path>,
        context: &Context,
        changes: &mut BTreeMap<OsString, Option<OsString>>,
    ) -> Result<Self, CommandError> {
        let state = super::folder_for_python("--report-fallbacks", context)?;
        let path = match changes.get(&OsString::from("PYTHONPATH")) {
            Some(path) => path.clone(),
            None => context.env.raw("PYTHONPATH").map(OsString::from),
        };
        let begun = FallbackNotes::begin(&state, path.as_deref());
        let (notes, more) = begun.map_err(|error| CommandError::new(Kind::Disk, error))?;
        changes.extend(more.map(|(name, value)| (name, Some(value))));
        let in_shell = context.env.raw(VARIABLE).map(|value| value.to_string_lossy().into_owned());
        let in_manifest = inside.project.manifest.run_env.get(VARIABLE).cloned();
        let (value, by) = match (in_manifest, &in_shell) {
            (Some(value), _) => (value, By::Manifest),
            (None, Some(value)) => (value.clone(), By::Shell),
            (None, None) => {
                changes.insert(VARIABLE.into(), Some("1".into()));
                ("1".to_owned(), By::Macml)
            }
        };
        let passed_over = in_shell.filter(|other| by == By::Manifest && *other != value);
        let to = to.map(|to| context.cwd.join(to));
        Ok(Self { notes, variable: Variable { value, by }, passed_over, to })
    }

    /// Reports, when the program has ended and printed that.
    pub(super) fn report_on(self, mut printed: Printed, context: &Context, printer: &Printer) {
        printed.end_line();
        let noted = self.notes.read().unwrap_or_else(|error| {
            printer.aside(&format!("{}: {error}\n", styled(WARN, "warning")));
            Noted::default()
        });
        let seen = seen(&noted, &printed);
        let report = self.report(&noted, &seen);
        let mut text = self.text(&report, &seen, &noted, context);
        if printed.within_line {
            text.insert(0, '\n');
        }
        printer.aside(&text);
        if let Some(to) = &self.to {
            let json = report::text(&report);
            if let Err(error) = fs::write_atomic(to, json.as_bytes(), Durability::Cached) {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
                printer.error(&format!("{}: {error}{cause}\n", styled(WARN, "warning")));
            }
        }
    }

    fn report(&self, noted: &Noted, seen: &AllSeen) -> Report {
        let late: BTreeSet<&Late> = noted.late.iter().collect();
        let of = |wanted| each(seen, wanted).map(|(name, seen)| operator(name, seen)).collect();
        let mut report = Report::new(self.variable.clone());
        report.pythons = noted.pythons;
        report.fell_back = of(Became::FellBack);
        report.failed = of(Became::Failed);
        report.set_late = late.iter().map(|late| SetLate { set: late.set.clone(), read: late.read.clone() }).collect();
        report.torch = versions(noted).into_iter().map(str::to_owned).collect();
        report
    }

    /// Writes the report for people.
    fn text(&self, report: &Report, seen: &AllSeen, noted: &Noted, context: &Context) -> String {
        let warning = |what: String| format!("{}: {what}\n", styled(WARN, "warning"));
        let note = |what: String| format!("{}: {what}\n", styled(NAME, "note"));
        let torch = if report.torch.is_empty() { "torch".into() } else { format!("torch {}", report.torch.join(", ")) };
        let mut text = String::new();
        if !report.fell_back.is_empty() {
            let operators = count(report.fell_back.len(), "operator");
            text.push_str(&warning(format!("{torch} computed {operators} on the CPU instead of the GPU")));
            text.extend(each(seen, Became::FellBack).map(|(name, seen)| row(name, seen, context)));
        }
        if !report.failed.is_empty() {
            let operators = count(report.failed.len(), "operator");
            text.push_str(&warning(format!("{operators} failed for want of a GPU kernel ({torch})")));
            text.extend(each(seen, Became::Failed).map(|(name, seen)| row(name, seen, context)));
        }
        let nothing = report.fell_back.is_empty() && report.failed.is_empty();
        match (nothing, report.torch.is_empty(), report.pythons) {
            (true, false, _) => {
                text.push_str(&note(format!(
                    "no operator fell back to the CPU, none failed for want of a kernel ({torch})"
                )));
            }
            (true, true, 0) => {
                text.push_str(&note("no Python could be looked into, and no fallback was printed".to_owned()));
            }
            (true, true, _) => text.push_str(&note("no torch was loaded, and no fallback was printed".to_owned())),
            (false, ..) => {}
        }
        if !nothing || !report.torch.is_empty() {
            text.push_str(&note(self.who_decided(!report.fell_back.is_empty())));
            let own: BTreeSet<&str> =
                noted.loaded.iter().filter(|one| one.own).map(|one| one.read.as_deref().unwrap_or("nothing")).collect();
            for value in own {
                text.push_str(&note(format!(
                    "the program set `{VARIABLE}` to {value} before it loaded torch, which counts"
                )));
            }
        }
        for late in &report.set_late {
            text.push_str(&warning(self.too_late(late)));
        }
        if !report.set_late.is_empty() && self.variable.by != By::Manifest {
            text.push_str("  ");
            text.push_str(&styled(NAME, "hint"));
            text.push_str(": put it under [run.env] of macml.toml\n");
        }
        for trouble in &noted.troubles {
            text.push_str(&warning(format!("fallbacks may be missing: {trouble}")));
        }
        text
    }

    /// Says what torch found in the variable, and who set it.
    fn who_decided(&self, fell_back: bool) -> String {
        let Variable { value, by } = &self.variable;
        match (by, &self.passed_over) {
            (By::Macml, _) => {
                let otherwise = if fell_back { ", and without it such an operator ends the program" } else { "" };
                format!(
                    "`--report-fallbacks` set `{VARIABLE}` to 1: neither [run.env] nor the shell sets it{otherwise}"
                )
            }
            (By::Manifest, None) => format!("`{VARIABLE}` is {value}, by [run.env] of macml.toml"),
            (By::Manifest, Some(other)) => {
                format!("`{VARIABLE}` is {value}, by [run.env] of macml.toml, which goes before the shell's {other}")
            }
            (By::Shell, _) => format!("`{VARIABLE}` is {value}, by the shell: [run.env] of macml.toml does not set it"),
        }
    }

    fn too_late(&self, late: &SetLate) -> String {
        let done = match &late.set {
            Some(value) => format!("set `{VARIABLE}` to {value}"),
            None => format!("unset `{VARIABLE}`"),
        };
        let read = late.read.as_deref().unwrap_or("nothing");
        let had = match self.variable.by {
            By::Macml if late.read == Some("1".to_owned()) => "the 1 of `--report-fallbacks`",
            _ => read,
        };
        format!("the program {done} after it loaded torch, which has no effect: torch had read {had} by then")
    }
}

/// What was seen of an operator.
#[derive(Default)]
struct Seen {
    processes: BTreeSet<u32>,
    at: Option<String>,
    because: Option<String>,
    kernel: Later,
}

type AllSeen = BTreeMap<(Became, String), Seen>;

impl Seen {
    fn look_up(&mut self, operator: &str, torch: Option<&Version>) {
        // What stands in the way is no kernel otherwise.
        if self.because.is_none() {
            self.kernel = kernels::later(operator, torch);
        }
    }
}

/// Lists what became so, by name.
fn each(seen: &AllSeen, wanted: Became) -> impl Iterator<Item = (&str, &Seen)> {
    let each = seen.iter().filter(move |((became, _), _)| *became == wanted);
    each.map(|((_, name), seen)| (&**name, seen))
}

fn versions(noted: &Noted) -> BTreeSet<&str> {
    noted.loaded.iter().map(|loaded| &*loaded.version).collect()
}

/// Puts what was noted and what was printed together.
fn seen(noted: &Noted, printed: &Printed) -> AllSeen {
    let mut all = AllSeen::new();
    for (process, said, at) in &noted.said {
        let Some(said) = Said::of(said) else { continue };
        let seen = all.entry((said.became, said.operator)).or_default();
        seen.processes.insert(*process);
        seen.at = seen.at.take().or_else(|| at.clone());
        seen.because = said.because;
    }
    for ((became, operator), because) in &printed.said {
        let seen = all.entry((*became, operator.clone())).or_default();
        seen.because = seen.because.take().or_else(|| because.clone());
    }
    let torch = versions(noted).iter().find_map(|version| version.parse().ok());
    all.iter_mut().for_each(|((_, name), seen)| seen.look_up(name, torch.as_ref()));
    all
}

fn operator(name: &str, seen: &Seen) -> Operator {
    Operator {
        operator: name.to_owned(),
        processes: seen.processes.len(),
        at: seen.at.clone(),
        because: seen.because.clone(),
        gpu_from: seen.kernel.from().map(ToString::to_string),
        none_until: seen.kernel.none_until().map(ToString::to_string),
    }
}

/// Writes an operator as a line for people.
fn row(name: &str, seen: &Seen, context: &Context) -> String {
    let at = seen.at.as_deref().map(|at| match at.rsplit_once(':') {
        Some((file, line)) => format!("at {}:{line}", context.shown(Path::new(file))),
        None => format!("at {at}"),
    });
    let processes = (seen.processes.len() > 1).then(|| format!("in {} processes", seen.processes.len()));
    let kernel = (seen.kernel != Later::Unknown).then(|| seen.kernel.to_string());
    let more: Vec<String> = [at, processes, seen.because.clone(), kernel].into_iter().flatten().collect();
    let gap = if more.is_empty() { "" } else { "  " };
    format!("  {}{gap}{}\n", styled(NAME, name), more.join(", "))
}

/// What was printed to the standard error.
#[derive(Default, Debug)]
pub(super) struct Printed {
    /// The line that it is in, as far as it is looked at.
    line: Vec<u8>,
    /// Whether the last thing printed ended no line.
    within_line: bool,
    /// Operators, with what stands in their way.
    said: BTreeMap<(Became, String), Option<String>>,
}

impl Printed {
    /// Takes what comes next.
    pub(super) fn read(&mut self, mut bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        self.within_line = *last != b'\n';
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.keep(&bytes[..end]);
            self.end_line();
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LONGEST_LINE - self.line.len();
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        if self.said.len() < MOST_OPERATORS
            && let Some(said) = Said::of(&String::from_utf8_lossy(&self.line))
        {
            self.said.insert((said.became, said.operator), said.because);
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_however_they_come() {
        let warning = "\rx: The operator 'aten::a' is not currently supported on the MPS backend and will fall back to run on \
                       the CPU.\nNotImplementedError: The operator 'aten::b' is not currently implemented for the MPS \
                       device.";
        for size in [1, 2, 7, 1000] {
            let mut printed = Printed::default();
            printed.read(&[b'x'; 10_000]);
            assert_eq!((printed.line.len(), printed.within_line), (LONGEST_LINE, true));
            warning.as_bytes().chunks(size).for_each(|some| printed.read(some));
            printed.end_line();
            let said: Vec<_> = printed.said.keys().map(|(became, name)| (*became, name.as_str())).collect();
            assert_eq!(said, [(Became::FellBack, "aten::a"), (Became::Failed, "aten::b")]);
            assert!(printed.within_line);
            printed.read(b"\n");
            assert!(!printed.within_line);
        }
    }

    #[test]
    fn of_kernels_that_others_have_the_first_release_is_told() {
        let of = |name: &str, torch: &str| {
            let mut seen = Seen::default();
            seen.look_up(name, torch.parse().ok().as_ref());
            let found = operator(name, &seen);
            (found.gpu_from, found.none_until.is_some())
        };
        // What torch's own tables say: see kernels.txt.
        assert_eq!(of("aten::_ctc_loss", "2.13.0"), (Some("2.14.0".to_owned()), false));
        assert_eq!(of("aten::_ctc_loss", "2.14.0"), (None, false));
        assert_eq!(of("aten::linalg_eig", "2.13.0"), (None, true));
        assert_eq!(of("mine::operator", "2.13.0"), (None, false));
        assert_eq!(of("passing divisor to", "2.13.0"), (None, false));
    }
}
