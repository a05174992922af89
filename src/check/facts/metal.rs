//! The header of a metal library, as far as it tells which system the library is for.
//!
//! Apple does not document it; what stands here was read from the libraries of MLX, whose builds for macOS 13, 14, 15 and 26
//! say 13.5, 14.0, 15.0 and 26.2 as their dylibs do. It agrees with <https://github.com/YuAo/MetalLibraryArchive>.

use super::image::{Build, Platform, Version};

/// How it begins.
pub(super) const MAGIC: &[u8] = b"MTLB";

/// How much of it tells the system.
pub(super) const HEADER: usize = 24;

/// The byte that tells the system, and its value for macOS.
const SYSTEM: usize = 11;
const MACOS: u8 = 0x81;

/// Reads the system that a library of `size` bytes is for; `None` where the header is of another form.
pub(super) fn target(header: &[u8], size: u64) -> Option<Build> {
    let header: &[u8; HEADER] = header.first_chunk()?;
    let declared = u64::from_le_bytes(header[16..24].try_into().ok()?);
    if !header.starts_with(MAGIC) || declared != size {
        return None;
    }
    let platform = if header[SYSTEM] == MACOS { Platform::MacOs } else { Platform::Other(header[SYSTEM].into()) };
    let major = u16::from_le_bytes([header[12], header[13]]);
    let minor = u8::try_from(u16::from_le_bytes([header[14], header[15]])).ok()?;
    (major > 0).then(|| Build { platform, minos: Version::new(major, minor, 0), sdk: Version::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_stands_in_the_header() {
        let mut header = *b"MTLB\x01\x80\x02\x00\x09\x00\x00\x81\x0f\x00\x02\x00\x00\x10\0\0\0\0\0\0";
        let target = |header: &[u8], size| target(header, size);
        let build = Build { platform: Platform::MacOs, minos: Version::new(15, 2, 0), sdk: Version::default() };
        assert_eq!(target(&header, 4096), Some(build));
        assert_eq!(target(&header, 4097), None);
        assert_eq!(target(&header[..23], 4096), None);
        header[11] = 0x82;
        assert_eq!(target(&header, 4096).unwrap().platform, Platform::Other(0x82));
        header[12] = 0;
        assert_eq!(target(&header, 4096), None);
        header[0] = b'm';
        assert_eq!(target(&header, 4096), None);
    }
}
