//! The table for terminals: eighty columns, a mark in each cell, what the marks stand for below.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use anstyle::Style;
use macml::matrix::Cell;
use macml::matrix::Mark;
use macml::matrix::Table;
use macml::pep::PackageName;

use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::WARN;
use crate::printer::styled;

use crate::report::matrix as report;

/// The width that every terminal has.
const WIDTH: usize = 80;

/// Between two columns.
const GAP: usize = 2;

/// Lays out tables, one below the other.
pub(super) fn text(tables: &[Table]) -> String {
    tables.iter().map(|table| lines(table).join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

fn lines(table: &Table) -> Vec<String> {
    let mut lines = wrapped(&table.lines.join(", "), "");
    lines.iter_mut().for_each(|line| *line = styled(NAME, &line));
    lines.push(format!(
        "newest working set by Python and lowest macOS; GPU {}, chip {} and later",
        report::gpu(table.gpu),
        table.chip
    ));
    let notes = Notes::new(table);
    if table.has_answer() {
        for block in blocks(table, &notes) {
            lines.push(String::new());
            lines.extend(block);
        }
    }
    lines.push(String::new());
    lines.extend(legend(table));
    for (key, reason) in &notes.reasons {
        lines.extend(wrapped(reason, &format!("  {key}   ")));
    }
    for (pythons, reason) in table.unanswered() {
        let pythons = table.python_spans(&pythons);
        lines.extend(wrapped(&format!("nothing on Python {pythons}: {reason}"), ""));
    }
    for (floors, reason) in table.unanswered_floors() {
        lines.extend(wrapped(&format!("nothing on macOS {}: {reason}", table.spans(&floors)), ""));
    }
    lines.extend(problems(table));
    lines.extend(unknown(table));
    lines
}

/// Keys of reasons: what stands in a cell without a set, and below the table.
struct Notes {
    reasons: Vec<(String, String)>,
}

impl Notes {
    fn new(table: &Table) -> Self {
        let mut reasons: Vec<(String, String)> = Vec::new();
        let columns = table.columns();
        let rows = table.answered();
        let shown = rows.iter().flat_map(|row| columns.iter().map(|group| &row[*group.start()]));
        for reason in shown.filter_map(Cell::reason) {
            if reasons.iter().all(|(_, known)| *known != reason) {
                reasons.push((key(reasons.len()), reason));
            }
        }
        Self { reasons }
    }

    fn key(&self, cell: &Cell) -> &str {
        let reason = cell.reason();
        let found = self.reasons.iter().find(|(_, known)| Some(known) == reason.as_ref());
        found.map_or("", |(key, _)| key)
    }
}

/// Counts in letters: a to z, then aa.
fn key(at: usize) -> String {
    let letter = char::from(b'a' + (at % 26) as u8);
    match at / 26 {
        0 => letter.to_string(),
        more => key(more - 1) + &letter.to_string(),
    }
}

/// Text and how it is styled; the width is that of the text alone.
struct Piece {
    mark: Option<Mark>,
    sign: String,
    rest: String,
}

impl Piece {
    fn plain(text: impl Into<String>) -> Self {
        Self { mark: None, sign: String::new(), rest: text.into() }
    }

    fn width(&self) -> usize {
        self.sign.chars().count() + self.rest.chars().count()
    }

    fn padded(&self, width: usize) -> String {
        let fill = " ".repeat(width - self.width());
        let sign = self.mark.map_or_else(|| self.sign.clone(), |mark| styled(style(mark), &self.sign));
        format!("{sign}{}{fill}", self.rest)
    }
}

fn style(mark: Mark) -> Style {
    match mark {
        Mark::Fine => GOOD,
        Mark::Unknown => NAME,
        Mark::Problems => WARN,
        Mark::Refused => BAD,
    }
}

/// One line of a cell: the mark stands before the first package.
fn piece(cell: &Cell, at: usize, name: &PackageName, notes: &Notes) -> Piece {
    let mark = cell.mark();
    let sign = match (at, mark) {
        (0, Mark::Problems) => format!("!{}", cell.problems.len()),
        (0, mark) => mark.sign().to_owned(),
        _ => String::new(),
    };
    let text = match (at, cell.version(name)) {
        (_, Some(version)) => version.to_string(),
        (0, None) if mark == Mark::Refused => notes.key(cell).to_owned(),
        (_, None) if mark == Mark::Refused => String::new(),
        (_, None) => "not in it".to_owned(),
    };
    let unknown = if cell.unknown.contains(name) && mark != Mark::Unknown { "?" } else { "" };
    Piece {
        mark: Some(mark),
        rest: format!("{:fill$} {text}{unknown}", "", fill = 2_usize.saturating_sub(sign.len())),
        sign,
    }
}

/// Lays out the rows, as many columns at a time as fit.
fn blocks(table: &Table, notes: &Notes) -> Vec<Vec<String>> {
    let rows = table.answered();
    let names = table.asked.iter().map(|name| name.as_str().len()).max().unwrap_or(0).max("macOS".len());
    let python = "Python"
        .len()
        .max(rows.iter().flat_map(|row| row.first()).map(|cell| cell.python.to_string().len()).max().unwrap_or(0));
    let head = python + GAP + names;
    let column = |group: &RangeInclusive<usize>| {
        let mut pieces = vec![Piece::plain(format!("   {}", table.heading(group)))];
        for row in &rows {
            let cell = &row[*group.start()];
            pieces.extend(table.asked.iter().enumerate().map(|(at, name)| piece(cell, at, name, notes)));
        }
        let width = pieces.iter().map(Piece::width).max().unwrap_or(0);
        (pieces, width)
    };
    let mut columns = table.columns().iter().map(column).collect::<Vec<_>>().into_iter().peekable();
    let mut blocks = Vec::new();
    while columns.peek().is_some() {
        let mut block = Vec::new();
        let mut width = head;
        while let Some(next) = columns.next_if(|(_, own)| block.is_empty() || width + GAP + own <= WIDTH) {
            width += GAP + next.1;
            block.push(next);
        }
        let gap = " ".repeat(GAP);
        let mut lines = Vec::new();
        let mut line = |python_text: &str, name: &str, at: usize| {
            let mut parts = vec![format!("{python_text:python$}")];
            parts.push(format!("{name:names$}"));
            parts.extend(block.iter().map(|(pieces, width)| pieces[at].padded(*width)));
            lines.push(parts.join(&gap).trim_end().to_owned());
        };
        line("Python", &format!("{:>names$}", "macOS"), 0);
        for (row, cells) in rows.iter().enumerate() {
            for (at, name) in table.asked.iter().enumerate() {
                let python = if at == 0 { cells[0].python.to_string() } else { String::new() };
                line(&python, name.as_str(), 1 + row * table.asked.len() + at);
            }
        }
        blocks.push(lines);
    }
    blocks
}

/// Says what the marks stand for that are in the table.
fn legend(table: &Table) -> Vec<String> {
    let (rows, columns) = (table.answered(), table.columns());
    let shown = rows.iter().flat_map(|row| columns.iter().map(|group| &row[*group.start()]));
    let met: BTreeSet<Mark> = shown.map(Cell::mark).collect();
    let line = |mark: &Mark| {
        let sign = if *mark == Mark::Problems { "!n" } else { mark.sign() };
        let count = if *mark == Mark::Problems { " (n of them)" } else { "" };
        format!("{}{}  {}{count}", styled(style(*mark), sign), " ".repeat(2 - sign.len()), mark.meaning())
    };
    Mark::ALL.iter().filter(|mark| met.contains(mark)).map(line).collect()
}

/// Lists what goes wrong, with the rules that say so.
fn problems(table: &Table) -> Vec<String> {
    let mut lines = Vec::new();
    for problem in report::problems(table) {
        let versions = problem.versions.join(", ");
        let instead = problem.instead.map(|instead| format!(" Prefer {instead}.")).unwrap_or_default();
        let place = format!("{} {versions} on macOS {}", problem.package, problem.spans);
        let text = format!("`{}`: {} ({place}){instead}", problem.rule, problem.reason);
        lines.extend(wrapped(&text, "!   "));
    }
    lines
}

/// Lists releases later than the knowledge.
fn unknown(table: &Table) -> Vec<String> {
    let mut lines = Vec::new();
    for unknown in report::unknown(table) {
        let (name, versions, newest) = (unknown.package, unknown.versions.join(", "), unknown.newest);
        let text = format!(
            "{name} {versions}: nothing is known of it; the knowledge of {} ends at {newest}",
            table.knowledge.date
        );
        lines.extend(wrapped(&text, "?   "));
    }
    lines
}

/// Breaks a sentence at blanks; the first line begins with `lead`, the others with as many blanks.
fn wrapped(text: &str, lead: &str) -> Vec<String> {
    let indent = lead.chars().count();
    let mut lines = vec![lead.to_owned()];
    let mut width = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        let last = lines.last_mut().expect("there is a first line");
        if width > indent && width + 1 + length > WIDTH {
            lines.push(" ".repeat(indent) + word);
            width = indent + length;
        } else {
            if width > indent {
                last.push(' ');
                width += 1;
            }
            last.push_str(word);
            width += length;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_count_in_letters() {
        assert_eq!([0, 25, 26, 27, 52].map(key), ["a", "z", "aa", "ab", "ba"]);
    }

    #[test]
    fn sentences_are_broken_at_blanks() {
        let text = "word ".repeat(40);
        let lines = wrapped(text.trim_end(), "  a   ");
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{lines:?}");
        assert!(lines[0].starts_with("  a   word") && lines[1].starts_with("      word"), "{lines:?}");
    }
}
