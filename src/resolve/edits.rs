//! Edits of macml.toml that would make an impossible request solvable. None is told that was not solved.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use crate::manifest::model::RootSource;
use crate::pep::{PackageName, Specifiers, Version};
use crate::target::Gpu;
use crate::target::PythonMinor;

use super::explain::{Edit, Explanation};
use super::facts::Facts;
use super::request::Request;
use super::resolution::Resolution;
use super::{Outcome, run, solve};

/// How long trying may take in all: with the explanation, a refusal is there within five seconds.
const TIME: Duration = Duration::from_millis(4500);

/// How many edits are told.
const MOST: usize = 3;

/// Tries single edits, those nearest to a Mac cause first.
pub(crate) fn try_edits(request: &Request, facts: &mut Facts<'_>, explanation: &Explanation) -> Vec<Edit> {
    facts.set_deadline(Some(Instant::now() + TIME));
    let table = table(request);
    let mut tried = Trial { request, facts, edits: Vec::new() };
    let causes = &explanation.causes;
    for line in &explanation.lines {
        tried.relax(&line.name);
    }
    // Without versions to relax, one of the two has to go.
    if tried.edits.is_empty() {
        causes.apart.iter().for_each(|name| tried.drop_line(name));
    }
    if let Some(mac) = request.env.mac.as_ref().filter(|_| request.platform.is_mac()) {
        let mut higher: Vec<_> = causes.macos.iter().copied().filter(|macos| *macos > mac.macos).collect();
        // Every Mac of a major release can have its minors, so the one that brings the newest wheels comes first.
        higher.sort_by_key(|macos| (macos.major(), Reverse(macos.minor())));
        for macos in higher {
            let mut edited = request.clone();
            if let Some(mac) = &mut edited.env.mac {
                mac.macos = macos;
            }
            if tried.attempt(&edited, || format!("{table} macos = \"{macos}\"")) {
                break;
            }
        }
    }
    if causes.gpu {
        let mut edited = request.clone();
        edited.env.gpu = Gpu::Optional;
        tried.attempt(&edited, || format!("{table} gpu = \"optional\""));
    }
    if causes.python {
        tried.other_python();
    }
    for name in &causes.packages {
        tried.drop_setting(name);
    }
    if causes.too_new {
        let mut edited = request.clone();
        edited.env.resolution.exclude_newer = None;
        tried.attempt(&edited, || "[resolution] without `exclude-newer`".to_owned());
    }
    // Someone whom another edit helps does not want to hear of development releases.
    for name in causes.prereleases.iter().filter(|_| tried.edits.is_empty()).collect::<Vec<_>>() {
        let mut edited = request.clone();
        edited.env.resolution.prereleases.push(name.clone());
        tried.attempt(&edited, || format!("[resolution] prereleases = [\"{name}\"]"));
    }
    // A line may exclude what only other packages ask for.
    if tried.edits.is_empty() {
        let rivals = explanation.lines.iter().filter(|line| causes.rivals.contains(&line.name));
        rivals.for_each(|line| tried.drop_line(&line.name));
    }
    let edits = tried.edits;
    facts.set_deadline(None);
    edits
}

struct Trial<'t, 's> {
    request: &'t Request,
    facts: &'t mut Facts<'s>,
    edits: Vec<Edit>,
}

impl Trial<'_, '_> {
    fn solve(&mut self, request: &Request) -> Option<Resolution> {
        if self.edits.len() >= MOST || self.facts.out_of_time() {
            return None;
        }
        match solve(request, self.facts) {
            Ok(Outcome::Solved(resolution)) => Some(*resolution),
            _ => None,
        }
    }

    /// Solves the edited request, and keeps the edit when there is an answer.
    fn attempt(&mut self, edited: &Request, change: impl FnOnce() -> String) -> bool {
        let Some(resolution) = self.solve(edited) else { return false };
        let edit = Edit { change: change(), gives: gives(&resolution) };
        if !self.edits.contains(&edit) {
            self.edits.push(edit);
        }
        true
    }

    /// Lets go of one line's versions, then writes what was found in the line's own style and solves that.
    fn relax(&mut self, name: &PackageName) {
        let at = self
            .request
            .env
            .roots
            .iter()
            .position(|root| root.name == *name && root.platform.is_none_or(|only| only == self.request.platform));
        let Some(at) = at else { return };
        let RootSource::Versions(old) = self.request.env.roots[at].source.clone() else { return };
        if old.is_any() {
            return;
        }
        let mut edited = self.request.clone();
        // A release that does not exist is mostly a patch of one that does.
        if let Some(family) = family(&old) {
            let text = family.to_string();
            edited.env.roots[at].source = RootSource::Versions(family);
            if self.attempt(&edited, || format!("{name} = \"{text}\"")) {
                return;
            }
        }
        edited.env.roots[at].source = RootSource::Versions(Specifiers::any());
        let Some(found) = self.solve(&edited) else { return };
        let Some(package) = found.packages.get(name) else { return };
        let new = in_style(&old, &package.version);
        let Ok(specifiers) = new.parse::<Specifiers>() else { return };
        edited.env.roots[at].source = RootSource::Versions(specifiers);
        self.attempt(&edited, || format!("{name} = \"{new}\""));
    }

    /// Leaves a package out.
    fn drop_line(&mut self, name: &PackageName) {
        let mut edited = self.request.clone();
        edited.env.roots.retain(|root| root.name != *name);
        if edited.env.roots.len() == self.request.env.roots.len() {
            return;
        }
        self.attempt(&edited, || format!("without the line of `{name}`"));
    }

    /// Looks for a Python outside the declared range, nearest to it first.
    fn other_python(&mut self) {
        let declared = run::minors(self.request);
        let (Some(lowest), Some(highest)) = (declared.first().copied(), declared.last().copied()) else { return };
        let mut others: Vec<PythonMinor> =
            PythonMinor::RELEASED.iter().map(|(minor, _)| *minor).filter(|minor| !declared.contains(minor)).collect();
        others.sort_by_key(|minor| {
            let away = |from: PythonMinor| i32::from(minor.minor) - i32::from(from.minor);
            away(lowest).abs().min(away(highest).abs())
        });
        for minor in others {
            let (from, to) = (minor.min(lowest), minor.max(highest));
            let range = format!(">={from},<{}.{}", to.major, to.minor + 1);
            let mut edited = self.request.clone();
            edited.python = None;
            edited.preferences.python = None;
            edited.env.python = range.parse().expect("made of versions and operators");
            if self.attempt(&edited, || format!("{} python = \"{range}\"", table(self.request))) {
                break;
            }
        }
    }

    fn drop_setting(&mut self, name: &PackageName) {
        let mut edited = self.request.clone();
        if edited.env.resolution.constraints.remove(name).is_some() {
            self.attempt(&edited, || format!("[resolution] constraints without `{name}`"));
        }
        let mut edited = self.request.clone();
        if edited.env.resolution.overrides.remove(name).is_some() {
            self.attempt(&edited, || format!("[resolution] overrides without `{name}`"));
        }
    }
}

/// Names the table whose keys an environment takes its target from.
fn table(request: &Request) -> String {
    match &*request.env.name {
        "default" => "[target]".to_owned(),
        name => format!("[env.{name}]"),
    }
}

/// Widens an exact version of three parts or more to its family: `==2.13.9` to `==2.13.*`.
fn family(old: &Specifiers) -> Option<Specifiers> {
    let exact = old.exact().filter(|version| !version.any_prerelease())?;
    match exact.release() {
        [major, minor, _, ..] => format!("=={major}.{minor}.*").parse().ok(),
        _ => None,
    }
}

/// Writes a version as the old specifier was written: `==2.8.*` stays a family, `>=2` a lower bound.
fn in_style(old: &Specifiers, version: &Version) -> String {
    let text = old.to_string();
    let release = version.release();
    if text.starts_with("==") && !text.contains('*') {
        return format!("=={version}");
    }
    if text.starts_with(">=") && !text.contains(',') && !text.contains('<') {
        return format!(">={version}");
    }
    match (release.first(), release.get(1)) {
        (Some(major), Some(minor)) if !version.any_prerelease() => format!("=={major}.{minor}.*"),
        _ => format!("=={version}"),
    }
}

/// Says what an edit gives: the roots' versions and the Python.
fn gives(resolution: &Resolution) -> String {
    let mut names: Vec<&PackageName> = resolution.env.roots.iter().map(|root| &root.name).collect();
    names.dedup();
    let versions: Vec<String> = names
        .into_iter()
        .filter_map(|name| Some(format!("{name} {}", resolution.packages.get(name)?.version)))
        .take(4)
        .collect();
    format!("{} on Python {}", versions.join(", "), resolution.python)
}
