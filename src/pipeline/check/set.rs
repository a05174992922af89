//! `Set`: the releases of one environment for one Mac, whoever locked or installed them. Plain data.

use std::collections::BTreeSet;

use crate::host::Chip;
use crate::index::download::Place;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::target::Gpu;
use crate::target::MacosVersion;
use crate::target::PythonMinor;

use super::part::Of;

/// The releases of one environment for one Mac.
#[derive(Clone, PartialEq, Debug)]
pub struct Set {
    /// Of which environment, and for which Mac.
    pub of: Of,
    /// Its releases, by name.
    pub releases: Vec<Release>,
    /// Releases of which it could not be found out what is installed.
    pub unknown: BTreeSet<PackageName>,
    /// Names of knowledge that the project switched off.
    pub ignored: Vec<String>,
    /// The knowledge that it was solved with, a date; `None` where none had a part in it.
    pub solved_with: Option<String>,
}

/// A release of a set.
#[derive(Clone, PartialEq, Debug)]
pub struct Release {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// The wheel that this Mac takes; `None` where that is not known, or it is none.
    pub file: Option<File>,
}

/// A wheel that is to be had somewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// Its name.
    pub wheel: WheelName,
    /// Its digest.
    pub sha256: Sha256,
    /// Its size in bytes, where it is known.
    pub size: Option<u64>,
    /// Where it is found.
    pub place: Place,
}

/// A Mac that is asked about: `m5,27.0`.
#[derive(Clone, PartialEq, Debug)]
pub struct Mac {
    /// Its chip.
    pub chip: Chip,
    /// Its macOS.
    pub macos: MacosVersion,
}

/// What is declared for a project that has no macml.toml.
#[derive(Clone, PartialEq, Debug)]
pub struct Declared {
    /// The lowest Mac; `None` where nobody said.
    pub macos: Option<MacosVersion>,
    /// Its chip.
    pub chip: Chip,
    /// Whether its GPU must be usable.
    pub gpu: Gpu,
    /// The Python; `None` where nobody said.
    pub python: Option<PythonMinor>,
}

/// A text that is no Mac.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a chip and a macOS with a comma between them, such as `m5,27.0`")]
pub struct NotAMac(String);

impl std::str::FromStr for Mac {
    type Err = NotAMac;

    fn from_str(text: &str) -> Result<Self, NotAMac> {
        let not = || NotAMac(text.to_owned());
        let (chip, macos) = text.split_once(',').ok_or_else(not)?;
        let chip = chip.trim().parse().map_err(|_| not())?;
        Ok(Self { chip, macos: macos.trim().parse().map_err(|_| not())? })
    }
}

impl std::fmt::Display for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{}", self.chip, self.macos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macs_as_typed() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(text.parse::<Mac>().ok().map(|mac| mac.to_string()).as_deref(), expected, "{text}");
        };
        check("m5,27.0", Some("m5,27.0"));
        check("m4-max, 15.2", Some("m4-max,15.2"));
        check("m5", None);
        check("27.0,m5", None);
        check("intel,14.0", None);
    }
}
