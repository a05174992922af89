//! For which Python a lock of another tool is judged: as declared, as `.python-version` says, or the lowest that it admits.

use std::path::Path;

use crate::pep::Specifiers;
use crate::pep::Version;
use crate::resolve::candidate::admits;
use crate::sys::fs;
use crate::target::PythonMinor;

use super::Error;

/// The file in which pyenv and uv keep which Python a project uses.
const FILE: &str = ".python-version";

/// More bytes than this have no such file.
const MOST_BYTES: u64 = 64 << 10;

/// The Python that was decided on.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Python {
    pub(super) minor: PythonMinor,
    /// Its patch release, where somebody said.
    pub(super) full: Option<Version>,
    /// Why this one, for people; `None` where it was declared.
    pub(super) because: Option<String>,
}

/// Decides. `folder` is that of the lock, `requires` what its `requires-python` says.
pub(super) fn decide(
    declared: Option<PythonMinor>,
    folder: &Path,
    lock: &Path,
    requires: Option<&Specifiers>,
) -> Result<Python, Error> {
    if let Some(minor) = declared {
        return Ok(Python { minor, full: None, because: None });
    }
    let path = folder.join(FILE);
    let kept = fs::read_start(&path, MOST_BYTES)?;
    if let Some(text) = kept.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(first) {
        let unknown = || Error::UnknownPython { path: path.clone(), text: text.to_owned() };
        return meant(text, requires).ok_or_else(unknown);
    }
    let Some(requires) = requires else { return Err(Error::NoPython { lock: lock.to_owned() }) };
    let minor =
        lowest(requires).ok_or_else(|| Error::NoSuchPython { lock: lock.to_owned(), requires: requires.clone() })?;
    let because = Some(format!("Python {minor}, the lowest that `requires-python` admits"));
    Ok(Python { minor, full: None, because })
}

/// Returns the first line that says something.
fn first(text: &str) -> Option<&str> {
    let plain = |line: &'_ str| -> usize { line.find('#').unwrap_or(line.len()) };
    // pyenv takes several on one line too.
    text.trim_start_matches('\u{feff}').lines().map(|line| line[..plain(line)].trim()).find(|line| !line.is_empty())
}

/// Reads what such a line names: `3.12`, `3.12.4`, `cpython-3.12`, `cpython-3.12.4-macos-aarch64-none`, `>=3.11`.
fn meant(text: &str, requires: Option<&Specifiers>) -> Option<Python> {
    let said = |name: &str| Some(format!("Python {name}, which `{FILE}` names"));
    if text.starts_with(['<', '>', '=', '~', '!']) {
        let named: Specifiers = text.parse().ok()?;
        let both = |minor: &PythonMinor| admits(&named, *minor) && requires.is_none_or(|one| admits(one, *minor));
        let minor = PythonMinor::RELEASED.into_iter().map(|(minor, _)| minor).find(both)?;
        return Some(Python { minor, full: None, because: said(&format!("{minor}, the lowest of `{text}`")) });
    }
    let word = text.split_whitespace().next()?;
    let known = ["cpython-", "cpython@", "cpython", "python@", "python"];
    let bare = known.iter().find_map(|prefix| word.strip_prefix(prefix)).unwrap_or(word);
    let number = bare.split('-').next()?;
    let version: Version = number.parse().ok()?;
    // `3.13t` is no version; a pre-release counts as its minor.
    let (Some(major), Some(minor)) = (version.release().first(), version.release().get(1)) else { return None };
    let minor = PythonMinor { major: u16::try_from(*major).ok()?, minor: u16::try_from(*minor).ok()? };
    let known = PythonMinor::RELEASED.iter().any(|(one, _)| *one == minor);
    let full = Some(version.clone()).filter(|version| version.release().len() == 3 && !version.any_prerelease());
    known.then(|| Python { minor, because: said(number), full })
}

fn lowest(requires: &Specifiers) -> Option<PythonMinor> {
    PythonMinor::RELEASED.into_iter().map(|(minor, _)| minor).find(|minor| admits(requires, *minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_pyenv_and_uv_write_them() {
        let check = |text: &str, expected: Option<&str>| {
            let requires: Specifiers = ">=3.11".parse().unwrap();
            let found = first(text).and_then(|line| meant(line, Some(&requires)));
            let shown = found
                .map(|one| format!("{}{}", one.minor, one.full.map_or(String::new(), |full| format!(" ({full})"))));
            assert_eq!(shown.as_deref(), expected, "{text}");
        };
        check("3.12\n", Some("3.12"));
        check("3.12.4\n3.11.9\n", Some("3.12 (3.12.4)"));
        check("3.12.4 3.11.9\n", Some("3.12 (3.12.4)"));
        check("\u{feff}# ours\r\n\r\ncpython-3.12 # now\r\n", Some("3.12"));
        check("cpython-3.12.4-macos-aarch64-none", Some("3.12 (3.12.4)"));
        check("cpython@3.13", Some("3.13"));
        check("python3.11", Some("3.11"));
        check("3.15.0rc1", Some("3.15"));
        check(">=3.10", Some("3.11"));
        check("3.13t", None);
        check("3", None);
        check("2.7.18", None);
        check("pypy3.10-7.3.12", None);
        check("my-virtualenv", None);
        check("\n# nothing\n", None);
    }
}
