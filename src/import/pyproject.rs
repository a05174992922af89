//! pyproject.toml: `[project]` of PEP 621, with what uv says of sources, or the table of Poetry. Groups are named, not taken over.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::pep::PackageName;

use super::requirements::{Asked, AskedItem, What};
use super::{Error, Verdict, poetry};

/// Reads it.
///
/// # Errors
/// When it is no TOML.
pub(super) fn read(path: &Path, text: &str) -> Result<Asked, Error> {
    let document = DeTable::parse(text);
    let document =
        document.map_err(|error| Error::Damaged { path: path.to_owned(), why: error.message().to_owned() })?;
    let file = document.get_ref();
    let mut asked = Asked::default();
    let line = |span: std::ops::Range<usize>| text[..span.start].matches('\n').count() + 1;
    let project = table(file, "project");
    asked.name = project.and_then(|project| text_of(project.get("name")?));
    asked.python = project.and_then(|project| text_of(project.get("requires-python")?));
    let tool = table(file, "tool");
    let uv = tool.and_then(|tool| table(tool, "uv"));
    let sources = uv.and_then(|uv| table(uv, "sources"));
    let mut push = |value: &Spanned<DeValue<'_>>, limits: bool| {
        let Some(text) = text_of(value) else {
            let verdict = Verdict::Refused {
                why: "it is no text, as the standard has it for requirements".to_owned(),
                remedy: "write it as `\"NAME>=1\"`".to_owned(),
            };
            let what = What::Decided { text: text[value.span()].to_owned(), verdict };
            asked.items.push(AskedItem { file: path.to_owned(), line: line(value.span()), what });
            return;
        };
        let texts = if limits { vec![text] } else { from_sources(&text, sources) };
        for text in texts {
            let what = What::Requirement { text, limits, editable: false, hashes: 0 };
            asked.items.push(AskedItem { file: path.to_owned(), line: line(value.span()), what });
        }
    };
    list(project.and_then(|project| project.get("dependencies"))).for_each(|value| push(value, false));
    list(uv.and_then(|uv| uv.get("constraint-dependencies"))).for_each(|value| push(value, true));
    let names = |table: Option<&DeTable<'_>>| -> Vec<String> {
        table.into_iter().flat_map(|table| table.keys()).map(|key| format!("`{}`", key.get_ref())).collect()
    };
    let told = |asked: &mut Asked, what: &str, names: Vec<String>| {
        if !names.is_empty() {
            asked.notes.push(format!("{what} {} are not taken over: add what you need of them", names.join(", ")));
        }
    };
    told(&mut asked, "the extras", names(project.and_then(|project| table(project, "optional-dependencies"))));
    told(&mut asked, "the groups", names(table(file, "dependency-groups")));
    let poetry = tool.and_then(|tool| table(tool, "poetry"));
    if let Some(poetry) = poetry.filter(|_| project.is_none_or(|project| !project.contains_key("dependencies"))) {
        asked.name = asked.name.take().or_else(|| text_of(poetry.get("name")?));
        let dependencies = table(poetry, "dependencies");
        for (name, value) in dependencies.into_iter().flatten() {
            if name.get_ref() == "python" {
                asked.python = text_of(value).map(|text| poetry::specifiers(&text));
                continue;
            }
            for what in poetry::requirements(name.get_ref(), value) {
                asked.items.push(AskedItem { file: path.to_owned(), line: line(name.span()), what });
            }
        }
        let mut groups = names(table(poetry, "group"));
        groups.extend(names(table(poetry, "dev-dependencies")).first().map(|_| "`dev-dependencies`".to_owned()));
        told(&mut asked, "the groups", groups);
    }
    let addresses = |of: Option<&DeTable<'_>>, key: &str| -> Vec<String> {
        let tables = list(of.and_then(|table| table.get(key))).filter_map(|value| match value.get_ref() {
            DeValue::Table(table) => text_of(table.get("url")?),
            _ => None,
        });
        tables.collect()
    };
    let indexes = addresses(uv, "index").into_iter().chain(addresses(poetry, "source"));
    for address in indexes {
        asked.notes.push(format!(
            "the index `{0}` is not taken over: if it is a mirror of PyPI for this machine, config.toml takes it: `mirrors = \
             [\"{0}\"]`",
            crate::lock::foreign::without_secrets(&address)
        ));
    }
    if let Some(value) = uv.and_then(|uv| text_of(uv.get("exclude-newer")?)) {
        asked.notes.push(match value.starts_with(|c: char| c.is_ascii_digit()) && value.len() >= 10 {
            true => format!("to keep `exclude-newer`: `[resolution] exclude-newer = \"{}\"`", &value[..10]),
            false => {
                format!("`exclude-newer = \"{value}\"` is dropped: what moves with the clock cannot be locked twice")
            }
        });
    }
    let of_indexes: Vec<String> = sources
        .into_iter()
        .flatten()
        .filter(|(_, value)| by_index(value))
        .map(|(name, _)| format!("`{}`", name.get_ref()))
        .collect();
    if !of_indexes.is_empty() {
        asked
            .notes
            .push(format!("the indexes of {} are not taken over: PyPI has the wheels for Macs", of_indexes.join(", ")));
    }
    Ok(asked)
}

/// Returns the tables of a source: one, or some for different machines.
fn places<'t, 'i>(value: &'t Spanned<DeValue<'i>>) -> Vec<&'t DeTable<'i>> {
    let of = |value: &'t Spanned<DeValue<'i>>| match value.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    };
    match value.get_ref() {
        DeValue::Array(items) => items.iter().filter_map(of).collect(),
        _ => of(value).into_iter().collect(),
    }
}

fn by_index(value: &Spanned<DeValue<'_>>) -> bool {
    places(value).iter().any(|place| place.contains_key("index"))
}

/// Writes a requirement as uv would find it: from the git repository, address or folder of `[tool.uv.sources]`, on the machines that
/// they are for, and by its name elsewhere.
fn from_sources(text: &str, sources: Option<&DeTable<'_>>) -> Vec<String> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c))).unwrap_or(text.len());
    let normal = |name: &str| name.parse::<PackageName>().ok();
    let name = normal(&text[..end]);
    let source = sources.into_iter().flatten().find(|(key, _)| name.is_some() && normal(key.get_ref()) == name);
    let places = source.map(|(_, value)| places(value)).unwrap_or_default();
    let mut texts = Vec::new();
    let mut everywhere = false;
    for place in places {
        let of = |key: &str| text_of(place.get(key)?);
        let revision = ["rev", "tag", "branch"].iter().find_map(|key| of(key)).map(|one| format!("@{one}"));
        let from = match (of("git"), of("url"), of("path")) {
            (Some(git), ..) => format!("git+{git}{}", revision.unwrap_or_default()),
            (_, Some(url), _) => url,
            (.., Some(path)) => format!("file:{path}"),
            _ if place.contains_key("workspace") => "file:../of-the-workspace".to_owned(),
            _ => continue,
        };
        let marker = of("marker").map(|marker| format!(" ; {marker}"));
        everywhere |= marker.is_none();
        texts.push(format!("{} @ {from}{}", &text[..end], marker.unwrap_or_default()));
    }
    if !everywhere {
        texts.push(text.to_owned());
    }
    texts
}

fn table<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<&'t DeTable<'i>> {
    match table.get(key)?.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

pub(super) fn list<'t, 'i>(value: Option<&'t Spanned<DeValue<'i>>>) -> impl Iterator<Item = &'t Spanned<DeValue<'i>>> {
    let items = match value.map(Spanned::get_ref) {
        Some(DeValue::Array(items)) => Some(items),
        _ => None,
    };
    items.into_iter().flat_map(|items| items.iter())
}

pub(super) fn text_of(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    }
}
