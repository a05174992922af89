//! What can be wrong with a lockfile, and with reading, building and writing one.

use std::path::PathBuf;

use crate::pep::{PackageName, Version};
use crate::sys::fs::FsError;
use crate::target::Platform;

use super::format;

/// A place in a macml.lock and what is wrong there.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct FormatError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with the text of a lockfile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Problem {
    /// Not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A version of the format that this macml does not know.
    #[error("written by a newer macml: version {found}, this macml reads {}", format::VERSION)]
    Newer {
        /// The version in the file.
        found: u64,
    },
    /// A key that must be there is not.
    #[error("{table} has no `{key}`")]
    Missing {
        /// The table.
        table: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A key that the format does not have.
    #[error("{table} has no key `{key}`")]
    UnknownKey {
        /// The table.
        table: &'static str,
        /// The key.
        key: String,
    },
    /// A key that does not go with another one.
    #[error("`{key}` does not belong here: {reason}")]
    Misplaced {
        /// The key.
        key: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// A value of the wrong type.
    #[error("`{key}` is not {wanted}")]
    Type {
        /// The key.
        key: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// A value of the right type that cannot be meant.
    #[error("`{key}`: {reason}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Something that stands twice.
    #[error("{what} stands twice")]
    Duplicate {
        /// What.
        what: String,
    },
    /// An environment names a release that the file does not have.
    #[error("`{reference}` is no package of this file")]
    UnknownPackage {
        /// The reference.
        reference: String,
    },
    /// A reference that fits several releases.
    #[error("`{reference}` is more than one package of this file: say `{reference} ({example})`")]
    AmbiguousPackage {
        /// The reference.
        reference: String,
        /// One of the origins.
        example: String,
    },
    /// A release depends on a package that its environment does not have.
    #[error("`{package}` requires `{name}`, which environment `{env}` on {platform} does not have")]
    DanglingEdge {
        /// Who requires.
        package: PackageName,
        /// What is required.
        name: PackageName,
        /// The environment.
        env: String,
        /// The platform.
        platform: Platform,
    },
    /// A release without files.
    #[error("`{package}` has no wheels")]
    NoWheels {
        /// The release.
        package: PackageName,
    },
    /// A file whose name says another release.
    #[error("`{file}` is not a wheel of {name} {version}")]
    ForeignWheel {
        /// The file.
        file: String,
        /// The release's name.
        name: PackageName,
        /// The release's version.
        version: Version,
    },
}

/// Why a lockfile could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A lockfile of a later version of the format; never overwritten.
    #[error("`{}` was written by a newer macml: version {found}, this macml reads {}", path.display(), format::VERSION)]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// What was to be written would not read back, so it was not written.
    #[error("refused to write `{}`: it would not read back", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: FormatError,
    },
}

/// Why answers cannot stand in one lockfile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuildError {
    /// The same environment and platform twice.
    #[error("environment `{env}` on {platform} was solved twice")]
    DuplicateEnv {
        /// The environment.
        env: String,
        /// The platform.
        platform: Platform,
    },
    /// A file without size or digest.
    #[error("no {what} is known of `{file}`")]
    Incomplete {
        /// `size` or `sha256`.
        what: &'static str,
        /// The file.
        file: String,
    },
    /// One file name with two contents.
    #[error("`{file}` has one content in environment `{first}` and another in `{second}`: lock both together")]
    FileDiffers {
        /// The file.
        file: String,
        /// An environment that has it.
        first: String,
        /// Another one.
        second: String,
    },
    /// A wheel by absolute path.
    #[error("`{package}` is a wheel by absolute path, `{path}`: a lockfile holds only paths relative to the project")]
    AbsolutePath {
        /// The package.
        package: PackageName,
        /// The path as written.
        path: String,
    },
    /// A wheel by an address that holds a password.
    #[error("the address of `{package}` holds a user name or password, which must not reach a lockfile")]
    Credentials {
        /// The package.
        package: PackageName,
    },
}
