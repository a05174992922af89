//! `WheelError`: why a wheel is refused, naming the wheel and the entry.

use std::io;

use super::names::PathFault;
use crate::pep::WheelName;

/// A wheel that cannot be installed.
#[derive(Debug, thiserror::Error)]
#[error("`{wheel}` is refused: {fault}")]
pub struct WheelError {
    /// The wheel's file name.
    pub wheel: Box<WheelName>,
    /// Why.
    #[source]
    pub fault: Fault,
}

/// What is wrong with a wheel.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// It could not be read.
    #[error("it cannot be read: {0}")]
    Read(io::Error),

    /// The archive's end, directory or records are not as they must be.
    #[error("it is no zip archive: {reason}")]
    NotZip {
        /// What was seen.
        reason: &'static str,
    },
    /// The header before an entry contradicts the directory.
    #[error("entry `{entry}` has another {what} in its header than in the directory")]
    Header {
        /// The entry.
        entry: String,
        /// Which part.
        what: &'static str,
    },
    /// Bytes between the entries hold another one, or are too many to be padding.
    #[error("there is something at byte {at} that its directory does not name")]
    Hidden {
        /// Where.
        at: u64,
    },
    /// Two entries share bytes, as in a zip bomb.
    #[error("entry `{entry}` lies over another one")]
    Overlap {
        /// The later one.
        entry: String,
    },
    /// An entry needs a password.
    #[error("entry `{entry}` is encrypted")]
    Encrypted {
        /// The entry.
        entry: String,
    },
    /// Neither stored nor deflated.
    #[error("entry `{entry}` is compressed in a way that wheels do not use ({method})")]
    Compression {
        /// The entry.
        entry: String,
        /// The number of the method.
        method: u16,
    },
    /// An entry cannot be unpacked, or to other bytes than its checksum says.
    #[error("entry `{entry}` is damaged: {reason}")]
    Damaged {
        /// The entry.
        entry: String,
        /// What was seen.
        reason: String,
    },
    /// An entry has another size than it says.
    #[error("entry `{entry}` does not have the {declared} bytes that the directory says")]
    Size {
        /// The entry.
        entry: String,
        /// What the directory says.
        declared: u64,
    },
    /// It unpacks to far more than files do.
    #[error("it would unpack to {size} bytes out of {packed}, as a zip bomb does")]
    Bomb {
        /// What its entries say together.
        size: u64,
        /// The size of the wheel.
        packed: u64,
    },
    /// It has more entries than any wheel.
    #[error("it has {count} entries")]
    Entries {
        /// How many.
        count: usize,
    },

    /// The path of an entry must not be written, or cannot.
    #[error("the path of entry `{entry}` {fault}")]
    Path {
        /// The entry, with control characters escaped.
        entry: String,
        /// What is wrong.
        fault: PathFault,
    },
    /// A symlink.
    #[error("entry `{entry}` is a symlink")]
    Symlink {
        /// The entry.
        entry: String,
    },
    /// A device, a pipe, or a folder that does not end in `/`.
    #[error("entry `{entry}` is neither a file nor a folder")]
    Special {
        /// The entry.
        entry: String,
    },
    /// A folder with bytes of its own.
    #[error("entry `{entry}` is a folder with content")]
    FolderContent {
        /// The entry.
        entry: String,
    },
    /// Two entries of one path.
    #[error("entry `{entry}` is there twice")]
    Twice {
        /// The path.
        entry: String,
    },
    /// Two entries that a Mac's file system takes for one.
    #[error("entries `{other}` and `{entry}` are one name on a Mac: they differ in case or accents only")]
    Spelling {
        /// The later one.
        entry: String,
        /// The earlier one, or a folder on its way.
        other: String,
    },
    /// A path is a file's and a folder's.
    #[error("entry `{entry}` needs `{other}` to be both a file and a folder")]
    FileAndFolder {
        /// The later one.
        entry: String,
        /// What both want.
        other: String,
    },

    /// No `.dist-info` folder.
    #[error("it has no `.dist-info` folder")]
    NoDistInfo,
    /// More than one.
    #[error("it has two `.dist-info` folders, `{first}` and `{second}`")]
    TwoDistInfo {
        /// One.
        first: String,
        /// Another.
        second: String,
    },
    /// The folder of another package or version than the file name's.
    #[error("its folder `{found}` belongs to another package or version than its name says")]
    WrongDistInfo {
        /// The folder.
        found: String,
    },
    /// A `.data` folder of another package or version.
    #[error("its folder `{found}` is not the `.data` folder of its own name and version")]
    WrongData {
        /// The folder.
        found: String,
    },
    /// Something in the `.data` folder that goes nowhere.
    #[error("entry `{entry}` is in none of `purelib`, `platlib`, `scripts`, `headers`, `data`")]
    DataKey {
        /// The entry.
        entry: String,
    },
    /// A file that every wheel has.
    #[error("it has no `{entry}`")]
    Missing {
        /// Its path.
        entry: String,
    },
    /// A file that describes the wheel and is a book.
    #[error("`{entry}` is larger than {limit} bytes")]
    TooLarge {
        /// Its path.
        entry: String,
        /// The most.
        limit: u64,
    },
    /// METADATA that cannot be read, or that is another release's.
    #[error("its METADATA {reason}")]
    Metadata {
        /// What is wrong.
        reason: String,
    },
    /// WHEEL without a version of the format.
    #[error("its WHEEL file has no usable `Wheel-Version`")]
    NoFormat,
    /// A format that macml does not know.
    #[error("it is of wheel format {version}; this macml knows 1")]
    Format {
        /// As written.
        version: String,
    },

    /// A line of RECORD that cannot be read.
    #[error("line {line} of its RECORD cannot be read: {reason}")]
    RecordLine {
        /// Which, from 1.
        line: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// RECORD says two things of one path.
    #[error("its RECORD says two different things of `{entry}`")]
    RecordTwice {
        /// The path.
        entry: String,
    },
    /// RECORD does not list a file.
    #[error("its RECORD does not list `{entry}`")]
    Unlisted {
        /// The path.
        entry: String,
    },
    /// RECORD lists a file that is not there.
    #[error("its RECORD lists `{entry}`, which is not in it")]
    Absent {
        /// The path.
        entry: String,
    },
    /// RECORD has no hash for a file.
    #[error("its RECORD has no hash of `{entry}`")]
    NoHash {
        /// The path.
        entry: String,
    },
    /// A hash that proves nothing, or that nobody knows.
    #[error("its RECORD has only a hash of kind `{algorithm}` of `{entry}`; sha256, sha384 and sha512 are taken")]
    Algorithm {
        /// The path.
        entry: String,
        /// As written.
        algorithm: String,
    },
    /// A file is not what RECORD says.
    #[error("`{entry}` has another hash than its RECORD says")]
    Hash {
        /// The path.
        entry: String,
    },
    /// A file is not as long as RECORD says.
    #[error("`{entry}` has {size} bytes, its RECORD says {says}")]
    RecordSize {
        /// The path.
        entry: String,
        /// What it has.
        size: u64,
        /// What RECORD says.
        says: u64,
    },

    /// A line of entry_points.txt that names a command and cannot be used.
    #[error("line {line} of its entry_points.txt {reason}")]
    EntryPoint {
        /// Which, from 1.
        line: usize,
        /// What is wrong.
        reason: &'static str,
    },
}
