//! Which Pythons and which macOS versions a table has.

use crate::knowledge::Knowledge;
use crate::knowledge::Rule;
use crate::knowledge::rule::Says;
use crate::knowledge::rule::Scope;
use crate::pep::PackageName;
use crate::pep::Specifiers;
use crate::resolve::candidate::admits;
use crate::target::MacosVersion;
use crate::target::PythonMinor;

/// The rows and columns of a table, each in ascending order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axes {
    /// A row each.
    pub pythons: Vec<PythonMinor>,
    /// A column each: the lowest macOS that must work.
    pub floors: Vec<MacosVersion>,
}

/// The oldest macOS that is asked about where nobody names any.
const OLDEST: MacosVersion = MacosVersion::new(12, 0);

/// The highest minor of a macOS that rules are read at.
const MOST_MINORS: u16 = 9;

/// Lists the released Pythons of a range.
pub fn pythons(range: &Specifiers) -> Vec<PythonMinor> {
    PythonMinor::RELEASED.iter().map(|(minor, _)| *minor).filter(|minor| admits(range, *minor)).collect()
}

/// Lists the macOS versions at which answers for `packages` may change: the majors, and the floors that rules and wheels
/// of these packages name; besides `own`.
pub(super) fn floors(knowledge: &Knowledge, packages: &[&PackageName], own: Option<MacosVersion>) -> Vec<MacosVersion> {
    let mut named: Vec<MacosVersion> = own.into_iter().collect();
    // Also of those that rules bring in, as TensorFlow its Metal plugin.
    let mut involved: Vec<&PackageName> = packages.to_vec();
    let mut at = 0;
    while let Some(name) = involved.get(at).copied() {
        at += 1;
        for rule in knowledge.about(name).filter(|rule| rule.package == *name) {
            named.extend(changes(rule));
            if let Says::Requires(any_of) = &rule.says {
                let new = any_of.iter().map(|one| &one.name).filter(|name| !involved.contains(name));
                involved.extend(new.collect::<Vec<_>>());
            }
        }
        named.extend(knowledge.wheels_of(name).map(|fact| fact.macos));
    }
    named.retain(|macos| Some(*macos) == own || (*macos >= OLDEST && macos.major() <= MacosVersion::NEWEST_MAJOR));
    let mut all = OLDEST.generations();
    // Where a package begins within the oldest major, what is before that has nothing to tell.
    if let Some(first) = named.iter().filter(|macos| macos.major() == OLDEST.major()).min() {
        all[0] = *first;
    }
    all.extend(named);
    all.sort_unstable();
    all.dedup();
    all
}

/// Lists the macOS versions at which a rule begins or ceases to matter for an answer.
fn changes(rule: &Rule) -> Vec<MacosVersion> {
    let binding = matches!(rule.scope, Scope::Install | Scope::Import | Scope::Gpu);
    let counts = rule.problem().is_some() || (binding && !matches!(rule.says, Says::Advice(_)));
    let needs = match &rule.says {
        Says::NeedsMacos(needs) => Some(needs),
        _ => None,
    };
    let specifiers = std::iter::once(&rule.macos).chain(needs).filter(|one| counts && !one.is_any());
    specifiers.flat_map(bounds).collect()
}

/// Lists the macOS versions at which specifiers begin or cease to hold.
fn bounds(specifiers: &Specifiers) -> Vec<MacosVersion> {
    let minors = |major: MacosVersion| (0..=MOST_MINORS).map(move |minor| MacosVersion::new(major.major(), minor));
    let all: Vec<MacosVersion> = MacosVersion::new(11, 0).generations().into_iter().flat_map(minors).collect();
    let holds = |macos: &MacosVersion| specifiers.contains(&macos.version());
    all.windows(2).filter(|pair| holds(&pair[0]) != holds(&pair[1])).map(|pair| pair[1]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(floors: &[MacosVersion]) -> Vec<String> {
        floors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn bounds_of_specifiers() {
        let check = |text: &str, wanted: &[&str]| assert_eq!(shown(&bounds(&text.parse().unwrap())), wanted, "{text}");
        check(">=12.3", &["12.3"]);
        check(">=14.4,<26.0", &["14.4", "26.0"]);
        check("<=14.3", &["14.4"]);
        check("==26.*", &["26.0", "27.0"]);
        check(">=11.0", &[]);
    }

    #[test]
    fn columns_without_knowledge_are_the_majors_and_the_own_floor() {
        let knowledge = Knowledge::default();
        let majors = ["12.0", "13.0", "14.0", "15.0", "26.0", "27.0"];
        let torch: PackageName = "torch".parse().unwrap();
        assert_eq!(shown(&floors(&knowledge, &[&torch], None)), majors);
        let own = MacosVersion::new(13, 3);
        assert_eq!(shown(&floors(&knowledge, &[&torch], Some(own)))[..3], ["12.0", "13.0", "13.3"]);
        let old = MacosVersion::new(11, 0);
        assert_eq!(shown(&floors(&knowledge, &[], Some(old)))[..2], ["11.0", "12.0"]);
    }

    #[test]
    fn rows_are_the_released_pythons_of_the_range() {
        let check = |range: &str, wanted: &[&str]| {
            let rows = pythons(&range.parse().unwrap());
            assert_eq!(rows.iter().map(ToString::to_string).collect::<Vec<_>>(), wanted, "{range}");
        };
        check(">=3.11,<3.14", &["3.11", "3.12", "3.13"]);
        check("==3.12.4", &["3.12"]);
        check(">=4", &[]);
    }
}
