//! Generated rules, which read two ways as cases do: as the text of a family, and directly by the brute force.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use macml::knowledge::Knowledge;
use macml::knowledge::OneNight;

use super::case::Case;
use super::case::Kind;
use super::case::Spec;
use super::case::spec;

/// A rule about releases of a package. A package that is one more than there are is on no index.
#[derive(Clone, Debug)]
pub(crate) struct RuleLine {
    pub(crate) package: usize,
    pub(crate) spec: Spec,
    pub(crate) says: Says,
    pub(crate) python: Option<Pythons>,
}

/// What it says of them.
#[derive(Clone, Debug)]
pub(crate) enum Says {
    /// They need one of these.
    Requires(Vec<(usize, Spec)>),
    /// They cannot be beside these.
    Conflicts(usize, Spec),
    Unusable,
    /// They need macOS 14 plus this; the floor is 14.
    NeedsMacos(u8),
    NeedsPython(Pythons),
}

/// Some Pythons.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pythons {
    From(u16),
    Below(u16),
}

impl Pythons {
    fn text(self) -> String {
        match self {
            Self::From(minor) => format!(">=3.{minor}"),
            Self::Below(minor) => format!("<3.{minor}"),
        }
    }

    fn contain(self, minor: u16) -> bool {
        match self {
            Self::From(least) => minor >= least,
            Self::Below(end) => minor < end,
        }
    }
}

impl RuleLine {
    /// Says whether the rule counts on Python 3.`minor`.
    pub(crate) fn counts_on(&self, minor: u16) -> bool {
        self.python.is_none_or(|pythons| pythons.contain(minor))
    }

    /// Says whether a release that the rule is about does not count on Python 3.`minor`.
    pub(crate) fn excludes(&self, minor: u16) -> bool {
        match &self.says {
            Says::Unusable => true,
            Says::NeedsMacos(above) => *above > 0,
            Says::NeedsPython(pythons) => !pythons.contain(minor),
            Says::Requires(_) | Says::Conflicts(..) => false,
        }
    }

    fn write(&self, at: usize, text: &mut String) {
        let versions = match self.spec {
            Spec::Any => "*".to_owned(),
            spec => spec.text(),
        };
        let name = Case::name(self.package);
        let release = |(package, spec): &(usize, Spec)| format!("\"{}{}\"", Case::name(*package), spec.text());
        let (kind, more) = match &self.says {
            Says::Requires(any_of) => {
                ("requires", format!("other = [{}]", any_of.iter().map(release).collect::<Vec<_>>().join(", ")))
            }
            Says::Conflicts(package, spec) => ("conflicts", format!("other = [{}]", release(&(*package, *spec)))),
            Says::Unusable => ("conflicts", String::new()),
            Says::NeedsMacos(above) => {
                ("needs-macos", format!("needs = \">={}.0\"", [14, 15, 26, 27][*above as usize]))
            }
            Says::NeedsPython(pythons) => ("needs-python", format!("needs = \"{}\"", pythons.text())),
        };
        let python = self.python.map(|pythons| format!("python = \"{}\"\n", pythons.text())).unwrap_or_default();
        writeln!(
            text,
            "[[rule]]\nid = \"rule-{at}\"\npackage = \"{name}\"\nversions = \"{versions}\"\nkind = \"{kind}\"\n{more}\n\
             {python}reason = \"It was made up.\"\nevidence = [\"files of {name}\"]\nconfidence = \"measured\"\n"
        )
        .unwrap();
    }
}

impl Case {
    /// Writes the rules down, with one group of nightly builds.
    pub(crate) fn knowledge(&self) -> Knowledge {
        let mut text = String::new();
        self.rules.iter().enumerate().for_each(|(at, rule)| rule.write(at, &mut text));
        let mut knowledge = Knowledge::with_rules_of(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let nightly = (0..self.packages.len()).filter(|at| self.packages[*at].kind == Kind::Nightly);
        knowledge.one_night = vec![OneNight {
            id: "nights".to_owned(),
            packages: nightly.map(|at| Self::name(at).parse().unwrap()).collect(),
            reason: "They are built together.".to_owned(),
            evidence: Vec::new(),
        }];
        knowledge
    }

    /// Says whether some rule leaves a choice; which of its alternatives is best is not a question of single packages.
    pub(crate) fn has_alternatives(&self) -> bool {
        self.rules.iter().any(|rule| matches!(&rule.says, Says::Requires(any_of) if any_of.len() > 1))
    }

    /// Lists the rules about a release under Python 3.`minor`.
    pub(crate) fn rules_about(&self, package: usize, release: usize, minor: u16) -> impl Iterator<Item = &RuleLine> {
        let about = move |rule: &&RuleLine| {
            rule.package == package && rule.counts_on(minor) && rule.spec.admits(self.version(package, release))
        };
        self.rules.iter().filter(about)
    }
}

/// Generates up to four rules about `size` packages; most cases have none.
pub(crate) fn rules(size: usize) -> impl Strategy<Value = Vec<RuleLine>> {
    let pythons = || {
        let minor = prop::sample::select(vec![12u16, 13]);
        prop_oneof![minor.clone().prop_map(Pythons::From), minor.prop_map(Pythons::Below)]
    };
    let other = move || (0..=size, spec());
    let says = prop_oneof![
        4 => vec(other(), 1..=3).prop_map(Says::Requires),
        4 => other().prop_map(|(package, spec)| Says::Conflicts(package, spec)),
        1 => Just(Says::Unusable),
        1 => (0..4u8).prop_map(Says::NeedsMacos),
        1 => pythons().prop_map(Says::NeedsPython),
    ];
    let rule = (0..size, spec(), says, option::weighted(0.2, pythons()))
        .prop_map(|(package, spec, says, python)| RuleLine { package, spec, says, python });
    prop_oneof![2 => Just(Vec::new()), 3 => vec(rule, 1..=4)]
}
