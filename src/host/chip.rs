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

/// What a processor's name says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Processor {
    /// An M-series chip.
    Chip(Chip),
    /// One of Apple's, of which the name says no more: in some virtual machines, under Rosetta on macOS 11, an A-series.
    Unnamed,
    /// Somebody else's, as in Macs before Apple Silicon.
    Foreign,
}

impl Processor {
    /// Reads `machdep.cpu.brand_string`. A size that is not known here is left out: it never matters.
    pub fn named(name: &str) -> Self {
        let mut words = name.split_ascii_whitespace();
        let (maker, family) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match maker {
            "Apple" => {
                let family = family.to_ascii_lowercase();
                let size = words.next().unwrap_or_default().to_ascii_lowercase();
                let chip = format!("{family}-{size}").parse().or_else(|_| family.parse());
                chip.map_or(Self::Unnamed, Self::Chip)
            }
            "VirtualApple" => Self::Unnamed,
            _ => Self::Foreign,
        }
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

    /// Recorded: M1, M3 Max, M5 and i7-6700K in <https://github.com/archspec/archspec-json>, `Apple processor` in
    /// <https://github.com/archspec/archspec/pull/46>, the virtual M1 in
    /// <https://github.com/yorickdowne/get-macos-runner-hardware/pull/1>. The others are made.
    #[test]
    fn names_of_processors() {
        let check = |name: &str, expected: &str| {
            let said = match Processor::named(name) {
                Processor::Chip(chip) => chip.to_string(),
                Processor::Unnamed => "unnamed".to_owned(),
                Processor::Foreign => "foreign".to_owned(),
            };
            assert_eq!(said, expected, "{name}");
        };
        check("Apple M1", "m1");
        check("Apple M3 Max", "m3-max");
        check("Apple M2 Ultra", "m2-ultra");
        check("Apple M5 Pro", "m5-pro");
        check("Apple M1 (Virtual)", "m1");
        check("Apple M7 Extreme", "m7");
        check("Apple processor", "unnamed");
        check("Apple A12Z Bionic", "unnamed");
        check("Apple A18 Pro", "unnamed");
        check("Apple", "unnamed");
        check("VirtualApple @ 2.50GHz processor", "unnamed");
        check("Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz", "foreign");
        check("12th Gen Intel(R) Core(TM) i7-12700K", "foreign");
        check("", "foreign");
    }

    #[test]
    fn the_error_lists_what_is_known() {
        let error = "m1-mini".parse::<Chip>().unwrap_err().to_string();
        assert_eq!(error, "`m1-mini` is not a chip: `m1` to `m5`, optionally with `-pro`, `-max` or `-ultra`");
    }
}
