//! `Lockfile`: what macml.lock says. Plain data; what may stand in it together is checked by `parse`.

use std::collections::BTreeMap;

use crate::manifest::model::{Gpu, Wheels};
use crate::pep::{ExtraName, PackageName, Sha256, Specifiers, Version, WheelName};
use crate::resolve::resolution::Origin;
use crate::target::{Floor, Platform, PythonMinor, Target};

/// A whole macml.lock. Its lists are in the order given here: the functions that make one see to that.
#[derive(Clone, PartialEq, Debug)]
pub struct Lockfile {
    /// The knowledge it was solved with, a date; empty before there is knowledge.
    pub knowledge: String,
    /// One entry for each environment and platform: the default first, then by name; platforms in their own order.
    pub envs: Vec<LockedEnv>,
    /// Every release of any environment, by name, version and origin.
    pub packages: Vec<LockedPackage>,
}

/// One environment on one platform.
#[derive(Clone, PartialEq, Debug)]
pub struct LockedEnv {
    /// The environment's name.
    pub name: String,
    /// The platform.
    pub platform: Platform,
    /// The lowest machine of it.
    pub floor: Floor,
    /// Whether the GPU must be usable.
    pub gpu: Gpu,
    /// Whether every macOS generation has its own file or the floor's file serves all.
    pub wheels: Wheels,
    /// The chosen Python.
    pub python: PythonMinor,
    /// Patch releases left over; `None` when all.
    pub python_full: Option<Specifiers>,
    /// Digest of the parts of the manifest that the answer depends on.
    pub inputs: Sha256,
    /// Ids of the knowledge that shaped the answer, sorted.
    pub rules: Vec<String>,
    /// Names of knowledge that the manifest switched off, sorted.
    pub ignored: Vec<String>,
    /// The packages of the environment, sorted by name.
    pub packages: Vec<LockedRef>,
}

/// A package in an environment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockedRef {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// Extras in use, sorted.
    pub extras: Vec<ExtraName>,
    /// Which of the releases of this name and version; written only where there is more than one.
    pub origin: Origin,
}

/// A release with its files.
#[derive(Clone, PartialEq, Debug)]
pub struct LockedPackage {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// Where its files are found again.
    pub origin: Origin,
    /// Names it depends on in the first environment that has it, sorted.
    pub requires: Vec<PackageName>,
    /// The other environments whose edges differ from `requires`, in the order of [`Lockfile::envs`].
    pub requires_in: Vec<EdgesIn>,
    /// Its files, sorted by name, never empty.
    pub wheels: Vec<LockedWheel>,
}

/// What a release depends on in one environment on one platform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgesIn {
    /// The environment's name.
    pub env: String,
    /// The platform.
    pub platform: Platform,
    /// Names it depends on there, sorted.
    pub requires: Vec<PackageName>,
}

/// One file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockedWheel {
    /// The file's name.
    pub file: WheelName,
    /// Its size in bytes.
    pub size: u64,
    /// Its digest.
    pub sha256: Sha256,
}

impl Lockfile {
    /// Returns an environment on a platform.
    pub fn env(&self, name: &str, platform: Platform) -> Option<&LockedEnv> {
        self.envs.iter().find(|env| env.name == name && env.platform == platform)
    }

    /// Returns the release that an environment's entry stands for.
    pub fn package(&self, entry: &LockedRef) -> Option<&LockedPackage> {
        let start = self.packages.partition_point(|package| package.name < entry.name);
        let same_name = self.packages[start..].iter().take_while(|package| package.name == entry.name);
        same_name.into_iter().find(|package| package.version == entry.version && package.origin == entry.origin)
    }

    /// Puts everything in the order in which it is written, so that equal content is equal bytes.
    pub(super) fn canonicalize(&mut self) {
        self.envs.sort_by(|a, b| order(a).cmp(&order(b)));
        for env in &mut self.envs {
            env.rules.sort();
            env.rules.dedup();
            env.ignored.sort();
            env.ignored.dedup();
            env.packages.sort();
        }
        self.packages.sort_by(|a, b| (&a.name, &a.version, &a.origin).cmp(&(&b.name, &b.version, &b.origin)));
        let mut users: BTreeMap<(&PackageName, &Version, &Origin), Vec<&LockedEnv>> = BTreeMap::new();
        for env in &self.envs {
            for entry in &env.packages {
                users.entry((&entry.name, &entry.version, &entry.origin)).or_default().push(env);
            }
        }
        for package in &mut self.packages {
            package.wheels.sort_by_cached_key(|wheel| wheel.file.to_string());
            let users = users.get(&(&package.name, &package.version, &package.origin)).cloned().unwrap_or_default();
            package.rebase(&users);
        }
    }
}

/// The default environment first, the others by name, each by platform: the order of the manifest.
fn order(env: &LockedEnv) -> (bool, &str, Platform) {
    (env.name != "default", &env.name, env.platform)
}

impl LockedEnv {
    /// Returns what it was solved for.
    pub fn target(&self) -> Target {
        Target { platform: self.platform, floor: self.floor.clone(), python: self.python }
    }

    /// Lists the packages that `other` has too, in another version: name, the version here, the version there.
    pub fn unlike<'a>(&'a self, other: &'a Self) -> Vec<(&'a PackageName, &'a Version, &'a Version)> {
        let pairs = self.packages.iter().filter_map(|here| Some((here, other.entry(&here.name)?)));
        let unlike = pairs.filter(|(here, there)| here.version != there.version);
        unlike.map(|(here, there)| (&here.name, &here.version, &there.version)).collect()
    }

    /// Returns the entry of a package.
    pub fn entry(&self, name: &PackageName) -> Option<&LockedRef> {
        let at = self.packages.binary_search_by(|entry| entry.name.cmp(name)).ok()?;
        self.packages.get(at)
    }
}

impl LockedPackage {
    /// Returns what the release depends on in an environment that has it.
    pub fn edges(&self, env: &str, platform: Platform) -> &[PackageName] {
        let own = self.requires_in.iter().find(|edges| edges.env == env && edges.platform == platform);
        own.map_or(&self.requires, |edges| &edges.requires)
    }

    /// Returns the address it came from, one of [`Origin::Url`], `None` for others.
    pub fn url(&self) -> Option<&str> {
        match &self.origin {
            Origin::Url { url, .. } => Some(url),
            Origin::Index(_) | Origin::Path(_) => None,
        }
    }

    /// Makes the edges of the first of `users` the common ones.
    fn rebase(&mut self, users: &[&LockedEnv]) {
        let sorted = |edges: &[PackageName]| {
            let mut edges = edges.to_vec();
            edges.sort();
            edges.dedup();
            edges
        };
        let Some((first, others)) = users.split_first() else {
            self.requires = sorted(&self.requires);
            self.requires_in.clear();
            return;
        };
        let common = sorted(self.edges(&first.name, first.platform));
        let differing = others.iter().filter_map(|env| {
            let requires = sorted(self.edges(&env.name, env.platform));
            (requires != common).then(|| EdgesIn { env: env.name.clone(), platform: env.platform, requires })
        });
        self.requires_in = differing.collect();
        self.requires = common;
    }
}
