//! What every page of macml begins and ends with: its head, its colours in light and dark, its style, and text made safe.
//!
//! A page is one file that needs nothing else: no script, no font, nothing fetched; readable without colour, by keyboard,
//! on paper and on a phone. What stands on it is its maker's.

use std::fmt::Write as _;

/// Names of colours with their values, as `--NAME` of CSS.
pub type Palette = &'static [(&'static str, &'static str)];

/// Colours of paper, text, quiet text, lines and heads on light paper.
pub const LIGHT: Palette =
    &[("paper", "#ffffff"), ("text", "#1c1c1e"), ("quiet", "#55555b"), ("line", "#c9c9ce"), ("head", "#f2f2f4")];

/// The same on dark paper.
pub const DARK: Palette =
    &[("paper", "#161618"), ("text", "#ececee"), ("quiet", "#b0b0b6"), ("line", "#46464c"), ("head", "#232326")];

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
td{vertical-align:top;padding:.45rem .6rem}
summary{cursor:pointer}
summary:hover{text-decoration:underline}
summary:focus-visible,.scroll:focus-visible,a:focus-visible{outline:2px solid currentColor;outline-offset:2px}
details ul,.list{margin:.3rem 0 .5rem;padding-left:1.1rem}
details li,.list li{overflow-wrap:anywhere}
.legend{display:flex;flex-wrap:wrap;gap:.35rem .75rem;list-style:none;margin:.75rem 0;padding:0}
.legend li{padding:.1rem .5rem}
code{font:.95em ui-monospace,SFMono-Regular,Menlo,monospace;overflow-wrap:anywhere}
.list{max-width:60rem}
@media print{.scroll{overflow:visible}td,th,.legend li{border:1px solid var(--line)}tr,li{break-inside:avoid}main{max-width:none;padding:0}table{font-size:.75rem}}
";

/// What a page adds to what all have.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Its own colours on light paper.
    pub light: Palette,
    /// The same on dark paper.
    pub dark: Palette,
    /// Its own rules.
    pub rules: &'static str,
}

/// How much of a file [`is_page`] wants to see.
pub const START: u64 = 1024;

/// What tells a page of macml from any other file.
const GENERATOR: &str = "<meta name=\"generator\" content=\"macml\">";

/// Returns whether a file that begins like this is a page of macml, which another one may replace.
pub fn is_page(start: &[u8]) -> bool {
    start.starts_with(b"<!doctype html>") && start.windows(GENERATOR.len()).any(|part| part == GENERATOR.as_bytes())
}

/// Writes a page around its content.
pub fn whole(title: &str, style: &Style, content: &str) -> String {
    let variables =
        |all: [Palette; 2]| all.concat().iter().map(|(name, value)| format!("--{name}:{value};")).collect::<String>();
    let (light, dark) = (variables([LIGHT, style.light]), variables([DARK, style.dark]));
    let (title, rules) = (escaped(title), style.rules);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{GENERATOR}\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n:root{{color-scheme:light \
         dark;{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{LAYOUT}{rules}</style>\n\
         </head>\n<body>\n<main>\n{content}</main>\n</body>\n</html>\n"
    )
}

/// Adds a line to a page's content.
pub fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a String does not fail");
}

/// Begins a table that scrolls by itself where it is too wide, named by the heading with this id.
pub fn begin_table(out: &mut String, id: &str) {
    line(out, &format!("<div class=\"scroll\" role=\"region\" aria-labelledby=\"{id}\" tabindex=\"0\">\n<table>"));
}

/// Makes text safe between tags and in attributes; control characters, which no page may have, are replaced.
pub fn escaped(text: &str) -> String {
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

/// Returns the contrast of two colours as WCAG 2 reckons it: 1 for the same, 21 for black and white; text wants 4.5.
///
/// # Panics
/// When a colour is not written `#rrggbb`.
pub fn contrast(one: &str, two: &str) -> f64 {
    let luminance = |color: &str| {
        let channel = |at: usize| {
            let value = u8::from_str_radix(&color[at..at + 2], 16).expect("colours are written `#rrggbb`");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    };
    let (one, two) = (luminance(one), luminance(two));
    (one.max(two) + 0.05) / (one.min(two) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_can_be_read_in_both_schemes() {
        assert!((contrast("#ffffff", "#000000") - 21.0).abs() < 0.01);
        for palette in [LIGHT, DARK] {
            let of = |name: &str| palette.iter().find(|(known, _)| *known == name).unwrap().1;
            for (paper, text) in [("paper", "text"), ("paper", "quiet"), ("head", "text")] {
                let contrast = contrast(of(paper), of(text));
                assert!(contrast >= 4.5, "{text} on {paper}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn a_page_is_known_by_its_start() {
        let page = whole(&"long ".repeat(1000), &Style { light: &[], dark: &[], rules: "" }, "");
        assert!(is_page(&page.as_bytes()[..1024]));
        let others = ["", "# README\n", "<!doctype html>\n<html>", GENERATOR, &page[1..]];
        others.iter().for_each(|other| assert!(!is_page(other.as_bytes()), "{other}"));
    }

    #[test]
    fn what_strangers_wrote_stays_text() {
        assert_eq!(escaped("<b a=\"1\" c='2'>&\u{1b}"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd}");
        let style = Style { light: &[("own", "#123456")], dark: &[("own", "#abcdef")], rules: "b{color:var(--own)}\n" };
        let page = whole("</title>", &style, "<p>x</p>\n");
        assert!(page.contains("<title>&lt;/title&gt;</title>"), "{page}");
        assert!(page.contains("--own:#123456;") && page.contains("--own:#abcdef;"), "{page}");
    }
}
