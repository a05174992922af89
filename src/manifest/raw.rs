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

/// Beyond these the file is something else than a manifest.
const MOST_SYNTAX_ERRORS: usize = 20;

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
    let readable = errors.iter().all(is_duplicate_key);
    syntax(text, errors, findings);
    readable.then(|| Walker { text, findings }.table(&FILE, document.get_ref(), Span { start: 0, end: 0 }))
}

/// Reports what is not TOML, once for each line.
fn syntax(text: &str, mut errors: Vec<toml::de::Error>, findings: &mut Vec<Finding>) {
    if !errors.is_empty()
        && let Some(start) = line_starts(text).find(|start| text[*start..].starts_with("<<<<<<< "))
    {
        let end = text[start..].find(['\r', '\n']).map_or(text.len(), |length| start + length);
        let finding = Finding::error(Code::ManifestSyntax, "the file holds a git conflict that is not resolved");
        findings
            .push(finding.at(Span { start, end }, "it begins here").hinting("keep one side and remove the markers"));
        return;
    }
    let place = |error: &toml::de::Error| error.span().map_or(Span { start: text.len(), end: text.len() }, Span::from);
    errors.sort_by_key(place);
    let starts: Vec<usize> = line_starts(text).collect();
    // What the parser says next of the same line is a consequence.
    errors.dedup_by_key(|error| starts.partition_point(|start| *start <= place(error).start));
    let more = errors.len().saturating_sub(MOST_SYNTAX_ERRORS);
    errors.truncate(MOST_SYNTAX_ERRORS);
    for error in errors {
        let span = place(&error);
        let written = text.get(span.start..span.end).unwrap_or_default();
        let message = match is_duplicate_key(&error) {
            true => format!("`{written}` is written twice"),
            false => first_lowercase(error.message()),
        };
        let finding = Finding::error(Code::ManifestSyntax, message).at(span, "");
        let curly = written.starts_with(['\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}', '\u{ff02}', '\u{ff07}']);
        findings.push(if curly { finding.hinting("use straight quotes: `\"` or `'`") } else { finding });
    }
    if let Some(last) = findings.last_mut().filter(|_| more > 0) {
        last.notes.push(format!("{more} more lines are not TOML"));
    }
}

fn is_duplicate_key(error: &toml::de::Error) -> bool {
    error.message().contains("duplicate key")
}

fn line_starts(text: &str) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1))
}

struct Walker<'a> {
    text: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl Walker<'_> {
    fn table(&mut self, table: &'static Table, written: &DeTable<'_>, span: Span) -> Raw {
        let mut pairs: Vec<_> = written.iter().collect();
        pairs.sort_by_key(|(key, _)| key.span().start);
        let mut raw = Raw { table, span, entries: Vec::new() };
        for (key, value) in pairs {
            self.entry(&mut raw, key, value, |name| written.contains_key(name));
        }
        raw
    }

    fn entry(
        &mut self,
        raw: &mut Raw,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
        is_written: impl Fn(&str) -> bool,
    ) {
        let mut name = key.get_ref().as_ref();
        let key_span: Span = key.span().into();
        let shape = match (raw.table.key(name), &raw.table.others) {
            (Some(Key { shape: Shape::Refused(sentence), .. }), _) => {
                // `git`, `rev` and `branch` of one requirement are one mistake.
                let said = raw.entries.iter().any(|entry| refusal(raw.table, &entry.key) == Some(*sentence));
                if !said {
                    self.findings.push(refused(name, sentence, key_span));
                }
                raw.entries.push(Entry {
                    key: name.to_owned(),
                    key_span,
                    span: value.span().into(),
                    value: Value::Broken,
                });
                return;
            }
            (Some(key), _) => &key.shape,
            (None, Some(others)) => &others.shape,
            (None, None) => {
                self.findings.push(unknown(raw.table, name, key_span));
                // Read on as if it were the key that was meant, lest that is also reported as missing.
                match misspelt(raw.table, name).filter(|meant| !is_written(meant.name)) {
                    Some(meant) => {
                        name = meant.name;
                        &meant.shape
                    }
                    None => return,
                }
            }
        };
        let value_span = value.span().into();
        let value = self.value(name, shape, value);
        raw.entries.push(Entry { key: name.to_owned(), key_span, span: value_span, value });
    }

    fn value(&mut self, name: &str, shape: &'static Shape, value: &Spanned<DeValue<'_>>) -> Value {
        let span: Span = value.span().into();
        match (shape, value.get_ref()) {
            (Shape::Bool, DeValue::Boolean(flag)) => Value::Bool(*flag),
            (Shape::Text(_) | Shape::Word(_) | Shape::Day | Shape::Requirement, DeValue::String(text)) => {
                Value::Text(text.to_string())
            }
            (Shape::Day, DeValue::Datetime(day)) if day.time.is_none() => Value::Text(day.to_string()),
            (Shape::Texts(_) | Shape::Words(_), DeValue::Array(items)) => self.texts(name, items),
            (Shape::Table(table), DeValue::Table(written)) => Value::Table(self.table(table, written, span)),
            (Shape::Requirement, DeValue::Table(written)) if let Some(finding) = dotted(name, written) => {
                self.findings.push(finding);
                Value::Broken
            }
            (Shape::Requirement, DeValue::Table(written)) => Value::Table(self.table(&REQUIREMENT, written, span)),
            (Shape::Tables(table), DeValue::Array(items)) => self.tables(name, table, items),
            (Shape::Requirement, DeValue::Array(items)) => self.tables(name, &REQUIREMENT, items),
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
            (Shape::Text(Text::Chip), DeValue::Integer(_)) => {
                finding.hinting(format!("write `{name} = \"m{source}\"`"))
            }
            (Shape::Word(words), _) => finding.hinting(format!("write {}", either(words))),
            (Shape::Requirement, DeValue::Boolean(true)) => finding.hinting(format!("write `{name} = \"*\"`")),
            (Shape::Text(_), DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_)) => {
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

/// Recognizes `ruamel.yaml = "*"`, which TOML takes for a table `ruamel` with a key `yaml`.
fn dotted(name: &str, written: &DeTable<'_>) -> Option<Finding> {
    let mut entries = written.iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else { return None };
    let rest = key.get_ref();
    if REQUIREMENT.key(rest).is_some() || misspelt(&REQUIREMENT, rest).is_some() || value.get_ref().as_str().is_none() {
        return None;
    }
    let message = format!("`{name}.{rest}` without quotes is two keys to TOML");
    let finding = Finding::error(Code::UnknownKey, message).at(key.span().into(), "not a key of a requirement");
    Some(finding.hinting(format!("write `{name}-{rest}`, which is the same package, or `\"{name}.{rest}\"`")))
}

fn refused(name: &str, sentence: &str, key: Span) -> Finding {
    let finding = Finding::error(Code::Unsupported, sentence).at(key, "");
    match name {
        "editable" => finding.hinting("list the folder in `[project] paths`"),
        _ => finding,
    }
}

/// Reports a key that the table does not have, with the most likely meaning.
fn unknown(table: &'static Table, name: &str, span: Span) -> Finding {
    let place = if table.title.is_empty() { "macml.toml".to_owned() } else { format!("`{}`", table.title) };
    let place = if table.title == REQUIREMENT.title { table.title.to_owned() } else { place };
    let finding = |rest: &str| Finding::error(Code::UnknownKey, format!("unknown key `{name}`{rest}")).at(span, "");

    if let Some(home) = home(table, name) {
        return finding(&home);
    }
    if let Some(meant) = misspelt(table, name) {
        return finding(&format!("; did you mean `{}`?", meant.name));
    }
    let elsewhere = Table::all().into_iter().filter(|one| !one.title.is_empty() && one.title != REQUIREMENT.title);
    let names = elsewhere.flat_map(|one| one.keys.iter().map(move |key| (key.name, one.title)));
    let near = nearest(name, names.clone().map(|(key, _)| key));
    if let Some((key, home)) = near.and_then(|near| names.clone().find(|(key, _)| *key == near)) {
        return finding(&format!("; did you mean `{key}` in `{home}`?"));
    }
    let known: Vec<_> = admitted(table).map(|key| key.name).collect();
    finding("").noting(format!("{place} has {}", both(&known)))
}

/// Says where a key of exactly this name belongs, when it is another table's.
fn home(table: &Table, name: &str) -> Option<String> {
    if FRAMEWORKS.contains(&name) {
        return Some(": it belongs in `[frameworks]`".to_owned());
    }
    let others = Table::all().into_iter().filter(|one| one.title != table.title && one.title != REQUIREMENT.title);
    let home = others.into_iter().find(|one| one.key(name).is_some())?;
    Some(match (home.title, name) {
        ("", "index") => ": indexes are declared for the whole file, as `[[index]]`".to_owned(),
        ("", _) => format!(": it stands for the whole file, as `[{name}]`"),
        (title, _) => format!(": it belongs in `{title}`"),
    })
}

/// Returns the keys that a table admits.
fn admitted(table: &'static Table) -> impl Iterator<Item = &'static Key> + Clone {
    table.keys.iter().filter(|key| !matches!(key.shape, Shape::Refused(_)))
}

/// Returns the key of the table that was probably meant.
fn misspelt(table: &'static Table, name: &str) -> Option<&'static Key> {
    table.key(nearest(name, admitted(table).map(|key| key.name))?)
}

/// Returns the sentence that refuses a key.
fn refusal(table: &Table, name: &str) -> Option<&'static str> {
    match table.key(name)?.shape {
        Shape::Refused(sentence) => Some(sentence),
        _ => None,
    }
}

/// Joins names for a sentence: `a`, `b` and `c`.
pub(super) fn both(names: &[&str]) -> String {
    joined(names, "and")
}

/// Joins names for a sentence: `a`, `b` or `c`.
pub(super) fn either(names: &[&str]) -> String {
    joined(names, "or")
}

fn joined(names: &[&str], word: &str) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {word} {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Returns the candidate nearest to what was written, when it is near enough to be what was meant.
pub(super) fn nearest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let written = written.to_lowercase().replace(['_', ' '], "-");
    let distances = candidates.clone().into_iter().map(|one| (strsim::damerau_levenshtein(&written, one), one));
    let near = |(distance, one): &(usize, &str)| *distance <= (written.chars().count().min(one.len()) / 3).clamp(1, 3);
    if let Some((_, best)) = distances.filter(near).min_by_key(|(distance, _)| *distance) {
        return Some(best);
    }
    // `sha` and `environments` are far from `sha256` and `env` by letters, not by sense.
    let begins = |long: &str, short: &str| short.len() >= 3 && long.starts_with(short) && !long.contains('-');
    candidates.into_iter().find(|one| begins(one, &written) || begins(&written, one))
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
