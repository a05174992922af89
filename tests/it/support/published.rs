//! Made-up packages that the fake index publishes as real wheels.

use std::collections::BTreeMap;

/// Releases by package and version.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Published {
    pub(crate) packages: BTreeMap<String, BTreeMap<String, Rel>>,
}

/// One release.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub(crate) struct Rel {
    /// `Requires-Dist`, without those of extras.
    pub(crate) requires: Vec<String>,
    pub(crate) requires_python: Option<String>,
    /// What each extra requires.
    pub(crate) extras: BTreeMap<String, Vec<String>>,
    /// Python, ABI and platform tags, one entry for each wheel; `1-py3-none-any` has a build number.
    pub(crate) wheel_tags: Vec<String>,
    pub(crate) sdist: bool,
    pub(crate) yanked: Option<String>,
    pub(crate) upload_time: String,
    /// Bytes of incompressible filling in each wheel, to make it large.
    pub(crate) filling: usize,
    /// More files of each wheel, by path, where `{info}` and `{data}` stand for its folders of these kinds.
    pub(crate) files: BTreeMap<String, String>,
}

impl Default for Rel {
    fn default() -> Self {
        Self {
            requires: Vec::new(),
            requires_python: None,
            extras: BTreeMap::new(),
            wheel_tags: vec!["py3-none-any".to_owned()],
            sdist: false,
            yanked: None,
            upload_time: "2024-03-01T12:00:00.000000Z".to_owned(),
            filling: 0,
            files: BTreeMap::new(),
        }
    }
}

impl Published {
    /// Adds a release that requires `requires` and has one wheel for every machine.
    pub(crate) fn with(self, name: &str, version: &str, requires: &[&str]) -> Self {
        let requires = requires.iter().map(|one| (*one).to_owned()).collect();
        self.with_release(name, version, Rel { requires, ..Rel::default() })
    }

    /// Adds a release.
    pub(crate) fn with_release(mut self, name: &str, version: &str, release: Rel) -> Self {
        self.packages.entry(name.to_owned()).or_default().insert(version.to_owned(), release);
        self
    }
}
