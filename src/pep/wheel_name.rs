//! Wheel file names (binary distribution format).
//!
//! <https://packaging.python.org/en/latest/specifications/binary-distribution-format/>

use std::fmt;
use std::str::FromStr;

use super::name::PackageName;
use super::version::Version;

/// The parts of a wheel's file name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WheelName {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// The build tag: its leading number, then the rest. A higher one wins.
    pub build: Option<(u64, String)>,
    /// The last three parts, in lower case.
    tags: String,
    /// The whole name, as written.
    file: String,
}

/// Why a text is no wheel file name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a wheel file name: {reason}")]
pub struct WheelNameError {
    text: String,
    reason: String,
}

impl WheelName {
    /// Returns the python tags, `cp313` or `py2`, `py3`.
    pub fn python_tags(&self) -> impl Iterator<Item = &str> {
        self.part(0)
    }

    /// Returns the ABI tags, `cp313`, `abi3` or `none`.
    pub fn abi_tags(&self) -> impl Iterator<Item = &str> {
        self.part(1)
    }

    /// Returns the platform tags, `macosx_14_0_arm64` or `any`.
    pub fn platform_tags(&self) -> impl Iterator<Item = &str> {
        self.part(2)
    }

    fn part(&self, index: usize) -> impl Iterator<Item = &str> {
        self.tags.split('-').nth(index).unwrap_or_default().split('.')
    }

    fn read(text: &str) -> Result<Self, String> {
        // It becomes the name of a file on disk and is shown to people.
        let stray = |c: &char| !c.is_ascii_graphic() || matches!(c, '/' | '\\');
        if let Some(stray) = text.chars().find(stray) {
            return Err(format!("it holds {stray:?}"));
        }
        let stem = text.strip_suffix(".whl").ok_or("it does not end in `.whl`")?;
        let parts: Vec<&str> = stem.split('-').collect();
        let (name, version, build, tags) = match parts[..] {
            [name, version, python, abi, platform] => (name, version, None, [python, abi, platform]),
            [name, version, build, python, abi, platform] => (name, version, Some(build), [python, abi, platform]),
            _ => return Err("it does not have five or six parts joined by `-`".to_owned()),
        };
        if name.contains("__") {
            return Err(format!("the name `{name}` holds `__`"));
        }
        let identifier = |tag: &str| {
            let word = tag.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            word && !tag.starts_with(|c: char| c.is_ascii_digit())
        };
        if tags.iter().flat_map(|tags| tags.split('.')).any(str::is_empty) {
            return Err("a tag is empty".to_owned());
        }
        if let Some(tag) = tags[0].split('.').find(|tag| !identifier(tag)) {
            return Err(format!("`{tag}` is no python tag"));
        }
        Ok(Self {
            name: name.parse().map_err(|cause| format!("{cause}"))?,
            version: version.parse().map_err(|_| format!("`{version}` is no version"))?,
            build: build.map(build_tag).transpose()?,
            tags: tags.join("-").to_ascii_lowercase(),
            file: text.to_owned(),
        })
    }
}

fn build_tag(text: &str) -> Result<(u64, String), String> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    if number.is_empty() {
        return Err(format!("the build tag `{text}` does not begin with a digit"));
    }
    let number = number.parse().map_err(|_| format!("the build tag `{text}` is too large"))?;
    Ok((number, rest.to_owned()))
}

impl FromStr for WheelName {
    type Err = WheelNameError;

    fn from_str(text: &str) -> Result<Self, WheelNameError> {
        Self::read(text).map_err(|reason| WheelNameError { text: text.to_owned(), reason })
    }
}

impl fmt::Display for WheelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)
    }
}
