//! Solving one environment of a universe, and putting the answer into one comparable text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use macml::index::source::InMemorySource;
use macml::manifest::Manifest;
use macml::manifest::model::EnvSpec;
use macml::manifest::model::Gpu;
use macml::manifest::model::MacFloor;
use macml::manifest::model::Root;
use macml::manifest::model::RootSource;
use macml::manifest::model::RootTable;
use macml::progress::Silent;
use macml::resolve;
use macml::resolve::Facts;
use macml::resolve::Request;
use macml::resolve::Resolution;
use macml::resolve::request::Preferences;
use macml::target::MacosVersion;
use macml::target::Platform;

use super::universe::Universe;

/// An environment for Macs from macOS 14 up, without roots.
pub(crate) fn mac_env(python: &str) -> EnvSpec {
    EnvSpec {
        name: "default".to_owned(),
        platforms: vec![Platform::MacosArm64],
        mac: Some(MacFloor { macos: MacosVersion::new(14, 0), macos_span: (0..0).into(), chip: "m1".parse().unwrap() }),
        glibc: (2, 28),
        gpu: Gpu::Optional,
        python: python.parse().unwrap(),
        python_span: (0..0).into(),
        memory: None,
        roots: Vec::new(),
        resolution: macml::manifest::model::Resolution::default(),
    }
}

/// A line of `[dependencies]` without anything but versions.
pub(crate) fn root(name: &str, versions: &str) -> Root {
    Root {
        name: name.parse().unwrap(),
        extras: Vec::new(),
        source: RootSource::Versions(versions.parse().unwrap()),
        marker: None,
        index: None,
        platform: None,
        table: RootTable::Dependencies,
        span: (0..0).into(),
    }
}

/// Asks for `env` on its first platform, from the index `pypi`.
pub(crate) fn request(env: EnvSpec) -> Request {
    let platform = env.platforms[0];
    Request {
        env,
        platform,
        indexes: vec!["pypi".into()],
        preferences: Preferences::default(),
        direct: BTreeMap::new(),
        python: None,
        knowledge: macml::knowledge::Knowledge::built_in(),
    }
}

/// Solves, with answers in the order in which they were asked for.
pub(crate) fn solve(request: &Request, universe: &Universe) -> Result<Resolution, resolve::Error> {
    resolve::resolve(request, &mut Facts::new(&mut universe.source(), &Silent))
}

/// Solves, with answers in an order that `seed` decides.
pub(crate) fn solve_shuffled(request: &Request, universe: &Universe, seed: u64) -> Result<Resolution, resolve::Error> {
    resolve::resolve(request, &mut Facts::new(&mut shuffled(universe.source(), seed), &Silent))
}

fn shuffled(mut source: InMemorySource, seed: u64) -> InMemorySource {
    let mut random = Random(seed);
    source.order = Some(Box::new(move |pending| random.below(pending)));
    source
}

/// Numbers that look random and are the same everywhere (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Writes down everything that an answer says, so that two answers are equal exactly when their texts are.
pub(crate) fn text(answer: &Result<Resolution, resolve::Error>) -> String {
    match answer {
        Err(error) => refusal(error),
        Ok(resolution) => {
            let mut text = format!("python {} ({})\n", resolution.python, resolution.python_full);
            for (name, package) in &resolution.packages {
                let files: Vec<&str> = package.wheels.iter().map(|file| &*file.filename).collect();
                writeln!(
                    text,
                    "{name} {} {:?} extras {:?} requires {:?} files {files:?}",
                    package.version, package.origin, package.extras, package.requires
                )
                .unwrap();
            }
            for held in &resolution.held {
                writeln!(text, "held {held:?}").unwrap();
            }
            for finding in &resolution.findings {
                writeln!(text, "finding {finding:?}").unwrap();
            }
            text
        }
    }
}

/// Writes down a refusal: the user's lines, the reasons, then each edit after `try:`.
pub(crate) fn refusal(error: &resolve::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        write!(text, ": {error}").unwrap();
        cause = error.source();
    }
    if let resolve::Error::NoSolution(explanation) = error {
        for line in &explanation.lines {
            write!(text, "\n  line: {}", line.text).unwrap();
        }
        for reason in &explanation.reasons {
            write!(text, "\n  reason: {reason}").unwrap();
        }
        for edit in &explanation.edits {
            write!(text, "\n  try: {} gives {}", edit.change, edit.gives).unwrap();
        }
    }
    text
}

/// Reads a macml.toml that is right.
pub(crate) fn manifest(text: &str) -> Manifest {
    let context = macml::manifest::Context { folder: "project", version: &semver::Version::new(0, 1, 0) };
    match macml::manifest::parse(text, context) {
        Ok((manifest, _)) => manifest,
        Err(findings) => panic!("{findings:#?}"),
    }
}
