//! What is to be said of a finished set: what condemns it, what it lacks for some use, which known problems it has.

use std::collections::BTreeMap;

use crate::pep::PackageName;
use crate::pep::Version;
use crate::target::PythonMinor;

use super::Circumstances;
use super::Knowledge;
use super::Rule;
use super::rule::Release;
use super::rule::Says;
use super::rule::Scope;

/// What the knowledge says of a set, the worst first in each list.
#[derive(Clone, Default, Debug)]
pub struct Judgement<'k> {
    /// Rules that bind and are broken: the set does not work there.
    pub condemned: Vec<Hit<'k>>,
    /// What does not bind, but is not as it should be: a converter beside a torch that it was not tested with.
    pub lacking: Vec<Hit<'k>>,
    /// Wrong results, crashes and crawling known of exactly these releases.
    pub problems: Vec<Hit<'k>>,
    /// What one should know anyway.
    pub advice: Vec<Hit<'k>>,
}

/// A rule that applies to a set.
#[derive(Clone, PartialEq, Debug)]
pub struct Hit<'k> {
    /// The rule.
    pub rule: &'k Rule,
    /// The release of its package in the set.
    pub version: Version,
    /// On which Macs.
    pub reach: Reach,
}

/// On which Macs something applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reach {
    /// On the lowest one, and maybe others.
    AtFloor,
    /// On later ones only.
    AboveFloor,
}

/// Looks at a set of releases as Macs from `on` upward would have it; `ignored` are names of knowledge switched off.
pub fn judge<'k>(
    knowledge: &'k Knowledge,
    set: &BTreeMap<PackageName, Version>,
    python: PythonMinor,
    on: &Circumstances,
    ignored: &[String],
) -> Judgement<'k> {
    let mut judgement = Judgement::default();
    for (name, version) in set {
        for rule in knowledge.by_package.get(name).into_iter().flatten().map(|at| &knowledge.rules[*at]) {
            if !rule.is_about(version) || !rule.counts_on(python) || ignored.contains(&rule.id) {
                continue;
            }
            let Some(reach) = on.reach(rule) else { continue };
            let Some(list) = judgement.list(rule, set, python, on) else { continue };
            list.push(Hit { rule, version: version.clone(), reach });
        }
    }
    judgement.leave_out_what_no_gpu_meets(on);
    for list in [&mut judgement.lacking, &mut judgement.problems, &mut judgement.advice] {
        list.sort_by_key(|hit| (hit.reach, hit.rule.problem(), hit.rule.confidence));
    }
    judgement
}

impl<'k> Judgement<'k> {
    /// Where a release cannot use the GPU of the lowest Mac, what goes wrong there is no news: it is of the Macs from
    /// which on it can, or of none.
    fn leave_out_what_no_gpu_meets(&mut self, on: &Circumstances) {
        let mut starts: Vec<(&PackageName, Option<Circumstances>)> = Vec::new();
        for hit in self.lacking.iter().chain(&self.condemned).filter(|hit| hit.rule.scope == Scope::Gpu) {
            let from = |macos| Circumstances { macos, ..on.clone() };
            match &hit.rule.says {
                Says::Unusable => starts.push((&hit.rule.package, None)),
                Says::NeedsMacos(needs) => {
                    let first = on.macos.upward().find(|macos| needs.contains(&macos.version()));
                    starts.push((&hit.rule.package, first.map(from)));
                }
                _ => {}
            }
        }
        for list in [&mut self.problems, &mut self.advice] {
            list.retain_mut(|hit| {
                let gpu = matches!(hit.rule.scope, Scope::Gpu | Scope::GpuBf16);
                let Some((_, start)) = starts.iter().find(|(name, _)| gpu && **name == hit.rule.package) else {
                    return true;
                };
                hit.reach = Reach::AboveFloor;
                start.as_ref().is_some_and(|start| start.reach(hit.rule).is_some())
            });
        }
    }

    /// Returns where a rule belongs that is about a release of the set; `None` when the set is as it should be.
    fn list(
        &mut self,
        rule: &Rule,
        set: &BTreeMap<PackageName, Version>,
        python: PythonMinor,
        on: &Circumstances,
    ) -> Option<&mut Vec<Hit<'k>>> {
        let has = |release: &Release| set.get(&release.name).is_some_and(|version| release.versions.contains(version));
        let broken = match &rule.says {
            Says::Requires(any_of) => !any_of.iter().any(has),
            Says::Conflicts(other) => has(other),
            alone @ (Says::Unusable | Says::NeedsMacos(_) | Says::NeedsPython(_)) => alone.excludes(on.macos, python),
            Says::Advice(advice) => advice.with.as_ref().is_none_or(has) && !advice.without.as_ref().is_some_and(has),
        };
        if !broken {
            return None;
        }
        Some(match &rule.says {
            Says::Advice(advice) if advice.problem.is_some() => &mut self.problems,
            Says::Advice(advice) if advice.with.is_none() && advice.without.is_none() => &mut self.advice,
            Says::Advice(_) => &mut self.lacking,
            _ if on.binds(rule) => &mut self.condemned,
            _ => &mut self.lacking,
        })
    }
}

impl Circumstances {
    /// Returns on which Macs from here upward a rule counts; `None` for none.
    fn reach(&self, rule: &Rule) -> Option<Reach> {
        let here = self.macos.version();
        let from_here = crate::pep::VersionRange::higher_than(here.clone());
        let generation = self.generation();
        let floor_chip = rule.chips.is_empty() || rule.chips.contains(&generation);
        let some_chip = floor_chip || rule.chips.iter().any(|chip| *chip > generation);
        let floor_macos = rule.macos.contains(&here);
        let some_macos = floor_macos || !rule.macos.range().is_disjoint(&from_here);
        match (floor_chip && floor_macos, some_chip && some_macos) {
            (true, _) => Some(Reach::AtFloor),
            (false, true) => Some(Reach::AboveFloor),
            (false, false) => None,
        }
    }
}
