//! The graph of an environment as a tree: from what is asked for down, or from a package up to who asks for it.

use std::collections::BTreeSet;

use crate::pep::{PackageName, Version};

use super::model::{LockedEnv, Lockfile};

/// A package at one place of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The package, with its extras: `datasets[vision]`.
    pub shown: String,
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// What it depends on, or in a tree that is turned round, what depends on it; by name.
    pub below: Vec<Self>,
    /// Whether it has been shown with what is below it already, so that nothing is below it here.
    pub again: bool,
}

/// How a tree grows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Growth<'a> {
    /// What it begins from, in this order.
    pub from: &'a [PackageName],
    /// Whether it goes up to who asks, instead of down.
    pub inverted: bool,
    /// How many levels there are below the first, at most.
    pub depth: Option<usize>,
}

/// Grows the trees of an environment. What it is to begin from and does not have is left out.
pub fn grow(lock: &Lockfile, env: &LockedEnv, growth: &Growth<'_>) -> Vec<Node> {
    let mut seen = BTreeSet::new();
    let trees = growth.from.iter().filter_map(|name| node(lock, env, name, growth, growth.depth, &mut seen));
    trees.collect()
}

/// Lists what nobody in an environment asks for: its roots, where macml.toml is not at hand, and what knowledge added.
pub fn unasked(lock: &Lockfile, env: &LockedEnv) -> Vec<PackageName> {
    let asked: BTreeSet<&PackageName> = env
        .packages
        .iter()
        .filter_map(|entry| lock.package(entry))
        .flat_map(|package| package.edges(&env.name, env.platform))
        .collect();
    env.packages.iter().map(|entry| &entry.name).filter(|name| !asked.contains(name)).cloned().collect()
}

fn node(
    lock: &Lockfile,
    env: &LockedEnv,
    name: &PackageName,
    growth: &Growth<'_>,
    depth: Option<usize>,
    seen: &mut BTreeSet<PackageName>,
) -> Option<Node> {
    let entry = env.entry(name)?;
    let edges = |name: &PackageName| {
        env.entry(name).and_then(|entry| lock.package(entry)).map_or(&[][..], |one| one.edges(&env.name, env.platform))
    };
    let next: Vec<&PackageName> = match growth.inverted {
        false => edges(name).iter().collect(),
        true => env.packages.iter().map(|other| &other.name).filter(|other| edges(other).contains(name)).collect(),
    };
    let extras: Vec<&str> = entry.extras.iter().map(crate::pep::ExtraName::as_str).collect();
    let shown = if extras.is_empty() { name.to_string() } else { format!("{name}[{}]", extras.join(",")) };
    let mut node = Node { shown, name: name.clone(), version: entry.version.clone(), below: Vec::new(), again: false };
    if next.is_empty() || depth == Some(0) {
        return Some(node);
    }
    if !seen.insert(name.clone()) {
        node.again = true;
        return Some(node);
    }
    let depth = depth.map(|depth| depth - 1);
    node.below = next.into_iter().filter_map(|name| self::node(lock, env, name, growth, depth, seen)).collect();
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::parse;

    const LOCK: &str = r#"version = 1
revision = 0

[[env]]
name = "default"
platform = "macos-arm64"
macos = "14.0"
chip = "m1"
gpu = "optional"
python = "3.13"
inputs = "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
packages = ["a[x] 1.0", "b 1.0", "c 1.0", "d 1.0"]
"#;

    fn lock() -> Lockfile {
        let package = |name: &str, requires: &str| {
            format!(
                "\n[[package]]\nname = \"{name}\"\nversion = \"1.0\"\nindex = \"pypi\"\nrequires = [{requires}]\nwheels = [\n  \
                 {{ file = \"{name}-1.0-py3-none-any.whl\", size = 1, sha256 = \
                 \"afa327c9725ec6910715bc9ef32a827440914497d86468fb8758426886ae8931\" }},\n]\n"
            )
        };
        // `b` and `c` go in a circle.
        let packages = [package("a", "\"b\", \"c\""), package("b", "\"c\""), package("c", "\"b\""), package("d", "")];
        parse::parse(&(LOCK.to_owned() + &packages.concat())).unwrap()
    }

    fn shown(nodes: &[Node], depth: usize) -> String {
        let line = |node: &Node| {
            let again = if node.again { " (*)" } else { "" };
            format!("{}{}{again}\n{}", "-".repeat(depth), node.shown, shown(&node.below, depth + 1))
        };
        nodes.iter().map(line).collect()
    }

    #[track_caller]
    fn check(from: &[&str], inverted: bool, depth: Option<usize>, expected: &str) {
        let lock = lock();
        let from: Vec<PackageName> = from.iter().map(|name| name.parse().unwrap()).collect();
        let nodes = grow(&lock, &lock.envs[0], &Growth { from: &from, inverted, depth });
        assert_eq!(shown(&nodes, 0), expected);
    }

    #[test]
    fn what_was_shown_is_not_shown_twice() {
        check(&["a", "d"], false, None, "a[x]\n-b\n--c\n---b (*)\n-c (*)\nd\n");
        check(&["a", "d"], false, Some(1), "a[x]\n-b\n-c\nd\n");
        check(&["a"], false, Some(0), "a[x]\n");
        check(&["gone"], false, None, "");
    }

    #[test]
    fn a_tree_is_turned_round() {
        check(&["c"], true, None, "c\n-a[x]\n-b\n--a[x]\n--c (*)\n");
    }

    #[test]
    fn roots_are_what_nobody_asks_for() {
        let lock = lock();
        let names: Vec<String> = unasked(&lock, &lock.envs[0]).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["a", "d"]);
    }
}
