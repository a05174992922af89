//! Named text and places in it.

/// A file's name and text, to point into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The path as shown to people.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A range of bytes in a [`Source`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

impl Source {
    /// Returns line and column of a byte, both from 1, columns in characters.
    pub fn line_column(&self, byte: usize) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(byte)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}
