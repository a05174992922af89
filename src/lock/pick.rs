//! Which locked files an environment takes: a release's files are those of all environments together.

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
        Self(Selector::new(&env.target(), env.wheels))
    }

    /// Makes one for a Mac on `macos`, which is the floor of `env` or above; elsewhere `macos` counts for nothing.
    pub fn on(env: &LockedEnv, macos: MacosVersion) -> Self {
        let mut target: Target = env.target();
        if let (Floor::Mac { macos: floor, .. }, Wheels::Host) = (&mut target.floor, env.wheels) {
            *floor = (*floor).max(macos);
        }
        Self(Selector::new(&target, Wheels::Floor))
    }

    /// Returns the files of `package`, by name.
    pub fn files<'a>(&self, package: &'a LockedPackage) -> Vec<&'a LockedWheel> {
        // A wheel by path or address is what the user says it is.
        if !matches!(package.origin, Origin::Index(_)) {
            return package.wheels.iter().collect();
        }
        let mut files = self.0.pick(&package.wheels, |wheel| &wheel.file);
        files.sort_by_cached_key(|wheel| wheel.file.to_string());
        files
    }
}
