//! What package metadata does not say, as data with a source for each piece.
//!
//! Rules ([`rule`]) are data in `rules/*.toml`, one file for each family; what the tags of single wheels get wrong is in
//! `wheels.toml`; what is wrong with their libraries and does no harm in `excused.toml`; the day, the newest frameworks
//! known and the rest in `knowledge.toml`. The solver sees them through [`InForce`]: what binds on one target. A finished
//! set is looked at by [`judge()`], which also tells what does not bind.
//!
//! ```text
//! rules/*.toml, wheels.toml --> Knowledge --> InForce  --> resolve: what counts, what demands what
//!                                   |
//!                                   +-------> judge()  --> notes, known problems, what newer knowledge condemns
//! ```
//!
//! # Adding a rule
//!
//! 1. Put a `[[rule]]` with all its fields into the file of its family; the fields are described in `read.rs`.
//! 2. Set `date` in `knowledge.toml` to the day.
//! 3. Add a scenario `tests/scenarios/resolve/rule-NAME.toml` with the smallest index in which the rule decides.
//! 4. `cargo test`. It fails when the rule cannot be read, or when no known release can ever match it; for a package
//!    that no rule spoke of before, `MACML_BLESS=1 MACML_LIVE=1 cargo test knowledge` records its releases first.
//!
//! Nothing here does I/O, and nothing knows of manifests, indexes or the solver.

pub mod rule;
pub mod wheels;

mod read;

mod excused;
mod here;
mod in_force;
mod judge;
mod nearest;
mod way_out;

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::OnceLock;

use crate::pep::PackageName;
use crate::pep::Version;

pub use excused::Excused;
pub use here::judge_here;
pub(crate) use in_force::night;
pub use in_force::{Circumstances, Demand, InForce, Side};
pub use judge::{Hit, Judgement, Reach, judge};
pub use read::ReadError;
pub use rule::{Force, Rule};

use rule::Evidence;
use wheels::{InnerTag, WheelFact};

/// Everything that is known.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// The day to which it is true, `2026.11.30`; empty for no knowledge at all.
    pub date: String,
    /// Packages that are for Macs only.
    pub darwin_only: Vec<PackageName>,
    /// The newest release of each framework that it was written with.
    pub newest: BTreeMap<PackageName, Version>,
    /// Packages whose nightly builds must be of one night.
    pub one_night: Vec<OneNight>,
    /// Wheels that are for a later macOS than their file name says.
    pub wheels: Vec<WheelFact>,
    /// Wheels whose inside contradicts their file name.
    pub inner_tags: Vec<InnerTag>,
    /// What is wrong with images of wheels, but does no harm.
    pub excused: Vec<Excused>,
    rules: Vec<Rule>,
    /// Places in `rules`, by the package that they are about.
    by_package: HashMap<PackageName, Vec<usize>>,
    /// Places in `rules`, by the packages that they name besides.
    by_other: HashMap<PackageName, Vec<usize>>,
}

/// Packages whose nightly builds must be of one night.
#[derive(Clone, PartialEq, Debug)]
pub struct OneNight {
    /// Its stable name, which `ignore-rules` takes.
    pub id: String,
    /// The packages.
    pub packages: Vec<PackageName>,
    /// Why, as one sentence for people.
    pub reason: String,
    /// Who says so.
    pub evidence: Vec<Evidence>,
}

impl OneNight {
    /// Writes where a reader finds the group and its ground.
    pub fn ground(&self) -> String {
        format!("rule `{}`: {} ({})", self.id, self.reason, rule::named(&self.evidence))
    }
}

impl Knowledge {
    /// Returns what this macml knows.
    pub fn built_in() -> Arc<Self> {
        static BUILT_IN: OnceLock<Arc<Knowledge>> = OnceLock::new();
        let read = || Arc::new(read::built_in().expect("a test reads every rule"));
        BUILT_IN.get_or_init(read).clone()
    }

    /// Returns what this macml knows with other rules: those of `text`, written as in the file of a family.
    ///
    /// # Errors
    /// When a rule cannot be read.
    pub fn with_rules_of(text: &str) -> Result<Self, ReadError> {
        read::rules(text)
    }

    /// Lists the rules, family by family in the order of their files.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the rule of a name.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// Lists the rules that are about a package or name it.
    pub fn about(&self, name: &PackageName) -> impl Iterator<Item = &Rule> {
        let mut places: Vec<usize> =
            [&self.by_package, &self.by_other].into_iter().filter_map(|by| by.get(name)).flatten().copied().collect();
        places.sort_unstable();
        places.dedup();
        places.into_iter().map(|at| &self.rules[at])
    }

    /// Writes why a rule or a group holds and who says so; `None` for a name that is none.
    pub fn ground(&self, id: &str) -> Option<String> {
        let night = || self.one_night.iter().find(|group| group.id == id).map(OneNight::ground);
        self.rule(id).map(Rule::ground).or_else(night)
    }

    /// Returns the reason of a rule or group with its name.
    pub fn brief(&self, id: &str) -> Option<String> {
        let group = self.one_night.iter().find(|group| group.id == id);
        let night = || group.map(|group| format!("rule `{}`: {}", group.id, group.reason));
        self.rule(id).map(Rule::brief).or_else(night)
    }

    /// Lists every name that `ignore-rules` may take.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let nights = self.one_night.iter().map(|one| one.id.as_str());
        self.rules.iter().map(|rule| rule.id.as_str()).chain(nights)
    }

    /// Lists what is known of the wheels of a package.
    pub fn wheels_of<'k>(&'k self, name: &'k PackageName) -> impl Iterator<Item = &'k WheelFact> {
        self.wheels.iter().filter(|fact| fact.packages.contains(name))
    }

    /// Returns the newest release of a framework that this knowledge was written with, if `version` is a later one.
    pub fn unknown(&self, name: &PackageName, version: &Version) -> Option<&Version> {
        self.newest.get(name).filter(|newest| version > *newest)
    }

    /// Puts rules in, in their order, and makes them found by package.
    fn with_rules(mut self, rules: Vec<Rule>) -> Self {
        for (at, rule) in rules.iter().enumerate() {
            self.by_package.entry(rule.package.clone()).or_default().push(at);
            for other in rule.others() {
                let places = self.by_other.entry(other.name.clone()).or_default();
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
        }
        self.rules = rules;
        self
    }
}
