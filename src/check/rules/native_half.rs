//! Packages whose libraries come with another one that is not in the set.

use std::collections::BTreeSet;

use super::case::{Case, counted, grouped, listed, words};
use super::outside;
use super::said::Said;
use crate::check::dyld::{Judged, Outside, Trouble, What};
use crate::check::facts::{Hook, WheelFacts};
use crate::diag::{Code, Finding};
use crate::pep::PackageName;

/// What is not in the set, and would bring a library.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Cause<'a> {
    /// Packages for Macs that it requires.
    ForMacs(Vec<&'a PackageName>),
    /// Other packages that it requires, maybe with another Python only.
    Required(Vec<&'a PackageName>),
    /// The framework that it plugs into.
    Host(&'static str),
}

/// Returns the package that has the native code of a framework, as Python imports it.
fn host(hook: Hook) -> &'static str {
    match hook {
        Hook::TensorFlow => "tensorflow",
        Hook::Jax => "jaxlib",
    }
}

/// Whether a distribution is the framework of a hook.
pub(super) fn is_host(hook: Hook, facts: &WheelFacts) -> bool {
    facts.packages.iter().any(|package| package.name == host(hook))
}

/// Returns the first framework that a distribution plugs into and that nobody brings.
fn absent_host(case: &Case<'_>, facts: &WheelFacts) -> Option<&'static str> {
    let absent = |hook: &&Hook| !case.installed.iter().any(|one| is_host(**hook, one.facts));
    facts.hooks.iter().find(absent).map(|hook| host(*hook))
}

/// Returns what would bring a library that no package of the set has; `None` where nothing is known to.
pub(super) fn cause<'a>(case: &Case<'a>, judged: &Judged<'a>, trouble: &Trouble<'a>) -> Option<Cause<'a>> {
    let What::LibraryMissing { tried, outside: Some(outside), .. } = &trouble.what else { return None };
    if *outside == Outside::Expected || outside::is_of_a_package_manager(tried) {
        return None;
    }
    let own = case.of(judged.distribution)?.facts;
    if let Some(host) = absent_host(case, own) {
        return Some(Cause::Host(host));
    }
    let absent = own.requires.iter().filter(|name| case.of(name).is_none());
    let (for_macs, others): (Vec<_>, Vec<_>) = absent.partition(|name| case.knowledge.darwin_only.contains(name));
    match (for_macs.is_empty(), others.is_empty()) {
        (false, _) => Some(Cause::ForMacs(for_macs)),
        // What is looked for on the machine of the builder is in no package.
        (true, false) if *outside == Outside::Beside => Some(Cause::Required(others)),
        _ => None,
    }
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::NativeHalfMissing;
    let missing = case.troubles().filter_map(|(judged, trouble)| match trouble.what {
        What::LibraryMissing { library, .. } => Some((judged, trouble, library, cause(case, judged, trouble)?)),
        _ => None,
    });
    let mut findings = Vec::new();
    let mut told = Vec::new();
    for ((distribution, cause), missing) in grouped(missing, |(judged, .., cause)| (judged.distribution, cause.clone()))
    {
        told.push(distribution);
        let (_, trouble, library, _) = missing[0];
        let release = case.release(distribution);
        let libraries: BTreeSet<&str> = missing.iter().map(|(_, _, library, _)| *library).collect();
        let what = counted(library, libraries.len(), ["library", "libraries"]);
        let needs = format!("`{}` of {release} needs {what}", trouble.image);
        let finding = match cause {
            Cause::Host(host) => {
                let message = format!("{release} is a plugin for `{host}`, which is not in the set");
                Finding::error(CODE, message).noting(words(trouble)).hinting(add(&[host]))
            }
            Cause::ForMacs(absent) => {
                let message = format!("{needs}, and {}, which brings it, is not in the set", listed(&absent));
                Finding::error(CODE, message).noting(words(trouble)).hinting(add(&absent))
            }
            Cause::Required(absent) => {
                let message = format!("{needs}, which no package of the set brings");
                let not_there = format!("it requires {}, of which nothing is in the set", listed(&absent));
                Finding::warning(CODE, message).noting(not_there).noting(words(trouble)).hinting(add(&absent))
            }
        };
        findings.push(Said::about(distribution, trouble.image, finding).missing(true));
    }
    // A plugin that loads without its framework is of no use either.
    for one in case.installed.iter().filter(|one| !told.contains(&one.name) && !one.facts.images.is_empty()) {
        if let Some(host) = absent_host(case, one.facts) {
            let message = format!("{} is a plugin for `{host}`, which is not in the set", case.release(one.name));
            let finding = Finding::warning(CODE, message).hinting(add(&[host]));
            findings.push(Said::about(one.name, &one.facts.images[0].path, finding).missing(true));
        }
    }
    findings
}

fn add<T: std::fmt::Display>(absent: &[T]) -> String {
    match absent {
        [one] => format!("add `{one}` to the set"),
        many => format!("add those of {} that are for Macs", listed(many)),
    }
}
