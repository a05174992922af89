//! Popular wheels, each installed by macml and by the `installer` package: the same paths, bytes and executable bits, and
//! a RECORD that says the same. Runs when `MACML_LIVE` is set, with all wheels when it is `full`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use macml::index::Config;
use macml::index::download::{Downloads, Place, Wanted};
use macml::index::source::{Answer, Ask, File, PageAnswer, Source as _};
use macml::install::{Arriving, Bytes, Interpreter, Layout, Linker, OpenCache, WheelCache, plan};
use macml::lock::model::LockedWheel;
use macml::pep::{Sha256, WheelName};
use macml::progress::Silent;
use macml::sys::Env;
use macml::target::{Platform, PythonMinor};

use crate::live_index::{live, source};
use crate::support::python::python_with;

/// What `MACML_LIVE=1` installs: between them every kind of file that a wheel has. `MACML_LIVE=full` installs all.
const USUAL: [&str; 8] =
    ["boto", "coverage", "docutils", "greenlet", "jupyterlab-widgets", "ruff", "setuptools", "six"];

/// The release that is compared with, so that a newer one fails nobody's run by surprise.
const INSTALLER: &str = "installer==1.1.0";

const INTERPRETER: &str = "/project/.venv/bin/python";
const PYTHON: PythonMinor = PythonMinor { major: 3, minor: 13 };

/// How two trees differ at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Difference<'a> {
    /// A file that one of them lacks.
    Only(By, &'a [u8]),
    /// A file with other bytes: macml's, and the other's.
    Bytes(&'a [u8], &'a [u8]),
    /// A file that one of them may run, and the other may not.
    Executable(By),
    /// A row of RECORD that one of them lacks.
    Row(By),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Macml,
    Installer,
}

type Applies = fn(&str, Difference<'_>) -> bool;

/// Where macml does otherwise on purpose.
///
/// Each row: what to look for at a path, and why. A difference that is in none fails the test.
const CHOSEN: &[(Applies, &str)] = &[(
    is_same_launcher,
    "a launcher imports and calls the same, in fewer lines: the other one cuts endings that files have on Windows off `sys.argv[0]`",
)];

fn is_same_launcher(path: &str, difference: Difference<'_>) -> bool {
    let Difference::Bytes(ours, theirs) = difference else { return false };
    let meaning = |text: &[u8]| -> Option<Vec<String>> {
        let text = String::from_utf8(text.to_vec()).ok()?;
        let lines = text.lines().map(str::trim);
        let tells = |line: &&str| ["#!/", "from ", "sys.exit("].iter().any(|start| line.starts_with(start));
        let told: Vec<String> = lines.filter(tells).map(str::to_owned).collect();
        (told.len() == 3).then_some(told)
    };
    path.starts_with("bin/") && meaning(ours).is_some() && meaning(ours) == meaning(theirs)
}

/// A file of a tree: its bytes, and whether it may be run.
type Tree = BTreeMap<String, (Vec<u8>, bool)>;

fn read_tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let facts = path.symlink_metadata().unwrap();
            if facts.is_dir() {
                folders.push(path);
                continue;
            }
            assert!(facts.is_file(), "{}", path.display());
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            tree.insert(name, (std::fs::read(&path).unwrap(), facts.mode() & 0o100 != 0));
        }
    }
    tree
}

/// Reads a tree's RECORD, which must be true of it: the path of each row in the tree, and whether it has a digest.
fn read_record(tree: &Tree, wheel: &WheelName) -> BTreeSet<(String, bool)> {
    let records: Vec<_> = tree.keys().filter(|path| is_record(path)).collect();
    let [record] = records[..] else { panic!("{wheel}: {records:?}") };
    let text = std::str::from_utf8(&tree[record].0).unwrap();
    let mut rows = BTreeSet::new();
    for line in text.lines() {
        let mut fields = line.rsplitn(3, ',');
        let (size, digest, path) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
        let path = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')).unwrap_or(path).replace("\"\"", "\"");
        let path = from_site(&path);
        let (bytes, _) = tree.get(&path).unwrap_or_else(|| panic!("{wheel}: RECORD names `{path}`"));
        if !digest.is_empty() {
            assert_eq!(digest, format!("sha256={}", base64(Sha256::of(bytes).as_bytes())), "{wheel}: {path}");
            assert_eq!(size.parse(), Ok(bytes.len()), "{wheel}: {path}");
        }
        assert!(rows.insert((path, !digest.is_empty())), "{wheel}: `{line}` twice");
    }
    rows
}

/// Whether a path is that of the wheel's own RECORD, rather than of one that it carries along.
fn is_record(path: &str) -> bool {
    let inside = path.strip_prefix(&site()).and_then(|path| path.strip_suffix(".dist-info/RECORD"));
    inside.is_some_and(|name| !name.contains('/'))
}

fn site() -> String {
    format!("lib/python{PYTHON}/site-packages/")
}

/// Turns a path as RECORD has it into one of the tree.
fn from_site(path: &str) -> String {
    let site = site();
    let mut parts: Vec<&str> = site.trim_end_matches('/').split('/').collect();
    for part in path.split('/') {
        if part == ".." {
            parts.pop().unwrap();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Writes bytes as RECORD has them: the alphabet for addresses, no padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        let digits = (0..=chunk.len()).map(|at| ALPHABET[(bits >> (18 - 6 * at) & 63) as usize]);
        text.extend(digits.map(char::from));
    }
    text
}

/// Says how two trees differ, by path.
fn compare<'a>(ours: &'a Tree, theirs: &'a Tree, wheel: &WheelName) -> Vec<(String, Difference<'a>)> {
    let mut found = Vec::new();
    for path in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let mut tell = |difference| found.push((path.clone(), difference));
        match (ours.get(path), theirs.get(path)) {
            (Some((bytes, _)), None) => tell(Difference::Only(By::Macml, bytes)),
            (None, Some((bytes, _))) => tell(Difference::Only(By::Installer, bytes)),
            (Some((our_bytes, our_bit)), Some((their_bytes, their_bit))) => {
                // RECORD is compared row by row: its order is free.
                if our_bytes != their_bytes && !is_record(path) {
                    tell(Difference::Bytes(our_bytes, their_bytes));
                }
                if our_bit != their_bit {
                    tell(Difference::Executable(if *our_bit { By::Macml } else { By::Installer }));
                }
            }
            (None, None) => {}
        }
    }
    let (our_rows, their_rows) = (read_record(ours, wheel), read_record(theirs, wheel));
    let row = |by| move |(path, _): &(String, bool)| (path.clone(), Difference::Row(by));
    found.extend(our_rows.difference(&their_rows).map(row(By::Macml)));
    found.extend(their_rows.difference(&our_rows).map(row(By::Installer)));
    found
}

/// The `installer` package, waiting for wheels.
struct Installer(Child);

impl Installer {
    /// Makes a virtual environment with it, once, and starts it.
    fn start() -> Self {
        let python = python_with("installer", INSTALLER);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/installer_agreement/install.py");
        let child = Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Self(child.unwrap())
    }

    fn install(&mut self, wheel: &Path, name: &WheelName, root: &Path) {
        let at = |place: &str| root.join(place).to_str().unwrap().to_owned();
        let headers = at(&format!("include/site/python{PYTHON}/{}", name.name));
        let scheme = serde_json::json!({
            "purelib": at(&site()), "platlib": at(&site()), "scripts": at("bin"), "headers": headers, "data": at(""),
        });
        let job = serde_json::json!({ "wheel": wheel, "scheme": scheme, "interpreter": INTERPRETER });
        writeln!(self.0.stdin.as_mut().unwrap(), "{job}").unwrap();
        let mut answer = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
        assert_eq!(answer, "done\n", "{name}");
    }
}

impl Drop for Installer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Installs a wheel as `macml sync` does.
fn install(cache: &OpenCache, locked: &LockedWheel, bytes: std::fs::File, root: &Path) {
    let unpacked = cache.unpack(locked, bytes, Bytes::Checked).unwrap();
    let arriving = [Arriving { wheel: &unpacked, requested: false, direct_url: None }];
    let layout = Layout::venv(PYTHON, Platform::LinuxX86_64, Interpreter::new(INTERPRETER).unwrap());
    Linker::new(None).link(&plan(&arriving, &layout, &[]).unwrap(), root).unwrap();
    // Other names of the files stay.
    cache.discard(unpacked.sha256).unwrap();
}

/// Finds wheels on the pages of the real index.
pub(crate) fn wanted(cache: &Path, wheels: &[WheelName]) -> Vec<Wanted> {
    let mut source = source(cache);
    let names: BTreeSet<_> = wheels.iter().map(|wheel| &wheel.name).collect();
    names.iter().for_each(|name| source.ask(Ask::Page { index: "pypi".into(), name: (*name).clone() }));
    let mut found = Vec::new();
    for _ in names {
        let Answer::Page(PageAnswer::Found(page)) = source.wait(None).unwrap().1.unwrap() else { panic!("no page") };
        let all = page.versions().flat_map(|version| &page.release(version).unwrap().wheels);
        let all = all.filter(|file| wheels.contains(&file.wheel));
        found.extend(all.map(|file: &Arc<File>| Wanted {
            place: Place::Index("pypi".into()),
            wheel: file.wheel.clone(),
            size: file.size.unwrap(),
            sha256: file.sha256.unwrap(),
        }));
    }
    assert_eq!(found.len(), wheels.len(), "each of the wheels is on a page");
    found
}

#[test]
fn popular_wheels_are_installed_alike() {
    if !live() {
        return;
    }
    let full = std::env::var("MACML_LIVE").as_deref() == Ok("full");
    let wheels: Vec<WheelName> = include_str!("wheels.txt").lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(wheels.len(), 100);
    let counts = |wheel: &WheelName| full || USUAL.contains(&wheel.name.as_str());
    let wheels: Vec<WheelName> = wheels.into_iter().filter(counts).collect();
    assert!(full || wheels.len() == USUAL.len());

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let wanted = wanted(&at("cache"), &wheels);
    let config = Config { cache_dir: Some(at("cache")), ..Config::new(Env::capture().unwrap()) };
    let cache = WheelCache::inside(&at("cache")).open().unwrap();
    let mut installer = Installer::start();
    let (mut wrong, mut chosen, mut files) = (Vec::new(), vec![0; CHOSEN.len()], 0);
    for ready in Downloads::begin(&config, &wanted, Arc::new(Silent)).unwrap() {
        let ready = ready.unwrap();
        let Wanted { wheel, size, sha256, .. } = wanted.iter().find(|one| one.sha256 == ready.sha256).unwrap().clone();
        let named = at(&wheel.to_string());
        std::fs::hard_link(&ready.path, &named).unwrap();
        installer.install(&named, &wheel, &at("theirs"));
        let locked = LockedWheel { file: wheel.clone(), size, sha256 };
        install(&cache, &locked, std::fs::File::open(&named).unwrap(), &at("ours"));
        let (ours, theirs) = (read_tree(&at("ours")), read_tree(&at("theirs")));
        files += ours.len();
        for (path, difference) in compare(&ours, &theirs, &wheel) {
            match CHOSEN.iter().position(|(applies, _)| applies(&path, difference)) {
                Some(index) => chosen[index] += 1,
                None => wrong.push(match difference {
                    Difference::Bytes(ours, theirs) => format!(
                        "{wheel}: {path}\n  macml:     {:?}\n  installer: {:?}",
                        String::from_utf8_lossy(&ours[..ours.len().min(300)]),
                        String::from_utf8_lossy(&theirs[..theirs.len().min(300)])
                    ),
                    Difference::Only(by, _) => format!("{wheel}: {path}: only {by:?}"),
                    other => format!("{wheel}: {path}: {other:?}"),
                }),
            }
        }
        for place in [at("ours"), at("theirs")] {
            std::fs::remove_dir_all(place).unwrap();
        }
        std::fs::remove_file(named).unwrap();
        ready.discard().unwrap();
    }
    eprintln!(
        "{} wheels, {files} files, {} MB to download",
        wheels.len(),
        wanted.iter().map(|one| one.size >> 20).sum::<u64>()
    );
    for ((_, reason), count) in CHOSEN.iter().zip(&chosen) {
        eprintln!("{count} times on purpose: {reason}");
    }
    let shown = &wrong[..wrong.len().min(40)];
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), shown.join("\n"));
    // A row for nothing hides what it was written for.
    assert!(!full || chosen.iter().all(|count| *count > 0), "{chosen:?}");
}

/// Without a network: the comparison sees each kind of difference, and takes no other text for a launcher.
#[test]
fn the_comparison_can_fail() {
    let wheel: WheelName = "x-1-py3-none-any.whl".parse().unwrap();
    let tree = |files: &[(&str, &str, bool)]| -> Tree {
        let site = site();
        let mut tree: Tree = BTreeMap::new();
        let mut rows = vec!["x-1.dist-info/RECORD,,".to_owned()];
        for (path, text, program) in files {
            let digest = base64(Sha256::of(text.as_bytes()).as_bytes());
            rows.push(format!("{path},sha256={digest},{}", text.len()));
            tree.insert(from_site(path), (text.as_bytes().to_vec(), *program));
        }
        tree.insert(format!("{site}x-1.dist-info/RECORD"), (rows.join("\n").into_bytes(), false));
        tree
    };
    let ours = "#!/python\nimport sys\n\nfrom x import y\n\nif __name__ == \"__main__\":\n    sys.exit(y())\n";
    let theirs = "#!/python\nimport re\nimport sys\nfrom x import y\nif __name__ == \"__main__\":\n    sys.exit(y())\n";
    let base = tree(&[("a.py", "a", false), ("../../../bin/x", ours, true)]);
    let told = |other: &[(&str, &str, bool)]| -> Vec<String> {
        let other = tree(other);
        let found = compare(&base, &other, &wheel).into_iter().filter(|(path, one)| !is_same_launcher(path, *one));
        found
            .map(|(path, one)| {
                format!("{}: {}", path.rsplit('/').next().unwrap(), format!("{one:?}").split('(').next().unwrap())
            })
            .collect()
    };
    assert_eq!(told(&[("../../../bin/x", theirs, true), ("a.py", "a", false)]), [""; 0]);
    assert_eq!(told(&[("a.py", "b", false), ("../../../bin/x", ours, true)]), ["a.py: Bytes"]);
    assert_eq!(told(&[("a.py", "a", true), ("../../../bin/x", ours, false)]), ["x: Executable", "a.py: Executable"]);
    assert_eq!(told(&[("../../../bin/x", ours, true)]), ["a.py: Only", "a.py: Row"]);
    assert_eq!(told(&[("a.py", "a", false), ("../../../bin/x", &theirs.replace("y()", "z()"), true)]), ["x: Bytes"]);
    assert_eq!(base64(b"\xfb\xff"), "-_8");
}
