//! Which of the known texts of a log is the cause.
//!
//! The cause nearest the end counts, since what a person saw last is what the person asks about. A traceback that ends in an
//! exception of which nothing is known is unknown, whatever was printed before it: what was caught and what was warned of
//! did not end the program.

use super::signature::{Role, Signature, Signatures};
use super::text::Line;

/// A known text in a log.
#[derive(Debug)]
pub(super) struct Found<'t> {
    pub(super) signature: &'static Signature,
    pub(super) captures: regex::Captures<'t>,
    /// Its line.
    pub(super) line: &'t Line,
    at: usize,
    /// What follows in the next lines, into which a terminal may have broken it.
    pub(super) after: String,
}

/// A log as it is searched: its lines, and each with the next where a terminal may have broken one in two.
#[derive(Debug)]
pub(super) struct Log {
    lines: Vec<Line>,
    joined: Vec<(usize, Line)>,
    on_mac: bool,
}

/// Terminals break lines at their width, seldom before this column.
const NARROW: usize = 60;

/// How many lines a terminal may break one into.
const MORE: usize = 3;

/// How many lines an exception may say before the word that chains it to the next one.
const APART: usize = 12;

impl Log {
    /// Takes the lines of a text; `on_mac` is whether they may be of a Mac.
    pub(super) fn new(lines: Vec<Line>, on_mac: bool) -> Self {
        // What a shell of Python answers belongs to what it was asked.
        let asked = |line: &Line| line.text.starts_with(">>> ") || line.text.starts_with("In [");
        let broken =
            |pair: &[Line]| (pair[0].text.len() >= NARROW || asked(&pair[0])) && pair[1].number == pair[0].number + 1;
        let pairs = lines.windows(2).enumerate().filter(|(_, pair)| broken(pair));
        let joined = pairs.flat_map(|(at, pair)| {
            let join = |between: &str| {
                (at, Line { number: pair[0].number, text: format!("{}{between}{}", pair[0].text, pair[1].text) })
            };
            [join(""), join(" ")]
        });
        let joined = joined.collect();
        Self { lines, joined, on_mac }
    }

    /// Lists the known texts, in the order in which they stand.
    fn found(&self) -> Vec<Found<'_>> {
        let signatures = Signatures::built_in();
        let has = |text: &String| self.lines.iter().any(|line| line.text.contains(text.as_str()));
        let mut all: Vec<Found<'_>> = Vec::new();
        let whole = self.lines.iter().enumerate();
        for (at, line) in whole.chain(self.joined.iter().map(|(at, line)| (*at, line))) {
            let Some((signature, captures)) = signatures.of_line(&line.text) else { continue };
            if signature.only_mac && !self.on_mac {
                continue;
            }
            if signature.needs.iter().all(has) && !signature.unless.iter().any(has) {
                let after = self.lines.get(at + 1..).unwrap_or_default().iter().take(MORE);
                let after = after.map(|line| format!(" {}", line.text)).collect();
                all.push(Found { signature, captures, line, at, after });
            }
        }
        // Of a line and of the same joined with the next, the line itself.
        all.sort_by_key(|found| (found.at, found.line.text.len()));
        all.dedup_by_key(|found| (found.at, found.signature.name.clone()));
        all
    }

    /// Finds the cause, with what else is known, the nearest to the end first.
    pub(super) fn cause(&self) -> Option<(Found<'_>, Vec<Found<'_>>)> {
        let mut found = self.found();
        if self.ended_well(&found) {
            return None;
        }
        let ends = self.unknown_end(&found);
        let counts = |one: &Found<'_>| match one.signature.role {
            Role::Warning => ends.is_none_or(|end| one.at > end) && !self.fails_after(one.at),
            Role::Cause | Role::Consequence => ends.is_none_or(|end| one.at > end),
        };
        let last = |role: Role| found.iter().rposition(|one| one.signature.role == role && counts(one));
        let at = last(Role::Cause).or_else(|| last(Role::Consequence)).or_else(|| last(Role::Warning))?;
        let cause = found.remove(at);
        found.reverse();
        Some((cause, found))
    }

    /// Returns where the last exception stands of which nothing is known: what stands before it did not end the program.
    fn unknown_end(&self, found: &[Found<'_>]) -> Option<usize> {
        let at = self.lines.iter().rposition(|line| is_exception(&line.text))?;
        let known = |one: &Found<'_>| one.at == at || one.at + 1 == at;
        if found.iter().any(known) {
            return None;
        }
        // What follows the exception may be its own words, a line further down.
        let later = found.iter().any(|one| one.at > at);
        let chained = self.lines[..at].iter().rposition(|line| is_chain(&line.text));
        match chained {
            // Raised from a known one: that is the cause.
            Some(chain) if found.iter().any(|one| one.at < chain && chain - one.at <= APART) => None,
            _ if later => None,
            _ => Some(at),
        }
    }

    /// Whether what is known was overcome: the log goes on, and its last line says that it came to a good end, or a loss that was
    /// NaN is a number again.
    fn ended_well(&self, found: &[Found<'_>]) -> bool {
        let (Some(last), Some(known)) = (self.lines.last(), found.last()) else { return false };
        let good =
            ["successfully installed ", "successfully built ", "training finished", "training complete", "done."];
        let text = last.text.to_ascii_lowercase();
        let is_good = good.iter().any(|good| text.starts_with(good)) || text.ends_with("saved.") || text == "done";
        let overcome = found.iter().all(|one| one.signature.role != Role::Warning);
        if is_good && overcome && known.at + 1 < self.lines.len() {
            return true;
        }
        let is_step = |one: &Found<'_>| one.signature.name == "nan-step";
        found.iter().all(is_step) && self.lines[known.at + 1..].iter().any(|line| has_loss(&line.text))
    }

    /// Whether something fails after a line.
    fn fails_after(&self, at: usize) -> bool {
        let error = |line: &Line| {
            is_exception(&line.text) || line.text.starts_with("error:") || line.text.starts_with("ERROR:")
        };
        self.lines[at + 1..].iter().any(error)
    }
}

/// Whether a line tells a loss that is a number.
fn has_loss(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let numbers = lower.match_indices("loss").filter_map(|(at, word)| {
        let rest = lower[at + word.len()..].trim_start_matches(['=', ':', ' ']);
        rest.chars().next()
    });
    numbers.into_iter().any(|first| first.is_ascii_digit())
}

/// Whether a line is the last of a traceback: the exception with what it says.
fn is_exception(line: &str) -> bool {
    let name = line.split([':', ' ', '(']).next().unwrap_or_default();
    let kinds = ["Error", "Exception", "Interrupt", "Exit", "Failure", "Fault", "Timeout"];
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_name = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_' || char == '.');
    let rest = &line[name.len()..];
    is_name
        && last.starts_with(|char: char| char.is_ascii_uppercase())
        && kinds.iter().any(|kind| last.ends_with(kind))
        && (rest.is_empty() || rest.starts_with(": ") || rest == ":")
}

/// Whether a line says that the traceback before it belongs to the next.
fn is_chain(line: &str) -> bool {
    line == "The above exception was the direct cause of the following exception:"
        || line == "During handling of the above exception, another exception occurred:"
}
