//! `IndexError`: why an index could not be asked, in words that name it, the address and what helps.

use std::fmt;

use super::source::DIRECT;
use crate::sys::fs::FsError;
use crate::sys::http::HttpError;

/// Whom a question went to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Via {
    /// The index.
    pub index: String,
    /// The mirror that stands in for it.
    pub mirror: Option<String>,
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mirror {
            Some(mirror) => write!(f, "mirror `{mirror}` of index `{}`", self.index),
            None if self.index == DIRECT => f.write_str("the wheel's server"),
            None => write!(f, "index `{}`", self.index),
        }
    }
}

/// Why an index could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// No index has this name.
    #[error("there is no index named `{0}`")]
    UnknownIndex(String),
    /// The address of an index or mirror cannot be used.
    #[error("`{address}` is no address of an index: {reason}")]
    Address {
        /// As written, without secrets.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// A file of the settings cannot be read.
    #[error(transparent)]
    File(#[from] FsError),
    /// A wheel that the manifest names by path is not there.
    #[error("there is no wheel `{}`", path.display())]
    MissingWheel {
        /// Where it should be.
        path: std::path::PathBuf,
    },
    /// The client could not be made.
    #[error("{cause}{}", .cause.hint())]
    Client {
        /// Why.
        cause: Box<HttpError>,
    },
    /// No answer.
    #[error("{via} gave no answer: {cause}{}", .cause.hint())]
    Transport {
        /// Who was asked.
        via: Via,
        /// Why.
        cause: Box<HttpError>,
    },
    /// 403.
    #[error(
        "{via} refused us: it answers 403 (forbidden) for `{address}`; that says nothing about whether the package exists"
    )]
    Refused {
        /// Who was asked.
        via: Via,
        /// For what.
        address: String,
    },
    /// 401.
    #[error(
        "{via} wants a user and a password for `{address}` (401){}: put them into ~/.netrc{}",
        if *.sent { ", and refused those it was given" } else { "" },
        variables(.via)
    )]
    Unauthorized {
        /// Who was asked.
        via: Via,
        /// For what.
        address: String,
        /// Whether some were sent.
        sent: bool,
    },
    /// Another status.
    #[error("{via} answers with status {status} for `{address}`")]
    Status {
        /// Who was asked.
        via: Via,
        /// For what.
        address: String,
        /// The status.
        status: u16,
    },
    /// A page that is none.
    #[error("{via} answered a page that is no package index for `{address}`: {reason}")]
    NotAPage {
        /// Who was asked.
        via: Via,
        /// For what.
        address: String,
        /// What was seen.
        reason: String,
    },
    /// A file that is not the one its page promised.
    #[error("{via} serves a wrong `{filename}`: {reason}")]
    WrongFile {
        /// Who was asked.
        via: Via,
        /// The file.
        filename: String,
        /// What differs.
        reason: String,
    },
    /// Upload times are needed and nobody has them.
    #[error("`exclude-newer` needs upload times, and {via} has none for `{package}`{}", .reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default())]
    NoUploadTimes {
        /// The canonical index.
        via: Via,
        /// The package.
        package: String,
        /// Why the canonical page could not be had.
        reason: Option<String>,
    },
    /// The network is needed and switched off.
    #[error("the size and sha256 of `{filename}` are not in the cache, and the network is switched off")]
    Offline {
        /// The file.
        filename: String,
    },
    /// Every transport failed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    All(Vec<std::sync::Arc<Self>>),
    /// An answer was lost, which is a mistake in macml.
    #[error("the question about `{0}` was lost; please report this")]
    Lost(String),
}

fn variables(via: &Via) -> String {
    if via.index == DIRECT {
        return String::new();
    }
    let index = super::credentials::variable_part(&via.index);
    format!(", or into MACML_INDEX_{index}_USERNAME and MACML_INDEX_{index}_PASSWORD")
}

impl HttpError {
    /// Returns what helps, as an appendix to the message.
    fn hint(&self) -> &'static str {
        match self {
            Self::Certificate { .. } => {
                "; if your network inspects TLS, add its certificate to the system's store (on a Mac the keychain), or \
                 name a PEM file in SSL_CERT_FILE or in `certificates` of macml's config.toml"
            }
            Self::Dns { .. } | Self::Connect { .. } => {
                "; are you online, and is a proxy needed (HTTPS_PROXY)? `--offline` uses what is cached"
            }
            _ => "",
        }
    }
}
