//! Environments of real wheels for Macs, laid out by pip on whatever machine this is (when `MACML_LIVE` is set).

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use macml::check::contents::Level;
use macml::pipeline::check::Word;

use super::SITE;
use super::errors;
use super::lines;
use super::one;
use crate::real_answers::live;
use crate::support::python::python;

/// Installs packages as on a Mac.
fn lay_out(root: &Path, platform: &str, packages: &[&str]) {
    let site = root.join(SITE);
    let (python, _) = python();
    let mut words = vec!["-I", "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"];
    words.extend(["--disable-pip-version-check", "--only-binary=:all:", "--python-version", "3.12"]);
    words.extend(["--platform", platform, "--target", site.to_str().unwrap()]);
    let run = Command::new(python).args(words).args(packages).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    // pip moves these beside the packages, and RECORD has them where they were before.
    for folder in ["bin", "share"] {
        if site.join(folder).exists() {
            fs::rename(site.join(folder), root.join("lib").join(folder)).unwrap();
        }
    }
}

fn find(folder: &Path, ending: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.to_str().unwrap().ends_with(ending));
    found.sort();
    found.remove(0)
}

#[test]
fn numpy_and_scipy() {
    if !live() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    lay_out(root, "macosx_12_0_arm64", &["numpy", "scipy"]);
    let begun = Instant::now();
    let found = one(root, Level::Times);
    eprintln!("numpy and scipy: {:?}, of it libraries {:?}", begun.elapsed(), found.read_in);
    assert_eq!((lines(&found.parts[0]), found.parts[0].word), (vec![], Word::AsRecorded));
    assert_eq!(errors(&found), [""; 0]);
    assert_eq!(one(root, Level::Full).parts[0].word, Word::AsRecorded);

    // One flipped bit.
    let extension = find(&root.join(SITE).join("numpy/_core"), "-darwin.so");
    let whole = fs::read(&extension).unwrap();
    let mut flipped = whole.clone();
    flipped[0x4001] ^= 1;
    fs::write(&extension, &flipped).unwrap();
    let leaf = extension.file_name().unwrap().to_str().unwrap();
    let found = one(root, Level::Times);
    assert!(lines(&found.parts[0])[0].contains(leaf), "{:?}", lines(&found.parts[0]));
    let said = errors(&found);
    assert!(said.iter().any(|one| one.contains("signature-broken") && one.contains(leaf)), "{said:?}");
    fs::write(&extension, &whole).unwrap();

    // One library that is gone.
    let dylib = find(&root.join(SITE).join("scipy/.dylibs"), ".dylib");
    let leaf = dylib.file_name().unwrap().to_str().unwrap().to_owned();
    fs::rename(&dylib, root.join("away")).unwrap();
    let found = one(root, Level::Times);
    assert!(lines(&found.parts[0])[0].contains(&leaf), "{:?}", lines(&found.parts[0]));
    let said: Vec<String> = super::libraries(&found).iter().map(super::line).collect();
    assert!(said.iter().any(|one| one.contains(&leaf)), "{said:?}");
    fs::rename(root.join("away"), &dylib).unwrap();

    // One for Intel among those for Apple Silicon.
    let intel = tempfile::tempdir().unwrap();
    lay_out(intel.path(), "macosx_14_0_x86_64", &["numpy"]);
    let other = find(&intel.path().join(SITE).join("numpy/_core"), "-darwin.so");
    let other = other.with_file_name(extension.file_name().unwrap());
    fs::copy(&other, &extension).unwrap();
    let said = errors(&one(root, Level::Times));
    let leaf = extension.file_name().unwrap().to_str().unwrap();
    assert!(said.iter().any(|one| one.contains("wrong-architecture") && one.contains(leaf)), "{said:?}");
}

/// An environment that is named, be it one that takes minutes to get: what is said of it, and in which time.
#[test]
fn one_that_is_named() {
    let Some(root) = std::env::var_os("MACML_PREFIX") else { return };
    for level in [Level::Times, Level::Full] {
        let begun = Instant::now();
        let found = one(Path::new(&root), level);
        let read = begun.elapsed();
        let said = super::libraries(&found);
        eprintln!("{level:?}: {read:?}, libraries {:?}, dyld {:?}", found.read_in, begun.elapsed() - read);
        let images: usize = found.distributions.iter().map(|one| one.facts.images.len()).sum();
        eprintln!("{images} images, {:?} {:?}", found.parts[0].word, found.parts[0].sum);
        eprintln!("{}", lines(&found.parts[0]).join("\n"));
        said.iter().for_each(|one| eprintln!("{}", super::line(one)));
    }
}
