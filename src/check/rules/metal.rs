//! GPU code that was compiled for a later macOS. Metal refuses to load it, when it is first used.

use super::case::{Case, Place, is_above, listed};
use super::said::Said;
use crate::check::facts::{MetalLibrary, Platform};
use crate::diag::{Code, Finding};

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::MetalGeneration;
    let mut findings = Vec::new();
    for one in case.installed {
        let told = |library: &&MetalLibrary| library.target.is_some_and(|target| target.platform == Platform::MacOs);
        let all: Vec<&MetalLibrary> = one.facts.metal.iter().filter(told).collect();
        let minimum = |library: &MetalLibrary| library.target.expect("only those that tell are kept").minos;
        let above: Vec<&MetalLibrary> =
            all.iter().copied().filter(|library| is_above(minimum(library), case.macos)).collect();
        let above = case.excuse(
            CODE,
            above,
            |library| Place { distribution: one.name, image: &library.path, symbol: None },
            &mut findings,
        );
        let Some(first) = above.iter().max_by_key(|library| minimum(library)) else { continue };
        let macos = minimum(first);
        let release = case.release(one.name);
        let message = format!("`{}` of {release} is compiled for macOS {macos}, later than {}", first.path, case.macos);
        // Where there are several, the one that fits may be chosen at run time.
        let certain = above.len() == all.len() && macos.major() > case.macos.major();
        let mut finding = match certain {
            true => Finding::error(CODE, message),
            false => Finding::warning(CODE, message),
        };
        let others: Vec<&str> =
            all.iter().filter(|library| !above.contains(*library)).map(|library| library.path.as_str()).collect();
        if !others.is_empty() {
            finding = finding.noting(format!("{} may be chosen instead", listed(&others)));
        }
        if let Some(wheel) = one.wheel {
            finding = finding.noting(format!("it came with `{wheel}`"));
        }
        let (major, minor) = (macos.major(), macos.minor());
        let hint = format!(
            "take the wheel of `{}` for macOS {}, or only Macs with macOS {major}.{minor} or later",
            one.name, case.macos
        );
        findings.push(Said::about(one.name, &first.path, finding.hinting(hint)));
    }
    findings
}
