//! Which releases would fit together, as far as the knowledge or they themselves know.

use super::case::Case;
use crate::knowledge::Rule;
use crate::knowledge::rule::{Release, Says};
use crate::pep::{PackageName, Specifiers};

/// Says which releases of two packages of the set fit together, where something is known of them.
pub(super) fn fitting(case: &Case<'_>, needs: &PackageName, brings: &PackageName) -> Option<String> {
    let (left, right) = (case.of(needs)?, case.of(brings)?);
    let rules: Vec<&Rule> = case.knowledge.about(needs).collect();
    // What is said of these very releases, and not kept.
    let broken = rules.iter().find(|rule| {
        let (own, other) = if rule.package == *needs { (left, right) } else { (right, left) };
        let is_other = |release: &Release| release.name == *other.name;
        let has = |release: &Release| release.name == *other.name && release.versions.contains(other.version);
        rule.package == *own.name
            && rule.is_about(own.version)
            && match &rule.says {
                Says::Requires(any_of) => any_of.iter().any(is_other) && !any_of.iter().any(has),
                Says::Conflicts(conflict) => has(conflict),
                _ => false,
            }
    });
    if let Some(rule) = broken {
        let version = if rule.package == *needs { left.version } else { right.version };
        return Some(format!("{}: {}", rule.statement_of(version), rule.source()));
    }
    // What one of them says itself.
    for (own, other) in [(left, right), (right, left)] {
        let Some(text) = own.facts.versions.get(other.name) else { continue };
        let Ok(versions) = text.parse::<Specifiers>() else { continue };
        if !versions.contains(other.version) {
            let other = Release { name: other.name.clone(), versions };
            return Some(format!("{} itself asks for {other}", case.release(own.name)));
        }
    }
    // Another release of the one that would take the other as it is.
    let other = rules.iter().find(|rule| match &rule.says {
        Says::Requires(any_of) if rule.package == *needs => {
            any_of.iter().any(|release| release.name == *brings && release.versions.contains(right.version))
        }
        _ => false,
    });
    other.map(|rule| {
        let right = case.release(brings);
        format!("of `{needs}`, the releases {} are for {right}: {}", rule.versions, rule.source())
    })
}

/// Says it of one package and the first of others of which something is known.
pub(super) fn fitting_any<'a>(
    case: &Case<'_>,
    needs: &PackageName,
    others: impl IntoIterator<Item = &'a PackageName>,
) -> Option<String> {
    others.into_iter().find_map(|other| fitting(case, needs, other))
}
