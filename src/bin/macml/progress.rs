//! Draws progress events: one line on a terminal, plain lines with `-v`, else nothing.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::ProgressBar;
use indicatif::ProgressDrawTarget;
use indicatif::ProgressStyle;
use macml::progress::Progress;

use crate::context::Drawing;
use crate::printer::Level;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::styled;

/// The one line at the bottom of the terminal.
pub(crate) struct Draw {
    bar: ProgressBar,
    drawing: Drawing,
    printer: Printer,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    begun: bool,
    solving: String,
    latest: String,
    done: usize,
    pending: usize,
    bytes: u64,
}

impl Draw {
    /// Prepares to draw. Nothing appears before the first event, so a run without work stays without a flicker.
    pub(crate) fn new(drawing: Drawing, printer: &Printer) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self { printer: printer.beside(&bar), bar, drawing, state: Mutex::default() }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().expect("no holder of the state panics");
        change(&mut state);
        if self.drawing == Drawing::Nothing {
            return;
        }
        if !state.begun {
            state.begun = true;
            self.bar.set_style(style());
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(15));
            self.bar.reset_elapsed();
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
        self.bar.set_message(state.line());
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}").expect("the template is constant")
}

impl State {
    fn line(&self) -> String {
        let mut parts = Vec::new();
        if !self.solving.is_empty() {
            parts.push(format!("solving {}", self.solving));
        }
        if self.done + self.pending > 0 {
            parts.push(format!("{} of {} answers", self.done, self.done + self.pending));
        }
        if self.bytes > 0 {
            parts.push(size(self.bytes));
        }
        if !self.latest.is_empty() {
            parts.push(self.latest.clone());
        }
        parts.join(" · ")
    }
}

/// Writes a number of bytes as people say it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

impl Progress for Draw {
    fn requested(&self, what: &str, pending: usize) {
        self.printer.detail(&format!("asked for {what}"));
        self.update(|state| {
            state.pending = pending;
            what.clone_into(&mut state.latest);
        });
    }

    fn answered(&self, what: &str, done: usize, pending: usize) {
        let _ = what;
        self.update(|state| (state.done, state.pending) = (done, pending));
    }

    fn received(&self, bytes: u64) {
        self.update(|state| state.bytes += bytes);
    }

    fn solving(&self, environment: &str, platform: &str) {
        self.printer.detail(&format!("solving {environment} for {platform}"));
        self.update(|state| state.solving = format!("{environment} for {platform}"));
    }

    fn note(&self, text: &str) {
        if self.printer.level() >= Level::Normal {
            self.printer.aside(&format!("{}: {text}\n", styled(NAME, "note")));
        }
    }
}

/// What the index says of its own: bytes and notes. Its questions are the solver's, which are drawn already.
pub(crate) struct Transfers(pub(crate) Arc<Draw>);

impl Progress for Transfers {
    fn received(&self, bytes: u64) {
        self.0.received(bytes);
    }

    fn note(&self, text: &str) {
        self.0.note(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_known_so_far() {
        let check = |state: State, expected: &str| assert_eq!(state.line(), expected);
        check(State::default(), "");
        check(
            State { solving: "default for macos-arm64".into(), ..State::default() },
            "solving default for macos-arm64",
        );
        let state = State { latest: "torch".into(), done: 3, pending: 4, bytes: 1_250_000, ..State::default() };
        check(state, "3 of 7 answers · 1.2 MB · torch");
    }
}
