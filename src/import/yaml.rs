//! YAML as a tree with lines, as far as lists of packages need it: no aliases, no depth.

use saphyr_parser::{Event, Parser};

/// A part of a document.
#[derive(Debug)]
pub(super) struct Node {
    /// From 1.
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// No list of packages is deeper.
const DEEPEST: usize = 16;

impl Node {
    /// What stands at a key of a map.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads the first document.
///
/// # Errors
/// Says what is wrong, and on which line.
pub(super) fn read(text: &str) -> Result<Option<Node>, String> {
    let mut open: Vec<(Node, Option<String>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        let line = span.start.line();
        let done = match event {
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= DEEPEST => {
                return Err(format!("line {line}: it is nested too deeply"));
            }
            Event::SequenceStart(..) => {
                open.push((Node { line, value: Value::List(Vec::new()) }, None));
                continue;
            }
            Event::MappingStart(..) => {
                open.push((Node { line, value: Value::Map(Vec::new()) }, None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|(node, _)| node),
            Event::Scalar(text, ..) => Some(Node { line, value: Value::Text(text.into_owned()) }),
            Event::Alias(_) => return Err(format!("line {line}: an alias, which no list of packages needs")),
            Event::DocumentEnd => break,
            _ => None,
        };
        let Some(node) = done else { continue };
        match open.last_mut() {
            None => return Ok(Some(node)),
            Some((Node { value: Value::List(items), .. }, _)) => items.push(node),
            Some((Node { value: Value::Map(entries), .. }, key)) => match (key.take(), node.value) {
                (Some(name), value) => entries.push((name, Node { line: node.line, value })),
                (None, Value::Text(name)) => *key = Some(name),
                (None, _) => return Err(format!("line {line}: a key that is no text")),
            },
            Some(_) => return Err(format!("line {line}: it is no YAML")),
        }
    }
    Ok(None)
}
