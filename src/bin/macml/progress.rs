//! Draws progress events: one line at the bottom of a terminal; elsewhere a line for each large download, and more
//! with `-v`.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;
use std::time::Instant;

use indicatif::ProgressBar;
use indicatif::ProgressDrawTarget;
use indicatif::ProgressState;
use indicatif::ProgressStyle;
use macml::progress::Downloaded;
use macml::progress::Progress;
use macml::progress::Step;
use macml::sys::disk::Bytes;

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
    /// Apart from the state, since it is read whenever the line is drawn: a download that stalls must be seen to.
    rate: Arc<Mutex<Rate>>,
}

/// Downloads of at least this size are told one by one where nothing is drawn.
const LARGE: u64 = 10_000_000;

/// How often a line that only counts bytes is drawn anew.
const REDRAWN: Duration = Duration::from_millis(60);

#[derive(Default)]
struct State {
    begun: bool,
    solving: String,
    latest: String,
    done: usize,
    pending: usize,
    bytes: u64,
    wheels: Option<Wheels>,
    building: bool,
    probing: Option<Probing>,
    drawn: Option<Instant>,
}

/// Wheels on their way.
#[derive(Default)]
struct Wheels {
    files: usize,
    done: usize,
    bytes: u64,
    there: u64,
}

/// A probe that runs.
struct Probing {
    what: String,
    latest: String,
}

/// Bytes per second over the last seconds.
#[derive(Default)]
struct Rate(VecDeque<(Instant, u64)>);

impl Rate {
    /// What is older says nothing about now.
    const WINDOW: Duration = Duration::from_secs(4);

    /// What comes within so short a time counts as one.
    const STEP: Duration = Duration::from_millis(100);

    fn add(&mut self, now: Instant, bytes: u64) {
        match self.0.back_mut() {
            Some((at, sum)) if now.duration_since(*at) < Self::STEP => *sum += bytes,
            _ => self.0.push_back((now, bytes)),
        }
        while self.0.front().is_some_and(|(at, _)| now.duration_since(*at) > Self::WINDOW) {
            self.0.pop_front();
        }
    }

    /// Says nothing in the first half second, in which it would be a guess.
    fn per_second(&self, now: Instant) -> Option<u64> {
        let since = now.duration_since(self.0.front()?.0).as_secs_f64();
        let recent = self.0.iter().filter(|(at, _)| now.duration_since(*at) <= Self::WINDOW);
        let sum: u64 = recent.map(|(_, bytes)| bytes).sum();
        (since >= 0.5).then(|| (sum as f64 / since.min(Self::WINDOW.as_secs_f64())) as u64)
    }
}

impl Draw {
    /// Prepares to draw. Nothing appears before the first event, so a run without work stays without a flicker.
    pub(crate) fn new(drawing: Drawing, printer: &Printer) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self { printer: printer.beside(&bar), bar, drawing, state: Mutex::default(), rate: Arc::default() }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().expect("no holder of the state panics");
        change(&mut state);
        if self.drawing != Drawing::Terminal {
            return;
        }
        if !state.begun {
            state.begun = true;
            self.bar.set_style(style(self.rate.clone()));
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(15));
            self.bar.reset_elapsed();
            self.bar.enable_steady_tick(Duration::from_millis(100));
        }
        state.drawn = Some(Instant::now());
        self.bar.set_message(state.line());
    }

    /// Counts bytes of wheels, of which there are thousands of events a second.
    fn count(&self, change: impl FnOnce(&mut Wheels)) {
        let mut state = self.state.lock().expect("no holder of the state panics");
        change(state.wheels.get_or_insert_default());
        let due = state.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAWN);
        drop(state);
        if due {
            self.update(|_| ());
        }
    }
}

fn style(rate: Arc<Mutex<Rate>>) -> ProgressStyle {
    let style = ProgressStyle::with_template("{spinner} {wide_msg} {rate}{elapsed}").expect("the template is constant");
    style.with_key("rate", move |_: &ProgressState, out: &mut dyn fmt::Write| {
        let rate = rate.lock().expect("no holder of the rate panics").per_second(Instant::now());
        // The bar has no place for a failure.
        let _ = rate.map_or(Ok(()), |rate| write!(out, "{}/s ", Bytes(rate)));
    })
}

impl State {
    fn line(&self) -> String {
        if let Some(Probing { what, latest }) = &self.probing {
            let latest = if latest.is_empty() { String::new() } else { format!(" · {latest}") };
            return format!("asking {what}{latest}");
        }
        if self.building {
            return "building the environment".to_owned();
        }
        if let Some(wheels) = &self.wheels {
            return wheels.line();
        }
        let mut parts = Vec::new();
        if !self.solving.is_empty() {
            parts.push(format!("solving {}", self.solving));
        }
        if self.done + self.pending > 0 {
            parts.push(format!("{} of {} answers", self.done, self.done + self.pending));
        }
        if self.bytes > 0 {
            parts.push(Bytes(self.bytes).to_string());
        }
        if !self.latest.is_empty() {
            parts.push(self.latest.clone());
        }
        parts.join(" · ")
    }
}

impl Wheels {
    fn line(&self) -> String {
        format!("{} of {} wheels · {} of {}", self.done, self.files, Bytes(self.there), Bytes(self.bytes))
    }
}

/// Says that a large wheel is there, and how fast it came.
fn told(file: &Downloaded<'_>) -> String {
    let rate = file.arrived as f64 / file.took.as_secs_f64().max(0.001);
    let part = if file.arrived < file.size { format!(" ({} now)", Bytes(file.arrived)) } else { String::new() };
    format!("downloaded {}, {}{part}, {}/s", file.file, Bytes(file.size), Bytes(rate as u64))
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

    fn downloading(&self, files: usize, bytes: u64, present: u64) {
        self.update(|state| {
            state.wheels = Some(Wheels { files, bytes, there: present, ..Wheels::default() });
        });
    }

    fn arrived(&self, bytes: u64) {
        self.rate.lock().expect("no holder of the rate panics").add(Instant::now(), bytes);
        self.count(|wheels| wheels.there += bytes);
    }

    fn found(&self, bytes: u64) {
        self.count(|wheels| wheels.there += bytes);
    }

    fn lost(&self, bytes: u64) {
        self.count(|wheels| wheels.there = wheels.there.saturating_sub(bytes));
    }

    fn downloaded(&self, file: &Downloaded<'_>) {
        self.update(|state| state.wheels.get_or_insert_default().done += 1);
        if self.drawing == Drawing::Lines && file.size >= LARGE && file.arrived > 0 {
            self.printer.aside(&format!("{}\n", told(file)));
        }
    }

    fn solving(&self, environment: &str, platform: &str) {
        self.printer.detail(&format!("solving {environment} for {platform}"));
        self.update(|state| state.solving = format!("{environment} for {platform}"));
    }

    fn step(&self, step: Step) {
        if step == Step::Unpacked {
            self.update(|state| state.building = true);
        }
    }

    fn probing(&self, what: &str, limit: u64) {
        if self.drawing == Drawing::Lines {
            self.printer.aside(&format!("asking {what}, which may take up to {limit} s\n"));
        }
        self.update(|state| state.probing = Some(Probing { what: what.to_owned(), latest: String::new() }));
    }

    fn asking(&self, what: &str) {
        self.printer.detail(&format!("  {what}"));
        self.update(|state| {
            if let Some(probing) = &mut state.probing {
                what.clone_into(&mut probing.latest);
            }
        });
    }

    fn probed(&self) {
        let mut state = self.state.lock().expect("no holder of the state panics");
        (state.probing, state.begun) = (None, false);
        // A question may follow, which nothing is to be drawn over.
        self.bar.finish_and_clear();
        self.bar.disable_steady_tick();
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        self.bar.reset();
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

    fn downloading(&self, files: usize, bytes: u64, present: u64) {
        self.0.downloading(files, bytes, present);
    }

    fn arrived(&self, bytes: u64) {
        self.0.arrived(bytes);
    }

    fn found(&self, bytes: u64) {
        self.0.found(bytes);
    }

    fn lost(&self, bytes: u64) {
        self.0.lost(bytes);
    }

    fn downloaded(&self, file: &Downloaded<'_>) {
        self.0.downloaded(file);
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
        let probing = |latest: &str| Some(Probing { what: "torch 2.13.0 on mps".into(), latest: latest.into() });
        check(State { probing: probing(""), ..State::default() }, "asking torch 2.13.0 on mps");
        let state = State { probing: probing("conv2d in float16"), building: true, ..State::default() };
        check(state, "asking torch 2.13.0 on mps · conv2d in float16");
    }

    #[test]
    fn wheels_are_counted_in_bytes() {
        let wheels = Wheels { files: 50, done: 12, bytes: 3_400_000_000, there: 1_250_000_000 };
        let state = State { done: 7, wheels: Some(wheels), ..State::default() };
        assert_eq!(state.line(), "12 of 50 wheels · 1.2 GB of 3.4 GB");
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let start = Instant::now();
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(start), None);
        for tenth in 0..100 {
            rate.add(start + Duration::from_millis(100 * tenth), 1_000_000);
            if tenth == 4 {
                assert_eq!(rate.per_second(start + Duration::from_millis(400)), None);
            }
        }
        let now = rate.per_second(start + Duration::from_secs(10)).unwrap();
        assert!((9_500_000..=10_500_000).contains(&now), "{now}");
        assert_eq!(rate.per_second(start + Duration::from_secs(20)), Some(0));
        assert!(rate.0.len() < 50);
    }

    #[test]
    fn a_large_wheel_is_told_with_what_came_now() {
        let check = |arrived, text: &str| {
            let file =
                Downloaded { file: "a-1-py3-none-any.whl", size: 84_200_000, arrived, took: Duration::from_secs(2) };
            assert_eq!(told(&file), text);
        };
        check(84_200_000, "downloaded a-1-py3-none-any.whl, 84.2 MB, 42.1 MB/s");
        check(4_000_000, "downloaded a-1-py3-none-any.whl, 84.2 MB (4.0 MB now), 2.0 MB/s");
    }
}
