//! Wheels that lie or are damaged: each is refused in one sentence that names the wheel and the entry, and nothing is left.

use std::io::Cursor;

use macml::install::{Bytes, Fault, WheelCache};
use macml::pep::Sha256;

use crate::support::wheel::base64_url;
use crate::support::zip::{Crafted, Item};

const INFO: &str = "pkg-1.0.dist-info";

fn plain() -> Crafted {
    Crafted::new(&[("pkg/__init__.py", "x = 1\n"), ("pkg/data.txt", "data\n")])
}

/// Unpacks; returns the refusal without its beginning, having looked that nothing is left.
#[track_caller]
fn refusal(wheel: &Crafted) -> String {
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(folder.path());
    let open = cache.open().unwrap();
    let locked = wheel.locked();
    let outcome = open.unpack(&locked, Cursor::new(wheel.bytes()), Bytes::Unchecked);
    let said = outcome.map(|found| found.files).unwrap_err().to_string();
    assert_eq!(open.get(&locked).unwrap(), None);
    let left: Vec<_> = std::fs::read_dir(cache.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["lock"], "{said}");
    // Not a byte beside the cache either.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let start = format!("`{}` is refused: ", wheel.file);
    said.strip_prefix(&start).unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[track_caller]
fn check(wheel: &Crafted, expected: &str) {
    assert_eq!(refusal(wheel), expected);
}

/// Takes a wheel that looks strange and is right.
#[track_caller]
fn takes(wheel: &Crafted) {
    let folder = tempfile::tempdir().unwrap();
    let open = WheelCache::inside(folder.path()).open().unwrap();
    let found = open.unpack(&wheel.locked(), Cursor::new(wheel.bytes()), Bytes::Unchecked).unwrap();
    assert!(found.is_intact().unwrap());
}

#[test]
fn archives_that_are_odd_and_right() {
    takes(&plain());
    takes(&plain().change("pkg/data.txt", |item| item.method = 0));
    for wide in [false, true] {
        takes(&plain().change("pkg/data.txt", |item| (item.described, item.wide) = (true, wide)));
        takes(&plain().change("pkg/data.txt", |item| item.wide = wide));
        let mut ended = plain();
        (ended.zip.wide, ended.zip.comment) = (wide, b"a comment".to_vec());
        takes(&ended);
    }
    takes(&plain().with(Item { mode: 0o040_755, ..Item::new("pkg/", b"") }));
    takes(&plain().change("pkg/data.txt", |item| item.mode = 0));
    takes(&plain().with(Item::new("pkg/漢字 é.py", b"")));
    takes(&plain().change("pkg/data.txt", |item| item.before = vec![0; 8]));
    let empty = plain().with(Item { described: true, wide: true, ..Item::new("pkg/empty", b"") });
    takes(&empty);
}

#[test]
fn what_is_no_archive() {
    let folder = tempfile::tempdir().unwrap();
    let open = WheelCache::inside(folder.path()).open().unwrap();
    let whole = plain().bytes();
    let locked = plain().locked();
    for length in 0..whole.len() {
        let outcome = open.unpack(&locked, Cursor::new(&whole[..length]), Bytes::Checked);
        assert!(outcome.is_err(), "cut at {length}");
    }
    let error = open.unpack(&locked, Cursor::new(&whole[..99]), Bytes::Checked).unwrap_err().to_string();
    assert_eq!(
        error,
        "`pkg-1.0-py3-none-any.whl` is refused: it is no zip archive: it does not end with the end of a directory"
    );
}

/// No byte can be changed without being noticed, but for those that say nothing of the content: times, versions, modes.
#[test]
fn changed_bytes_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let open = WheelCache::inside(folder.path()).open().unwrap();
    let whole = plain().bytes();
    let locked = plain().locked();
    let good = open.unpack(&locked, Cursor::new(&whole), Bytes::Checked).unwrap();
    open.discard(locked.sha256).unwrap();
    let mut refused = 0;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        match open.unpack(&locked, Cursor::new(bytes), Bytes::Checked) {
            Ok(mut found) => {
                found.files.iter_mut().for_each(|file| std::sync::Arc::make_mut(file).executable = false);
                assert_eq!((&found.files, &found.about), (&good.files, &good.about), "{at}");
                open.discard(locked.sha256).unwrap();
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused * 3 > whole.len() * 2, "{refused} of {}", whole.len());
}

#[test]
fn bytes_before_or_behind_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let open = WheelCache::inside(folder.path()).open().unwrap();
    let check = |bytes: Vec<u8>, expected: &str| {
        let error = open.unpack(&plain().locked(), Cursor::new(bytes), Bytes::Checked).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
    };
    let whole = plain().bytes();
    check([b"#!/bin/sh\n", &whole[..]].concat(), "its directory is not where it says");
    check([&whole[..], b"x"].concat(), "it does not end with the end of a directory");
    // Two archives in a row: one reader takes the first, another the second.
    check([&whole[..], &whole[..]].concat(), "its directory is not where it says");
    let mut two = plain();
    two.zip.comment = [b"PK\x05\x06".as_slice(), &[0; 18]].concat();
    check(two.bytes(), "it has two ends");
}

#[test]
fn another_file_than_the_locked_one() {
    let folder = tempfile::tempdir().unwrap();
    let open = WheelCache::inside(folder.path()).open().unwrap();
    let other = Crafted::new(&[("pkg/__init__.py", "evil()\n")]).bytes();
    let error = open.unpack(&plain().locked(), Cursor::new(&other), Bytes::Unchecked).unwrap_err().to_string();
    let (found, expected) = (Sha256::of(&other), plain().locked().sha256);
    let wanted = format!("`pkg-1.0-py3-none-any.whl` is not the locked file: its sha256 is {found}, not {expected}");
    assert_eq!(error, wanted);
}

#[test]
fn paths_that_must_not_be_written() {
    let path = |path: &str, what: &str| {
        let shown = path.escape_debug();
        check(&plain().with(Item::new(path, b"evil")), &format!("the path of entry `{shown}` {what}"));
    };
    path("../evil.py", "leaves the folder that it belongs into");
    path("pkg/../../evil.py", "leaves the folder that it belongs into");
    path("pkg-1.0.data/data/../../../evil", "leaves the folder that it belongs into");
    path("/etc/evil", "is absolute");
    path("C:/evil", "begins with a drive");
    path("C:evil", "begins with a drive");
    path("pkg\\..\\evil.py", "holds a backslash");
    path("pkg/a\0.py", "holds a control character");
    path("pkg/a\n.py", "holds a control character");
    path("pkg/\x1b[2J.py", "holds a control character");
    path("pkg//evil.py", "has an empty part");
    path("./evil.py", "has an empty part");
    path("/", "is empty");
    path("", "is empty");
    path(&format!("pkg/{}", "a".repeat(256)), "is too long");
    let latin = Item { path: b"pkg/\xe9.py".to_vec(), ..Item::new("", b"") };
    check(&plain().with(latin), "the path of entry `pkg/\u{fffd}.py` is no UTF-8");
}

#[test]
fn entries_that_are_no_files() {
    let check = |mode: u32, path: &str, content: &[u8], expected: &str| {
        check(&plain().with(Item { mode, ..Item::new(path, content) }), expected);
    };
    check(0o120_777, "pkg/link", b"/etc/passwd", "entry `pkg/link` is a symlink");
    check(0o120_777, "pkg/link/", b"", "entry `pkg/link/` is a symlink");
    check(0o020_644, "pkg/device", b"", "entry `pkg/device` is neither a file nor a folder");
    check(0o010_644, "pkg/pipe", b"", "entry `pkg/pipe` is neither a file nor a folder");
    check(0o040_755, "pkg/folder", b"", "entry `pkg/folder` is neither a file nor a folder");
    check(0o040_755, "pkg/sub/", b"x", "entry `pkg/sub/` is a folder with content");
}

#[test]
fn names_that_are_one_on_a_mac() {
    let same = "are one name on a Mac: they differ in case or accents only";
    let twice = plain().with(Item::new("pkg/data.txt", b"data\n"));
    check(&twice, "entry `pkg/data.txt` is there twice");
    let case = plain().with(Item::new("pkg/DATA.txt", b""));
    check(&case, &format!("entries `pkg/DATA.txt` and `pkg/data.txt` {same}"));
    let folder = plain().with(Item::new("PKG/other.py", b""));
    check(&folder, &format!("entries `PKG` and `pkg/__init__.py` {same}"));
    let composed = Crafted::new(&[("pkg/\u{e9}.py", "1"), ("pkg/e\u{301}.py", "2")]);
    check(&composed, &format!("entries `pkg/\u{e9}.py` and `pkg/e\u{301}.py` {same}"));
    let sharp = Crafted::new(&[("pkg/straße.py", "1"), ("pkg/STRASSE.py", "2")]);
    check(&sharp, &format!("entries `pkg/straße.py` and `pkg/STRASSE.py` {same}"));
    let both = plain().with(Item::new("pkg", b""));
    check(&both, "entry `pkg/__init__.py` needs `pkg` to be both a file and a folder");
}

#[test]
fn headers_that_contradict_the_directory() {
    let header = |at: usize, bytes: &[u8], what: &str| {
        let wheel = plain().change("pkg/data.txt", |item| item.header = vec![(at, bytes.to_vec())]);
        check(&wheel, &format!("entry `pkg/data.txt` has another {what} in its header than in the directory"));
    };
    header(0, b"XX", "place");
    header(30, b"PKG/data.txt", "name");
    header(26, &[11, 0], "name");
    header(6, &[8, 0], "flags");
    header(6, &[1, 0], "flags");
    header(8, &[0, 0], "compression");
    header(14, b"abcd", "checksum");
    header(18, &[1, 0, 0, 0], "size");
    header(22, &[1, 0, 0, 0], "size");
    let accent = Crafted::new(&[("pkg/é.py", "")]).change("pkg/é.py", |item| item.header = vec![(6, vec![0, 0])]);
    check(&accent, "entry `pkg/é.py` has another flags in its header than in the directory");
    // A second name, which some readers prefer.
    for (name, same) in [("pkg/evil.txt", false), ("pkg/data.txt", true)] {
        let field = [&[0x75, 0x70, 17, 0, 1, 0, 0, 0, 0][..], name.as_bytes()].concat();
        let wheel = plain().change("pkg/data.txt", |item| item.extra = field);
        match same {
            true => takes(&wheel),
            false => check(&wheel, "entry `pkg/data.txt` has another name in its header than in the directory"),
        }
    }
    // Somewhere else than the directory says.
    let elsewhere = plain().change("pkg/data.txt", |item| {
        item.listed = vec![(42, 0xffff_fff0_u32.to_le_bytes().to_vec())];
    });
    assert!(refusal(&elsewhere).starts_with("there is something at byte "));
    let described = plain().change("pkg/data.txt", |item| {
        item.described = true;
        item.listed = vec![(16, b"abcd".to_vec())];
    });
    check(&described, "entry `pkg/data.txt` has another descriptor in its header than in the directory");
}

#[test]
fn entries_that_the_directory_does_not_name() {
    let hidden = plain().with(Item { hidden: true, ..Item::new("pkg/__init__.py", b"evil()") });
    check(&hidden, "there is something at byte 0 that its directory does not name");
    let much = plain().change("pkg/data.txt", |item| item.before = vec![0; 70_000]);
    assert!(refusal(&much).starts_with("there is something at byte "));
}

#[test]
fn entries_over_each_other() {
    // Both are the first entry's bytes.
    let mut wheel = plain();
    wheel.zip.items.insert(1, Item { listed: vec![(42, vec![0; 4])], ..wheel.zip.items[0].clone() });
    wheel.zip.items[1].path = b"pkg/__init__.px".to_vec();
    check(&wheel, "entry `pkg/__init__.px` lies over another one");
}

#[test]
fn encrypted_and_unknown() {
    for flags in [1, 1 << 6, 1 << 13] {
        let wheel = plain().change("pkg/data.txt", |item| item.flags = flags);
        check(&wheel, "entry `pkg/data.txt` is encrypted");
    }
    for method in [1, 12, 14, 93, 99] {
        let wheel = plain().change("pkg/data.txt", |item| item.method = method);
        let expected = format!("entry `pkg/data.txt` is compressed in a way that wheels do not use ({method})");
        check(&wheel, &expected);
    }
    let patched = plain().change("pkg/data.txt", |item| item.flags = 1 << 5);
    check(&patched, "entry `pkg/data.txt` is compressed in a way that wheels do not use (8)");
}

#[test]
fn entries_that_are_not_what_they_say() {
    let change = |change: &dyn Fn(&mut Item), expected: &str| {
        check(&plain().change("pkg/data.txt", |item| change(item)), expected);
    };
    let says = |size: u64| format!("entry `pkg/data.txt` does not have the {size} bytes that the directory says");
    let record = |size: u64| format!("`pkg/data.txt` has {size} bytes, its RECORD says 5");
    // RECORD would give it away; without sizes in RECORD the content does.
    change(&|item| item.size = Some(4), &record(4));
    for size in [4, 6, 1 << 20] {
        let mut wheel = plain().change("pkg/data.txt", |item| item.size = Some(size));
        wheel.record = Some(wheel.true_record().replace(",5\n", ",\n"));
        check(&wheel, &says(size));
    }
    change(&|item| (item.size, item.method) = (Some(4), 0), &says(4));
    change(&|item| item.crc = Some(7), "entry `pkg/data.txt` is damaged: its checksum is another");
    let mut broken = plain().change("pkg/data.txt", |item| item.method = 0);
    let broken_item = broken.zip.items.iter_mut().find(|item| item.path == b"pkg/data.txt").unwrap();
    // Said to be deflated, and not.
    (broken_item.header, broken_item.listed) = (vec![(8, vec![8, 0])], vec![(10, vec![8, 0])]);
    assert!(refusal(&broken).starts_with("entry `pkg/data.txt` is damaged: "));
}

#[test]
fn zip_bombs() {
    // A small archive that says it holds far more than its size allows.
    let wheel = plain().change("pkg/data.txt", |item| item.size = Some(3 << 30));
    let said = refusal(&wheel);
    assert!(said.starts_with("it would unpack to 3221225") && said.ends_with(", as a zip bomb does"), "{said}");
    let mut many = plain();
    for at in 0..6 {
        let wide = u64::MAX / 4;
        many = many.with(Item { size: Some(wide), wide: true, ..Item::new(&format!("pkg/{at}"), b"") });
    }
    assert!(refusal(&many).starts_with(&format!("it would unpack to {} bytes", u64::MAX)));
    // One that really does, and says less: it stops at what it says.
    let mut real = plain().with(Item { size: Some(10), ..Item::new("pkg/zeros", &vec![0; 8 << 20]) });
    real.record = Some(real.true_record().replace(",8388608\n", ",\n"));
    check(&real, "entry `pkg/zeros` does not have the 10 bytes that the directory says");
}

#[test]
fn folders_of_other_packages() {
    let rename = |to: &str| {
        let mut wheel = plain();
        for item in &mut wheel.zip.items {
            let path = String::from_utf8(item.path.clone()).unwrap();
            item.path = path.replace(INFO, to).into_bytes();
        }
        wheel
    };
    for other in ["other-1.0.dist-info", "pkg-1.1.dist-info", "pkg.dist-info", "pkg-1.0.DIST-INFO"] {
        let expected = format!("its folder `{other}` belongs to another package or version than its name says");
        check(&rename(other), &expected);
    }
    check(&rename("pkg-1.0.info"), "it has no `.dist-info` folder");
    takes(&rename("PKG-1.0.0.dist-info"));
    let two = plain().with(Item::new("zzz-1.0.dist-info/METADATA", b""));
    check(&two, &format!("it has two `.dist-info` folders, `{INFO}` and `zzz-1.0.dist-info`"));
    // Inside a package it is the package's own affair.
    takes(&plain().with(Item::new("pkg/_vendor/zzz-1.0.dist-info/METADATA", b"")));
    let data = |path: &str| plain().with(Item::new(path, b""));
    for path in ["other-1.0.data/data/x", "assets.data/x", "pkg-1.0.Data/data/x"] {
        let folder = path.split('/').next().unwrap();
        let expected = format!("its folder `{folder}` is not the `.data` folder of its own name and version");
        check(&data(path), &expected);
    }
    for path in ["pkg-1.0.data/x", "pkg-1.0.data/stdlib/os.py"] {
        let expected = format!("entry `{path}` is in none of `purelib`, `platlib`, `scripts`, `headers`, `data`");
        check(&data(path), &expected);
    }
    takes(&data("pkg-1.0.data/data/share/x"));
}

#[test]
fn what_the_wheel_says_of_itself() {
    let content = |file: &str, text: &str| {
        plain().change(&format!("{INFO}/{file}"), |item| item.content = text.as_bytes().to_vec())
    };
    let metadata = |name: &str, version: &str| format!("Name: {name}\nVersion: {version}\n");
    check(&content("METADATA", &metadata("other", "1.0")), "its METADATA is that of other 1.0");
    check(&content("METADATA", &metadata("pkg", "2.0")), "its METADATA is that of pkg 2.0");
    check(&content("METADATA", ""), "its METADATA cannot be read: no `Name` field");
    takes(&content("METADATA", &metadata("PKG", "1.0.0")));
    check(&content("WHEEL", "Wheel-Version: 2.0\n"), "it is of wheel format 2.0; this macml knows 1");
    check(&content("WHEEL", ""), "its WHEEL file has no usable `Wheel-Version`");
    for file in ["METADATA", "WHEEL"] {
        let mut wheel = plain();
        wheel.zip.items.retain(|item| !item.path.ends_with(file.as_bytes()));
        check(&wheel, &format!("it has no `{INFO}/{file}`"));
    }
    let metadata = format!("{INFO}/METADATA");
    let book = plain().change(&metadata, |item| item.content.resize((16 << 20) + 1, b' '));
    check(&book, &format!("`{metadata}` is larger than 16777216 bytes"));
    let commands = plain().with(Item::new(&format!("{INFO}/entry_points.txt"), b"[console_scripts]\n../x = a:b\n"));
    check(&commands, "line 2 of its entry_points.txt names a command that is no file name");
}

#[test]
fn records_that_lie() {
    let no_record = Crafted { recorded: false, ..plain() };
    check(&no_record, &format!("it has no `{INFO}/RECORD`"));
    let record = |change: &dyn Fn(String) -> String, expected: &str| {
        let wheel = Crafted { record: Some(change(plain().true_record())), ..plain() };
        check(&wheel, expected);
    };
    let data = format!("\"pkg/data.txt\",sha256={},5\n", base64_url(Sha256::of(b"data\n").as_bytes()));
    let wrong = format!("\"pkg/data.txt\",sha256={},5\n", base64_url(Sha256::of(b"Data\n").as_bytes()));
    assert!(plain().true_record().contains(&data));
    record(&|text| text.replace(&data, ""), "its RECORD does not list `pkg/data.txt`");
    record(&|text| text.replace(&data, &wrong), "`pkg/data.txt` has another hash than its RECORD says");
    record(&|text| text.replace(&data, "pkg/data.txt,,\n"), "its RECORD has no hash of `pkg/data.txt`");
    record(&|text| text.replace(",5\n", ",7\n"), "`pkg/data.txt` has 5 bytes, its RECORD says 7");
    record(&|text| text + &wrong, "its RECORD says two different things of `pkg/data.txt`");
    for algorithm in ["md5", "sha1", "sha3"] {
        let expected = format!(
            "its RECORD has only a hash of kind `{algorithm}` of `pkg/data.txt`; sha256, sha384 and sha512 are taken"
        );
        record(&|text| text.replace(&data, &format!("pkg/data.txt,{algorithm}=abc,5\n")), &expected);
    }
    for absent in ["pkg/gone.py", "../../../bin/x", "/etc/passwd"] {
        let expected = format!("its RECORD lists `{absent}`, which is not in it");
        record(&|text| format!("{text}{absent},sha256={},0\n", base64_url(&[0; 32])), &expected);
    }
    record(&|text| text + "what\n", "line 5 of its RECORD cannot be read: it does not have three fields");
    // The same line twice, signatures, and the longer hashes are right.
    takes(&Crafted { more_record: data, ..plain() });
    let mut signed = plain();
    signed.record = Some(signed.true_record());
    signed.more_record = format!("{INFO}/RECORD.p7s,,\n");
    takes(&signed.with(Item::new(&format!("{INFO}/RECORD.jws"), b"{}")));
}

#[test]
fn longer_hashes_are_checked_too() {
    use sha2::Digest as _;
    let content = b"data\n";
    let hashes: [(&str, Vec<u8>); 2] =
        [("sha384", sha2::Sha384::digest(content).to_vec()), ("sha512", sha2::Sha512::digest(content).to_vec())];
    for (algorithm, digest) in hashes {
        let with = |digest: &[u8]| {
            let short = base64_url(Sha256::of(content).as_bytes());
            let text = plain().true_record();
            let text = text.replace(&format!("sha256={short}"), &format!("{algorithm}={}", base64_url(digest)));
            Crafted { record: Some(text), ..plain() }
        };
        takes(&with(&digest));
        let mut wrong = digest;
        wrong[7] ^= 1;
        check(&with(&wrong), "`pkg/data.txt` has another hash than its RECORD says");
    }
}

/// A tag inside that the file name does not have is told, not refused.
#[test]
fn tags_that_contradict_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let open = WheelCache::inside(folder.path()).open().unwrap();
    let text = "Wheel-Version: 1.0\nTag: cp312-cp312-macosx_11_0_arm64\n";
    let wheel = plain().change(&format!("{INFO}/WHEEL"), |item| item.content = text.as_bytes().to_vec());
    let found = open.unpack(&wheel.locked(), Cursor::new(wheel.bytes()), Bytes::Unchecked).unwrap();
    let told = macml::install::contradiction(&found.name, &found.about, &macml::knowledge::Knowledge::built_in());
    let expected =
        "`pkg-1.0-py3-none-any.whl` says inside that it is for `cp312-cp312-macosx_11_0_arm64`; its file name counts";
    assert_eq!(told.as_deref(), Some(expected));
    // From the cache as from the wheel.
    assert_eq!(open.get(&wheel.locked()).unwrap().unwrap().about, found.about);
}

/// A reader that fails is no lie of the wheel, and leaves as little.
#[test]
fn a_reader_that_fails() {
    struct Failing(Cursor<Vec<u8>>, usize);
    impl std::io::Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 = self.1.checked_sub(1).ok_or(std::io::Error::other("gone"))?;
            self.0.read(buffer)
        }
    }
    impl std::io::Seek for Failing {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            self.0.seek(to)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = WheelCache::inside(folder.path());
    let open = cache.open().unwrap();
    let locked = plain().locked();
    for reads in 0.. {
        let outcome = open.unpack(&locked, Failing(Cursor::new(plain().bytes()), reads), Bytes::Checked);
        if outcome.is_ok() {
            assert!(reads > 10, "{reads}");
            break;
        }
        assert!(open.get(&locked).unwrap().is_none());
        assert_eq!(std::fs::read_dir(cache.root()).unwrap().count(), 1, "only the lock is there");
    }
}

/// The variants are there to be told apart by programs.
#[test]
fn a_refusal_is_data() {
    let wheel = plain().with(Item::new("../evil.py", b""));
    let error = macml::install::open(Cursor::new(wheel.bytes()), &wheel.file.parse().unwrap()).unwrap_err();
    assert_eq!(error.wheel.to_string(), wheel.file);
    assert!(matches!(error.fault, Fault::Path { entry, .. } if entry == "../evil.py"));
}
