//! Interpreters, and what can be told of each without running it: version, modules that its standard library lacks, files
//! without a signature, certificates. With `--full` they are asked too.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

use crate::check::facts::Signature;
use crate::check::facts::macho;
use crate::check::facts::macho::Pages;
use crate::doctor::Facts;
use crate::doctor::facts::Certificates;
use crate::doctor::facts::Python;
use crate::doctor::facts::Unsigned;
use crate::python;
use crate::python::Arch;
use crate::python::Candidate;
use crate::python::Head;
use crate::python::Machine;
use crate::python::Origin;
use crate::python::Refusal;
use crate::python::Search;
use crate::python::System;
use crate::python::USUAL_LIMIT;
use crate::sys::fs;
use crate::sys::parallel;
use crate::sys::tree;

use super::Look;
use super::glance;
use super::glance::names;
use super::glance::shown;
use crate::sys::fs::is_file;
use crate::sys::fs::is_folder;

/// Modules that a Python is built without where the libraries for them are missing.
const OFTEN_MISSING: [&str; 5] = ["_lzma", "_bz2", "_ctypes", "_sqlite3", "_ssl"];

/// Describes the machine as far as interpreters are concerned.
pub(super) fn machine(look: &Look<'_>) -> Machine {
    let here = Machine::here(look.env);
    let is_mac = look.host.is_some() || here.as_ref().is_some_and(|here| here.system == System::Mac);
    let (system, arch) = match (is_mac, &here) {
        (true, _) => (System::Mac, Arch::Arm64),
        (false, Some(here)) => (here.system, here.arch),
        (false, None) => (System::Linux, Arch::X86_64),
    };
    match here {
        Some(here) if look.root == Path::new("/") && here.system == system => here,
        _ => Machine::of(look.env, system, arch, look.root),
    }
}

/// Lists them: where they usually are, on PATH, and below environments.
pub(super) fn gather(look: &Look<'_>, facts: &mut Facts) {
    let machine = machine(look);
    let mut all = python::candidates(&machine);
    let on_path = facts.path.iter().flat_map(|folder| folder.programs.iter().map(move |one| (folder, one)));
    let on_path = on_path.filter(|(_, one)| one.name.starts_with("python") && !one.archs.is_empty());
    let on_path = on_path.map(|(folder, one)| (look.env.cwd().join(&folder.folder).join(&one.name), Origin::Path));
    let below = facts.environments.iter().filter(|one| !one.archs.is_empty());
    let below = below.filter_map(|one| Some((PathBuf::from(one.python.as_ref()?), Origin::Elsewhere)));
    for (path, origin) in on_path.chain(below) {
        // What an environment leads to, not the environment.
        let path = match python::virtual_home(&path) {
            Some(_) => glance::resolved(&path),
            None => Some(path),
        };
        let Some(found) = path.and_then(|path| python::candidate(&machine, &path, origin)) else { continue };
        if !all.iter().any(|known| known.resolved == found.resolved) {
            all.push(found);
        }
    }
    let search = Search { machine, cache: look.cache.clone(), limit: USUAL_LIMIT, named: None };
    facts.pythons = parallel::map(&all, tree::workers(), |candidate| one(look, &search, candidate));
}

fn one(look: &Look<'_>, search: &Search, candidate: &Candidate) -> Python {
    let Candidate { path, resolved, origin } = candidate;
    let prefix = python::prefix(resolved);
    let stdlib = prefix.and_then(|prefix| stdlib(prefix, resolved));
    let remembered = search.remembered(candidate);
    let mut told = Python {
        path: shown(path),
        resolved: shown(resolved),
        origin: origin.word().to_owned(),
        prefix: prefix.map(shown),
        archs: archs(resolved, search.machine.system),
        certificates: prefix.and_then(|prefix| certificates(look, origin, prefix)),
        externally_managed: stdlib.as_ref().is_some_and(|lib| is_file(&lib.join("EXTERNALLY-MANAGED"))),
        ..Python::default()
    };
    let of_mac = search.machine.system == System::Mac;
    // Apple's own are signed by Apple, and its stand-in has no standard library.
    if *origin != Origin::Apple {
        let mut missing: BTreeSet<String> = remembered.iter().flat_map(|one| one.missing.clone()).collect();
        // Those that uv manages have these modules in the program itself.
        if let Some(stdlib) = stdlib.as_ref().filter(|_| *origin != Origin::Uv && remembered.is_none()) {
            missing.extend(lacks(stdlib));
        }
        told.missing = missing.into_iter().collect();
        if of_mac {
            told.unsigned = unsigned(look, resolved, prefix, stdlib.as_deref());
        }
    }
    if of_mac {
        told.quarantined = tree::has_attribute(resolved, "com.apple.quarantine");
    }
    told.version = remembered.map(|one| one.version.to_string());
    if look.full {
        ask(search, candidate, &mut told);
    }
    if told.version.is_none() {
        told.version = version(candidate, prefix, stdlib.as_deref());
    }
    told
}

/// Asks an interpreter itself, which is not done for what must not be started.
fn ask(search: &Search, candidate: &Candidate, told: &mut Python) {
    let seen = search.look(candidate);
    if let Some(version) = seen.version {
        told.version = Some(version.to_string());
    }
    match seen.verdict {
        Err(Refusal::Lacks(modules)) => {
            let all: BTreeSet<String> = std::mem::take(&mut told.missing).into_iter().chain(modules).collect();
            told.missing = all.into_iter().collect();
        }
        Err(Refusal::Signal { signal, .. }) => told.ended_by = Some(signal),
        _ => {}
    }
}

/// Lists what a program has code for.
pub(super) fn archs(path: &Path, system: System) -> Vec<String> {
    let head = Head::of(path).ok().flatten();
    head.into_iter().flat_map(|head| head.archs).map(|arch| arch.on(system).to_owned()).collect()
}

/// Finds the standard library of a prefix: that of the minor in the program's name, else the only one.
fn stdlib(prefix: &Path, program: &Path) -> Option<PathBuf> {
    let name = program.file_name()?.to_str()?;
    let mut all: Vec<PathBuf> = Vec::new();
    for lib in ["lib", "lib64"].map(|lib| prefix.join(lib)) {
        let folders = match name.starts_with("python3.") {
            true => vec![name.to_owned()],
            false => names(&lib).into_iter().filter(|name| name.starts_with("python3.")).collect(),
        };
        all.extend(folders.into_iter().map(|name| lib.join(name)).filter(|folder| is_folder(folder)));
    }
    let native = all.iter().find(|folder| is_folder(&folder.join("lib-dynload")));
    native.or(all.first()).cloned()
}

/// Lists modules that a standard library lacks while it has others of their kind: where it has none of them, they are part
/// of the program.
fn lacks(stdlib: &Path) -> Vec<String> {
    let files = names(&stdlib.join("lib-dynload"));
    let has = |module: &&str| files.iter().any(|file| file.split('.').next() == Some(module));
    let (there, lacking): (Vec<&str>, Vec<&str>) = OFTEN_MISSING.iter().copied().partition(has);
    if there.is_empty() || lacking.is_empty() {
        return Vec::new();
    }
    let built_in = built_in(stdlib);
    lacking.into_iter().filter(|module| !built_in.contains(*module)).map(str::to_owned).collect()
}

/// Lists the modules that are part of the program, as its build noted them.
fn built_in(stdlib: &Path) -> BTreeSet<String> {
    let notes = names(stdlib).into_iter().filter(|name| name.starts_with("_sysconfigdata_") && name.ends_with(".py"));
    let texts = notes.filter_map(|name| glance::text(&stdlib.join(name)));
    let mut all = BTreeSet::new();
    for text in texts {
        // Long values go on over several lines, each a text of its own, up to the comma.
        for key in ["'MODBUILT_NAMES':", "'MODNAMES':"] {
            let Some((_, rest)) = text.split_once(key) else { continue };
            let value = rest.split_once(',').map_or(rest, |(value, _)| value);
            let is_name = |one: char| one.is_ascii_alphanumeric() || one == '_';
            all.extend(value.split(|one| !is_name(one)).map(str::to_owned));
        }
    }
    all
}

/// Lists files of an interpreter that the system does not let run: by their heads, with `--full` by their pages.
fn unsigned(look: &Look<'_>, program: &Path, prefix: Option<&Path>, stdlib: Option<&Path>) -> Vec<Unsigned> {
    let mut files = vec![program.to_owned()];
    if let Some(prefix) = prefix {
        files.extend(["Python", "Resources/Python.app/Contents/MacOS/Python"].map(|file| prefix.join(file)));
    }
    if let Some(stdlib) = stdlib {
        let minor = stdlib.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        files.extend(stdlib.parent().map(|lib| lib.join(format!("lib{minor}.dylib"))));
        let native = stdlib.join("lib-dynload");
        files.extend(names(&native).into_iter().filter(|name| name.ends_with(".so")).map(|name| native.join(name)));
    }
    let wrong = |path: PathBuf| {
        let signature = signature(&path, look.full)?;
        Some(Unsigned { path: shown(&path), signature })
    };
    files.into_iter().filter_map(wrong).collect()
}

/// Says what is wrong with the signature of a file for arm64; `None` where nothing is, or that cannot be told.
fn signature(path: &Path, full: bool) -> Option<String> {
    match glance::head(path)?.signed? {
        false => return Some("missing".to_owned()),
        true if !full => return None,
        true => {}
    }
    let mut file = fs::open(path).ok().flatten()?;
    let size = file.metadata().ok()?.len();
    let image = macho::read(&shown(path), size, &mut file, Pages::Hashed).ok().flatten()?;
    match image.slice.ok()?.signature {
        Signature::Broken(_) => Some("invalid signature (code or signature have been modified)".to_owned()),
        _ => None,
    }
}

/// Names the file of certificates that an interpreter's `ssl` takes, where its installer decides that.
fn certificates(look: &Look<'_>, origin: &Origin, prefix: &Path) -> Option<Certificates> {
    let file = match origin {
        Origin::PythonOrg => prefix.join("etc/openssl/cert.pem"),
        Origin::Conda(_) | Origin::CondaBase => prefix.join("ssl/cacert.pem"),
        Origin::Homebrew => {
            let cellar = prefix.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "Cellar"));
            let brew = cellar.and_then(Path::parent).map(Path::to_owned);
            brew.unwrap_or_else(|| look.root.join("opt/homebrew")).join("etc/openssl@3/cert.pem")
        }
        _ => return None,
    };
    Some(Certificates { there: is_file(&file), file: shown(&file) })
}

/// Tells a version without running anything: by headers, by conda's notes, by the names of folders.
fn version(candidate: &Candidate, prefix: Option<&Path>, stdlib: Option<&Path>) -> Option<String> {
    let minor = stdlib.and_then(Path::file_name).and_then(|name| name.to_str());
    let headers = || {
        let text = glance::text(&prefix?.join("include").join(minor?).join("patchlevel.h"))?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix("#define PY_VERSION "))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    let by_name = || {
        let own = candidate.resolved.file_name()?.to_str()?.strip_prefix("python");
        let own = own.filter(|rest| rest.starts_with("3."));
        let version = own.or_else(|| minor?.strip_prefix("python"))?;
        Some(version.trim_end_matches('t').to_owned())
    };
    headers().or_else(|| conda_version(prefix?)).or_else(|| by_folder(candidate)).or_else(by_name)
}

/// Reads the version out of the name of conda's note of Python: `python-3.11.9-h932a869_0_cpython.json`.
pub(super) fn conda_version(prefix: &Path) -> Option<String> {
    let notes = names(&prefix.join("conda-meta"));
    let versions = notes.iter().filter_map(|name| name.strip_prefix("python-")?.split('-').next());
    let is_version = |text: &&str| text.starts_with(|one: char| one.is_ascii_digit()) && text.contains('.');
    versions.filter(is_version).map(str::to_owned).next()
}

/// Reads the version out of the folder that an installer gave it.
fn by_folder(candidate: &Candidate) -> Option<String> {
    let names: Vec<&str> = candidate.resolved.iter().filter_map(|part| part.to_str()).collect();
    let after = |folder: &str| names.iter().skip_while(|name| **name != folder).nth(1).copied();
    let version = match candidate.origin {
        Origin::Homebrew => names.iter().skip_while(|name| **name != "Cellar").nth(2)?.split('_').next()?,
        Origin::Pyenv => after("versions")?,
        Origin::Uv => names.iter().find_map(|name| name.strip_prefix("cpython-")?.split('-').next())?,
        _ => return None,
    };
    version.starts_with("3.").then(|| version.to_owned())
}
