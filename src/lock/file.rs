//! macml.lock on disk: read whole, merged or damaged; written as one step.

use std::path::Path;

use crate::sys::fs;
use crate::sys::fs::Written;

use super::conflict;
use super::error::{Error, FormatError, Problem};
use super::format;
use super::model::Lockfile;
use super::parse;
use super::pins::Pins;

/// What a path holds.
#[derive(Clone, PartialEq, Debug)]
pub enum ReadOutcome {
    /// No file.
    Absent,
    /// A lockfile.
    Whole(Box<Lockfile>),
    /// Git's conflict markers; both sides' choices are worth keeping.
    Conflicted {
        /// The choices of the branch that was merged into.
        ours: Pins,
        /// The choices of the branch that was merged.
        theirs: Pins,
    },
    /// Something that is no lockfile any more; what could be made out is worth keeping.
    Damaged {
        /// The first thing that is wrong.
        error: FormatError,
        /// What could be made out; may be nothing.
        pins: Pins,
    },
}

/// Reads a lockfile.
///
/// # Errors
/// When the disk refuses, or the file is of a newer macml: it then must not be overwritten.
pub fn read(path: &Path) -> Result<ReadOutcome, Error> {
    let Some(bytes) = fs::read_bytes(path)? else { return Ok(ReadOutcome::Absent) };
    // What is no text is damaged, wherever the damage is.
    interpret(&String::from_utf8_lossy(&bytes)).map_err(|found| Error::Newer { path: path.to_owned(), found })
}

/// Says what a lockfile's text is, or which newer version of the format it has.
pub(super) fn interpret(text: &str) -> Result<ReadOutcome, u64> {
    let make_out = |text: &str| match Pins::make_out(text) {
        (_, Some(found)) if found > format::VERSION => Err(found),
        (pins, _) => Ok(pins),
    };
    if let Some(sides) = conflict::split(text) {
        return Ok(ReadOutcome::Conflicted { ours: make_out(&sides.ours)?, theirs: make_out(&sides.theirs)? });
    }
    match parse::parse(text) {
        Ok(lock) => Ok(ReadOutcome::Whole(Box::new(lock))),
        Err(FormatError { problem: Problem::Newer { found }, .. }) => Err(found),
        Err(error) => Ok(ReadOutcome::Damaged { error, pins: make_out(text)? }),
    }
}

/// Writes a lockfile, unless the file says exactly this already.
///
/// # Errors
/// When the disk refuses, or the text would not read back (a fault of macml); the old file is then still there.
pub fn write(path: &Path, lock: &Lockfile) -> Result<Written, Error> {
    let text = format::to_text(lock);
    if fs::read_text(path).ok().flatten().as_deref() == Some(&text) {
        return Ok(Written::Unchanged);
    }
    // A lock that cannot be read is worse than none, and reading one back costs milliseconds.
    parse::parse(&text).map_err(|cause| Error::Unreadable { path: path.to_owned(), cause })?;
    Ok(fs::write_atomic(path, text.as_bytes(), fs::Durability::Flushed)?)
}
