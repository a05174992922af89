//! What is installed, one distribution at a time: half-finished, with files gone, for a later macOS, without its libraries:
//! bug reports R02, R03, R07, R09, R23.

use std::collections::BTreeMap;

use super::python::name_and_version;
use super::remedies::{again, anew};
use crate::diag::{Code, few};
use crate::doctor::facts::{Distribution, Environment, Facts};
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;
use crate::knowledge::wheels::MadeFor;
use crate::pep::{PackageName, Version};
use crate::target::{MacosVersion, PythonMinor};

/// Packages whose work is done by libraries: a wheel of theirs for any system has none.
const NATIVE: [(&str, &str); 6] = [
    ("coremltools", "`libcoremlpython` and `libmilstoragepython`"),
    ("torch", "its libraries"),
    ("tensorflow", "its libraries"),
    ("mlx", "`core`"),
    ("numpy", "its libraries"),
    ("onnxruntime", "its libraries"),
];

pub(super) fn findings(facts: &Facts, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let is_mac = facts.machine.host.is_some();
    let macos = facts.machine.host.as_ref().and_then(|host| MacosVersion::told_by(&host.macos));
    let there = facts.environments.iter().filter(|one| one.there);
    let of = |environment: &Environment| {
        let all = within(environment, (macos, is_mac), knowledge);
        all.into_iter().map(|diagnosis| diagnosis.about(&environment.folder)).collect::<Vec<_>>()
    };
    there.flat_map(of).collect()
}

fn within(
    environment: &Environment,
    (macos, is_mac): (Option<MacosVersion>, bool),
    knowledge: &Knowledge,
) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    found.extend(unfinished(environment));
    found.extend(twice(environment));
    for one in &environment.distributions {
        found.extend(gone(environment, one));
        found.extend(without_libraries(environment, one));
        found.extend(malformed_tag(environment, one));
        found.extend(of_another(environment, one, knowledge, is_mac));
        if let Some(macos) = macos {
            found.extend(for_later(environment, one, macos, knowledge));
        }
    }
    found.extend(generations(environment, knowledge));
    found
}

fn unfinished(environment: &Environment) -> Option<Diagnosis> {
    let without: Vec<&Distribution> = environment
        .distributions
        .iter()
        .filter(|one| one.record == "missing" && one.installer.as_deref() != Some("conda"))
        .collect();
    // pip renames `torch` to `~orch` while it replaces it.
    let base = |left: &String| left.split('-').next().unwrap_or_default().trim_start_matches('~').to_owned();
    let full = |tail: &str| {
        let all = environment.distributions.iter().map(|one| one.name.as_str());
        let mut all = all.filter(|name| name.len() == tail.len() + 1 && name.ends_with(tail));
        all.next().map_or_else(|| format!("~{tail}"), str::to_owned)
    };
    let name = match (without.first(), environment.leftovers.first()) {
        (Some(one), _) => one.name.clone(),
        (None, Some(left)) => full(&base(left)),
        (None, None) => return None,
    };
    let seen = format!("an unfinished install of `{name}` in environment `{}`", environment.folder);
    let why =
        "an installer that replaces in place was stopped: what is there is neither the old release nor the new one";
    let mut diagnosis = Diagnosis::error(Code::UnfinishedInstall, Subject::Environment, seen, why);
    if !environment.leftovers.is_empty() {
        diagnosis = diagnosis.detail(format!("left over are {}", few(&environment.leftovers, 6)));
    }
    diagnosis
        .details
        .extend(without.iter().take(3).map(|one| format!("`{}-{}.dist-info` has no RECORD", one.name, one.version)));
    Some(anew(environment, diagnosis))
}

fn twice(environment: &Environment) -> Option<Diagnosis> {
    let mut seen: BTreeMap<&str, &Distribution> = BTreeMap::new();
    let mut all = environment.distributions.iter();
    let (one, other) = all.find_map(|one| Some((one, seen.insert(&one.name, one)?)))?;
    let seen = format!(
        "`{}` is installed as {} and as {} in environment `{}`",
        one.name, other.version, one.version, environment.folder
    );
    let why = "their files lie in one folder: which of them counts is chance";
    Some(anew(environment, Diagnosis::error(Code::InstalledTwice, Subject::Environment, seen, why)))
}

fn gone(environment: &Environment, one: &Distribution) -> Option<Diagnosis> {
    let first = one.gone.first().filter(|_| one.gone_count > 0)?;
    let more = if one.gone_count == 1 { String::new() } else { format!(" and {} more", one.gone_count - 1) };
    let seen =
        format!("`{first}`{more} of `{}` {} is gone from environment `{}`", one.name, one.version, environment.folder);
    let why = "RECORD names it, so that it was installed: another package was removed that owned the same path, or somebody did";
    let diagnosis = Diagnosis::error(Code::FileMissing, Subject::Environment, seen, why);
    Some(again(environment, &one.name, &one.version, diagnosis))
}

fn without_libraries(environment: &Environment, one: &Distribution) -> Option<Diagnosis> {
    let (_, libraries) = NATIVE.iter().find(|(name, _)| *name == one.name)?;
    let pure = !one.tags.is_empty() && one.tags.iter().all(|tag| tag.ends_with("-none-any"));
    if !pure || one.native > 0 || one.record != "whole" {
        return None;
    }
    let seen = format!(
        "`{}` {} has no libraries in environment `{}`: {libraries} are missing",
        one.name, one.version, environment.folder
    );
    let why = "there is no wheel for this Python, and its source package, which was built instead, has no native parts";
    let diagnosis = Diagnosis::error(Code::NativePartsMissing, Subject::Environment, seen, why);
    let diagnosis = diagnosis.remedy("take a Python for which it has a wheel");
    Some(match environment.of_project() {
        Some(_) => diagnosis.command("macml matrix"),
        None => diagnosis,
    })
}

/// The wheel of another system, processor or Python, by its own tags.
fn of_another(environment: &Environment, one: &Distribution, knowledge: &Knowledge, is_mac: bool) -> Option<Diagnosis> {
    let (name, version) = name_and_version(one)?;
    let python = environment.python_version.as_deref().and_then(PythonMinor::of_release)?;
    if one.tags.is_empty() || one.installer.as_deref() == Some("conda") || environment.archs.len() != 1 {
        return None;
    }
    let arm = environment.archs[0] != "x86_64";
    let misfit = |tag: &String| -> Option<(Code, String)> {
        let mut parts = tag.split('-');
        let (of, abi, platform) = (parts.next()?, parts.next()?, parts.next()?);
        if knowledge.inner_tags.iter().any(|known| known.explains_installed(&name, &version, platform)) {
            return None;
        }
        let mac = platform.starts_with("macosx_");
        if platform != "any" && mac != is_mac {
            return Some((Code::ForeignBinaries, format!("another system (`{platform}`)")));
        }
        let fits = match arm {
            _ if platform == "any" || platform.ends_with("_universal2") || platform.ends_with("_intel") && !arm => true,
            true => platform.ends_with("_arm64") || platform.ends_with("_aarch64"),
            false => platform.ends_with("_x86_64"),
        };
        if !fits {
            return Some((Code::WrongArchitecture, format!("another processor (`{platform}`)")));
        }
        let minor = of.strip_prefix(&format!("cp{}", python.major))?;
        let exact = abi != "abi3" && minor != python.minor.to_string();
        exact.then(|| (Code::WrongCpython, format!("another Python (`{of}`)")))
    };
    // One tag that fits is enough.
    let misfits: Vec<(Code, String)> = one.tags.iter().filter_map(misfit).collect();
    let (code, what) = misfits.first().filter(|_| misfits.len() == one.tags.len())?;
    let seen = format!(
        "`{}` {} in environment `{}` is a wheel for {what}, and its Python is {python} for `{}`",
        one.name, one.version, environment.folder, environment.archs[0]
    );
    let why =
        "its libraries do not load here; a Python of another kind installed it, or `--platform` and `--target` did";
    Some(again(environment, &one.name, &one.version, Diagnosis::error(*code, Subject::Environment, seen, why)))
}

fn malformed_tag(environment: &Environment, one: &Distribution) -> Option<Diagnosis> {
    let major = |tag: &&String| {
        let (_, platform) = tag.rsplit_once("-macosx_")?;
        platform.split('_').next()?.parse::<u32>().ok()
    };
    let tag = one.tags.iter().find(|tag| major(tag).is_some_and(|major| major > 99))?;
    let seen = format!(
        "the tag of `{}` {} is `{tag}`, a macOS that never was, in environment `{}`",
        one.name, one.version, environment.folder
    );
    let why = "a mistake of whoever built the wheel, not of this Mac; installers that compare it put the package back at each run";
    let diagnosis = Diagnosis::warning(Code::WheelTag, Subject::Environment, seen, why);
    let says = "take the repaired build of the wheel; macml compares files, not this tag";
    Some(match environment.of_project() {
        Some(_) => diagnosis.remedy(says).command("macml lock"),
        None => again(environment, &one.name, &one.version, diagnosis),
    })
}

fn for_later(
    environment: &Environment,
    one: &Distribution,
    macos: MacosVersion,
    knowledge: &Knowledge,
) -> Option<Diagnosis> {
    let (name, version) = name_and_version(one)?;
    let MadeFor { macos: needed, tag, fact } = knowledge.made_for(&name, &version, &one.tags)?;
    if needed <= macos {
        return None;
    }
    let seen = format!(
        "`{}` {} in environment `{}` is the wheel for macOS {needed} (`{tag}`), and this Mac has {macos}",
        one.name, one.version, environment.folder
    );
    let why = "its libraries and GPU code are built for that system and do not load on an earlier one";
    let mut diagnosis = Diagnosis::error(Code::LaterMacosWheel, Subject::Environment, seen, why);
    diagnosis.details.extend(fact.map(|fact| fact.reason.trim_end_matches('.').to_owned()));
    Some(match environment.of_project() {
        Some(_) => anew(environment, diagnosis.detail("a sync takes the wheel for the macOS that it runs on")),
        None => again(
            environment,
            &one.name,
            &one.version,
            diagnosis.detail("installed here, pip takes the wheel for this macOS, where there is one"),
        ),
    })
}

/// mlx and mlx-metal have to be of one generation of macOS.
fn generations(environment: &Environment, knowledge: &Knowledge) -> Option<Diagnosis> {
    let of = |wanted: &str| {
        let one = environment.distributions.iter().find(|one| one.name == wanted)?;
        let (name, version): (PackageName, Version) = name_and_version(one)?;
        Some(knowledge.made_for(&name, &version, &one.tags)?.macos)
    };
    let (one, other) = (of("mlx")?, of("mlx-metal")?);
    if one.major() == other.major() {
        return None;
    }
    let seen = format!(
        "`mlx` is the wheel for macOS {}, and `mlx-metal` that for {}, in environment `{}`",
        one.major(),
        other.major(),
        environment.folder
    );
    let why = "each was built with the other one of its own generation";
    let diagnosis = Diagnosis::error(Code::LaterMacosWheel, Subject::Environment, seen, why);
    Some(anew(environment, diagnosis))
}
