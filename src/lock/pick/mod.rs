//! Which locked files an environment takes: a release's files are those of all environments together.
//!
//! A wheel counts from the macOS on that it is now known to be for, whatever was known when the lock was made. So a lock
//! may have no file left for a machine: whoever installs has to say so, whoever only keeps it goes by [`Picker::kept`].

use crate::knowledge::Knowledge;
use crate::manifest::model::Wheels;
use crate::resolve::candidate::Selector;
use crate::resolve::resolution::Origin;
use crate::target::{Floor, MacosVersion, Target};

use super::model::{LockedEnv, LockedPackage, LockedWheel};

/// Picks the locked files of one environment on one platform.
#[derive(Debug)]
pub struct Picker(Selector);

impl Picker {
    /// Makes one for every machine that `env` must work on.
    pub fn new(env: &LockedEnv) -> Self {
        Self::of(&env.target(), env.wheels, &Knowledge::built_in())
    }

    /// Makes one for a Mac on `macos`, which is the floor of `env` or above; elsewhere `macos` counts for nothing.
    ///
    /// A macOS newer than macml knows counts as the newest that it does.
    pub fn on(env: &LockedEnv, macos: MacosVersion) -> Self {
        const NEWEST: MacosVersion = MacosVersion::new(MacosVersion::NEWEST_MAJOR, u16::MAX);
        let mut target: Target = env.target();
        if let (Floor::Mac { macos: floor, .. }, Wheels::Host) = (&mut target.floor, env.wheels) {
            *floor = (*floor).max(macos.min(NEWEST));
        }
        Self::of(&target, Wheels::Floor, &Knowledge::built_in())
    }

    fn of(target: &Target, wheels: Wheels, knowledge: &Knowledge) -> Self {
        Self(Selector::new(target, wheels).knowing(knowledge))
    }

    /// Returns the files of `package`, by name; none where none of them fits.
    pub fn files<'a>(&self, package: &'a LockedPackage) -> Vec<&'a LockedWheel> {
        // A wheel by path or address is what the user says it is.
        if !matches!(package.origin, Origin::Index(_)) {
            return package.wheels.iter().collect();
        }
        let mut files = self.0.pick(&package.wheels, |wheel| &wheel.file);
        files.sort_by_cached_key(|wheel| wheel.file.to_string());
        files
    }

    /// Returns the files of `package`, by name; all where none of them fits, which is not for everyone to judge.
    pub fn kept<'a>(&self, package: &'a LockedPackage) -> Vec<&'a LockedWheel> {
        match self.files(package) {
            none if none.is_empty() => package.wheels.iter().collect(),
            files => files,
        }
    }
}

#[cfg(test)]
mod tests;
