//! `macml check --prefix DIR`: any environment, of `venv`, of conda or of macml, without a macml.toml: is it what its
//! installers recorded, and what is there to be asked of its libraries and releases.
//!
//! ```text
//! folder -> Tree -> installed -> distributions, RECORDs ─┬─> recorded -> Part: is it what was installed
//!              └──> conda -> packages of conda-meta ─────┼─> images -> facts of each distribution
//!                                                        └─> system, interpreter -> is it of a Mac -> Sets
//! ```
//!
//! Which wheel a distribution came from nobody keeps: RECORD is taken at its word, in a prefix of conda's its own notes.
//! Nothing below the folder is run, and nothing outside of it is read but the head of the interpreter that it leads to.

pub(in crate::pipeline) mod conda;
mod images;
pub(in crate::pipeline) mod installed;
mod interpreter;
mod recorded;
mod told;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use crate::check::contents;
use crate::check::contents::Tree;
use crate::check::contents::Wanted;
use crate::check::facts::WheelFacts;
use crate::check::rules::Installed;
use crate::environment::Stamp;
use crate::host::Host;
use crate::host::Processor;
use crate::knowledge::Circumstances;
use crate::knowledge::Knowledge;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::target::MacosVersion;
use crate::target::Platform;
use crate::target::PythonMinor;

use super::known::known;
use super::libraries::libraries;
use super::part::Because;
use super::part::Level;
use super::part::Of;
use super::part::On;
use super::part::Part;
use super::part::Sum;
use super::part::Word;
use super::set::Declared;
use super::set::Mac;
use super::set::Release;
use super::set::Set;

use interpreter::Interpreter;

/// An environment that somebody made.
#[derive(Debug)]
pub struct Prefix {
    /// Its folder and Python, without a Mac.
    pub of: Of,
    /// Where its files lie.
    pub tree: Tree,
    /// Its releases for each Mac that it is judged for, the lowest first; none where it is not of a Mac.
    pub sets: Vec<Set>,
    /// What is known of its libraries, by distribution: more than the sets have, with packages of conda that bring no
    /// distribution, and files that nobody recorded. None where it is not of a Mac.
    pub distributions: Vec<Distribution>,
    /// What came of it so far: the environment; where it is not of a Mac, that the rest was not looked at.
    pub parts: Vec<Part>,
    /// Files of distributions that are gone, from the folder of packages.
    pub gone: BTreeMap<String, PackageName>,
    /// How long the facts of its libraries took.
    pub read_in: Duration,
}

/// What somebody put into an environment.
#[derive(Clone, PartialEq, Debug)]
pub struct Distribution {
    /// The package; of conda's, its own name there.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// A wheel of that release with the tags that it has: its build, and how its tags were put together, are not kept.
    pub wheel: Option<WheelName>,
    /// What is known of its files.
    pub facts: WheelFacts,
}

impl Prefix {
    /// Returns what rules look at.
    pub fn installed(&self) -> Vec<Installed<'_>> {
        self.distributions.iter().map(Distribution::installed).collect()
    }

    /// Judges what is in it, after what came of it so far; `locked` may know the wheels of its releases.
    pub fn judged(&self, knowledge: &Knowledge, locked: &dyn Fn(&Release) -> Option<Release>) -> Vec<Part> {
        let mut parts = self.parts.clone();
        let installed = self.installed();
        for set in &self.sets {
            let mut part = libraries(set, &installed, &[], &self.gone, knowledge);
            part.took += self.read_in;
            parts.push(part);
            let same = |release: &Release| locked(release).filter(|locked| locked.version == release.version);
            let releases = set.releases.iter().map(|release| same(release).unwrap_or_else(|| release.clone()));
            parts.push(known(&Set { releases: releases.collect(), ..set.clone() }, knowledge));
        }
        parts
    }
}

impl Distribution {
    fn installed(&self) -> Installed<'_> {
        Installed { name: &self.name, version: &self.version, wheel: self.wheel.as_ref(), facts: &self.facts }
    }
}

/// Why an environment could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing.
    #[error("there is no `{}`", .0.display())]
    Absent(PathBuf),
    /// It is none.
    #[error("`{}` is no environment of Python: it has no `lib/python3.X/site-packages`", root.display())]
    NotAPrefix {
        /// The folder.
        root: PathBuf,
        /// One that is, close by.
        near: Option<PathBuf>,
    },
    /// It is for a Python without its lock.
    #[error("`{}` is for a free-threaded Python, whose packages macml does not judge yet", .0.display())]
    FreeThreaded(PathBuf),
    /// It has no packages of the Python that was asked for.
    #[error("`{}` is for Python {}, not for {wanted}", root.display(), has.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "))]
    OtherPython {
        /// The folder.
        root: PathBuf,
        /// Which it is for.
        has: Vec<PythonMinor>,
        /// Which was asked for.
        wanted: PythonMinor,
    },
    /// It is not known what Mac it is for.
    #[error("nothing says which macOS `{}` is for, and this is no Mac", .0.display())]
    NoMacos(PathBuf),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] FsError),
}

impl Error {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Absent(_) => Some("name the folder of an environment, of venv, conda or macml".to_owned()),
            Self::NotAPrefix { near: Some(near), .. } => Some(format!("`{}` is one", near.display())),
            Self::NotAPrefix { near: None, .. } => {
                Some("name the folder that has `bin` and `lib/python3.X/site-packages` in it".to_owned())
            }
            Self::OtherPython { .. } => Some("leave `--python` out to judge what is there".to_owned()),
            Self::NoMacos(_) => Some(
                "`--macos 14.0` says the lowest that it has to run on, `--on m4,15.5` asks about one Mac".to_owned(),
            ),
            Self::FreeThreaded(_) | Self::Disk(_) => None,
        }
    }
}

/// Looks at the environment in a folder: once for each Python that it has packages of. `here` is the Mac that this runs on.
/// It is held against `wanted`, the packages of a lock, or where there are none against what its installers recorded.
///
/// # Errors
/// When it is no environment, cannot be read, or it is not known which Mac it is for.
pub fn prefix(
    root: &Path,
    declared: &Declared,
    asked: &[Mac],
    here: Option<&Host>,
    level: contents::Level,
    wanted: Option<&Wanted>,
) -> Result<Vec<Prefix>, Error> {
    let all = trees(root)?;
    let has: Vec<PythonMinor> = all.iter().map(|tree| tree.python).collect();
    let trees: Vec<Tree> =
        all.into_iter().filter(|tree| declared.python.is_none_or(|python| python == tree.python)).collect();
    if let (true, Some(wanted)) = (trees.is_empty(), declared.python) {
        return Err(Error::OtherPython { root: root.to_owned(), has, wanted });
    }
    trees.into_iter().map(|tree| one(root, tree, declared, asked, here, level, wanted)).collect()
}

/// Finds what there is in a folder: one for each Python that it has packages of.
pub(in crate::pipeline) fn trees(root: &Path) -> Result<Vec<Tree>, Error> {
    if fs::kind(root)?.is_none() {
        return Err(Error::Absent(root.to_owned()));
    }
    // An environment of macml's is a link to its generation.
    let folder = crate::sys::resolve(root)?.unwrap_or_else(|| root.to_owned());
    if let Some(stamp) = Stamp::read(&folder)?
        && let Some(tree) = Tree::generation(&folder, &stamp, root)?
    {
        return Ok(vec![tree]);
    }
    if let Some(tree) = Tree::staged(root)? {
        return Ok(vec![tree]);
    }
    let found = Tree::prefixes(root)?;
    if found.is_empty() {
        let libraries = fs::names(&root.join("lib"))?;
        if libraries.iter().any(|name| name.starts_with("python3.") && name.ends_with('t')) {
            return Err(Error::FreeThreaded(root.to_owned()));
        }
        let beside = [".venv", "venv", "env", ".conda"].map(|name| root.join(name));
        let above = root.ancestors().skip(1).take(3).map(Path::to_owned);
        let is_one = |folder: &PathBuf| Tree::prefixes(folder).is_ok_and(|found| !found.is_empty());
        return Err(Error::NotAPrefix { root: root.to_owned(), near: beside.into_iter().chain(above).find(is_one) });
    }
    Ok(found)
}

fn one(
    root: &Path,
    tree: Tree,
    declared: &Declared,
    asked: &[Mac],
    here: Option<&Host>,
    level: contents::Level,
    wanted: Option<&Wanted>,
) -> Result<Prefix, Error> {
    let begun = Instant::now();
    let installed = installed::read(&tree)?;
    let conda = conda::read(&tree)?;
    let interpreter = Interpreter::of(&tree)?;
    let platform = interpreter::platform(&tree, &installed, interpreter.as_ref());
    let of = Of { env: root.display().to_string(), platform, python: tree.python, on: None };
    let env = recorded::Env { tree: &tree, of: &of, installed: &installed, conda: &conda, interpreter: &interpreter };
    let (mut environment, gone) = recorded::part(&env, level, wanted)?;
    environment.took = begun.elapsed();

    if !platform.is_mac() {
        let skipped = |level| Part {
            level,
            of: Some(of.clone()),
            word: Word::NotForMacs,
            otherwise: Word::NotForMacs,
            sum: Sum::Nothing,
            told: Vec::new(),
            took: Duration::ZERO,
        };
        let parts = vec![environment, skipped(Level::Libraries), skipped(Level::Knowledge)];
        let (sets, distributions, read_in) = (Vec::new(), Vec::new(), Duration::ZERO);
        return Ok(Prefix { of, tree, sets, distributions, parts, gone, read_in });
    }
    let sets = sets(root, &of, &installed, declared, asked, here)?;
    let begun = Instant::now();
    let images = images::read(&tree, &installed, &conda, interpreter.as_ref());
    environment.unread(&images.failed);
    let read_in = begun.elapsed();
    let (distributions, parts) = (images.distributions, vec![environment]);
    Ok(Prefix { of, tree, sets, distributions, parts, gone, read_in })
}

/// Makes the set of each Mac.
fn sets(
    root: &Path,
    of: &Of,
    installed: &[installed::Distribution],
    declared: &Declared,
    asked: &[Mac],
    here: Option<&Host>,
) -> Result<Vec<Set>, Error> {
    let mut releases: Vec<Release> = Vec::new();
    for one in installed {
        let Some(version) = &one.version else { continue };
        if !releases.iter().any(|known| known.name == one.name) {
            releases.push(Release { name: one.name.clone(), version: version.clone(), file: None });
        }
    }
    releases.sort_by(|one, other| one.name.cmp(&other.name));
    let on = |macos, chip, because| On { mac: Circumstances { macos, chip, gpu: declared.gpu }, because };
    let this = here.and_then(|host| {
        let chip = match host.processor() {
            Processor::Chip(chip) => chip,
            _ => declared.chip.clone(),
        };
        Some(on(MacosVersion::told_by(&host.macos)?, chip, Because::Here))
    });
    let lowest = match declared.macos {
        Some(macos) => Some(on(macos, declared.chip.clone(), Because::Floor)),
        None => this,
    };
    if lowest.is_none() && asked.is_empty() {
        return Err(Error::NoMacos(root.to_owned()));
    }
    let asked = asked.iter().map(|mac| on(mac.macos, mac.chip.clone(), Because::Asked));
    let set = |on| Set {
        of: Of { on: Some(on), ..of.clone() },
        releases: releases.clone(),
        unknown: BTreeSet::new(),
        ignored: Vec::new(),
        solved_with: None,
    };
    Ok(lowest.into_iter().chain(asked).map(set).collect())
}

/// The platform that the text of a tag or a program's head stands for, where it stands for one.
fn platform_of(tag: &str) -> Option<Platform> {
    match tag {
        tag if tag.starts_with("macosx_") => Some(Platform::MacosArm64),
        tag if tag.contains("linux") && tag.ends_with("aarch64") => Some(Platform::LinuxAarch64),
        tag if tag.contains("linux") => Some(Platform::LinuxX86_64),
        _ => None,
    }
}
