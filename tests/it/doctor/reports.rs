//! Each of the 28 public bug reports is held by a test that is named by its number, at every place that the report asks for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::scenarios::files;
use crate::explain::known::known;

/// How many reports there are.
const REPORTS: u32 = 28;

/// Those that `doctor` must tell from facts.
const OF_DOCTOR: [u32; 17] = [1, 2, 3, 4, 5, 6, 7, 9, 18, 19, 20, 21, 22, 23, 24, 25, 28];

/// Those that come with a text of their own, which `explain` must know.
const WITH_TEXT: [u32; 12] = [4, 5, 6, 7, 9, 16, 17, 18, 20, 24, 25, 26];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Lists every file of Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
}

/// Returns the number at the beginning of a name such as `r07-…` and `r07_…`.
fn number(name: &str) -> Option<u32> {
    let rest = name.strip_prefix('r')?;
    let end = rest.find(['-', '_'])?;
    (end == 2).then(|| rest[..end].parse().ok()).flatten()
}

/// Lists the numbers of the scenarios or logs in a folder.
fn in_folder(folder: &str, ending: &str) -> BTreeSet<u32> {
    files(folder, ending).keys().filter_map(|name| number(name)).collect()
}

#[test]
fn every_report_has_its_test() {
    let mut tested = in_folder("tests/scenarios/resolve", "toml");
    for path in [sources(&root().join("tests/it")), sources(&root().join("src"))].concat() {
        let text = std::fs::read_to_string(path).unwrap();
        tested.extend(text.split("\nfn ").chain(text.split(" fn ")).filter_map(number));
    }
    let doctor = in_folder("tests/scenarios/doctor", "toml");
    let explain: BTreeSet<u32> = known().iter().filter_map(|known| number(&known.name)).collect();
    tested.extend(doctor.union(&explain));
    let lacks = |of: &[u32], has: &BTreeSet<u32>| of.iter().copied().filter(|n| !has.contains(n)).collect::<Vec<_>>();
    let all: Vec<u32> = (1..=REPORTS).collect();
    let missing = (lacks(&all, &tested), lacks(&OF_DOCTOR, &doctor), lacks(&WITH_TEXT, &explain));
    assert_eq!(missing, (Vec::new(), Vec::new(), Vec::new()), "reports without a test, a scenario of doctor, a text");
}
