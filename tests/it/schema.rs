//! Published schemas: not stale, and right about the manifests of `tests/manifests`.

use std::path::Path;

use macml::manifest::Context;
use proptest::prelude::*;

use crate::manifest::cases;

const MANIFEST_SCHEMA: &str = "schema/macml.schema.json";

#[test]
fn the_manifest_schema_is_not_stale() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(MANIFEST_SCHEMA);
    let now = macml::manifest::schema::text();
    if std::env::var_os("MACML_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == now, "{MANIFEST_SCHEMA} is stale: run this test with MACML_BLESS=1 and commit the file");
}

/// The manifest's schema, compiled.
struct Schema {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

impl Schema {
    fn new() -> Self {
        let schema: serde_json::Value = serde_json::from_str(&macml::manifest::schema::text()).unwrap();
        let mut compiler = boon::Compiler::new();
        compiler.set_default_draft(boon::Draft::V2020_12);
        compiler.add_resource("macml.json", schema).unwrap();
        let mut schemas = boon::Schemas::new();
        let index = compiler.compile("macml.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn passes(&self, text: &str) -> Result<(), String> {
        let table: toml::Table = text.parse().unwrap();
        let value = json(toml::Value::Table(table));
        self.schemas.validate(&value, self.index).map_err(|error| format!("{error:#}"))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An editor must not underline what macml takes.
    #[test]
    fn the_manifest_schema_is_never_stricter_than_macml(
        cut in 0..1500_usize,
        length in 0..30_usize,
        put in r#"[\[\]{}="',.#\na-z0-9*<>~! _/:@-]{0,8}"#,
    ) {
        thread_local!(static SCHEMA: Schema = Schema::new());
        let design = include_str!("../manifests/valid/design.toml");
        let start = cut.min(design.len());
        let end = (start + length).min(design.len());
        let text = format!("{}{put}{}", &design[..start], &design[end..]);
        let context = Context { folder: "x", version: &semver::Version::new(0, 1, 0) };
        if macml::manifest::parse(&text, context).is_ok() {
            let result = SCHEMA.with(|schema| schema.passes(&text));
            prop_assert!(result.is_ok(), "{}\n{}", result.unwrap_err(), text);
        }
    }
}

#[test]
fn the_manifest_schema_agrees_with_the_manifests() {
    let schema = Schema::new();
    let passes = |text: &str| schema.passes(text);

    let mut wrong = Vec::new();
    for (path, text) in cases("valid") {
        if let Err(error) = passes(&text) {
            wrong.push(format!("{}: refused: {error}", path.display()));
        }
    }
    for (path, text) in cases("invalid") {
        let said = text.lines().nth(1).and_then(|line| line.strip_prefix("# Schema: "));
        match said.unwrap_or_default() {
            "not TOML" => assert!(text.parse::<toml::Table>().is_err(), "{}", path.display()),
            "refuses" if passes(&text).is_ok() => wrong.push(format!("{}: accepted", path.display())),
            "accepts" if passes(&text).is_err() => wrong.push(format!("{}: refused", path.display())),
            "refuses" | "accepts" => {}
            other => wrong.push(format!("{}: second line says `{other}`", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Does what editors do with TOML before they validate it.
fn json(value: toml::Value) -> serde_json::Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, json(value))).collect(),
    }
}
