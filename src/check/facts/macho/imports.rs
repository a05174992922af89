//! Imports, from whichever table an image has; and the exports of an image that has only a symbol table.

use std::collections::BTreeMap;

use object::LittleEndian;
use object::macho;
use object::read::macho::{BindOperation, DyldChainedFixups, MachHeader, Nlist as _};

use super::super::exports::{Exports, ReExport};
use super::super::image::{Import, Imports, Ordinal, Table};
use super::walk::Kept;
use super::{Trouble, malformed};

const LITTLE: LittleEndian = LittleEndian;

type Header = macho::MachHeader64<LittleEndian>;

/// The most names that an image imports, and their bytes. TensorFlow's largest library imports a few thousand.
const MOST_NAMES: usize = 1 << 20;
const MOST_BYTES: usize = 256 << 20;

/// Names as they are found, any number of times.
#[derive(Default)]
struct Gathered<'a> {
    imports: Vec<Import<'a>>,
    bytes: usize,
    /// At how many repeats are thrown out.
    tidy_at: usize,
}

impl<'a> Gathered<'a> {
    fn add(&mut self, ordinal: i32, name: &'a [u8], weak: bool, lazy: bool) -> Result<(), Trouble> {
        // Time is spent on each name by its length, also where they share bytes.
        self.bytes += name.len() + 1;
        let name = std::str::from_utf8(name).map_err(|_| malformed("it imports a name that is no text"))?;
        self.imports.push(Import { ordinal: Ordinal::from(ordinal), name, weak, lazy });
        if self.bytes > MOST_BYTES {
            return Err(malformed("it imports more names than any"));
        }
        if self.imports.len() >= self.tidy_at.max(MOST_NAMES) {
            self.imports.sort_unstable();
            self.imports.dedup();
            if self.imports.len() > MOST_NAMES {
                return Err(malformed("it imports more names than any"));
            }
            self.tidy_at = MOST_NAMES * 2;
        }
        Ok(())
    }
}

/// Reads the imports table of chained fixups; the chains themselves say nothing new.
pub(super) fn chained(command: &macho::LinkeditDataCommand<LittleEndian>, kept: &Kept) -> Result<Imports, Trouble> {
    // An image without fixups may have the command and no bytes.
    if command.datasize.get(LITTLE) == 0 {
        return Ok(Imports::new(Table::Chained, []));
    }
    let fixups: DyldChainedFixups<'_, _> = command.chained_fixups(LITTLE, kept)?;
    let mut gathered = Gathered::default();
    if fixups.header().imports_count.get(LITTLE) > 0 {
        let mut imports = fixups.imports(LITTLE)?;
        while let Some(import) = imports.next()? {
            gathered.add(import.dylib.0, import.name, import.weak_import, false)?;
        }
    }
    Ok(Imports::new(Table::Chained, gathered.imports))
}

/// Walks the bind opcodes, those for all at once and the lazy ones. Those for weak binding are left out: dyld falls back to
/// the ordinary bind of the same address, so that they cannot fail; TensorFlow has 150,000.
pub(super) fn opcodes(command: &macho::DyldInfoCommand<LittleEndian>, kept: &Kept) -> Result<Imports, Trouble> {
    let mut gathered = Gathered::default();
    for lazy in [false, true] {
        let mut operations =
            if lazy { command.lazy_bind_operations(LITTLE, kept)? } else { command.bind_operations(LITTLE, kept)? };
        let (mut ordinal, mut name, mut weak) = (0, None, false);
        // Many places bind one name, one after the other.
        let mut bound = false;
        while let Some((_, operation)) = operations.next()? {
            match operation {
                // It separates lazy binds; elsewhere it is the end.
                BindOperation::Done if lazy => {}
                BindOperation::Done => break,
                BindOperation::SetDylibOrdinal { ordinal: new } => {
                    let new = i32::try_from(new).map_err(|_| malformed("it binds to a library without a number"))?;
                    bound &= ordinal == new;
                    ordinal = new;
                }
                BindOperation::SetDylibSpecial { ordinal: new } => {
                    bound &= ordinal == new.0;
                    ordinal = new.0;
                }
                BindOperation::SetSymbol { flags, name: new } => {
                    weak = flags.contains(macho::BIND_SYMBOL_FLAGS_WEAK_IMPORT);
                    name = Some(new);
                    bound = false;
                }
                BindOperation::DoBind
                | BindOperation::DoBindAddAddr { .. }
                | BindOperation::DoBindAddAddrScaled { .. }
                | BindOperation::DoBindTimesSkipping { .. } => {
                    let name = name.ok_or_else(|| malformed("it binds a name that it does not say"))?;
                    if !bound {
                        gathered.add(ordinal, name, weak, lazy)?;
                    }
                    bound = true;
                }
                BindOperation::SetType { .. }
                | BindOperation::SetAddend { .. }
                | BindOperation::SetSegmentAndOffset { .. }
                | BindOperation::AddAddr { .. } => {}
            }
        }
    }
    Ok(Imports::new(Table::Opcodes, gathered.imports))
}

/// Reads the undefined names of a symbol table.
pub(super) fn undefined(
    command: &macho::SymtabCommand<LittleEndian>,
    kept: &Kept,
    two_level: bool,
) -> Result<Imports, Trouble> {
    let symbols = command.symbols::<Header, _>(LITTLE, kept)?;
    let mut gathered = Gathered::default();
    for symbol in symbols.iter().filter(|symbol| symbol.is_undefined() && is_external(symbol)) {
        // The table has its own numbers for what has none.
        let ordinal = match symbol.library_ordinal(LITTLE) {
            _ if !two_level => macho::BIND_SPECIAL_DYLIB_FLAT_LOOKUP.0,
            macho::DYNAMIC_LOOKUP_ORDINAL => macho::BIND_SPECIAL_DYLIB_FLAT_LOOKUP.0,
            macho::EXECUTABLE_ORDINAL => macho::BIND_SPECIAL_DYLIB_MAIN_EXECUTABLE.0,
            library => library.0.into(),
        };
        let weak = symbol.n_desc(LITTLE).contains(macho::N_WEAK_REF);
        gathered.add(ordinal, symbol.name(LITTLE, symbols.strings())?, weak, false)?;
    }
    Ok(Imports::new(Table::Symbols, gathered.imports))
}

/// Reads the external names of a symbol table that the image itself has.
pub(super) fn defined(command: &macho::SymtabCommand<LittleEndian>, kept: &Kept) -> Result<Exports, Trouble> {
    let symbols = command.symbols::<Header, _>(LITTLE, kept)?;
    let (mut names, mut bytes) = (BTreeMap::<String, Option<ReExport>>::new(), 0);
    for symbol in symbols.iter().filter(|symbol| !symbol.is_undefined() && is_external(symbol)) {
        let name = symbol.name(LITTLE, symbols.strings())?;
        bytes += name.len() + 1;
        if bytes > MOST_BYTES {
            return Err(malformed("it exports more names than any"));
        }
        names.insert(String::from_utf8_lossy(name).into_owned(), None);
    }
    Ok(Exports::Names(names))
}

/// Whether other images can see a symbol.
fn is_external(symbol: &<Header as MachHeader>::Nlist) -> bool {
    let flags = symbol.n_type();
    !symbol.is_stab() && flags.contains(macho::N_EXT) && !flags.contains(macho::N_PEXT)
}
