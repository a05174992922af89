//! How a table is read: the mark of a cell, its reason in a few words, columns that do not differ.

use std::ops::RangeInclusive;

use crate::knowledge::Rule;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::target::MacosVersion;
use crate::target::PythonMinor;

use super::Answer;
use super::Cell;
use super::Table;

/// What a cell says at first sight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// There is a set, and nothing is known against it.
    Fine,
    /// There is a set with a release later than the knowledge.
    Unknown,
    /// There is a set, and something goes wrong with it.
    Problems,
    /// There is none.
    Refused,
}

impl Mark {
    /// Every mark.
    pub const ALL: [Self; 4] = [Self::Fine, Self::Unknown, Self::Problems, Self::Refused];

    /// Returns it as signs that need no colour.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Unknown => "?",
            Self::Problems => "!",
            Self::Refused => "-",
        }
    }

    /// Returns what it means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Fine => "solved, and nothing is known against it",
            Self::Unknown => "solved, but later than the knowledge: nothing is known of it",
            Self::Problems => "solved, with known problems",
            Self::Refused => "no set",
        }
    }
}

impl Cell {
    /// Returns what the cell says at first sight. Known problems go before what is unknown.
    pub fn mark(&self) -> Mark {
        match &self.answer {
            Answer::Refusal(_) => Mark::Refused,
            Answer::Set(_) if !self.problems.is_empty() => Mark::Problems,
            Answer::Set(_) if !self.unknown.is_empty() => Mark::Unknown,
            Answer::Set(_) => Mark::Fine,
        }
    }

    /// Returns the version of a package, if the cell has a set with it.
    pub fn version(&self, name: &PackageName) -> Option<&Version> {
        match &self.answer {
            Answer::Set(set) => set.get(name),
            Answer::Refusal(_) => None,
        }
    }

    /// Returns why there is no set, in a few words; `None` when there is one.
    pub fn reason(&self) -> Option<String> {
        match &self.answer {
            Answer::Set(_) => None,
            Answer::Refusal(reasons) => Some(short(reasons.first().map_or("", String::as_str))),
        }
    }

    /// Returns whether two cells say the same, apart from where they stand.
    fn says_what(&self, other: &Self, asked: &[PackageName]) -> bool {
        (self.mark(), &self.problems, &self.unknown) == (other.mark(), &other.problems, &other.unknown)
            && asked.iter().all(|name| self.version(name) == other.version(name))
            && self.reason() == other.reason()
    }
}

impl Table {
    /// Returns whether some cell has a set.
    pub fn has_answer(&self) -> bool {
        !self.answered().is_empty()
    }

    /// Returns the rows in which some cell has a set.
    pub fn answered(&self) -> Vec<&[Cell]> {
        let some = |row: &&Vec<Cell>| row.iter().any(|cell| cell.mark() != Mark::Refused);
        self.rows.iter().filter(some).map(Vec::as_slice).collect()
    }

    /// Says of the Pythons without any set why that is, on the newest macOS: those with the same reason together.
    pub fn unanswered(&self) -> Vec<(Vec<PythonMinor>, String)> {
        let mut all: Vec<(Vec<PythonMinor>, String)> = Vec::new();
        for row in self.rows.iter().filter(|row| row.iter().all(|cell| cell.mark() == Mark::Refused)) {
            let Some((python, reason)) = row.last().and_then(|cell| Some((cell.python, cell.reason()?))) else {
                continue;
            };
            let reason = reason.replace(&format!("Python {python}"), "this Python");
            match all.iter_mut().find(|(_, known)| *known == reason) {
                Some((pythons, _)) => pythons.push(python),
                None => all.push((vec![python], reason)),
            }
        }
        all
    }

    /// Says of the macOS versions without any set, while others have one, why that is, under the newest Python: those
    /// with the same reason together.
    pub fn unanswered_floors(&self) -> Vec<(Vec<MacosVersion>, String)> {
        let mut all: Vec<(Vec<MacosVersion>, String)> = Vec::new();
        let Some(newest) = self.answered().pop() else { return all };
        for (at, macos) in self.axes.floors.iter().enumerate().filter(|(at, _)| !self.is_answered(*at)) {
            let Some(reason) = newest[at].reason() else { continue };
            match all.iter_mut().find(|(_, known)| *known == reason) {
                Some((floors, _)) => floors.push(*macos),
                None => all.push((vec![*macos], reason)),
            }
        }
        all
    }

    /// Returns whether some cell of a column has a set.
    fn is_answered(&self, at: usize) -> bool {
        self.rows.iter().any(|row| row[at].mark() != Mark::Refused)
    }

    /// Groups the columns with an answer: neighbours that say the same in every row with an answer are one. As positions
    /// in `axes.floors`.
    pub fn columns(&self) -> Vec<RangeInclusive<usize>> {
        let rows = self.answered();
        let alike = |one: usize, two: usize| rows.iter().all(|row| row[one].says_what(&row[two], &self.asked));
        let mut groups: Vec<RangeInclusive<usize>> = Vec::new();
        for at in (0..self.axes.floors.len()).filter(|at| self.is_answered(*at)) {
            match groups.last_mut().filter(|group| group.end() + 1 == at && alike(*group.start(), at)) {
                Some(group) => *group = *group.start()..=at,
                None => groups.push(at..=at),
            }
        }
        groups
    }

    /// Writes columns by their ends: `14.0`, or `12.3, 14.0-15.0`; what lies between the ends are columns too.
    pub fn spans(&self, floors: &[MacosVersion]) -> String {
        spans(&self.axes.floors, floors)
    }

    /// Writes rows by their ends, as [`Table::spans`] does columns.
    pub fn python_spans(&self, pythons: &[PythonMinor]) -> String {
        spans(&self.axes.pythons, pythons)
    }

    /// Writes the heading of a group of columns: `14.0`, or `13.0-14.4`.
    pub fn heading(&self, group: &RangeInclusive<usize>) -> String {
        self.spans(&self.axes.floors[group.clone()])
    }

    /// Lists the rules that tell of problems of the cells, worst first, each with its cells.
    pub fn problems(&self) -> Vec<(&Rule, Vec<&Cell>)> {
        let mut all: Vec<(&Rule, Vec<&Cell>)> = Vec::new();
        for cell in self.rows.iter().flatten() {
            for rule in cell.problems.iter().filter_map(|id| self.knowledge.rule(id)) {
                match all.iter_mut().find(|(known, _)| known.id == rule.id) {
                    Some((_, cells)) => cells.push(cell),
                    None => all.push((rule, vec![cell])),
                }
            }
        }
        all.sort_by_key(|(rule, _)| rule.problem());
        all
    }
}

/// Writes some of all values by the ends of their runs.
fn spans<T: PartialEq + ToString>(all: &[T], some: &[T]) -> String {
    let mut runs: Vec<RangeInclusive<usize>> = Vec::new();
    for at in (0..all.len()).filter(|at| some.contains(&all[*at])) {
        match runs.last_mut().filter(|run| run.end() + 1 == at) {
            Some(run) => *run = *run.start()..=at,
            None => runs.push(at..=at),
        }
    }
    let written = |run: &RangeInclusive<usize>| match (&all[*run.start()], &all[*run.end()]) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{}-{}", first.to_string(), last.to_string()),
    };
    runs.iter().map(written).collect::<Vec<_>>().join(", ")
}

/// The most characters of a reason in a few words.
const LONGEST: usize = 90;

/// Cuts a reason to what can be read at a glance: what the table says by itself (its floor) and second thoughts go.
fn short(reason: &str) -> String {
    let own = reason.find("; your floor is").map_or(reason, |at| &reason[..at]);
    match own.char_indices().nth(LONGEST) {
        None => own.to_owned(),
        Some((at, _)) => {
            let end = own[..at].rfind(' ').unwrap_or(at);
            format!("{}…", own[..end].trim_end_matches([',', ';', ':']))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_written_by_their_ends() {
        let check = |some: &[u8], wanted: &str| assert_eq!(spans(&[8, 9, 10, 11, 13], some), wanted);
        check(&[9], "9");
        check(&[8, 9, 10], "8-10");
        check(&[8, 10, 11, 13], "8, 10-13");
        check(&[], "");
    }

    #[test]
    fn what_is_later_than_the_knowledge_is_never_fine() {
        let check = |problems: &[&str], unknown: &[&str], wanted: Mark| {
            let cell = Cell {
                python: PythonMinor { major: 3, minor: 13 },
                macos: MacosVersion::new(14, 0),
                answer: Answer::Set(std::collections::BTreeMap::new()),
                problems: problems.iter().map(|id| (*id).to_owned()).collect(),
                unknown: unknown.iter().map(|name| name.parse().unwrap()).collect(),
            };
            assert_eq!(cell.mark(), wanted);
        };
        check(&[], &[], Mark::Fine);
        check(&[], &["torch"], Mark::Unknown);
        check(&["x"], &["torch"], Mark::Problems);
        check(&["x"], &[], Mark::Problems);
    }

    #[test]
    fn a_reason_in_a_few_words() {
        let check = |reason: &str, wanted: &str| assert_eq!(short(reason), wanted);
        check("`torch` 2.15.0: needs macOS 14; your floor is 13.0", "`torch` 2.15.0: needs macOS 14");
        check("there is no `x` >=9; the newest release is 3", "there is no `x` >=9; the newest release is 3");
        let cut = short(&"word ".repeat(40));
        assert!(cut.chars().count() <= LONGEST && cut.ends_with(" word…"), "{cut}");
    }
}
