//! Why a package is in an environment, in that version: who asks for it, what keeps it from being newer, and what is
//! known of it.

use std::collections::BTreeMap;

use crate::diag::Span;
use crate::index::source::Source;
use crate::knowledge::Circumstances;
use crate::knowledge::Hit;
use crate::knowledge::Knowledge;
use crate::knowledge::judge;
use crate::lock;
use crate::lock::Pins;
use crate::lock::model::LockedEnv;
use crate::manifest::model::EnvSpec;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::progress::Progress;
use crate::resolve;
use crate::resolve::Facts;
use crate::resolve::held::Asking;
use crate::resolve::resolution::Held;
use crate::resolve::resolution::HeldBy;
use crate::target::Platform;
use crate::target::PythonMinor;

use super::Answer;
use super::Error;
use super::Outcome;

/// Why one package is in one environment on one platform, or that it is not.
#[derive(Clone, Debug)]
pub struct Why<'k> {
    /// The environment as declared.
    pub env: EnvSpec,
    /// The platform.
    pub platform: Platform,
    /// The package.
    pub name: PackageName,
    /// How it stands there; `None` when it is not in this environment.
    pub standing: Option<Standing<'k>>,
}

/// A package that is there.
#[derive(Clone, Debug)]
pub struct Standing<'k> {
    /// Its version.
    pub version: Version,
    /// Lines of the manifest that ask for it, in short, with their places.
    pub lines: Vec<(String, Span)>,
    /// Packages that ask for it.
    pub asked_by: Vec<Asking>,
    /// The newest release, where it is another one, with the reason.
    pub held: Option<Held>,
    /// The newest release that macml knows of, where the chosen or the newest one is later.
    pub known_to: Option<Version>,
    /// The lowest Mac, on Macs.
    pub floor: Option<Circumstances>,
    /// What is known of it in this set, from the floor upward: what condemns it, what it lacks, its problems, advice.
    pub hits: Vec<Hit<'k>>,
    /// Rules that shaped this environment and speak of the package, by name.
    pub rules: Vec<String>,
}

/// Says why packages are in the environments of an outcome.
///
/// # Errors
/// When an index could not be asked.
pub fn why<'k>(
    outcome: &Outcome,
    names: &[PackageName],
    knowledge: &'k Knowledge,
    source: &mut dyn Source,
    progress: &dyn Progress,
) -> Result<Vec<Why<'k>>, Error> {
    let mut facts = Facts::new(source, progress);
    let mut all = Vec::new();
    for answer in &outcome.answers {
        let Some(locked) = outcome.lockfile.env(&answer.env.name, answer.platform) else { continue };
        for name in names {
            let standing = match python(answer, locked, name) {
                Some(python) => Some(python),
                None => standing(outcome, (&answer.env, locked), name, knowledge, &mut facts)?,
            };
            all.push(Why { env: answer.env.clone(), platform: answer.platform, name: name.clone(), standing });
        }
    }
    Ok(all)
}

/// Says how the Python stands in an environment, where `name` is its name: it is a package of the solver's like others.
fn python<'k>(answer: &Answer, locked: &LockedEnv, name: &PackageName) -> Option<Standing<'k>> {
    if name.as_str() != "python" || locked.entry(name).is_some() {
        return None;
    }
    let version = |minor: PythonMinor| Version::new([minor.major, minor.minor].map(u64::from));
    let held = answer.python_held.as_ref().map(|held| Held {
        name: name.clone(),
        chosen: version(locked.python),
        newest: version(held.newer),
        reason: held.reason.clone(),
        by: HeldBy::Package(held.by.clone()),
    });
    Some(Standing {
        version: version(locked.python),
        lines: vec![(format!("python {}", answer.env.python), answer.env.python_span)],
        asked_by: Vec::new(),
        held,
        known_to: None,
        floor: resolve::circumstances(&answer.env, locked.platform),
        hits: Vec::new(),
        rules: Vec::new(),
    })
}

fn standing<'k>(
    outcome: &Outcome,
    (env, locked): (&EnvSpec, &LockedEnv),
    name: &PackageName,
    knowledge: &'k Knowledge,
    facts: &mut Facts<'_>,
) -> Result<Option<Standing<'k>>, Error> {
    let Some(entry) = locked.entry(name) else { return Ok(None) };
    let preferences = lock::combine(&[&Pins::from(&outcome.lockfile)], &locked.name, locked.platform);
    let request = super::request(&outcome.project.manifest, &outcome.folder, (env, locked.platform), preferences)?;
    let kept = super::kept(&outcome.lockfile, locked);
    let failed = |cause| Error::Resolve { cause, project: Box::new(outcome.project.clone()) };
    let standing = resolve::held::standing(&request, &kept, locked.python, name, facts).map_err(failed)?;
    let (asked_by, held) = standing.map_or_else(Default::default, |standing| (standing.asked_by, standing.held));
    let here = |root: &&crate::manifest::model::Root| {
        root.name == *name && root.platform.is_none_or(|only| only == locked.platform)
    };
    let lines = env.roots.iter().filter(here).map(|root| (resolve::describe_root(root), root.span)).collect();
    let newest = held.as_ref().map_or(&entry.version, |held| &held.newest);
    let floor = resolve::circumstances(env, locked.platform);
    Ok(Some(Standing {
        version: entry.version.clone(),
        lines,
        asked_by,
        known_to: knowledge.unknown(name, newest).cloned(),
        held,
        hits: floor.as_ref().map(|floor| hits(knowledge, (env, locked), floor, name)).unwrap_or_default(),
        floor,
        rules: shaping(knowledge, locked, name),
    }))
}

/// Lists what is known of a package in its set, the worst first.
fn hits<'k>(
    knowledge: &'k Knowledge,
    (env, locked): (&EnvSpec, &LockedEnv),
    floor: &Circumstances,
    name: &PackageName,
) -> Vec<Hit<'k>> {
    let set: BTreeMap<_, _> = locked.packages.iter().map(|entry| (entry.name.clone(), entry.version.clone())).collect();
    let judgement = judge(knowledge, &set, locked.python, floor, &env.resolution.ignore_rules);
    let all = [judgement.condemned, judgement.problems, judgement.lacking, judgement.advice];
    all.into_iter().flatten().filter(|hit| hit.rule.package == *name).collect()
}

/// Lists the rules that shaped an environment and speak of a package.
fn shaping(knowledge: &Knowledge, locked: &LockedEnv, name: &PackageName) -> Vec<String> {
    // A lock of another day may name rules that are no more.
    let speaks = |id: &&String| {
        let night = knowledge.one_night.iter().any(|group| group.id == **id && group.packages.contains(name));
        night || knowledge.about(name).any(|rule| rule.id == **id)
    };
    locked.rules.iter().filter(speaks).cloned().collect()
}
