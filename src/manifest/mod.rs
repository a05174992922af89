//! Stage 1: what the user asked for.
//!
//! `macml.toml` text goes in; a [`Manifest`] that is always valid comes out, or every mistake at once.
//!
//! ```text
//! text --raw--> tree of known keys and types --validate--> Manifest
//!           keys.rs: the one list of tables and keys
//!           `--schema--> schema/macml.schema.json, for editors
//! ```

mod keys;
pub mod schema;

pub mod edit;

pub mod meant;

mod raw;

pub mod model;

mod specifier;

mod project;

mod floor;

mod roots;

mod settings;

mod validate;

mod inputs;

mod discover;

use std::path::Path;
use std::path::PathBuf;

pub use discover::discover;
pub use model::Manifest;

use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Severity;
use crate::diag::Source;
use crate::sys;
use crate::sys::fs;

/// The name of the file.
pub const FILE_NAME: &str = "macml.toml";

/// What the text is read in the light of.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The name of the project's folder, which names the project when it has no name.
    pub folder: &'a str,
    /// The version of this macml.
    pub version: &'a semver::Version,
}

/// A valid manifest and the file it came from.
#[derive(Clone, Debug)]
pub struct Project {
    /// What it says.
    pub manifest: Manifest,
    /// Warnings and notes on it, in the order of the file.
    pub findings: Vec<Finding>,
    /// Its text, which spans point into.
    pub source: Source,
}

impl Project {
    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        Path::new(&self.source.name).parent().expect("a file lies in a folder")
    }
}

/// Why there is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither the folder nor one above it has one.
    #[error("no `macml.toml` in `{}` or in a folder above it", start.display())]
    NotFound {
        /// Where the search began.
        start: PathBuf,
    },
    /// The file that was named is not there.
    #[error("there is no `{}`", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file holds mistakes.
    #[error("`{}` is not valid", text.name)]
    Invalid {
        /// The file, which spans point into.
        text: Source,
        /// Every mistake, in the order of the file.
        findings: Vec<Finding>,
    },
    /// The file is not text.
    #[error("`{}` is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The disk refused.
    #[error(transparent)]
    Fs(#[from] fs::FsError),
}

/// Parses macml.toml: the manifest with warnings and notes on it, or every mistake (with the warnings), each in the
/// order of the file.
///
/// # Errors
/// When there is a mistake. A project that asks for another macml is the only one then: what else looks wrong may be
/// right there.
pub fn parse(text: &str, context: Context<'_>) -> Result<(Manifest, Vec<Finding>), Vec<Finding>> {
    let mut findings = Vec::new();
    let manifest = raw::parse(text, &mut findings).and_then(|file| {
        if let Some(finding) = project::refuses_this_macml(&file, &context) {
            findings = vec![finding];
            return None;
        }
        let broken = findings.iter().any(|finding| finding.code == Code::ManifestSyntax);
        let manifest = validate::validate(&file, &context, &mut findings);
        if broken {
            // What is missing may stand in the second of two tables of one name.
            findings.retain(|finding| finding.code != Code::MissingKey);
        }
        manifest
    });
    findings.sort_by_key(|finding| finding.labels.first().map(|label| label.span));
    match manifest {
        Some(manifest) if findings.iter().all(|finding| finding.severity != Severity::Error) => {
            Ok((manifest, findings))
        }
        _ => Err(findings),
    }
}

/// Reads the macml.toml at `path`; `version` is this macml's.
///
/// # Errors
/// When it is not there, cannot be read, or holds mistakes.
pub fn read(path: &Path, version: &semver::Version) -> Result<Project, Error> {
    let text = match fs::read_text(path) {
        Ok(text) => text.ok_or_else(|| Error::Missing { path: path.to_owned() })?,
        Err(error) if error.cause.kind() == std::io::ErrorKind::InvalidData => {
            return Err(Error::NotText { path: path.to_owned() });
        }
        Err(error) => return Err(error.into()),
    };
    read_as(path, text, version)
}

/// Reads a text as it would be read if it stood at `path`.
///
/// # Errors
/// When it holds mistakes.
pub fn read_as(path: &Path, text: String, version: &semver::Version) -> Result<Project, Error> {
    let source = Source { name: path.display().to_string(), text };
    // The folder's own name, however it is reached: over a link, or in other case on a Mac.
    let own = path.parent().and_then(|folder| sys::resolve(folder).ok().flatten());
    let folder = own.as_deref().and_then(Path::file_name).and_then(std::ffi::OsStr::to_str).unwrap_or("project");
    match parse(&source.text, Context { folder, version }) {
        Ok((manifest, findings)) => Ok(Project { manifest, findings, source }),
        Err(findings) => Err(Error::Invalid { text: source, findings }),
    }
}
