//! `Universe`: what indexes have, small enough to be read, for the solver's tests and for the fake index.
//!
//! It knows names of files and what their METADATA says; it does not know how files are made or served.

use std::collections::BTreeMap;
use std::sync::Arc;

use macml::index::source::File;
use macml::index::source::InMemorySource;
use macml::index::source::MetadataAnswer;
use macml::index::source::Page;
use macml::index::source::Release;
use macml::pep::Metadata;
use macml::pep::PackageName;
use macml::pep::Sha256;
use macml::pep::Version;
use serde::Deserialize;
use serde::Serialize;

/// Packages by the name of their index; in a scenario `[index.pypi.torch]`. What stands under `direct` is on no index:
/// wheels by path or address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Universe {
    pub(crate) indexes: BTreeMap<String, Packages>,
}

/// Releases by version, by the package's name.
pub(crate) type Packages = BTreeMap<String, BTreeMap<String, Rel>>;

/// One release; what is left out is as most releases have it: one wheel for everybody, no requirements.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(crate) struct Rel {
    /// For each wheel what follows the version in its name: `py3-none-any`, `2-cp313-none-macosx_11_0_arm64`.
    pub(crate) wheels: Vec<String>,
    /// Whether there is a source archive.
    pub(crate) sdist: bool,
    /// `Requires-Dist`.
    pub(crate) requires: Vec<String>,
    /// `Requires-Python`, on the page too.
    pub(crate) requires_python: Option<String>,
    /// `Provides-Extra`.
    pub(crate) extras: Vec<String>,
    /// Why it was withdrawn.
    pub(crate) yanked: Option<String>,
    /// UTC day of the upload.
    pub(crate) day: Option<String>,
    /// The page says neither size nor sha256 of its wheels.
    pub(crate) bare: bool,
    /// What single wheels, named as in `wheels`, say instead of the above.
    pub(crate) differing: BTreeMap<String, Differing>,
}

/// What one wheel says otherwise than its siblings.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(crate) struct Differing {
    /// Its `Requires-Dist`.
    pub(crate) requires: Option<Vec<String>>,
    /// Its `Requires-Python`.
    pub(crate) requires_python: Option<String>,
    /// Its METADATA as a whole.
    pub(crate) metadata: Option<String>,
}

impl Default for Rel {
    fn default() -> Self {
        Self {
            wheels: vec!["py3-none-any".to_owned()],
            sdist: false,
            requires: Vec::new(),
            requires_python: None,
            extras: Vec::new(),
            yanked: None,
            day: None,
            bare: false,
            differing: BTreeMap::new(),
        }
    }
}

impl Rel {
    /// Returns the name of one of its files.
    pub(crate) fn filename(name: &str, version: &str, wheel: &str) -> String {
        format!("{}-{version}-{wheel}.whl", name.replace(['-', '.'], "_"))
    }

    /// Returns the `Requires-Python` of one of its wheels.
    pub(crate) fn python_of(&self, wheel: &str) -> Option<&str> {
        let own = self.differing.get(wheel).and_then(|differing| differing.requires_python.as_deref());
        own.or(self.requires_python.as_deref())
    }

    /// Returns the METADATA of one of its wheels.
    pub(crate) fn metadata(&self, name: &str, version: &str, wheel: &str) -> String {
        let differing = self.differing.get(wheel);
        if let Some(text) = differing.and_then(|differing| differing.metadata.clone()) {
            return text;
        }
        let requires = differing.and_then(|differing| differing.requires.as_ref()).unwrap_or(&self.requires);
        let python = self.python_of(wheel).map(|python| format!("Requires-Python: {python}\n"));
        let extras = self.extras.iter().map(|extra| format!("Provides-Extra: {extra}\n"));
        let requires = requires.iter().map(|one| format!("Requires-Dist: {one}\n"));
        let head = format!("Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n");
        std::iter::once(head).chain(python).chain(extras).chain(requires).collect()
    }

    fn release(&self, name: &str, version: &str) -> Release {
        let file = |wheel: &String| {
            let filename = Self::filename(name, version, wheel);
            Arc::new(File {
                wheel: filename.parse().unwrap_or_else(|error| panic!("{error}")),
                url: format!("https://files.example/{filename}").into(),
                sha256: (!self.bare).then(|| Sha256::of(filename.as_bytes())),
                size: (!self.bare).then_some(1000 + filename.len() as u64),
                requires_python: self.python_of(wheel).map(|text| text.parse().unwrap_or_else(|e| panic!("{e}"))),
                upload_day: self.day.as_deref().map(Arc::from),
                yanked: self.yanked.as_deref().map(Arc::from),
                metadata_file: Some(None),
                filename: filename.into(),
            })
        };
        Release { wheels: self.wheels.iter().map(file).collect(), source_archive: self.sdist }
    }
}

impl Universe {
    /// Makes a universe of one index, `pypi`.
    pub(crate) fn of_pypi(packages: Packages) -> Self {
        Self { indexes: BTreeMap::from([("pypi".to_owned(), packages)]) }
    }

    /// Returns the wheels by path or address.
    pub(crate) fn direct(&self) -> BTreeMap<PackageName, Arc<File>> {
        let packages = self.indexes.get("direct").into_iter().flatten();
        let releases =
            packages.flat_map(|(name, releases)| releases.iter().map(move |(version, rel)| (name, version, rel)));
        let file = |(name, version, rel): (&String, &String, &Rel)| {
            (name.parse().unwrap(), rel.release(name, version).wheels[0].clone())
        };
        releases.map(file).collect()
    }

    /// Lays its indexes into memory.
    pub(crate) fn source(&self) -> InMemorySource {
        let mut source = InMemorySource::default();
        for (index, packages) in &self.indexes {
            for (name, releases) in packages {
                let page = releases.iter().map(|(version, rel)| {
                    let parsed: Version = version.parse().unwrap_or_else(|error| panic!("`{version}`: {error}"));
                    for wheel in &rel.wheels {
                        let answer = match Metadata::parse(rel.metadata(name, version, wheel).as_bytes()) {
                            Ok(metadata) => MetadataAnswer::Found(Arc::new(metadata)),
                            Err(error) => MetadataAnswer::Unusable(error.to_string().into()),
                        };
                        source.metadata.insert(Rel::filename(name, version, wheel).into(), answer);
                    }
                    (parsed, rel.release(name, version))
                });
                let page = Arc::new(Page::new(page.collect()));
                let key = (Arc::from(index.as_str()), name.parse().unwrap_or_else(|error| panic!("{error}")));
                source.pages.insert(key, page);
            }
        }
        source
    }
}
