//! A run, its comparison and the list of those that were kept, laid out for people.

use macml::bench::Change;
use macml::bench::Comparison;
use macml::bench::History;
use macml::bench::Measurement;
use macml::bench::Row;
use macml::bench::Run;
use macml::bench::Trend;
use macml::bench::Work;
use macml::bench::shown;
use macml::verify::protocol::Device;
use macml::verify::protocol::Framework;

use super::BUSY;
use super::Outcome;
use super::modes;
use crate::context::Context;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::WARN;
use crate::printer::styled;

/// What stands where there is nothing to say.
pub(super) const NOTHING: &str = "-";

/// Lays out a run.
pub(super) fn outcome(outcome: &Outcome, context: &Context) -> String {
    let run = &outcome.run;
    let mut lines = Vec::new();
    for framework in frameworks(run) {
        lines.extend(table(run, framework, outcome.device));
        lines.push(String::new());
    }
    if let Some(comparison) = &outcome.comparison {
        lines.extend(compared(comparison));
        lines.push(String::new());
    }
    lines.extend(modes::sizes(run));
    lines.extend(modes::ways(run));
    lines.push(last(outcome, context));
    lines.join("\n") + "\n"
}

/// Lists the frameworks of a run, each once.
fn frameworks(run: &Run) -> Vec<Framework> {
    let mut all: Vec<Framework> = run.measurements.iter().map(|one| one.framework).collect();
    all.dedup();
    all
}

/// Lays out what one framework took.
fn table(run: &Run, framework: Framework, device: Device) -> Vec<String> {
    let own: Vec<&Measurement> = run.measurements.iter().filter(|one| one.framework == framework).collect();
    let version = run.packages.get(&framework.to_string()).map_or("", String::as_str);
    let named = |device| own.iter().find(|one| one.device == device).and_then(|one| one.device_name.as_deref());
    let mut places: Vec<String> = Vec::new();
    for place in if device == Device::Cpu { vec![Device::Cpu] } else { vec![device, Device::Cpu] } {
        match named(place) {
            // On a Mac both have one name.
            Some(name) if place == device || named(device) != Some(name) => places.push(format!("{place} ({name})")),
            Some(_) => places.push(place.to_string()),
            None => {}
        }
    }
    let head = format!("{} on {}", styled(NAME, format!("{framework} {version}")), places.join(" and "));
    let gpu = device.to_string();
    let titles: Vec<&str> = match device {
        Device::Cpu => vec!["work", "type", "cpu", "warm-up", "memory"],
        _ => vec!["work", "type", "cpu", &gpu, "speedup", "transfer", "warm-up", "memory"],
    };
    let mut rows = vec![titles.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    let mut seen: Vec<&Measurement> = Vec::new();
    for one in &own {
        if seen.iter().all(|other| (other.work, other.element) != (one.work, one.element)) {
            seen.push(one);
            rows.push(row(run, one, device));
        }
    }
    let mut lines = vec![head];
    lines.extend(aligned(&rows).into_iter().map(|line| format!("  {line}")));
    lines.extend(own.iter().filter_map(|one| without_times(one)).map(|line| format!("  {line}")));
    lines
}

/// Lays out one work on both devices.
fn row(run: &Run, like: &Measurement, device: Device) -> Vec<String> {
    let cpu = run.same(like, Device::Cpu);
    let there = run.same(like, device);
    let main = there.or(cpu);
    let size = main.map_or(like.size, |one| one.size);
    let time = |one: Option<&Measurement>| {
        let Some((one, median)) = one.and_then(|one| Some((one, one.median()?))) else { return NOTHING.to_owned() };
        let spread = one.spread().map_or(0.0, |spread| spread * 100.0);
        let other = if one.size == size { String::new() } else { format!(" at {}", one.size) };
        format!("{} ±{spread:.0}%{other}", shown::seconds(median))
    };
    let seconds = |value: Option<f64>| value.map_or_else(|| NOTHING.to_owned(), shown::seconds);
    let warm_up = seconds(main.filter(|one| !one.seconds.is_empty()).map(|one| one.warm_up));
    let memory = |bytes: Option<u64>| bytes.map_or_else(|| NOTHING.to_owned(), shown::memory);
    let what = format!("{} {}", like.work.as_str(), sized(like.work, size));
    let mut cells = vec![what, like.element.to_string(), time(cpu)];
    if device == Device::Cpu {
        cells.extend([warm_up, memory(main.and_then(|one| one.process_bytes))]);
        return cells;
    }
    let speedup = there.zip(cpu).and_then(|(there, cpu)| {
        let sign = if there.size == cpu.size { "" } else { "~" };
        Some(format!("{sign}{}", shown::times(there.speedup(cpu)?)))
    });
    cells.extend([time(there), speedup.unwrap_or_else(|| NOTHING.to_owned())]);
    cells.extend([seconds(there.and_then(|one| one.transfer)), warm_up]);
    cells.push(memory(there.and_then(|one| one.device_bytes.or(one.process_bytes))));
    cells
}

/// Says how large a work is.
fn sized(work: Work, size: u64) -> String {
    match work {
        Work::Product => format!("{size}×{size}"),
        Work::Convolution => format!("{size} images"),
    }
}

/// Says why there are no times.
fn without_times(one: &Measurement) -> Option<String> {
    let what = format!("{} {} on {}", one.work.as_str(), one.element, one.device);
    match (&one.error, &one.left_out) {
        (Some(_), _) => Some(format!("{what}: {}", styled(BAD, "failed"))),
        (None, Some(why)) => Some(format!("{what}: {}: {}", styled(WARN, "left out"), why.replace('\n', " "))),
        (None, None) => None,
    }
}

/// Puts cells into columns: the first two to the left, numbers to the right.
pub(super) fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let count = rows.first().map_or(0, Vec::len);
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, width))| match at {
            0 | 1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Lays out a comparison.
fn compared(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![format!("compared with the run of {} UTC", shown::minute(comparison.before))];
    if !comparison.same_machine {
        let text = "that was another machine: nothing of this is slower or faster by itself";
        lines.push(format!("  {}: {text}", styled(WARN, "warning")));
    }
    if comparison.loads.0.is_some_and(|load| load > BUSY) {
        lines.push(format!("  {}: other programs computed during that one", styled(WARN, "warning")));
    }
    let rows: Vec<Vec<String>> = comparison.rows.iter().map(cells).collect();
    let styles = comparison.rows.iter().map(|row| match row.trend {
        Trend::Slower => Some(BAD),
        Trend::Faster => Some(GOOD),
        Trend::Same | Trend::OtherMachine => None,
    });
    lines.extend(aligned(&rows).into_iter().zip(styles).map(|(line, style)| match style {
        Some(style) => format!("  {}", styled(style, line)),
        None => format!("  {line}"),
    }));
    for gone in &comparison.gone {
        let what = format!("{} {} {} on {}", gone.framework, gone.work.as_str(), gone.element, gone.device);
        lines.push(format!("  {what}: {}", styled(BAD, "not measured this time")));
    }
    if comparison.changes.is_empty() {
        lines.push("unchanged between them: packages, macml.lock, system and machine".to_owned());
    } else {
        lines.push("changed between them:".to_owned());
        lines.extend(comparison.changes.iter().map(|change| format!("  {}", changed(change))));
    }
    lines
}

fn cells(row: &Row) -> Vec<String> {
    let trend = match row.trend {
        Trend::Slower => "slower",
        Trend::Faster => "faster",
        Trend::Same => "same",
        Trend::OtherMachine => "",
    };
    let time = |seconds: f64, size: u64| match row.sizes.0 == row.sizes.1 {
        true => shown::seconds(seconds),
        false => format!("{} at {size}", shown::seconds(seconds)),
    };
    vec![
        format!("{} {}", row.framework, row.work.as_str()),
        format!("{} on {}", row.element, row.device),
        time(row.seconds.0, row.sizes.0),
        "->".to_owned(),
        time(row.seconds.1, row.sizes.1),
        format!("{} as long", shown::times(row.ratio)),
        format!("(±{:.0}% is noise)", row.bound * 100.0),
        trend.to_owned(),
    ]
}

fn changed(change: &Change) -> String {
    let Change { what, before, now } = change;
    match (before, now) {
        (Some(before), Some(now)) => format!("{what} {before} -> {now}"),
        (None, Some(now)) => format!("{what} {now} is new"),
        (Some(before), None) => format!("{what} {before} is gone"),
        (None, None) => what.clone(),
    }
}

/// Says in one line what came of it all.
fn last(outcome: &Outcome, context: &Context) -> String {
    let run = &outcome.run;
    let mut on = run.circumstances.system.clone();
    if let Some(processor) = run.processor() {
        on = format!("{on}, {processor}");
    }
    if let Some(memory) = run.memory {
        on = format!("{on}, {}", shown::memory(memory));
    }
    let slower = outcome.comparison.as_ref().map(|comparison| comparison.slower().count());
    let what = match slower {
        _ if !run.has_answers() => "nothing was measured".to_owned(),
        Some(count @ 1..) => {
            let all = outcome.comparison.as_ref().map_or(0, |comparison| comparison.rows.len());
            format!("{count} of {all} slower than before")
        }
        Some(0) if outcome.comparison.as_ref().is_some_and(|comparison| comparison.same_machine) => {
            "nothing is slower than before".to_owned()
        }
        _ => format!("measured in {}", shown::seconds(outcome.seconds)),
    };
    let kept = match &outcome.kept {
        Some(path) => format!("kept in {}", context.shown(path)),
        None => "not kept".to_owned(),
    };
    format!("{what}, on {on}; {kept}")
}

/// Lays out the runs that were kept, the last first.
pub(super) fn listed(history: &History) -> String {
    if history.runs.is_empty() {
        return "no run was kept yet\n".to_owned();
    }
    let rows: Vec<Vec<String>> = history.numbered().map(|(number, run)| listed_row(number, run)).collect();
    let widths = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (number, machine) = (widths(0), widths(2));
    let line = |row: &Vec<String>| format!("{:>number$}  {}  {:<machine$}  {}", row[0], row[1], row[2], row[3]);
    rows.iter().map(|row| line(row) + "\n").collect()
}

fn listed_row(number: usize, run: &Run) -> Vec<String> {
    let system = &run.circumstances.system;
    let machine = run.processor().map_or_else(|| system.clone(), |processor| format!("{processor}, {system}"));
    let each = frameworks(run).into_iter().map(|framework| {
        let version = run.packages.get(&framework.to_string()).map_or("", String::as_str);
        let first = |device| {
            let one = run.measurements.iter().find(|one| (one.framework, one.device) == (framework, device))?;
            Some(format!("{} {device}", shown::seconds(one.median()?)))
        };
        let times: Vec<String> = [Device::Mps, Device::Cuda, Device::Cpu].into_iter().filter_map(first).collect();
        format!("{framework} {version} ({})", times.join(", "))
    });
    let modes = [(!run.batch_sizes.is_empty(), "batch sizes"), (!run.workers.is_empty(), "workers")];
    let modes = modes.into_iter().filter(|(is, _)| *is).map(|(_, name)| name.to_owned());
    vec![number.to_string(), shown::minute(run.when), machine, each.chain(modes).collect::<Vec<_>>().join(", ")]
}
