//! `Manifest`: what macml.toml means, always valid.

use std::collections::BTreeMap;

use crate::diag::Span;
use crate::host::Chip;
use crate::pep::{ExtraName, Marker, PackageName, Sha256, Specifiers};
use crate::target::{MacosVersion, Platform};

pub use crate::target::Gpu;

/// A valid macml.toml; the default one names nothing, as where there is no project.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Manifest {
    /// `[project] name`, or the folder's name.
    pub name: String,
    /// `[project] requires-macml`.
    pub requires_macml: Option<semver::VersionReq>,
    /// `[project] paths`: folders of the project's own code, relative to it.
    pub paths: Vec<String>,
    /// The default environment first, then `[env.*]` in the order of their names.
    pub envs: Vec<EnvSpec>,
    /// `[[index]]` entries in order, without the built-in ones.
    pub indexes: Vec<IndexSpec>,
    /// `[run.env]`.
    pub run_env: BTreeMap<String, String>,
}

impl Manifest {
    /// Returns what a prompt shows in an environment.
    pub fn prompt(&self, env: &str) -> String {
        match env {
            "default" => self.name.clone(),
            other => format!("{}:{other}", self.name),
        }
    }
}

/// One environment to be solved on its own.
#[derive(Clone, PartialEq, Debug)]
pub struct EnvSpec {
    /// `default`, or NAME of `[env.NAME]`.
    pub name: String,
    /// Where it must work, in the order of [`Platform::ALL`], without repeats, never empty.
    pub platforms: Vec<Platform>,
    /// Floor of Macs; present exactly when `platforms` has `macos-arm64`.
    pub mac: Option<MacFloor>,
    /// Floor of Linux: glibc major, minor.
    pub glibc: (u16, u16),
    /// Whether the GPU must be usable.
    pub gpu: Gpu,
    /// Admitted Pythons.
    pub python: Specifiers,
    /// Where `python` was written.
    pub python_span: Span,
    /// `[target] memory` in bytes.
    pub memory: Option<u64>,
    /// Frameworks first, then dependencies, each in the order of their names; a name may recur with other platforms or
    /// markers (array form).
    pub roots: Vec<Root>,
    /// `[resolution]`, the same for all environments.
    pub resolution: Resolution,
}

/// The lowest Mac that must work.
#[derive(Clone, PartialEq, Debug)]
pub struct MacFloor {
    /// `[target] macos`.
    pub macos: MacosVersion,
    /// Where it was written.
    pub macos_span: Span,
    /// `[target] chip`.
    pub chip: Chip,
}

/// One line of `[frameworks]` or `[dependencies]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Root {
    /// The package.
    pub name: PackageName,
    /// Extras asked for, sorted.
    pub extras: Vec<ExtraName>,
    /// Which artifacts are admitted.
    pub source: RootSource,
    /// `marker = "…"`.
    pub marker: Option<Marker>,
    /// `index = "…"`: only that index serves it.
    pub index: Option<String>,
    /// `platform = "…"` in the array form: applies there only.
    pub platform: Option<Platform>,
    /// Which table it stands in.
    pub table: RootTable,
    /// The whole entry, for messages that point at it.
    pub span: Span,
}

/// Where a root's artifacts come from.
#[derive(Clone, PartialEq, Debug)]
pub enum RootSource {
    /// Releases of an index.
    Versions(Specifiers),
    /// A wheel by path, relative to the project or absolute, as written.
    Path(String),
    /// A wheel by address.
    Url {
        /// The address as written.
        url: url::Url,
        /// What it must hash to.
        sha256: Sha256,
    },
}

/// The table of a root.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RootTable {
    /// `[frameworks]`: what `verify` will test.
    Frameworks,
    /// `[dependencies]`.
    Dependencies,
}

/// One `[[index]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexSpec {
    /// Its name.
    pub name: String,
    /// Its simple API root.
    pub url: url::Url,
    /// Serves only dependencies that name it.
    pub explicit: bool,
    /// Where it was written.
    pub span: Span,
}

/// `[resolution]`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Resolution {
    /// Last UTC day (`YYYY-MM-DD`) whose uploads count.
    pub exclude_newer: Option<String>,
    /// Packages allowed to use pre-releases.
    pub prereleases: Vec<PackageName>,
    /// Narrow, never add.
    pub constraints: BTreeMap<PackageName, Specifiers>,
    /// Replace what others ask for.
    pub overrides: BTreeMap<PackageName, Specifiers>,
    /// Knowledge switched off, by rule id.
    pub ignore_rules: Vec<String>,
    /// Which wheels are locked and picked.
    pub wheels: Wheels,
    /// Paths that two wheels may both own with different bytes, sorted.
    pub allow_overlap: Vec<String>,
}

/// `[resolution] wheels`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wheels {
    /// One file per macOS generation; `sync` picks for the host.
    #[default]
    Host,
    /// One file, the floor's, for identical bytes everywhere.
    Floor,
}

impl RootSource {
    /// Returns the name of the wheel's file; empty for releases of an index.
    pub fn file_name(&self) -> String {
        match self {
            Self::Versions(_) => String::new(),
            Self::Path(path) => path.rsplit('/').next().unwrap_or_default().to_owned(),
            Self::Url { url, .. } => {
                let last = url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default();
                super::roots::percent_decoded(last)
            }
        }
    }
}
