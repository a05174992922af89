//! The names that CPython exports, by minor. `cpython.txt` has them, and says where they are from.
//!
//! A minor that it does not have is unknown, not without names.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::target::PythonMinor;

/// Whether an interpreter exports a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Has {
    Yes,
    No,
    /// There is no list for it.
    Unknown,
}

/// The names, each with the minors that have it as bits, and the minors that there are.
struct Names {
    minors: Vec<u16>,
    by_name: HashMap<&'static str, u32>,
}

/// Each line is a name without its underscore, and the ranges of minors that have it where not all do: `Py_Main 9-13 15`.
const TEXT: &str = include_str!("cpython.txt");

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut minors = Vec::new();
        let mut by_name = HashMap::with_capacity(4000);
        let mut all = 0;
        for line in TEXT.lines() {
            if let Some(list) = line.strip_prefix("minors ") {
                minors = list.split(' ').filter_map(|minor| minor.parse().ok()).collect();
                all = bits(minors.iter().copied());
            } else if !line.starts_with('#')
                && let Some((name, ranges)) = line.split_once(' ').or((!line.is_empty()).then_some((line, "")))
            {
                let some = ranges.split(' ').filter_map(|range| {
                    let (first, last) = range.split_once('-').unwrap_or((range, range));
                    Some(first.parse().ok()?..=last.parse().ok()?)
                });
                let some = bits(some.flatten());
                by_name.insert(name, if some == 0 { all } else { some });
            }
        }
        Names { minors, by_name }
    })
}

fn bits(minors: impl Iterator<Item = u16>) -> u32 {
    minors.filter(|minor| *minor < 32).fold(0, |bits, minor| bits | 1 << minor)
}

/// Returns whether an interpreter exports a name, as a Mach-O writes it.
pub(super) fn has(python: PythonMinor, name: &str) -> Has {
    let names = names();
    if python.major != 3 || !names.minors.contains(&python.minor) {
        return if python.major == 3 && !is_like(name) { Has::No } else { Has::Unknown };
    }
    let minors = name.strip_prefix('_').and_then(|name| names.by_name.get(name));
    if minors.is_some_and(|minors| minors >> python.minor & 1 == 1) { Has::Yes } else { Has::No }
}

/// Returns whether some minor exports a name.
pub(super) fn is_known(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|name| names().by_name.contains_key(name))
}

/// Returns whether a name looks like one of CPython's.
pub(super) fn is_like(name: &str) -> bool {
    name.starts_with("_Py") || name.starts_with("__Py")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(minor: u16, name: &str, expected: Has) {
        assert_eq!(has(PythonMinor { major: 3, minor }, name), expected, "3.{minor} {name}");
    }

    #[test]
    fn names_by_minor() {
        for minor in 9..=15 {
            check(minor, "_PyObject_GetAttr", Has::Yes);
            check(minor, "__Py_NoneStruct", Has::Yes);
            check(minor, "_PyExc_ValueError", Has::Yes);
            check(minor, "PyObject_GetAttr", Has::No);
            check(minor, "_TF_NewStatus", Has::No);
        }
        check(11, "_PyUnicode_AsUnicode", Has::Yes);
        check(12, "_PyUnicode_AsUnicode", Has::No);
        check(12, "_PyUnstable_Code_New", Has::Yes);
        check(11, "_PyUnstable_Code_New", Has::No);
        assert!(is_known("_PyUnicode_AsUnicode") && !is_known("_PyTorch_Something"));
    }

    #[test]
    fn a_minor_without_a_list_is_unknown() {
        check(8, "_PyObject_GetAttr", Has::Unknown);
        check(31, "_PyObject_GetAttr", Has::Unknown);
        check(31, "_TF_NewStatus", Has::No);
        check(40, "_PyObject_GetAttr", Has::Unknown);
    }

    #[test]
    fn every_line_is_read() {
        let lines = TEXT.lines().filter(|line| !line.is_empty() && !line.starts_with(['#'])).count();
        assert_eq!(names().by_name.len() + 1, lines, "one line is that of the minors");
        assert!(names().by_name.values().all(|minors| *minors != 0));
    }
}
