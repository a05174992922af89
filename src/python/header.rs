//! What an executable is by its first bytes: its form, its architectures, whether it is signed. Read before it is run.
//!
//! Knows just enough of Mach-O and ELF for that, over any reader. Apple's `mach-o/loader.h` and `mach-o/fat.h` give the
//! numbers, and the ELF specification's "machine" those of Linux.

use std::io::{Read, Result, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::machine::System;
use crate::sys::fs;
use crate::sys::fs::FsError;

/// An instruction set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arch {
    /// 64-bit Arm: Apple Silicon.
    Arm64,
    /// 64-bit Intel.
    X86_64,
    /// Whatever else.
    Other,
}

/// What a file that may be started is, in short.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The architectures that it has code for; none for a script.
    pub archs: Vec<Arch>,
    /// Whether it is a text that names the program to run it.
    pub script: bool,
}

impl Head {
    /// Reads it; `None` where no file is.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of(path: &Path) -> std::result::Result<Option<Self>, FsError> {
        let failed = |cause| FsError { doing: "read", path: path.to_owned(), cause };
        let Some(mut file) = fs::open(path)? else { return Ok(None) };
        if !file.metadata().map_err(failed)?.is_file() {
            return Ok(None);
        }
        let header = Header::read(&mut file).map_err(failed)?;
        Ok(Some(Self { archs: header.archs(), script: header == Header::Script }))
    }
}

/// What the first bytes of a file say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Header {
    /// A program for Macs: one slice, or several in a universal one.
    MachO(Vec<Slice>),
    /// A program for Linux.
    Elf(Arch),
    /// A text that names the program to run it.
    Script,
    /// None of these, or damaged.
    Other,
}

/// The part of a Mac program for one architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slice {
    /// The architecture.
    pub(super) arch: Arch,
    /// Whether a code signature is attached.
    pub(super) signature: Signature,
}

/// Whether a code signature is attached. Whether it is right, only the system can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signature {
    /// One is.
    Attached,
    /// None is.
    Missing,
}

impl Arch {
    /// Returns its name as `uname -m` says it on a system.
    pub fn on(self, system: System) -> &'static str {
        match (self, system) {
            (Self::Arm64, System::Mac) => "arm64",
            (Self::Arm64, System::Linux) => "aarch64",
            (Self::X86_64, _) => "x86_64",
            (Self::Other, _) => "another architecture",
        }
    }

    fn of_mach_o(cpu: u32) -> Self {
        match cpu {
            0x0100_000c => Self::Arm64,
            0x0100_0007 => Self::X86_64,
            _ => Self::Other,
        }
    }
}

impl Header {
    /// Reads the beginning of a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn read(file: &mut (impl Read + Seek)) -> Result<Self> {
        let start = bytes(file, 0, 64)?;
        Ok(match start.as_slice() {
            [b'#', b'!', ..] => Self::Script,
            [0x7f, b'E', b'L', b'F', ..] => elf(&start).map_or(Self::Other, Self::Elf),
            [0xca, 0xfe, 0xba, 0xbe, ..] => universal(file, Width::Narrow)?.map_or(Self::Other, Self::MachO),
            [0xca, 0xfe, 0xba, 0xbf, ..] => universal(file, Width::Wide)?.map_or(Self::Other, Self::MachO),
            _ => slice(file, 0)?.map_or(Self::Other, |slice| Self::MachO(vec![slice])),
        })
    }

    /// Lists the architectures that the file has code for.
    pub(super) fn archs(&self) -> Vec<Arch> {
        match self {
            Self::MachO(slices) => slices.iter().map(|slice| slice.arch).collect(),
            Self::Elf(arch) => vec![*arch],
            Self::Script | Self::Other => Vec::new(),
        }
    }
}

/// Reads up to `length` bytes at `offset`: fewer where the file ends before.
fn bytes(file: &mut (impl Read + Seek), offset: u64, length: u64) -> Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn little(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn big(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn elf(start: &[u8]) -> Option<Arch> {
    const BITS_64: u8 = 2;
    const LITTLE: u8 = 1;
    let [class, order] = [*start.get(4)?, *start.get(5)?];
    let half = |at: usize| Some(u16::from_le_bytes(*start.get(at..)?.first_chunk()?));
    // A program has a fixed place or, like a shared library, any.
    if order == LITTLE && !matches!(half(16)?, 2 | 3) {
        return None;
    }
    Some(match (class, order, half(18)?) {
        (BITS_64, LITTLE, 62) => Arch::X86_64,
        (BITS_64, LITTLE, 183) => Arch::Arm64,
        _ => Arch::Other,
    })
}

/// How wide places and sizes are in the table of a universal file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    Narrow,
    Wide,
}

/// Reads a universal file; `None` when it is damaged, or a Java class, which begins with the same four bytes.
fn universal(file: &mut (impl Read + Seek), width: Width) -> Result<Option<Vec<Slice>>> {
    const MOST: usize = 16;
    let row = if width == Width::Wide { 32 } else { 20 };
    let table = bytes(file, 0, 8 + (MOST * row) as u64)?;
    let count = big(&table, 4).unwrap_or_default() as usize;
    if !(1..=MOST).contains(&count) {
        return Ok(None);
    }
    let mut slices = Vec::new();
    for at in (0..count).map(|index| 8 + index * row) {
        let offset = match width {
            Width::Narrow => big(&table, at + 8).map(u64::from),
            Width::Wide => big(&table, at + 8)
                .zip(big(&table, at + 12))
                .map(|(high, low)| (u64::from(high) << 32) | u64::from(low)),
        };
        let (Some(cpu), Some(offset)) = (big(&table, at), offset) else { return Ok(None) };
        // A place beyond what a file can have is no place.
        let found = if offset > i64::MAX as u64 { None } else { slice(file, offset)? };
        match found {
            Some(slice) if slice.arch == Arch::of_mach_o(cpu) => slices.push(slice),
            _ => return Ok(None),
        }
    }
    Ok(Some(slices))
}

/// Reads the Mach-O program at `offset`; `None` when there is none.
fn slice(file: &mut (impl Read + Seek), offset: u64) -> Result<Option<Slice>> {
    const EXECUTABLE: u32 = 2;
    const CODE_SIGNATURE: u32 = 0x1d;
    const MOST_COMMANDS: u32 = 1 << 20;
    let start = bytes(file, offset, 32)?;
    match start.as_slice() {
        [0xcf, 0xfa, 0xed, 0xfe, ..] => {}
        // 32 bits, or PowerPC: nothing that any wheel is for.
        [0xce, 0xfa, 0xed, 0xfe, ..] | [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] => {
            return Ok(Some(Slice { arch: Arch::Other, signature: Signature::Missing }));
        }
        _ => return Ok(None),
    }
    let field = |at| little(&start, at);
    let (Some(cpu), Some(EXECUTABLE), Some(count), Some(size)) = (field(4), field(12), field(16), field(20)) else {
        return Ok(None);
    };
    if size > MOST_COMMANDS {
        return Ok(None);
    }
    let commands = bytes(file, offset + 32, size.into())?;
    let mut signature = Signature::Missing;
    let mut at = 0;
    for _ in 0..count {
        match (little(&commands, at), little(&commands, at + 4)) {
            (Some(command), Some(length)) if length >= 8 => {
                if command == CODE_SIGNATURE {
                    signature = Signature::Attached;
                }
                at += length as usize;
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(Slice { arch: Arch::of_mach_o(cpu), signature }))
}

#[cfg(test)]
pub(super) mod made {
    //! Headers as compilers write them, made byte by byte.

    /// Numbers of architectures in Mach-O.
    pub(crate) const ARM64: u32 = 0x0100_000c;
    pub(crate) const X86_64: u32 = 0x0100_0007;

    /// Makes a program for Macs: a header, a command of no interest and, perhaps, the one for the signature.
    pub(crate) fn mach_o(cpu: u32, signed: Signed) -> Vec<u8> {
        let mut commands: Vec<u32> = vec![0x1b, 24, 1, 2, 3, 4];
        if signed == Signed::Yes {
            commands.extend([0x1d, 16, 64, 0]);
        }
        let count = if signed == Signed::Yes { 2 } else { 1 };
        let size = (commands.len() * 4) as u32;
        let head = [0xfeed_facf, cpu, 0, 2, count, size, 0, 0];
        head.iter().chain(&commands).flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Puts programs into one universal file.
    pub(crate) fn universal(slices: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let place = |index: usize| 0x4000 * (index + 1);
        let mut bytes: Vec<u8> =
            [0xcafe_babe, slices.len() as u32].iter().flat_map(|word| word.to_be_bytes()).collect();
        for (index, (cpu, slice)) in slices.iter().enumerate() {
            let row = [*cpu, 0, place(index) as u32, slice.len() as u32, 14];
            bytes.extend(row.iter().flat_map(|word| word.to_be_bytes()));
        }
        for (index, (_, slice)) in slices.iter().enumerate() {
            bytes.resize(place(index), 0);
            bytes.extend(slice);
        }
        bytes
    }

    /// Makes a program for 64-bit Linux.
    pub(crate) fn elf(machine: u16) -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0];
        bytes.extend(machine.to_le_bytes());
        bytes.resize(64, 0);
        bytes
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Signed {
        Yes,
        No,
    }
}

#[cfg(test)]
mod tests {
    use super::made::*;
    use super::{Arch, Header, Signature, Slice};

    fn check(bytes: &[u8], expected: &Header) {
        assert_eq!(&Header::read(&mut std::io::Cursor::new(bytes)).unwrap(), expected, "{bytes:x?}");
    }

    fn signed(arch: Arch) -> Slice {
        Slice { arch, signature: Signature::Attached }
    }

    #[test]
    fn programs_of_every_form() {
        check(&mach_o(ARM64, Signed::Yes), &Header::MachO(vec![signed(Arch::Arm64)]));
        check(&mach_o(X86_64, Signed::Yes), &Header::MachO(vec![signed(Arch::X86_64)]));
        let unsigned = Slice { arch: Arch::Arm64, signature: Signature::Missing };
        check(&mach_o(ARM64, Signed::No), &Header::MachO(vec![unsigned]));
        check(&mach_o(18, Signed::Yes), &Header::MachO(vec![signed(Arch::Other)]));
        let both = universal(&[(X86_64, mach_o(X86_64, Signed::Yes)), (ARM64, mach_o(ARM64, Signed::Yes))]);
        check(&both, &Header::MachO(vec![signed(Arch::X86_64), signed(Arch::Arm64)]));
        check(&elf(62), &Header::Elf(Arch::X86_64));
        check(&elf(183), &Header::Elf(Arch::Arm64));
        check(&elf(243), &Header::Elf(Arch::Other));
        check(b"#!/usr/bin/env bash\n", &Header::Script);
        check(b"\xfe\xed\xfa\xce\0\0\0\x12", &Header::MachO(vec![Slice { arch: Arch::Other, ..unsigned }]));
    }

    #[test]
    fn a_wide_table_is_read_too() {
        let narrow = universal(&[(ARM64, mach_o(ARM64, Signed::Yes))]);
        let mut wide: Vec<u8> = [0xcafe_babf_u32, 1, ARM64, 0, 0, 0x4000, 0, 56, 14, 0]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect();
        wide.extend(&narrow[wide.len()..]);
        check(&wide, &Header::MachO(vec![signed(Arch::Arm64)]));
    }

    #[test]
    fn what_is_no_program_or_damaged() {
        for text in [&b""[..], b"#", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ\0\0", b"\xca\xfe\xba\xbe"] {
            check(text, &Header::Other);
        }
        // A Java class of version 52.
        check(b"\xca\xfe\xba\xbe\0\0\0\x34\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", &Header::Other);
        let whole = mach_o(ARM64, Signed::Yes);
        for length in 0..whole.len() - 8 {
            check(&whole[..length], &Header::Other);
        }
        let change = |at: usize, word: u32| {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            bytes
        };
        check(&change(12, 6), &Header::Other); // a library
        check(&change(16, u32::MAX), &Header::Other); // more commands than there are
        check(&change(20, u32::MAX), &Header::Other); // of more bytes than any program has
        check(&change(36, 0), &Header::Other); // a command of no length
        let mut both = universal(&[(X86_64, mach_o(X86_64, Signed::Yes)), (ARM64, whole.clone())]);
        both[8..12].copy_from_slice(&ARM64.to_be_bytes());
        check(&both, &Header::Other); // a table that lies
        check(&both[..0x5000], &Header::Other);
        let mut far = universal(&[(ARM64, whole.clone())]);
        far[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
        check(&far, &Header::Other);
        let mut library = elf(62);
        library[16] = 1;
        check(&library, &Header::Other);
    }

    #[test]
    fn a_file_that_leads_to_itself_ends() {
        // The slice's place is the table itself.
        let mut round = universal(&[(ARM64, mach_o(ARM64, Signed::Yes))]);
        round[16..20].copy_from_slice(&0_u32.to_be_bytes());
        check(&round, &Header::Other);
    }
}
