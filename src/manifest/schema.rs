//! `schema/macml.schema.json`, from the tables of `keys.rs`: editors complete from it and check while one types.
//!
//! JSON Schema, draft 2020-12. It is never stricter than `validate.rs`, and cannot say all that is said there.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::keys::FILE;
use super::keys::FRAMEWORKS;
use super::keys::Key;
use super::keys::Names;
use super::keys::Need;
use super::keys::REQUIREMENT;
use super::keys::Shape;
use super::keys::Table;
use super::keys::Text;

/// Returns the schema's text, as it is published.
pub fn text() -> String {
    let mut schema = table(&FILE);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "macml.toml",
        "$defs": {
            "requirement": requirement(),
            "requirement-table": table(&REQUIREMENT),
            "specifiers": specifiers(),
        },
    });
    merge(&mut schema, head);
    let mut text = serde_json::to_string_pretty(&schema).expect("a tree of strings becomes JSON");
    text.push('\n');
    text
}

fn table(table: &Table) -> Value {
    let shown = || table.keys.iter().filter(|key| !matches!(key.shape, Shape::Refused(_)));
    let properties: Map<String, Value> = shown().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<_> = shown().filter(|key| key.need == Need::Required).map(|key| key.name).collect();
    let mut schema = json!({ "type": "object", "description": table.doc, "additionalProperties": false });
    if !properties.is_empty() {
        merge(&mut schema, json!({ "properties": properties }));
    }
    if !required.is_empty() {
        merge(&mut schema, json!({ "required": required }));
    }
    if let Some(others) = &table.others {
        let value = described(shape(&others.shape), others.doc);
        merge(
            &mut schema,
            match others.names {
                Names::Pattern(pattern) => json!({ "patternProperties": { pattern: value } }),
                Names::Frameworks => {
                    let spellings = FRAMEWORKS.iter().map(|name| (any_spelling(name), value.clone()));
                    let named = FRAMEWORKS.iter().map(|name| ((*name).to_owned(), value.clone()));
                    json!({
                        "properties": named.collect::<Map<_, _>>(),
                        "patternProperties": spellings.collect::<Map<_, _>>(),
                    })
                }
            },
        );
    }
    if let Some(rules) = table.rules {
        let rules: Value = serde_json::from_str(rules).expect("rules in keys.rs are JSON");
        if table.keys.iter().any(|key| rules["properties"].get(key.name).is_some()) {
            // Next to `properties`, not over them.
            merge(&mut schema, json!({ "allOf": [rules] }));
        } else {
            merge(&mut schema, rules);
        }
    }
    schema
}

fn property(key: &Key) -> Value {
    let mut schema = described(shape(&key.shape), key.doc);
    let value = |json: &str| serde_json::from_str::<Value>(json).expect("values in keys.rs are JSON");
    if let Some(default) = key.default {
        merge(&mut schema, json!({ "default": value(default) }));
    }
    if !key.examples.is_empty() {
        let examples: Vec<_> = key.examples.iter().map(|json| value(json)).collect();
        merge(&mut schema, json!({ "examples": examples }));
    }
    schema
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Text(kind) => text_kind(*kind),
        Shape::Texts(kind) => json!({ "type": "array", "items": text_kind(*kind) }),
        Shape::Word(words) => json!({ "type": "string", "enum": words }),
        Shape::Words(words) => json!({
            "type": "array",
            "items": { "type": "string", "enum": words },
            "minItems": 1,
            "uniqueItems": true,
        }),
        Shape::Day => json!({ "type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$" }),
        Shape::Table(inner) => table(inner),
        Shape::Tables(inner) => json!({ "type": "array", "items": table(inner) }),
        Shape::Requirement => json!({ "$ref": "#/$defs/requirement" }),
        Shape::Refused(_) => json!(false),
    }
}

fn text_kind(kind: Text) -> Value {
    match kind.pattern() {
        Some(_) if kind == Text::Specifiers => json!({ "$ref": "#/$defs/specifiers" }),
        Some(pattern) => json!({ "type": "string", "pattern": pattern }),
        None => json!({ "type": "string" }),
    }
}

fn specifiers() -> Value {
    json!({
        "type": "string",
        "pattern": Text::Specifiers.pattern(),
        "description": "PEP 440 specifiers, such as `>=2.13,<3`; `*` is any version. A bare version is not one.",
    })
}

fn requirement() -> Value {
    json!({
        "description": "Admitted versions such as `>=2.13`, a table, or a list of tables for different machines.",
        "anyOf": [
            { "$ref": "#/$defs/specifiers" },
            { "$ref": "#/$defs/requirement-table" },
            { "type": "array", "items": { "$ref": "#/$defs/requirement-table" }, "minItems": 1 },
        ],
    })
}

/// Matches what PEP 503 holds equal to a normalized name.
fn any_spelling(name: &str) -> String {
    let letters = name.chars().map(|char| match char {
        '-' => "[-_.]+".to_owned(),
        _ if char.is_ascii_alphabetic() => format!("[{}{char}]", char.to_ascii_uppercase()),
        _ => char.to_string(),
    });
    format!("^{}$", letters.collect::<String>())
}

fn described(mut schema: Value, doc: &str) -> Value {
    merge(&mut schema, json!({ "description": doc }));
    schema
}

fn merge(schema: &mut Value, more: Value) {
    if let (Value::Object(schema), Value::Object(more)) = (schema, more) {
        schema.extend(more);
    }
}
