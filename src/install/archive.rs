//! The zip archive that a wheel is: its directory, held against the header before each entry, and the bytes of entries.
//!
//! An archive that two readers could understand differently is refused: with bytes before or after, with a second
//! directory, with headers that contradict the directory, with entries that lie over each other or that the directory
//! does not name. The format is PKWARE's APPNOTE.TXT. Knows nothing of wheels.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use super::content::{Content, Packed};
use super::fault::Fault;

/// The largest directory.
const DIRECTORY_LIMIT: u64 = 256 << 20;

/// The most bytes between two entries that belong to neither.
const GAP_LIMIT: u64 = 64 << 10;

const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const IN_DIRECTORY: &[u8] = b"PK\x01\x02";
const HEADER: &[u8] = b"PK\x03\x04";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";

/// Bits of the flags: encrypted in one way or another.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// Sizes and checksum stand behind the bytes too.
const DESCRIBED: u16 = 1 << 3;
/// The bytes are changes to a file.
const PATCH: u16 = 1 << 5;
/// The name is UTF-8.
const UTF8: u16 = 1 << 11;

/// A file or folder in an archive.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// As written; it may be anything that is UTF-8.
    pub(super) path: String,
    /// Of its content.
    pub(super) size: u64,
    /// What a Unix keeps of it, 0 for nothing.
    pub(super) mode: u32,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u64,
    header: u64,
    /// Where its packed bytes begin; known once the header was read.
    data: u64,
}

/// An archive whose directory and headers agree.
#[derive(Debug)]
pub(super) struct Archive<R> {
    reader: R,
    /// Of the whole archive.
    pub(super) length: u64,
    /// In the order of the directory.
    pub(super) entries: Vec<Entry>,
}

fn not_zip(reason: &'static str) -> Fault {
    Fault::NotZip { reason }
}

/// Takes numbers from the front of some bytes.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(not_zip("a record is cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, Fault> {
        Ok(u16::from_le_bytes(self.take(2)?.try_into().expect("two bytes")))
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the directory and every header.
    pub(super) fn open(mut reader: R) -> Result<Self, Fault> {
        let length = reader.seek(SeekFrom::End(0)).map_err(Fault::Read)?;
        let (start, size, count) = find_directory(&mut reader, length)?;
        if size > DIRECTORY_LIMIT {
            return Err(not_zip("its directory is too large"));
        }
        let bytes = read_at(&mut reader, start, size as usize)?;
        let mut fields = Fields(&bytes);
        let mut entries = Vec::new();
        while !fields.0.is_empty() {
            entries.push(Entry::read(&mut fields)?);
        }
        if entries.len() as u64 != count {
            return Err(not_zip("its directory has another number of entries than it says"));
        }
        let mut archive = Self { reader, length, entries };
        archive.check_headers(start)?;
        Ok(archive)
    }

    /// Holds the header before each entry against the directory, and the entries against each other.
    fn check_headers(&mut self, directory: u64) -> Result<(), Fault> {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|at| self.entries[*at].header);
        let mut end = 0;
        for at in order {
            let entry = &mut self.entries[at];
            if entry.header < end {
                return Err(Fault::Overlap { entry: entry.path.clone() });
            }
            if entry.header > directory {
                return Err(Fault::Header { entry: entry.path.clone(), what: "place" });
            }
            check_gap(&mut self.reader, end, entry.header)?;
            end = entry.check_header(&mut self.reader, directory)?;
        }
        check_gap(&mut self.reader, end, directory)
    }

    /// Hands on the content of an entry piece by piece, and checks size and checksum against what was declared.
    pub(super) fn unpack<E: From<Fault>>(
        &mut self,
        at: usize,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let entry = &self.entries[at];
        let broken = |reason: String| Fault::Damaged { entry: entry.path.clone(), reason };
        self.reader.seek(SeekFrom::Start(entry.data)).map_err(Fault::Read)?;
        let mut packed = BufReader::with_capacity(64 << 10, Read::take(&mut self.reader, entry.packed));
        let mut inflated;
        let content: &mut dyn Read = if entry.method == 0 {
            &mut packed
        } else {
            inflated = flate2::bufread::DeflateDecoder::new(&mut packed);
            &mut inflated
        };
        let (mut crc, mut size) = (flate2::Crc::new(), 0_u64);
        let mut block = vec![0; (64 << 10).min(entry.size as usize + 1)];
        loop {
            let read = match content.read(&mut block) {
                Ok(0) => break,
                Ok(read) => read,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(broken(cause.to_string()).into()),
            };
            size += read as u64;
            if size > entry.size {
                return Err(Fault::Size { entry: entry.path.clone(), declared: entry.size }.into());
            }
            crc.update(&block[..read]);
            sink(&block[..read])?;
        }
        if size != entry.size {
            return Err(Fault::Size { entry: entry.path.clone(), declared: entry.size }.into());
        }
        if crc.sum() != entry.crc {
            return Err(broken("its checksum is another".to_owned()).into());
        }
        if packed.buffer().len() as u64 + packed.get_ref().limit() > 0 {
            return Err(broken("there are bytes behind its content".to_owned()).into());
        }
        Ok(())
    }

    /// Opens an entry as a file, unchecked.
    pub(super) fn content(&mut self, at: usize) -> Content<'_, R> {
        let entry = &self.entries[at];
        let packed = Packed { start: entry.data, length: entry.packed, size: entry.size, deflated: entry.method != 0 };
        Content::new(&mut self.reader, packed)
    }

    /// Reads an entry of at most `limit` bytes whole.
    pub(super) fn read(&mut self, at: usize, limit: u64) -> Result<Vec<u8>, Fault> {
        let entry = &self.entries[at];
        if entry.size > limit {
            return Err(Fault::TooLarge { entry: entry.path.clone(), limit });
        }
        let mut bytes = Vec::with_capacity(entry.size as usize);
        self.unpack(at, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok::<(), Fault>(())
        })?;
        Ok(bytes)
    }
}

fn read_at<R: Read + Seek>(reader: &mut R, at: u64, length: usize) -> Result<Vec<u8>, Fault> {
    reader.seek(SeekFrom::Start(at)).map_err(Fault::Read)?;
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).map_err(|cause| match cause.kind() {
        io::ErrorKind::UnexpectedEof => not_zip("it is cut short"),
        _ => Fault::Read(cause),
    })?;
    Ok(bytes)
}

/// Finds the directory: where it begins, its size, how many entries it says it has.
fn find_directory<R: Read + Seek>(reader: &mut R, length: u64) -> Result<(u64, u64, u64), Fault> {
    const RECORD: usize = 22;
    const LOCATOR: u64 = 20;
    let tail_length = length.min(RECORD as u64 + u64::from(u16::MAX));
    let tail = read_at(reader, length - tail_length, tail_length as usize)?;
    let fits = |at: &usize| {
        let comment = tail.get(at + RECORD - 2..at + RECORD);
        tail[*at..].starts_with(END)
            && comment.is_some_and(|size| {
                usize::from(u16::from_le_bytes(size.try_into().expect("two bytes"))) == tail.len() - at - RECORD
            })
    };
    let mut ends = (0..tail.len().saturating_sub(RECORD - 1)).filter(fits);
    let at = ends.next().ok_or(not_zip("it does not end with the end of a directory"))?;
    if ends.next().is_some() {
        return Err(not_zip("it has two ends"));
    }
    let end = length - tail_length + at as u64;
    let mut fields = Fields(&tail[at + 4..]);
    let (disk, first_disk) = (fields.u16()?, fields.u16()?);
    let (here, count) = (fields.u16()?, fields.u16()?);
    let (size, start) = (fields.u32()?, fields.u32()?);

    let locator = match end.checked_sub(LOCATOR) {
        Some(at) => Some(read_at(reader, at, LOCATOR as usize)?).filter(|bytes| bytes.starts_with(LOCATOR_64)),
        None => None,
    };
    let Some(locator) = locator else {
        if disk != 0 || first_disk != 0 || here != count {
            return Err(not_zip("it is one part of several"));
        }
        let (size, start) = (u64::from(size), u64::from(start));
        if start.checked_add(size) != Some(end) {
            return Err(not_zip("its directory is not where it says"));
        }
        return Ok((start, size, count.into()));
    };

    let mut fields = Fields(&locator[4..]);
    let (first_disk, at, disks) = (fields.u32()?, fields.u64()?, fields.u32()?);
    const LEAST: u64 = 56;
    let room = (end - LOCATOR).checked_sub(at).filter(|room| (LEAST..=LEAST + GAP_LIMIT).contains(room));
    let room = room.ok_or(not_zip("its 64-bit end is not where it says"))?;
    let record = read_at(reader, at, room as usize)?;
    let mut fields = Fields(&record);
    if fields.take(4)? != END_64 || fields.u64()? != room - 12 {
        return Err(not_zip("its 64-bit end is not where it says"));
    }
    fields.take(4)?;
    let (disk, directory_disk) = (fields.u32()?, fields.u32()?);
    let (here, whole) = (fields.u64()?, fields.u64()?);
    let (size_64, start_64) = (fields.u64()?, fields.u64()?);
    if disk != 0 || directory_disk != 0 || first_disk != 0 || disks > 1 || here != whole {
        return Err(not_zip("it is one part of several"));
    }
    // Where the old record has room it must say the same.
    let same = |old: u32, most: u32, new: u64| old == most || u64::from(old) == new;
    let agree =
        same(count.into(), u16::MAX.into(), whole) && same(size, u32::MAX, size_64) && same(start, u32::MAX, start_64);
    if !agree || start_64.checked_add(size_64) != Some(at) {
        return Err(not_zip("its directory is not where it says"));
    }
    Ok((start_64, size_64, whole))
}

/// Refuses an entry that stands between those of the directory.
fn check_gap<R: Read + Seek>(reader: &mut R, from: u64, to: u64) -> Result<(), Fault> {
    let Some(length) = to.checked_sub(from).filter(|length| *length > 0) else { return Ok(()) };
    if length > GAP_LIMIT {
        return Err(Fault::Hidden { at: from });
    }
    let bytes = read_at(reader, from, length as usize)?;
    match bytes.windows(HEADER.len()).position(|bytes| bytes == HEADER) {
        Some(at) => Err(Fault::Hidden { at: from + at as u64 }),
        None => Ok(()),
    }
}

/// What 64-bit sizes stand in the extra fields of an entry, and a name that would replace the one in the header.
struct Extra<'a> {
    zip64: Option<Fields<'a>>,
    name: Option<&'a [u8]>,
}

impl<'a> Extra<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut found = Self { zip64: None, name: None };
        let mut fields = Fields(bytes);
        // Fewer than four bytes are padding, which old tools for Android left.
        while fields.0.len() >= 4 {
            let (kind, length) = (fields.u16()?, fields.u16()?);
            let content = fields.take(length.into())?;
            match kind {
                1 if found.zip64.is_some() => return Err(not_zip("an entry has two 64-bit sizes")),
                1 => found.zip64 = Some(Fields(content)),
                0x7075 => found.name = content.get(5..),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Returns a size, or the one that stands in for it.
    fn wide(&mut self, narrow: u32) -> Result<u64, Fault> {
        match &mut self.zip64 {
            Some(fields) if narrow == u32::MAX => fields.u64(),
            _ => Ok(narrow.into()),
        }
    }
}

impl Entry {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        if fields.take(4)? != IN_DIRECTORY {
            return Err(not_zip("its directory holds something else"));
        }
        fields.take(4)?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        fields.take(4)?;
        let (crc, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
        let disk = fields.u16()?;
        fields.take(2)?;
        let (attributes, header) = (fields.u32()?, fields.u32()?);
        let name = fields.take(name.into())?;
        let mut extra = Extra::read(fields.take(extra.into())?)?;
        fields.take(comment.into())?;
        let path = match std::str::from_utf8(name) {
            Ok(path) => path.to_owned(),
            Err(_) => {
                return Err(Fault::Path {
                    entry: String::from_utf8_lossy(name).escape_debug().to_string(),
                    fault: super::names::PathFault::Encoding,
                });
            }
        };
        let size = extra.wide(size)?;
        let packed = extra.wide(packed)?;
        let header = extra.wide(header)?;
        if disk != 0 {
            return Err(not_zip("it is one part of several"));
        }
        if extra.name.is_some_and(|other| other != name) {
            return Err(Fault::Header { entry: path, what: "name" });
        }
        if flags & ENCRYPTED != 0 {
            return Err(Fault::Encrypted { entry: path });
        }
        if !matches!(method, 0 | 8) || flags & PATCH != 0 {
            return Err(Fault::Compression { entry: path, method });
        }
        if method == 0 && size != packed {
            return Err(Fault::Size { entry: path, declared: size });
        }
        Ok(Self { path, size, mode: attributes >> 16, flags, method, crc, packed, header, data: 0 })
    }

    /// Whether it says of itself that it is a folder.
    pub(super) fn is_folder(&self) -> bool {
        self.path.ends_with('/')
    }

    /// Reads the header; returns where the entry ends.
    fn check_header<R: Read + Seek>(&mut self, reader: &mut R, directory: u64) -> Result<u64, Fault> {
        let differs = |what| Fault::Header { entry: self.path.clone(), what };
        const FIXED: u64 = 30;
        if self.header.checked_add(FIXED).is_none_or(|end| end > directory) {
            return Err(differs("place"));
        }
        // Mostly name and extra fields come with the first read.
        let most = (directory - self.header).min(FIXED + self.path.len() as u64 + 64);
        let mut bytes = read_at(reader, self.header, most as usize)?;
        let mut fields = Fields(&bytes);
        if fields.take(4)? != HEADER {
            return Err(differs("place"));
        }
        fields.take(2)?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        fields.take(4)?;
        let (crc, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let (name, extra) = (usize::from(fields.u16()?), usize::from(fields.u16()?));
        let whole = FIXED as usize + name + extra;
        self.data = self.header + whole as u64;
        let end = self.data.checked_add(self.packed).filter(|end| *end <= directory).ok_or_else(|| differs("place"))?;
        if whole > bytes.len() {
            bytes = read_at(reader, self.header, whole)?;
        }
        let mut fields = Fields(&bytes[FIXED as usize..whole]);
        let differs = |what| Fault::Header { entry: self.path.clone(), what };
        if fields.take(name)? != self.path.as_bytes() {
            return Err(differs("name"));
        }
        let mut extra = Extra::read(fields.0)?;
        if extra.name.is_some_and(|other| other != self.path.as_bytes()) {
            return Err(differs("name"));
        }
        const COUNTED: u16 = ENCRYPTED | DESCRIBED | PATCH;
        let utf8 = self.path.is_ascii() || (flags ^ self.flags) & UTF8 == 0;
        if flags & COUNTED != self.flags & COUNTED || !utf8 {
            return Err(differs("flags"));
        }
        if method != self.method {
            return Err(differs("compression"));
        }
        let (size, packed) = (extra.wide(size)?, extra.wide(packed)?);
        let described = flags & DESCRIBED != 0;
        let same = |here: u64, there: u64| here == there || described && here == 0;
        if !same(size, self.size) || !same(packed, self.packed) {
            return Err(differs("size"));
        }
        if !same(crc.into(), self.crc.into()) {
            return Err(differs("checksum"));
        }
        if described { self.check_descriptor(reader, end, directory) } else { Ok(end) }
    }

    /// Reads what stands behind the bytes of an entry that was written in one go, in one of the four forms it has.
    fn check_descriptor<R: Read + Seek>(&self, reader: &mut R, at: u64, directory: u64) -> Result<u64, Fault> {
        let bytes = read_at(reader, at, (directory - at).min(24) as usize)?;
        let wide = [&self.packed.to_le_bytes()[..], &self.size.to_le_bytes()[..]].concat();
        let narrow = [&(self.packed as u32).to_le_bytes()[..], &(self.size as u32).to_le_bytes()[..]].concat();
        for marked in [true, false] {
            for sizes in [&narrow, &wide] {
                let mark = if marked { DESCRIPTOR } else { &[] };
                let whole = [mark, &self.crc.to_le_bytes(), sizes].concat();
                // Of an empty entry both widths fit; the rest is a gap of zeros then.
                if bytes.starts_with(&whole) {
                    return Ok(at + whole.len() as u64);
                }
            }
        }
        Err(Fault::Header { entry: self.path.clone(), what: "descriptor" })
    }
}
