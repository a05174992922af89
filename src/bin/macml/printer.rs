//! Results to stdout, all else to stderr, never through a drawn progress line.

use std::borrow::Cow;
use std::io::Write as _;

use anstream::AutoStream;
use anstream::ColorChoice;
use anstyle::AnsiColor;
use anstyle::Style;
use indicatif::ProgressBar;

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Errors only, and what a program asked for.
    Quiet,
    /// Results, warnings and notes.
    Normal,
    /// Requests and timing too.
    Verbose,
}

/// Colours of the two streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colors {
    /// Of stdout.
    pub(crate) stdout: ColorChoice,
    /// Of stderr.
    pub(crate) stderr: ColorChoice,
}

/// Writes to the two streams.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    colors: Colors,
    level: Level,
    /// What is drawn on stderr now, to be cleared before anything is written.
    drawn: ProgressBar,
}

/// Green and bold: good ends.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Red and bold: errors.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Yellow and bold: warnings.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// Bold: headings.
pub(crate) const HEAD: Style = Style::new().bold();
/// Dim: what is said beside.
pub(crate) const ASIDE: Style = Style::new().dimmed();
/// Cyan: names, hints and commands.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();

impl Printer {
    /// Makes one that draws nothing yet.
    pub(crate) fn new(colors: Colors, level: Level) -> Self {
        Self { colors, level, drawn: ProgressBar::hidden() }
    }

    /// Makes one that keeps clear of `bar`.
    pub(crate) fn beside(&self, bar: &ProgressBar) -> Self {
        Self { drawn: bar.clone(), ..self.clone() }
    }

    /// Returns how much is said.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Returns whether stdout has colours.
    pub(crate) fn is_colored(&self) -> bool {
        self.colors.stdout != ColorChoice::Never
    }

    /// Writes a result for people to stdout, unless quiet.
    pub(crate) fn result(&self, text: &str) -> std::io::Result<()> {
        if self.level == Level::Quiet { Ok(()) } else { self.data(text) }
    }

    /// Writes what a program asked for to stdout.
    pub(crate) fn data(&self, text: &str) -> std::io::Result<()> {
        self.drawn.suspend(|| {
            let mut stream = AutoStream::new(std::io::stdout().lock(), self.colors.stdout);
            stream.write_all(harmless(text).as_bytes())?;
            stream.flush()
        })
    }

    /// Writes what a shell is to run to stdout, as it is: every sign of it counts.
    pub(crate) fn code(&self, text: &str) -> std::io::Result<()> {
        let mut stream = std::io::stdout().lock();
        stream.write_all(text.as_bytes())?;
        stream.flush()
    }

    /// Writes text that is laid out already to stderr, whatever the level: for errors.
    pub(crate) fn error(&self, text: &str) {
        self.drawn.suspend(|| {
            let mut stream = AutoStream::new(std::io::stderr().lock(), self.colors.stderr);
            // Where stderr is closed there is nobody left to tell.
            let _ = stream.write_all(harmless(text).as_bytes());
        });
    }

    /// Writes a warning or note that is laid out already to stderr, unless quiet.
    pub(crate) fn aside(&self, text: &str) {
        if self.level >= Level::Normal {
            self.error(text);
        }
    }

    /// Writes one line to stderr where `-v` asked for it.
    pub(crate) fn detail(&self, line: &str) {
        if self.level >= Level::Verbose {
            self.error(&format!("{line}\n"));
        }
    }
}

/// Takes control characters out of text, parts of which come from indexes and wheels: on a terminal they could move the
/// cursor, change its title or hide a line. What turns the direction of writing goes too: it makes a text look like another
/// one. Line feeds, tabs and plain colours stay.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let turns =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let stray = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || turns(c);
    if !text.contains(stray) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(stray) {
        plain.push_str(&rest[..at]);
        let length = color_length(&rest[at..]);
        match length {
            Some(length) => plain.push_str(&rest[at..at + length]),
            None => plain.push(char::REPLACEMENT_CHARACTER),
        }
        let one = rest[at..].chars().next().map_or(1, char::len_utf8);
        rest = &rest[at + length.unwrap_or(one)..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns the length of the colour or weight that a text begins with: `ESC [ 1 m`, never one that hides.
fn color_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix("\x1b[")?;
    let end = body.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let visible = |code: &str| matches!(code.parse(), Ok(0..=4 | 22..=24 | 30..=39 | 90..=97)) || code.is_empty();
    let fits =
        body[end..].starts_with('m') && (body[..end].starts_with("38;5;") || body[..end].split(';').all(visible));
    fits.then_some("\x1b[".len() + end + 1)
}

/// Wraps text in a style; the stream drops it where colours are off.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_s_text_cannot_drive_the_terminal() {
        let check = |text: &str, shown: &str| assert_eq!(harmless(text), shown, "{text:?}");
        check("two\n\tlines", "two\n\tlines");
        check(&styled(BAD, "error"), "\x1b[1m\x1b[31merror\x1b[0m");
        check("\x1b[38;5;9mbright\x1b[39m", "\x1b[38;5;9mbright\x1b[39m");
        check("titled `\x1b]0;mine\x07`", "titled `\u{fffd}]0;mine\u{fffd}`");
        check("up\x1b[2A\x1b[2K\r", "up\u{fffd}[2A\u{fffd}[2K\u{fffd}");
        check("hidden\x1b[8m \x1b[", "hidden\u{fffd}[8m \u{fffd}[");
        check("c1 \u{9b}2J", "c1 \u{fffd}2J");
        check("\u{202e}ko\u{2069}", "\u{fffd}ko\u{fffd}");
    }
}
