//! Core metadata (the METADATA file of a wheel): email headers, of which a few are read.
//!
//! Files that are published cannot be corrected, so what old tools wrote is read too.
//! <https://packaging.python.org/en/latest/specifications/core-metadata/>

use std::borrow::Cow;

use super::name::ExtraName;
use super::name::PackageName;
use super::requirement::Requirement;
use super::version::Specifiers;
use super::version::Version;

/// The parts of METADATA that resolving needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// `Name`.
    pub name: PackageName,
    /// `Version`.
    pub version: Version,
    /// `Requires-Dist`, in order.
    pub requires_dist: Vec<Requirement>,
    /// `Requires-Python`.
    pub requires_python: Option<Specifiers>,
    /// `Provides-Extra`, in order.
    pub provides_extra: Vec<ExtraName>,
}

/// Why METADATA cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// A field that must be there is not.
    #[error("no `{0}` field")]
    Missing(&'static str),
    /// A field does not read as what it should be.
    #[error("field `{field}`: {reason}")]
    Field {
        /// The field's name.
        field: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl Metadata {
    /// Parses METADATA (email headers; the description is ignored).
    ///
    /// # Errors
    /// When name or version are missing, or a line that decides what is installed cannot be read.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetadataError> {
        let text = decode(bytes);
        let (mut name, mut version, mut requires_python) = (None, None, None);
        let (mut requires_dist, mut provides_extra) = (Vec::new(), Vec::new());
        let headers = Headers { rest: text.trim_start_matches('\u{feff}') };
        for (field, value) in headers {
            let value = value.trim();
            // Of a field that may stand once, the first counts, as in `packaging`.
            match field.to_ascii_lowercase().as_str() {
                "name" if name.is_none() => name = Some(value.parse().map_err(bad("Name"))?),
                "version" if version.is_none() => version = Some(value.parse().map_err(bad("Version"))?),
                "requires-python"
                    if requires_python.is_none()
                    // Old tools wrote `UNKNOWN` for what was not given.
                    && !value.is_empty() && value != "UNKNOWN" =>
                {
                    requires_python = Some(Specifiers::parse_lenient(value).map_err(bad("Requires-Python"))?);
                }
                "requires-dist" => {
                    requires_dist.push(Requirement::parse_lenient(value).map_err(bad("Requires-Dist"))?);
                }
                // An extra whose name nobody can write is of no use and no harm.
                "provides-extra" => provides_extra.extend(value.parse::<ExtraName>()),
                _ => {}
            }
        }
        Ok(Self {
            name: name.ok_or(MetadataError::Missing("Name"))?,
            version: version.ok_or(MetadataError::Missing("Version"))?,
            requires_dist,
            requires_python,
            provides_extra,
        })
    }
}

fn bad<E: std::fmt::Display>(field: &'static str) -> impl Fn(E) -> MetadataError {
    move |cause| {
        let reason = cause.to_string();
        // It quotes the field, which may be a book.
        let end = reason.char_indices().nth(LONGEST_REASON).map_or(reason.len(), |(at, _)| at);
        let cut = if end < reason.len() { " …" } else { "" };
        MetadataError::Field { field, reason: format!("{}{cut}", &reason[..end]) }
    }
}

/// How many characters of a reason are shown.
const LONGEST_REASON: usize = 400;

/// UTF-8, or else Latin-1, which reads anything.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| bytes.iter().map(|byte| char::from(*byte)).collect(), Cow::Borrowed)
}

/// Goes through the headers until the empty line, or a line that is none.
struct Headers<'a> {
    rest: &'a str,
}

impl<'a> Headers<'a> {
    /// Splits off a line; `\r\n`, `\n` and `\r` end one.
    fn line(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.find(['\r', '\n']).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\r', '\n'])).unwrap_or(rest);
        Some(line)
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a str, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        let (field, value) = self.line()?.split_once(':')?;
        if !field.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut value = Cow::Borrowed(value);
        while self.rest.starts_with([' ', '\t']) {
            let folded = self.line()?;
            let value = value.to_mut();
            value.push(' ');
            value.push_str(folded.trim());
        }
        Some((field, value))
    }
}
