//! Libraries of the environment that are not where another one looks for them.

use super::case::{Case, Place, counted, grouped, listed, slice, words};
use super::said::Said;
use super::{fits, symbol};
use crate::check::dyld::{Grade, What};
use crate::diag::{Code, Finding};

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::LibraryMissing;
    let missing = case.troubles().filter_map(|(judged, trouble)| match trouble.what {
        What::LibraryMissing { library, outside: None, .. } if trouble.grade == Grade::Error => {
            Some((judged, trouble, library))
        }
        _ => None,
    });
    let mut findings = Vec::new();
    let missing = case.excuse(
        CODE,
        missing.collect(),
        |(judged, trouble, _)| Place { distribution: judged.distribution, image: trouble.image, symbol: None },
        &mut findings,
    );
    for ((distribution, library), missing) in grouped(missing, |(judged, _, library)| (judged.distribution, *library)) {
        let (judged, trouble, _) = missing[0];
        let what = counted(trouble.image, missing.len(), ["image", "images"]);
        let need = if missing.len() > 1 { "need" } else { "needs" };
        let release = case.release(distribution);
        let message = format!("{what} of {release} {need} `{library}`, which is not where dyld looks for it");
        let mut finding = Finding::error(CODE, message).noting(words(trouble));
        if let Some(brings) = trouble.brought_by.first() {
            let of = case.release(brings.distribution);
            let image = case.judged(brings.image).map(|one| one.image);
            finding = finding.noting(match image.and_then(|image| slice(image)?.install_name.as_deref()) {
                Some(name) => format!("`{}` of {of} is called `{name}`, and dyld goes by that", brings.image),
                None => format!("`{}` of {of} has that file name, which is not enough", brings.image),
            });
        }
        let names: Vec<&str> = symbol::missing(judged).map(|(_, name, _)| name).collect();
        if !names.is_empty() {
            let is = if names.len() > 1 { "are" } else { "is" };
            finding = finding.noting(format!("besides, {} {is} missing from what is loaded", listed(&names)));
        }
        let others = trouble.brought_by.iter().map(|one| one.distribution);
        let others: Vec<_> = others.filter(|other| *other != distribution).collect();
        let known = fits::fitting_any(case, distribution, others.iter().copied());
        let hint = known.unwrap_or_else(|| match others.first() {
            Some(other) => format!("take releases of `{distribution}` and `{other}` that were built for each other"),
            None => format!("install `{distribution}` again; if its wheel is so, take another release"),
        });
        findings.push(Said::about(distribution, trouble.image, finding.hinting(hint)).missing(true));
    }
    findings
}
