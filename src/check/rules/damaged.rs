//! Images whose bytes make no sense.

use super::case::{Case, counted, grouped, words};
use super::said::Said;
use crate::check::dyld::{Refusal, What};
use crate::diag::{Code, Finding};

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    let damaged = case.troubles().filter(|(_, one)| matches!(one.what, What::Refused(Refusal::Malformed(_))));
    let of_each = grouped(damaged, |(judged, _)| judged.distribution).into_iter().map(|(distribution, damaged)| {
        let (_, trouble) = damaged[0];
        let what = counted(trouble.image, damaged.len(), ["image", "images"]);
        let message = format!("{what} of {} cannot be read", case.release(distribution));
        let hint = format!("install `{distribution}` again; if the wheel itself is so, tell its makers");
        let finding = Finding::error(Code::DamagedImage, message).noting(words(trouble)).hinting(hint);
        Said::about(distribution, trouble.image, finding)
    });
    of_each.collect()
}
