//! What a refusal is made of, and how it becomes sentences: statements are the leaves of the derivation tree, each for one
//! Python; what is the same under several is said once, and what nobody needs to read is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::manifest::model::Root;
use crate::pep::range::describe;
use crate::pep::{ExtraName, PackageName, Point, VersionRange};
use crate::target::PythonMinor;

/// What one leaf of the tree says.
#[derive(Clone, PartialEq)]
pub(super) enum Statement {
    /// Releases of a package ask for something.
    Asks {
        by: PackageName,
        extra: Option<ExtraName>,
        /// The releases; [`VersionRange::full`] is every one.
        which: VersionRange,
        other: String,
        wants: String,
    },
    /// What a rule demands of releases of a package.
    Rule {
        of: PackageName,
        /// The other packages that it names.
        others: Vec<PackageName>,
        /// The newest release that it is about.
        newest: Option<Point>,
        text: String,
    },
    /// Nothing of that package lies in a range: news only where nothing else is known of it.
    Empty { of: PackageName, text: String },
    /// Of some releases only pre-releases are left.
    Unadmitted { of: PackageName, text: String },
    /// Older releases than those that are told of do not fit either.
    Older { of: PackageName },
    /// Anything else about a package.
    About {
        of: PackageName,
        /// The newest release that it is about; [`None`] where it is about none in particular.
        newest: Option<Point>,
        text: String,
    },
}

/// A statement with the Python under which it holds.
pub(super) struct Said {
    pub(super) minor: PythonMinor,
    pub(super) statement: Statement,
}

/// Leaves out what nobody needs to read: where rules speak of a package, what keeps its older releases out.
///
/// Each release of a plugin needs another host; of a dozen rules that say so, the newest release's is the one to read.
pub(super) fn worth_telling(mut told: Vec<Said>, roots: &[Root]) -> Vec<Said> {
    let mut ruled: BTreeSet<PackageName> = BTreeSet::new();
    for one in &told {
        if let Statement::Rule { of, others, .. } = &one.statement {
            ruled.insert(of.clone());
            ruled.extend(others.iter().cloned());
        }
    }
    // So does a rule for which the newest release does not count.
    let abouts = told.iter().filter_map(|one| match &one.statement {
        Statement::About { of, newest: Some(newest), text } => Some((of, newest, text)),
        _ => None,
    });
    let mut foremost: BTreeMap<&PackageName, (&Point, &String)> = BTreeMap::new();
    for (of, point, text) in abouts {
        let known = foremost.entry(of).or_insert((point, text));
        *known = (*known).max((point, text));
    }
    ruled.extend(foremost.into_iter().filter(|(_, (_, text))| text.contains("(rule `")).map(|(of, _)| of.clone()));
    let mut newest: BTreeMap<(PackageName, PythonMinor), Point> = BTreeMap::new();
    for one in &told {
        if let Some((of, point)) = one.statement.newest().filter(|(of, _)| ruled.contains(*of)) {
            let known = newest.entry((of.clone(), one.minor)).or_insert_with(|| point.clone());
            *known = point.clone().max(known.clone());
        }
    }
    let mut older: BTreeSet<(PackageName, PythonMinor)> = BTreeSet::new();
    told.retain(|one| {
        if let Statement::Unadmitted { of, .. } = &one.statement {
            return !ruled.contains(of);
        }
        // What is left of a package between two rules is arithmetic.
        if let Statement::Empty { of, .. } = &one.statement {
            return !ruled.contains(of) || roots.iter().any(|root| root.name == *of);
        }
        if let Statement::Older { of } = &one.statement {
            older.insert((of.clone(), one.minor));
            return false;
        }
        let Some((of, point)) = one.statement.upmost() else { return true };
        let place = (of.clone(), one.minor);
        let kept = newest.get(&place).is_none_or(|newest| point >= newest);
        if !kept {
            older.insert(place);
        }
        kept
    });
    told.extend(older.into_iter().map(|(of, minor)| Said { minor, statement: Statement::Older { of } }));
    told
}

impl Statement {
    /// Returns the newest release that it is about, where it is about some in particular.
    fn newest(&self) -> Option<(&PackageName, &Point)> {
        match self {
            Self::Rule { of, newest, .. } | Self::About { of, newest, .. } => Some((of, newest.as_ref()?)),
            Self::Asks { .. } | Self::Empty { .. } | Self::Unadmitted { .. } | Self::Older { .. } => None,
        }
    }

    /// Returns the bound above which it says nothing, where it has one.
    fn upmost(&self) -> Option<(&PackageName, &Point)> {
        match self {
            Self::Asks { by, which, .. } => match which.bounding_range()? {
                (_, Bound::Included(point) | Bound::Excluded(point)) => Some((by, point)),
                (_, Bound::Unbounded) => None,
            },
            _ => self.newest(),
        }
    }
}

/// Most sentences that are told.
const MOST: usize = 14;

/// Most releases that are told apart in one sentence.
const MOST_RELEASES: usize = 4;

/// Lays out statements as sentences: what a package's releases ask of another is one, and what is the same under several
/// Pythons is said once.
pub(super) fn sentences(told: &[Said], all: &[PythonMinor]) -> Vec<String> {
    let mut merged: Vec<(String, Vec<PythonMinor>)> = Vec::new();
    for (minor, text) in joined(told) {
        // What differs in nothing but the name of the Python is the same.
        let text = text.replace(&format!("Python {minor}"), PYTHON);
        match merged.iter_mut().find(|(known, _)| *known == text) {
            Some((_, minors)) => minors.push(minor),
            None => merged.push((text, vec![minor])),
        }
    }
    let total = merged.len();
    let mut lines: Vec<String> = Vec::new();
    for (text, mut minors) in merged.into_iter().take(MOST) {
        minors.sort();
        minors.dedup();
        let names: Vec<String> = minors.iter().map(ToString::to_string).collect();
        let pythons = format!("Python {}", names.join(", "));
        let everywhere = all.iter().all(|minor| minors.contains(minor));
        lines.push(match text.contains(PYTHON) {
            true => text.replace(PYTHON, &pythons),
            false if everywhere => text,
            false => format!("{text} (on {pythons})"),
        });
    }
    if total > MOST {
        lines.push(format!("and {} more of the kind", total - MOST));
    }
    lines
}

/// Stands for the Python that a sentence speaks of.
pub(super) const PYTHON: &str = "\u{0}";

fn joined(told: &[Said]) -> Vec<(PythonMinor, String)> {
    let known = |of: &PackageName, minor: PythonMinor| {
        told.iter().any(|told| {
            told.minor == minor
                && match &told.statement {
                    Statement::Asks { by, .. } => by == of,
                    Statement::About { of: other, .. }
                    | Statement::Unadmitted { of: other, .. }
                    | Statement::Older { of: other }
                    | Statement::Rule { of: other, .. } => other == of,
                    Statement::Empty { .. } => false,
                }
        })
    };
    let asks = |of: &PackageName, minor: PythonMinor| {
        told.iter().any(|told| told.minor == minor && matches!(&told.statement, Statement::Asks { by, .. } if by == of))
    };
    let mut lines: Vec<(PythonMinor, String)> = Vec::new();
    // Where some releases of a package ask for what cannot be, why others do not count is only the rest of the story.
    let mut rest: Vec<(PythonMinor, String)> = Vec::new();
    let mut older: Vec<(PythonMinor, String)> = Vec::new();
    let mut done: Vec<usize> = Vec::new();
    for (at, Said { minor, statement }) in told.iter().enumerate() {
        match statement {
            Statement::About { of, text, .. } | Statement::Unadmitted { of, text } if asks(of, *minor) => {
                rest.push((*minor, text.clone()));
            }
            Statement::About { text, .. } | Statement::Unadmitted { text, .. } | Statement::Rule { text, .. } => {
                lines.push((*minor, text.clone()));
            }
            Statement::Empty { of, text } if !known(of, *minor) => lines.push((*minor, text.clone())),
            Statement::Empty { .. } => {}
            Statement::Older { of } => older.push((*minor, format!("older releases of `{of}` do not fit either"))),
            Statement::Asks { .. } if done.contains(&at) => {}
            Statement::Asks { by, extra, other, .. } => {
                let mut asks: Vec<(VersionRange, &String)> = Vec::new();
                for (place, one) in told.iter().enumerate().skip(at) {
                    if let Statement::Asks { by: b, extra: e, which, other: o, wants } = &one.statement
                        && (one.minor, b, e, o) == (*minor, by, extra, other)
                    {
                        done.push(place);
                        match asks.iter_mut().find(|(_, known)| *known == wants) {
                            Some((all, _)) => *all = all.union(which),
                            None => asks.push((which.clone(), wants)),
                        }
                    }
                }
                lines.push((*minor, ask(by, extra.as_ref(), other, asks)));
            }
        }
    }
    lines.extend(rest);
    lines.extend(older);
    lines
}

/// Writes what releases of one package ask of another: `torchvision` 0.22.0 asks for `torch` ==2.7.0, 0.22.1 for ==2.7.1.
fn ask(by: &PackageName, extra: Option<&ExtraName>, other: &str, mut asks: Vec<(VersionRange, &String)>) -> String {
    let lowest = |range: &VersionRange| match range.bounding_range() {
        Some((Bound::Included(point) | Bound::Excluded(point), _)) => Some(point.clone()),
        _ => None,
    };
    asks.sort_by_key(|(which, _)| lowest(which));
    let more = asks.len() > MOST_RELEASES;
    asks.truncate(MOST_RELEASES);
    let name = extra.map_or_else(|| format!("`{by}`"), |extra| format!("`{by}[{extra}]`"));
    let part = |(at, (which, wants)): (usize, (VersionRange, &String))| {
        let wants = if wants.is_empty() { String::new() } else { format!(" {wants}") };
        let releases = if which == VersionRange::full() { None } else { Some(versions(&which)) };
        match (at, releases) {
            (0, None) => format!("every {name} asks for {other}{wants}"),
            (0, Some(releases)) => format!("{name} {releases} asks for {other}{wants}"),
            (_, releases) => {
                let wants = if wants.is_empty() { " any" } else { &wants };
                format!("{} for{wants}", releases.unwrap_or_else(|| "every one".to_owned()))
            }
        }
    };
    let mut parts: Vec<String> = asks.into_iter().enumerate().map(part).collect();
    parts.extend(more.then(|| "and so on".to_owned()));
    parts.join(", ")
}

/// Names releases of a package.
pub(super) fn which(name: &PackageName, range: &VersionRange) -> String {
    if *range == VersionRange::full() { format!("every `{name}`") } else { format!("`{name}` {}", versions(range)) }
}

/// Writes a range of releases: a single one as its version, many scattered ones by their ends.
pub(super) fn versions(range: &VersionRange) -> String {
    if let Some(one) = range.as_singleton() {
        return one.to_string();
    }
    let end = |bound: Bound<&Point>| match bound {
        Bound::Included(point) | Bound::Excluded(point) => Some(point.clone()),
        Bound::Unbounded => None,
    };
    match range.bounding_range().filter(|_| range.iter().count() > 3) {
        Some((low, high)) => match (end(low), end(high)) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            _ => describe(range),
        },
        None => describe(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_is_named_once_for_what_was_found_twice() {
        let [first, second, third] = [11, 12, 13].map(|minor| PythonMinor { major: 3, minor });
        let told = |minor: PythonMinor| Said {
            minor,
            statement: Statement::About { of: "a".parse().unwrap(), newest: None, text: "no `a` fits".to_owned() },
        };
        let told = [told(third), told(second), told(third)];
        assert_eq!(sentences(&told, &[first, second, third]), ["no `a` fits (on Python 3.12, 3.13)"]);
        assert_eq!(sentences(&told, &[second, third]), ["no `a` fits"]);
    }
}
