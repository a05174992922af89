//! What is locked, in the forms of other tools: a requirements file with hashes and `pylock.toml` (PEP 751). Pure: which
//! addresses files have is brought along.
//!
//! One environment is exported for some of its platforms together. What only some of them get has a marker.

mod pylock;
mod requirements;

use std::collections::BTreeMap;

use crate::pep::{PackageName, Sha256};
use crate::target::{Floor, Platform};

use super::model::{LockedEnv, LockedPackage, LockedRef, LockedWheel, Lockfile};
use super::pick::Picker;

pub use pylock::{Unplaced, pylock};
pub use requirements::requirements;

/// What is exported.
#[derive(Debug)]
pub struct Export<'a> {
    /// The name of the project.
    pub project: &'a str,
    /// The environment.
    pub env: &'a str,
    /// Its platforms, in the order of the lock, never empty.
    pub platforms: Vec<&'a LockedEnv>,
    /// Its releases, by name.
    pub releases: Vec<Exported<'a>>,
    /// Packages that macml.toml asks for.
    pub roots: Vec<PackageName>,
    /// The addresses of indexes, by name; of the default one too.
    pub indexes: BTreeMap<String, String>,
    /// The addresses of files, by digest. What is missing there is known by its index alone.
    pub addresses: BTreeMap<Sha256, String>,
}

/// One release.
#[derive(Debug)]
pub struct Exported<'a> {
    /// The release.
    pub package: &'a LockedPackage,
    /// The platforms that get it.
    pub platforms: Vec<Platform>,
    /// Its files for them, by name.
    pub wheels: Vec<&'a LockedWheel>,
    /// Packages that ask for it, by name.
    pub asked_by: Vec<&'a PackageName>,
}

/// A release of which no locked file is for a platform.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no locked wheel of `{name}` is for {platform}")]
pub struct NoFile {
    /// The package.
    pub name: PackageName,
    /// The platform.
    pub platform: Platform,
}

/// Lists the releases of an environment on some platforms, each with the files that these may install.
///
/// # Errors
/// When a release has no file left for one of them: it is known by now to need a later macOS.
pub fn releases<'a>(lock: &'a Lockfile, platforms: &[&'a LockedEnv]) -> Result<Vec<Exported<'a>>, NoFile> {
    let mut all: Vec<Exported<'a>> = Vec::new();
    for env in platforms {
        let picker = Picker::new(env);
        for entry in &env.packages {
            let package = lock.package(entry).expect("a lock that was read has every release of its environments");
            let files = picker.files(package);
            if files.is_empty() {
                return Err(NoFile { name: entry.name.clone(), platform: env.platform });
            }
            let same = all.iter_mut().find(|one| std::ptr::eq(one.package, package));
            let one = match same {
                Some(one) => one,
                None => {
                    all.push(Exported { package, platforms: Vec::new(), wheels: Vec::new(), asked_by: Vec::new() });
                    all.last_mut().expect("it was put there")
                }
            };
            one.platforms.push(env.platform);
            one.wheels.extend(files);
            one.asked_by.extend(askers(lock, env, entry));
        }
    }
    for one in &mut all {
        one.wheels.sort_by_cached_key(|wheel| wheel.file.to_string());
        one.wheels.dedup();
        one.asked_by.sort();
        one.asked_by.dedup();
    }
    all.sort_by_key(|one| (&one.package.name, &one.package.version));
    Ok(all)
}

/// Names the packages of an environment that depend on one of it.
fn askers<'a>(lock: &'a Lockfile, env: &'a LockedEnv, entry: &LockedRef) -> Vec<&'a PackageName> {
    let asks = |other: &&LockedRef| {
        let package = lock.package(other);
        package.is_some_and(|package| package.edges(&env.name, env.platform).contains(&entry.name))
    };
    env.packages.iter().filter(asks).map(|other| &other.name).collect()
}

impl Export<'_> {
    /// Returns the marker of a release; `None` where every platform gets it.
    fn marker(&self, one: &Exported<'_>) -> Option<String> {
        let all = self.platforms.iter().all(|env| one.platforms.contains(&env.platform));
        let marked: Vec<String> = one.platforms.iter().map(|platform| marker(*platform)).collect();
        match marked.as_slice() {
            _ if all => None,
            [only] => Some(only.clone()),
            some => Some(some.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" or ")),
        }
    }
}

/// Writes the marker that holds on one platform alone.
fn marker(platform: Platform) -> String {
    let system = if platform.is_mac() { "darwin" } else { "linux" };
    format!("sys_platform == '{system}' and platform_machine == '{}'", platform.machine())
}

/// Says for which machine and Python an environment is.
fn described(env: &LockedEnv) -> String {
    let floor = match &env.floor {
        Floor::Mac { macos, chip } => format!("macOS {macos} and later, {chip} and later"),
        Floor::Glibc(major, minor) => format!("glibc {major}.{minor} and later"),
    };
    let patches = env.python_full.as_ref().map(|full| format!(" ({full})")).unwrap_or_default();
    format!("{}: Python {}{patches}, {floor}", env.platform, env.python)
}

#[cfg(test)]
mod tests;
