//! Load commands: what they say themselves, and where in the slice the rest stands.

use std::ops::Range;

use object::LittleEndian;
use object::macho;
use object::read::macho::{LoadCommandVariant, MachHeader as _, Segment as _};

use super::super::image::{Build, Dependency, Kind, Platform, Version};
use super::{LARGEST_TABLE, Trouble, malformed};

const LITTLE: LittleEndian = LittleEndian;

/// A slice as its load commands tell it. Every range lies inside the slice.
pub(super) struct Layout {
    pub(super) kind: Kind,
    pub(super) two_level: bool,
    pub(super) install_name: Option<String>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) rpaths: Vec<String>,
    pub(super) build: Option<Build>,
    pub(super) imports: ImportsAt,
    pub(super) exports: ExportsAt,
    pub(super) signature: Option<Range<u64>>,
    /// What is loaded from where.
    pub(super) segments: Vec<Loaded>,
    /// The parts of the file that hold data rather than instructions, in order and apart from each other.
    pub(super) data: Vec<Range<u64>>,
}

/// Where imports stand.
pub(super) enum ImportsAt {
    Chained(macho::LinkeditDataCommand<LittleEndian>),
    Opcodes(macho::DyldInfoCommand<LittleEndian>),
    Symbols(macho::SymtabCommand<LittleEndian>),
    None,
}

/// Where exports stand.
pub(super) enum ExportsAt {
    Trie(Range<u64>),
    Symbols(macho::SymtabCommand<LittleEndian>),
    None,
}

/// A segment: a part of the file, and the address that it is loaded at.
pub(super) struct Loaded {
    pub(super) address: u64,
    pub(super) file: Range<u64>,
}

impl Layout {
    /// Reads the header and the load commands of a slice of `size` bytes.
    pub(super) fn read(head: &[u8], size: u64) -> Result<Self, Trouble> {
        let header = macho::MachHeader64::<LittleEndian>::parse(head, 0)?;
        let (cpu, subtype) = (header.cputype(LITTLE), header.cpusubtype(LITTLE));
        // A fat header may promise something else.
        if !header.is_little_endian() || cpu != macho::CPU_TYPE_ARM64 || subtype.0 & 0x00ff_ffff == 2 {
            return Err(malformed("its header is not that of arm64"));
        }
        let kind = match header.filetype(LITTLE) {
            macho::MH_EXECUTE => Kind::Executable,
            macho::MH_DYLIB => Kind::Dylib,
            macho::MH_BUNDLE => Kind::Bundle,
            other => Kind::Other(other.0),
        };
        let mut layout = Self {
            kind,
            two_level: header.flags(LITTLE).contains(macho::MH_TWOLEVEL),
            install_name: None,
            dependencies: Vec::new(),
            rpaths: Vec::new(),
            build: None,
            imports: ImportsAt::None,
            exports: ExportsAt::None,
            signature: None,
            segments: Vec::new(),
            data: Vec::new(),
        };
        let (mut chained, mut info, mut trie, mut symbols) = (None, None, None, None);
        let mut commands = header.load_commands(LITTLE, head, 0)?;
        while let Some(command) = commands.next()? {
            let text = |string| command.string(LITTLE, string).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            match command.variant()? {
                LoadCommandVariant::Segment64(segment, sections) => layout.segment(segment, sections, size)?,
                LoadCommandVariant::Symtab(command) => symbols = Some(*command),
                LoadCommandVariant::Dylib(dylib) => {
                    use macho::{DYLIB_USE_DELAYED_INIT, DYLIB_USE_REEXPORT, DYLIB_USE_UPWARD, DYLIB_USE_WEAK_LINK};
                    let flags = command.dylib_use_flags(LITTLE, dylib)?;
                    let is = |kind, flag| command.cmd() == kind || flags.is_some_and(|flags| flags.contains(flag));
                    layout.dependencies.push(Dependency {
                        path: text(dylib.dylib.name)?,
                        weak: is(macho::LC_LOAD_WEAK_DYLIB, DYLIB_USE_WEAK_LINK),
                        re_export: is(macho::LC_REEXPORT_DYLIB, DYLIB_USE_REEXPORT),
                        upward: is(macho::LC_LOAD_UPWARD_DYLIB, DYLIB_USE_UPWARD),
                        delayed: is(macho::LC_LAZY_LOAD_DYLIB, DYLIB_USE_DELAYED_INIT),
                    });
                }
                LoadCommandVariant::IdDylib(dylib) => layout.install_name = Some(text(dylib.dylib.name)?),
                LoadCommandVariant::Rpath(rpath) => layout.rpaths.push(text(rpath.path)?),
                LoadCommandVariant::BuildVersion(build, _) => {
                    let build = Build {
                        platform: Platform::of(build.platform.get(LITTLE).0),
                        minos: Version(build.minos.get(LITTLE).0),
                        sdk: Version(build.sdk.get(LITTLE).0),
                    };
                    // A library for two platforms has two; that of macOS counts here.
                    if layout.build.is_none_or(|old| old.platform != Platform::MacOs) {
                        layout.build = Some(build);
                    }
                }
                LoadCommandVariant::VersionMin(version) if layout.build.is_none() => {
                    let platform = match command.cmd() {
                        macho::LC_VERSION_MIN_MACOSX => macho::PLATFORM_MACOS,
                        macho::LC_VERSION_MIN_IPHONEOS => macho::PLATFORM_IOS,
                        macho::LC_VERSION_MIN_TVOS => macho::PLATFORM_TVOS,
                        _ => macho::PLATFORM_WATCHOS,
                    };
                    layout.build = Some(Build {
                        platform: Platform::of(platform.0),
                        minos: Version(version.version.get(LITTLE).0),
                        sdk: Version(version.sdk.get(LITTLE).0),
                    });
                }
                LoadCommandVariant::DyldInfo(command) => info = Some(*command),
                LoadCommandVariant::LinkeditData(data) => match command.cmd() {
                    macho::LC_DYLD_CHAINED_FIXUPS => chained = Some(*data),
                    macho::LC_DYLD_EXPORTS_TRIE => trie = Some(*data),
                    macho::LC_CODE_SIGNATURE => {
                        layout.signature = Some(data_range(data, size, "signature")?);
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        layout.imports = match (chained, info, symbols) {
            (Some(command), _, _) => ImportsAt::Chained(command),
            (None, Some(command), _) => ImportsAt::Opcodes(command),
            (None, None, Some(command)) => ImportsAt::Symbols(command),
            (None, None, None) => ImportsAt::None,
        };
        layout.exports = match (trie, info, symbols) {
            (Some(command), _, _) => ExportsAt::Trie(data_range(&command, size, "export trie")?),
            (None, Some(command), _) => {
                let place = (command.export_off.get(LITTLE), command.export_size.get(LITTLE));
                ExportsAt::Trie(table(place, size, "export trie")?)
            }
            (None, None, Some(command)) => ExportsAt::Symbols(command),
            (None, None, None) => ExportsAt::None,
        };
        layout.data = joined(layout.data);
        Ok(layout)
    }

    fn segment(
        &mut self,
        segment: &macho::SegmentCommand64<LittleEndian>,
        sections: &[u8],
        size: u64,
    ) -> Result<(), Trouble> {
        let (start, length) = segment.file_range(LITTLE);
        let end = start.checked_add(length).filter(|end| *end <= size);
        let name = || String::from_utf8_lossy(segment.name()).into_owned();
        let end = end.ok_or_else(|| malformed(format!("its segment {} reaches over its end", name())))?;
        self.segments.push(Loaded { address: segment.vmaddr.get(LITTLE), file: start..end });
        for section in segment.sections(LITTLE, sections)? {
            let flags = section.flags.get(LITTLE);
            let empty = matches!(
                macho::SectionType::from(flags),
                macho::S_ZEROFILL | macho::S_GB_ZEROFILL | macho::S_THREAD_LOCAL_ZEROFILL
            );
            let code = macho::S_ATTR_PURE_INSTRUCTIONS.0 | macho::S_ATTR_SOME_INSTRUCTIONS.0;
            let start = u64::from(section.offset.get(LITTLE));
            let end = start.checked_add(section.size.get(LITTLE)).filter(|end| *end <= size);
            if let Some(end) = end
                && !empty
                && flags.0 & code == 0
                && start < end
            {
                self.data.push(start..end);
            }
        }
        Ok(())
    }

    /// Returns every table that is to be kept.
    pub(super) fn tables(&self, size: u64) -> Result<Vec<Range<u64>>, Trouble> {
        let mut tables = Vec::new();
        let of_symbols = |command: &macho::SymtabCommand<LittleEndian>| {
            let count = u64::from(command.nsyms.get(LITTLE));
            let symbols = within(command.symoff.get(LITTLE), count * SYMBOL, size, "symbol table")?;
            let strings = (command.stroff.get(LITTLE), command.strsize.get(LITTLE));
            Ok::<_, Trouble>([symbols, table(strings, size, "string table")?])
        };
        match &self.imports {
            ImportsAt::Chained(command) => tables.push(data_range(command, size, "chained fixups")?),
            ImportsAt::Opcodes(command) => {
                let bind = (command.bind_off.get(LITTLE), command.bind_size.get(LITTLE));
                let lazy = (command.lazy_bind_off.get(LITTLE), command.lazy_bind_size.get(LITTLE));
                tables.push(table(bind, size, "bind opcodes")?);
                tables.push(table(lazy, size, "lazy bind opcodes")?);
            }
            ImportsAt::Symbols(command) => tables.extend(of_symbols(command)?),
            ImportsAt::None => {}
        }
        match &self.exports {
            ExportsAt::Trie(range) => tables.push(range.clone()),
            ExportsAt::Symbols(command) => tables.extend(of_symbols(command)?),
            ExportsAt::None => {}
        }
        tables.extend(self.signature.clone());
        tables.sort_by_key(|range| (range.start, range.end));
        tables.dedup();
        Ok(tables)
    }
}

/// Puts ranges in order and joins those that touch.
pub(super) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Size of a symbol.
const SYMBOL: u64 = 16;

impl Platform {
    pub(in crate::check::facts) fn of(number: u32) -> Self {
        match macho::Platform(number) {
            macho::PLATFORM_MACOS => Self::MacOs,
            macho::Platform(number) => Self::Other(number),
        }
    }
}

fn data_range(
    command: &macho::LinkeditDataCommand<LittleEndian>,
    size: u64,
    what: &str,
) -> Result<Range<u64>, Trouble> {
    table((command.dataoff.get(LITTLE), command.datasize.get(LITTLE)), size, what)
}

/// Returns where a table stands, which must be inside the slice; an empty one stands nowhere.
fn table((start, length): (u32, u32), size: u64, what: &str) -> Result<Range<u64>, Trouble> {
    within(start, length.into(), size, what)
}

fn within(start: u32, length: u64, size: u64, what: &str) -> Result<Range<u64>, Trouble> {
    if length == 0 {
        return Ok(0..0);
    }
    let start = u64::from(start);
    // Two 32-bit numbers, the second times 16 at most.
    let end = start + length;
    if end > size {
        return Err(malformed(format!("its {what} reaches over its end")));
    }
    if length > LARGEST_TABLE {
        return Err(malformed(format!("its {what} is larger than any")));
    }
    Ok(start..end)
}
