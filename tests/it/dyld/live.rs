//! What is kept for tests and what is known of macOS and CPython, read anew from where it is from. Runs when `MACML_LIVE` is
//! set; `full` reads every wheel, 8 GB, of which `rows_come_out_of_real_wheels` by itself needs 2 GB, and `MACML_BLESS=1`
//! then writes what it read. `MACML_WHEELS` may name a folder that has wheels already, `MACML_CPYTHONS` libraries of CPython
//! (`libpython3.14.so.1.0`), with `:` between.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use macml::check::dyld::{Distribution, Grade, simulate};
use macml::check::facts::WheelFacts;
use macml::index::download::{Place, Wanted};
use macml::index::source::{Answer, Ask, File, PageAnswer, Source as _};
use macml::pep::{PackageName, WheelName};
use macml::target::PythonMinor;

use super::record::{Names, Record, is_system};
use super::truth::{Row, difference, rows};
use crate::live_index::{live, source};
use crate::support::python::python;
use crate::support::real::full;
use crate::support::real_facts;
use crate::support::real_facts::Fetched;

fn bless() -> bool {
    std::env::var_os("MACML_BLESS").is_some()
}

fn name(file: &str) -> WheelName {
    file.parse().unwrap()
}

/// Hands on the facts of wheels, one after the other, and says what was fetched for that.
fn each(files: &[&str], mut look: impl FnMut(&str, WheelFacts)) -> Fetched {
    if let Some(folder) = std::env::var_os("MACML_WHEELS") {
        files.iter().for_each(|file| look(file, real_facts::read(&Path::new(&folder).join(file), &name(file))));
        return Fetched::default();
    }
    real_facts::each(&wanted(files), |one, facts| look(&one.wheel.to_string(), facts))
}

/// Finds wheels on the pages of the real index, in their order.
fn wanted(files: &[&str]) -> Vec<Wanted> {
    let wheels: Vec<WheelName> = files.iter().map(|file| name(file)).collect();
    let packages: BTreeSet<&PackageName> = wheels.iter().map(|wheel| &wheel.name).collect();
    let mut source = source(&real_facts::cache());
    packages.iter().for_each(|name| source.ask(Ask::Page { index: "pypi".into(), name: (*name).clone() }));
    let mut found = BTreeMap::new();
    for _ in &packages {
        let Answer::Page(PageAnswer::Found(page)) = source.wait(None).unwrap().1.unwrap() else { panic!("no page") };
        let all = page.versions().flat_map(|version| &page.release(version).unwrap().wheels);
        found.extend(all.map(|file: &Arc<File>| (file.wheel.to_string(), file.clone())));
    }
    let wanted = |wheel: WheelName| {
        let file = found.get(&wheel.to_string()).unwrap_or_else(|| panic!("{wheel} is on no page"));
        let (size, sha256) = (file.size.unwrap(), file.sha256.unwrap());
        Wanted { place: Place::Index("pypi".into()), wheel, size, sha256 }
    };
    wheels.into_iter().map(wanted).collect()
}

#[test]
fn what_is_kept_of_wheels_is_what_they_say() {
    if !live() {
        return;
    }
    let rows = rows();
    let files: BTreeSet<&str> =
        rows.iter().flat_map(|row| [row.left, row.right]).filter(|file| file.ends_with(".whl")).collect();
    let held_against: BTreeSet<_> =
        rows.iter().filter(|row| row.right.ends_with(".whl")).map(|row| name(row.right).name).collect();
    let with_imports = |file: &str| !held_against.contains(&name(file).name);
    let usual = |file: &str| {
        ["mlx-", "torchvision-", "torchaudio-", "tensorflow_metal-"].iter().any(|start| file.starts_with(start))
            || ["mlx_metal-0.29.0-", "mlx_metal-0.29.3-"].iter().any(|start| file.starts_with(start))
    };
    let (left, right): (Vec<&str>, Vec<&str>) =
        files.into_iter().filter(|file| full() || usual(file)).partition(|file| with_imports(file));

    let kept = Record::read();
    let mut facts = BTreeMap::new();
    each(&left, |file, read| {
        facts.insert(file.to_owned(), read);
    });
    let mut names = Names::default();
    if full() {
        facts.values().for_each(|facts| names.add(facts));
    } else {
        names = kept.names();
    }
    let mut record = Record::new(names);
    facts.iter().for_each(|(file, facts)| record.add(file, facts, true));
    each(&right, |file, facts| record.add(file, &facts, false));
    if bless() && full() {
        record.write();
        return;
    }
    let (read, kept) = (record.facts(), kept.facts());
    assert!(read.len() > 40);
    for (file, facts) in &read {
        assert!(kept.get(file) == Some(facts), "{file} says something else now");
    }
}

/// Wheels whose rows are all made anew from the wheels themselves: a few large ones that many rows are about.
const MADE_ANEW: &[&str] = &[
    "tensorflow_metal-1.0.1-cp311-cp311-macosx_12_0_arm64.whl",
    "tensorflow_metal-1.1.0-cp311-cp311-macosx_12_0_arm64.whl",
    "tensorflow_metal-1.2.0-cp311-cp311-macosx_12_0_arm64.whl",
    "tensorflow_macos-2.14.1-cp311-cp311-macosx_12_0_arm64.whl",
    "tensorflow-2.17.1-cp311-cp311-macosx_12_0_arm64.whl",
    "tensorflow-2.18.1-cp311-cp311-macosx_12_0_arm64.whl",
    "tensorflow-2.19.1-cp311-cp311-macosx_12_0_arm64.whl",
    "tensorflow-2.20.0-cp311-cp311-macosx_12_0_arm64.whl",
    "torch-2.0.1-cp311-none-macosx_11_0_arm64.whl",
    "torch-2.2.2-cp311-none-macosx_11_0_arm64.whl",
    "torch-2.9.1-cp311-none-macosx_11_0_arm64.whl",
    "torch-2.10.0-2-cp311-none-macosx_11_0_arm64.whl",
    "torch-2.15.0-cp311-cp311-macosx_14_0_arm64.whl",
    "torchvision-0.15.2-cp311-cp311-macosx_11_0_arm64.whl",
    "torchaudio-2.11.0-cp311-cp311-macosx_11_0_arm64.whl",
    "torchaudio-2.11.1-py3-none-macosx_14_0_arm64.whl",
    "torch-1.10.2-cp39-none-macosx_11_0_arm64.whl",
    "torch-1.13.1-cp39-none-macosx_11_0_arm64.whl",
    "torchvision-0.11.3-cp39-cp39-macosx_11_0_arm64.whl",
    "torchvision-0.14.1-cp39-cp39-macosx_11_0_arm64.whl",
    "tensorflow_metal-0.5.0-cp310-cp310-macosx_11_0_arm64.whl",
    "tensorflow_metal-1.2.0-cp310-cp310-macosx_12_0_arm64.whl",
    "jax_metal-0.1.1-py3-none-macosx_13_0_arm64.whl",
    "jaxlib-0.4.34-cp311-cp311-macosx_11_0_arm64.whl",
    "jaxlib-0.7.0-cp311-cp311-macosx_11_0_arm64.whl",
    "coremltools-7.2-cp311-none-macosx_11_0_arm64.whl",
    "coremltools-9.0-cp311-none-macosx_11_0_arm64.whl",
    "numpy-1.26.4-cp311-cp311-macosx_10_9_x86_64.whl",
    "numpy-2.3.5-cp311-cp311-macosx_14_0_arm64.whl",
    "scikit_learn-1.3.2-cp311-cp311-macosx_12_0_arm64.whl",
    "scikit_learn-1.7.2-cp311-cp311-macosx_12_0_arm64.whl",
    "faiss_cpu-1.8.0-cp311-cp311-macosx_11_0_arm64.whl",
    "faiss_cpu-1.12.0-cp311-cp311-macosx_14_0_arm64.whl",
];

/// Rows that must be among them, by what their wheels begin with: what is one symbol apart, what differs by an install name,
/// what only two-level names tell, what has no pin, what has an empty edge, what falls back, and what has a foreign file.
const FIRST: [(&str, &str); 12] = [
    ("tensorflow_metal-1.1.0-cp311-", "tensorflow-2.17.1-"),
    ("tensorflow_metal-1.1.0-cp311-", "tensorflow-2.18.1-"),
    ("tensorflow_metal-1.2.0-cp311-", "tensorflow-2.19.1-"),
    ("tensorflow_metal-1.2.0-cp311-", "tensorflow-2.20.0-"),
    ("tensorflow_metal-1.0.1-cp311-", "tensorflow_macos-2.14.1-"),
    ("torchaudio-2.11.0-", "torch-2.9.1-"),
    ("torchaudio-2.11.0-", "torch-2.10.0-"),
    ("mlx-0.29.0-", "mlx_metal-0.29.3-"),
    ("torchvision-0.15.2-", "torch-2.0.1-"),
    ("torchvision-0.11.3-", "torch-1.10.2-"),
    ("torchvision-0.11.3-", "torch-1.13.1-"),
    ("torch-1.10.2-", "(alone)"),
];

#[test]
fn rows_come_out_of_real_wheels() {
    if !live() {
        return;
    }
    let has = |file: &str| {
        let small = file.starts_with("mlx-")
            || ["mlx_metal-0.29.0-", "mlx_metal-0.29.3-"].iter().any(|one| file.starts_with(one));
        small || (full() && MADE_ANEW.contains(&file)) || file.starts_with('(')
    };
    let rows: Vec<Row> = rows().into_iter().filter(|row| has(row.left) && has(row.right)).collect();
    if full() {
        for (left, right) in FIRST {
            let is = |row: &Row| row.left.starts_with(left) && row.right.starts_with(right);
            assert!(rows.iter().any(is), "{left} {right}");
        }
    }
    let files: BTreeSet<&str> =
        rows.iter().flat_map(|row| [row.left, row.right]).filter(|file| file.ends_with(".whl")).collect();
    let unused: Vec<_> = MADE_ANEW.iter().filter(|file| full() && !files.contains(*file)).collect();
    assert!(unused.is_empty(), "no row is about {unused:?}");
    let began = Instant::now();
    let mut wheels = BTreeMap::new();
    let fetched = each(&files.iter().copied().collect::<Vec<_>>(), |file, facts| {
        wheels.insert(file.to_owned(), facts);
    });
    let read = began.elapsed();
    let wrong: Vec<String> = rows.iter().filter_map(|row| difference(row, &wheels)).collect();
    eprintln!(
        "{} rows of {} wheels, {} of them fetched ({} MB); {read:.1?} to read, {:.1?} in all",
        rows.len(),
        files.len(),
        fetched.wheels,
        fetched.bytes / 1_000_000,
        began.elapsed()
    );
    assert!(rows.len() >= 56, "only {} rows", rows.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The wheels that the list of the system's names is learned from: of many projects, most of which no other test knows.
fn learned_from() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dyld/learned-from.txt");
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// Errors of a wheel by itself, as dyld says them.
fn errors(file: &str, facts: &WheelFacts) -> Vec<String> {
    let wheel = name(file);
    let minor = wheel.python_tags().find_map(|tag| tag.strip_prefix("cp3")?.parse().ok()).unwrap_or(12);
    let distributions = [Distribution { name: &wheel.name, facts }];
    let answer = simulate(&distributions, PythonMinor { major: 3, minor });
    let errors = answer.troubles().filter(|(_, trouble)| trouble.grade == Grade::Error);
    errors.map(|(_, trouble)| format!("{file}: {}", trouble.sentence())).collect()
}

#[test]
fn names_of_the_system_are_those_that_wheels_bind() {
    const PATH: &str = "src/check/dyld/system.txt";
    if !full() {
        return;
    }
    let mut learned: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut wheels, mut wrong) = (0, Vec::new());
    let files = learned_from();
    each(&files.iter().map(String::as_str).collect::<Vec<_>>(), |file, facts| {
        wheels += 1;
        wrong.extend(errors(file, &facts));
        for slice in facts.images.iter().filter_map(|image| image.slice.as_ref().ok()) {
            for dependency in slice.dependencies.iter().filter(|one| is_system(&one.path) && !one.weak) {
                learned.entry(dependency.path.clone()).or_default();
            }
            for import in slice.imports.iter().filter(|import| !import.weak) {
                let place = usize::try_from(i32::from(import.ordinal) - 1).ok();
                if let Some(library) = place.and_then(|place| slice.dependencies.get(place))
                    && let Some(names) = learned.get_mut(&library.path)
                {
                    names.insert(import.name.to_owned());
                }
            }
        }
    });
    let mut text = format!(
        "# What {wheels} wheels for Apple Silicon bind to libraries of the system, other than weakly.\n\
         # tests/dyld/learned-from.txt names them; written by\n\
         # `MACML_BLESS=1 MACML_LIVE=full cargo test names_of_the_system`.\n"
    );
    let mut told = BTreeSet::new();
    for (library, names) in &learned {
        writeln!(text, "{library}").unwrap();
        // Flat lookups ask for a name alone: one library for each is enough.
        for name in names.iter().filter(|name| told.insert((*name).clone())) {
            writeln!(text, "{name}").unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PATH);
    if bless() {
        std::fs::write(path, text).unwrap();
        return;
    }
    assert!(std::fs::read_to_string(path).unwrap() == text, "{PATH} is not what the wheels say");
    // They are used every day: what is an error here is one of ours.
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the names that a library of CPython exports, without its modules', which depend on how it was configured.
fn exported(library: &Path) -> BTreeSet<String> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    assert!(output.status.success(), "{}", library.display());
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split_whitespace().nth(2)?.split('@').next());
    let ours = |name: &&str| (name.starts_with("Py") || name.starts_with("_Py")) && !name.starts_with("PyInit_");
    names.filter(ours).map(str::to_owned).collect()
}

/// Writes minors as ranges: `9-11 13`.
fn ranges(minors: &BTreeSet<u16>) -> String {
    let mut ranges: Vec<[u16; 2]> = Vec::new();
    for minor in minors {
        match ranges.last_mut() {
            Some([_, last]) if *last + 1 == *minor => *last = *minor,
            _ => ranges.push([*minor; 2]),
        }
    }
    let range = |[first, last]: &[u16; 2]| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(range).collect::<Vec<_>>().join(" ")
}

#[test]
fn names_of_cpython_are_those_that_it_exports() {
    const PATH: &str = "src/check/dyld/cpython.txt";
    if !live() {
        return;
    }
    let mut libraries: Vec<(u16, PathBuf)> = Vec::new();
    if let Some(paths) = std::env::var_os("MACML_CPYTHONS") {
        for path in std::env::split_paths(&paths) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let minor = name.strip_prefix("libpython3.").unwrap().split('.').next().unwrap().parse().unwrap();
            libraries.push((minor, path));
        }
    } else {
        let (python, minor) = python();
        let query = "import sysconfig as s; print(s.get_config_var('LIBDIR') + '/' + s.get_config_var('LDLIBRARY'))";
        let output = Command::new(python).args(["-I", "-c", query]).output().unwrap();
        let library = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        let shared = library.extension().is_some_and(|end| end == "so") && library.exists();
        libraries
            .push((minor.split('.').nth(1).unwrap().parse().unwrap(), if shared { library } else { python.clone() }));
    }
    let mut names: BTreeMap<String, BTreeSet<u16>> = BTreeMap::new();
    for (minor, library) in &libraries {
        exported(library).into_iter().for_each(|name| {
            names.entry(name).or_default().insert(*minor);
        });
    }
    assert!(names.len() > 1500, "{libraries:?}");
    let minors: BTreeSet<u16> = libraries.iter().map(|(minor, _)| *minor).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PATH);
    if bless() {
        let all: Vec<String> = minors.iter().map(u16::to_string).collect();
        let mut text = format!(
            "# Names that CPython exports, from builds for Linux: those of 3.9 to 3.13 as pyenv makes them, those of 3.13\n\
             # to 3.15 as Debian does. Written by `MACML_BLESS=1 MACML_LIVE=1 cargo test names_of_cpython`, with\n\
             # `MACML_CPYTHONS` naming one `libpython3.N.so` or more of each minor.\n\
             # Behind a name stand the minors that have it, where not all do.\nminors {}\n",
            all.join(" ")
        );
        for (name, of) in &names {
            let some = if *of == minors { String::new() } else { format!(" {}", ranges(of)) };
            writeln!(text, "{name}{some}").unwrap();
        }
        std::fs::write(path, text).unwrap();
        return;
    }
    let text = std::fs::read_to_string(path).unwrap();
    let kept: BTreeMap<&str, &str> = text.lines().map(|line| line.split_once(' ').unwrap_or((line, ""))).collect();
    let covers = |ranges: &str, minor: u16| {
        ranges.is_empty()
            || ranges.split(' ').any(|range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                (first.parse().unwrap()..=last.parse::<u16>().unwrap()).contains(&minor)
            })
    };
    let unknown: Vec<&String> = names
        .iter()
        .filter(|(name, of)| {
            !kept.get(name.as_str()).is_some_and(|ranges| of.iter().all(|minor| covers(ranges, *minor)))
        })
        .map(|(name, _)| name)
        .collect();
    assert!(unknown.is_empty(), "{libraries:?} exports what {PATH} does not have: {unknown:?}");
}
