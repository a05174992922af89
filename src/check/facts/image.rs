//! The facts as types, named as dyld and `ld` name them. Plain data: nothing here reads, and nothing judges.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::exports::Exports;
use crate::pep::PackageName;

/// What is known of a wheel, or of what one distribution put into a tree.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct WheelFacts {
    /// Its Mach-O images, sorted by path.
    pub images: Vec<Image>,
    /// The distributions that `Requires-Dist` names, but not those that only extras or other systems than macOS ask for.
    pub requires: BTreeSet<PackageName>,
    /// The versions of those that it asks for, as written, where it asks once and whatever the Python.
    pub versions: BTreeMap<PackageName, String>,
    /// The packages and modules at its top, sorted by name.
    pub packages: Vec<Package>,
    /// Where it hooks itself into another framework.
    pub hooks: BTreeSet<Hook>,
    /// Its metal libraries, sorted by path.
    pub metal: Vec<MetalLibrary>,
    /// Programs and libraries of other systems, sorted by path.
    pub foreign: Vec<Foreign>,
    /// Why no macml installs it, where its RECORD is wrong: other installers pass over that.
    pub refused: Option<String>,
    /// Other names of images, which links in a tree are. Wheels have none.
    #[serde(skip)]
    pub links: Vec<Link>,
}

/// A symbolic link to an image. Both paths are as that of an [`Image`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// Where it lies.
    pub path: String,
    /// What it leads to, which may be another link.
    pub target: String,
}

/// A package or module at the top of a wheel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Package {
    /// The name by which Python imports it.
    pub name: String,
    /// The top names of what it imports when it is imported itself, without itself.
    pub imports: BTreeSet<String>,
}

/// A folder in which a framework looks for plugins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Hook {
    /// `tensorflow-plugins/`: TensorFlow opens every library in it.
    TensorFlow,
    /// `jax_plugins/`: jax imports every package in it.
    Jax,
}

/// A library of GPU code, compiled by Apple's tools.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MetalLibrary {
    /// Its path in the tree.
    pub path: String,
    /// The system that it says it is for; `None` where its header is not understood.
    pub target: Option<Build>,
}

/// A program or library of another system.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Foreign {
    /// Its path in the tree.
    pub path: String,
    /// What it is.
    pub format: ForeignFormat,
}

/// A format of programs that macOS does not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ForeignFormat {
    /// Linux.
    Elf,
    /// Windows.
    Pe,
}

/// A Mach-O file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Image {
    /// Its path from `site-packages`, with `/`, as RECORD writes it: what a wheel puts elsewhere begins with `../`.
    pub path: String,
    /// What its slices are for, in order; a thin file has one.
    pub architectures: Vec<Architecture>,
    /// The slice that a native process on Apple Silicon takes, or why there is none to load.
    pub slice: Result<Slice, Unloadable>,
}

/// What code is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Architecture {
    /// Apple Silicon.
    Arm64,
    /// Apple Silicon with signed pointers, which only the system's own processes load.
    Arm64e,
    /// Intel, 64 bits.
    X86_64,
    /// Another one: `cputype` and the low 24 bits of `cpusubtype`.
    Other(u32, u32),
}

impl fmt::Display for Architecture {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arm64 => out.write_str("arm64"),
            Self::Arm64e => out.write_str("arm64e"),
            Self::X86_64 => out.write_str("x86_64"),
            Self::Other(7, _) => out.write_str("i386"),
            Self::Other(18, _) => out.write_str("ppc"),
            Self::Other(cpu, kind) => write!(out, "unknown-{cpu:#x}-{kind:#x}"),
        }
    }
}

/// Why dyld would not even begin with a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Unloadable {
    /// No slice is for arm64.
    Architecture,
    /// It is cut short or contradicts itself: what, as a phrase.
    Malformed(String),
}

/// The part of a Mach-O file that is for arm64.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Slice {
    /// What it is.
    pub kind: Kind,
    /// Whether imports name the library that they come from (`MH_TWOLEVEL`).
    pub two_level: bool,
    /// What it calls itself (`LC_ID_DYLIB`); only dylibs do.
    pub install_name: Option<String>,
    /// The libraries that it names, in order: the first has ordinal 1.
    pub dependencies: Vec<Dependency>,
    /// Where its `@rpath` may lead (`LC_RPATH`), in order.
    pub rpaths: Vec<String>,
    /// The system that it was built for; dyld takes one that says nothing for macOS.
    pub build: Option<Build>,
    /// What it imports.
    pub imports: Imports,
    /// What it exports.
    pub exports: Exports,
    /// What became of its signature.
    pub signature: Signature,
    /// What it carries besides.
    pub markers: Markers,
}

/// What a Mach-O file is (`filetype`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// A program.
    Executable,
    /// A library that others may be linked with.
    Dylib,
    /// A library that can only be opened, as Python's extensions are.
    Bundle,
    /// Something that dyld does not load.
    Other(u32),
}

/// A library that an image names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dependency {
    /// Its path as written: `@rpath/libc10.dylib`.
    pub path: String,
    /// It may be missing.
    pub weak: bool,
    /// What it exports counts as exported by the image.
    pub re_export: bool,
    /// It depends on the image itself, so that it is initialized later.
    pub upward: bool,
    /// It is loaded when it is first used.
    pub delayed: bool,
}

/// The system that code was built for (`LC_BUILD_VERSION`, `LC_VERSION_MIN_MACOSX`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Build {
    /// The platform.
    pub platform: Platform,
    /// The oldest version that it says it runs on.
    pub minos: Version,
    /// The version of the SDK that it was built with; 0.0 where it does not say.
    pub sdk: Version,
}

/// A platform of Apple's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Platform {
    /// macOS.
    MacOs,
    /// Another one, by its number.
    Other(u32),
}

/// A version as Mach-O packs it: 16, 8 and 8 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Version(pub u32);

impl Version {
    /// Makes one of its numbers.
    pub const fn new(major: u16, minor: u8, patch: u8) -> Self {
        Self((major as u32) << 16 | (minor as u32) << 8 | patch as u32)
    }

    /// Returns the first number.
    pub const fn major(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Returns the second number.
    pub const fn minor(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Returns the third number.
    pub const fn patch(self) -> u8 {
        self.0 as u8
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major(), self.minor())?;
        if self.patch() > 0 { write!(out, ".{}", self.patch()) } else { Ok(()) }
    }
}

/// The table that imports were read from: the first of these that an image has, as in dyld.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum Table {
    /// `LC_DYLD_CHAINED_FIXUPS`.
    Chained,
    /// The opcodes of `LC_DYLD_INFO`; those for weak binding alone are left out, because they cannot fail.
    Opcodes,
    /// Undefined entries of the symbol table.
    #[default]
    Symbols,
}

/// The names that an image imports: sorted, each once for each way in which it is bound.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Imports {
    table: Table,
    /// One after the other, in the order of the entries.
    names: String,
    entries: Vec<Entry>,
}

/// A name among [`Imports`], without the name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Entry {
    ordinal: i32,
    length: u32,
    flags: u8,
}

impl Entry {
    const WEAK: u8 = 1;
    const LAZY: u8 = 2;
}

/// A name that an image imports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Import<'a> {
    /// Where it is looked for.
    pub ordinal: Ordinal,
    /// The name, with the underscore that C puts before it.
    pub name: &'a str,
    /// It may be missing, and is null then.
    pub weak: bool,
    /// It is bound at its first call, unless whoever opens the image asks for all at once, as Python does.
    pub lazy: bool,
}

/// Where a name is looked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ordinal {
    /// In the image itself (0).
    This,
    /// In a library that it names, counted from 1.
    Dependency(u32),
    /// In the program (-1).
    MainExecutable,
    /// In every image that is loaded (-2).
    FlatLookup,
    /// In every image, weak definitions made one (-3).
    WeakLookup,
    /// Nowhere that dyld knows.
    Unknown(i32),
}

impl From<i32> for Ordinal {
    fn from(number: i32) -> Self {
        match number {
            0 => Self::This,
            -1 => Self::MainExecutable,
            -2 => Self::FlatLookup,
            -3 => Self::WeakLookup,
            number => u32::try_from(number).map_or(Self::Unknown(number), Self::Dependency),
        }
    }
}

impl From<Ordinal> for i32 {
    fn from(ordinal: Ordinal) -> Self {
        match ordinal {
            Ordinal::This => 0,
            // They come from `i32`s, or count dependencies, of which a file has room for fewer.
            Ordinal::Dependency(number) => Self::try_from(number).unwrap_or(Self::MAX),
            Ordinal::MainExecutable => -1,
            Ordinal::FlatLookup => -2,
            Ordinal::WeakLookup => -3,
            Ordinal::Unknown(number) => number,
        }
    }
}

impl Imports {
    /// Makes them of names in any order and number.
    pub fn new<'a>(table: Table, imports: impl IntoIterator<Item = Import<'a>>) -> Self {
        let mut all: Vec<Import<'a>> = imports.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        let entries = all.iter().map(|import| Entry {
            ordinal: import.ordinal.into(),
            length: u32::try_from(import.name.len()).expect("tables are read with 32-bit sizes"),
            flags: (u8::from(import.weak) * Entry::WEAK) | (u8::from(import.lazy) * Entry::LAZY),
        });
        let entries = entries.collect();
        Self { table, names: all.iter().map(|import| import.name).collect(), entries }
    }

    /// Returns the table that they were read from.
    pub fn table(&self) -> Table {
        self.table
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns them in order.
    pub fn iter(&self) -> impl Iterator<Item = Import<'_>> + '_ {
        let mut rest = self.names.as_str();
        self.entries.iter().map_while(move |entry| {
            let (name, after) = rest.split_at_checked(entry.length as usize)?;
            rest = after;
            Some(Import {
                ordinal: entry.ordinal.into(),
                name,
                weak: entry.flags & Entry::WEAK != 0,
                lazy: entry.flags & Entry::LAZY != 0,
            })
        })
    }
}

/// What became of the pages of an image, held against its signature. Who signed it is not asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Signature {
    /// It has none; arm64 code must have one.
    Absent,
    /// Each page has the digest that the code directory gives.
    Intact,
    /// A page has another digest: the first, by its offset in the slice.
    Broken(u64),
    /// It has one that cannot be held against the pages: why, as a phrase.
    Unusable(String),
    /// Nobody asked.
    Unread,
}

/// What an image carries besides.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Markers {
    /// The numpy that its extension module was compiled for.
    pub numpy: Option<NumpyAbi>,
    /// Whether it has an OpenMP runtime of LLVM's or Intel's inside.
    pub openmp: bool,
    /// The version of the interface that it offers to jax as a plugin.
    pub pjrt: Option<Pjrt>,
}

/// The numpy that an extension module was compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NumpyAbi {
    /// numpy 1 only: with numpy 2 its import fails.
    One,
    /// With the headers of numpy 2: runs with both, from the release of numpy 1 on where it names one (1, minor).
    Two {
        /// The oldest minor release of numpy 1 that it accepts.
        oldest: Option<u16>,
    },
}

/// A version of PJRT's C interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Pjrt {
    /// Major.
    pub major: u32,
    /// Minor.
    pub minor: u32,
}
