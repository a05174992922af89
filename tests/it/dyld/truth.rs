//! Every row of the table comes out.

use std::collections::{BTreeMap, BTreeSet};

use macml::check::dyld::{Distribution, Expected, Grade, Outside, Refusal, What, simulate};
use macml::check::facts::{NumpyAbi, Pjrt, Version, WheelFacts};
use macml::pep::{PackageName, WheelName};
use macml::target::PythonMinor;

use super::record::Record;

/// A row of the table. Its verdict concerns the images of the left wheel.
pub(super) struct Row {
    pub(super) left: &'static str,
    /// A wheel, or what it is held against in brackets.
    pub(super) right: &'static str,
    pub(super) verdict: &'static str,
    /// Distinct names that are missing.
    pub(super) missing: usize,
    /// One of them, or the library.
    pub(super) example: &'static str,
}

pub(super) fn rows() -> Vec<Row> {
    let read = |line: &'static str| match line.splitn(5, ',').collect::<Vec<_>>()[..] {
        [left, right, verdict, missing, example] => {
            Row { left, right, verdict, missing: missing.parse().unwrap(), example }
        }
        _ => panic!("`{line}`"),
    };
    include_str!("../../dyld/truth.csv").lines().skip(1).map(read).collect()
}

fn name(file: &str) -> WheelName {
    file.parse().unwrap()
}

fn python(files: &[&str]) -> PythonMinor {
    let minor = |file: &&str| name(file).python_tags().find_map(|tag| tag.strip_prefix("cp3")?.parse().ok());
    PythonMinor { major: 3, minor: files.iter().find_map(minor).unwrap_or(11) }
}

/// The version of PJRT that a jaxlib expects of plugins: of four, read from their code by hand.
fn framework(wheel: &WheelName) -> Option<Pjrt> {
    let minor = match wheel.version.to_string().as_str() {
        "0.4.34" => 54,
        "0.4.38" => 58,
        "0.5.3" => 67,
        "0.7.0" => 73,
        _ => return None,
    };
    (wheel.name.as_str() == "jaxlib").then_some(Pjrt { major: 0, minor })
}

/// Rows of which something else comes out, with what and why. At most ten are bearable.
const OTHERWISE: [(&str, &str, &str, &str); 3] = [
    ("coremltools-7.2-cp311-none-macosx_11_0_arm64.whl", "(alone)", "LOADS_4_UNVERIFIABLE", VIMAGE),
    ("coremltools-8.3.0-cp311-none-macosx_11_0_arm64.whl", "(alone)", "LOADS_4_UNVERIFIABLE", VIMAGE),
    ("coremltools-9.0-cp311-none-macosx_11_0_arm64.whl", "(alone)", "LOADS_4_UNVERIFIABLE", VIMAGE),
];

const VIMAGE: &str = "of its five names of vImage, other projects bind `_vImagePermuteChannels_ARGB8888` to Accelerate, so \
                      that it is known to be the system's";

/// What comes out for a row.
#[derive(Debug)]
struct Told {
    verdict: String,
    missing: BTreeSet<String>,
    libraries: BTreeSet<String>,
}

fn tell(row: &Row, wheels: &BTreeMap<String, WheelFacts>) -> Told {
    let left = &wheels[row.left];
    let slices = || left.images.iter().filter_map(|image| image.slice.as_ref().ok());
    let mut told = Told { verdict: String::new(), missing: BTreeSet::new(), libraries: BTreeSet::new() };
    if let Some(floor) = row.right.strip_prefix("(macOS ") {
        let (major, minor) = floor.split_once(' ').unwrap().0.split_once('.').unwrap();
        let floor = Version::new(major.parse().unwrap(), minor.parse().unwrap(), 0);
        let minos = slices().filter_map(|slice| slice.build).map(|build| build.minos).max().unwrap();
        told.verdict = match minos {
            minos if minos.major() > floor.major() => "MINOS_MAJOR_ABOVE_TAG",
            minos if minos > floor => "MINOS_MINOR_ABOVE_TAG",
            _ => "LOADS",
        }
        .to_owned();
        return told;
    }
    let files: Vec<&str> = [row.left, row.right].into_iter().filter(|file| file.ends_with(".whl")).collect();
    let names: Vec<PackageName> = files.iter().map(|file| name(file).name).collect();
    let distributions: Vec<Distribution<'_>> =
        files.iter().zip(&names).map(|(file, name)| Distribution { name, facts: &wheels[*file] }).collect();
    let answer = simulate(&distributions, python(&files));
    let (mut refused, mut optional, mut unverifiable) = (false, false, BTreeSet::new());
    for (image, trouble) in answer.troubles() {
        assert!(!matches!(trouble.what, What::Differs { .. }), "{}: {}: {}", row.left, row.right, trouble.sentence());
        if image.distribution != &names[0] {
            continue;
        }
        match &trouble.what {
            What::Refused(Refusal::Architecture(_)) => refused = true,
            What::LibraryMissing { outside: Some(Outside::Expected), .. } => optional = true,
            What::LibraryMissing { library, .. } => {
                told.libraries.insert((*library).to_owned());
            }
            What::SymbolMissing { symbol, .. } if trouble.grade == Grade::Error => {
                told.missing.insert((*symbol).to_owned());
            }
            What::SymbolMissing { symbol, expected: Expected::Anywhere, .. } => {
                unverifiable.insert(*symbol);
            }
            What::LoadsAfter { .. } => {}
            other => panic!("{}: {}: {other:?}", row.left, row.right),
        }
    }
    let right = files.get(1).map(|file| (name(file), &wheels[*file]));
    let numpy = right.as_ref().is_some_and(|(name, _)| name.name.as_str() == "numpy");
    let with_openmp = |facts: &WheelFacts| -> usize {
        facts.images.iter().filter_map(|image| image.slice.as_ref().ok()).filter(|slice| slice.markers.openmp).count()
    };
    let plugin = slices().find_map(|slice| slice.markers.pjrt);
    let verdict = if refused {
        "WRONG_ARCH"
    } else if numpy && slices().any(|slice| slice.markers.numpy == Some(NumpyAbi::One)) {
        "NUMPY1_ABI"
    } else if numpy && slices().any(|slice| matches!(slice.markers.numpy, Some(NumpyAbi::Two { .. }))) {
        "NUMPY2_OK"
    } else if right.as_ref().is_some_and(|(_, facts)| with_openmp(facts) > 0) && with_openmp(left) > 0 {
        "OMP_DUPLICATE_RISK"
    } else if !told.libraries.is_empty() {
        "LIBRARY_NOT_FOUND"
    } else if !told.missing.is_empty() {
        "SYMBOL_MISSING"
    } else if let Some((right, _)) = &right
        && let (Some(plugin), Some(framework)) = (plugin, framework(right))
        && plugin != framework
    {
        "LOADS_BUT_PJRT_VERSION_DIFFERS"
    } else if optional {
        "LOADS_EXCEPT_OPTIONAL"
    } else if !unverifiable.is_empty() {
        &format!("LOADS_{}_UNVERIFIABLE", unverifiable.len())
    } else {
        "LOADS"
    };
    told.verdict = verdict.to_owned();
    told
}

#[test]
fn every_row_comes_out() {
    let wheels = Record::read().facts();
    let rows = rows();
    assert_eq!(rows.len(), 749);
    let mut wrong = Vec::new();
    for row in &rows {
        let told = tell(row, &wheels);
        let example = match row.verdict {
            "SYMBOL_MISSING" => told.missing.contains(row.example),
            "LIBRARY_NOT_FOUND" => told.libraries.contains(row.example),
            _ => true,
        };
        let otherwise = OTHERWISE.iter().find(|(left, right, ..)| (*left, *right) == (row.left, row.right));
        let verdict = otherwise.map_or(row.verdict, |(_, _, verdict, why)| {
            assert!(*verdict != row.verdict && !why.is_empty());
            verdict
        });
        if told.verdict != verdict || told.missing.len() != row.missing || !example {
            let Row { left, right, verdict, missing, example } = row;
            wrong.push(format!("{left} {right}: {verdict} {missing} {example}, and not {told:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
