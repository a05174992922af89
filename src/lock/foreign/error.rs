//! Why a lock of another tool cannot be read, and why it has no answer for a Mac.

use std::path::{Path, PathBuf};

use crate::diag::source::Source;
use crate::lock::error::FormatError;
use crate::pep::{ExtraName, PackageName, Specifiers};
use crate::sys::fs::FsError;

/// Why a file could not be read as a lock.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// No such file.
    #[error("there is no file `{}`", .0.display())]
    Absent(PathBuf),
    /// More bytes than any lock has.
    #[error("`{}` is larger than {most} bytes, which no lock is", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How many are read.
        most: u64,
    },
    /// No lock at all.
    #[error("`{}` is no lock: {what}", path.display())]
    NotALock {
        /// The file or folder.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// The lock of a tool whose format is not read.
    #[error("`{}` is a lock of {tool}, which is not read here", path.display())]
    OtherTool {
        /// The file.
        path: PathBuf,
        /// The tool.
        tool: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// Something in it that cannot be meant.
    #[error("`{}`, line {line}: {what}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, without secrets.
        what: String,
    },
}

impl Error {
    /// Makes one for a place in a file; addresses that `what` quotes lose their secrets.
    pub(super) fn at(path: &Path, line: usize, what: &str) -> Self {
        Self::Format { path: path.to_owned(), line, what: masked(what) }
    }

    /// Makes one of what is wrong with a TOML file.
    pub(super) fn of(path: &Path, error: &FormatError) -> Self {
        Self::at(path, error.line, &error.problem.to_string())
    }

    /// Returns the remedy, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::OtherTool { instead, .. } => Some(instead),
            Self::NotALock { .. } => Some("name uv.lock, pylock.toml or a requirements file with hashes"),
            _ => None,
        }
    }
}

/// Overwrites what could be a secret in a path or address.
pub fn without_secrets(text: &str) -> String {
    Source { name: String::new(), text: text.to_owned() }.masked().text
}

/// Overwrites what could be a secret, and shortens what nobody reads to its end.
pub fn masked(text: &str) -> String {
    const LONGEST: usize = 400;
    let plain: String = without_secrets(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match plain.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &plain[..at]),
        None => plain,
    }
}

/// Why a lock has no answer for a Mac.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The lock is for other Pythons.
    #[error("the lock is for Python {requires}, not for {python}")]
    Python {
        /// `requires-python` of the lock.
        requires: Box<Specifiers>,
        /// The Python that was asked for.
        python: String,
    },
    /// A package of the set is for other Pythons, which `pylock.toml` makes an error.
    #[error("{place}: `{name}` is for Python {requires}, not for {python}")]
    PackagePython {
        /// Where it stands.
        place: String,
        /// The package.
        name: PackageName,
        /// What it asks for.
        requires: Box<Specifiers>,
        /// The Python that was asked for.
        python: String,
    },
    /// The lock was not made for Macs like this.
    #[error("the lock is not for this Mac: its environments are {}", quoted(environments))]
    Environment {
        /// The markers of which none holds.
        environments: Vec<String>,
    },
    /// No such member, extra or group.
    #[error("the lock has no {kind} `{name}`{}", offered(known))]
    Unknown {
        /// `member`, `extra` or `group`.
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Members, extras or groups that the project says exclude each other.
    #[error("{} exclude each other in this lock", quoted(items))]
    Conflict {
        /// Which.
        items: Vec<String>,
    },
    /// One package twice.
    #[error("`{name}` stands for this Mac twice: in {first} and in {second}")]
    Ambiguous {
        /// The package.
        name: PackageName,
        /// Where one stands.
        first: String,
        /// Where the other stands.
        second: String,
    },
}

fn quoted(items: &[String]) -> String {
    const MOST: usize = 4;
    let mut words: Vec<String> = items.iter().take(MOST).map(|item| format!("`{item}`")).collect();
    if items.len() > MOST {
        words.push(format!("{} more", items.len() - MOST));
    }
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "none".to_owned(),
    }
}

fn offered(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; it has {}", quoted(known)) }
}

/// Lists names for a [`Refusal::Unknown`].
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a ExtraName>) -> Vec<String> {
    names.into_iter().map(ToString::to_string).collect()
}
