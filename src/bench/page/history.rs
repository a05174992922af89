//! Runs as series of medians, and what changed between one run and the next. Draws nothing.

use crate::bench::compare;
use crate::bench::run::Measurement;
use crate::bench::run::Run;
use crate::bench::run::Work;
use crate::verify::protocol::Device;
use crate::verify::protocol::ElementType;
use crate::verify::protocol::Framework;

/// One piece of work of one framework, on every device and in every type, run by run.
#[derive(PartialEq, Debug)]
pub(super) struct Panel<'r> {
    pub(super) framework: Framework,
    pub(super) work: Work,
    /// The largest size that was measured; times of smaller ones are reckoned up to it.
    pub(super) size: u64,
    /// Whether there are smaller ones.
    pub(super) sizes_differ: bool,
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
            let Measurement { framework, work, .. } = *measured;
            let same = |panel: &&mut Panel<'_>| (panel.framework, panel.work) == (framework, work);
            let panel = match panels.iter_mut().find(same) {
                Some(panel) => panel,
                None => {
                    panels.push(Panel { framework, work, size: 0, sizes_differ: false, series: Vec::new() });
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
    panels.sort_by_key(|panel| (panel.framework, panel.work));
    for panel in &mut panels {
        panel.series.sort_by_key(|series| (series.device, series.element));
        let all = || panel.series.iter().flat_map(|series| series.points.iter().flatten());
        let timed = || all().filter(|one| !one.seconds.is_empty()).map(|one| one.size);
        let size = timed().max().or(all().map(|one| one.size).max()).unwrap_or_default();
        panel.sizes_differ = timed().any(|one| one != size);
        panel.size = size;
    }
    panels
}

/// Lists what changed from run to run.
pub(super) fn changes(runs: &[&Run]) -> Vec<Change> {
    let pairs = runs.windows(2).enumerate();
    let change = |(at, pair): (usize, &[&Run])| {
        let changes = compare::changes(pair[0], pair[1]);
        let machine = !pair[0].is_of_machine(pair[1]);
        (!changes.is_empty()).then(|| Change { run: at + 1, what: phrases(&changes), machine })
    };
    pairs.filter_map(change).collect()
}

/// Says what changed, what is not a package first, and of many packages how many more.
fn phrases(changes: &[compare::Change]) -> Vec<String> {
    const MOST: usize = 8;
    let main =
        ["processor", "memory", "system", "macml.lock", "torch", "tensorflow", "tensorflow-metal", "mlx", "python"];
    let mut sorted: Vec<_> = changes.iter().collect();
    sorted.sort_by_key(|change| main.iter().position(|name| *name == change.what).unwrap_or(main.len()));
    let phrase = |change: &&compare::Change| {
        let what = &change.what;
        match (&change.before, &change.now) {
            (Some(before), Some(now)) => format!("{what} {before} to {now}"),
            (None, Some(now)) => format!("{what} {now} came"),
            (Some(before), None) => format!("{what} {before} went"),
            (None, None) => what.clone(),
        }
    };
    let mut phrases: Vec<String> = sorted.iter().take(MOST).map(phrase).collect();
    if let Some(more @ 1..) = changes.len().checked_sub(MOST) {
        phrases.push(format!("and {more} more"));
    }
    phrases
}
