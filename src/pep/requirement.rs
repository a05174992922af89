//! Dependency specifiers (PEP 508): the body is read here, versions and markers by their own files.
//!
//! <https://packaging.python.org/en/latest/specifications/dependency-specifiers/>

use std::fmt;
use std::str::FromStr;

use super::marker::Marker;
use super::name::ExtraName;
use super::name::PackageName;
use super::version::Specifiers;

/// A dependency specifier: `torch[opt]>=2.1; sys_platform == "darwin"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// The package asked for.
    pub name: PackageName,
    /// Extras asked for, sorted, without repeats.
    pub extras: Vec<ExtraName>,
    /// Versions or an address.
    pub source: RequirementSource,
    /// Where it applies; `None` is everywhere.
    pub marker: Option<Marker>,
}

/// What a requirement accepts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequirementSource {
    /// Releases of an index.
    Versions(Specifiers),
    /// One artifact at an address (`name @ url`).
    Url(String),
}

/// Why a text is no dependency specifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a dependency specifier: {reason}")]
pub struct RequirementError {
    text: String,
    reason: String,
}

/// How strictly a requirement is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// As the standard says.
    Strict,
    /// Also what old metadata holds.
    Lenient,
}

impl Requirement {
    /// Reads also what releases made before the standard was enforced hold: `torch (>=1.9.*)`, `six >=1.4 <2`.
    ///
    /// # Errors
    /// When not even that makes sense of it.
    pub fn parse_lenient(text: &str) -> Result<Self, RequirementError> {
        text.parse().or_else(|strict| Self::read(text.trim(), Reading::Lenient).map_err(|_| strict))
    }

    fn read(text: &str, reading: Reading) -> Result<Self, String> {
        if text.contains(|c: char| c.is_control() && c != '\t') {
            return Err("it holds a control character".to_owned());
        }
        let (name, rest) = identifier(blanks(text)).ok_or("it does not begin with a package name")?;
        let name = name.parse().map_err(|cause| format!("{cause}"))?;
        let (extras, rest) = extras(blanks(rest))?;
        let rest = blanks(rest);
        let (source, marker) = match rest.strip_prefix('@') {
            Some(address) => {
                let (address, marker) = address_and_marker(blanks(address), reading)?;
                (RequirementSource::Url(address.to_owned()), marker)
            }
            None => {
                let (body, marker) = rest.split_once(';').map_or((rest, None), |(body, marker)| (body, Some(marker)));
                (RequirementSource::Versions(versions(body, reading)?), marker)
            }
        };
        let marker = marker.map(|marker| marker.parse::<Marker>().map_err(|cause| format!("{cause}"))).transpose()?;
        Ok(Self { name, extras, source, marker })
    }
}

/// Only blanks and tabs count as such between the parts.
fn blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// Splits off a name; what cannot end one is left for the rest.
fn identifier(text: &str) -> Option<(&str, &str)> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let run = &text[..text.find(|c| !inner(c)).unwrap_or(text.len())];
    let run = run.trim_end_matches(['-', '.']);
    run.starts_with(|c: char| c.is_ascii_alphanumeric()).then(|| text.split_at(run.len()))
}

fn extras(text: &str) -> Result<(Vec<ExtraName>, &str), String> {
    let Some(inside) = text.strip_prefix('[') else { return Ok((Vec::new(), text)) };
    let (inside, rest) = inside.split_once(']').ok_or("the `[` of its extras is not closed")?;
    if blanks(inside).is_empty() {
        return Ok((Vec::new(), rest));
    }
    let mut extras = Vec::new();
    for extra in inside.split(',') {
        let extra = extra.trim_matches([' ', '\t']);
        extras.push(extra.parse().map_err(|cause| format!("{cause}"))?);
    }
    extras.sort_unstable();
    extras.dedup();
    Ok((extras, rest))
}

/// Splits `url ; marker`: without a blank before it a `;` is a part of the address.
fn address_and_marker(text: &str, reading: Reading) -> Result<(&str, Option<&str>), String> {
    let (address, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    if address.is_empty() {
        return Err("nothing follows the `@`".to_owned());
    }
    let rest = blanks(rest);
    if let Some(marker) = rest.strip_prefix(';') {
        return Ok((address, Some(marker)));
    }
    if reading == Reading::Lenient
        && let Some((address, marker)) = text.rsplit_once(';')
        && !address.is_empty()
        && !address.contains(char::is_whitespace)
    {
        return Ok((address, Some(marker)));
    }
    if rest.is_empty() { Ok((address, None)) } else { Err(format!("expected `;` after the address, found `{rest}`")) }
}

fn versions(text: &str, reading: Reading) -> Result<Specifiers, String> {
    let text = text.trim_matches([' ', '\t']);
    let inside = match text.strip_prefix('(') {
        None => text,
        Some(inside) => inside.strip_suffix(')').ok_or("the `(` of its versions is not closed")?,
    };
    let inside = inside.trim_matches([' ', '\t']);
    if inside.is_empty() {
        return Ok(Specifiers::any());
    }
    if reading == Reading::Lenient {
        return Specifiers::parse_lenient(inside).map_err(|cause| cause.to_string());
    }
    // A set of specifiers by itself may hold empty parts and be `*`; in a requirement one comma may trail.
    let listed = inside.strip_suffix(',').unwrap_or(inside);
    if let Some(part) = listed.split(',').find(|part| part.trim().is_empty() || part.trim() == "*") {
        return Err(if part.trim() == "*" { "`*` is no version specifier" } else { "a comma too many" }.to_owned());
    }
    if let Some(found) = inside.chars().find(|c| matches!(c, '(' | ')')) {
        return Err(format!("expected version specifiers, found `{found}`"));
    }
    inside.parse::<Specifiers>().map_err(|cause| cause.to_string())
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        Self::read(text, Reading::Strict).map_err(|reason| RequirementError { text: text.to_owned(), reason })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.name, f)?;
        if !self.extras.is_empty() {
            let extras: Vec<&str> = self.extras.iter().map(ExtraName::as_str).collect();
            write!(f, "[{}]", extras.join(","))?;
        }
        match &self.source {
            RequirementSource::Versions(versions) if versions.is_any() => {}
            RequirementSource::Versions(versions) => fmt::Display::fmt(versions, f)?,
            RequirementSource::Url(url) => write!(f, " @ {url}")?,
        }
        match (&self.marker, &self.source) {
            (None, _) => Ok(()),
            // Without a blank the `;` would belong to the address.
            (Some(marker), RequirementSource::Url(_)) => write!(f, " ; {marker}"),
            (Some(marker), RequirementSource::Versions(_)) => write!(f, "; {marker}"),
        }
    }
}
