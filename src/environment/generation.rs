//! Generations: built beside those that are there, put in their place by one rename, kept for a while, removed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use super::place::Place;
use super::stamp::Stamp;
use crate::pep::Sha256;
use crate::sys::fs::{FileLock, FsError};
use crate::sys::tree::NewFolder;

/// The name of a generation's folder: the first 16 digits of its content's digest, a dot, a number that grows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GenerationName {
    number: u32,
    content: String,
}

impl fmt::Display for GenerationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.content, self.number)
    }
}

impl FromStr for GenerationName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (content, number) = text.split_once('.').ok_or(())?;
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let plain = number.parse().ok().filter(|parsed: &u32| parsed.to_string() == number);
        match plain {
            Some(number) if content.len() == 16 && content.bytes().all(hex) => {
                Ok(Self { number, content: content.to_owned() })
            }
            _ => Err(()),
        }
    }
}

/// A generation: a whole virtual environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generation {
    /// Its folder.
    pub path: PathBuf,
    /// Its name.
    pub name: GenerationName,
}

/// Says that something runs in a generation, until dropped.
#[derive(Debug)]
pub struct InUse(FileLock);

/// What happens to something at the link that macml did not make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replace {
    /// It stays, and is an error.
    Never,
    /// It gets another name.
    MoveAside,
}

/// What [`Generations::activate`] did besides.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Activated {
    /// The new name of what was moved aside.
    pub moved_aside: Option<PathBuf>,
}

/// A generation that was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Retired(pub GenerationName);

/// Why generations cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something stands at the link that macml did not make.
    #[error("`{}` is not macml's: it stays as it is", link.display())]
    Foreign {
        /// The link.
        link: PathBuf,
    },
    /// The volume has no symlinks.
    #[error("the volume `{}` has no symbolic links, which `{}` has to be", volume.display(), link.display())]
    NoSymlinks {
        /// Where it is mounted.
        volume: PathBuf,
        /// The link.
        link: PathBuf,
        /// What the system said.
        #[source]
        cause: FsError,
    },
    /// A file or folder could not be made, moved or removed.
    #[error(transparent)]
    File(#[from] FsError),
}

/// The generations of an environment, this process's alone to change until dropped.
#[derive(Debug)]
pub struct Generations {
    place: Place,
    _turn: FileLock,
}

/// A generation that is being built, gone when dropped unless published.
#[derive(Debug)]
pub struct Building {
    folder: NewFolder,
    content: Sha256,
}

impl Generation {
    /// Takes a folder for one, by its name; whether it is whole, [`Generation::stamp`] says.
    pub fn at(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.parse().ok()?;
        Some(Self { path: path.to_owned(), name })
    }

    /// Reads its stamp; `None` when it has none, so that it is not whole.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn stamp(&self) -> Result<Option<Stamp>, FsError> {
        Stamp::read(&self.path)
    }

    /// Says that something runs in it, until the answer is dropped, or, once it is inherited, until that program and
    /// all that inherited it from there have ended.
    ///
    /// # Errors
    /// When it is gone, or cannot be locked.
    pub fn hold(&self) -> Result<InUse, FsError> {
        FileLock::shared(&self.path.join("macml-in-use")).map(InUse)
    }

    /// Lists what is in it and was not put there by macml: distributions and files beside them that its stamp does not
    /// know, by name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn strays(&self, _stamp: &Stamp) -> Result<Vec<String>, FsError> {
        unimplemented!()
    }
}

impl InUse {
    /// Keeps it held by programs that this process starts, or becomes.
    ///
    /// # Errors
    /// When the system does not allow that.
    pub fn inherited(self) -> Result<Self, FsError> {
        self.0.inherited().map(Self)
    }
}

impl Generations {
    /// Waits until no other process changes environments of the project, and sweeps what killed ones left.
    ///
    /// # Errors
    /// When the project's folder cannot be written.
    pub fn open(_place: &Place, _waiting: &mut dyn FnMut()) -> Result<Self, Error> {
        unimplemented!()
    }

    /// Returns the generation that the link leads to, if it is whole.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn current(place: &Place) -> Result<Option<Generation>, FsError> {
        let super::place::Standing::Ours(path) = place.standing()? else { return Ok(None) };
        let Some(generation) = Generation::at(&path) else { return Ok(None) };
        Ok(generation.stamp()?.is_some().then_some(generation))
    }

    /// Lists the whole generations of an environment, the newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn all(_place: &Place) -> Result<Vec<Generation>, FsError> {
        unimplemented!()
    }

    /// Begins a new one.
    ///
    /// # Errors
    /// When its folder cannot be made.
    pub fn begin(&self, _content: Sha256) -> Result<Building, Error> {
        unimplemented!()
    }

    /// Gives a generation that is built its stamp and its name: from then on it exists.
    ///
    /// # Errors
    /// When that is not possible; nothing is left of it then.
    pub fn publish(&self, _building: Building, _stamp: Stamp) -> Result<Generation, Error> {
        unimplemented!()
    }

    /// Makes the link lead to a generation, in one step.
    ///
    /// # Errors
    /// When something else stands there and is to stay, or the link cannot be made; what was there is there then.
    pub fn activate(&self, _generation: &Generation, _replace: Replace) -> Result<Activated, Error> {
        unimplemented!()
    }

    /// Removes generations that nobody needs: neither the one that the link leads to nor the one before, not in use, and
    /// older than seven days at `now`.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn clean(&self, _now: SystemTime) -> Result<Vec<Retired>, Error> {
        unimplemented!()
    }

    /// Removes the environment: the link, and its generations but those in use, which it returns.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove(self) -> Result<Vec<Generation>, Error> {
        unimplemented!()
    }
}

impl Building {
    /// Returns the folder that it is built in.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
