//! Images for other processors, or for another system of Apple's.

use super::case::{Case, Place, counted, grouped, words};
use super::said::Said;
use crate::check::dyld::{Refusal, What};
use crate::diag::{Code, Finding};

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::WrongArchitecture;
    let refused = case
        .troubles()
        .filter(|(_, trouble)| matches!(trouble.what, What::Refused(Refusal::Architecture(_) | Refusal::Platform(_))));
    let mut findings = Vec::new();
    let refused = case.excuse(
        CODE,
        refused.collect(),
        |(judged, trouble)| Place { distribution: judged.distribution, image: trouble.image, symbol: None },
        &mut findings,
    );
    for (distribution, refused) in grouped(refused, |(judged, _)| judged.distribution) {
        let (judged, trouble) = refused[0];
        let all = case.of(distribution).map_or(0, |one| one.facts.images.len());
        let what = counted(trouble.image, refused.len(), ["image", "images"]);
        let which =
            if refused.len() == all && all > 1 { format!("all {all} images of ") } else { format!("{what} of ") };
        let release = case.release(distribution);
        let is = if refused.len() > 1 { "are" } else { "is" };
        let made = match &trouble.what {
            What::Refused(Refusal::Platform(_)) => "for another system than macOS".to_owned(),
            _ => {
                let have: Vec<String> = judged.image.architectures.iter().map(ToString::to_string).collect();
                format!("for {} and not for arm64", have.join(" and "))
            }
        };
        let hint =
            "install a wheel whose name ends in `arm64` or `universal2`; an Intel Python under Rosetta chooses others";
        let finding =
            Finding::error(CODE, format!("{which}{release} {is} {made}")).noting(words(trouble)).hinting(hint);
        findings.push(Said::about(distribution, trouble.image, finding));
    }
    findings
}
