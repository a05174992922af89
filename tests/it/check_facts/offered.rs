//! What indexes say of locked files: all there, gone, replaced, withdrawn, about to go; and indexes that say nothing.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use macml::diag::{Code, Severity};
use macml::index::download::Place;
use macml::index::source::{Answer, Ask, Source, SourceError};
use macml::index::{Config, IndexAddress, Mirror, OnlineSource};
use macml::pep::Sha256;
use macml::pipeline::check::offered::offered;
use macml::pipeline::check::{File, Of, Part, Release, Set, Word};
use macml::progress::Silent;
use macml::sys::Env;
use macml::target::{Platform, PythonMinor};

use crate::support::published::{self, Published};
use crate::support::server::{Behaviour, FakeIndex, Format};
use crate::support::universe::{Packages, Rel, Universe};

/// 2026-12-01.
const TODAY: u64 = 20_788;

/// A set that takes the wheel for everybody of each release, as a [`Universe`] has it.
fn set(releases: &[(&str, &str)]) -> Set {
    let release = |(name, version): &(&str, &str)| {
        let filename = Rel::filename(name, version, "py3-none-any");
        let (sha256, place) = (Sha256::of(filename.as_bytes()), Place::Index("pypi".into()));
        let file = Some(File { wheel: filename.parse().unwrap(), sha256, size: None, place });
        Release { name: name.parse().unwrap(), version: version.parse().unwrap(), file }
    };
    Set {
        of: Of {
            env: "default".to_owned(),
            platform: Platform::MacosArm64,
            python: PythonMinor { major: 3, minor: 13 },
            on: None,
        },
        releases: releases.iter().map(release).collect(),
        unknown: BTreeSet::new(),
        ignored: Vec::new(),
        solved_with: None,
    }
}

fn universe(releases: &[(&str, &str, Rel)]) -> Universe {
    let mut packages = Packages::default();
    for (name, version, rel) in releases {
        packages.entry((*name).to_owned()).or_default().insert((*version).to_owned(), rel.clone());
    }
    Universe::of_pypi(packages)
}

fn told(part: &Part) -> Vec<(Code, Severity, String)> {
    part.told.iter().map(|one| (one.finding.code, one.finding.severity, one.finding.message.clone())).collect()
}

#[test]
fn what_is_there_is_offered_and_counted_once() {
    let sets = [set(&[("a", "1"), ("b", "2")]), set(&[("a", "1")])];
    let mut source = universe(&[("a", "1", Rel::default()), ("b", "2", Rel::default())]).source();
    let part = offered(&sets, &mut source, TODAY);
    assert_eq!((part.word, &part.told[..]), (Word::Offered, &[][..]));
    assert_eq!(part.sum, macml::pipeline::check::Sum::Files(2));
}

#[test]
fn each_way_not_to_be_offered() {
    let other = Rel { wheels: vec!["py2-none-any".to_owned()], ..Rel::default() };
    let yanked = |reason: &str| Rel { yanked: Some(reason.to_owned()), ..Rel::default() };
    let world = universe(&[
        ("gone", "2", Rel::default()),
        ("no-wheel", "1", other),
        ("pulled", "1", yanked("broken on arm64")),
        ("silent", "1", yanked("")),
        ("swapped", "1", Rel::default()),
    ]);
    let names = ["gone", "no-wheel", "package-gone", "pulled", "silent", "swapped"];
    let mut set = set(&names.map(|name| (name, "1")));
    set.releases[5].file.as_mut().unwrap().sha256 = Sha256::of(b"as locked");
    // In whatever order the answers come.
    for last in [false, true] {
        let mut source = world.source();
        source.order = Some(Box::new(move |pending| if last { pending - 1 } else { 0 }));
        let part = offered(std::slice::from_ref(&set), &mut source, TODAY);
        assert_eq!(part.word, Word::NotOffered);
        let error = |code, text: &str| (code, Severity::Error, text.to_owned());
        let expected = [
            error(Code::FileGone, "index `pypi` does not offer `gone-1-py3-none-any.whl` any more"),
            error(Code::FileGone, "index `pypi` does not offer `no_wheel-1-py3-none-any.whl` any more"),
            error(Code::FileGone, "index `pypi` has no `package-gone` any more"),
            error(Code::FileYanked, "`pulled` 1 was withdrawn from index `pypi`: broken on arm64"),
            error(Code::FileYanked, "`silent` 1 was withdrawn from index `pypi`"),
            error(
                Code::FileReplaced,
                "index `pypi` offers another file as `swapped-1-py3-none-any.whl`: somebody replaced it",
            ),
        ];
        assert_eq!(told(&part), expected);
        assert!(part.told.iter().all(|one| one.package.is_some() && one.finding.hint.is_some()));
        let locked = Sha256::of(b"as locked").to_string();
        assert!(part.told[5].finding.notes[0].ends_with(&format!("and {locked} is locked")));
    }
}

#[test]
fn old_nights_are_warned_of() {
    // 44, 45 days old, of tomorrow; and one that is no night.
    let nights = ["1.dev20261018", "2.dev20261017", "3.dev20261202", "4.dev7"];
    let world: Vec<_> = nights.iter().map(|version| ("n", *version, Rel::default())).collect();
    let locked = nights.map(|version| ("n", version));
    let part = offered(&[set(&locked)], &mut universe(&world).source(), TODAY);
    let message = "`n` 2.dev20261017 is a nightly build of 2026-10-17, 45 days old".to_owned();
    assert_eq!(told(&part), [(Code::NightlyBuilds, Severity::Warning, message)]);
    assert_eq!(part.word, Word::Offered);
}

#[test]
fn wheels_of_no_index_are_named() {
    let mut set = set(&[("a", "1"), ("b", "1"), ("c", "1")]);
    let place = |set: &mut Set, at: usize, place| set.releases[at].file.as_mut().unwrap().place = place;
    place(&mut set, 0, Place::Path("/vendor/a.whl".into()));
    place(&mut set, 1, Place::Address("https://files.example/b.whl".parse().unwrap()));
    set.releases[2].file = None;
    let part = offered(&[set], &mut universe(&[]).source(), TODAY);
    let message = "2 wheels by path or address were not asked for".to_owned();
    assert_eq!(told(&part), [(Code::NotOnAnIndex, Severity::Note, message)]);
    assert_eq!(part.told[0].finding.notes, ["`a-1-py3-none-any.whl`, `b-1-py3-none-any.whl`"]);
    assert_eq!(part.word, Word::Offered);
}

/// Fails at the pages of one package.
struct Failing(macml::index::source::InMemorySource, &'static str);

impl Source for Failing {
    fn ask(&mut self, ask: Ask) {
        self.0.ask(ask);
    }

    fn wait(&mut self, until: Option<Instant>) -> Option<(Ask, Result<Answer, SourceError>)> {
        let (ask, answer) = self.0.wait(until)?;
        let failing = matches!(&ask, Ask::Page { name, .. } if self.1.is_empty() || name.as_str() == self.1);
        let error = || SourceError(Arc::new(std::io::Error::other("it is being repaired")));
        Some((ask, if failing { Err(error()) } else { answer }))
    }
}

#[test]
fn an_index_that_says_nothing_leaves_only_its_own_open() {
    let world = universe(&[("a", "1", Rel::default()), ("b", "2", Rel::default())]);
    let message = "whether index `pypi` still offers `a` could not be told: it is being repaired".to_owned();
    let unsure = (Code::IndexUnreached, Severity::Warning, message);
    let part = offered(&[set(&[("a", "1"), ("b", "2")])], &mut Failing(world.source(), "a"), TODAY);
    assert_eq!((part.word, told(&part)), (Word::Unsure, vec![unsure.clone()]));
    let part = offered(&[set(&[("a", "1"), ("b", "1")])], &mut Failing(world.source(), "a"), TODAY);
    assert_eq!(part.word, Word::NotOffered);
    assert_eq!(told(&part).last(), Some(&unsure));
    // One reason for many is told once.
    let part = offered(&[set(&[("a", "1"), ("aa", "1"), ("b", "2")])], &mut Failing(world.source(), ""), TODAY);
    let message = "whether index `pypi` still offers 3 packages could not be told: it is being repaired".to_owned();
    assert_eq!(told(&part), [(Code::IndexUnreached, Severity::Warning, message)]);
    assert_eq!(part.told[0].finding.notes, ["`a`, `aa`, `b`"]);
}

#[test]
fn a_mirror_says_what_was_withdrawn_too() {
    let release = published::Rel { yanked: Some("broken".to_owned()), ..published::Rel::default() };
    let published = Published::default().with_release("a", "1", release);
    let (index, cache) = (FakeIndex::from_published(&published), tempfile::tempdir().unwrap());
    for format in [Format::Html, Format::Json] {
        let mirror =
            FakeIndex::behaving(&published, Behaviour { format, sizes: false, hashes: false, ..Behaviour::default() });
        let mut config = Config::new(Env::from_map(BTreeMap::new(), "/".into()));
        config.indexes = vec![IndexAddress { name: "pypi".to_owned(), url: index.url() }];
        config.mirrors = vec![Mirror { index: "pypi".to_owned(), label: "near".to_owned(), url: mirror.url() }];
        config.cache_dir = Some(cache.path().join(format!("{format:?}")));
        let mut source = OnlineSource::new(&config, Arc::new(Silent)).unwrap();
        let part = offered(&[set(&[("a", "1")])], &mut source, TODAY);
        let message = "`a` 1 was withdrawn from index `pypi`: broken".to_owned();
        assert_eq!(told(&part), [(Code::FileYanked, Severity::Error, message)], "{format:?}");
        assert!(index.requests().is_empty());
        config.offline = true;
        config.cache_dir = None;
        let mut offline = OnlineSource::new(&config, Arc::new(Silent)).unwrap();
        assert_eq!(offered(&[set(&[("a", "1")])], &mut offline, TODAY).word, Word::Unsure);
    }
}
