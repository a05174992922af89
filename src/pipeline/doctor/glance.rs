//! Cheap looks at single files that belong to somebody: none waits for a pipe, none reads more than the beginning, and what
//! stands there instead of a file is nothing.

use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;

use crate::check::facts::macho;
use crate::check::facts::macho::Head;
use crate::doctor::Facts;
use crate::doctor::facts::Unseen;
use crate::sys;
use crate::sys::fs;

/// The longest small text, such as pyvenv.cfg.
const LONGEST: u64 = 1 << 20;

/// Writes a path as it is told.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Notes what could not be seen.
pub(super) fn unseen(facts: &mut Facts, what: impl Into<String>, why: impl ToString) {
    let unseen = Unseen { what: what.into(), why: why.to_string() };
    if !facts.unseen.contains(&unseen) {
        facts.unseen.push(unseen);
    }
}

/// Reads a small text; `None` for whatever is none.
pub(super) fn text(path: &Path) -> Option<String> {
    String::from_utf8(fs::read_plain(path, LONGEST).ok().flatten()?).ok()
}

/// Reads the beginning of a file, at most so many bytes; `None` for whatever is none.
pub(super) fn start(path: &Path, most: u64) -> Option<Vec<u8>> {
    let file = fs::open(path).ok().flatten()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads the head of a Mach-O file; `None` for whatever is none.
pub(super) fn head(path: &Path) -> Option<Head> {
    let mut file = fs::open(path).ok().flatten()?;
    let found = file.metadata().ok()?;
    // No code is shorter than its header.
    let is = found.is_file() && found.len() >= 32;
    if is { macho::head(found.len(), &mut file).ok().flatten() } else { None }
}

/// Lists a folder; of what cannot be listed there is nothing.
pub(super) fn names(folder: &Path) -> Vec<String> {
    fs::names(folder).unwrap_or_default()
}

/// Follows links to the end; `None` where that is nothing, or cannot be told.
pub(super) fn resolved(path: &Path) -> Option<PathBuf> {
    sys::resolve(path).ok().flatten()
}
