//! Which files of a lock an environment takes on one machine. Pure.

use crate::lock::Lockfile;
use crate::lock::model::LockedEnv;
use crate::lock::model::LockedPackage;
use crate::lock::model::LockedWheel;
use crate::lock::pick::Picker;
use crate::manifest::model::EnvSpec;
use crate::target::Floor;
use crate::target::MacosVersion;

use super::Error;

/// A file that an environment takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen<'a> {
    pub(super) package: &'a LockedPackage,
    pub(super) wheel: &'a LockedWheel,
    /// Whether macml.toml names the package.
    pub(super) requested: bool,
}

/// Picks a file for each package, in their order. `macos` is the Mac's; without it the floor's file serves.
pub(super) fn files<'a>(
    lock: &'a Lockfile,
    entry: &LockedEnv,
    env: &EnvSpec,
    macos: Option<MacosVersion>,
) -> Result<Vec<Chosen<'a>>, Error> {
    let platform = entry.platform;
    let mut chosen = Vec::with_capacity(entry.packages.len());
    for (package, wheel) in each(lock, entry, macos) {
        let requested =
            env.roots.iter().any(|root| root.name == package.name && root.platform.is_none_or(|only| only == platform));
        let Some(wheel) = wheel else {
            let (name, version) = (package.name.clone(), package.version.clone());
            return Err(Error::NoFile { name, version, platform, macos: macos.or(floor(entry)) });
        };
        chosen.push(Chosen { package, wheel, requested });
    }
    Ok(chosen)
}

/// Picks a file for each package, `None` where none is for that machine.
pub(in crate::pipeline) fn each<'a>(
    lock: &'a Lockfile,
    entry: &LockedEnv,
    macos: Option<MacosVersion>,
) -> Vec<(&'a LockedPackage, Option<&'a LockedWheel>)> {
    let macos = macos.or(floor(entry)).unwrap_or(MacosVersion::new(MacosVersion::NEWEST_MAJOR, 0));
    let picker = Picker::on(entry, macos);
    let packages = entry.packages.iter().map(|one| {
        let package = lock.package(one).expect("a lock has every package that its environments name");
        (package, picker.files(package).first().copied())
    });
    packages.collect()
}

fn floor(entry: &LockedEnv) -> Option<MacosVersion> {
    match &entry.floor {
        Floor::Mac { macos, .. } => Some(*macos),
        Floor::Glibc(..) => None,
    }
}
