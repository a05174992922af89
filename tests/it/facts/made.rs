//! Made images: each part of what is read, and each way in which linkers write it.

use std::collections::BTreeMap;
use std::io::Cursor;

use macml::check::facts::macho::{Pages, read};
use macml::check::facts::{
    Architecture, Export, Exports, Image, Import, Kind, NumpyAbi, Ordinal, Pjrt, Platform, Signature, Slice, Table,
    Unloadable, Version, read_tree, read_wheel,
};

use crate::support::macho::{
    ARM64, ARM64E, BASE, BUNDLE, DYLIB, EXECUTABLE, LAZY_LOAD, LOAD, LOAD_UPWARD, LOAD_WEAK, Made, MadeExport,
    MadeImports, MadeSignature, REEXPORT, X86_64, command, fat, uleb,
};
use crate::support::zip::{Crafted, Item};

pub(super) fn image(bytes: &[u8]) -> Image {
    try_image(bytes).expect("a Mach-O")
}

pub(super) fn try_image(bytes: &[u8]) -> Option<Image> {
    read("a/x.so", bytes.len() as u64, &mut Cursor::new(bytes), Pages::Hashed).unwrap()
}

#[track_caller]
fn slice(made: &Made) -> Slice {
    image(&made.bytes()).slice.unwrap()
}

#[track_caller]
fn malformed(bytes: &[u8], expected: &str) {
    match image(bytes).slice {
        Err(Unloadable::Malformed(reason)) => assert!(reason.contains(expected), "{reason}"),
        other => panic!("{other:?}"),
    }
}

fn imported(slice: &Slice) -> Vec<(i32, &str, bool, bool)> {
    slice.imports.iter().map(|import| (import.ordinal.into(), import.name, import.weak, import.lazy)).collect()
}

#[test]
fn what_load_commands_say() {
    let made = Made {
        dependencies: vec![
            (LOAD, "/usr/lib/libSystem.B.dylib"),
            (LOAD_WEAK, "@rpath/weak.dylib"),
            (REEXPORT, "@loader_path/more.dylib"),
            (LOAD_UPWARD, "@rpath/up.dylib"),
            (LAZY_LOAD, "@rpath/later.dylib"),
        ],
        newer: vec![("@rpath/newer.dylib", 0), ("@rpath/all.dylib", 15)],
        rpaths: vec!["@loader_path/../lib", "/opt/build"],
        ..Made::default()
    };
    let found = slice(&made);
    assert_eq!((found.kind, found.two_level), (Kind::Dylib, true));
    assert_eq!(found.install_name.as_deref(), Some("@rpath/libmade.dylib"));
    let flags: Vec<(&str, [bool; 4])> = found
        .dependencies
        .iter()
        .map(|one| (one.path.as_str(), [one.weak, one.re_export, one.upward, one.delayed]))
        .collect();
    let (no, yes) = (false, true);
    let expected = [
        ("/usr/lib/libSystem.B.dylib", [no, no, no, no]),
        ("@rpath/weak.dylib", [yes, no, no, no]),
        ("@loader_path/more.dylib", [no, yes, no, no]),
        ("@rpath/up.dylib", [no, no, yes, no]),
        ("@rpath/later.dylib", [no, no, no, yes]),
        ("@rpath/newer.dylib", [no, no, no, no]),
        ("@rpath/all.dylib", [yes, yes, yes, yes]),
    ];
    assert_eq!(flags, expected);
    assert_eq!(found.rpaths, ["@loader_path/../lib", "/opt/build"]);
    let build = found.build.unwrap();
    assert_eq!(
        (build.platform, build.minos, build.sdk),
        (Platform::MacOs, Version::new(11, 0, 0), Version::new(13, 3, 0))
    );
    assert_eq!(build.sdk.to_string(), "13.3");
}

#[test]
fn kinds_and_systems() {
    let found = slice(&Made { kind: BUNDLE, flags: 0x5, build: None, ..Made::default() });
    assert_eq!((found.kind, found.two_level, found.install_name), (Kind::Bundle, false, None));
    let build = found.build.unwrap();
    assert_eq!((build.platform, build.minos, build.sdk), (Platform::MacOs, Version::new(11, 0, 0), Version::default()));
    assert_eq!(slice(&Made { kind: EXECUTABLE, ..Made::default() }).kind, Kind::Executable);
    assert_eq!(slice(&Made { kind: 1, ..Made::default() }).kind, Kind::Other(1));
    let ios = Made { build: Some((2, 0x000e_0000, 0)), ..Made::default() };
    assert_eq!(slice(&ios).build.unwrap().platform, Platform::Other(2));
    // Of two systems that of macOS counts, in either order.
    let both = |first: u32, second: u32| {
        let more = command(&[0x32, 0, second, 0x000c_0000, 0, 0]);
        slice(&Made { build: Some((first, 0x000b_0000, 0)), commands: vec![more], ..Made::default() }).build.unwrap()
    };
    assert_eq!((both(1, 6).platform, both(1, 6).minos.major()), (Platform::MacOs, 11));
    assert_eq!((both(6, 1).platform, both(6, 1).minos.major()), (Platform::MacOs, 12));
}

#[test]
fn imports_from_chained_fixups() {
    let imports = vec![
        (1, "_malloc", false),
        (0xef, "_far", true),
        (0, "_own", false),
        (-1, "_main", false),
        (-2, "_PyLong_Type", false),
        (-3, "__ZdlPv", true),
    ];
    for format in 1..=3 {
        let found = slice(&Made { imports: MadeImports::Chained(format, imports.clone()), ..Made::default() });
        let mut expected: Vec<_> =
            imports.iter().map(|(ordinal, name, weak)| (*ordinal, *name, *weak, false)).collect();
        // By what they are: own, libraries, then the special ones.
        expected.sort_by_key(|(ordinal, ..)| (*ordinal < 0, ordinal.abs()));
        assert_eq!(imported(&found), expected, "{format}");
        assert_eq!(found.imports.table(), Table::Chained);
    }
    let wide = vec![(0xfff0, "_far", false), (-2, "_flat", false)];
    let found = slice(&Made { imports: MadeImports::Chained(3, wide), ..Made::default() });
    assert_eq!(imported(&found), [(0xfff0, "_far", false, false), (-2, "_flat", false, false)]);
    let empty = slice(&Made { imports: MadeImports::Chained(1, vec![]), ..Made::default() });
    assert!(empty.imports.is_empty() && empty.imports.table() == Table::Chained);
}

#[test]
fn imports_from_opcodes() {
    let now = vec![(1, "_malloc", false), (200, "_far", true), (-2, "_PyLong_Type", false), (0, "_own", false)];
    let lazy = vec![(1, "_free", false), (2, "_second", true), (1, "_malloc", false)];
    let found = slice(&Made { imports: MadeImports::Opcodes(now, lazy), ..Made::default() });
    let expected = [
        (0, "_own", false, false),
        (1, "_free", false, true),
        (1, "_malloc", false, false),
        (1, "_malloc", false, true),
        (2, "_second", true, true),
        (200, "_far", true, false),
        (-2, "_PyLong_Type", false, false),
    ];
    assert_eq!(imported(&found), expected);
    assert_eq!(found.imports.table(), Table::Opcodes);
}

#[test]
fn a_name_counts_when_it_is_bound_and_where() {
    let check = |bind: &[u8], lazy: &[u8], expected: &[(i32, &str, bool, bool)]| {
        let weak = b"\x40_weak_only\0\x90\0".to_vec();
        let imports = MadeImports::Raw(bind.to_vec(), weak, lazy.to_vec());
        assert_eq!(imported(&slice(&Made { imports, ..Made::default() })), expected);
    };
    // Said, and not bound.
    check(b"\x11\x40_a\0\x00", b"", &[]);
    // Bound in two libraries, each often, by every opcode.
    let bind = b"\x11\x40_a\0\x70\x08\x90\x90\xa0\x08\xb1\xc0\x02\x08\x12\x90\x3e\x41_b\0\x80\x10\x60\x7f\x90\x00";
    check(bind, b"", &[(1, "_a", false, false), (2, "_a", false, false), (-2, "_b", true, false)]);
    // The end separates lazy binds; otherwise it is the end.
    let two = b"\x11\x40_a\0\x90\x00\x12\x40_b\0\x90\x00";
    check(two, b"", &[(1, "_a", false, false)]);
    check(b"", two, &[(1, "_a", false, true), (2, "_b", false, true)]);
    // Nothing is carried over from one stream to the other.
    let none =
        Made { imports: MadeImports::Raw(b"\x11\x40_a\0\x90".to_vec(), vec![], b"\x90".to_vec()), ..Made::default() };
    malformed(&none.bytes(), "binds a name that it does not say");
}

#[test]
fn imports_and_exports_of_a_symbol_table() {
    let imports = vec![(1, "_malloc", false), (3, "_third", true), (-1, "_main", false), (-2, "_flat", false)];
    let exports = BTreeMap::from([("_a", MadeExport::At(0x1000)), ("_b", MadeExport::At(0x1000))]);
    let made = Made { imports: MadeImports::Symbols(imports), no_trie: true, exports, ..Made::default() };
    let found = slice(&made);
    let expected = [
        (1, "_malloc", false, false),
        (3, "_third", true, false),
        (-1, "_main", false, false),
        (-2, "_flat", false, false),
    ];
    assert_eq!(imported(&found), expected);
    assert_eq!(found.imports.table(), Table::Symbols);
    assert_eq!(found.exports.names(), ["_a", "_b"]);
    assert_eq!(found.exports.find("_a"), Some(Export::Own));
    let flat = slice(&Made { flags: 0x5, ..made });
    assert!(flat.imports.iter().all(|import| import.ordinal == Ordinal::FlatLookup));
}

#[test]
fn exports_are_found_by_walking() {
    let exports = BTreeMap::from([
        ("_png_write_info", MadeExport::At(0x1000)),
        ("_png_write_info_before_PLTE", MadeExport::At(0x1004)),
        ("_png_write", MadeExport::At(0x20_0000)),
        ("_other", MadeExport::Other(2, "")),
        ("_renamed", MadeExport::Other(300, "_there")),
        ("_TF_NewStatus", MadeExport::At(0)),
    ]);
    let found = slice(&Made { exports: exports.clone(), ..Made::default() }).exports;
    assert!(matches!(found, Exports::Trie(_)));
    assert_eq!(found.names(), exports.keys().copied().collect::<Vec<_>>());
    for name in ["_png_write_info", "_png_write_info_before_PLTE", "_png_write", "_TF_NewStatus"] {
        assert_eq!(found.find(name), Some(Export::Own), "{name}");
    }
    assert_eq!(found.find("_other"), Some(Export::ReExport { ordinal: 2, name: "" }));
    assert_eq!(found.find("_renamed"), Some(Export::ReExport { ordinal: 300, name: "_there" }));
    for missing in ["", "_", "_png", "_png_write_inf", "_png_write_info_", "_png_write_info_before_PLTE2", "x"] {
        assert_eq!(found.find(missing), None, "{missing}");
    }
    for (prefix, expected) in
        [("_TF_", true), ("_TF_NewStatus", true), ("_TF_NewStatus2", false), ("_png_w", true), ("_t", false)]
    {
        assert_eq!(found.has_prefix(prefix), expected, "{prefix}");
    }
    assert!(!found.is_empty());
    assert!(slice(&Made::default()).exports.is_empty());
    // Of names alone the same.
    let names = Exports::of_names(["_TF_a", "_b"]);
    assert!(names.has_prefix("_TF_") && !names.has_prefix("_c") && !names.is_empty());
    assert_eq!((names.find("_b"), names.find("_TF_")), (Some(Export::Own), None));
}

#[test]
fn the_slice_for_arm64_counts() {
    let arm = Made { install_name: Some("@rpath/arm.dylib"), ..Made::default() }.bytes();
    let intel = Made { cpu: X86_64, ..Made::default() }.bytes();
    let signed_pointers = Made { cpu: ARM64E, ..Made::default() }.bytes();
    for wide in [false, true] {
        let found = image(&fat(&[(X86_64, intel.clone()), (ARM64, arm.clone())], wide));
        assert_eq!(found.architectures, [Architecture::X86_64, Architecture::Arm64]);
        let slice = found.slice.unwrap();
        assert_eq!((slice.install_name.as_deref(), slice.signature), (Some("@rpath/arm.dylib"), Signature::Intact));
        let found = image(&fat(&[(ARM64E, signed_pointers.clone()), (X86_64, intel.clone())], wide));
        assert_eq!(found.architectures, [Architecture::Arm64e, Architecture::X86_64]);
        assert_eq!(found.slice, Err(Unloadable::Architecture));
    }
    assert_eq!(image(&intel).slice, Err(Unloadable::Architecture));
    let thin = image(&signed_pointers);
    assert_eq!((thin.architectures, thin.slice), (vec![Architecture::Arm64e], Err(Unloadable::Architecture)));
    let old = [&0xfeed_face_u32.to_le_bytes()[..], &7_u32.to_le_bytes(), &3_u32.to_le_bytes(), &[0; 40]].concat();
    assert_eq!(image(&old).architectures, [Architecture::Other(7, 3)]);
    // The slice is something else than the fat header says.
    malformed(&fat(&[(ARM64, intel)], false), "not that of arm64");
    malformed(&fat(&[(ARM64, b"text".repeat(20))], false), "load commands");
    let whole = fat(&[(ARM64, arm)], false);
    malformed(&whole[..whole.len() - 1], "slice reaches over the end");
}

#[test]
fn what_is_no_mach_o() {
    // A class file of Java 8 begins as a fat file of 52 slices does.
    let class = [&b"\xca\xfe\xba\xbe\0\0\0\x34"[..], &[0; 100]].concat();
    for bytes in
        [&class[..], b"", b"\xcf", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe\0\0\0\0", b"\x7fELF and so on", b"import x"]
    {
        assert_eq!(try_image(bytes), None, "{bytes:?}");
    }
}

#[test]
fn signatures_cover_every_page() {
    let data = (0..40_000_u32).map(|at| (at % 251) as u8).collect::<Vec<_>>();
    for (page, alternate) in [(12, false), (12, true), (14, false)] {
        let signature = Some(MadeSignature { page, alternate });
        let whole = Made { data: data.clone(), signature, ..Made::default() }.bytes();
        let signed = |bytes: &[u8]| image(bytes).slice.unwrap().signature;
        assert_eq!(signed(&whole), Signature::Intact);
        for at in [0xfff, 0x1000, 0x2345, 40_000] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            assert_eq!(signed(&flipped), Signature::Broken(at as u64 >> page << page), "{page} {at}");
        }
        let reading = read("x", whole.len() as u64, &mut Cursor::new(&whole), Pages::Skipped).unwrap().unwrap();
        assert_eq!(reading.slice.unwrap().signature, Signature::Unread);
    }
    assert_eq!(slice(&Made { signature: None, ..Made::default() }).signature, Signature::Absent);
    let mut other = Made::default().bytes();
    let at = other.windows(4).position(|bytes| bytes == b"\xfa\xde\x0c\x02").unwrap();
    // SHA-1 alone; pages of two bytes; another number of pages; more code than there is.
    for (offset, byte) in [(37, 1), (39, 1), (31, 77), (32, 1)] {
        let old = std::mem::replace(&mut other[at + offset], byte);
        let found = image(&other).slice.unwrap().signature;
        assert!(matches!(found, Signature::Unusable(_)), "{offset}: {found:?}");
        other[at + offset] = old;
    }
    assert_eq!(image(&other).slice.unwrap().signature, Signature::Intact);
}

#[test]
fn an_image_that_is_cut_short() {
    let whole = Made {
        imports: MadeImports::Opcodes(vec![(1, "_malloc", false)], vec![]),
        exports: BTreeMap::from([("_a", MadeExport::At(1))]),
        ..Made::default()
    }
    .bytes();
    // Linkers fill nothing up behind the signature, so that every length is too short.
    for length in (12..whole.len()).step_by(7) {
        let found = image(&whole[..length]).slice;
        assert!(matches!(found, Err(Unloadable::Malformed(_))), "{length}: {found:?}");
    }
    malformed(&whole[..whole.len() - 1], "segment __LINKEDIT reaches over its end");
}

#[test]
fn texts_tell_what_it_was_built_with() {
    let check = |parts: &[&str]| {
        // Far into the file, and over the edge of what is read at once.
        let mut found = Vec::new();
        for before in [0, 200_000, (256 << 10) - 0x1004 - 20, (256 << 10) - 0x1004 - parts.concat().len() + 3] {
            let mut data = vec![b'.'; before];
            data.extend(parts.concat().as_bytes());
            data.extend(b"\0 the end");
            found.push(slice(&Made { data, ..Made::default() }).markers);
        }
        assert!(found.iter().all(|one| *one == found[0]), "{parts:?}: {found:?}");
        found.remove(0)
    };
    const OLD: &str = "numpy.core._multiarray_umath";
    const NEW: &str = "numpy._core._multiarray_umath";
    const CALLED: &str = "module compiled against API version 0x%x but this version of numpy is 0x%x";
    const SINCE: &str = "module was compiled against NumPy C-API version 0x%x (NumPy 1.23) but the running NumPy";
    assert_eq!(check(&[OLD, "\0", CALLED]).numpy, Some(NumpyAbi::One));
    assert_eq!(check(&[OLD]).numpy, None);
    assert_eq!(check(&[CALLED]).numpy, None);
    assert_eq!(check(&[OLD, "\0", NEW, "\0", SINCE]).numpy, Some(NumpyAbi::Two { oldest: Some(23) }));
    assert_eq!(check(&[NEW]).numpy, Some(NumpyAbi::Two { oldest: None }));
    assert!(check(&["__KMP_REGISTERED_LIB_%d_%d"]).openmp);
    assert!(!check(&["KMP_REGISTERED"]).openmp);
    // Instructions are no texts.
    let code = OLD.as_bytes().iter().chain(NEW.as_bytes()).copied().collect();
    assert_eq!(slice(&Made { code, ..Made::default() }).markers.numpy, None);
}

#[test]
fn the_version_of_a_plugin_of_jax() {
    // adrp x0, #0x1000; add x0, x0, #0x10; ret: the table is in the data, which begins on the next page.
    let instructions = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let plain = [0xb000_0000, 0x9100_4000, 0xd65f_03c0];
    let made = |words: &[u32], table: &[u64]| {
        let mut code = instructions(words);
        code.resize(0x1000, 0);
        let mut data = vec![0; 0x10];
        data.extend(table.iter().flat_map(|number| number.to_le_bytes()));
        data.resize(0x100, 0);
        let exports = BTreeMap::from([("_GetPjrtApi", MadeExport::At(0x1000))]);
        slice(&Made { code, data, exports, kind: DYLIB, ..Made::default() }).markers.pjrt
    };
    let table = [808, 0, 24, 0, 47 << 32];
    let expected = Some(Pjrt { major: 0, minor: 47 });
    assert_eq!(made(&plain, &table), expected);
    assert_eq!(made(&[0xd503_245f, plain[0], plain[1], plain[2]], &table), expected);
    // It makes the table first; another register; another place; another table.
    assert_eq!(made(&[0xa9bf_7bfd, plain[0], plain[1], plain[2]], &table), None);
    assert_eq!(made(&[0xb000_0001, plain[1], plain[2]], &table), None);
    assert_eq!(made(&[0xb0ff_ffe0, plain[1], plain[2]], &table), None);
    assert_eq!(made(&plain, &[808, 0, 32, 0, 47 << 32]), None);
    assert_eq!(made(&plain, &[8, 0, 24, 0, 47 << 32]), None);
    assert_eq!(slice(&Made::default()).markers.pjrt, None);
    assert_eq!(BASE & 0xfff, 0);
}

#[test]
fn a_wheel_and_a_tree_give_the_same_facts() {
    let data: Vec<u8> = (0..300_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let made = Made {
        imports: MadeImports::Chained(1, vec![(1, "_malloc", false)]),
        exports: BTreeMap::from([("_a", MadeExport::At(1))]),
        data,
        ..Made::default()
    };
    let fat = fat(&[(X86_64, Made { cpu: X86_64, ..Made::default() }.bytes()), (ARM64, made.bytes())], false);
    let crafted = Crafted::named("made", &[("made/__init__.py", "import torch\n"), ("made/y.txt", "y")])
        .with(Item::new("made/x.so", &fat));
    let locked = crafted.locked();
    let mut wheel = macml::install::open(Cursor::new(crafted.bytes()), &locked.file).unwrap();
    let facts = read_wheel(&mut wheel).unwrap();
    assert_eq!(facts.images.len(), 1);
    assert_eq!(facts.images[0].path, "made/x.so");
    let slice = facts.images[0].slice.as_ref().unwrap();
    assert_eq!((slice.signature.clone(), slice.imports.len()), (Signature::Intact, 1));

    let folder = tempfile::tempdir().unwrap();
    for file in &wheel.files.clone() {
        let path = folder.path().join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::copy(&mut wheel.content(file), &mut std::fs::File::create(path).unwrap()).unwrap();
    }
    let paths: Vec<String> = wheel.files.iter().map(|file| file.path.clone()).collect();
    let paths = paths.iter().map(String::as_str).chain(["made/gone.so", "made"]);
    assert_eq!(read_tree(folder.path(), paths, Pages::Hashed).unwrap(), facts);
}

#[test]
fn imports_are_sorted_and_each_once() {
    let import = |ordinal: i32, name| Import { ordinal: Ordinal::from(ordinal), name, weak: false, lazy: false };
    let imports =
        macml::check::facts::Imports::new(Table::Chained, [import(2, "_b"), import(1, "_b"), import(2, "_b")]);
    assert_eq!(imports.iter().map(|one| i32::from(one.ordinal)).collect::<Vec<_>>(), [1, 2]);
    for number in [0, 1, 77, -1, -2, -3, -4, i32::MIN, i32::MAX] {
        assert_eq!(i32::from(Ordinal::from(number)), number);
    }
    assert_eq!(uleb(300), [0xac, 2]);
}
