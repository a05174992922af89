//! Where interpreters are, in the order in which they are preferred. Looks at names, links and folders; runs nothing.

use std::cmp::Reverse;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::machine::{Machine, System};
use crate::pep::Version;
use crate::sys;
use crate::sys::fs;

/// A file that may be an interpreter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Its path as an environment should name it.
    pub path: PathBuf,
    /// The file that it leads to; the path itself where nothing is there.
    pub resolved: PathBuf,
    /// Whose it is.
    pub origin: Origin,
}

/// Whose an interpreter is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Homebrew's, by its `opt` path, which stays when Homebrew updates it.
    Homebrew,
    /// Built by pyenv.
    Pyenv,
    /// Installed with the installer of python.org.
    PythonOrg,
    /// Managed by uv.
    Uv,
    /// Found on PATH.
    Path,
    /// Named by its path, and nobody's of these.
    Elsewhere,
    /// That of an environment of conda, with the environment's name.
    Conda(String),
    /// The one that conda itself runs on.
    CondaBase,
    /// Apple's stand-in, or the one of Apple's developer tools.
    Apple,
}

impl fmt::Display for Origin {
    /// Writes it as people call it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Homebrew => write!(f, "Homebrew"),
            Self::Pyenv => write!(f, "pyenv"),
            Self::PythonOrg => write!(f, "python.org"),
            Self::Uv => write!(f, "uv"),
            Self::Path => write!(f, "PATH"),
            Self::Elsewhere => write!(f, "named"),
            Self::Conda(name) => write!(f, "conda `{name}`"),
            Self::CondaBase => write!(f, "conda"),
            Self::Apple => write!(f, "Apple"),
        }
    }
}

/// What stands at a path that somebody named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Named {
    /// Something to look at.
    Candidate(Candidate),
    /// Nothing.
    Absent,
    /// A folder in which no Python is.
    Empty,
}

/// Lists the candidates, best first, each file once: the environments of conda come late, what is refused anyway last.
pub fn candidates(machine: &Machine) -> Vec<Candidate> {
    let found = match machine.system {
        System::Mac => {
            let mut found = homebrew(machine);
            found.extend(pyenv(machine));
            found.extend(python_org(machine));
            found.extend(uv(machine));
            found.extend(conda(machine));
            found.extend(apple(machine));
            found
        }
        System::Linux => {
            let mut found = on_path(machine);
            found.extend(pyenv(machine));
            found.extend(uv(machine));
            found
        }
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    for (path, origin) in found {
        let Some(candidate) = candidate(machine, &path, origin) else { continue };
        let known = candidates.iter().any(|one| one.resolved == candidate.resolved);
        if !known && virtual_home(&path).is_none() {
            candidates.push(candidate);
        }
    }
    candidates.sort_by_key(|candidate| candidate.origin.rank());
    candidates
}

/// Looks at a path that somebody named: a Python, or the folder of one.
pub(super) fn named(machine: &Machine, path: &Path) -> Named {
    let path = match fs::kind(path) {
        Ok(None) => return Named::Absent,
        Ok(Some(fs::Kind::Folder)) => match program(path) {
            Some(program) => program,
            None => return Named::Empty,
        },
        // What cannot be looked at is told when its header is to be read.
        Ok(Some(_)) | Err(_) => path.to_owned(),
    };
    let resolved = resolved(&path);
    if virtual_home(&path).is_some() {
        // Not by the name of the Python that it leads to: that is not what was named.
        return Named::Candidate(Candidate { path, resolved, origin: Origin::Elsewhere });
    }
    let origin = origin_by_place(machine, &path, &resolved).unwrap_or(Origin::Elsewhere);
    let path = lasting(machine, &path, &resolved, &origin);
    Named::Candidate(Candidate { path, resolved, origin })
}

/// Returns where the Python of a virtual environment is, when `path` is in one.
pub fn virtual_home(path: &Path) -> Option<String> {
    let config = small(&prefix(path)?.join("pyvenv.cfg"))?;
    let home = config.lines().find_map(|line| line.split_once('=').filter(|(key, _)| key.trim() == "home"));
    Some(home.map_or_else(String::new, |(_, home)| home.trim().to_owned()))
}

/// Returns the minor in the name of a file such as `python3.13`.
pub(super) fn minor_in_name(path: &Path) -> Option<(u64, u64)> {
    let name = path.file_name()?.to_str()?.strip_prefix("python")?;
    let (major, minor) = name.split_once('.')?;
    Some((number(major)?, number(minor)?))
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Origin {
    /// Returns the word for it in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Homebrew => "homebrew",
            Self::Pyenv => "pyenv",
            Self::PythonOrg => "python-org",
            Self::Uv => "uv",
            Self::Path => "path",
            Self::Elsewhere => "elsewhere",
            Self::Conda(_) => "conda",
            Self::CondaBase => "conda-base",
            Self::Apple => "apple",
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Conda(_) => 1,
            Self::CondaBase | Self::Apple => 2,
            _ => 0,
        }
    }
}

type Found = Vec<(PathBuf, Origin)>;

/// The framework of python.org's installer.
const FRAMEWORK: &str = "Library/Frameworks/Python.framework/Versions";

fn homebrew(machine: &Machine) -> Found {
    let mut found = Found::new();
    for opt in machine.homebrews().iter().map(|prefix| prefix.join("opt")) {
        let formulae = names(&opt).into_iter().filter_map(|formula| {
            let minor = number(formula.strip_prefix("python@3.")?)?;
            Some((minor, formula))
        });
        let mut formulae: Vec<(u64, String)> = formulae.collect();
        formulae.sort_by_key(|(minor, _)| Reverse(*minor));
        let path = |(minor, formula): &(u64, String)| opt.join(formula).join(format!("bin/python3.{minor}"));
        found.extend(formulae.iter().map(|formula| (path(formula), Origin::Homebrew)));
    }
    found
}

fn pyenv(machine: &Machine) -> Found {
    let Some(root) = &machine.pyenv else { return Found::new() };
    let versions = root.join("versions");
    let folders = newest_first(names(&versions), |name| Some(name));
    folders.iter().filter_map(|name| Some((program(&versions.join(name))?, Origin::Pyenv))).collect()
}

fn python_org(machine: &Machine) -> Found {
    let mut found = Found::new();
    for (place, end) in [(FRAMEWORK, ""), ("Library/Frameworks/PythonT.framework/Versions", "t")] {
        let versions = machine.at(place);
        let mut minors: Vec<u64> =
            names(&versions).iter().filter_map(|name| number(name.strip_prefix("3.")?)).collect();
        minors.sort_unstable_by_key(|minor| Reverse(*minor));
        let path = |minor: &u64| versions.join(format!("3.{minor}/bin/python3.{minor}{end}"));
        found.extend(minors.iter().map(|minor| (path(minor), Origin::PythonOrg)));
    }
    found
}

fn uv(machine: &Machine) -> Found {
    let Some(root) = &machine.uv else { return Found::new() };
    let names = names(root).into_iter().filter(|name| !name.starts_with('.')).collect();
    // `cpython-3.13.1-macos-aarch64-none`, and links to the newest patch, which come after what they lead to.
    let folders = newest_first(names, |name| name.split('-').nth(1));
    folders.iter().filter_map(|name| Some((program(&root.join(name))?, Origin::Uv))).collect()
}

fn conda(machine: &Machine) -> Found {
    let mut bases: Vec<PathBuf> = machine.conda.clone();
    const KINDS: [&str; 6] = ["miniforge3", "miniconda3", "mambaforge", "anaconda3", "micromamba", "opt/miniconda3"];
    bases.extend(machine.home.iter().flat_map(|home| KINDS.map(|kind| home.join(kind))));
    bases.extend(machine.home.iter().map(|home| home.join("opt/anaconda3")));
    bases.extend(["opt/miniforge3", "opt/miniconda3", "opt/anaconda3", "opt/conda"].map(|place| machine.at(place)));
    for brew in machine.homebrews() {
        let kinds = ["miniforge", "miniconda", "anaconda", "mambaforge"];
        bases.extend(kinds.map(|kind| brew.join("Caskroom").join(kind).join("base")));
    }
    let listed = machine.home.as_ref().map(|home| home.join(".conda/environments.txt"));
    let listed = listed.and_then(|list| small(&list)).unwrap_or_default();
    bases.extend(listed.lines().map(str::trim).map(PathBuf::from).filter(|path| path.is_absolute()));
    let mut prefixes = Vec::new();
    for base in bases {
        let envs = base.join("envs");
        prefixes.push(base);
        prefixes.extend(names(&envs).iter().map(|name| envs.join(name)));
    }
    let is_conda = |prefix: &PathBuf| fs::is_folder(&prefix.join("conda-meta"));
    let found = prefixes.iter().filter(|prefix| is_conda(prefix)).filter_map(|prefix| program(prefix));
    // Which of them are a base is found out by their place.
    found.map(|path| (path, Origin::CondaBase)).collect()
}

fn apple(machine: &Machine) -> Found {
    let places = ["usr/bin/python3", "Library/Developer/CommandLineTools/usr/bin/python3"];
    let mut found = places.map(|place| machine.at(place)).to_vec();
    let applications = machine.at("Applications");
    let xcodes = names(&applications).into_iter().filter(|name| name.starts_with("Xcode") && name.ends_with(".app"));
    found.extend(xcodes.map(|name| applications.join(name).join("Contents/Developer/usr/bin/python3")));
    found.into_iter().map(|path| (path, Origin::Apple)).collect()
}

fn on_path(machine: &Machine) -> Found {
    let shims = machine.pyenv.as_ref().map(|root| root.join("shims"));
    let mut found = Found::new();
    // The shims of pyenv are scripts that start one of its Pythons, all of which are found.
    for folder in machine.path.iter().filter(|folder| Some(*folder) != shims.as_ref()) {
        let mut minors: Vec<u64> =
            names(folder).iter().filter_map(|name| number(name.strip_prefix("python3.")?)).collect();
        minors.sort_unstable_by_key(|minor| Reverse(*minor));
        // The name without a minor leads to another Python one day.
        found.extend(minors.iter().map(|minor| (folder.join(format!("python3.{minor}")), Origin::Path)));
        found.push((folder.join("python3"), Origin::Path));
    }
    found
}

/// Makes a candidate of a path at which there is something; `origin` is whose it is where its place does not tell.
pub fn candidate(machine: &Machine, path: &Path, origin: Origin) -> Option<Candidate> {
    let resolved = sys::resolve(path).ok().flatten()?;
    let origin = origin_by_place(machine, path, &resolved).unwrap_or(origin);
    let path = lasting(machine, path, &resolved, &origin);
    Some(Candidate { path, resolved, origin })
}

/// Reads a small text file; `None` for whatever is none.
fn small(path: &Path) -> Option<String> {
    const LONGEST: u64 = 1 << 20;
    String::from_utf8(fs::read_plain(path, LONGEST).ok().flatten()?).ok()
}

fn resolved(path: &Path) -> PathBuf {
    sys::resolve(path).ok().flatten().unwrap_or_else(|| path.to_owned())
}

/// Names a file by a path that goes on to lead to it: a link such as `~/.local/bin/python3.13` leads elsewhere one day, and
/// a file of Homebrew's cellar goes with the next update, while the link to it stays.
fn lasting(machine: &Machine, path: &Path, resolved: &Path, origin: &Origin) -> PathBuf {
    let link = || {
        let (prefix, formula) = in_cellar(resolved)?;
        let name = path.file_name().filter(|name| *name != "python" && *name != "python3").or(resolved.file_name())?;
        let link = prefix.join("opt").join(formula).join("bin").join(name);
        (sys::resolve(&link).ok().flatten()? == resolved).then_some(link)
    };
    let own = match origin {
        Origin::Homebrew => return link().unwrap_or_else(|| path.to_owned()),
        Origin::Uv => machine.uv.clone(),
        Origin::PythonOrg => Some(machine.at(FRAMEWORK)),
        _ => None,
    };
    match own {
        Some(folder) if !path.starts_with(&folder) => resolved.to_owned(),
        _ => path.to_owned(),
    }
}

/// Splits `/opt/homebrew/Cellar/python@3.13/3.13.9/…` into Homebrew's folder and the formula.
fn in_cellar(resolved: &Path) -> Option<(PathBuf, &str)> {
    let cellar = resolved.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "Cellar"))?;
    let formula = resolved.strip_prefix(cellar).ok()?.components().next()?;
    match formula {
        Component::Normal(formula) => Some((cellar.parent()?.to_owned(), formula.to_str()?)),
        _ => None,
    }
}

/// Tells whose a file is by where it lies.
fn origin_by_place(machine: &Machine, path: &Path, resolved: &Path) -> Option<Origin> {
    let mac = machine.system == System::Mac;
    if mac && is_apple(machine, path, resolved) {
        return Some(Origin::Apple);
    }
    if let Some(prefix) =
        [path, resolved].into_iter().filter_map(prefix).find(|prefix| fs::is_folder(&prefix.join("conda-meta")))
    {
        let name = prefix.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_named = prefix.parent().and_then(Path::file_name).is_some_and(|folder| folder == "envs");
        // Conda can be installed into an environment too, which does not make that one the base.
        let base = !is_named && fs::is_folder(&prefix.join("condabin"));
        return Some(if base { Origin::CondaBase } else { Origin::Conda(name) });
    }
    let below = |place: &Option<PathBuf>| place.as_ref().is_some_and(|place| lies_in(path, resolved, place));
    let opt = || machine.homebrews().iter().any(|prefix| path.starts_with(prefix.join("opt")));
    if in_cellar(resolved).is_some() || (mac && opt()) {
        Some(Origin::Homebrew)
    } else if below(&machine.pyenv) {
        Some(Origin::Pyenv)
    } else if below(&machine.uv) {
        Some(Origin::Uv)
    } else if mac && lies_in(path, resolved, &machine.at(FRAMEWORK)) {
        Some(Origin::PythonOrg)
    } else {
        None
    }
}

fn is_apple(machine: &Machine, path: &Path, resolved: &Path) -> bool {
    let tools = ["usr/bin", "Library/Developer", "System"].map(|place| machine.at(place));
    let applications = machine.at("Applications");
    let xcode = |path: &Path| {
        let inside = path.strip_prefix(&applications).ok().and_then(|inside| inside.components().next());
        inside.is_some_and(|first| first.as_os_str().to_string_lossy().starts_with("Xcode"))
    };
    tools.iter().any(|place| lies_in(path, resolved, place)) || xcode(path) || xcode(resolved)
}

/// Whether a path, or the file that it leads to, lies in a folder.
fn lies_in(path: &Path, resolved: &Path, folder: &Path) -> bool {
    let real = || sys::resolve(folder).ok().flatten().is_some_and(|folder| resolved.starts_with(folder));
    path.starts_with(folder) || resolved.starts_with(folder) || real()
}

/// Returns the folder above the `bin` of a program.
pub fn prefix(path: &Path) -> Option<&Path> {
    path.parent()?.parent()
}

/// Returns the Python of a prefix, by its most telling name.
fn program(prefix: &Path) -> Option<PathBuf> {
    let bin = prefix.join("bin");
    let names = names(&bin);
    let minor = |name: &String| number(name.strip_prefix("python3.")?.trim_end_matches('t'));
    let telling = names.iter().filter_map(|name| Some((minor(name)?, Reverse(name.len()), name))).max();
    let plain = || ["python3", "python"].into_iter().find(|name| names.iter().any(|one| one == name));
    telling.map(|(_, _, name)| name.as_str()).or_else(plain).map(|name| bin.join(name))
}

/// Lists a folder; what cannot be listed has nothing for us.
fn names(folder: &Path) -> Vec<String> {
    fs::names(folder).unwrap_or_default()
}

/// Sorts names by the version in them, the newest first; those without one come last, in their own order.
fn newest_first(mut names: Vec<String>, version: impl Fn(&str) -> Option<&str>) -> Vec<String> {
    let parse = |name: &String| version(name).and_then(|text| text.parse::<Version>().ok());
    names.sort_by_cached_key(|name| Reverse(parse(name)));
    names
}
