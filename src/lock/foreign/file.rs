//! Which format a file has, and reading it whole. The only file here that looks at the disk.

use std::path::Path;

use crate::diag::Source;
use crate::sys::fs;

use super::error::Error;
use super::model::{ForeignLock, Format};
use super::{pylock, requirements, uv};

/// More bytes than this are not read; the largest locks of real projects have a tenth of it.
pub(super) const MOST_BYTES: u64 = 32 << 20;

/// Locks whose formats are not read: the name of the file, the tool, and what to do instead.
const OTHERS: [(&str, &str, &str); 7] = [
    ("macml.lock", "macml", "`macml check` reads it without `--lock`"),
    ("poetry.lock", "Poetry", "write a requirements file with `poetry export` and name that"),
    ("pdm.lock", "PDM", "write a requirements file with `pdm export` and name that"),
    ("Pipfile.lock", "Pipenv", "write a requirements file with `pipenv requirements --hash` and name that"),
    ("pixi.lock", "pixi", "check the environment that it builds: `macml check --prefix DIR`"),
    ("conda-lock.yml", "conda-lock", "check the environment that it builds: `macml check --prefix DIR`"),
    ("environment.yml", "conda", "check the environment that it builds: `macml check --prefix DIR`"),
];

/// Reads a lock that another tool wrote; its format is told by its name, else by what stands in it.
///
/// # Errors
/// When the disk refuses, or the file cannot be meant.
pub fn read(path: &Path) -> Result<ForeignLock, Error> {
    read_with_text(path).map(|(lock, _)| lock)
}

/// Reads a lock like [`read()`], and returns its text beside it, without what could be a secret.
///
/// # Errors
/// When the disk refuses, or the file cannot be meant.
pub fn read_with_text(path: &Path) -> Result<(ForeignLock, Source), Error> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some((_, tool, instead)) = OTHERS.iter().find(|(other, ..)| *other == name) {
        return Err(Error::OtherTool { path: path.to_owned(), tool, instead });
    }
    let not_a_lock = |what| Error::NotALock { path: path.to_owned(), what };
    if name == "pyproject.toml" {
        return Err(not_a_lock("it says what a project asks for, not which files it gets"));
    }
    if fs::kind(path)? == Some(fs::Kind::Folder) {
        return Err(not_a_lock("it is a folder"));
    }
    let text = text_of(path)?;
    if text.trim().is_empty() {
        return Err(not_a_lock("it is empty"));
    }
    let shown = Source { name: path.display().to_string(), text: text.clone() }.masked();
    let lock = match format_of(&name, &text) {
        Kind::Uv => uv::parse(path, &text),
        Kind::Pylock => pylock::parse(path, &text),
        Kind::Requirements => requirements::parse(path, text, &mut text_of),
    }?;
    Ok((lock, shown))
}

/// Reads the text of a file.
fn text_of(path: &Path) -> Result<String, Error> {
    let bytes = fs::read_start(path, MOST_BYTES + 1)?.ok_or_else(|| Error::Absent(path.to_owned()))?;
    // A pipe that nobody writes to, or a device, says nothing of packages.
    if bytes.is_empty() && fs::kind(path)? == Some(fs::Kind::Other) {
        return Err(Error::at(path, 1, "it is no file, and nothing came of it"));
    }
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::TooLarge { path: path.to_owned(), most: MOST_BYTES });
    }
    decoded(&bytes).map_err(|line| Error::at(path, line, "it is no text in UTF-8"))
}

/// Decodes UTF-8, and UTF-16 with its mark, which Windows shells write; else says in which line it ends to be text.
pub fn decoded(bytes: &[u8]) -> Result<String, usize> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|_| 1)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned()),
            Err(error) => Err(bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1),
        },
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Uv,
    Pylock,
    Requirements,
}

/// Tells the format of a file with this name and text.
pub(super) fn format_of(name: &str, text: &str) -> Kind {
    if name == "uv.lock" || name.ends_with(".py.lock") {
        return Kind::Uv;
    }
    if name.starts_with("pylock.") && name.ends_with(".toml") {
        return Kind::Pylock;
    }
    if name.ends_with(".txt") || name.ends_with(".in") {
        return Kind::Requirements;
    }
    let mut words = text.lines().filter_map(|line| line.split_whitespace().next());
    // The first word that only one of them has.
    let told = words.find_map(|word| match word.split('=').next().unwrap_or_default() {
        "lock-version" | "[[packages]]" => Some(Kind::Pylock),
        "version" | "[[package]]" => Some(Kind::Uv),
        _ => None,
    });
    told.unwrap_or(Kind::Requirements)
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uv { revision } => write!(f, "uv.lock, revision {revision}"),
            Self::Pylock { created_by } if created_by.is_empty() => f.write_str("pylock.toml"),
            Self::Pylock { created_by } => write!(f, "pylock.toml, written by {created_by}"),
            Self::Requirements => f.write_str("requirements file"),
        }
    }
}
