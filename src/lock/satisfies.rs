//! Does a lockfile still answer a manifest? Compares digests; needs no network and no solver.

use crate::manifest::model::{EnvSpec, Gpu};
use crate::pep::{PackageName, Sha256, Version};
use crate::target::{Floor, Platform};

use super::format::gpu_text;
use super::model::{LockedEnv, Lockfile};

/// Why a lockfile does not answer a manifest any more.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error, serde::Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Stale {
    /// An environment that the lockfile does not have.
    #[error("environment `{env}` is not locked")]
    MissingEnv {
        /// Its name.
        env: String,
    },
    /// A platform that an environment is not locked for.
    #[error("environment `{env}` is not locked for {platform}")]
    MissingPlatform {
        /// The environment.
        env: String,
        /// The platform.
        #[serde(serialize_with = "crate::lock::diff::as_text")]
        platform: Platform,
    },
    /// An environment that the manifest does not have any more.
    #[error("environment `{env}` is locked but not in the manifest")]
    ExtraEnv {
        /// Its name.
        env: String,
    },
    /// A platform that the manifest does not name any more.
    #[error("environment `{env}` is locked for {platform}, which the manifest does not name")]
    ExtraPlatform {
        /// The environment.
        env: String,
        /// The platform.
        #[serde(serialize_with = "crate::lock::diff::as_text")]
        platform: Platform,
    },
    /// What the answer depends on has changed.
    #[error("what environment `{env}` asks for on {platform} has changed since it was locked")]
    InputsChanged {
        /// The environment.
        env: String,
        /// The platform.
        #[serde(serialize_with = "crate::lock::diff::as_text")]
        platform: Platform,
    },
    /// A release that no environment uses.
    #[error("`{name} {version}` is locked but no environment uses it")]
    UnusedPackage {
        /// The release's name.
        name: PackageName,
        /// Its version.
        #[serde(serialize_with = "crate::lock::diff::as_text")]
        version: Version,
    },
}

/// Returns every reason why `lock` does not answer a manifest whose environments and platforms have these digests;
/// none when it does.
pub fn satisfies(lock: &Lockfile, wanted: &[(String, Platform, Sha256)]) -> Vec<Stale> {
    let mut reasons = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    for (env, platform, inputs) in wanted {
        match lock.env(env, *platform) {
            Some(locked) if locked.inputs == *inputs => {}
            Some(_) => reasons.push(Stale::InputsChanged { env: env.clone(), platform: *platform }),
            None if lock.envs.iter().any(|locked| locked.name == *env) => {
                reasons.push(Stale::MissingPlatform { env: env.clone(), platform: *platform });
            }
            None if missing.contains(&env.as_str()) => {}
            None => {
                missing.push(env);
                reasons.push(Stale::MissingEnv { env: env.clone() });
            }
        }
    }
    let mut extra: Vec<&str> = Vec::new();
    for locked in &lock.envs {
        let (env, platform) = (&locked.name, locked.platform);
        match wanted.iter().any(|(name, ..)| name == env) {
            true if wanted.iter().any(|(name, other, _)| name == env && *other == platform) => {}
            true => reasons.push(Stale::ExtraPlatform { env: env.clone(), platform }),
            false if extra.contains(&env.as_str()) => {}
            false => {
                extra.push(env);
                reasons.push(Stale::ExtraEnv { env: env.clone() });
            }
        }
    }
    for package in &lock.packages {
        let used = |env: &LockedEnv| env.entry(&package.name).is_some_and(|entry| lock.package(entry) == Some(package));
        if !lock.envs.iter().any(used) {
            let (name, version) = (package.name.clone(), package.version.clone());
            reasons.push(Stale::UnusedPackage { name, version });
        }
    }
    reasons
}

/// Says in words what of an environment's declaration is not as it was when it was locked, as far as the lock tells.
///
/// For [`Stale::InputsChanged`]; none of the sentences means that something changed which the lock holds by digest only.
pub fn changes(locked: &LockedEnv, wanted: &EnvSpec) -> Vec<String> {
    let mut changes = Vec::new();
    let mut compare = |what: &str, old: String, new: String| {
        if old != new {
            changes.push(format!("the {what} was {old} and is {new}"));
        }
    };
    match (&locked.floor, &wanted.mac) {
        (Floor::Mac { macos, chip }, Some(mac)) => {
            compare("macOS floor", macos.to_string(), mac.macos.to_string());
            compare("chip floor", chip.to_string(), mac.chip.to_string());
        }
        (Floor::Glibc(major, minor), _) => {
            compare("glibc floor", format!("{major}.{minor}"), format!("{}.{}", wanted.glibc.0, wanted.glibc.1));
        }
        (Floor::Mac { .. }, None) => {}
    }
    let word = |gpu: Gpu| format!("`{}`", gpu_text(gpu));
    compare("value of `gpu`", word(locked.gpu), word(wanted.gpu));
    if !crate::resolve::candidate::admits(&wanted.python, locked.python) {
        changes.push(format!("Python {} is locked, but {} is asked for", locked.python, wanted.python));
    }
    let ignored = &wanted.resolution.ignore_rules;
    let new = ignored.iter().filter(|id| !locked.ignored.contains(id));
    changes.extend(new.map(|id| format!("`{id}` is new in `ignore-rules`")));
    let gone = locked.ignored.iter().filter(|id| !ignored.contains(id));
    changes.extend(gone.map(|id| format!("`{id}` is gone from `ignore-rules`")));
    for root in &wanted.roots {
        let here = root.platform.is_none_or(|platform| platform == locked.platform);
        if here && root.marker.is_none() && locked.entry(&root.name).is_none() {
            changes.push(format!("`{}` is not locked", root.name));
        }
    }
    changes.dedup();
    changes
}
