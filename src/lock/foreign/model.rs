//! `ForeignLock`: what a lock of another tool says. Plain data, before anything is chosen.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::pep::{ExtraName, Marker, PackageName, Sha256, Specifiers, Version, WheelName};

use super::address::Address;
use super::told::Note;

/// A lock that another tool wrote.
#[derive(Clone, PartialEq, Debug)]
pub struct ForeignLock {
    /// Which format it has.
    pub format: Format,
    /// The Pythons that it is for; `None` when it does not say.
    pub requires_python: Option<Specifiers>,
    /// One of these must hold where the lock is used; none at all is everywhere.
    pub environments: Vec<Marker>,
    /// Extras that may be asked for, sorted.
    pub extras: Vec<ExtraName>,
    /// Dependency groups that may be asked for, sorted.
    pub groups: Vec<ExtraName>,
    /// Those of `groups` that count unless somebody says otherwise, sorted.
    pub default_groups: Vec<ExtraName>,
    /// The members of the workspace, sorted; none where the format has no such thing.
    pub members: Vec<PackageName>,
    /// Every release, in the order of the file.
    pub releases: Vec<Release>,
    /// How they depend on each other, where that decides what is installed: in `uv.lock`.
    pub(super) graph: Option<Graph>,
    /// What is worth telling about the file, in its order.
    pub notes: Vec<Note>,
}

/// A format of locks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Format {
    /// `uv.lock`, version 1.
    Uv {
        /// Its revision.
        revision: u64,
    },
    /// `pylock.toml`, version 1.
    Pylock {
        /// The tool that wrote it.
        created_by: String,
    },
    /// A requirements file.
    Requirements,
}

/// One release, or one line of a requirements file.
#[derive(Clone, PartialEq, Debug)]
pub struct Release {
    /// Its first line, from 1.
    pub line: usize,
    /// The file in which it stands, where that is one that the lock includes.
    pub file: Option<PathBuf>,
    /// The package.
    pub name: PackageName,
    /// Its version; `None` for what has none until it is built, and for a requirement that is not pinned.
    pub version: Option<Version>,
    /// Where it comes from.
    pub origin: Origin,
    /// One of these must hold for it to be installed; none at all is everywhere.
    pub markers: Vec<Marker>,
    /// The Pythons that it is for, where the lock says.
    pub requires_python: Option<Specifiers>,
    /// Its wheels, in the order of the file.
    pub wheels: Vec<Wheel>,
    /// Its source archive.
    pub sdist: Option<Archive>,
    /// Digests of files that may be installed, where the lock does not say of which.
    pub hashes: Vec<Sha256>,
}

impl Release {
    /// Says where it stands: `line 3`, or which line of which included file.
    pub fn place(&self) -> String {
        match &self.file {
            None => format!("line {}", self.line),
            Some(file) => format!("line {} of `{}`", self.line, file.display()),
        }
    }
}

/// A wheel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wheel {
    /// Its name.
    pub file: WheelName,
    /// Its size in bytes, where known.
    pub size: Option<u64>,
    /// Its digest, where known.
    pub sha256: Option<Sha256>,
    /// The path of its address on the host, or its path on this disk as written.
    pub path: Option<String>,
}

/// A source archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Archive {
    /// Its size in bytes, where known.
    pub size: Option<u64>,
    /// Its digest, where known.
    pub sha256: Option<Sha256>,
}

/// Where a release comes from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// An index by its address.
    Index(Address),
    /// A folder or file that serves as an index, as written.
    LocalIndex(String),
    /// An index that the lock does not name: whatever its tool is set to.
    AnyIndex,
    /// One file at an address.
    Url(Address),
    /// One file by path, as written.
    Path(String),
    /// A repository.
    Repository {
        /// Where it is.
        address: String,
        /// Its commit, where the lock says.
        commit: Option<String>,
    },
    /// A folder of source, as written.
    Folder {
        /// Where it is.
        path: String,
        /// What is made of it.
        kind: Folder,
    },
}

/// What is made of a folder of source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Folder {
    /// It is built and installed.
    Built,
    /// It is linked into the environment.
    Editable,
    /// Nothing: only what it depends on is installed.
    Virtual,
}

/// How the releases of a `uv.lock` depend on each other.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Graph {
    /// For each release, by its place.
    pub(super) nodes: Vec<Node>,
    /// The places of the members.
    pub(super) members: Vec<usize>,
    /// What a script, or a workspace without a project at its root, asks for.
    pub(super) top: Node,
    /// Sets of which at most one may be asked for.
    pub(super) conflicts: Vec<Vec<Item>>,
}

/// What one release depends on.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Node {
    pub(super) dependencies: Vec<Edge>,
    pub(super) extras: BTreeMap<ExtraName, Vec<Edge>>,
    pub(super) groups: BTreeMap<ExtraName, Vec<Edge>>,
}

/// One dependency.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Edge {
    /// Places of releases; of several, those whose own markers hold.
    pub(super) to: Vec<usize>,
    pub(super) extras: Vec<ExtraName>,
    pub(super) marker: Option<Marker>,
}

/// A project, or an extra or a group of one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Item {
    pub(super) package: PackageName,
    pub(super) part: Part,
}

/// Which part of a project.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Part {
    Project,
    Extra(ExtraName),
    Group(ExtraName),
}

impl Item {
    /// Returns what uv writes for it into markers, as if it were an extra; `None` when that is no name.
    pub(super) fn encoded(&self) -> Option<ExtraName> {
        let (package, length) = (&self.package, self.package.as_str().len());
        match &self.part {
            Part::Project => format!("project-{length}-{package}"),
            Part::Extra(extra) => format!("extra-{length}-{package}-{extra}"),
            Part::Group(group) => format!("group-{length}-{package}-{group}"),
        }
        .parse()
        .ok()
    }
}

impl std::fmt::Display for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.part {
            Part::Project => write!(f, "{}", self.package),
            Part::Extra(extra) => write!(f, "{}[{extra}]", self.package),
            Part::Group(group) => write!(f, "{}:{group}", self.package),
        }
    }
}
