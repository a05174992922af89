//! Pieces that `uv.lock` and `pylock.toml` share: markers, wheels by address or path, digests.

use std::path::Path;

use toml::de::DeTable;

use crate::lock::table::{self, Fail, Span, Table, Unknown, value};
use crate::pep::{ExtraName, Marker, PackageName, Sha256, Version, WheelName};

use super::address::{Address, last_part};
use super::error::{Error, masked};

/// No lock has more releases.
pub(super) const MOST_RELEASES: usize = 20_000;

/// No marker is longer; deciding takes time with its length.
const LONGEST_MARKER: usize = 32 << 10;

/// Where the lines of a text begin, to tell the line of many places of it.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// Returns the line, from 1, in which a span begins.
    pub(super) fn at(&self, span: &Span) -> usize {
        self.0.partition_point(|end| *end < span.start) + 1
    }
}

/// Parses a text and hands its top table to `read`, which passes over keys that it does not know.
///
/// # Errors
/// The first thing that is wrong with it, with its line.
pub(super) fn document<T>(
    path: &Path,
    text: &str,
    read: impl FnOnce(&Table<'_, '_>, &Lines) -> Result<T, Fail>,
) -> Result<T, Error> {
    let lines = Lines::of(text);
    let read_top =
        |keys: &DeTable<'_>| read(&Table { keys, span: 0..0, what: "the file", unknown: Unknown::PassedOver }, &lines);
    table::document(text, read_top).map_err(|error| Error::of(path, &error))
}

/// Reads a marker of a lockfile.
pub(super) fn marker(text: &str, span: Span, key: &'static str) -> Result<Marker, Fail> {
    if text.len() > LONGEST_MARKER {
        return Err(value(span, key, &format!("a marker of more than {LONGEST_MARKER} bytes")));
    }
    Marker::parse_locked(text).map_err(|error| value(span, key, &error.to_string()))
}

/// Reads an array of markers; none at all for none.
pub(super) fn markers(table: &Table<'_, '_>, key: &'static str) -> Result<Vec<Marker>, Fail> {
    table.texts(key)?.unwrap_or_default().into_iter().map(|(text, span)| marker(text, span, key)).collect()
}

/// Reads one marker under `marker`.
pub(super) fn own_marker(table: &Table<'_, '_>) -> Result<Option<Marker>, Fail> {
    table.text("marker")?.map(|(text, span)| marker(text, span, "marker")).transpose()
}

/// Reads names of extras or groups, sorted.
pub(super) fn names(table: &Table<'_, '_>, key: &'static str) -> Result<Vec<ExtraName>, Fail> {
    let mut names: Vec<ExtraName> = Vec::new();
    for (text, span) in table.texts(key)?.unwrap_or_default() {
        names.push(text.parse().map_err(|error| value(span, key, &format!("{error}")))?);
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Reads an address.
pub(super) fn address(text: &str, span: Span, key: &'static str) -> Result<Address, Fail> {
    Address::of(text).ok_or_else(|| value(span, key, &format!("`{}` is not an address", masked(text))))
}

/// The name of a file and the path that it has, on its host or on this disk.
pub(super) struct Place {
    pub(super) name: String,
    pub(super) path: Option<String>,
    pub(super) span: Span,
}

/// Reads where a file is: `url`, `path`, or what `name` says.
pub(super) fn place(table: &Table<'_, '_>, name: &'static str) -> Result<Place, Fail> {
    let own = table.text(name)?;
    let (file, path, span) = if let Some((text, span)) = table.text("url")? {
        let address = address(text, span.clone(), "url")?;
        (address.file_name(), Some(address.path()), span)
    } else if let Some((text, span)) = table.text("path")? {
        (last_part(text).to_owned(), Some(text.to_owned()), span)
    } else {
        let (text, span) = table.need(own.clone(), name)?;
        (text.to_owned(), None, span)
    };
    match own {
        // uv writes names in lower case here; the index has the file under the name in the address.
        Some((text, span)) if !file.eq_ignore_ascii_case(text) => Ok(Place { name: text.to_owned(), path, span }),
        _ => Ok(Place { name: file, path, span }),
    }
}

/// Reads the name of a wheel of a release.
pub(super) fn wheel_name(
    text: &str,
    span: &Span,
    name: &PackageName,
    version: Option<&Version>,
) -> Result<WheelName, Fail> {
    // Before anything else looks at it: this text may become a file's name on disk.
    let bad = |reason: String| value(span.clone(), "wheels", &reason);
    if text.contains(['/', '\\', '\0']) || text.starts_with('.') {
        return Err(bad(format!("`{}` is not a plain file name", masked(text))));
    }
    let file: WheelName = text.parse().map_err(|error| bad(format!("{error}")))?;
    let same = |version: &Version| file.version == *version || file.version == version.clone().without_local();
    if file.name != *name || !version.is_none_or(same) {
        let version = version.map_or_else(String::new, |version| format!(" {version}"));
        return Err(bad(format!("`{text}` is not a wheel of {name}{version}")));
    }
    Ok(file)
}

/// Reads a digest in hexadecimal digits.
pub(super) fn sha256(text: &str, span: Span, key: &'static str) -> Result<Sha256, Fail> {
    text.parse().map_err(|error| value(span, key, &format!("{error}")))
}
