//! What would fit instead of a set that does not work, as far as it is known.

use std::collections::BTreeMap;

use crate::pep::PackageName;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::target::MacosVersion;

use super::Hit;
use super::Knowledge;
use super::Rule;
use super::rule::Advice;
use super::rule::Evidence;
use super::rule::Force;
use super::rule::Problem;
use super::rule::Release;
use super::rule::Says;
use super::rule::Scope;

impl Knowledge {
    /// Says what to take instead of what a rule condemns in a set of releases, as far as it is known.
    pub fn way_out(
        &self,
        hit: &Hit<'_>,
        releases: &BTreeMap<PackageName, Version>,
        macos: MacosVersion,
    ) -> Option<String> {
        let rule = hit.rule;
        let own = Release { name: rule.package.clone(), versions: rule.versions.clone() };
        match &rule.says {
            Says::Requires(any_of) => {
                let listed = |all: &[&Release]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
                let here: Vec<&Release> =
                    any_of.iter().filter(|release| releases.contains_key(&release.name)).collect();
                if !here.is_empty() {
                    return Some(format!("take {}, or leave `{}` out", listed(&here), rule.package));
                }
                let all: Vec<&Release> = any_of.iter().collect();
                let fitting = any_of.iter().find_map(|release| self.fitting(&release.name, hit));
                if let Some(fitting) = fitting {
                    return Some(format!(
                        "add {fitting}, the newest known to go with `{}` {}",
                        rule.package, hit.version
                    ));
                }
                let pairs = any_of.iter().find_map(|release| self.pairing(&release.name, hit));
                let pairs = pairs.map(|pairing| format!(", and what it goes with: {pairing}")).unwrap_or_default();
                Some(format!("add {}{pairs}", listed(&all)))
            }
            Says::Conflicts(other) => {
                let ways: Vec<String> = [&own, other].into_iter().filter_map(Release::apart).collect();
                Some(match ways.is_empty() {
                    true => format!("leave `{}` or `{}` out", own.name, other.name),
                    false => format!("take {}", ways.join(" or ")),
                })
            }
            Says::Unusable => Some(match own.apart() {
                Some(others) => format!("take {others}"),
                None => format!("leave `{}` out", own.name),
            }),
            Says::NeedsMacos(needs) => {
                let later = format!("only Macs with macOS {needs}");
                Some(match self.last(rule, macos) {
                    Some(last) => {
                        let does = if rule.scope == Scope::Gpu { "use the GPU of" } else { "be for" };
                        format!("take `{}` {last}, the newest known to {does} macOS {macos}; or {later}", own.name)
                    }
                    None => format!("take another release of `{}`, or {later}", own.name),
                })
            }
            Says::NeedsPython(needs) => Some(format!("take Python {needs}")),
            Says::Advice(_) => None,
        }
    }

    /// Returns the requirement, as an installer takes it, that keeps to the way out: `torch==2.8.0`, `numpy<2`. `None` where
    /// nothing that could be installed is known, or that is for a person to choose.
    pub fn requirement_out(
        &self,
        hit: &Hit<'_>,
        releases: &BTreeMap<PackageName, Version>,
        macos: MacosVersion,
    ) -> Option<String> {
        let rule = hit.rule;
        match &rule.says {
            Says::Requires(any_of) => {
                let there = any_of.iter().find(|release| releases.contains_key(&release.name));
                there.or(any_of.first()).map(|release| format!("{}{}", release.name, release.versions))
            }
            Says::Conflicts(_) | Says::Unusable => {
                let own = Release { name: rule.package.clone(), versions: rule.versions.clone() };
                own.apart().map(|others| others.replace(['`', ' '], ""))
            }
            Says::NeedsMacos(_) => self.last(rule, macos).map(|last| format!("{}=={last}", rule.package)),
            Says::NeedsPython(_) | Says::Advice(_) => None,
        }
    }

    /// Says with which releases the newest of a package to be added goes, where it does not go with the one that is there.
    pub fn pairing(&self, added: &PackageName, hit: &Hit<'_>) -> Option<String> {
        let rule = self.partners(added, hit).last()?;
        (!takes(rule, hit)).then(|| rule.statement())
    }

    /// Names the newest releases of a package to be added that go with the one that is there; `None` where nothing is known of
    /// that, or none goes.
    fn fitting(&self, added: &PackageName, hit: &Hit<'_>) -> Option<Release> {
        let rule = self.partners(added, hit).filter(|rule| takes(rule, hit)).last()?;
        Some(Release { name: rule.package.clone(), versions: rule.versions.clone() })
    }

    /// Lists the rules on a package that say beside which releases of the other one it can be. Families list theirs in order.
    fn partners<'k>(&'k self, added: &PackageName, hit: &Hit<'_>) -> impl Iterator<Item = &'k Rule> {
        let about = self.about(added).filter(|rule| rule.package == *added && rule.force() == Force::Always);
        about.filter(|rule| match &rule.says {
            Says::Requires(any_of) => any_of.iter().any(|release| release.name == hit.rule.package),
            _ => false,
        })
    }

    /// Finds the newest release that a wheel was read of which does on this macOS what `beside` says of another one.
    pub fn last(&self, beside: &Rule, macos: MacosVersion) -> Option<Version> {
        let fits = |rule: &&Rule| {
            let satisfied = matches!(&rule.says, Says::NeedsMacos(needs) if needs.contains(&macos.version()));
            rule.package == beside.package && rule.scope == beside.scope && satisfied
        };
        let read = |evidence: &Evidence| match evidence {
            Evidence::Wheel(file) => file.parse::<WheelName>().ok(),
            Evidence::Address(_) | Evidence::Files(_) => None,
        };
        let versions = self.about(&beside.package).filter(fits).flat_map(|rule| {
            let wheels = rule.evidence.iter().filter_map(read).filter(|wheel| wheel.name == rule.package);
            wheels.map(|wheel| wheel.version).filter(|version| rule.is_about(version))
        });
        versions.max()
    }
}

/// Whether a rule admits the release that is there.
fn takes(rule: &Rule, hit: &Hit<'_>) -> bool {
    let admits = |release: &Release| release.name == hit.rule.package && release.versions.contains(&hit.version);
    rule.others().into_iter().any(admits)
}

impl Release {
    /// Returns the releases below or above these: `` `numpy` <2.4 `` for `numpy` >=2.4; `None` where they are not simply that.
    pub fn apart(&self) -> Option<String> {
        let versions = self.versions.to_string();
        let (operator, from) = match versions.strip_prefix(">=") {
            Some(from) => ("<", from),
            None => (">=", versions.strip_prefix('<').filter(|from| !from.starts_with('='))?),
        };
        (!from.contains(',')).then(|| format!("`{}` {operator}{from}", self.name))
    }
}

impl Rule {
    /// Whether the rule keeps two packages apart of which `other` says what one needs of the other: that says more.
    pub fn is_said_better_by(&self, other: &Self) -> bool {
        match (&self.says, &other.says) {
            (Says::Conflicts(kept_out), Says::Requires(any_of)) => {
                other.package == kept_out.name && any_of.iter().any(|release| release.name == self.package)
            }
            _ => false,
        }
    }

    /// Whether the rule tells of crashes between packages of a set as they are in it.
    pub fn is_crash_of(&self, set: &BTreeMap<&PackageName, &Version>) -> bool {
        let has = |other: &Release| set.get(&other.name).is_some_and(|version| other.versions.contains(version));
        let Says::Advice(Advice { with: Some(with), without, problem: Some(Problem::Crash), .. }) = &self.says else {
            return false;
        };
        set.get(&self.package).is_some_and(|version| self.is_about(version))
            && has(with)
            && !without.as_ref().is_some_and(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_beside_others() {
        let check = |versions: &str, expected: Option<&str>| {
            let release = Release { name: "numpy".parse().unwrap(), versions: versions.parse().unwrap() };
            assert_eq!(release.apart().as_deref(), expected, "{versions}");
        };
        check(">=2.4", Some("`numpy` <2.4"));
        check("<2", Some("`numpy` >=2"));
        // Whether there is a later one is not known.
        check("<=1.2.0", None);
        check(">=2.4,<3", None);
        check("<2,>=1", None);
        check("==1.2", None);
        check("*", None);
    }
}
