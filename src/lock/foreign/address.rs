//! Addresses in locks of others: kept without what could be a secret.

use std::fmt;

use url::Url;

use crate::index::percent_decoded;
use crate::sys::http::shown;

/// An address without user, password, query and fragment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(String);

impl Address {
    /// Reads an address and forgets what could be a secret in it; `None` when the text is none.
    ///
    /// What has no host, such as `me:secret@host`, is none: nobody can tell which part of it is the secret.
    pub fn of(text: &str) -> Option<Self> {
        Url::parse(text).ok().filter(|url| !url.cannot_be_a_base()).map(|url| Self(shown(&url)))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path on its host, as written.
    pub fn path(&self) -> String {
        Url::parse(&self.0).map(|url| url.path().to_owned()).unwrap_or_default()
    }

    /// Returns the name of the file that the address ends in, without `%2B` and its like.
    pub fn file_name(&self) -> String {
        percent_decoded(self.path().rsplit('/').next().unwrap_or_default())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the last part of a path with slashes of either kind.
pub(super) fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}
