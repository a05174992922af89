//! Generations: built beside those that are there, put in their place by one rename, kept for a while, removed.
//!
//! What a process that is killed leaves: at any instant the link leads to the generation before or to the new one, each
//! whole, and all else has a name that the next process sweeps.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use super::place;
use super::place::{OWN, Place, Standing};
use super::stamp::{FolderTime, STAMP_NAME, Stamp};
use crate::pep::Sha256;
use crate::sys::Turn;
use crate::sys::disk;
use crate::sys::fs;
use crate::sys::fs::{Durability, FileLock, FsError};
use crate::sys::kept;
use crate::sys::tree;
use crate::sys::tree::{Mode, NewFile, NewFolder, Over};

/// The name of the file in the root of a generation that is locked by whoever runs something in it.
pub const IN_USE_NAME: &str = "macml-in-use";

/// How names of generations begin that are being built, or removed.
const UNFINISHED: [&str; 2] = [".new-", ".old-"];

/// How names of links begin that are to take the place of another.
const LINK_PREFIX: &str = ".macml-link-";

/// The file beside generations that says which one came after which.
const HISTORY: &str = ".history";

/// So long is a generation kept that nobody needs.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

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
    /// Something stands where macml keeps environments.
    #[error("`{}` is {found}, where macml keeps environments in a folder of its own", path.display())]
    Obstacle {
        /// What stands there.
        path: PathBuf,
        /// What it is: `a file`, `a symbolic link`.
        found: &'static str,
    },
    /// A generation is not there any more.
    #[error("the generation `{}` is gone", .0.display())]
    Gone(PathBuf),
    /// A file or folder could not be made, moved or removed.
    #[error(transparent)]
    File(#[from] FsError),
}

/// The generations of an environment, this process's alone to change until dropped.
#[derive(Debug)]
pub struct Generations {
    place: Place,
    _turn: Turn,
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
    /// When it is gone, or cannot be locked. Where the volume knows no locks, it is as if it were held.
    pub fn hold(&self) -> Result<InUse, FsError> {
        let gone = || FsError { doing: "use", path: self.path.clone(), cause: ErrorKind::NotFound.into() };
        let path = self.path.join(IN_USE_NAME);
        match tree::facts(&path)? {
            Some(facts) if facts.plain => {}
            Some(_) => return Err(FsError { doing: "lock", path, cause: ErrorKind::InvalidInput.into() }),
            None if self.stamp()?.is_none() => return Err(gone()),
            None => NewFile::create(&path, Mode::PLAIN)?.finish(None)?,
        }
        let lock = FileLock::shared_if_there(&path)?.ok_or_else(gone)?;
        let held = lock.identity().map_err(|cause| FsError { doing: "lock", path: path.clone(), cause })?;
        // It may have been renamed, to be removed, before the lock was had.
        let there = tree::facts(&path)?.is_some_and(|facts| facts.identity == held);
        if there && self.stamp()?.is_some() { Ok(InUse(lock)) } else { Err(gone()) }
    }
}

impl InUse {
    /// Keeps it held by programs that this process starts, or becomes.
    ///
    /// # Errors
    /// When the system does not allow that.
    pub fn inherited(self) -> Result<Self, FsError> {
        let failed = |cause| FsError { doing: "lock", path: IN_USE_NAME.into(), cause };
        Ok(Self(self.0.inherited().map_err(failed)?))
    }
}

impl Generations {
    /// Waits until no other process changes environments of the project, and sweeps what killed ones left. `waiting` is
    /// called once, when a second has passed.
    ///
    /// # Errors
    /// When the project's folder cannot be written, or its volume has no symbolic links; nothing was removed then.
    pub fn open(place: &Place, waiting: &mut dyn FnMut()) -> Result<Self, Error> {
        let folders = place.folders();
        for folder in &folders {
            if let Some(found) = place::obstacle(folder)? {
                return Err(Error::Obstacle { path: (*folder).to_owned(), found });
            }
        }
        tree::may_write(&place.project)?;
        if place.elsewhere.is_some() {
            fs::create_folder(place.root())?;
        }
        let make = || folders.iter().try_for_each(|folder| tree::make_folder(folder));
        make()?;
        ignore_in_git(place)?;
        let lock = place.store.with_file_name(".lock");
        match tree::facts(&lock)? {
            Some(facts) if !facts.plain => return Err(Error::Obstacle { path: lock, found: "no file" }),
            _ => {}
        }
        let turn = Turn::make(&lock, waiting)?;
        // The one that was waited for may have removed the environment.
        make()?;
        let this = Self { place: place.clone(), _turn: turn };
        folders.iter().try_for_each(|folder| tree::may_write(folder))?;
        tree::may_link(this.making()[0], LINK_PREFIX).map_err(|error| this.link_error(error))?;
        this.sweep()?;
        Ok(this)
    }

    /// Returns the generation that the link leads to, if it is whole.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn current(place: &Place) -> Result<Option<Generation>, FsError> {
        match place.standing()? {
            Standing::Ours(target) => whole(Generation::at(&target)),
            Standing::Nothing | Standing::Foreign => Ok(None),
        }
    }

    /// Lists the whole generations of an environment, the newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn all(place: &Place) -> Result<Vec<Generation>, FsError> {
        let mut all = Vec::new();
        for generation in named(place)? {
            all.extend(whole(Some(generation))?);
        }
        Ok(all)
    }

    /// Returns the generation that a rollback leads to: the one that the link led to before it was made to lead to the
    /// current one, or, where that is not known or it is gone, the newest of the others.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn before(&self) -> Result<Option<Generation>, FsError> {
        Self::before_of(&self.place)
    }

    /// Answers as [`Generations::before`] does, without keeping others from changing them.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn before_of(place: &Place) -> Result<Option<Generation>, FsError> {
        let current = Self::current(place)?;
        if let Some(current) = &current {
            let noted = history(place)?.into_iter().find(|(name, _)| *name == current.name);
            let noted = noted.and_then(|(_, before)| Generation::at(&place.store.join(before.to_string())));
            if let Some(before) = whole(noted)? {
                return Ok(Some(before));
            }
        }
        Ok(Self::all(place)?.into_iter().find(|one| Some(one) != current.as_ref()))
    }

    /// Begins a new one.
    ///
    /// # Errors
    /// When its folder cannot be made.
    pub fn begin(&self, content: Sha256) -> Result<Building, Error> {
        Ok(Building { folder: NewFolder::in_folder(&self.place.store, UNFINISHED[0])?, content })
    }

    /// Gives a generation that is built its stamp and its name: from then on it exists.
    ///
    /// Of the stamp only what the caller knows counts: interpreter, Python, platform, the folder of packages, the packages
    /// and when it was built. The rest is filled in.
    ///
    /// # Errors
    /// When that is not possible; nothing is left of it then.
    pub fn publish(&self, building: Building, stamp: Stamp) -> Result<Generation, Error> {
        self.publish_telling(building, stamp, &mut || ())
    }

    /// Does as [`Generations::publish`] does, and calls `stamped` when it has its stamp and not yet its name.
    ///
    /// # Errors
    /// As [`Generations::publish`].
    pub fn publish_telling(
        &self,
        building: Building,
        stamp: Stamp,
        stamped: &mut dyn FnMut(),
    ) -> Result<Generation, Error> {
        let root = building.path();
        let in_use = root.join(IN_USE_NAME);
        if tree::facts(&in_use)?.is_none() {
            NewFile::create(&in_use, Mode::PLAIN)?.finish(None)?;
        }
        let time = |folder: &str| {
            let folder = root.join(folder);
            let absent = || FsError { doing: "look at", path: folder.clone(), cause: ErrorKind::NotFound.into() };
            FolderTime::of(&folder)?.ok_or_else(absent)
        };
        let content = building.content.to_string();
        let stamp = Stamp {
            version: Stamp::VERSION,
            env: self.place.env.clone(),
            project: self.place.project.clone(),
            content: content.clone(),
            site_time: time(&stamp.site)?,
            bin_time: time("bin")?,
            token: fs::secret()?,
            ..stamp
        };
        let mut file = NewFile::create(&root.join(STAMP_NAME), Mode::PLAIN)?;
        file.write(stamp.text().as_bytes())?;
        file.finish(None)?;
        stamped();
        let newest = named(&self.place)?.first().map_or(0, |newest| newest.name.number);
        let name = GenerationName { number: newest.saturating_add(1), content: content[..16].to_owned() };
        let path = self.place.store.join(name.to_string());
        match building.folder.publish(&path)? {
            None => Ok(Generation { path, name }),
            Some(_) => Err(FsError { doing: "rename to", path, cause: ErrorKind::AlreadyExists.into() }.into()),
        }
    }

    /// Makes the link lead to a generation, in one step.
    ///
    /// # Errors
    /// When something else stands there and is to stay, or the link cannot be made; what was there is there then.
    pub fn activate(&self, generation: &Generation, replace: Replace) -> Result<Activated, Error> {
        let link = &self.place.link;
        if generation.stamp()?.is_none() {
            return Err(Error::Gone(generation.path.clone()));
        }
        let standing = self.place.standing()?;
        match &standing {
            Standing::Ours(target) if *target == generation.path => return Ok(Activated::default()),
            Standing::Foreign if replace == Replace::Never => return Err(Error::Foreign { link: link.clone() }),
            _ => {}
        }
        self.note(generation)?;
        let target = self.place.target(&generation.path);
        let put = |over| tree::put_link(&target, link, &self.making(), LINK_PREFIX, over);
        let moved_aside = match standing {
            Standing::Foreign => Some(move_aside(link)?),
            Standing::Nothing => None,
            Standing::Ours(_) => {
                put(Over::Link).map_err(|error| self.link_error(error))?;
                return Ok(Activated::default());
            }
        };
        if let Err(error) = put(Over::Nothing) {
            if let Some(aside) = &moved_aside {
                tree::rename_to_free(aside, link)?;
            }
            // It came while this was at work.
            let taken = error.cause.kind() == ErrorKind::AlreadyExists;
            return Err(if taken { Error::Foreign { link: link.clone() } } else { self.link_error(error) });
        }
        Ok(Activated { moved_aside })
    }

    /// Removes generations that nobody needs: neither the one that the link leads to nor the one before, not in use, and
    /// older than seven days at `now`.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn clean(&self, now: SystemTime) -> Result<Vec<Retired>, Error> {
        let needed = [Self::current(&self.place)?, self.before()?];
        let mut retired = Vec::new();
        for generation in named(&self.place)? {
            if needed.iter().flatten().any(|one| *one == generation) {
                continue;
            }
            let built = match generation.stamp()? {
                Some(stamp) => Some(tree::at_second(stamp.built)),
                // Another macml's, or somebody removed the stamp.
                None => tree::facts(&generation.path)?.map(|facts| facts.modified),
            };
            let old = built.is_none_or(|built| now.duration_since(built).is_ok_and(|age| age >= KEPT));
            if old && self.retire(&generation)? {
                retired.push(Retired(generation.name));
            }
        }
        Ok(retired)
    }

    /// Removes the environment: the link, if it is macml's, and its generations but those in use, which it returns.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove(self) -> Result<Vec<Generation>, Error> {
        if let Standing::Ours(_) = self.place.standing()? {
            fs::remove_file(&self.place.link)?;
        }
        let mut used = Vec::new();
        for generation in named(&self.place)? {
            if !self.retire(&generation)? {
                used.push(generation);
            }
        }
        if used.is_empty() {
            fs::remove_file(&self.place.store.join(HISTORY))?;
            tree::remove_if_empty(&self.place.store);
        }
        Ok(used)
    }

    /// Removes a generation; `false` when it is in use.
    fn retire(&self, generation: &Generation) -> Result<bool, FsError> {
        let in_use = generation.path.join(IN_USE_NAME);
        let lock = match tree::facts(&in_use)? {
            Some(facts) if facts.plain => match FileLock::try_exclusive(&in_use) {
                Ok(None) => return Ok(false),
                // Who runs something in it cannot have said so either.
                Err(error) if error.cause.kind() == ErrorKind::Unsupported => None,
                lock => lock?,
            },
            _ => None,
        };
        let old = self.place.store.join(format!("{}{}", UNFINISHED[1], generation.name));
        tree::rename(&generation.path, &old)?;
        // Who waited for it finds it gone.
        drop(lock);
        tree::remove(&old)?;
        Ok(true)
    }

    /// Removes what a killed process left unfinished, if there is something and nobody changes environments of the
    /// project just now: for who has nothing else to do. What cannot be removed waits for the next to build.
    ///
    /// # Errors
    /// When the folder of generations cannot be read.
    pub fn tidy(place: &Place) -> Result<(), FsError> {
        let left = |name: &String| UNFINISHED.iter().any(|prefix| name.starts_with(prefix));
        if !fs::names(&place.store)?.iter().any(left) {
            return Ok(());
        }
        // Who builds holds it, and what is unfinished is theirs.
        let Ok(Some(_held)) = FileLock::try_exclusive(&place.store.with_file_name(".lock")) else { return Ok(()) };
        for name in fs::names(&place.store)?.iter().filter(|name| left(name)) {
            let _ = tree::remove(&place.store.join(name));
        }
        Ok(())
    }

    /// Removes what killed processes left, as far as that is possible: what stays takes room only.
    fn sweep(&self) -> Result<(), FsError> {
        for name in fs::names(&self.place.store)? {
            let path = self.place.store.join(&name);
            if UNFINISHED.iter().any(|prefix| name.starts_with(prefix)) {
                let _ = tree::remove(&path);
            } else if name.starts_with(".macml-") && name.ends_with(".tmp") {
                let _ = fs::remove_file(&path);
            }
        }
        for folder in self.making() {
            for name in fs::names(folder)?.iter().filter(|name| name.starts_with(LINK_PREFIX)) {
                let path = folder.join(name);
                if tree::read_link(&path)?.is_some() {
                    let _ = fs::remove_file(&path);
                }
            }
        }
        Ok(())
    }

    /// Returns the folders in which a link may be made, the best first.
    fn making(&self) -> Vec<&Path> {
        let project = self.place.project.as_path();
        let own = self.place.elsewhere.is_none().then(|| self.place.folders()[0]);
        own.into_iter().chain([project]).collect()
    }

    fn link_error(&self, error: FsError) -> Error {
        if !tree::has_no_links(&error.cause) {
            return error.into();
        }
        let volume = disk::space(&self.place.project).map_or_else(|_| self.place.project.clone(), |space| space.volume);
        Error::NoSymlinks { volume, link: self.place.link.clone(), cause: error }
    }

    /// Notes what the link leads to before it leads to `next`. What is noted of the current one stays: this process may be
    /// killed before the link is another.
    fn note(&self, next: &Generation) -> Result<(), FsError> {
        let Some(current) = Self::current(&self.place)?.filter(|one| one.path.parent() == Some(&self.place.store))
        else {
            return Ok(());
        };
        let old = history(&self.place)?.into_iter().filter(|(name, _)| *name == current.name);
        let lines = old.chain([(next.name.clone(), current.name.clone())]);
        let text: String = lines.map(|(name, before)| format!("{name} {before}\n")).collect();
        let path = self.place.store.join(HISTORY);
        if tree::facts(&path)?.is_some_and(|facts| !facts.plain) {
            // A link would have another file written.
            fs::remove_file(&path)?;
        }
        fs::write_atomic(&path, text.as_bytes(), Durability::Cached).map(drop)
    }
}

/// Keeps a generation that is whole.
fn whole(generation: Option<Generation>) -> Result<Option<Generation>, FsError> {
    let Some(generation) = generation else { return Ok(None) };
    Ok(generation.stamp()?.map(|_| generation))
}

/// Lists the folders with names of generations, whole or not, the newest first.
fn named(place: &Place) -> Result<Vec<Generation>, FsError> {
    let mut all = Vec::new();
    for name in fs::names(&place.store)? {
        let generation = Generation::at(&place.store.join(name));
        if let Some(generation) = generation
            && tree::facts(&generation.path)?.is_some_and(|facts| facts.folder)
        {
            all.push(generation);
        }
    }
    all.sort_by(|one, other| other.name.cmp(&one.name));
    Ok(all)
}

/// Reads which generation came after which: the later one first.
fn history(place: &Place) -> Result<Vec<(GenerationName, GenerationName)>, FsError> {
    let path = place.store.join(HISTORY);
    // A few lines; whatever else lies there is not ours.
    if !tree::facts(&path)?.is_some_and(|facts| facts.plain && facts.size < 4096) {
        return Ok(Vec::new());
    }
    let bytes = fs::read_bytes(&path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let line = |line: &str| {
        let (name, before) = line.split_once(' ')?;
        Some((name.parse().ok()?, before.parse().ok()?))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Keeps git from taking macml's folder for a part of the project.
fn ignore_in_git(place: &Place) -> Result<(), FsError> {
    if place.elsewhere.is_some() {
        return Ok(());
    }
    kept::ignore_in_git(&place.project.join(OWN))
}

/// Gives what stands at a link another name, beside it.
fn move_aside(link: &Path) -> Result<PathBuf, FsError> {
    let mut name = link.as_os_str().to_owned();
    name.push(".before-macml");
    for number in 1_u32.. {
        let mut name = name.clone();
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let aside = PathBuf::from(name);
        if tree::rename_to_free(link, &aside)? {
            return Ok(aside);
        }
    }
    unreachable!("there are not that many files")
}

impl Building {
    /// Returns the folder that it is built in.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
