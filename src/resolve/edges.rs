//! Requirements as one Python on one platform sees them: markers decided, extras split off, patches set apart.

use crate::knowledge::Demand;
use crate::knowledge::rule;
use crate::manifest::model::{EnvSpec, Root, RootSource};
use crate::pep::{ExtraName, MarkerEnv, PackageName, Requirement, RequirementSource, Specifiers, Truth};
use crate::pep::{Version, VersionRange};
use crate::target::{Platform, PythonMinor};

/// One package that a release (or the user) depends on.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Edge {
    /// The package.
    pub(crate) name: PackageName,
    /// Extras of it.
    pub(crate) extras: Vec<ExtraName>,
    /// Versions of it.
    pub(crate) range: VersionRange,
    /// The version of an `==` among the specifiers.
    pub(crate) exact: Option<Version>,
    /// The place of the rule that asks for it, where it is not the metadata.
    pub(crate) rule: Option<usize>,
}

/// What a release depends on.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Edges {
    /// Packages, in the order of the metadata.
    pub(crate) packages: Vec<Edge>,
    /// Patch releases under which this holds; `None` is all.
    pub(crate) patches: Option<VersionRange>,
    /// What knowledge adds.
    pub(crate) demands: Vec<Demand>,
}

/// The patch that stands for all releases of a minor to come.
const LATER: u64 = 100_000;

/// Lists the patch releases of `minor`: every known one, then the one that stands for those to come.
pub(crate) fn patches(minor: PythonMinor) -> Vec<Version> {
    let newest = PythonMinor::RELEASED.iter().find(|(known, _)| *known == minor).map_or(0, |(_, patch)| *patch);
    let known = (0..=u64::from(newest)).chain([LATER]);
    known.map(|patch| Version::new([u64::from(minor.major), u64::from(minor.minor), patch])).collect()
}

/// Returns whether `patch` stands for the releases to come.
pub(crate) fn is_later(patch: &Version) -> bool {
    patch.release().get(2) == Some(&LATER)
}

/// Keeps the patches of `minor` that `specifiers` admit: `Some(None)` all, `None` none.
pub(crate) fn admitted_patches(minor: PythonMinor, specifiers: &Specifiers) -> Option<Option<VersionRange>> {
    let all = patches(minor);
    let left: Vec<&Version> = all.iter().filter(|patch| specifiers.contains(patch)).collect();
    match left.len() {
        0 => None,
        some if some == all.len() => Some(None),
        _ => Some(Some(union(left))),
    }
}

fn union<'v>(patches: impl IntoIterator<Item = &'v Version>) -> VersionRange {
    let one = |patch: &Version| VersionRange::singleton(patch.clone());
    patches.into_iter().map(one).fold(VersionRange::empty(), |all, one| all.union(&one))
}

/// Decides the requirements of a release.
///
/// With `extra`, only what that extra adds is returned. An `Err` says why the release cannot be used.
pub(crate) fn decide(
    requirements: &[Requirement],
    env: &MarkerEnv,
    minor: PythonMinor,
    extra: Option<&ExtraName>,
) -> Result<Edges, String> {
    let mut kept: Vec<(&Requirement, Truth)> = Vec::new();
    for requirement in requirements {
        let Some(marker) = &requirement.marker else {
            if extra.is_none() {
                kept.push((requirement, Truth::Always));
            }
            continue;
        };
        let truth = match extra {
            None => marker.evaluate(env, &[]),
            Some(extra) => {
                let without = marker.evaluate(env, &[]);
                let with = marker.evaluate(env, std::slice::from_ref(extra));
                // What holds without the extra is the base node's.
                if with == without { Truth::Never } else { with }
            }
        };
        if truth != Truth::Never {
            kept.push((requirement, truth));
        }
    }
    let patches = choose_sides(&mut kept, env, minor, extra);
    let packages = kept.into_iter().map(|(requirement, _)| edge(requirement)).collect::<Result<_, _>>()?;
    Ok(Edges { packages, patches, demands: Vec::new() })
}

/// Of requirements on one package that exclude each other by patch release, keeps the newest known patch's side.
///
/// Other undecided requirements stay: they can only ask for more than some Mac needs. Returns the patches under which
/// the sides taken are the right ones.
fn choose_sides(
    kept: &mut Vec<(&Requirement, Truth)>,
    env: &MarkerEnv,
    minor: PythonMinor,
    extra: Option<&ExtraName>,
) -> Option<VersionRange> {
    if kept.iter().filter(|(_, truth)| *truth == Truth::Unknown).count() < 2 {
        return None;
    }
    let all = patches(minor);
    let extras = extra.map(std::slice::from_ref).unwrap_or_default();
    let truths = |requirement: &Requirement| -> Vec<Truth> {
        let at = |patch: &Version| {
            let env = MarkerEnv { python_full_version: Some(patch.clone()), ..env.clone() };
            requirement.marker.as_ref().map_or(Truth::Always, |marker| marker.evaluate(&env, extras))
        };
        all.iter().map(at).collect()
    };
    let undecided: Vec<(PackageName, Vec<Truth>)> = kept
        .iter()
        .filter(|(_, truth)| *truth == Truth::Unknown)
        .map(|(requirement, _)| (requirement.name.clone(), truths(requirement)))
        .collect();
    let complementary = |name: &PackageName, own: &[Truth]| {
        let disjoint =
            |other: &[Truth]| own.iter().zip(other).all(|pair| pair.0 == &Truth::Never || pair.1 == &Truth::Never);
        undecided.iter().any(|(other_name, other)| other_name == name && disjoint(other))
    };
    let mut left: Option<Vec<bool>> = None;
    kept.retain(|(requirement, truth)| {
        if *truth != Truth::Unknown {
            return true;
        }
        let own = truths(requirement);
        if !complementary(&requirement.name, &own) {
            return true;
        }
        // Of the known ones: nobody has a patch to come, and most markers that look so far ahead guess.
        let side = own[own.len() - 2];
        let left = left.get_or_insert_with(|| vec![true; all.len()]);
        for (left, truth) in left.iter_mut().zip(&own) {
            *left &= (*truth == Truth::Never) == (side == Truth::Never);
        }
        side != Truth::Never
    });
    let left = left?;
    Some(union(all.iter().zip(left).filter(|(_, left)| *left).map(|(patch, _)| patch)))
}

fn edge(requirement: &Requirement) -> Result<Edge, String> {
    match &requirement.source {
        RequirementSource::Versions(specifiers) => Ok(Edge {
            name: requirement.name.clone(),
            extras: requirement.extras.clone(),
            range: specifiers.range().clone(),
            exact: specifiers.exact().cloned(),
            rule: None,
        }),
        RequirementSource::Url(_) => {
            Err(format!("it asks for `{}` by address, which only macml.toml may do", requirement.name))
        }
    }
}

/// Lists the user's roots that may apply on `platform` with `env`, in the order in which they are decided: exact pins,
/// frameworks, dependencies, each by name.
pub(crate) fn roots<'e>(spec: &'e EnvSpec, platform: Platform, env: &MarkerEnv) -> Vec<&'e Root> {
    let applies = |root: &&Root| {
        root.platform.is_none_or(|only| only == platform)
            && root.marker.as_ref().is_none_or(|marker| marker.evaluate(env, &[]) != Truth::Never)
    };
    let mut roots: Vec<&Root> = spec.roots.iter().filter(applies).collect();
    let pinned = |root: &Root| match &root.source {
        RootSource::Versions(specifiers) => specifiers.exact().is_some(),
        RootSource::Path(_) | RootSource::Url { .. } => true,
    };
    let dependency = |root: &Root| root.table == crate::manifest::model::RootTable::Dependencies;
    roots.sort_by_key(|root| (!pinned(root), dependency(root), root.name.clone()));
    roots
}

/// Makes the edge of a root.
pub(crate) fn root_edge(root: &Root) -> Edge {
    let (range, exact) = match &root.source {
        RootSource::Versions(specifiers) => (specifiers.range().clone(), specifiers.exact().cloned()),
        RootSource::Path(_) | RootSource::Url { .. } => (VersionRange::full(), None),
    };
    Edge { name: root.name.clone(), extras: root.extras.clone(), range, exact, rule: None }
}

/// Makes the edge of an alternative of the rule at a place.
pub(crate) fn rule_edge(at: usize, wanted: &rule::Release) -> Edge {
    let range = wanted.versions.range().clone();
    Edge { name: wanted.name.clone(), extras: Vec::new(), range, exact: None, rule: Some(at) }
}
