//! Paths inside wheels and environments: which may be written at all, and which a Mac's file system takes for one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use icu_normalizer::DecomposingNormalizerBorrowed;

/// The longest name of a file or folder that file systems take, in bytes.
const LONGEST_NAME: usize = 255;

/// The longest path; a Mac's end at 1024 with all that stands before.
const LONGEST_PATH: usize = 800;

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// Not UTF-8.
    #[error("is no UTF-8")]
    Encoding,
    /// No text at all.
    #[error("is empty")]
    Empty,
    /// `/etc/passwd`.
    #[error("is absolute")]
    Absolute,
    /// `C:x`.
    #[error("begins with a drive")]
    Drive,
    /// `..`.
    #[error("leaves the folder that it belongs into")]
    Traversal,
    /// `.`, or two slashes in a row.
    #[error("has an empty part")]
    Part,
    /// `\`, which separates folders elsewhere.
    #[error("holds a backslash")]
    Backslash,
    /// NUL, a line break, an escape.
    #[error("holds a control character")]
    Control,
    /// Longer than file systems take.
    #[error("is too long")]
    Long,
}

/// Checks that a path, with `/` between its parts, stays where it is put and can be written everywhere.
///
/// # Errors
/// With the first thing that is wrong.
pub(super) fn check(path: &str) -> Result<(), PathFault> {
    if path.is_empty() {
        return Err(PathFault::Empty);
    }
    // Control characters first, as they would spoil a message.
    if path.chars().any(char::is_control) {
        return Err(PathFault::Control);
    }
    if path.contains('\\') {
        return Err(PathFault::Backslash);
    }
    if path.starts_with('/') {
        return Err(PathFault::Absolute);
    }
    let mut bytes = path.bytes();
    if bytes.next().is_some_and(|first| first.is_ascii_alphabetic()) && bytes.next() == Some(b':') {
        return Err(PathFault::Drive);
    }
    for part in path.split('/') {
        match part {
            ".." => return Err(PathFault::Traversal),
            "" | "." => return Err(PathFault::Part),
            _ if part.len() > LONGEST_NAME => return Err(PathFault::Long),
            _ => {}
        }
    }
    if path.len() > LONGEST_PATH { Err(PathFault::Long) } else { Ok(()) }
}

/// Returns what a file system that ignores case and Unicode normalization, as APFS does, tells names apart by.
///
/// It may fold a little more than APFS does; two names of one wheel that differ so little are nobody's intent.
pub fn folded(path: &str) -> String {
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    let normalizer = const { DecomposingNormalizerBorrowed::new_nfd() };
    // Upper case first: it joins what has several lower forms (σ and ς, ß and ss).
    let joined = normalizer.normalize(path).to_uppercase().to_lowercase();
    normalizer.normalize(&joined).into_owned()
}

/// How names of a place are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// By their bytes.
    Exact,
    /// As on a Mac's volume: neither case nor Unicode normalization counts.
    Folded,
}

/// Why a path cannot be beside another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Clash {
    /// The same path.
    Same,
    /// One name for the file system, in the other's spelling (a file, or a folder on the way).
    Spelling(String),
    /// One is a file where the other needs a folder; this is the other.
    FileAndFolder(String),
}

/// Every path of a tree, to see that each has a place of its own.
pub(super) struct Tree<T> {
    spelling: Spelling,
    /// By the digest of what the file system tells apart: an environment has tens of thousands of paths, which stand in
    /// the plan already. Nobody knows the keys of this process's digests, so that nobody can make two names meet.
    known: HashMap<u128, Known<T>>,
    digests: [RandomState; 2],
    /// The folder that was put in, or found, last: most files lie beside the one before.
    last: String,
}

struct Known<T> {
    /// As spelled by the first that wanted it, where that is not what the file system tells apart.
    path: Option<Box<str>>,
    is_folder: bool,
    owner: T,
}

impl<T: Copy> Tree<T> {
    pub(super) fn new(spelling: Spelling) -> Self {
        let digests = [RandomState::new(), RandomState::new()];
        Self { spelling, known: HashMap::new(), digests, last: String::new() }
    }

    /// Makes room for so many more paths.
    pub(super) fn expect(&mut self, paths: usize) {
        self.known.reserve(paths);
    }

    fn key<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match self.spelling {
            Spelling::Exact => Cow::Borrowed(path),
            Spelling::Folded => Cow::Owned(folded(path)),
        }
    }

    fn digest(&self, key: &str) -> u128 {
        let [high, low] = self.digests.each_ref().map(|state| u128::from(state.hash_one(key)));
        high << 64 | low
    }

    fn insert(&mut self, key: &str, path: &str, is_folder: bool, owner: T) {
        let spelled = (*key != *path).then(|| path.into());
        self.known.insert(self.digest(key), Known { path: spelled, is_folder, owner });
    }

    /// Puts a file in, and the folders on the way; else says what is in the way, and whose that is.
    pub(super) fn file(&mut self, path: &str, owner: T) -> Result<(), (Clash, T)> {
        self.above(path, owner)?;
        let key = self.key(path);
        if let Some(known) = self.known.get(&self.digest(&key)) {
            let other = known.path.as_deref().unwrap_or(&key);
            let clash = match known {
                Known { is_folder: true, .. } => Clash::FileAndFolder(other.to_owned()),
                _ if other == path => Clash::Same,
                _ => Clash::Spelling(other.to_owned()),
            };
            return Err((clash, known.owner));
        }
        self.insert(&key, path, false, owner);
        Ok(())
    }

    /// Puts a folder in, and those on the way.
    pub(super) fn folder(&mut self, path: &str, owner: T) -> Result<(), (Clash, T)> {
        if path == self.last && !path.is_empty() {
            return Ok(());
        }
        let key = self.key(path);
        if let Some(known) = self.known.get(&self.digest(&key)) {
            let other = known.path.as_deref().unwrap_or(&key);
            match known {
                Known { is_folder: true, .. } if other == path => {}
                Known { is_folder: true, .. } => return Err((Clash::Spelling(other.to_owned()), known.owner)),
                _ => return Err((Clash::FileAndFolder(other.to_owned()), known.owner)),
            }
        } else {
            self.above(path, owner)?;
            self.insert(&key, path, true, owner);
        }
        path.clone_into(&mut self.last);
        Ok(())
    }

    fn above(&mut self, path: &str, owner: T) -> Result<(), (Clash, T)> {
        match path.rfind('/') {
            Some(at) => self.folder(&path[..at], owner),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_may_be_written() {
        let check = |path: &str, expected: Result<(), PathFault>| assert_eq!(check(path), expected, "{path:?}");
        for path in ["a", "a/b.py", "a b/c", ".hidden", "..a/b..", "ab:c", "é/漢字.py", "-x", "~", "a/..."] {
            check(path, Ok(()));
        }
        check("", Err(PathFault::Empty));
        check("/etc/passwd", Err(PathFault::Absolute));
        check("C:x", Err(PathFault::Drive));
        check("c:/x", Err(PathFault::Drive));
        check("..", Err(PathFault::Traversal));
        check("a/../../b", Err(PathFault::Traversal));
        check("a/..", Err(PathFault::Traversal));
        check("a//b", Err(PathFault::Part));
        check("a/", Err(PathFault::Part));
        check("./a", Err(PathFault::Part));
        check("a\\b", Err(PathFault::Backslash));
        check("..\\b", Err(PathFault::Backslash));
        for control in ["a\0b", "a\nb", "a\x1b[1m", "a\x7f", "a\u{85}b"] {
            check(control, Err(PathFault::Control));
        }
        check(&"a".repeat(255), Ok(()));
        check(&"a".repeat(256), Err(PathFault::Long));
        check("a/".repeat(500).trim_end_matches('/'), Err(PathFault::Long));
    }

    #[test]
    fn names_that_a_mac_takes_for_one() {
        let same = |one: &str, other: &str| assert_eq!(folded(one), folded(other), "{one} {other}");
        same("A/b.PY", "a/B.py");
        same("É", "é");
        // Composed and decomposed.
        same("\u{e9}.py", "e\u{301}.py");
        same("\u{c9}", "e\u{301}");
        same("가", "\u{1100}\u{1161}");
        same("ΟΔΟΣ", "οδος");
        same("straße", "STRASSE");
        // Marks in another order.
        same("q\u{307}\u{323}", "q\u{323}\u{307}");
        for (one, other) in [("a", "b"), ("e", "é"), ("a/b", "a_b"), ("漢", "汉")] {
            assert_ne!(folded(one), folded(other), "{one} {other}");
        }
    }

    #[test]
    fn every_path_has_a_place_of_its_own() {
        let check = |spelling, paths: [&str; 2], expected: Option<Clash>| {
            let mut tree = Tree::new(spelling);
            tree.file(paths[0], 1).unwrap();
            let found = tree.file(paths[1], 2).err().map(|(clash, _)| clash);
            assert_eq!(found, expected, "{paths:?}");
        };
        use Spelling::{Exact, Folded};
        check(Folded, ["a/b", "a/c"], None);
        check(Folded, ["a/b", "a/b"], Some(Clash::Same));
        check(Folded, ["a/b", "a/B"], Some(Clash::Spelling("a/b".to_owned())));
        check(Exact, ["a/b", "a/B"], None);
        // Folders count too: `import PIL` finds nothing in `pil`.
        check(Folded, ["PIL/a", "pil/b"], Some(Clash::Spelling("PIL".to_owned())));
        check(Exact, ["PIL/a", "pil/b"], None);
        check(Exact, ["a", "a/b/c"], Some(Clash::FileAndFolder("a".to_owned())));
        check(Exact, ["a/b/c", "a/b"], Some(Clash::FileAndFolder("a/b".to_owned())));
        check(Folded, ["a/b/c", "A/b"], Some(Clash::Spelling("a".to_owned())));
    }
}
