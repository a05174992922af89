//! The table as a page: one file that needs nothing else, no script, readable without colour, by keyboard, on paper and
//! on a phone.

use std::ops::RangeInclusive;

use macml::matrix::Answer;
use macml::matrix::Cell;
use macml::matrix::Mark;
use macml::matrix::Table;
use macml::page;
use macml::page::Style;
use macml::page::begin_table;
use macml::page::escaped;
use macml::page::line;

use crate::amount;
use crate::report::matrix as report;

/// Paper and text of each mark, and the rest of what looks its own way here.
const STYLE: Style = Style {
    light: &[
        ("fine", "#e3f4e7"),
        ("fine-text", "#0f4d22"),
        ("unknown", "#e4ecfb"),
        ("unknown-text", "#1b3a7a"),
        ("problems", "#fdf0c8"),
        ("problems-text", "#5a3e00"),
        ("refused", "#f2f2f4"),
        ("refused-text", "#55555b"),
    ],
    dark: &[
        ("fine", "#143320"),
        ("fine-text", "#b4ecc4"),
        ("unknown", "#1a2b4d"),
        ("unknown-text", "#c0d5ff"),
        ("problems", "#3d2f07"),
        ("problems-text", "#f8dd8f"),
        ("refused", "#232326"),
        ("refused-text", "#b0b0b6"),
    ],
    rules: "\
.fine{background:var(--fine);color:var(--fine-text)}
.unknown{background:var(--unknown);color:var(--unknown-text)}
.problems{background:var(--problems);color:var(--problems-text)}
.refused{background:var(--refused);color:var(--refused-text)}
td{min-width:10rem;max-width:12rem}
tbody th{position:sticky;left:0}
.mark{font-weight:700}
.set{list-style:none;margin:.2rem 0 0;padding:0}
.set li{display:flex;justify-content:space-between;gap:.75rem;white-space:nowrap}
.set b{font-weight:600;font-variant-numeric:tabular-nums}
@media print{tbody th{position:static}td{min-width:0}}
",
};

/// Makes the page.
pub(super) fn page(tables: &[Table]) -> String {
    let names = tables.iter().map(|table| table.asked.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    let title = format!("What works on Macs: {}", names.collect::<Vec<_>>().join("; "));
    let knowledge = tables.first().map_or("", |table| table.knowledge.date.as_str());
    let mut out = String::new();
    let html = &mut out;
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
    page::whole(&title, &STYLE, &out)
}

fn section(html: &mut String, at: usize, table: &Table) {
    let asked = escaped(&table.lines.join(", "));
    line(html, &format!("<section aria-labelledby=\"t{at}\">\n<h2 id=\"t{at}\">{asked}</h2>"));
    let caption = format!("GPU {}, chip {} and later", report::gpu(table.gpu), escaped(&table.chip.to_string()));
    if table.has_answer() {
        let columns = table.columns();
        begin_table(html, &format!("t{at}"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_can_be_read_in_both_schemes() {
        for palette in [STYLE.light, STYLE.dark] {
            let of = |name: &str| palette.iter().find(|(known, _)| *known == name).unwrap().1;
            for name in Mark::ALL.map(class) {
                let contrast = page::contrast(of(name), of(&format!("{name}-text")));
                assert!(contrast >= 4.5, "{name}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn names_in_sentences_are_marked_and_stay_text() {
        assert_eq!(prose("`a<b` needs `c`"), "<code>a&lt;b</code> needs <code>c</code>");
        assert_eq!(prose("an odd ` one"), "an odd ` one");
    }
}
