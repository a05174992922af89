//! From a conflict to sentences: which of the user's own lines clash, and why, with the Mac cause in words.
//!
//! Only the leaves of the derivation tree are told. What lies between is arithmetic that a reader does not need: a
//! release asks for something, something is not there, and the user's lines made it matter.

mod sentences;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use pubgrub::{DerivationTree, External};

use crate::diag::Span;
use crate::knowledge::rule::Scope;
use crate::knowledge::rule::{Advice, Rule, Says};
use crate::manifest::meant::meant;
use crate::manifest::model::{Root, RootSource};
use crate::pep::range::describe;
use crate::pep::{ExtraName, PackageName, Point, Specifiers, VersionRange};
use crate::target::{MacosVersion, Platform, PythonMinor};

use super::Error;
use super::facts::Facts;
use super::package::Node;
use super::provider::Tree;
use super::releases::{Absence, Releases};
use super::request::Request;
use super::run::{Run, Told};
use super::{Refusal, candidate::Unfit};
use sentences::{PYTHON, Said, Statement, sentences, which, worth_telling};

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
    /// A rule took part that binds only where the GPU is required.
    pub(crate) gpu: bool,
    /// Packages of which only pre-releases lie in range.
    pub(crate) prereleases: Vec<PackageName>,
    /// Two packages that a rule keeps apart, whatever releases there are.
    pub(crate) apart: Vec<PackageName>,
    /// Packages that some rule which took part keeps apart from others.
    pub(crate) rivals: Vec<PackageName>,
    /// Packages that took part.
    pub(crate) packages: Vec<PackageName>,
}

/// Explains a refusal.
pub(crate) fn explain(request: &Request, facts: &mut Facts<'_>, refusal: &Refusal) -> Result<Explanation, Error> {
    let run = RefCell::new(Run::new(request, facts, &refusal.admitted));
    let mut teller =
        Teller { run: &run, told: Vec::new(), lines: Vec::new(), rules: BTreeSet::new(), causes: Causes::default() };
    teller.walk(&refusal.tree)?;
    if !teller.hopeless_roots() {
        teller.source_only_roots();
        teller.kept_apart();
    }
    let Teller { told, lines, causes, .. } = teller;
    let told = worth_telling(told, &request.env.roots);
    let all = run.borrow().minors();
    let mut lines = lines;
    lines.sort_by_key(|line| line.span.start);
    lines.dedup();
    let mut reasons = sentences(&told, &all);
    let named = |id: &str| reasons.iter().any(|reason| reason.contains(&format!("(rule `{id}`)")));
    let grounds: Vec<String> =
        request.knowledge.ids().filter(|id| named(id)).filter_map(|id| request.knowledge.ground(id)).collect();
    reasons.extend(grounds);
    Ok(Explanation {
        env: request.env.name.clone(),
        platform: request.platform,
        lines,
        reasons,
        edits: Vec::new(),
        causes,
    })
}

/// Says of every root that no index has that there is no such package, with the nearest name; empty when all exist.
///
/// # Errors
/// When an index could not be asked.
pub fn unknown_roots(request: &Request, facts: &mut Facts<'_>) -> Result<Vec<String>, Error> {
    let admitted = super::Admitted::new();
    let mut run = Run::new(request, facts, &admitted);
    run.ask_roots();
    let mut told: Vec<String> = Vec::new();
    for minor in run.minors() {
        for edge in run.root_edges(minor) {
            if run.releases(&edge.name, minor)?.is_none() {
                let text = nowhere(&run, &edge.name);
                if !told.contains(&text) {
                    told.push(text);
                }
            }
        }
    }
    Ok(told)
}

/// Says that no index has a package.
fn nowhere(run: &Run<'_, '_>, name: &PackageName) -> String {
    let asked = run.describe_indexes(name);
    let near = meant(name.as_str()).or_else(|| nearest(name)).map(did_you_mean).unwrap_or_default();
    format!("there is no package `{name}` on {asked}{near}")
}

/// Lists what statements say of a package under one Python, without the Python.
fn said(statements: &[Statement], minor: PythonMinor) -> Vec<String> {
    let text = |statement: &Statement| match statement {
        Statement::About { text, .. } | Statement::Unadmitted { text, .. } | Statement::Empty { text, .. } => {
            text.replace(&format!("Python {minor}"), PYTHON)
        }
        Statement::Asks { .. } | Statement::Rule { .. } | Statement::Older { .. } => String::new(),
    };
    statements.iter().map(text).collect()
}

struct Teller<'t, 'r, 's> {
    run: &'t RefCell<Run<'r, 's>>,
    told: Vec<Said>,
    lines: Vec<Line>,
    /// Places of the rules that took part.
    rules: BTreeSet<usize>,
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

    fn say(&mut self, minor: PythonMinor, statement: Statement) {
        if !self.told.iter().any(|told| told.minor == minor && told.statement == statement) {
            self.told.push(Said { minor, statement });
        }
    }

    fn leaf(&mut self, external: &External<Node, VersionRange, String>) -> Result<(), Error> {
        match external {
            External::FromDependencyOf(Node::Python, _, Node::Release { name, .. }, _) => self.own_line(name),
            External::FromDependencyOf(Node::Rule { at, minor }, _, other, _) => {
                if let Node::Release { name, .. } = other {
                    self.package(name);
                }
                self.rule(*at, *minor);
            }
            External::FromDependencyOf(by, own, Node::Rule { at, minor }, _) => {
                match by {
                    Node::Python => self.own_lines_of(*at),
                    Node::Release { name, .. } => self.asks_side(*at, (name, None), *minor, own)?,
                    Node::Needs { name, extra, .. } => self.asks_side(*at, (name, Some(extra)), *minor, own)?,
                    Node::Root | Node::PythonFull(_) | Node::Rule { .. } | Node::Night { .. } => {}
                }
                self.rule(*at, *minor);
            }
            External::NoVersions(Node::Rule { at, minor }, _) => self.rule(*at, *minor),
            External::FromDependencyOf(Node::Release { name, .. }, _, Node::Night { at, minor }, _) => {
                self.night(*at, name, *minor);
            }
            External::FromDependencyOf(by, own, other, range) => {
                let (name, extra, minor) = match by {
                    Node::Release { name, minor, .. } => (name, None, minor),
                    Node::Needs { name, extra, minor } => (name, Some(extra.clone()), minor),
                    Node::Root | Node::Python | Node::PythonFull(_) | Node::Rule { .. } | Node::Night { .. } => {
                        return Ok(());
                    }
                };
                let (other, wants) = match other {
                    Node::Release { name: other, .. } | Node::Needs { name: other, .. } if other == name => {
                        return Ok(());
                    }
                    Node::Release { name: other, extra, .. } => {
                        self.package(other);
                        let wants = if *range == VersionRange::full() { String::new() } else { describe(range) };
                        let overridden = self.run.borrow().request.env.resolution.overrides.contains_key(other);
                        let by = if overridden { " (by `overrides`)" } else { "" };
                        let extra = extra.as_ref().map(|extra| format!("[{extra}]")).unwrap_or_default();
                        (format!("`{other}{extra}`"), format!("{wants}{by}"))
                    }
                    Node::PythonFull(_) => {
                        self.causes.python = true;
                        ("Python".to_owned(), describe(range))
                    }
                    Node::Needs { .. } | Node::Root | Node::Python | Node::Rule { .. } | Node::Night { .. } => {
                        return Ok(());
                    }
                };
                let which = self.simplified(name, *minor, own)?;
                let by = name.clone();
                self.say(*minor, Statement::Asks { by, extra, which, other, wants });
            }
            External::NoVersions(Node::Release { name, minor, .. } | Node::Needs { name, minor, .. }, range) => {
                self.package(name);
                for statement in self.absences(name, *minor, range)? {
                    self.say(*minor, statement);
                }
            }
            External::NoVersions(Node::PythonFull(minor), range) => {
                self.causes.python = true;
                let of = "python".parse().expect("a name");
                let text = format!("no patch release of Python {minor} is {}", describe(range));
                self.say(*minor, Statement::About { of, newest: None, text });
            }
            External::Custom(Node::Release { name, minor, .. } | Node::Needs { name, minor, .. }, range, why) => {
                self.package(name);
                let which = which(name, &self.simplified(name, *minor, range)?);
                self.causes.python |= why.starts_with("needs Python");
                let text = format!("{which} cannot be used: {}", short(why));
                self.say(*minor, Statement::About { of: name.clone(), newest: None, text });
            }
            _ => {}
        }
        Ok(())
    }

    /// Tells of the user's own lines that a rule keeps apart as they stand.
    fn own_lines_of(&mut self, at: usize) {
        let in_force = self.run.borrow().in_force.clone();
        let rule = in_force.rule(at);
        let names = std::iter::once(&rule.package).chain(rule.others().into_iter().map(|other| &other.name));
        names.for_each(|name| self.own_line(name));
    }

    /// Tells that releases of a package that a rule does not name ask for one that it keeps apart from another.
    fn asks_side(
        &mut self,
        at: usize,
        (by, extra): (&PackageName, Option<&ExtraName>),
        minor: PythonMinor,
        own: &VersionRange,
    ) -> Result<(), Error> {
        let in_force = self.run.borrow().in_force.clone();
        let rule = in_force.rule(at);
        let Says::Conflicts(other) = &rule.says else { return Ok(()) };
        let sides = [&rule.package, &other.name];
        if sides.contains(&by) {
            return Ok(());
        }
        let Some(releases) = self.run.borrow_mut().releases(by, minor)? else { return Ok(()) };
        let Some((_, fit)) = releases.best(own) else { return Ok(()) };
        let Told::Edges(edges) = self.run.borrow_mut().told(&releases, fit, minor, extra)? else { return Ok(()) };
        for edge in edges.packages.into_iter().filter(|edge| sides.contains(&&edge.name)) {
            self.package(&edge.name);
            let wants = if edge.range == VersionRange::full() { String::new() } else { describe(&edge.range) };
            let (which, other) = (simplify(&releases, own), format!("`{}`", edge.name));
            self.say(minor, Statement::Asks { by: by.clone(), extra: extra.cloned(), which, other, wants });
        }
        Ok(())
    }

    /// Tells what a rule demands, and remembers it for its ground.
    fn rule(&mut self, at: usize, minor: PythonMinor) {
        let in_force = self.run.borrow().in_force.clone();
        let rule = in_force.rule(at);
        self.rules.insert(at);
        self.package(&rule.package);
        self.causes.gpu |= rule.scope == Scope::Gpu;
        if let Says::Conflicts(other) = &rule.says {
            self.causes.rivals.extend([rule.package.clone(), other.name.clone()]);
        }
        let releases = self.run.borrow_mut().releases(&rule.package, minor);
        // A page that cannot be had was not needed to come here.
        let points = releases.ok().flatten().map(|releases| releases.points().to_vec()).unwrap_or_default();
        let newest = points.into_iter().find(|point| rule.versions.range().contains(point));
        let others = rule.others().iter().map(|other| other.name.clone()).collect();
        let text = format!("{} (rule `{}`)", rule.statement(), rule.id);
        self.say(minor, Statement::Rule { of: rule.package.clone(), others, newest, text });
    }

    /// Tells of rules alone where these exclude what the user's lines ask for: which releases there are, and for which
    /// Pythons, is then no news.
    fn kept_apart(&mut self) {
        let minors = self.run.borrow().minors();
        let excludes = |at: &usize| {
            let on = |minor: &PythonMinor| self.excluded_by(*at, *minor);
            let (first, rest) = minors.split_first()?;
            let needs = on(first)?;
            rest.iter().all(|minor| on(minor).as_ref() == Some(&needs)).then_some((*at, needs))
        };
        let Some((at, needs)) = self.rules.iter().find_map(excludes) else { return };
        self.told.clear();
        self.lines.clear();
        for minor in minors {
            needs.iter().copied().chain([at]).for_each(|at| self.rule(at, minor));
        }
        let in_force = self.run.borrow().in_force.clone();
        let rule = in_force.rule(at);
        let names = rule.others().into_iter().map(|other| &other.name).chain([&rule.package]);
        self.causes.apart = names.cloned().collect();
        for name in self.causes.apart.clone() {
            self.own_line(&name);
        }
    }

    /// Returns by which rules that require something the user's lines come to have both sides of a rule that keeps two
    /// packages apart; [`None`] when it does not come to that under this Python.
    fn excluded_by(&self, at: usize, minor: PythonMinor) -> Option<Vec<usize>> {
        let in_force = self.run.borrow().in_force.clone();
        let apart = in_force.rule(at);
        let Says::Conflicts(other) = &apart.says else { return None };
        let mut asked: Vec<(PackageName, VersionRange)> =
            self.run.borrow().root_edges(minor).into_iter().map(|edge| (edge.name, edge.range)).collect();
        let within = |asked: &[(PackageName, VersionRange)], name: &PackageName, versions: &Specifiers| {
            let inside = |range: &VersionRange| {
                let all = |releases: Rc<Releases>| {
                    let points = releases.points().iter().filter(|point| range.contains(point)).collect::<Vec<_>>();
                    !points.is_empty() && points.into_iter().all(|point| versions.range().contains(point))
                };
                // A page that cannot be had was not needed to come here.
                range.subset_of(versions.range())
                    || self.run.borrow_mut().releases(name, minor).ok().flatten().is_some_and(all)
            };
            asked.iter().any(|(known, range)| known == name && inside(range))
        };
        let mut needs = Vec::new();
        for place in &self.rules {
            let rule = in_force.rule(*place);
            if let Says::Requires(any_of) = &rule.says
                && let [wanted] = &any_of[..]
                && [&apart.package, &other.name].contains(&&wanted.name)
                && rule.counts_on(minor)
                && within(&asked, &rule.package, &rule.versions)
                && asked.iter().all(|(known, _)| *known != wanted.name)
            {
                asked.push((wanted.name.clone(), wanted.versions.range().clone()));
                needs.push(*place);
            }
        }
        let both = within(&asked, &apart.package, &apart.versions) && within(&asked, &other.name, &other.versions);
        (both && apart.counts_on(minor)).then_some(needs)
    }

    /// Tells that nightly builds must be of one night.
    fn night(&mut self, at: usize, name: &PackageName, minor: PythonMinor) {
        let in_force = self.run.borrow().in_force.clone();
        let group = &in_force.knowledge().one_night[at];
        self.package(name);
        let names = group.packages.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let text = format!("nightly builds of {names} must be of one night (rule `{}`)", group.id);
        self.say(minor, Statement::Rule { of: name.clone(), others: Vec::new(), newest: None, text });
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

    /// Tells of roots alone that have no release under any Python, whatever else is asked for; returns whether there are.
    ///
    /// The search ends at the first thing that cannot be, and that differs from Python to Python: a name that no index
    /// has would else stand beside what keeps a framework from the newest Python.
    fn hopeless_roots(&mut self) -> bool {
        let minors = self.run.borrow().minors();
        let mut edges: BTreeMap<PackageName, Vec<(PythonMinor, VersionRange)>> = BTreeMap::new();
        for minor in &minors {
            let asked = self.run.borrow().root_edges(*minor);
            for edge in asked {
                // Pages that cannot be had are not what this refusal is about.
                let Ok(releases) = self.run.borrow_mut().releases(&edge.name, *minor) else { continue };
                if releases.is_none_or(|releases| releases.best(&edge.range).is_none()) {
                    edges.entry(edge.name).or_default().push((*minor, edge.range));
                }
            }
        }
        edges.retain(|_, on| minors.iter().all(|minor| on.iter().any(|(one, _)| one == minor)));
        if edges.is_empty() {
            return false;
        }
        self.told.clear();
        self.lines.clear();
        for (name, on) in edges {
            self.own_line(&name);
            let mut told: Vec<(PythonMinor, Vec<Statement>)> = Vec::new();
            for (minor, range) in on {
                told.extend(self.absences(&name, minor, &range).ok().map(|statements| (minor, statements)));
            }
            // The way down differs from Python to Python: then where it begins has to do.
            let alike = told.iter().all(|(minor, one)| said(one, *minor) == said(&told[0].1, told[0].0));
            for (minor, statements) in told {
                let (most, more) = if alike { (usize::MAX, None) } else { (1, statements.get(1)) };
                let older = more.map(|_| Statement::Older { of: name.clone() });
                statements.iter().take(most).cloned().chain(older).for_each(|statement| self.say(minor, statement));
            }
        }
        true
    }

    /// Tells of every root that there are only source archives of: the first is enough to refuse, but whoever has to
    /// compile wants to know of all.
    fn source_only_roots(&mut self) {
        let minors = self.run.borrow().minors();
        for minor in minors {
            let edges = self.run.borrow().root_edges(minor);
            for edge in edges {
                // Pages that cannot be had are not what this refusal is about.
                let Ok(Some(releases)) = self.run.borrow_mut().releases(&edge.name, minor) else { continue };
                let inside = (0..releases.points().len()).filter(|at| edge.range.contains(&releases.points()[*at]));
                let mut states =
                    inside.map(|at| releases.state(at)).filter(|one| !matches!(one, Err(Absence::Prerelease)));
                let source_only = |one: &Result<_, _>| matches!(one, Err(Absence::Unfit(Unfit::OnlySource)));
                if !states.next().is_some_and(source_only) || !states.all(source_only) {
                    continue;
                }
                let Ok(statements) = self.absences(&edge.name, minor, &edge.range) else { continue };
                self.own_line(&edge.name);
                statements.into_iter().for_each(|statement| self.say(minor, statement));
            }
        }
    }

    /// Returns the shortest range that means the same releases.
    fn simplified(&self, name: &PackageName, minor: PythonMinor, range: &VersionRange) -> Result<VersionRange, Error> {
        let releases = self.run.borrow_mut().releases(name, minor)?;
        Ok(releases.map_or_else(VersionRange::full, |releases| simplify(&releases, range)))
    }

    /// Says why no release in a range counts.
    fn absences(
        &mut self,
        name: &PackageName,
        minor: PythonMinor,
        range: &VersionRange,
    ) -> Result<Vec<Statement>, Error> {
        let about = |text: String| Statement::About { of: name.clone(), newest: None, text };
        let releases = self.run.borrow_mut().releases(name, minor)?;
        let Some(releases) = releases else {
            return Ok(vec![about(nowhere(&self.run.borrow(), name))]);
        };
        let points = releases.points();
        let inside: Vec<usize> = (0..points.len()).filter(|at| range.contains(&points[*at])).collect();
        if inside.is_empty() {
            let newest = releases.newest().map(|newest| format!("the newest release is {newest}"));
            let newest = newest.unwrap_or_else(|| "there is no release at all".to_owned());
            let text = match range.iter().count() {
                0..=3 => format!("there is no `{name}` {}; {newest}", describe(range)),
                // What many releases leave over is no range that a person could read.
                _ => format!("there is no other `{name}`; {newest}"),
            };
            return Ok(vec![Statement::Empty { of: name.clone(), text }]);
        }
        // Newest first, grouped by reason: the first group is what a reader needs, later ones are the way down.
        // Of each what makes it one, what is said of it, and its members.
        let mut groups: Vec<(String, String, Vec<usize>)> = Vec::new();
        let mut archives = false;
        for at in &inside {
            let Err(absence) = releases.state(*at) else { continue };
            self.note_cause(name, absence);
            let version = points[*at].version().expect("releases are versions");
            archives |= matches!(absence, Absence::Unfit(Unfit::NoPython { .. }))
                && releases.release(version).is_some_and(|release| release.source_archive);
            let reason = absence.to_string();
            // Each of many releases has its own day, which is one reason all the same.
            let same = match absence {
                Absence::Unfit(Unfit::TooNew { day: Some(_), limit }) => format!("uploaded after {limit}"),
                _ => reason.clone(),
            };
            match groups.iter_mut().find(|(known, ..)| *known == same) {
                Some((_, told, members)) => {
                    if *told != reason {
                        told.clone_from(&same);
                    }
                    members.push(*at);
                }
                None => groups.push((same, reason, vec![*at])),
            }
        }
        let finals = |members: &[usize]| {
            members.iter().any(|at| points[*at].version().is_some_and(|version| !version.any_prerelease()))
        };
        let any_final = groups.iter().any(|(.., members)| finals(members));
        groups.retain(|(.., members)| !any_final || finals(members));
        let more = groups.len() > 3;
        let mut statements: Vec<Statement> = Vec::new();
        for (_, reason, members) in groups.into_iter().take(3) {
            let members: Vec<&Point> = members.iter().map(|at| &points[*at]).collect();
            let text = format!("`{name}` {}: {reason}", ends(&members));
            let (of, newest) = (name.clone(), members.first().map(|point| (*point).clone()));
            statements.push(match reason == Absence::Prerelease.to_string() {
                true => Statement::Unadmitted { of, text },
                false => Statement::About { of, newest, text },
            });
        }
        if more {
            statements.push(Statement::Older { of: name.clone() });
        }
        let named = self.run.borrow().request.env.roots.iter().any(|root| root.name == *name);
        if let (true, Some(meant)) = (named, meant(name.as_str())) {
            statements.push(about(format!("`{name}` is seldom what is meant{}", did_you_mean(meant))));
        }
        statements.extend(self.known_unbuilt(name, &releases, inside[0]).into_iter().map(about));
        if archives {
            statements.push(about(format!(
                "the source archives of `{name}` are no way out: built for another Python they may lack their native half"
            )));
        }
        Ok(statements)
    }

    /// Returns what is known of a package of which Macs have no wheel: the way out, where there is one.
    fn known_unbuilt(&self, name: &PackageName, releases: &Releases, newest: usize) -> Option<String> {
        let unbuilt = matches!(
            releases.state(newest),
            Err(Absence::Unfit(Unfit::OnlySource | Unfit::OnlyIntel | Unfit::OnlyOtherPlatforms { .. }))
        );
        let request = self.run.borrow().request;
        let tells = |rule: &&Rule| {
            let plain = matches!(&rule.says, Says::Advice(Advice { with: None, without: None, problem: None, .. }));
            let about = rule.package == *name && rule.versions.range().contains(&releases.points()[newest]);
            plain && about && rule.scope == Scope::Install
        };
        let rule = request.knowledge.about(name).find(tells).filter(|_| unbuilt && request.platform.is_mac())?;
        Some(rule.brief())
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
            Absence::Known(known) => {
                self.causes.gpu |= known.scope == Scope::Gpu;
                self.causes.macos.extend(known.macos.filter(|macos| !self.causes.macos.contains(macos)));
            }
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
        let one = releases.points().iter().find(|point| range.contains(*point));
        return VersionRange::singleton(one.expect("there is one").clone());
    }
    range.simplify(oldest_first)
}

/// Cuts what somebody else wrote to a length that can be read.
fn short(text: &str) -> String {
    const LONGEST: usize = 160;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Names some releases, newest first, by their ends.
fn ends(newest_first: &[&Point]) -> String {
    match newest_first {
        [] => String::new(),
        [one] => one.to_string(),
        [newest, .., oldest] => format!("{oldest} to {newest}"),
    }
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

fn did_you_mean(name: &str) -> String {
    format!("; did you mean `{name}`?")
}

/// Finds a well-known package whose name is near.
fn nearest(name: &PackageName) -> Option<&'static str> {
    let known = include_str!("known_names.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let scored = known.map(|known| (strsim::damerau_levenshtein(known, name.as_str()), known));
    let (distance, near) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + name.as_str().len() / 5 && distance > 0).then_some(near)
}
