//! What people ask for: `requests.toml` as types.

use std::fmt::Write as _;

use macml::pep::{PackageName, Specifiers};
use macml::target::{MacosVersion, PythonMinor};
use serde::{Deserialize, Deserializer};

/// One request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// Names it.
    pub(crate) id: String,
    /// The lowest macOS that must work.
    #[serde(deserialize_with = "parsed")]
    pub(crate) macos: MacosVersion,
    /// The Pythons that may be used.
    #[serde(deserialize_with = "parsed")]
    pub(crate) python: Specifiers,
    /// Whether it is about the GPU.
    pub(crate) gpu: bool,
    /// What is asked for, as in a requirements file.
    pub(crate) lines: Vec<String>,
    /// Packages worth showing besides.
    #[serde(default)]
    show: Vec<PackageName>,
    /// What it is here for.
    pub(crate) why: String,
}

/// Reads what is parsed from a text.
pub(crate) fn parsed<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: std::fmt::Display>>(
    from: D,
) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// Reads every request.
pub(crate) fn all() -> Vec<Request> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        request: Vec<Request>,
    }
    let file: File = toml::from_str(include_str!("requests.toml")).expect("requests.toml can be read");
    file.request
}

impl Request {
    /// Returns the packages that are asked for, and those worth showing besides.
    pub(crate) fn shown(&self) -> impl Iterator<Item = PackageName> {
        let roots = self.lines.iter().map(|line| split(line).0.parse().expect("a line begins with a name"));
        roots.chain(self.show.iter().cloned())
    }

    /// Returns the Pythons of the range with their newest patch, newest first.
    pub(crate) fn pythons(&self) -> Vec<String> {
        let fits = |(minor, newest): &(PythonMinor, u16)| {
            let full = format!("{minor}.{newest}");
            self.python.contains(&full.parse().expect("a patch release is a version")).then_some(full)
        };
        PythonMinor::RELEASED.iter().rev().filter_map(fits).collect()
    }

    /// Writes the macml.toml that asks the same.
    pub(crate) fn manifest(&self) -> String {
        let gpu = if self.gpu { "required" } else { "optional" };
        let mut text = format!(
            "[target]\nchip = \"m1\"\nmacos = \"{}\"\ngpu = \"{gpu}\"\npython = \"{}\"\n\n[dependencies]\n",
            self.macos, self.python
        );
        for line in &self.lines {
            let (name, versions) = split(line);
            let versions = if versions.is_empty() { "*" } else { versions };
            writeln!(text, "{name} = \"{versions}\"").unwrap();
        }
        text
    }
}

/// Splits a line into name and versions.
fn split(line: &str) -> (&str, &str) {
    line.split_at(line.find(|letter: char| "=<>!~".contains(letter)).unwrap_or(line.len()))
}
