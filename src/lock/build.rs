//! `Resolution`s to `Lockfile`: answers of single environments become one file, all at once or some of them.

use std::collections::BTreeMap;

use crate::pep::{PackageName, Sha256, Version};
use crate::resolve::resolution::{Origin, Package, Resolution};
use crate::target::Floor;

use super::error::BuildError;
use super::format;
use super::model::{EdgesIn, LockedEnv, LockedPackage, LockedRef, LockedWheel, Lockfile};
use super::parse::{is_public_address, is_relative};
use super::pick::Picker;

/// One environment's answer, with what belongs to it in the lock.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The answer.
    pub resolution: Resolution,
    /// Digest of the parts of the manifest that it depends on.
    pub inputs: Sha256,
}

/// Makes a lockfile of answers. `knowledge` is the date of the knowledge they were solved with, empty without any.
///
/// # Errors
/// When the answers do not go into one file.
pub fn build(knowledge: &str, answers: &[Answer]) -> Result<Lockfile, BuildError> {
    let mut pool = Pool::default();
    let mut envs: Vec<LockedEnv> = Vec::new();
    for answer in answers {
        let env = locked_env(answer);
        if envs.iter().any(|other| other.name == env.name && other.platform == env.platform) {
            return Err(BuildError::DuplicateEnv { env: env.name, platform: env.platform });
        }
        for (name, package) in &answer.resolution.packages {
            fits_in_a_lock(name, &package.origin)?;
            pool.take(name, package, &env)?;
        }
        envs.push(env);
    }
    Ok(pool.into_lock(knowledge.to_owned(), envs))
}

/// Returns `old` with the environments of `new` in place of those of the same name; the others stay as they are.
///
/// Releases and files that no environment uses any more are dropped.
///
/// # Errors
/// When the environments kept and the new ones disagree on the content of a file.
pub fn with_envs(old: &Lockfile, new: &Lockfile) -> Result<Lockfile, BuildError> {
    let kept: Vec<_> = old.envs.iter().filter(|env| new.envs.iter().all(|other| other.name != env.name)).collect();
    // The kept ones were not solved with newer knowledge, so the file must not claim it.
    let knowledge = if kept.is_empty() { &new.knowledge } else { (&old.knowledge).min(&new.knowledge) };
    let mut pool = Pool::default();
    let mut envs = Vec::new();
    let kept = kept.into_iter().map(|env| (old, env));
    for (lock, env) in kept.chain(new.envs.iter().map(|env| (new, env))) {
        let picker = Picker::new(env);
        for entry in &env.packages {
            let Some(package) = lock.package(entry) else { continue };
            // A release without files would be lost.
            let wheels = picker.kept(package);
            pool.keep(package, env, wheels.into_iter().cloned().collect())?;
        }
        envs.push(env.clone());
    }
    Ok(pool.into_lock(knowledge.clone(), envs))
}

fn locked_env(answer: &Answer) -> LockedEnv {
    let Resolution { env, platform, python, python_full, packages, .. } = &answer.resolution;
    let floor = match &env.mac {
        Some(mac) if platform.is_mac() => Floor::Mac { macos: mac.macos, chip: mac.chip.clone() },
        _ => Floor::Glibc(env.glibc.0, env.glibc.1),
    };
    let entry = |(name, package): (&PackageName, &Package)| LockedRef {
        name: name.clone(),
        version: package.version.clone(),
        extras: package.extras.clone(),
        origin: package.origin.clone(),
    };
    LockedEnv {
        name: env.name.clone(),
        platform: *platform,
        floor,
        gpu: env.gpu,
        wheels: env.resolution.wheels,
        python: *python,
        python_full: (!python_full.is_any()).then(|| python_full.clone()),
        inputs: answer.inputs,
        rules: answer.resolution.rules.clone(),
        ignored: env.resolution.ignore_rules.clone(),
        packages: packages.iter().map(entry).collect(),
    }
}

fn fits_in_a_lock(name: &PackageName, origin: &Origin) -> Result<(), BuildError> {
    match origin {
        Origin::Path(path) if !is_relative(path) => {
            Err(BuildError::AbsolutePath { package: name.clone(), path: path.clone() })
        }
        Origin::Url { url, .. } if !is_public_address(url) => Err(BuildError::Credentials { package: name.clone() }),
        _ => Ok(()),
    }
}

/// The releases of a lockfile in the making.
#[derive(Default)]
struct Pool(BTreeMap<(PackageName, Version, String), Entry>);

struct Entry {
    package: LockedPackage,
    /// By file name, with the environment that brought it.
    wheels: BTreeMap<String, (LockedWheel, String)>,
}

impl Pool {
    fn take(&mut self, name: &PackageName, package: &Package, env: &LockedEnv) -> Result<(), BuildError> {
        let wheel = |file: &std::sync::Arc<crate::index::source::File>| {
            let incomplete = |what| BuildError::Incomplete { what, file: file.filename.to_string() };
            Ok(LockedWheel {
                file: file.wheel.clone(),
                size: file.size.ok_or_else(|| incomplete("size"))?,
                sha256: file.sha256.ok_or_else(|| incomplete("sha256"))?,
            })
        };
        let wheels = package.wheels.iter().map(wheel).collect::<Result<Vec<_>, _>>()?;
        let release = (name, &package.version, &package.origin);
        self.add(release, &package.requires, env, wheels)
    }

    fn keep(&mut self, package: &LockedPackage, env: &LockedEnv, wheels: Vec<LockedWheel>) -> Result<(), BuildError> {
        let release = (&package.name, &package.version, &package.origin);
        self.add(release, package.edges(&env.name, env.platform), env, wheels)
    }

    fn add(
        &mut self,
        (name, version, origin): (&PackageName, &Version, &Origin),
        requires: &[PackageName],
        env: &LockedEnv,
        wheels: Vec<LockedWheel>,
    ) -> Result<(), BuildError> {
        let key = (name.clone(), version.clone(), format::origin(origin));
        let entry = self.0.entry(key).or_insert_with(|| Entry {
            package: LockedPackage {
                name: name.clone(),
                version: version.clone(),
                origin: origin.clone(),
                requires: Vec::new(),
                requires_in: Vec::new(),
                wheels: Vec::new(),
            },
            wheels: BTreeMap::new(),
        });
        let edges = EdgesIn { env: env.name.clone(), platform: env.platform, requires: requires.to_vec() };
        entry.package.requires_in.push(edges);
        for wheel in wheels {
            let file = wheel.file.to_string();
            match entry.wheels.get(&file) {
                Some((other, first)) if *other != wheel => {
                    let (first, second) = (first.clone(), env.name.clone());
                    return Err(BuildError::FileDiffers { file, first, second });
                }
                Some(_) => {}
                None => {
                    entry.wheels.insert(file, (wheel, env.name.clone()));
                }
            }
        }
        Ok(())
    }

    fn into_lock(self, knowledge: String, envs: Vec<LockedEnv>) -> Lockfile {
        let package = |entry: Entry| LockedPackage {
            wheels: entry.wheels.into_values().map(|(wheel, _)| wheel).collect(),
            ..entry.package
        };
        let mut lock = Lockfile { knowledge, envs, packages: self.0.into_values().map(package).collect() };
        lock.canonicalize();
        lock
    }
}
