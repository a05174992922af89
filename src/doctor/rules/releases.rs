//! Releases that do not go together, or not with this Mac: bug reports R04, R05, R06, R18. From names, versions and metadata
//! alone: nothing is imported.

use std::collections::{BTreeMap, BTreeSet};

use super::python::{name_and_version, quoted};
use super::remedies::{anew, instead};
use crate::check::rules::requirement::{Beside, unmet};
use crate::diag::{Code, Finding, Severity};
use crate::doctor::facts::{Declared, Environment, Facts};
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::rule::{Advice, Says, Scope};
use crate::knowledge::{Hit, Knowledge, judge_here};
use crate::pep::{Marker, MarkerEnv, PackageName, Requirement, RequirementSource, Specifiers, Truth, Version};
use crate::target::{Floor, Gpu, MacosVersion, Platform, PythonMinor, Target};

pub(super) fn findings(facts: &Facts, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let there = facts.environments.iter().filter(|one| one.there && !one.distributions.is_empty());
    let of = |environment: &Environment| {
        let all = of(facts, environment, knowledge);
        all.into_iter().map(|diagnosis| diagnosis.about(&environment.folder)).collect::<Vec<_>>()
    };
    there.flat_map(of).collect()
}

/// What is installed, by name.
pub(super) fn releases(environment: &Environment) -> BTreeMap<PackageName, Version> {
    environment.distributions.iter().filter_map(name_and_version).collect()
}

/// What a project declares of an environment of its own.
fn declared<'f>(facts: &'f Facts, environment: &Environment) -> Option<&'f Declared> {
    let name = environment.of_project()?;
    facts.project.iter().flat_map(|project| &project.declared).find(|one| one.env == name)
}

/// Whether the GPU is asked for in an environment: a project's says so, in others it is what people want.
pub(super) fn wants_gpu(facts: &Facts, environment: &Environment) -> bool {
    declared(facts, environment).and_then(|one| one.gpu.as_deref()) != Some("optional")
}

fn of(facts: &Facts, environment: &Environment, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let set = releases(environment);
    let python = environment.python_version.as_deref().and_then(PythonMinor::of_release);
    let mut found = unmet_requirements(facts, environment, &set, python);
    let Some(host) = &facts.machine.host else { return found };
    let (Some(python), Some(macos)) = (python, MacosVersion::told_by(&host.macos)) else { return found };
    let gpu = if wants_gpu(facts, environment) { Gpu::Required } else { Gpu::Optional };
    let ignored = declared(facts, environment).map(|one| one.ignored.as_slice()).unwrap_or_default();
    found.extend(set.iter().filter_map(|(name, version)| unknown(environment, (name, version), knowledge)));
    let Some(mut judgement) = judge_here(knowledge, &set, python, (host, gpu), ignored) else { return found };
    judgement.say_once();
    let way = |hit: &Hit<'_>| {
        let says = knowledge.way_out(hit, &set, macos);
        says.unwrap_or_else(|| "let macml choose a set that works here".to_owned())
    };
    for hit in &judgement.condemned {
        let mps = hit.rule.package.as_str() == "torch"
            && hit.rule.scope == Scope::Gpu
            && matches!(hit.rule.says, Says::NeedsMacos(_));
        // Metadata said it already.
        let told = |one: &Diagnosis| one.seen.contains(&format!("`{}`", hit.rule.package));
        if !mps && found.iter().any(told) {
            continue;
        }
        let plugin = |name: &PackageName| name.as_str() == "tensorflow-metal";
        if hit.rule.others().iter().any(|other| plugin(&other.name)) && !set.keys().any(plugin) {
            let seen = format!(
                "`{}` {} is without `tensorflow-metal` in environment `{}`",
                hit.rule.package, hit.version, environment.folder
            );
            let why = "TensorFlow uses the GPU of a Mac through that plugin only, and works on the CPU in silence";
            let diagnosis = Diagnosis::warning(Code::MetalPluginMissing, Subject::Gpu, seen, why);
            found.push(instead(environment, way(hit), None, diagnosis));
            continue;
        }
        let statement = hit.rule.statement_of(&hit.version);
        let seen = format!("{statement}, in environment `{}`", environment.folder);
        let code = if mps { Code::MpsNeedsMacos } else { Code::KnownConflict };
        let beside = hit.rule.others().into_iter().filter_map(|other| Some((&other.name, set.get(&other.name)?)));
        let beside: Vec<String> = beside.map(|(name, version)| format!("`{name}` {version} is installed")).collect();
        let mut diagnosis = Diagnosis::error(code, Subject::Environment, seen, hit.rule.clause());
        if mps {
            diagnosis = diagnosis.detail(format!(
                "this Mac has macOS {}; that the wheel's tag fits says nothing about the GPU",
                host.macos
            ));
        }
        diagnosis.details.extend(beside);
        diagnosis = diagnosis.detail(hit.rule.source());
        let asked = knowledge.requirement_out(hit, &set, macos);
        found.push(instead(environment, way(hit), asked, diagnosis));
    }
    found.extend(judgement.lacking.iter().filter_map(|hit| overwriting(environment, hit, &set)));
    found
}

/// Two packages with the same files: the one that was installed later is there, and neither is whole once one is taken out.
fn overwriting(environment: &Environment, hit: &Hit<'_>, set: &BTreeMap<PackageName, Version>) -> Option<Diagnosis> {
    let Says::Advice(Advice { with: Some(with), .. }) = &hit.rule.says else { return None };
    let (other, installed) = set.get_key_value(&with.name).filter(|_| hit.rule.scope == Scope::Install)?;
    let (name, version) = (&hit.rule.package, &hit.version);
    let seen = format!(
        "`{name}` {version} and `{other}` {installed} are beside each other in environment `{}`",
        environment.folder
    );
    let diagnosis = Diagnosis::warning(Code::KnownLimit, Subject::Environment, seen, hit.rule.clause());
    let diagnosis = diagnosis.detail(hit.rule.source());
    let python = environment.python.as_deref().filter(|_| environment.pip);
    Some(match (environment.of_project(), python) {
        (Some(_), _) => diagnosis
            .remedy("ask for one of them only; this says who asks for the other")
            .command(format!("macml why {other}")),
        (None, Some(python)) => diagnosis
            .remedy("keep one of them: take both out, and install the one that you need again")
            .command(format!(
                "{0} -m pip uninstall --yes {name} {other} && {0} -m pip install '{name}=={version}'",
                quoted(python)
            )),
        (None, None) => diagnosis.remedy("keep one of them: take both out, and install the one that you need again"),
    })
}

/// A release of which nothing is known yet: that nothing is said against it means nothing.
fn unknown(
    environment: &Environment,
    (name, version): (&PackageName, &Version),
    knowledge: &Knowledge,
) -> Option<Diagnosis> {
    let known = knowledge.unknown(name, version)?;
    let seen = format!(
        "`{name}` {version} in environment `{}` is newer than what this macml knows ({}, up to {known})",
        environment.folder, knowledge.date
    );
    let why = "whether its GPU works and what it goes together with is unknown, neither good nor bad";
    let diagnosis = Diagnosis::warning(Code::NewerThanKnowledge, Subject::Environment, seen, why);
    let command = match environment.of_project() {
        Some("default") => "macml verify".to_owned(),
        Some(name) => format!("macml verify --env {}", quoted(name)),
        None => format!("macml verify --prefix {}", quoted(&environment.folder)),
    };
    Some(diagnosis.remedy("see whether it trains on the GPU, and as the CPU does").command(command))
}

/// What distributions ask of each other by their own metadata, and do not get. A requirement whose marker does not hold on
/// this machine in each case is left out.
fn unmet_requirements(
    facts: &Facts,
    environment: &Environment,
    set: &BTreeMap<PackageName, Version>,
    python: Option<PythonMinor>,
) -> Vec<Diagnosis> {
    let here = python.and_then(|python| marker_env(facts, python));
    let holds = |marker: &Option<Marker>| match (marker, &here) {
        (None, _) => true,
        (Some(marker), Some(here)) => marker.evaluate(here, &[]) == Truth::Always,
        (Some(_), None) => false,
    };
    let native: BTreeSet<&str> =
        environment.distributions.iter().filter(|one| one.native > 0).map(|one| one.name.as_str()).collect();
    let is_native = |name: &PackageName| native.contains(name.as_str());
    // Elsewhere, and in what conda brought under names of its own, more is found than stands here.
    let whole = !environment.system_site && environment.distributions.iter().all(|one| one.record != "unread");
    let mut found = Vec::new();
    for one in &environment.distributions {
        let Some((name, version)) = one.name.parse().ok().and_then(|name: PackageName| set.get_key_value(&name)) else {
            continue;
        };
        for text in &one.requires {
            let Ok(Requirement { name: other, source: RequirementSource::Versions(versions), marker, .. }) =
                text.parse()
            else {
                continue;
            };
            if !holds(&marker) {
                continue;
            }
            let Some((other, installed)) = set.get_key_value(&other) else {
                if whole && one.installer.as_deref() != Some("conda") {
                    found.push(absent(environment, (name, version), &other, &versions));
                }
                continue;
            };
            let native = is_native(name) && is_native(other);
            let beside = Beside { one: (name, version), other: (other, installed), native };
            let asked = format!("{other}{versions}");
            found.extend(unmet(beside, &versions).map(|finding| told(finding, environment, asked)));
        }
    }
    found
}

/// Something that a release asks for is not there at all.
fn absent(
    environment: &Environment,
    (name, version): (&PackageName, &Version),
    other: &PackageName,
    versions: &Specifiers,
) -> Diagnosis {
    let asked = if versions.is_any() { format!("`{other}`") } else { format!("`{other}` {versions}") };
    let seen = format!(
        "`{name}` {version} asks for {asked}, and it is not installed, in environment `{}`",
        environment.folder
    );
    // mlx is nothing without the package that brings its libraries.
    let diagnosis = match (name.as_str(), other.as_str()) {
        ("mlx", "mlx-metal") => {
            let why = "that package brings its libraries: `import mlx.core` fails";
            Diagnosis::error(Code::NativeHalfMissing, Subject::Environment, seen, why)
        }
        _ => {
            let why = "what needs it stops where it imports it";
            Diagnosis::warning(Code::RequirementUnmet, Subject::Environment, seen, why)
        }
    };
    match environment.of_project() {
        Some(_) => anew(environment, diagnosis),
        None => instead(
            environment,
            format!("install {asked}"),
            Some(if versions.is_any() { other.to_string() } else { format!("{other}{versions}") }),
            diagnosis,
        ),
    }
}

/// Returns what marker variables are on this machine for a Python; `None` where it is none that macml locks for.
fn marker_env(facts: &Facts, python: PythonMinor) -> Option<MarkerEnv> {
    let (platform, floor) = match &facts.machine.host {
        Some(host) => {
            let macos = MacosVersion::told_by(&host.macos)?;
            // No marker knows the chip.
            (Platform::MacosArm64, Floor::Mac { macos, chip: "m1".parse().ok()? })
        }
        None if facts.machine.system == "linux" => {
            let platform =
                if facts.machine.macml_arch == "x86_64" { Platform::LinuxX86_64 } else { Platform::LinuxAarch64 };
            (platform, Floor::Glibc(2, 17))
        }
        None => return None,
    };
    Some(Target { platform, floor, python }.marker_env())
}

fn told(finding: Finding, environment: &Environment, asked: String) -> Diagnosis {
    let seen = format!("{}, in environment `{}`", finding.message, environment.folder);
    let why =
        finding.notes.first().cloned().unwrap_or_else(|| "it was not made or tested with that release".to_owned());
    let diagnosis = match finding.severity {
        Severity::Error => Diagnosis::error(finding.code, Subject::Environment, seen, why),
        _ => Diagnosis::warning(finding.code, Subject::Environment, seen, why),
    };
    let says = finding.hint.unwrap_or_else(|| "let macml choose a set that fits".to_owned());
    instead(environment, says, Some(asked), diagnosis)
}
