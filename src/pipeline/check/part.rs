//! What a check came to: one [`Part`] for each thing that was looked at. Plain data.

use std::path::PathBuf;
use std::time::Duration;

use crate::diag::Code;
use crate::diag::Finding;
use crate::knowledge::Circumstances;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::target::Platform;
use crate::target::PythonMinor;

/// What was looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Whether the lock answers what was declared, or can be used as it is.
    Lock,
    /// Whether the indexes still offer what is locked.
    Index,
    /// Whether the environment has what is locked.
    Environment,
    /// Whether its libraries load together.
    Libraries,
    /// What is known of its releases together.
    Knowledge,
}

/// Of which environment a part speaks.
#[derive(Clone, PartialEq, Debug)]
pub struct Of {
    /// What people call it: its name in macml.toml, or the file or folder that was named.
    pub env: String,
    /// Its platform.
    pub platform: Platform,
    /// Its Python.
    pub python: PythonMinor,
    /// The Mac that was judged for; `None` off Macs, and where none was.
    pub on: Option<On>,
}

/// A Mac that is judged for.
#[derive(Clone, PartialEq, Debug)]
pub struct On {
    /// Its macOS and chip, and whether its GPU must be usable.
    pub mac: Circumstances,
    /// Why this one.
    pub because: Because,
}

/// Why a Mac is judged for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Because {
    /// It is the lowest that was declared.
    Floor,
    /// It is the one that this runs on.
    Here,
    /// It was asked about.
    Asked,
}

/// What came of one look.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// What was looked at.
    pub level: Level,
    /// Of which environment; `None` for the lock as a whole.
    pub of: Option<Of>,
    /// In one word.
    pub word: Word,
    /// The word where no finding counts as an error: what was not read stays unread, whatever is allowed.
    pub otherwise: Word,
    /// How much was looked at.
    pub sum: Sum,
    /// What is to be said, the worst first.
    pub told: Vec<Told>,
    /// How long it took.
    pub took: Duration,
}

/// A finding, and where it belongs.
#[derive(Clone, PartialEq, Debug)]
pub struct Told {
    /// What.
    pub finding: Finding,
    /// The package that it is about.
    pub package: Option<PackageName>,
    /// The file in the environment that it is about, from its root.
    pub path: Option<String>,
}

/// Says of a file that it could not be read.
pub(super) fn unreadable(path: &str, why: &str) -> Told {
    let finding = Finding::warning(Code::Unreadable, format!("`{path}` cannot be read: {why}"));
    Told { finding, package: None, path: Some(path.to_owned()) }
}

impl Part {
    /// Notes files that could not be read, and why; what was told of them before is not told again.
    pub(super) fn unread(&mut self, failed: &[(String, String)]) {
        if failed.is_empty() {
            return;
        }
        self.otherwise = Word::Unsure;
        if self.word.class() == Class::Yes {
            self.word = Word::Unsure;
        }
        for (path, why) in failed {
            if !self.told.iter().any(|one| one.path.as_ref() == Some(path)) {
                self.told.push(unreadable(path, why));
            }
        }
        self.told.sort_by_key(|one| one.finding.severity);
    }
}

impl From<Finding> for Told {
    fn from(finding: Finding) -> Self {
        Self { finding, package: None, path: None }
    }
}

/// What came of a look, in one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Word {
    /// The lock answers macml.toml.
    Current,
    /// It does not.
    Stale,
    /// A lock has an answer for the Macs that were asked about; one of another tool could be read.
    Readable,
    /// It has none, or one that only this machine can use.
    Unfit,
    /// What is locked is still offered.
    Offered,
    /// Something of it is not.
    NotOffered,
    /// The environment is as locked.
    AsLocked,
    /// The environment is as its installers recorded it, where there is no lock.
    AsRecorded,
    /// It is not.
    Differs,
    /// There is no environment to look at.
    Absent,
    /// The libraries load together.
    Load,
    /// They do not.
    DoNotLoad,
    /// Some of them were never read, so that nothing is said.
    Unread,
    /// There are no libraries of Macs to look at.
    NotForMacs,
    /// Nothing that is known speaks against the set.
    Clean,
    /// By what is known it does not work.
    Condemned,
    /// It could not be told.
    Unsure,
}

/// What a word means for the whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Nothing speaks against it.
    Yes,
    /// It was not looked at, and nobody insisted.
    NotLooked,
    /// It could not be told.
    Unsure,
    /// The answer is no.
    No,
}

/// How much was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sum {
    /// Nothing that could be counted.
    Nothing,
    /// Locked releases.
    Releases(usize),
    /// Locked files.
    Files(usize),
    /// Files of an environment.
    Environment {
        /// The folder.
        root: PathBuf,
        /// How many files were held against what they should be.
        files: usize,
        /// How many of them were read whole.
        hashed: usize,
        /// The digest of all, where every file was read.
        digest: Option<Sha256>,
    },
    /// Libraries.
    Libraries {
        /// How many images dyld was asked about.
        images: usize,
        /// How many wheels or distributions they are of.
        wheels: usize,
        /// How many wheels were fetched for it, and their bytes.
        fetched: (usize, u64),
        /// Wheels that were not read, and their bytes where known.
        unread: (usize, u64),
        /// How many releases have no wheel to read.
        without: usize,
    },
}

impl Word {
    /// Every word.
    pub const ALL: [Self; 17] = [
        Self::Current,
        Self::Stale,
        Self::Readable,
        Self::Unfit,
        Self::Offered,
        Self::NotOffered,
        Self::AsLocked,
        Self::AsRecorded,
        Self::Differs,
        Self::Absent,
        Self::Load,
        Self::DoNotLoad,
        Self::Unread,
        Self::NotForMacs,
        Self::Clean,
        Self::Condemned,
        Self::Unsure,
    ];

    /// Returns it as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Stale => "stale",
            Self::Readable => "readable",
            Self::Unfit => "unfit",
            Self::Offered => "offered",
            Self::NotOffered => "not-offered",
            Self::AsLocked => "as-locked",
            Self::AsRecorded => "as-recorded",
            Self::Differs => "differs",
            Self::Absent => "absent",
            Self::Load => "load",
            Self::DoNotLoad => "do-not-load",
            Self::Unread => "unread",
            Self::NotForMacs => "not-for-macs",
            Self::Clean => "clean",
            Self::Condemned => "condemned",
            Self::Unsure => "unsure",
        }
    }

    /// Says what it means for the whole.
    pub fn class(self) -> Class {
        match self {
            Self::Current
            | Self::Readable
            | Self::Offered
            | Self::AsLocked
            | Self::AsRecorded
            | Self::Load
            | Self::Clean => Class::Yes,
            Self::Absent | Self::Unread | Self::NotForMacs => Class::NotLooked,
            Self::Unsure => Class::Unsure,
            Self::Stale | Self::Unfit | Self::NotOffered | Self::Differs | Self::DoNotLoad | Self::Condemned => {
                Class::No
            }
        }
    }
}

impl Level {
    /// Returns it as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Index => "index",
            Self::Environment => "environment",
            Self::Libraries => "libraries",
            Self::Knowledge => "knowledge",
        }
    }

    /// Returns the word for this level when something on it turns out to be a no.
    pub fn no(self) -> Word {
        match self {
            Self::Lock => Word::Stale,
            Self::Index => Word::NotOffered,
            Self::Environment => Word::Differs,
            Self::Libraries => Word::DoNotLoad,
            Self::Knowledge => Word::Condemned,
        }
    }
}
