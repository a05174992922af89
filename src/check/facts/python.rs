//! What a module imports for certain when it is imported itself: statements at its top, and in the body of a `try` there.
//!
//! No parser of Python: lines are joined as Python joins them, strings and comments are left out, and whatever stands
//! below an `if`, a `def` or a `class` is not asked. A missed import costs a warning, a wrong one could hide an error.

use std::collections::BTreeSet;

/// Returns the top names of what a module's text imports, relative imports left out.
pub(super) fn imports(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // The column of `try` bodies that are open, outermost first.
    let mut bodies: Vec<usize> = Vec::new();
    let mut opens = None;
    for line in (Lines { rest: text }) {
        if let Some(column) = opens.take()
            && line.column > column
        {
            bodies.push(line.column);
        }
        while bodies.last().is_some_and(|body| line.column < *body) {
            bodies.pop();
        }
        if line.column != bodies.last().copied().unwrap_or(0) {
            continue;
        }
        for statement in line.text.split(';') {
            let statement = statement.trim();
            match statement.strip_prefix("try").map(str::trim_start).and_then(|rest| rest.strip_prefix(':')) {
                Some("") => opens = Some(line.column),
                Some(rest) => read(rest.trim(), &mut names),
                None => read(statement, &mut names),
            }
        }
    }
    names
}

/// Reads one statement.
fn read(statement: &str, names: &mut BTreeSet<String>) {
    let mut words = statement.split_whitespace();
    let mut add = |path: &str| {
        let top = path.split('.').next().unwrap_or_default();
        if is_name(top) {
            names.insert(top.to_owned());
        }
    };
    match words.next() {
        Some("import") => {
            let modules = statement["import".len()..].split(',');
            modules.filter_map(|module| module.split_whitespace().next()).for_each(&mut add);
        }
        // `from .x import y` begins with a dot, which leaves no name before it.
        Some("from") => {
            let is_import = |word: &str| word == "import" || word.starts_with("import(");
            if let (Some(module), true) = (words.next(), words.next().is_some_and(is_import)) {
                add(module);
            }
        }
        _ => {}
    }
}

/// Whether a text is a name as Python's modules have it.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|first: char| first.is_ascii_digit())
        && text.chars().all(|one| one.is_alphanumeric() || one == '_')
}

/// A line of statements, joined from those that brackets, strings and backslashes spread over.
struct Line {
    column: usize,
    text: String,
}

/// Lines of a text that say something.
struct Lines<'a> {
    rest: &'a str,
}

impl Iterator for Lines<'_> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let line = self.join();
            if !line.text.trim().is_empty() {
                return Some(line);
            }
        }
    }
}

impl Lines<'_> {
    fn join(&mut self) -> Line {
        let start = self.rest.trim_start_matches([' ', '\t']);
        let column = self.rest.len() - start.len();
        let mut text = String::new();
        let mut depth = 0_usize;
        let mut rest = start;
        while let Some(first) = rest.chars().next() {
            let after = &rest[first.len_utf8()..];
            match first {
                '\n' if depth == 0 => {
                    rest = after;
                    break;
                }
                '\\' => {
                    let next = after.strip_prefix('\r').unwrap_or(after);
                    rest = next.strip_prefix('\n').unwrap_or(after);
                    text.push(' ');
                    continue;
                }
                '#' => {
                    rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                    continue;
                }
                '"' | '\'' => {
                    rest = behind_string(rest);
                    // Something that is no name.
                    text.push('\'');
                    continue;
                }
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            text.push(if first == '\n' { ' ' } else { first });
            rest = after;
        }
        self.rest = rest;
        Line { column, text }
    }
}

/// Returns what follows a string literal, or the end of the line where it has no end.
fn behind_string(text: &str) -> &str {
    let quote = &text[..1];
    let triple = [quote; 3].concat();
    let (end, body) = match text.strip_prefix(&triple) {
        Some(body) => (triple.as_str(), body),
        None => (quote, &text[1..]),
    };
    let mut rest = body;
    loop {
        let Some(at) = rest.find(['\\', '\n', '"', '\'']) else { return "" };
        let found = &rest[at..];
        if let Some(behind) = found.strip_prefix(end) {
            return behind;
        }
        if end.len() == 1 && found.starts_with('\n') {
            return found;
        }
        let mut characters = found.chars();
        // A backslash takes the next character along.
        if characters.next() == Some('\\') {
            characters.next();
        }
        rest = characters.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = imports(text);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn statements_at_the_top() {
        check("import torch", &["torch"]);
        check("import os, numpy.linalg as n ,torch\n", &["numpy", "os", "torch"]);
        check("from torch.nn import (\n    a,\n    b,\n)\nimport x", &["torch", "x"]);
        check("from torch import(a)\n", &["torch"]);
        check("import a; import b", &["a", "b"]);
        check("import \\\n    torch\r\nimport y\r\n", &["torch", "y"]);
        check("from . import x\nfrom .a import b\nfrom ..c import d", &[]);
        check("from __future__ import annotations", &["__future__"]);
        check("important = 1\nfrom_ = 2\nimport 3\nfrom x imports y", &[]);
    }

    #[test]
    fn what_may_not_run_does_not_count() {
        check("def f():\n    import torch\n", &[]);
        check("if TYPE_CHECKING:\n    import torch\nelse:\n    import tensorflow\n", &[]);
        check("if x: import torch", &[]);
        check("class A:\n    import torch\nimport jax", &["jax"]);
    }

    #[test]
    fn the_body_of_a_try_runs() {
        check("try:\n    import torch\nexcept ImportError:\n    import numpy\n", &["torch"]);
        check("try :\n\timport torch\n\ttry:\n\t\timport a\n\tfinally:\n\t\timport b\nimport c", &["a", "c", "torch"]);
        check("try:\n    if x:\n        import torch\n    import b\nexcept E: pass", &["b"]);
        check("try: import torch\nexcept: pass", &["torch"]);
        check("trying:\n    import x", &[]);
    }

    #[test]
    fn strings_and_comments() {
        check("\"\"\"\nimport a\n\"\"\"\nimport b  # import c\n", &["b"]);
        check("x = '''\nimport a\n\\'''\nimport a2\n'''\nimport b", &["b"]);
        check("x = 'it''s'; import b\ny = \"\\\"\"\nimport c", &["b", "c"]);
        check("x = 'no end\nimport b", &["b"]);
        check("x = (\n'import a'\nimport c\n)\nimport b", &["b"]);
        check("\"\"\"no end\nimport a", &[]);
        check("x = '\\", &[]);
        check("x = '\u{fc}\\\u{fc}'\nimport \u{fc}", &["\u{fc}"]);
    }
}
