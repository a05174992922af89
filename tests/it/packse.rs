//! Resolver scenarios of the packse project, read where they lie: `../shared/suites` or the folder that `MACML_SUITES`
//! names. Their wheels come from the fake index. Skips, saying so, where they are absent.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use macml::index::Config;
use macml::index::IndexAddress;
use macml::index::OnlineSource;
use macml::manifest::model::EnvSpec;
use macml::manifest::model::Root;
use macml::manifest::model::RootSource;
use macml::pep::Requirement;
use macml::pep::RequirementSource;
use macml::progress::Silent;
use macml::resolve;
use macml::resolve::Facts;
use macml::resolve::Resolution;
use macml::sys::Env;
use macml::target::Platform;
use serde::Deserialize;

use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;
use crate::support::solving::mac_env;
use crate::support::solving::request;
use crate::support::solving::root;
use crate::support::solving::text;

/// Scenarios in which macml chooses to differ, what it does there, and why.
/// The names are those of the suite.
const DIFFERENCES: &[(&str, Outcome, &str)] = &[
    ("incompatible-python-compatible-override-available-no-wheels", Outcome::Refused, WHEELS_ONLY),
    ("incompatible-python-compatible-override-no-compatible-wheels", Outcome::Refused, WHEELS_ONLY),
    ("incompatible-python-compatible-override-other-wheel", Outcome::Refused, WHEELS_ONLY),
    ("incompatible-python-compatible-override-unavailable-no-wheels", Outcome::Refused, WHEELS_ONLY),
    ("no-wheels-with-matching-platform", Outcome::Refused, WHEELS_ONLY),
    ("only-wheels-no-binary", Outcome::Solved("a 1.0.0"), "wheels only: there is no setting against wheels"),
    (
        "python-less-than-current",
        Outcome::Refused,
        "Python is part of the problem: an upper bound in Requires-Python is meant, and another Python is tried",
    ),
    (
        "transitive-yanked-and-unyanked-dependency",
        Outcome::Solved("a 1.0.0, b 1.0.0, c 2.0.0"),
        "a withdrawn release that a reached release demands exactly counts, with a warning, as a pre-release does (R13)",
    ),
];

const WHEELS_ONLY: &str = "wheels only: nothing is built, so a source archive is no answer";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Solved(&'static str),
    Refused,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    name: String,
    description: String,
    root: RootTable,
    expected: Expected,
    #[serde(default)]
    packages: BTreeMap<String, Package>,
    #[serde(default)]
    resolver_options: Options,
    #[serde(default)]
    environment: Environment,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RootTable {
    #[serde(default)]
    requires: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    satisfiable: bool,
    #[serde(default)]
    explanation: String,
    packages: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Package {
    versions: BTreeMap<String, Version>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Version {
    requires: Vec<String>,
    requires_python: Option<String>,
    extras: BTreeMap<String, Vec<String>>,
    sdist: bool,
    wheel: bool,
    wheel_tags: Vec<String>,
    yanked: bool,
}

impl Default for Version {
    fn default() -> Self {
        Self {
            requires: Vec::new(),
            requires_python: None,
            extras: BTreeMap::new(),
            sdist: true,
            wheel: true,
            wheel_tags: Vec::new(),
            yanked: false,
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Options {
    python: Option<String>,
    prereleases: bool,
    python_platform: Option<String>,
    /// Settings about source archives, which macml does not use at all.
    #[serde(rename = "no_build")]
    _no_build: Vec<String>,
    #[serde(rename = "no_binary")]
    _no_binary: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Environment {
    python: String,
    #[serde(rename = "additional_python")]
    _additional_python: Vec<String>,
}

impl Default for Environment {
    fn default() -> Self {
        Self { python: "3.12".to_owned(), _additional_python: Vec::new() }
    }
}

#[test]
fn every_scenario_comes_out_as_expected_or_is_a_chosen_difference() {
    let folder = suites().join("packse/scenarios");
    if !folder.is_dir() {
        eprintln!("skipped: no packse scenarios in `{}`", folder.display());
        return;
    }
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    assert!(files.len() >= 80, "only {} scenarios found", files.len());
    let mut failures = Vec::new();
    let mut differing = Vec::new();
    for file in &files {
        let scenario: Scenario = toml::from_str(&std::fs::read_to_string(file).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let answer = run(&scenario);
        let difference = DIFFERENCES.iter().find(|(name, ..)| *name == scenario.name);
        let right = match difference {
            Some((name, outcome, _)) => {
                differing.push(*name);
                outcome.is_of(&answer) && !scenario.expects(&answer)
            }
            None => scenario.expects(&answer),
        };
        if !right {
            let chosen = difference.map(|(_, outcome, reason)| format!("\n  chosen: {outcome:?}, {reason}"));
            failures.push(format!(
                "{}: {}\n  expected: {} {:?} {}{}\n  got: {}",
                scenario.name,
                scenario.description,
                if scenario.expected.satisfiable { "an answer" } else { "a refusal" },
                scenario.expected.packages,
                scenario.expected.explanation,
                chosen.unwrap_or_default(),
                text(&answer)
            ));
        }
    }
    assert!(failures.is_empty(), "{} scenarios\n\n{}", failures.len(), failures.join("\n\n"));
    let gone: Vec<_> = DIFFERENCES.iter().filter(|(name, ..)| !differing.contains(name)).collect();
    assert!(gone.is_empty(), "differences about scenarios that are not there: {gone:?}");
}

/// Returns the folder of the suites.
fn suites() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/suites");
    std::env::var_os("MACML_SUITES").map_or_else(beside, PathBuf::from)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|one| one == "toml") {
            files.push(path);
        }
    }
}

fn run(scenario: &Scenario) -> Result<Resolution, resolve::Error> {
    let mut env = scenario.env();
    env.roots = scenario.root.requires.iter().map(|line| as_root(line)).collect();
    env.roots.sort_by(|a, b| a.name.cmp(&b.name));
    if scenario.resolver_options.prereleases {
        env.resolution.prereleases = scenario.packages.keys().map(|name| name.parse().unwrap()).collect();
    }
    let index = FakeIndex::from_published(&scenario.published());
    let mut config = Config::new(Env::from_map(BTreeMap::new(), "/".into()));
    config.indexes = vec![IndexAddress { name: "pypi".to_owned(), url: index.url() }];
    let mut source = OnlineSource::new(&config, Arc::new(Silent)).unwrap();
    resolve::resolve(&request(env), &mut Facts::new(&mut source, &Silent))
}

fn as_root(line: &str) -> Root {
    let requirement: Requirement = line.parse().unwrap();
    let RequirementSource::Versions(versions) = requirement.source else { panic!("`{line}` is an address") };
    Root {
        extras: requirement.extras,
        source: RootSource::Versions(versions),
        marker: requirement.marker,
        ..root(requirement.name.as_str(), "")
    }
}

impl Scenario {
    /// Returns the environment without roots. Where a scenario speaks of Linux, it is solved for Linux.
    fn env(&self) -> EnvSpec {
        let python = self.resolver_options.python.as_ref().unwrap_or(&self.environment.python);
        let star = if python.split('.').count() == 2 { ".*" } else { "" };
        let env = mac_env(&format!("=={python}{star}"));
        match self.resolver_options.python_platform.as_deref() {
            None => env,
            Some("x86_64-manylinux2014") => {
                EnvSpec { platforms: vec![Platform::LinuxX86_64], mac: None, glibc: (2, 17), ..env }
            }
            Some(other) => panic!("a platform of packse that is new here: `{other}`"),
        }
    }

    fn published(&self) -> Published {
        self.packages
            .iter()
            .flat_map(|(name, package)| package.versions.iter().map(move |one| (name, one)))
            .fold(Published::default(), |published, (name, (version, release))| {
                published.with_release(name, version, release.rel())
            })
    }

    fn expects(&self, answer: &Result<Resolution, resolve::Error>) -> bool {
        match (answer, self.expected.satisfiable, &self.expected.packages) {
            (Err(resolve::Error::NoSolution(_)), satisfiable, _) => !satisfiable,
            (Ok(_), satisfiable, None) => satisfiable,
            (Ok(resolution), true, Some(packages)) => {
                let got = resolution.packages.iter().map(|(name, one)| (name.to_string(), one.version.clone()));
                let expected = packages.iter().map(|(name, version)| (name.clone(), version.parse().unwrap()));
                got.collect::<BTreeMap<_, macml::pep::Version>>() == expected.collect()
            }
            _ => false,
        }
    }
}

impl Version {
    fn rel(&self) -> Rel {
        let usual = || vec!["py3-none-any".to_owned()];
        Rel {
            wheel_tags: match (self.wheel, self.wheel_tags.is_empty()) {
                (false, _) => Vec::new(),
                (true, true) => usual(),
                (true, false) => self.wheel_tags.clone(),
            },
            sdist: self.sdist,
            requires: self.requires.clone(),
            requires_python: self.requires_python.clone(),
            extras: self.extras.clone(),
            yanked: self.yanked.then(String::new),
            ..Rel::default()
        }
    }
}

impl Outcome {
    fn is_of(self, answer: &Result<Resolution, resolve::Error>) -> bool {
        match (self, answer) {
            (Self::Refused, Err(resolve::Error::NoSolution(_))) => true,
            (Self::Solved(packages), Ok(resolution)) => {
                let got = resolution.packages.iter().map(|(name, one)| format!("{name} {}", one.version));
                got.collect::<Vec<_>>().join(", ") == packages
            }
            _ => false,
        }
    }
}
