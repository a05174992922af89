//! Several OpenMP runtimes for one process.
//!
//! A wheel that brings its own and names it by `@loader_path` gets that one. One that expects a runtime from the Mac gets
//! whatever is loaded under the very path that it looks for; where nothing is, a second runtime comes from Homebrew. Both in
//! one process crash: `torch` from 2.11 on, whose runtime has another install name than before, with what expects
//! Homebrew's (<https://github.com/pytorch/pytorch/issues/191933>).
//! Two of which wheels keep one to themselves are everyday, and a note: LightGBM and XGBoost are mostly used beside
//! scikit-learn. So is an image that finds none, since it names no folder: numba then takes other threads.

use std::collections::BTreeMap;

use super::case::{Case, grouped, listed, slice};
use super::said::Said;
use super::{fits, outside};
use crate::check::dyld::{Judged, What};
use crate::check::facts::Ordinal;
use crate::diag::{Code, Finding, Severity};
use crate::knowledge::Rule;
use crate::pep::{PackageName, Version};

/// Where `delocate` puts what it copies into a wheel: install names below it are asked for by nobody else.
const PRIVATE: &str = "/DLC/";

/// Names that only OpenMP runtimes have.
const INTERFACE: [&str; 3] = ["___kmpc_", "_GOMP_", "_omp_"];

/// A runtime that a wheel brings.
struct Runtime<'a> {
    image: &'a str,
    distribution: &'a PackageName,
    install_name: Option<&'a str>,
}

/// An image that expects a runtime which no package of the set brings for it.
struct Expecting<'a> {
    judged: &'a Judged<'a>,
    library: &'a str,
    /// Every path under which it would be found.
    asked: Vec<&'a str>,
    /// Whether one of them is where people's package managers put libraries.
    on_the_mac: bool,
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    let runtimes: Vec<Runtime<'_>> = case.answer.images.iter().filter_map(runtime).collect();
    let expecting = grouped(case.answer.images.iter().filter_map(expecting), |one| one.judged.distribution);
    let mut findings: Vec<Said> = expecting.values().filter_map(|all| from_outside(case, &all[0], &runtimes)).collect();
    let owners = grouped(&runtimes, |runtime| runtime.distribution);
    if owners.len() > 1 {
        findings.push(each_its_own(case, &runtimes, &owners.keys().copied().collect::<Vec<_>>()));
    }
    findings
}

fn runtime<'a>(judged: &'a Judged<'a>) -> Option<Runtime<'a>> {
    let slice = slice(judged.image).filter(|slice| slice.markers.openmp)?;
    let install_name = slice.install_name.as_deref();
    Some(Runtime { image: &judged.image.path, distribution: judged.distribution, install_name })
}

/// Whether an image looks for a runtime where nobody of the set has put one.
fn expecting<'a>(judged: &'a Judged<'a>) -> Option<Expecting<'a>> {
    let slice = slice(judged.image)?;
    judged.troubles.iter().find_map(|trouble| {
        let (library, tried) = match &trouble.what {
            What::LibraryMissing { library, tried, outside: Some(_) } => (*library, &tried[..]),
            What::LoadsAfter { library } => (*library, &[][..]),
            _ => return None,
        };
        let place = slice.dependencies.iter().position(|dependency| dependency.path == library)?;
        let of_it = |ordinal: Ordinal| matches!(ordinal, Ordinal::Dependency(number) if number as usize == place + 1);
        let mut names = slice.imports.iter().filter(|import| of_it(import.ordinal));
        let is_openmp = names.any(|import| INTERFACE.iter().any(|prefix| import.name.starts_with(prefix)));
        let asked = std::iter::once(library).chain(tried.iter().map(|tried| tried.path.as_str())).collect();
        let on_the_mac = outside::is_of_a_package_manager(tried)
            || slice.rpaths.iter().any(|folder| outside::manager(folder).is_some());
        is_openmp.then_some(Expecting { judged, library, asked, on_the_mac })
    })
}

/// Says what becomes of an image that expects a runtime from outside, beside those that others bring.
fn from_outside(case: &Case<'_>, one: &Expecting<'_>, runtimes: &[Runtime<'_>]) -> Option<Said> {
    const CODE: Code = Code::SeveralOpenmp;
    let own = one.judged.distribution;
    let is_shared = |runtime: &Runtime<'_>| runtime.install_name.is_some_and(|name| one.asked.contains(&name));
    // Where no Mac has one, it is that of the set or none at all.
    let meets = |runtime: &&Runtime<'_>| runtime.distribution != own && (one.on_the_mac || is_shared(runtime));
    let others: Vec<&Runtime<'_>> = runtimes.iter().filter(meets).collect();
    let is_private = |runtime: &Runtime<'_>| runtime.install_name.is_some_and(|name| name.starts_with(PRIVATE));
    let by_weight = |runtime: &&&Runtime<'_>| (is_shared(runtime), is_private(runtime));
    let runtime = *others.iter().min_by_key(by_weight)?;
    let (release, other) = (case.release(own), case.release(runtime.distribution));
    let image = &one.judged.image.path;
    let two = || format!("`{image}` of {release} loads an OpenMP runtime of the Mac beside that of {other}");
    let (mut finding, crash) = if is_shared(runtime) {
        let order =
            format!("`{image}` of {release} takes the OpenMP runtime of {other} only where that is loaded first");
        (Finding::note(CODE, order), None)
    } else if is_private(runtime) {
        let crash = known_crash(case, &[own, runtime.distribution]);
        (if crash.is_some() { Finding::warning(CODE, two()) } else { Finding::note(CODE, two()) }, crash)
    } else {
        (Finding::error(CODE, two()), None)
    };
    let name = runtime.install_name.unwrap_or("nothing");
    finding = finding.noting(format!("it looks for `{}`, and `{}` is called `{name}`", one.library, runtime.image));
    if let Some(rule) = crash {
        finding = finding.noting(rule.brief());
    }
    let said = |finding| Said::about(own, image, finding);
    if is_shared(runtime) {
        return Some(said(finding.hinting(format!("import `{}` before `{own}`", runtime.distribution))));
    }
    if finding.severity > Severity::Error {
        return Some(said(finding.hinting(EVERYDAY)));
    }
    let other = runtime.distribution;
    let hint = fits::fitting(case, own, other).unwrap_or_else(|| {
        let called = one.asked.iter().take(2).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(" or ");
        format!(
            "keep `{own}` and `{other}` in environments or processes of their own; a release of `{other}` whose runtime is \
             called {called} would be shared; or let `{own}` use one thread"
        )
    });
    Some(said(finding.noting(WARNING).hinting(hint)))
}

const WARNING: &str = "both in one process crash or compute wrong; `KMP_DUPLICATE_LIB_OK` only silences the message";

const EVERYDAY: &str = "nothing is to be done unless a process that uses several of them at once aborts with `OMP: Error #15` or \
                        crashes; `KMP_DUPLICATE_LIB_OK` is no cure";

/// Says that several wheels bring a runtime each.
fn each_its_own(case: &Case<'_>, runtimes: &[Runtime<'_>], owners: &[&PackageName]) -> Said {
    const CODE: Code = Code::SeveralOpenmp;
    let message = format!("{} bring an OpenMP runtime each", listed(owners));
    let mut finding = match known_crash(case, owners) {
        Some(rule) => Finding::warning(CODE, message).noting(rule.brief()),
        None => Finding::note(CODE, message),
    };
    for runtime in runtimes {
        finding = finding.noting(format!("`{}` of {}", runtime.image, case.release(runtime.distribution)));
    }
    Said::about(runtimes[0].distribution, runtimes[0].image, finding.hinting(EVERYDAY))
}

/// Returns what is known of crashes between owners of runtimes.
fn known_crash<'a>(case: &Case<'a>, owners: &[&'a PackageName]) -> Option<&'a Rule> {
    let version = |owner: &&'a PackageName| Some((*owner, case.of(owner)?.version));
    let set: BTreeMap<&PackageName, &Version> = owners.iter().filter_map(version).collect();
    owners.iter().find_map(|owner| case.knowledge.about(owner).find(|rule| rule.is_crash_of(&set)))
}
