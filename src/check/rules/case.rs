//! What the rules look at, and how they name it to people.

use std::collections::BTreeMap;

use super::said::Said;
use crate::check::dyld::{Answer, Judged, Trouble};
use crate::check::facts::{Image, Slice, Version as Packed, WheelFacts};
use crate::diag::{Code, Finding};
use crate::knowledge::Knowledge;
use crate::pep::{PackageName, Version, WheelName};
use crate::target::{MacosVersion, PythonMinor};

/// A distribution of an environment.
#[derive(Clone, Copy, Debug)]
pub struct Installed<'a> {
    /// Its name.
    pub name: &'a PackageName,
    /// Its release.
    pub version: &'a Version,
    /// The wheel that it came from, where that is known.
    pub wheel: Option<&'a WheelName>,
    /// What is known of its files.
    pub facts: &'a WheelFacts,
}

/// An environment, and what dyld would say of it.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// Its distributions.
    pub installed: &'a [Installed<'a>],
    /// What dyld would say of them, for the same Python.
    pub answer: &'a Answer<'a>,
    /// The Python.
    pub python: PythonMinor,
    /// The lowest macOS that it is for, or that of one Mac.
    pub macos: MacosVersion,
    /// What is known of packages besides.
    pub knowledge: &'a Knowledge,
    /// Files that should be there and are gone, from `site-packages`, with the distribution of each.
    pub gone: &'a BTreeMap<String, PackageName>,
}

/// An image of which a rule speaks, and the missing name if there is one.
pub(super) struct Place<'a> {
    pub(super) distribution: &'a PackageName,
    pub(super) image: &'a str,
    pub(super) symbol: Option<&'a str>,
}

impl<'a> Case<'a> {
    /// Returns a distribution.
    pub(super) fn of(&self, name: &PackageName) -> Option<&'a Installed<'a>> {
        self.installed.iter().find(|one| one.name == name)
    }

    /// Names a distribution with its release: `` `torch` 2.15.0 ``.
    pub(super) fn release(&self, name: &PackageName) -> String {
        self.of(name).map_or_else(|| format!("`{name}`"), |one| format!("`{name}` {}", one.version))
    }

    /// Returns the distribution that brings an image.
    pub(super) fn owner(&self, image: &str) -> Option<&'a PackageName> {
        self.judged(image).map(|judged| judged.distribution)
    }

    /// Returns what is said of an image.
    pub(super) fn judged(&self, image: &str) -> Option<&'a Judged<'a>> {
        let images = &self.answer.images;
        images.binary_search_by(|judged| judged.image.path.as_str().cmp(image)).ok().map(|at| &images[at])
    }

    /// Lists what is wrong with which image.
    pub(super) fn troubles(&self) -> impl Iterator<Item = (&'a Judged<'a>, &'a Trouble<'a>)> + use<'a> {
        self.answer.troubles()
    }

    /// Takes out what the knowledge excuses, and says it in notes.
    pub(super) fn excuse<T>(
        &self,
        code: Code,
        all: Vec<T>,
        place: impl Fn(&T) -> Place<'a>,
        findings: &mut Vec<Said>,
    ) -> Vec<T> {
        let mut kept = Vec::with_capacity(all.len());
        let mut told: Vec<(&str, &str)> = Vec::new();
        for one in all {
            let Place { distribution, image, symbol } = place(&one);
            let version = self.of(distribution).map(|installed| installed.version);
            let excuse = version.and_then(|version| self.knowledge.excuse(distribution, version, code, image, symbol));
            let Some(excused) = excuse else {
                kept.push(one);
                continue;
            };
            if !told.contains(&(image, excused.reason.as_str())) {
                told.push((image, &excused.reason));
                let (title, release) = (code.title(), self.release(distribution));
                let message = format!("`{image}` of {release} is {title}, which does no harm");
                let finding = Finding::note(code, message).noting(excused.reason.clone());
                findings.push(Said::about(distribution, image, finding));
            }
        }
        kept
    }
}

/// Puts things together that have the same key, in the order of the keys.
pub(super) fn grouped<K: Ord, T>(all: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> BTreeMap<K, Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for one in all {
        groups.entry(key(&one)).or_default().push(one);
    }
    groups
}

/// Names the first of some things and how many more there are: `` `a` and 12 more names ``.
pub(super) fn counted(first: &str, count: usize, [one, many]: [&str; 2]) -> String {
    match count {
        0 | 1 => format!("`{first}`"),
        2 => format!("`{first}` and another {one}"),
        count => format!("`{first}` and {} more {many}", count - 1),
    }
}

/// Lists things in backticks, the first few of them.
pub(super) fn listed<T: std::fmt::Display>(all: impl IntoIterator<Item = T>) -> String {
    const MOST: usize = 4;
    let mut all: Vec<String> = all.into_iter().map(|one| format!("`{one}`")).collect();
    match all.len().checked_sub(MOST) {
        Some(more @ 1..) => {
            all.truncate(MOST);
            format!("{} and {more} more", all.join(", "))
        }
        _ => match all.pop() {
            Some(last) if !all.is_empty() => format!("{} and {last}", all.join(", ")),
            last => last.unwrap_or_default(),
        },
    }
}

/// Writes what dyld says of something.
pub(super) fn words(trouble: &Trouble<'_>) -> String {
    format!("dyld says: {}", trouble.sentence())
}

/// Returns the part of an image that can be loaded.
pub(super) fn slice(image: &Image) -> Option<&Slice> {
    image.slice.as_ref().ok()
}

/// Whether something was built for a later macOS. Third numbers are not compared: what declares a macOS has two.
pub(super) fn is_above(minimum: Packed, macos: MacosVersion) -> bool {
    (minimum.major(), u16::from(minimum.minor())) > (macos.major(), macos.minor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_things_in_few_words() {
        let check = |count, expected: &str| assert_eq!(counted("a", count, ["image", "images"]), expected);
        check(1, "`a`");
        check(2, "`a` and another image");
        check(13, "`a` and 12 more images");
        let check = |all: &[&str], expected: &str| assert_eq!(listed(all), expected);
        check(&["a"], "`a`");
        check(&["a", "b"], "`a` and `b`");
        check(&["a", "b", "c", "d"], "`a`, `b`, `c` and `d`");
        check(&["a", "b", "c", "d", "e", "f"], "`a`, `b`, `c`, `d` and 2 more");
    }

    #[test]
    fn later_than() {
        let macos = MacosVersion::new(13, 5);
        let check = |major, minor, patch| is_above(Packed::new(major, minor, patch), macos);
        assert!(check(14, 0, 0) && check(13, 6, 0));
        assert!(!check(13, 5, 2) && !check(13, 4, 0) && !check(12, 7, 0));
    }
}
