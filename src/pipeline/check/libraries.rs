//! Whether the libraries of a set load together on its Mac: facts of its wheels in, what dyld and the rules say out. Pure.
//!
//! Where something was not read, what is missing may be in it. Then only that is told which nothing else can cure: a library
//! for another processor, a broken signature, a name that an image which was read does not have.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Instant;

use crate::check::dyld::Distribution;
use crate::check::dyld::simulate;
use crate::check::rules;
use crate::check::rules::Case;
use crate::check::rules::Installed;
use crate::check::rules::Said;
use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Severity;
use crate::diag::few;
use crate::knowledge::Knowledge;
use crate::pep::PackageName;
use crate::pep::Sha256;

use super::facts::Unread;
use super::facts::Why;
use super::part::Level;
use super::part::Part;
use super::part::Sum;
use super::part::Told;
use super::part::Word;
use super::set::File;
use super::set::Release;
use super::set::Set;

/// Why a release was not read of which an index did not say the files.
const UNKNOWN: &str = "which file of it is installed is not known";

/// How many packages a finding names.
const NAMED: usize = 8;

/// Says whether the libraries of a set load together. `installed` is what was read of it, `unread` why other wheels were
/// not; what is in neither has no wheel. `gone` are files that should be there, from `site-packages`.
pub fn libraries(
    set: &Set,
    installed: &[Installed<'_>],
    unread: &[Unread],
    gone: &BTreeMap<String, PackageName>,
    knowledge: &Knowledge,
) -> Part {
    let began = Instant::now();
    let part = |word, otherwise, sum, told| {
        let of = Some(set.of.clone());
        Part { level: Level::Libraries, of, word, otherwise, sum, told, took: began.elapsed() }
    };
    let Some(on) = &set.of.on else {
        return part(Word::NotForMacs, Word::NotForMacs, Sum::Nothing, Vec::new());
    };
    let distributions: Vec<Distribution<'_>> =
        installed.iter().map(|one| Distribution { name: one.name, facts: one.facts }).collect();
    let python = set.of.python;
    let answer = simulate(&distributions, python);
    let case = Case { installed, answer: &answer, python, macos: on.mac.macos, knowledge, gone };
    let lacking = Lacking::of(set, installed, unread);
    let (open, said): (Vec<Said>, Vec<Said>) =
        rules::judge(&case).into_iter().partition(|said| said.misses && !lacking.is_empty());
    let mut told: Vec<Told> = said.into_iter().map(Told::from).collect();
    told.extend(installed.iter().filter_map(refused));
    told.extend(lacking.tell(set, &open));
    let otherwise = if !lacking.failed.is_empty() {
        Word::Unsure
    } else if !lacking.is_empty() {
        Word::Unread
    } else {
        Word::Load
    };
    let no = told.iter().any(|told| told.finding.severity == Severity::Error);
    let word = if no { Word::DoNotLoad } else { otherwise };
    told.sort_by_key(|told| told.finding.severity);
    let sum = Sum::Libraries {
        images: answer.images.len(),
        wheels: installed.len(),
        fetched: (0, 0),
        unread: (lacking.failed.len() + lacking.waiting.len(), lacking.bytes()),
        without: lacking.built.len(),
    };
    part(word, otherwise, sum, told)
}

impl From<Said> for Told {
    fn from(said: Said) -> Self {
        Self { finding: said.finding, package: Some(said.package), path: said.path }
    }
}

/// What of a set was not read.
struct Lacking<'a> {
    /// Wheels that could not be had or read, and why.
    failed: Vec<(&'a Release, &'a str)>,
    /// Wheels that nobody has fetched yet.
    waiting: Vec<&'a Release>,
    /// What has no wheel for this Mac.
    built: Vec<&'a Release>,
}

impl<'a> Lacking<'a> {
    fn of(set: &'a Set, installed: &[Installed<'_>], unread: &'a [Unread]) -> Self {
        let read: BTreeSet<&PackageName> = installed.iter().map(|one| one.name).collect();
        let why: BTreeMap<Sha256, Vec<&Unread>> = unread.iter().fold(BTreeMap::new(), |mut all, one| {
            all.entry(one.sha256).or_insert_with(Vec::new).push(one);
            all
        });
        let why = |file: &File| {
            let same = why.get(&file.sha256)?.iter().find(|one| one.wheel == file.wheel)?;
            Some(&same.why)
        };
        let mut lacking = Self { failed: Vec::new(), waiting: Vec::new(), built: Vec::new() };
        for release in set.releases.iter().filter(|release| !read.contains(&release.name)) {
            match release.file.as_ref().map(why) {
                None if set.unknown.contains(&release.name) => lacking.failed.push((release, UNKNOWN)),
                None => lacking.built.push(release),
                Some(Some(Why::Failed(reason))) => lacking.failed.push((release, reason)),
                Some(Some(Why::NotFetched) | None) => lacking.waiting.push(release),
            }
        }
        lacking
    }

    fn count(&self) -> usize {
        self.failed.len() + self.waiting.len() + self.built.len()
    }

    fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns the bytes that are to be fetched, as far as they are known.
    fn bytes(&self) -> u64 {
        let files = self.waiting.iter().filter_map(|release| release.file.as_ref());
        files.filter_map(|file| file.size).sum()
    }

    /// Says what was not read of a set, and what cannot be told without it.
    fn tell(&self, set: &Set, open: &[Said]) -> Vec<Told> {
        const CODE: Code = Code::WheelUnread;
        let mut told: Vec<Told> = Vec::new();
        for (release, reason) in &self.failed {
            let message = format!("`{}` {} was not read: {reason}", release.name, release.version);
            told.push(Told { package: Some(release.name.clone()), ..Finding::warning(CODE, message).into() });
        }
        if let Some(first) = self.waiting.first() {
            let were = if self.waiting.len() == 1 { "was" } else { "were" };
            let message = format!(
                "{} of {} wheels {were} never read: {}",
                self.waiting.len(),
                set.releases.iter().filter(|release| release.file.is_some()).count(),
                named(&self.waiting)
            );
            let finding = Finding::warning(CODE, message).hinting("`--wheels` fetches and reads them");
            told.push(Told { package: Some(first.name.clone()), ..finding.into() });
        }
        // What a lock of macml's lacks for a Mac was told of the lock.
        if let Some(first) = self.built.first().filter(|_| set.solved_with.is_none()) {
            let have = if self.built.len() == 1 { "has" } else { "have" };
            let message = format!("{} {have} no wheel for this Mac", named(&self.built));
            let finding = Finding::warning(CODE, message)
                .noting("nothing can be said of what is built from source on each machine")
                .hinting("`macml check --prefix DIR` looks at what was built");
            told.push(Told { package: Some(first.name.clone()), ..finding.into() });
        }
        if let (Some(last), Some(first)) = (told.last_mut(), open.first()) {
            let image = first.path.as_deref().unwrap_or_else(|| first.package.as_str());
            let what = match open.len() {
                1 => format!("what `{image}` looks for may be in it"),
                more => format!("what `{image}` and {} more look for may be in it", more - 1),
            };
            last.finding.notes.push(what);
        }
        told
    }
}

/// Says that macml does not install a wheel, which others do.
fn refused(one: &Installed<'_>) -> Option<Told> {
    let why = one.facts.refused.as_ref()?;
    let message = format!("macml does not install the wheel of `{}` {}: {why}", one.name, one.version);
    let finding = Finding::warning(Code::WheelRefused, message)
        .noting("pip and uv pass over it, and its libraries were read all the same")
        .hinting(format!("take another release of `{}`", one.name));
    Some(Told { package: Some(one.name.clone()), ..finding.into() })
}

/// Names the first of some releases and how many more there are.
fn named(releases: &[&Release]) -> String {
    let names: Vec<String> = releases.iter().map(|release| format!("`{}`", release.name)).collect();
    few(&names, NAMED)
}
