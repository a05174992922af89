//! A panel as a drawing (SVG): medians over runs, a line for each device and type, what changed as vertical lines.

use std::fmt::Write as _;

use super::history::{Change, Panel, Series};
use crate::bench::run::Measurement;
use crate::bench::run::Run;
use crate::bench::shown;
use crate::page::escaped;
use crate::page::line as put;
use crate::verify::protocol::Device;
use crate::verify::protocol::ElementType;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 40.0;

/// From this ratio of the longest time to the shortest on, equal ratios are drawn equally high.
const LOGARITHMIC: f64 = 5.0;

/// Where a time and a run are drawn.
struct Scale {
    runs: usize,
    /// For which size of the work times are drawn.
    size: u64,
    low: f64,
    high: f64,
    logarithmic: bool,
}

/// Draws a panel. `id` is that of its heading, `described` that of the table with the same numbers.
pub(super) fn draw(panel: &Panel<'_>, runs: &[&Run], changes: &[Change], id: &str, described: &str) -> String {
    let medians = panel.series.iter().flat_map(|series| series.points.iter().flatten());
    let medians = medians.filter_map(|one| one.median_for(panel.size));
    let scale = Scale::of(runs.len(), panel.size, medians);
    let mut svg = String::new();
    let out = &mut svg;
    put(
        out,
        &format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}\" \
             aria-describedby=\"{described}\">"
        ),
    );
    for tick in scale.ticks() {
        let (y, right) = (scale.y(tick), WIDTH - RIGHT);
        put(out, &format!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>"));
        put(
            out,
            &format!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", LEFT - 8.0, y + 4.5, label(tick)),
        );
    }
    axis(out, &scale, runs);
    marks(out, &scale, changes);
    for series in &panel.series {
        line(out, &scale, series, changes);
    }
    for series in &panel.series {
        points(out, &scale, series, runs);
    }
    put(out, "</svg>");
    svg
}

/// Draws a bit of a series' line with its mark, for the legend.
pub(super) fn swatch(series: &Series<'_>) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 34 14\" aria-hidden=\"true\"><path class=\"{}\" d=\"M1 7H33\"/>{}</svg>",
        classes(series, "line"),
        mark(series, 17.0, 7.0, 4.0, "")
    )
}

/// Draws the mark of a run that has no time, for the legend.
pub(super) fn failed_swatch() -> String {
    let cross = cross("failed axis", (7.0, 7.0), 4.0, "");
    format!("<svg class=\"swatch short\" viewBox=\"0 0 14 14\" aria-hidden=\"true\">{cross}</svg>")
}

fn classes(series: &Series<'_>, kind: &str) -> String {
    let device = if series.device == Device::Cpu { "cpu" } else { "gpu" };
    format!("{kind} {device} {}", series.element)
}

/// Writes the days below, as many as there is room for.
fn axis(out: &mut String, scale: &Scale, runs: &[&Run]) {
    let bottom = HEIGHT - BOTTOM;
    put(out, &format!("<path class=\"axis\" d=\"M{LEFT} {bottom}H{}\"/>", WIDTH - RIGHT));
    let last = runs.len() - 1;
    let at: &[usize] = match runs.len() {
        1 => &[0],
        2..=4 => &[0, last],
        _ => &[0, last / 2, last],
    };
    for run in at {
        let anchor = match *run {
            0 if runs.len() > 1 => "start",
            end if end == last && runs.len() > 1 => "end",
            _ => "middle",
        };
        let (x, day) = (scale.x(*run), shown::day(runs[*run].when));
        put(out, &format!("<path class=\"axis\" d=\"M{x:.1} {bottom}v5\"/>"));
        put(out, &format!("<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{day}</text>", bottom + 24.0));
    }
}

/// Draws a line where something changed, with its number above where there is room for that.
fn marks(out: &mut String, scale: &Scale, changes: &[Change]) {
    let mut free = LEFT;
    for (at, change) in changes.iter().enumerate() {
        let x = f64::midpoint(scale.x(change.run - 1), scale.x(change.run));
        let title = escaped(&format!("{}. {}", at + 1, change.what.join(", ")));
        put(out, &format!("<g class=\"change\"><title>{title}</title><path d=\"M{x:.1} {TOP}V{}\"/>", HEIGHT - BOTTOM));
        if x >= free {
            put(out, &format!("<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>", TOP - 9.0, at + 1));
            free = x + 24.0;
        }
        put(out, "</g>");
    }
}

/// Draws the line of a series, with gaps where a run has no time of it and where the machine is another.
fn line(out: &mut String, scale: &Scale, series: &Series<'_>, changes: &[Change]) {
    let mut path = String::new();
    let mut pen_down = false;
    for (run, point) in series.points.iter().enumerate() {
        pen_down &= !changes.iter().any(|change| change.run == run && change.machine);
        match point.and_then(|measured| measured.median_for(scale.size)) {
            None => pen_down = false,
            Some(median) => {
                let command = if pen_down { 'L' } else { 'M' };
                write!(path, "{command}{:.1} {:.1}", scale.x(run), scale.y(median))
                    .expect("writing to a String does not fail");
                pen_down = true;
            }
        }
    }
    if path.contains('L') {
        put(out, &format!("<path class=\"{}\" d=\"{path}\"/>", classes(series, "line")));
    }
}

/// Draws the marks of a series, each with its words.
fn points(out: &mut String, scale: &Scale, series: &Series<'_>, runs: &[&Run]) {
    let size = if runs.len() > 60 { 2.0 } else { 4.0 };
    for (run, measured) in series.points.iter().enumerate() {
        let Some(measured) = measured else { continue };
        let x = scale.x(run);
        let who = format!("{}, {}", shown::minute(runs[run].when), name(series));
        match measured.median().zip(measured.median_for(scale.size)) {
            Some((median, drawn)) => {
                let other = match measured.size == scale.size {
                    true => String::new(),
                    false => format!(", of size {}", shown::grouped(measured.size)),
                };
                let title = escaped(&format!("{who}: {}{other}", spread(measured, median)));
                let drawn = mark(series, x, scale.y(drawn), size, &format!("<title>{title}</title>"));
                put(out, &drawn);
            }
            None => {
                let said = measured.error.as_deref().or(measured.left_out.as_deref()).unwrap_or("no times");
                let (title, y) = (escaped(&format!("{who}: {said}")), HEIGHT - BOTTOM - 9.0);
                put(out, &cross(&classes(series, "failed"), (x, y), size, &format!("<title>{title}</title>")));
            }
        }
    }
}

/// Draws what stands where a run has no time.
fn cross(class: &str, (x, y): (f64, f64), size: f64, inside: &str) -> String {
    let (left, top, side) = (x - size, y - size, 2.0 * size);
    format!("<path class=\"{class}\" d=\"M{left:.1} {top:.1}l{side} {side}m0 -{side}l-{side} {side}\">{inside}</path>")
}

/// Draws the mark of a series: its shape is the type, so that colour is not needed.
fn mark(series: &Series<'_>, x: f64, y: f64, size: f64, inside: &str) -> String {
    let class = classes(series, "point");
    match series.element {
        ElementType::Float16 => {
            let (left, top, side) = (x - size, y - size, 2.0 * size);
            format!(
                "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{side}\" height=\"{side}\">{inside}</rect>"
            )
        }
        ElementType::Bfloat16 | ElementType::Float64 | ElementType::Complex64 => {
            let (top, size) = (y - 1.3 * size, 1.3 * size);
            format!(
                "<path class=\"{class}\" d=\"M{x:.1} {top:.1}l{size} {size}l-{size} {size}l-{size} -{size}z\">{inside}</path>"
            )
        }
        ElementType::Float32 => {
            format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size}\">{inside}</circle>")
        }
    }
}

/// Names a series as its legend does.
pub(super) fn name(series: &Series<'_>) -> String {
    format!("{} {}", place(series.device), series.element)
}

/// Names a device as people do.
pub(super) fn place(device: Device) -> &'static str {
    match device {
        Device::Cpu => "CPU",
        Device::Mps => "GPU",
        Device::Cuda => "GPU (CUDA)",
    }
}

/// Says a median with what it is taken of.
fn spread(measured: &Measurement, median: f64) -> String {
    let least = measured.seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = measured.seconds.iter().copied().fold(0.0, f64::max);
    let median = shown::seconds(median);
    match measured.seconds.len() {
        0 | 1 => median,
        count => format!("{median}, median of {count} ({} to {})", shown::seconds(least), shown::seconds(most)),
    }
}

/// Writes the time of a tick, with as few digits as it has.
fn label(seconds: f64) -> String {
    let (number, unit) = match seconds {
        none if none <= 0.0 => return "0".to_owned(),
        below if below < 0.999_9e-3 => (below * 1e6, "µs"),
        below if below < 0.999_9 => (below * 1e3, "ms"),
        whole => (whole, "s"),
    };
    let number = format!("{number:.3}");
    format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

impl Scale {
    fn of(runs: usize, size: u64, medians: impl Iterator<Item = f64>) -> Self {
        let usable = medians.filter(|median| median.is_finite() && *median > 0.0);
        let (least, most) = usable.fold((f64::INFINITY, 0.0), |(least, most), one| (one.min(least), one.max(most)));
        if most == 0.0 {
            // Nothing but errors.
            return Self { runs, size, low: 0.0, high: f64::INFINITY, logarithmic: false };
        }
        match most / least >= LOGARITHMIC {
            true => Self { runs, size, low: least / 1.4, high: most * 1.4, logarithmic: true },
            false => Self { runs, size, low: 0.0, high: most * 1.15, logarithmic: false },
        }
    }

    fn x(&self, run: usize) -> f64 {
        const SIDE: f64 = 14.0;
        let room = WIDTH - LEFT - RIGHT - 2.0 * SIDE;
        #[expect(clippy::cast_precision_loss, reason = "there are not so many runs")]
        let part = if self.runs > 1 { run as f64 / (self.runs - 1) as f64 } else { 0.5 };
        LEFT + SIDE + room * part
    }

    fn y(&self, seconds: f64) -> f64 {
        let part = match self.logarithmic {
            true => (seconds.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => seconds / self.high,
        };
        TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - part.clamp(0.0, 1.0))
    }

    /// Lists the times that get a line: of 1, 2 and 5 with zeros as many as there is room for.
    fn ticks(&self) -> Vec<f64> {
        const MOST: usize = 7;
        if self.high.is_infinite() {
            return Vec::new();
        }
        if !self.logarithmic {
            let rough = self.high / 4.0;
            let power = 10_f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0].into_iter().map(|one| one * power).rfind(|step| *step <= rough);
            let step = step.unwrap_or(power);
            let ticks = (0..12).map(|at| f64::from(at) * step);
            return ticks.take_while(|tick| *tick <= self.high).collect();
        }
        let within = |of: &[f64]| -> Vec<f64> {
            let all = (-9..=6).flat_map(|power| of.iter().map(move |one| one * 10_f64.powi(power)));
            all.filter(|tick| *tick >= self.low && *tick <= self.high).collect()
        };
        let choices: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let fits = choices.iter().map(|of| within(of)).find(|ticks| ticks.len() <= MOST);
        fits.unwrap_or_else(|| within(&[1.0]).into_iter().step_by(2).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_round() {
        let labels = |times: &[f64]| -> Vec<String> {
            Scale::of(3, 1, times.iter().copied()).ticks().into_iter().map(label).collect()
        };
        assert_eq!(labels(&[0.012, 0.25]), ["10 ms", "20 ms", "50 ms", "100 ms", "200 ms"]);
        assert_eq!(labels(&[0.3, 0.4]), ["0", "100 ms", "200 ms", "300 ms", "400 ms"]);
        assert_eq!(labels(&[0.0009, 9.0]), ["1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
        assert_eq!(labels(&[]), Vec::<String>::new());
        for least in [1e-6, 3.7e-4, 0.02, 1.9, 77.0] {
            for ratio in [1.0, 1.3, 4.9, 5.0, 60.0, 5e3, 1e6] {
                let ticks = Scale::of(2, 1, [least, least * ratio].into_iter()).ticks();
                assert!((2..=9).contains(&ticks.len()), "{least} × {ratio}: {ticks:?}");
            }
        }
    }

    #[test]
    fn what_takes_longer_is_drawn_higher_and_inside() {
        for times in [[0.1, 0.2], [0.001, 3.0]] {
            let scale = Scale::of(2, 1, times.into_iter());
            let [short, long] = times.map(|time| scale.y(time));
            assert!(TOP <= long && long < short && short <= HEIGHT - BOTTOM);
        }
        let x: Vec<f64> = (0..200).map(|run| Scale::of(200, 1, [1.0].into_iter()).x(run)).collect();
        assert!(x[0] > LEFT && x[199] < WIDTH - RIGHT && x.is_sorted());
    }
}
