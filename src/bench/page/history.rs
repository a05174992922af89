//! Runs as series of medians, and what changed between one run and the next. Draws nothing.

use crate::bench::run::Measurement;
use crate::bench::run::Run;
use crate::bench::run::Work;
use crate::bench::shown;
use crate::verify::protocol::Device;
use crate::verify::protocol::ElementType;
use crate::verify::protocol::Framework;

/// One piece of work of one framework, on every device and in every type, run by run.
#[derive(PartialEq, Debug)]
pub(super) struct Panel<'r> {
    pub(super) framework: Framework,
    pub(super) work: Work,
    pub(super) size: u64,
    pub(super) series: Vec<Series<'r>>,
}

/// One device and type of a panel.
#[derive(PartialEq, Debug)]
pub(super) struct Series<'r> {
    pub(super) device: Device,
    pub(super) element: ElementType,
    /// What each run measured, in the order of the runs; none where it did not measure this.
    pub(super) points: Vec<Option<&'r Measurement>>,
}

/// What is not the same as in the run before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Change {
    /// Which run is the first that has it.
    pub(super) run: usize,
    /// What it is, one phrase each.
    pub(super) what: Vec<String>,
    /// Whether times before and after are those of different machines.
    pub(super) machine: bool,
}

/// Sorts the measurements of all runs into panels, in the order of framework, work and size.
pub(super) fn panels<'r>(runs: &[&'r Run]) -> Vec<Panel<'r>> {
    let mut panels: Vec<Panel<'r>> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        for measured in &run.measurements {
            let Measurement { framework, work, size, .. } = *measured;
            let same = |panel: &&mut Panel<'_>| (panel.framework, panel.work, panel.size) == (framework, work, size);
            let panel = match panels.iter_mut().find(same) {
                Some(panel) => panel,
                None => {
                    panels.push(Panel { framework, work, size, series: Vec::new() });
                    panels.last_mut().expect("one was just added")
                }
            };
            let key = (measured.device, measured.element);
            let series = match panel.series.iter_mut().find(|series| (series.device, series.element) == key) {
                Some(series) => series,
                None => {
                    let points = vec![None; runs.len()];
                    panel.series.push(Series { device: key.0, element: key.1, points });
                    panel.series.last_mut().expect("one was just added")
                }
            };
            series.points[at] = Some(measured);
        }
    }
    panels.sort_by_key(|panel| (panel.framework, panel.work, panel.size));
    panels.iter_mut().for_each(|panel| panel.series.sort_by_key(|series| (series.device, series.element)));
    panels
}

/// Lists what changed from run to run.
pub(super) fn changes(runs: &[&Run]) -> Vec<Change> {
    let pairs = runs.windows(2).enumerate();
    let change = |(at, pair): (usize, &[&Run])| {
        let (machine, other) = between(pair[0], pair[1]);
        let different = !machine.is_empty();
        let what: Vec<String> = machine.into_iter().chain(other).collect();
        (!what.is_empty()).then_some(Change { run: at + 1, what, machine: different })
    };
    pairs.filter_map(change).collect()
}

/// Says what of the machine is not the same, and what else.
fn between(before: &Run, after: &Run) -> (Vec<String>, Vec<String>) {
    let (then, now) = (&before.circumstances, &after.circumstances);
    let named = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    let mut machine = Vec::new();
    if then.chip != now.chip {
        machine.push(format!("chip {} to {}", named(&then.chip), named(&now.chip)));
    }
    if let (Some(then), Some(now)) = (before.memory, after.memory)
        && shown::memory(then) != shown::memory(now)
    {
        machine.push(format!("memory {} to {}", shown::memory(then), shown::memory(now)));
    }
    let mut other = Vec::new();
    if then.system != now.system {
        other.push(format!("{} to {}", named(&then.system), named(&now.system)));
    }
    let packages = packages(before, after);
    if then.lock != now.lock && packages.is_empty() {
        other.push("another lock".to_owned());
    }
    other.extend(packages);
    (machine, other)
}

fn packages(before: &Run, after: &Run) -> Vec<String> {
    let mut names: Vec<&String> = before.packages.keys().chain(after.packages.keys()).collect();
    names.sort();
    names.dedup();
    let change = |name: &String| match (before.packages.get(name), after.packages.get(name)) {
        (Some(then), Some(now)) if then != now => Some(format!("{name} {then} to {now}")),
        (None, Some(now)) => Some(format!("{name} {now} came")),
        (Some(then), None) => Some(format!("{name} {then} went")),
        _ => None,
    };
    names.into_iter().filter_map(change).collect()
}
