//! RECORD, and the other small files that an installer leaves in `.dist-info`.
//!
//! <https://packaging.python.org/en/latest/specifications/recording-installed-packages/>

use url::Url;

use super::fault::Fault;
use crate::pep::Sha256;

/// The text of INSTALLER.
pub(super) const INSTALLER: &str = "macml\n";

/// What RECORD says of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) path: String,
    pub(super) hash: Option<Hash>,
    pub(super) size: Option<u64>,
}

/// A hash in RECORD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Hash {
    Sha256([u8; 32]),
    Sha384([u8; 48]),
    Sha512([u8; 64]),
    /// An algorithm that proves nothing or that is not known.
    Other(String),
}

/// Reads RECORD.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Row>, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::RecordLine { line: 1, reason: "it is no UTF-8" })?;
    let mut rows = Vec::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut line = 0;
    while !rest.is_empty() {
        line += 1;
        let bad = |reason| Fault::RecordLine { line, reason };
        let fields = row(&mut rest).map_err(bad)?;
        match &fields[..] {
            [only] if only.is_empty() => {}
            [path, hash, size, ..] => rows.push(Row {
                path: path.clone(),
                hash: read_hash(hash).map_err(bad)?,
                size: match size.as_str() {
                    "" => None,
                    size => Some(size.parse().map_err(|_| bad("the size is no number"))?),
                },
            }),
            _ => return Err(bad("it does not have three fields")),
        }
    }
    Ok(rows)
}

/// A file as the RECORD of an installed package names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// Its path, as it is written there: relative to the folder that `.dist-info` lies in.
    pub path: String,
    /// Its digest, where it has one of this kind.
    pub sha256: Option<Sha256>,
    /// Its size.
    pub size: Option<u64>,
}

/// Reads the RECORD of an installed package; `None` when it cannot be read.
pub fn recorded(bytes: &[u8]) -> Option<Vec<Recorded>> {
    let one = |row: Row| {
        let sha256 = match row.hash {
            Some(Hash::Sha256(digest)) => Some(Sha256::from_bytes(digest)),
            _ => None,
        };
        Recorded { path: row.path, sha256, size: row.size }
    };
    Some(parse(bytes).ok()?.into_iter().map(one).collect())
}

/// Returns a path of a RECORD as seen from the root of the tree, in which packages lie in `site`; `None` when it lies
/// outside of the tree.
pub fn from_root(site: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    if !path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Some([site, "/", path].concat());
    }
    let mut parts: Vec<&str> = site.split('/').collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Takes the fields of a line of comma-separated values, quoted or not.
fn row(rest: &mut &str) -> Result<Vec<String>, &'static str> {
    let mut fields = Vec::new();
    loop {
        let mut field = String::new();
        if let Some(mut quoted) = rest.strip_prefix('"') {
            loop {
                let (inside, after) = quoted.split_once('"').ok_or("a quote is not closed")?;
                field.push_str(inside);
                match after.strip_prefix('"') {
                    Some(more) => {
                        field.push('"');
                        quoted = more;
                    }
                    None => {
                        *rest = after;
                        break;
                    }
                }
            }
        } else {
            let end = rest.find([',', '\n', '\r']).unwrap_or(rest.len());
            field.push_str(&rest[..end]);
            *rest = &rest[end..];
        }
        fields.push(field);
        if let Some(more) = rest.strip_prefix(',') {
            *rest = more;
            continue;
        }
        let line = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\n', '\r']));
        match line {
            Some(more) => *rest = more,
            None if rest.is_empty() => {}
            None => return Err("there is something behind a quote"),
        }
        return Ok(fields);
    }
}

fn read_hash(text: &str) -> Result<Option<Hash>, &'static str> {
    const BAD: &str = "the hash is not of its length in base64";
    if text.is_empty() {
        return Ok(None);
    }
    let (algorithm, digest) = text.split_once('=').ok_or("the hash does not name its kind")?;
    // Some tools pad, which the standard does not.
    let digest = digest.trim_end_matches('=');
    let whole = |length| decode(digest).filter(|bytes| bytes.len() == length).ok_or(BAD);
    Ok(Some(match algorithm {
        "sha256" => Hash::Sha256(whole(32)?.try_into().map_err(|_| BAD)?),
        "sha384" => Hash::Sha384(whole(48)?.try_into().map_err(|_| BAD)?),
        "sha512" => Hash::Sha512(whole(64)?.try_into().map_err(|_| BAD)?),
        other => Hash::Other(other.to_owned()),
    }))
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Writes bytes in the base64 of addresses, without padding.
fn encode(bytes: &[u8], text: &mut String) {
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for at in 0..=group.len() {
            text.push(char::from(LETTERS[(word >> (18 - 6 * at) & 63) as usize]));
        }
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for letter in group {
            let value = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'-' => 62,
                b'_' => 63,
                _ => return None,
            };
            word = word << 6 | u32::from(value);
        }
        word <<= 6 * (4 - group.len());
        // A single letter is less than a byte, and bits that are left over are none of it.
        let length = group.len().checked_sub(1).filter(|length| *length > 0)?;
        if word & (0xff_ffff >> (8 * length)) != 0 {
            return None;
        }
        bytes.extend_from_slice(&word.to_be_bytes()[1..=length]);
    }
    Some(bytes)
}

/// A file as RECORD of an environment lists it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Listed {
    /// Relative to the folder that `.dist-info` lies in.
    pub(super) path: String,
    /// Its digest and size; RECORD itself has none.
    pub(super) content: Option<(Sha256, u64)>,
}

/// Writes RECORD, sorted by path.
pub(super) fn text(mut rows: Vec<Listed>) -> String {
    use std::fmt::Write as _;
    rows.sort();
    let mut text = String::new();
    for row in rows {
        if row.path.contains([',', '"', '\n', '\r']) {
            text.push('"');
            text.push_str(&row.path.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(&row.path);
        }
        match row.content {
            Some((sha256, size)) => {
                text.push_str(",sha256=");
                encode(sha256.as_bytes(), &mut text);
                write!(text, ",{size}").expect("writing to a text does not fail");
            }
            None => text.push_str(",,"),
        }
        text.push('\n');
    }
    text
}

/// Writes direct_url.json (PEP 610) for a wheel that did not come from an index: its address, without user and
/// password, or a `file:` address.
pub fn direct_url(url: &Url, sha256: Sha256) -> String {
    let mut shown = url.clone();
    // Neither fails for an address that has a user to begin with.
    let _ = shown.set_password(None);
    let _ = shown.set_username("");
    shown.set_fragment(None);
    let digest = sha256.to_string();
    let archive = serde_json::json!({ "hash": format!("sha256={digest}"), "hashes": { "sha256": digest } });
    serde_json::json!({ "archive_info": archive, "url": shown.as_str() }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";

    fn hash() -> Option<Hash> {
        Some(Hash::Sha256(*Sha256::of(b"").as_bytes()))
    }

    #[test]
    fn rows_are_read() {
        let check = |text: &str, expected: &[(&str, Option<Hash>, Option<u64>)]| {
            let rows = parse(text.as_bytes()).unwrap();
            let rows: Vec<_> = rows.iter().map(|row| (row.path.as_str(), row.hash.clone(), row.size)).collect();
            assert_eq!(rows, expected, "{text:?}");
        };
        check("", &[]);
        check(
            &format!("a/b.py,sha256={EMPTY},0\r\n\na/RECORD,,"),
            &[("a/b.py", hash(), Some(0)), ("a/RECORD", None, None)],
        );
        check(&format!("\"a,\"\"b\"\".py\",sha256={EMPTY},\n"), &[("a,\"b\".py", hash(), None)]);
        check(&format!("a,sha256={EMPTY}=,7,more\n"), &[("a", hash(), Some(7))]);
        check("a,md5=x,\n", &[("a", Some(Hash::Other("md5".to_owned())), None)]);
        check("\u{feff}a,,\n", &[("a", None, None)]);
    }

    #[test]
    fn lines_that_cannot_be_read() {
        let check = |text: &[u8], at: usize, expected: &str| match parse(text).unwrap_err() {
            Fault::RecordLine { line, reason } => assert_eq!((line, reason), (at, expected)),
            other => panic!("{other}"),
        };
        check(b"a,,\nb,c\n", 2, "it does not have three fields");
        check(b"a,,x\n", 1, "the size is no number");
        check(b"a,,-1\n", 1, "the size is no number");
        check(b"a,sha256,\n", 1, "the hash does not name its kind");
        check(b"a,sha256=abc,\n", 1, "the hash is not of its length in base64");
        check(format!("a,sha256={}!,\n", &EMPTY[..42]).as_bytes(), 1, "the hash is not of its length in base64");
        check(b"\"a,,\n", 1, "a quote is not closed");
        check(b"\"a\"b,,\n", 1, "there is something behind a quote");
        check(b"\xff,,\n", 1, "it is no UTF-8");
    }

    #[test]
    fn base64_is_that_of_addresses() {
        for length in 0..70 {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 37 + 5) as u8).collect();
            let mut text = String::new();
            encode(&bytes, &mut text);
            assert_eq!(decode(&text).unwrap(), bytes);
        }
        let mut text = String::new();
        encode(Sha256::of(b"").as_bytes(), &mut text);
        assert_eq!(text, EMPTY);
        // Two texts must not be one hash.
        assert_eq!(decode("AB"), None);
        assert_eq!(decode("A"), None);
        assert_eq!(decode("AA+/"), None);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let content = Some((Sha256::of(b"x"), 1));
        let rows = ["b", "a,\"c", "../../../bin/x"].map(|path| Listed { path: path.to_owned(), content });
        let text = text([&rows[..], &[Listed { path: "RECORD".to_owned(), content: None }]].concat());
        let read = parse(text.as_bytes()).unwrap();
        let paths: Vec<_> = read.iter().map(|row| row.path.as_str()).collect();
        assert_eq!(paths, ["../../../bin/x", "RECORD", "a,\"c", "b"]);
        assert_eq!(read[0].hash, Some(Hash::Sha256(*Sha256::of(b"x").as_bytes())));
        assert_eq!((read[0].size, &read[1].hash, read[1].size), (Some(1), &None, None));
    }

    #[test]
    fn paths_are_seen_from_the_root() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(from_root("lib/python3.13/site-packages", path).as_deref(), expected, "{path}");
        };
        check("a/b.py", Some("lib/python3.13/site-packages/a/b.py"));
        check("../../../bin/x", Some("bin/x"));
        check("./a//../b", Some("lib/python3.13/site-packages/b"));
        check("../../../../x", None);
        check("/etc/passwd", None);
        check("../../..", None);
    }

    #[test]
    fn where_a_wheel_came_from_is_told_without_secrets() {
        let url: Url = "https://ada:secret@example.com/a-1.0-py3-none-any.whl?x=1#sha256=00".parse().unwrap();
        let text = direct_url(&url, Sha256::of(b""));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["url"], "https://example.com/a-1.0-py3-none-any.whl?x=1");
        assert_eq!(value["archive_info"]["hashes"]["sha256"], Sha256::of(b"").to_string());
        assert_eq!(value["archive_info"]["hash"], format!("sha256={}", Sha256::of(b"")));
        assert!(!text.contains("ada"));
    }
}
