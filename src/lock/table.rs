//! Tables of a TOML file, asked for their keys by type; what is wrong is said with its place.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diag::source::Source;
use crate::pep::PackageName;

use super::error::{FormatError, Problem};

/// Bytes of the text.
pub(in crate::lock) type Span = std::ops::Range<usize>;

/// What is wrong, and where.
pub(in crate::lock) type Fail = (Span, Problem);

/// Parses a text, hands its top table to `read`, and says of what fails in which line it is.
pub(in crate::lock) fn document<T>(
    text: &str,
    read: impl FnOnce(&DeTable<'_>) -> Result<T, Fail>,
) -> Result<T, FormatError> {
    let document = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        locate(text, span, Problem::Syntax(error.message().to_owned()))
    })?;
    read(document.get_ref()).map_err(|(span, problem)| locate(text, span, problem))
}

fn locate(text: &str, span: Span, problem: Problem) -> FormatError {
    let source = Source { name: String::new(), text: text.to_owned() };
    let (line, column) = source.line_column(span.start);
    FormatError { line, column, problem }
}

/// Whether keys that the format does not have are passed over.
#[derive(Clone, Copy)]
pub(in crate::lock) enum Unknown {
    Refused,
    PassedOver,
}

pub(in crate::lock) fn value(span: Span, key: &'static str, reason: &str) -> Fail {
    (span, Problem::Value { key, reason: reason.to_owned() })
}

/// One table of the file, asked for its keys by type.
#[derive(Clone)]
pub(in crate::lock) struct Table<'a, 'i> {
    pub(in crate::lock) keys: &'a DeTable<'i>,
    /// Where it stands.
    pub(in crate::lock) span: Span,
    /// How a message calls it.
    pub(in crate::lock) what: &'static str,
    pub(in crate::lock) unknown: Unknown,
}

impl<'a, 'i> Table<'a, 'i> {
    pub(in crate::lock) fn only(&self, known: &[&str]) -> Result<(), Fail> {
        if matches!(self.unknown, Unknown::PassedOver) {
            return Ok(());
        }
        // The first by place, not by name.
        let foreign = self.keys.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        match foreign.min_by_key(|key| key.span().start) {
            Some(key) => {
                let problem = Problem::UnknownKey { table: self.what, key: key.get_ref().to_string() };
                Err((key.span(), problem))
            }
            None => Ok(()),
        }
    }

    pub(in crate::lock) fn get(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'i>>> {
        self.keys.get(key)
    }

    pub(in crate::lock) fn need<T>(&self, found: Option<T>, key: &'static str) -> Result<T, Fail> {
        found.ok_or_else(|| (self.span.clone(), Problem::Missing { table: self.what, key }))
    }

    pub(in crate::lock) fn text(&self, key: &'static str) -> Result<Option<(&'a str, Span)>, Fail> {
        let Some(found) = self.get(key) else { return Ok(None) };
        match found.get_ref() {
            DeValue::String(text) => Ok(Some((text, found.span()))),
            _ => Err((found.span(), Problem::Type { key, wanted: "a string" })),
        }
    }

    pub(in crate::lock) fn need_text(&self, key: &'static str) -> Result<(&'a str, Span), Fail> {
        self.need(self.text(key)?, key)
    }

    pub(in crate::lock) fn value<T: FromStr<Err: Display>>(&self, key: &'static str) -> Result<Option<T>, Fail> {
        let Some((text, span)) = self.text(key)? else { return Ok(None) };
        text.parse().map(Some).map_err(|error| value(span, key, &format!("{error}")))
    }

    pub(in crate::lock) fn need_value<T: FromStr<Err: Display>>(&self, key: &'static str) -> Result<T, Fail> {
        self.need(self.value(key)?, key)
    }

    pub(in crate::lock) fn choice<T: Copy>(&self, key: &'static str, choices: &[(&str, T)]) -> Result<Option<T>, Fail> {
        let Some((text, span)) = self.text(key)? else { return Ok(None) };
        let words: Vec<_> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
        let found = choices.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        found.map(Some).ok_or_else(|| value(span, key, &format!("`{text}` is not {}", words.join(" or "))))
    }

    pub(in crate::lock) fn number(&self, key: &'static str) -> Result<Option<(u64, Span)>, Fail> {
        let Some(found) = self.get(key) else { return Ok(None) };
        let number = match found.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        // TOML's own integers end there.
        let number = number.filter(|number| *number <= i64::MAX as u64);
        let wrong = || (found.span(), Problem::Type { key, wanted: "a whole number" });
        number.map(|number| Some((number, found.span()))).ok_or_else(wrong)
    }

    pub(in crate::lock) fn items(&self, key: &'static str) -> Result<Option<Vec<&'a Spanned<DeValue<'i>>>>, Fail> {
        let Some(found) = self.get(key) else { return Ok(None) };
        match found.get_ref() {
            DeValue::Array(items) => Ok(Some(items.iter().collect())),
            _ => Err((found.span(), Problem::Type { key, wanted: "an array" })),
        }
    }

    pub(in crate::lock) fn texts(&self, key: &'static str) -> Result<Option<Vec<(&'a str, Span)>>, Fail> {
        let Some(items) = self.items(key)? else { return Ok(None) };
        let text = |item: &'a Spanned<DeValue<'i>>| match item.get_ref() {
            DeValue::String(text) => Ok((Cow::as_ref(text), item.span())),
            _ => Err((item.span(), Problem::Type { key, wanted: "an array of strings" })),
        };
        items.into_iter().map(text).collect::<Result<_, _>>().map(Some)
    }

    pub(in crate::lock) fn plain_texts(&self, key: &'static str) -> Result<Vec<String>, Fail> {
        Ok(self.texts(key)?.unwrap_or_default().into_iter().map(|(text, _)| text.to_owned()).collect())
    }

    pub(in crate::lock) fn names(&self, key: &'static str) -> Result<Vec<PackageName>, Fail> {
        let mut names: Vec<PackageName> = Vec::new();
        for (text, span) in self.texts(key)?.unwrap_or_default() {
            let name = text.parse().map_err(|error| value(span.clone(), key, &format!("{error}")))?;
            if names.contains(&name) {
                return Err((span, Problem::Duplicate { what: format!("`{name}`") }));
            }
            names.push(name);
        }
        Ok(names)
    }

    pub(in crate::lock) fn tables(&self, key: &'static str, what: &'static str) -> Result<Vec<Self>, Fail> {
        let table = |item: &'a Spanned<DeValue<'i>>| match item.get_ref() {
            DeValue::Table(keys) => Ok(Self { keys, span: item.span(), what, unknown: self.unknown }),
            _ => Err((item.span(), Problem::Type { key, wanted: "an array of tables" })),
        };
        self.items(key)?.unwrap_or_default().into_iter().map(table).collect()
    }

    pub(in crate::lock) fn table(&self, key: &'static str, what: &'static str) -> Result<Option<Self>, Fail> {
        let Some(found) = self.get(key) else { return Ok(None) };
        self.of(found, key).map(|table| Some(Self { what, ..table }))
    }

    pub(in crate::lock) fn of(&self, item: &'a Spanned<DeValue<'i>>, key: &'static str) -> Result<Self, Fail> {
        match item.get_ref() {
            DeValue::Table(keys) => Ok(Self { keys, span: item.span(), what: key, unknown: self.unknown }),
            _ => Err((item.span(), Problem::Type { key, wanted: "a table" })),
        }
    }
}
