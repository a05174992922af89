//! What is written of a lock with two platforms, and that it is read again.

use super::*;
use crate::lock::parse;

const LOCK: &str = include_str!("../../../tests/locks/v1/two-platforms.lock");

fn with<T>(only: &[Platform], act: impl FnOnce(Export<'_>) -> T) -> T {
    let lock = parse::parse(LOCK).unwrap();
    let platforms: Vec<&LockedEnv> =
        lock.envs.iter().filter(|env| env.name == "default" && only.contains(&env.platform)).collect();
    let releases = releases(&lock, &platforms).unwrap();
    let addresses = |one: &Exported<'_>| {
        one.wheels
            .iter()
            .map(|wheel| (wheel.sha256, format!("https://files.example/{}", wheel.file)))
            .collect::<Vec<_>>()
    };
    let addresses = releases.iter().flat_map(addresses).collect();
    let indexes = BTreeMap::from([("pypi".to_owned(), "https://index.example/simple".to_owned())]);
    act(Export { project: "x\ny", env: "default", platforms, releases, roots: Vec::new(), indexes, addresses })
}

const BOTH: [Platform; 2] = [Platform::MacosArm64, Platform::LinuxX86_64];

#[test]
fn what_only_one_platform_gets_has_a_marker() {
    let one = with(&BOTH[..1], |export| requirements(&export));
    assert!(!one.contains(" ; ") && one.starts_with("# Made by `macml export` from macml.lock of `x y`"), "{one}");
    let both = with(&BOTH, |export| requirements(&export));
    insta::assert_snapshot!("requirements", both);
    let lock = with(&BOTH, |export| pylock(&export)).unwrap();
    insta::assert_snapshot!("pylock", lock);
}

#[test]
fn what_is_exported_is_read_again() {
    let read = |name: &str, text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        crate::sys::fs::write_atomic(&path, text.as_bytes(), crate::sys::fs::Durability::Cached).unwrap();
        crate::lock::foreign::read(&path).unwrap()
    };
    let text = with(&BOTH, |export| requirements(&export));
    let names = |lock: &crate::lock::foreign::ForeignLock| {
        let mut names: Vec<String> =
            lock.releases.iter().map(|one| format!("{} {}", one.name, one.version.as_ref().unwrap())).collect();
        names.sort();
        names
    };
    let requirements = read("requirements.txt", &text);
    let pylock = read("pylock.toml", &with(&BOTH, |export| pylock(&export)).unwrap());
    assert_eq!(names(&requirements), names(&pylock));
    assert!(requirements.notes.is_empty() && pylock.notes.is_empty(), "{:?} {:?}", requirements.notes, pylock.notes);
}

#[test]
fn a_file_without_an_address_is_named() {
    let error = with(&BOTH, |export| pylock(&Export { addresses: BTreeMap::new(), ..export })).unwrap_err();
    assert!(error.count > 1 && error.first.ends_with(".whl"), "{error}");
}
