//! What the knowledge says of a set on its Mac: what condemns it, what is known to go wrong, what one should know. Pure.
//!
//! A lock of macml at its floor was solved with knowledge: what condemns it now is news of the tool and not of the project,
//! and a warning. Of a Mac that was asked about, and of what others solved, it is the answer, and an error.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Instant;

use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Severity;
use crate::knowledge::Circumstances;
use crate::knowledge::Hit;
use crate::knowledge::Judgement;
use crate::knowledge::Knowledge;
use crate::knowledge::Reach;
use crate::knowledge::judge;
use crate::knowledge::night;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::pipeline::told;

use super::part::Because;
use super::part::Level;
use super::part::Part;
use super::part::Sum;
use super::part::Told;
use super::part::Word;
use super::set::Set;

/// Says what is known of a set on its Mac.
pub fn known(set: &Set, knowledge: &Knowledge) -> Part {
    let began = Instant::now();
    let part = |word, sum, told| {
        let of = Some(set.of.clone());
        let otherwise = if set.of.on.is_some() { Word::Clean } else { Word::NotForMacs };
        Part { level: Level::Knowledge, of, word, otherwise, sum, told, took: began.elapsed() }
    };
    let Some(on) = &set.of.on else { return part(Word::NotForMacs, Sum::Nothing, Vec::new()) };
    let releases = set.releases.iter().map(|release| (release.name.clone(), release.version.clone())).collect();
    let looking = Looking { set, on: &on.mac, because: on.because, releases, knowledge };
    let mut told = looking.condemning();
    told.extend(looking.wheels());
    told.extend(looking.nights());
    told.extend(looking.aside());
    told.sort_by_key(|told| told.finding.severity);
    let condemned = told.iter().any(|told| told.finding.severity == Severity::Error);
    let word = if condemned { Word::Condemned } else { Word::Clean };
    part(word, Sum::Releases(set.releases.len()), told)
}

/// A set, and what it is held against.
struct Looking<'a> {
    set: &'a Set,
    on: &'a Circumstances,
    because: Because,
    releases: BTreeMap<PackageName, Version>,
    knowledge: &'a Knowledge,
}

fn about(package: &PackageName, finding: Finding) -> Told {
    Told { finding, package: Some(package.clone()), path: None }
}

impl Looking<'_> {
    /// Whether what condemns the set is news to those who locked it.
    fn is_news(&self) -> bool {
        self.set.solved_with.is_some() && self.because != Because::Asked
    }

    /// Whether one Mac is looked at, and not all from the lowest upward.
    fn is_one_mac(&self) -> bool {
        self.because != Because::Floor
    }

    fn judgement(&self) -> Judgement<'_> {
        judge(self.knowledge, &self.releases, self.set.of.python, self.on, &self.set.ignored)
    }

    /// Tells rules that bind and are broken, and the rest of what is known of these releases.
    fn condemning(&self) -> Vec<Told> {
        let Judgement { mut condemned, lacking, problems, advice } = self.judgement();
        // What counts on this very chip and not on later ones binds no floor, and this Mac all the same.
        let binds_here =
            |hit: &Hit<'_>| self.is_one_mac() && hit.reach == Reach::AtFloor && self.on.is_forced(hit.rule);
        let (here, lacking): (Vec<_>, Vec<_>) = lacking.into_iter().partition(binds_here);
        condemned.extend(here);
        let said = |hit: &Hit<'_>| condemned.iter().any(|other| hit.rule.is_said_better_by(other.rule));
        let condemned: Vec<&Hit<'_>> = condemned.iter().filter(|hit| !said(hit)).collect();
        let mut told: Vec<Told> = condemned.iter().map(|hit| about(&hit.rule.package, self.condemned(hit))).collect();
        let at_mac = |hit: &&Hit<'_>| hit.reach == Reach::AtFloor;
        let known = problems.iter().filter(at_mac);
        told.extend(known.filter_map(|hit| Some(about(&hit.rule.package, told::problem(hit)?))));
        let notes = lacking.iter().chain(&advice).filter(at_mac);
        told.extend(notes.map(|hit| about(&hit.rule.package, told::lacking(hit))));
        let above = lacking.iter().filter(|hit| hit.reach == Reach::AboveFloor && self.on.is_forced(hit.rule));
        let above = above.filter(|_| !self.is_one_mac());
        told.extend(above.map(|hit| {
            let message = format!("on {} this set does not work: {}", hit.rule.macs(), self.statement(hit));
            about(&hit.rule.package, Finding::note(Code::KnownLimit, message).noting(hit.rule.source()))
        }));
        told
    }

    fn statement(&self, hit: &Hit<'_>) -> String {
        hit.rule.statement_of(&hit.version)
    }

    fn condemned(&self, hit: &Hit<'_>) -> Finding {
        if self.is_news() && self.because == Because::Floor {
            return told::condemned(hit);
        }
        let finding = self.refusal(Code::KnownConflict, &self.statement(hit)).noting(hit.rule.ground());
        match self.knowledge.way_out(hit, &self.releases, self.on.macos) {
            Some(hint) => finding.hinting(hint),
            None => finding,
        }
    }

    /// Says that a set does not work: as news, or as the answer under its own code.
    fn refusal(&self, code: Code, statement: &str) -> Finding {
        match self.is_news() {
            true => {
                Finding::warning(Code::NewlyKnown, format!("by what is known now this set does not work: {statement}"))
            }
            false => {
                let mac = self.on.macos;
                Finding::error(code, format!("by what is known this set does not work on macOS {mac}: {statement}"))
            }
        }
    }

    /// Tells wheels that are for a later macOS than this one, although their file names let it in, and those whose own tags
    /// are wrong.
    fn wheels(&self) -> Vec<Told> {
        let mut told = Vec::new();
        for release in &self.set.releases {
            let Some(file) = &release.file else { continue };
            let (name, version, wheel) = (&release.name, &release.version, &file.wheel);
            for fact in self.knowledge.wheels_of(name) {
                if !fact.is_about(name, version, wheel) || fact.macos <= self.on.macos {
                    continue;
                }
                let needs = fact.macos;
                let statement = format!("`{wheel}` needs macOS {needs}");
                let ground = format!("{} ({})", fact.reason, fact.confidence);
                let hint = format!("only Macs with macOS {needs} or later, or another wheel or release of `{name}`");
                let finding = self.refusal(Code::WheelNeedsMacos, &statement).noting(ground).hinting(hint);
                told.push(about(name, finding));
            }
            let build = wheel.build.as_ref().map_or(0, |(number, _)| *number);
            let wrong = self.knowledge.inner_tags.iter().find(|known| {
                known.packages.contains(name) && known.build == build && known.versions.contains(version)
            });
            if let Some(known) = wrong.filter(|_| self.set.solved_with.is_none()) {
                let message = format!("the tag inside `{wheel}` may be `{}`, and its file name is right", known.says);
                told.push(about(name, Finding::note(Code::KnownLimit, message).noting(known.reason.clone())));
            }
        }
        told
    }

    /// Tells nightly builds of several nights of packages that must be of one.
    fn nights(&self) -> Vec<Told> {
        let groups = self.knowledge.one_night.iter().filter(|group| !self.set.ignored.contains(&group.id));
        let told = groups.filter_map(|group| {
            let here = |name| Some((name, night(self.releases.get(name)?)?));
            let nights: Vec<(&PackageName, u64)> = group.packages.iter().filter_map(here).collect();
            let distinct: BTreeSet<u64> = nights.iter().map(|(_, night)| *night).collect();
            let oldest = nights.iter().min_by_key(|(_, night)| *night)?.0;
            if distinct.len() < 2 {
                return None;
            }
            let all: Vec<String> = nights.iter().map(|(name, night)| format!("`{name}` of {night}")).collect();
            let statement = format!("nightly builds of several nights, {}", all.join(", "));
            let hint = format!("take builds of one night: the oldest is that of `{oldest}`");
            Some(about(oldest, self.refusal(Code::KnownConflict, &statement).noting(group.ground()).hinting(hint)))
        });
        told.collect()
    }

    /// Tells rules that are switched off, and releases of which nothing is known yet.
    fn aside(&self) -> Vec<Told> {
        let (knowledge, releases) = (self.knowledge, &self.releases);
        let ignored = self.set.ignored.iter().filter_map(|id| {
            let finding = told::ignored(knowledge, id, releases)?;
            Some(Told { package: knowledge.rule(id).map(|rule| rule.package.clone()), ..finding.into() })
        });
        let unknown = releases.iter().flat_map(|(name, version)| {
            let one = BTreeMap::from([(name.clone(), version.clone())]);
            told::unknown(knowledge, &[], &one).into_iter().map(|finding| about(name, finding))
        });
        ignored.chain(unknown).collect()
    }
}
