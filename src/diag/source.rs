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

    /// Returns the text with credentials and queries of addresses overwritten, byte for byte, so that spans still fit.
    ///
    /// Whoever writes a password into a file by mistake must not find it in the log of a CI job.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut text = String::with_capacity(self.text.len());
        let mut rest = self.text.as_str();
        while let Some(at) = rest.find("://") {
            let (before, after) = rest.split_at(at + 3);
            push_masked(&mut text, before);
            let address = &after[..after.find(ends_address).unwrap_or(after.len())];
            let authority = address.find(['/', '?', '#']).unwrap_or(address.len());
            let host = address[..authority].rfind('@').unwrap_or(0);
            let query = address.find('?').map_or(address.len(), |at| at + 1);
            text.extend(std::iter::repeat_n('*', host));
            text.push_str(&address[host..query]);
            text.extend(std::iter::repeat_n('*', address.len() - query));
            rest = &after[address.len()..];
        }
        push_masked(&mut text, rest);
        Self { name: self.name.clone(), text }
    }
}

fn ends_address(char: char) -> bool {
    char.is_whitespace() || matches!(char, '"' | '\'' | '`' | '<' | '>')
}

/// Adds text outside of addresses; what looks like an address whose beginning was forgotten (`me:secret@host`) is
/// overwritten up to its `@`.
fn push_masked(text: &mut String, plain: &str) {
    for word in plain.split_inclusive(ends_address) {
        let secret = word.rfind('@').filter(|at| word[..*at].contains(':')).unwrap_or(0);
        text.extend(std::iter::repeat_n('*', secret));
        text.push_str(&word[secret..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let masked = Source { name: String::new(), text: text.to_owned() }.masked().text;
        assert_eq!(masked, expected);
        assert_eq!(masked.len(), text.len());
    }

    #[test]
    fn secrets_are_masked_in_place() {
        check(
            "url = \"https://me:pässword@host.example/simple\" # x",
            "url = \"https://************@host.example/simple\" # x",
        );
        check(
            "a = \"https://token@h/x\"\nb = \"http://h/y?token=abc\"",
            "a = \"https://*****@h/x\"\nb = \"http://h/y?*********\"",
        );
        check("git+https://h/x@main and a@b", "git+https://h/x@main and a@b");
        check("mirrors = [\"me:s3cret@h/x\", 5] # a: b@c", "mirrors = [\"*********@h/x\", 5] # a: b@c");
        check("://", "://");
    }

    #[test]
    fn lines_and_columns_count_characters() {
        let source = Source { name: String::new(), text: "名 = 1\r\nx".to_owned() };
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column("名".len()), (1, 2));
        assert_eq!(source.line_column(source.text.len()), (2, 2));
    }
}
