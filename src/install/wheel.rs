//! A wheel over any reader, judged before a byte of it is written: the paths of its entries, what it says it is, and
//! RECORD against what is there. Writes nothing and knows no folder.
//!
//! <https://packaging.python.org/en/latest/specifications/binary-distribution-format/>

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::io::{Read, Seek};

use sha2::Digest as _;

use super::archive::{Archive, Entry};
use super::content::Content;
use super::fault::{Fault, WheelError};
use super::names;
use super::names::{Clash, Spelling, Tree};
use super::record;
use super::record::Hash;
use super::scripts;
use super::scripts::EntryPoint;
use crate::knowledge::Knowledge;
use crate::pep::{Metadata, Sha256, WheelName};

/// The most entries; torch has 13,000.
const MOST_ENTRIES: usize = 500_000;

/// What any wheel may unpack to, however small it is packed.
const ALWAYS_UNPACKED: u64 = 256 << 20;

/// How many times its own size a larger wheel may unpack to. Of 85 everyday wheels none passes eight.
const MOST_TIMES: u64 = 200;

/// The largest METADATA, WHEEL or entry_points.txt.
const TEXT_LIMIT: u64 = 16 << 20;

/// The bits of a mode that say what an entry is, and the value for a file.
const TYPE: u32 = 0o170_000;
const FILE: u32 = 0o100_000;

/// The largest RECORD.
const RECORD_LIMIT: u64 = 128 << 20;

/// What an installer needs to know of a wheel besides its files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// Its `.dist-info` folder.
    pub dist_info: String,
    /// Its `.data` folder.
    pub data: Option<String>,
    /// Whether it goes to `purelib` rather than `platlib`.
    pub purelib: bool,
    /// The commands that it asks for.
    pub entry_points: Vec<EntryPoint>,
    /// Tags inside it that its file name does not have; the file name counts.
    pub strange_tags: Vec<String>,
}

/// A file in a wheel.
#[derive(Clone, Debug)]
pub struct WheelFile {
    /// Its path, which is safe to write.
    pub path: String,
    /// Its size.
    pub size: u64,
    /// Whether it is to be run.
    pub executable: bool,
    entry: usize,
    expected: Option<Hash>,
}

/// A wheel whose paths are safe and that is what its name says.
#[derive(Debug)]
pub struct Wheel<R> {
    /// Its file name.
    pub name: WheelName,
    /// What it says of itself.
    pub about: About,
    /// Its files, sorted by path.
    pub files: Vec<WheelFile>,
    archive: Archive<R>,
}

/// Opens a wheel and judges it.
///
/// # Errors
/// When it is damaged, or lies.
pub fn open<R: Read + Seek>(reader: R, name: &WheelName) -> Result<Wheel<R>, WheelError> {
    let refused = |fault| WheelError { wheel: Box::new(name.clone()), fault };
    let (wheel, unrecorded) = judge(reader, name).map_err(refused)?;
    unrecorded.map_or(Ok(wheel), |fault| Err(refused(fault)))
}

/// Opens a wheel for one who only looks at its files and knows that its bytes are the locked ones. What its RECORD says
/// wrong is returned beside it: other installers pass over that.
///
/// # Errors
/// When it is damaged, or lies in another way.
pub fn open_to_look<R: Read + Seek>(reader: R, name: &WheelName) -> Result<(Wheel<R>, Option<Fault>), WheelError> {
    judge(reader, name).map_err(|fault| WheelError { wheel: Box::new(name.clone()), fault })
}

/// Judges a wheel; what is wrong with RECORD alone stands beside it.
fn judge<R: Read + Seek>(reader: R, name: &WheelName) -> Result<(Wheel<R>, Option<Fault>), Fault> {
    let mut archive = Archive::open(reader)?;
    let size = archive.entries.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.size));
    check_amount(archive.entries.len(), size, archive.length)?;
    check_paths(&archive.entries)?;
    let (dist_info, data) = own_folders(&archive.entries, name)?;
    let place: HashMap<String, usize> =
        archive.entries.iter().enumerate().map(|(at, entry)| (entry.path.clone(), at)).collect();
    let within = |file: &str| format!("{dist_info}/{file}");
    let find = |file: &str| place.get(&within(file)).copied().ok_or_else(|| Fault::Missing { entry: within(file) });

    check_metadata(&archive.read(find("METADATA")?, TEXT_LIMIT)?, name)?;
    let wheel = archive.read(find("WHEEL")?, TEXT_LIMIT)?;
    let (purelib, strange_tags) = read_wheel(&wheel, name)?;
    let record = archive.read(find("RECORD")?, RECORD_LIMIT)?;
    let recorded = record::parse(&record)
        .and_then(|record| check_record(&archive.entries, record, &within("RECORD"), data.as_deref()));
    let (files, unrecorded) = match recorded {
        Ok(files) => (files, None),
        Err(fault) => (as_they_are(&archive.entries, data.as_deref())?, Some(fault)),
    };
    let entry_points = match find("entry_points.txt") {
        Ok(at) => scripts::parse(&archive.read(at, TEXT_LIMIT)?)?,
        Err(_) => Vec::new(),
    };
    let about = About { dist_info, data, purelib, entry_points, strange_tags };
    Ok((Wheel { name: name.clone(), about, files, archive }, unrecorded))
}

impl<R: Read + Seek> Wheel<R> {
    /// Returns how many bytes its files have together.
    pub fn unpacked_size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Opens a file for reading parts of it, for one who knows that the wheel's bytes are the locked ones: neither
    /// checksum nor RECORD is looked at.
    pub fn content(&mut self, file: &WheelFile) -> Content<'_, R> {
        self.archive.content(file.entry)
    }

    /// Hands on the content of a file piece by piece; returns its digest. Nobody must trust the pieces before.
    ///
    /// # Errors
    /// When the file is not what the archive or RECORD says, or the first of `sink`.
    pub fn unpack<E: From<WheelError>>(
        &mut self,
        file: &WheelFile,
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Sha256, E> {
        /// A fault of the wheel, or of where it goes.
        enum Either<E> {
            Wheel(Fault),
            Sink(E),
        }
        impl<E> From<Fault> for Either<E> {
            fn from(fault: Fault) -> Self {
                Self::Wheel(fault)
            }
        }
        let mut digest = sha2::Sha256::new();
        let mut longer = match &file.expected {
            Some(Hash::Sha384(_)) => Longer::Sha384(sha2::Sha384::new()),
            Some(Hash::Sha512(_)) => Longer::Sha512(sha2::Sha512::new()),
            _ => Longer::None,
        };
        let refused = |fault| WheelError { wheel: Box::new(self.name.clone()), fault };
        let outcome = self.archive.unpack(file.entry, &mut |piece| {
            digest.update(piece);
            match &mut longer {
                Longer::None => {}
                Longer::Sha384(digest) => digest.update(piece),
                Longer::Sha512(digest) => digest.update(piece),
            }
            sink(piece).map_err(Either::Sink)
        });
        match outcome {
            Ok(()) => {}
            Err(Either::Wheel(fault)) => return Err(refused(fault).into()),
            Err(Either::Sink(error)) => return Err(error),
        }
        let sha256: [u8; 32] = digest.finalize().into();
        let same = match (&file.expected, longer) {
            (None, _) => true,
            (Some(Hash::Sha256(expected)), _) => *expected == sha256,
            (Some(Hash::Sha384(expected)), Longer::Sha384(digest)) => expected[..] == digest.finalize()[..],
            (Some(Hash::Sha512(expected)), Longer::Sha512(digest)) => expected[..] == digest.finalize()[..],
            _ => false,
        };
        if same {
            Ok(Sha256::from_bytes(sha256))
        } else {
            Err(refused(Fault::Hash { entry: file.path.clone() }).into())
        }
    }
}

/// The digest beside sha256 that a RECORD asks for.
enum Longer {
    None,
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
}

/// Checks that the files of a wheel are not more than files of wheels are.
fn check_amount(count: usize, size: u64, packed: u64) -> Result<(), Fault> {
    if count > MOST_ENTRIES {
        return Err(Fault::Entries { count });
    }
    if size > ALWAYS_UNPACKED.max(packed.saturating_mul(MOST_TIMES)) {
        return Err(Fault::Bomb { size, packed });
    }
    Ok(())
}

/// Checks that each path may be written and has a place of its own, and that entries are files or folders.
fn check_paths(entries: &[Entry]) -> Result<(), Fault> {
    let mut tree = Tree::new(Spelling::Folded);
    for entry in entries {
        let path = entry.path.strip_suffix('/').unwrap_or(&entry.path);
        names::check(path).map_err(|fault| Fault::Path { entry: entry.path.escape_debug().to_string(), fault })?;
        let own = || entry.path.clone();
        match entry.mode & TYPE {
            0o120_000 => return Err(Fault::Symlink { entry: own() }),
            // Tools of other systems leave it empty.
            0 | FILE => {}
            0o040_000 if entry.is_folder() => {}
            _ => return Err(Fault::Special { entry: own() }),
        }
        if entry.is_folder() && entry.size > 0 {
            return Err(Fault::FolderContent { entry: own() });
        }
        let put = if entry.is_folder() { tree.folder(path, ()) } else { tree.file(path, ()) };
        put.map_err(|(clash, ())| match clash {
            Clash::Same => Fault::Twice { entry: own() },
            Clash::Spelling(other) => Fault::Spelling { entry: own(), other },
            Clash::FileAndFolder(other) => Fault::FileAndFolder { entry: own(), other },
        })?;
    }
    Ok(())
}

/// Finds the `.dist-info` folder and the `.data` folder, which must be those of the wheel's name.
fn own_folders(entries: &[Entry], wheel: &WheelName) -> Result<(String, Option<String>), Fault> {
    let tops: BTreeSet<&str> = entries.iter().filter_map(|entry| Some(entry.path.split_once('/')?.0)).collect();
    let ending = |end: &'static str| {
        let ends = move |top: &&&str| {
            let from = top.len().checked_sub(end.len());
            from.and_then(|from| top.get(from..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
        };
        tops.iter().filter(ends).copied()
    };
    let is_own = |folder: &str, end: &str| {
        let parts = folder.strip_suffix(end).and_then(|stem| stem.split_once('-'));
        parts.is_some_and(|(name, version)| {
            name.parse().is_ok_and(|name| wheel.name == name)
                && version.parse().is_ok_and(|version| wheel.version == version)
        })
    };
    let mut infos = ending(".dist-info");
    let info = infos.next().ok_or(Fault::NoDistInfo)?;
    if let Some(second) = infos.next() {
        return Err(Fault::TwoDistInfo { first: info.to_owned(), second: second.to_owned() });
    }
    if !is_own(info, ".dist-info") {
        return Err(Fault::WrongDistInfo { found: info.to_owned() });
    }
    let mut data = None;
    for folder in ending(".data") {
        if data.is_some() || !is_own(folder, ".data") {
            return Err(Fault::WrongData { found: folder.to_owned() });
        }
        data = Some(folder.to_owned());
    }
    Ok((info.to_owned(), data))
}

fn check_metadata(bytes: &[u8], wheel: &WheelName) -> Result<(), Fault> {
    let metadata =
        Metadata::parse(bytes).map_err(|cause| Fault::Metadata { reason: format!("cannot be read: {cause}") })?;
    if (&metadata.name, &metadata.version) != (&wheel.name, &wheel.version) {
        let reason = format!("is that of {} {}", metadata.name, metadata.version);
        return Err(Fault::Metadata { reason });
    }
    Ok(())
}

/// Reads WHEEL: whether the wheel goes to `purelib`, and the tags that the file name does not have.
fn read_wheel(bytes: &[u8], wheel: &WheelName) -> Result<(bool, Vec<String>), Fault> {
    let text = String::from_utf8_lossy(bytes);
    let fields = |wanted: &'static str| {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.filter(move |(field, _)| field.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
    };
    let version = fields("Wheel-Version").next().ok_or(Fault::NoFormat)?;
    let major: u64 = version.split('.').next().unwrap_or_default().parse().map_err(|_| Fault::NoFormat)?;
    // A later minor may be installed, the standard says, as far as it is understood.
    if major != 1 {
        return Err(Fault::Format { version: version.escape_debug().to_string() });
    }
    let purelib = fields("Root-Is-Purelib").next().is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let (pythons, abis, platforms): (Vec<_>, Vec<_>, Vec<_>) =
        (wheel.python_tags().collect(), wheel.abi_tags().collect(), wheel.platform_tags().collect());
    let strange = |tag: &&str| {
        let tag = tag.to_ascii_lowercase();
        let mut parts = tag.splitn(3, '-');
        let own =
            |(part, own): (Option<&str>, &Vec<&str>)| part.unwrap_or_default().split('.').all(|one| own.contains(&one));
        ![&pythons, &abis, &platforms].map(|own| (parts.next(), own)).into_iter().all(own)
    };
    let mut tags: Vec<String> = fields("Tag").filter(strange).map(|tag| tag.escape_debug().to_string()).collect();
    tags.sort();
    tags.dedup();
    Ok((purelib, tags))
}

/// Says that a wheel contradicts its file name, unless that is known and explained: a sentence for people.
pub fn contradiction(wheel: &WheelName, about: &About, knowledge: &Knowledge) -> Option<String> {
    let explained = |tag: &&String| {
        let platforms = tag.rsplit('-').next().unwrap_or_default().split('.');
        platforms.into_iter().any(|says| {
            knowledge.inner_tags.iter().any(|known| known.explains(&wheel.name, &wheel.version, wheel, says))
        })
    };
    let tags: Vec<String> =
        about.strange_tags.iter().filter(|tag| !explained(tag)).map(|tag| format!("`{tag}`")).collect();
    let tags = tags.join(", ");
    (!tags.is_empty()).then(|| format!("`{wheel}` says inside that it is for {tags}; its file name counts"))
}

/// Holds RECORD against the entries; returns the files, sorted by path.
fn check_record(
    entries: &[Entry],
    rows: Vec<record::Row>,
    record: &str,
    data: Option<&str>,
) -> Result<Vec<WheelFile>, Fault> {
    let mut listed: HashMap<String, record::Row> = HashMap::with_capacity(rows.len());
    for row in rows {
        if let Some(other) = listed.get(&row.path) {
            // Some build tools write the same line twice.
            if *other != row {
                return Err(Fault::RecordTwice { entry: row.path });
            }
        } else {
            listed.insert(row.path.clone(), row);
        }
    }
    let bare = |path: &str| path.strip_prefix(record).is_some_and(|end| matches!(end, "" | ".jws" | ".p7s"));
    let mut files = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let row = listed.remove(&entry.path);
        if entry.is_folder() {
            continue;
        }
        let path = || entry.path.clone();
        let scripts = data_key(&entry.path, data)? == Some("scripts");
        let expected = match row {
            _ if bare(&entry.path) => None,
            None => return Err(Fault::Unlisted { entry: path() }),
            Some(row) => {
                if let Some(says) = row.size.filter(|says| *says != entry.size) {
                    return Err(Fault::RecordSize { entry: path(), size: entry.size, says });
                }
                match row.hash {
                    None => return Err(Fault::NoHash { entry: path() }),
                    Some(Hash::Other(algorithm)) => return Err(Fault::Algorithm { entry: path(), algorithm }),
                    hash => hash,
                }
            }
        };
        const RUN: u32 = 0o111;
        let executable = scripts || entry.mode & TYPE == FILE && entry.mode & RUN != 0;
        files.push(WheelFile { path: path(), size: entry.size, executable, entry: at, expected });
    }
    listed.retain(|path, _| !bare(path));
    if let Some(entry) = listed.into_keys().min() {
        return Err(Fault::Absent { entry });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Lists the files of a wheel whose RECORD does not count.
fn as_they_are(entries: &[Entry], data: Option<&str>) -> Result<Vec<WheelFile>, Fault> {
    let mut files = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| !entry.is_folder()) {
        data_key(&entry.path, data)?;
        let (path, size) = (entry.path.clone(), entry.size);
        files.push(WheelFile { path, size, executable: false, entry: at, expected: None });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Returns the part of the `.data` folder that a path is in.
pub(super) fn data_key<'a>(path: &'a str, data: Option<&str>) -> Result<Option<&'a str>, Fault> {
    let Some(rest) = data.and_then(|data| path.strip_prefix(data)?.strip_prefix('/')) else { return Ok(None) };
    match rest.split_once('/') {
        Some((key @ ("purelib" | "platlib" | "scripts" | "headers" | "data"), _)) => Ok(Some(key)),
        _ => Err(Fault::DataKey { entry: path.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheel() -> WheelName {
        "torch-2.10.0-cp313-none-macosx_11_0_arm64.whl".parse().unwrap()
    }

    #[test]
    fn amounts() {
        assert!(check_amount(MOST_ENTRIES, 256 << 20, 0).is_ok());
        assert!(check_amount(1, 200 << 30, 1 << 30).is_ok());
        let told = |count, size, packed| check_amount(count, size, packed).unwrap_err().to_string();
        assert_eq!(told(500_001, 0, 0), "it has 500001 entries");
        let bomb = "it would unpack to 268435457 bytes out of 1000000, as a zip bomb does";
        assert_eq!(told(1, (256 << 20) + 1, 1_000_000), bomb);
        assert!(told(1, (200 << 30) + 1, 1 << 30).ends_with("as a zip bomb does"));
    }

    #[test]
    fn what_a_wheel_says_it_is() {
        let check = |text: &str, expected: (bool, &[&str])| {
            let (purelib, tags) = read_wheel(text.as_bytes(), &wheel()).unwrap();
            assert_eq!(
                (purelib, tags.iter().map(String::as_str).collect::<Vec<_>>()),
                (expected.0, expected.1.to_vec())
            );
        };
        let right = "Tag: cp313-none-macosx_11_0_arm64\n";
        check(&format!("Wheel-Version: 1.0\nRoot-Is-Purelib: true\n{right}"), (true, &[]));
        check(&format!("wheel-version: 1.9\r\nROOT-IS-PURELIB: False\r\n{right}"), (false, &[]));
        check("Wheel-Version: 1\n", (false, &[]));
        check(
            "Wheel-Version: 1.0\nTag: cp313-none-macosx_110_0_arm64\nTag: cp312-none-macosx_11_0_arm64\n",
            (false, &["cp312-none-macosx_11_0_arm64", "cp313-none-macosx_110_0_arm64"]),
        );
        check("Wheel-Version: 1.0\nTag: nonsense\n", (false, &["nonsense"]));
    }

    #[test]
    fn wheels_of_another_format() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read_wheel(text.as_bytes(), &wheel()).unwrap_err().to_string(), expected);
        };
        check("", "its WHEEL file has no usable `Wheel-Version`");
        check("Wheel-Version: one\n", "its WHEEL file has no usable `Wheel-Version`");
        check("Wheel-Version: 2.0\n", "it is of wheel format 2.0; this macml knows 1");
        check("Wheel-Version: 0.1\n", "it is of wheel format 0.1; this macml knows 1");
    }

    #[test]
    fn a_contradiction_is_told_unless_it_is_known() {
        let about = |tags: &[&str]| About {
            dist_info: String::new(),
            data: None,
            purelib: false,
            entry_points: Vec::new(),
            strange_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        };
        let mut knowledge = Knowledge::default();
        let told = contradiction(&wheel(), &about(&["cp313-none-macosx_110_0_arm64"]), &knowledge).unwrap();
        assert_eq!(
            told,
            "`torch-2.10.0-cp313-none-macosx_11_0_arm64.whl` says inside that it is for \
             `cp313-none-macosx_110_0_arm64`; its file name counts"
        );
        knowledge.inner_tags.push(crate::knowledge::wheels::InnerTag {
            packages: vec!["torch".parse().unwrap()],
            versions: "==2.10.0".parse().unwrap(),
            build: 0,
            says: "macosx_110_0_arm64".to_owned(),
            reason: String::new(),
            evidence: Vec::new(),
        });
        assert_eq!(contradiction(&wheel(), &about(&["cp313-none-macosx_110_0_arm64"]), &knowledge), None);
        assert!(contradiction(&wheel(), &about(&["cp312-none-macosx_12_0_arm64"]), &knowledge).is_some());
        assert_eq!(contradiction(&wheel(), &about(&[]), &knowledge), None);
    }

    #[test]
    fn parts_of_the_data_folder() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(data_key(path, Some("a-1.data")).unwrap(), expected);
        };
        check("a-1.data/scripts/x", Some("scripts"));
        check("a-1.data/data/share/x", Some("data"));
        check("a-1.database/x", None);
        check("a/x", None);
        for bad in ["a-1.data/x", "a-1.data/scripts", "a-1.data/stdlib/x"] {
            assert!(matches!(data_key(bad, Some("a-1.data")), Err(Fault::DataKey { .. })), "{bad}");
        }
    }
}
