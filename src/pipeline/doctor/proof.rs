//! With `--full`: what `macml check` says of each environment, its libraries above all.

use crate::check::contents::Level;
use crate::doctor::Facts;
use crate::doctor::facts::Proved;
use crate::knowledge::Knowledge;
use crate::pipeline::check;
use crate::pipeline::check::Declared;
use crate::target::Gpu;

use super::Look;
use super::glance::unseen;

/// Proves every environment that is there.
pub(super) fn gather(look: &Look<'_>, facts: &mut Facts) {
    if !look.full {
        return;
    }
    let knowledge = Knowledge::built_in();
    for at in 0..facts.environments.len() {
        let environment = &facts.environments[at];
        if !environment.there || environment.kind.is_none() {
            continue;
        }
        let folder = environment.folder.clone();
        let declared = declared(facts, at);
        match check::prefix(folder.as_ref(), &declared, &[], look.host, Level::Full, None) {
            Ok(prefixes) => {
                let parts = prefixes.iter().flat_map(|prefix| prefix.judged(&knowledge, &|_| None));
                let proved = parts.flat_map(|part| part.told).map(|told| Proved {
                    code: told.finding.code.to_string(),
                    severity: told.finding.severity,
                    message: told.finding.message,
                    notes: told.finding.notes,
                    hint: told.finding.hint,
                });
                facts.environments[at].proof = Some(proved.collect());
            }
            Err(error) => unseen(facts, format!("whether the libraries of `{folder}` load"), error),
        }
    }
}

/// Takes what the project declares of an environment of its own, else the lowest chip on this Mac's macOS.
fn declared(facts: &Facts, at: usize) -> Declared {
    let names = facts.environments[at].roles.iter().filter_map(|role| role.strip_prefix("project "));
    let all = || facts.project.iter().flat_map(|project| &project.declared);
    let own = names.into_iter().find_map(|name| all().find(|one| one.env == name));
    let lowest = || "m1".parse().expect("the first chip is one");
    Declared {
        macos: own.and_then(|own| own.macos.as_ref()?.parse().ok()),
        chip: own.and_then(|own| own.chip.as_ref()?.parse().ok()).unwrap_or_else(lowest),
        gpu: match own.and_then(|own| own.gpu.as_deref()) {
            Some("optional") => Gpu::Optional,
            _ => Gpu::Required,
        },
        python: None,
    }
}
