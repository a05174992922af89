//! What `macml check` tells GitHub Actions: annotations, and a table in the summary of the job.
//!
//! The runner takes for a command each line, of standard output and of standard error, that begins with `::`, or that has
//! `##[` anywhere. Of each severity it shows ten annotations of a step.

use std::borrow::Cow;
use std::path::Path;
use std::path::PathBuf;

use macml::diag::Finding;
use macml::diag::Severity;
use macml::diag::Source;
use macml::pipeline::check::Class;
use macml::pipeline::check::Verdict;
use macml::sys;
use macml::sys::fs;

use super::Done;
use super::Place;
use super::place;
use super::places::labelled;
use super::text;
use crate::context::Context;
use crate::error::CommandError;
use crate::printer::Level;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::harmless;
use crate::printer::styled;

/// So many annotations of one severity are shown of a step.
const MOST: usize = 10;

/// So many rows, and so many errors, has the summary: what is longer than a mebibyte is not shown at all.
const MOST_ROWS: usize = 100;

/// So many characters has a text in the summary.
const MOST_TEXT: usize = 400;

/// An annotation, before it is known how many there are.
#[derive(PartialEq, Eq, Debug)]
struct Annotation {
    severity: Severity,
    place: Option<Place>,
    title: String,
    message: String,
    /// The environments and Macs that it is about.
    whose: Vec<String>,
}

/// Lays out the annotations of a check, errors first; notes with `-v` only.
pub(super) fn annotations(done: &Done, context: &Context, level: Level) -> String {
    let outcome = &done.outcome;
    let mut all: Vec<Annotation> = Vec::new();
    for finding in &outcome.findings {
        let place = outcome.manifest.as_ref().and_then(|source| labelled(finding, source, context));
        add(&mut all, annotation(finding, place), None);
    }
    for part in &outcome.parts {
        let whose = part.of.as_ref().map(text::whose);
        for told in &part.told {
            add(&mut all, annotation(&told.finding, place(told, outcome, context)), whose.clone());
        }
        // Something must say why the step failed.
        let silent = part.told.iter().all(|told| told.finding.severity != Severity::Error);
        if silent && part.word.class() >= Class::Unsure {
            let message = format!("{}: {}", part.level.as_str(), text::sentence(part, done, context));
            let message = plain(&message);
            let place = outcome.lock.as_ref().map(|lock| Place { file: lock.clone(), line: None, column: None });
            let title = part.word.as_str().to_owned();
            let one = Annotation { severity: Severity::Error, place, title, message, whose: Vec::new() };
            add(&mut all, one, whose);
        }
    }
    if outcome.verdict == Verdict::Strict {
        let (how, counts) = text::end(done);
        let (title, message) = ("macml check".to_owned(), format!("{how}{counts}"));
        all.push(Annotation { severity: Severity::Error, place: None, title, message, whose: Vec::new() });
    }
    let least = match level {
        Level::Quiet => Severity::Error,
        Level::Normal => Severity::Warning,
        Level::Verbose => Severity::Note,
    };
    all.retain(|one| one.severity <= least);
    all.sort_by_key(|one| one.severity);
    lines(&all, context)
}

/// Lays out the annotations of a check that did not come about.
pub(super) fn failure(error: &CommandError, context: &Context) -> String {
    let mut all: Vec<Annotation> = Vec::new();
    if let Some((source, findings)) = error.findings.as_deref() {
        for finding in findings {
            add(&mut all, annotation(finding, labelled(finding, source, context)), None);
        }
    }
    let message = [vec![error.source.to_string()], error.causes(), error.hints.clone()].concat().join("\n");
    let title = "macml check".to_owned();
    all.push(Annotation { severity: Severity::Error, place: None, title, message, whose: Vec::new() });
    all.sort_by_key(|one| one.severity);
    lines(&all, context)
}

fn annotation(finding: &Finding, place: Option<Place>) -> Annotation {
    let mut message = finding.message.clone();
    for more in finding.notes.iter().chain(&finding.hint) {
        message.push('\n');
        message += more;
    }
    let title = finding.code.as_str().to_owned();
    Annotation { severity: finding.severity, place, title, message, whose: Vec::new() }
}

/// Adds an annotation; what is said of several environments and Macs is one.
fn add(all: &mut Vec<Annotation>, one: Annotation, whose: Option<String>) {
    let same = |known: &Annotation| {
        (known.severity, &known.place, &known.title, &known.message)
            == (one.severity, &one.place, &one.title, &one.message)
    };
    let at = all.iter().position(same).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    });
    let known = &mut all[at].whose;
    known.extend(whose.filter(|whose| !known.contains(whose)).into_iter().collect::<Vec<_>>());
}

/// Writes the commands of annotations; where there are more of a severity than are shown, the last says how many.
fn lines(all: &[Annotation], context: &Context) -> String {
    let root = Root::of(context);
    let mut text = String::new();
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        let some: Vec<&Annotation> = all.iter().filter(|one| one.severity == severity).collect();
        let most = if some.len() > MOST { MOST - 1 } else { MOST };
        for one in some.iter().take(most) {
            text += &command(one, &root);
        }
        let (kind, what) = kind(severity);
        let more = some.len().checked_sub(most).filter(|more| *more > 0);
        text.extend(more.map(|more| {
            format!("::{kind} title=macml check::{more} more {what}s: the log of this step has them all\n")
        }));
    }
    text
}

/// Returns what GitHub and what we call a severity.
fn kind(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Error => ("error", "error"),
        Severity::Warning => ("warning", "warning"),
        Severity::Note => ("notice", "note"),
    }
}

fn command(one: &Annotation, root: &Root) -> String {
    let mut properties = Vec::new();
    if let Some((place, file)) = one.place.as_ref().and_then(|place| Some((place, root.inside(&place.file)?))) {
        properties.push(format!("file={}", property(&file)));
        properties.extend(place.line.map(|line| format!("line={line}")));
        properties.extend(place.column.map(|column| format!("col={column}")));
    }
    properties.push(format!("title={}", property(&one.title)));
    let mut message = masked(&one.message);
    if let Some(first) = one.whose.first() {
        let more = one.whose.len() - 1;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        message = format!("{message}\n({first}{more})");
    }
    format!("::{} {}::{}\n", kind(one.severity).0, properties.join(","), data(&message))
}

/// The folder that paths are relative to.
struct Root {
    folder: PathBuf,
    resolved: Option<PathBuf>,
}

impl Root {
    /// Returns that of the repository, or the working folder where nobody says.
    fn of(context: &Context) -> Self {
        let named = context.env.get("GITHUB_WORKSPACE").map(Path::new).filter(|path| path.is_absolute());
        let folder = named.unwrap_or(&context.cwd).to_owned();
        Self { resolved: sys::resolve(&folder).ok().flatten(), folder }
    }

    /// Returns a path from here; `None` for one outside.
    fn inside(&self, path: &Path) -> Option<String> {
        let resolved = sys::resolve(path).ok().flatten();
        let real = match (&resolved, &self.resolved) {
            (Some(path), Some(folder)) => return Some(path.strip_prefix(folder).ok()?.to_str()?.to_owned()),
            // A file that is gone by now.
            _ => path.strip_prefix(&self.folder).ok()?,
        };
        let upward = real.components().any(|part| part == std::path::Component::ParentDir);
        if upward { None } else { Some(real.to_str()?.to_owned()) }
    }
}

/// Escapes the text of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Overwrites credentials in addresses.
fn masked(text: &str) -> String {
    Source { name: String::new(), text: text.to_owned() }.masked().text
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Makes sure that no line of a text for people is a command: parts of it come from wheels and locks.
pub(super) fn inert(text: &str) -> String {
    let line = |line: &'_ str| -> String {
        let seen = plain(line);
        let old = seen.contains("##[");
        if !old && !seen.trim_start().starts_with("::") {
            return line.to_owned();
        }
        let seen = seen.replace("##[", "## [");
        match seen.trim_start().starts_with("::") {
            true => seen.replacen("::", ": :", 1),
            false => seen,
        }
    };
    // A carriage return begins a line too.
    text.replace('\r', "\u{fffd}").split_inclusive('\n').map(line).collect()
}

/// Adds a table of what was looked at to the summary of the job, where GitHub names a file for it.
pub(super) fn summarize(done: &Done, context: &Context, printer: &Printer) {
    let Some(file) = context.env.get("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty()) else { return };
    let text = summary(done, context);
    if let Err(error) = fs::append(&context.cwd.join(file), text.as_bytes()) {
        let text = format!("{}: {error}: {}\n", styled(WARN, "warning"), error.cause);
        printer.aside(&inert(&text));
    }
}

/// Lays out the summary as Markdown.
fn summary(done: &Done, context: &Context) -> String {
    let outcome = &done.outcome;
    let (how, counts) = text::end(done);
    let mut text =
        format!("### macml {how}{counts}\n\n| | level | environment | for | result |\n|---|---|---|---|---|\n");
    text.extend(outcome.parts.iter().take(MOST_ROWS).map(|part| {
        let sign = match part.word.class() {
            Class::Yes => "✅",
            Class::NotLooked => "➖",
            Class::Unsure => "❔",
            Class::No => "❌",
        };
        let env = part.of.as_ref().map(|of| format!("{} on {}", of.env, of.platform)).unwrap_or_default();
        let on = part.of.as_ref().and_then(|of| of.on.as_ref());
        let on = on.map(|on| format!("{}, macOS {}", on.mac.chip, on.mac.macos)).unwrap_or_default();
        let result = text::sentence(part, done, context);
        let cells = [sign.to_owned(), part.level.as_str().to_owned(), cell(&env), cell(&on), cell(&result)];
        format!("| {} |\n", cells.join(" | "))
    }));
    text.extend(over(outcome.parts.len()).map(|more| format!("\nand {more} more\n")));
    let of_parts = outcome.parts.iter().flat_map(|part| part.told.iter().map(|told| &told.finding));
    let mut errors: Vec<String> = Vec::new();
    for finding in of_parts.chain(&outcome.findings).filter(|finding| finding.severity == Severity::Error) {
        let line = format!("- {}: {}\n", finding.code, cell(&finding.message));
        if !errors.contains(&line) {
            errors.push(line);
        }
    }
    if !errors.is_empty() {
        text.push('\n');
    }
    text.extend(errors.iter().take(MOST_ROWS).cloned());
    text.extend(over(errors.len()).map(|more| format!("- and {more} more\n")));
    text + "\n"
}

/// Says how many of so many have no place in the summary.
fn over(number: usize) -> Option<usize> {
    number.checked_sub(MOST_ROWS).filter(|more| *more > 0)
}

/// Writes a text so that nothing in it is Markdown, HTML or an address: parts of it come from wheels and locks.
fn cell(text: &str) -> String {
    let text = masked(&plain(text));
    let text: Cow<'_, str> = harmless(&text);
    let mut escaped = String::new();
    for (at, char) in text.chars().enumerate() {
        match char {
            _ if at == MOST_TEXT => {
                escaped.push('…');
                break;
            }
            '\n' | '\t' => escaped.push(' '),
            ' ' | ',' | '-' | '/' => escaped.push(char),
            char if char.is_alphanumeric() => escaped.push(char),
            char => escaped.extend(["&#", &u32::from(char).to_string(), ";"]),
        }
    }
    escaped
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may look at the world")]
mod tests {
    use super::*;

    #[test]
    fn commands_are_escaped() {
        assert_eq!(data("50%\r\nof a: b, c"), "50%25%0D%0Aof a: b, c");
        assert_eq!(property("a:b,c%d\n"), "a%3Ab%2Cc%25d%0A");
    }

    #[test]
    fn a_stranger_s_text_is_no_command() {
        let check = |text: &str, shown: &str| assert_eq!(inert(text), shown, "{text:?}");
        check("aten::mm\n  none\n", "aten::mm\n  none\n");
        check("a\n  ::error::forged\nb", "a\n  : :error::forged\nb");
        check("\x1b[31m::stop-commands::x\x1b[0m", ": :stop-commands::x");
        check("a ##[error]forged", "a ## [error]forged");
        check("a\r::error::x", "a\u{fffd}::error::x");
        check("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m");
    }

    #[test]
    fn nothing_in_a_cell_is_markup() {
        let check = |text: &str, shown: &str| assert_eq!(cell(text), shown, "{text:?}");
        check("torch 2.13, a-b/c", "torch 2&#46;13, a-b/c");
        check("a | b\n<img>", "a &#124; b &#60;img&#62;");
        check(
            "[x](https://me:pw@h/?t=1)",
            "&#91;x&#93;&#40;https&#58;//&#42;&#42;&#42;&#42;&#42;&#64;h/&#63;&#42;&#42;&#42;&#42;",
        );
        check("\u{202e}x", "&#65533;x");
        assert_eq!(cell(&"x".repeat(1_000)).chars().count(), MOST_TEXT + 1);
    }

    #[test]
    fn paths_are_those_of_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["real/sub", "outside"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["real/sub/uv.lock", "real/a.lock", "outside/b.lock"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
        for root in ["real", "link"] {
            let root = Root { resolved: sys::resolve(&at(root)).unwrap(), folder: at(root) };
            let check = |name: &str, expected: Option<&str>| {
                assert_eq!(root.inside(&at(name)).as_deref(), expected, "{name}");
            };
            check("real/sub/uv.lock", Some("sub/uv.lock"));
            check("link/sub/../a.lock", Some("a.lock"));
            check("real/../outside/b.lock", None);
            check("outside/b.lock", None);
        }
        let root = Root { resolved: None, folder: at("gone") };
        assert_eq!(root.inside(&at("gone/x.lock")).as_deref(), Some("x.lock"));
        assert_eq!(root.inside(&at("gone/../x.lock")), None);
    }
}
