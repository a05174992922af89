//! A parsed page in few bytes: what the cache holds and what a [`Page`] reads its releases from.
//!
//! ```text
//! u32 length of the table │ table: versions, oldest first, each with the place of its files │ files of each version
//! ```
//!
//! Opening reads the table alone; a version's files are read when it is looked at.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::simple::{Listed, SOURCE_ENDINGS};
use super::source::{File, Page, Release};
use crate::pep::{PackageName, Sha256, Specifiers, Version, WheelName};

#[derive(Serialize, Deserialize)]
struct Table<'a> {
    /// What most addresses begin with.
    prefix: &'a str,
    #[serde(borrow)]
    releases: Vec<Row<'a>>,
    /// Every wheel has a day of upload: then nobody reads them all to find out.
    all_dated: bool,
}

#[derive(Serialize, Deserialize)]
struct Row<'a> {
    version: &'a str,
    source_archive: bool,
    /// Length of its files; they lie in the order of the rows.
    length: u32,
}

#[derive(Serialize, Deserialize)]
struct Entry<'a> {
    filename: &'a str,
    url: Address<'a>,
    sha256: Option<[u8; 32]>,
    size: Option<u64>,
    requires_python: Option<&'a str>,
    upload_day: Option<&'a str>,
    yanked: Option<&'a str>,
    metadata_file: Option<Option<[u8; 32]>>,
}

#[derive(Serialize, Deserialize)]
enum Address<'a> {
    /// The prefix, this, and the file name.
    Usual(&'a str),
    /// As it is.
    Whole(&'a str),
}

/// Stores the files of a page. Files of other packages, or with names that no standard knows, are left out; of two
/// with one name, the first counts.
pub(super) fn encode(files: &[Listed<'_>], name: &PackageName) -> Vec<u8> {
    let mut releases: BTreeMap<Version, (bool, Vec<&Listed<'_>>)> = BTreeMap::new();
    let mut names = HashSet::new();
    // A file is asked for by its name, so that two of one name would be taken for each other.
    for file in files.iter().filter(|file| names.insert(&*file.filename)) {
        if file.filename.ends_with(".whl") {
            if let Some(wheel) = file.filename.parse::<WheelName>().ok().filter(|wheel| wheel.name == *name) {
                releases.entry(wheel.version).or_default().1.push(file);
            }
        } else if let Some(version) = source_version(&file.filename, name) {
            releases.entry(version).or_default().0 = true;
        }
    }
    let prefix = common_prefix(releases.values().flat_map(|(_, files)| files));
    let mut rows = Vec::with_capacity(releases.len());
    let mut body = Vec::new();
    let texts: Vec<String> = releases.keys().map(Version::to_string).collect();
    for (text, (source_archive, files)) in texts.iter().zip(releases.values()) {
        let stored: Vec<Entry<'_>> = files.iter().map(|file| stored(file, prefix)).collect();
        let bytes = postcard::to_stdvec(&stored).expect("plain data always encodes");
        rows.push(Row { version: text, source_archive: *source_archive, length: bytes.len() as u32 });
        body.extend(bytes);
    }
    let mut wheels = releases.values().flat_map(|(_, files)| files);
    let all_dated = wheels.all(|file| day(file).is_some());
    let table = postcard::to_stdvec(&Table { prefix, releases: rows, all_dated }).expect("plain data always encodes");
    let mut bytes = Vec::with_capacity(4 + table.len() + body.len());
    bytes.extend((table.len() as u32).to_le_bytes());
    bytes.extend(table);
    bytes.extend(body);
    bytes
}

fn stored<'a>(file: &'a Listed<'_>, prefix: &str) -> Entry<'a> {
    let middle = file.url.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(&*file.filename));
    Entry {
        filename: &file.filename,
        url: middle.map_or(Address::Whole(&file.url), Address::Usual),
        sha256: file.sha256.map(|sha256| *sha256.as_bytes()),
        size: file.size,
        requires_python: file.requires_python.as_deref(),
        upload_day: day(file),
        yanked: file.yanked.as_deref(),
        metadata_file: file.metadata_file.map(|sha256| sha256.map(|sha256| *sha256.as_bytes())),
    }
}

fn day<'a>(file: &'a Listed<'_>) -> Option<&'a str> {
    file.upload_time.as_deref().and_then(|time| time.get(..10)).filter(|day| is_day(day))
}

fn is_day(text: &str) -> bool {
    let shape = |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(shape)
}

/// Returns what all addresses of the page begin with, up to a `/`.
fn common_prefix<'a>(mut files: impl Iterator<Item = &'a &'a Listed<'a>>) -> &'a str {
    let Some(first) = files.next() else { return "" };
    let mut prefix = &*first.url;
    for file in files {
        let same = prefix.bytes().zip(file.url.bytes()).take_while(|(left, right)| left == right).count();
        prefix = &prefix[..prefix.floor_char_boundary(same)];
    }
    &prefix[..prefix.rfind('/').map_or(0, |at| at + 1)]
}

/// Reads the version out of a source archive's name, for which old ones follow no rule: `my-name-1.0.tar.gz`.
fn source_version(filename: &str, name: &PackageName) -> Option<Version> {
    let stem = SOURCE_ENDINGS.iter().find_map(|ending| filename.strip_suffix(ending))?;
    let splits = stem.match_indices('-').map(|(at, _)| (&stem[..at], &stem[at + 1..]));
    let mut fitting = splits.filter(|(left, _)| left.parse::<PackageName>().is_ok_and(|left| left == *name));
    fitting.find_map(|(_, right)| right.parse().ok())
}

/// Opens what [`encode`] made, from `start` on; `None` when it is damaged.
pub(super) fn open(bytes: Arc<[u8]>, start: usize) -> Option<Page> {
    let body = bytes.get(start..)?;
    let (length, rest) = body.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let table: Table<'_> = postcard::from_bytes(rest.get(..length)?).ok()?;
    let mut at = start + 4 + length;
    let mut versions = Vec::with_capacity(table.releases.len());
    let mut places = Vec::with_capacity(table.releases.len());
    for row in &table.releases {
        versions.push(row.version.parse().ok()?);
        let end = at + row.length as usize;
        places.push((row.source_archive, at..end));
        at = end;
    }
    if at != bytes.len() {
        return None;
    }
    let (prefix, all_dated): (Arc<str>, bool) = (table.prefix.into(), table.all_dated);
    let load = move |at: usize| {
        let (source_archive, place) = places[at].clone();
        let rows: Vec<Entry<'_>> = postcard::from_bytes(&bytes[place]).unwrap_or_default();
        let mut last: Option<(&str, Option<Specifiers>)> = None;
        let mut wheels = Vec::with_capacity(rows.len());
        for row in rows {
            // The files of one version mostly say the same.
            let requires_python = row.requires_python.and_then(|text| match &last {
                Some((known, specifiers)) if *known == text => specifiers.clone(),
                _ => {
                    // As pip does, a text that is no specifier is passed over; METADATA decides.
                    let specifiers = Specifiers::parse_lenient(text).ok();
                    last = Some((text, specifiers.clone()));
                    specifiers
                }
            });
            wheels.extend(file(&row, requires_python, &prefix).map(Arc::new));
        }
        Release { wheels, source_archive }
    };
    Some(Page::lazy(versions, all_dated, Box::new(load)))
}

fn file(row: &Entry<'_>, requires_python: Option<Specifiers>, prefix: &str) -> Option<File> {
    Some(File {
        wheel: row.filename.parse().ok()?,
        filename: row.filename.into(),
        url: match row.url {
            Address::Usual(middle) => format!("{prefix}{middle}{}", row.filename).into(),
            Address::Whole(url) => url.into(),
        },
        sha256: row.sha256.map(Sha256::from_bytes),
        size: row.size,
        requires_python,
        upload_day: row.upload_day.map(Into::into),
        yanked: row.yanked.map(Into::into),
        metadata_file: row.metadata_file.map(|sha256| sha256.map(Sha256::from_bytes)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(filename: &str, url: &str) -> Listed<'static> {
        Listed {
            filename: filename.to_owned().into(),
            url: url.to_owned().into(),
            sha256: Some(Sha256::of(filename.as_bytes())),
            size: Some(7),
            requires_python: Some(">=3.9".into()),
            upload_time: Some("2024-01-02T03:04:05Z".into()),
            yanked: Some("".into()),
            metadata_file: Some(None),
        }
    }

    fn stored(files: &[Listed<'_>]) -> Arc<[u8]> {
        encode(files, &"my-pkg".parse().unwrap()).into()
    }

    #[test]
    fn a_page_survives() {
        let files = [
            listed("my_pkg-1.10-py3-none-any.whl", "https://f.example/a/b/my_pkg-1.10-py3-none-any.whl"),
            listed("my_pkg-1.9-py3-none-any.whl", "https://f.example/a/c/my_pkg-1.9-py3-none-any.whl"),
            listed("my_pkg-1.9.0-cp312-cp312-macosx_11_0_arm64.whl", "https://f.example/a/d/other?x=1"),
            listed("My.Pkg-1.9.tar.gz", "https://f.example/x"),
            listed("my-pkg-2.zip", "https://f.example/x"),
            listed("other-1.0-py3-none-any.whl", "https://f.example/x"),
            listed("my_pkg-1.9.exe", "https://f.example/x"),
        ];
        let page = open(stored(&files), 0).unwrap();
        let versions: Vec<String> = page.versions().map(ToString::to_string).collect();
        assert_eq!(versions, ["2", "1.10", "1.9"]);
        let release = page.release(&"1.9.0".parse().unwrap()).unwrap();
        assert!(release.source_archive);
        let urls: Vec<&str> = release.wheels.iter().map(|file| &*file.url).collect();
        assert_eq!(urls, [&*files[1].url, &*files[2].url]);
        let file = &release.wheels[0];
        assert_eq!((file.sha256, file.size, file.metadata_file), (files[1].sha256, Some(7), Some(None)));
        assert_eq!((file.upload_day.as_deref(), file.yanked.as_deref()), (Some("2024-01-02"), Some("")));
        assert_eq!(page.release(&"3".parse().unwrap()), None);
        assert!(page.all_dated());
        let mut undated = files;
        undated[2].upload_time = None;
        assert!(!open(stored(&undated), 0).unwrap().all_dated());
    }

    #[test]
    fn of_two_files_with_one_name_the_first_counts() {
        let name = "my_pkg-1.9-py3-none-any.whl";
        let files = [listed(name, "https://f.example/a"), listed(name, "https://f.example/b")];
        let page = open(stored(&files), 0).unwrap();
        let wheels = &page.release(&"1.9".parse().unwrap()).unwrap().wheels;
        assert_eq!(wheels.iter().map(|file| &*file.url).collect::<Vec<_>>(), ["https://f.example/a"]);
    }

    #[test]
    fn damage_is_seen_or_harmless() {
        let whole = stored(&[listed("my_pkg-1.9-py3-none-any.whl", "https://f.example/my_pkg-1.9-py3-none-any.whl")]);
        for length in 0..whole.len() {
            assert!(open(whole[..length].into(), 0).is_none(), "{length}");
        }
    }

    #[test]
    fn days() {
        for (text, wanted) in [("2024-01-02", true), ("2024-1-2", false), ("2024/01/02", false), ("", false)] {
            assert_eq!(is_day(text), wanted, "{text}");
        }
    }
}
