//! Distributions in the making.

use std::collections::BTreeSet;
use std::sync::Arc;

use macml::check::dyld::{Distribution, simulate};
use macml::check::facts::{
    Architecture, Build, Dependency, Exports, Foreign, ForeignFormat, Hook, Image, Import, Imports, Kind, Markers,
    MetalLibrary, Package, Platform, Signature, Slice, Table, Unloadable, Version as Packed, WheelFacts,
};
use macml::check::rules::{self, Case, Installed};
use macml::diag::{Finding, Severity};
use macml::knowledge::Knowledge;
use macml::pep::{PackageName, Version, WheelName};
use macml::target::PythonMinor;

/// An image in the making.
#[derive(Clone)]
pub(super) struct Made {
    path: String,
    pub(super) slice: Slice,
    imports: Vec<(i32, String)>,
    exports: Vec<String>,
}

pub(super) fn image(path: &str, kind: Kind) -> Made {
    let build = Build { platform: Platform::MacOs, minos: Packed::new(12, 0, 0), sdk: Packed::new(15, 0, 0) };
    let slice = Slice {
        kind,
        two_level: true,
        install_name: None,
        dependencies: Vec::new(),
        rpaths: Vec::new(),
        build: Some(build),
        imports: Imports::default(),
        exports: Exports::default(),
        signature: Signature::Intact,
        markers: Markers::default(),
    };
    Made { path: path.to_owned(), slice, imports: Vec::new(), exports: Vec::new() }
}

/// An extension module.
pub(super) fn module(path: &str) -> Made {
    let name = path.rsplit('/').next().unwrap().split('.').next().unwrap();
    image(path, Kind::Bundle).exports(&[&format!("_PyInit_{name}")])
}

/// A library with an install name.
pub(super) fn dylib(path: &str, install_name: &str) -> Made {
    image(path, Kind::Dylib).but(|slice| slice.install_name = Some(install_name.to_owned()))
}

impl Made {
    pub(super) fn but(mut self, change: impl FnOnce(&mut Slice)) -> Self {
        change(&mut self.slice);
        self
    }

    pub(super) fn needs(self, library: &str) -> Self {
        let path = library.to_owned();
        let dependency = Dependency { path, weak: false, re_export: false, upward: false, delayed: false };
        self.but(|slice| slice.dependencies.push(dependency))
    }

    pub(super) fn rpath(self, rpath: &str) -> Self {
        self.but(|slice| slice.rpaths.push(rpath.to_owned()))
    }

    pub(super) fn imports(mut self, ordinal: i32, names: &[&str]) -> Self {
        self.imports.extend(names.iter().map(|name| (ordinal, (*name).to_owned())));
        self
    }

    pub(super) fn exports(mut self, names: &[&str]) -> Self {
        self.exports.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    pub(super) fn minos(self, major: u16, minor: u8) -> Self {
        self.but(|slice| slice.build.as_mut().unwrap().minos = Packed::new(major, minor, 0))
    }

    /// An image that cannot be loaded.
    pub(super) fn broken(self, why: Unloadable) -> Image {
        let architectures = match why {
            Unloadable::Architecture => vec![Architecture::X86_64],
            Unloadable::Malformed(_) => vec![Architecture::Arm64],
        };
        Image { path: self.path, architectures, slice: Err(why) }
    }
}

impl From<Made> for Image {
    fn from(made: Made) -> Self {
        let mut slice = made.slice;
        let import = |(ordinal, name): &'_ (i32, String)| ((*ordinal).into(), name.clone());
        let imports: Vec<_> = made.imports.iter().map(import).collect();
        let import = |(ordinal, name): &'_ (_, String)| (*ordinal, name.clone());
        let imports: Vec<_> = imports.iter().map(import).collect();
        let imports =
            imports.iter().map(|(ordinal, name)| Import { ordinal: *ordinal, name, weak: false, lazy: false });
        slice.imports = Imports::new(Table::Opcodes, imports);
        slice.exports = Exports::of_names(made.exports.iter().map(String::as_str));
        Self { path: made.path, architectures: vec![Architecture::Arm64], slice: Ok(slice) }
    }
}

/// A distribution in the making.
pub(super) struct Wheel {
    file: WheelName,
    facts: WheelFacts,
}

/// A wheel by its file name without the ending; `mlx-0.32.4-cp312-cp312-macosx_14_0_arm64`.
pub(super) fn wheel(stem: &str) -> Wheel {
    let file: WheelName = format!("{stem}.whl").parse().unwrap();
    let name = file.name.as_str().replace('-', "_");
    let packages = vec![Package { name, imports: BTreeSet::new() }];
    Wheel { file, facts: WheelFacts { packages, ..WheelFacts::default() } }
}

impl Wheel {
    pub(super) fn with(mut self, image: impl Into<Image>) -> Self {
        self.facts.images.push(image.into());
        self.facts.images.sort_by(|a, b| a.path.cmp(&b.path));
        self
    }

    pub(super) fn requires(mut self, name: &str) -> Self {
        self.facts.requires.insert(name.parse().unwrap());
        self
    }

    pub(super) fn plugs_into(mut self, hook: Hook) -> Self {
        self.facts.hooks.insert(hook);
        self
    }

    pub(super) fn metal(mut self, path: &str, major: u16, minor: u8) -> Self {
        let sdk = Packed::default();
        let target = Some(Build { platform: Platform::MacOs, minos: Packed::new(major, minor, 0), sdk });
        self.facts.metal.push(MetalLibrary { path: path.to_owned(), target });
        self
    }

    pub(super) fn foreign(mut self, path: &str, format: ForeignFormat) -> Self {
        self.facts.foreign.push(Foreign { path: path.to_owned(), format });
        self
    }
}

/// What is said of distributions, with Python 3.12 on macOS 14.0.
pub(super) fn judged(wheels: &[Wheel]) -> Vec<Finding> {
    judged_on(wheels, "14.0", &Knowledge::built_in())
}

pub(super) fn judged_on(wheels: &[Wheel], macos: &str, knowledge: &Arc<Knowledge>) -> Vec<Finding> {
    let python = PythonMinor { major: 3, minor: 12 };
    let names: Vec<(&PackageName, &Version)> = wheels.iter().map(|one| (&one.file.name, &one.file.version)).collect();
    let distributions: Vec<Distribution<'_>> =
        wheels.iter().zip(&names).map(|(one, (name, _))| Distribution { name, facts: &one.facts }).collect();
    let answer = simulate(&distributions, python);
    let installed: Vec<Installed<'_>> = wheels
        .iter()
        .zip(&names)
        .map(|(one, (name, version))| Installed { name, version, wheel: Some(&one.file), facts: &one.facts })
        .collect();
    let macos = macos.parse().unwrap();
    rules::judge(&Case { installed: &installed, answer: &answer, python, macos, knowledge })
}

/// Writes a finding as its severity, code and message, each further sentence in a line.
pub(super) fn told(finding: &Finding) -> String {
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
pub(super) fn check(wheels: &[Wheel], expected: &[&str]) {
    let told: Vec<String> = judged(wheels).iter().map(told).collect();
    assert_eq!(told.join("\n"), expected.join("\n"));
}
