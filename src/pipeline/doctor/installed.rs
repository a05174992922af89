//! What is installed in an environment: distributions, whether the files of their RECORDs are there, what stopped installs
//! left. Files are looked for, never read.

use std::path::Path;

use crate::check::contents::Tree;
use crate::doctor::facts::Distribution;
use crate::doctor::facts::Environment;
use crate::pipeline::check::prefix::conda;
use crate::pipeline::check::prefix::conda::Conda;
use crate::pipeline::check::prefix::installed;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::parallel;
use crate::sys::tree;

use super::glance::names;
use super::glance::shown;
use super::libraries;
use crate::sys::fs::is_file;

/// How many files that are gone are named.
const MOST_NAMED: usize = 10;

/// How many files are looked for at a time.
const TOGETHER: usize = 512;

/// What could not be seen: what, and why.
pub(super) type Failed = Vec<(String, String)>;

/// Looks at a tree.
pub(super) fn look(tree: &Tree, environment: &mut Environment) -> Result<Failed, FsError> {
    let site = tree.root.join(&tree.site);
    let found = installed::read(tree)?;
    let conda = conda::read(tree).unwrap_or_default();
    let mut failed = Failed::new();
    failed.extend(conda.failed.iter().map(|(path, why)| (shown(&tree.root.join(path)), why.clone())));

    // What each should have, from the root: conda's own notes count for what conda brought.
    let mut expected: Vec<Option<Vec<&str>>> = Vec::with_capacity(found.len());
    for one in &found {
        let of_conda = conda.brought(one).map(|at| conda.packages[at].paths().collect());
        let recorded = || Some(one.record.as_ref()?.iter().map(|row| row.path.as_str()).collect());
        expected.push(of_conda.or_else(recorded));
    }
    let all = expected.iter().enumerate().flat_map(|(at, paths)| paths.iter().flatten().map(move |path| (at, *path)));
    let all: Vec<(usize, &str)> = all.filter(|(_, path)| !is_compiled(path)).collect();
    let pieces: Vec<&[(usize, &str)]> = all.chunks(TOGETHER).collect();
    let gone = parallel::map(&pieces, tree::workers(), |piece| {
        let gone = piece.iter().filter(|(_, path)| matches!(tree::facts(&tree.root.join(path)), Ok(None)));
        gone.copied().collect::<Vec<_>>()
    });
    let gone: Vec<(usize, &str)> = gone.concat();
    environment.distributions = parallel::map(&(0..found.len()).collect::<Vec<_>>(), tree::workers(), |at| {
        let mine = gone.iter().filter(|(whose, _)| whose == at).map(|(_, path)| from_site(tree, path));
        distribution(tree, &found[*at], &conda, expected[*at].as_deref(), mine.collect())
    });

    for one in environment.distributions.iter().filter(|one| one.record == "unread") {
        failed.push((format!("RECORD of {} {}", one.name, one.version), "it is no file that can be read".to_owned()));
    }
    for (at, path) in &all {
        let Some(kind) = libraries::kind(path) else { continue };
        let package = Some(found[*at].name.to_string());
        environment.libraries.extend(libraries::library(&tree.root.join(path), kind, package));
    }
    let lib = tree.root.join("lib");
    let known: Vec<String> = environment.libraries.iter().map(|one| one.path.clone()).collect();
    let owner = |name: &str| Some(conda.packages[conda.owner(&format!("lib/{name}"))?].name.clone());
    let beside = libraries::within(&lib, &owner);
    environment.libraries.extend(beside.into_iter().filter(|one| !known.contains(&one.path)));

    let entries = fs::names(&site)?;
    environment.leftovers = entries.iter().filter(|name| name.starts_with('~')).cloned().collect();
    let may_hide = |name: &&String| {
        let path = site.join(name);
        let is_link = || tree::read_link(&path).ok().flatten().is_some();
        (name.ends_with(".pth") || is_link()) && tree::is_hidden(&path)
    };
    environment.hidden = entries.iter().filter(may_hide).cloned().collect();
    Ok(failed)
}

fn distribution(
    tree: &Tree,
    one: &installed::Distribution,
    conda: &Conda,
    expected: Option<&[&str]>,
    mut gone: Vec<String>,
) -> Distribution {
    let of_conda = conda.brought(one).is_some();
    let metadata = installed::small(tree, &format!("{}/METADATA", one.folder)).unwrap_or_default();
    let by_address = || is_file(&tree.root.join(&one.folder).join("direct_url.json"));
    // What may not be looked at is no proof that it is missing.
    let is_there = || !matches!(tree::facts(&tree.root.join(&one.folder).join("RECORD")), Ok(None));
    let record = match expected {
        Some(_) if gone.is_empty() => "whole",
        Some(_) => "gone",
        None if one.egg => "none",
        None if is_there() => "unread",
        None => "missing",
    };
    let native = |path: &&&str| path.ends_with(".so") || path.ends_with(".dylib");
    let gone_count = gone.len();
    gone.sort();
    gone.truncate(MOST_NAMED);
    Distribution {
        name: one.name.to_string(),
        version: one.text.clone(),
        installer: if of_conda { Some("conda".to_owned()) } else { one.installer.as_deref().map(installer) },
        tags: one.tags.clone(),
        requires: requires(&String::from_utf8_lossy(&metadata)),
        record: record.to_owned(),
        gone,
        gone_count,
        native: expected.unwrap_or_default().iter().filter(native).count(),
        editable: one.editable.is_some() || (!of_conda && by_address()),
    }
}

/// Names an installer; a file that anybody may write can hold anything.
fn installer(written: &str) -> String {
    const KNOWN: [&str; 10] = ["pip", "uv", "conda", "macml", "poetry", "pdm", "hatch", "rye", "pixi", "pipenv"];
    let name = written.trim().to_ascii_lowercase();
    let first = name.split([' ', '-', '=']).next().unwrap_or_default();
    if KNOWN.contains(&first) { first.to_owned() } else { "another".to_owned() }
}

/// Reads the lines `Requires-Dist:` of METADATA, whose header ends at the first empty line.
fn requires(metadata: &str) -> Vec<String> {
    let header = metadata.lines().take_while(|line| !line.trim().is_empty());
    header.filter_map(|line| Some(line.strip_prefix("Requires-Dist:")?.trim().to_owned())).collect()
}

/// Returns a path from the folder of packages, where it lies there, as RECORD writes it.
fn from_site(tree: &Tree, path: &str) -> String {
    let inside = path.strip_prefix(tree.site.as_str()).and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or(path).to_owned()
}

/// Compiled files come and go by themselves.
fn is_compiled(path: &str) -> bool {
    path.ends_with(".pyc") || path.contains("/__pycache__/")
}

/// Lists what a stopped install left where no tree can be made out.
pub(super) fn leftovers(site: &Path) -> Vec<String> {
    names(site).into_iter().filter(|name| name.starts_with('~')).collect()
}
