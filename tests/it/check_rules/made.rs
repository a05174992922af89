//! Distributions in the making.

use std::collections::BTreeSet;
use std::sync::Arc;

use macml::check::dyld::{Distribution, simulate};
use macml::check::facts::{
    Build, Foreign, ForeignFormat, Hook, Image, MetalLibrary, Package, Platform, Version as Packed, WheelFacts,
};
use macml::check::rules::{self, Case, Installed};
use macml::diag::{Finding, Severity};
use macml::knowledge::Knowledge;
use macml::pep::{PackageName, Version, WheelName};
use macml::target::PythonMinor;

use crate::support::image;
use crate::support::image::Made;

/// A library with an install name.
pub(crate) fn dylib(path: &str, install_name: &str) -> Made {
    image::dylib(path).named(install_name)
}

/// A distribution in the making.
pub(crate) struct Wheel {
    file: WheelName,
    facts: WheelFacts,
}

/// A wheel by its file name without the ending; `mlx-0.32.4-cp312-cp312-macosx_14_0_arm64`.
pub(crate) fn wheel(stem: &str) -> Wheel {
    let file: WheelName = format!("{stem}.whl").parse().unwrap();
    let name = file.name.as_str().replace('-', "_");
    let packages = vec![Package { name, imports: BTreeSet::new() }];
    Wheel { file, facts: WheelFacts { packages, ..WheelFacts::default() } }
}

impl Wheel {
    pub(crate) fn with(mut self, image: impl Into<Image>) -> Self {
        self.facts.images.push(image.into());
        self.facts.images.sort_by(|a, b| a.path.cmp(&b.path));
        self
    }

    /// Takes facts of a real wheel for its own.
    pub(crate) fn of(stem: &str, facts: WheelFacts) -> Self {
        Self { facts, ..wheel(stem) }
    }

    pub(crate) fn file(&self) -> &WheelName {
        &self.file
    }

    pub(crate) fn installed(&self) -> Installed<'_> {
        let (name, version) = (&self.file.name, &self.file.version);
        Installed { name, version, wheel: Some(&self.file), facts: &self.facts }
    }

    /// Says in its metadata with which releases it goes.
    pub(crate) fn asks(mut self, name: &str, versions: &str) -> Self {
        self.facts.versions.insert(name.parse().unwrap(), versions.to_owned());
        self.requires(name)
    }

    pub(crate) fn requires(mut self, name: &str) -> Self {
        self.facts.requires.insert(name.parse().unwrap());
        self
    }

    pub(crate) fn plugs_into(mut self, hook: Hook) -> Self {
        self.facts.hooks.insert(hook);
        self
    }

    pub(crate) fn metal(mut self, path: &str, major: u16, minor: u8) -> Self {
        let sdk = Packed::default();
        let target = Some(Build { platform: Platform::MacOs, minos: Packed::new(major, minor, 0), sdk });
        self.facts.metal.push(MetalLibrary { path: path.to_owned(), target });
        self
    }

    pub(crate) fn foreign(mut self, path: &str, format: ForeignFormat) -> Self {
        self.facts.foreign.push(Foreign { path: path.to_owned(), format });
        self
    }
}

/// What is said of distributions, with Python 3.12 on macOS 14.0.
pub(crate) fn judged(wheels: &[Wheel]) -> Vec<Finding> {
    judged_on(wheels, "14.0", &Knowledge::built_in())
}

pub(crate) fn judged_on(wheels: &[Wheel], macos: &str, knowledge: &Arc<Knowledge>) -> Vec<Finding> {
    let python = PythonMinor { major: 3, minor: 12 };
    let names: Vec<(&PackageName, &Version)> = wheels.iter().map(|one| (&one.file.name, &one.file.version)).collect();
    let distributions: Vec<Distribution<'_>> =
        wheels.iter().zip(&names).map(|(one, (name, _))| Distribution { name, facts: &one.facts }).collect();
    let answer = simulate(&distributions, python);
    let installed: Vec<Installed<'_>> = wheels.iter().map(Wheel::installed).collect();
    let macos = macos.parse().unwrap();
    let said = rules::judge(&Case {
        installed: &installed,
        answer: &answer,
        python,
        macos,
        knowledge,
        gone: &Default::default(),
    });
    said.into_iter().map(|said| said.finding).collect()
}

/// Writes a finding as its severity, code and message, each further sentence in a line.
pub(crate) fn told(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let notes = finding.notes.iter().map(|note| format!("\n  {}", note.replace("\n  ", " | ")));
    let hint = finding.hint.iter().map(|hint| format!("\n  = {hint}"));
    format!("{severity}[{}]: {}{}", finding.code, finding.message, notes.chain(hint).collect::<String>())
}

/// Holds what is said of distributions to what is expected.
#[track_caller]
pub(crate) fn check(wheels: &[Wheel], expected: &[&str]) {
    let told: Vec<String> = judged(wheels).iter().map(told).collect();
    assert_eq!(told.join("\n"), expected.join("\n"));
}
