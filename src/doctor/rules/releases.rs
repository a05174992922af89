//! Releases that do not go together, or not with this Mac: bug reports R04, R05, R06, R18. From names, versions and metadata
//! alone: nothing is imported.

use std::collections::BTreeMap;

use crate::check::rules::requirement::{Beside, unmet};
use crate::diag::{Code, Finding, Severity};
use crate::doctor::facts::{Environment, Facts};
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::rule::{Says, Scope};
use crate::knowledge::{Knowledge, judge_here};
use crate::pep::{PackageName, Requirement, RequirementSource, Version};
use crate::target::{Gpu, MacosVersion, PythonMinor};

pub(super) fn findings(facts: &Facts, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let there = facts.environments.iter().filter(|one| one.there && !one.distributions.is_empty());
    there.flat_map(|environment| of(facts, environment, knowledge)).collect()
}

/// What is installed, by name.
pub(super) fn releases(environment: &Environment) -> BTreeMap<PackageName, Version> {
    let parsed = |name: &str, version: &str| Some((name.parse().ok()?, version.parse().ok()?));
    environment.distributions.iter().filter_map(|one| parsed(&one.name, &one.version)).collect()
}

/// Whether the GPU is asked for in an environment: a project's says so, in others it is what people want.
pub(super) fn wants_gpu(facts: &Facts, environment: &Environment) -> bool {
    let name = environment.of_project();
    let declared = facts.project.iter().flat_map(|project| &project.declared);
    let gpu = name.and_then(|name| declared.clone().find(|one| one.env == name)).and_then(|one| one.gpu.as_deref());
    gpu != Some("optional")
}

fn of(facts: &Facts, environment: &Environment, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let set = releases(environment);
    let mut found = unmet_requirements(environment, &set);
    let Some(host) = &facts.machine.host else { return found };
    let python = environment.python_version.as_deref().and_then(minor);
    let (Some(python), Some(macos)) = (python, MacosVersion::told_by(&host.macos)) else { return found };
    let gpu = if wants_gpu(facts, environment) { Gpu::Required } else { Gpu::Optional };
    let Some(mut judgement) = judge_here(knowledge, &set, python, (host, gpu), &[]) else { return found };
    judgement.say_once();
    for hit in &judgement.condemned {
        let mps = hit.rule.package.as_str() == "torch"
            && hit.rule.scope == Scope::Gpu
            && matches!(hit.rule.says, Says::NeedsMacos(_));
        let is_requirement = found.iter().any(|one| one.seen.contains(&format!("`{}`", hit.rule.package)));
        // That TensorFlow is without its plugin is told by the rule on that.
        let plugin = hit.rule.others().iter().any(|other| other.name.as_str() == "tensorflow-metal");
        let lacks_plugin = plugin && set.keys().all(|name| name.as_str() != "tensorflow-metal");
        if is_requirement && !mps || lacks_plugin {
            continue;
        }
        let statement = hit.rule.statement_of(&hit.version);
        let seen = format!("{statement}, in environment `{}`", environment.folder);
        let code = if mps { Code::MpsNeedsMacos } else { Code::KnownConflict };
        let beside = hit.rule.others().into_iter().filter_map(|other| Some((&other.name, set.get(&other.name)?)));
        let beside: Vec<String> = beside.map(|(name, version)| format!("`{name}` {version} is installed")).collect();
        let mut diagnosis =
            Diagnosis::error(code, Subject::Environment, seen, hit.rule.reason.trim_end_matches('.').to_owned());
        if mps {
            diagnosis = diagnosis.detail(format!(
                "this Mac has macOS {}; that the wheel's tag fits says nothing about the GPU",
                host.macos
            ));
        }
        diagnosis.details.extend(beside);
        diagnosis = diagnosis.detail(hit.rule.source());
        let way =
            knowledge.way_out(hit, &set, macos).unwrap_or_else(|| "let macml choose a set that works here".to_owned());
        found.push(diagnosis.remedy(way).command("macml lock"));
    }
    found
}

/// Parses the minor of a version with a patch.
pub(super) fn minor(version: &str) -> Option<PythonMinor> {
    let mut parts = version.split('.');
    format!("{}.{}", parts.next()?, parts.next()?).parse().ok()
}

/// What distributions ask of each other by their own metadata, and do not get. Markers that speak of more than extras are
/// left out: what holds here is the solver's to say.
fn unmet_requirements(environment: &Environment, set: &BTreeMap<PackageName, Version>) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    for one in &environment.distributions {
        let Some((name, version)) = one.name.parse().ok().and_then(|name: PackageName| set.get_key_value(&name)) else {
            continue;
        };
        for text in &one.requires {
            let Ok(Requirement { name: other, source: RequirementSource::Versions(versions), marker: None, .. }) =
                text.parse()
            else {
                continue;
            };
            let Some((other, installed)) = set.get_key_value(&other) else { continue };
            let is_native = |name: &PackageName| {
                environment.distributions.iter().any(|one| one.name == name.as_str() && one.native > 0)
            };
            let beside =
                Beside { one: (name, version), other: (other, installed), native: is_native(name) && is_native(other) };
            found.extend(unmet(beside, &versions).map(|finding| told(finding, environment)));
        }
    }
    found
}

fn told(finding: Finding, environment: &Environment) -> Diagnosis {
    let seen = format!("{}, in environment `{}`", finding.message, environment.folder);
    let why =
        finding.notes.first().cloned().unwrap_or_else(|| "it was not made or tested with that release".to_owned());
    let diagnosis = match finding.severity {
        Severity::Error => Diagnosis::error(finding.code, Subject::Environment, seen, why),
        _ => Diagnosis::warning(finding.code, Subject::Environment, seen, why),
    };
    diagnosis
        .remedy(finding.hint.unwrap_or_else(|| "let macml choose a set that fits".to_owned()))
        .command("macml lock")
}
