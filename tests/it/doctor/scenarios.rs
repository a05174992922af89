//! Every file of `tests/scenarios/doctor` is a machine of `tests/machines` with something changed, and what is said of it.
//!
//! `facts` is laid over the facts of the machine as RFC 7396 says: tables are merged, a list replaces a list. TOML has no
//! null: the text `(absent)` takes something away. `expect` lists every diagnosis as `severity code`, in the order in which
//! they are said; `says` are texts that must stand in what people read of them, `never` those that must not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use macml::diag::Severity;
use macml::doctor::{Diagnosis, Facts, judge};
use macml::knowledge::Knowledge;
use serde_json::Value;

/// A scenario as it is written.
#[derive(serde::Deserialize, Debug)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Scenario {
    /// Why it is there: the report by its number, the trap.
    why: String,
    /// The machine of `tests/machines`.
    machine: String,
    /// `recorded: ADDRESS`, or `made: …` with the source of what was changed.
    source: String,
    #[serde(default)]
    facts: Value,
    expect: Vec<String>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Lists the files of a folder that end so, by their stem.
pub(crate) fn files(folder: &str, ending: &str) -> BTreeMap<String, PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: PathBuf| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path);
    entries.filter(|path| path.extension().is_some_and(|one| one == ending)).map(named).collect()
}

/// Reads the facts of a machine of `tests/machines`.
pub(crate) fn machine(name: &str) -> Value {
    let path = root().join("tests/machines").join(format!("{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Lays a patch over a value, as RFC 7396 says.
pub(crate) fn lay(value: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *value = patch;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let object = value.as_object_mut().unwrap();
    for (key, change) in patch {
        match change {
            Value::String(text) if text == "(absent)" => _ = object.remove(&key),
            change => lay(object.entry(key).or_insert(Value::Null), change),
        }
    }
}

/// Everything that people read of a diagnosis, a line each.
pub(crate) fn words(diagnosis: &Diagnosis) -> String {
    let Diagnosis { seen, why, details, remedy, .. } = diagnosis;
    let lines = [seen, why].into_iter().chain(details).chain([&remedy.says]).chain(&remedy.command);
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn every_scenario_comes_out() {
    let knowledge = Knowledge::built_in();
    let mut wrong = Vec::new();
    for (name, path) in files("tests/scenarios/doctor", "toml") {
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario: Scenario = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!scenario.why.is_empty() && !scenario.source.is_empty(), "{name}");
        let mut facts = machine(&scenario.machine);
        if !scenario.facts.is_null() {
            lay(&mut facts, scenario.facts);
        }
        let facts: Facts = serde_json::from_value(facts).unwrap_or_else(|error| panic!("{name}: {error}"));
        let all = judge(&facts, &knowledge);
        let severity = |severity| match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let found: Vec<String> = all.iter().map(|one| format!("{} {}", severity(one.severity), one.code)).collect();
        let said: String = all.iter().map(words).collect();
        let lacks = scenario.says.iter().filter(|text| !said.contains(text.as_str()));
        let has = scenario.never.iter().filter(|text| said.contains(text.as_str()));
        let lacks: Vec<String> = lacks.map(|text| format!("lacks `{text}`")).collect();
        let has: Vec<String> = has.map(|text| format!("has `{text}`")).collect();
        if found != scenario.expect || !lacks.is_empty() || !has.is_empty() {
            wrong.push(format!("{name}: {found:?}\n{}\n{}\n{said}", lacks.join("\n"), has.join("\n")));
        }
        // A remedy that says nothing helps nobody.
        assert!(all.iter().all(|one| !one.remedy.says.is_empty() && !one.why.is_empty()), "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_machine_is_read_as_it_was_written_and_says_where_it_comes_from() {
    for name in files("tests/machines", "json").keys() {
        let facts: Facts = serde_json::from_value(machine(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (kind, from) =
            facts.source.split_once(": ").unwrap_or_else(|| panic!("{name}: `made: …` or `recorded: …`"));
        assert!(["made", "recorded"].contains(&kind) && !from.is_empty(), "{name}: {kind}");
        let again: Facts = serde_json::from_str(&serde_json::to_string(&facts).unwrap()).unwrap();
        assert_eq!(facts, again, "{name}");
    }
}
