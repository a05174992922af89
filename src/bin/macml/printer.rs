//! Results to stdout, all else to stderr, never through a drawn progress line.

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

    /// Writes a result for people to stdout, unless quiet.
    pub(crate) fn result(&self, text: &str) -> std::io::Result<()> {
        if self.level == Level::Quiet { Ok(()) } else { self.data(text) }
    }

    /// Writes what a program asked for to stdout.
    pub(crate) fn data(&self, text: &str) -> std::io::Result<()> {
        self.drawn.suspend(|| {
            let mut stream = AutoStream::new(std::io::stdout().lock(), self.colors.stdout);
            stream.write_all(text.as_bytes())?;
            stream.flush()
        })
    }

    /// Writes text that is laid out already to stderr, whatever the level: for errors.
    pub(crate) fn error(&self, text: &str) {
        self.drawn.suspend(|| {
            let mut stream = AutoStream::new(std::io::stderr().lock(), self.colors.stderr);
            // Where stderr is closed there is nobody left to tell.
            let _ = stream.write_all(text.as_bytes());
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

/// Wraps text in a style; the stream drops it where colours are off.
pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
