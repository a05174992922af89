//! From what pubgrub selected to a [`Resolution`].

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use crate::diag::{Code, Finding};
use crate::index::source::{DIRECT, File};
use crate::knowledge::Demand;
use crate::manifest::model::RootSource;
use crate::pep::{ExtraName, PackageName, Point, Specifiers, Version, VersionRange};
use crate::target::PythonMinor;

use super::Error;
use super::candidate::{Fit, Yanked};
use super::edges::{self, Edge, is_later};
use super::held;
use super::package::Node;
use super::provider::Provider;
use super::releases::{Absence, Releases};
use super::resolution::{Origin, Package, Resolution};
use super::run::Run;

type Selected = pubgrub::SelectedDependencies<Node, Point>;

/// One release on its way into the answer.
pub(crate) struct Chosen {
    pub(crate) version: Version,
    pub(crate) releases: Rc<Releases>,
    pub(crate) fit: Fit,
    pub(crate) extras: BTreeSet<ExtraName>,
    /// Every edge of the release and its extras in use.
    pub(crate) edges: Vec<Edge>,
    /// What knowledge adds.
    pub(crate) demands: Vec<Demand>,
    /// Who asked for it first: a package, or the user.
    pub(crate) asked_by: Option<PackageName>,
}

/// Gathers the answer, walking from the roots so that nothing unneeded comes along.
pub(crate) fn answer(
    run: &RefCell<Run<'_, '_>>,
    provider: &Provider<'_, '_, '_>,
    selected: &Selected,
) -> Result<Resolution, Error> {
    let minor = chosen_minor(run, selected);
    let python = Node::Python;
    let version = selected.get(&python).and_then(Point::version).expect("Python is always decided");
    let roots = provider.edges(&python, version).expect("what is decided has edges");
    let mut patches: Option<VersionRange> = roots.patches.clone();
    let mut chosen: BTreeMap<PackageName, Chosen> = BTreeMap::new();
    let mut queue: VecDeque<(Option<PackageName>, Edge)> =
        roots.packages.into_iter().map(|edge| (None, edge)).collect();
    let mut seen: BTreeSet<(PackageName, Option<ExtraName>)> = BTreeSet::new();
    while let Some((asked_by, edge)) = queue.pop_front() {
        for extra in std::iter::once(None).chain(edge.extras.iter().cloned().map(Some)) {
            if !seen.insert((edge.name.clone(), extra.clone())) {
                continue;
            }
            let base = Node::base(&edge.name, minor);
            let version = selected.get(&base).and_then(Point::version).expect("what is asked for is selected").clone();
            let node = extra.as_ref().map_or(base, |extra| Node::needs(&edge.name, extra, minor));
            let own = provider.edges(&node, &version).expect("what is selected has edges");
            patches = match (patches, own.patches) {
                (Some(one), Some(two)) => Some(one.intersection(&two)),
                (one, two) => one.or(two),
            };
            let entry = match chosen.entry(edge.name.clone()) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    let releases = run.borrow_mut().releases(&edge.name, minor)?.expect("selected from a page");
                    let Some(Ok(fit)) = releases.get(&version) else { unreachable!("selected releases count") };
                    let fit = fit.clone();
                    let (extras, edges, demands) = (BTreeSet::new(), Vec::new(), Vec::new());
                    let asked_by = asked_by.clone();
                    entry.insert(Chosen { version, releases, fit, extras, edges, demands, asked_by })
                }
            };
            entry.extras.extend(extra);
            entry.demands.extend(own.demands.iter().copied());
            let by_rule = own.demands.iter().filter_map(|demand| match *demand {
                Demand::OneOf(at) => Some(Node::Rule { at, minor }),
                Demand::Apart(..) | Demand::Night(..) => None,
            });
            let by_rule = by_rule.flat_map(|node| {
                let version = selected.get(&node).and_then(Point::version).expect("what is asked for is selected");
                provider.edges(&node, version).expect("what is selected has edges").packages
            });
            let edges: Vec<Edge> = own.packages.into_iter().chain(by_rule).collect();
            entry.edges.extend(edges.iter().cloned());
            queue.extend(edges.into_iter().map(|next| (Some(edge.name.clone()), next)));
        }
    }
    let wheels = share_generations(&chosen);
    let mut run = run.borrow_mut();
    for (name, chosen) in &chosen {
        wheels[name].iter().for_each(|file| run.ask_complete(&chosen.releases.index, file));
    }
    let findings = findings(&run, &chosen, minor);
    let held = held::held(&mut run, &chosen, minor)?;
    let python_held = held::python(&mut run, &chosen, minor)?;
    let rules = rules(&run, &chosen, minor);
    let mut packages = BTreeMap::new();
    for (name, chosen) in &chosen {
        let mut wheels = run.complete(&chosen.releases.index, &wheels[name])?;
        wheels.sort_by(|one, two| one.filename.cmp(&two.filename));
        let requires: BTreeSet<PackageName> = chosen.edges.iter().map(|edge| edge.name.clone()).collect();
        let package = Package {
            version: chosen.version.clone(),
            origin: origin(&run, name, chosen),
            extras: declared_extras(&run, chosen),
            requires: requires.into_iter().filter(|required| required != name).collect(),
            wheels,
        };
        packages.insert(name.clone(), package);
    }
    Ok(Resolution {
        env: run.request.env.clone(),
        platform: run.request.platform,
        python: minor,
        python_full: patch_specifiers(minor, patches.as_ref()),
        packages,
        held,
        python_held,
        rules,
        findings,
    })
}

fn chosen_minor(run: &RefCell<Run<'_, '_>>, selected: &Selected) -> PythonMinor {
    let version = selected.get(&Node::Python).and_then(Point::version).expect("Python is always decided");
    let minors = run.borrow().minors();
    minors.into_iter().find(|minor| super::provider::minor_version(*minor) == *version).expect("one of the minors")
}

/// Where two packages pin each other to one version and both have wheels by macOS generation, keeps the generations
/// that both have: mlx of macOS 26 beside mlx-metal of macOS 15 would not load.
fn share_generations(chosen: &BTreeMap<PackageName, Chosen>) -> BTreeMap<PackageName, Vec<Arc<File>>> {
    let mut wheels: BTreeMap<PackageName, Vec<Arc<File>>> =
        chosen.iter().map(|(name, chosen)| (name.clone(), chosen.fit.files.clone())).collect();
    for (name, package) in chosen {
        for edge in package.edges.iter().filter(|edge| edge.name != *name) {
            let Some(other) = chosen.get(&edge.name) else { continue };
            if edge.exact.as_ref() != Some(&package.version) || other.version != package.version {
                continue;
            }
            // A wheel by path or address is of one generation, and its selector is for one file.
            if [package, other].iter().any(|member| &*member.releases.index == DIRECT) {
                continue;
            }
            let members = [(name, package), (&edge.name, other)];
            let releases: Vec<_> =
                members.iter().filter_map(|(_, member)| member.releases.release(&member.version)).collect();
            let selector = &package.releases.selector;
            let Some(shared) = selector.shared_generations(&releases) else { continue };
            for ((name, _), release) in members.into_iter().zip(releases) {
                if let Ok(fit) = selector.fit_among(release, Yanked::Admitted, &shared) {
                    wheels.insert(name.clone(), fit.files);
                }
            }
        }
    }
    wheels
}

fn origin(run: &Run<'_, '_>, name: &PackageName, chosen: &Chosen) -> Origin {
    if &*chosen.releases.index != DIRECT {
        return Origin::Index(chosen.releases.index.clone());
    }
    let root = run.request.env.roots.iter().find(|root| root.name == *name);
    match root.map(|root| &root.source) {
        Some(RootSource::Path(path)) => Origin::Path(path.clone()),
        Some(RootSource::Url { url, sha256 }) => Origin::Url { url: url.to_string(), sha256: *sha256 },
        _ => unreachable!("only roots come by path or address"),
    }
}

fn declared_extras(run: &Run<'_, '_>, chosen: &Chosen) -> Vec<ExtraName> {
    let declared = |extra: &&ExtraName| run.has_extra(&chosen.releases, &chosen.fit, extra);
    chosen.extras.iter().filter(declared).cloned().collect()
}

/// Writes the patches left over as specifiers that hold for patches to come as well.
fn patch_specifiers(minor: PythonMinor, left: Option<&VersionRange>) -> Specifiers {
    let Some(left) = left else { return Specifiers::any() };
    let all = edges::patches(minor);
    let kept: Vec<bool> = all.iter().map(|patch| left.contains(&Point::from(patch.clone()))).collect();
    let first = kept.iter().position(|kept| *kept).expect("the solver left a patch");
    let last = kept.iter().rposition(|kept| *kept).expect("the solver left a patch");
    let mut parts = Vec::new();
    if is_later(&all[first]) {
        // What stands for patches to come is no version.
        parts.push(format!(">{}", all[first - 1]));
    } else if first > 0 {
        parts.push(format!(">={}", all[first]));
    }
    if !is_later(&all[last]) {
        parts.push(format!("<={}", all[last]));
    }
    let holes = (first..last).filter(|at| !kept[*at]);
    parts.extend(holes.map(|at| format!("!={}", all[at])));
    parts.join(",").parse().expect("made of versions and operators")
}

/// Names the knowledge that shaped an answer: what a chosen release demands, what keeps a newer one out that the user's
/// own lines would admit.
fn rules(run: &Run<'_, '_>, chosen: &BTreeMap<PackageName, Chosen>, minor: PythonMinor) -> Vec<String> {
    let lines = run.root_edges(minor);
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (name, package) in chosen {
        for demand in &package.demands {
            match *demand {
                Demand::OneOf(at) => names.extend([run.in_force.rule(at).id.as_str()]),
                Demand::Night(at, _) => names.extend([run.in_force.knowledge().one_night[at].id.as_str()]),
                Demand::Apart(at, side) => {
                    let rule = run.in_force.rule(at);
                    let Some((against, versions)) = run.in_force.against(at, side) else { continue };
                    let newest = chosen.get(against).and_then(|against| against.releases.newest());
                    names.extend(newest.filter(|newest| versions.contains(newest)).map(|_| rule.id.as_str()));
                }
            }
        }
        let own: Vec<&Edge> = lines.iter().filter(|line| line.name == *name).collect();
        let admitted =
            package.releases.points().iter().filter(|point| own.iter().all(|line| line.range.contains(point)));
        for version in admitted.filter_map(Point::version).take_while(|one| **one > package.version) {
            if let Some(Err(Absence::Known(known))) = package.releases.get(version) {
                names.extend(run.in_force.knowledge().rule(&known.rule).map(|rule| rule.id.as_str()));
            }
        }
    }
    names.into_iter().map(str::to_owned).collect()
}

/// Says what about this answer a person should know.
fn findings(run: &Run<'_, '_>, chosen: &BTreeMap<PackageName, Chosen>, minor: PythonMinor) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, package) in chosen {
        let version = &package.version;
        let chain = chain(chosen, name);
        if let Some(reason) = &package.fit.floor.yanked {
            let why = if reason.is_empty() { "no reason given".to_owned() } else { format!("{reason:?}") };
            let message = format!("`{name}` {version} was withdrawn by its authors: {why}");
            findings.push(Finding::warning(Code::YankedRelease, message).noting(format!("asked for by {chain}")));
        }
        if version.any_prerelease() {
            let message = format!("`{name}` {version} is a pre-release");
            findings.push(Finding::warning(Code::PrereleaseChosen, message).noting(format!("asked for by {chain}")));
        }
        if version.is_local() {
            let message = format!("`{name}` {version} is a local version: no index but this one has it");
            findings.push(Finding::note(Code::LocalVersionChosen, message).noting(format!("asked for by {chain}")));
        }
        for extra in &package.extras {
            if !run.has_extra(&package.releases, &package.fit, extra) {
                let others = run.extras(&package.releases, &package.fit).unwrap_or_default();
                let distance = |one: &&ExtraName| strsim::damerau_levenshtein(one.as_str(), extra.as_str());
                let near =
                    others.iter().min_by_key(distance).filter(|one| distance(one) <= 1 + extra.as_str().len() / 5);
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                let message = format!("`{name}` {version} has no extra `{extra}`{near}");
                findings.push(Finding::warning(Code::ExtraMissing, message));
            }
        }
    }
    for root in run.request.env.roots.iter().filter(|root| run.is_for_macs_only(root)) {
        if root.platform.is_none_or(|only| only == run.request.platform) {
            let message = format!("`{}` is for Macs only: left out on {}", root.name, run.request.platform);
            findings.push(Finding::note(Code::ForMacsOnly, message));
        }
    }
    findings.extend(added_by_rules(run, chosen, minor));
    findings.extend(one_night(run, chosen));
    for root in &run.request.env.roots {
        let Some(marker) = &root.marker else { continue };
        let here = root.platform.is_none_or(|only| only == run.request.platform);
        let never = |platform| {
            let target = super::run::target(run.request, minor);
            let env = crate::target::Target { platform, ..target }.marker_env();
            marker.evaluate(&env, &[]) == crate::pep::Truth::Never
        };
        if here && run.request.env.platforms.iter().all(|platform| never(*platform)) {
            let message = format!("`{}` is never installed: its marker holds on no target of this project", root.name);
            findings.push(Finding::warning(Code::MarkerNeverMatches, message).at(root.span, marker.to_string()));
        }
    }
    findings
}

/// Says of packages that neither the user nor any metadata asks for why they are there.
fn added_by_rules(run: &Run<'_, '_>, chosen: &BTreeMap<PackageName, Chosen>, minor: PythonMinor) -> Vec<Finding> {
    let roots = run.roots(minor);
    let mut findings = Vec::new();
    for (name, package) in chosen.iter().filter(|(name, _)| roots.iter().all(|root| root.name != **name)) {
        let asking = chosen.iter().filter(|(by, _)| *by != name);
        let asking = asking.flat_map(|(by, other)| other.edges.iter().map(move |edge| (by, edge)));
        let mut asking = asking.filter(|(_, edge)| edge.name == *name).peekable();
        let Some((by, Edge { rule: Some(at), .. })) = asking.peek().copied() else { continue };
        if asking.any(|(_, edge)| edge.rule.is_none()) {
            continue;
        }
        let version = &chosen[by].version;
        let message = format!("`{name}` {} is in because `{by}` {version} needs it", package.version);
        let hint = format!("write `{name} = \"*\"` into macml.toml to say so yourself");
        let finding = Finding::note(Code::AddedByRule, message);
        findings.push(finding.noting(run.in_force.rule(*at).brief()).hinting(hint));
    }
    findings
}

/// Says of which night nightly builds are, and that their index will not keep them.
fn one_night(run: &Run<'_, '_>, chosen: &BTreeMap<PackageName, Chosen>) -> Vec<Finding> {
    let mut nights: BTreeMap<(usize, u64), Vec<&PackageName>> = BTreeMap::new();
    for (name, package) in chosen {
        for demand in &package.demands {
            if let Demand::Night(at, night) = *demand {
                nights.entry((at, night)).or_default().push(name);
            }
        }
    }
    let note = |((at, night), names): ((usize, u64), Vec<&PackageName>)| {
        let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let (year, month, day) = (night / 10_000, night / 100 % 100, night % 100);
        let message = format!("nightly builds of {year}-{month:02}-{day:02}: {names}");
        let ground = run.in_force.knowledge().one_night[at].ground();
        Finding::warning(Code::NightlyBuilds, message)
            .noting(ground)
            .noting("indexes delete nightly builds after some weeks, and this lock cannot be installed any more then")
    };
    nights.into_iter().map(note).collect()
}

/// Writes the chain of packages that leads to `name`, the user's own line first.
fn chain(chosen: &BTreeMap<PackageName, Chosen>, name: &PackageName) -> String {
    let mut links = vec![name.to_string()];
    let mut at = name;
    while let Some(by) = &chosen[at].asked_by {
        links.push(format!("{by} {}", chosen[by].version));
        at = by;
    }
    if links.len() == 1 {
        return format!("your own line `{name}`");
    }
    links.reverse();
    links.join(" -> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_to_come_are_those_after_the_known_ones() {
        let minor = PythonMinor { major: 3, minor: 13 };
        let newest = edges::patches(minor).into_iter().rev().nth(1).unwrap();
        let check = |python: &str, wanted: &str| {
            let left = edges::admitted_patches(minor, &python.parse().unwrap()).unwrap();
            assert_eq!(patch_specifiers(minor, left.as_ref()).to_string(), wanted, "{python}");
        };
        check(">=3.13", "*");
        check(">=3.13.2, !=3.13.4", ">=3.13.2, !=3.13.4");
        check("<3.13.3", "<=3.13.2");
        check(">=3.13.99", &format!(">{newest}"));
    }
}
