//! Reads a Mach-O file: bytes in, an [`Image`] out.
//!
//! ```text
//! form (thin, fat, none) -> commands (Layout) -> walk, once over the slice -> imports, exports, signature, markers
//! ```
//!
//! Wheels are read while they are inflated, so that of a library of 647 MB only its tables are ever in memory: the load
//! commands at its start tell where those are, and one walk to its end keeps them, hashes pages and looks for texts on the
//! way. `object` knows the structures; what it would have to hold a whole file for is done here.
//!
//! Every byte may lie. Sizes are held against the file before anything is kept, each table has a limit, and time grows
//! with the bytes alone.

mod commands;
mod form;
mod head;
mod imports;
mod markers;
mod pjrt;
mod signature;
mod walk;

use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use form::{Form, Found, LONGEST_PREFIX};

pub use form::may_be;
pub use head::{Head, head};

use super::exports::Trie;
use super::image::{Image, Signature, Slice, Unloadable};
use super::{Exports, Imports};
use commands::{ExportsAt, ImportsAt, Layout};
use walk::Walk;

/// The largest table that is kept. TensorFlow's bind opcodes are 50 MB.
const LARGEST_TABLE: u64 = 192 << 20;

/// The most load commands, in bytes. Those of everyday libraries stay below 10 KB.
const MOST_COMMANDS: u32 = 4 << 20;

/// Whether pages are held against the signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pages {
    /// All are read and hashed.
    Hashed,
    /// They are not: what is not needed otherwise is skipped.
    Skipped,
}

/// Why an image came to nothing.
#[derive(Debug)]
enum Trouble {
    /// Its bytes could not be had.
    Read(io::Error),
    /// Its bytes make no sense: what, as a phrase.
    Malformed(String),
}

impl From<io::Error> for Trouble {
    fn from(cause: io::Error) -> Self {
        Self::Read(cause)
    }
}

impl From<object::read::Error> for Trouble {
    fn from(error: object::read::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

fn malformed(reason: impl Into<String>) -> Trouble {
    Trouble::Malformed(reason.into())
}

/// Reads a file of `size` bytes; `None` where it is no Mach-O.
///
/// # Errors
/// When its bytes cannot be had. That they make no sense is part of the answer.
pub fn read<R: Read + Seek>(path: &str, size: u64, reader: &mut R, pages: Pages) -> io::Result<Option<Image>> {
    reader.seek(SeekFrom::Start(0))?;
    let mut prefix = vec![0; size.min(LONGEST_PREFIX as u64) as usize];
    reader.read_exact(&mut prefix)?;
    let Some(Form { architectures, found }) = form::read(&prefix, size) else { return Ok(None) };
    let slice = match found {
        Found::Slice(place) => match read_slice(reader, place, pages) {
            Ok(slice) => Ok(slice),
            Err(Trouble::Malformed(reason)) => Err(Unloadable::Malformed(reason)),
            Err(Trouble::Read(cause)) => return Err(cause),
        },
        Found::None => Err(Unloadable::Architecture),
        Found::Malformed(reason) => Err(Unloadable::Malformed(reason.to_owned())),
    };
    Ok(Some(Image { path: path.to_owned(), architectures, slice }))
}

/// Reads the slice at a place of the file.
fn read_slice<R: Read + Seek>(reader: &mut R, place: Range<u64>, pages: Pages) -> Result<Slice, Trouble> {
    let head = read_head(reader, &place)?;
    let size = place.end - place.start;
    let layout = Layout::read(&head, size)?;
    let mut walk = Walk::new(&layout, size, pages)?;
    walk.run(reader, place.start, &head)?;

    let imports = match &layout.imports {
        ImportsAt::Chained(command) => imports::chained(command, &walk.kept)?,
        ImportsAt::Opcodes(command) => imports::opcodes(command, &walk.kept)?,
        ImportsAt::Symbols(command) => imports::undefined(command, &walk.kept, layout.two_level)?,
        ImportsAt::None => Imports::default(),
    };
    let exports = match &layout.exports {
        ExportsAt::Trie(range) => {
            let trie = Trie::of_linker(walk.kept.get(range)).map_err(|error| malformed(error.to_string()))?;
            Exports::Trie(trie)
        }
        ExportsAt::Symbols(command) => imports::defined(command, &walk.kept)?,
        ExportsAt::None => Exports::default(),
    };
    let signature = match (&layout.signature, pages) {
        (None, _) => Signature::Absent,
        (Some(_), Pages::Skipped) => Signature::Unread,
        (Some(range), Pages::Hashed) => {
            signature::check(walk.kept.get(range), &walk.pages, range.start, reader, place.clone())?
        }
    };
    let mut markers = walk.markers.found();
    markers.pjrt = pjrt::read(&exports, &walk.kept, &layout, reader, place)?;
    let Layout { kind, two_level, install_name, dependencies, rpaths, build, .. } = layout;
    Ok(Slice { kind, two_level, install_name, dependencies, rpaths, build, imports, exports, signature, markers })
}

/// Reads the header of a slice and its load commands.
fn read_head<R: Read + Seek>(reader: &mut R, place: &Range<u64>) -> Result<Vec<u8>, Trouble> {
    /// Size of the header, and where in it the size of the commands stands.
    const HEADER: usize = 32;
    const SIZE_OF_COMMANDS: Range<usize> = 20..24;
    let size = place.end - place.start;
    if size < HEADER as u64 {
        return Err(malformed("its header is cut short"));
    }
    reader.seek(SeekFrom::Start(place.start))?;
    let mut head = vec![0; HEADER];
    reader.read_exact(&mut head)?;
    let commands = u32::from_le_bytes(head[SIZE_OF_COMMANDS].try_into().expect("four bytes"));
    if u64::from(commands) > size - HEADER as u64 {
        return Err(malformed("its load commands reach over its end"));
    }
    if commands > MOST_COMMANDS {
        return Err(malformed("its load commands are larger than any"));
    }
    head.resize(HEADER + commands as usize, 0);
    reader.read_exact(&mut head[HEADER..])?;
    Ok(head)
}
