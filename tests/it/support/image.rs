//! Images in the making, as facts: what a Mach-O would say, without its bytes.

use macml::check::facts::{
    Architecture, Build, Dependency, Exports, Image, Import, Imports, Kind, Markers, Platform, Signature, Slice, Table,
    Unloadable, Version,
};

/// An image in the making.
#[derive(Clone)]
pub(crate) struct Made {
    path: String,
    slice: Slice,
    imports: Vec<(i32, String, bool, bool)>,
    exports: Vec<String>,
    table: Table,
}

pub(crate) fn made(path: &str, kind: Kind) -> Made {
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
pub(crate) fn module(path: &str) -> Made {
    let name = path.rsplit('/').next().unwrap().split('.').next().unwrap();
    made(path, Kind::Bundle).exports(&[&format!("_PyInit_{name}")])
}

/// A library whose install name is `@rpath/` and its own.
pub(crate) fn dylib(path: &str) -> Made {
    let name = format!("@rpath/{}", path.rsplit('/').next().unwrap());
    made(path, Kind::Dylib).named(&name)
}

impl Made {
    pub(crate) fn named(mut self, install_name: &str) -> Self {
        self.slice.install_name = Some(install_name.to_owned());
        self
    }

    pub(crate) fn needs(self, library: &str) -> Self {
        self.depends(library, |_| {})
    }

    pub(crate) fn depends(mut self, library: &str, how: impl FnOnce(&mut Dependency)) -> Self {
        let mut dependency =
            Dependency { path: library.to_owned(), weak: false, re_export: false, upward: false, delayed: false };
        how(&mut dependency);
        self.slice.dependencies.push(dependency);
        self
    }

    pub(crate) fn rpath(mut self, rpath: &str) -> Self {
        self.slice.rpaths.push(rpath.to_owned());
        self
    }

    pub(crate) fn minos(mut self, major: u16, minor: u8) -> Self {
        self.slice.build.as_mut().unwrap().minos = Version::new(major, minor, 0);
        self
    }

    pub(crate) fn sdk(mut self, major: u16) -> Self {
        self.slice.build.as_mut().unwrap().sdk = Version::new(major, 0, 0);
        self
    }

    pub(crate) fn imports(mut self, ordinal: i32, names: &[&str]) -> Self {
        self.imports.extend(names.iter().map(|name| (ordinal, (*name).to_owned(), false, false)));
        self
    }

    pub(crate) fn imports_weakly(mut self, ordinal: i32, name: &str) -> Self {
        self.imports.push((ordinal, name.to_owned(), true, false));
        self
    }

    pub(crate) fn imports_lazily(mut self, ordinal: i32, name: &str) -> Self {
        self.imports.push((ordinal, name.to_owned(), false, true));
        self
    }

    pub(crate) fn exports(mut self, names: &[&str]) -> Self {
        self.exports.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    pub(crate) fn chained(mut self) -> Self {
        self.table = Table::Chained;
        self
    }

    pub(crate) fn but(mut self, change: impl FnOnce(&mut Slice)) -> Self {
        change(&mut self.slice);
        self
    }

    pub(crate) fn image(&self) -> Image {
        let mut slice = self.slice.clone();
        let imports = self.imports.iter().map(|(ordinal, name, weak, lazy)| Import {
            ordinal: (*ordinal).into(),
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

    /// The same as one that cannot be loaded.
    pub(crate) fn broken(&self, why: Unloadable) -> Image {
        let architectures = match why {
            Unloadable::Architecture => vec![Architecture::X86_64],
            Unloadable::Malformed(_) => vec![Architecture::Arm64],
        };
        Image { path: self.path.clone(), architectures, slice: Err(why) }
    }
}

impl From<Made> for Image {
    fn from(made: Made) -> Self {
        made.image()
    }
}
