//! Specifiers as sets of points on the line of versions.
//!
//! PEP 440 specifiers are not intervals of versions: `==1.2` admits `1.2+local`, `>1.7` refuses `1.7.post1`.
//! So the line has more points than versions: one after all local versions of a release, one after its posts:
//!
//! ```text
//! 1.dev0  1a1  1a1.post1  [1a1 posts]  1rc1  1  1+a  1+2  [1 locals]  1.post0.dev0  1.post0  [1 posts]  1.0.1.dev0
//! ```
//!
//! The points in brackets are no versions, so it does not matter to which side of a cut they belong. By convention
//! they stand at the open end of a lower set and at the closed end of an upper one; complements keep it so.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::ops::Bound;

use pep440_rs::Operator;

use super::version::Version;

/// A place on the line of versions: a version, or just after a family of versions.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Point {
    version: Version,
    after: After,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
enum After {
    /// The version itself.
    Exact,
    /// After every local version of it. The version is not local.
    Locals,
    /// After every post-release of it and their local versions. The version is no post, dev or local version.
    Posts,
}

/// A set of versions.
pub type VersionRange = version_ranges::Ranges<Point>;

impl Point {
    /// Returns the version, if the point is one.
    pub fn version(&self) -> Option<&Version> {
        matches!(self.after, After::Exact).then_some(&self.version)
    }

    fn after_locals(version: &Version) -> Self {
        Self { version: version.clone(), after: After::Locals }
    }

    fn after_posts(version: &Version) -> Self {
        Self { version: version.clone(), after: After::Posts }
    }

    /// Compares a point after a family with another point, which is no later in its own family order.
    fn cmp_family(&self, other: &Self) -> Ordering {
        if self.after < other.after {
            return other.cmp_family(self).reverse();
        }
        // From here on `self` stands after a family at least as wide as that of `other`.
        let order = self.version.cmp(&other.version);
        if self.after == other.after || order == Ordering::Greater {
            return order;
        }
        let inside = match self.after {
            After::Exact => false,
            After::Locals => order == Ordering::Equal || same_but_local(&self.version, &other.version),
            After::Posts => order == Ordering::Equal || same_but_post(&self.version, &other.version),
        };
        if inside { Ordering::Greater } else { order }
    }
}

fn same_but_local(version: &Version, other: &Version) -> bool {
    other.is_local() && *version == other.clone().without_local()
}

/// Whether `other`, known to be the later one, is a post-release or local version of `version`.
fn same_but_post(version: &Version, other: &Version) -> bool {
    version.pre() == other.pre() && version.epoch() == other.epoch() && trim(version.release()) == trim(other.release())
}

fn trim(release: &[u64]) -> &[u64] {
    let zeros = release.iter().rev().take_while(|number| **number == 0).count();
    &release[..release.len() - zeros]
}

impl From<Version> for Point {
    fn from(version: Version) -> Self {
        Self { version, after: After::Exact }
    }
}

impl Ord for Point {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.after, other.after) {
            (After::Exact, After::Exact) => self.version.cmp(&other.version),
            _ => self.cmp_family(other),
        }
    }
}

impl PartialOrd for Point {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.version, f)
    }
}

/// Returns the versions that one specifier admits; `None` when a number in it has no successor.
pub(super) fn of_specifier(operator: &Operator, version: &Version) -> Option<VersionRange> {
    let exact = || Point::from(version.clone());
    Some(match operator {
        Operator::Equal if version.is_local() => VersionRange::singleton(exact()),
        Operator::Equal => VersionRange::between(exact(), Point::after_locals(version)),
        Operator::NotEqual => of_specifier(&Operator::Equal, version)?.complement(),
        Operator::EqualStar => family(version, version.release())?,
        Operator::NotEqualStar => family(version, version.release())?.complement(),
        Operator::ExactEqual => VersionRange::singleton(exact()),
        Operator::TildeEqual => {
            let (_, prefix) = version.release().split_last()?;
            VersionRange::between(exact(), next_family(version, prefix)?)
        }
        Operator::GreaterThanEqual => VersionRange::higher_than(exact()),
        Operator::LessThanEqual => VersionRange::strictly_lower_than(Point::after_locals(version)),
        Operator::GreaterThan if version.is_dev() || version.is_post() => {
            VersionRange::higher_than(Point::after_locals(version))
        }
        Operator::GreaterThan => VersionRange::higher_than(Point::after_posts(version)),
        Operator::LessThan => {
            let bound = if version.any_prerelease() { version.clone() } else { version.clone().with_dev(Some(0)) };
            // Nothing comes before `0.dev0`, so the set is empty and should look so.
            let least = Version::new([0]).with_dev(Some(0));
            if bound <= least { VersionRange::empty() } else { VersionRange::strictly_lower_than(bound) }
        }
    })
}

fn first_of_family(version: &Version, release: &[u64]) -> Version {
    Version::new(release).with_epoch(version.epoch()).with_dev(Some(0))
}

fn next_family(version: &Version, release: &[u64]) -> Option<Version> {
    let (last, front) = release.split_last()?;
    let next = last.checked_add(1)?;
    let release: Vec<u64> = front.iter().copied().chain([next]).collect();
    Some(first_of_family(version, &release))
}

fn family(version: &Version, release: &[u64]) -> Option<VersionRange> {
    Some(VersionRange::between(first_of_family(version, release), next_family(version, release)?))
}

/// Writes a range as people write specifiers: `>=1.2, <2`, `==1.4`, alternatives joined by ` or `; `any` when full,
/// `none` when empty.
///
/// What a single specifier can say is said exactly. A cut that no specifier can make (just below or above one version,
/// as when the solver rules out a version it tried) is written as the nearest one.
pub fn describe(range: &VersionRange) -> String {
    let segments: Vec<_> = range.iter().collect();
    let Some(first) = segments.first() else { return "none".to_owned() };
    let mut text = String::new();
    let (mut lower, mut upper, mut holes) = (first.0, first.1, Vec::new());
    for (next_lower, next_upper) in segments.iter().skip(1) {
        match hole(upper, next_lower) {
            Some(hole) => holes.push(hole),
            None => {
                push_alternative(&mut text, lower, upper, &holes);
                holes.clear();
                lower = next_lower;
            }
        }
        upper = next_upper;
    }
    push_alternative(&mut text, lower, upper, &holes);
    text
}

fn push_alternative(text: &mut String, lower: &Bound<Point>, upper: &Bound<Point>, holes: &[String]) {
    if !text.is_empty() {
        text.push_str(" or ");
    }
    let mut parts = Vec::new();
    match between(lower, upper) {
        Some(what) => parts.push(format!("=={what}")),
        None => {
            parts.extend(lower_text(lower));
            parts.extend(upper_text(upper));
        }
    }
    parts.extend(holes.iter().map(|hole| format!("!={hole}")));
    if parts.is_empty() {
        parts.push("any".to_owned());
    }
    let _ = write!(text, "{}", parts.join(", "));
}

/// Writes a whole segment as `1.4` or `1.4.*` where it is just that.
fn between(lower: &Bound<Point>, upper: &Bound<Point>) -> Option<String> {
    let Bound::Included(low) = lower else { return None };
    let from = low.version()?;
    match upper {
        Bound::Included(high) if low == high => Some(from.to_string()),
        Bound::Excluded(high) if high.after == After::Locals && *from == high.version => Some(from.to_string()),
        Bound::Excluded(high) if high.after == After::Exact => family_name(from, &high.version),
        _ => None,
    }
}

/// Writes `1.4.*` when `from` up to `to` is that family.
fn family_name(from: &Version, to: &Version) -> Option<String> {
    if !is_first_of_family(from) || !is_first_of_family(to) {
        return None;
    }
    // The family may be written longer than its first version: `1.0.*` begins with `1.dev0`.
    let mut release = from.release().to_vec();
    release.resize(release.len().max(to.release().len()), 0);
    while !release.is_empty() {
        if next_family(from, &release).as_ref() == Some(to) && first_of_family(from, &release) == *from {
            let name = Version::new(&release).with_epoch(from.epoch());
            return Some(format!("{name}.*"));
        }
        release.pop();
    }
    None
}

fn is_first_of_family(version: &Version) -> bool {
    version.dev() == Some(0) && version.pre().is_none() && version.post().is_none() && !version.is_local()
}

/// Writes the gap between two segments as what `!=` would exclude, where it is that.
fn hole(upper: &Bound<Point>, lower: &Bound<Point>) -> Option<String> {
    let from = match upper {
        Bound::Excluded(point) => Bound::Included(point.clone()),
        _ => return None,
    };
    let to = match lower {
        Bound::Included(point) => Bound::Excluded(point.clone()),
        Bound::Excluded(point) => Bound::Included(point.clone()),
        Bound::Unbounded => return None,
    };
    between(&from, &to)
}

fn lower_text(lower: &Bound<Point>) -> Option<String> {
    match lower {
        Bound::Unbounded => None,
        Bound::Included(point) if point.after == After::Exact => Some(format!(">={point}")),
        Bound::Included(point) | Bound::Excluded(point) => Some(format!(">{point}")),
    }
}

fn upper_text(upper: &Bound<Point>) -> Option<String> {
    match upper {
        Bound::Unbounded => None,
        Bound::Excluded(point) if point.after == After::Exact => {
            let version = &point.version;
            let first = version.dev() == Some(0) && version.pre().is_none() && !version.is_local();
            // `<2` is what is below `2.dev0`.
            let plain = if first { version.clone().with_dev(None) } else { version.clone() };
            Some(format!("<{plain}"))
        }
        Bound::Included(point) | Bound::Excluded(point) => Some(format!("<={point}")),
    }
}
