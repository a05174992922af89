//! Libraries that no package of the set brings and that are expected to be on the Mac; and those that a package brought and
//! that are gone.

use super::case::{Case, Place, counted, grouped, listed, words};
use super::native_half;
use super::said::Said;
use crate::check::dyld::{Outside, Tried, What, leaf};
use crate::diag::{Code, Finding};
use crate::pep::PackageName;

/// From where a library is expected, the most harmless last.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum From {
    /// The environment, where it was: who brought it.
    Gone(PackageName),
    /// A package manager: of Homebrew what to install, where the path tells.
    Homebrew(Option<String>),
    MacPorts,
    /// The machine that built the image.
    Builder,
    /// The environment, which lacks it.
    Beside,
    /// Anywhere: whoever uses this part brings it.
    Anywhere,
}

/// Whether a library is looked for where people's own package managers put libraries.
pub(super) fn is_of_a_package_manager(tried: &[Tried<'_>]) -> bool {
    tried.iter().any(|tried| matches!(manager(&tried.path), Some(From::Homebrew(_) | From::MacPorts)))
}

/// Returns the package manager that puts libraries at a path.
pub(super) fn manager(path: &str) -> Option<From> {
    if let Some(rest) = path.strip_prefix("/opt/homebrew/").or_else(|| path.strip_prefix("/usr/local/opt/")) {
        let formula = rest.strip_prefix("opt/").or(path.starts_with("/usr/local/").then_some(rest));
        return Some(From::Homebrew(formula.and_then(|rest| rest.split('/').next()).map(str::to_owned)));
    }
    path.starts_with("/opt/local/").then_some(From::MacPorts)
}

fn from(case: &Case<'_>, outside: Outside, tried: &[Tried<'_>]) -> From {
    if let Some(brought) = tried.iter().find_map(|tried| case.gone.get(&tried.path)) {
        return From::Gone(brought.clone());
    }
    let manager = tried.iter().find_map(|tried| manager(&tried.path));
    match outside {
        Outside::Expected => From::Anywhere,
        _ if manager.is_some() => manager.unwrap_or(From::MacPorts),
        Outside::BuildMachine => From::Builder,
        Outside::Beside => From::Beside,
    }
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::LibraryFromOutside;
    let missing = case.troubles().filter_map(|(judged, trouble)| match &trouble.what {
        What::LibraryMissing { library, tried, outside: Some(outside) }
            if native_half::cause(case, judged, trouble).is_none() =>
        {
            Some((judged, trouble, *library, from(case, *outside, tried)))
        }
        _ => None,
    });
    let mut findings = Vec::new();
    let missing = case.excuse(
        CODE,
        missing.collect(),
        |(judged, trouble, ..)| Place { distribution: judged.distribution, image: trouble.image, symbol: None },
        &mut findings,
    );
    for ((distribution, from), missing) in grouped(missing, |(judged, .., from)| (judged.distribution, from.clone())) {
        let (_, trouble, ..) = missing[0];
        let mut images: Vec<&str> = missing.iter().map(|(judged, ..)| judged.image.path.as_str()).collect();
        images.dedup();
        let mut libraries: Vec<&str> = missing.iter().map(|(_, _, library, _)| leaf(library)).collect();
        libraries.sort_unstable();
        libraries.dedup();
        let what = counted(images[0], images.len(), ["image", "images"]);
        let need = if images.len() > 1 { "need" } else { "needs" };
        // What was there once is in no other distribution.
        let misses = !matches!(from, From::Gone(_));
        let release = case.release(distribution);
        let why = match &from {
            From::Gone(brought) => format!("which {} brought, and which is gone", case.release(brought)),
            _ => "which no package of the set brings".to_owned(),
        };
        let message = format!("{what} of {release} {need} {}, {why}", listed(&libraries));
        let mut finding = match from {
            From::Gone(_) => Finding::error(Code::LibraryMissing, message),
            From::Anywhere => Finding::note(CODE, message),
            _ => Finding::warning(CODE, message),
        };
        finding = finding.noting(words(trouble));
        let strangers = trouble.brought_by.iter().map(|one| one.distribution);
        let strangers: Vec<_> = strangers.filter(|other| *other != distribution).collect();
        if !strangers.is_empty() {
            finding = finding.noting(format!("that of {} is not where this one is looked for", listed(&strangers)));
        }
        finding = match from {
            From::Gone(brought) => finding.hinting(format!("install `{brought}` again")),
            From::Homebrew(Some(formula)) => {
                finding.hinting(format!("`brew install {formula}` puts it where it is looked for"))
            }
            From::Homebrew(None) => finding.hinting("it is looked for where Homebrew puts libraries"),
            From::MacPorts => finding.hinting("it is looked for where MacPorts puts libraries"),
            From::Builder => finding
                .noting("it is looked for in folders of the machine that built the wheel")
                .hinting(format!("take another release of `{distribution}`, or do without what uses this image")),
            From::Beside => finding
                .noting("it is looked for in the environment only")
                .hinting(format!("install `{distribution}` again; if its wheel is so, take another release")),
            From::Anywhere => {
                finding.noting("what names no folder to look in is usually optional, and used where it is found")
            }
        };
        findings.push(Said::about(distribution, trouble.image, finding).missing(misses));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_package_managers_put_libraries() {
        let check = |path: &str, expected: Option<From>| assert_eq!(manager(path), expected, "{path}");
        let brew = |formula: &str| Some(From::Homebrew(Some(formula.to_owned())));
        check("/opt/homebrew/opt/libomp/lib/libomp.dylib", brew("libomp"));
        check("/usr/local/opt/libomp/lib/libomp.dylib", brew("libomp"));
        check("/opt/homebrew/lib/libomp.dylib", Some(From::Homebrew(None)));
        check("/opt/local/lib/libomp/libomp.dylib", Some(From::MacPorts));
        check("/Users/b/lib/libomp.dylib", None);
        check("/usr/local/lib/libomp.dylib", None);
    }
}
