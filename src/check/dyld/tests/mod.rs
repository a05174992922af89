//! Made-up images, one trap each.

mod libraries;
mod symbols;

use std::collections::BTreeSet;

use super::{Answer, Distribution, Grade, Judged, simulate};
use crate::check::facts::{
    Architecture, Build, Dependency, Exports, Hook, Image, Import, Imports, Kind, Markers, Ordinal, Package, Platform,
    Signature, Slice, Table, Unloadable, Version, WheelFacts,
};
use crate::pep::PackageName;
use crate::target::PythonMinor;

/// An image in the making.
#[derive(Clone)]
struct Made {
    path: String,
    slice: Slice,
    imports: Vec<(i32, String, bool, bool)>,
    exports: Vec<String>,
    table: Table,
}

fn made(path: &str, kind: Kind) -> Made {
    let build = Build { platform: Platform::MacOs, minos: Version::new(12, 0, 0), sdk: Version::new(15, 0, 0) };
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
    Made { path: path.to_owned(), slice, imports: Vec::new(), exports: Vec::new(), table: Table::Opcodes }
}

/// An extension module.
fn module(path: &str) -> Made {
    let name = path.rsplit('/').next().unwrap().split('.').next().unwrap();
    made(path, Kind::Bundle).exports(&[&format!("_PyInit_{name}")])
}

/// A library whose install name is `@rpath/` and its own.
fn dylib(path: &str) -> Made {
    let name = format!("@rpath/{}", path.rsplit('/').next().unwrap());
    made(path, Kind::Dylib).named(&name)
}

impl Made {
    fn named(mut self, install_name: &str) -> Self {
        self.slice.install_name = Some(install_name.to_owned());
        self
    }

    fn needs(self, library: &str) -> Self {
        self.depends(library, |_| {})
    }

    fn depends(mut self, library: &str, how: impl FnOnce(&mut Dependency)) -> Self {
        let mut dependency =
            Dependency { path: library.to_owned(), weak: false, re_export: false, upward: false, delayed: false };
        how(&mut dependency);
        self.slice.dependencies.push(dependency);
        self
    }

    fn rpath(mut self, rpath: &str) -> Self {
        self.slice.rpaths.push(rpath.to_owned());
        self
    }

    fn sdk(mut self, major: u16) -> Self {
        self.slice.build.as_mut().unwrap().sdk = Version::new(major, 0, 0);
        self
    }

    fn imports(mut self, ordinal: i32, name: &str) -> Self {
        self.imports.push((ordinal, name.to_owned(), false, false));
        self
    }

    fn imports_weakly(mut self, ordinal: i32, name: &str) -> Self {
        self.imports.push((ordinal, name.to_owned(), true, false));
        self
    }

    fn imports_lazily(mut self, ordinal: i32, name: &str) -> Self {
        self.imports.push((ordinal, name.to_owned(), false, true));
        self
    }

    fn exports(mut self, names: &[&str]) -> Self {
        self.exports.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    fn chained(mut self) -> Self {
        self.table = Table::Chained;
        self
    }

    fn but(mut self, change: impl FnOnce(&mut Slice)) -> Self {
        change(&mut self.slice);
        self
    }

    fn image(&self) -> Image {
        let mut slice = self.slice.clone();
        let import = |(ordinal, name, weak, lazy): &'_ (i32, String, bool, bool)| -> (Ordinal, String, bool, bool) {
            ((*ordinal).into(), name.clone(), *weak, *lazy)
        };
        let imports: Vec<_> = self.imports.iter().map(import).collect();
        let imports = imports.iter().map(|(ordinal, name, weak, lazy)| Import {
            ordinal: *ordinal,
            name,
            weak: *weak,
            lazy: *lazy,
        });
        slice.imports = Imports::new(self.table, imports);
        if slice.exports.is_empty() {
            slice.exports = Exports::of_names(self.exports.iter().map(String::as_str));
        }
        Image { path: self.path.clone(), architectures: vec![Architecture::Arm64], slice: Ok(slice) }
    }

    /// The same for another processor.
    fn intel(&self) -> Image {
        Image {
            path: self.path.clone(),
            architectures: vec![Architecture::X86_64],
            slice: Err(Unloadable::Architecture),
        }
    }
}

/// Distributions in the making.
#[derive(Default)]
struct World(Vec<(PackageName, WheelFacts)>);

fn world() -> World {
    World::default()
}

impl World {
    fn with(mut self, name: &str, images: impl IntoIterator<Item = Image>) -> Self {
        let mut facts = WheelFacts { images: images.into_iter().collect(), ..WheelFacts::default() };
        facts.images.sort_by(|a, b| a.path.cmp(&b.path));
        facts.packages = vec![Package { name: name.to_owned(), imports: BTreeSet::new() }];
        self.0.push((name.parse().unwrap(), facts));
        self
    }

    /// Changes the distribution that was added last.
    fn but(mut self, change: impl FnOnce(&mut WheelFacts)) -> Self {
        change(&mut self.0.last_mut().unwrap().1);
        self
    }

    fn requires(self, name: &str) -> Self {
        self.but(|facts| {
            facts.requires.insert(name.parse().unwrap());
        })
    }

    fn imports(self, name: &str) -> Self {
        self.but(|facts| {
            facts.packages[0].imports.insert(name.to_owned());
        })
    }

    fn plugs_into(self, hook: Hook) -> Self {
        self.but(|facts| {
            facts.hooks.insert(hook);
        })
    }

    #[track_caller]
    fn check(&self, expected: &[&str]) {
        self.check_with(11, expected);
    }

    /// Holds everything that is wrong, in dyld's words and by grade, to what is expected.
    #[track_caller]
    fn check_with(&self, minor: u16, expected: &[&str]) {
        let told = |answer: &Answer<'_>| -> Vec<String> {
            let grade = |grade: Grade| format!("{grade:?}").to_lowercase();
            let sentence = |sentence: String| sentence.replace("\n  ", " | ").replace(":     ", ": ");
            answer.troubles().map(|(_, one)| format!("{}: {}", grade(one.grade), sentence(one.sentence()))).collect()
        };
        self.simulated(minor, |answer| assert_eq!(told(answer), expected));
    }

    /// Hands on what is said of an image.
    fn judged(&self, path: &str, look: impl FnOnce(&Judged<'_>)) {
        self.simulated(11, |answer| look(answer.images.iter().find(|judged| judged.image.path == path).unwrap()));
    }

    fn simulated(&self, minor: u16, look: impl FnOnce(&Answer<'_>)) {
        let distributions: Vec<Distribution<'_>> =
            self.0.iter().map(|(name, facts)| Distribution { name, facts }).collect();
        look(&simulate(&distributions, PythonMinor { major: 3, minor }));
    }
}
