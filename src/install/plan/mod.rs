//! From unpacked wheels to a plan: every path of the tree with what it is made from. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::marker::CachedFile;
use super::names::{Clash, Spelling, Tree};
use super::record;
use super::record::Listed;
use super::scripts;
use super::scripts::Interpreter;
use super::unpack::Unpacked;
use super::wheel;
use crate::pep::{Sha256, WheelName};
use crate::target::{Platform, PythonMinor};

/// Where the parts of a wheel go, relative to the root of the tree and with `/`, and who owns what besides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Wheels that are pure.
    pub purelib: String,
    /// The others.
    pub platlib: String,
    /// Commands.
    pub scripts: String,
    /// The folder in which each package has one for its headers.
    pub headers: String,
    /// How the place tells names apart: as the Macs that it is for, on whatever machine it is made.
    pub spelling: Spelling,
    /// What starts commands.
    pub interpreter: Interpreter,
    /// Paths that no wheel may own: the environment's own.
    pub reserved: Vec<String>,
}

impl Layout {
    /// Describes a virtual environment of a Python.
    pub fn venv(python: PythonMinor, platform: Platform, interpreter: Interpreter) -> Self {
        let site = format!("lib/python{python}/site-packages");
        let own = ["pyvenv.cfg", "bin/python", "bin/python3", ".gitignore", "CACHEDIR.TAG"].map(str::to_owned);
        let activation = ["activate", "activate.fish", "activate.csh"];
        let activation = activation.map(|name| format!("bin/{name}"));
        Self {
            purelib: site.clone(),
            platlib: site,
            scripts: "bin".to_owned(),
            headers: format!("include/site/python{python}"),
            spelling: if platform.is_mac() { Spelling::Folded } else { Spelling::Exact },
            interpreter,
            reserved: own.into_iter().chain(activation).chain([format!("bin/python{python}")]).collect(),
        }
    }

    /// Returns where a file of a wheel goes.
    pub fn place(&self, wheel: &Unpacked, path: &str) -> String {
        let about = &wheel.about;
        let site = if about.purelib { &self.purelib } else { &self.platlib };
        // The wheel was judged: a path in `.data` has one of five keys.
        let Ok(Some(key)) = wheel::data_key(path, about.data.as_deref()) else { return format!("{site}/{path}") };
        let data = about.data.as_deref().unwrap_or_default();
        let rest = &path[data.len() + key.len() + 2..];
        match key {
            "purelib" => format!("{}/{rest}", self.purelib),
            "platlib" => format!("{}/{rest}", self.platlib),
            "scripts" => format!("{}/{rest}", self.scripts),
            "headers" => format!("{}/{}/{rest}", self.headers, wheel.name.name),
            _ => rest.to_owned(),
        }
    }

    /// Keeps wheels from more paths: those that the one who makes the environment writes into it.
    #[must_use]
    pub fn reserving(mut self, paths: Vec<String>) -> Self {
        self.reserved.extend(paths);
        self
    }
}

/// A wheel that is to be in the tree.
#[derive(Clone, Debug)]
pub struct Arriving<'a> {
    /// The wheel.
    pub wheel: &'a Unpacked,
    /// Whether somebody asked for it by name, rather than another package.
    pub requested: bool,
    /// The text of direct_url.json, for one that did not come from an index.
    pub direct_url: Option<String>,
}

/// A tree of files, before it is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The wheels that files come from.
    pub wheels: Vec<PlannedWheel>,
    /// Every file by its path.
    pub files: BTreeMap<String, Planned>,
}

/// A wheel of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedWheel {
    /// Its file name.
    pub name: WheelName,
    /// Its digest.
    pub sha256: Sha256,
    /// Where its files are in the cache.
    pub folder: PathBuf,
    /// The time that they bear.
    pub time: SystemTime,
}

/// A file of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// The wheel that it belongs to, the first of several: a place in [`Plan::wheels`].
    pub owner: usize,
    /// What it is made from.
    pub source: Source,
}

/// What a file is made from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A file of its owner in the cache.
    Cached(Arc<CachedFile>),
    /// Bytes of its own: a file that only describes.
    Text(Vec<u8>),
    /// Bytes of its own: a command.
    Command(Vec<u8>),
}

impl Source {
    /// Returns how many bytes it has.
    pub fn size(&self) -> u64 {
        match self {
            Self::Cached(file) => file.size,
            Self::Text(bytes) | Self::Command(bytes) => bytes.len() as u64,
        }
    }

    /// Returns digest and size.
    fn content(&self) -> (Sha256, u64) {
        match self {
            Self::Cached(file) => (file.sha256, file.size),
            Self::Text(bytes) | Self::Command(bytes) => (Sha256::of(bytes), bytes.len() as u64),
        }
    }
}

/// A path that two wheels own with different bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overlap {
    /// The path, relative to the tree.
    pub path: String,
    /// One of the wheels.
    pub first: WheelName,
    /// The other.
    pub second: WheelName,
}

/// Why wheels cannot be in one tree.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// Two own a path with different bytes.
    #[error("{}", overlaps(.0))]
    Overlaps(Vec<Overlap>),
    /// Two paths are one name on a Mac.
    #[error("`{path}` of `{}` and `{other}` of `{}` are one name on a Mac: they differ in case or accents only", .wheels[1], .wheels[0])]
    Spelling {
        /// The later path.
        path: String,
        /// The earlier one, or a folder on its way.
        other: String,
        /// The wheel of the earlier one, and that of the later one.
        wheels: Box<[WheelName; 2]>,
    },
    /// A path is a file's and a folder's.
    #[error("`{path}` of `{}` needs `{other}`, which is also in `{}`, to be both a file and a folder", .wheels[1], .wheels[0])]
    FileAndFolder {
        /// The later path.
        path: String,
        /// What both want.
        other: String,
        /// The wheel of the earlier one, and that of the later one.
        wheels: Box<[WheelName; 2]>,
    },
    /// A wheel would replace a part of the environment itself.
    #[error("`{wheel}` would replace `{path}`, which belongs to the environment itself")]
    Reserved {
        /// The path.
        path: String,
        /// The wheel.
        wheel: Box<WheelName>,
    },
}

/// How many overlaps are told one by one.
const TOLD: usize = 3;

fn overlaps(all: &[Overlap]) -> String {
    let one = |overlap: &Overlap| {
        let Overlap { path, first, second } = overlap;
        format!("`{first}` and `{second}` both own `{path}`, with different bytes")
    };
    let told: Vec<String> = all.iter().take(TOLD).map(one).collect();
    let more = match all.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!(
        "{}{more}; list a path in `[resolution] allow-overlap` if it does not matter which one is there",
        told.join("; ")
    )
}

/// Who wants a path: a wheel by its place, or the environment.
type Owner = Option<u32>;

/// Plans a tree of wheels. Of two that own a path that is in `allow_overlap`, relative to the tree or to the folder that
/// packages lie in, the first wheel's is there.
///
/// # Errors
/// When they cannot be in one tree; all paths with different bytes are told at once.
pub fn plan(arriving: &[Arriving<'_>], layout: &Layout, allow_overlap: &[String]) -> Result<Plan, PlanError> {
    let mut making = Making {
        layout,
        tree: Tree::new(layout.spelling),
        plan: Plan { wheels: Vec::new(), files: BTreeMap::new() },
        overlaps: Vec::new(),
        allow_overlap,
    };
    let files: usize = arriving.iter().map(|one| one.wheel.files.len()).sum();
    // With the folders, of which there is about one for eight files.
    making.tree.expect(files + files / 8);
    for path in &layout.reserved {
        // Two that are reserved may well be one name.
        let _ = making.tree.file(path, None);
    }
    for one in arriving {
        making.wheel(one)?;
    }
    if making.overlaps.is_empty() { Ok(making.plan) } else { Err(PlanError::Overlaps(making.overlaps)) }
}

struct Making<'a> {
    layout: &'a Layout,
    tree: Tree<Owner>,
    plan: Plan,
    overlaps: Vec<Overlap>,
    allow_overlap: &'a [String],
}

impl Making<'_> {
    fn wheel(&mut self, arriving: &Arriving<'_>) -> Result<(), PlanError> {
        let Arriving { wheel, .. } = arriving;
        let own = self.plan.wheels.len();
        self.plan.wheels.push(PlannedWheel {
            name: wheel.name.clone(),
            sha256: wheel.sha256,
            folder: wheel.folder.clone(),
            time: wheel.time(),
        });
        let about = &wheel.about;
        let site = if about.purelib { &self.layout.purelib } else { &self.layout.platlib };
        let info = |file: &str| format!("{}/{file}", about.dist_info);
        let mut paths = Vec::with_capacity(wheel.files.len() + 4);
        for file in wheel.own_files() {
            let path = self.layout.place(wheel, &file.path);
            let source = match wheel.scripts.get(&file.path) {
                Some(script) => Source::Command(scripts::rewrite(script, &self.layout.interpreter)),
                None => Source::Cached(file.clone()),
            };
            paths.push(self.put(own, path, source)?);
        }
        for entry in &about.entry_points {
            let path = format!("{}/{}", self.layout.scripts, entry.name);
            let text = scripts::launcher(entry, &self.layout.interpreter).into_bytes();
            paths.push(self.put(own, path, Source::Command(text))?);
        }
        let mut texts = vec![("INSTALLER", record::INSTALLER.as_bytes().to_vec())];
        if arriving.requested {
            texts.push(("REQUESTED", Vec::new()));
        }
        if let Some(text) = &arriving.direct_url {
            texts.push(("direct_url.json", text.clone().into_bytes()));
        }
        for (name, text) in texts {
            paths.push(self.put(own, format!("{site}/{}", info(name)), Source::Text(text))?);
        }
        let rows = paths.iter().map(|path| {
            // Of a path that two own, what is there counts.
            let content = self.plan.files.get(path).map(|planned| planned.source.content());
            Listed { path: relative(path, site), content }
        });
        let own_row = Listed { path: info("RECORD"), content: None };
        let mut text = record::text(rows.chain([own_row]).collect());
        // It stays until it is written, and a line for each file of an environment is a lot.
        text.shrink_to_fit();
        self.put(own, format!("{site}/{}", info("RECORD")), Source::Text(text.into_bytes()))?;
        Ok(())
    }

    /// Puts a file in, unless another wheel has it already with the same bytes.
    fn put(&mut self, own: usize, path: String, source: Source) -> Result<String, PlanError> {
        let owner = u32::try_from(own).expect("there are fewer wheels than that");
        let Err((clash, owner)) = self.tree.file(&path, Some(owner)) else {
            self.plan.files.insert(path.clone(), Planned { owner: own, source });
            return Ok(path);
        };
        let second = self.plan.wheels[own].name.clone();
        let Some(owner) = owner else { return Err(PlanError::Reserved { path, wheel: Box::new(second) }) };
        let first = self.plan.wheels[owner as usize].name.clone();
        match clash {
            Clash::Spelling(other) => Err(PlanError::Spelling { path, other, wheels: Box::new([first, second]) }),
            Clash::FileAndFolder(other) => {
                Err(PlanError::FileAndFolder { path, other, wheels: Box::new([first, second]) })
            }
            Clash::Same => {
                let there = self.plan.files.get(&path).map(|planned| planned.source.content());
                if there != Some(source.content()) && !self.may_overlap(&path) {
                    self.overlaps.push(Overlap { path: path.clone(), first, second });
                }
                Ok(path)
            }
        }
    }

    fn may_overlap(&self, path: &str) -> bool {
        let sites = [&self.layout.purelib, &self.layout.platlib];
        let inside = |site: &&String| path.strip_prefix(site.as_str()).and_then(|rest| rest.strip_prefix('/'));
        let names = [path].into_iter().chain(sites.iter().filter_map(inside));
        names.into_iter().any(|name| self.allow_overlap.iter().any(|allowed| allowed == name))
    }
}

/// Writes a path as seen from a folder, both relative to one root.
fn relative(path: &str, folder: &str) -> String {
    if let Some(rest) = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) {
        return rest.to_owned();
    }
    let (path_parts, parts): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), folder.split('/').collect());
    let same = path_parts.iter().zip(&parts).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", parts.len() - same);
    up.chain(path_parts[same..].iter().copied()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
