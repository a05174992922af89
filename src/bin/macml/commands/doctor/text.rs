//! What `macml doctor` tells people: problems first, then what is there, then the end in one line.

use macml::diag::Severity;
use macml::doctor::Diagnosis;
use macml::doctor::Mark;
use macml::sys::disk::Bytes;

use super::Seen;
use super::Verdict;
use crate::amount;
use crate::printer::ASIDE;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::HEAD;
use crate::printer::NAME;
use crate::printer::WARN;
use crate::printer::styled;

/// The signs before lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    utf8: bool,
}

impl Marks {
    /// Chooses them for a terminal that has UTF-8 or not.
    pub(super) fn of(utf8: bool) -> Self {
        Self { utf8 }
    }

    fn sign(self, mark: Mark) -> String {
        let (style, sign, plain) = match mark {
            Mark::Good => (GOOD, "✓", "+"),
            Mark::Note => (NAME, "·", "-"),
            Mark::Warning => (WARN, "!", "!"),
            Mark::Error => (BAD, "✗", "x"),
            Mark::Unseen => (WARN, "?", "?"),
        };
        styled(style, if self.utf8 { sign } else { plain })
    }
}

/// Lays out everything.
pub(super) fn text(seen: &Seen, marks: Marks) -> String {
    let mut blocks: Vec<String> = seen.diagnoses.iter().map(|one| problem(one, marks)).collect();
    let sections: String = seen
        .sections
        .iter()
        .map(|section| {
            let lines = section.lines.iter().map(|line| format!("  {} {}\n", marks.sign(line.mark), flat(&line.text)));
            format!("{}\n{}", styled(HEAD, &section.title), lines.collect::<String>())
        })
        .collect();
    blocks.push(sections);
    blocks.push(speeds(seen, marks));
    blocks.push(last_line(seen, marks));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

/// Lays out what is broken, and nothing else.
pub(super) fn errors(seen: &Seen, marks: Marks) -> String {
    let said = |one: &&Diagnosis| match seen.verdict {
        Verdict::Strict => one.severity != Severity::Note,
        Verdict::Ok | Verdict::Problems | Verdict::Unseen => one.severity == Severity::Error,
    };
    let mut blocks: Vec<String> = seen.diagnoses.iter().filter(said).map(|one| problem(one, marks)).collect();
    if seen.verdict == Verdict::Unseen {
        blocks.push(last_line(seen, marks));
    }
    blocks.join("\n")
}

/// Lays out one problem: what was seen, why it matters, what to do, and the command on a line of its own.
fn problem(one: &Diagnosis, marks: Marks) -> String {
    let (mark, style, word) = match one.severity {
        Severity::Error => (Mark::Error, BAD, "error"),
        Severity::Warning => (Mark::Warning, WARN, "warning"),
        Severity::Note => (Mark::Note, NAME, "note"),
    };
    let head = styled(style, format!("{word}[{}]", one.code));
    let mut lines = vec![format!("{} {head}: {}", marks.sign(mark), flat(&one.seen))];
    let below = [&one.why].into_iter().chain(&one.details).filter(|line| !line.is_empty());
    lines.extend(below.map(|line| format!("  {}", flat(line))));
    lines.extend(remedy(&one.remedy.says, one.remedy.command.as_deref(), "  "));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Lays out a remedy; the command can be copied as it is.
pub(crate) fn remedy(says: &str, command: Option<&str>, indent: &str) -> Vec<String> {
    let told = (!says.is_empty()).then(|| format!("{indent}{}: {}", styled(NAME, "remedy"), flat(says)));
    // Half of a command that was broken in two would be run by who copies it.
    let command = command
        .filter(|command| !command.contains(is_break))
        .map(|command| format!("{indent}    {}", styled(NAME, command)));
    told.into_iter().chain(command).collect()
}

/// Lays out what `--network` measured.
fn speeds(seen: &Seen, marks: Marks) -> String {
    let measured = &seen.facts.network.measured;
    if measured.is_empty() {
        return String::new();
    }
    let width = measured.iter().map(|one| one.name.chars().count()).max().unwrap_or_default();
    let mut lines = vec![styled(HEAD, "Speed of indexes and mirrors")];
    lines.extend(measured.iter().map(|one| {
        let page = one.page_ms.map(|ms| format!("page in {ms} ms"));
        let speed = one.bytes_per_second.map(|speed| format!("{}/s", Bytes(speed)));
        let none = (one.page_ms.is_some() && one.bytes_per_second.is_none() && one.error.is_none())
            .then(|| "without the package that is measured with".to_owned());
        let said: Vec<String> = [page, speed, none, one.error.as_deref().map(flat)].into_iter().flatten().collect();
        let mark = if one.error.is_some() { Mark::Warning } else { Mark::Good };
        format!("  {} {:<width$}  {}", marks.sign(mark), flat(&one.name), said.join(", "))
    }));
    match &seen.fastest {
        Some(fastest) => {
            lines.push(format!("  {}", flat(&fastest.says)));
            if let Some(line) = &fastest.line {
                lines.extend(remedy("put this line into `~/.config/macml/config.toml`", Some(line), "  "));
            }
            // What a variable says goes before the file.
            let variable = seen.facts.shell.variables.iter().any(|one| one.name == "MACML_MIRROR");
            if variable && fastest.line.is_some() {
                lines.push("  `MACML_MIRROR` is set and goes before that file".to_owned());
            }
        }
        None => lines.push("  none of those that serve the packages of PyPI sent a file".to_owned()),
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn last_line(seen: &Seen, marks: Marks) -> String {
    let count = |severity| seen.diagnoses.iter().filter(|one| one.severity == severity).count();
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let counts = counts.map(|(severity, word)| (count(severity), word)).into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| amount::count(count, word)).collect();
    let counts = counts.join(", ");
    let (mark, style, says) = match seen.verdict {
        Verdict::Ok if counts.is_empty() => (Mark::Good, GOOD, "no problems found".to_owned()),
        Verdict::Ok => (Mark::Good, GOOD, format!("nothing is broken: {counts}")),
        Verdict::Problems => (Mark::Error, BAD, format!("something is broken: {counts}")),
        Verdict::Strict => (Mark::Error, BAD, format!("something is to be said: {counts} (--strict)")),
        Verdict::Unseen if counts.is_empty() => (Mark::Unseen, WARN, "not everything could be seen".to_owned()),
        Verdict::Unseen => (Mark::Unseen, WARN, format!("not everything could be seen: {counts}")),
    };
    let took = styled(ASIDE, format!("({})", amount::duration(seen.took)));
    let more = match seen.diagnoses.first() {
        Some(first) => styled(ASIDE, format!("; `macml explain {}` says more", first.code)),
        None => String::new(),
    };
    format!("{} {}{more} {took}\n", marks.sign(mark), styled(style, says))
}

/// Puts text on one line: paths may have line ends.
fn flat(text: &str) -> String {
    text.replace(is_break, " ")
}

/// Whether a terminal, or who reads it, takes a character for the end of a line.
fn is_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use macml::diag::Code;
    use macml::doctor::{Facts, Line, Section, Subject};

    use super::*;

    fn seen(verdict: Verdict) -> Seen {
        let why = "they compute at half the speed, and have no GPU";
        let rosetta =
            Diagnosis::error(Code::WrongArchitecture, Subject::Pythons, "`~/x/bin/python` is built for Intel", why)
                .detail("it is `python3` on PATH")
                .remedy("make an environment of an arm64 Python")
                .command("macml sync");
        let memory = Diagnosis::warning(Code::KnownLimit, Subject::Mac, "2 GB of swap\nare in use", "it is slow")
            .remedy("close other programs");
        let line = |mark, text: &str| Line { mark, text: text.to_owned() };
        let lines = vec![line(Mark::Good, "Apple M3, macOS 15.6"), line(Mark::Unseen, "the swap could not be seen: x")];
        Seen {
            facts: Facts::default(),
            diagnoses: vec![rosetta, memory],
            sections: vec![Section { subject: Subject::Mac, title: "Mac".into(), lines }],
            fastest: None,
            verdict,
            took: Duration::from_millis(210),
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn problems_come_first_and_the_end_is_in_one_line() {
        let expected = "\
✗ error[wrong-architecture]: `~/x/bin/python` is built for Intel
  they compute at half the speed, and have no GPU
  it is `python3` on PATH
  remedy: make an environment of an arm64 Python
      macml sync

! warning[known-limit]: 2 GB of swap are in use
  it is slow
  remedy: close other programs

Mac
  ✓ Apple M3, macOS 15.6
  ? the swap could not be seen: x

✗ something is broken: 1 error, 1 warning; `macml explain wrong-architecture` says more (210 ms)
";
        let seen = seen(Verdict::Problems);
        let text = plain(&text(&seen, Marks::of(true)));
        assert_eq!(text, expected);
        let ascii = plain(&super::text(&seen, Marks::of(false)));
        assert_eq!(ascii, expected.replace('✗', "x").replace('✓', "+"));
    }

    #[test]
    fn who_wants_errors_alone_reads_what_decided() {
        let errors = |verdict| plain(&errors(&seen(verdict), Marks::of(true)));
        assert_eq!(errors(Verdict::Problems).matches(']').count(), 1);
        assert!(errors(Verdict::Strict).contains("warning[known-limit]"));
        assert!(errors(Verdict::Unseen).ends_with(" (210 ms)\n"));
    }
}
