//! The history of one environment's runs as a page: drawings of medians, what changed, the latest run as a table.
//!
//! The same runs are the same bytes. Every drawing stands beside a table with the same numbers.

mod chart;
mod history;
mod latest;

use super::run::Run;
use super::run::Work;
use super::shown;
use crate::page;
use crate::page::Style;
use crate::page::begin_table;
use crate::page::escaped;
use crate::page::line;
use history::{Change, Panel};

/// Colours of the CPU's and the GPU's lines, and what looks its own way here.
const STYLE: Style = Style {
    light: &[("cpu", "#a84300"), ("gpu", "#1d4ed8"), ("bad", "#b3261e")],
    dark: &[("cpu", "#ffb070"), ("gpu", "#8ab4ff"), ("bad", "#ff8a80")],
    rules: "\
td,tbody th{font-variant-numeric:tabular-nums}
thead th{vertical-align:bottom}
.number{text-align:right;white-space:nowrap}
tbody td,tbody th[scope=row]{border-bottom:1px solid var(--line);font-weight:400}
tbody th[scope=row]{position:sticky;left:0;background:var(--paper)}
.words{min-width:14rem}
.told{margin-top:1.5rem}
table{border-spacing:0}
th[scope=rowgroup]{background:none;padding-top:1.1rem;border-bottom:2px solid var(--line);white-space:normal}
.bad{color:var(--bad);overflow-wrap:anywhere;min-width:16rem}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.75rem 0;max-width:60rem}
.facts dt{color:var(--quiet)}
.facts dd{margin:0;overflow-wrap:anywhere}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:1rem 2rem}
figure{margin:1rem 0 0;max-width:40rem;min-width:0}
figure h3{margin-top:0}
figure svg{display:block;width:100%;height:auto}
figure text{font-size:13px;fill:var(--quiet)}
.legend .swatch{display:inline-block;width:34px;height:14px;vertical-align:-2px;margin-right:.4rem}
.legend .short{width:14px}
.legend li{padding:.1rem 0}
.grid{stroke:var(--line);stroke-width:1;fill:none;opacity:.6}
.axis{stroke:var(--quiet);stroke-width:1;fill:none}
.change path{stroke:var(--quiet);stroke-width:1.5;stroke-dasharray:4 4;fill:none}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.line.float16{stroke-dasharray:7 4}
.line.bfloat16{stroke-dasharray:2 4}
.cpu{stroke:var(--cpu)}
.gpu{stroke:var(--gpu)}
.point{stroke:none}
.point.cpu{fill:var(--cpu)}
.point.gpu{fill:var(--gpu)}
.point:hover{stroke:var(--text);stroke-width:2}
.failed{fill:none;stroke-width:2.5}
figure .scroll{max-height:20rem;overflow:auto;margin:.3rem 0}
@media (max-width:40rem){figure text{font-size:19px}.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:.4rem}}
@media print{.panels{display:block}figure{break-inside:avoid}figure .scroll{max-height:none}.bad{min-width:0}}
",
};

/// Changes that are listed without being asked for.
const MOST_CHANGES: usize = 8;

/// Makes the page of one environment's runs, in whatever order they come.
pub fn page(runs: &[Run]) -> String {
    let mut runs: Vec<&Run> = runs.iter().collect();
    runs.sort_by_key(|run| run.when);
    let mut out = String::new();
    let html = &mut out;
    let all = runs.clone();
    // Those that only tried batches or workers have no point in any drawing.
    if runs.iter().any(|run| !run.measurements.is_empty()) {
        runs.retain(|run| !run.measurements.is_empty());
    }
    let Some(latest) = runs.last().copied() else {
        line(html, "<h1>No benchmark yet</h1>\n<p><code>macml bench</code> measures, and keeps what it measured.</p>");
        return page::whole("No benchmark yet", &STYLE, &out);
    };
    let title = format!("How fast {} is", latest.env);
    line(html, &format!("<h1>How fast <code>{}</code> is</h1>", escaped(&latest.env)));
    line(
        html,
        "<p>Medians of the times after a first one, until the result is there; the first time, and the way to the device \
         and back, are told apart.</p>",
    );
    let version = env!("CARGO_PKG_VERSION");
    line(html, &format!("<p class=\"quiet\">Made by macml {version} from {}.</p>", kept(&runs)));
    latest::facts(html, latest);
    latest::times(html, latest);
    let changes = history::changes(&runs);
    let panels = history::panels(&runs);
    if !panels.is_empty() {
        line(html, "<section aria-labelledby=\"history\">\n<h2 id=\"history\">Over time</h2>");
        let note = match runs.len() {
            1 => "One run so far: each later one adds a point.",
            _ => "Lower is faster; where times lie far apart, equal ratios are equally high.",
        };
        line(html, &format!("<p class=\"quiet\">{note}</p>\n<div class=\"panels\">"));
        for (at, panel) in panels.iter().enumerate() {
            figure(html, at, panel, &runs, &changes);
        }
        line(html, "</div>");
        told(html, &changes, &runs);
        line(html, "</section>");
    }
    if let Some(run) = all.iter().rfind(|run| !run.batch_sizes.is_empty()) {
        latest::batch_sizes(html, run);
    }
    if let Some(run) = all.iter().rfind(|run| !run.workers.is_empty()) {
        latest::workers(html, run);
    }
    page::whole(&title, &STYLE, &out)
}

/// Says how many runs there are and when they were.
fn kept(runs: &[&Run]) -> String {
    let (first, last) = (shown::day(runs[0].when), shown::day(runs[runs.len() - 1].when));
    match runs.len() {
        1 => format!("one run of {first}"),
        count if first == last => format!("{count} runs of {first}"),
        count => format!("{count} runs from {first} to {last}"),
    }
}

/// Names a piece of work with its size.
fn work(work: Work, size: u64) -> String {
    let size = shown::grouped(size);
    match work {
        Work::Product => format!("product of {size} × {size} matrices"),
        Work::Convolution => format!("training of a small convolutional network, {size} samples"),
    }
}

/// Draws a panel, and writes the same as a table.
fn figure(html: &mut String, at: usize, panel: &Panel<'_>, runs: &[&Run], changes: &[Change]) {
    let (heading, table) = (format!("p{at}"), format!("p{at}-table"));
    let named = format!("{}: {}", panel.framework, work(panel.work, panel.size));
    line(html, &format!("<figure>\n<h3 id=\"{heading}\">{named}</h3>\n<ul class=\"legend\" aria-label=\"Lines\">"));
    for series in &panel.series {
        line(html, &format!("<li>{}{}</li>", chart::swatch(series), chart::name(series)));
    }
    let measured = || panel.series.iter().flat_map(|series| series.points.iter().flatten());
    let (timed, failed) = (measured().any(|one| one.median().is_some()), measured().any(|one| one.median().is_none()));
    if failed {
        line(html, &format!("<li>{}no time</li>", chart::failed_swatch()));
    }
    line(html, "</ul>");
    if panel.sizes_differ {
        let size = shown::grouped(panel.size);
        line(
            html,
            &format!("<p class=\"quiet\">Where a smaller size was measured, its time is reckoned up to {size}.</p>"),
        );
    }
    match timed {
        true => html.push_str(&chart::draw(panel, runs, changes, &heading, &table)),
        false => line(html, "<p class=\"bad\">No run has a time of it.</p>"),
    }
    line(html, &format!("<details id=\"{table}\">\n<summary>As a table</summary>"));
    begin_table(html, &heading);
    let heads = panel.series.iter().map(|series| format!("<th scope=\"col\">{}</th>", chart::name(series)));
    let heads = heads.collect::<String>();
    line(html, &format!("<thead>\n<tr><th scope=\"col\">Run (UTC)</th>{heads}</tr>\n</thead>\n<tbody>"));
    // The newest first, as people ask for it.
    for (at, run) in runs.iter().enumerate().rev() {
        let cell = |points: &[Option<&super::Measurement>]| match points[at] {
            None => "<td class=\"number\">\u{2013}</td>".to_owned(),
            Some(measured) => match measured.median_for(panel.size) {
                Some(median) => format!("<td class=\"number\">{}</td>", shown::seconds(median)),
                None if measured.error.is_some() => "<td class=\"number\">failed</td>".to_owned(),
                None => "<td class=\"number\">left out</td>".to_owned(),
            },
        };
        let cells = panel.series.iter().map(|series| cell(&series.points)).collect::<String>();
        line(html, &format!("<tr><th scope=\"row\">{}</th>{cells}</tr>", shown::minute(run.when)));
    }
    line(html, "</tbody>\n</table>\n</div>\n</details>\n</figure>");
}

/// Lists what changed, numbered as in the drawings.
fn told(html: &mut String, changes: &[Change], runs: &[&Run]) {
    if changes.is_empty() {
        return;
    }
    let open = if changes.len() <= MOST_CHANGES { " open" } else { "" };
    line(
        html,
        &format!(
            "<details class=\"told\"{open}>\n<summary>What changed ({})</summary>\n<ol class=\"list\">",
            changes.len()
        ),
    );
    for change in changes {
        let what = escaped(&change.what.join("; "));
        let other = if change.machine { "; another machine, so that times before it do not count" } else { "" };
        line(html, &format!("<li>{}: {what}{other}</li>", shown::minute(runs[change.run].when)));
    }
    line(html, "</ol>\n</details>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_words_can_be_seen_in_both_schemes() {
        for (base, own) in [(page::LIGHT, STYLE.light), (page::DARK, STYLE.dark)] {
            let paper = base.iter().find(|(name, _)| *name == "paper").unwrap().1;
            for (name, color) in own {
                assert!(page::contrast(paper, color) >= 4.5, "{name} on {paper}");
            }
        }
    }
}
