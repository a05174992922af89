//! Facts of wheels as they are kept for tests: whole but for names. A wheel that others are held against keeps, of the
//! names that any other wheel here imports, those that it exports; what it imports itself is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use macml::check::facts::{
    Architecture, Build, Dependency, Export, Exports, Hook, Image, Import, Imports, Kind, Markers, Package, ReExport,
    Signature, Slice, Table, Unloadable, WheelFacts,
};
use macml::pep::PackageName;
use serde::{Deserialize, Serialize};

/// Facts of several wheels.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Every name that one of them imports from outside the system, sorted.
    names: Vec<String>,
    /// By file name.
    wheels: BTreeMap<String, Wheel>,
}

#[derive(Serialize, Deserialize)]
struct Wheel {
    requires: BTreeSet<PackageName>,
    packages: Vec<Package>,
    hooks: BTreeSet<Hook>,
    images: Vec<Kept>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    path: String,
    architectures: Vec<Architecture>,
    slice: Result<KeptSlice, Unloadable>,
}

#[derive(Serialize, Deserialize)]
struct KeptSlice {
    kind: Kind,
    two_level: bool,
    install_name: Option<String>,
    dependencies: Vec<Dependency>,
    rpaths: Vec<String>,
    build: Option<Build>,
    table: Table,
    /// By ordinal and whether they are bound lazily: places in the list of names.
    imports: Vec<(i32, bool, Vec<usize>)>,
    /// Places in the list of names.
    exports: Vec<usize>,
    re_exports: Vec<(usize, ReExport)>,
    signature: Signature,
    markers: Markers,
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/dyld/wheels.json.gz")
}

/// Whether a path is one of the system's, of which every name is taken to be there.
pub(super) fn is_system(path: &str) -> bool {
    path.starts_with("/usr/lib/") || path.starts_with("/System/")
}

/// Returns the names that an image imports from outside the system, and cannot do without.
fn imports(slice: &Slice) -> impl Iterator<Item = Import<'_>> {
    slice.imports.iter().filter(|import| {
        let ordinal = i32::from(import.ordinal);
        let library = usize::try_from(ordinal - 1).ok().and_then(|place| slice.dependencies.get(place));
        !import.weak && !library.is_some_and(|library| is_system(&library.path))
    })
}

/// Names that wheels import.
#[derive(Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Adds those of a wheel.
    pub(super) fn add(&mut self, facts: &WheelFacts) {
        let slices = facts.images.iter().filter_map(|image| image.slice.as_ref().ok());
        self.0.extend(slices.flat_map(imports).map(|import| import.name.to_owned()));
    }
}

impl Record {
    pub(super) fn new(names: Names) -> Self {
        Self { names: names.0.into_iter().collect(), wheels: BTreeMap::new() }
    }

    /// Keeps a wheel; `with_imports` where it is held against others.
    pub(super) fn add(&mut self, file: &str, facts: &WheelFacts, with_imports: bool) {
        let place = |name: &str| self.names.binary_search_by(|one| one.as_str().cmp(name)).unwrap();
        let images = facts.images.iter().map(|image| Kept {
            path: image.path.clone(),
            architectures: image.architectures.clone(),
            slice: image.slice.as_ref().map_err(Clone::clone).map(|slice| {
                let mut by_place: BTreeMap<(i32, bool), Vec<usize>> = BTreeMap::new();
                for import in imports(slice).filter(|_| with_imports) {
                    by_place.entry((import.ordinal.into(), import.lazy)).or_default().push(place(import.name));
                }
                let found = |(place, name): (usize, &String)| Some((place, slice.exports.find(name)?));
                let found: Vec<_> = self.names.iter().enumerate().filter_map(found).collect();
                let other = |(place, export): &(usize, Export<'_>)| match export {
                    Export::Own => None,
                    Export::ReExport { ordinal, name } => {
                        Some((*place, ReExport { ordinal: *ordinal, name: (*name).to_owned() }))
                    }
                };
                let own = |(place, export): &(usize, Export<'_>)| matches!(export, Export::Own).then_some(*place);
                KeptSlice {
                    kind: slice.kind,
                    two_level: slice.two_level,
                    install_name: slice.install_name.clone(),
                    dependencies: slice.dependencies.clone(),
                    rpaths: slice.rpaths.clone(),
                    build: slice.build,
                    table: slice.imports.table(),
                    imports: by_place.into_iter().map(|((ordinal, lazy), names)| (ordinal, lazy, names)).collect(),
                    exports: found.iter().filter_map(own).collect(),
                    re_exports: found.iter().filter_map(other).collect(),
                    signature: slice.signature.clone(),
                    markers: slice.markers.clone(),
                }
            }),
        });
        let wheel = Wheel {
            requires: facts.requires.clone(),
            packages: facts.packages.clone(),
            hooks: facts.hooks.clone(),
            images: images.collect(),
        };
        self.wheels.insert(file.to_owned(), wheel);
    }

    /// Returns the facts of every wheel.
    pub(crate) fn facts(&self) -> BTreeMap<String, WheelFacts> {
        let image = |kept: &Kept| Image {
            path: kept.path.clone(),
            architectures: kept.architectures.clone(),
            slice: kept.slice.as_ref().map_err(Clone::clone).map(|slice| self.slice(slice)),
        };
        let facts = |wheel: &Wheel| WheelFacts {
            images: wheel.images.iter().map(image).collect(),
            requires: wheel.requires.clone(),
            packages: wheel.packages.clone(),
            hooks: wheel.hooks.clone(),
            ..WheelFacts::default()
        };
        self.wheels.iter().map(|(file, wheel)| (file.clone(), facts(wheel))).collect()
    }

    fn slice(&self, kept: &KeptSlice) -> Slice {
        let import = |(ordinal, lazy, places): &(i32, bool, Vec<usize>)| {
            let (ordinal, lazy) = ((*ordinal).into(), *lazy);
            let import = |place: &usize| Import { ordinal, name: &self.names[*place], weak: false, lazy };
            places.iter().map(import).collect::<Vec<_>>()
        };
        let own = kept.exports.iter().map(|place| (self.names[*place].clone(), None));
        let others = kept.re_exports.iter().map(|(place, other)| (self.names[*place].clone(), Some(other.clone())));
        Slice {
            kind: kept.kind,
            two_level: kept.two_level,
            install_name: kept.install_name.clone(),
            dependencies: kept.dependencies.clone(),
            rpaths: kept.rpaths.clone(),
            build: kept.build,
            imports: Imports::new(kept.table, kept.imports.iter().flat_map(import)),
            exports: Exports::Names(own.chain(others).collect()),
            signature: kept.signature.clone(),
            markers: kept.markers.clone(),
        }
    }

    /// Returns the names that it is about.
    pub(super) fn names(&self) -> Names {
        Names(self.names.iter().cloned().collect())
    }

    /// Reads what is kept.
    pub(crate) fn read() -> Self {
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(path()).unwrap()).read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Writes it for good.
    pub(super) fn write(&self) {
        let mut out = GzEncoder::new(std::fs::File::create(path()).unwrap(), Compression::best());
        out.write_all(&serde_json::to_vec(self).unwrap()).unwrap();
        out.finish().unwrap();
    }
}
