//! The facts of the wheels of a lock: kept ones, else read from where a wheel is, else, if that is wished, from wheels that
//! are fetched, read and thrown away.
//!
//! ```text
//! files -> FactsCache -> unpacked wheels, wheels by path -> Downloads -> Facts
//! ```
//!
//! A wheel that cannot be had or read is in nobody's way: it is [`Unread`], and why. So is a cache that cannot be read or
//! written. Nothing is ever half there: facts appear by one rename, after which the wheel's file goes.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

use crate::check::facts;
use crate::check::facts::FactsCache;
use crate::check::facts::WheelFacts;
use crate::index::download;
use crate::index::download::DownloadError;
use crate::index::download::Downloads;
use crate::index::download::Place;
use crate::index::download::Ready;
use crate::index::download::Wanted;
use crate::install;
use crate::install::WheelCache;
use crate::pep::Sha256;
use crate::pep::WheelName;
use crate::pipeline::arriving;
use crate::pipeline::sync::Amount;
use crate::progress::Progress;
use crate::sys::fs;
use crate::sys::parallel;
use crate::sys::tree;

use super::set::File;

/// How often a wheel is fetched anew that others take away again and again.
const MOST_TRIES: usize = 4;

/// Fetches wheels.
pub type Download<'a> = dyn Fn(&[Wanted]) -> Result<Downloads, DownloadError> + 'a;

/// Where facts come from.
#[derive(Clone, Copy)]
pub struct From<'a> {
    /// macml's cache folder.
    pub cache: Option<&'a Path>,
    /// Fetches wheels, if that is wished.
    pub download: Option<&'a Download<'a>>,
}

/// What is known of wheels.
#[derive(Default, Debug)]
pub struct Facts {
    known: BTreeMap<Sha256, (WheelName, WheelFacts)>,
    /// What was fetched for it.
    pub fetched: Amount,
    /// What was not read, in the order of the files.
    pub unread: Vec<Unread>,
}

impl Facts {
    /// Returns the facts of a wheel.
    pub fn get(&self, file: &File) -> Option<&WheelFacts> {
        let (wheel, facts) = self.known.get(&file.sha256)?;
        is_same(wheel, &file.wheel).then_some(facts)
    }
}

/// A wheel that was not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unread {
    /// The wheel.
    pub wheel: WheelName,
    /// Its digest.
    pub sha256: Sha256,
    /// Its size, where it is known.
    pub size: Option<u64>,
    /// Why.
    pub why: Why,
}

/// Why a wheel was not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// It would have to be fetched, and nobody wished that.
    NotFetched,
    /// It could not be had or read: why, as a fragment.
    Failed(String),
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFetched => out.write_str("it was never read, and was not to be fetched"),
            Self::Failed(reason) => out.write_str(reason),
        }
    }
}

/// Gets the facts of files, those with the same digest once.
pub fn gather(files: &[&File], from: &From<'_>, progress: &dyn Progress) -> Facts {
    let all = files;
    let mut seen = BTreeSet::new();
    let files: Vec<&File> = files.iter().copied().filter(|file| seen.insert(file.sha256)).collect();
    let mut gathering = Gathering { from, kept: from.cache.map(FactsCache::inside), facts: Facts::default() };

    // The biggest first, so that none is left for one thread at the end.
    let mut missing = files.clone();
    missing.sort_by_key(|file| std::cmp::Reverse(file.size));
    gathering
        .take(&mut missing, parallel::cores(), |kept, file| kept?.get(&file.wheel, file.sha256).ok().flatten().map(Ok));
    if !missing.is_empty() {
        gathering.read(&mut missing, progress);
    }

    let mut facts = gathering.facts;
    let firsts: BTreeMap<Sha256, (usize, &File)> =
        files.iter().enumerate().map(|(at, file)| (file.sha256, (at, *file))).collect();
    facts.unread.sort_by_key(|unread| firsts[&unread.sha256].0);
    // One wheel is of one release, whatever a lock says.
    for file in all {
        let (_, first) = firsts[&file.sha256];
        if is_same(&first.wheel, &file.wheel) {
            continue;
        }
        if !facts.unread.iter().any(|one| one.sha256 == file.sha256 && one.wheel == file.wheel) {
            let reason = format!("`{}` has the same sha256, and no wheel is of two releases", first.wheel);
            facts.unread.push(Unread::of(file, Why::Failed(reason)));
        }
    }
    facts
}

/// Returns whether wheels are of one release.
fn is_same(one: &WheelName, other: &WheelName) -> bool {
    (&one.name, &one.version) == (&other.name, &other.version)
}

impl Unread {
    fn of(file: &File, why: Why) -> Self {
        Self { wheel: file.wheel.clone(), sha256: file.sha256, size: file.size, why }
    }
}

/// Facts as they come together.
struct Gathering<'a> {
    from: &'a From<'a>,
    kept: Option<FactsCache>,
    facts: Facts,
}

/// What came of a wheel that is there: its facts, or why there are none.
type Read = Result<WheelFacts, String>;

impl Gathering<'_> {
    /// Looks for each file, several at a time; those that are found are missing no more.
    fn take(
        &mut self,
        missing: &mut Vec<&File>,
        threads: usize,
        look: impl Fn(Option<&FactsCache>, &File) -> Option<Read> + Sync,
    ) {
        let found = parallel::map(missing, threads, |file| look(self.kept.as_ref(), file));
        let mut found = found.into_iter();
        missing.retain(|file| match found.next().flatten() {
            Some(read) => {
                self.keep(file, read);
                false
            }
            None => true,
        });
    }

    fn keep(&mut self, file: &File, read: Read) {
        match read {
            Ok(facts) => drop(self.facts.known.insert(file.sha256, (file.wheel.clone(), facts))),
            Err(reason) => self.unread(file, Why::Failed(reason)),
        }
    }

    fn unread(&mut self, file: &File, why: Why) {
        self.facts.unread.push(Unread::of(file, why));
    }

    /// Reads wheels that are there, and fetches the others if that is wished.
    fn read(&mut self, missing: &mut Vec<&File>, progress: &dyn Progress) {
        let wheels = self.from.cache.map(WheelCache::inside);
        // Where nobody else is, what lies among the downloads was left by somebody who was killed.
        let alone = wheels.as_ref().is_none_or(|wheels| matches!(wheels.try_alone(), Ok(Some(_))));
        // While it is open, nobody removes unpacked wheels or downloads. One that cannot be opened is read all the same:
        // what is read counts only if the wheel was whole afterwards.
        let mut waiting = || progress.note("waiting for another macml that removes wheels from the cache");
        let worth_opening = |wheels: &WheelCache| {
            self.from.download.is_some() || matches!(fs::kind(wheels.root()), Ok(Some(fs::Kind::Folder)))
        };
        let open = wheels.as_ref().filter(|wheels| worth_opening(wheels));
        let open = open.and_then(|wheels| wheels.open_saying(&mut waiting).ok());
        self.take(missing, tree::workers(), |kept, file| {
            let read = match &file.place {
                Place::Path(path) => unpacked(wheels.as_ref(), file).map(Ok).unwrap_or_else(|| by_path(path, file)),
                _ => Ok(unpacked(wheels.as_ref(), file)?),
            };
            Some(read.inspect(|facts| put(kept, file, facts)))
        });
        self.fetch(missing, alone, wheels.as_ref());
        drop(open);
        for file in missing.drain(..) {
            self.unread(file, Why::NotFetched);
        }
    }

    /// Fetches wheels, and reads each as it arrives.
    fn fetch(&mut self, missing: &mut Vec<&File>, alone: bool, wheels: Option<&WheelCache>) {
        let Some(download) = self.from.download else { return };
        missing.retain(|file| {
            if file.size.is_none() {
                let reason = "its size is not known, without which nothing is fetched".to_owned();
                self.unread(file, Why::Failed(reason));
            }
            file.size.is_some()
        });
        for _ in 0..MOST_TRIES {
            if missing.is_empty() {
                return;
            }
            let by_digest: BTreeMap<Sha256, &File> = missing.iter().map(|file| (file.sha256, *file)).collect();
            let wanted: Vec<Wanted> = missing.iter().filter_map(|file| wanted(file)).collect();
            let mut stopped = None;
            let mut gone = BTreeSet::new();
            match download(&wanted) {
                Err(error) => stopped = Some(error),
                Ok(downloads) => {
                    let kept = self.kept.clone();
                    let work = |ready: Ready| {
                        let file = by_digest[&ready.sha256];
                        let fetched = !ready.found;
                        (file, fetched, arrived(ready, file, alone, kept.as_ref(), wheels))
                    };
                    arriving::each(downloads, wanted.len(), work, |outcome| {
                        match outcome {
                            Ok((file, fetched, read)) => {
                                if fetched {
                                    self.facts.fetched.wheels += 1;
                                    self.facts.fetched.bytes += file.size.unwrap_or(0);
                                }
                                match read {
                                    Some(read) => self.keep(file, read),
                                    None => drop(gone.insert(file.sha256)),
                                }
                            }
                            Err(DownloadError::Unobtainable { sha256, file, size, faults }) => {
                                let one = by_digest[&sha256];
                                let error = DownloadError::Unobtainable { sha256, file, size, faults };
                                self.unread(one, Why::Failed(error.to_string()));
                            }
                            Err(error) => stopped = Some(error),
                        }
                        ControlFlow::Continue(())
                    });
                }
            }
            let told: BTreeSet<Sha256> = self.facts.unread.iter().map(|unread| unread.sha256).collect();
            missing.retain(|file| !self.facts.known.contains_key(&file.sha256) && !told.contains(&file.sha256));
            if let Some(error) = stopped {
                let reason = match error {
                    DownloadError::Offline { .. } => {
                        "it is not in the cache, and the network is switched off".to_owned()
                    }
                    error => error.to_string(),
                };
                missing.drain(..).for_each(|file| self.unread(file, Why::Failed(reason.clone())));
            }
            missing.retain(|file| {
                let lost = !gone.contains(&file.sha256);
                if lost {
                    self.unread(file, Why::Failed(DownloadError::Lost.to_string()));
                }
                !lost
            });
        }
        let reason = "other processes took it away again and again";
        missing.drain(..).for_each(|file| self.unread(file, Why::Failed(reason.to_owned())));
    }
}

/// Returns what to ask for; a file without a size cannot be asked for.
fn wanted(file: &File) -> Option<Wanted> {
    Some(Wanted { place: file.place.clone(), wheel: file.wheel.clone(), size: file.size?, sha256: file.sha256 })
}

/// Keeps facts for the next time; a cache that takes none costs only that.
fn put(kept: Option<&FactsCache>, file: &File, facts: &WheelFacts) {
    let _ = kept.map(|kept| kept.put(&file.wheel, file.sha256, facts));
}

/// Reads a wheel that is unpacked in the cache; `None` where it is not, or is not as it was unpacked.
fn unpacked(wheels: Option<&WheelCache>, file: &File) -> Option<WheelFacts> {
    let unpacked = wheels?.look(&file.wheel, file.sha256).ok()??;
    let facts = facts::read_unpacked(&unpacked).ok()?;
    // Afterwards: whoever removes or writes to a file meanwhile is noticed too.
    unpacked.is_intact().ok()?.then_some(facts)
}

/// Reads a wheel that lies somewhere on the disk.
fn by_path(path: &Path, file: &File) -> Read {
    let there = fs::size(path).map_err(|error| error.to_string())?;
    let size = there.ok_or_else(|| format!("`{}` is not there", path.display()))?;
    let is_it = download::is_whole(path, file.size.unwrap_or(size), file.sha256).map_err(|error| error.to_string())?;
    if !is_it {
        return Err(format!("`{}` is not the locked file, whose sha256 is {}", path.display(), file.sha256));
    }
    read(path, file).unwrap_or_else(|| Err(format!("`{}` is not there", path.display())))
}

/// Reads a wheel whose bytes are the locked ones; `None` where there is none any more.
fn read(path: &Path, file: &File) -> Option<Read> {
    let opened = match fs::open(path) {
        Ok(opened) => opened?,
        Err(error) => return Some(Err(error.to_string())),
    };
    let opened = install::open_to_look(std::io::BufReader::new(opened), &file.wheel);
    let read = opened.and_then(|(mut wheel, unrecorded)| {
        let refused = unrecorded.map(|fault| fault.to_string());
        Ok(WheelFacts { refused, ..facts::read_wheel(&mut wheel)? })
    });
    Some(read.map_err(|error| error.to_string()))
}

/// Reads a wheel that was fetched, and throws it away; `None` where somebody else took it.
fn arrived(
    ready: Ready,
    file: &File,
    alone: bool,
    kept: Option<&FactsCache>,
    wheels: Option<&WheelCache>,
) -> Option<Read> {
    let Some(read) = read(&ready.path, file) else {
        // Another one that reads facts left them; one that builds an environment left the wheel, unpacked.
        let facts = kept.and_then(|kept| kept.get(&file.wheel, file.sha256).ok().flatten());
        return facts.or_else(|| unpacked(wheels, file).inspect(|facts| put(kept, file, facts))).map(Ok);
    };
    let read = read.inspect(|facts| put(kept, file, facts));
    // What another one fetched is its own; what stays for nobody goes with `macml cache prune`.
    if !ready.found || alone {
        let _ = ready.discard();
    }
    Some(read)
}
