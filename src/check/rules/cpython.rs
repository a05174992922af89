//! Extension modules for another Python: by their file names, and by names of CPython that this one does not have.

use std::collections::BTreeSet;

use super::case::{Case, counted, words};
use super::said::Said;
use crate::check::dyld::{Expected, Grade, Trouble, What, leaf};
use crate::diag::{Code, Finding};

/// Whether a name is missing because the Python is another one.
pub(super) fn is_its(trouble: &Trouble<'_>) -> bool {
    match trouble.what {
        What::SymbolMissing { symbol, expected: Expected::Anywhere | Expected::Interpreter, .. } => {
            trouble.grade == Grade::Error && (symbol.starts_with("_Py") || symbol.starts_with("__Py"))
        }
        _ => false,
    }
}

/// Returns the module that a file is, and the Python that its name says: `a/_x` and `313t` of `a/_x.cpython-313t-darwin.so`.
fn tag(path: &str) -> Option<(&str, &str)> {
    let (module, rest) = path.strip_suffix(".so")?.split_once(".cpython-")?;
    rest.strip_suffix("-darwin").map(|tag| (module, tag))
}

/// Writes a tag as people write versions: `3.13t` for `313t`.
fn version(tag: &str) -> String {
    match tag.strip_prefix('3') {
        Some(minor) => format!("3.{minor}"),
        None => tag.to_owned(),
    }
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    let own = format!("{}{}", case.python.major, case.python.minor);
    let mut findings = Vec::new();
    for one in case.installed {
        let tagged = || one.facts.images.iter().filter_map(|image| Some((image.path.as_str(), tag(&image.path)?)));
        // A module may lie there for several Pythons.
        let importable = |path: &str, module: &str| {
            let plain = [".so", ".abi3.so"].iter().any(|end| path.strip_suffix(end) == Some(module));
            plain || tag(path).is_some_and(|(other, tag)| other == module && tag == own)
        };
        let has = |module: &str| one.facts.images.iter().any(|image| importable(&image.path, module));
        let others: Vec<_> = tagged().filter(|(_, (module, tag))| *tag != own && !has(module)).collect();
        let lost: Vec<&Trouble<'_>> = case
            .troubles()
            .filter(|(judged, trouble)| judged.distribution == one.name && is_its(trouble))
            .map(|(_, trouble)| trouble)
            .collect();
        let mut images: BTreeSet<&str> = others.iter().map(|(path, _)| *path).collect();
        images.extend(lost.iter().map(|trouble| trouble.image));
        let Some(first) = images.first() else { continue };
        let what = counted(leaf(first), images.len(), ["extension module", "extension modules"]);
        let (release, python) = (case.release(one.name), case.python);
        let is = if images.len() > 1 { "are" } else { "is" };
        let message = match others.first() {
            Some((_, (_, tag))) => {
                format!("{what} of {release} {is} for CPython {}, and not for {python}", version(tag))
            }
            None => format!("{what} of {release} {is} for another CPython than {python}"),
        };
        // Where some modules are for this Python, those that are not may have a slower stand-in.
        let certain = !lost.is_empty() || tagged().all(|(_, (_, tag))| tag != own);
        let mut finding = match certain {
            true => Finding::error(Code::WrongCpython, message),
            false => Finding::warning(Code::WrongCpython, message),
        };
        if let Some(trouble) = lost.first() {
            finding = finding.noting(words(trouble));
        }
        let hint = format!("install the wheel of `{}` that is tagged `cp{own}`", one.name);
        findings.push(Said::about(one.name, first, finding.hinting(hint)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_of_modules() {
        assert_eq!(tag("a/_x.cpython-313t-darwin.so"), Some(("a/_x", "313t")));
        assert_eq!(tag("a/_x.cpython-39-darwin.so"), Some(("a/_x", "39")));
        for path in ["a/_x.so", "a/_x.abi3.so", "a/_x.cpython-39-x86_64-linux-gnu.so", "a/x.cpython-39-darwin.dylib"] {
            assert_eq!(tag(path), None, "{path}");
        }
        assert_eq!((version("313t"), version("39")), ("3.13t".to_owned(), "3.9".to_owned()));
    }
}
