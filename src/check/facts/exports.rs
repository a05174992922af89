//! What an image exports: the trie that dyld walks, kept as it is and walked in the same way, or the names of a symbol
//! table.
//!
//! TensorFlow exports 270,000 names, of which an environment asks for a few hundred: nothing is unfolded.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest name of a trie. C++ makes names of ten thousand bytes.
const LONGEST_NAME: usize = 1 << 20;

/// Flags of an export.
const RE_EXPORT: u64 = 0x08;

/// What an image exports itself; what the libraries export that it re-exports is not among it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Exports {
    /// `LC_DYLD_EXPORTS_TRIE`, or the same from `LC_DYLD_INFO`.
    Trie(Trie),
    /// By name: external names of a symbol table.
    Names(BTreeMap<String, Option<ReExport>>),
}

impl Default for Exports {
    fn default() -> Self {
        Self::Names(BTreeMap::new())
    }
}

/// A name that another library exports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReExport {
    /// Which library, as the image counts them, from 1.
    pub ordinal: u32,
    /// Its name there.
    pub name: String,
}

/// What stands behind an exported name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Export<'a> {
    /// Something of the image's own.
    Own {
        /// Its address from the image's start, where that is told; also the value of an absolute symbol.
        address: Option<u64>,
    },
    /// A name that another library exports.
    ReExport {
        /// Which library, as the image counts them, from 1.
        ordinal: u32,
        /// Its name there.
        name: &'a str,
    },
}

impl Exports {
    /// Makes them of names that the image itself has.
    pub fn of_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Names(names.into_iter().map(|name| (name.to_owned(), None)).collect())
    }

    /// Finds a name.
    pub fn find(&self, name: &str) -> Option<Export<'_>> {
        match self {
            Self::Trie(trie) => trie.find(name),
            Self::Names(names) => match names.get(name)? {
                None => Some(Export::Own { address: None }),
                Some(other) => Some(Export::ReExport { ordinal: other.ordinal, name: &other.name }),
            },
        }
    }

    /// Returns whether any name begins so.
    pub fn has_prefix(&self, prefix: &str) -> bool {
        match self {
            Self::Trie(trie) => trie.has_prefix(prefix),
            Self::Names(names) => {
                names.range(prefix.to_owned()..).next().is_some_and(|(name, _)| name.starts_with(prefix))
            }
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        !self.has_prefix("")
    }

    /// Returns every name, sorted. Of a large library that takes its time.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Trie(trie) => trie.names(),
            Self::Names(names) => names.keys().cloned().collect(),
        }
    }
}

/// Why bytes are no trie of exports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TrieError {
    /// A node reaches over the end.
    #[error("its export trie is cut short")]
    Short,
    /// Nodes lie over each other, or lead back.
    #[error("its export trie is no tree")]
    NoTree,
    /// A number or a name is larger than any.
    #[error("its export trie holds a number or a name that is too large")]
    Large,
}

/// A trie of exported names, each node of which was looked at.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Trie(Vec<u8>);

impl fmt::Debug for Trie {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Trie({} bytes)", self.0.len())
    }
}

/// A node: what stands behind the name that leads to it, and its edges.
struct Node<'a> {
    /// Empty where no name ends here.
    terminal: &'a [u8],
    edges: Edges<'a>,
}

/// Edges to other nodes, from what is left of their node.
struct Edges<'a> {
    left: u8,
    rest: &'a [u8],
}

/// Takes a number of seven bits a byte off the front.
fn take_uleb(bytes: &mut &[u8]) -> Result<u64, TrieError> {
    let (mut number, mut shift) = (0_u64, 0_u32);
    loop {
        let (first, rest) = bytes.split_first().ok_or(TrieError::Short)?;
        *bytes = rest;
        let part = u64::from(first & 0x7f);
        let placed = part.checked_shl(shift).filter(|placed| placed >> shift == part);
        number |= placed.ok_or(TrieError::Large)?;
        if first & 0x80 == 0 {
            return Ok(number);
        }
        shift += 7;
    }
}

/// Takes what stands before a zero byte off the front, and that byte.
fn take_string<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], TrieError> {
    let end = memchr::memchr(0, bytes).ok_or(TrieError::Short)?;
    let (string, rest) = bytes.split_at(end);
    *bytes = &rest[1..];
    Ok(string)
}

impl<'a> Node<'a> {
    fn at(trie: &'a [u8], offset: usize) -> Result<Self, TrieError> {
        let mut bytes = trie.get(offset..).ok_or(TrieError::Short)?;
        let size = usize::try_from(take_uleb(&mut bytes)?).map_err(|_| TrieError::Large)?;
        let (terminal, rest) = bytes.split_at_checked(size).ok_or(TrieError::Short)?;
        let (left, rest) = rest.split_first().ok_or(TrieError::Short)?;
        Ok(Self { terminal, edges: Edges { left: *left, rest } })
    }
}

impl<'a> Iterator for Edges<'a> {
    type Item = Result<(&'a [u8], usize), TrieError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let read = |rest: &mut &'a [u8]| {
            let label = take_string(rest)?;
            Ok((label, usize::try_from(take_uleb(rest)?).map_err(|_| TrieError::Large)?))
        };
        let edge = read(&mut self.rest);
        if edge.is_err() {
            self.left = 0;
        }
        Some(edge)
    }
}

impl Export<'_> {
    fn read(mut terminal: &[u8]) -> Option<Export<'_>> {
        let flags = take_uleb(&mut terminal).ok()?;
        let number = take_uleb(&mut terminal).ok()?;
        if flags & RE_EXPORT == 0 {
            return Some(Export::Own { address: Some(number) });
        }
        let name = std::str::from_utf8(take_string(&mut terminal).ok()?).ok()?;
        Some(Export::ReExport { ordinal: u32::try_from(number).ok()?, name })
    }
}

impl Trie {
    /// Takes bytes for a trie, after a look at every node: none is reached in two ways.
    ///
    /// # Errors
    /// When they are none.
    pub fn new(bytes: Vec<u8>) -> Result<Self, TrieError> {
        // Nodes of a tree have room beside each other, so that this ends whatever leads where.
        let mut room = bytes.len();
        let mut open = Vec::new();
        if !bytes.is_empty() {
            open.push((0, 0));
        }
        while let Some((offset, length)) = open.pop() {
            let mut node = Node::at(&bytes, offset)?;
            for edge in node.edges.by_ref() {
                let (label, child) = edge?;
                let length = length + label.len();
                if length > LONGEST_NAME {
                    return Err(TrieError::Large);
                }
                open.push((child, length));
            }
            let end = bytes.len() - node.edges.rest.len();
            room = room.checked_sub(end - offset).ok_or(TrieError::NoTree)?;
        }
        Ok(Self(bytes))
    }

    /// Finds a name.
    pub fn find(&self, name: &str) -> Option<Export<'_>> {
        let (mut rest, mut offset) = (name.as_bytes(), 0);
        if self.0.is_empty() {
            return None;
        }
        loop {
            let node = Node::at(&self.0, offset).ok()?;
            if rest.is_empty() && !node.terminal.is_empty() {
                return Export::read(node.terminal);
            }
            // The linker may put a name that others begin with behind an empty edge of its own.
            let mut empty = None;
            let mut next = None;
            for edge in node.edges {
                let (label, child) = edge.ok()?;
                if label.is_empty() {
                    empty.get_or_insert(child);
                } else if let Some(after) = rest.strip_prefix(label) {
                    next = Some((after, child));
                    break;
                }
            }
            (rest, offset) = match (next, empty) {
                (Some(next), _) => next,
                (None, child) => (rest, child?),
            };
        }
    }

    /// Returns whether any name begins so.
    pub fn has_prefix(&self, prefix: &str) -> bool {
        let mut open = vec![(prefix.as_bytes(), 0)];
        while let Some((rest, offset)) = open.pop() {
            let Ok(node) = Node::at(&self.0, offset) else { continue };
            if rest.is_empty() && !node.terminal.is_empty() {
                return true;
            }
            for (label, child) in node.edges.map_while(Result::ok) {
                if let Some(after) = rest.strip_prefix(label) {
                    open.push((after, child));
                } else if label.starts_with(rest) {
                    open.push((&[], child));
                }
            }
        }
        false
    }

    /// Returns every name, sorted.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut open = vec![(Vec::new(), 0)];
        while let Some((name, offset)) = open.pop() {
            let Ok(node) = Node::at(&self.0, offset) else { continue };
            if !node.terminal.is_empty() {
                names.push(String::from_utf8_lossy(&name).into_owned());
            }
            for (label, child) in node.edges.map_while(Result::ok) {
                open.push(([&name, label].concat(), child));
            }
        }
        names.sort();
        names
    }
}

impl Serialize for Trie {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Trie {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "the bytes of a trie")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }

            fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
                Ok(bytes)
            }
        }
        Self::new(deserializer.deserialize_byte_buf(Bytes)?).map_err(D::Error::custom)
    }
}
