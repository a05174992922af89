//! Small made locks for each rule, and hostile ones.

use std::path::Path;

use crate::index::builtin;
use crate::pep::ExtraName;
use crate::sys::fs::{Durability, write_atomic};
use crate::target::{Floor, Platform, Target};

use super::*;

mod hostile;
mod pylock;
mod requirements;
mod uv;

/// A made index.
const INDEX: &str = "https://index.example/simple";

/// Sixty-four of a digit, a sha256.
fn digest(digit: char) -> String {
    std::iter::repeat_n(digit, 64).collect()
}

/// The address of the default index as other tools write it.
fn default_index() -> String {
    builtin::index(builtin::DEFAULT).unwrap().as_str().trim_end_matches('/').to_owned()
}

fn machine(macos: &str, python: &str) -> Machine {
    let (minor, full) = match python.matches('.').count() {
        1 => (python, None),
        _ => (python.rsplit_once('.').unwrap().0, Some(python.parse().unwrap())),
    };
    let floor = Floor::Mac { macos: macos.parse().unwrap(), chip: "m1".parse().unwrap() };
    let target = Target { platform: Platform::MacosArm64, floor, python: minor.parse().unwrap() };
    Machine { target, python_full: full }
}

/// Asks for these extras and, beside the default ones, these groups.
fn asking(extras: &[&str], groups: &[&str]) -> Choice {
    let names = |names: &[&str]| -> Vec<ExtraName> { names.iter().map(|name| name.parse().unwrap()).collect() };
    Choice { extras: Chosen::Named(names(extras)), groups: Chosen::Named(names(groups)), ..Choice::default() }
}

/// One line for each release: name, version, whether only possible, what is taken.
fn shown(selection: &Selection<'_>) -> Vec<String> {
    let line = |selected: &Selected<'_>| {
        let version = selected.release.version.as_ref().map_or("?".to_owned(), ToString::to_string);
        let presence = match &selected.presence {
            Presence::Certain => String::new(),
            Presence::Possible(marker) => format!(" (if {marker})"),
        };
        let taken = match &selected.taken {
            Taken::Wheel(wheel) => wheel.file.to_string(),
            Taken::OneOf(hashes) => format!("one of {}", hashes.len()),
            Taken::Source(None) => "source".to_owned(),
            Taken::Source(Some(unfit)) => format!("source: {unfit}"),
            Taken::Nothing(unfit) => format!("nothing: {unfit}"),
            Taken::Project => "project".to_owned(),
        };
        format!("{} {version}{presence}: {taken}", selected.release.name)
    };
    selection.packages.iter().map(line).collect()
}

/// Only the names and versions of [`shown`].
fn names(selection: &Selection<'_>) -> Vec<String> {
    shown(selection).iter().map(|line| line.split(':').next().unwrap().to_owned()).collect()
}

fn uv_lock(text: &str) -> Result<ForeignLock, String> {
    super::uv::parse(Path::new("uv.lock"), text).map_err(|error| error.to_string())
}

fn pylock_toml(text: &str) -> Result<ForeignLock, String> {
    super::pylock::parse(Path::new("pylock.toml"), text).map_err(|error| error.to_string())
}

/// Reads `requirements.txt` with other files beside it.
fn list_with(text: &str, others: &[(&str, &str)]) -> Result<ForeignLock, String> {
    let mut read = |path: &Path| {
        let found = others.iter().find(|(name, _)| path == Path::new(name));
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| Error::Absent(path.to_owned()))
    };
    super::requirements::parse(Path::new("requirements.txt"), text.to_owned(), &mut read)
        .map_err(|error| error.to_string())
}

fn list(text: &str) -> Result<ForeignLock, String> {
    list_with(text, &[])
}

fn notes(lock: &ForeignLock) -> Vec<String> {
    lock.notes.iter().map(|note| format!("{}:{}: {}", note.path.display(), note.line, note.told)).collect()
}

#[test]
fn the_format_is_told_by_name_and_else_by_content() {
    use super::file::{Kind, format_of};
    let check = |name: &str, text: &str, expected: Kind| assert_eq!(format_of(name, text), expected, "{name}: {text}");
    check("uv.lock", "", Kind::Uv);
    check("train.py.lock", "", Kind::Uv);
    check("pylock.toml", "", Kind::Pylock);
    check("pylock.mac.toml", "", Kind::Pylock);
    check("requirements.txt", "version == 1", Kind::Requirements);
    check("requirements-mac.in", "", Kind::Requirements);
    check("old", "# x\nversion = 1\n", Kind::Uv);
    check("old", "created-by = \"x\"\nlock-version = \"1.0\"\n", Kind::Pylock);
    check("requirements.lock", "# by rye\ntorch==2.8.0\n", Kind::Requirements);
}

#[test]
fn texts_are_decoded_as_other_tools_write_them() {
    use super::file::decoded;
    assert_eq!(decoded("torch # 名".as_bytes()).unwrap(), "torch # 名");
    assert_eq!(decoded(b"\xef\xbb\xbftorch").unwrap(), "torch");
    let utf16: Vec<u8> =
        std::iter::once(0xfeff).chain("six==1.0\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_eq!(decoded(&utf16).unwrap(), "six==1.0\n");
    assert_eq!(decoded(b"a\nb\n\xff"), Err(3));
    assert_eq!(decoded(b"\xff\xfe\x00\xd8"), Err(1));
}

#[test]
fn files_are_read_from_disk_and_locks_of_others_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| write_atomic(&folder.path().join(name), text, Durability::Cached).unwrap();
    write("requirements.txt", b"-r base.txt\nsix==1.16.0\n");
    write("base.txt", b"idna==3.7\n");
    write("poetry.lock", b"");
    write("broken.txt", b"a==1\n\xff\n");
    let read = |name: &str| read(&folder.path().join(name));
    let lock = read("requirements.txt").unwrap();
    assert_eq!(names(&lock.on(&machine("14.0", "3.12"), &Choice::default()).unwrap()), ["idna 3.7", "six 1.16.0"]);
    assert_eq!(lock.releases[0].place(), format!("line 1 of `{}`", folder.path().join("base.txt").display()));
    let error = read("poetry.lock").unwrap_err();
    assert!(error.to_string().ends_with("poetry.lock` is a lock of Poetry, which is not read here"));
    assert_eq!(error.hint(), Some("write a requirements file with `poetry export` and name that"));
    assert!(matches!(read("none.txt"), Err(Error::Absent(_))));
    assert!(read("broken.txt").unwrap_err().to_string().ends_with("line 2: it is no text in UTF-8"));
    write("large.txt", &vec![b'#'; super::file::MOST_BYTES as usize + 1]);
    assert!(matches!(read("large.txt"), Err(Error::TooLarge { .. })));
}

#[test]
fn addresses_are_kept_without_secrets() {
    let address = Address::of("https://me:s3cret@host.example/a/torch-2.8.0%2Bcpu.whl?token=x#sha256=0").unwrap();
    assert_eq!(address.as_str(), "https://host.example/a/torch-2.8.0%2Bcpu.whl");
    assert_eq!(
        format!("{address:?} {}", address.path()),
        "https://host.example/a/torch-2.8.0%2Bcpu.whl /a/torch-2.8.0%2Bcpu.whl"
    );
    assert_eq!(address.file_name(), "torch-2.8.0+cpu.whl");
    for text in ["not an address", "me:s3cret@host.example"] {
        assert_eq!(Address::of(text), None, "{text}");
    }
}
