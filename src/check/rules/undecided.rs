//! What files do not tell: names that some framework of the system may bring, and signatures of a form that is not read.

use super::case::{Case, Place, grouped, listed};
use super::said::Said;
use crate::check::dyld::{Grade, What};
use crate::diag::{Code, Finding};

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::Undecided;
    let open = case.troubles().filter(|(_, trouble)| trouble.grade == Grade::Unverifiable);
    let mut findings = Vec::new();
    let open = case.excuse(
        CODE,
        open.collect(),
        |(judged, trouble)| {
            let symbol = match trouble.what {
                What::SymbolMissing { symbol, .. } => Some(symbol),
                _ => None,
            };
            Place { distribution: judged.distribution, image: trouble.image, symbol }
        },
        &mut findings,
    );
    for (distribution, open) in grouped(open, |(judged, _)| judged.distribution) {
        let release = case.release(distribution);
        let names = open.iter().filter_map(|(judged, trouble)| match trouble.what {
            What::SymbolMissing { symbol, .. } => Some((symbol, judged.image.path.as_str())),
            _ => None,
        });
        let by_name = grouped(names, |(name, _)| *name);
        if let Some((first, images)) = by_name.first_key_value() {
            let message = format!(
                "whether a Mac has what {release} looks for anywhere cannot be told: {}",
                listed(by_name.keys())
            );
            let first = format!("`{}` needs `{first}`, and no library of the set has it", images[0].1);
            let finding = Finding::note(CODE, message).noting(first);
            findings.push(Said::about(distribution, images[0].1, finding).missing(true));
        }
        let signed = open.iter().filter(|(_, trouble)| matches!(trouble.what, What::Signature(_)));
        let signed: Vec<&str> = signed.map(|(judged, _)| judged.image.path.as_str()).collect();
        if !signed.is_empty() {
            let message = format!("whether {release} is as it was signed cannot be told: {}", listed(&signed));
            findings.push(Said::about(distribution, signed[0], Finding::note(CODE, message)));
        }
    }
    findings
}
