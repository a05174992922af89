//! Wheels that say they are for every system and carry libraries of another one.

use super::case::{Case, listed};
use super::said::Said;
use crate::check::dyld::leaf;
use crate::check::facts::{Foreign, ForeignFormat};
use crate::diag::{Code, Finding};

/// Whether a file is a library that something would load: programs for Windows lie in many wheels, to start scripts there.
fn is_library(foreign: &&Foreign) -> bool {
    let name = leaf(&foreign.path);
    match foreign.format {
        ForeignFormat::Elf => true,
        ForeignFormat::Pe => name.ends_with(".pyd") || name.ends_with(".dll"),
    }
}

/// Whether Python on some system would import a file.
fn is_module(foreign: &Foreign) -> bool {
    let name = leaf(&foreign.path);
    name.ends_with(".pyd") || name.ends_with(".abi3.so") || (name.contains(".cpython-") && name.ends_with(".so"))
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    let of_each = case.installed.iter().filter_map(|one| {
        let for_all = one.wheel?.platform_tags().all(|tag| tag == "any");
        let foreign: Vec<&Foreign> = one.facts.foreign.iter().filter(is_library).collect();
        // With libraries for Macs beside them they are those of the other systems.
        if !for_all || foreign.is_empty() || !one.facts.images.is_empty() {
            return None;
        }
        let release = case.release(one.name);
        let systems = match (has(&foreign, ForeignFormat::Elf), has(&foreign, ForeignFormat::Pe)) {
            (true, true) => "Linux and Windows",
            (true, false) => "Linux",
            _ => "Windows",
        };
        let message = format!("{release} is tagged for every system, and its libraries are for {systems} only");
        let finding = match foreign.iter().any(|one| is_module(one)) {
            true => Finding::warning(Code::ForeignBinaries, message),
            false => Finding::note(Code::ForeignBinaries, message),
        };
        let hint = format!(
            "look for a release of `{}` with a wheel for macOS; what uses these libraries fails on a Mac",
            one.name
        );
        let finding = finding.noting(format!("they are {}", listed(foreign.iter().map(|one| &one.path)))).hinting(hint);
        Some(Said::about(one.name, &foreign[0].path, finding))
    });
    of_each.collect()
}

fn has(all: &[&Foreign], format: ForeignFormat) -> bool {
    all.iter().any(|one| one.format == format)
}
