//! `macml diff`: what changed between two locks, and what that means for the GPU by what is known of both.

use std::collections::BTreeMap;

use crate::knowledge::Circumstances;
use crate::knowledge::Hit;
use crate::knowledge::Knowledge;
use crate::knowledge::judge;
use crate::lock;
use crate::lock::Diff;
use crate::lock::Lockfile;
use crate::lock::model::LockedEnv;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::target::Floor;
use crate::target::Platform;

/// What changed, and what that means.
#[derive(Clone, Debug)]
pub struct Compared<'k> {
    /// What changed.
    pub diff: Diff,
    /// What is known of one of the two and not of the other, by environment and platform.
    pub meanings: Vec<Meaning<'k>>,
}

/// What is known of an environment on Macs before or after, and not both.
#[derive(Clone, Debug)]
pub struct Meaning<'k> {
    /// The environment's name.
    pub env: String,
    /// Its platform.
    pub platform: Platform,
    /// What counts for the new one alone: what condemns it first, then what goes wrong.
    pub gained: Vec<Hit<'k>>,
    /// What counted for the old one alone.
    pub lost: Vec<Hit<'k>>,
}

/// Compares two locks.
pub fn compare<'k>(old: Option<&Lockfile>, new: &Lockfile, knowledge: &'k Knowledge) -> Compared<'k> {
    let mut meanings = Vec::new();
    for env in &new.envs {
        let before = old.and_then(|lock| lock.env(&env.name, env.platform)).map(|env| known(env, knowledge));
        let (before, after) = (before.unwrap_or_default(), known(env, knowledge));
        let only = |all: &[Hit<'k>], others: &[Hit<'k>]| -> Vec<Hit<'k>> {
            all.iter().filter(|hit| !others.iter().any(|other| other.rule.id == hit.rule.id)).cloned().collect()
        };
        let (gained, lost) = (only(&after, &before), only(&before, &after));
        if !gained.is_empty() || !lost.is_empty() {
            meanings.push(Meaning { env: env.name.clone(), platform: env.platform, gained, lost });
        }
    }
    Compared { diff: lock::diff(old, Some(new)), meanings }
}

/// Lists what condemns an environment and what goes wrong in it, from its lowest Mac upward.
fn known<'k>(env: &LockedEnv, knowledge: &'k Knowledge) -> Vec<Hit<'k>> {
    let Floor::Mac { macos, chip } = &env.floor else { return Vec::new() };
    let set: BTreeMap<PackageName, Version> =
        env.packages.iter().map(|entry| (entry.name.clone(), entry.version.clone())).collect();
    let on = Circumstances { macos: *macos, chip: chip.clone(), gpu: env.gpu };
    let judgement = judge(knowledge, &set, env.python, &on, &env.ignored);
    judgement.condemned.into_iter().chain(judgement.lacking).chain(judgement.problems).collect()
}
