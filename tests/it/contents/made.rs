//! Prefixes made by hand, as another installer leaves them: RECORD in all its forms, and whatever may have become of files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use macml::check::contents::Contents;
use macml::check::contents::Level;
use macml::check::contents::Tree;
use macml::check::contents::Wanted;
use macml::check::contents::WantedPackage;
use macml::check::contents::look;
use macml::pep::Sha256;

use super::told;
use super::unsure;
use crate::support::wheel::base64_url;

const SITE: &str = "lib/python3.13/site-packages";

/// A prefix.
struct Made {
    folder: tempfile::TempDir,
    wanted: Wanted,
}

impl Made {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(SITE)).unwrap();
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        Self { folder, wanted: Wanted::default() }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn site(&self, path: &str) -> PathBuf {
        self.root().join(SITE).join(path)
    }

    /// Installs a distribution whose files are older than its RECORD, and locks it. Paths are as in RECORD.
    fn with(mut self, name: &str, files: &[(&str, &str)]) -> Self {
        self.install(name, "1.0", files);
        let package = WantedPackage { name: name.parse().unwrap(), version: "1.0".parse().unwrap(), wheel: None };
        self.wanted.packages.push(package);
        self
    }

    fn install(&self, name: &str, version: &str, files: &[(&str, &str)]) {
        let info = format!("{name}-{version}.dist-info");
        let mut record = String::new();
        let old = SystemTime::now() - Duration::from_secs(3600);
        let metadata = format!("{info}/METADATA");
        for (path, text) in files.iter().copied().chain([(metadata.as_str(), name)]) {
            let file = self.site(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            set_time(&file, old);
            if path.starts_with("../../../bin/") {
                set_mode(&file, 0o755);
            }
            let digest = base64_url(Sha256::of(text.as_bytes()).as_bytes());
            let odd = path.contains([',', '"', '\n']);
            let quoted = if odd { format!("\"{}\"", path.replace('"', "\"\"")) } else { path.to_owned() };
            writeln!(record, "{quoted},sha256={digest},{}", text.len()).unwrap();
        }
        writeln!(record, "{info}/RECORD,,").unwrap();
        fs::write(self.site(&info).join("RECORD"), record).unwrap();
    }

    fn look(&self, level: Level) -> Contents {
        let trees = Tree::prefixes(self.root()).unwrap();
        let [tree] = &trees[..] else { panic!("{trees:?}") };
        look(tree, &self.wanted, level, None).unwrap()
    }

    /// Checks what the two levels tell of files, which is the same; returns the second.
    fn check(&self, expected: &[&str]) -> Contents {
        assert_eq!(told(&self.look(Level::Times)), expected, "times");
        let full = self.look(Level::Full);
        assert_eq!(told(&full), expected, "full");
        full
    }
}

fn set_time(path: &Path, time: SystemTime) {
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn plain() -> Made {
    Made::new()
        .with("aa", &[("aa/__init__.py", "x = 1\n"), ("aa/sub/mod.py", "y = 1\n"), ("../../../bin/aa", "#!/bin/sh\n")])
        .with("bb", &[("bb.py", "z = 1\n"), ("../../../share/bb/data.txt", "d")])
}

#[test]
fn whatever_becomes_of_a_file_is_told_with_its_package() {
    let sound = plain().check(&[]);
    assert_eq!((sound.files, sound.unsure.len()), (9, 2));
    // Of RECORD nothing is known without the wheel.
    assert_eq!(unsure(&sound), ["aa: record", "bb: record"]);
    assert_eq!(unsure(&plain().look(Level::Times)), [""; 0]);
    let digest = sound.digest.unwrap();
    let check = |change: &dyn Fn(&Made), expected: &[&str]| {
        let made = plain();
        change(&made);
        assert_ne!(made.check(expected).digest, Some(digest), "{expected:?}");
    };
    let write = |path: &'static str, text: &'static str| move |made: &Made| fs::write(made.site(path), text).unwrap();
    check(&write("aa/sub/mod.py", "y = 10\n"), &[&format!("aa: changed {SITE}/aa/sub/mod.py: size 6 -> 7")]);
    // The same size, at another time.
    check(&write("aa/sub/mod.py", "y = 2\n"), &[&format!("aa: changed {SITE}/aa/sub/mod.py: bytes")]);
    check(&write("../../../share/bb/data.txt", "e"), &["bb: changed share/bb/data.txt: bytes"]);
    check(&|made| fs::remove_file(made.site("bb.py")).unwrap(), &[&format!("bb: missing {SITE}/bb.py")]);
    check(&write("aa/sub/new.py", ""), &[&format!("aa: extra {SITE}/aa/sub/new.py 1")]);
    check(&write("new.py", ""), &[&format!("-: extra {SITE}/new.py 1")]);
    // A module without its source.
    check(&write("aa/evil.pyc", ""), &[&format!("aa: extra {SITE}/aa/evil.pyc 1")]);
    check(
        &|made| fs::rename(made.site("aa/sub/mod.py"), made.site("aa/sub/dom.py")).unwrap(),
        &[&format!("aa: extra {SITE}/aa/sub/dom.py 1"), &format!("aa: missing {SITE}/aa/sub/mod.py")],
    );
    check(
        &|made| fs::rename(made.site("aa/sub"), made.site("aa/Sub")).unwrap(),
        &[&format!("aa: changed {SITE}/aa/sub/mod.py: is {SITE}/aa/Sub/mod.py")],
    );
    let stranger = |made: &Made| {
        fs::create_dir_all(made.site("cc/dd")).unwrap();
        for path in ["cc/1.py", "cc/dd/2.so"] {
            fs::write(made.site(path), "").unwrap();
        }
    };
    check(&stranger, &[&format!("-: extra {SITE}/cc/ 2")]);
    let folder = |made: &Made| {
        fs::remove_file(made.site("bb.py")).unwrap();
        fs::create_dir(made.site("bb.py")).unwrap();
    };
    check(&folder, &[&format!("bb: changed {SITE}/bb.py: a folder")]);
    // Another installer may have linked: what it leads to counts.
    let link = |made: &Made, text: &str| {
        fs::write(made.root().join("elsewhere"), text).unwrap();
        fs::remove_file(made.site("bb.py")).unwrap();
        std::os::unix::fs::symlink(made.root().join("elsewhere"), made.site("bb.py")).unwrap();
    };
    check(&|made| link(made, "z = 2\n"), &[&format!("bb: changed {SITE}/bb.py: bytes")]);
    let made = plain();
    link(&made, "z = 1\n");
    assert_eq!(made.check(&[]).digest, Some(digest));
}

#[test]
fn what_is_no_change_is_none() {
    let digest = plain().check(&[]).digest;
    let check = |change: &dyn Fn(&Made)| {
        let made = plain();
        change(&made);
        assert_eq!(made.check(&[]).digest, digest);
    };
    check(&|made| set_time(&made.site("bb.py"), SystemTime::now()));
    check(&|made| {
        fs::create_dir(made.site("aa/__pycache__")).unwrap();
        fs::write(made.site("aa/__pycache__/__init__.cpython-313.pyc"), "").unwrap();
        fs::write(made.site("bb.pyc"), "").unwrap();
        fs::write(made.site(".DS_Store"), "").unwrap();
    });
    // Outside of the folder of packages a prefix is somebody's.
    check(&|made| {
        for path in ["pyvenv.cfg", "bin/python", "bin/activate", "bin/other", "lib/libpython.so"] {
            fs::write(made.root().join(path), "").unwrap();
        }
    });
    for name in ["INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"] {
        let made = plain();
        fs::write(made.site("bb-1.0.dist-info").join(name), "x").unwrap();
        assert_eq!(made.look(Level::Full).digest, digest, "{name}");
    }
    // Only the wheel says what is to be run.
    check(&|made| set_mode(&made.root().join("bin/aa"), 0o644));
}

/// An edit that puts back size and time is seen by reading all, and an edited row of RECORD goes with it.
#[test]
fn what_only_reading_everything_tells() {
    let made = plain();
    let path = made.site("bb.py");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "z = 2\n").unwrap();
    set_time(&path, time);
    assert_eq!(told(&made.look(Level::Times)), [""; 0]);
    assert_eq!(told(&made.look(Level::Full)), [format!("bb: changed {SITE}/bb.py: bytes")]);
    let record = made.site("bb-1.0.dist-info/RECORD");
    let digests = ["z = 1\n", "z = 2\n"].map(|text| base64_url(Sha256::of(text.as_bytes()).as_bytes()));
    fs::write(&record, fs::read_to_string(&record).unwrap().replace(&digests[0], &digests[1])).unwrap();
    // Nobody can tell without the wheel: that is said.
    let contents = made.look(Level::Full);
    assert_eq!((told(&contents).len(), unsure(&contents).contains(&"bb: record".to_owned())), (0, true));
    assert_ne!(contents.digest, plain().look(Level::Full).digest);
}

#[test]
fn distributions_are_compared_by_name() {
    let mut made = plain().with("Odd_Name.x", &[]);
    made.wanted.packages[0].version = "1.0.0".parse().unwrap();
    let check = |made: &Made, expected: &[&str]| {
        let contents = made.look(Level::Names);
        assert_eq!(
            (told(&contents), contents.files, contents.digest),
            (expected.iter().map(|one| (*one).to_owned()).collect(), 0, None)
        );
    };
    check(&made, &[]);
    made.wanted.packages[1].version = "2.0".parse().unwrap();
    made.install("pip", "24.0", &[("pip/__init__.py", "")]);
    made.install("aa", "0.9", &[]);
    check(&made, &["aa: found 0.9, locked 1.0.0", "bb: found 1.0, locked 2.0", "pip: not locked, found 24.0"]);
    fs::remove_dir_all(made.site("aa-1.0.dist-info")).unwrap();
    fs::remove_dir_all(made.site("aa-0.9.dist-info")).unwrap();
    made.wanted.spare.insert("pip".parse().unwrap());
    made.wanted.packages[1].version = "1.0".parse().unwrap();
    check(&made, &["aa: not installed, locked 1.0.0"]);
    // Its files are nobody's then.
    made.check(&["aa: not installed, locked 1.0.0", &format!("-: extra {SITE}/aa/ 2")]);
}

#[test]
fn a_spare_package_counts_for_nothing() {
    let digest = plain().look(Level::Full).digest;
    let mut made = plain();
    made.install("pip", "24.0", &[("pip/__init__.py", ""), ("../../../bin/pip", "#!/bin/sh\n")]);
    assert_ne!(made.check(&["pip: not locked, found 24.0"]).digest, digest);
    made.wanted.spare.insert("pip".parse().unwrap());
    fs::write(made.site("pip/__init__.py"), "edited").unwrap();
    assert_eq!(made.check(&[]).digest, digest);
}

#[test]
fn records_of_every_kind() {
    let odd = [
        ("odd/with space.txt", "1"),
        ("odd/with,comma.txt", "2"),
        ("odd/with\"quote.txt", "3"),
        ("odd/with\nline.txt", "4"),
        ("odd/é.txt", "5"),
    ];
    let made = plain().with("odd", &odd);
    made.check(&[]);
    for (path, _) in odd {
        fs::write(made.site(path), "6").unwrap();
    }
    let expected = odd.map(|(path, _)| format!("odd: changed {SITE}/{path}: bytes"));
    let mut expected = expected.iter().map(String::as_str).collect::<Vec<_>>();
    expected.sort_unstable();
    made.check(&expected);

    let record = |text: &str| {
        let made = plain();
        let path = made.site("bb-1.0.dist-info/RECORD");
        let old = fs::read_to_string(&path).unwrap();
        fs::write(&path, old.replace("bb-1.0.dist-info/RECORD,,", text)).unwrap();
        made
    };
    // Lines with nothing in them, compiled files that are not there, and no row for itself.
    let made = record("\n\n__pycache__/bb.cpython-313.pyc,,\n");
    made.check(&[]);
    // Nothing outside is looked at, and that is told.
    let made = record("../../../../outside,,\n/etc/passwd,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n");
    let contents = made.check(&[]);
    assert_eq!(unsure(&contents)[2..], ["bb: outside ../../../../outside", "bb: outside /etc/passwd"]);
    // A file without a digest: there, and no more is known.
    let made = record("bare.py,,\n");
    fs::write(made.site("bare.py"), "").unwrap();
    assert!(unsure(&made.check(&[])).contains(&format!("bb: no digest {SITE}/bare.py")));
    let made = record("half a \"row");
    made.check(&[&format!("bb: changed {SITE}/bb-1.0.dist-info/RECORD: bytes"), &format!("-: extra {SITE}/bb.py 1")]);
    let made = plain();
    fs::remove_file(made.site("bb-1.0.dist-info/RECORD")).unwrap();
    let contents = made.check(&[&format!("-: extra {SITE}/bb.py 1")]);
    assert!(unsure(&contents).contains(&"bb: no record".to_owned()));
}

#[test]
fn what_cannot_be_read_is_not_taken_for_sound() {
    let made = plain();
    fs::remove_file(made.site("bb.py")).unwrap();
    // Whoever asks, root too, is told that it leads to itself.
    std::os::unix::fs::symlink("bb.py", made.site("bb.py")).unwrap();
    for level in [Level::Times, Level::Full] {
        let contents = made.look(level);
        assert_eq!((told(&contents).len(), contents.digest), (0, None));
        assert!(unsure(&contents).contains(&format!("unreadable {SITE}/bb.py")));
    }
}

/// 10,000 files; how fast, is measured on 50,000 where that is asked for.
#[test]
fn as_many_files_as_a_framework_has() {
    let many: usize = std::env::var("MACML_MEASURE").map_or(10_000, |many| many.parse().unwrap());
    let mut made = Made::new();
    for package in 0..10 {
        let name = format!("p{package}");
        let path = |file: usize| format!("{name}/d{}/e{}/f{file}.py", file % 7, file % 97);
        let files: Vec<String> = (0..many / 10).map(path).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "some = 'text'\n")).collect();
        made = made.with(&name, &files);
    }
    for level in [Level::Names, Level::Times, Level::Full] {
        let rounds = if many > 10_000 { 10 } else { 1 };
        let times = (0..rounds).map(|_| {
            let begun = Instant::now();
            assert_eq!(told(&made.look(level)), [""; 0]);
            begun.elapsed()
        });
        eprintln!("{level:?} of {many} files: {:?}", times.min().unwrap());
    }
    assert_eq!(made.look(Level::Times).hashed, 0);
    fs::write(made.site("p3/d3/e3/f3.py"), "some = 'edit'\n").unwrap();
    assert_eq!(made.look(Level::Times).hashed, 1);
    made.check(&[&format!("p3: changed {SITE}/p3/d3/e3/f3.py: bytes")]);
}
