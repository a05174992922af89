//! Facts of the real wheels, read anew: what is kept of them is what they say. `MACML_LIVE=full` reads all, 7 GB; with
//! `MACML_BLESS=1` it writes `tests/dyld/wheels.json.gz`. `MACML_WHEELS` may name a folder that has them already.

use std::collections::BTreeSet;
use std::path::Path;

use macml::check::facts;
use macml::check::facts::WheelFacts;
use macml::install;
use macml::pep::WheelName;

use super::record::{Names, Record};
use super::truth::rows;

/// Reads a wheel on disk.
fn read(path: &Path, name: &WheelName) -> WheelFacts {
    let bytes = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    facts::read_wheel(&mut install::open(bytes, name).unwrap()).unwrap()
}

#[test]
fn what_is_kept_of_wheels_is_what_they_say() {
    let Ok(folder) = std::env::var("MACML_WHEELS") else { return };
    let rows = rows();
    let files: BTreeSet<&str> =
        rows.iter().flat_map(|row| [row.left, row.right]).filter(|file| file.ends_with(".whl")).collect();
    let name = |file: &str| -> WheelName { file.parse().unwrap() };
    let held_against: BTreeSet<_> =
        rows.iter().filter(|row| row.right.ends_with(".whl")).map(|row| name(row.right).name).collect();
    let with_imports = |file: &str| !held_against.contains(&name(file).name);
    let read = |file: &str| read(&Path::new(&folder).join(file), &name(file));
    let mut names = Names::default();
    let left: Vec<_> = files.iter().filter(|file| with_imports(file)).map(|file| (*file, read(file))).collect();
    left.iter().for_each(|(_, facts)| names.add(facts));
    let mut record = Record::new(names);
    left.iter().for_each(|(file, facts)| record.add(file, facts, true));
    for file in files.iter().filter(|file| !with_imports(file)) {
        let start = std::time::Instant::now();
        record.add(file, &read(file), false);
        eprintln!("{file} {:?}", start.elapsed());
    }
    record.write();
}
