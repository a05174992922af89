//! `Pins`: which versions a lockfile chose, as far as it can be made out. Never fails: it is for files that a merge
//! or an accident has damaged, whose choices are still the best guess at what the next answer should stay close to.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::pep::{PackageName, Version};
use crate::resolve::request::Preferences;
use crate::target::{Platform, PythonMinor};

use super::model::Lockfile;
use super::parse::parse_reference;

/// The choices of one lockfile.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pins {
    /// Those of each environment that could be read.
    pub envs: Vec<EnvPins>,
    /// Every release of the file, newest first: what is left when its environment cannot be read.
    pub releases: BTreeMap<PackageName, Vec<Version>>,
}

/// The choices of one environment on one platform.
#[derive(Clone, PartialEq, Debug)]
pub struct EnvPins {
    /// The environment's name.
    pub name: String,
    /// The platform.
    pub platform: Platform,
    /// Its Python.
    pub python: Option<PythonMinor>,
    /// Its packages.
    pub versions: BTreeMap<PackageName, Version>,
}

/// Returns what a lockfile wants kept when an environment is solved again.
pub fn preferences(lock: &Lockfile, env: &str, platform: Platform) -> Preferences {
    combine(&[&Pins::from(lock)], env, platform)
}

/// Returns what several sets of choices want kept, the first one's first.
pub fn combine(all: &[&Pins], env: &str, platform: Platform) -> Preferences {
    let mut preferences = Preferences::default();
    let mut prefer = |name: &PackageName, version: &Version| {
        let versions: &mut Vec<Version> = preferences.versions.entry(name.clone()).or_default();
        if !versions.contains(version) {
            versions.push(version.clone());
        }
    };
    let mut python = None;
    for pins in all {
        match pins.envs.iter().find(|one| one.name == env && one.platform == platform) {
            Some(own) => {
                python = python.or(own.python);
                own.versions.iter().for_each(|(name, version)| prefer(name, version));
            }
            // Where some environments can be read, one that is missing was not in the file.
            None if pins.envs.is_empty() => {
                let releases = pins.releases.iter();
                releases.for_each(|(name, versions)| versions.iter().for_each(|version| prefer(name, version)));
            }
            None => {}
        }
    }
    preferences.python = python;
    preferences
}

impl From<&Lockfile> for Pins {
    fn from(lock: &Lockfile) -> Self {
        let env = |env: &super::model::LockedEnv| EnvPins {
            name: env.name.clone(),
            platform: env.platform,
            python: Some(env.python),
            versions: env.packages.iter().map(|one| (one.name.clone(), one.version.clone())).collect(),
        };
        let mut pins = Self { envs: lock.envs.iter().map(env).collect(), releases: BTreeMap::new() };
        for package in &lock.packages {
            pins.release(&package.name, &package.version);
        }
        pins
    }
}

impl Pins {
    /// Makes out what it can of a lockfile's text, and its version where that is there.
    pub fn make_out(text: &str) -> (Self, Option<u64>) {
        let (document, _) = DeTable::parse_recoverable(text);
        let document = document.get_ref();
        let mut pins = Self::default();
        for table in tables(document, "env") {
            pins.envs.extend(env_pins(table));
        }
        for table in tables(document, "package") {
            let release = text_of(table, "name").zip(text_of(table, "version"));
            if let Some((Ok(name), Ok(version))) = release.map(|(name, version)| (name.parse(), version.parse())) {
                pins.release(&name, &version);
            }
        }
        let version = match document.get("version").map(Spanned::get_ref) {
            Some(DeValue::Integer(number)) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        (pins, version)
    }

    /// Returns whether nothing at all was made out.
    pub fn is_empty(&self) -> bool {
        self.envs.is_empty() && self.releases.is_empty()
    }

    fn release(&mut self, name: &PackageName, version: &Version) {
        let versions = self.releases.entry(name.clone()).or_default();
        if let Err(at) = versions.binary_search_by(|other| version.cmp(other)) {
            versions.insert(at, version.clone());
        }
    }
}

fn tables<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> impl Iterator<Item = &'a DeTable<'i>> {
    let array = table.get(key).and_then(|found| found.get_ref().as_array());
    array.into_iter().flat_map(|items| items.iter()).filter_map(|item| item.get_ref().as_table())
}

fn text_of<'a>(table: &'a DeTable<'_>, key: &str) -> Option<&'a str> {
    table.get(key)?.get_ref().as_str()
}

fn env_pins(table: &DeTable<'_>) -> Option<EnvPins> {
    let packages = table.get("packages").and_then(|found| found.get_ref().as_array());
    let references = packages.into_iter().flat_map(|items| items.iter()).filter_map(|item| item.get_ref().as_str());
    Some(EnvPins {
        name: text_of(table, "name")?.to_owned(),
        platform: text_of(table, "platform")?.parse().ok()?,
        python: text_of(table, "python").and_then(|text| text.parse().ok()),
        versions: references.filter_map(parse_reference).map(|one| (one.name, one.version)).collect(),
    })
}
