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
    let floor = match &entry.floor {
        Floor::Mac { macos, .. } => Some(*macos),
        Floor::Glibc(..) => None,
    };
    let macos = macos.or(floor);
    let picker = Picker::on(entry, macos.unwrap_or(MacosVersion::new(MacosVersion::NEWEST_MAJOR, 0)));
    let platform = entry.platform;
    let mut chosen = Vec::with_capacity(entry.packages.len());
    for one in &entry.packages {
        let package = lock.package(one).expect("a lock has every package that its environments name");
        let requested =
            env.roots.iter().any(|root| root.name == one.name && root.platform.is_none_or(|only| only == platform));
        let Some(wheel) = picker.files(package).first().copied() else {
            let (name, version) = (package.name.clone(), package.version.clone());
            return Err(Error::NoFile { name, version, platform, macos });
        };
        chosen.push(Chosen { package, wheel, requested });
    }
    Ok(chosen)
}
