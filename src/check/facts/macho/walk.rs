//! One walk over a slice, from its start to its end: tables are kept, pages hashed, texts looked for.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use object::read::ReadRef;

use super::commands::{Layout, joined};
use super::markers::Scanner;
use super::signature::PageDigests;
use super::{Pages, Trouble};

/// How much is read at once.
const BLOCK: usize = 128 << 10;

/// Where a walk goes, and what it gathers.
pub(super) struct Walk<'a> {
    pub(super) kept: Kept,
    pub(super) pages: PageDigests,
    pub(super) markers: Scanner,
    data: &'a [Range<u64>],
    /// What is to be read, in order and apart from each other.
    way: Vec<Range<u64>>,
}

/// Tables of a slice, at their places.
pub(super) struct Kept {
    tables: Vec<(Range<u64>, Vec<u8>)>,
    size: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(layout: &'a Layout, size: u64, pages: Pages) -> Result<Self, Trouble> {
        let tables = layout.tables(size)?;
        let hashed = match &layout.signature {
            Some(signature) if pages == Pages::Hashed => 0..signature.start,
            _ => 0..0,
        };
        let mut wanted: Vec<Range<u64>> = tables.clone();
        wanted.push(hashed.clone());
        wanted.extend(layout.data.iter().cloned());
        Ok(Self {
            kept: Kept { tables: tables.into_iter().map(|range| (range, Vec::new())).collect(), size },
            pages: PageDigests::new(hashed.end),
            markers: Scanner::default(),
            data: &layout.data,
            way: joined(wanted),
        })
    }

    /// Walks. The reader stands behind the header and the load commands, which were read already; the slice begins at
    /// `start`.
    pub(super) fn run<R: Read + Seek>(&mut self, reader: &mut R, start: u64, head: &[u8]) -> Result<(), Trouble> {
        let mut stands = head.len() as u64;
        let mut block = vec![0; BLOCK];
        for range in std::mem::take(&mut self.way) {
            let mut at = range.start;
            if at < stands {
                let end = range.end.min(stands);
                self.pass(at, &head[at as usize..end as usize]);
                at = end;
            }
            if at < range.end && at != stands {
                reader.seek(SeekFrom::Start(start + at))?;
                stands = at;
            }
            while at < range.end {
                let length = (range.end - at).min(BLOCK as u64) as usize;
                reader.read_exact(&mut block[..length])?;
                self.pass(at, &block[..length]);
                at += length as u64;
                stands = at;
            }
        }
        Ok(())
    }

    fn pass(&mut self, at: u64, block: &[u8]) {
        let end = at + block.len() as u64;
        let part = |range: &Range<u64>| {
            let (from, to) = (range.start.max(at), range.end.min(end));
            (from < to).then(|| &block[(from - at) as usize..(to - at) as usize])
        };
        for (range, bytes) in &mut self.kept.tables {
            bytes.extend_from_slice(part(range).unwrap_or_default());
        }
        self.pages.pass(at, block);
        let first = self.data.partition_point(|range| range.end <= at);
        for range in self.data[first..].iter().take_while(|range| range.start < end) {
            self.markers.pass(range.start.max(at), part(range).unwrap_or_default());
        }
    }
}

impl Kept {
    /// Returns a table that was to be kept.
    pub(super) fn get(&self, range: &Range<u64>) -> &[u8] {
        self.tables.iter().find(|(kept, _)| kept == range).map_or(&[], |(_, bytes)| bytes)
    }
}

/// As `object` reads a file: by places in it, of which those in tables are there.
impl<'a> ReadRef<'a> for &'a Kept {
    fn len(self) -> Result<u64, ()> {
        Ok(self.size)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size == 0 {
            return Ok(&[]);
        }
        let end = offset.checked_add(size).ok_or(())?;
        let holds = |(range, bytes): &&'a (Range<u64>, Vec<u8>)| {
            range.start <= offset && end <= range.end && bytes.len() as u64 == range.end - range.start
        };
        let (range, bytes) = self.tables.iter().find(holds).ok_or(())?;
        Ok(&bytes[(offset - range.start) as usize..(end - range.start) as usize])
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let bytes = self.read_bytes_at(range.start, range.end.checked_sub(range.start).ok_or(())?)?;
        let end = memchr::memchr(delimiter, bytes).ok_or(())?;
        Ok(&bytes[..end])
    }
}
