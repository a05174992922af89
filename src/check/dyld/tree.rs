//! The images of an environment by path, install name and leaf name, and which distribution brought each.

use std::collections::{BTreeMap, HashMap};

use crate::check::facts::{Image, Kind, Link, Slice, WheelFacts};
use crate::pep::PackageName;

/// What one distribution puts into an environment.
#[derive(Clone, Copy, Debug)]
pub struct Distribution<'a> {
    /// Its name.
    pub name: &'a PackageName,
    /// What is known of its files.
    pub facts: &'a WheelFacts,
}

/// An image, by its place among all, sorted by path.
pub(super) type Id = usize;

/// All images of an environment. Paths are those from `site-packages`.
pub(super) struct Tree<'a> {
    pub(super) distributions: &'a [Distribution<'a>],
    /// Sorted by path; a path that two distributions own is the first one's.
    pub(super) images: Vec<&'a Image>,
    /// The distribution of each image.
    pub(super) owners: Vec<usize>,
    by_path: HashMap<&'a str, Id>,
    /// Dylibs by install name, each list sorted.
    by_install_name: HashMap<&'a str, Vec<Id>>,
    /// Images by the last part of their path or install name, each list sorted.
    by_leaf: HashMap<&'a str, Vec<Id>>,
    /// The interpreter, where it is one of the tree, as conda's is.
    interpreter: Option<Id>,
}

/// The folder of an environment's own libraries, from `site-packages`.
const LIB: &str = "../../../lib/";

/// Where the interpreter of an environment lies, with the beginning of its name.
const INTERPRETER: &str = "../../../bin/python";

/// Returns the last part of a path.
pub(in crate::check) fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the folder of a path, empty for one at the top.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Joins a path to a folder, and takes `.` and `..` out where that is possible.
pub(super) fn join(folder: &str, path: &str) -> String {
    let path = if path.starts_with('/') || folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if path.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if path.starts_with('/') { format!("/{joined}") } else { joined }
}

impl<'a> Tree<'a> {
    pub(super) fn new(distributions: &'a [Distribution<'a>]) -> Self {
        let mut owned: BTreeMap<&'a str, (usize, &'a Image)> = BTreeMap::new();
        for (owner, distribution) in distributions.iter().enumerate() {
            for image in &distribution.facts.images {
                owned.entry(&image.path).or_insert((owner, image));
            }
        }
        let mut tree = Self {
            distributions,
            images: Vec::with_capacity(owned.len()),
            owners: Vec::with_capacity(owned.len()),
            by_path: HashMap::with_capacity(owned.len()),
            by_install_name: HashMap::new(),
            by_leaf: HashMap::new(),
            interpreter: None,
        };
        for (id, (path, (owner, image))) in owned.into_iter().enumerate() {
            tree.by_path.insert(path, id);
            tree.by_leaf.entry(leaf(path)).or_default().push(id);
            if let Some(name) = install_name(image) {
                tree.by_install_name.entry(name).or_default().push(id);
                if leaf(name) != leaf(path) {
                    tree.by_leaf.entry(leaf(name)).or_default().push(id);
                }
            }
            if path.starts_with(INTERPRETER) && image.slice.as_ref().is_ok_and(|slice| slice.kind == Kind::Executable) {
                tree.interpreter = Some(id);
            }
            tree.images.push(image);
            tree.owners.push(owner);
        }
        tree.follow(distributions.iter().flat_map(|one| &one.facts.links));
        tree
    }

    /// Takes links as further paths of images.
    fn follow(&mut self, links: impl Iterator<Item = &'a Link>) {
        let links: BTreeMap<&str, &str> = links.map(|link| (link.path.as_str(), link.target.as_str())).collect();
        for path in links.keys() {
            // Links that run in a circle lead to none.
            let chain = std::iter::successors(Some(*path), |path| links.get(path).copied()).take(links.len() + 1);
            let image = chain.last().and_then(|last| self.at(last));
            if let Some(image) = image {
                self.by_path.entry(path).or_insert(image);
                let named = self.by_leaf.entry(leaf(path)).or_default();
                if !named.contains(&image) {
                    named.push(image);
                    named.sort_unstable();
                }
            }
        }
    }

    /// Returns the interpreter, where it is one of the tree.
    pub(super) fn interpreter(&self) -> Option<Id> {
        self.interpreter
    }

    pub(super) fn slice(&self, id: Id) -> Option<&'a Slice> {
        self.images[id].slice.as_ref().ok()
    }

    pub(super) fn path(&self, id: Id) -> &'a str {
        &self.images[id].path
    }

    pub(super) fn at(&self, path: &str) -> Option<Id> {
        let found = self.by_path.get(path).or_else(|| {
            // `site-packages` lies two folders below `lib`, so that there are two ways to write what lies in that.
            let rest = path.strip_prefix("../../").filter(|rest| !rest.starts_with("../"))?;
            self.by_path.get([LIB, rest].concat().as_str())
        });
        found.copied()
    }

    /// Returns the install name that dyld compares: only dylibs have one.
    pub(super) fn install_name(&self, id: Id) -> Option<&'a str> {
        install_name(self.images[id])
    }

    /// Returns the dylibs with an install name.
    pub(super) fn named(&self, install_name: &str) -> &[Id] {
        self.by_install_name.get(install_name).map_or(&[], Vec::as_slice)
    }

    /// Returns the images whose path or install name ends in a name.
    pub(super) fn with_leaf(&self, name: &str) -> &[Id] {
        self.by_leaf.get(name).map_or(&[], Vec::as_slice)
    }
}

fn install_name(image: &Image) -> Option<&str> {
    let slice = image.slice.as_ref().ok()?;
    slice.install_name.as_deref().filter(|_| slice.kind == Kind::Dylib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        assert_eq!(join("a/b", "../c.dylib"), "a/c.dylib");
        assert_eq!(join("a/b/.", "./c//d.dylib"), "a/b/c/d.dylib");
        assert_eq!(join("", "c.dylib"), "c.dylib");
        assert_eq!(join("a", "../../../../lib/c.dylib"), "../../../lib/c.dylib");
        assert_eq!(join("../../../bin", "../lib/c.dylib"), "../../../lib/c.dylib");
        assert_eq!(join("a", "/b/../../c.dylib"), "/c.dylib");
        assert_eq!((leaf("a/b.so"), leaf("b.so"), folder("a/b.so"), folder("b.so")), ("b.so", "b.so", "a", ""));
    }
}
