//! The libraries of a tree as facts of the distributions that brought them, and those that nobody recorded.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;

use crate::check::contents::Tree;
use crate::check::facts;
use crate::check::facts::Link;
use crate::check::facts::Unloadable;
use crate::check::facts::WheelFacts;
use crate::check::facts::macho::Pages;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::sys::fs;
use crate::sys::parallel;
use crate::sys::survey;
use crate::sys::tree;

use super::Distribution;
use super::conda::Conda;
use super::installed;
use super::interpreter::Interpreter;

/// From `site-packages` to the root of an environment.
const TO_ROOT: &str = "../../../";

/// How many files are read at a time, and from which size on one is read alone.
const TOGETHER: usize = 256;
const ALONE: u64 = 4 << 20;

/// What a file belongs to that nobody recorded.
const NOBODY: &str = "0+unrecorded";

/// What is known of the libraries of a tree.
#[derive(Debug)]
pub(super) struct Images {
    /// By distribution.
    pub(super) distributions: Vec<Distribution>,
    /// Files that cannot be read, by their paths from the root, and why.
    pub(super) failed: Vec<(String, String)>,
}

/// Distributions as they come together.
#[derive(Default)]
struct Slots {
    all: Vec<Distribution>,
    places: BTreeMap<PackageName, usize>,
}

impl Slots {
    fn of(&mut self, name: &PackageName, version: impl FnOnce() -> Version) -> usize {
        *self.places.entry(name.clone()).or_insert_with(|| {
            let (name, version) = (name.clone(), version());
            self.all.push(Distribution { name, version, wheel: None, facts: WheelFacts::default() });
            self.all.len() - 1
        })
    }

    fn nobodys(&mut self, name: &str) -> usize {
        let name = name.parse().unwrap_or_else(|_| "lib".parse().expect("a name"));
        self.of(&name, || NOBODY.parse().expect("a version"))
    }
}

/// Files to read together, and whose they are.
struct Job {
    slot: usize,
    files: Vec<String>,
    bytes: u64,
}

/// Reads them. Signatures are held against pages, so that a flipped bit shows whatever the times of files say.
pub(super) fn read(
    tree: &Tree,
    installed: &[installed::Distribution],
    conda: &Conda,
    interpreter: Option<&Interpreter>,
) -> Images {
    let site = tree.root.join(&tree.site);
    let mut slots = Slots::default();
    let mut owned: HashSet<&str> = HashSet::new();
    // Whose the folders and modules at the top are.
    let mut tops: HashMap<String, usize> = HashMap::new();
    let mut jobs: Vec<Job> = Vec::new();
    for one in installed {
        let slot = slots.of(&one.name, || one.version.clone().unwrap_or_else(|| NOBODY.parse().expect("a version")));
        slots.all[slot].wheel = slots.all[slot].wheel.take().or_else(|| one.wheel());
        let rows = one.record.iter().flatten();
        let rows = rows.filter(|row| !is_compiled(&row.path) && owned.insert(&row.path));
        let files: Vec<(String, u64)> =
            rows.map(|row| (from_site(tree, &row.path), row.size.unwrap_or_default())).collect();
        tops.extend(files.iter().map(|(file, _)| (top(file).to_owned(), slot)));
        if one.record.is_none() {
            tops.entry(one.name.as_str().replace('-', "_")).or_insert(slot);
        }
        put(&mut jobs, slot, files);
    }
    let of_conda = of_conda(&mut slots, installed, conda);

    let mut others: BTreeMap<usize, Vec<(String, u64)>> = BTreeMap::new();
    for (path, facts) in survey::survey(&tree.root, &tree.site, &["__pycache__"]).found {
        if facts.folder || owned.contains(path.as_str()) {
            continue;
        }
        let file = from_site(tree, &path);
        let known = conda.owner(&path).map(|at| of_conda[at]).or_else(|| tops.get(top(&file)).copied());
        let slot = known.unwrap_or_else(|| slots.nobodys(top(&file)));
        others.entry(slot).or_default().push((file, facts.size));
    }
    for (slot, mut files) in others {
        files.sort();
        put(&mut jobs, slot, files);
    }
    // Large ones first, so that none is left for the end.
    jobs.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.files.cmp(&other.files)));
    let done = parallel::map(&jobs, parallel::cores(), |job| {
        facts::read_tree_as_far(&site, job.files.iter().map(String::as_str), Pages::Hashed)
    });
    let mut failed = BTreeMap::new();
    let mut keep = |failures: Vec<(String, crate::sys::fs::FsError)>| {
        failed.extend(failures.into_iter().map(|(path, error)| (from_root(tree, &path), error.cause.to_string())));
    };
    for (job, (facts, failures)) in jobs.iter().zip(done) {
        slots.all[job.slot].facts.join(facts);
        keep(failures);
    }
    let is_venv = matches!(fs::kind(&tree.root.join("pyvenv.cfg")), Ok(Some(_)));
    if let Some(image) = interpreter.and_then(Interpreter::image_of_macs) {
        let refused = matches!(image.slice, Err(Unloadable::Architecture));
        // What a Python brings to a search for libraries is its rpaths; others have their libraries elsewhere.
        let has_rpaths = image.slice.as_ref().is_ok_and(|slice| slice.rpaths.iter().any(|path| path.starts_with('@')));
        if refused || has_rpaths && !is_venv && image.path.starts_with(TO_ROOT) {
            let version = || tree.python.to_string().parse().expect("a minor is a version");
            let slot = slots.of(&"python".parse().expect("a name"), version);
            slots.all[slot].facts.images.push(image.clone());
        }
    }
    keep(beside(tree, &site, &mut slots, &owned, conda, &of_conda));

    // What conda's packages depend on is loaded for them as what a wheel requires.
    let names: Vec<PackageName> = slots.all.iter().map(|one| one.name.clone()).collect();
    for (at, package) in conda.packages.iter().enumerate() {
        let others = conda.packages.iter().enumerate().filter(|(_, other)| package.depends.contains(&other.name));
        let others: Vec<usize> =
            others.map(|(other, _)| of_conda[other]).filter(|slot| *slot != of_conda[at]).collect();
        slots.all[of_conda[at]].facts.requires.extend(others.into_iter().map(|slot| names[slot].clone()));
    }
    let is_installed = |one: &Distribution| installed.iter().any(|known| known.name == one.name);
    let has_something = |one: &Distribution| !one.facts.images.is_empty() || !one.facts.foreign.is_empty();
    slots.all.retain(|one| is_installed(one) || has_something(one));
    let kept: BTreeSet<PackageName> = slots.all.iter().map(|one| one.name.clone()).collect();
    let of_packages: BTreeSet<PackageName> = conda.packages.iter().filter_map(|one| one.package_name()).collect();
    for one in &mut slots.all {
        one.facts.requires.retain(|name| kept.contains(name) || !of_packages.contains(name));
    }
    slots.all.sort_by(|one, other| one.name.cmp(&other.name));
    Images { distributions: slots.all, failed: failed.into_iter().collect() }
}

/// Says which distribution stands for each package of conda's: the one that it brought, or one called like it.
fn of_conda(slots: &mut Slots, installed: &[installed::Distribution], conda: &Conda) -> Vec<usize> {
    let mut brought: BTreeMap<usize, usize> = BTreeMap::new();
    for one in installed {
        if let (Some(at), Some(slot)) = (conda.brought(one), slots.places.get(&one.name)) {
            brought.entry(at).or_insert(*slot);
        }
    }
    let of_each = conda.packages.iter().enumerate().map(|(at, package)| match brought.get(&at) {
        Some(slot) => *slot,
        None => match package.package_name() {
            Some(name) => slots.of(&name, || package.pep_version()),
            None => slots.nobodys("lib"),
        },
    });
    of_each.collect()
}

/// Adds those libraries of the folder `lib` that others in the tree name, and what those name: conda has them there.
fn beside(
    tree: &Tree,
    site: &Path,
    slots: &mut Slots,
    owned: &HashSet<&str>,
    conda: &Conda,
    of_conda: &[usize],
) -> Vec<(String, fs::FsError)> {
    let lib = tree.root.join("lib");
    let names = fs::names(&lib).unwrap_or_default().into_iter().filter(|name| name.contains(".dylib"));
    let names: BTreeSet<String> = names.filter(|name| !owned.contains(format!("lib/{name}").as_str())).collect();
    let mut failed = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let needed = |facts: &WheelFacts| -> Vec<String> {
        let slices = facts.images.iter().filter_map(|image| image.slice.as_ref().ok());
        let leaf = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        slices.flat_map(|slice| &slice.dependencies).map(|one| leaf(&one.path)).collect()
    };
    let mut open: Vec<String> = slots.all.iter().flat_map(|one| needed(&one.facts)).collect();
    while let Some(name) = open.pop() {
        if !names.contains(&name) || !seen.insert(name.clone()) {
            continue;
        }
        let slot = match conda.owner(&format!("lib/{name}")) {
            Some(at) => of_conda[at],
            None => slots.nobodys("lib"),
        };
        let path = format!("{TO_ROOT}lib/{name}");
        // dyld knows a library by the file that a link leads to.
        if let Ok(Some(target)) = tree::read_link(&lib.join(&name))
            && let Some(target) = target.to_str().filter(|target| names.contains(*target))
        {
            slots.all[slot].facts.links.push(Link { path, target: format!("{TO_ROOT}lib/{target}") });
            open.push(target.to_owned());
            continue;
        }
        let (facts, failures) = facts::read_tree_as_far(site, [path.as_str()], Pages::Hashed);
        open.extend(needed(&facts));
        slots.all[slot].facts.join(facts);
        failed.extend(failures);
    }
    failed
}

/// Puts files into jobs of about equal weight.
fn put(jobs: &mut Vec<Job>, slot: usize, files: Vec<(String, u64)>) {
    let (alone, together): (Vec<_>, Vec<_>) = files.into_iter().partition(|(_, size)| *size >= ALONE);
    jobs.extend(alone.into_iter().map(|(file, bytes)| Job { slot, files: vec![file], bytes }));
    for some in together.chunks(TOGETHER) {
        let bytes = some.iter().map(|(_, size)| size).sum();
        jobs.push(Job { slot, files: some.iter().map(|(file, _)| file.clone()).collect(), bytes });
    }
}

/// Returns a path from the root as RECORD writes it.
fn from_site(tree: &Tree, path: &str) -> String {
    match path.strip_prefix(tree.site.as_str()).and_then(|rest| rest.strip_prefix('/')) {
        Some(inside) => inside.to_owned(),
        None => format!("{TO_ROOT}{path}"),
    }
}

/// Returns a path of RECORD's form from the root.
fn from_root(tree: &Tree, path: &str) -> String {
    match path.strip_prefix(TO_ROOT) {
        Some(outside) => outside.to_owned(),
        None => format!("{}/{path}", tree.site),
    }
}

/// Returns the folder or module at the top that a file belongs to.
fn top(file: &str) -> &str {
    match file.split_once('/') {
        Some((top, _)) => top,
        None => file.split('.').next().unwrap_or(file),
    }
}

fn is_compiled(path: &str) -> bool {
    path.split('/').any(|part| part == "__pycache__")
}
