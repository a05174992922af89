//! Mach-O images byte by byte: small ones that are right but for what a test changes.

use std::collections::BTreeMap;

use macml::pep::Sha256;

/// Load commands of dependencies.
pub(crate) const LOAD: u32 = 0x0c;
pub(crate) const LOAD_WEAK: u32 = 0x8000_0018;
pub(crate) const REEXPORT: u32 = 0x8000_001f;
pub(crate) const LOAD_UPWARD: u32 = 0x8000_0023;
pub(crate) const LAZY_LOAD: u32 = 0x20;

/// Types of files.
pub(crate) const EXECUTABLE: u32 = 2;
pub(crate) const DYLIB: u32 = 6;
pub(crate) const BUNDLE: u32 = 8;

/// Where the bytes of an image stand: load commands before, then code, then data, then tables.
const CODE: usize = 0x1000;
/// The address that an image is linked for.
pub(crate) const BASE: u64 = 0x1_0000_0000;

/// An import: ordinal, name, weak.
pub(crate) type MadeImport = (i32, &'static str, bool);

/// The table of imports.
#[derive(Clone, Debug)]
pub(crate) enum MadeImports {
    None,
    /// Chained fixups, in format 1, 2 or 3.
    Chained(u32, Vec<MadeImport>),
    /// Opcodes: those bound at once, and the lazy ones.
    Opcodes(Vec<MadeImport>, Vec<MadeImport>),
    /// Opcodes as they are: bind, weak bind, lazy bind.
    Raw(Vec<u8>, Vec<u8>, Vec<u8>),
    /// The symbol table alone.
    Symbols(Vec<MadeImport>),
}

/// What an exported name is.
#[derive(Clone, Debug)]
pub(crate) enum MadeExport {
    /// An offset from the start of the image.
    At(u64),
    /// Another library's.
    Other(u64, &'static str),
}

/// The signature of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeSignature {
    /// Size of pages, as a power of two.
    pub(crate) page: u8,
    /// The directory with SHA-256 comes second, as `codesign` once did.
    pub(crate) alternate: bool,
}

/// An image.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) cpu: (u32, u32),
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) install_name: Option<&'static str>,
    /// Command and path.
    pub(crate) dependencies: Vec<(u32, &'static str)>,
    /// Path and flags, in the newer form; they come after the others.
    pub(crate) newer: Vec<(&'static str, u32)>,
    pub(crate) rpaths: Vec<&'static str>,
    /// Platform, minos, SDK; `None` for the older command for macOS 11.
    pub(crate) build: Option<(u32, u32, u32)>,
    pub(crate) imports: MadeImports,
    pub(crate) exports: BTreeMap<&'static str, MadeExport>,
    /// The exports trie as it is.
    pub(crate) trie: Option<Vec<u8>>,
    /// Exported names go to the symbol table.
    pub(crate) no_trie: bool,
    pub(crate) code: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) signature: Option<MadeSignature>,
    /// More load commands.
    pub(crate) commands: Vec<Vec<u8>>,
}

pub(crate) const ARM64: (u32, u32) = (0x0100_000c, 0);
pub(crate) const ARM64E: (u32, u32) = (0x0100_000c, 0x8000_0002);
pub(crate) const X86_64: (u32, u32) = (0x0100_0007, 3);

impl Default for Made {
    fn default() -> Self {
        Self {
            cpu: ARM64,
            kind: DYLIB,
            flags: 0x85,
            install_name: Some("@rpath/libmade.dylib"),
            dependencies: vec![(LOAD, "/usr/lib/libSystem.B.dylib")],
            newer: Vec::new(),
            rpaths: Vec::new(),
            build: Some((1, 0x000b_0000, 0x000d_0300)),
            imports: MadeImports::None,
            exports: BTreeMap::new(),
            trie: None,
            no_trie: false,
            code: vec![0xc0, 0x03, 0x5f, 0xd6],
            data: b"data".to_vec(),
            signature: Some(MadeSignature { page: 12, alternate: false }),
            commands: Vec::new(),
        }
    }
}

/// Where the tables of an image stand, and how long they are.
#[derive(Clone, Default)]
struct Places {
    data: usize,
    tables: Vec<(usize, usize)>,
    end: usize,
    signature: (usize, usize),
}

impl Made {
    /// Returns its bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let tables = self.tables();
        let mut places = Places { data: CODE + self.code.len(), ..Places::default() };
        let mut at = (places.data + self.data.len()).next_multiple_of(16);
        let linkedit = at;
        for table in &tables {
            places.tables.push((if table.is_empty() { 0 } else { at }, table.len()));
            at = (at + table.len()).next_multiple_of(16);
        }
        if let Some(signature) = self.signature {
            let length = sign(&vec![0; at], signature).len();
            places.signature = (at, length);
            at += length;
        }
        places.end = at;
        let commands = self.load_commands(&places, linkedit);
        let mut bytes = numbers(&[0xfeed_facf, self.cpu.0, self.cpu.1, self.kind]);
        let length: usize = commands.iter().map(Vec::len).sum();
        bytes.extend(numbers(&[commands.len() as u32, length as u32, self.flags, 0]));
        bytes.extend(commands.concat());
        assert!(bytes.len() <= CODE, "too many load commands for a small image");
        bytes.resize(CODE, 0);
        bytes.extend(&self.code);
        bytes.extend(&self.data);
        bytes.resize(linkedit, 0);
        for table in &tables {
            bytes.extend(table);
            bytes.resize(bytes.len().next_multiple_of(16), 0);
        }
        if let Some(signature) = self.signature {
            let signed = sign(&bytes, signature);
            bytes.extend(signed);
        }
        bytes
    }

    /// Imports (up to three tables), exports, symbols, strings.
    fn tables(&self) -> Vec<Vec<u8>> {
        let mut tables = match &self.imports {
            MadeImports::Chained(format, imports) => vec![chained(*format, imports)],
            MadeImports::Opcodes(now, lazy) => vec![opcodes(now, false), Vec::new(), opcodes(lazy, true)],
            MadeImports::Raw(bind, weak, lazy) => vec![bind.clone(), weak.clone(), lazy.clone()],
            MadeImports::None | MadeImports::Symbols(_) => Vec::new(),
        };
        tables.resize(3, Vec::new());
        tables.push(match (&self.trie, self.no_trie) {
            (Some(trie), _) => trie.clone(),
            (None, true) => Vec::new(),
            (None, false) => trie(&self.exports),
        });
        let (mut symbols, mut strings) = (Vec::new(), vec![0]);
        let mut symbol = |kind: u8, section: u8, description: u16, name: &str| {
            symbols.extend((strings.len() as u32).to_le_bytes());
            symbols.extend([kind, section]);
            symbols.extend(description.to_le_bytes());
            symbols.extend((if section > 0 { BASE } else { 0 }).to_le_bytes());
            strings.extend(name.as_bytes());
            strings.push(0);
        };
        if let MadeImports::Symbols(imports) = &self.imports {
            for (ordinal, name, weak) in imports {
                let ordinal = match ordinal {
                    -2 => 0xfe,
                    -1 => 0xff,
                    number => *number as u16,
                };
                symbol(1, 0, ordinal << 8 | if *weak { 0x40 } else { 0 }, name);
            }
        }
        if self.no_trie {
            for name in self.exports.keys() {
                symbol(0x0f, 1, 0, name);
            }
            symbol(0x1f, 1, 0, "_hidden");
            symbol(0x0e, 1, 0, "_local");
        }
        tables.extend(if symbols.is_empty() { [vec![], vec![]] } else { [symbols, strings] });
        tables
    }

    fn load_commands(&self, places: &Places, linkedit: usize) -> Vec<Vec<u8>> {
        let mut commands = vec![
            segment(
                "__TEXT",
                BASE,
                0,
                linkedit,
                &[("__text", CODE, self.code.len(), 0x8000_0400), ("__const", places.data, self.data.len(), 0)],
            ),
            segment("__LINKEDIT", BASE + linkedit as u64, linkedit, places.end - linkedit, &[]),
        ];
        if let Some(name) = self.install_name.filter(|_| self.kind == DYLIB) {
            commands.push(with_text(&[0x0d, 0, 24, 2, 0x10000, 0x10000], name));
        }
        for (command, path) in &self.dependencies {
            commands.push(with_text(&[*command, 0, 24, 2, 0x10000, 0x10000], path));
        }
        for (path, flags) in &self.newer {
            commands.push(with_text(&[LOAD, 0, 28, 0x1a74_1800, 0x10000, 0x10000, *flags], path));
        }
        for path in &self.rpaths {
            commands.push(with_text(&[0x8000_001c, 0, 12], path));
        }
        commands.push(match self.build {
            Some((platform, minos, sdk)) => command(&[0x32, 0, platform, minos, sdk, 0]),
            None => command(&[0x24, 0, 0x000b_0000, 0]),
        });
        let place = |at: usize| [places.tables[at].0 as u32, places.tables[at].1 as u32];
        let two = |code: u32, [start, length]: [u32; 2]| command(&[code, 0, start, length]);
        match &self.imports {
            MadeImports::Chained(..) => {
                commands.push(two(0x8000_0034, place(0)));
                if !self.no_trie {
                    commands.push(two(0x8000_0033, place(3)));
                }
            }
            MadeImports::Opcodes(..) | MadeImports::Raw(..) => {
                let [bind, weak, lazy, trie] = [0, 1, 2, 3].map(place);
                commands.push(command(&[&[0x8000_0022, 0, 0, 0], &bind[..], &weak, &lazy, &trie].concat()));
            }
            MadeImports::Symbols(_) | MadeImports::None if !self.no_trie => {
                commands.push(two(0x8000_0033, place(3)));
            }
            MadeImports::Symbols(_) | MadeImports::None => {}
        }
        let ([symbols, length], [strings, strings_length]) = (place(4), place(5));
        commands.push(command(&[0x02, 0, symbols, length / 16, strings, strings_length]));
        if self.signature.is_some() {
            commands.push(two(0x1d, [places.signature.0 as u32, places.signature.1 as u32]));
        }
        commands.extend(self.commands.iter().cloned());
        commands
    }
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Makes a load command of numbers; its size is filled in.
pub(crate) fn command(numbers_: &[u32]) -> Vec<u8> {
    let mut bytes = numbers(numbers_);
    let length = bytes.len() as u32;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn with_text(start: &[u32], text: &str) -> Vec<u8> {
    let mut bytes = numbers(start);
    bytes.extend(text.as_bytes());
    bytes.resize((bytes.len() + 1).next_multiple_of(8), 0);
    let length = bytes.len() as u32;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn name16(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

/// Makes a segment with sections: name, place, length, flags.
fn segment(name: &str, address: u64, start: usize, length: usize, sections: &[(&str, usize, usize, u32)]) -> Vec<u8> {
    let mut bytes = numbers(&[0x19, 0]);
    bytes.extend(name16(name));
    for number in [address, length as u64, start as u64, length as u64] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(numbers(&[7, 5, sections.len() as u32, 0]));
    for (section, at, length, flags) in sections {
        bytes.extend(name16(section));
        bytes.extend(name16(name));
        bytes.extend((BASE + *at as u64).to_le_bytes());
        bytes.extend((*length as u64).to_le_bytes());
        bytes.extend(numbers(&[*at as u32, 0, 0, 0, *flags, 0, 0, 0]));
    }
    let length = bytes.len() as u32;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    bytes
}

pub(crate) fn uleb(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let part = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(part);
            return bytes;
        }
        bytes.push(part | 0x80);
    }
}

/// Makes the opcodes for imports, each bound once.
fn opcodes(imports: &[MadeImport], lazy: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, (ordinal, name, weak)) in imports.iter().enumerate() {
        bytes.extend([0x70, at as u8 * 8]);
        match ordinal {
            ..=0 => bytes.push(0x30 | (*ordinal as u8 & 0x0f)),
            1..=15 => bytes.push(0x10 | *ordinal as u8),
            _ => {
                bytes.push(0x20);
                bytes.extend(uleb(*ordinal as u64));
            }
        }
        bytes.push(0x40 | u8::from(*weak));
        bytes.extend(name.as_bytes());
        bytes.extend([0, 0x51, 0x90]);
        if lazy {
            bytes.push(0);
        }
    }
    // The linker fills up with the end.
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

fn chained(format: u32, imports: &[MadeImport]) -> Vec<u8> {
    let (mut table, mut strings) = (Vec::new(), vec![0]);
    for (ordinal, name, weak) in imports {
        let at = strings.len() as u64;
        strings.extend(name.as_bytes());
        strings.push(0);
        let weak = u64::from(*weak);
        match format {
            1 | 2 => table.extend(((*ordinal as u8 as u64 | weak << 8 | at << 9) as u32).to_le_bytes()),
            _ => table.extend((*ordinal as u16 as u64 | weak << 16 | at << 32).to_le_bytes()),
        }
        match format {
            1 => {}
            2 => table.extend(7_u32.to_le_bytes()),
            _ => table.extend(7_u64.to_le_bytes()),
        }
    }
    let symbols = 28 + table.len() as u32;
    let mut bytes = numbers(&[0, 28, 28, symbols, imports.len() as u32, format, 0]);
    bytes.extend(table);
    bytes.extend(strings);
    bytes
}

/// Makes a trie. A name that others begin with stands behind an empty edge, as newer linkers put it.
pub(crate) fn trie(exports: &BTreeMap<&'static str, MadeExport>) -> Vec<u8> {
    if exports.is_empty() {
        return Vec::new();
    }
    let terminal = |export: &MadeExport| match export {
        MadeExport::At(address) => [vec![0], uleb(*address)].concat(),
        MadeExport::Other(ordinal, name) => [vec![8], uleb(*ordinal), name.as_bytes().to_vec(), vec![0]].concat(),
    };
    let names: Vec<(&[u8], Vec<u8>)> =
        exports.iter().map(|(name, export)| (name.as_bytes(), terminal(export))).collect();
    let mut bytes = Vec::new();
    node(&names, &mut bytes);
    bytes
}

/// Writes the node for names that all are left from here, and what is below it; offsets have three bytes.
fn node(names: &[(&[u8], Vec<u8>)], bytes: &mut Vec<u8>) {
    if let [(b"", terminal)] = names {
        bytes.extend(uleb(terminal.len() as u64));
        bytes.extend(terminal);
        bytes.push(0);
        return;
    }
    // By first letter; the empty name by itself.
    let mut groups: Vec<Vec<(&[u8], Vec<u8>)>> = Vec::new();
    for (name, terminal) in names {
        let same = |group: &&mut Vec<(&[u8], Vec<u8>)>| group[0].0.first() == name.first();
        match groups.iter_mut().find(same) {
            Some(group) => group.push((name, terminal.clone())),
            None => groups.push(vec![(name, terminal.clone())]),
        }
    }
    bytes.extend([0, groups.len() as u8]);
    let mut open = Vec::new();
    for group in groups {
        let first = group[0].0;
        let length =
            (0..=first.len()).rev().find(|length| group.iter().all(|(name, _)| name.starts_with(&first[..*length])));
        let label = &first[..length.unwrap()];
        bytes.extend(label);
        bytes.push(0);
        open.push((bytes.len(), label.len(), group));
        bytes.extend([0; 3]);
    }
    for (at, length, group) in open {
        let here = bytes.len();
        let offset = [here as u8 & 0x7f | 0x80, (here >> 7) as u8 & 0x7f | 0x80, (here >> 14) as u8];
        bytes[at..at + 3].copy_from_slice(&offset);
        let rest: Vec<(&[u8], Vec<u8>)> =
            group.into_iter().map(|(name, terminal)| (&name[length..], terminal)).collect();
        node(&rest, bytes);
    }
}

/// Makes the signature of all bytes before it.
fn sign(code: &[u8], signature: MadeSignature) -> Vec<u8> {
    const HEADER: u32 = 88;
    let big = |numbers: &[u32]| -> Vec<u8> { numbers.iter().flat_map(|number| number.to_be_bytes()).collect() };
    let pages: Vec<&[u8]> = code.chunks(1 << signature.page).collect();
    let directory = |hash: u8, size: u8| {
        let length = HEADER + 5 + pages.len() as u32 * u32::from(size);
        let mut bytes = big(&[0xfade_0c02, length, 0x0002_0400, 0x0002_0002, HEADER + 5, HEADER, 0]);
        bytes.extend(big(&[pages.len() as u32, code.len() as u32]));
        bytes.extend([size, hash, 0, signature.page]);
        bytes.resize(HEADER as usize, 0);
        bytes.extend(b"made\0");
        for page in &pages {
            bytes.extend(&Sha256::of(page).as_bytes()[..size as usize]);
        }
        bytes
    };
    let mut blobs = vec![(0, directory(2, 32))];
    if signature.alternate {
        blobs = vec![(0, directory(1, 20)), (0x1000, directory(2, 32))];
    }
    let mut at = 12 + 8 * blobs.len() as u32;
    let length = at + blobs.iter().map(|(_, blob)| blob.len() as u32).sum::<u32>();
    let mut bytes = big(&[0xfade_0cc0, length, blobs.len() as u32]);
    for (slot, blob) in &blobs {
        bytes.extend(big(&[*slot, at]));
        at += blob.len() as u32;
    }
    bytes.extend(blobs.into_iter().flat_map(|(_, blob)| blob));
    bytes
}

/// Makes a fat file of images with what they are for.
pub(crate) fn fat(slices: &[((u32, u32), Vec<u8>)], wide: bool) -> Vec<u8> {
    let big = |number: u32| number.to_be_bytes();
    let mut bytes = [big(if wide { 0xcafe_babf } else { 0xcafe_babe }), big(slices.len() as u32)].concat();
    let mut at = 0x1000_usize;
    for (cpu, slice) in slices {
        bytes.extend([big(cpu.0), big(cpu.1)].concat());
        if wide {
            bytes.extend([(at as u64).to_be_bytes(), (slice.len() as u64).to_be_bytes()].concat());
            bytes.extend([big(12), big(0)].concat());
        } else {
            bytes.extend([big(at as u32), big(slice.len() as u32), big(12)].concat());
        }
        at = (at + slice.len()).next_multiple_of(0x1000);
    }
    for (_, slice) in slices {
        bytes.resize(bytes.len().next_multiple_of(0x1000), 0);
        bytes.extend(slice);
    }
    bytes
}
