//! Is an environment what its installers recorded: files against RECORD and conda's notes, and what no record covers.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Duration;

use crate::check::contents;
use crate::check::contents::Difference;
use crate::check::contents::Maker;
use crate::check::contents::Tree;
use crate::check::contents::Unsure;
use crate::check::contents::Wanted;
use crate::check::contents::WantedPackage;
use crate::check::contents::What;
use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Severity;
use crate::pep::PackageName;
use crate::pipeline::check::part::Level;
use crate::pipeline::check::part::Of;
use crate::pipeline::check::part::Part;
use crate::pipeline::check::part::Sum;
use crate::pipeline::check::part::Told;
use crate::pipeline::check::part::Word;
use crate::pipeline::check::part::unreadable;
use crate::python::word;
use crate::sys::fs;
use crate::sys::fs::FsError;

use super::conda;
use super::conda::Conda;
use super::installed;
use super::installed::Distribution;
use super::interpreter::Interpreter;
use super::platform_of;
use super::told;
use super::told::Whose;
use super::told::count;
use super::told::some;

/// How pip installs again what is there.
const PIP: &str = "pip install --force-reinstall";

/// An environment, as far as it was read.
pub(super) struct Env<'a> {
    pub(super) tree: &'a Tree,
    pub(super) of: &'a Of,
    pub(super) installed: &'a [Distribution],
    pub(super) conda: &'a Conda,
    pub(super) interpreter: &'a Option<Interpreter>,
}

/// Looks at it, and lists the files of distributions that are gone. `locked` is what should be in it by a lock.
pub(super) fn part(
    env: &Env<'_>,
    level: contents::Level,
    locked: Option<&Wanted>,
) -> Result<(Part, BTreeMap<String, PackageName>), FsError> {
    let mut told = Vec::new();
    let twice = twice(env, &mut told);
    others_systems(env, &mut told);
    if let Some(locked) = locked {
        let contents = contents::look(env.tree, locked, contents::Level::Names, None)?;
        told.extend(contents.differences.iter().filter_map(|one| told::release(one.package.as_ref(), &one.what)));
    }
    let wanted = recorded(env, &twice, locked);
    let contents = contents::look(env.tree, &wanted, level, None)?;
    let replaced = env.conda.replaced(env.installed);
    let held = conda::hold(env.tree, env.conda, &replaced.keys().copied().collect(), level);

    let mut extra = Vec::new();
    let mut of_each: BTreeMap<&PackageName, Vec<What>> = BTreeMap::new();
    for Difference { package, what } in &contents.differences {
        match (what, package) {
            (What::Extra { path, files }, _) if !env.conda.has(path) => extra.push((path.clone(), *files)),
            (What::Missing { .. } | What::Changed { .. }, Some(package)) => {
                of_each.entry(package).or_default().push(what.clone());
            }
            _ => {}
        }
    }
    for (name, differences) in of_each {
        let Some(one) = env.installed.iter().find(|one| one.name == *name) else { continue };
        told.extend(told::files(&whose(env, one), &differences));
    }
    let mut of_each: BTreeMap<usize, Vec<What>> = BTreeMap::new();
    for (at, what) in held.differences {
        of_each.entry(at).or_default().push(what);
    }
    for (at, differences) in of_each {
        let package = &env.conda.packages[at];
        let whose = Whose {
            release: format!("conda's `{}` {}", package.name, package.version),
            package: package.package_name(),
            by: "conda-meta",
            hint: format!("`conda install --force-reinstall {}` puts it back", package.name),
        };
        told.extend(told::files(&whose, &differences));
    }
    let mut is_sure = unsure(env, contents.unsure.iter().cloned().chain(held.unsure), &mut told);
    for (path, why) in &env.conda.failed {
        is_sure = false;
        told.push(unreadable(path, why));
    }
    for (at, by) in replaced {
        let package = &env.conda.packages[at];
        let message = format!(
            "conda's `{}` {} was replaced by {} of another installer",
            package.name,
            package.version,
            by.release()
        );
        let note = Finding::note(Code::Unrecorded, message).noting("its files are held against RECORD alone");
        told.push(Told { finding: note, package: Some(by.name.clone()), path: None });
    }
    uncovered(env, &extra, &mut told);
    told.sort_by_key(|one| one.finding.severity);

    let no = told.iter().any(|one| one.finding.severity == Severity::Error);
    let otherwise = match (is_sure && twice.is_empty(), locked) {
        (false, _) => Word::Unsure,
        (true, Some(_)) => Word::AsLocked,
        (true, None) => Word::AsRecorded,
    };
    let word = if no { Word::Differs } else { otherwise };
    let sum = Sum::Environment {
        root: env.tree.root.clone(),
        files: contents.files + held.files,
        hashed: contents.hashed + held.hashed,
        // It is of all that is there, and what is passed over is no part of it.
        digest: contents.digest.filter(|_| wanted.spare.is_empty()),
    };
    let (level, of, took) = (Level::Environment, Some(env.of.clone()), Duration::ZERO);
    Ok((Part { level, of, word, otherwise, sum, told, took }, contents.gone(&env.tree.site)))
}

/// Returns what RECORDs are held to: those of distributions that are there once, and that conda did not bring.
fn recorded(env: &Env<'_>, twice: &BTreeSet<PackageName>, locked: Option<&Wanted>) -> Wanted {
    let mut wanted = Wanted::default();
    for one in env.installed {
        match &one.version {
            Some(version) if !one.egg && !twice.contains(&one.name) && env.conda.brought(one).is_none() => {
                // What macml installs bears a time that follows from its wheel.
                let same = locked.into_iter().flat_map(|locked| &locked.packages);
                let same = same.into_iter().find(|same| same.name == one.name && same.version == *version);
                let wheel = same.and_then(|same| same.wheel.clone());
                wanted.packages.push(WantedPackage { name: one.name.clone(), version: version.clone(), wheel });
            }
            _ => {
                wanted.spare.insert(one.name.clone());
            }
        }
    }
    wanted
}

fn whose(env: &Env<'_>, one: &Distribution) -> Whose {
    let hint = match env.tree.maker {
        Maker::Macml { .. } => {
            "`macml env remove NAME` and then `macml sync --env NAME`, in its project, build it anew".to_owned()
        }
        Maker::Other => {
            format!("`{} --no-deps {}=={}` puts it back", reinstalls(env, one), one.name, one.text)
        }
    };
    Whose { release: one.release(), package: Some(one.name.clone()), by: "RECORD", hint }
}

/// Returns the command that installs a distribution again. Environments that uv made have no pip, which would then be that
/// of another Python.
fn reinstalls(env: &Env<'_>, one: &Distribution) -> String {
    match one.installer.as_deref() {
        Some("uv") => format!("uv pip install --python {} --reinstall", word(&env.tree.root)),
        _ => PIP.to_owned(),
    }
}

/// Names packages of which there is more than one distribution.
fn twice(env: &Env<'_>, told: &mut Vec<Told>) -> BTreeSet<PackageName> {
    let mut of_each: BTreeMap<&PackageName, Vec<&Distribution>> = BTreeMap::new();
    for one in env.installed {
        of_each.entry(&one.name).or_default().push(one);
    }
    of_each.retain(|_, all| all.len() > 1);
    for (name, all) in &of_each {
        let versions: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
        let message = format!("`{name}` is installed {} times: as {}", all.len(), some(&versions));
        let folders: Vec<String> = all.iter().map(|one| format!("`{}`", one.folder)).collect();
        let finding = Finding::error(Code::InstalledTwice, message)
            .noting(format!("whose files are there cannot be told: see {}", some(&folders)))
            .hinting(format!("uninstall `{name}` until it is gone, then install it once"));
        told.push(Told { finding, package: Some((*name).clone()), path: Some(all[0].folder.clone()) });
    }
    of_each.into_keys().cloned().collect()
}

/// Names distributions from wheels of another system in an environment of a Mac.
fn others_systems(env: &Env<'_>, told: &mut Vec<Told>) {
    if !env.of.platform.is_mac() {
        return;
    }
    for one in env.installed {
        let foreign = |tag: &str| tag.starts_with("win") || platform_of(tag).is_some_and(|platform| !platform.is_mac());
        if let Some(first) = one.platforms().find(|tag| foreign(tag))
            && one.platforms().all(foreign)
        {
            let message = format!("{} is from a wheel for another system: `{first}`", one.release());
            let finding = Finding::error(Code::WrongArchitecture, message)
                .hinting(format!("install `{}` again with the Python of this environment, on a Mac", one.name));
            told.push(Told { finding, package: Some(one.name.clone()), path: Some(one.folder.clone()) });
        }
    }
}

/// Tells what could not be told; returns whether all that matters could.
fn unsure(env: &Env<'_>, all: impl Iterator<Item = Unsure>, told: &mut Vec<Told>) -> bool {
    let mut is_sure = true;
    let (mut without, mut outside, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for one in all {
        match one {
            // There is nothing else to hold it against.
            Unsure::Record { .. } => {}
            Unsure::NoRecord { package } => without.push(package),
            Unsure::NoDigest { path, .. } => bare.push(format!("`{path}`")),
            Unsure::Outside { path, .. } => outside.push(format!("`{path}`")),
            Unsure::Unreadable { path, why } => {
                is_sure = false;
                told.push(unreadable(&path, &why));
            }
        }
    }
    for name in without {
        is_sure = false;
        let one = env.installed.iter().find(|one| one.name == name);
        let release = one.map_or_else(|| format!("`{name}`"), Distribution::release);
        let reinstalls = one.map_or_else(|| PIP.to_owned(), |one| reinstalls(env, one));
        let finding = Finding::warning(Code::Unrecorded, format!("{release} has no RECORD: its files are not known"))
            .hinting(format!("`{reinstalls} --no-deps {name}` writes one"));
        told.push(Told { finding, package: Some(name), path: None });
    }
    let mut note = |all: &[String], what: [&str; 2], rest: &str| {
        if !all.is_empty() {
            let message = format!("{} {rest}: {}", count(all.len(), what), some(all));
            told.push(Finding::note(Code::Unrecorded, message).into());
        }
    };
    note(&bare, ["file is", "files are"], "recorded without a digest");
    note(&outside, ["recorded file lies", "recorded files lie"], "outside of the environment and was not looked at");
    is_sure
}

/// Tells what no record covers.
fn uncovered(env: &Env<'_>, extra: &[(String, usize)], told: &mut Vec<Told>) {
    let mut note = |message: String, more: Option<&str>| {
        let finding = Finding::note(Code::Unrecorded, message);
        told.push(more.into_iter().fold(finding, |finding, more| finding.noting(more)).into());
    };
    if !extra.is_empty() {
        let files: usize = extra.iter().map(|(_, files)| files).sum();
        let paths: Vec<String> = extra.iter().map(|(path, _)| format!("`{path}`")).collect();
        let what = count(files, ["file that no package brought", "files that no package brought"]);
        note(format!("{what}: {}", some(&paths)), None);
    }
    let of_conda = |one: &&Distribution| env.conda.brought(one).is_some();
    let eggs = env.installed.iter().filter(|one| one.egg && !of_conda(one));
    let eggs: Vec<String> = eggs.map(Distribution::release).collect();
    if !eggs.is_empty() {
        note(format!("{} was installed without RECORD, by a tool that writes none", some(&eggs)), None);
    }
    let odd = env.installed.iter().filter(|one| one.version.is_none());
    let odd: Vec<String> = odd.map(Distribution::release).collect();
    if !odd.is_empty() {
        note(format!("{} has a version that PEP 440 does not know, and was passed over", some(&odd)), None);
    }
    let editable = env.installed.iter().filter_map(|one| Some((one, one.editable.as_ref()?)));
    let editable: Vec<String> = editable.map(|(one, folder)| format!("{} in `{folder}`", one.release())).collect();
    if !editable.is_empty() {
        note(format!("installed to be worked on: {}", some(&editable)), Some("what lies there was not looked at"));
    }
    let elsewhere = elsewhere(env.tree);
    if !elsewhere.is_empty() {
        let message = format!("modules are also taken from {}, which was not looked at", some(&elsewhere));
        note(message, Some("a `.pth` file beside the packages says so"));
    }
    if sees_the_base(env.tree) {
        let message = "packages of the Python that the environment is made from can be imported too".to_owned();
        note(message, Some("pyvenv.cfg has `include-system-site-packages = true`; they were not looked at"));
    }
    if let Some(Interpreter::Gone(target)) = env.interpreter {
        let message = format!("the environment's Python leads to `{}`, which is not here", target.display());
        note(message, Some("so it is not told for which processor it is"));
    }
}

/// Whether a virtual environment lets packages of its base Python in.
fn sees_the_base(tree: &Tree) -> bool {
    let Some(bytes) = installed::small(tree, "pyvenv.cfg") else { return false };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.lines().filter_map(|line| line.split_once('=')).any(|(key, value)| {
        key.trim().eq_ignore_ascii_case("include-system-site-packages") && value.trim().eq_ignore_ascii_case("true")
    })
}

/// Lists the folders that `.pth` files add.
fn elsewhere(tree: &Tree) -> Vec<String> {
    let names = fs::names(&tree.root.join(&tree.site)).unwrap_or_default();
    let mut folders = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(".pth")) {
        let bytes = installed::small(tree, &format!("{}/{name}", tree.site)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // Other lines are run, or are below the folder itself.
        folders
            .extend(text.lines().map(str::trim).filter(|line| line.starts_with('/')).map(|line| format!("`{line}`")));
    }
    folders
}
