//! The table as a page: one file that needs nothing else, no script, readable without colour, by keyboard, on paper and
//! on a phone.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use macml::matrix::Answer;
use macml::matrix::Cell;
use macml::matrix::Mark;
use macml::matrix::Table;

use crate::amount;
use crate::report::matrix as report;

/// Colours of one scheme: paper, text, quiet text, lines, links; then of each mark paper and text.
struct Scheme {
    paper: &'static str,
    text: &'static str,
    quiet: &'static str,
    line: &'static str,
    head: &'static str,
    marks: [(Mark, &'static str, &'static str); 4],
}

const LIGHT: Scheme = Scheme {
    paper: "#ffffff",
    text: "#1c1c1e",
    quiet: "#55555b",
    line: "#c9c9ce",
    head: "#f2f2f4",
    marks: [
        (Mark::Fine, "#e3f4e7", "#0f4d22"),
        (Mark::Unknown, "#e4ecfb", "#1b3a7a"),
        (Mark::Problems, "#fdf0c8", "#5a3e00"),
        (Mark::Refused, "#f2f2f4", "#55555b"),
    ],
};

const DARK: Scheme = Scheme {
    paper: "#161618",
    text: "#ececee",
    quiet: "#b0b0b6",
    line: "#46464c",
    head: "#232326",
    marks: [
        (Mark::Fine, "#143320", "#b4ecc4"),
        (Mark::Unknown, "#1a2b4d", "#c0d5ff"),
        (Mark::Problems, "#3d2f07", "#f8dd8f"),
        (Mark::Refused, "#232326", "#b0b0b6"),
    ],
};

/// How everything looks, apart from colours.
const LAYOUT: &str = "\
body{margin:0;background:var(--paper);color:var(--text);font:16px/1.5 -apple-system,system-ui,'Segoe UI',Roboto,sans-serif}
main{max-width:75rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.2rem;line-height:1.3;margin:2.5rem 0 .25rem}
h3{font-size:1rem;margin:1.25rem 0 .25rem}
p{margin:.25rem 0;max-width:48rem}
.quiet{color:var(--quiet)}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:separate;border-spacing:2px;font-size:.9rem}
caption{text-align:left;color:var(--quiet);padding:0 0 .4rem}
th{background:var(--head);text-align:left;vertical-align:top;padding:.45rem .6rem;font-weight:600;white-space:nowrap}
td{vertical-align:top;padding:.45rem .6rem;min-width:10rem;max-width:12rem}
tbody th{position:sticky;left:0}
.mark{font-weight:700}
.set{list-style:none;margin:.2rem 0 0;padding:0}
.set li{display:flex;justify-content:space-between;gap:.75rem;white-space:nowrap}
.set b{font-weight:600;font-variant-numeric:tabular-nums}
summary{cursor:pointer}
summary:hover{text-decoration:underline}
summary:focus-visible,.scroll:focus-visible,a:focus-visible{outline:2px solid currentColor;outline-offset:2px}
details ul,.list{margin:.3rem 0 .5rem;padding-left:1.1rem}
details li,.list li{overflow-wrap:anywhere}
.legend{display:flex;flex-wrap:wrap;gap:.35rem .75rem;list-style:none;margin:.75rem 0;padding:0}
.legend li{padding:.1rem .5rem}
code{font:.95em ui-monospace,SFMono-Regular,Menlo,monospace;overflow-wrap:anywhere}
.list{max-width:60rem}
@media print{.scroll{overflow:visible}tbody th{position:static}td,th,.legend li{border:1px solid var(--line)}tr,li{break-inside:avoid}main{max-width:none;padding:0}table{font-size:.75rem}td{min-width:0}}
";

/// Makes the page.
pub(super) fn page(tables: &[Table]) -> String {
    let names = tables.iter().map(|table| table.asked.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    let title = escaped(&format!("What works on Macs: {}", names.collect::<Vec<_>>().join("; ")));
    let style = format!(
        ":root{{color-scheme:light dark;{}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n{}{LAYOUT}",
        variables(&LIGHT),
        variables(&DARK),
        marks()
    );
    let knowledge = tables.first().map_or("", |table| table.knowledge.date.as_str());
    let mut out = String::new();
    let html = &mut out;
    line(html, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
    line(html, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    line(html, &format!("<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>"));
    line(html, "<h1>What works on which Python and macOS</h1>");
    line(
        html,
        "<p>Each cell is the newest set of releases that works together on Apple Silicon Macs with the Python of its row \
         and the macOS of its column or a later one.</p>",
    );
    line(
        html,
        &format!(
            "<p class=\"quiet\">Made by macml {} with its knowledge of {}.</p>",
            env!("CARGO_PKG_VERSION"),
            escaped(knowledge)
        ),
    );
    line(html, "<ul class=\"legend\" aria-label=\"Marks\">");
    for mark in Mark::ALL {
        line(
            html,
            &format!(
                "<li class=\"{}\"><span class=\"mark\">{}</span> {}</li>",
                class(mark),
                escaped(mark.sign()),
                escaped(mark.meaning())
            ),
        );
    }
    line(html, "</ul>");
    for (at, table) in tables.iter().enumerate() {
        section(html, at, table);
    }
    line(html, "</main>\n</body>\n</html>");
    out
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a String does not fail");
}

fn section(html: &mut String, at: usize, table: &Table) {
    let asked = escaped(&table.lines.join(", "));
    line(html, &format!("<section aria-labelledby=\"t{at}\">\n<h2 id=\"t{at}\">{asked}</h2>"));
    let caption = format!("GPU {}, chip {} and later", report::gpu(table.gpu), escaped(&table.chip.to_string()));
    if table.has_answer() {
        let columns = table.columns();
        line(
            html,
            &format!("<div class=\"scroll\" role=\"region\" aria-labelledby=\"t{at}\" tabindex=\"0\">\n<table>"),
        );
        line(html, &format!("<caption>{caption}</caption>"));
        let heads = columns.iter().map(|group| {
            let heading = table.heading(group).replace('-', "\u{2013}");
            format!("<th scope=\"col\">macOS {heading}</th>")
        });
        let heads = heads.collect::<String>();
        line(html, &format!("<thead>\n<tr><th scope=\"col\">Python</th>{heads}</tr>\n</thead>\n<tbody>"));
        for row in table.answered() {
            let python = row.first().map(|cell| cell.python.to_string()).unwrap_or_default();
            line(html, &format!("<tr><th scope=\"row\">{python}</th>"));
            columns.iter().for_each(|group| self::cell(html, table, row, group));
            line(html, "</tr>");
        }
        line(html, "</tbody>\n</table>\n</div>");
    } else {
        line(html, &format!("<p>No cell has a set ({caption}).</p>"));
    }
    notes(html, table);
    line(html, "</section>");
}

fn cell(html: &mut String, table: &Table, row: &[Cell], group: &RangeInclusive<usize>) {
    let cell = &row[*group.start()];
    let mark = cell.mark();
    let words = match (mark, cell.reason()) {
        (Mark::Fine, _) => String::new(),
        (Mark::Unknown, _) => " unknown".to_owned(),
        (Mark::Problems, _) => format!(" {}", amount::count(cell.problems.len(), "known problem")),
        (Mark::Refused, reason) => format!(" none: {}", prose(&reason.unwrap_or_default())),
    };
    let head = format!("<span class=\"mark\">{}</span>{words}", escaped(mark.sign()));
    let told: Vec<String> = match &cell.answer {
        Answer::Refusal(reasons) => reasons.iter().map(|reason| prose(reason)).collect(),
        Answer::Set(_) => {
            let rules = cell.problems.iter().filter_map(|id| table.knowledge.rule(id));
            rules.map(|rule| format!("<code>{}</code>: {}", escaped(&rule.id), prose(&rule.reason))).collect()
        }
    };
    line(html, &format!("<td class=\"{}\">", class(mark)));
    match told.is_empty() {
        true => line(html, &head),
        false => {
            line(html, &format!("<details><summary>{head}</summary>\n<ul>"));
            told.iter().for_each(|text| line(html, &format!("<li>{text}</li>")));
            line(html, "</ul></details>");
        }
    }
    if mark != Mark::Refused {
        line(html, "<ul class=\"set\">");
        for name in &table.asked {
            let version = cell.version(name).map_or_else(|| "not in it".to_owned(), ToString::to_string);
            let unknown = if cell.unknown.contains(name) { " ?" } else { "" };
            line(html, &format!("<li><span>{name}</span> <b>{}{unknown}</b></li>", escaped(&version)));
        }
        line(html, "</ul>");
    }
    line(html, "</td>");
}

/// Writes what stands below the table.
fn notes(html: &mut String, table: &Table) {
    let mut list = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            line(html, &format!("<h3>{title}</h3>\n<ul class=\"list\">"));
            items.iter().for_each(|item| line(html, &format!("<li>{item}</li>")));
            line(html, "</ul>");
        }
    };
    let nothing = table.unanswered().into_iter().map(|(pythons, reason)| {
        let pythons = table.python_spans(&pythons).replace('-', "\u{2013}");
        format!("Python {pythons}: {}", prose(&reason))
    });
    let later = table
        .unanswered_floors()
        .into_iter()
        .map(|(floors, reason)| format!("macOS {}: {}", table.spans(&floors).replace('-', "\u{2013}"), prose(&reason)));
    list("Without any set", nothing.chain(later).collect());
    let problems = report::problems(table).into_iter().map(|problem| {
        let (versions, macos) = (escaped(&problem.versions.join(", ")), problem.spans.replace('-', "\u{2013}"));
        let instead = problem.instead.map(|instead| format!(" Prefer {}.", prose(&instead))).unwrap_or_default();
        format!(
            "<code>{}</code> ({} {versions} on macOS {macos}): {}{instead}",
            escaped(&problem.rule),
            escaped(&problem.package),
            prose(&problem.reason)
        )
    });
    list("Known problems", problems.collect());
    let unknown = report::unknown(table).into_iter().map(|unknown| {
        let (versions, newest) = (escaped(&unknown.versions.join(", ")), escaped(&unknown.newest));
        format!("{} {versions}: nothing is known of it; the knowledge ends at {newest}", escaped(&unknown.package))
    });
    list("Later than the knowledge", unknown.collect());
}

fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Fine => "fine",
        Mark::Unknown => "unknown",
        Mark::Problems => "problems",
        Mark::Refused => "refused",
    }
}

fn variables(scheme: &Scheme) -> String {
    let Scheme { paper, text, quiet, line, head, marks } = scheme;
    let own = format!("--paper:{paper};--text:{text};--quiet:{quiet};--line:{line};--head:{head};");
    marks.iter().fold(own, |all, (mark, paper, text)| {
        let name = class(*mark);
        format!("{all}--{name}:{paper};--{name}-text:{text};")
    })
}

fn marks() -> String {
    let rule = |mark: Mark| format!(".{0}{{background:var(--{0});color:var(--{0}-text)}}\n", class(mark));
    Mark::ALL.into_iter().map(rule).collect()
}

/// Writes a sentence in which names stand in backticks.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without a partner stays as it is.
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let part = |(at, part): (usize, &&str)| {
        if at % 2 == 1 { format!("<code>{}</code>", escaped(part)) } else { escaped(part) }
    };
    parts.iter().enumerate().map(part).collect()
}

/// Makes text safe between tags and in attributes; control characters, which no page may have, are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            control if control.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of WCAG 2.
    fn luminance(color: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, two: &str) -> f64 {
        let (one, two) = (luminance(one), luminance(two));
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    #[test]
    fn every_text_can_be_read_in_both_schemes() {
        assert!((contrast("#ffffff", "#000000") - 21.0).abs() < 0.01);
        for scheme in [LIGHT, DARK] {
            let plain = [(scheme.paper, scheme.text), (scheme.paper, scheme.quiet), (scheme.head, scheme.text)];
            let marks = scheme.marks.map(|(_, paper, text)| (paper, text));
            for (paper, text) in plain.into_iter().chain(marks) {
                let contrast = contrast(paper, text);
                assert!(contrast >= 4.5, "{text} on {paper}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn what_strangers_wrote_stays_text() {
        assert_eq!(escaped("<b a=\"1\" c='2'>&\u{1b}"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd}");
        assert_eq!(prose("`a<b` needs `c`"), "<code>a&lt;b</code> needs <code>c</code>");
        assert_eq!(prose("an odd ` one"), "an odd ` one");
    }
}
