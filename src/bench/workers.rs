//! `--workers`: loading data by worker processes of torch's data loader, with and without workers that live on.

use std::fmt;

use serde::Deserialize;

use super::protocol;
use super::run::{Failure, Workers};
use super::shown;
use crate::verify::Answered;
use crate::verify::Probe;
use crate::verify::Subject;
use crate::verify::judge;
use crate::verify::protocol::Device;
use crate::verify::protocol::Event;
use crate::verify::protocol::Framework;
use crate::verify::protocol::Limits;

/// How long it may take where nobody says otherwise.
pub const LIMITS: Limits = Limits { begin: 40, end: 150 };

/// A way that is so little slower than the fastest is as good, when it needs fewer processes.
const AS_GOOD: f64 = 1.1;

/// What came of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The ways that were measured, by how many workers, those that live on last.
    pub ways: Vec<Workers>,
    /// The ways that were not, and why.
    pub missing: Vec<String>,
    /// What kept it from coming to an end.
    pub failure: Option<Failure>,
}

/// What the times say.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// The way to take.
    pub fastest: Workers,
    /// How long an epoch takes without workers.
    pub without: Option<f64>,
    /// How many workers cost how much to start, where that was measured with and without their living on.
    pub starting: Option<(u32, f64)>,
}

/// The event that only this probe has.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Own {
    Workers(Measured),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Measured {
    workers: u32,
    persistent: bool,
    #[serde(default)]
    first: Option<f64>,
    #[serde(default)]
    seconds: Vec<f64>,
    #[serde(default)]
    error: Option<String>,
}

/// Makes the probe, which is torch's alone.
pub fn probe(subject: &Subject) -> Probe {
    Probe::script(Framework::Torch, include_str!("probes/workers.py"), &subject.interpreter, subject.vars.clone())
}

/// Measures, on a machine with `memory` bytes. Where there are two processors, most ways are through in forty seconds.
pub fn measure(probe: &Probe, memory: u64, limits: Limits) -> Answer {
    let request = protocol::base(Framework::Torch, Device::Cpu, memory, limits);
    Answer::read(&request, &probe.answer(&request, limits.end))
}

impl Answer {
    /// Reads what a probe printed.
    fn read(request: &crate::verify::protocol::Request, answered: &Answered) -> Self {
        let is_sane = |Own::Workers(one): &Own| one.first.iter().chain(&one.seconds).all(protocol::is_time);
        let (own, transcript) = protocol::read(request, answered, is_sane);
        let (mut ways, mut missing) = (Vec::new(), Vec::new());
        for Own::Workers(Measured { workers, persistent, first, seconds, error }) in own {
            match (first, error) {
                (Some(first), None) => ways.push(Workers { workers, persistent, first, seconds }),
                (_, error) => {
                    let error = error.unwrap_or_else(|| "no time".to_owned());
                    let line = error.lines().next().unwrap_or_default();
                    missing.push(format!("{}: {line}", named(workers, persistent)));
                }
            }
        }
        ways.sort_by_key(|way| (way.workers, way.persistent));
        for event in &transcript.events {
            if let Event::Skipped(skipped) = event {
                let way = skipped.id.strip_prefix("workers-").unwrap_or(&skipped.id);
                let (count, persistent) = (way.trim_end_matches("-persistent"), way.ends_with("-persistent"));
                let way = count.parse().map_or_else(|_| skipped.id.clone(), |count| named(count, persistent));
                missing.push(format!("{way}: not begun, because {} s were over", request.limits.begin));
            }
        }
        Self { ways, missing, failure: Failure::of(&judge(&transcript)) }
    }
}

/// Says which way is best for trainings of many epochs, and what starting costs; none when nothing was measured.
pub fn advise(ways: &[Workers]) -> Option<Advice> {
    let timed = || ways.iter().filter_map(|way| Some((way, way.median()?)));
    let (_, best) = timed().min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let (fastest, _) = timed().filter(|(_, time)| *time <= best * AS_GOOD).min_by_key(|(way, _)| way.workers)?;
    let of = |workers: u32, persistent: bool| {
        timed().find(|(way, _)| (way.workers, way.persistent) == (workers, persistent)).map(|(_, time)| time)
    };
    let counts = ways.iter().map(|way| way.workers).filter(|count| *count > 0);
    let cost = |count: u32| Some((count, of(count, false)? - of(count, true)?));
    let starting =
        counts.filter_map(cost).max_by(|one, other| one.1.total_cmp(&other.1)).filter(|(_, cost)| *cost > 0.0);
    Some(Advice { fastest: fastest.clone(), without: of(0, false), starting })
}

/// Names a way as people do: `4 persistent workers`, `no workers`.
pub fn named(workers: u32, persistent: bool) -> String {
    let persistent = if persistent { "persistent " } else { "" };
    match workers {
        0 => "no workers".to_owned(),
        1 => format!("1 {persistent}worker"),
        count => format!("{count} {persistent}workers"),
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Workers { workers, persistent, .. } = self.fastest;
        let time = shown::seconds(self.fastest.median().unwrap_or_default());
        write!(f, "fastest: {}, {time} an epoch", named(workers, persistent))?;
        if let Some(without) = self.without.filter(|_| workers > 0) {
            write!(f, " after {} without workers", shown::seconds(without))?;
        }
        if let Some((count, cost)) = self.starting {
            let cost = shown::seconds(cost);
            write!(f, "\nstarting {count} workers costs {cost} in each epoch unless `persistent_workers=True`")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Ended;

    fn way(workers: u32, persistent: bool, first: f64, later: f64) -> Workers {
        Workers { workers, persistent, first, seconds: vec![later, later] }
    }

    #[test]
    fn what_a_probe_says_is_read_and_what_it_left_is_named() {
        let stdout = [
            r#"{"event":"workers","workers":2,"persistent":true,"first":2.5,"seconds":[0.4,0.5]}"#,
            r#"{"event":"workers","workers":0,"persistent":false,"first":0.6,"seconds":[0.6]}"#,
            r#"{"event":"workers","workers":4,"persistent":false,"error":"RuntimeError: DataLoader worker (pid 7) exited\nmore"}"#,
            r#"{"event":"skipped","id":"workers-8-persistent","why":"time"}"#,
            r#"{"event":"workers","workers":8,"persistent":false,"first":-1.0}"#,
        ];
        let stdout = stdout.map(|event| format!("macml-probe: {event}\n")).concat();
        let request = protocol::base(Framework::Torch, Device::Cpu, 1 << 30, LIMITS);
        let answered = Answered { stdout: stdout.into(), stderr: Vec::new(), ended: Ended::Signal(11) };
        let answer = Answer::read(&request, &answered);
        let ways: Vec<_> = answer.ways.iter().map(|way| (way.workers, way.persistent)).collect();
        assert_eq!(ways, [(0, false), (2, true)]);
        assert_eq!(
            answer.missing,
            [
                "4 workers: RuntimeError: DataLoader worker (pid 7) exited",
                "8 persistent workers: not begun, because 40 s were over"
            ]
        );
        assert!(answer.failure.is_some());
    }

    #[test]
    fn the_fastest_is_told_with_what_starting_costs() {
        // As two processors measured it.
        let ways = [
            way(0, false, 0.58, 0.59),
            way(2, false, 2.6, 3.16),
            way(2, true, 2.61, 0.39),
            way(4, false, 5.82, 5.69),
            way(4, true, 4.39, 0.37),
        ];
        let advice = advise(&ways).unwrap();
        // Four are a little faster than two, and twice as many.
        assert_eq!(
            advice.to_string(),
            "fastest: 2 persistent workers, 390 ms an epoch after 590 ms without workers\nstarting 4 workers costs 5.32 s in \
             each epoch unless `persistent_workers=True`"
        );
        let alone = advise(&ways[..1]).unwrap();
        assert_eq!(alone.to_string(), "fastest: no workers, 590 ms an epoch");
        assert_eq!(advise(&[Workers { seconds: Vec::new(), ..way(2, true, 1.0, 1.0) }]), None);
        assert_eq!(named(1, true), "1 persistent worker");
    }
}
