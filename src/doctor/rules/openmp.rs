//! Several OpenMP runtimes, and libraries from outside that are found before the environment's own: bug reports R07, R18.

use std::collections::{BTreeMap, BTreeSet};

use super::releases::releases;
use super::remedies::instead;
use crate::diag::Code;
use crate::doctor::facts::{Environment, Facts, Library};
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::{Knowledge, Rule};
use crate::pep::{PackageName, Version};

/// Where the wheels of LightGBM look for a runtime, from their rpaths: LightGBM 4.6.0.
const LOOKED_FOR: [&str; 2] = ["/opt/homebrew/opt/libomp/lib", "/opt/local/lib/libomp"];

pub(super) fn findings(facts: &Facts, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    let mut is_shadowed = false;
    for environment in facts.environments.iter().filter(|one| one.there) {
        let openmp = match lightgbm(facts, environment, knowledge) {
            Some(diagnosis) => Some(diagnosis),
            None => bundled(environment, knowledge),
        };
        let shadowed = shadowed(facts, environment);
        is_shadowed |= shadowed.is_some();
        let all = openmp.into_iter().chain(shadowed);
        found.extend(all.map(|diagnosis| diagnosis.about(&environment.folder)));
    }
    let first = ["DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"].into_iter();
    for (name, value) in first.filter_map(|name| Some((name, facts.shell.variable(name)?))).filter(|_| !is_shadowed) {
        let seen = format!("{name} is `{value}`");
        let why = "every program that is not the system's takes libraries from there before its own, of whatever release they are";
        let diagnosis = Diagnosis::warning(Code::LibraryShadowed, Subject::Pythons, seen, why);
        found.push(
            diagnosis
                .remedy("take it away: environments find their libraries without it")
                .command(format!("unset {name}")),
        );
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

/// LightGBM takes its runtime from the Mac, beside that of torch. Conda's brings one, and finds it in the environment.
fn lightgbm(facts: &Facts, environment: &Environment, knowledge: &Knowledge) -> Option<Diagnosis> {
    let one = environment.distributions.iter().find(|one| one.name == "lightgbm")?;
    let all = runtimes(environment);
    let own = all.iter().any(|one| one.package.as_deref() == Some("lightgbm"));
    if facts.machine.host.is_none() || own || one.installer.as_deref() == Some("conda") {
        return None;
    }
    let set = releases(environment);
    let by_name: BTreeMap<&PackageName, &Version> = set.iter().collect();
    let crash = crash(knowledge, &by_name, "lightgbm");
    let variables = facts.shell.variables.iter().filter(|one| one.name.starts_with("DYLD_"));
    let folders: Vec<&str> = variables.flat_map(|one| one.value.split(':')).chain(LOOKED_FOR).collect();
    let is_found = |one: &&Library| {
        let in_folder = |folder: &&str| {
            one.path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
        };
        let fits = one.archs.is_empty() || one.archs.iter().any(|arch| arch.starts_with("arm64"));
        one.package.is_none() && fits && folders.iter().any(in_folder)
    };
    if !all.iter().copied().any(|one| is_found(&one)) {
        let seen =
            format!("`lightgbm` {} finds no OpenMP runtime in environment `{}`", one.version, environment.folder);
        let why = "it brings none of its own and looks for Homebrew's or MacPorts': `import lightgbm` fails";
        let mut diagnosis = Diagnosis::error(Code::SeveralOpenmp, Subject::Environment, seen, why);
        diagnosis.details.extend(all.iter().map(|one| named(one)));
        let remedy = match crash {
            Some(rule) => {
                diagnosis.details.push(rule.brief());
                "install Homebrew's; then take torch below 2.11 beside it, or let LightGBM use one thread (`num_threads=1`), or \
                 give each a process of its own, as the two runtimes end the process"
            }
            None => "install Homebrew's",
        };
        return Some(diagnosis.remedy(remedy).command("brew install libomp"));
    }
    let crash = crash?;
    let seen = format!(
        "two OpenMP runtimes meet in one process in environment `{}`: that of torch, and Homebrew's for LightGBM",
        environment.folder
    );
    let why = "training with LightGBM after any work of torch ends in a segmentation fault, without a Python traceback";
    let mut diagnosis = Diagnosis::error(Code::SeveralOpenmp, Subject::Environment, seen, why);
    diagnosis.details.extend(all.iter().map(|one| named(one)));
    diagnosis.details.push(crash.brief());
    let says = "take torch below 2.11 beside LightGBM, or let LightGBM use one thread (`num_threads=1`), or give each a process of its own";
    Some(instead(environment, says.to_owned(), Some("torch<2.11".to_owned()), diagnosis))
}

/// Lists the runtimes that an environment has, with those that it may find outside.
fn runtimes(environment: &Environment) -> Vec<&Library> {
    environment.libraries.iter().filter(|one| one.kind == "openmp").collect()
}

/// Finds what is known of crashes between a package and torch, both as they are installed.
fn crash<'k>(knowledge: &'k Knowledge, set: &BTreeMap<&PackageName, &Version>, name: &str) -> Option<&'k Rule> {
    let is_of = |rule: &&Rule| {
        rule.package.as_str() == name && rule.others().iter().any(|other| other.name.as_str() == "torch")
    };
    knowledge.rules().iter().filter(is_of).find(|rule| rule.is_crash_of(set))
}

/// Packages that bring a runtime each: everyday, and known to crash for some.
fn bundled(environment: &Environment, knowledge: &Knowledge) -> Option<Diagnosis> {
    let inside: Vec<&Library> = runtimes(environment).into_iter().filter(|one| one.package.is_some()).collect();
    let packages: BTreeSet<&str> = inside.iter().filter_map(|one| one.package.as_deref()).collect();
    if packages.len() < 2 {
        return None;
    }
    let set = releases(environment);
    let by_name: BTreeMap<&PackageName, &Version> = set.iter().collect();
    let crash = packages.iter().find_map(|name| crash(knowledge, &by_name, name));
    let names: Vec<String> = packages.iter().map(|name| format!("`{name}`")).collect();
    let seen = format!("{} bring an OpenMP runtime each in environment `{}`", listed(&names), environment.folder);
    let mut diagnosis = match crash {
        Some(rule) => Diagnosis::warning(Code::SeveralOpenmp, Subject::Environment, seen, rule.clause()),
        None => {
            let why = "each of them takes its own, which works every day; threads of both compete for the cores";
            Diagnosis::note(Code::SeveralOpenmp, Subject::Environment, seen, why)
        }
    };
    diagnosis.details.extend(inside.iter().map(|one| named(one)));
    diagnosis.details.extend(crash.map(Rule::source));
    let remedy = match crash {
        Some(_) => "give each a process of its own, or set OMP_NUM_THREADS to 1 where both are in one",
        None => "leave it as it is; where a process ends with `OMP: Error #15`, read what helps then",
    };
    Some(diagnosis.remedy(remedy).command("macml explain several-openmp"))
}

/// Writes two and more names as a sentence has them.
fn listed(names: &[String]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.join(", "),
    }
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
