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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<u8>) {
        let chip = text.parse::<Chip>();
        assert_eq!(chip.as_ref().ok().map(Chip::generation), expected, "{text}");
        if let Ok(chip) = chip {
            assert_eq!(chip.to_string(), text);
        }
    }

    #[test]
    fn names() {
        check("m1", Some(1));
        check("m5", Some(5));
        check("m3-pro", Some(3));
        check("m2-ultra", Some(2));
        check("m12-max", Some(12));
        for text in
            ["", "m", "m0", "m01", "m+1", "M1", "1", "m1-", "m1-mini", "m1-pro-max", "m256", "m1 ", "intel", "m-1"]
        {
            check(text, None);
        }
    }

    #[test]
    fn the_error_lists_what_is_known() {
        let error = "m1-mini".parse::<Chip>().unwrap_err().to_string();
        assert_eq!(error, "`m1-mini` is not a chip: `m1` to `m5`, optionally with `-pro`, `-max` or `-ultra`");
    }
}
