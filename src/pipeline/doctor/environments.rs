//! Environments: the project's, the active ones, the one that was named; each folder once, with everything that it is known
//! as.

use std::path::Path;
use std::path::PathBuf;

use crate::check::contents::Tree;
use crate::doctor::Facts;
use crate::doctor::facts::BrokenCommand;
use crate::doctor::facts::Environment;
use crate::environment;
use crate::environment::Place;
use crate::environment::STAGED_NAME;
use crate::environment::Stamp;
use crate::environment::is_same;
use crate::lock::Lockfile;
use crate::lock::ReadOutcome;
use crate::pipeline::check::prefix;
use crate::pipeline::check::prefix::Error;
use crate::sys::Folder;
use crate::sys::fs;
use crate::sys::parallel;
use crate::sys::tree;

use super::Look;
use super::glance;
use super::glance::shown;
use super::glance::unseen;
use super::installed;
use super::libraries;
use super::project;
use super::pythons;
use super::started;
use super::started::Started;
use crate::sys::fs::is_file;
use crate::sys::fs::is_folder;

/// How long a first line may be that macOS follows, `#!` included: `IMG_SHSIZE` of its `sys/imgact.h`.
const LONGEST_LINE: usize = 512;

/// A folder that is one, or should be.
struct Meant {
    folder: PathBuf,
    real: Option<PathBuf>,
    roles: Vec<String>,
    /// Of the project's, where it lies.
    place: Option<Place>,
}

/// Looks at all of them.
pub(super) fn gather(look: &Look<'_>, facts: &mut Facts) {
    let lock = look.project.as_ref().and_then(|folder| match project::lockfile(folder) {
        Ok(ReadOutcome::Whole(lock)) => Some(lock),
        _ => None,
    });
    let outside = libraries::outside(look);
    for meant in meant(look, facts) {
        let mut found = one(look, &meant, lock.as_deref(), facts);
        if found.there {
            let known: Vec<Option<PathBuf>> =
                found.libraries.iter().map(|one| glance::resolved(Path::new(&one.path))).collect();
            let others = outside.iter().filter(|one| !known.contains(&glance::resolved(Path::new(&one.path))));
            found.libraries.extend(others.cloned());
        }
        facts.environments.push(found);
    }
}

/// Returns where an environment of a project lies.
pub(super) fn place(look: &Look<'_>, folder: &Path, env: &str) -> Option<Place> {
    let data = look.env.folder(Folder::Data).map(|data| data.join("macml"));
    Place::within(folder, env, look.env.home(), data.as_deref()).ok()
}

/// Lists them, each folder once.
fn meant(look: &Look<'_>, facts: &Facts) -> Vec<Meant> {
    let mut all: Vec<(PathBuf, String, Option<Place>)> = Vec::new();
    if let Some(folder) = &look.project {
        let declared = facts.project.iter().flat_map(|project| project.declared.iter().map(|one| one.env.clone()));
        let mut names: Vec<String> = declared.collect();
        let default = place(look, folder, "default");
        let on_disk = default.and_then(|place| environment::names(&place).ok()).unwrap_or_default();
        names.extend(on_disk);
        names.sort_by_key(|name| (name != "default", name.clone()));
        names.dedup();
        for name in names {
            let Some(place) = place(look, folder, &name) else { continue };
            all.push((place.link.clone(), format!("project {name}"), Some(place)));
        }
    }
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        let folder = look.env.raw(name).map(|folder| look.env.cwd().join(folder));
        all.extend(folder.map(|folder| (folder, name.to_owned(), None)));
    }
    if look.project.is_none() {
        // What uv and others call so lies there whether it is active or not.
        let usual = look.env.cwd().join(".venv");
        let there = is_file(&usual.join("pyvenv.cfg"));
        all.extend(there.then(|| (usual, "this folder".to_owned(), None)));
    }
    all.extend(look.prefix.clone().map(|folder| (look.env.cwd().join(folder), "named".to_owned(), None)));
    let mut merged: Vec<Meant> = Vec::new();
    for (folder, role, place) in all {
        let real = glance::resolved(&folder);
        let same = |one: &&mut Meant| one.folder == folder || (real.is_some() && one.real == real);
        match merged.iter_mut().find(same) {
            Some(known) => known.roles.push(role),
            None => merged.push(Meant { folder, real, roles: vec![role], place }),
        }
    }
    merged
}

fn one(look: &Look<'_>, meant: &Meant, lock: Option<&Lockfile>, facts: &mut Facts) -> Environment {
    let Meant { folder, real, roles, place } = meant;
    let mut told = Environment { folder: shown(folder), roles: roles.clone(), ..Environment::default() };
    let Some(real) = real else {
        if let Err(error) = fs::kind(folder) {
            unseen(facts, format!("the environment `{}`", told.folder), error.cause);
            told.unreadable = true;
        }
        return told;
    };
    told.there = true;
    if !is_folder(real) {
        return told;
    }
    let settings = real.join("pyvenv.cfg");
    let config = glance::text(&settings);
    if config.is_none() && !matches!(tree::facts(&settings), Ok(None)) {
        unseen(facts, format!("`{}`", shown(&settings)), "it is no text that can be read");
        told.unreadable = true;
    }
    let stamp = Stamp::read(real).ok().flatten();
    told.kind = match (&stamp, &config) {
        (Some(_), _) => Some("macml"),
        _ if is_file(&real.join(STAGED_NAME)) => Some("staged"),
        _ if is_folder(&real.join("conda-meta")) => Some("conda"),
        (None, Some(_)) => Some("venv"),
        (None, None) => None,
    }
    .map(str::to_owned);
    told.standing = stamp.as_ref().and_then(|stamp| standing(stamp, real, place.as_ref(), lock)).map(str::to_owned);
    let setting = |wanted: &str| {
        let of = |line: &str| line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
        config.as_deref()?.lines().filter_map(of).find(|(key, _)| key == wanted).map(|(_, value)| value)
    };
    told.home = setting("home");
    told.system_site = setting("include-system-site-packages").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let bin = folder.join("bin");
    let there = |name: &&str| matches!(tree::facts(&bin.join(name)), Ok(Some(_)));
    if let Some(name) = ["python", "python3"].iter().find(|name| there(name)) {
        let python = bin.join(name);
        let resolved = glance::resolved(&python);
        told.archs =
            resolved.as_deref().map(|path| pythons::archs(path, pythons::machine(look).system)).unwrap_or_default();
        told.python_resolved = resolved.as_deref().map(shown);
        told.python = Some(shown(&python));
    }
    told.pip = is_file(&bin.join("pip")) || is_file(&bin.join("pip3"));
    let noted = setting("version_info").or_else(|| setting("version"));
    told.python_version = stamp.map(|stamp| stamp.python).or(noted).or_else(|| pythons::conda_version(real));
    told.broken_commands = broken(&bin);
    packages(folder, real, &mut told, facts);
    told
}

/// Looks at what is installed, as far as there is a folder of packages.
fn packages(folder: &Path, real: &Path, told: &mut Environment, facts: &mut Facts) {
    let what = format!("what is installed in `{}`", told.folder);
    let trees = match prefix::trees(folder) {
        Ok(trees) => trees,
        // A folder that is none of Python's has nothing to see.
        Err(Error::NotAPrefix { .. } | Error::Absent(_)) => return,
        Err(error) => {
            for lib in glance::names(&real.join("lib")) {
                let site = real.join("lib").join(lib).join("site-packages");
                told.leftovers.extend(installed::leftovers(&site));
            }
            return unseen(facts, what, error);
        }
    };
    let version = told.python_version.clone().unwrap_or_default();
    let is_own = |tree: &&Tree| version == tree.python.to_string() || version.starts_with(&format!("{}.", tree.python));
    let Some(tree) = trees.iter().find(is_own).or(trees.first()) else { return };
    if told.python_version.is_none() {
        told.python_version = Some(tree.python.to_string());
    }
    match installed::look(tree, told) {
        Ok(failed) => failed.into_iter().for_each(|(path, why)| unseen(facts, format!("`{path}`"), why)),
        Err(error) => unseen(facts, what, error),
    }
}

/// Says how a generation stands to the project and its lock; `None` where there is no lock to stand to.
fn standing(stamp: &Stamp, folder: &Path, place: Option<&Place>, lock: Option<&Lockfile>) -> Option<&'static str> {
    let place = place?;
    if stamp.project != place.project {
        return Some("moved");
    }
    let changed = matches!(stamp.is_untouched(folder), Ok(false)).then_some("changed");
    let Some(lock) = lock else { return changed };
    let platform = stamp.platform.parse().ok();
    let Some(entry) = platform.and_then(|platform| lock.env(&stamp.env, platform)) else { return Some("stale") };
    let of_lock = |name: &str, version: &str| {
        let (name, version) = (name.to_owned(), version.to_owned());
        environment::Package { name, version }
    };
    let locked: Vec<environment::Package> =
        entry.packages.iter().map(|one| of_lock(one.name.as_str(), &one.version.to_string())).collect();
    let same = locked.len() == stamp.packages.len()
        && stamp.packages.iter().all(|found| locked.iter().any(|known| is_same(known, found)));
    let minor = format!("{}.", entry.python);
    let is_current = same && format!("{}.", stamp.python).starts_with(&minor);
    if is_current { Some(changed.unwrap_or("current")) } else { Some("stale") }
}

/// Lists the commands of `bin` whose first line leads to nothing, or to somewhere else than it says.
fn broken(bin: &Path) -> Vec<BrokenCommand> {
    let names = glance::names(bin);
    let all = parallel::map(&names, tree::workers(), |name| {
        let path = bin.join(name);
        // What a link leads to is somebody else's command.
        if !tree::facts(&path).ok().flatten()?.plain {
            return None;
        }
        let started = Started::of(&glance::start(&path, started::MOST)?)?;
        leads_nowhere(&started).then(|| BrokenCommand { name: name.clone(), line: without_options(&started.line) })
    });
    all.into_iter().flatten().collect()
}

/// Leaves out what a first line gives its program: the rest of a path that was cut at a blank counts, options do not, and may
/// hold anything.
fn without_options(line: &str) -> String {
    let is_option = |word: &&str| word.starts_with('-') || word.contains('=');
    let words: Vec<&str> = line.split(' ').collect();
    match words.iter().position(is_option) {
        Some(at) => words[..at].join(" "),
        None => line.to_owned(),
    }
}

fn leads_nowhere(started: &Started) -> bool {
    let absent =
        |path: &str| !path.starts_with('/') || matches!(fs::kind(Path::new(path)), Ok(None | Some(fs::Kind::Folder)));
    // A shell goes on after the first line, which is short then.
    started.line.len() > LONGEST_LINE || absent(&started.program)
}
