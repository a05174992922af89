//! What is worth telling about a lock of another tool that does not keep it from being read.

use std::fmt;
use std::path::PathBuf;

use crate::pep::PackageName;

/// Something about a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The file: a requirements file may include others.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What.
    pub told: Told,
}

/// What is worth telling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// A revision later than those that were looked at; it may only add what can be ignored.
    NewerRevision {
        /// The one in the file.
        found: String,
    },
    /// A requirement without a hash: what is installed may be another file tomorrow.
    Unhashed(PackageName),
    /// A requirement with hashes of other kinds only.
    NoSha256(PackageName),
    /// A requirement without a version: what is installed may be another release tomorrow.
    Unpinned(PackageName),
    /// A requirement whose package is known only when it is built.
    Unnamed,
    /// An option that says where files come from: its name, and what it names without secrets.
    Index {
        /// The option.
        option: String,
        /// The address or folder.
        address: String,
    },
    /// Another option, which does not change what is read.
    Option(String),
    /// A file on the network, which was not read.
    Elsewhere {
        /// The option.
        option: String,
        /// Its address, without secrets.
        address: String,
    },
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewerRevision { found } => write!(f, "written in {found}, which is newer than what macml knows"),
            Self::Unhashed(name) => write!(f, "`{name}` has no hash"),
            Self::NoSha256(name) => write!(f, "`{name}` has hashes, but none of them is a sha256"),
            Self::Unpinned(name) => write!(f, "`{name}` is not pinned to one version"),
            Self::Unnamed => f.write_str("which package this is can be told only by building it"),
            Self::Index { option, address } => write!(f, "`{option}` names `{address}`"),
            Self::Option(option) => write!(f, "`{option}` is passed over"),
            Self::Elsewhere { option, address } => write!(f, "`{option}` names `{address}`, which was not read"),
        }
    }
}
