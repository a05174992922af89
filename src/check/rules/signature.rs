//! Code whose signature is missing, or does not fit its pages. macOS ends a process that touches such a page.

use super::case::{Case, Place, counted, grouped, words};
use super::said::Said;
use crate::check::dyld::{Grade, What};
use crate::check::facts::Signature;
use crate::diag::{Code, Finding};

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::SignatureBroken;
    let broken = case
        .troubles()
        .filter(|(_, trouble)| matches!(trouble.what, What::Signature(_)) && trouble.grade == Grade::Error);
    let mut findings = Vec::new();
    let broken = case.excuse(
        CODE,
        broken.collect(),
        |(judged, trouble)| Place { distribution: judged.distribution, image: trouble.image, symbol: None },
        &mut findings,
    );
    for (distribution, broken) in grouped(broken, |(judged, _)| judged.distribution) {
        let (_, trouble) = broken[0];
        let what = counted(trouble.image, broken.len(), ["image", "images"]);
        let release = case.release(distribution);
        let wrong = match &trouble.what {
            What::Signature(Signature::Broken(page)) => {
                format!("was changed after it was signed: its page at {page} has another digest")
            }
            _ => "is not signed, and arm64 code must be".to_owned(),
        };
        let message = match broken.len() {
            1 => format!("{what} of {release} {wrong}"),
            count => format!(
                "{count} images of {release} are not signed as they are; the first, `{}`, {wrong}",
                trouble.image
            ),
        };
        let hint =
            format!("install `{distribution}` again; what was patched on purpose must be signed again with `codesign`");
        let finding = Finding::error(CODE, message).noting(words(trouble)).hinting(hint);
        findings.push(Said::about(distribution, trouble.image, finding));
    }
    findings
}
