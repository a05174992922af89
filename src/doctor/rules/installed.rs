//! What is installed, one distribution at a time: half-finished, with files gone, for a later macOS, without its libraries:
//! bug reports R02, R03, R07, R09, R23.

use crate::diag::{Code, few};
use crate::doctor::facts::{Distribution, Environment, Facts};
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;
use crate::target::MacosVersion;

/// Packages whose work is done by libraries: a wheel of theirs for any system has none.
const NATIVE: [(&str, &str); 6] = [
    ("coremltools", "`libcoremlpython` and `libmilstoragepython`"),
    ("torch", "its libraries"),
    ("tensorflow", "its libraries"),
    ("mlx", "`core`"),
    ("numpy", "its libraries"),
    ("onnxruntime", "its libraries"),
];

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let macos = facts.machine.host.as_ref().and_then(|host| MacosVersion::told_by(&host.macos));
    let mut found = Vec::new();
    for environment in facts.environments.iter().filter(|one| one.there) {
        found.extend(unfinished(environment));
        found.extend(twice(environment));
        for one in &environment.distributions {
            found.extend(gone(environment, one));
            found.extend(without_libraries(environment, one));
            found.extend(malformed_tag(environment, one));
            if let Some(macos) = macos {
                found.extend(for_later(environment, one, macos));
            }
        }
        found.extend(generations(environment));
        found.extend(proof(environment));
    }
    found
}

/// Says how an environment gets in order again.
fn again(environment: &Environment, diagnosis: Diagnosis) -> Diagnosis {
    match environment.of_project().is_some() {
        true => diagnosis.remedy("build the environment anew").command("macml sync"),
        false => diagnosis.remedy("make the environment anew, or install that package again in it"),
    }
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
    Some(again(environment, diagnosis))
}

fn twice(environment: &Environment) -> Option<Diagnosis> {
    let all = &environment.distributions;
    let (one, other) = all
        .iter()
        .enumerate()
        .find_map(|(at, one)| Some((one, all[..at].iter().find(|other| other.name == one.name)?)))?;
    let seen = format!(
        "`{}` is installed as {} and as {} in environment `{}`",
        one.name, other.version, one.version, environment.folder
    );
    let why = "their files lie in one folder: which of them counts is chance";
    Some(again(environment, Diagnosis::error(Code::InstalledTwice, Subject::Environment, seen, why)))
}

fn gone(environment: &Environment, one: &Distribution) -> Option<Diagnosis> {
    let first = one.gone.first().filter(|_| one.gone_count > 0)?;
    let more = if one.gone_count == 1 { String::new() } else { format!(" and {} more", one.gone_count - 1) };
    let seen =
        format!("`{first}`{more} of `{}` {} is gone from environment `{}`", one.name, one.version, environment.folder);
    let why = "RECORD names it, so that it was installed: another package was removed that owned the same path, or somebody did";
    let diagnosis = Diagnosis::error(Code::FileMissing, Subject::Environment, seen, why);
    Some(match environment.of_project().is_some() {
        true => diagnosis
            .remedy(format!("install `{}` again: a sync builds the environment anew", one.name))
            .command("macml sync"),
        false => diagnosis
            .remedy(format!("install `{}` again", one.name))
            .command(format!("python -m pip install --force-reinstall --no-deps {}=={}", one.name, one.version)),
    })
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
    Some(diagnosis.remedy("take a Python for which it has a wheel").command("macml matrix"))
}

fn malformed_tag(environment: &Environment, one: &Distribution) -> Option<Diagnosis> {
    let tag = one.tags.iter().find(|tag| built_for(tag).is_some_and(|(major, _)| major > 99))?;
    let seen = format!(
        "the tag of `{}` {} is `{tag}`, a macOS that never was, in environment `{}`",
        one.name, one.version, environment.folder
    );
    let why = "a mistake of whoever built the wheel, not of this Mac; installers that compare it put the package back at each run";
    let diagnosis = Diagnosis::warning(Code::WheelTag, Subject::Environment, seen, why);
    Some(
        diagnosis
            .remedy("take the repaired build of the wheel; macml compares files, not this tag")
            .command("macml lock"),
    )
}

/// Returns the macOS that a tag names: 26 and 0 of `cp313-cp313-macosx_26_0_arm64`.
fn built_for(tag: &str) -> Option<(u16, u16)> {
    let (_, platform) = tag.rsplit_once("-macosx_")?;
    let mut parts = platform.split('_');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn for_later(environment: &Environment, one: &Distribution, macos: MacosVersion) -> Option<Diagnosis> {
    let lowest = one.tags.iter().filter_map(|tag| Some((built_for(tag)?, tag))).min()?;
    let ((major, minor), tag) = lowest;
    if major > 99 || (major, minor) <= (macos.major(), macos.minor()) {
        return None;
    }
    let seen = format!(
        "`{}` {} in environment `{}` is the wheel for macOS {major}.{minor} (`{tag}`), and this Mac has {macos}",
        one.name, one.version, environment.folder
    );
    let why = "its libraries and GPU code are built for that system and do not load on an earlier one";
    let diagnosis = Diagnosis::error(Code::LaterMacosWheel, Subject::Environment, seen, why);
    Some(match environment.of_project().is_some() {
        true => diagnosis
            .remedy("build the environment on this Mac: a sync takes the wheel for its macOS")
            .command("macml sync"),
        false => diagnosis.remedy("install on the macOS that it is to run on, or let macml lock the wheel of each"),
    })
}

/// mlx and mlx-metal have to be of one generation of macOS.
fn generations(environment: &Environment) -> Option<Diagnosis> {
    let of = |name: &str| {
        let one = environment.distributions.iter().find(|one| one.name == name)?;
        one.tags.iter().find_map(|tag| built_for(tag))
    };
    let (one, other) = (of("mlx")?, of("mlx-metal")?);
    if one.0 == other.0 {
        return None;
    }
    let seen = format!(
        "`mlx` is the wheel for macOS {}, and `mlx-metal` that for {}, in environment `{}`",
        one.0, other.0, environment.folder
    );
    let why = "each was built with the other one of its own generation";
    Some(again(environment, Diagnosis::error(Code::LaterMacosWheel, Subject::Environment, seen, why)))
}

/// What the proof that libraries load said.
fn proof(environment: &Environment) -> Vec<Diagnosis> {
    let code = |name: &str| Code::ALL.iter().copied().find(|code| code.as_str() == name);
    let all = environment.proof.iter().flatten().filter_map(|one| {
        let seen = format!("{}, in environment `{}`", one.message, environment.folder);
        let why =
            one.notes.first().cloned().unwrap_or_else(|| "the loader of macOS was followed file by file".to_owned());
        let code = code(&one.code)?;
        let mut diagnosis = match one.severity {
            crate::diag::Severity::Error => Diagnosis::error(code, Subject::Environment, seen, why),
            crate::diag::Severity::Warning => Diagnosis::warning(code, Subject::Environment, seen, why),
            // Notes of a proof are for `macml check`.
            crate::diag::Severity::Note => return None,
        };
        diagnosis.details.extend(one.notes.iter().skip(1).cloned());
        let hint = one.hint.clone().unwrap_or_else(|| "see what else is to be said of it".to_owned());
        Some(diagnosis.remedy(hint).command(format!("macml explain {}", code.as_str())))
    });
    all.collect()
}
