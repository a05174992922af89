//! What the header and the load commands of a file say by themselves: no table is read, however large the file is.

use std::io;
use std::io::{Read, Seek, SeekFrom};

use object::LittleEndian;
use object::macho;
use object::read::macho::{LoadCommandVariant, MachHeader as _};

use super::super::image::{Architecture, Version};
use super::form::{self, Form, Found, LONGEST_PREFIX};
use super::{Trouble, read_head};

const LITTLE: LittleEndian = LittleEndian;

/// What is told of a Mach-O file without reading on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// What its slices are for, in order.
    pub architectures: Vec<Architecture>,
    /// Whether the slice for arm64 has a signature; `None` where there is no such slice, or one that makes no sense.
    pub signed: Option<bool>,
    /// What that slice calls itself.
    pub install_name: Option<String>,
    /// The version that it says it has; libraries that say none have 0.0.
    pub version: Option<Version>,
}

/// Reads the head of a file of `size` bytes; `None` where it is no Mach-O.
///
/// # Errors
/// When its bytes cannot be had.
pub fn head<R: Read + Seek>(size: u64, reader: &mut R) -> io::Result<Option<Head>> {
    reader.seek(SeekFrom::Start(0))?;
    let mut prefix = vec![0; size.min(LONGEST_PREFIX as u64) as usize];
    reader.read_exact(&mut prefix)?;
    let Some(Form { architectures, found }) = form::read(&prefix, size) else { return Ok(None) };
    let mut head = Head { architectures, signed: None, install_name: None, version: None };
    let Found::Slice(place) = found else { return Ok(Some(head)) };
    match read_head(reader, &place) {
        // What makes no sense tells nothing further.
        Ok(bytes) => _ = head.add(&bytes),
        Err(Trouble::Malformed(_)) => {}
        Err(Trouble::Read(cause)) => return Err(cause),
    }
    Ok(Some(head))
}

impl Head {
    fn add(&mut self, bytes: &[u8]) -> Result<(), object::read::Error> {
        let header = macho::MachHeader64::<LittleEndian>::parse(bytes, 0)?;
        let mut signed = false;
        let mut commands = header.load_commands(LITTLE, bytes, 0)?;
        while let Some(command) = commands.next()? {
            match command.variant()? {
                LoadCommandVariant::IdDylib(dylib) => {
                    let name = command.string(LITTLE, dylib.dylib.name)?;
                    self.install_name = Some(String::from_utf8_lossy(name).into_owned());
                    self.version = Some(Version(dylib.dylib.current_version.get(LITTLE).0));
                }
                LoadCommandVariant::LinkeditData(_) if command.cmd() == macho::LC_CODE_SIGNATURE => signed = true,
                _ => {}
            }
        }
        self.signed = Some(signed);
        Ok(())
    }
}
