//! Names of Apple chips.

use std::fmt;
use std::str::FromStr;

/// An M-series chip: its generation, and its size as written.
///
/// Chips are ordered by generation alone: `-pro`, `-max` and `-ultra` never change the order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Chip {
    generation: u8,
    size: Option<&'static str>,
}

/// Why a text is no chip.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a chip: `m1` to `m5`, optionally with `-pro`, `-max` or `-ultra`")]
pub struct ChipError(String);

impl Chip {
    /// The newest generation known here.
    pub const NEWEST_GENERATION: u8 = 5;

    /// Returns the generation, 1 for M1.
    pub fn generation(&self) -> u8 {
        self.generation
    }
}

impl FromStr for Chip {
    type Err = ChipError;

    fn from_str(text: &str) -> Result<Self, ChipError> {
        let bad = || ChipError(text.to_owned());
        let (family, size) = text.split_once('-').map_or((text, None), |(f, s)| (f, Some(s)));
        let size = match size {
            None => None,
            Some(size) => Some(["pro", "max", "ultra"].into_iter().find(|known| *known == size).ok_or_else(bad)?),
        };
        let digits = family.strip_prefix('m').ok_or_else(bad)?;
        let generation: u8 = digits.parse().map_err(|_| bad())?;
        if generation == 0 || digits.starts_with('0') || digits.starts_with('+') {
            return Err(bad());
        }
        Ok(Self { generation, size })
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m{}", self.generation)?;
        self.size.map_or(Ok(()), |size| write!(f, "-{size}"))
    }
}
