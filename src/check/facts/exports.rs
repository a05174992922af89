//! What an image exports: the trie that dyld walks, walked in the same way, or the names of a symbol table.
//!
//! TensorFlow exports 270,000 names, of which an environment asks for a few hundred: nothing is unfolded. Of the linker's
//! trie only the names are kept, so that what lies in the cache is a tenth: addresses go, and each node stands inside its
//! parent instead of somewhere else.
//!
//! ```text
//! node      terminal, count of edges (1 byte), edges
//! edge      label, 0, size of the node that follows (ULEB), node
//! terminal  0 for none, 1 for a name of its own, or 2, ordinal (ULEB), name there, 0
//! ```

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest name of a trie. C++ makes names of ten thousand bytes.
const LONGEST_NAME: usize = 1 << 20;

/// The largest trie of a linker, and the most nodes. TensorFlow's has 22 MB and half a million.
const LARGEST: usize = 64 << 20;
const MOST_NODES: usize = 1 << 22;

/// The flag of a re-export in a linker's trie.
const RE_EXPORT: u64 = 0x08;

/// How terminals begin.
const NO_NAME: u8 = 0;
const OWN: u8 = 1;
const OTHERS: u8 = 2;

/// What an image exports itself; what the libraries export that it re-exports is not among it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Exports {
    /// From `LC_DYLD_EXPORTS_TRIE`, or the same in `LC_DYLD_INFO`.
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
    Own,
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
                None => Some(Export::Own),
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
    /// A number, a name or the whole is larger than any.
    #[error("its export trie holds more than any")]
    Large,
}

/// Exported names, folded where they begin alike.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Trie(Vec<u8>);

impl fmt::Debug for Trie {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Trie({} bytes)", self.0.len())
    }
}

/// Takes a number of seven bits a byte off the front.
fn take_uleb(bytes: &mut &[u8]) -> Result<u64, TrieError> {
    // Nearly every one is small.
    if let Some((first, rest)) = bytes.split_first()
        && *first < 0x80
    {
        *bytes = rest;
        return Ok(u64::from(*first));
    }
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

fn put_uleb(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Returns how many bytes a number takes.
fn uleb_length(number: u64) -> usize {
    ((u64::BITS - number.leading_zeros()) as usize).div_ceil(7).max(1)
}

/// Takes what stands before a zero byte off the front, and that byte.
fn take_string<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], TrieError> {
    let end = memchr::memchr(0, bytes).ok_or(TrieError::Short)?;
    let (string, rest) = bytes.split_at(end);
    *bytes = &rest[1..];
    Ok(string)
}

/// Takes a number that counts bytes off the front.
fn take_size(bytes: &mut &[u8]) -> Result<usize, TrieError> {
    usize::try_from(take_uleb(bytes)?).map_err(|_| TrieError::Large)
}

/// A node of a linker's trie that was found, in the order in which it is written.
struct Seen<'a> {
    parent: usize,
    label: &'a [u8],
    /// Empty where no name ends here.
    terminal: &'a [u8],
    edges: u8,
    /// Of the node with all below it, as it is written.
    size: usize,
}

/// Puts what a linker says of a name into the form of this file.
fn put_terminal(mut terminal: &[u8], into: &mut Vec<u8>) -> Result<(), TrieError> {
    if terminal.is_empty() {
        into.push(NO_NAME);
        return Ok(());
    }
    if take_uleb(&mut terminal)? & RE_EXPORT == 0 {
        into.push(OWN);
        return Ok(());
    }
    into.push(OTHERS);
    put_uleb(take_uleb(&mut terminal)?, into);
    into.extend_from_slice(take_string(&mut terminal)?);
    into.push(0);
    Ok(())
}

impl Trie {
    /// Folds a linker's trie, after a look at every node: none may be reached in two ways.
    ///
    /// # Errors
    /// When it is none.
    pub fn of_linker(bytes: &[u8]) -> Result<Self, TrieError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        if bytes.len() > LARGEST {
            return Err(TrieError::Large);
        }
        let mut seen = walk(bytes)?;
        // Those below a node come behind it.
        for at in (1..seen.len()).rev() {
            let (parent, size) = (seen[at].parent, seen[at].size);
            seen[parent].size += seen[at].label.len() + 1 + uleb_length(size as u64) + size;
        }
        let mut folded = Vec::with_capacity(seen[0].size);
        for (at, node) in seen.iter().enumerate() {
            if at > 0 {
                folded.extend_from_slice(node.label);
                folded.push(0);
                put_uleb(node.size as u64, &mut folded);
            }
            put_terminal(node.terminal, &mut folded)?;
            folded.push(node.edges);
        }
        Ok(Self(folded))
    }

    /// Finds a name.
    pub fn find(&self, name: &str) -> Option<Export<'_>> {
        let (mut rest, mut place) = (name.as_bytes(), &self.0[..]);
        loop {
            let node = Node::read(place)?;
            if rest.is_empty() && node.export.is_some() {
                return node.export;
            }
            // The linker may put a name that others begin with behind an empty edge of its own.
            let mut empty = None;
            let mut next = None;
            for (label, child) in node.edges {
                if label.is_empty() {
                    empty.get_or_insert(child);
                } else if let Some(after) = rest.strip_prefix(label) {
                    next = Some((after, child));
                    break;
                }
            }
            (rest, place) = match (next, empty) {
                (Some(next), _) => next,
                (None, child) => (rest, child?),
            };
        }
    }

    /// Returns whether any name begins so.
    pub fn has_prefix(&self, prefix: &str) -> bool {
        let mut open = vec![(prefix.as_bytes(), &self.0[..])];
        while let Some((rest, place)) = open.pop() {
            let Some(node) = Node::read(place) else { continue };
            if rest.is_empty() && node.export.is_some() {
                return true;
            }
            for (label, child) in node.edges {
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
        let mut open = vec![(Vec::new(), &self.0[..])];
        while let Some((name, place)) = open.pop() {
            let Some(node) = Node::read(place) else { continue };
            if node.export.is_some() {
                names.push(String::from_utf8_lossy(&name).into_owned());
            }
            open.extend(node.edges.map(|(label, child)| ([&name, label].concat(), child)));
        }
        names.sort();
        names
    }
}

/// Walks over every node of a linker's trie: a node, then all below it.
fn walk(bytes: &[u8]) -> Result<Vec<Seen<'_>>, TrieError> {
    // Nodes of a tree have room beside each other, so that this ends whatever leads where.
    let mut room = bytes.len();
    let mut seen: Vec<Seen<'_>> = Vec::new();
    // Offset, parent, label, and how long the name is up to here.
    let mut open: Vec<(usize, usize, &[u8], usize)> = vec![(0, 0, &[], 0)];
    let mut header = Vec::new();
    while let Some((offset, parent, label, length)) = open.pop() {
        let start = bytes.get(offset..).ok_or(TrieError::Short)?;
        let mut rest = start;
        let size = take_size(&mut rest)?;
        let (terminal, after) = rest.split_at_checked(size).ok_or(TrieError::Short)?;
        let (edges, mut rest) = after.split_first().ok_or(TrieError::Short)?;
        for _ in 0..*edges {
            let label = take_string(&mut rest)?;
            let child = take_size(&mut rest)?;
            let length = length + label.len();
            if length > LONGEST_NAME || seen.len() + open.len() > MOST_NODES {
                return Err(TrieError::Large);
            }
            open.push((child, seen.len(), label, length));
        }
        room = room.checked_sub(start.len() - rest.len()).ok_or(TrieError::NoTree)?;
        header.clear();
        put_terminal(terminal, &mut header)?;
        seen.push(Seen { parent, label, terminal, edges: *edges, size: header.len() + 1 });
    }
    Ok(seen)
}

/// Returns the address that a linker's trie gives a name.
pub(super) fn address(bytes: &[u8], name: &str) -> Option<u64> {
    let seen = walk(bytes).ok()?;
    // What of the name is left behind each node on its way.
    let mut left: Vec<Option<&[u8]>> = Vec::with_capacity(seen.len());
    for (at, node) in seen.iter().enumerate() {
        let before = if at == 0 { Some(name.as_bytes()) } else { left[node.parent] };
        let rest = before.and_then(|before| before.strip_prefix(node.label));
        left.push(rest);
        if rest.is_some_and(<[u8]>::is_empty) && !node.terminal.is_empty() {
            let mut terminal = node.terminal;
            let flags = take_uleb(&mut terminal).ok()?;
            return if flags & RE_EXPORT == 0 { take_uleb(&mut terminal).ok() } else { None };
        }
    }
    None
}

/// A node, from where it begins.
struct Node<'a> {
    export: Option<Export<'a>>,
    edges: Edges<'a>,
}

/// Edges, each with the node that it leads to.
struct Edges<'a> {
    left: u8,
    rest: &'a [u8],
}

impl<'a> Node<'a> {
    /// Reads a node; `None` where the bytes are no folded trie.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (terminal, mut rest) = bytes.split_first()?;
        let export = match *terminal {
            NO_NAME => None,
            OWN => Some(Export::Own),
            _ => {
                let ordinal = u32::try_from(take_uleb(&mut rest).ok()?).ok()?;
                Some(Export::ReExport { ordinal, name: std::str::from_utf8(take_string(&mut rest).ok()?).ok()? })
            }
        };
        let (left, rest) = rest.split_first()?;
        Some(Self { export, edges: Edges { left: *left, rest } })
    }
}

impl<'a> Iterator for Edges<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let label = take_string(&mut self.rest).ok()?;
        let size = take_size(&mut self.rest).ok()?;
        let (node, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some((label, node))
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
        // Walking shrinks what is left with each step, whatever the bytes are.
        deserializer.deserialize_byte_buf(Bytes).map(Self)
    }
}
