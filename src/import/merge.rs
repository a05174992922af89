//! What lines ask for, put together: the same thing once, two ranges for one package where both hold.

use std::collections::BTreeMap;

use crate::manifest::edit::Line;
use crate::pep::PackageName;

use super::judge::{Entry, Judged};
use super::renamed::advice;
use super::{Imported, Item, Verdict};

pub(super) fn merged(judged: Judged) -> Imported {
    let mut imported = Imported {
        name: judged.name,
        python: judged.python,
        paths: judged.paths,
        notes: judged.notes,
        ..Imported::default()
    };
    // By package and marker: what holds at the same time.
    let mut kept = Kept::default();
    for (item, entry) in judged.items {
        let mut item = item;
        if let Some(entry) = entry {
            match entry.limits {
                true => limit(&mut imported.constraints, &entry, &mut item),
                false => add(&mut kept, &mut imported.items, entry, &mut item),
            }
        }
        imported.items.push(item);
    }
    imported.lines = kept.entries.into_iter().map(|(_, entry)| entry.line).collect();
    imported.lines.sort_by(|one, other| one.name.cmp(&other.name));
    let names: std::collections::BTreeSet<&str> = imported.lines.iter().map(|line| line.name.as_str()).collect();
    let advice = names.iter().filter_map(|name| Some(format!("`{name}` {}", advice(name)?)));
    imported.notes.extend(advice);
    imported
}

/// What is asked for, each with the place of its item.
#[derive(Default)]
struct Kept {
    entries: Vec<(usize, Entry)>,
    /// By package and marker.
    places: BTreeMap<(PackageName, Option<String>), usize>,
}

fn add(kept: &mut Kept, items: &mut [Item], entry: Entry, item: &mut Item) {
    let key = (entry.line.name.clone(), entry.line.marker.clone());
    let place = kept.places.get(&key).copied();
    let Some((first, standing)) = place.and_then(|at| kept.entries.get_mut(at)) else {
        kept.places.insert(key, kept.entries.len());
        kept.entries.push((items.len(), entry));
        return;
    };
    let place = format!("line {} of `{}`", items[*first].line, items[*first].file.display());
    for extra in &entry.line.extras {
        if !standing.line.extras.contains(extra) {
            standing.line.extras.push(extra.clone());
        }
    }
    if standing.versions == entry.versions && standing.line.file == entry.line.file {
        item.verdict = Verdict::Translated { to: standing.line.written(), why: format!("{place} asks for the same") };
        return;
    }
    let both = match (standing.versions.is_any(), entry.versions.is_any()) {
        (true, _) => entry.versions.to_string(),
        (_, true) => standing.versions.to_string(),
        _ => format!("{}, {}", standing.versions, entry.versions),
    };
    match both.parse::<crate::pep::Specifiers>() {
        Ok(versions) if !versions.range().is_empty() && standing.line.file.is_none() && entry.line.file.is_none() => {
            standing.line.versions = Some(both);
            standing.versions = versions;
            item.verdict = Verdict::Translated {
                to: standing.line.written(),
                why: format!("{place} asks for it too, and both have to hold"),
            };
        }
        _ => {
            item.verdict = Verdict::Refused {
                why: format!("{place} asks for `{}`, and nothing satisfies both", standing.line.written()),
                remedy: "decide which of the two is meant".to_owned(),
            };
        }
    }
}

/// Puts a limit to others of its package; markers are for what is asked for.
fn limit(constraints: &mut BTreeMap<String, String>, entry: &Entry, item: &mut Item) {
    let Line { name, marker, .. } = &entry.line;
    if marker.is_some() || entry.versions.is_any() {
        let why = match marker {
            Some(marker) => {
                format!("`[resolution] constraints` has no markers, and `{marker}` holds on some Macs only")
            }
            None => "it limits nothing".to_owned(),
        };
        item.verdict = Verdict::Dropped { why };
        return;
    }
    let name: &PackageName = name;
    let standing = constraints.remove(name.as_str());
    let both =
        standing.map_or_else(|| entry.versions.to_string(), |standing| format!("{standing}, {}", entry.versions));
    item.verdict = Verdict::Translated {
        to: format!("[resolution] constraints: {name} = \"{both}\""),
        why: "a constraint narrows what is asked for, and adds nothing".to_owned(),
    };
    constraints.insert(name.to_string(), both);
}
