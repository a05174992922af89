//! Trees of a project against its lock: what is told of each edit, and which facts are read again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use macml::check::contents::Level;
use macml::check::contents::Maker;
use macml::check::contents::Tree;
use macml::check::contents::Wanted;
use macml::check::facts::Signature;
use macml::diag::Code;
use macml::diag::Severity;
use macml::host::Host;
use macml::install::WheelCache;
use macml::pep::Sha256;
use macml::pipeline::check::Class;
use macml::pipeline::check::Sum;
use macml::pipeline::check::Word;
use macml::pipeline::check::environment;
use macml::pipeline::check::environment::Environment;
use macml::pipeline::check::environment::Error;
use macml::pipeline::check::environment::Found;
use macml::pipeline::check::environment::Homes;
use macml::pipeline::check::environment::Look;
use macml::pipeline::check::environment::There;
use macml::pipeline::check::locked::Locked;

use super::Net;
use super::read;
use super::told;
use crate::support::macho::BUNDLE;
use crate::support::macho::LOAD;
use crate::support::macho::Made;
use crate::support::macho::X86_64;
use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;
use crate::support::wheel::archive;
use crate::support::wheel::base64_url;
use crate::sync::Here;

const SITE: &str = "lib/python3.13/site-packages";
pub(crate) const NATIVE: &str = "native-1.0-cp313-cp313-macosx_14_0_arm64.whl";

/// Packs a wheel of bytes.
pub(crate) fn native() -> Vec<u8> {
    let library = Made { install_name: Some("@rpath/libone.dylib"), ..Made::default() };
    let module = Made { kind: BUNDLE, dependencies: vec![(LOAD, "@loader_path/libone.dylib")], ..Made::default() };
    let text = |text: &str| text.as_bytes().to_vec();
    let mut files = vec![
        ("native/__init__.py".to_owned(), text("from . import _one\n")),
        ("native/deep/plain.py".to_owned(), text("one = 1\n")),
        ("native/libone.dylib".to_owned(), library.bytes()),
        ("native/_one.so".to_owned(), module.bytes()),
        ("native-1.0.dist-info/METADATA".to_owned(), text("Metadata-Version: 2.1\nName: native\nVersion: 1.0\n")),
        (
            "native-1.0.dist-info/WHEEL".to_owned(),
            text("Wheel-Version: 1.0\nGenerator: made\nRoot-Is-Purelib: false\nTag: cp313-cp313-macosx_14_0_arm64\n"),
        ),
    ];
    let rows = files
        .iter()
        .map(|(path, bytes)| format!("{path},sha256={},{}\n", base64_url(Sha256::of(bytes).as_bytes()), bytes.len()));
    let record = rows.collect::<String>() + "native-1.0.dist-info/RECORD,,\n";
    files.push(("native-1.0.dist-info/RECORD".to_owned(), record.into_bytes()));
    archive(&files)
}

fn published() -> Published {
    let files = [("mods/sub/one.py", "one = 1\n"), ("mods/sub/two.py", "two = 2\n")];
    let files: BTreeMap<String, String> = files.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    let tags = ["cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_15_0_arm64"].map(str::to_owned);
    let gpu = Rel { wheel_tags: tags.to_vec(), ..Rel::default() };
    Published::default().with_release("mods", "1.0", Rel { files, ..Rel::default() }).with_release("gpu", "1.0", gpu)
}

/// A project of which a tree for Macs was staged.
struct Mac {
    project: Project,
    locked: Locked,
    found: Found,
    /// Serves its wheels until all is done.
    _index: FakeIndex,
}

impl Mac {
    fn new() -> Self {
        let index = FakeIndex::from_published(&published());
        let rest = format!("[dependencies]\nmods = \"*\"\ngpu = \"*\"\nnative = {{ path = \"{NATIVE}\" }}\n");
        let project = Project::asking(&index, "14.0", "==3.13.*", &rest);
        fs::write(project.path().join(NATIVE), native()).unwrap();
        let words = ["sync", "--target", "mac", "--platform", "macos-arm64"];
        project.run(&words).says(0, &["mac staged for macOS 14.0: 3 packages"]);
        let locked = read(project.path(), &[], &Net::Never).unwrap();
        let found = environment::staged(&project.path().join("mac"), &[]).unwrap();
        Self { project, locked, found, _index: index }
    }

    fn cache(&self) -> WheelCache {
        WheelCache::inside(&self.project.path().join(".cache/macml"))
    }

    fn at(&self, level: Level) -> Environment {
        self.found.judge(self.locked.lockfile.as_ref().unwrap(), level, Some(&self.cache())).unwrap()
    }

    fn said(&self, level: Level) -> Vec<String> {
        let environment = self.at(level);
        let word = if environment.part.told.is_empty() { Word::AsLocked } else { Word::Differs };
        assert_eq!(environment.part.word, word);
        told(&environment.part)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.found.tree.root.join(SITE).join(name)
    }

    /// Runs `change` on a file that is the tree's alone and has the time that it had.
    fn change(&self, name: &str, change: impl FnOnce(&Path)) {
        let path = self.path(name);
        own(&path);
        change(&path);
    }

    fn read(&self, environment: &Environment) -> Vec<environment::Read> {
        let lock = self.locked.lockfile.as_ref().unwrap();
        let wanted = Wanted::of(lock, &lock.envs[0], self.found.macos);
        let mut part = environment.part.clone();
        environment::read(&self.found.tree, &wanted, Some(&self.cache()), &environment.touched, &mut part).unwrap()
    }
}

/// Makes a file that is linked into the cache the tree's alone.
fn own(path: &Path) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    let bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Writes bytes and leaves the time as it was.
fn quietly(path: &Path, bytes: &[u8]) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, bytes).unwrap();
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

fn touched(environment: &Environment) -> Vec<&str> {
    environment.touched.keys().map(|name| name.as_str()).collect()
}

#[test]
fn a_tree_as_it_was_staged_is_as_locked() {
    let mac = Mac::new();
    for level in [Level::Names, Level::Times, Level::Full] {
        let environment = mac.at(level);
        assert_eq!((environment.part.word, told(&environment.part)), (Word::AsLocked, vec![]), "{level:?}");
        assert!(environment.touched.is_empty());
        let Sum::Environment { files, hashed, digest, .. } = environment.part.sum else { panic!() };
        assert_eq!((hashed > 0, digest.is_some()), (level == Level::Full, level == Level::Full));
        assert_eq!(files > 10, level != Level::Names);
    }
}

#[test]
fn one_flipped_bit_in_a_library() {
    let mac = Mac::new();
    let (name, flipped) =
        ("native/libone.dylib", format!("`{SITE}/native/libone.dylib` of `native` 1.0 has other bytes"));
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        bytes[0x1000] ^= 1;
        quietly(path, &bytes);
    };
    mac.change(name, flip);
    assert_eq!(mac.said(Level::Times), [""; 0]);
    assert_eq!(mac.said(Level::Full), [format!("[file-changed] {flipped}")]);
    let environment = mac.at(Level::Full);
    let one = &environment.part.told[0];
    assert_eq!(one.path.as_deref(), Some(&*format!("{SITE}/native/libone.dylib")));
    assert_eq!((one.package.as_ref().unwrap().as_str(), one.finding.severity), ("native", Severity::Error));
    let hint = one.finding.hint.clone().unwrap();
    let root = mac.found.tree.root.display();
    let expected = format!("`macml sync --target {root} --platform macos-arm64 --macos 14.0` stages it anew");
    assert_eq!(hint, expected);
    // It is read again, and its signature no longer fits.
    assert_eq!(touched(&environment), ["native"]);
    let [one] = &mac.read(&environment)[..] else { panic!() };
    assert_eq!(
        (one.version.as_ref().unwrap().to_string(), one.wheel.as_ref().unwrap().to_string()),
        ("1.0".into(), NATIVE.into())
    );
    let image = one.facts.images.iter().find(|image| image.path == name).unwrap();
    assert_ne!(image.slice.as_ref().unwrap().signature, Signature::Intact);
    assert!(one.facts.images.iter().any(|image| image.path == "native/_one.so"));
    // With its time it is seen without reading all.
    fs::File::options().append(true).open(mac.path(name)).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    assert_eq!(mac.said(Level::Times), [format!("[file-changed] {flipped}")]);
}

#[test]
fn one_file_for_intel_among_those_for_arm64() {
    let mac = Mac::new();
    let intel = Made { cpu: X86_64, install_name: Some("@rpath/libone.dylib"), ..Made::default() };
    mac.change("native/libone.dylib", |path| fs::write(path, intel.bytes()).unwrap());
    assert_eq!(
        mac.said(Level::Times),
        [format!("[file-changed] `{SITE}/native/libone.dylib` of `native` 1.0 has other bytes")]
    );
    let [one] = &mac.read(&mac.at(Level::Times))[..] else { panic!() };
    let image = one.facts.images.iter().find(|image| image.path == "native/libone.dylib").unwrap();
    assert!(image.slice.is_err(), "{image:?}");
}

#[test]
fn a_removed_library_and_modules_edited_and_deleted() {
    let mac = Mac::new();
    fs::remove_file(mac.path("native/libone.dylib")).unwrap();
    let gone = format!("[file-missing] `{SITE}/native/libone.dylib` of `native` 1.0 is gone");
    assert_eq!(mac.said(Level::Times), std::slice::from_ref(&gone));
    let [one] = &mac.read(&mac.at(Level::Times))[..] else { panic!() };
    assert_eq!(one.facts.images.iter().map(|image| image.path.as_str()).collect::<Vec<_>>(), ["native/_one.so"]);
    mac.change("mods/sub/one.py", |path| fs::write(path, "one = 2\n").unwrap());
    fs::remove_file(mac.path("mods/sub/two.py")).unwrap();
    let expected = [
        format!("[file-changed] `{SITE}/mods/sub/one.py` of `mods` 1.0 has other bytes"),
        format!("[file-missing] `{SITE}/mods/sub/two.py` of `mods` 1.0 is gone"),
        gone,
    ];
    for level in [Level::Times, Level::Full] {
        assert_eq!(mac.said(level), expected);
        // Of a module further down nothing is read for libraries.
        assert_eq!(touched(&mac.at(level)), ["native"]);
    }
    // What a package imports decides what is loaded before it.
    mac.change("mods/__init__.py", |path| fs::write(path, "import native\n").unwrap());
    let environment = mac.at(Level::Times);
    assert_eq!(touched(&environment), ["mods", "native"]);
    assert!(mac.read(&environment)[0].facts.packages[0].imports.contains("native"));
    // So does a library that goes by the name of a text.
    mac.change("native/deep/plain.py", |path| fs::write(path, Made::default().bytes()).unwrap());
    fs::write(mac.path("native/libone.dylib"), Made::default().bytes()).unwrap();
    let all = mac.read(&mac.at(Level::Times));
    let native = all.iter().find(|one| one.name.as_str() == "native").unwrap();
    assert!(native.facts.images.iter().any(|image| image.path == "native/deep/plain.py"));
}

#[test]
fn what_came_by_hand() {
    let mac = Mac::new();
    // As pip leaves it: another release of one package, and a package that is not locked.
    let hand = |name: &str, version: &str| {
        let info = format!("{name}-{version}.dist-info");
        fs::create_dir_all(mac.path(&info)).unwrap();
        fs::create_dir_all(mac.path(name)).unwrap();
        fs::write(mac.path(&format!("{name}/lib.so")), Made::default().bytes()).unwrap();
        fs::write(mac.path(&format!("{info}/METADATA")), "").unwrap();
        fs::write(
            mac.path(&format!("{info}/RECORD")),
            format!("{name}/lib.so,,\n{info}/METADATA,,\n{info}/RECORD,,\n"),
        )
        .unwrap();
    };
    hand("hand", "3.0");
    fs::rename(mac.path("gpu-1.0.dist-info"), mac.path("aside")).unwrap();
    fs::remove_dir_all(mac.path("aside")).unwrap();
    hand("gpu", "2.0");
    fs::create_dir_all(mac.path("native/more")).unwrap();
    fs::write(mac.path("native/more/x.dylib"), Made::default().bytes()).unwrap();
    fs::write(mac.path("native/more/y.txt"), "").unwrap();
    fs::write(mac.path("stray.py"), "").unwrap();
    fs::create_dir_all(mac.path("mods/__pycache__")).unwrap();
    fs::write(mac.path("mods/__pycache__/x.cpython-313.pyc"), "").unwrap();
    let environment = mac.at(Level::Times);
    let expected = [
        "[package-other-version] `gpu` 2.0 is there, and 1.0 is locked".to_owned(),
        "[package-not-locked] `hand` 3.0 is there, and is not locked".to_owned(),
        format!("[file-extra] `{SITE}/gpu/__init__.py` is of no locked package, in a folder of `gpu` 1.0"),
        format!(
            "[file-extra] `{SITE}/native/more/` is of no locked package, in a folder of `native` 1.0, with 2 files"
        ),
        format!("[file-extra] `{SITE}/stray.py` is of no locked package"),
    ];
    assert_eq!(told(&environment.part), expected);
    assert_eq!(environment.part.word.class(), Class::No);
    let hints: Vec<&str> = environment.part.told.iter().map(|one| one.finding.hint.as_deref().unwrap()).collect();
    assert!(hints[1].starts_with("put it into `macml.toml` if it is needed; `macml sync"), "{hints:?}");
    assert!(hints[2].starts_with("move it away, or put the package"), "{hints:?}");
    assert_eq!(touched(&environment), ["gpu", "hand", "native"]);
    let all = mac.read(&environment);
    let images = |at: usize| all[at].facts.images.iter().map(|image| image.path.as_str()).collect::<Vec<_>>();
    let release = |at: usize| (all[at].version.as_ref().unwrap().to_string(), all[at].wheel.is_some());
    assert_eq!((release(0), images(0)), (("2.0".to_owned(), false), vec!["gpu/lib.so"]));
    assert_eq!((release(1), images(1)), (("3.0".to_owned(), false), vec!["hand/lib.so"]));
    assert_eq!(images(2), ["native/_one.so", "native/libone.dylib", "native/more/x.dylib"]);
}

/// As `pip install --target` leaves it: both are there by name, and the files are of the one that came last.
#[test]
fn two_releases_of_one_package() {
    let mac = Mac::new();
    fs::create_dir(mac.path("mods-2.0.dist-info")).unwrap();
    fs::write(mac.path("mods-2.0.dist-info/RECORD"), "mods/__init__.py,,\nmods/new.so,,\n").unwrap();
    mac.change("mods/__init__.py", |path| fs::write(path, "import gpu\n").unwrap());
    fs::write(mac.path("mods/new.so"), Made::default().bytes()).unwrap();
    let expected = ["[package-other-version] `mods` 2.0 is there, and 1.0 is locked"];
    assert_eq!(
        [Level::Names, Level::Times].map(|level| mac.said(level)),
        [(); 2].map(|()| expected.map(str::to_owned))
    );
    // What is not told of its files does not become as locked when that is allowed.
    assert_eq!(mac.at(Level::Times).part.otherwise, Word::Unsure);
    let [one] = &mac.read(&mac.at(Level::Times))[..] else { panic!() };
    assert_eq!((one.version.as_ref().unwrap().to_string(), one.wheel.as_ref()), ("2.0".to_owned(), None));
    assert_eq!(one.facts.images.len(), 1);
}

#[test]
fn a_package_that_is_gone_is_told_once() {
    let mac = Mac::new();
    fs::remove_dir_all(mac.path("native")).unwrap();
    fs::remove_dir_all(mac.path("native-1.0.dist-info")).unwrap();
    for level in [Level::Names, Level::Times, Level::Full] {
        assert_eq!(mac.said(level), ["[package-not-installed] `native` 1.0 is locked, and is not there"], "{level:?}");
    }
    let [one] = &mac.read(&mac.at(Level::Times))[..] else { panic!() };
    assert_eq!((one.version.as_ref(), one.facts.images.len()), (None, 0));
}

#[test]
fn a_file_whose_name_differs_in_case() {
    let mac = Mac::new();
    fs::rename(mac.path("native/_one.so"), mac.path("native/_ONE.so")).unwrap();
    let expected = format!("[file-changed] `{SITE}/native/_one.so` of `native` 1.0 is called `{SITE}/native/_ONE.so`");
    assert_eq!(mac.said(Level::Times), [expected]);
}

#[test]
fn without_the_cache_record_is_taken_at_its_word() {
    let mac = Mac::new();
    let lock = mac.locked.lockfile.as_ref().unwrap();
    let environment = mac.found.judge(lock, Level::Full, None).unwrap();
    assert_eq!(environment.part.word, Word::AsLocked);
    let expected = "[record-trusted] RECORD of 3 packages was taken at its word: the cache does not have their wheels";
    assert_eq!(told(&environment.part), [expected]);
    assert_eq!(environment.part.told[0].finding.severity, Severity::Note);
    assert_eq!(environment.part.told[0].finding.notes, ["`gpu`, `mods`, `native`"]);
    assert!(matches!(environment.part.sum, Sum::Environment { digest: Some(_), .. }));
    // Nobody knows what should be there.
    fs::remove_file(mac.path("mods-1.0.dist-info/RECORD")).unwrap();
    let environment = mac.found.judge(lock, Level::Times, None).unwrap();
    let said = told(&environment.part);
    assert!(
        said.contains(&"[unrecorded] `mods` has no RECORD: which files are its is not known".to_owned()),
        "{said:?}"
    );
    assert!(said[0].starts_with("[file-missing] "), "{said:?}");
}

/// Who edits a library and its row together, or puts in the files of another wheel, is told nothing by RECORD: facts come
/// from what is there.
#[test]
fn where_record_is_trusted_facts_are_those_of_the_tree() {
    let mac = Mac::new();
    let lock = mac.locked.lockfile.as_ref().unwrap();
    let trusted = |level| {
        let environment = mac.found.judge(lock, level, None).unwrap();
        assert_eq!(environment.part.word, Word::AsLocked);
        environment.touched.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(trusted(Level::Times), [""; 0]);
    assert_eq!(trusted(Level::Full), ["gpu", "mods", "native"]);
    // As a copy without times leaves it.
    let library = mac.path("native/libone.dylib");
    own(&library);
    fs::File::options().append(true).open(&library).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    assert_eq!(trusted(Level::Times), ["native"]);
    // The cache has the wheel, and knows it.
    assert!(mac.at(Level::Times).touched.is_empty());
    let mut bytes = fs::read(&library).unwrap();
    bytes[0x1000] ^= 1;
    fs::write(&library, &bytes).unwrap();
    let record = mac.path("native-1.0.dist-info/RECORD");
    let text = fs::read_to_string(&record).unwrap();
    let row = |line: &str| match line.starts_with("native/libone.dylib,") {
        true => "native/libone.dylib,,".to_owned(),
        false => line.to_owned(),
    };
    fs::remove_file(&record).unwrap();
    fs::write(&record, text.lines().map(row).collect::<Vec<_>>().join("\n") + "\n").unwrap();
    assert_eq!(mac.found.judge(lock, Level::Times, None).unwrap().touched.keys().next().unwrap().as_str(), "native");
}

/// What is no file is neither waited for nor the end of all.
#[test]
fn pipes_devices_and_links_to_themselves() {
    let pipe = |path: &Path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    let device = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    let link = |path: &Path| std::os::unix::fs::symlink(path.file_name().unwrap(), path).unwrap();
    let instead: [&dyn Fn(&Path); 3] = [&pipe, &device, &link];
    let mac = Mac::new();
    for name in
        ["native/libone.dylib", "native-1.0.dist-info/METADATA", "native-1.0.dist-info/RECORD", "mods/sub/one.py"]
    {
        let kept = fs::read(mac.path(name)).unwrap();
        for instead in instead {
            fs::remove_file(mac.path(name)).unwrap();
            instead(&mac.path(name));
            let environment = mac.at(Level::Full);
            assert_eq!(environment.part.word, Word::Differs, "{name}");
            mac.read(&environment);
        }
        fs::remove_file(mac.path(name)).unwrap();
        fs::write(mac.path(name), kept).unwrap();
    }
    let mark = mac.found.tree.root.join("macml-staged.json");
    for instead in instead {
        fs::remove_file(&mark).unwrap();
        instead(&mark);
        assert!(environment::staged(&mac.found.tree.root, &[]).is_err());
    }
}

/// A link that leads to itself is read by nobody, whatever they may do.
#[test]
fn what_cannot_be_read_is_not_sure() {
    let mac = Mac::new();
    let lock = mac.locked.lockfile.as_ref().unwrap();
    let wanted = Wanted::of(lock, &lock.envs[0], mac.found.macos);
    let of = mac.at(Level::Names).part.of.unwrap();
    let tree = Tree { maker: Maker::Other, ..mac.found.tree.clone() };
    fs::remove_file(mac.path("mods/sub/one.py")).unwrap();
    std::os::unix::fs::symlink("one.py", mac.path("mods/sub/one.py")).unwrap();
    let look = Look { level: Level::Times, cache: None, remedy: "install it anew", files: "that file" };
    let environment = environment::environment(&of, &tree, &wanted, &look).unwrap();
    assert_eq!((environment.part.word, environment.part.word.class()), (Word::Unsure, Class::Unsure));
    let one = &environment.part.told[0];
    assert_eq!((one.finding.code, one.finding.severity), (Code::Unreadable, Severity::Warning));
    assert!(one.finding.message.starts_with(&format!("`{SITE}/mods/sub/one.py` cannot be read: ")));
    assert!(environment.touched.is_empty());
}

#[test]
fn a_tree_is_of_the_macos_that_it_was_staged_for() {
    let mac = Mac::new();
    let words = ["sync", "--frozen", "--target", "new", "--platform", "macos-arm64", "--macos", "15.2"];
    mac.project.run(&words).says(0, &["staged for macOS 15.2"]);
    let new = environment::staged(&mac.project.path().join("new"), &["default".to_owned()]).unwrap();
    assert_eq!(new.macos.unwrap().to_string(), "15.2");
    let lock = mac.locked.lockfile.as_ref().unwrap();
    let environment = new.judge(lock, Level::Full, Some(&mac.cache())).unwrap();
    assert_eq!((environment.part.word, told(&environment.part)), (Word::AsLocked, vec![]));
    // Where it is taken for one of the floor, it has other files.
    let other = Found { macos: mac.found.macos, ..new };
    assert_eq!(other.judge(lock, Level::Full, Some(&mac.cache())).unwrap().part.word, Word::Differs);
}

/// Whatever its mark says: nothing is locked for lower Macs.
#[test]
fn no_tree_is_of_a_mac_below_the_lock() {
    let mac = Mac::new();
    let entry = &mac.locked.lockfile.as_ref().unwrap().envs[0];
    for (macos, expected) in [(Some("11.0"), "14.0"), (None, "14.0"), (Some("14.0"), "14.0"), (Some("26.0"), "26.0")] {
        let mut found = Found { macos: macos.map(|macos| macos.parse().unwrap()), ..mac.found.clone() };
        found.at_least(entry);
        assert_eq!(found.macos.unwrap().to_string(), expected, "{macos:?}");
    }
}

#[test]
fn who_asks_about_a_mac_is_told_that_nothing_is_for_one() {
    let project = Project::empty();
    let info = project.path().join("lx").join(SITE).join("x-1.0.dist-info");
    fs::create_dir_all(&info).unwrap();
    for (name, text) in [
        ("METADATA", "Metadata-Version: 2.1\nName: x\nVersion: 1.0\n"),
        ("WHEEL", "Wheel-Version: 1.0\nTag: cp313-cp313-manylinux_2_28_x86_64\n"),
        ("RECORD", "x-1.0.dist-info/METADATA,,\nx-1.0.dist-info/WHEEL,,\nx-1.0.dist-info/RECORD,,\n"),
    ] {
        fs::write(info.join(name), text).unwrap();
    }
    project.run(&["check", "--prefix", "lx"]).says(0, &["only those of Macs are judged"]);
    let said = ["nothing here is for Macs, so that nothing can be said of m5 with macOS 27.0"];
    project.run(&["check", "--prefix", "lx", "--on", "m5,27.0"]).says(1, &said);
    project.run(&["check", "--prefix", "lx", "--on", "m5,27.0", "--allow", "lock-unfit"]).says(2, &[]);
}

#[test]
fn a_folder_that_was_named_must_be_a_tree_of_the_environment() {
    let mac = Mac::new();
    let other = environment::staged(&mac.found.tree.root, &["tf".to_owned()]).unwrap_err();
    assert!(matches!(&other, Error::OtherEnv { env, .. } if env == "default"), "{other}");
    assert_eq!(other.remedy().as_deref(), Some("say `--env default`, or leave it out"));
    let none = environment::staged(mac.project.path(), &[]).unwrap_err();
    assert!(none.to_string().ends_with("is no tree that macml staged") && none.remedy().unwrap().contains("--prefix"));
    fs::write(mac.found.tree.root.join("macml-staged.json"), "{").unwrap();
    assert!(matches!(environment::staged(&mac.found.tree.root, &[]), Err(Error::NotStaged(_))));
    // One that the lock no longer has.
    let gone = Found { env: "tf".to_owned(), ..mac.found.clone() };
    let environment = gone.judge(mac.locked.lockfile.as_ref().unwrap(), Level::Times, None).unwrap();
    assert_eq!(environment.part.word, Word::Differs);
    assert!(told(&environment.part)[0].contains("is of environment `tf` on macos-arm64, which is not locked"));
}

fn digest(environment: &Environment) -> Option<Sha256> {
    let Sum::Environment { digest, .. } = &environment.part.sum else { panic!() };
    *digest
}

/// One digest for one lock and macOS, wherever the tree is.
#[test]
fn two_places_have_one_digest() {
    let mac = Mac::new();
    let other = Project::empty();
    for name in ["macml.toml", "macml.lock", NATIVE] {
        fs::copy(mac.project.path().join(name), other.path().join(name)).unwrap();
    }
    let staged = mac.project.command(&["sync", "--frozen", "--target", "deep/tree", "--platform", "macos-arm64"]);
    let mut staged = staged;
    let run = staged.current_dir(other.path()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let there = environment::staged(&other.path().join("deep/tree"), &[]).unwrap();
    let lock = mac.locked.lockfile.as_ref().unwrap();
    let one = digest(&mac.at(Level::Full)).unwrap();
    assert_eq!(digest(&there.judge(lock, Level::Full, None).unwrap()), Some(one));
    fs::write(other.path().join("deep/tree").join(SITE).join("stray.py"), "").unwrap();
    assert_ne!(digest(&there.judge(lock, Level::Full, None).unwrap()), Some(one));
}

/// The environment of this machine: the one at the link, of the platform that it was built for.
#[test]
fn the_environment_at_the_link() {
    let index = FakeIndex::from_published(&published());
    let here = Here::new(&index, "mods = \"*\"");
    here.sync();
    let locked = read(&here.path(), &[], &Net::Never).unwrap();
    let lock = locked.lockfile.as_ref().unwrap();
    let found = |folder: &Path, homes: &Homes<'_>| match environment::built(folder, &lock.envs[0], homes).unwrap() {
        There::Tree(found) => *found,
        There::Nothing(part) => panic!("{part:?}"),
    };
    let one = found(&here.path(), &Homes::default());
    assert_eq!((one.name.as_str(), one.env.as_str(), one.built_for.as_ref()), (".venv", "default", None));
    let cache = WheelCache::inside(&here.path().join(".cache/macml"));
    let environment = one.judge(lock, Level::Full, Some(&cache)).unwrap();
    assert_eq!((environment.part.word, told(&environment.part)), (Word::AsLocked, vec![]));
    own(&here.site().join("mods/sub/one.py"));
    fs::write(here.site().join("mods/sub/one.py"), "one = 2\n").unwrap();
    let environment = one.judge(lock, Level::Times, Some(&cache)).unwrap();
    assert!(told(&environment.part)[0].starts_with("[file-changed] `"), "{:?}", told(&environment.part));
    assert_eq!(
        environment.part.told[0].finding.hint.as_deref(),
        Some("`macml env remove default` and then `macml sync` build it anew")
    );
    // Another Python is told once, and not through each file.
    let mut other = lock.clone();
    other.envs[0].python = "3.9".parse().unwrap();
    let environment = one.judge(&other, Level::Full, Some(&cache)).unwrap();
    assert_eq!(told(&environment.part).len(), 1);
    assert!(told(&environment.part)[0].starts_with("[environment-python] `.venv` has Python 3."));
    // One for another platform is none for this.
    let platforms = macml::target::Platform::ALL.into_iter();
    for platform in platforms.filter(|platform| *platform != lock.envs[0].platform) {
        other.envs[0].platform = platform;
        let there = environment::built(&here.path(), &other.envs[0], &Homes::default()).unwrap();
        assert!(matches!(there, There::Nothing(part) if part.word == Word::Absent && part.told.is_empty()));
    }
    // A project that was moved.
    let moved = tempfile::tempdir().unwrap();
    let to = moved.path().join("moved");
    fs::rename(here.path(), &to).unwrap();
    let one = found(&to, &Homes::default());
    assert!(one.built_for.is_some());
    let environment = one.judge(lock, Level::Times, None).unwrap();
    assert!(told(&environment.part)[0].starts_with("[environment-moved] `.venv` was built for `"));
    fs::rename(&to, here.project.path()).unwrap();
}

/// On a Mac the files are those of its own macOS.
#[test]
fn which_macos_an_environment_of_a_mac_is_for() {
    let mac = Mac::new();
    let entry = &mac.locked.lockfile.as_ref().unwrap().envs[0];
    // A generation, as far as its stamp and its link tell.
    let folder = mac.project.path().canonicalize().unwrap();
    let store = folder.join(".macml/env/default");
    let root = store.join("0123456789abcdef.1");
    fs::create_dir_all(&store).unwrap();
    fs::rename(folder.join("mac"), &root).unwrap();
    let stamp = macml::environment::Stamp {
        version: macml::environment::Stamp::VERSION,
        env: "default".to_owned(),
        project: folder.clone(),
        content: String::new(),
        interpreter: String::new(),
        python: "3.13.1".to_owned(),
        platform: "macos-arm64".to_owned(),
        site: SITE.to_owned(),
        site_time: macml::environment::FolderTime(0, 0),
        bin_time: macml::environment::FolderTime(0, 0),
        token: String::new(),
        built: 0,
        packages: Vec::new(),
    };
    fs::write(root.join("macml-stamp.json"), stamp.text()).unwrap();
    std::os::unix::fs::symlink(&root, folder.join(".venv")).unwrap();
    let host = |macos: &str| -> Host {
        let text = format!(r#"{{"cpu": "Apple M3", "macos": "{macos}", "process": "native", "memory": 1}}"#);
        serde_json::from_str(&text).unwrap()
    };
    let macos = |host: Option<&Host>| {
        let homes = Homes { host, ..Homes::default() };
        match environment::built(&folder, entry, &homes).unwrap() {
            There::Tree(found) => found.macos.unwrap().to_string(),
            There::Nothing(part) => panic!("{part:?}"),
        }
    };
    assert_eq!(macos(None), "14.0");
    assert_eq!(macos(Some(&host("15.6.1"))), "15.6");
    assert_eq!(macos(Some(&host("13.0"))), "14.0");
}
