//! The version of PJRT's C interface that a plugin of jax offers.
//!
//! Nothing but the name `GetPjrtApi` crosses between the plugin and jax: it returns a table that begins with its size, a
//! pointer, and the version. The function is three instructions that make the table's address, so that the table is read
//! from the file. A plugin that does otherwise tells nothing.
//! <https://github.com/openxla/xla/blob/main/xla/pjrt/c/pjrt_c_api.h>

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use super::super::exports::{Export, Exports, address};
use super::super::image::Pjrt;
use super::Trouble;
use super::commands::{ExportsAt, Layout};
use super::walk::Kept;

const NAME: &str = "_GetPjrtApi";

/// Size of the version in the table: itself, a pointer, two numbers.
const VERSION_SIZE: u64 = 24;

/// Reads it, if the image is such a plugin.
pub(super) fn read<R: Read + Seek>(
    exports: &Exports,
    kept: &Kept,
    layout: &Layout,
    reader: &mut R,
    slice: Range<u64>,
) -> Result<Option<Pjrt>, Trouble> {
    let (Some(Export::Own), ExportsAt::Trie(trie)) = (exports.find(NAME), &layout.exports) else { return Ok(None) };
    // Addresses are not among what is kept of exports.
    let Some(offset) = address(kept.get(trie), NAME) else { return Ok(None) };
    let mut bytes_at = |address: u64, bytes: &mut [u8]| -> Result<Option<()>, Trouble> {
        let length = bytes.len() as u64;
        let place = layout.segments.iter().find_map(|segment| {
            let start = segment.file.start.checked_add(address.checked_sub(segment.address)?)?;
            (start.checked_add(length)? <= segment.file.end).then_some(start)
        });
        let Some(place) = place else { return Ok(None) };
        reader.seek(SeekFrom::Start(slice.start + place))?;
        reader.read_exact(bytes)?;
        Ok(Some(()))
    };
    // Exports are counted from the header, which the first segment with bytes begins with.
    let base = layout.segments.iter().find(|segment| segment.file.start == 0 && segment.file.end > 0);
    let Some(function) = base.and_then(|base| base.address.checked_add(offset)) else { return Ok(None) };
    let mut code = [0; 16];
    if bytes_at(function, &mut code)?.is_none() {
        return Ok(None);
    }
    let Some(table) = returned_address(function, &code) else { return Ok(None) };
    let mut bytes = [0; 40];
    if bytes_at(table, &mut bytes)?.is_none() {
        return Ok(None);
    }
    let wide = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let narrow = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let plausible = wide(16) == VERSION_SIZE && (bytes.len() as u64..1 << 16).contains(&wide(0));
    Ok(plausible.then(|| Pjrt { major: narrow(32), minor: narrow(36) }))
}

/// Follows `adrp x0, page; add x0, x0, #offset; ret`, with or without a landing pad before it.
fn returned_address(at: u64, code: &[u8; 16]) -> Option<u64> {
    const LANDING_PAD: u32 = 0xd503_245f;
    const RETURN: u32 = 0xd65f_03c0;
    let words: Vec<u32> =
        code.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect();
    let first = usize::from(words[0] == LANDING_PAD);
    let at = at + 4 * first as u64;
    let [adrp, add, end] = words[first..first + 3].try_into().ok()?;
    // Both write to x0, and the second reads it; the offset may be shifted by twelve.
    if adrp & 0x9f00_001f != 0x9000_0000 || add & 0xff80_03ff != 0x9100_0000 || end != RETURN {
        return None;
    }
    let pages = u64::from(adrp >> 5 & 0x7_ffff) << 2 | u64::from(adrp >> 29 & 3);
    // 21 bits with a sign.
    let pages = ((pages << 43) as i64 >> 43) << 12;
    let offset = u64::from(add >> 10 & 0xfff) << if add & 1 << 22 != 0 { 12 } else { 0 };
    (at & !0xfff).checked_add_signed(pages)?.checked_add(offset)
}
