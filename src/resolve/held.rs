//! Which roots did not get their newest release, and why: `needs macOS 14; your floor is 13.0`.
//!
//! Asked of an answer just solved, and of a lock that is kept as it is. Of a lock less is known; what would take a
//! solve to find out is then said as open.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::index::source::DIRECT;
use crate::knowledge::Demand;
use crate::manifest::model::{Root, RootSource, RootTable};
use crate::pep::range;
use crate::pep::{ExtraName, PackageName, Point, Version, VersionRange};
use crate::target::PythonMinor;

use super::answer::Chosen;
use super::candidate::Unfit;
use super::edges::Edge;
use super::releases::{Absence, Releases};
use super::request::Preferences;
use super::resolution::{Held, HeldBy, PythonHeld};
use super::run::{Admitted, Run, Told};
use super::{Error, Facts, Request};

/// One package of a lock.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its version.
    pub version: Version,
    /// Extras in use.
    pub extras: Vec<ExtraName>,
    /// Names it depends on.
    pub requires: Vec<PackageName>,
}

/// What was found out about a lock.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    /// Roots older than their newest release, in the order in which people read them.
    pub held: Vec<Held>,
    /// Frameworks of which no page could be had.
    pub unseen: Vec<PackageName>,
    /// Why no later Python of the range is in the lock.
    pub python: Option<PythonHeld>,
}

/// What is known of an answer.
#[derive(Clone, Copy)]
enum Known<'a> {
    /// All, since it was just solved.
    Solved(&'a BTreeMap<PackageName, Chosen>),
    /// What a lock says; metadata is asked for where it matters, of `only` those packages.
    Kept { packages: &'a BTreeMap<PackageName, Kept>, only: Option<&'a [PackageName]> },
}

/// Lists the roots whose newest release was not taken, frameworks first.
pub(crate) fn held(
    run: &mut Run<'_, '_>,
    chosen: &BTreeMap<PackageName, Chosen>,
    minor: PythonMinor,
) -> Result<Vec<Held>, Error> {
    let known = Known::Solved(chosen);
    let mut all = Vec::new();
    for (name, roots) in roots(run, minor) {
        let Some(version) = known.version(name) else { continue };
        let Some(newer) = newer(run, name, version, minor)? else { continue };
        let reason = reason(run, known, &newer, &roots, minor)?;
        all.push(newer.held(version, reason));
    }
    Ok(all)
}

/// Who asks for a package of a lock, and why it is not newer.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Packages of the lock that ask for it.
    pub asked_by: Vec<Asking>,
    /// The newest release, where it is another, with the reason.
    pub held: Option<Held>,
}

/// A package that asks for another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asking {
    /// Who asks.
    pub by: PackageName,
    /// Its version.
    pub version: Version,
    /// What it asks for in versions: `>=2.14.0`; empty for any.
    pub wants: String,
    /// The name of the rule by which it asks, where it is not by metadata.
    pub rule: Option<String>,
}

/// Says of one package of a lock who asks for it and why it is not newer.
///
/// # Errors
/// When an index could not be asked.
pub fn standing(
    request: &Request,
    packages: &BTreeMap<PackageName, Kept>,
    minor: PythonMinor,
    name: &PackageName,
    facts: &mut Facts<'_>,
) -> Result<Option<Standing>, Error> {
    let Some(version) = packages.get(name).map(|package| &package.version) else { return Ok(None) };
    let known = Known::Kept { packages, only: None };
    let admitted = Admitted::new();
    let mut run = Run::new(request, facts, &admitted);
    let edges = known.asking(&mut run, name, minor);
    let asking = |(by, edge): (PackageName, Edge)| Asking {
        version: packages[&by].version.clone(),
        by,
        wants: if edge.range == VersionRange::full() { String::new() } else { range::describe(&edge.range) },
        rule: edge.rule.map(|at| run.in_force.rule(at).id.clone()),
    };
    let mut asked_by: Vec<Asking> = edges.into_iter().map(asking).collect();
    asked_by.dedup();
    let held = match newer(&mut run, name, version, minor)? {
        None => None,
        Some(newer) => {
            let roots: Vec<&Root> = run.roots(minor).into_iter().filter(|root| root.name == *name).collect();
            let found = reason(&mut run, known, &newer, &roots, minor)?;
            let reason = match found.by {
                HeldBy::Open => excluded(&mut run, known, &newer, minor).unwrap_or(found),
                _ => found,
            };
            Some(newer.held(version, reason))
        }
    };
    Ok(Some(Standing { asked_by, held }))
}

/// Looks at the roots of a lock, or at `only` those: which have a newer release, and why it is not in the lock.
///
/// What cannot be had is left out: this is an aside, and no reason to fail.
pub fn look(
    request: &Request,
    packages: &BTreeMap<PackageName, Kept>,
    minor: PythonMinor,
    only: Option<&[PackageName]>,
    facts: &mut Facts<'_>,
) -> Looked {
    let known = Known::Kept { packages, only };
    let admitted = Admitted::new();
    let mut run = Run::new(request, facts, &admitted);
    let mut looked = Looked::default();
    let mut roots = roots(&run, minor);
    roots.retain(|(name, _)| packages.contains_key(name) && only.is_none_or(|only| only.contains(name)));
    // All before the first is waited for, so that they travel together.
    roots.iter().for_each(|(name, _)| run.ask_page(name));
    for (name, roots) in roots {
        let version = &packages[name].version;
        let newer = match newer(&mut run, name, version, minor) {
            Ok(Some(newer)) => newer,
            Ok(None) => continue,
            Err(_) => {
                let framework = roots.iter().any(|root| root.table == RootTable::Frameworks);
                looked.unseen.extend(framework.then(|| name.clone()));
                continue;
            }
        };
        let reason = reason(&mut run, known, &newer, &roots, minor);
        looked.held.push(newer.held(version, reason.unwrap_or_else(|_| open(request, name, version))));
    }
    if only.is_none() {
        looked.python = python_of(&mut run, known, minor).ok().flatten();
    }
    looked
}

/// Says why no later Python of the range was taken, if there is one: of the packages that are needed, one has nothing
/// for it. Pages suffice to tell.
pub(crate) fn python(
    run: &mut Run<'_, '_>,
    chosen: &BTreeMap<PackageName, Chosen>,
    minor: PythonMinor,
) -> Result<Option<PythonHeld>, Error> {
    python_of(run, Known::Solved(chosen), minor)
}

fn python_of(run: &mut Run<'_, '_>, known: Known<'_>, minor: PythonMinor) -> Result<Option<PythonHeld>, Error> {
    let Some(newer) = run.minors().last().copied().filter(|newest| *newest > minor) else { return Ok(None) };
    let roots: Vec<PackageName> = run.roots(minor).into_iter().map(|root| root.name.clone()).collect();
    // A lock that is kept is read in a blink, and pages of all of its packages are not; those that rules bring are.
    let worth =
        |name: &&PackageName| matches!(known, Known::Solved(_)) || run.request.knowledge.about(name).next().is_some();
    let others = known.names().filter(|name| !roots.contains(name)).filter(worth).cloned().collect::<Vec<_>>();
    for name in roots.iter().chain(&others) {
        let Some(version) = known.version(name) else { continue };
        let Some(releases) = run.releases(name, newer)?.filter(|releases| &*releases.index != DIRECT) else { continue };
        // A package that has some release for that Python may well have been able to follow.
        if releases.newest_fit(&VersionRange::full()).is_some() {
            continue;
        }
        if let Some(Err(why)) = releases.get(version) {
            return Ok(Some(PythonHeld { newer, by: name.clone(), reason: format!("`{name}` {version}: {why}") }));
        }
    }
    for name in &roots {
        let Some(version) = known.version(name) else { continue };
        let best = |releases: Option<Rc<Releases>>| {
            releases.and_then(|releases| releases.newest_fit(&VersionRange::full()).cloned())
        };
        let (here, there) = (best(run.releases(name, minor)?), best(run.releases(name, newer)?));
        if there < here
            && let Some(releases) = run.releases(name, newer)?
            && let Some(Err(why)) = releases.get(version)
        {
            return Ok(Some(PythonHeld { newer, by: name.clone(), reason: format!("`{name}` {version}: {why}") }));
        }
    }
    Ok(None)
}

impl<'a> Known<'a> {
    fn names(self) -> Box<dyn Iterator<Item = &'a PackageName> + 'a> {
        match self {
            Self::Solved(chosen) => Box::new(chosen.keys()),
            Self::Kept { packages, .. } => Box::new(packages.keys()),
        }
    }

    fn version(self, name: &PackageName) -> Option<&'a Version> {
        match self {
            Self::Solved(chosen) => chosen.get(name).map(|package| &package.version),
            Self::Kept { packages, .. } => packages.get(name).map(|package| &package.version),
        }
    }

    /// Returns the alternative of a rule that the answer takes; `None` where the demand is another one.
    fn met_by(self, run: &Run<'_, '_>, demand: Demand, minor: PythonMinor) -> Option<Edge> {
        let Demand::OneOf(at) = demand else { return None };
        let taken = |edge: &Edge| {
            self.version(&edge.name).is_some_and(|version| edge.range.contains(&Point::from(version.clone())))
        };
        run.alternatives(at, minor).into_iter().find(taken)
    }

    /// Lists who of the answer asks for `name`, with the edge.
    fn asking(self, run: &mut Run<'_, '_>, name: &PackageName, minor: PythonMinor) -> Vec<(PackageName, Edge)> {
        let mut all = Vec::new();
        match self {
            Self::Solved(chosen) => {
                for (by, package) in chosen.iter().filter(|(by, _)| *by != name) {
                    let edges = package.edges.iter().filter(|edge| edge.name == *name);
                    all.extend(edges.map(|edge| (by.clone(), edge.clone())));
                }
            }
            Self::Kept { packages, only } => {
                let admitted = |by: &PackageName| by != name && only.is_none_or(|only| only.contains(by));
                let asking = |by: &PackageName, package: &Kept| package.requires.contains(name) && admitted(by);
                for (by, package) in packages.iter().filter(|(by, package)| asking(by, package)) {
                    let Ok(Some(releases)) = run.releases(by, minor) else { continue };
                    let Some(Ok(fit)) = releases.get(&package.version) else { continue };
                    for extra in std::iter::once(None).chain(package.extras.iter().map(Some)) {
                        let Ok(Told::Edges(edges)) = run.told(&releases, fit, minor, extra) else { continue };
                        let by_rule = edges.demands.iter().filter_map(|demand| self.met_by(run, *demand, minor));
                        let edges = edges.packages.into_iter().chain(by_rule).filter(|edge| edge.name == *name);
                        all.extend(edges.map(|edge| (by.clone(), edge)));
                    }
                }
            }
        }
        all
    }
}

/// Lists what the user asks for in versions, frameworks first, with every line that applies.
fn roots<'r>(run: &Run<'r, '_>, minor: PythonMinor) -> Vec<(&'r PackageName, Vec<&'r Root>)> {
    let mut by_name: BTreeMap<_, Vec<&Root>> = BTreeMap::new();
    for root in run.roots(minor) {
        by_name.entry((root.table == RootTable::Dependencies, &root.name)).or_default().push(root);
    }
    by_name.into_iter().map(|((_, name), roots)| (name, roots)).collect()
}

/// The newest release of a root that got an older one.
struct Newer {
    name: PackageName,
    newest: Version,
    releases: Rc<Releases>,
}

fn newer(
    run: &mut Run<'_, '_>,
    name: &PackageName,
    taken: &Version,
    minor: PythonMinor,
) -> Result<Option<Newer>, Error> {
    let Some(releases) = run.releases(name, minor)?.filter(|releases| &*releases.index != DIRECT) else {
        return Ok(None);
    };
    let newest = releases.newest().filter(|newest| *newest > taken).cloned();
    Ok(newest.map(|newest| Newer { name: name.clone(), newest, releases }))
}

impl Newer {
    /// Says why the release is no candidate at all, if it is none.
    fn own_reason(&self, roots: &[&Root]) -> Option<Reason> {
        // The user's own line comes first: while it stands, nothing else matters.
        let own = roots.iter().find_map(|root| match &root.source {
            RootSource::Versions(own) if !own.contains(&self.newest) => {
                Some(Reason { text: format!("your line asks for `{own}`"), by: HeldBy::Line })
            }
            _ => None,
        });
        own.or_else(|| self.releases.get(&self.newest)?.as_ref().err().map(Reason::from))
    }

    /// Returns the newest release that is a candidate by the user's lines and by itself, if it is newer than `taken`.
    fn next(&self, roots: &[&Root], taken: &Version) -> Option<Self> {
        let lines = roots.iter().filter_map(|root| match &root.source {
            RootSource::Versions(own) => Some(own.range()),
            _ => None,
        });
        let admitted = lines.fold(VersionRange::full(), |all, own| all.intersection(own));
        let next = self.releases.newest_fit(&admitted)?.version()?.clone();
        (next > *taken).then(|| Self { name: self.name.clone(), newest: next, releases: self.releases.clone() })
    }

    fn held(self, chosen: &Version, Reason { text, by }: Reason) -> Held {
        Held { name: self.name, chosen: chosen.clone(), newest: self.newest, reason: text, by }
    }
}

/// Why a release is not in an answer.
struct Reason {
    /// As a lowercase fragment.
    text: String,
    by: HeldBy,
}

impl Reason {
    fn package(by: &PackageName, text: String) -> Self {
        Self { text, by: HeldBy::Package(by.clone()) }
    }

    fn rule(run: &Run<'_, '_>, id: &str, text: String) -> Self {
        let knowledge = run.in_force.knowledge();
        let night = || knowledge.one_night.iter().find(|group| group.id == id).map(|group| &group.reason);
        let reason = knowledge.rule(id).map(|rule| &rule.reason).or_else(night);
        let reason = reason.map(|reason| format!(": {}", reason.trim_end_matches('.'))).unwrap_or_default();
        Self { text: format!("{text} (rule `{id}`{reason})"), by: HeldBy::Rule(id.to_owned()) }
    }

    fn itself(text: String) -> Self {
        Self { text, by: HeldBy::Itself }
    }
}

impl From<&Absence> for Reason {
    fn from(absence: &Absence) -> Self {
        let by = match absence {
            Absence::Known(known) => HeldBy::Rule(known.rule.clone()),
            Absence::Constrained(_) | Absence::Prerelease => HeldBy::Setting,
            Absence::Unfit(unfit) | Absence::Superseded(_, unfit) => match unfit {
                Unfit::NeedsMacos { .. } | Unfit::NeedsGlibc { .. } => HeldBy::Floor,
                Unfit::NoPython { .. } | Unfit::OnlyFreeThreaded { .. } | Unfit::RequiresPython { .. } => {
                    HeldBy::Python
                }
                Unfit::TooNew { .. } => HeldBy::Setting,
                _ => HeldBy::Itself,
            },
            Absence::Local => HeldBy::Itself,
        };
        Self { text: absence.to_string(), by }
    }
}

/// Says why the newest release was not taken; where that is no candidate at all, also what keeps out the newest that is
/// one, since to lift the first reason alone would not help.
fn reason(
    run: &mut Run<'_, '_>,
    known: Known<'_>,
    newer: &Newer,
    roots: &[&Root],
    minor: PythonMinor,
) -> Result<Reason, Error> {
    let taken = known.version(&newer.name).expect("it is of the answer").clone();
    let Some(own) = newer.own_reason(roots) else {
        let found = conflict(run, known, newer, minor)?;
        return Ok(found.unwrap_or_else(|| open(run.request, &newer.name, &taken)));
    };
    let next = newer.next(roots, &taken).filter(|_| own.by != HeldBy::Line);
    let Some(next) = next else { return Ok(own) };
    // An aside that cannot be had is left out.
    Ok(match conflict(run, known, &next, minor).ok().flatten() {
        Some(Reason { text, by }) => Reason { text: format!("{}; {} would do, but {text}", own.text, next.newest), by },
        None => own,
    })
}

/// Says which package of the answer keeps a release out: one that it asks for otherwise, or one that asks for an
/// older one. `None` where that takes a solve to tell.
fn conflict(
    run: &mut Run<'_, '_>,
    known: Known<'_>,
    Newer { name, newest, releases }: &Newer,
    minor: PythonMinor,
) -> Result<Option<Reason>, Error> {
    let point = Point::from(newest.clone());
    for (by, edge) in known.asking(run, name, minor) {
        if !edge.range.contains(&point) && stays(run, known, &by, minor, &mut Vec::new()) {
            return Ok(Some(wish(run, known, &by, Some(name), &edge)));
        }
    }
    let Some(Ok(fit)) = releases.get(newest) else { return Ok(None) };
    let edges = match run.told(releases, fit, minor, None)? {
        Told::Unusable(why) => return Ok(Some(Reason::itself(why))),
        Told::Edges(edges) => edges,
    };
    for edge in &edges.packages {
        let fits = |version: &Version| edge.range.contains(&Point::from(version.clone()));
        if known.version(&edge.name).is_some_and(fits) {
            continue;
        }
        if let Some(why) = nothing_fits(run, edge, minor)? {
            return Ok(Some(why));
        }
        if known.version(&edge.name).is_some()
            && let Some(Reason { text, by }) = held_by(run, known, (name, edge), minor)
        {
            let text = format!("it asks for `{}` {}; {text}", edge.name, range::describe(&edge.range));
            return Ok(Some(Reason { text, by }));
        }
    }
    Ok(edges.demands.iter().find_map(|demand| unmet(run, known, name, *demand, minor)))
}

/// Says which package of the lock asks for another release than the newest, whether or not it has to be as it is: who
/// asks about one package sees there what to ask about next.
fn excluded(
    run: &mut Run<'_, '_>,
    known: Known<'_>,
    Newer { name, newest, .. }: &Newer,
    minor: PythonMinor,
) -> Option<Reason> {
    let point = Point::from(newest.clone());
    let (by, edge) = known.asking(run, name, minor).into_iter().find(|(_, edge)| !edge.range.contains(&point))?;
    Some(wish(run, known, &by, None, &edge))
}

/// Says what a package of the answer asks for by an edge, naming the other package where that is not clear.
fn wish(run: &Run<'_, '_>, known: Known<'_>, by: &PackageName, of: Option<&PackageName>, edge: &Edge) -> Reason {
    let version = known.version(by).expect("it asks, so it is there");
    let of = of.map(|name| format!("`{name}` ")).unwrap_or_default();
    let wants = range::describe(&edge.range);
    match edge.rule {
        None => Reason::package(by, format!("`{by}` {version} asks for {of}{wants}")),
        Some(at) => Reason::rule(run, &run.in_force.rule(at).id, format!("`{by}` {version} needs {of}{wants}")),
    }
}

/// Says which demand of a rule on a release the answer does not meet.
fn unmet(
    run: &Run<'_, '_>,
    known: Known<'_>,
    name: &PackageName,
    demand: Demand,
    minor: PythonMinor,
) -> Option<Reason> {
    match demand {
        Demand::OneOf(at) => {
            let rule = run.in_force.rule(at);
            let wanted = rule.others().iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
            known
                .met_by(run, demand, minor)
                .is_none()
                .then(|| Reason::rule(run, &rule.id, format!("it needs {wanted}")))
        }
        Demand::Apart(at, side) => {
            let rule = run.in_force.rule(at);
            let (against, versions) = run.in_force.against(at, side)?;
            let there = known.version(against).filter(|version| against != name && versions.contains(version))?;
            Some(Reason::rule(run, &rule.id, format!("it cannot be beside `{against}` {there}")))
        }
        Demand::Night(at, night) => {
            let group = &run.in_force.knowledge().one_night[at];
            let mut others = group.packages.iter().filter(|other| *other != name);
            let other = others.find_map(|other| {
                let version = known.version(other)?;
                (crate::knowledge::night(version)? != night).then(|| format!("`{other}` {version}"))
            })?;
            Some(Reason::rule(run, &group.id, format!("it is not of the same night as {other}")))
        }
    }
}

/// Says who keeps the package of an edge out of the edge's range.
fn held_by(
    run: &mut Run<'_, '_>,
    known: Known<'_>,
    (name, edge): (&PackageName, &Edge),
    minor: PythonMinor,
) -> Option<Reason> {
    for root in run.roots(minor) {
        if let RootSource::Versions(own) = &root.source
            && root.name == edge.name
            && own.range().is_disjoint(&edge.range)
        {
            return Some(Reason::package(&root.name, format!("your line asks for `{own}`")));
        }
    }
    for (by, other) in known.asking(run, &edge.name, minor) {
        // What the older release itself asks for goes with it.
        if by != *name && other.range.is_disjoint(&edge.range) && stays(run, known, &by, minor, &mut Vec::new()) {
            return Some(wish(run, known, &by, None, &other));
        }
    }
    None
}

/// Returns whether a package has its version for another reason than that the lock or another platform chose it: two
/// that were kept together do not explain each other. Those `seen` on the way to it do not count.
fn stays(
    run: &mut Run<'_, '_>,
    known: Known<'_>,
    name: &PackageName,
    minor: PythonMinor,
    seen: &mut Vec<PackageName>,
) -> bool {
    let version = known.version(name).expect("it is of the answer");
    let preferred = run.request.preferences.versions.get(name).is_some_and(|versions| versions.contains(version));
    if !preferred {
        return true;
    }
    let own: Vec<&Root> = run.roots(minor).into_iter().filter(|root| root.name == *name).collect();
    let newer = match newer(run, name, version, minor) {
        Ok(Some(newer)) => newer,
        Ok(None) => return true,
        Err(_) => return false,
    };
    if newer.own_reason(&own).is_some() {
        return true;
    }
    seen.push(name.clone());
    let point = Point::from(newer.newest);
    let excluding = known.asking(run, name, minor).into_iter().filter(|(_, edge)| !edge.range.contains(&point));
    let by: Vec<PackageName> = excluding.map(|(by, _)| by).filter(|by| !seen.contains(by)).collect();
    by.iter().any(|by| stays(run, known, by, minor, seen))
}

/// Says as much as is certain where only another solve could tell the reason.
fn open(request: &Request, name: &PackageName, chosen: &Version) -> Reason {
    let Preferences { versions, alike, .. } = &request.preferences;
    let text = match (versions.get(name), alike) {
        (Some(preferred), Some((platform, names))) if names.contains(name) && preferred.first() == Some(chosen) => {
            format!("the same as on {platform}")
        }
        (Some(_), _) => "the lock kept the older one, or other packages exclude it; `-U` tries again".to_owned(),
        (None, _) => "other packages of this set exclude it".to_owned(),
    };
    Reason { text, by: HeldBy::Open }
}

fn nothing_fits(run: &mut Run<'_, '_>, edge: &Edge, minor: PythonMinor) -> Result<Option<Reason>, Error> {
    let Some(releases) = run.releases(&edge.name, minor)? else {
        let text = format!("it asks for `{}`, which no index has", edge.name);
        return Ok(Some(Reason::package(&edge.name, text)));
    };
    if releases.best(&edge.range).is_some() {
        return Ok(None);
    }
    let wants = range::describe(&edge.range);
    let absence = newest_absence(&releases, &edge.range);
    let why = absence.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let text = format!("it asks for `{}` {wants}, and none fits{why}", edge.name);
    let by = absence.as_ref().map_or_else(|| HeldBy::Package(edge.name.clone()), |absence| Reason::from(absence).by);
    Ok(Some(Reason { text, by }))
}

/// Returns why the newest release in a range does not count.
pub(crate) fn newest_absence(releases: &Releases, range: &crate::pep::VersionRange) -> Option<Absence> {
    let in_range = |at: &usize| range.contains(&releases.points()[*at]);
    (0..releases.points().len()).filter(in_range).find_map(|at| releases.state(at).as_ref().err().cloned())
}
