//! Real wheels of made-up releases, the same bytes each time.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use macml::pep::Sha256;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use super::published::Rel;

/// A wheel or source archive.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) filename: String,
    pub(crate) bytes: Vec<u8>,
    /// METADATA; empty for source archives.
    pub(crate) metadata: Vec<u8>,
}

/// Returns the text of METADATA.
pub(crate) fn metadata(name: &str, version: &str, release: &Rel) -> String {
    let mut text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
    if let Some(python) = &release.requires_python {
        writeln!(text, "Requires-Python: {python}").unwrap();
    }
    for one in &release.requires {
        writeln!(text, "Requires-Dist: {one}").unwrap();
    }
    for (extra, requires) in &release.extras {
        writeln!(text, "Provides-Extra: {extra}").unwrap();
        for one in requires {
            match one.split_once(';') {
                Some((one, marker)) => {
                    writeln!(text, "Requires-Dist: {one}; ({}) and extra == \"{extra}\"", marker.trim()).unwrap()
                }
                None => writeln!(text, "Requires-Dist: {one}; extra == \"{extra}\"").unwrap(),
            }
        }
    }
    text.push_str("\nA long description.\n");
    text
}

/// Builds every file of a release.
pub(crate) fn build(name: &str, version: &str, release: &Rel) -> Vec<Built> {
    let mut files: Vec<Built> = release.wheel_tags.iter().map(|tags| wheel(name, version, tags, release)).collect();
    if release.sdist {
        let filename = format!("{name}-{version}.tar.gz");
        files.push(Built { bytes: filename.clone().into_bytes(), filename, metadata: Vec::new() });
    }
    files
}

fn wheel(name: &str, version: &str, tags: &str, release: &Rel) -> Built {
    let stem = format!("{}-{version}", name.replace(['-', '.'], "_"));
    let metadata = metadata(name, version, release).into_bytes();
    let plain = tags.rsplit('-').take(3).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("-");
    let wheel = format!("Wheel-Version: 1.0\nGenerator: fake\nRoot-Is-Purelib: true\nTag: {plain}\n");
    let mut files = vec![(
        format!("{}/__init__.py", name.replace(['-', '.'], "_")),
        format!("__version__ = {version:?}\n").into_bytes(),
    )];
    if release.filling > 0 {
        files.push((format!("{}/filling.bin", name.replace(['-', '.'], "_")), noise(release.filling)));
    }
    for (path, text) in &release.files {
        let path = path.replace("{info}", &format!("{stem}.dist-info")).replace("{data}", &format!("{stem}.data"));
        files.retain(|(other, _)| *other != path);
        files.push((path, text.clone().into_bytes()));
    }
    files.push((format!("{stem}.dist-info/METADATA"), metadata.clone()));
    files.push((format!("{stem}.dist-info/WHEEL"), wheel.into_bytes()));
    let record = files.iter().fold(String::new(), |mut text, (path, bytes)| {
        writeln!(text, "{path},sha256={},{}", base64_url(Sha256::of(bytes).as_bytes()), bytes.len()).unwrap();
        text
    });
    files.push((format!("{stem}.dist-info/RECORD"), format!("{record}{stem}.dist-info/RECORD,,\n").into_bytes()));
    Built { filename: format!("{stem}-{tags}.whl"), bytes: archive(&files), metadata }
}

/// Packs files; times are those of the format's epoch.
pub(crate) fn archive(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in files {
        // Compressing is slow without optimization, and filling does not compress.
        let method = if bytes.len() > 1 << 16 { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options =
            SimpleFileOptions::default().last_modified_time(zip::DateTime::default()).compression_method(method);
        zip.start_file(path.as_str(), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Bytes that do not compress, the same each time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

pub(crate) fn base64_url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for at in 0..=group.len() {
            text.push(LETTERS[(word >> (18 - 6 * at) & 63) as usize] as char);
        }
    }
    text
}
