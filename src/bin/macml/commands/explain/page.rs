//! A page for a terminal: headings stand out, code is indented, and none of Markdown's marks is left.
//!
//! It knows what our pages have: headings, paragraphs, lists, code in lines and blocks, emphasis, links.

use crate::printer::HEAD;
use crate::printer::NAME;
use crate::printer::styled;

/// Lays out a page; without colours, code within lines keeps its backticks.
pub(super) fn rendered(markdown: &str, colored: bool) -> String {
    let mut text = String::new();
    let mut fenced = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        match line {
            line if fenced => text.extend(["    ", line]),
            line if line.starts_with("    ") => text.push_str(line),
            line if line.starts_with('#') => {
                let heading = line.trim_start_matches('#').trim_start();
                text.push_str(&styled(HEAD, within(heading, false)));
            }
            line => text.push_str(&within(line, colored)),
        }
        text.push('\n');
    }
    text
}

/// Lays out what stands within a line.
fn within(line: &str, colored: bool) -> String {
    let mut text = String::new();
    for (at, part) in line.split('`').enumerate() {
        match (at % 2 == 1, colored) {
            (true, true) => text.push_str(&styled(NAME, part)),
            (true, false) => text.extend(["`", part, "`"]),
            (false, _) => text.push_str(&linked(&part.replace("**", ""))),
        }
    }
    text
}

/// Writes `[text](address)` as `text (address)`, and `<address>` without its brackets.
fn linked(part: &str) -> String {
    let mut text = String::new();
    let mut rest = part;
    while let Some((before, named, address, after)) = link(rest) {
        text.extend([before, named, " (", address, ")"]);
        rest = after;
    }
    text.push_str(rest);
    while let Some(start) = text.find("<http")
        && let Some(length) = text[start..].find('>')
    {
        text.remove(start + length);
        text.remove(start);
    }
    text
}

/// Finds the first link: what precedes it, its text, its address, what follows.
fn link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = text.find("](")?;
    let start = text[..middle].rfind('[')?;
    let end = middle + text[middle..].find(')')?;
    Some((&text[..start], &text[start + 1..middle], &text[middle + 2..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use macml::diag::{Language, Page};

    use super::*;

    #[test]
    fn marks_go_and_code_stays() {
        let markdown = "# no-gpu: no GPU\n\n## Cause\n\nSee **this** `a*b` of [torch](https://x.example/a).\n\n    $ # code\n\n\
                        ```sh\necho `x` # y\n```\n\n- one <https://x.example/b>\n- `a > b`\n";
        let plain = anstream::adapter::strip_str(&rendered(markdown, true)).to_string();
        let expected = "no-gpu: no GPU\n\nCause\n\nSee this a*b of torch (https://x.example/a).\n\n    $ # code\n\n    \
                        echo `x` # y\n\n- one https://x.example/b\n- a > b\n";
        assert_eq!(plain, expected);
        assert!(rendered(markdown, true).contains("\x1b[1mCause\x1b[0m"));
        assert!(rendered(markdown, false).contains("this `a*b` of"));
    }

    #[test]
    fn of_each_page_nothing_is_lost() {
        for (page, language) in Page::all().flat_map(|page| Language::ALL.map(|language| (page, language))) {
            let markdown = page.text(language);
            let plain = anstream::adapter::strip_str(&rendered(markdown, false)).to_string();
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            // The language of a fenced block is no text.
            if !markdown.contains("```") {
                assert_eq!(letters(&plain), letters(markdown), "{}", page.as_str());
            }
            assert!(!plain.lines().any(|line| line.starts_with('#') || line.starts_with("```")), "{}", page.as_str());
        }
    }
}
