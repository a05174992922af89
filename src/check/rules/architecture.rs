//! Images for other processors, or for another system of Apple's.
//!
//! What Python imports, what another image needs and what is all that a distribution has is certain to be missed. The rest
//! is opened by hand, if at all: tools carry a copy for each processor, and say so in its name.

use super::case::{Case, Place, counted, grouped, words};
use super::said::Said;
use crate::check::dyld::{Judged, Refusal, What, leaf};
use crate::diag::{Code, Finding, Severity};
use crate::pep::PackageName;

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
    let images_of = |name: &PackageName| case.of(name).map_or(0, |one| one.facts.images.len());
    let of_each = grouped(&refused, |(judged, _)| judged.distribution);
    let is_whole = |name: &PackageName| of_each.get(name).is_some_and(|all| all.len() == images_of(name));
    let weight = |judged: &Judged<'_>| match weight(case, judged) {
        Severity::Warning if is_whole(judged.distribution) => Severity::Error,
        weight => weight,
    };
    for ((distribution, severity), refused) in grouped(&refused, |(judged, _)| (judged.distribution, weight(judged))) {
        let (judged, trouble) = refused[0];
        let all = images_of(distribution);
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
        let message = format!("{which}{release} {is} {made}");
        let finding = match severity {
            Severity::Error => Finding::error(CODE, message).noting(words(trouble)).hinting(
                "install a wheel whose name ends in `arm64` or `universal2`; an Intel Python under Rosetta chooses others",
            ),
            Severity::Warning => Finding::warning(CODE, message)
                .noting(words(trouble))
                .noting("Python does not import it and no image needs it: only who opens it by hand is refused")
                .hinting(format!("take another release of `{distribution}`, or do without what opens it")),
            Severity::Note => Finding::note(CODE, message).noting("its name says so, and no image needs it"),
        };
        findings.push(Said::about(distribution, trouble.image, finding));
    }
    findings
}

/// Says how much it matters that an image cannot be loaded, beside others of its distribution that can.
fn weight(case: &Case<'_>, judged: &Judged<'_>) -> Severity {
    let image = judged.image;
    let is_it = |path: &str| path == image.path;
    let is_needed = case.troubles().any(|(_, trouble)| match &trouble.what {
        What::LibraryMissing { tried, .. } => tried.iter().any(|tried| is_it(&tried.path)),
        _ => false,
    });
    if is_needed || (image.path.ends_with(".so") && !is_behind_a_module(case, judged)) {
        return Severity::Error;
    }
    let says_so = |architecture: String| leaf(&image.path).contains(&architecture);
    match image.architectures.iter().map(ToString::to_string).any(says_so) {
        true => Severity::Note,
        false => Severity::Warning,
    }
}

/// Whether an image lies in a folder that Python does not look into, since a module beside it has the folder's name:
/// `a/_x/arm64.so` beside `a/_x.cpython-311-darwin.so`.
fn is_behind_a_module(case: &Case<'_>, judged: &Judged<'_>) -> bool {
    let Some((folder, _)) = judged.image.path.rsplit_once('/') else { return false };
    let is_it = |path: &str| path.strip_prefix(folder).is_some_and(|end| end.starts_with('.') && end.ends_with(".so"));
    case.of(judged.distribution).is_some_and(|one| one.facts.images.iter().any(|image| is_it(&image.path)))
}
