//! What Poetry writes in its own form: `torch = "^2.1"`, and tables with `extras`, `markers`, `git`, `path`.
//! <https://python-poetry.org/docs/dependency-specification/>

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::pyproject::{list, text_of};
use super::requirements::What;

/// Reads what stands behind a name: a version, a table, or several of these.
pub(super) fn requirements(name: &str, value: &Spanned<DeValue<'_>>) -> Vec<What> {
    match value.get_ref() {
        DeValue::Array(_) => list(Some(value)).flat_map(|value| requirements(name, value)).collect(),
        DeValue::Table(table) => vec![of_table(name, table)],
        DeValue::String(text) => vec![plain(format!("{name}{}", behind(text)), false)],
        _ => Vec::new(),
    }
}

fn plain(text: String, editable: bool) -> What {
    What::Requirement { text, limits: false, editable, hashes: 0 }
}

/// What is put behind a name: nothing where any version will do.
fn behind(text: &str) -> String {
    match specifiers(text) {
        any if any.is_empty() => any,
        versions => format!(" {versions}"),
    }
}

fn of_table(name: &str, table: &DeTable<'_>) -> What {
    let of = |key: &str| text_of(table.get(key)?);
    let mut markers: Vec<String> = of("markers").map(|markers| format!("({markers})")).into_iter().collect();
    let pythons = of("python").map(|python| specifiers(&python)).unwrap_or_default();
    markers.extend(pythons.split(',').filter(|one| !one.is_empty()).map(|one| {
        let number = one.trim().trim_start_matches(|c: char| "<>=!~".contains(c));
        let operator = &one.trim()[..one.trim().len() - number.len()];
        let variable = if number.split('.').count() > 2 { "python_full_version" } else { "python_version" };
        format!("{variable} {operator} '{number}'")
    }));
    if let Some(platform) = of("platform") {
        markers.push(format!("sys_platform == '{platform}'"));
    }
    let marker = if markers.is_empty() { String::new() } else { format!(" ; {}", markers.join(" and ")) };
    let extras: Vec<String> = list(table.get("extras")).filter_map(text_of).collect();
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let revision = ["rev", "tag", "branch"].iter().find_map(|key| of(key)).map(|one| format!("@{one}"));
    match (of("git"), of("url"), of("path")) {
        (Some(git), ..) => plain(format!("{name} @ git+{git}{}{marker}", revision.unwrap_or_default()), false),
        (_, Some(url), _) => plain(format!("{name} @ {url}{marker}"), false),
        (.., Some(path)) => plain(format!("{path}{extras}{marker}"), true),
        _ => {
            let versions = of("version").map(|text| behind(&text)).unwrap_or_default();
            plain(format!("{name}{extras}{versions}{marker}"), false)
        }
    }
}

/// Writes a range of Poetry's as specifiers of PEP 440; empty where any version will do.
pub(super) fn specifiers(text: &str) -> String {
    let one = |part: &str| {
        let part = part.trim();
        let number = part.trim_start_matches(|c: char| "^~<>=! ".contains(c));
        match part.strip_suffix(number).map(str::trim) {
            _ if part.is_empty() || part == "*" => Vec::new(),
            Some("^") => vec![format!(">={number}"), format!("<{}", above(number, caret(number)))],
            Some("~") => vec![format!(">={number}"), format!("<{}", above(number, tilde(number)))],
            Some("") | None => vec![format!("=={part}")],
            Some("=") => vec![format!("=={number}")],
            Some(operator) => vec![format!("{operator}{number}")],
        }
    };
    text.split(',').flat_map(one).collect::<Vec<_>>().join(",")
}

/// Which number of a version `^` lets not move: the first that is not 0.
fn caret(number: &str) -> usize {
    let parts: Vec<&str> = number.split('.').collect();
    parts
        .iter()
        .position(|part| part.trim_start_matches('0').starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(parts.len() - 1)
}

/// Which number of a version `~` lets not move: the second, where there is one.
fn tilde(number: &str) -> usize {
    usize::from(number.contains('.'))
}

/// The lowest version above all that agree up to a number.
fn above(number: &str, at: usize) -> String {
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    let mut parts: Vec<u64> = number.split('.').take(at + 1).map(|part| digits(part).parse().unwrap_or(0)).collect();
    if let Some(last) = parts.last_mut() {
        *last += 1;
    }
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_poetry_are_those_of_pep_440() {
        for (poetry, pep) in [
            ("^7.3.0", ">=7.3.0,<8"),
            ("^0.1.5", ">=0.1.5,<0.2"),
            ("^0.0.3", ">=0.0.3,<0.0.4"),
            ("^0", ">=0,<1"),
            ("~1.2.3", ">=1.2.3,<1.3"),
            ("~1", ">=1,<2"),
            ("1.2.3", "==1.2.3"),
            ("=1.2", "==1.2"),
            ("*", ""),
            ("1.*", "==1.*"),
            (">=3.8.1,<3.12,!=3.9.7", ">=3.8.1,<3.12,!=3.9.7"),
            ("~=1.4", "~=1.4"),
        ] {
            assert_eq!(specifiers(poetry), pep, "{poetry}");
        }
    }
}
