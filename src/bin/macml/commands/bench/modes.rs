//! `--batch-sizes` and `--workers`: measured in the place of works, and laid out for people.

use macml::bench::BatchSize;
use macml::bench::Run;
use macml::bench::batch_sizes;
use macml::bench::shown;
use macml::bench::workers;
use macml::verify::Subject;
use macml::verify::protocol::Device;
use macml::verify::protocol::Framework;

use super::text::NOTHING;
use super::text::aligned;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;

/// Where and on what it is measured.
pub(super) struct Place<'a> {
    pub(super) subject: &'a Subject,
    pub(super) device: Device,
    pub(super) memory: u64,
    pub(super) printer: &'a Printer,
    /// Whether to say what is being done.
    pub(super) progress: bool,
}

/// Tries batches with every framework.
pub(super) fn batches(place: &Place<'_>, run: &mut Run) {
    for (framework, version) in place.subject.frameworks() {
        let Some(probe) = batch_sizes::probe(framework, place.subject) else { continue };
        let mut told = |size: &BatchSize| {
            if place.progress {
                let rate = size.rate.map_or_else(|| "no rate".to_owned(), shown::rate);
                let text = format!("{framework} {version} on {}: {} at once, {rate}\n", size.device, size.samples);
                place.printer.aside(&text);
            }
        };
        let answer = batch_sizes::measure(&probe, framework, place.device, place.memory, &mut told);
        run.batch_sizes.extend(answer.sizes);
        run.failures.extend(answer.failure);
    }
}

/// Tries workers, with torch; false where there is no torch.
pub(super) fn workers(place: &Place<'_>, run: &mut Run) -> bool {
    let torch = place.subject.frameworks().into_iter().find(|(framework, _)| *framework == Framework::Torch);
    let Some((_, version)) = torch else { return false };
    if place.progress {
        place.printer.aside(&format!("loading data with torch {version}, by 0, 2, 4 and 8 workers\n"));
    }
    let answer = workers::measure(&workers::probe(place.subject), place.memory, workers::LIMITS);
    for missing in answer.missing {
        place.printer.aside(&format!("{}: {missing}\n", styled(WARN, "note")));
    }
    run.workers = answer.ways;
    run.failures.extend(answer.failure);
    true
}

/// Lays out the batches that were tried.
pub(super) fn sizes(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for own in run.batch_sizes.chunk_by(|one, other| (one.framework, one.device) == (other.framework, other.device)) {
        let (framework, device) = (own[0].framework, own[0].device);
        let version = run.packages.get(&framework.to_string()).map_or("", String::as_str);
        let network = "batches of a small convolutional network";
        lines.push(format!("{} on {device}: {network}", styled(NAME, format!("{framework} {version}"))));
        let titles = ["", "", "batch", "rate", "device memory", "pressure"].map(str::to_owned).to_vec();
        let cells = |size: &BatchSize| {
            vec![
                String::new(),
                String::new(),
                shown::grouped(size.samples),
                size.rate.map_or_else(|| NOTHING.to_owned(), shown::rate),
                size.device_bytes.map_or_else(|| NOTHING.to_owned(), shown::memory),
                size.pressure.map_or_else(|| NOTHING.to_owned(), |pressure| format!("{:.0}%", pressure * 100.0)),
            ]
        };
        let rows: Vec<_> = [titles].into_iter().chain(own.iter().map(cells)).collect();
        lines.extend(aligned(&rows).iter().map(|line| format!("  {}", line.trim_start_matches("    "))));
        if let Some(stopped) = own.last().and_then(|size| size.stopped.as_ref()) {
            lines.push(format!("  no larger one: {stopped}"));
        }
        if let Some(advice) = batch_sizes::advise(own) {
            let (largest, enough) = (advice.largest.samples, advice.enough.samples);
            let same = if largest == enough { String::new() } else { format!("; {enough} is as fast") };
            lines.push(format!("  largest that went well: {largest}{same}"));
        }
        lines.push(String::new());
    }
    lines
}

/// Lays out the ways of loading data.
pub(super) fn ways(run: &Run) -> Vec<String> {
    if run.workers.is_empty() {
        return Vec::new();
    }
    let version = run.packages.get("torch").map_or("", String::as_str);
    let mut lines =
        vec![format!("{}: loading data, each worker a new process", styled(NAME, format!("torch {version}")))];
    let titles = ["workers", "", "first epoch", "later epochs"].map(str::to_owned).to_vec();
    let cells = |way: &macml::bench::Workers| {
        vec![
            workers::named(way.workers, way.persistent),
            String::new(),
            shown::seconds(way.first),
            way.median().map_or_else(|| NOTHING.to_owned(), shown::seconds),
        ]
    };
    let rows: Vec<_> = [titles].into_iter().chain(run.workers.iter().map(cells)).collect();
    lines.extend(aligned(&rows).iter().map(|line| format!("  {line}")));
    let advice = workers::advise(&run.workers).map(|advice| advice.to_string()).unwrap_or_default();
    lines.extend(advice.lines().map(|line| format!("  {line}")));
    lines.push(String::new());
    lines
}
