//! One digest for a whole environment: equal wherever and by whomever the same wheels were installed. Pure.
//!
//! It is the sha256 of one entry for each file, sorted by path: the path, NUL, what is in it, NUL. What is in a file is the
//! word `sha256:` and its digest, with these exceptions.
//!
//! * Paths begin with `site/` instead of the folder of packages, and with `headers/` instead of that of headers, whose names
//!   depend on who made the environment.
//! * A script of a wheel whose first line starts the environment's own Python counts as the wheel has it: `#!python` and a
//!   line's end, then the rest. Arguments on that line are no part of it: pip and installer drop them.
//! * A command of an entry point counts as `calls:module:object`, as long as that is all it does; every installer writes
//!   another text. One that does anything else counts by its bytes.
//! * A symbolic link counts as `link:` and what it leads to, in trees of macml's.
//!
//! Left out: what an installer notes in `.dist-info` (RECORD, INSTALLER, REQUESTED, direct_url.json), what Python compiles
//! (`__pycache__`, and a `.pyc` that no RECORD names beside its source), and the environment's own files: pyvenv.cfg,
//! activation, links to Python, macml's stamp and marks. Modes and times are no part of it. Files that no package brought are
//! part of it: an environment with one more module is another.

use std::collections::BTreeMap;

use crate::install;
use crate::install::Unpacked;
use crate::pep::Sha256;
use crate::target::PythonMinor;

use super::launcher;
use super::tree::Tree;

/// What is in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// These bytes.
    Bytes(Sha256),
    /// A command that does nothing but call `module:object`.
    Calls(String),
    /// A link to this.
    Link(Vec<u8>),
}

/// What stands before all entries: another form of the digest has another number.
const HEAD: &[u8] = b"macml environment 1\0";

/// Returns the digest of files by their plain paths.
pub(super) fn of(entries: &BTreeMap<String, Content>) -> Sha256 {
    let mut bytes = HEAD.to_vec();
    for (path, content) in entries {
        bytes.extend_from_slice(path.as_bytes());
        bytes.push(0);
        match content {
            Content::Bytes(sha256) => bytes.extend_from_slice(format!("sha256:{sha256}").as_bytes()),
            Content::Calls(object) => bytes.extend_from_slice(format!("calls:{object}").as_bytes()),
            Content::Link(target) => bytes.extend_from_slice(&[b"link:", &target[..]].concat()),
        }
        bytes.push(0);
    }
    Sha256::of(&bytes)
}

/// Returns a path without what depends on who made the environment.
pub(super) fn plain_path(path: &str, site: &str, python: PythonMinor) -> String {
    let headers = [format!("include/site/python{python}"), format!("include/python{python}")];
    let folders = [(site, "site")].into_iter().chain(headers.iter().map(|folder| (folder.as_str(), "headers")));
    for (folder, plain) in folders {
        if let Some(rest) = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) {
            return format!("{plain}/{rest}");
        }
    }
    path.to_owned()
}

/// Returns what a command is, of which the interpreter was taken off; `expected` is what the entry point of its name calls.
pub(super) fn command(text: &[u8], expected: Option<&String>) -> Content {
    match launcher::called(text) {
        Some(called) if Some(&called) == expected => Content::Calls(called),
        _ => Content::Bytes(Sha256::of(text)),
    }
}

/// Returns the digest that a tree has when it is made from these wheels and nothing else: what [`super::look`] finds where
/// nothing differs. Of two wheels that bring a path, the first one's is there, as everywhere.
pub fn of_wheels<'a>(tree: &Tree, wheels: impl IntoIterator<Item = &'a Unpacked>) -> Sha256 {
    let layout = tree.layout();
    let mut entries = BTreeMap::new();
    let mut put = |path: &str, content| {
        entries.entry(plain_path(path, &tree.site, tree.python)).or_insert(content);
    };
    for wheel in wheels {
        for file in wheel.own_files().filter(|file| !super::judge::is_compiled(&file.path)) {
            let script = wheel.scripts.get(&file.path).and_then(|script| install::unbound(script, &|_| false));
            let content = script.map_or(file.sha256, |script| Sha256::of(&script));
            put(&layout.place(wheel, &file.path), Content::Bytes(content));
        }
        for entry in &wheel.about.entry_points {
            put(&format!("bin/{}", entry.name), Content::Calls(format!("{}:{}", entry.module, entry.object)));
        }
    }
    of(&entries)
}
