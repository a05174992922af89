//! Sets in the making, and parts as text.

use std::collections::BTreeSet;

use macml::check::facts::WheelFacts;
use macml::check::rules::Installed;
use macml::index::download::Place;
use macml::knowledge::{Circumstances, Knowledge};
use macml::pep::Sha256;
use macml::pipeline::check::{self, Because, Class, File, Of, On, Part, Release, Set, Told, Unread, Why};
use macml::target::{Gpu, Platform, PythonMinor};

use crate::check_rules::made::{self, Wheel};
use crate::dyld::record::Record;

/// The day of some lock.
pub(super) const DAY: &str = "2026.11.30";

/// Facts of a real wheel, by its file name without the ending.
pub(super) fn real(stem: &str) -> Wheel {
    reals(&[stem]).remove(0)
}

/// Facts of real wheels.
pub(super) fn reals(stems: &[&str]) -> Vec<Wheel> {
    let mut all = Record::read().facts();
    let mut facts = |stem: &str| -> WheelFacts { all.remove(&format!("{stem}.whl")).unwrap() };
    stems.iter().map(|stem| Wheel::of(stem, facts(stem))).collect()
}

/// A set in the making, for an M1 whose GPU must be usable.
pub(super) struct Made {
    pub(super) set: Set,
    wheels: Vec<Wheel>,
    unread: Vec<Unread>,
}

pub(super) fn set(wheels: impl IntoIterator<Item = Wheel>, macos: &str) -> Made {
    let mac = Circumstances { macos: macos.parse().unwrap(), chip: "m1".parse().unwrap(), gpu: Gpu::Required };
    let of = Of {
        env: "default".to_owned(),
        platform: Platform::MacosArm64,
        python: PythonMinor { major: 3, minor: 11 },
        on: Some(On { mac, because: Because::Floor }),
    };
    let set = Set { of, releases: Vec::new(), unknown: BTreeSet::new(), ignored: Vec::new(), solved_with: None };
    let mut made = Made { set, wheels: Vec::new(), unread: Vec::new() };
    for wheel in wheels {
        made.set.releases.push(Made::release(&wheel));
        made.wheels.push(wheel);
    }
    made
}

impl Made {
    fn release(wheel: &Wheel) -> Release {
        let file = wheel.file();
        let place = Place::Index("pypi".into());
        let sha256 = Sha256::of(file.to_string().as_bytes());
        let file = File { wheel: file.clone(), sha256, size: Some(1 << 20), place };
        Release { name: file.wheel.name.clone(), version: file.wheel.version.clone(), file: Some(file) }
    }

    /// Adds a wheel that was not read: never, or in vain.
    pub(super) fn unread(mut self, wheel: &Wheel, failed: Option<&str>) -> Self {
        let release = Self::release(wheel);
        let file = release.file.clone().unwrap();
        let why = failed.map_or(Why::NotFetched, |reason| Why::Failed(reason.to_owned()));
        self.unread.push(Unread { wheel: file.wheel, sha256: file.sha256, size: file.size, why });
        self.set.releases.push(release);
        self
    }

    /// Adds a release that has no wheel.
    pub(super) fn built(mut self, name: &str, version: &str) -> Self {
        let (name, version) = (name.parse().unwrap(), version.parse().unwrap());
        self.set.releases.push(Release { name, version, file: None });
        self
    }

    /// Judges it for a Mac that was asked about.
    pub(super) fn asked(self) -> Self {
        self.because(Because::Asked)
    }

    pub(super) fn because(mut self, because: Because) -> Self {
        self.set.of.on.as_mut().unwrap().because = because;
        self
    }

    pub(super) fn but(mut self, change: impl FnOnce(&mut Set)) -> Self {
        change(&mut self.set);
        self
    }

    /// Was solved by macml.
    pub(super) fn locked(self) -> Self {
        self.but(|set| set.solved_with = Some(DAY.to_owned()))
    }

    pub(super) fn libraries(&self) -> Part {
        let installed: Vec<Installed<'_>> = self.wheels.iter().map(Wheel::installed).collect();
        check::libraries(&self.set, &installed, &self.unread, &Default::default(), &Knowledge::built_in())
    }

    pub(super) fn known(&self) -> Part {
        check::known(&self.set, &Knowledge::built_in())
    }
}

/// Writes what is told as text.
pub(super) fn text(part: &Part) -> String {
    part.told.iter().map(|told| made::told(&told.finding)).collect::<Vec<_>>().join("\n")
}

/// Finds what is told under a code.
#[track_caller]
pub(super) fn one<'a>(part: &'a Part, code: &str) -> &'a Told {
    let all: Vec<&Told> = part.told.iter().filter(|told| told.finding.code.as_str() == code).collect();
    let [one] = all[..] else { panic!("{code}: {}", text(part)) };
    one
}

/// Holds a part to its word, and what is told under a code to phrases that one of them has.
#[track_caller]
pub(super) fn check(part: &Part, word: &str, class: Class, code: &str, phrases: &[&str]) {
    assert_eq!((part.word.as_str(), part.word.class()), (word, class), "{}", text(part));
    let has = |text: &str| phrases.iter().all(|phrase| text.contains(phrase));
    let told = |told: &&Told| told.finding.code.as_str() == code && has(&made::told(&told.finding));
    assert!(part.told.iter().any(|one| told(&one)), "{code}: {phrases:?}\n{}", text(part));
}
