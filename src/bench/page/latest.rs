//! The latest run: the machine's facts, its times as a table, and what came of batch sizes and workers.

use super::chart;
use super::work;
use crate::bench::compare::short;
use crate::bench::run::Measurement;
use crate::bench::run::Run;
use crate::bench::shown;
use crate::page::begin_table;
use crate::page::escaped;
use crate::page::line;
use crate::verify::protocol::Device;

/// What stands where there is nothing to say.
const NOTHING: &str = "\u{2013}";

/// Writes what was measured, and on what.
pub(super) fn facts(html: &mut String, run: &Run) {
    let circumstances = &run.circumstances;
    let mut devices: Vec<&str> = Vec::new();
    for measured in run.measurements.iter().filter(|measured| measured.device != Device::Cpu) {
        devices.extend(measured.device_name.as_deref().filter(|name| !devices.contains(name)));
    }
    let gpu = match devices.is_empty() {
        true if run.measurements.iter().all(|measured| measured.device == Device::Cpu) => "not measured".to_owned(),
        true => "unknown".to_owned(),
        false => devices.join(", "),
    };
    let packages = run.main_packages().iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>();
    let lock = circumstances.lock.as_ref().map(|lock| short(&lock.to_string()));
    let facts = [
        ("Latest run", Some(format!("{} UTC", shown::minute(run.when)))),
        ("Processor", Some(run.processor().unwrap_or("unknown").to_owned())),
        ("GPU", Some(gpu)),
        ("System", Some(circumstances.system.clone())),
        ("Memory", run.memory.map(shown::memory)),
        ("Packages", Some(packages.join(", ")).filter(|packages| !packages.is_empty())),
        ("Lock", lock),
    ];
    line(html, "<dl class=\"facts\">");
    for (name, value) in facts {
        if let Some(value) = value {
            line(html, &format!("<dt>{name}</dt><dd>{}</dd>", escaped(&value)));
        }
    }
    line(html, "</dl>");
}

/// Writes the times of a run.
pub(super) fn times(html: &mut String, run: &Run) {
    line(html, "<section aria-labelledby=\"latest\">\n<h2 id=\"latest\">The latest run</h2>");
    if !run.failures.is_empty() {
        line(html, "<ul class=\"list\">");
        for failure in &run.failures {
            let (framework, place, said) =
                (failure.framework, chart::place(failure.device), escaped(&failure.sentence));
            line(html, &format!("<li class=\"bad\">{framework} on the {place}: {said}</li>"));
        }
        line(html, "</ul>");
    }
    if run.measurements.is_empty() {
        line(html, "<p>It measured no times.</p>\n</section>");
        return;
    }
    begin(
        html,
        "latest",
        &[
            ("", "Where"),
            ("number", "Median"),
            ("number", "Against CPU"),
            ("number", "First time"),
            ("number", "Transfer"),
            ("number", "Device memory"),
            ("number", "Process memory"),
        ],
    );
    let mut sorted: Vec<&Measurement> = run.measurements.iter().collect();
    sorted.sort_by_key(|one| (one.framework, one.work, one.element, std::cmp::Reverse(one.device)));
    let group = |one: &Measurement| (one.framework, one.work);
    // On the CPU a smaller size may have been taken.
    let whole = |of: &Measurement| sorted.iter().filter(|one| group(one) == group(of)).map(|one| one.size).max();
    for (at, measured) in sorted.iter().enumerate() {
        if at == 0 || group(sorted[at - 1]) != group(measured) {
            let named =
                format!("{}: {}", measured.framework, work(measured.work, whole(measured).unwrap_or(measured.size)));
            line(html, &format!("</tbody>\n<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"7\">{named}</th></tr>"));
        }
        let size = match whole(measured) == Some(measured.size) || measured.median().is_none() {
            true => String::new(),
            false => format!(" <span class=\"quiet\">({})</span>", shown::grouped(measured.size)),
        };
        let head = format!("<th scope=\"row\">{} {}{size}</th>", chart::place(measured.device), measured.element);
        let cells = match measured.median() {
            Some(median) => {
                let cells = [
                    shown::seconds(median),
                    run.against_cpu(measured).map_or_else(|| NOTHING.to_owned(), shown::times),
                    shown::seconds(measured.warm_up),
                    measured.transfer.map_or_else(|| NOTHING.to_owned(), shown::seconds),
                    measured.device_bytes.map_or_else(|| NOTHING.to_owned(), shown::memory),
                    measured.process_bytes.map_or_else(|| NOTHING.to_owned(), shown::memory),
                ];
                cells.map(|cell| format!("<td class=\"number\">{cell}</td>")).concat()
            }
            None => match &measured.error {
                Some(said) => format!("<td class=\"bad\" colspan=\"6\">failed: {}</td>", escaped(said)),
                None => {
                    let said = measured.left_out.as_deref().unwrap_or("no times");
                    format!("<td class=\"quiet\" colspan=\"6\">left out: {}</td>", escaped(said))
                }
            },
        };
        line(html, &format!("<tr>{head}{cells}</tr>"));
    }
    end(html);
}

/// Writes which batches were tried.
pub(super) fn batch_sizes(html: &mut String, run: &Run) {
    line(html, "<section aria-labelledby=\"batches\">\n<h2 id=\"batches\">Batch sizes</h2>");
    line(html, &format!("<p class=\"quiet\">Measured at {} UTC.</p>", shown::minute(run.when)));
    begin(
        html,
        "batches",
        &[
            ("", "Framework"),
            ("", "Where"),
            ("number", "Samples at once"),
            ("number", "Rate"),
            ("number", "Device memory"),
            ("number", "Pressure"),
            ("", "Then"),
        ],
    );
    for size in &run.batch_sizes {
        let cells = [
            shown::grouped(size.samples),
            size.rate.map_or_else(|| NOTHING.to_owned(), shown::rate),
            size.device_bytes.map_or_else(|| NOTHING.to_owned(), shown::memory),
            size.pressure.map_or_else(|| NOTHING.to_owned(), |pressure| format!("{:.0} %", pressure * 100.0)),
        ];
        let cells = cells.map(|cell| format!("<td class=\"number\">{cell}</td>")).concat();
        let then = escaped(size.stopped.as_deref().unwrap_or_default());
        let (framework, place) = (size.framework, chart::place(size.device));
        line(
            html,
            &format!(
                "<tr><th scope=\"row\">{framework}</th><td>{place}</td>{cells}<td class=\"words\">{then}</td></tr>"
            ),
        );
    }
    end(html);
}

/// Writes which ways of loading data were tried.
pub(super) fn workers(html: &mut String, run: &Run) {
    line(html, "<section aria-labelledby=\"workers\">\n<h2 id=\"workers\">Data-loader workers</h2>");
    line(html, &format!("<p class=\"quiet\">Measured at {} UTC.</p>", shown::minute(run.when)));
    begin(
        html,
        "workers",
        &[("", "Workers"), ("", "Persistent"), ("number", "First epoch"), ("number", "Later epochs (median)")],
    );
    for one in &run.workers {
        let later = one.median().map_or_else(|| NOTHING.to_owned(), shown::seconds);
        let (persistent, first) = (if one.persistent { "yes" } else { "no" }, shown::seconds(one.first));
        line(
            html,
            &format!(
                "<tr><th scope=\"row\">{}</th><td>{persistent}</td><td class=\"number\">{first}</td><td \
                 class=\"number\">{later}</td></tr>",
                one.workers
            ),
        );
    }
    end(html);
}

fn begin(html: &mut String, id: &str, heads: &[(&str, &str)]) {
    let head = |(class, name): &(&str, &str)| match class.is_empty() {
        true => format!("<th scope=\"col\">{name}</th>"),
        false => format!("<th scope=\"col\" class=\"{class}\">{name}</th>"),
    };
    let heads = heads.iter().map(head).collect::<String>();
    begin_table(html, id);
    line(html, &format!("<thead>\n<tr>{heads}</tr>\n</thead>\n<tbody>"));
}

fn end(html: &mut String) {
    line(html, "</tbody>\n</table>\n</div>\n</section>");
}
