//! What is in an environment against what its lock says: distributions, files, bytes. And one digest of it all.
//!
//! ```text
//! Tree -> read -> names, sizes, times, RECORDs -+
//! Lockfile -> Wanted ---------------------------+-> judge -> Contents
//! unpacked wheels in the cache -----------------+
//! ```
//!
//! # What is sure
//!
//! Every file that a wheel brings into a tree of macml's bears a time that follows from the wheel's sha256, whichever way it
//! was linked; so no cache is needed to know it. [`Level::Times`] takes a file of that time and of the size in RECORD for
//! untouched, and reads any other: a file that was edited is seen, unless size *and* time were put back; one that was only
//! touched, or copied without its time, is read and found to be the same. In a tree of another maker a file counts as
//! untouched that is older than RECORD, which installers write last. Nothing is concluded from the time of a file's last
//! change of state (ctime): a hard link changes it in every other environment, and so does tidying the cache.
//!
//! [`Level::Full`] reads every file. Where the cache has the wheel unpacked, its marker, made from bytes of the locked
//! sha256, is what files and RECORD itself are held against. Where it has not, RECORD is taken at its word, and that is told
//! as [`Unsure::Record`]: who edits a file and its row together is not seen then. `Times` asks the marker only where
//! something was touched.
//!
//! Not looked at by any level: folders called `__pycache__`, of which Python checks source time and size by itself, and the
//! environment's own files (`pyvenv.cfg`, activation, links to Python). In a prefix of another maker, files outside of the
//! folder of packages that no RECORD names.

mod digest;
mod judge;
mod launcher;
mod read;
mod tree;
mod wanted;

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::install::WheelCache;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::pep::Version;
use crate::sys::fs::FsError;

pub use digest::of_wheels;
pub use tree::Maker;
pub use tree::Tree;
pub use wanted::Wanted;
pub use wanted::WantedPackage;

/// How closely a tree is looked at; each level includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Which distributions there are.
    Names,
    /// Which files there are, their sizes and times; the bytes of those that look touched.
    Times,
    /// The bytes of all.
    Full,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    /// What is not as locked: distributions first, then files by path.
    pub differences: Vec<Difference>,
    /// What could not be told.
    pub unsure: Vec<Unsure>,
    /// How many files were held against what they should be.
    pub files: usize,
    /// How many of them were read whole.
    pub hashed: usize,
    /// How many bytes that were.
    pub bytes: u64,
    /// The digest of the environment, at [`Level::Full`] where everything could be read.
    pub digest: Option<Sha256>,
}

impl Contents {
    /// Lists the files that are gone, from the folder of packages, with the package of each; not those of a release that is
    /// not there at all.
    pub fn gone(&self, site: &str) -> BTreeMap<String, PackageName> {
        let is_other = |one: &&Difference| matches!(one.what, What::NotInstalled { .. } | What::OtherVersion { .. });
        let others: BTreeSet<&PackageName> =
            self.differences.iter().filter(is_other).filter_map(|one| one.package.as_ref()).collect();
        let gone = self.differences.iter().filter_map(|one| {
            let (What::Missing { path }, Some(package)) = (&one.what, &one.package) else { return None };
            let inside = path.strip_prefix(site)?.strip_prefix('/')?;
            (!others.contains(package)).then(|| (inside.to_owned(), package.clone()))
        });
        gone.collect()
    }
}

/// Something that is not as locked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The package that it belongs to: of a file that nobody brought, the one whose folder it lies in.
    pub package: Option<PackageName>,
    /// What it is.
    pub what: What,
}

/// What is not as locked. Paths are relative to the root of the tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// The package is locked, and there is no distribution of its name.
    NotInstalled {
        /// The version that is locked.
        locked: Version,
    },
    /// There is a distribution, and none of its name is locked.
    NotLocked {
        /// Its version, as its folder is named.
        found: String,
    },
    /// There is another version than the locked one, or one more.
    OtherVersion {
        /// The version that is there, as its folder is named.
        found: String,
        /// The version that is locked.
        locked: Version,
    },
    /// A file is not there.
    Missing {
        /// The file.
        path: String,
    },
    /// A file is not what it should be.
    Changed {
        /// The file.
        path: String,
        /// In what way.
        how: How,
    },
    /// A file that no package brought.
    Extra {
        /// The file; a folder, which ends in `/`, where nothing in it was brought by a package.
        path: String,
        /// How many files that are.
        files: usize,
    },
}

/// In what way a file is not what it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum How {
    /// It has another size.
    Size {
        /// The size that it should have.
        expected: u64,
        /// The size that it has.
        found: u64,
    },
    /// It has other bytes.
    Bytes,
    /// It is something else.
    NotAFile {
        /// `a folder`, `a symbolic link`, `no plain file`.
        found: &'static str,
    },
    /// It should be one that can be run.
    NotExecutable,
    /// It is there under a name that differs in case or accents only.
    Respelled {
        /// That name.
        found: String,
    },
}

/// What could not be told.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unsure {
    /// The cache does not have the locked wheel, so that RECORD was taken at its word.
    Record {
        /// The package.
        package: PackageName,
    },
    /// A distribution has no RECORD: its files are unknown.
    NoRecord {
        /// The package.
        package: PackageName,
    },
    /// RECORD names a file without a digest.
    NoDigest {
        /// The package.
        package: PackageName,
        /// The file.
        path: String,
    },
    /// RECORD names a file outside of the tree, which was not looked at.
    Outside {
        /// The package.
        package: PackageName,
        /// The file, as RECORD has it.
        path: String,
    },
    /// A file or folder could not be read.
    Unreadable {
        /// It.
        path: String,
        /// What the system said.
        why: String,
    },
}

/// Holds a tree against what should be in it. `cache` is where unpacked wheels are, for whatever RECORD cannot prove itself.
///
/// # Errors
/// When the folder of packages cannot be read; whatever else cannot is told as [`Unsure`].
pub fn look(tree: &Tree, wanted: &Wanted, level: Level, cache: Option<&WheelCache>) -> Result<Contents, FsError> {
    if level == Level::Names {
        let names = read::names(tree)?;
        let differences = judge::names(names.iter().map(|(_, package)| package), wanted);
        return Ok(Contents { differences, ..Contents::default() });
    }
    let found = read::read(tree)?;
    let mut judge = judge::Judge::new(tree, wanted, level, &found);
    if let Some(cache) = cache {
        for at in judge.needs_wheel() {
            let Some((name, sha256)) = judge.wheel(at) else { continue };
            // Whatever is wrong with the cache, RECORD is still there.
            if let Ok(Some(wheel)) = cache.look(name, *sha256) {
                judge.take_wheel(at, wheel);
            }
        }
    }
    judge.files();
    let digests = read::digests(tree, &judge.to_digest());
    let texts = read::texts(tree, &judge.to_read());
    Ok(judge.settle(digests, &texts))
}
