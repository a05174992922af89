//! Property lists of macOS, as text and in their binary form: receipts of installed packages are of the one, settings of the
//! other. Both forms are told in Apple's
//! <https://github.com/apple-oss-distributions/CF/blob/main/CFBinaryPList.c> and `CFPropertyList.c` beside it.
//!
//! Only what is asked for here: dictionaries, lists, texts, bytes and numbers. A list that is damaged is none.

/// A value of a property list.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Plist {
    /// Values by key, in their order.
    Dict(Vec<(String, Self)>),
    /// Values.
    List(Vec<Self>),
    /// A text.
    Text(String),
    /// Bytes.
    Data(Vec<u8>),
    /// A whole number, or whether something is so.
    Number(i64),
    /// Something else: a date, a fraction.
    Other,
}

/// How deep values may lie in each other.
const DEEPEST: usize = 32;

/// How many values and bytes there may be, each counted wherever it is named: a small file may name one over and over.
const MOST: usize = 1 << 20;

impl Plist {
    /// Reads a property list of either form.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        match bytes.strip_prefix(b"bplist00") {
            Some(_) => Binary::read(bytes),
            None => Text::read(std::str::from_utf8(bytes).ok()?),
        }
    }

    /// Returns what a dictionary has under a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns what lies under keys one in the other.
    pub(super) fn at(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// Lists the keys and values of a dictionary.
    pub(super) fn entries(&self) -> impl Iterator<Item = &(String, Self)> {
        let entries: &[(String, Self)] = if let Self::Dict(entries) = self { entries } else { &[] };
        entries.iter()
    }

    /// Lists the values of a list.
    pub(super) fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    /// Returns a text.
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns a number.
    pub(super) fn number(&self) -> Option<i64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }
}

/// The binary form: objects that name each other by number, a table of where they begin, and a trailer.
struct Binary<'a> {
    bytes: &'a [u8],
    table: usize,
    offset_size: usize,
    reference_size: usize,
    count: usize,
    read: usize,
}

impl<'a> Binary<'a> {
    fn read(bytes: &'a [u8]) -> Option<Plist> {
        let trailer = bytes.len().checked_sub(32).and_then(|start| bytes.get(start..))?;
        let word = |at: usize| Self::number(trailer.get(at..at + 8)?);
        let (count, top, table) = (word(8)?, word(16)?, word(24)?);
        let (offset_size, reference_size) = (usize::from(trailer[6]), usize::from(trailer[7]));
        Binary { bytes, table, offset_size, reference_size, count, read: 0 }.object(top, 0)
    }

    fn number(bytes: &[u8]) -> Option<usize> {
        let number = |so_far: u64, byte: &u8| (so_far << 8) | u64::from(*byte);
        (1..=8).contains(&bytes.len()).then(|| usize::try_from(bytes.iter().fold(0, number)).ok())?
    }

    fn slice(&self, at: usize, length: usize) -> Option<&'a [u8]> {
        self.bytes.get(at..at.checked_add(length)?)
    }

    fn object(&mut self, index: usize, depth: usize) -> Option<Plist> {
        self.read += 1;
        if index >= self.count || depth > DEEPEST || self.read > MOST {
            return None;
        }
        let entry = self.table.checked_add(index.checked_mul(self.offset_size)?)?;
        let at = Self::number(self.slice(entry, self.offset_size)?)?;
        let marker = *self.bytes.get(at)?;
        let (kind, low) = (marker >> 4, usize::from(marker & 15));
        if kind == 1 && low <= 3 {
            let bytes = self.slice(at + 1, 1 << low)?;
            // Of eight bytes the number has a sign.
            let number = bytes.iter().fold(0, |so_far: u64, byte| (so_far << 8) | u64::from(*byte));
            return Some(Plist::Number(number.cast_signed()));
        }
        let (length, at) = match low {
            15 if (4..=13).contains(&kind) => {
                let size = 1 << (*self.bytes.get(at + 1)? & 7);
                (Self::number(self.slice(at + 2, size)?)?, at + 2 + size)
            }
            _ => (low, at + 1),
        };
        self.read = self.read.checked_add(length)?;
        match kind {
            0 if matches!(marker, 8 | 9) => Some(Plist::Number(i64::from(marker == 9))),
            4 => Some(Plist::Data(self.slice(at, length)?.to_vec())),
            5 => Some(Plist::Text(String::from_utf8_lossy(self.slice(at, length)?).into_owned())),
            6 => {
                let bytes = self.slice(at, length.checked_mul(2)?)?;
                let units: Vec<u16> =
                    bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
                Some(Plist::Text(String::from_utf16_lossy(&units)))
            }
            10 => self.objects(at, length, depth).map(Plist::List),
            13 => {
                let keys = self.objects(at, length, depth)?;
                let values = self.objects(at + length * self.reference_size, length, depth)?;
                let pair = |(key, value): (Plist, Plist)| Some((key.text()?.to_owned(), value));
                keys.into_iter().zip(values).map(pair).collect::<Option<_>>().map(Plist::Dict)
            }
            _ => Some(Plist::Other),
        }
    }

    fn objects(&mut self, at: usize, count: usize, depth: usize) -> Option<Vec<Plist>> {
        let references = self.slice(at, count.checked_mul(self.reference_size)?)?;
        if self.reference_size == 0 {
            return None;
        }
        references.chunks_exact(self.reference_size).map(|one| self.object(Self::number(one)?, depth + 1)).collect()
    }
}

/// The form that is XML, of which only what Apple writes is understood.
struct Text<'a> {
    rest: &'a str,
}

/// A tag: its name, and whether it opens, closes, or does both.
type Tag<'a> = (&'a str, Opens);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Opens {
    Yes,
    No,
    AndCloses,
}

impl<'a> Text<'a> {
    fn read(text: &'a str) -> Option<Plist> {
        let mut text = Text { rest: text };
        let first = text.tag()?;
        let first = if first.0 == "plist" { text.tag()? } else { first };
        text.value(first, 0)
    }

    /// Goes on to the next tag, past declarations and comments; returns it.
    fn tag(&mut self) -> Option<Tag<'a>> {
        loop {
            let (_, rest) = self.rest.split_once('<')?;
            let end = if rest.starts_with("!--") { "-->" } else { ">" };
            let (inner, rest) = rest.split_once(end)?;
            self.rest = rest;
            if inner.starts_with(['?', '!']) {
                continue;
            }
            let opens = match (inner.starts_with('/'), inner.ends_with('/')) {
                (true, _) => Opens::No,
                (false, true) => Opens::AndCloses,
                (false, false) => Opens::Yes,
            };
            return Some((inner.trim_matches('/').split_whitespace().next().unwrap_or_default(), opens));
        }
    }

    /// Reads what stands before the end of an element.
    fn inner(&mut self, (name, opens): Tag<'a>) -> Option<&'a str> {
        if opens == Opens::AndCloses {
            return Some("");
        }
        let (inner, rest) = self.rest.split_once(&format!("</{name}>"))?;
        self.rest = rest;
        Some(inner)
    }

    /// Goes on to the next tag in an element; `Some(None)` where there is none any more.
    fn more(&mut self, empty: bool) -> Option<Option<Tag<'a>>> {
        if empty {
            return Some(None);
        }
        self.tag().map(|tag| Some(tag).filter(|tag| tag.1 != Opens::No))
    }

    fn value(&mut self, tag: Tag<'a>, depth: usize) -> Option<Plist> {
        if depth > DEEPEST || tag.1 == Opens::No {
            return None;
        }
        let empty = tag.1 == Opens::AndCloses;
        Some(match tag.0 {
            "dict" => {
                let mut entries = Vec::new();
                while let Some(tag) = self.more(empty)? {
                    let key = self.inner(tag).filter(|_| tag.0 == "key")?;
                    let tag = self.tag()?;
                    entries.push((unescaped(key), self.value(tag, depth + 1)?));
                }
                Plist::Dict(entries)
            }
            "array" => {
                let mut items = Vec::new();
                while let Some(tag) = self.more(empty)? {
                    items.push(self.value(tag, depth + 1)?);
                }
                Plist::List(items)
            }
            "true" | "false" => {
                self.inner(tag)?;
                Plist::Number(i64::from(tag.0 == "true"))
            }
            "string" => Plist::Text(unescaped(self.inner(tag)?)),
            "integer" => Plist::Number(self.inner(tag)?.trim().parse().ok()?),
            "data" => Plist::Data(base64(self.inner(tag)?)),
            _ => {
                self.inner(tag)?;
                Plist::Other
            }
        })
    }
}

fn unescaped(text: &str) -> String {
    // `&amp;` last, or what it stands for would be read twice.
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (name, is)| text.replace(name, is))
}

/// Decodes it, passing over white space and whatever else does not belong there.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte)) {
        bits = (bits << 6) | u32::try_from(digit).unwrap_or_default();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(((bits >> count) & 0xff).to_le_bytes()[0]);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Plist {
        Plist::Text(text.to_owned())
    }

    /// Of Python: `plistlib.dumps({"PackageVersion": "26.1.0.0.1", "名": ["é", 1, -1, True, 300, b"\x01"]}, fmt=plistlib.FMT_BINARY)`.
    const BINARY: &[u8] =
        b"bplist00\xd2\x01\x02\x03\x04^PackageVersionaT\x0dZ26.1.0.0.1\xa6\x05\x06\x07\x08\x09\x0aa\x00\
        \xe9\x10\x01\x13\xff\xff\xff\xff\xff\xff\xff\xff\x09\x11\x01,A\x01\x08\x0d\x1c\x1f*146?@C\x00\
        \x00\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00\x00\x0b\x00\x00\x00\x00\x00\x00\x00\x00\x00\
        \x00\x00\x00\x00\x00\x00E";

    #[test]
    fn both_forms_are_read() {
        let list = vec![text("é"), Plist::Number(1), Plist::Number(-1), Plist::Number(1), Plist::Number(300)];
        let list = Plist::List([list, vec![Plist::Data(vec![1])]].concat());
        let expected = Plist::Dict(vec![("PackageVersion".to_owned(), text("26.1.0.0.1")), ("名".to_owned(), list)]);
        assert_eq!(Plist::read(BINARY).unwrap(), expected);
        let xml = "<?xml version=\"1.0\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"x\">\n<plist version=\"1.0\">
            <!-- <dict> -->\n<dict><key>PackageVersion</key> <string>26.1.0.0.1</string>
            <key>名</key><array><string>é</string><integer>1</integer><integer>-1</integer><true/>
            <integer>300</integer><data>\n\tAQ==\n</data></array></dict></plist>";
        assert_eq!(Plist::read(xml.as_bytes()).unwrap(), expected);
        let empty = "<dict><key>a&amp;lt;</key><dict/><key>b</key><array></array><key>c</key><string/>\
                     <key>d</key><date>2026-01-01</date></dict>";
        let read = Plist::read(empty.as_bytes()).unwrap();
        assert_eq!(read.get("a&lt;"), Some(&Plist::Dict(Vec::new())));
        assert_eq!((read.get("b"), read.get("c")), (Some(&Plist::List(Vec::new())), Some(&text(""))));
        assert_eq!((read.get("d"), read.at(&["a&lt;", "x"])), (Some(&Plist::Other), None));
    }

    #[test]
    fn damaged_ones_are_none() {
        for xml in
            ["", "<plist>", "<dict><key>a</key>", "<dict><string>a</string></dict>", "</dict>", "<integer>x</integer>"]
        {
            assert_eq!(Plist::read(xml.as_bytes()), None, "{xml}");
        }
        assert_eq!(Plist::read("<array>".repeat(100_000).as_bytes()), None);
        for length in 0..BINARY.len() {
            let _ = Plist::read(&BINARY[..length]);
        }
        // Every byte changed to every other of some: nothing of it may end us, or go on for ever.
        let mut bytes = BINARY.to_vec();
        for at in 0..bytes.len() {
            for change in [0, 1, 0x0f, 0x7f, 0x80, 0xa1, 0xd3, 0xff] {
                let kept = std::mem::replace(&mut bytes[at], change);
                let _ = Plist::read(&bytes);
                bytes[at] = kept;
            }
        }
    }

    #[test]
    fn one_that_names_itself_ends() {
        // One list whose only item is itself, and one of many lists that double.
        let mut bytes = b"bplist00\xa1\x00\x08".to_vec();
        let mut trailer = [0; 32];
        (trailer[6], trailer[7], trailer[15], trailer[31]) = (1, 1, 1, 10);
        bytes.extend(trailer);
        assert_eq!(Plist::read(&bytes), None);
        let mut bytes = b"bplist00".to_vec();
        let lists = 31_u8;
        for list in 0..lists {
            bytes.extend([0xa2, list + 1, list + 1]);
        }
        bytes.push(0x09);
        let table = bytes.len();
        bytes.extend((0..=lists).map(|list| 8 + 3 * list));
        let mut trailer = [0; 32];
        (trailer[6], trailer[7], trailer[15]) = (1, 1, lists + 1);
        trailer[31] = u8::try_from(table).unwrap();
        bytes.extend(trailer);
        assert_eq!(Plist::read(&bytes), None);
    }
}
