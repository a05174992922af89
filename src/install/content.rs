//! The content of an entry as a file: read while it is inflated, forwards; who goes back begins anew.
//!
//! For those who want a part of a large entry and know the archive's bytes from elsewhere: neither checksum nor RECORD is
//! looked at.

use std::io;
use std::io::{Read, Seek, SeekFrom};

/// How much packed content is read at once.
const BLOCK: u64 = 64 << 10;

/// Where packed content stands in an archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    pub(super) start: u64,
    pub(super) length: u64,
    /// What it inflates to.
    pub(super) size: u64,
    pub(super) deflated: bool,
}

/// The content of a file in a wheel. Ends where the archive says that it does, or fails.
#[derive(Debug)]
pub struct Content<'a, R> {
    reader: &'a mut R,
    packed: Packed,
    inflate: flate2::Decompress,
    /// Packed bytes that were read, those of them that are still to be inflated, and how far reading got.
    input: Vec<u8>,
    left: std::ops::Range<usize>,
    fed: u64,
    /// How much was inflated, and where the next byte is wanted.
    at: u64,
    wanted: u64,
}

impl<'a, R: Read + Seek> Content<'a, R> {
    pub(super) fn new(reader: &'a mut R, packed: Packed) -> Self {
        let inflate = flate2::Decompress::new(false);
        Self { reader, packed, inflate, input: Vec::new(), left: 0..0, fed: 0, at: 0, wanted: 0 }
    }

    /// Returns how many bytes it has.
    pub fn size(&self) -> u64 {
        self.packed.size
    }

    fn restart(&mut self) {
        self.inflate.reset(false);
        (self.left, self.fed, self.at) = (0..0, 0, 0);
    }

    /// Inflates the next bytes, some at least.
    fn inflate(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let damaged = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason);
        loop {
            if self.left.is_empty() {
                let length = (self.packed.length - self.fed).min(BLOCK) as usize;
                self.input.resize(length, 0);
                self.reader.seek(SeekFrom::Start(self.packed.start + self.fed))?;
                self.reader.read_exact(&mut self.input)?;
                self.fed += length as u64;
                self.left = 0..length;
            }
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let input = &self.input[self.left.clone()];
            let status = self.inflate.decompress(input, into, flate2::FlushDecompress::None);
            let status = status.map_err(|error| damaged(&error.to_string()))?;
            let (taken, made) = (self.inflate.total_in() - before_in, self.inflate.total_out() - before_out);
            self.left.start += taken as usize;
            if made > 0 {
                return Ok(made as usize);
            }
            let dry = self.left.is_empty() && self.fed == self.packed.length;
            if status == flate2::Status::StreamEnd || dry || taken == 0 && !self.left.is_empty() {
                return Err(damaged("it ends before its end"));
            }
        }
    }
}

impl<R: Read + Seek> Read for Content<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = self.packed.size.saturating_sub(self.wanted).min(into.len() as u64) as usize;
        if most == 0 {
            return Ok(0);
        }
        if !self.packed.deflated {
            self.reader.seek(SeekFrom::Start(self.packed.start + self.wanted))?;
            let read = self.reader.read(&mut into[..most])?;
            self.wanted += read as u64;
            return Ok(read);
        }
        if self.wanted < self.at {
            self.restart();
        }
        let mut dropped = Vec::new();
        while self.at < self.wanted {
            dropped.resize((self.wanted - self.at).min(BLOCK) as usize, 0);
            self.at += self.inflate(&mut dropped)? as u64;
        }
        let made = self.inflate(&mut into[..most])?;
        self.at += made as u64;
        self.wanted = self.at;
        Ok(made)
    }
}

impl<R: Read + Seek> Seek for Content<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => self.packed.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.wanted.checked_add_signed(by),
        };
        self.wanted = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use super::*;

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    fn read(content: &mut Content<'_, Cursor<Vec<u8>>>, from: u64, length: usize) -> io::Result<Vec<u8>> {
        content.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![0; length];
        content.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn any_part_of_it_forwards_and_back() {
        // Neither inflates at once nor is packed into one block.
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        let whole: Vec<u8> = noise.take(300_000).collect();
        for deflated in [true, false] {
            let bytes = if deflated { packed(&whole) } else { whole.clone() };
            let place = Packed { start: 7, length: bytes.len() as u64, size: whole.len() as u64, deflated };
            let mut archive = Cursor::new([b"before ".to_vec(), bytes, b"behind".to_vec()].concat());
            let mut content = Content::new(&mut archive, place);
            for (from, length) in [(0, 4), (4, 100), (250_000, 50_000), (3, 5), (299_999, 1), (0, 300_000)] {
                let expected = &whole[from..from + length];
                assert!(read(&mut content, from as u64, length).unwrap() == expected, "{deflated} {from}");
            }
            assert!(read(&mut content, 299_999, 2).is_err());
            assert!(read(&mut content, 1 << 40, 1).is_err());
            assert_eq!(content.seek(SeekFrom::End(-1)).unwrap(), 299_999);
            content.seek(SeekFrom::End(-300_001)).unwrap_err();
        }
    }

    #[test]
    fn damage_is_an_error_and_ends() {
        let whole = vec![b'x'; 100_000];
        let bytes = packed(&whole);
        let sized = |length: usize, size: u64| Packed { start: 0, length: length as u64, size, deflated: true };
        let check = |bytes: &[u8], place: Packed| {
            let mut archive = Cursor::new(bytes.to_vec());
            io::copy(&mut Content::new(&mut archive, place), &mut io::sink())
        };
        assert_eq!(check(&bytes, sized(bytes.len(), 100_000)).unwrap(), 100_000);
        // What is behind its size is not asked for.
        assert_eq!(check(&bytes, sized(bytes.len(), 10)).unwrap(), 10);
        check(&bytes, sized(bytes.len(), 100_001)).unwrap_err();
        check(&bytes, sized(bytes.len() / 2, 100_000)).unwrap_err();
        check(&bytes, sized(0, 100_000)).unwrap_err();
        check(&bytes, sized(bytes.len() + 1, 100_000)).unwrap_or_default();
        check(b"\xff\xff\xff", sized(3, 100_000)).unwrap_err();
    }
}
