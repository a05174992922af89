//! Distributions in the making, and what dyld would say of them.

use std::collections::BTreeSet;

use macml::check::dyld::{Answer, Distribution, Grade, Judged, simulate};
use macml::check::facts::{Hook, Image, Package, WheelFacts};
use macml::pep::PackageName;
use macml::target::PythonMinor;

/// Distributions in the making.
#[derive(Default)]
pub(super) struct World(pub(super) Vec<(PackageName, WheelFacts)>);

pub(super) fn world() -> World {
    World::default()
}

impl World {
    pub(super) fn with(mut self, name: &str, images: impl IntoIterator<Item = Image>) -> Self {
        let mut facts = WheelFacts { images: images.into_iter().collect(), ..WheelFacts::default() };
        facts.images.sort_by(|a, b| a.path.cmp(&b.path));
        facts.packages = vec![Package { name: name.to_owned(), imports: BTreeSet::new() }];
        self.0.push((name.parse().unwrap(), facts));
        self
    }

    /// Changes the distribution that was added last.
    pub(super) fn but(mut self, change: impl FnOnce(&mut WheelFacts)) -> Self {
        change(&mut self.0.last_mut().unwrap().1);
        self
    }

    pub(super) fn requires(self, name: &str) -> Self {
        self.but(|facts| {
            facts.requires.insert(name.parse().unwrap());
        })
    }

    pub(super) fn imports(self, name: &str) -> Self {
        self.but(|facts| {
            facts.packages[0].imports.insert(name.to_owned());
        })
    }

    pub(super) fn plugs_into(self, hook: Hook) -> Self {
        self.but(|facts| {
            facts.hooks.insert(hook);
        })
    }

    #[track_caller]
    pub(super) fn check(&self, expected: &[&str]) {
        self.check_with(11, expected);
    }

    /// Holds everything that is wrong, in dyld's words and by grade, to what is expected.
    #[track_caller]
    pub(super) fn check_with(&self, minor: u16, expected: &[&str]) {
        let told = |answer: &Answer<'_>| -> Vec<String> {
            let grade = |grade: Grade| format!("{grade:?}").to_lowercase();
            let sentence = |sentence: String| sentence.replace("\n  ", " | ").replace(":     ", ": ");
            answer.troubles().map(|(_, one)| format!("{}: {}", grade(one.grade), sentence(one.sentence()))).collect()
        };
        self.simulated(minor, |answer| assert_eq!(told(answer), expected));
    }

    /// Hands on what is said of an image.
    pub(super) fn judged(&self, path: &str, look: impl FnOnce(&Judged<'_>)) {
        self.simulated(11, |answer| look(answer.images.iter().find(|judged| judged.image.path == path).unwrap()));
    }

    pub(super) fn simulated(&self, minor: u16, look: impl FnOnce(&Answer<'_>)) {
        let distributions: Vec<Distribution<'_>> =
            self.0.iter().map(|(name, facts)| Distribution { name, facts }).collect();
        look(&simulate(&distributions, PythonMinor { major: 3, minor }));
    }
}
