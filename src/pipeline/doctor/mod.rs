//! Gathering [`Facts`]: the machine, PATH and Pythons, the project, environments, volumes, the network.
//!
//! Each part looks by itself, in a file of its own, and never fails: what it cannot see it says in [`Facts::unseen`]. Nothing is
//! run that belongs to somebody else, no Python above all, unless [`Look::full`] asks for it.

mod environments;
mod glance;
mod homebrews;
mod installed;
mod libraries;
mod path;
mod project;
mod proof;
mod pythons;
mod started;

use std::path::{Path, PathBuf};

use crate::doctor::Facts;
use crate::doctor::facts;
use crate::host::Host;
use crate::index::Config;
use crate::sys::Env;

/// What is looked at, and how far.
#[derive(Debug)]
pub struct Look<'a> {
    /// The variables that macml was given.
    pub env: &'a Env,
    /// The root of the machine: `/`, or a folder of a test.
    pub root: &'a Path,
    /// The Mac, as it was probed; none where it is none.
    pub host: Option<&'a Host>,
    /// Why the Mac could not be looked at.
    pub host_unseen: Option<String>,
    /// The folder of the project in reach.
    pub project: Option<PathBuf>,
    /// An environment that was named, with `--prefix`.
    pub prefix: Option<PathBuf>,
    /// The folder of all caches.
    pub cache: Option<PathBuf>,
    /// How indexes are reached; none where the settings cannot be read.
    pub config: Option<&'a Config>,
    /// Whether everything is looked at: the contents of files, the proof that libraries load, interpreters that are started.
    pub full: bool,
}

/// Looks at everything.
pub fn gather(look: &Look<'_>) -> Facts {
    let mut facts = Facts {
        version: facts::VERSION,
        macml: env!("CARGO_PKG_VERSION").to_owned(),
        source: "seen".to_owned(),
        ..Facts::default()
    };
    path::gather(look, &mut facts);
    project::gather(look, &mut facts);
    environments::gather(look, &mut facts);
    pythons::gather(look, &mut facts);
    homebrews::gather(look, &mut facts);
    proof::gather(look, &mut facts);
    facts
}
