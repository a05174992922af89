//! PATH: which programs of interest are in its folders, in their order, what they lead to and what starts them. Names are
//! asked for one by one; nothing else of a folder is looked at.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::path::PathBuf;

use crate::doctor::Facts;
use crate::doctor::facts::PathFolder;
use crate::doctor::facts::Program;
use crate::python::Head;
use crate::python::System;
use crate::sys;
use crate::sys::Env;
use crate::sys::Identity;
use crate::sys::fs;
use crate::sys::parallel;
use crate::sys::tree;

use super::Look;
use super::glance;
use super::glance::shown;
use super::glance::unseen;
use super::pythons;
use super::started;
use super::started::Started;

/// Programs of interest, but for Pythons with their minor.
const PROGRAMS: [&str; 9] = ["python", "python3", "pip", "pip3", "conda", "mamba", "direnv", "brew", "uv"];

/// The minors of Python 3 that are asked for.
const MINORS: std::ops::RangeInclusive<u8> = 6..=19;

/// Looks into every folder.
pub(super) fn gather(look: &Look<'_>, facts: &mut Facts) {
    let folders = folders(look.env);
    let minors = MINORS.map(|minor| format!("python3.{minor}"));
    let names: Vec<String> = PROGRAMS.map(str::to_owned).into_iter().chain(minors).collect();
    let system = pythons::machine(look).system;
    let one = |(written, folder): &(String, PathBuf)| {
        let there = match fs::kind(folder) {
            Ok(kind) => kind == Some(fs::Kind::Folder),
            Err(error) => {
                let why = error.cause.to_string();
                return (PathFolder { folder: written.clone(), ..PathFolder::default() }, vec![(folder.clone(), why)]);
            }
        };
        let mut found = PathFolder { folder: written.clone(), there, programs: Vec::new() };
        let mut failed = Vec::new();
        for name in names.iter().filter(|_| there) {
            match program(&folder.join(name), name, &folders, system) {
                Ok(program) => found.programs.extend(program),
                Err(error) => failed.push((folder.join(name), error.cause.to_string())),
            }
        }
        (found, failed)
    };
    for (folder, failed) in parallel::map(&folders, tree::workers(), one) {
        facts.path.push(folder);
        for (path, why) in failed {
            unseen(facts, format!("`{}` on PATH", shown(&path)), why);
        }
    }
}

/// Lists the folders of PATH, as written and as meant: what is relative is meant from the working folder, which an empty
/// entry stands for.
fn folders(env: &Env) -> Vec<(String, PathBuf)> {
    let Some(path) = env.raw("PATH") else { return Vec::new() };
    let entries = path.as_bytes().split(|byte| *byte == b':');
    let meant = |entry: &[u8]| env.cwd().join(std::ffi::OsStr::from_bytes(entry));
    entries.map(|entry| (String::from_utf8_lossy(entry).into_owned(), meant(entry))).collect()
}

/// Looks at a program; `None` where nothing is that a shell would start.
fn program(
    path: &Path,
    name: &str,
    folders: &[(String, PathBuf)],
    system: System,
) -> Result<Option<Program>, fs::FsError> {
    let Some(found) = tree::facts(path)? else { return Ok(None) };
    if !found.plain && !found.link {
        return Ok(None);
    }
    let mut program = Program { name: name.to_owned(), ..Program::default() };
    // Links that run in a circle lead nowhere either.
    let Some(resolved) = (if found.link { glance::resolved(path) } else { sys::resolve(path)? }) else {
        return Ok(Some(program));
    };
    // A folder may be entered, which is no permission to run it; and who may not run a file goes on to the next folder.
    if !fs::is_file(&resolved) || !Identity::of(&resolved)?.is_some_and(|identity| identity.may_run()) {
        return Ok(None);
    }
    program.resolved = Some(shown(&resolved));
    let Some(head) = Head::of(&resolved)? else { return Ok(Some(program)) };
    program.archs = head.archs.iter().map(|arch| arch.on(system).to_owned()).collect();
    if head.script {
        let started = glance::start(&resolved, started::MOST).and_then(|start| Started::of(&start));
        program.interpreter = started.map(|started| interpreter(&started, folders));
        let absolute = program.interpreter.as_deref().filter(|path| path.starts_with('/'));
        program.interpreter_there = absolute.map(|path| fs::is_file(Path::new(path)));
    }
    Ok(Some(program))
}

/// Names what starts a script: behind `env`, what that finds.
fn interpreter(started: &Started, folders: &[(String, PathBuf)]) -> String {
    let Some(name) = started.of_env() else { return started.program.clone() };
    let runs = |path: &PathBuf| {
        fs::is_file(path) && Identity::of(path).ok().flatten().is_some_and(|identity| identity.may_run())
    };
    let found = folders.iter().map(|(_, folder)| folder.join(name)).find(runs);
    found.map_or_else(|| name.to_owned(), |path| shown(&path))
}
