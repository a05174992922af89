//! A log as people see it: bytes in, lines out, without what terminals, continuous integration and quoting put around them.

use std::borrow::Cow;

/// A line, with its number in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: usize,
    /// Without colours and what was put before it.
    pub(super) text: String,
}

/// What is kept of a line: a decisive message stands at its beginning, a path or a cause at its end.
const LONGEST: usize = 8192;

/// Reads the lines of a text that are not empty.
pub(super) fn lines(text: &[u8]) -> Vec<Line> {
    let text = decoded(text);
    let lines = text.split('\n').enumerate().map(|(at, line)| Line { number: at + 1, text: seen(line) });
    lines.filter(|line| !line.text.is_empty()).collect()
}

fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        bytes => String::from_utf8_lossy(bytes),
    }
}

/// Returns a line as a terminal leaves it standing.
fn seen(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    // A bar of progress draws itself anew after each of them.
    let line = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default();
    let line = plain(line);
    let line = cut(&line);
    let line = straight(&line);
    // Input methods write it so behind the name of an exception.
    let line = line.replacen("Error：", "Error: ", 1);
    unwrapped(line.trim()).to_owned()
}

/// Takes out what steers a terminal.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => match chars.next() {
                Some('[') => while chars.next().is_some_and(|char| !('@'..='~').contains(&char)) {},
                Some(']') => {
                    while let Some(char) = chars.next() {
                        if char == '\u{7}' || char == '\u{1b}' && chars.next_if_eq(&'\\').is_some() {
                            break;
                        }
                    }
                }
                _ => {}
            },
            '\u{8}' => _ = out.pop(),
            '\t' | '\u{a0}' => out.push(' '),
            char if char.is_control() || char == '\u{feff}' => {}
            char => out.push(char),
        }
    }
    out
}

/// Keeps both ends of a line.
fn cut(line: &str) -> Cow<'_, str> {
    if line.len() <= LONGEST {
        return Cow::Borrowed(line);
    }
    let head = line.floor_char_boundary(LONGEST / 2);
    let tail = line.ceil_char_boundary(line.len() - LONGEST / 2);
    Cow::Owned(format!("{} … {}", &line[..head], &line[tail..]))
}

/// Puts the quotes of a keyboard for those of a word processor.
fn straight(line: &str) -> Cow<'_, str> {
    const CURLY: [char; 6] = ['‘', '’', '“', '”', '＂', '＇'];
    if !line.contains(CURLY) {
        return Cow::Borrowed(line);
    }
    let quote = |char| match char {
        '‘' | '’' | '＇' => '\'',
        '“' | '”' | '＂' => '"',
        other => other,
    };
    Cow::Owned(line.chars().map(quote).collect())
}

/// Takes off what is put before lines: marks of quoting and of pytest, times, ranks, numbers of steps of a build.
fn unwrapped(mut line: &str) -> &str {
    for _ in 0..6 {
        let rest = quoted(line).or_else(|| bracketed(line)).or_else(|| timed(line)).or_else(|| step(line));
        let rest = rest.or_else(|| service(line)).or_else(|| logger(line)).or_else(|| told(line));
        match rest {
            Some(rest) => line = rest.trim_start(),
            None => break,
        }
    }
    line
}

/// `> `, `E   ` of pytest, `| ` and `│ ` of pip and rich, `!! ` of buildkit.
fn quoted(line: &str) -> Option<&str> {
    let mark = |mark: &str| line.strip_prefix(mark);
    mark("> ").or_else(|| mark("E   ")).or_else(|| mark("| ")).or_else(|| mark("│ ")).or_else(|| mark("╰─> "))
}

/// `[rank0]: `, `[2026-01-05 10:11:12,345] `, `[stderr] `.
fn bracketed(line: &str) -> Option<&str> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    const WORDS: [&str; 9] = ["stderr", "stdout", "err", "ERROR", "WARNING", "INFO", "DEBUG", "CRITICAL", "error"];
    let known = inside.starts_with("rank") || WORDS.contains(&inside.trim()) || is_time(inside);
    known.then(|| rest.trim_start_matches(':'))
}

/// `2026-01-05T10:11:12.1234567Z `, `10:11:12 `.
fn timed(line: &str) -> Option<&str> {
    let (first, rest) = line.split_once(' ')?;
    if !is_time(first) {
        return None;
    }
    let rest = rest.trim_start();
    // A date of its own, with the time behind it, and what a logger says of itself.
    Some(rest.strip_prefix("- ").unwrap_or(rest))
}

fn is_time(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let marks = text.bytes().filter(|byte| matches!(byte, b':' | b'-' | b'/')).count();
    digits >= 6 && marks >= 2 && text.bytes().all(|byte| byte.is_ascii_digit() || b":-/.,TZ+ ".contains(&byte))
}

/// `ERROR:root:`, `ERROR - `, `name - ERROR - ` of Python's logging, `!!! Exception during processing !!! ` of ComfyUI.
fn logger(line: &str) -> Option<&str> {
    const LEVELS: [&str; 5] = ["ERROR", "CRITICAL", "WARNING", "INFO", "DEBUG"];
    if let Some(rest) = line.strip_prefix("!!! Exception during processing !!! ") {
        return Some(rest);
    }
    let level = LEVELS.iter().find_map(|level| line.strip_prefix(level));
    if let Some(rest) = level {
        if let Some(rest) = rest.strip_prefix(" - ") {
            return Some(rest);
        }
        let (name, rest) = rest.strip_prefix(':')?.split_once(':')?;
        let plain = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || "._".contains(char));
        return plain.then_some(rest);
    }
    let (name, rest) = line.split_once(" - ")?;
    let plain = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || "._".contains(char));
    let (level, rest) = rest.split_once(" - ")?;
    (plain && LEVELS.contains(&level)).then_some(rest)
}

/// What people put before an error that they ask about.
fn told(line: &str) -> Option<&str> {
    const WORDS: [&str; 9] =
        ["报错如下：", "报错如下:", "报错信息：", "报错信息:", "报错：", "报错:", "报错 ", "错误信息：", "错误："];
    WORDS.iter().find_map(|word| line.strip_prefix(word))
}

/// `app-1  | ` of docker compose.
fn service(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(" | ").or_else(|| line.split_once("  |"))?;
    let (service, number) = name.trim_end().rsplit_once('-')?;
    let plain = !service.is_empty() && service.chars().all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char));
    (plain && !number.is_empty() && number.chars().all(|char| char.is_ascii_digit())).then_some(rest)
}

/// `#12 345.6 ` of buildkit.
fn step(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix('#')?.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    (number.parse::<u32>().is_ok() && time.parse::<f64>().is_ok()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let read: Vec<String> = lines(line.as_bytes()).into_iter().map(|line| line.text).collect();
        assert_eq!(read, [expected]);
    }

    #[test]
    fn what_terminals_and_others_put_around_lines_goes() {
        check("\u{1b}[31mRuntimeError: x\u{1b}[0m\r", "RuntimeError: x");
        check("\u{1b}]8;;file:///x\u{1b}\\RuntimeError: x\u{1b}]8;;\u{7}", "RuntimeError: x");
        check(" 10%|#  | 1/10\r 20%|##  | 2/10\r", "20%|##  | 2/10");
        check("[rank0]: RuntimeError: x", "RuntimeError: x");
        check("2026-01-05T10:11:12.1234567Z E   RuntimeError: x", "RuntimeError: x");
        check("[2026-01-05 10:11:12,345] RuntimeError: x", "RuntimeError: x");
        check("> > RuntimeError: x", "RuntimeError: x");
        check("#12 345.6 RuntimeError: x", "RuntimeError: x");
        check("RuntimeError: operator ‘x’", "RuntimeError: operator 'x'");
        check("ab\u{8}c", "ac");
        check("app-1  | RuntimeError: x", "RuntimeError: x");
        check("ERROR:root:RuntimeError: x", "RuntimeError: x");
        check("2026-11-01 10:00:00,123 - ERROR - RuntimeError: x", "RuntimeError: x");
        check("2026-11-01 10:00:00,123 - train.loop - ERROR - RuntimeError: x", "RuntimeError: x");
        check("!!! Exception during processing !!! RuntimeError: x", "RuntimeError: x");
        check("报错如下：RuntimeError：x", "RuntimeError: x");
        check("2025-01-01 10:00:00,123 [ERROR] RuntimeError: x", "RuntimeError: x");
        assert_eq!(lines(b"\xff\xfea\0\n\0b\0")[1], Line { number: 2, text: "b".to_owned() });
        assert_eq!(lines(b"\n\n \n"), []);
    }

    #[test]
    fn long_lines_keep_both_ends() {
        let line = format!("RuntimeError: {}end", "é".repeat(9000));
        let text = &lines(line.as_bytes())[0].text;
        assert!(text.starts_with("RuntimeError: ") && text.ends_with("end") && text.len() < LONGEST + 8);
    }
}
