//! Releases of the set that others, by their own metadata, do not go with. Solvers see to it; who installs one package after
//! the other, or overrides what they say, does not.
//!
//! An error where both have libraries and one asks for exactly one release of the other, which is of another line: its
//! operators are then not there, whether dyld is content or not (`operator torchvision::nms does not exist`).

use super::case::Case;
use super::said::Said;
use crate::diag::{Code, Finding};
use crate::knowledge::rule::Release;
use crate::pep::{PackageName, Specifiers, Version};

/// Whether two releases are of one line: 2.7.0 and 2.7.1.
fn of_one_line(one: &Version, other: &Version) -> bool {
    let line = |version: &Version| version.release().iter().copied().chain([0, 0]).take(2).collect::<Vec<_>>();
    line(one) == line(other)
}

/// A release of the set that another one asks for otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// What asks.
    pub one: (&'a PackageName, &'a Version),
    /// What it asks about.
    pub other: (&'a PackageName, &'a Version),
    /// Whether both have libraries.
    pub native: bool,
}

/// Says that a release is beside one that it does not go with; `None` where it asks for nothing else.
pub fn unmet(Beside { one, other, native }: Beside<'_>, versions: &Specifiers) -> Option<Finding> {
    const CODE: Code = Code::RequirementUnmet;
    if versions.contains(other.1) {
        return None;
    }
    let certain = native && versions.exact().is_some_and(|exact| !of_one_line(exact, other.1));
    let asked = Release { name: other.0.clone(), versions: versions.clone() };
    let named = |(name, version): (&PackageName, &Version)| format!("`{name}` {version}");
    let (release, beside) = (named(one), named(other));
    let message = format!("{release} asks for {asked}, and beside it is {beside}");
    let finding = match certain {
        true => Finding::error(CODE, message)
            .noting("it was built for exactly that release: operators or names of the other one are not there"),
        false => Finding::warning(CODE, message),
    };
    Some(finding.hinting(format!("take {asked}, or a release of `{}` that asks for {beside}", one.0)))
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    let mut findings = Vec::new();
    for one in case.installed {
        for (name, text) in &one.facts.versions {
            let (Some(other), Ok(versions)) = (case.of(name), text.parse::<Specifiers>()) else { continue };
            let native = !one.facts.images.is_empty() && !other.facts.images.is_empty();
            let beside = Beside { one: (one.name, one.version), other: (name, other.version), native };
            let unmet = unmet(beside, &versions);
            findings.extend(unmet.map(|finding| Said { path: None, ..Said::about(one.name, "", finding) }));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_releases() {
        let check = |one: &str, other: &str, expected| {
            assert_eq!(of_one_line(&one.parse().unwrap(), &other.parse().unwrap()), expected, "{one} {other}");
        };
        check("2.7.0", "2.7.1", true);
        check("2.7", "2.7.1", true);
        check("2", "2.0.3", true);
        check("2.7.1", "2.8.0", false);
        check("1.7", "2.7", false);
    }
}
