//! `check::prefix`: environments of others, held against what their installers recorded; and what is asked of dyld then.

mod conda;
mod live;
mod made;
mod pip;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use macml::check::contents::Level;
use macml::check::contents::Wanted;
use macml::check::dyld::Distribution;
use macml::check::dyld::simulate;
use macml::check::rules;
use macml::check::rules::Case;
use macml::diag::Finding;
use macml::diag::Severity;
use macml::knowledge::Knowledge;
use macml::pep::Sha256;
use macml::pipeline::check::Declared;
use macml::pipeline::check::Part;
use macml::pipeline::check::Prefix;
use macml::pipeline::check::prefix::Error;
use macml::pipeline::check::prefix::prefix;
use macml::target::Gpu;

use crate::support::macho;
use crate::support::wheel::base64_url;

const SITE: &str = "lib/python3.12/site-packages";
const ARM64: &str = "cp312-cp312-macosx_14_0_arm64";

fn declared() -> Declared {
    Declared { macos: Some("14.0".parse().unwrap()), chip: "m1".parse().unwrap(), gpu: Gpu::Optional, python: None }
}

fn all(root: &Path, level: Level, wanted: Option<&Wanted>) -> Result<Vec<Prefix>, Error> {
    prefix(root, &declared(), &[], None, level, wanted)
}

/// The only Python of a folder.
#[track_caller]
fn one(root: &Path, level: Level) -> Prefix {
    let mut found = all(root, level, None).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A finding as severity, code and message.
fn line(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    format!("{severity}[{}]: {}", finding.code, finding.message)
}

fn lines(part: &Part) -> Vec<String> {
    part.told.iter().map(|one| line(&one.finding)).collect()
}

/// What rules say of the libraries of a prefix at its lowest Mac.
fn libraries(found: &Prefix) -> Vec<Finding> {
    let distributions: Vec<Distribution<'_>> =
        found.distributions.iter().map(|one| Distribution { name: &one.name, facts: &one.facts }).collect();
    let answer = simulate(&distributions, found.of.python);
    let macos = found.sets[0].of.on.as_ref().unwrap().mac.macos;
    let (installed, knowledge) = (found.installed(), Knowledge::built_in());
    let (answer, knowledge, python) = (&answer, &knowledge, found.of.python);
    let case = Case { installed: &installed, answer, python, macos, knowledge, gone: &found.gone };
    rules::judge(&case).into_iter().map(|said| said.finding).collect()
}

/// Its errors.
fn errors(found: &Prefix) -> Vec<String> {
    libraries(found).iter().filter(|one| one.severity == Severity::Error).map(line).collect()
}

/// A prefix in the making.
struct Made {
    folder: tempfile::TempDir,
}

fn old() -> SystemTime {
    SystemTime::now() - Duration::from_secs(3600)
}

fn write_old(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    fs::File::options().append(true).open(path).unwrap().set_modified(old()).unwrap();
}

impl Made {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(SITE)).unwrap();
        fs::create_dir_all(folder.path().join("bin")).unwrap();
        Self { folder }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn site(&self, path: &str) -> PathBuf {
        self.root().join(SITE).join(path)
    }

    /// Installs a distribution, paths as in RECORD.
    fn install(&self, name: &str, version: &str, tag: &str, files: &[(&str, &[u8])]) {
        let info = format!("{name}-{version}.dist-info");
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        let wheel = format!("Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n");
        let (about, what) = (format!("{info}/METADATA"), format!("{info}/WHEEL"));
        let own: [(&str, &[u8]); 2] = [(&about, metadata.as_bytes()), (&what, wheel.as_bytes())];
        let mut record = String::new();
        for (path, bytes) in files.iter().chain(&own) {
            write_old(&self.site(path), bytes);
            let digest = base64_url(Sha256::of(bytes).as_bytes());
            writeln!(record, "{path},sha256={digest},{}", bytes.len()).unwrap();
        }
        writeln!(record, "{info}/RECORD,,").unwrap();
        fs::write(self.site(&info).join("RECORD"), record).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        symlink(target, self.root().join(path)).unwrap();
    }
}

/// The bytes of a library.
fn dylib(change: impl FnOnce(&mut macho::Made)) -> Vec<u8> {
    let mut made = macho::Made::default();
    change(&mut made);
    made.bytes()
}

/// The bytes of an extension module that names libraries, to be found along an rpath.
fn module(libraries: &[&'static str], rpaths: &[&'static str]) -> Vec<u8> {
    dylib(|made| {
        made.kind = macho::BUNDLE;
        made.install_name = None;
        made.dependencies.extend(libraries.iter().map(|library| (macho::LOAD, *library)));
        made.rpaths = rpaths.to_vec();
    })
}
