//! Wheel file names (binary distribution format).

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
    tags: String,
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
}

impl FromStr for WheelName {
    type Err = WheelNameError;

    fn from_str(text: &str) -> Result<Self, WheelNameError> {
        let _ = text;
        unimplemented!("pep helper")
    }
}

impl fmt::Display for WheelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = f;
        unimplemented!("pep helper: the file name it was parsed from, byte for byte")
    }
}
