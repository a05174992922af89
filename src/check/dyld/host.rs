//! The host context: which images are opened by themselves, and what is already loaded then. Only Python decides that; this
//! is a model of it, derived from what distributions require, import and plug into.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Distribution, Id, Tree, leaf};
use crate::check::facts::{Hook, Kind};

/// How a framework loads the plugins of a folder.
struct Convention {
    hook: Hook,
    /// The package at whose import it does that.
    package: &'static str,
    /// What it has opened until then, so that only dependents see it (`RTLD_LOCAL`).
    opened: Option<&'static str>,
}

/// Known conventions. TensorFlow sets the flags of `dlopen` around the import of its largest library
/// (`tensorflow/python/pywrap_tensorflow.py`) before anything else is imported.
const CONVENTIONS: [Convention; 2] = [
    Convention {
        hook: Hook::TensorFlow,
        package: "tensorflow",
        opened: Some("tensorflow/python/_pywrap_tensorflow_internal.so"),
    },
    Convention { hook: Hook::Jax, package: "jaxlib", opened: None },
];

/// An image that is opened by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Root {
    pub(super) image: Id,
    /// Only its dependents see it.
    pub(super) local: bool,
}

/// Which images are opened, in which order, after which others.
pub(super) struct Host {
    /// The roots of each distribution, in the order in which they are opened.
    pub(super) roots: Vec<Vec<Root>>,
    /// The distributions of whose roots all are opened before those of one, in order.
    pub(super) before: Vec<Vec<usize>>,
}

impl Host {
    pub(super) fn new(tree: &Tree<'_>) -> Self {
        let direct = direct_hosts(tree.distributions);
        // Those without images bring nothing, but what they require may.
        let before = (0..direct.len()).map(|at| {
            let mut order = closure(at, &direct);
            order.retain(|host| !tree.distributions[*host].facts.images.is_empty());
            order
        });
        Self { roots: roots(tree), before: before.collect() }
    }
}

/// Returns the distributions that each one needs itself.
fn direct_hosts(distributions: &[Distribution<'_>]) -> Vec<BTreeSet<usize>> {
    let mut named = BTreeMap::new();
    let mut importable: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, distribution) in distributions.iter().enumerate() {
        named.entry(distribution.name).or_insert(at);
        for package in &distribution.facts.packages {
            importable.entry(&package.name).or_default().push(at);
        }
    }
    let hosts = distributions.iter().enumerate().map(|(at, distribution)| {
        let facts = distribution.facts;
        let required = facts.requires.iter().filter_map(|name| named.get(name).copied());
        let imported = facts.packages.iter().flat_map(|package| &package.imports).map(String::as_str);
        let plugged = CONVENTIONS.iter().filter(|one| facts.hooks.contains(&one.hook)).map(|one| one.package);
        let imported = imported.chain(plugged).filter_map(|name| importable.get(name)).flatten().copied();
        required.chain(imported).filter(|host| *host != at).collect()
    });
    hosts.collect()
}

/// Returns everything that a distribution needs, each after what it needs itself.
fn closure(of: usize, direct: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::from([of]);
    let mut open: Vec<(usize, Vec<usize>)> = vec![(of, direct[of].iter().rev().copied().collect())];
    while let Some((at, rest)) = open.last_mut() {
        match rest.pop() {
            Some(next) if seen.insert(next) => open.push((next, direct[next].iter().rev().copied().collect())),
            Some(_) => {}
            None => {
                order.push(*at);
                open.pop();
            }
        }
    }
    // Itself is last.
    order.pop();
    order
}

/// Returns the roots of each distribution.
fn roots(tree: &Tree<'_>) -> Vec<Vec<Root>> {
    let mut needed = BTreeSet::new();
    for id in 0..tree.images.len() {
        let own = tree.slice(id).into_iter().flat_map(|slice| &slice.dependencies);
        // By leaf name only: where a path leads is not known before something is loaded.
        let others = own.flat_map(|dependency| tree.with_leaf(leaf(&dependency.path)));
        needed.extend(others.copied().filter(|other| *other != id));
    }
    let opened = |path: &str| CONVENTIONS.iter().any(|one| one.opened == Some(path));
    let mut roots = vec![Vec::new(); tree.distributions.len()];
    for first in [true, false] {
        for (id, owner) in tree.owners.iter().enumerate() {
            let path = tree.path(id);
            let slice = tree.slice(id);
            let kind = slice.map(|slice| slice.kind);
            let is_root =
                matches!(kind, Some(Kind::Bundle | Kind::Executable)) || path.ends_with(".so") || !needed.contains(&id);
            if is_root && opened(path) == first {
                // What no module can be imported from is opened by `ctypes` or a framework, which hide it.
                let module = slice.is_some_and(|slice| slice.exports.has_prefix("_PyInit_"));
                roots[*owner].push(Root { image: id, local: first || !module });
            }
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_comes_before() {
        let direct: Vec<BTreeSet<usize>> =
            [&[1, 2][..], &[2], &[3, 0], &[]].map(|of| of.iter().copied().collect()).into();
        // A circle is cut where it was entered.
        assert_eq!(closure(0, &direct), [3, 2, 1]);
        assert_eq!(closure(2, &direct), [1, 0, 3]);
        assert_eq!(closure(3, &direct), [0; 0]);
    }
}
