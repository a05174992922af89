//! Libraries that are found only because something else was loaded before, and that nobody is sure to load.

use super::case::{Case, counted, grouped, listed};
use super::said::Said;
use crate::check::dyld::{Grade, Judged, Trouble, What};
use crate::diag::{Code, Finding};

const CODE: Code = Code::LoadOrder;

/// Whether a package has to see to the order itself: it brings what its image needs.
fn is_its_own_affair(judged: &Judged<'_>, trouble: &Trouble<'_>) -> bool {
    trouble.brought_by.first().is_some_and(|first| first.distribution == judged.distribution)
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    let told = case.troubles().filter_map(|(judged, trouble)| match trouble.what {
        // Where somebody is sure to load it that is how it is meant, and no news.
        What::LoadsAfter { library } if trouble.grade <= Grade::Warning => Some((judged, trouble, library)),
        What::Differs { library, .. } => Some((judged, trouble, library)),
        _ => None,
    });
    let (own, others): (Vec<_>, Vec<_>) = told.partition(|(judged, trouble, _)| {
        matches!(trouble.what, What::LoadsAfter { .. }) && is_its_own_affair(judged, trouble)
    });
    let groups = grouped(others, |(judged, trouble, library)| (judged.distribution, trouble.grade, *library));
    let others = groups.into_iter().map(|((distribution, grade, library), told)| {
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
    let own = grouped(own, |(judged, ..)| judged.distribution).into_iter().map(|(distribution, told)| {
        let (_, trouble, _) = told[0];
        let what = counted(trouble.image, told.len(), ["image", "images"]);
        let find = if told.len() > 1 { "find" } else { "finds" };
        let first = listed(told.iter().filter_map(|(_, trouble, _)| trouble.brought_by.first()).map(|one| one.image));
        let release = case.release(distribution);
        let message = format!("{what} of {release} {find} a library of the package itself only where that was loaded before");
        let finding = Finding::note(CODE, message).noting(format!("what must be loaded before is {first}")).hinting(
            "nothing is to be done: the package opens them itself; opened by hand the image fails with `Library not loaded`",
        );
        Said::about(distribution, trouble.image, finding)
    });
    others.chain(own).collect()
}
