//! `Wanted`: what should be in a tree. Pure.

use std::collections::BTreeSet;

use crate::lock::Lockfile;
use crate::lock::model::LockedEnv;
use crate::lock::pick::Picker;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::target::Floor;
use crate::target::MacosVersion;

/// What should be in a tree.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Wanted {
    /// Its packages.
    pub packages: Vec<WantedPackage>,
    /// Packages that may be there although they are not locked, such as the `pip` that a virtual environment begins with:
    /// they are passed over, their files too.
    pub spare: BTreeSet<PackageName>,
}

/// A package that should be in a tree.
#[derive(Clone, PartialEq, Debug)]
pub struct WantedPackage {
    /// Its name.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// The wheel that it is to be from, where that is known.
    pub wheel: Option<(WheelName, Sha256)>,
}

impl Wanted {
    /// Takes the packages of an environment. `macos` is that of the machine that the tree was made for; the floor counts
    /// where it is `None`.
    pub fn of(lock: &Lockfile, env: &LockedEnv, macos: Option<MacosVersion>) -> Self {
        let floor = match &env.floor {
            Floor::Mac { macos, .. } => Some(*macos),
            Floor::Glibc(..) => None,
        };
        let picker = Picker::on(env, macos.or(floor).unwrap_or(MacosVersion::new(MacosVersion::NEWEST_MAJOR, 0)));
        let wheel = |package| picker.files(package).first().map(|wheel| (wheel.file.clone(), wheel.sha256));
        let packages = env.packages.iter().map(|entry| WantedPackage {
            name: entry.name.clone(),
            version: entry.version.clone(),
            wheel: lock.package(entry).and_then(wheel),
        });
        Self { packages: packages.collect(), spare: BTreeSet::new() }
    }
}
