//! Several OpenMP runtimes, and libraries from outside that are found before the environment's own: bug reports R07, R18.

use std::collections::BTreeMap;

use super::releases::releases;
use crate::diag::Code;
use crate::doctor::facts::{Environment, Facts, Library};
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;
use crate::pep::{PackageName, Version};

pub(super) fn findings(facts: &Facts, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    for environment in facts.environments.iter().filter(|one| one.there) {
        found.extend(lightgbm(environment, knowledge));
        found.extend(shadowed(facts, environment));
    }
    let silenced = facts.shell.variables.iter().filter(|one| one.name == "KMP_DUPLICATE_LIB_OK");
    for variable in silenced.filter(|one| ["1", "TRUE", "True", "true"].contains(&one.value.as_str())) {
        let seen = format!("{} is `{}`", variable.name, variable.value);
        let why = "it silences the message of two OpenMP runtimes in one process; crashes and wrong numbers remain";
        let diagnosis = Diagnosis::warning(Code::OpenmpSilenced, Subject::Environment, seen, why);
        found.push(
            diagnosis
                .remedy("take it away, and see which packages bring a runtime each")
                .command("unset KMP_DUPLICATE_LIB_OK"),
        );
    }
    found
}

fn named(library: &Library) -> String {
    let version = library.version.as_deref().map_or_else(String::new, |version| format!(" {version}"));
    match &library.package {
        Some(package) => format!("`{}` of `{package}`{version}", library.path),
        None => format!("`{}` from outside{version}", library.path),
    }
}

/// LightGBM takes its runtime from the Mac: from Homebrew, beside that of torch.
fn lightgbm(environment: &Environment, knowledge: &Knowledge) -> Option<Diagnosis> {
    let set = releases(environment);
    let by_name: BTreeMap<&PackageName, &Version> = set.iter().collect();
    let own = by_name.keys().find(|name| name.as_str() == "lightgbm")?;
    let runtimes: Vec<&Library> = environment.libraries.iter().filter(|one| one.kind == "openmp").collect();
    let outside = runtimes.iter().any(|one| one.package.is_none());
    let bundled =
        environment.libraries.iter().any(|one| one.kind == "openmp" && one.package.as_deref() == Some("lightgbm"));
    if runtimes.is_empty() || bundled {
        return None;
    }
    let lists = runtimes.iter().map(|one| named(one));
    if !outside {
        let seen =
            format!("`lightgbm` {} finds no OpenMP runtime in environment `{}`", by_name[own], environment.folder);
        let why = "it brings none of its own and looks for Homebrew's: `import lightgbm` fails";
        let mut diagnosis = Diagnosis::error(Code::SeveralOpenmp, Subject::Environment, seen, why);
        diagnosis.details.extend(lists);
        return Some(diagnosis.remedy("install Homebrew's").command("brew install libomp"));
    }
    let crash = knowledge.rules().iter().find(|rule| {
        rule.is_crash_of(&by_name)
            && (rule.package.as_str() == "lightgbm" || rule.others().iter().any(|one| one.name.as_str() == "lightgbm"))
    })?;
    let seen = format!(
        "two OpenMP runtimes meet in one process in environment `{}`: that of torch, and Homebrew's for LightGBM",
        environment.folder
    );
    let why = "training with LightGBM after any work of torch ends in a segmentation fault, without a Python traceback";
    let mut diagnosis = Diagnosis::error(Code::SeveralOpenmp, Subject::Environment, seen, why);
    diagnosis.details.extend(lists);
    diagnosis.details.push(crash.brief());
    let remedy = "take torch below 2.11 beside LightGBM, or let LightGBM use one thread (`num_threads=1`), or give each a process of its own";
    Some(diagnosis.remedy(remedy).command("macml lock"))
}

/// A libmlx or libomp of a folder that DYLD variables put first.
fn shadowed(facts: &Facts, environment: &Environment) -> Option<Diagnosis> {
    let library = |kind: &str, inside: bool| {
        environment.libraries.iter().find(|one| one.kind == kind && one.package.is_some() == inside)
    };
    let (own, other) = (library("mlx", true)?, library("mlx", false)?);
    let folder = other.path.rsplit_once('/').map(|(folder, _)| folder)?;
    let variable = facts.shell.variables.iter().find(|one| {
        one.name.starts_with("DYLD_") && one.value.split(':').any(|part| part.trim_end_matches('/') == folder)
    })?;
    let seen = format!("`{}` is found before the environment's own `{}`", other.path, own.path);
    let why = "mlx then loads a library of another release, and stops at a symbol that it lacks";
    let diagnosis = Diagnosis::error(Code::LibraryShadowed, Subject::Environment, seen, why);
    let diagnosis =
        diagnosis.detail(named(own)).detail(named(other)).detail(format!("{} is `{}`", variable.name, variable.value));
    Some(diagnosis.remedy("take the variable away").command(format!("unset {}", variable.name)))
}
