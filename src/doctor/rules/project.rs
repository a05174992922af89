//! The project: macml.toml, macml.lock, and whether this Mac is one of those that they are for.

use super::remedies::{anew, synced};
use crate::diag::{Code, few};
use crate::doctor::facts::{Environment, Facts, Project};
use crate::doctor::{Diagnosis, Subject};
use crate::host::{Chip, Host, Processor};
use crate::knowledge::Knowledge;
use crate::pep::{Specifiers, Version};
use crate::target::MacosVersion;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let Some(project) = &facts.project else { return Vec::new() };
    let mut found = Vec::new();
    if !project.mistakes.is_empty() {
        let seen = format!("macml.toml of `{}` is not valid: {}", project.folder, few(&project.mistakes, 2));
        let why = "nothing can be locked or built from it";
        let diagnosis = Diagnosis::error(Code::ManifestSyntax, Subject::Project, seen, why).about(&project.folder);
        found.push(diagnosis.remedy("see each mistake with its place").command("macml lock --check"));
        return found;
    }
    let lock = match project.lock.as_deref() {
        Some("missing") => Some(Diagnosis::warning(
            Code::LockMissing,
            Subject::Project,
            "there is no macml.lock",
            "each machine would solve for itself, on its own day",
        )),
        Some("stale") => Some(Diagnosis::warning(
            Code::LockStale,
            Subject::Project,
            "macml.lock does not answer macml.toml",
            "what is built from it is not what macml.toml asks for",
        )),
        Some("damaged") => Some(Diagnosis::error(
            Code::LockDamaged,
            Subject::Project,
            "macml.lock cannot be read",
            "nothing can be built from it; conflict marks of a merge do that",
        )),
        _ => None,
    };
    found.extend(
        lock.map(|diagnosis| diagnosis.about(&project.folder).remedy("solve and write it").command("macml lock")),
    );
    if let Some(host) = &facts.machine.host {
        found.extend(below_macos(project, host));
        found.extend(below_chip(project, host));
    }
    for environment in facts.environments.iter().filter(|one| one.there) {
        let Some(name) = environment.of_project() else { continue };
        let all = standing(project, environment, name).or_else(|| other_python(project, environment, name));
        found.extend(all.map(|diagnosis| diagnosis.about(&environment.folder)));
    }
    found
}

fn below_macos(project: &Project, host: &Host) -> Option<Diagnosis> {
    let macos = MacosVersion::told_by(&host.macos)?;
    let floors =
        project.declared.iter().filter_map(|one| Some((&one.env, MacosVersion::told_by(one.macos.as_deref()?)?)));
    let (env, floor) = floors.filter(|(_, floor)| *floor > macos).max_by_key(|(_, floor)| *floor)?;
    let seen = format!("this Mac has macOS {}, and environment `{env}` is for {floor} and later", host.macos);
    let why = "its wheels need not load here, and a sync refuses it";
    let diagnosis = Diagnosis::error(Code::BelowFloor, Subject::Project, seen, why).about(env);
    Some(
        diagnosis
            .remedy("update macOS, or see what a lower floor would cost")
            .command(format!("macml lock --macos {macos} --dry-run")),
    )
}

fn below_chip(project: &Project, host: &Host) -> Option<Diagnosis> {
    let Processor::Chip(chip) = host.processor() else { return None };
    let floors = project.declared.iter().filter_map(|one| Some((&one.env, one.chip.as_deref()?.parse::<Chip>().ok()?)));
    let (env, floor) = floors
        .filter(|(_, floor)| floor.generation() > chip.generation())
        .max_by_key(|(_, floor)| floor.generation())?;
    let seen = format!("this Mac has an {}, and environment `{env}` is for {floor} and later", host.cpu);
    let why = "what is locked for later chips may use what this one does not have, and a sync refuses it";
    let diagnosis = Diagnosis::error(Code::BelowFloor, Subject::Project, seen, why).about(env);
    Some(diagnosis.remedy(format!("declare `chip = \"{chip}\"` in macml.toml, and lock again")).command("macml lock"))
}

/// How an environment stands to the project and its lock.
fn standing(project: &Project, environment: &Environment, name: &str) -> Option<Diagnosis> {
    let of = |what: &str| format!("environment `{}` {what}", environment.folder);
    let sync = synced(environment, name);
    match environment.standing.as_deref() {
        Some("moved") => {
            let why = "its commands and activation name the folder in which it was built";
            let seen = of("was built for another folder");
            let diagnosis = Diagnosis::error(Code::EnvironmentMoved, Subject::Environment, seen, why);
            Some(diagnosis.remedy("build it anew where it is now").command(sync))
        }
        Some("stale") if project.lock.as_deref() == Some("current") => {
            let why = "macml.lock has changed since: what runs there is not what it says";
            let seen = of("is not what macml.lock says");
            let diagnosis = Diagnosis::warning(Code::EnvironmentStale, Subject::Environment, seen, why);
            Some(diagnosis.remedy("build what is locked").command(sync))
        }
        Some("changed") => {
            let why = "something was installed or removed behind macml's back: nobody else gets the same from the lock";
            let seen = of("is not as macml built it");
            let diagnosis = Diagnosis::warning(Code::NotAsRecorded, Subject::Environment, seen, why);
            let diagnosis = diagnosis.detail("`macml check` says which files and packages");
            Some(anew(environment, diagnosis))
        }
        _ if ["venv", "conda"].iter().any(|kind| environment.kind.as_deref() == Some(kind)) => {
            let maker = if environment.kind.as_deref() == Some("conda") { "conda" } else { "another tool" };
            let why =
                "macml does not know what is in it, a sync refuses to build in its place, and a hook activates it";
            let seen = of(&format!("was made by {maker}, not by macml"));
            let diagnosis = Diagnosis::warning(Code::EnvironmentForeign, Subject::Environment, seen, why);
            Some(diagnosis.remedy("let macml build its own, and move this one aside").command(sync))
        }
        _ => None,
    }
}

/// A Python that macml.toml does not admit.
fn other_python(project: &Project, environment: &Environment, name: &str) -> Option<Diagnosis> {
    let declared = project.declared.iter().find(|one| one.env == name)?.python.as_deref()?;
    let (range, version): (Specifiers, Version) =
        (declared.parse().ok()?, environment.python_version.as_deref()?.parse().ok()?);
    if range.contains(&version) {
        return None;
    }
    let seen = format!("environment `{}` has Python {version}, and macml.toml asks for {declared}", environment.folder);
    let why = "what is locked is for another Python: its extension modules do not load in this one";
    let diagnosis = Diagnosis::error(Code::EnvironmentPython, Subject::Environment, seen, why);
    Some(anew(environment, diagnosis))
}
