//! `macml export`: what is locked, in the forms of other tools. A requirements file needs nobody; `pylock.toml` has the address
//! of each file, which the pages of its index tell.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::index::builtin;
use crate::index::source::IndexName;
use crate::index::source::PageAnswer;
use crate::index::source::Source;
use crate::index::source::pages;
use crate::lock::Lockfile;
use crate::lock::export;
use crate::lock::export::Export;
use crate::lock::export::Exported;
use crate::lock::model::LockedEnv;
use crate::manifest::Project;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::resolve::resolution::Origin;
use crate::target::Platform;

use super::NotCurrent;
use super::current_lock;

/// Forms that are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A requirements file with hashes.
    Requirements,
    /// `pylock.toml`, PEP 751.
    Pylock,
}

/// Why nothing is exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lock cannot be used as it is.
    #[error(transparent)]
    NotCurrent(#[from] NotCurrent),
    /// The environment is not locked for the platform.
    #[error("environment `{env}` is not locked for {platform}")]
    OtherPlatform {
        /// The environment.
        env: String,
        /// The platform.
        platform: Platform,
    },
    /// A release has no file left for a platform.
    #[error(transparent)]
    NoFile(#[from] export::NoFile),
    /// Files whose addresses nobody knows.
    #[error(transparent)]
    Unplaced(export::Unplaced),
    /// An index could not be asked.
    #[error("could not ask index `{index}` where `{name}` is: {why}")]
    Index {
        /// The index.
        index: String,
        /// The package.
        name: PackageName,
        /// Why.
        why: String,
    },
    /// The indexes cannot be reached at all: a setting is wrong.
    #[error(transparent)]
    Connect(crate::index::source::SourceError),
}

/// Writes an environment in another form: for `only` one platform, or for all that it is locked for.
///
/// # Errors
/// When the lock is not current, or the form needs what nobody knows.
pub fn export(
    project: &Project,
    (env, only): (&str, Option<Platform>),
    form: Form,
    connect: super::Connect<'_>,
) -> Result<String, Error> {
    let lock = current_lock(project, &[env.to_owned()])?;
    let mine = |one: &&LockedEnv| one.name == env && only.is_none_or(|only| one.platform == only);
    let platforms: Vec<&LockedEnv> = lock.envs.iter().filter(mine).collect();
    if let (Some(platform), []) = (only, platforms.as_slice()) {
        return Err(Error::OtherPlatform { env: env.to_owned(), platform });
    }
    let releases = export::releases(&lock, &platforms)?;
    let addresses = match form {
        Form::Requirements => BTreeMap::new(),
        Form::Pylock => {
            let mut source = connect(&project.manifest, super::Reach::Network).map_err(Error::Connect)?;
            addresses(&releases, &mut *source)?
        }
    };
    let roots = project.manifest.envs.iter().filter(|one| one.name == env).flat_map(|one| &one.roots);
    let mut roots: Vec<PackageName> = roots.map(|root| root.name.clone()).collect();
    roots.dedup();
    let name = project.manifest.name.as_str();
    let export = Export { project: name, env, platforms, releases, roots, indexes: indexes(project, &lock), addresses };
    match form {
        Form::Requirements => Ok(export::requirements(&export)),
        Form::Pylock => export::pylock(&export).map_err(Error::Unplaced),
    }
}

/// Returns the addresses of the indexes that a lock names.
fn indexes(project: &Project, lock: &Lockfile) -> BTreeMap<String, String> {
    let named = lock.packages.iter().filter_map(|package| match &package.origin {
        Origin::Index(index) => Some(&**index),
        _ => None,
    });
    let address = |name: &str| {
        let own = project.manifest.indexes.iter().find(|index| index.name == name).map(|index| index.url.clone());
        own.or_else(|| builtin::index(name)).map(|url| url.to_string())
    };
    let names: BTreeSet<&str> = named.collect();
    names.into_iter().filter_map(|name| Some((name.to_owned(), address(name)?))).collect()
}

/// Asks the pages of indexes where files are.
fn addresses(releases: &[Exported<'_>], source: &mut dyn Source) -> Result<BTreeMap<Sha256, String>, Error> {
    let of_index = |one: &Exported<'_>| match &one.package.origin {
        Origin::Index(index) => Some((index.clone(), one.package.name.clone())),
        _ => None,
    };
    let asked: BTreeSet<(IndexName, PackageName)> = releases.iter().filter_map(of_index).collect();
    let mut addresses = BTreeMap::new();
    for ((index, name), known) in pages(&asked, source) {
        let failed = |why: &str| Error::Index { index: index.to_string(), name: name.clone(), why: why.to_owned() };
        let page = match known {
            Ok(PageAnswer::Found(page)) => page,
            Ok(PageAnswer::Absent) => return Err(failed("it does not have it any more")),
            Ok(PageAnswer::Offline) => {
                return Err(failed("its page is not in the cache, and the network is switched off"));
            }
            Err(error) => return Err(failed(&error)),
        };
        for one in releases.iter().filter(|one| one.package.name == name) {
            let Some(release) = page.release(&one.package.version) else { continue };
            for wheel in &one.wheels {
                let file = wheel.file.to_string();
                let listed = release.wheels.iter().find(|listed| *listed.filename == *file);
                // Another file of that name is not the one that is locked.
                let listed = listed.filter(|listed| listed.sha256.is_none_or(|sha256| sha256 == wheel.sha256));
                if let Some(listed) = listed {
                    let address = listed.url.split('#').next().unwrap_or_default().to_owned();
                    addresses.insert(wheel.sha256, address);
                }
            }
        }
    }
    Ok(addresses)
}
