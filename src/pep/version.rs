//! Versions and specifiers (PEP 440).
//!
//! Knows how specifiers are written; what they admit is a [`VersionRange`], made in `range.rs`.
//! <https://packaging.python.org/en/latest/specifications/version-specifiers/>

use std::fmt;
use std::str::FromStr;

use pep440_rs::Operator;
use pep440_rs::VersionSpecifier;

pub use pep440_rs::Version;

use super::range::VersionRange;
use super::range::of_specifier;

/// A set of version specifiers, for example `>=2.1,!=2.3.*,<3`; none at all admits every version.
///
/// Whether pre-releases count is the caller's decision: here they are versions like any other.
#[derive(Clone, PartialEq, Eq)]
pub struct Specifiers {
    text: Vec<VersionSpecifier>,
    range: VersionRange,
}

/// Why a text is no set of specifiers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a version specifier: {reason}")]
pub struct SpecifiersError {
    text: String,
    reason: String,
}

impl SpecifiersError {
    /// Returns what is wrong, without the text.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl Specifiers {
    /// Returns the empty set of specifiers, which admits every version.
    pub fn any() -> Self {
        Self { text: Vec::new(), range: VersionRange::full() }
    }

    /// Reads what older releases wrote before the standard was enforced: `>=1.9.*`, `>=1.9<2`, `==1.9*`, `,>=1`.
    ///
    /// For metadata that nobody can correct any more; everything written today is read by [`FromStr`].
    ///
    /// # Errors
    /// When not even that makes sense of it.
    pub fn parse_lenient(text: &str) -> Result<Self, SpecifiersError> {
        text.parse().or_else(|strict: SpecifiersError| {
            let mended = mend(text).ok_or_else(|| strict.clone())?;
            mended.parse().map_err(|_: SpecifiersError| strict)
        })
    }

    /// Reads exactly one specifier; `None` when the text is none.
    pub(super) fn parse_one(text: &str) -> Option<Self> {
        let one = VersionSpecifier::from_str(text).ok()?;
        let range = of_specifier(one.operator(), one.version())?;
        Some(Self { text: vec![one], range })
    }

    /// Returns the versions named in the set, without `.*`.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Version> {
        self.text.iter().map(VersionSpecifier::version)
    }

    /// Returns whether no specifier is in the set.
    pub fn is_any(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns whether `version` satisfies every specifier, pre-releases included.
    pub fn contains(&self, version: &Version) -> bool {
        self.range.contains(&version.clone().into())
    }

    /// Returns the versions that the set admits.
    pub fn range(&self) -> &VersionRange {
        &self.range
    }

    /// Returns the version of an `==` (without `.*`) or `===` in the set.
    pub fn exact(&self) -> Option<&Version> {
        let exact = self.text.iter().find(|one| matches!(one.operator(), Operator::Equal | Operator::ExactEqual));
        exact.map(VersionSpecifier::version)
    }

    /// Returns whether some specifier names a pre-release or development release; excluding one with `!=` does not.
    pub fn names_prerelease(&self) -> bool {
        let excludes = |one: &VersionSpecifier| matches!(one.operator(), Operator::NotEqual | Operator::NotEqualStar);
        self.text.iter().any(|one| !excludes(one) && one.version().any_prerelease())
    }
}

impl FromStr for Specifiers {
    type Err = SpecifiersError;

    fn from_str(text: &str) -> Result<Self, SpecifiersError> {
        let error = |reason: String| SpecifiersError { text: text.to_owned(), reason };
        if text.trim() == "*" {
            return Ok(Self::any());
        }
        let (mut named, mut ranges) = (Vec::new(), Vec::new());
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let one = VersionSpecifier::from_str(part).map_err(|cause| error(one_line(&cause)))?;
            let range = of_specifier(one.operator(), one.version());
            ranges.push(range.ok_or_else(|| error(format!("the numbers of `{}` are too large", one.version())))?);
            named.push(one);
        }
        Ok(Self { text: named, range: intersection(ranges) })
    }
}

/// Intersects ranges in pairs, then the results: one by one, thousands of `!=` would take the square of their number.
fn intersection(mut ranges: Vec<VersionRange>) -> VersionRange {
    while ranges.len() > 1 {
        let half = ranges.len().div_ceil(2);
        let second = ranges.split_off(half);
        ranges.iter_mut().zip(second).for_each(|(one, other)| *one = one.intersection(&other));
    }
    ranges.pop().unwrap_or_else(VersionRange::full)
}

/// Turns the message of a cause into a lowercase fragment on one line.
fn one_line(cause: &impl fmt::Display) -> String {
    let text = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_end_matches(['.', ':']);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Rewrites legacy specifiers in today's form; `None` when a part begins with no operator.
fn mend(text: &str) -> Option<String> {
    const OPERATOR: [char; 5] = ['=', '!', '~', '<', '>'];
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let mut parts = Vec::new();
    let mut rest = inner.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
    while !rest.is_empty() {
        let version_at = rest.find(|c| !OPERATOR.contains(&c))?;
        let (operator, tail) = rest.split_at(version_at);
        let tail = tail.trim_start();
        let end = tail.find(|c: char| c == ',' || c.is_whitespace() || OPERATOR.contains(&c)).unwrap_or(tail.len());
        let (version, tail) = tail.split_at(end);
        parts.push(mend_one(operator, version)?);
        rest = tail.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
    }
    Some(parts.join(","))
}

fn mend_one(operator: &str, version: &str) -> Option<String> {
    let (operator, version) = match operator {
        "" => return None,
        // Written for `!=` in a handful of old releases.
        "!=~" => ("!=", version),
        _ => (operator, version),
    };
    let version = version.trim_matches(['\'', '"']).trim_end_matches('.');
    Some(match (operator, version.strip_suffix('*')) {
        ("==" | "!=", Some(stem)) => format!("{operator}{}.*", stem.trim_end_matches('.')),
        ("~=", Some(stem)) => format!("=={}.*", stem.trim_end_matches('.')),
        (_, Some(stem)) => format!("{operator}{}", stem.trim_end_matches('.')),
        (_, None) => format!("{operator}{version}"),
    })
}

impl fmt::Display for Specifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.text.split_first() else { return f.write_str("*") };
        write!(f, "{first}")?;
        others.iter().try_for_each(|one| write!(f, ", {one}"))
    }
}

impl fmt::Debug for Specifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
