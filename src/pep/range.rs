//! Specifiers as sets of points on the line of versions.
//!
//! PEP 440 specifiers are not intervals of versions: `==1.2` admits `1.2+local`, `>1.7` refuses `1.7.post1`.
//! So the line has more points than versions: one after all local versions of a release, one after its posts.

use super::version::{Specifiers, Version};

/// A place on the line of versions: a version, or just after a family of versions.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Point {
    version: Version,
    after: After,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
enum After {
    /// The version itself.
    Exact,
    /// After every local version of it.
    Locals,
    /// After every post-release of it and their local versions.
    Posts,
}

/// A set of versions.
pub type VersionRange = version_ranges::Ranges<Point>;

impl Point {
    /// Returns the version, if the point is one.
    pub fn version(&self) -> Option<&Version> {
        matches!(self.after, After::Exact).then_some(&self.version)
    }
}

impl From<Version> for Point {
    fn from(version: Version) -> Self {
        Self { version, after: After::Exact }
    }
}

impl Ord for Point {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let _ = (After::Locals, After::Posts, other);
        unimplemented!("pep helper")
    }
}

impl PartialOrd for Point {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.version, f)
    }
}

/// Writes a range as people write specifiers: `>=1.2, <2`, `==1.4`, alternatives joined by ` or `; `any` when full,
/// `none` when empty.
pub fn describe(range: &VersionRange) -> String {
    let _ = (range, Specifiers::any());
    unimplemented!("pep helper")
}
