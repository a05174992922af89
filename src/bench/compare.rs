//! `Comparison`: what became slower or faster from one run to another, and what changed between them. Pure.
//!
//! **When is it slower.** By the ratio of the medians, beyond a bound: a tenth, and three times what the times of either run
//! typically lie apart from their median. A tenth is what a machine differs by from one minute to the next when nothing
//! changed; the rest is what these two runs say of their own noise. Where the sizes differ, times are compared by what a unit
//! of the work takes, and half as much again is not told from the difference of the sizes.

use std::collections::BTreeMap;

use super::run::{Measurement, Run, Work};
use crate::verify::protocol::Device;
use crate::verify::protocol::ElementType;
use crate::verify::protocol::Framework;

/// By how much a time may differ without that meaning anything.
const TOLERANCE: f64 = 0.1;

/// How many times the noise of both runs is added to it.
const NOISES: f64 = 3.0;

/// The bound where the sizes differ.
const OTHER_SIZE: f64 = 0.5;

/// Two runs beside each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// When the earlier one was, in seconds since the beginning of 1970.
    pub before: u64,
    /// Whether both are of the same machine. Where they are not, no time is slower or faster.
    pub same_machine: bool,
    /// How busy the machine was with other things, then and now, as [`Run::load`] says.
    pub loads: (Option<f64>, Option<f64>),
    /// What both measured.
    pub rows: Vec<Row>,
    /// What the earlier one measured, and this one was to measure and could not.
    pub gone: Vec<Measurement>,
    /// What changed between them.
    pub changes: Vec<Change>,
}

/// One work in two runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// What computed it.
    pub framework: Framework,
    /// What was computed.
    pub work: Work,
    /// The element type.
    pub element: ElementType,
    /// Where.
    pub device: Device,
    /// The sizes, then and now.
    pub sizes: (u64, u64),
    /// The medians in seconds, then and now.
    pub seconds: (f64, f64),
    /// How many times as long it takes now, for as much work.
    pub ratio: f64,
    /// How far from 1 the ratio may be: `0.1` for a tenth.
    pub bound: f64,
    /// What it comes to.
    pub trend: Trend,
}

/// What a ratio of times comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trend {
    /// It takes longer, beyond the bound.
    Slower,
    /// It takes less long, beyond the bound.
    Faster,
    /// It is within the bound.
    Same,
    /// The runs are of different machines.
    OtherMachine,
}

/// Something that is not what it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The package, or what else it is.
    pub what: String,
    /// What it was; none for something new.
    pub before: Option<String>,
    /// What it is; none for something that is gone.
    pub now: Option<String>,
}

/// Compares a run with an earlier one.
pub fn compare(before: &Run, now: &Run) -> Comparison {
    let same_machine = before.is_of_machine(now);
    let mut rows = Vec::new();
    let mut gone = Vec::new();
    for old in before.measurements.iter().filter(|old| !old.seconds.is_empty()) {
        let new = now.same(old, old.device);
        // Of a device that was not asked for this time nothing is missing.
        let asked = now.measurements.iter().any(|new| (new.framework, new.device) == (old.framework, old.device))
            || now.failures.iter().any(|failure| (failure.framework, failure.device) == (old.framework, old.device));
        match new.and_then(|new| row(old, new, same_machine)) {
            Some(row) => rows.push(row),
            None if asked => gone.push(old.clone()),
            None => {}
        }
    }
    let loads = (before.load, now.load);
    Comparison { before: before.when, same_machine, loads, rows, gone, changes: changes(before, now) }
}

impl Comparison {
    /// Lists what takes longer beyond its bound.
    pub fn slower(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.trend == Trend::Slower)
    }
}

/// Compares one work.
fn row(old: &Measurement, new: &Measurement, same_machine: bool) -> Option<Row> {
    let ratio = new.unit()? / old.unit().filter(|unit| *unit > 0.0)?;
    let noise = TOLERANCE + NOISES * (old.noise().unwrap_or(0.0) + new.noise().unwrap_or(0.0));
    let bound = if old.size == new.size { noise } else { noise.max(OTHER_SIZE) };
    let trend = match ratio {
        _ if !same_machine => Trend::OtherMachine,
        slower if slower > 1.0 + bound => Trend::Slower,
        faster if faster < 1.0 / (1.0 + bound) => Trend::Faster,
        _ => Trend::Same,
    };
    Some(Row {
        framework: new.framework,
        work: new.work,
        element: new.element,
        device: new.device,
        sizes: (old.size, new.size),
        seconds: (old.median()?, new.median()?),
        ratio,
        bound,
        trend,
    })
}

/// Lists what is not the same in what two runs were measured on.
pub(super) fn changes(before: &Run, now: &Run) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut note = |what: &str, before: Option<String>, now: Option<String>| {
        if before != now {
            changes.push(Change { what: what.to_owned(), before, now });
        }
    };
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    note("processor", before.processor().and_then(text), now.processor().and_then(text));
    if !before.is_of_machine(now) {
        let memory = |run: &Run| run.memory.map(super::shown::memory);
        note("memory", memory(before), memory(now));
    }
    note("system", text(&before.circumstances.system), text(&now.circumstances.system));
    for (name, (old, new)) in both(&before.packages, &now.packages) {
        note(name, old.cloned(), new.cloned());
    }
    let lock = |run: &Run| run.circumstances.lock.as_ref().map(|digest| short(&digest.to_string()));
    note("macml.lock", lock(before), lock(now));
    // Another lock makes another environment.
    if lock(before) == lock(now) {
        let content = |run: &Run| run.circumstances.content.as_deref().map(short);
        note("content of the environment", content(before), content(now));
    }
    changes
}

/// Shortens a digest to what tells it from others.
pub(super) fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

/// Puts two maps beside each other.
fn both<'a, V>(
    one: &'a BTreeMap<String, V>,
    other: &'a BTreeMap<String, V>,
) -> BTreeMap<&'a str, (Option<&'a V>, Option<&'a V>)> {
    let names = one.keys().chain(other.keys());
    names.map(|name| (name.as_str(), (one.get(name), other.get(name)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::run::Failure;
    use crate::bench::run::tests::{measured, run};
    use crate::pep::Sha256;
    use crate::verify::Word;

    fn trend(old: &[f64], new: &[f64]) -> Trend {
        let one = |seconds| run(1, vec![measured(Device::Cpu, seconds)]);
        compare(&one(old), &one(new)).rows[0].trend
    }

    #[test]
    fn a_tenth_and_the_noise_of_both_runs_are_no_change() {
        assert_eq!(trend(&[1.0; 3], &[1.09; 3]), Trend::Same);
        assert_eq!(trend(&[1.0; 3], &[1.11; 3]), Trend::Slower);
        assert_eq!(trend(&[1.11; 3], &[1.0; 3]), Trend::Faster);
        assert_eq!(trend(&[1.09; 3], &[1.0; 3]), Trend::Same);
        // The noise of the first is a tenth, so that a half and more is needed.
        assert_eq!(trend(&[0.9, 1.0, 1.1], &[1.35; 3]), Trend::Same);
        assert_eq!(trend(&[0.9, 1.0, 1.1], &[1.45; 3]), Trend::Slower);
        // One hiccup of many times is none.
        assert_eq!(trend(&[1.0, 1.0, 1.0, 1.0, 7.0], &[1.0, 1.0, 1.0, 9.0]), Trend::Same);
    }

    #[test]
    fn other_sizes_are_compared_by_the_work_with_a_wide_bound() {
        let one = |size, seconds| run(1, vec![Measurement { size, ..measured(Device::Cpu, &[seconds]) }]);
        // Eight times the work.
        let row = compare(&one(1000, 1.0), &one(2000, 11.0)).rows.remove(0);
        assert_eq!((row.trend, row.bound, row.sizes), (Trend::Same, 0.5, (1000, 2000)));
        assert!((row.ratio - 11.0 / 8.0).abs() < 1e-9);
        assert_eq!(compare(&one(1000, 1.0), &one(2000, 13.0)).rows[0].trend, Trend::Slower);
    }

    #[test]
    fn machines_are_never_judged_by_each_other() {
        let one = run(1, vec![measured(Device::Cpu, &[1.0])]);
        let mut other = run(2, vec![measured(Device::Cpu, &[5.0])]);
        other.memory = Some(8 << 30);
        let found = compare(&one, &other);
        assert_eq!((found.same_machine, found.rows[0].trend, found.slower().count()), (false, Trend::OtherMachine, 0));
        assert_eq!(found.changes[0].what, "memory");
    }

    #[test]
    fn what_changed_is_named() {
        let packages = |all: &[(&str, &str)]| {
            all.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect()
        };
        let mut one = run(1, vec![]);
        one.packages = packages(&[("torch", "2.13.0"), ("numpy", "2.4.6"), ("old", "1")]);
        one.circumstances.content = Some("a".repeat(64));
        let mut other = one.clone();
        assert_eq!(compare(&one, &other).changes, []);
        other.circumstances.content = Some("b".repeat(64));
        let content = &compare(&one, &other).changes[0];
        assert_eq!((&*content.what, content.now.as_deref()), ("content of the environment", Some("bbbbbbbbbbbb")));
        other.packages = packages(&[("torch", "2.15.0"), ("numpy", "2.4.6"), ("new", "2")]);
        other.circumstances.system = "macOS 26.1".to_owned();
        other.circumstances.lock = Some(Sha256::of(b"lock"));
        let found = compare(&one, &other).changes;
        let names: Vec<&str> = found.iter().map(|change| change.what.as_str()).collect();
        assert_eq!(names, ["system", "new", "old", "torch", "macml.lock"]);
        assert_eq!((found[3].before.as_deref(), found[3].now.as_deref()), (Some("2.13.0"), Some("2.15.0")));
    }

    #[test]
    fn what_can_no_longer_be_measured_is_missing_and_what_was_not_asked_is_not() {
        let before = run(1, vec![measured(Device::Cpu, &[1.0]), measured(Device::Mps, &[1.0])]);
        let mut now = run(2, vec![measured(Device::Cpu, &[1.0])]);
        assert_eq!(compare(&before, &now).gone, []);
        let sentence = "the probe was ended by signal 6".to_owned();
        now.failures =
            vec![Failure { framework: Framework::Torch, device: Device::Mps, word: Word::Crashed, sentence }];
        assert_eq!(compare(&before, &now).gone, [measured(Device::Mps, &[1.0])]);
    }
}
