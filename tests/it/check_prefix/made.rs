//! Prefixes made by hand: whatever may have become of one since it was installed, and what looks like none.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use macml::check::contents::Level;
use macml::check::contents::Wanted;
use macml::check::contents::WantedPackage;
use macml::host::Host;
use macml::host::Process;
use macml::pipeline::check::Because;
use macml::pipeline::check::Declared;
use macml::pipeline::check::Word;
use macml::pipeline::check::prefix::Error;
use macml::pipeline::check::prefix::prefix;
use macml::target::Platform;

use super::ARM64;
use super::Made;
use super::SITE;
use super::all;
use super::declared;
use super::dylib;
use super::errors;
use super::libraries;
use super::line;
use super::lines;
use super::module;
use super::one;
use crate::support::macho;

/// A package with a module that finds its library beside itself.
fn whole() -> Made {
    let made = Made::new();
    let library = dylib(|made| made.install_name = Some("@rpath/libinner.dylib"));
    let module = module(&["@rpath/libinner.dylib"], &["@loader_path/lib"]);
    let files: [(&str, &[u8]); 4] = [
        ("a/__init__.py", b"x = 1\n"),
        ("a/_a.cpython-312-darwin.so", &module),
        ("a/lib/libinner.dylib", &library),
        ("../../../bin/a", b"#!/x/bin/python\nimport a\n"),
    ];
    made.install("a", "1.0", ARM64, &files);
    made
}

#[test]
fn what_is_as_installed_passes() {
    let made = whole();
    for level in [Level::Names, Level::Times, Level::Full] {
        let found = one(made.root(), level);
        assert_eq!((lines(&found.parts[0]), found.parts[0].word), (vec![], Word::AsRecorded), "{level:?}");
        assert_eq!(found.parts.len(), 1);
        assert_eq!(libraries(&found), []);
        assert_eq!(found.of.platform, Platform::MacosArm64);
        let [set] = &found.sets[..] else { panic!("{:?}", found.sets) };
        assert_eq!(
            set.releases.iter().map(|one| format!("{} {}", one.name, one.version)).collect::<Vec<_>>(),
            ["a 1.0"]
        );
        assert_eq!((set.solved_with.clone(), set.of.on.as_ref().unwrap().because), (None, Because::Floor));
        let [a] = &found.distributions[..] else { panic!("{:?}", found.distributions) };
        assert_eq!(a.wheel.as_ref().unwrap().to_string(), format!("a-1.0-{ARM64}.whl"));
        assert_eq!(a.facts.images.len(), 2);
    }
}

#[test]
fn each_change_is_named() {
    let made = whole();
    fs::write(made.site("a/__init__.py"), "x = 2\n").unwrap();
    fs::remove_file(made.site("a/lib/libinner.dylib")).unwrap();
    fs::write(made.root().join("bin/a"), "short").unwrap();
    let found = one(made.root(), Level::Times);
    let said = [
        "error[not-as-recorded]: `bin/a` of `a` 1.0 has 5 bytes, and 25 by RECORD",
        "error[not-as-recorded]: `lib/python3.12/site-packages/a/__init__.py` of `a` 1.0 has other bytes than RECORD says",
        "error[not-as-recorded]: `lib/python3.12/site-packages/a/lib/libinner.dylib` of `a` 1.0 is gone",
    ];
    assert_eq!((lines(&found.parts[0]), found.parts[0].word), (said.map(str::to_owned).to_vec(), Word::Differs));
    let first = &found.parts[0].told[1];
    assert_eq!(first.path.as_deref(), Some("lib/python3.12/site-packages/a/__init__.py"));
    assert_eq!(first.package.as_ref().unwrap().as_str(), "a");
    let hint = "`pip install --force-reinstall --no-deps a==1.0` puts it back";
    assert_eq!(first.finding.hint.as_deref(), Some(hint));
    let said: Vec<String> = libraries(&found).iter().map(line).collect();
    assert!(said.iter().any(|one| one.contains("libinner.dylib")), "{said:?}");
    // What RECORD names is not expected from outside: without it nothing loads.
    let errors = errors(&found);
    assert!(errors[0].starts_with("error[library-missing]") && errors[0].contains("which is gone"), "{errors:?}");
}

#[test]
fn what_uv_installed_is_put_back_with_uv() {
    let made = whole();
    fs::write(made.site("a/__init__.py"), "x = 2\n").unwrap();
    fs::write(made.site("a-1.0.dist-info/INSTALLER"), "uv").unwrap();
    let found = one(made.root(), Level::Times);
    let hint = format!("`uv pip install --python {} --reinstall --no-deps a==1.0` puts it back", made.root().display());
    assert_eq!(found.parts[0].told[0].finding.hint.as_deref(), Some(&*hint));
}

#[test]
fn a_flipped_bit_shows_whatever_its_time_says() {
    let made = whole();
    let path = made.site("a/lib/libinner.dylib");
    let mut bytes = fs::read(&path).unwrap();
    bytes[0x1001] ^= 1;
    super::write_old(&path, &bytes);
    let found = one(made.root(), Level::Times);
    assert_eq!(found.parts[0].word, Word::AsRecorded);
    let [error] = &errors(&found)[..] else { panic!("{:?}", errors(&found)) };
    assert!(error.starts_with("error[signature-broken]") && error.contains("`a/lib/libinner.dylib`"), "{error}");
    let found = one(made.root(), Level::Full);
    let [error] = &lines(&found.parts[0])[..] else { panic!() };
    assert!(error.contains("libinner.dylib` of `a` 1.0 has other bytes than RECORD says"), "{error}");
}

#[test]
fn many_changes_are_few_lines() {
    let made = Made::new();
    let paths: Vec<String> = (10..30).map(|at| format!("a/m{at}.py")).collect();
    let files: Vec<(&str, &[u8])> = paths.iter().map(|path| (path.as_str(), &b"x"[..])).collect();
    made.install("a", "1.0", "py3-none-any", &files);
    fs::remove_dir_all(made.site("a")).unwrap();
    let found = one(made.root(), Level::Times);
    let said = lines(&found.parts[0]);
    assert_eq!(said.len(), 6, "{said:?}");
    assert_eq!(said[5], "error[not-as-recorded]: 15 more files of `a` 1.0 are gone");
}

#[test]
fn another_processor() {
    let made = whole();
    let intel = dylib(|made| {
        made.cpu = macho::X86_64;
        made.install_name = Some("@rpath/libinner.dylib");
    });
    super::write_old(&made.site("a/lib/libinner.dylib"), &intel);
    let said = errors(&one(made.root(), Level::Times)).join("\n");
    let expected = "error[wrong-architecture]: `a/lib/libinner.dylib` of `a` 1.0 is for x86_64 and not for arm64";
    assert!(said.contains(expected), "{said}");

    // An Intel Python, in the environment itself and outside of it.
    let made = whole();
    let python = dylib(|made| {
        made.cpu = macho::X86_64;
        made.kind = macho::EXECUTABLE;
        made.install_name = None;
    });
    let outside = tempfile::tempdir().unwrap();
    let program = outside.path().canonicalize().unwrap().join("python3.12");
    fs::write(&program, &python).unwrap();
    made.link("bin/python3", program.to_str().unwrap());
    made.link("bin/python", "python3");
    let said = errors(&one(made.root(), Level::Times));
    let shown = program.display();
    let expected = format!("error[wrong-architecture]: `{shown}` of `python` 3.12 is for x86_64 and not for arm64");
    assert_eq!(said, [expected]);
    fs::remove_file(made.root().join("bin/python3")).unwrap();
    fs::write(made.root().join("bin/python3"), &python).unwrap();
    let said = errors(&one(made.root(), Level::Times));
    assert_eq!(
        said,
        ["error[wrong-architecture]: `../../../bin/python3` of `python` 3.12 is for x86_64 and not for arm64"]
    );
}

#[test]
fn what_no_installer_recorded() {
    let made = whole();
    let module = module(&["@rpath/libnone.dylib"], &["@loader_path"]);
    // In nobody's folder, in that of a package, and a module at the top.
    super::write_old(&made.site("b/_b.so"), &module);
    super::write_old(&made.site("a/_more.so"), &module);
    super::write_old(&made.site("c.cpython-312-darwin.so"), &module);
    super::write_old(&made.site("a/__pycache__/x.pyc"), b"");
    let found = one(made.root(), Level::Times);
    let said = "note[unrecorded]: 3 files that no package brought: `lib/python3.12/site-packages/a/_more.so`, \
        `lib/python3.12/site-packages/b/` and `lib/python3.12/site-packages/c.cpython-312-darwin.so`";
    assert_eq!((lines(&found.parts[0]), found.parts[0].word), (vec![said.to_owned()], Word::AsRecorded));
    let of_each =
        found.distributions.iter().map(|one| format!("{} {} {}", one.name, one.version, one.facts.images.len()));
    assert_eq!(of_each.collect::<Vec<_>>(), ["a 1.0 3", "b 0+unrecorded 1", "c 0+unrecorded 1"]);
    // They are no releases of which anything could be known.
    assert_eq!(found.sets[0].releases.len(), 1);
}

#[test]
fn distributions_of_odd_forms() {
    let made = whole();
    let info = |name: &str, file: &str, text: &str| super::write_old(&made.site(name).join(file), text.as_bytes());
    info("b-2.0.dist-info", "METADATA", "Metadata-Version: 2.1\nName: b\nVersion: 2.0\n");
    info("b", "__init__.py", "");
    info("c-3.0-py3.12.egg-info", "PKG-INFO", "Name: c\n");
    made.install("a", "2.0", ARM64, &[("a/two.py", b"")]);
    made.install("d", "not_a_version", "py3-none-any", &[("d.py", b"")]);
    made.install("e", "1.0", "py3-none-any", &[("../../../../outside", b"x"), ("e.py", b"")]);
    let url = r#"{"url": "file:///src/f", "dir_info": {"editable": true}}"#;
    made.install(
        "f",
        "1.0",
        "py3-none-any",
        &[("f-1.0.dist-info/direct_url.json", url.as_bytes()), ("f.pth", b"/src/f\nimport f\nbelow\n")],
    );
    made.install("g", "1.0", "cp312-cp312-manylinux_2_28_x86_64", &[("g/_g.so", b"\x7fELF\x02\x01\x01")]);
    fs::write(made.root().join("pyvenv.cfg"), "home = /x\nInclude-System-Site-Packages = True\n").unwrap();
    made.link("bin/python", "/nowhere/bin/python3.12");
    fs::remove_file(made.root().join("../outside")).ok();
    let found = one(made.root(), Level::Times);
    let said = lines(&found.parts[0]);
    let expected = [
        "error[installed-twice]: `a` is installed 2 times: as 1.0 and 2.0",
        "error[wrong-architecture]: `g` 1.0 is from a wheel for another system: `manylinux_2_28_x86_64`",
        "warning[unrecorded]: `b` 2.0 has no RECORD: its files are not known",
        "note[unrecorded]: 1 recorded file lies outside of the environment and was not looked at: `../../../../outside`",
        "note[unrecorded]: 1 file that no package brought: `lib/python3.12/site-packages/b/`",
        "note[unrecorded]: `c` 3.0 was installed without RECORD, by a tool that writes none",
        "note[unrecorded]: `d` not-a-version has a version that PEP 440 does not know, and was passed over",
        "note[unrecorded]: installed to be worked on: `f` 1.0 in `/src/f`",
        "note[unrecorded]: modules are also taken from `/src/f`, which was not looked at",
        "note[unrecorded]: packages of the Python that the environment is made from can be imported too",
        "note[unrecorded]: the environment's Python leads to `/nowhere/bin/python3.12`, which is not here",
    ];
    assert_eq!(said.join("\n"), expected.join("\n"));
    assert_eq!(found.parts[0].word, Word::Differs);
    let releases: Vec<String> =
        found.sets[0].releases.iter().map(|one| format!("{} {}", one.name, one.version)).collect();
    assert_eq!(releases, ["a 1.0", "b 2.0", "c 3.0", "e 1.0", "f 1.0", "g 1.0"]);
}

#[test]
fn a_distribution_without_record_is_not_sure() {
    let made = whole();
    fs::remove_file(made.site("a-1.0.dist-info/RECORD")).unwrap();
    let found = one(made.root(), Level::Times);
    assert_eq!(found.parts[0].word, Word::Unsure);
    // Its libraries are found all the same, and are its own.
    let [a] = &found.distributions[..] else { panic!("{:?}", found.distributions) };
    assert_eq!((a.facts.images.len(), errors(&found)), (2, vec![]));
}

#[test]
fn names_and_links_of_all_kinds() {
    let made = whole();
    let root = made.root().join("with spaces \u{fc}");
    fs::create_dir(&root).unwrap();
    for folder in ["lib", "bin"] {
        fs::rename(made.root().join(folder), root.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("lib", root.join("lib64")).unwrap();
    std::os::unix::fs::symlink("round", root.join(SITE).join("round")).unwrap();
    std::os::unix::fs::symlink("../python", root.join("bin/python")).unwrap();
    std::os::unix::fs::symlink("bin/python", root.join("python")).unwrap();
    fs::write(root.join(SITE).join(OsStr::from_bytes(b"\xff.py")), "").unwrap();
    let pipe = root.join(SITE).join("a/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let found = one(&root, Level::Full);
    let said = lines(&found.parts[0]);
    assert!(said.iter().all(|one| !one.starts_with("error")), "{said:?}");
    assert!(said.iter().any(|one| one.contains("round")), "{said:?}");
    assert!(said.iter().any(|one| one.contains("the environment's Python leads to `../python`")), "{said:?}");
    assert_eq!(errors(&found), [""; 0]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let made = whole();
    let path = made.site("a/lib/libinner.dylib");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::read(&path).is_ok() {
        // Whoever may read everything cannot see this: a link that runs in a circle is as unreadable.
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("libinner.dylib", &path).unwrap();
    }
    let found = one(made.root(), Level::Times);
    assert_eq!(found.parts[0].word, Word::Unsure);
    let said = lines(&found.parts[0]);
    assert!(
        said.len() == 1
            && said[0].starts_with("warning[unreadable]: `lib/python3.12/site-packages/a/lib/libinner.dylib`"),
        "{said:?}"
    );
}

#[test]
fn an_environment_of_linux() {
    let made = Made::new();
    made.install("a", "1.0", "cp312-cp312-manylinux_2_28_aarch64", &[("a/_a.so", b"\x7fELF\x02\x01\x01")]);
    made.install("b", "1.0", "py3-none-any", &[("b.py", b"")]);
    // Nothing is asked of a Mac, so that nobody has to say which.
    let declared = Declared { macos: None, ..declared() };
    let found = prefix(made.root(), &declared, &[], None, Level::Times, None).unwrap().remove(0);
    assert_eq!((found.of.platform, found.sets.len()), (Platform::LinuxAarch64, 0));
    let words: Vec<Word> = found.parts.iter().map(|part| part.word).collect();
    assert_eq!(words, [Word::AsRecorded, Word::NotForMacs, Word::NotForMacs]);

    // Without a wheel that says so its Python does.
    let made = Made::new();
    made.install("b", "1.0", "py3-none-any", &[("b.py", b"")]);
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(64, 0);
    elf[18] = 62;
    fs::write(made.root().join("bin/python"), elf).unwrap();
    assert_eq!(one(made.root(), Level::Times).of.platform, Platform::LinuxX86_64);
    fs::remove_file(made.root().join("bin/python")).unwrap();
    assert_eq!(one(made.root(), Level::Times).of.platform, Platform::MacosArm64);
}

#[test]
fn which_mac() {
    let made = whole();
    let nobody = Declared { macos: None, ..declared() };
    let error = prefix(made.root(), &nobody, &[], None, Level::Times, None).unwrap_err();
    assert!(matches!(error, Error::NoMacos(_)) && error.hint().unwrap().contains("--macos"), "{error}");
    let because = |found: &[macml::pipeline::check::Prefix]| -> Vec<String> {
        let on = found[0].sets.iter().map(|set| set.of.on.clone().unwrap());
        on.map(|on| format!("{:?} {} {}", on.because, on.mac.chip, on.mac.macos)).collect()
    };
    let asked = ["m5,27.0".parse().unwrap()];
    let found = prefix(made.root(), &nobody, &asked, None, Level::Times, None).unwrap();
    assert_eq!(because(&found), ["Asked m5 27.0"]);
    let host = Host {
        source: "made".to_owned(),
        cpu: "Apple M4 Max".to_owned(),
        macos: "15.6.1".to_owned(),
        process: Process::Native,
        memory: 1 << 36,
        arm64: None,
    };
    let found = prefix(made.root(), &nobody, &asked, Some(&host), Level::Times, None).unwrap();
    assert_eq!(because(&found), ["Here m4-max 15.6", "Asked m5 27.0"]);
    let found = prefix(made.root(), &declared(), &asked, Some(&host), Level::Times, None).unwrap();
    assert_eq!(because(&found), ["Floor m1 14.0", "Asked m5 27.0"]);
}

#[test]
fn what_is_no_environment() {
    let folder = tempfile::tempdir().unwrap();
    let error = all(&folder.path().join("none"), Level::Times, None).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no `{}`", folder.path().join("none").display()));
    let error = all(folder.path(), Level::Times, None).unwrap_err();
    let shown = folder.path().display().to_string();
    assert_eq!(
        error.to_string(),
        format!("`{shown}` is no environment of Python: it has no `lib/python3.X/site-packages`")
    );
    assert!(error.hint().unwrap().contains("name the folder"), "{error:?}");
    fs::create_dir_all(folder.path().join(".venv").join(SITE)).unwrap();
    let near = |error: Error| error.hint().unwrap();
    let expected = format!("`{}` is one", folder.path().join(".venv").display());
    assert_eq!(near(all(folder.path(), Level::Times, None).unwrap_err()), expected);
    let deep = folder.path().join(".venv").join(SITE);
    assert_eq!(near(all(&deep, Level::Times, None).unwrap_err()), expected);
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(all(&file, Level::Times, None).unwrap_err(), Error::NotAPrefix { .. }));
    let free = folder.path().join("free");
    fs::create_dir_all(free.join("lib/python3.13t/site-packages")).unwrap();
    assert!(matches!(all(&free, Level::Times, None).unwrap_err(), Error::FreeThreaded(_)));
}

#[test]
fn several_pythons() {
    let made = whole();
    fs::create_dir_all(made.root().join("lib/python3.11/site-packages")).unwrap();
    let found = all(made.root(), Level::Times, None).unwrap();
    assert_eq!(found.iter().map(|one| one.of.python.to_string()).collect::<Vec<_>>(), ["3.11", "3.12"]);
    let only = Declared { python: Some("3.12".parse().unwrap()), ..declared() };
    let found = prefix(made.root(), &only, &[], None, Level::Times, None).unwrap();
    assert_eq!(found.len(), 1);
    let other = Declared { python: Some("3.13".parse().unwrap()), ..declared() };
    let error = prefix(made.root(), &other, &[], None, Level::Times, None).unwrap_err();
    assert!(error.to_string().ends_with("is for Python 3.11 and 3.12, not for 3.13"), "{error}");
}

#[test]
fn against_a_lock() {
    let made = whole();
    made.install("b", "1.0", "py3-none-any", &[("b.py", b"")]);
    made.install("pip", "24.0", "py3-none-any", &[("pip.py", b"")]);
    let package = |name: &str, version: &str| WantedPackage {
        name: name.parse().unwrap(),
        version: version.parse().unwrap(),
        wheel: None,
    };
    let mut wanted = Wanted { packages: vec![package("a", "1.0"), package("b", "1.0.0")], ..Wanted::default() };
    wanted.spare.insert("pip".parse().unwrap());
    let found = all(made.root(), Level::Times, Some(&wanted)).unwrap();
    assert_eq!((lines(&found[0].parts[0]), found[0].parts[0].word), (vec![], Word::AsLocked));
    wanted.packages = vec![package("a", "1.1"), package("c", "2.0")];
    fs::write(made.site("b.py"), "x").unwrap();
    let found = all(made.root(), Level::Times, Some(&wanted)).unwrap();
    let said = [
        "error[not-as-recorded]: `a` 1.0 is there, and 1.1 is locked",
        "error[not-as-recorded]: `b` 1.0 is there, and is not locked",
        "error[not-as-recorded]: `c` 2.0 is locked, and is not there",
        "error[not-as-recorded]: `lib/python3.12/site-packages/b.py` of `b` 1.0 has 1 bytes, and 0 by RECORD",
    ];
    assert_eq!(lines(&found[0].parts[0]), said);
}
