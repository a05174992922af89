//! macml.toml exactly as written, with spans: TOML text to a tree whose keys and types are those of `keys.rs`.
//!
//! It knows nothing of what values mean. What does not fit is reported and kept as [`Value::Broken`], so that a key
//! with a wrong value is not also reported as missing.

use toml::Spanned;
use toml::de::DeString;
use toml::de::DeTable;
use toml::de::DeValue;

use super::keys::FILE;
use super::keys::FRAMEWORKS;
use super::keys::Key;
use super::keys::REQUIREMENT;
use super::keys::Shape;
use super::keys::Table;
use super::keys::Text;
use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Span;

/// A table as written.
pub(super) struct Raw {
    /// Which table.
    table: &'static Table,
    /// Its header, or all of it when inline.
    pub(super) span: Span,
    /// Its entries in the order of the file.
    pub(super) entries: Vec<Entry>,
}

/// A key with its value.
pub(super) struct Entry {
    /// The key as written.
    pub(super) key: String,
    /// Where the key stands.
    pub(super) key_span: Span,
    /// Where the value stands.
    pub(super) span: Span,
    /// The value.
    pub(super) value: Value,
}

/// A value of the right shape, or not.
pub(super) enum Value {
    /// Text.
    Text(String),
    /// `true` or `false`.
    Bool(bool),
    /// A list of texts.
    Texts(Vec<Item>),
    /// A table.
    Table(Raw),
    /// An array of tables.
    Tables(Vec<Raw>),
    /// Reported already.
    Broken,
}

/// A text and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The text.
    pub(super) text: String,
    /// Where it stands.
    pub(super) span: Span,
}

impl Raw {
    /// Returns where to point at for the whole table, given the entry it is the value of.
    ///
    /// A table that only its subtables are written of has no header of its own.
    pub(super) fn header(&self, entry: &Entry) -> Span {
        if self.span.start < self.span.end { self.span } else { entry.key_span }
    }

    /// Returns an entry by name; the name must be one of the table's keys.
    pub(super) fn get(&self, name: &str) -> Option<&Entry> {
        debug_assert!(self.table.key(name).is_some(), "`{name}` is not a key of {}", self.table.title);
        self.entries.iter().find(|entry| entry.key == name)
    }

    /// Returns the text under a key.
    pub(super) fn text(&self, name: &str) -> Option<Item> {
        self.get(name)?.text()
    }

    /// Returns the list of texts under a key; empty when absent.
    pub(super) fn texts(&self, name: &str) -> &[Item] {
        match self.get(name).map(|entry| &entry.value) {
            Some(Value::Texts(items)) => items,
            _ => &[],
        }
    }

    /// Returns the table under a key.
    pub(super) fn table(&self, name: &str) -> Option<&Self> {
        match &self.get(name)?.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Returns the tables under a key; none when absent.
    pub(super) fn tables(&self, name: &str) -> &[Self] {
        match self.get(name).map(|entry| &entry.value) {
            Some(Value::Tables(tables)) => tables,
            _ => &[],
        }
    }
}

impl Entry {
    /// Returns the value when it is text.
    pub(super) fn text(&self) -> Option<Item> {
        match &self.value {
            Value::Text(text) => Some(Item { text: text.clone(), span: self.span }),
            _ => None,
        }
    }
}

/// Reads TOML text; what is wrong goes to `findings`. `None` when there is nothing to go on with.
pub(super) fn parse(text: &str, findings: &mut Vec<Finding>) -> Option<Raw> {
    let (document, errors) = DeTable::parse_recoverable(text);
    // What follows a broken line is guesswork, but a key written twice leaves the rest of the file readable.
    let readable = errors.iter().all(|error| error.message().contains("duplicate key"));
    for error in errors {
        let finding = Finding::error(Code::ManifestSyntax, first_lowercase(error.message()));
        let end = text.len();
        findings.push(finding.at(error.span().unwrap_or(end..end).into(), ""));
    }
    readable.then(|| Walker { text, findings }.table(&FILE, document.get_ref(), Span { start: 0, end: 0 }))
}

struct Walker<'a> {
    text: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl Walker<'_> {
    fn table(&mut self, table: &'static Table, written: &DeTable<'_>, span: Span) -> Raw {
        let mut pairs: Vec<_> = written.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        let entries = pairs.into_iter().filter_map(|(key, value)| self.entry(table, key, value)).collect();
        Raw { table, span, entries }
    }

    fn entry(
        &mut self,
        table: &'static Table,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Entry> {
        let name = key.get_ref().as_ref();
        let shape = match (table.key(name), &table.others) {
            (Some(Key { shape, .. }), _) => shape,
            (None, Some(others)) => &others.shape,
            (None, None) => {
                self.findings.push(unknown(table, name, key.span().into()));
                return None;
            }
        };
        let value_of = |walker: &mut Self| walker.value(name, shape, key.span().into(), value);
        Some(Entry {
            key: name.to_owned(),
            key_span: key.span().into(),
            span: value.span().into(),
            value: value_of(self),
        })
    }

    fn value(&mut self, name: &str, shape: &'static Shape, key: Span, value: &Spanned<DeValue<'_>>) -> Value {
        let span: Span = value.span().into();
        match (shape, value.get_ref()) {
            (Shape::Bool, DeValue::Boolean(flag)) => Value::Bool(*flag),
            (Shape::Text(_) | Shape::Word(_) | Shape::Day | Shape::Requirement, DeValue::String(text)) => {
                Value::Text(text.to_string())
            }
            (Shape::Day, DeValue::Datetime(day)) if day.time.is_none() => Value::Text(day.to_string()),
            (Shape::Texts(_) | Shape::Words(_), DeValue::Array(items)) => self.texts(name, items),
            (Shape::Table(table), DeValue::Table(written)) => Value::Table(self.table(table, written, span)),
            (Shape::Requirement, DeValue::Table(written)) => Value::Table(self.table(&REQUIREMENT, written, span)),
            (Shape::Tables(table), DeValue::Array(items)) => self.tables(name, table, items),
            (Shape::Requirement, DeValue::Array(items)) => self.tables(name, &REQUIREMENT, items),
            (Shape::Refused(sentence), _) => {
                self.findings.push(refused(name, sentence, key));
                Value::Broken
            }
            (_, other) => {
                self.findings.push(self.wrong_type(name, shape, other, span));
                Value::Broken
            }
        }
    }

    fn texts(&mut self, name: &str, items: &[Spanned<DeValue<'_>>]) -> Value {
        let mut texts = Vec::new();
        for item in items {
            match item.get_ref() {
                DeValue::String(text) => texts.push(Item { text: text.to_string(), span: item.span().into() }),
                other => {
                    let message = format!("`{name}` is a list of texts; this one is {}", describe(other));
                    self.findings.push(Finding::error(Code::WrongType, message).at(item.span().into(), "not text"));
                }
            }
        }
        // An item that was reported must not turn the list into an empty one.
        if texts.is_empty() && !items.is_empty() { Value::Broken } else { Value::Texts(texts) }
    }

    fn tables(&mut self, name: &str, table: &'static Table, items: &[Spanned<DeValue<'_>>]) -> Value {
        let mut tables = Vec::new();
        for item in items {
            match item.get_ref() {
                DeValue::Table(written) => tables.push(self.table(table, written, item.span().into())),
                other => {
                    let message = format!("`{name}` is a list of tables; this one is {}", describe(other));
                    let finding = Finding::error(Code::WrongType, message).at(item.span().into(), "not a table");
                    self.findings.push(match other {
                        DeValue::String(text) => finding.hinting(format!("write `{{ version = \"{text}\" }}`")),
                        _ => finding,
                    });
                }
            }
        }
        if tables.is_empty() && !items.is_empty() { Value::Broken } else { Value::Tables(tables) }
    }

    fn wrong_type(&self, name: &str, shape: &Shape, written: &DeValue<'_>, span: Span) -> Finding {
        let takes = match shape {
            Shape::Bool => "`true` or `false`",
            Shape::Text(_) | Shape::Word(_) => "text in quotes",
            Shape::Texts(_) | Shape::Words(_) => "a list of texts",
            Shape::Day => "a day such as `\"2026-11-15\"`",
            Shape::Table(_) => "a table",
            Shape::Tables(_) => "an array of tables",
            Shape::Requirement => "a version in quotes, a table or a list of tables",
            Shape::Refused(_) => "nothing",
        };
        let message = format!("`{name}` takes {takes}, not {}", describe(written));
        let finding = Finding::error(Code::WrongType, message).at(span, "");
        let source = self.text.get(span.start..span.end).unwrap_or_default().trim();
        match (shape, written) {
            (Shape::Text(Text::Specifiers) | Shape::Requirement, DeValue::Integer(_) | DeValue::Float(_)) => {
                finding.hinting(format!("write `{name} = \"=={source}.*\"` or `{name} = \">={source}\"`"))
            }
            (Shape::Text(Text::Memory), DeValue::Integer(_)) => {
                finding.hinting(format!("write `{name} = \"{source}GB\"`"))
            }
            (Shape::Text(_) | Shape::Word(_), DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_)) => {
                finding.hinting(format!("write `{name} = \"{source}\"`"))
            }
            (Shape::Texts(_) | Shape::Words(_), DeValue::String(_)) => {
                finding.hinting(format!("write `{name} = [{source}]`"))
            }
            (Shape::Bool, DeValue::String(text)) if matches!(text.as_ref(), "true" | "false") => {
                finding.hinting(format!("write `{name} = {text}`"))
            }
            (Shape::Tables(table), DeValue::Table(_)) => finding.hinting(format!("write `{}`", table.title)),
            _ => finding,
        }
    }
}

fn refused(name: &str, sentence: &str, key: Span) -> Finding {
    let finding = Finding::error(Code::Unsupported, sentence).at(key, "");
    match name {
        "editable" => finding.hinting("list the folder in `[project] paths`"),
        _ => finding,
    }
}

/// Reports a key that the table does not have, with the most likely meaning.
fn unknown(table: &Table, name: &str, span: Span) -> Finding {
    let place = if table.title.is_empty() { "macml.toml".to_owned() } else { format!("`{}`", table.title) };
    let place = if table.title == REQUIREMENT.title { table.title.to_owned() } else { place };
    let finding = |rest: &str| Finding::error(Code::UnknownKey, format!("unknown key `{name}`{rest}")).at(span, "");
    let known = || table.keys.iter().filter(|key| !matches!(key.shape, Shape::Refused(_))).map(|key| key.name);

    if let Some(home) = home(table, name) {
        return finding(&format!(": it belongs in `{home}`"));
    }
    if let Some(near) = nearest(name, known()) {
        return finding(&format!("; did you mean `{near}`?"));
    }
    let elsewhere = Table::all().into_iter().filter(|one| !one.title.is_empty() && one.title != REQUIREMENT.title);
    let names = elsewhere.flat_map(|one| one.keys.iter().map(move |key| (key.name, one.title)));
    let near = nearest(name, names.clone().map(|(key, _)| key));
    if let Some((key, home)) = near.and_then(|near| names.clone().find(|(key, _)| *key == near)) {
        return finding(&format!("; did you mean `{key}` in `{home}`?"));
    }
    let list: Vec<String> = known().map(|key| format!("`{key}`")).collect();
    finding("").noting(format!("{place} has {}", list.join(", ")))
}

/// Returns the other table that has a key of exactly this name.
fn home(table: &Table, name: &str) -> Option<&'static str> {
    if FRAMEWORKS.contains(&name) {
        return Some("[frameworks]");
    }
    let others = Table::all().into_iter().filter(|one| one.title != table.title && one.title != REQUIREMENT.title);
    let home = others.into_iter().find(|one| one.key(name).is_some())?;
    Some(match (home.title, name) {
        ("", "index") => "[[index]]",
        ("", "project") => "[project]",
        ("", "target") => "[target]",
        ("", "frameworks") => "[frameworks]",
        ("", "dependencies") => "[dependencies]",
        ("", "env") => "[env.NAME]",
        ("", "resolution") => "[resolution]",
        ("", _) => "[run]",
        (title, _) => title,
    })
}

/// Returns the candidate nearest to what was written, when it is near enough to be what was meant.
pub(super) fn nearest<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase().replace(['_', ' '], "-");
    let score = |one: &str| strsim::damerau_levenshtein(&written, one);
    let best = candidates.map(|one| (score(one), one)).min_by_key(|(distance, _)| *distance);
    let (distance, best) = best?;
    let near = distance <= (written.chars().count().min(best.len()) / 3).clamp(1, 3);
    near.then_some(best)
}

fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn first_lowercase(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|char| char.to_lowercase().to_string()).unwrap_or_default();
    first + chars.as_str()
}
