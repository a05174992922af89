//! Pairs of wheels of which it was read whether the one can load the other: what cannot is refused, what can is accepted.
//!
//! `tests/knowledge/loads.csv` has the pairs, `loads.toml` the METADATA of those wheels. They were read on 2026-11-30, by
//! the symbols that one library binds and the other exports, each in the library where the loader looks for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use macml::knowledge::Knowledge;
use macml::manifest::model::EnvSpec;
use macml::manifest::model::Gpu;
use macml::pep::PackageName;
use macml::pep::Requirement;
use macml::pep::RequirementSource;
use macml::pep::Version;
use macml::progress::Silent;
use macml::resolve;
use macml::resolve::Facts;
use macml::target::MacosVersion;

use crate::support::solving::mac_env;
use crate::support::solving::request;
use crate::support::solving::root;
use crate::support::universe::Packages;
use crate::support::universe::Universe;

/// A release that is asked to load another.
#[derive(Clone, Debug)]
struct Pair {
    left: [&'static str; 2],
    right: [&'static str; 2],
    python: &'static str,
    loads: bool,
}

fn pairs() -> Vec<Pair> {
    let read = |line: &'static str| match line.split(',').collect::<Vec<_>>()[..] {
        [left, left_version, right, right_version, python, loads] => Pair {
            left: [left, left_version],
            right: [right, right_version],
            python,
            loads: match loads {
                "yes" => true,
                "no" => false,
                other => panic!("`{other}` in `{line}`"),
            },
        },
        _ => panic!("`{line}`"),
    };
    include_str!("../knowledge/loads.csv").lines().skip(1).map(read).collect()
}

fn releases() -> Packages {
    toml::from_str(include_str!("../knowledge/loads.toml")).unwrap()
}

impl Pair {
    fn env(&self, gpu: Gpu) -> EnvSpec {
        let mut env = mac_env(&format!("=={}.*", self.python));
        env.mac.as_mut().unwrap().macos = MacosVersion::new(26, 2);
        env.gpu = gpu;
        env.roots = [self.left, self.right].map(|[name, version]| root(name, &format!("=={version}"))).to_vec();
        env
    }

    /// Returns whether the METADATA of the left wheel allows the right one.
    fn permitted(&self, releases: &Packages) -> bool {
        let right: Version = self.right[1].parse().unwrap();
        let about_right = |line: &String| {
            let requirement: Requirement = line.parse().unwrap_or_else(|error| panic!("`{line}`: {error}"));
            match requirement.source {
                RequirementSource::Versions(versions) if requirement.name.as_str() == self.right[0] => Some(versions),
                _ => None,
            }
        };
        let lines = &releases[self.left[0]][self.left[1]].requires;
        lines.iter().filter_map(about_right).all(|versions| versions.contains(&right))
    }
}

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([left, left_version], [right, right_version]) = (self.left, self.right);
        write!(f, "{left} {left_version} with {right} {right_version}")
    }
}

/// Solves each pair, and names those without an answer.
fn refused(pairs: &[Pair], gpu: Gpu, knowledge: &Arc<Knowledge>) -> Vec<String> {
    let mut source = Universe::of_pypi(releases()).source();
    let mut facts = Facts::new(&mut source, &Silent);
    let unanswered = |pair: &&Pair| {
        let mut request = request(pair.env(gpu));
        request.knowledge = knowledge.clone();
        match resolve::resolve(&request, &mut facts) {
            Ok(_) => false,
            Err(resolve::Error::NoSolution(_)) => true,
            Err(error) => panic!("{pair}: {error}"),
        }
    };
    pairs.iter().filter(unanswered).map(ToString::to_string).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn metadata_alone_permits_what_cannot_be_loaded() {
    // The ground of the tests below: nothing but knowledge refuses these pairs.
    let releases = releases();
    let permitted = pairs().into_iter().filter(|pair| pair.permitted(&releases)).collect::<Vec<_>>();
    assert_eq!(refused(&permitted, Gpu::Required, &Arc::new(Knowledge::default())), NONE);
    assert_eq!(permitted.iter().filter(|pair| !pair.loads).count(), 85);
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let (pairs, releases, knowledge) = (pairs(), releases(), Knowledge::built_in());
    // One question for each left wheel: with any of those that it cannot load, and no others to be had.
    let mut groups: BTreeMap<_, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| !pair.loads) {
        groups.entry((pair.left, pair.right[0], pair.python)).or_default().push(pair);
    }
    let mut accepted = Vec::new();
    for ((left, right, _), group) in groups {
        let mut packages = releases.clone();
        let unloadable = |version: &String| group.iter().any(|pair| pair.right[1] == version);
        packages.get_mut(right).unwrap().retain(|version, _| unloadable(version));
        packages.get_mut(left[0]).unwrap().retain(|version, _| version == left[1]);
        let mut env = group[0].env(Gpu::Required);
        env.roots[1] = root(right, ">=0.dev0");
        let mut request = request(env);
        request.knowledge = knowledge.clone();
        match resolve::resolve(&request, &mut Facts::new(&mut Universe::of_pypi(packages).source(), &Silent)) {
            Ok(answer) => {
                let chosen = &answer.packages[&right.parse::<PackageName>().unwrap()].version;
                accepted.push(format!("{} {} with {right} {chosen}", left[0], left[1]));
            }
            Err(resolve::Error::NoSolution(_)) => {}
            Err(error) => panic!("{}: {error}", group[0]),
        }
    }
    assert_eq!(accepted, NONE);
}

#[test]
fn what_loads_and_metadata_permits_is_accepted() {
    let releases = releases();
    let fit = pairs().into_iter().filter(|pair| pair.loads && pair.permitted(&releases)).collect::<Vec<_>>();
    assert_eq!(refused(&fit, Gpu::Optional, &Knowledge::built_in()), NONE);
    // Each plugin up to 0.7 is for one minor version of TensorFlow; what else can load it, Apple's table does not name,
    // so where the GPU must work these are refused too.
    let beyond_the_table = [
        "tensorflow-metal 0.5.0 with tensorflow-macos 2.10.0",
        "tensorflow-metal 0.6.0 with tensorflow-macos 2.9.0",
        "tensorflow-metal 0.7.0 with tensorflow 2.16.1",
        "tensorflow-metal 0.7.0 with tensorflow 2.17.0",
        "tensorflow-metal 0.7.0 with tensorflow-macos 2.12.0",
        "tensorflow-metal 0.7.0 with tensorflow-macos 2.13.0",
        "tensorflow-metal 0.7.0 with tensorflow-macos 2.14.0",
        "tensorflow-metal 0.7.0 with tensorflow-macos 2.15.0",
    ];
    assert_eq!(refused(&fit, Gpu::Required, &Knowledge::built_in()), beyond_the_table);
}
