//! The project: macml.toml, macml.lock, and whether this Mac is one of those that they are for.

use crate::diag::{Code, few};
use crate::doctor::facts::Facts;
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;
use crate::target::MacosVersion;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let Some(project) = &facts.project else { return Vec::new() };
    let mut found = Vec::new();
    if !project.mistakes.is_empty() {
        let seen = format!("macml.toml of `{}` is not valid: {}", project.folder, few(&project.mistakes, 2));
        let why = "nothing can be locked or built from it";
        let diagnosis = Diagnosis::error(Code::ManifestSyntax, Subject::Project, seen, why);
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
    found.extend(lock.map(|diagnosis| diagnosis.remedy("solve and write it").command("macml lock")));
    let Some(host) = &facts.machine.host else { return found };
    let Some(macos) = MacosVersion::told_by(&host.macos) else { return found };
    let floor = |text: &Option<String>| text.as_deref().and_then(MacosVersion::told_by);
    let above = project
        .declared
        .iter()
        .filter_map(|one| Some((&one.env, floor(&one.macos)?)))
        .find(|(_, floor)| *floor > macos);
    if let Some((env, floor)) = above {
        let seen = format!("this Mac has macOS {}, and environment `{env}` is for {floor} and later", host.macos);
        let why = "its wheels do not load here, and a sync refuses it";
        let diagnosis = Diagnosis::error(Code::BelowFloor, Subject::Project, seen, why);
        found.push(
            diagnosis
                .remedy("update macOS, or see what a lower floor would cost")
                .command(format!("macml lock --macos {macos} --dry-run")),
        );
    }
    for environment in facts.environments.iter().filter(|one| one.of_project().is_some()) {
        let moved = environment.standing.as_deref() == Some("moved");
        if moved {
            let seen = format!("environment `{}` was built for another folder", environment.folder);
            let why = "its commands and activation name the folder in which it was built";
            let diagnosis = Diagnosis::error(Code::EnvironmentMoved, Subject::Environment, seen, why);
            found.push(diagnosis.remedy("build it anew where it is now").command("macml sync"));
        }
    }
    found
}
