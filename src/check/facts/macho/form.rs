//! What a file is, from its first bytes: thin, fat, or no Mach-O; and which slice of it counts.

use std::ops::Range;

use object::macho;

use super::super::image::Architecture;

/// How many bytes tell what a file is: a fat header with the most slices.
pub(super) const LONGEST_PREFIX: usize = 8 + MOST_SLICES * 32;

/// The most slices of a fat file. It begins as class files of Java do, whose next number is 45 or more.
const MOST_SLICES: usize = 19;

/// What a file is.
pub(super) struct Form {
    pub(super) architectures: Vec<Architecture>,
    pub(super) found: Found,
}

/// The slice for arm64.
pub(super) enum Found {
    /// Where it is in the file.
    Slice(Range<u64>),
    /// There is none.
    None,
    /// It cannot be where it should: why, as a phrase.
    Malformed(&'static str),
}

/// The mask that leaves the capability bits of `cpusubtype` out, and the subtype of arm64e.
const SUBTYPE: u32 = 0x00ff_ffff;
const ARM64E: u32 = 2;

impl Architecture {
    fn of(cpu: u32, subtype: u32) -> Self {
        match (macho::CpuType(cpu), subtype & SUBTYPE) {
            (macho::CPU_TYPE_ARM64, ARM64E) => Self::Arm64e,
            (macho::CPU_TYPE_ARM64, _) => Self::Arm64,
            (macho::CPU_TYPE_X86_64, _) => Self::X86_64,
            (_, subtype) => Self::Other(cpu, subtype),
        }
    }
}

/// Numbers at places in some bytes, in either order of bytes.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl Numbers<'_> {
    fn u32(self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn u64(self, at: usize) -> Option<u64> {
        let (high, low) = (self.u32(at)?, self.u32(at + 4)?);
        Some(u64::from(high) << 32 | u64::from(low))
    }
}

/// Returns whether a file that begins with these bytes may be a Mach-O.
pub fn may_be(magic: [u8; 4]) -> bool {
    use macho::{FAT_MAGIC, FAT_MAGIC_64, MH_CIGAM, MH_CIGAM_64, MH_MAGIC, MH_MAGIC_64};
    [FAT_MAGIC, FAT_MAGIC_64, MH_CIGAM, MH_CIGAM_64, MH_MAGIC, MH_MAGIC_64].contains(&u32::from_be_bytes(magic))
}

/// Says what a file of `size` bytes is that begins so; `None` for no Mach-O.
pub(super) fn read(prefix: &[u8], size: u64) -> Option<Form> {
    let big = Numbers { bytes: prefix, big: true };
    match big.u32(0)? {
        macho::FAT_MAGIC => fat(big, size, false),
        macho::FAT_MAGIC_64 => fat(big, size, true),
        macho::MH_MAGIC | macho::MH_MAGIC_64 => thin(big, size),
        macho::MH_CIGAM | macho::MH_CIGAM_64 => thin(Numbers { bytes: prefix, big: false }, size),
        _ => None,
    }
}

fn thin(numbers: Numbers<'_>, size: u64) -> Option<Form> {
    let architecture = Architecture::of(numbers.u32(4)?, numbers.u32(8)?);
    let found = match architecture {
        Architecture::Arm64 if numbers.big || numbers.u32(0)? != macho::MH_MAGIC_64 => {
            Found::Malformed("its header is not that of arm64")
        }
        Architecture::Arm64 => Found::Slice(0..size),
        _ => Found::None,
    };
    Some(Form { architectures: vec![architecture], found })
}

fn fat(numbers: Numbers<'_>, size: u64, wide: bool) -> Option<Form> {
    let count = numbers.u32(4)? as usize;
    if !(1..=MOST_SLICES).contains(&count) {
        return None;
    }
    let mut form = Form { architectures: Vec::with_capacity(count), found: Found::None };
    for row in 0..count {
        let at = 8 + row * if wide { 32 } else { 20 };
        let place = if wide {
            numbers.u64(at + 8).zip(numbers.u64(at + 16))
        } else {
            numbers.u32(at + 8).zip(numbers.u32(at + 12)).map(|(start, length)| (start.into(), length.into()))
        };
        let Some((((cpu, subtype), start), length)) =
            numbers.u32(at).zip(numbers.u32(at + 4)).zip(place.map(|place| place.0)).zip(place.map(|place| place.1))
        else {
            form.found = Found::Malformed("its fat header is cut short");
            break;
        };
        let architecture = Architecture::of(cpu, subtype);
        form.architectures.push(architecture);
        if architecture == Architecture::Arm64 && matches!(form.found, Found::None) {
            form.found = match u64::checked_add(start, length) {
                Some(end) if end <= size => Found::Slice(start..end),
                _ => Found::Malformed("its arm64 slice reaches over the end of the file"),
            };
        }
    }
    Some(form)
}
