//! Plugins of jax that speak another version of PJRT's interface than jaxlib. No name crosses between them, so that dyld
//! has nothing to say: jaxlib itself refuses a plugin.

use super::case::{Case, slice};
use super::fits;
use super::said::Said;
use crate::check::facts::Pjrt;
use crate::diag::{Code, Finding};
use crate::knowledge::rule::Says;
use crate::pep::Version;

/// The framework, and its releases whose version of the interface was read from their code, oldest first.
const FRAMEWORK: (&str, [(&str, Pjrt); 4]) =
    ("jaxlib", [("0.4.34", minor(54)), ("0.4.38", minor(58)), ("0.5.3", minor(67)), ("0.7.0", minor(73))]);

const fn minor(minor: u32) -> Pjrt {
    Pjrt { major: 0, minor }
}

/// What a release of the framework speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Spoken {
    Exactly(Pjrt),
    /// It is between or after those that were read, and versions only grow.
    AtLeast(Pjrt),
}

fn spoken(version: &Version) -> Option<Spoken> {
    let known = FRAMEWORK.1.iter().rev().find_map(|(known, pjrt)| {
        let known: Version = known.parse().expect("they are versions");
        (known <= *version).then_some((known == *version, *pjrt))
    });
    known.map(|(exactly, pjrt)| if exactly { Spoken::Exactly(pjrt) } else { Spoken::AtLeast(pjrt) })
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    let Some(framework) = case.installed.iter().find(|one| one.name.as_str() == FRAMEWORK.0) else { return Vec::new() };
    let Some(spoken) = spoken(framework.version) else { return Vec::new() };
    let plugins = case.installed.iter().filter_map(|one| {
        let plugin = one.facts.images.iter().find_map(|image| Some((&image.path, slice(image)?.markers.pjrt?)));
        plugin.map(|(image, pjrt)| (one, image, pjrt))
    });
    let differ = plugins.filter(|(_, _, pjrt)| match spoken {
        Spoken::Exactly(framework) => *pjrt != framework,
        Spoken::AtLeast(framework) => *pjrt < framework,
    });
    let told = differ.map(|(one, image, pjrt)| {
        let theirs = match spoken {
            Spoken::Exactly(pjrt) => format!("{}.{}", pjrt.major, pjrt.minor),
            Spoken::AtLeast(pjrt) => format!("{}.{} or a later one", pjrt.major, pjrt.minor),
        };
        let (release, other) = (case.release(one.name), case.release(framework.name));
        let message = format!(
            "{release} speaks version {}.{} of PJRT's interface, and {other} speaks {theirs}",
            pjrt.major, pjrt.minor
        );
        let jax = case.installed.iter().map(|one| one.name).filter(|name| one.facts.requires.contains(name));
        let hint = fits::fitting_any(case, one.name, std::iter::once(framework.name).chain(jax));
        let hint = hint.unwrap_or_else(|| {
            format!(
                "take a `{}` of the time of the plugin, or set ENABLE_PJRT_COMPATIBILITY=1 and verify",
                framework.name
            )
        });
        let mut finding = Finding::warning(Code::PjrtVersion, message).noting(format!(
            "`{image}` loads all the same: `{}` refuses it later, or calls what it does not have",
            framework.name
        ));
        let known = case.knowledge.about(one.name).find(|rule| {
            let with = match &rule.says {
                Says::Advice(advice) => advice.with.as_ref(),
                _ => None,
            };
            let is_it =
                with.is_some_and(|with| with.name == *framework.name && with.versions.contains(framework.version));
            rule.package == *one.name && rule.is_about(one.version) && is_it
        });
        if let Some(rule) = known {
            finding = finding.noting(rule.brief());
        }
        Said::about(one.name, image, finding.hinting(hint))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_what_was_read() {
        let check = |version: &str, expected| assert_eq!(spoken(&version.parse().unwrap()), expected, "{version}");
        check("0.4.33", None);
        check("0.4.34", Some(Spoken::Exactly(minor(54))));
        check("0.4.36", Some(Spoken::AtLeast(minor(54))));
        check("0.7.0", Some(Spoken::Exactly(minor(73))));
        check("0.9", Some(Spoken::AtLeast(minor(73))));
    }
}
