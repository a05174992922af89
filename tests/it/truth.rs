//! Pairs of wheels of which it was read whether the one can load the other: what cannot is refused, what can is accepted.
//!
//! `tests/knowledge/loads.csv` has the pairs, `loads.toml` the METADATA of those wheels. They were read on 2026-11-30, by
//! the symbols that one library binds and the other exports, each in the library where the loader looks for it.

use std::sync::Arc;

use macml::knowledge::Knowledge;
use macml::manifest::model::EnvSpec;
use macml::manifest::model::Gpu;
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

/// Solves each pair, and returns for each whether there is an answer.
fn accepted(pairs: &[Pair], gpu: Gpu, knowledge: &Arc<Knowledge>) -> Vec<bool> {
    let mut source = Universe::of_pypi(releases()).source();
    let mut facts = Facts::new(&mut source, &Silent);
    let answered = |pair: &Pair| {
        let mut request = request(pair.env(gpu));
        request.knowledge = knowledge.clone();
        match resolve::resolve(&request, &mut facts) {
            Ok(_) => true,
            Err(resolve::Error::NoSolution(_)) => false,
            Err(error) => panic!("{pair}: {error}"),
        }
    };
    pairs.iter().map(answered).collect()
}

/// Names the pairs for which the answer is not `wanted`.
fn wrong(pairs: &[Pair], answers: &[bool], wanted: impl Fn(&Pair) -> Option<bool>) -> Vec<String> {
    let wrong = |(pair, accepted): &(&Pair, &bool)| wanted(pair).is_some_and(|wanted| wanted != **accepted);
    pairs.iter().zip(answers).filter(wrong).map(|(pair, _)| pair.to_string()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn metadata_alone_says_what_it_permits() {
    // The ground of the tests below: what they find refused beyond this is refused by knowledge.
    let (pairs, releases) = (pairs(), releases());
    let answers = accepted(&pairs, Gpu::Required, &Arc::new(Knowledge::default()));
    assert_eq!(wrong(&pairs, &answers, |pair| Some(pair.permitted(&releases))), NONE);
    let unloadable = |(pair, accepted): &(&Pair, &bool)| **accepted && !pair.loads;
    assert!(pairs.iter().zip(&answers).filter(unloadable).count() > 70, "without knowledge nothing is wrong");
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let pairs = pairs();
    let answers = accepted(&pairs, Gpu::Required, &Knowledge::built_in());
    assert_eq!(wrong(&pairs, &answers, |pair| (!pair.loads).then_some(false)), NONE);
}

#[test]
fn what_loads_and_metadata_permits_is_accepted() {
    let (pairs, releases) = (pairs(), releases());
    let answers = accepted(&pairs, Gpu::Optional, &Knowledge::built_in());
    assert_eq!(wrong(&pairs, &answers, |pair| (pair.loads && pair.permitted(&releases)).then_some(true)), NONE);
}

#[test]
fn where_the_gpu_must_work_the_plugin_is_paired_as_apple_says() {
    let pairs = pairs().into_iter().filter(|pair| pair.left[0] == "tensorflow-metal").collect::<Vec<_>>();
    let answers = accepted(&pairs, Gpu::Required, &Knowledge::built_in());
    let loaded_but_refused = wrong(&pairs, &answers, |pair| pair.loads.then_some(true));
    // Each plugin up to 0.7 is for one minor version of TensorFlow; what else it can be loaded into, Apple does not name.
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
    assert_eq!(loaded_but_refused, beyond_the_table);
}
