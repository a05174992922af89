//! What binds on one target: the part of the knowledge that the solver sees.
//!
//! Binding looks at the floor. What is true only above it, or only for some chips at or above the declared one, is for
//! [`judge()`](super::judge()) to tell. Everything here is a function of package, version and Python alone.

use std::collections::HashMap;
use std::sync::Arc;

use crate::host::Chip;
use crate::pep::PackageName;
use crate::pep::Specifiers;
use crate::pep::Version;
use crate::pep::VersionRange;
use crate::target::Gpu;
use crate::target::MacosVersion;
use crate::target::PythonMinor;

use super::Knowledge;
use super::Rule;
use super::rule::Says;

/// The lowest Mac, and what it must do.
#[derive(Clone, PartialEq, Debug)]
pub struct Circumstances {
    /// Its macOS.
    pub macos: MacosVersion,
    /// Its chip.
    pub chip: Chip,
    /// Whether its GPU must be usable.
    pub gpu: Gpu,
}

/// The knowledge that binds on one target.
#[derive(Clone, Debug)]
pub struct InForce {
    knowledge: Arc<Knowledge>,
    /// The floor on Macs; absent elsewhere.
    macos: Option<MacosVersion>,
    /// Of each rule, whether it binds; empty where none does.
    binds: Vec<bool>,
    /// Places of groups whose nightly builds must be of one night.
    nights: Vec<usize>,
}

/// What a release demands by knowledge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Demand {
    /// One of the alternatives of the rule at this place.
    OneOf(usize),
    /// That nothing of the other side of the rule at this place is there.
    Apart(usize, Side),
    /// That the nightly builds of the group at this place are of the night (`20260105`).
    Night(usize, u64),
}

/// One of the two sides that exclude each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// The package that the rule is about.
    Own,
    /// The other one.
    Other,
}

impl InForce {
    /// Selects what binds. `on` is the lowest Mac, absent on other platforms; `ignored` are names of knowledge switched
    /// off.
    pub fn new(knowledge: &Arc<Knowledge>, on: Option<&Circumstances>, ignored: &[String]) -> Self {
        // Made for every solve, edits that are tried included: nothing is copied.
        let binds = |on: &Circumstances| {
            let binding = |rule: &Rule| on.binds(rule) && !ignored.contains(&rule.id);
            knowledge.rules().iter().map(binding).collect()
        };
        let nights = knowledge.one_night.iter().enumerate().filter(|(_, group)| !ignored.contains(&group.id));
        Self {
            knowledge: knowledge.clone(),
            macos: on.map(|on| on.macos),
            binds: on.map(binds).unwrap_or_default(),
            nights: nights.map(|(at, _)| at).collect(),
        }
    }

    /// Returns all of the knowledge, binding or not.
    pub fn knowledge(&self) -> &Arc<Knowledge> {
        &self.knowledge
    }

    /// Returns the rule at a place.
    pub fn rule(&self, at: usize) -> &Rule {
        &self.knowledge.rules()[at]
    }

    /// Returns the macOS floor, on Macs.
    pub fn macos(&self) -> Option<MacosVersion> {
        self.macos
    }

    /// Returns the rule for which a release does not count at all, if there is one.
    pub fn excludes(&self, name: &PackageName, version: &Version, python: PythonMinor) -> Option<&Rule> {
        let macos = self.macos?;
        self.binding(name, version, python).map(|at| self.rule(at)).find(|rule| rule.says.excludes(macos, python))
    }

    /// Returns which releases must not be beside a side of the rule at a place; `None` where it keeps nothing apart.
    pub fn against(&self, at: usize, side: Side) -> Option<(&PackageName, &Specifiers)> {
        let rule = self.rule(at);
        let Says::Conflicts(other) = &rule.says else { return None };
        Some(match side {
            Side::Own => (&other.name, &other.versions),
            Side::Other => (&rule.package, &rule.versions),
        })
    }

    /// Lists what a release demands.
    pub fn demands(&self, name: &PackageName, version: &Version, python: PythonMinor) -> Vec<Demand> {
        let mut demands = Vec::new();
        for at in self.binding(name, version, python) {
            match &self.rule(at).says {
                Says::Requires(_) => demands.push(Demand::OneOf(at)),
                Says::Conflicts(_) => demands.push(Demand::Apart(at, Side::Own)),
                _ => {}
            }
        }
        for at in self.places(&self.knowledge.by_other, name) {
            let rule = self.rule(at);
            match &rule.says {
                Says::Conflicts(other)
                    if other.name == *name && other.versions.contains(version) && rule.counts_on(python) =>
                {
                    demands.push(Demand::Apart(at, Side::Other));
                }
                _ => {}
            }
        }
        if let Some(night) = night(version) {
            let groups = self.nights.iter().filter(|at| self.knowledge.one_night[**at].packages.contains(name));
            demands.extend(groups.map(|at| Demand::Night(*at, night)));
        }
        demands
    }

    /// Lists what every release in `range` demands to be kept apart from, so that it need not be found out one by one.
    pub fn apart(&self, name: &PackageName, range: &VersionRange, python: PythonMinor) -> Vec<(usize, Side)> {
        let mut all = Vec::new();
        let (own, other) = (&self.knowledge.by_package, &self.knowledge.by_other);
        for (side, by) in [(Side::Own, own), (Side::Other, other)] {
            for at in self.places(by, name) {
                let rule = self.rule(at);
                let Says::Conflicts(other) = &rule.says else { continue };
                let versions = match side {
                    Side::Own => &rule.versions,
                    Side::Other => &other.versions,
                };
                if rule.counts_on(python) && range.subset_of(versions.range()) {
                    all.push((at, side));
                }
            }
        }
        all
    }

    /// Lists the binding rules about a release.
    fn binding(&self, name: &PackageName, version: &Version, python: PythonMinor) -> impl Iterator<Item = usize> {
        self.places(&self.knowledge.by_package, name).filter(move |at| {
            let rule = self.rule(*at);
            rule.is_about(version) && rule.counts_on(python)
        })
    }

    /// Lists the binding rules of a package in an index of the knowledge.
    fn places<'f>(
        &'f self,
        by: &'f HashMap<PackageName, Vec<usize>>,
        name: &PackageName,
    ) -> impl Iterator<Item = usize> + use<'f> {
        let places = by.get(name).into_iter().flatten().copied();
        places.filter(|at| self.binds.get(*at).copied().unwrap_or_default())
    }
}

impl Rule {
    /// Returns whether the rule counts on a Python.
    pub fn counts_on(&self, python: PythonMinor) -> bool {
        self.python.is_any() || self.python.contains(&python.version())
    }
}

impl Says {
    /// Returns whether releases of which this is said do not work there, whatever is beside them.
    pub(super) fn excludes(&self, macos: MacosVersion, python: PythonMinor) -> bool {
        match self {
            Self::Unusable => true,
            Self::NeedsMacos(needs) => !needs.contains(&macos.version()),
            Self::NeedsPython(needs) => !needs.contains(&python.version()),
            Self::Requires(_) | Self::Conflicts(_) | Self::Advice(_) => false,
        }
    }
}

impl Circumstances {
    /// Returns whether a rule binds here, if it is about a release at all.
    pub fn binds(&self, rule: &Rule) -> bool {
        let chips = rule.chips.is_empty()
            || (self.generation()..=Chip::NEWEST_GENERATION).all(|generation| rule.chips.contains(&generation));
        self.is_forced(rule) && chips && (rule.macos.is_any() || rule.macos.contains(&self.macos.version()))
    }

    /// Returns the generation of its chip as rules know them: a later one is treated like the newest.
    pub(super) fn generation(&self) -> u8 {
        self.chip.generation().min(Chip::NEWEST_GENERATION)
    }
}

/// Returns the night of a nightly build: 20260105 of `2.7.0.dev20260105`.
pub(crate) fn night(version: &Version) -> Option<u64> {
    version.dev().filter(|dev| (20_000_101..=99_991_231).contains(dev))
}
