//! Operators as people read them: counts and what is missing, what was asked about, what changed.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use macml::operators;
use macml::operators::Asked;
use macml::operators::Change;
use macml::operators::Kernel;
use macml::operators::Row;
use macml::operators::State;
use macml::operators::kernels;
use macml::operators::kernels::First;
use macml::pep::Version;
use macml::pipeline::ops::Carried;

use crate::error::listed;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::WARN;
use crate::printer::styled;

use super::Answer;

/// The modules of torch in the order in which they are listed; what is in none of them comes last.
const MODULES: [&str; 5] = ["linalg", "fft", "special", "nn", "sparse"];

/// How wide names are written where they stand beside each other.
const LINE: usize = 100;

/// Lays out how many operators a torch has in which state, and those that the GPU lacks.
pub(super) fn summary(one: &Carried, all: bool) -> String {
    let counts = operators::counts(&one.table);
    let mut lines = vec![
        format!(
            "torch {} for Macs: {} operators, and {} more made from them",
            one.version,
            one.table.functions(),
            one.table.variants()
        ),
        format!("  {} {:>4}", styled(GOOD, "GPU kernel"), counts.gpu),
        format!("  composite  {:>4}  run on the GPU as far as the operators that they call do", counts.composite),
        format!("  {}       {:>4}  refused on the GPU, or done by the CPU", styled(BAD, "none"), counts.none),
        format!("  other      {:>4}  for other backends only, such as cuDNN", counts.elsewhere),
    ];
    let missing = operators::missing(&one.table);
    let (internal, public): (Vec<Row>, Vec<Row>) = missing.into_iter().partition(|row| row.name.is_internal());
    let shown = public.into_iter().chain(internal.iter().filter(|_| all).cloned()).collect::<Vec<_>>();
    let mut groups: BTreeMap<(usize, &str), Vec<&Row>> = BTreeMap::new();
    for row in &shown {
        groups.entry(group(row)).or_default().push(row);
    }
    for ((_, title), rows) in groups {
        lines.push(String::new());
        lines.push(format!("without a GPU kernel, {}:", styled(NAME, title)));
        let entries = entries(one, &rows);
        let width = entries.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        lines.extend(entries.iter().map(|(name, first)| format!("  {name:width$}  {}", since(first.as_ref()))));
    }
    let inside = operators::missing_inside(&one.table);
    if !inside.is_empty() {
        lines.push(String::new());
        lines.push("composite, and what by its name does the work is without a GPU kernel:".to_owned());
        let width = inside.iter().map(|asked| asked.text.len()).max().unwrap_or_default();
        lines.extend(inside.iter().map(|asked| {
            let lacking = asked.leads_to.iter().filter(|row| row.state == State::None).map(|row| row.name.base());
            let lacking: BTreeSet<&str> = lacking.collect();
            let lacking = lacking.into_iter().collect::<Vec<_>>().join(", ");
            format!("  {:width$}  {}, through {lacking}", asked.text, since(asked.first().as_ref()))
        }));
    }
    lines.push(String::new());
    if !all && !internal.is_empty() {
        lines.push(format!("{} that people do not call are left out: `--all` lists them", internal.len()));
    }
    lines.push("what the table cannot tell, `macml verify --ops` tries on a GPU".to_owned());
    lines.join("\n") + "\n"
}

/// Says in which group an operator is listed.
fn group(row: &Row) -> (usize, &'static str) {
    let internal = row.name.is_internal();
    let module = row.module.as_deref().and_then(|module| MODULES.iter().position(|one| *one == module));
    match module {
        _ if internal => (MODULES.len() + 1, "internal"),
        Some(at) => (at, MODULES[at]),
        None => (MODULES.len(), "others"),
    }
}

/// Puts together the overloads and variants of one operator, as far as all of them lack a kernel, with the release that has
/// the last of them.
fn entries(one: &Carried, rows: &[&Row]) -> Vec<(String, Option<First>)> {
    let mut by_root: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_root.entry(row.name.root()).or_default().push(row);
    }
    let mut entries = Vec::new();
    for (root, rows) in by_root {
        let listed: BTreeSet<_> = rows.iter().map(|row| &row.name).collect();
        let whole = one.table.overloads(root).iter().all(|name| listed.contains(name));
        match whole && listed.iter().any(|name| name.base() == root) {
            true => entries.push((root.to_owned(), operators::last(&rows))),
            false => entries.extend(rows.iter().map(|row| (row.name.to_string(), row.first.clone()))),
        }
    }
    entries
}

/// Says which release has what this one lacks.
fn since(first: Option<&First>) -> String {
    match first {
        Some(first) => format!("first in torch {}", first.version),
        None => format!("in no release up to torch {}", newest()),
    }
}

fn newest() -> &'static Version {
    let newest = kernels::known().releases().last();
    &newest.expect("a test holds the committed releases to be there").version
}

/// Lays out what was asked about.
pub(super) fn answers(answers: &[Answer], torch: &Version) -> String {
    let blocks = answers.iter().filter_map(|answer| match &answer.file {
        Some(file) => Some(in_file(file, &answer.asked, torch)),
        None => answer.asked.iter().find(|asked| !asked.rows.is_empty()).map(|asked| named(asked, torch)),
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// Lays out one operator with its overloads and what belongs to it.
fn named(asked: &Asked, torch: &Version) -> String {
    let state = asked.state().expect("it has rows");
    // Of a function that needs many operators, and of those below it, each gets one line for all its overloads.
    let lines_of = |rows: &[Row], whole: bool| if whole { lines(rows) } else { by_base(rows) };
    let blocks = [
        ("", lines_of(&asked.rows, operators::by_base(&asked.rows).len() == 1)),
        ("by their names, these do its work:", lines_of(&asked.leads_to, false)),
        ("for its gradient:", lines_of(&asked.backward, false)),
    ];
    let width = blocks.iter().flat_map(|(_, lines)| lines).map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = vec![format!("{} in torch {torch}: {}", styled(NAME, &asked.text), verdict(asked, state))];
    for (title, lines) in blocks.iter().filter(|(_, lines)| !lines.is_empty()) {
        text.extend((!title.is_empty()).then(|| format!("  {title}")));
        text.extend(lines.iter().map(|(name, rest)| format!("  {name:width$}  {rest}")));
    }
    text.join("\n") + "\n"
}

/// Says in a line what became of a question.
fn verdict(asked: &Asked, state: State) -> String {
    let exceptions = asked.exceptions().iter().map(|row| row.name.to_string()).collect::<Vec<_>>().join(", ");
    let but = if exceptions.is_empty() { String::new() } else { format!(", but not of {exceptions}") };
    match (state, asked.first()) {
        (State::Gpu, Some(first)) => format!("{} since torch {}{but}", styled(GOOD, "GPU kernel"), first.version),
        (State::Gpu, None) => styled(GOOD, "GPU kernel") + &but,
        (State::Composite, _) => "composite, runs on the GPU as far as the operators that it calls do".to_owned(),
        (State::None, first) => format!("{}, {}", styled(BAD, "no GPU kernel"), since(first.as_ref())),
    }
}

/// Lays out overloads, each its name and the rest of its line.
fn lines(rows: &[Row]) -> Vec<(String, String)> {
    let line = |row: &Row| {
        let mut parts = vec![word(row.state)];
        match &row.kernel {
            Kernel::Own { function, of: None } => parts.push(format!("by {function}")),
            Kernel::Own { function, of: Some(of) } => parts.push(format!("by {function} of {of}")),
            Kernel::Generated { from } => parts.push(format!("calls {from} and copies")),
            Kernel::Composite | Kernel::Nothing => {}
        }
        if row.state == State::None {
            parts.push(since(row.first.as_ref()));
        }
        let kinds = [("sparse", row.sparse), ("sparse by rows", row.sparse_csr)];
        parts.extend(kinds.iter().filter_map(|(kind, state)| Some(format!("{kind}: {}", word((*state)?)))));
        (row.name.to_string(), parts.join("  "))
    };
    rows.iter().map(line).collect()
}

/// Lays out operators without their overloads, each with what those come to.
fn by_base(rows: &[Row]) -> Vec<(String, String)> {
    let line = |(base, rows): (&str, Vec<&Row>)| {
        let state = operators::together(&rows);
        let rest = match state {
            State::None => format!("{}  {}", word(state), since(operators::last(&rows).as_ref())),
            State::Gpu | State::Composite => word(state),
        };
        (base.to_owned(), rest)
    };
    operators::by_base(rows).into_iter().map(line).collect()
}

fn word(state: State) -> String {
    let style = match state {
        State::Gpu => GOOD,
        State::Composite => NAME,
        State::None => BAD,
    };
    styled(style, state.word())
}

/// Lays out the names of a text, a line each.
fn in_file(file: &str, all: &[Asked], torch: &Version) -> String {
    let width = all.iter().map(|asked| asked.text.len()).max().unwrap_or_default();
    let mut lines = vec![format!("operators named in `{file}`, in torch {torch}:")];
    lines.extend(all.iter().map(|asked| {
        let said = match asked.state() {
            Some(state) => verdict(asked, state),
            None => format!(
                "{}{}",
                styled(WARN, "unknown"),
                instead(asked, torch).map_or_else(String::new, |hint| format!(", {hint}"))
            ),
        };
        format!("  {:width$}  {said}", asked.text)
    }));
    lines.join("\n") + "\n"
}

/// Says what may be meant by a name that this torch does not have.
pub(super) fn instead(asked: &Asked, torch: &Version) -> Option<String> {
    let known = kernels::known();
    let meant = operators::readings(&asked.text).into_iter().flatten();
    let life = meant.into_iter().find_map(|name| known.life(&name).map(|(from, until)| (name, from, until)));
    match life {
        Some((name, from, _)) if from > torch => Some(format!("`{name}` comes with torch {from}")),
        Some((name, _, Some(until))) if until <= torch => Some(format!("`{name}` went with torch {until}")),
        _ if asked.near.is_empty() => None,
        _ => Some(format!("did you mean {}?", listed(&asked.near))),
    }
}

/// Lays out what changed between two releases.
pub(super) fn comparison(one: &Carried, other: &Carried) -> String {
    let change = operators::compare(&one.table, &other.table);
    let mut lines = vec![format!("torch {} to {} for Macs", one.version, other.version)];
    let line = |carried: &Carried| {
        let counts = operators::counts(&carried.table);
        let version = carried.version.to_string();
        format!("  {version:<8} GPU kernel {}, composite {}, none {}", counts.gpu, counts.composite, counts.none)
    };
    lines.extend([line(one), line(other)]);
    // What is told of an operator is not told again of the variants that call it.
    let mut told: BTreeSet<String> = BTreeSet::new();
    let mut becomes = |changes: &[Change], before: Option<State>, after: Option<State>| {
        let fits = |change: &&Change| change.before == before && change.after == after;
        let names = changes.iter().filter(fits).map(|change| change.name.root().to_owned());
        names.filter(|name| told.insert(name.clone())).collect::<BTreeSet<_>>()
    };
    let mut block = |title: &str, names: BTreeSet<String>| {
        if !names.is_empty() {
            lines.push(String::new());
            lines.push(format!("{title} ({}):", names.len()));
            lines.extend(wrapped(&names));
        }
    };
    use State::{Composite, Gpu, None as Nothing};
    let named = |state: State| match state {
        Gpu => "with a GPU kernel",
        Composite => "composite",
        Nothing => "without a GPU kernel",
    };
    block("gained a GPU kernel", becomes(&change.gained, Some(Nothing), Some(Gpu)));
    block("gained a GPU kernel, composite before", becomes(&change.gained, Some(Composite), Some(Gpu)));
    block("composite, without a GPU kernel before", becomes(&change.gained, Some(Nothing), Some(Composite)));
    block("lost its GPU kernel", becomes(&change.lost, Some(Gpu), Some(Nothing)));
    block("composite, with a GPU kernel before", becomes(&change.lost, Some(Gpu), Some(Composite)));
    block("without a GPU kernel, composite before", becomes(&change.lost, Some(Composite), Some(Nothing)));
    for state in [Gpu, Composite, Nothing] {
        block(&format!("new, {}", named(state)), becomes(&change.new, None, Some(state)));
    }
    for state in [Gpu, Composite, Nothing] {
        block(&format!("gone, {}", named(state)), becomes(&change.gone, Some(state), None));
    }
    if lines.len() == 3 {
        lines.push("  nothing changed for the GPU".to_owned());
    }
    lines.join("\n") + "\n"
}

/// Puts names beside each other.
fn wrapped(names: &BTreeSet<String>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.len() + 2 + name.len() <= LINE => line.extend(["  ", name.as_str()]),
            _ => lines.push(format!("  {name}")),
        }
    }
    lines
}
