//! The JSON that we promise, apart from the types inside: the schemas in schema/ are generated from here.
//!
//! Fields may be added without a new `schema` number; readers must ignore those they do not know. Renaming, removing
//! or giving another meaning to a field takes a new number.

pub(crate) mod bench;
pub(crate) mod bundle;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod env;
pub(crate) mod explain;
pub(crate) mod fallbacks;
pub(crate) mod lock;
pub(crate) mod matrix;
pub(crate) mod ops;
pub(crate) mod outdated;
pub(crate) mod python;
pub(crate) mod rules;
pub(crate) mod sync;
pub(crate) mod tree;
pub(crate) mod verify;
pub(crate) mod why;

/// Writes a report as one document with a final line end.
pub(crate) fn text(report: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(report).expect("a report has text keys only") + "\n"
}

/// Compares a published schema with what the type says, or writes it where MACML_BLESS is set.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test compares a file of the repository")]
pub(crate) fn published<R: schemars::JsonSchema>(name: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(name);
    let text = serde_json::to_string_pretty(&schemars::schema_for!(R)).unwrap() + "\n";
    if std::env::var_os("MACML_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == text, "{name} is stale: run this test with MACML_BLESS=1 and commit the file");
}
