//! Names that an image needs, and that are not where dyld looks for them.

use super::case::{Case, Place, counted, grouped, listed, words};
use super::said::Said;
use super::{cpython, fits};
use crate::check::dyld::{Expected, Grade, Judged, Trouble, What};
use crate::diag::{Code, Finding};
use crate::pep::PackageName;

/// Lists the names that are certainly missing from an image, and not because the Python is another one.
pub(super) fn missing<'a>(judged: &'a Judged<'a>) -> impl Iterator<Item = (&'a Trouble<'a>, &'a str, Expected<'a>)> {
    judged.troubles.iter().filter_map(|trouble| match trouble.what {
        What::SymbolMissing { symbol, expected, .. }
            if trouble.grade <= Grade::Warning && !cpython::is_its(trouble) =>
        {
            Some((trouble, symbol, expected))
        }
        _ => None,
    })
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::SymbolMissing;
    let mut findings = Vec::new();
    let all = case.answer.images.iter().flat_map(|judged| missing(judged).map(move |one| (judged, one)));
    let all = case.excuse(
        CODE,
        all.collect(),
        |(judged, (trouble, symbol, _))| Place {
            distribution: judged.distribution,
            image: trouble.image,
            symbol: Some(symbol),
        },
        &mut findings,
    );
    for (image, missing) in grouped(all, |(judged, _)| judged.image.path.as_str()) {
        let (judged, (trouble, symbol, expected)) = missing[0];
        // Where a library is missing too, that is what dyld says, and that finding counts the names.
        if judged
            .troubles
            .iter()
            .any(|one| matches!(one.what, What::LibraryMissing { .. }) && one.grade == Grade::Error)
        {
            continue;
        }
        let release = case.release(judged.distribution);
        let names = counted(&short(symbol), missing.len(), ["name", "names"]);
        let message = format!("`{image}` of {release} needs {names}, {}", place(case, expected));
        let mut finding = Finding::error(CODE, message).noting(words(trouble));
        if !trouble.brought_by.is_empty() {
            let brings = listed(trouble.brought_by.iter().map(|one| one.image));
            finding = finding.noting(format!("it is in {brings}, where it is not looked for"));
        }
        let others = providers(case, judged, &missing.iter().map(|(_, (trouble, ..))| *trouble).collect::<Vec<_>>());
        let known = fits::fitting_any(case, judged.distribution, others.iter().copied());
        let hint = known.unwrap_or_else(|| match others.first() {
            Some(other) => {
                format!("take releases of `{}` and `{other}` that were built for each other", judged.distribution)
            }
            None => format!("take another release of `{}`", judged.distribution),
        });
        // What is looked for in one image is not found in another one.
        let anywhere =
            |expected| matches!(expected, Expected::Anywhere | Expected::AnywhereWeak | Expected::AbsentLibrary(_));
        let misses = missing.iter().all(|(_, (.., expected))| anywhere(*expected));
        findings.push(Said::about(judged.distribution, image, finding.hinting(hint)).missing(misses));
    }
    findings
}

/// Shortens a name; that of a C++ function holds the types of all it takes, and dyld's words have it whole.
fn short(symbol: &str) -> String {
    const MOST: usize = 72;
    match symbol.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &symbol[..end]),
        None => symbol.to_owned(),
    }
}

/// Says where a name is looked for in vain.
fn place(case: &Case<'_>, expected: Expected<'_>) -> String {
    match expected {
        Expected::Image(image) => match case.owner(image) {
            Some(owner) => format!("which `{image}` of {} does not have", case.release(owner)),
            None => format!("which `{image}` does not have"),
        },
        Expected::This => "which it should have itself".to_owned(),
        Expected::AbsentLibrary(library) => format!("which is looked for in `{library}`, and that is not there"),
        Expected::Interpreter => format!("which Python {} does not have", case.python),
        Expected::Anywhere | Expected::AnywhereWeak => "which nothing that is loaded before it has".to_owned(),
        Expected::NoLibrary(number) => format!("from its library number {number}, and it names fewer"),
    }
}

/// Lists the other distributions from which names were to come: those that are named, then whoever the image needs.
pub(super) fn providers<'a>(case: &Case<'a>, judged: &Judged<'a>, missing: &[&Trouble<'a>]) -> Vec<&'a PackageName> {
    let expected = missing.iter().filter_map(|trouble| match trouble.what {
        What::SymbolMissing { expected: Expected::Image(image), .. } => case.owner(image),
        _ => None,
    });
    let brought = missing.iter().flat_map(|trouble| trouble.brought_by.iter().map(|one| one.distribution));
    let own = case.of(judged.distribution);
    let required = own.into_iter().flat_map(|own| &own.facts.requires);
    let imported = own.into_iter().flat_map(|own| own.facts.packages.iter().flat_map(|package| &package.imports));
    let hosts = case.installed.iter().filter(|one| {
        let provides = |name: &String| one.facts.packages.iter().any(|package| package.name == *name);
        imported.clone().any(provides)
    });
    let plugged = case.installed.iter().filter(|one| {
        own.is_some_and(|own| own.facts.hooks.iter().any(|hook| super::native_half::is_host(*hook, one.facts)))
    });
    let mut all: Vec<&PackageName> = Vec::new();
    let others =
        expected.chain(brought).chain(required).chain(hosts.map(|one| one.name)).chain(plugged.map(|one| one.name));
    for name in others.filter(|name| *name != judged.distribution && case.of(name).is_some()) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        assert_eq!(short("_TF_NewStatus"), "_TF_NewStatus");
        assert_eq!(short(&"ä".repeat(72)), "ä".repeat(72));
        assert_eq!(short(&"ä".repeat(73)), format!("{}…", "ä".repeat(72)));
    }
}
