//! Whether a Mac can carry what was locked: told before anything is downloaded. Pure.
//!
//! The first obstacle is the answer: who runs under Rosetta is not told of wheels too. In the order in which they can be
//! got over: how macml was started, the machine, its macOS, the chip, and then the wheels.

use crate::host::{Chip, Host, Process, Processor, gigabytes};
use crate::lock::Lockfile;
use crate::lock::model::{LockedEnv, LockedPackage};
use crate::lock::pick::Picker;
use crate::pep::{PackageName, Version};
use crate::target::{Floor, MacosVersion, Platform};

/// What a Mac that can carry an environment means for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fit {
    /// Its macOS, by which wheels are picked.
    pub macos: MacosVersion,
    /// What is not as declared and no obstacle, a sentence each: less memory than asked for, for example.
    pub warnings: Vec<String>,
}

/// Why a Mac cannot carry an environment.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unfit {
    /// The environment is locked for another system.
    #[error("environment `{env}` on `{platform}` is for Linux, and this is a Mac")]
    OtherPlatform {
        /// The environment.
        env: String,
        /// What it is locked for.
        platform: Platform,
    },
    /// macml is a program for Intel here, and so is every Python that it would start.
    #[error("this macml runs under Rosetta, as a program for Intel, and would not see the Mac that is there")]
    Translated,
    /// A Mac before Apple Silicon.
    #[error("this Mac has an Intel processor (`{cpu}`), and environments need one of Apple's")]
    Intel {
        /// The processor's name.
        cpu: String,
    },
    /// It cannot be told which macOS it is.
    #[error("this Mac says that its macOS is `{told}`, which is no version of macOS for Apple Silicon")]
    UnknownMacos {
        /// What it says.
        told: String,
    },
    /// The Mac is below the floor.
    #[error("this Mac has macOS {has}, and environment `{env}` is locked for {floor} and later")]
    MacosTooOld {
        /// The environment.
        env: String,
        /// The version as told.
        has: String,
        /// What it is locked for.
        floor: MacosVersion,
    },
    /// The chip is below the floor.
    #[error("this Mac has an {} (`{cpu}`), and environment `{env}` is locked for {} and later", family(*.has), family(*.floor))]
    ChipTooOld {
        /// The environment.
        env: String,
        /// The processor's name.
        cpu: String,
        /// Its generation.
        has: u8,
        /// The generation that it is locked for.
        floor: u8,
    },
    /// None of a release's locked files is for this macOS, though the floor says so: something has become known since.
    #[error("`{package}` {version} has no locked file for macOS {has}{}", needing(*.needs))]
    NoWheel {
        /// The package.
        package: PackageName,
        /// Its version.
        version: Version,
        /// The version of macOS as told.
        has: String,
        /// The lowest macOS above for which it has one.
        needs: Option<MacosVersion>,
    },
}

fn family(generation: u8) -> String {
    format!("M{generation}")
}

fn needing(needs: Option<MacosVersion>) -> String {
    needs.map(|macos| format!(": it needs {macos}")).unwrap_or_default()
}

impl Unfit {
    /// Says what to do.
    pub fn remedy(&self) -> String {
        let below = |key: &str, value: &dyn std::fmt::Display| {
            format!("declare `{key} = \"{value}\"` in macml.toml, and `macml lock` looks for a set that works there")
        };
        match self {
            Self::OtherPlatform { .. } => {
                "add `macos-arm64` to `[target] platforms` in macml.toml, then `macml lock`".to_owned()
            }
            Self::Translated => {
                "use the arm64 one, in a terminal that does not run under Rosetta: `uname -m` says arm64 there"
                    .to_owned()
            }
            Self::Intel { .. } => {
                "`macml sync --target DIR --platform macos-arm64` stages it here for a Mac that has one".to_owned()
            }
            Self::UnknownMacos { .. } => "unset `SYSTEM_VERSION_COMPAT`, if it is set, and run it again".to_owned(),
            Self::MacosTooOld { has, .. } => {
                let has = MacosVersion::told_by(has).map_or_else(|| has.clone(), |has| has.to_string());
                format!("update macOS; or {}", below("macos", &has))
            }
            Self::ChipTooOld { has, .. } => below("chip", &format!("m{has}")),
            Self::NoWheel { package, needs, .. } => {
                let solve = format!("`macml lock -P {package}` looks for a release that has one");
                needs.map_or_else(|| solve.clone(), |needs| format!("update macOS to {needs} or later; or {solve}"))
            }
        }
    }
}

/// Decides it. `memory` is what the manifest asks for, in bytes.
///
/// A macOS newer than macml knows counts as the newest that it does, and a processor whose name says no chip as good
/// enough, with a warning.
///
/// # Errors
/// When it cannot: one sentence.
pub fn fit(host: &Host, lock: &Lockfile, env: &LockedEnv, memory: Option<u64>) -> Result<Fit, Unfit> {
    let Floor::Mac { macos: floor, chip } = &env.floor else {
        return Err(Unfit::OtherPlatform { env: env.name.clone(), platform: env.platform });
    };
    if host.process == Process::Translated {
        return Err(Unfit::Translated);
    }
    let processor = host.processor();
    if processor == Processor::Foreign {
        return Err(Unfit::Intel { cpu: host.cpu.clone() });
    }
    let macos = MacosVersion::told_by(&host.macos).ok_or_else(|| Unfit::UnknownMacos { told: host.macos.clone() })?;
    if macos < *floor {
        return Err(Unfit::MacosTooOld { env: env.name.clone(), has: host.macos.clone(), floor: *floor });
    }
    let mut warnings = Vec::new();
    warnings.extend(judge_chip(host, &processor, env, chip)?);
    judge_wheels(host, macos, lock, env)?;
    warnings.extend(memory.filter(|asked| host.memory < *asked).map(|asked| {
        let (has, asked) = (gigabytes(host.memory), gigabytes(asked));
        format!("this Mac has {has} of memory, and the project asks for {asked}")
    }));
    Ok(Fit { macos, warnings })
}

fn judge_chip(host: &Host, processor: &Processor, env: &LockedEnv, floor: &Chip) -> Result<Option<String>, Unfit> {
    let floor = floor.generation();
    match processor {
        Processor::Chip(chip) if chip.generation() < floor => {
            Err(Unfit::ChipTooOld { env: env.name.clone(), cpu: host.cpu.clone(), has: chip.generation(), floor })
        }
        Processor::Chip(_) => Ok(None),
        _ => Ok(Some(format!(
            "this Mac calls its processor `{}`, which does not say whether it is an {} or later",
            host.cpu,
            family(floor)
        ))),
    }
}

fn judge_wheels(host: &Host, macos: MacosVersion, lock: &Lockfile, env: &LockedEnv) -> Result<(), Unfit> {
    let picker = Picker::on(env, macos);
    let packages = || env.packages.iter().filter_map(|entry| lock.package(entry));
    let Some(package) = packages().find(|package| picker.files(package).is_empty()) else { return Ok(()) };
    let has_one = |macos: &MacosVersion, package: &LockedPackage| !Picker::on(env, *macos).files(package).is_empty();
    Err(Unfit::NoWheel {
        package: package.name.clone(),
        version: package.version.clone(),
        has: host.macos.clone(),
        needs: macos.upward().find(|later| has_one(later, package)),
    })
}

#[cfg(test)]
mod tests;
