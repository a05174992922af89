//! Every row of the table comes out.

use std::collections::{BTreeMap, BTreeSet};

use macml::check::dyld::{Distribution, Expected, Grade, Outside, What, simulate};
use macml::check::facts::{NumpyAbi, WheelFacts};
use macml::check::rules::{self, Case, Installed};
use macml::diag::{Code, Finding, Severity};
use macml::knowledge::Knowledge;
use macml::pep::WheelName;
use macml::target::{MacosVersion, PythonMinor};

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

/// What the rules find that is about the left wheel.
fn found(row: &Row, findings: &[Finding], open: usize, numpy: bool, wheels: &BTreeMap<String, WheelFacts>) -> String {
    let left = &wheels[row.left];
    let has = |code: Code| findings.iter().any(|finding| finding.code == code);
    let outside = |severity: Severity| {
        let is = |finding: &Finding| finding.code == Code::LibraryFromOutside && finding.severity == severity;
        findings.iter().any(is)
    };
    let slices = || left.images.iter().filter_map(|image| image.slice.as_ref().ok());
    let verdict = if has(Code::WrongArchitecture) {
        "WRONG_ARCH"
    } else if has(Code::Numpy1Binary) {
        "NUMPY1_ABI"
    } else if numpy && slices().any(|slice| matches!(slice.markers.numpy, Some(NumpyAbi::Two { .. }))) {
        "NUMPY2_OK"
    } else if has(Code::SeveralOpenmp) {
        "OMP_DUPLICATE_RISK"
    } else if has(Code::LibraryMissing) || has(Code::NativeHalfMissing) || outside(Severity::Warning) {
        "LIBRARY_NOT_FOUND"
    } else if has(Code::SymbolMissing) {
        "SYMBOL_MISSING"
    } else if has(Code::PjrtVersion) {
        "LOADS_BUT_PJRT_VERSION_DIFFERS"
    } else if has(Code::MacosAboveFloor) {
        let minimum = rules::minimum(left).unwrap().macos;
        if minimum.major() > floor(row).major() { "MINOS_MAJOR_ABOVE_TAG" } else { "MINOS_MINOR_ABOVE_TAG" }
    } else if outside(Severity::Note) {
        "LOADS_EXCEPT_OPTIONAL"
    } else if has(Code::Undecided) {
        return format!("LOADS_{open}_UNVERIFIABLE");
    } else {
        assert!(findings.is_empty(), "{} {}: {findings:?}", row.left, row.right);
        "LOADS"
    };
    verdict.to_owned()
}

/// The lowest macOS of a row: the newest where it is not about that.
fn floor(row: &Row) -> MacosVersion {
    let told = row.right.strip_prefix("(macOS ").and_then(|rest| rest.split(' ').next());
    told.unwrap_or("27.0").parse().unwrap()
}

fn tell(row: &Row, wheels: &BTreeMap<String, WheelFacts>) -> Told {
    let files: Vec<WheelName> =
        [row.left, row.right].into_iter().filter(|file| file.ends_with(".whl")).map(name).collect();
    let texts: Vec<&str> = [row.left, row.right].into_iter().take(files.len()).collect();
    let installed: Vec<Installed<'_>> = files
        .iter()
        .zip(&texts)
        .map(|(file, text)| Installed {
            name: &file.name,
            version: &file.version,
            wheel: Some(file),
            facts: &wheels[*text],
        })
        .collect();
    let distributions: Vec<Distribution<'_>> =
        installed.iter().map(|one| Distribution { name: one.name, facts: one.facts }).collect();
    let python = python(&texts);
    let answer = simulate(&distributions, python);
    let mut told = Told { verdict: String::new(), missing: BTreeSet::new(), libraries: BTreeSet::new() };
    let (mut unverifiable, mut errors) = (BTreeSet::new(), false);
    // A wheel by itself, asked for its macOS, lacks what it needs.
    let alone = row.right.starts_with("(macOS ");
    for (image, trouble) in answer.troubles() {
        assert!(!matches!(trouble.what, What::Differs { .. }), "{}: {}: {}", row.left, row.right, trouble.sentence());
        if image.distribution != installed[0].name || alone {
            continue;
        }
        errors |= trouble.grade == Grade::Error;
        match &trouble.what {
            What::LibraryMissing { outside: Some(Outside::Expected), .. } => {}
            What::LibraryMissing { library, .. } => {
                told.libraries.insert((*library).to_owned());
            }
            What::SymbolMissing { symbol, .. } if trouble.grade == Grade::Error => {
                told.missing.insert((*symbol).to_owned());
            }
            What::SymbolMissing { symbol, expected: Expected::Anywhere, .. } => {
                unverifiable.insert(*symbol);
            }
            What::LoadsAfter { .. } | What::Refused(_) => {}
            other => panic!("{}: {}: {other:?}", row.left, row.right),
        }
    }
    let knowledge = Knowledge::built_in();
    let gone = BTreeMap::new();
    let (answer, knowledge, macos) = (&answer, &knowledge, floor(row));
    let case = Case { installed: &installed, answer, python, macos, knowledge, gone: &gone };
    let said = rules::judge(&case);
    let mut findings: Vec<Finding> = said.into_iter().map(|said| said.finding).collect();
    let own = format!("`{}`", installed[0].name);
    findings.retain(|finding| finding.message.contains(&own) && finding.code != Code::LoadOrder);
    if alone {
        findings.retain(|finding| finding.code == Code::MacosAboveFloor);
    }
    let numpy = files.get(1).is_some_and(|file| file.name.as_str() == "numpy");
    told.verdict = found(row, &findings, unverifiable.len(), numpy, wheels);
    // Nothing that dyld refuses is left out, and nothing else is an error but what the wheel itself lacks.
    let excused = row.left.starts_with("torch-1.10.2-");
    let is_error = |finding: &Finding| finding.severity == Severity::Error && finding.code != Code::NativeHalfMissing;
    let half = findings.iter().any(|finding| finding.code == Code::NativeHalfMissing);
    assert!(findings.iter().any(is_error) == (errors && !excused) || half, "{} {}: {findings:?}", row.left, row.right);
    told
}

/// Says what comes out otherwise than it stands in the table.
pub(super) fn difference(row: &Row, wheels: &BTreeMap<String, WheelFacts>) -> Option<String> {
    let told = tell(row, wheels);
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
    let Row { left, right, missing, .. } = row;
    let differs = told.verdict != verdict || told.missing.len() != *missing || !example;
    differs.then(|| format!("{left} {right}: {} {missing} {}, and not {told:?}", row.verdict, row.example))
}

#[test]
fn every_row_comes_out() {
    let wheels = Record::read().facts();
    let rows = rows();
    assert_eq!(rows.len(), 749);
    let wrong: Vec<String> = rows.iter().filter_map(|row| difference(row, &wheels)).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
