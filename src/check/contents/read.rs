//! What is in a tree, read from disk: distributions, RECORDs, every file with size and time; bytes of those asked for.

use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

use crate::environment;
use crate::environment::Package;
use crate::install;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::parallel;
use crate::sys::survey;
use crate::sys::survey::ToDigest;
use crate::sys::tree;
use crate::sys::tree::Facts;

use super::tree::Maker;
use super::tree::Tree;

/// The largest file of `bin` that is taken for a script.
const SCRIPT_LIMIT: u64 = 1 << 20;

/// What is in a tree.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Everything that is there, by its path from the root.
    pub(super) facts: HashMap<String, Facts>,
    /// Names that are no text.
    pub(super) unnamed: Vec<String>,
    /// What could not be looked at, and why.
    pub(super) failed: Vec<(String, String)>,
    /// The distributions, by their folders.
    pub(super) distributions: Vec<Distribution>,
}

/// A distribution.
#[derive(Clone, Debug)]
pub(super) struct Distribution {
    /// Its folder of metadata, from the root.
    pub(super) folder: String,
    /// Its name.
    pub(super) name: PackageName,
    /// Its name and version, as the folder is named.
    pub(super) package: Package,
    /// What RECORD says.
    pub(super) record: Record,
    /// When RECORD was written.
    pub(super) time: Option<SystemTime>,
    /// Whether it was brought by a package of conda's, which is no wheel.
    pub(super) conda: bool,
}

/// What a RECORD says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Record {
    /// There is none.
    Absent,
    /// It cannot be read.
    Broken,
    /// These files.
    Rows {
        /// Those in the tree.
        rows: Vec<Row>,
        /// The others, as it has them.
        outside: Vec<String>,
    },
}

/// A file that should be there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    /// Its path from the root.
    pub(super) path: String,
    /// Its size.
    pub(super) size: Option<u64>,
    /// Its digest.
    pub(super) sha256: Option<Sha256>,
    /// Whether it must be one that can be run, as far as its wheel tells.
    pub(super) executable: bool,
}

/// Lists the distributions of a tree with their folders.
pub(super) fn names(tree: &Tree) -> Result<Vec<(String, Package)>, FsError> {
    environment::distribution_folders(&tree.root.join(&tree.site))
}

/// Reads all of a tree but the bytes of its files.
pub(super) fn read(tree: &Tree) -> Result<Found, FsError> {
    let names = names(tree)?;
    let from = match tree.maker {
        Maker::Macml { .. } => "",
        Maker::Other => &tree.site,
    };
    let survey = survey::survey(&tree.root, from, &["__pycache__"]);
    let mut found = Found {
        facts: survey.found.into_iter().collect(),
        unnamed: survey.unnamed,
        failed: survey.failed.into_iter().map(|(path, error)| (path, error.cause.to_string())).collect(),
        distributions: Vec::new(),
    };
    let distributions =
        parallel::map(&names, tree::workers(), |(entry, package)| distribution(tree, &found.facts, entry, package));
    for distribution in distributions {
        let (distribution, failed) = distribution;
        found.distributions.extend(distribution);
        found.failed.extend(failed);
    }
    if tree.maker == Maker::Other {
        let outside = found.distributions.iter().flat_map(|one| one.record.rows());
        let outside = outside.filter(|row| !row.path.starts_with(&format!("{}/", tree.site)));
        let outside: Vec<String> = outside.map(|row| row.path.clone()).collect();
        for path in outside {
            match tree::facts(&tree.root.join(&path)) {
                Ok(Some(facts)) => drop(found.facts.insert(path, facts)),
                Ok(None) => {}
                Err(error) => found.failed.push((path, error.cause.to_string())),
            }
        }
    }
    Ok(found)
}

fn distribution(
    tree: &Tree,
    facts: &HashMap<String, Facts>,
    entry: &str,
    package: &Package,
) -> (Option<Distribution>, Option<(String, String)>) {
    let Ok(name) = package.name.parse() else { return (None, None) };
    let folder = format!("{}/{entry}", tree.site);
    let path = format!("{folder}/RECORD");
    let seen = facts.get(&path).filter(|facts| facts.plain);
    let mut failed = None;
    let record = match seen.map(|_| fs::read_bytes(&tree.root.join(&path))) {
        None | Some(Ok(None)) => Record::Absent,
        Some(Ok(Some(bytes))) => Record::of(&bytes, &tree.site),
        Some(Err(error)) => {
            failed = Some((path, error.cause.to_string()));
            Record::Absent
        }
    };
    let installer = match tree.maker {
        Maker::Macml { .. } => None,
        Maker::Other => fs::read_start(&tree.root.join(&folder).join("INSTALLER"), 16).ok().flatten(),
    };
    let conda = installer.is_some_and(|text| text.trim_ascii() == b"conda");
    let time = seen.map(|facts| facts.modified);
    (Some(Distribution { folder, name, package: package.clone(), record, time, conda }), failed)
}

impl Record {
    /// Reads one.
    pub(super) fn of(bytes: &[u8], site: &str) -> Self {
        let Some(recorded) = install::recorded(bytes) else { return Self::Broken };
        let (mut rows, mut outside) = (Vec::with_capacity(recorded.len()), Vec::new());
        for row in recorded {
            match install::from_root(site, &row.path) {
                Some(path) => {
                    rows.push(Row { path, size: row.size, sha256: row.sha256, executable: false });
                }
                None => outside.push(row.path),
            }
        }
        Self::Rows { rows, outside }
    }

    /// Returns the files in the tree.
    pub(super) fn rows(&self) -> &[Row] {
        match self {
            Self::Absent | Self::Broken => &[],
            Self::Rows { rows, .. } => rows,
        }
    }
}

/// What a file turned out to be: its digest, or why it could not be read; `None` for one that went.
pub(super) type Digested = Result<Option<Sha256>, String>;

/// Reads files whole, for their digests.
pub(super) fn digests(tree: &Tree, files: &[(String, u64)]) -> HashMap<String, Digested> {
    let wanted: Vec<ToDigest> =
        files.iter().map(|(path, size)| ToDigest { path: tree.root.join(path), size: *size }).collect();
    let digested = survey::sha256(&wanted).into_iter().map(|digest| match digest {
        Ok(digest) => Ok(digest.map(Sha256::from_bytes)),
        Err(error) => Err(error.cause.to_string()),
    });
    files.iter().map(|(path, _)| path.clone()).zip(digested).collect()
}

/// Reads small files: metadata and scripts, and what links lead to. What cannot be read is none of them: its digest tells.
pub(super) fn texts(tree: &Tree, files: &[String]) -> HashMap<String, Vec<u8>> {
    let read = |path: &String| read_small(&tree.root.join(path)).map(|bytes| (path.clone(), bytes));
    parallel::map(files, tree::workers(), read).into_iter().flatten().collect()
}

fn read_small(path: &Path) -> Option<Vec<u8>> {
    use std::os::unix::ffi::OsStringExt as _;
    let facts = tree::facts(path).ok()??;
    match facts.link {
        true => Some(tree::read_link(path).ok()??.into_os_string().into_vec()),
        false if facts.plain && facts.size <= SCRIPT_LIMIT => fs::read_bytes(path).ok()?,
        false => None,
    }
}
