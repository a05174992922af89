//! Libraries that are found only because something else was loaded before, and that nobody is sure to load.

use super::case::{Case, counted, grouped};
use super::said::Said;
use crate::check::dyld::{Grade, What};
use crate::diag::{Code, Finding};

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::LoadOrder;
    let told = case.troubles().filter_map(|(judged, trouble)| match trouble.what {
        // Where somebody is sure to load it that is how it is meant, and no news.
        What::LoadsAfter { library } if trouble.grade <= Grade::Warning => Some((judged, trouble, library)),
        What::Differs { library, .. } => Some((judged, trouble, library)),
        _ => None,
    });
    let groups = grouped(told, |(judged, trouble, library)| (judged.distribution, trouble.grade, *library));
    let findings = groups.into_iter().map(|((distribution, grade, library), told)| {
        let (_, trouble, _) = told[0];
        let what = counted(trouble.image, told.len(), ["image", "images"]);
        let release = case.release(distribution);
        let find = if told.len() > 1 { "find" } else { "finds" };
        let finding = match trouble.brought_by.first() {
            Some(first) if grade == Grade::Warning => {
                let first = format!("`{}` of {}", first.image, case.release(first.distribution));
                let message = format!("{what} of {release} {find} `{library}` only where {first} was loaded before");
                let hint = "import what loads it first; by itself the image fails with `Library not loaded`";
                Finding::warning(CODE, message).hinting(hint)
            }
            _ => Finding::note(CODE, format!("{what} of {release} {find} another `{library}` in another process")),
        };
        Said::about(distribution, trouble.image, finding)
    });
    findings.collect()
}
