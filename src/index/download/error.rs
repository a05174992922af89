//! `DownloadError`: why wheels are not there, with what was expected and what came instead.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::index::fault::{IndexError, Via};
use crate::pep::Sha256;
use crate::sys::disk::{Bytes, Space};
use crate::sys::fs::FsError;

/// How many missing files are named.
const NAMED: usize = 3;

/// Why wheels are not there.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// There is no folder for them.
    #[error("there is no place for downloads: neither HOME nor MACML_CACHE_DIR is set")]
    NoCache,
    /// They do not fit, or do not any more.
    #[error(
        "no space for downloads: {} needed, {} free on the volume `{}`{}",
        Bytes(*.needed), Bytes(.space.free), .space.volume.display(), short(*.needed, .space.free)
    )]
    NoSpace {
        /// How many bytes are still to come.
        needed: u64,
        /// How much is left, and where.
        space: Space,
        /// What the system said, when it became full meanwhile.
        #[source]
        cause: Option<std::io::Error>,
    },
    /// The network is needed and switched off.
    #[error("{} in the cache, and the network is switched off", absent(.missing))]
    Offline {
        /// The files, in the order in which they were asked for.
        missing: Vec<String>,
    },
    /// Nobody has the file as it was locked.
    #[error("`{file}` could not be had{}: {}", expected(.faults, *.size, .sha256), joined(.faults))]
    Unobtainable {
        /// The file's name.
        file: String,
        /// The locked size.
        size: u64,
        /// The locked digest.
        sha256: Sha256,
        /// What went wrong, one for each who was asked.
        faults: Vec<Fault>,
    },
    /// A file of the cache cannot be read or written.
    #[error(transparent)]
    Disk(#[from] FsError),
    /// No index could be asked.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A download ended without an answer, which is a mistake in macml.
    #[error("a download was lost; please report this")]
    Lost,
}

/// Why somebody did not send the file.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Fault {
    /// The package is not known.
    #[error("{via} does not know `{package}`")]
    Unknown {
        /// Who was asked.
        via: Via,
        /// The package.
        package: String,
    },
    /// The page does not list it.
    #[error("{via} does not list it")]
    NotListed {
        /// Who was asked.
        via: Via,
    },
    /// The page lists another file of the same name.
    #[error(
        "{via} lists another file of that name, with sha256 {sha256}, at `{address}`: it was replaced, or the lock was \
         made from another index"
    )]
    Another {
        /// Who was asked.
        via: Via,
        /// Its address.
        address: String,
        /// Its digest, as the page says.
        sha256: Sha256,
    },
    /// It is not where it should be.
    #[error("{via} answers {status} for `{address}`")]
    Gone {
        /// Who was asked.
        via: Via,
        /// Its address.
        address: String,
        /// 404 or 410.
        status: u16,
    },
    /// Other bytes came: too few or too many.
    #[error("{via} sent {} from `{address}`", counted(*.got))]
    WrongSize {
        /// Who was asked.
        via: Via,
        /// Its address.
        address: String,
        /// How many came; `None` when there were more than locked.
        got: Option<u64>,
    },
    /// Other bytes came, as many as locked.
    #[error("{via} sent sha256 {got} from `{address}`{said}")]
    WrongHash {
        /// Who was asked.
        via: Via,
        /// Its address.
        address: String,
        /// The digest of what came.
        got: Sha256,
        /// What its page says.
        said: Said,
    },
    /// A wheel on disk is not the one that was locked.
    #[error("`{}` has {got} bytes{}", path.display(), .sha256.map(|sha256| format!(" and sha256 {sha256}")).unwrap_or_default())]
    WrongFile {
        /// The file.
        path: PathBuf,
        /// Its size.
        got: u64,
        /// Its digest, where the size is right.
        sha256: Option<Sha256>,
    },
    /// There was no answer, or none of use.
    #[error(transparent)]
    Error(#[from] Arc<IndexError>),
}

/// What a page says of a file's digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// It is the locked one.
    Locked,
    /// Nothing.
    Nothing,
    /// There is no page: the wheel is one by address.
    NoPage,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Locked => ", though its page lists the locked one",
            Self::Nothing => ", and its page lists none",
            Self::NoPage => "",
        })
    }
}

impl Fault {
    /// Returns whether the host was not reached at all.
    pub(super) fn is_unreachable(&self) -> bool {
        let Self::Error(error) = self else { return false };
        matches!(&**error, IndexError::Transport { cause, .. } if cause.is_unreachable())
    }

    /// Returns whether something else came than was locked.
    pub fn is_other(&self) -> bool {
        matches!(self, Self::Another { .. } | Self::WrongSize { .. } | Self::WrongHash { .. } | Self::WrongFile { .. })
    }
}

/// What is locked, where it matters for what went wrong.
fn expected(faults: &[Fault], size: u64, sha256: &Sha256) -> String {
    match faults.iter().any(Fault::is_other) {
        true => format!(" as locked, with {size} bytes and sha256 {sha256}"),
        false => String::new(),
    }
}

fn joined(faults: &[Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn counted(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!("{bytes} bytes"),
        None => "more bytes".to_owned(),
    }
}

fn short(needed: u64, free: u64) -> String {
    match needed.checked_sub(free) {
        None | Some(0) => String::new(),
        Some(short) => format!(", {} too few", Bytes(short)),
    }
}

fn absent(missing: &[String]) -> String {
    let names: Vec<String> = missing.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    match missing.len() {
        1 => format!("{} is not", names[0]),
        count if count <= NAMED => format!("{count} wheels are not ({})", names.join(", ")),
        count => format!("{count} wheels are not ({} and {} more)", names.join(", "), count - NAMED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_missing_files_are_named_and_all_are_counted() {
        let check = |count: usize, text: &str| {
            let missing = (0..count).map(|at| format!("w{at}.whl")).collect();
            assert_eq!(DownloadError::Offline { missing }.to_string(), text);
        };
        check(1, "`w0.whl` is not in the cache, and the network is switched off");
        check(2, "2 wheels are not (`w0.whl`, `w1.whl`) in the cache, and the network is switched off");
        let many =
            "5 wheels are not (`w0.whl`, `w1.whl`, `w2.whl` and 2 more) in the cache, and the network is switched off";
        check(5, many);
    }

    #[test]
    fn space_is_told_with_what_is_missing() {
        let check = |needed, free, text: &str| {
            let error = DownloadError::NoSpace { needed, space: Space { free, volume: "/big".into() }, cause: None };
            assert_eq!(error.to_string(), format!("no space for downloads: {text}"));
        };
        check(1_290_000_000, 1_210_000_000, "1.2 GB needed, 1.2 GB free on the volume `/big`, 80.0 MB too few");
        check(5_000, 9_000, "5 kB needed, 9 kB free on the volume `/big`");
    }
}
