//! A page for a terminal: headings stand out, code is indented, paragraphs are as wide as the terminal, and none of Markdown's
//! marks is left.
//!
//! It knows what our pages have: headings, paragraphs, lists, tables, code in lines and blocks, emphasis, links.

use crate::printer::HEAD;
use crate::printer::NAME;
use crate::printer::styled;

/// Lines of more columns are hard to read.
const WIDEST: usize = 100;

/// How wide it is where the terminal does not say, and at least.
const USUAL: usize = 80;
const NARROWEST: usize = 30;

/// Lays out a page for so many columns; without colours, code within lines keeps its backticks.
pub(super) fn rendered(markdown: &str, colored: bool, columns: Option<usize>) -> String {
    let width = columns.unwrap_or(USUAL).clamp(NARROWEST, WIDEST);
    let mut page = Page { lines: Vec::new(), open: None, colored, width };
    let mut fenced = false;
    for line in markdown.lines() {
        match line {
            line if line.trim_start().starts_with("```") => {
                page.close();
                fenced = !fenced;
            }
            line if fenced => page.as_it_is(format!("    {line}")),
            "" => page.as_it_is(String::new()),
            line if line.starts_with("    ") && page.open.is_none() => page.as_it_is(line.to_owned()),
            line if line.starts_with('|') => page.as_it_is(line.to_owned()),
            line if line.starts_with('#') => {
                let heading = line.trim_start_matches('#').trim_start();
                page.as_it_is(styled(HEAD, spoken(heading).replace('`', "")));
            }
            line => page.say(line),
        }
    }
    page.close();
    page.lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A page that is laid out.
struct Page {
    lines: Vec<String>,
    /// The paragraph or item that goes on, with what stands before its first line.
    open: Option<(String, String)>,
    colored: bool,
    width: usize,
}

impl Page {
    fn as_it_is(&mut self, line: String) {
        self.close();
        self.lines.push(line);
    }

    /// Takes a line of a paragraph or a list.
    fn say(&mut self, line: &str) {
        let text = line.trim_start();
        let marker = marker(text);
        match &mut self.open {
            Some((_, open)) if marker == 0 => {
                if !(is_tight(open.chars().last()) || is_tight(text.chars().next())) {
                    open.push(' ');
                }
                open.push_str(text);
            }
            _ => {
                self.close();
                let indent = &line[..line.len() - text.len()];
                self.open = Some((format!("{indent}{}", &text[..marker]), text[marker..].to_owned()));
            }
        }
    }

    fn close(&mut self) {
        let Some((before, text)) = self.open.take() else { return };
        let hanging = " ".repeat(before.chars().count());
        let wrapped = wrapped(&spoken(&text), self.width.saturating_sub(hanging.len()));
        for (at, line) in wrapped.iter().enumerate() {
            let indent = if at == 0 { &before } else { &hanging };
            self.lines.push(format!("{indent}{}", self.coded(line)));
        }
    }

    /// Colours code, which stands between backticks.
    fn coded(&self, line: &str) -> String {
        if !self.colored {
            return line.to_owned();
        }
        let part = |(at, part): (usize, &str)| if at % 2 == 1 { styled(NAME, part) } else { part.to_owned() };
        line.split('`').enumerate().map(part).collect()
    }
}

/// Returns the length of the mark that begins an item of a list, `- ` or `2. `; 0 where there is none.
fn marker(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match digits {
        0 if text.starts_with("- ") || text.starts_with("* ") => 2,
        1.. if text[digits..].starts_with(". ") => digits + 2,
        _ => 0,
    }
}

/// Whether a character takes two columns, as those of Chinese do.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}')
}

/// Whether no space belongs beside a character where lines are joined.
fn is_tight(c: Option<char>) -> bool {
    c.is_some_and(is_wide)
}

/// Whether no line may begin with a character.
fn ends(c: char) -> bool {
    "，。；：、！？）》」』”’…".contains(c)
}

/// Whether no line may end with a character.
fn begins(c: char) -> bool {
    "（《「『“‘".contains(c)
}

fn columns(text: &str) -> usize {
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

/// Breaks a paragraph into lines: at spaces and between Chinese characters, never within code.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for (piece, spaced) in pieces(text) {
        let gap = usize::from(spaced && !line.is_empty());
        if !line.is_empty() && columns(&line) + gap + columns(&piece) > width {
            lines.push(std::mem::take(&mut line));
        }
        if spaced && !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&piece);
    }
    lines.push(line);
    lines
}

/// Splits a paragraph into what stays together, each with whether a space precedes it.
fn pieces(text: &str) -> Vec<(String, bool)> {
    let mut all: Vec<(String, bool)> = Vec::new();
    let (mut spaced, mut within_code, mut last) = (false, false, ' ');
    for c in text.chars() {
        if c == ' ' && !within_code {
            spaced = true;
            last = c;
            continue;
        }
        let may_break = spaced || (!within_code && (is_wide(c) || is_wide(last)));
        let together = !spaced && (ends(c) || begins(last));
        match all.last_mut() {
            Some((piece, _)) if !may_break || together => piece.push(c),
            _ => all.push((c.to_string(), spaced)),
        }
        within_code ^= c == '`';
        (spaced, last) = (false, c);
    }
    all
}

/// Takes the marks of emphasis and links out of a text, but not out of its code.
fn spoken(text: &str) -> String {
    let part = |(at, part): (usize, &str)| if at % 2 == 1 { part.to_owned() } else { linked(&part.replace("**", "")) };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
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

    fn plain(markdown: &str, colored: bool, width: usize) -> String {
        anstream::adapter::strip_str(&rendered(markdown, colored, Some(width))).to_string()
    }

    #[test]
    fn marks_go_and_code_stays() {
        let markdown = "# no-gpu: no `GPU`\n\n## Cause\n\nSee **this** `a*b` of [torch](https://x.example/a).\n\n    $ # code\n\n\
                        ```sh\necho `x` # y\n```\n\n- one <https://x.example/b>\n- `a > b`\n";
        let expected = "no-gpu: no GPU\n\nCause\n\nSee this a*b of torch (https://x.example/a).\n\n    $ # code\n\n    \
                        echo `x` # y\n\n- one https://x.example/b\n- a > b\n";
        assert_eq!(plain(markdown, true, 80), expected);
        assert!(rendered(markdown, true, None).contains("\x1b[1mCause\x1b[0m"));
        assert!(plain(markdown, false, 80).contains("this `a*b` of"));
    }

    #[test]
    fn paragraphs_and_items_are_as_wide_as_the_terminal() {
        let markdown = "Some words that\ngo on and on and never seem to `stop it now` at all.\n\n\
                        1. first of the items, which is\n   long\n2. second\n- third\nlast\n";
        let expected = "Some words that go on and on\nand never seem to\n`stop it now` at all.\n\n\
                        1. first of the items, which\n   is long\n2. second\n- third last\n";
        assert_eq!(plain(markdown, false, 30), expected);
    }

    #[test]
    fn chinese_breaks_between_characters_and_never_before_a_comma() {
        let markdown = "这个进程看不到任何显卡设备，\n所以 `torch.backends.mps` 不可用（见下）。\n";
        let expected = "这个进程看不到任何显卡设备，所\n以 `torch.backends.mps` 不可用\n（见下）。\n";
        assert_eq!(plain(markdown, false, 30), expected);
        let edge = plain("这个进程看不到任何显卡设备了呀，再见\n", false, 30);
        assert_eq!(edge, "这个进程看不到任何显卡设备了\n呀，再见\n");
    }

    #[test]
    fn of_each_page_nothing_is_lost() {
        for (page, language) in Page::all().flat_map(|page| Language::ALL.map(|language| (page, language))) {
            let markdown = page.text(language);
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            for width in [40, 80, 100] {
                let plain = plain(markdown, false, width);
                // The language of a fenced block is no text.
                if !markdown.contains("```") {
                    assert_eq!(letters(&plain), letters(markdown), "{}", page.as_str());
                }
                assert!(!plain.lines().any(|line| line.starts_with("```")), "{}", page.as_str());
            }
        }
    }
}
