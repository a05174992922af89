//! From a conflict to sentences: which of the user's own lines clash, and why, with the Mac cause in words.
//!
//! Only the leaves of the derivation tree are told. What lies between is arithmetic that a reader does not need: a
//! release asks for something, something is not there, and the user's lines made it matter.

use std::cell::RefCell;
use std::collections::BTreeMap;

use pubgrub::{DerivationTree, External};

use crate::diag::Span;
use crate::manifest::model::{Root, RootSource};
use crate::pep::{PackageName, Point, VersionRange, range};
use crate::target::{MacosVersion, Platform, PythonMinor};

use super::Error;
use super::facts::Facts;
use super::package::Node;
use super::provider::Tree;
use super::releases::{Absence, Releases};
use super::request::Request;
use super::run::Run;
use super::{Refusal, candidate::Unfit};

/// Why nothing satisfies a request, as data for the binary to lay out.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The environment.
    pub env: String,
    /// The platform.
    pub platform: Platform,
    /// The user's own lines that took part, in the order of the manifest.
    pub lines: Vec<Line>,
    /// Why they cannot all hold: lowercase sentences without a full stop, in the order of reasoning.
    pub reasons: Vec<String>,
    /// Edits that make it solvable, smallest first; each was solved.
    pub edits: Vec<Edit>,
    pub(crate) causes: Causes,
}

/// One of the user's lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The package.
    pub name: PackageName,
    /// The line in short: `torch ==2.8.*`.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A change to macml.toml that was tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// What to write: `torchvision = "==0.23.*"`, `macos = "15.0"` under `[target]`.
    pub change: String,
    /// What it gives: `torch 2.8.0, torchvision 0.23.0 on Python 3.13`.
    pub gives: String,
}

/// What might be worth trying, read off the leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes {
    /// Lowest macOS above the floor that would bring wheels.
    pub(crate) macos: Vec<MacosVersion>,
    /// Some release has wheels for other Pythons only.
    pub(crate) python: bool,
    /// Some release was uploaded too late.
    pub(crate) too_new: bool,
    /// Packages of which only pre-releases lie in range.
    pub(crate) prereleases: Vec<PackageName>,
    /// Packages that took part.
    pub(crate) packages: Vec<PackageName>,
}

/// Explains a refusal.
pub(crate) fn explain(request: &Request, facts: &mut Facts<'_>, refusal: &Refusal) -> Result<Explanation, Error> {
    let run = RefCell::new(Run::new(request, facts, &refusal.admitted));
    let mut teller = Teller { run: &run, told: Vec::new(), lines: Vec::new(), causes: Causes::default() };
    teller.walk(&refusal.tree)?;
    let Teller { told, lines, causes, .. } = teller;
    let all = run.borrow().minors();
    let order = |line: &Line| request.env.roots.iter().position(|root| root.span == line.span);
    let mut lines = lines;
    lines.sort_by_key(order);
    lines.dedup();
    Ok(Explanation {
        env: request.env.name.clone(),
        platform: request.platform,
        lines,
        reasons: merge(told, &all),
        edits: Vec::new(),
        causes,
    })
}

/// A sentence under one Python, with what it is about.
struct Told {
    minor: Option<PythonMinor>,
    sentence: String,
}

struct Teller<'t, 'r, 's> {
    run: &'t RefCell<Run<'r, 's>>,
    told: Vec<Told>,
    lines: Vec<Line>,
    causes: Causes,
}

impl Teller<'_, '_, '_> {
    fn walk(&mut self, tree: &Tree) -> Result<(), Error> {
        // Iterative, since trees of large conflicts are deep; shared parts are walked once.
        let mut stack = vec![tree];
        let mut seen = std::collections::HashSet::new();
        while let Some(tree) = stack.pop() {
            match tree {
                DerivationTree::External(external) => self.leaf(external)?,
                DerivationTree::Derived(derived) => {
                    if derived.shared_id.is_none_or(|id| seen.insert(id)) {
                        stack.push(&derived.cause2);
                        stack.push(&derived.cause1);
                    }
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, minor: Option<PythonMinor>, sentence: String) {
        if !self.told.iter().any(|told| told.minor == minor && told.sentence == sentence) {
            self.told.push(Told { minor, sentence });
        }
    }

    fn leaf(&mut self, external: &External<Node, VersionRange, String>) -> Result<(), Error> {
        match external {
            External::NotRoot(..) => {}
            External::FromDependencyOf(Node::Root, ..) => {}
            External::FromDependencyOf(Node::Python, _, Node::Release { name, .. }, _) => self.own_line(name),
            External::FromDependencyOf(Node::Python, ..) => {}
            External::FromDependencyOf(Node::Release { name, extra, minor }, own, other, range) => {
                let mut by = self.describe(name, *minor, own)?;
                if let Some(extra) = extra {
                    by = by.replacen(&format!("`{name}`"), &format!("`{name}[{extra}]`"), 1);
                }
                match other {
                    Node::Release { name: other, .. } if other == name => {}
                    Node::Release { name: other, extra, .. } => {
                        self.package(other);
                        let extra = extra.as_ref().map(|extra| format!("[{extra}]")).unwrap_or_default();
                        let wants = match range::describe(range) {
                            any if range == &VersionRange::full() => any.replace("any", ""),
                            wants => format!(" {wants}"),
                        };
                        self.say(Some(*minor), format!("{by} asks for `{other}{extra}`{wants}"));
                    }
                    Node::PythonFull(_) => {
                        self.causes.python = true;
                        self.say(Some(*minor), format!("{by} asks for Python {}", describe_patches(range)));
                    }
                    Node::Root | Node::Python => {}
                }
            }
            External::FromDependencyOf(Node::PythonFull(_), ..) => {}
            External::NoVersions(Node::Release { name, extra: None, minor }, range)
            | External::NoVersions(Node::Release { name, extra: Some(_), minor }, range) => {
                self.package(name);
                for sentence in self.absences(name, *minor, range)? {
                    self.say(Some(*minor), sentence);
                }
            }
            External::NoVersions(Node::PythonFull(minor), range) => {
                self.causes.python = true;
                let wants = describe_patches(range);
                self.say(Some(*minor), format!("no patch release of Python {minor} is {wants}"));
            }
            External::NoVersions(..) => {}
            External::Custom(Node::Release { name, minor, .. }, range, why) => {
                self.package(name);
                let which = self.describe(name, *minor, range)?;
                self.causes.python |= why.starts_with("needs Python");
                self.say(Some(*minor), format!("{which} cannot be used: {why}"));
            }
            External::Custom(..) => {}
        }
        Ok(())
    }

    fn package(&mut self, name: &PackageName) {
        if !self.causes.packages.contains(name) {
            self.causes.packages.push(name.clone());
        }
    }

    fn own_line(&mut self, name: &PackageName) {
        self.package(name);
        let run = self.run.borrow();
        for root in run.request.env.roots.iter().filter(|root| root.name == *name) {
            if root.platform.is_none_or(|only| only == run.request.platform) {
                let line = Line { name: name.clone(), text: describe_root(root), span: root.span };
                if !self.lines.contains(&line) {
                    self.lines.push(line);
                }
            }
        }
    }

    /// Names releases by the shortest range that means the same releases.
    fn describe(&self, name: &PackageName, minor: PythonMinor, range: &VersionRange) -> Result<String, Error> {
        let releases = self.run.borrow_mut().releases(name, minor)?;
        let Some(releases) = releases else { return Ok(format!("`{name}`")) };
        Ok(match simplify(&releases, range) {
            all if all == VersionRange::full() => format!("every `{name}`"),
            some => format!("`{name}` {}", range::describe(&some)),
        })
    }

    /// Says why no release in a range counts.
    fn absences(&mut self, name: &PackageName, minor: PythonMinor, range: &VersionRange) -> Result<Vec<String>, Error> {
        let releases = self.run.borrow_mut().releases(name, minor)?;
        let Some(releases) = releases else {
            let asked = self.run.borrow().describe_indexes(name);
            let near = nearest(name).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Ok(vec![format!("no package `{name}` on {asked}{near}")]);
        };
        let inside: Vec<usize> =
            (0..releases.points().len()).filter(|at| range.contains(&releases.points()[*at])).collect();
        if inside.is_empty() {
            let newest = releases.newest().map(|newest| format!("; the newest release is {newest}"));
            let newest = newest.unwrap_or_else(|| "; there is no release at all".to_owned());
            return Ok(vec![format!("there is no `{name}` {}{newest}", range::describe(range))]);
        }
        // Newest first, grouped by reason: the first group is what a reader needs, later ones are the way down.
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        for at in &inside {
            let Err(absence) = releases.state(*at) else { continue };
            self.note_cause(name, absence);
            let reason = absence.to_string();
            match groups.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, members)) => members.push(*at),
                None => groups.push((reason, vec![*at])),
            }
        }
        let finals = |members: &[usize]| {
            members.iter().any(|at| releases.points()[*at].version().is_some_and(|version| !version.any_prerelease()))
        };
        let any_final = groups.iter().any(|(_, members)| finals(members));
        let told = groups.iter().filter(|(_, members)| !any_final || finals(members));
        let mut sentences: Vec<String> = told
            .clone()
            .take(3)
            .map(|(reason, members)| {
                let members: Vec<&Point> = members.iter().map(|at| &releases.points()[*at]).collect();
                format!("`{name}` {}: {reason}", span_of(&members))
            })
            .collect();
        let more = told.count().saturating_sub(3);
        if more > 0 {
            sentences.push(format!("older releases of `{name}` do not fit either"));
        }
        Ok(sentences)
    }

    fn note_cause(&mut self, name: &PackageName, absence: &Absence) {
        match absence {
            Absence::Unfit(unfit) | Absence::Superseded(_, unfit) => match unfit {
                Unfit::NeedsMacos { needs, .. } if !self.causes.macos.contains(needs) => {
                    self.causes.macos.push(*needs);
                }
                Unfit::NoPython { .. } | Unfit::OnlyFreeThreaded { .. } | Unfit::RequiresPython { .. } => {
                    self.causes.python = true;
                }
                Unfit::TooNew { .. } => self.causes.too_new = true,
                _ => {}
            },
            Absence::Prerelease if !self.causes.prereleases.contains(name) => {
                self.causes.prereleases.push(name.clone());
            }
            _ => {}
        }
    }
}

/// Returns the range without bounds that no release lies between.
fn simplify(releases: &Releases, range: &VersionRange) -> VersionRange {
    let oldest_first = releases.points().iter().rev();
    let kept = oldest_first.clone().filter(|point| range.contains(point)).count();
    if kept == releases.points().len() {
        return VersionRange::full();
    }
    if kept == 1 {
        let one = oldest_first.filter(|point| range.contains(point)).next();
        return VersionRange::singleton(one.expect("there is one").clone());
    }
    range.simplify(oldest_first)
}

/// Names some releases, newest first, by their ends.
fn span_of(newest_first: &[&Point]) -> String {
    match newest_first {
        [] => String::new(),
        [one] => one.to_string(),
        [newest, .., oldest] => format!("{oldest} to {newest}"),
    }
}

/// Writes a range of patches without the one that stands for those to come.
fn describe_patches(range: &VersionRange) -> String {
    range::describe(range)
}

/// Writes a root as in a requirement: `torch ==2.8.*`.
pub(crate) fn describe_root(root: &Root) -> String {
    let extras: Vec<&str> = root.extras.iter().map(|extra| extra.as_str()).collect();
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    match &root.source {
        RootSource::Versions(specifiers) if specifiers.is_any() => format!("{}{extras}", root.name),
        RootSource::Versions(specifiers) => format!("{}{extras} {specifiers}", root.name),
        RootSource::Path(path) => format!("{}{extras} at {path}", root.name),
        RootSource::Url { url, .. } => format!("{}{extras} at {url}", root.name),
    }
}

/// Joins what is the same under several Pythons; where Pythons differ, says which one a sentence is about.
fn merge(told: Vec<Told>, all: &[PythonMinor]) -> Vec<String> {
    let mut merged: Vec<(String, Vec<PythonMinor>)> = Vec::new();
    for Told { minor, sentence } in told {
        match merged.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, minors)) => minors.extend(minor),
            None => merged.push((sentence, minor.into_iter().collect())),
        }
    }
    let everywhere = |minors: &[PythonMinor]| minors.is_empty() || all.iter().all(|minor| minors.contains(minor));
    // What holds under one Python only is worth a line when that Python is the only one, or while lines are few.
    let mut by_count: BTreeMap<usize, usize> = BTreeMap::new();
    merged.iter().for_each(|(_, minors)| *by_count.entry(minors.len()).or_default() += 1);
    let total = merged.len();
    let line = |(sentence, mut minors): (String, Vec<PythonMinor>)| {
        if everywhere(&minors) || all.len() == 1 {
            return sentence;
        }
        minors.sort();
        let names: Vec<String> = minors.iter().map(ToString::to_string).collect();
        format!("{sentence} (on Python {})", names.join(", "))
    };
    const MOST: usize = 14;
    let mut lines: Vec<String> = merged.into_iter().take(MOST).map(line).collect();
    if total > MOST {
        lines.push(format!("and {} more of the kind", total - MOST));
    }
    lines
}

/// Finds a well-known package whose name is near.
fn nearest(name: &PackageName) -> Option<&'static str> {
    let known = include_str!("known_names.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let scored = known.map(|known| (strsim::damerau_levenshtein(known, name.as_str()), known));
    let (distance, near) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + name.as_str().len() / 5 && distance > 0).then_some(near)
}
