//! What was measured of one tool for one kind of work, and how it is written down; and how memory is measured.

use std::fmt;
use std::path::Path;
use std::process::Command;

/// What was measured of one tool for one row.
pub(crate) struct Samples {
    unit: Unit,
    /// Sorted.
    values: Vec<f64>,
}

/// What samples are measured in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Mebibytes,
}

impl Samples {
    pub(crate) fn new(unit: Unit, mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self { unit, values }
    }

    pub(crate) fn median(&self) -> f64 {
        self.values[self.values.len() / 2]
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: f64| match self.unit {
            Unit::Mebibytes => format!("{value:.0} MiB"),
            Unit::Milliseconds if value < 10.0 => format!("{value:.1} ms"),
            Unit::Milliseconds if value < 1000.0 => format!("{value:.0} ms"),
            Unit::Milliseconds => format!("{:.2} s", value / 1000.0),
        };
        let (least, most) = (self.values[0], self.values[self.values.len() - 1]);
        write!(out, "{} ({}–{})", show(self.median()), show(least), show(most))
    }
}

/// Makes a command that runs `words` and prints their peak memory, which [`weight`] reads.
pub(crate) fn weighed(interpreter: &Path, words: &[String]) -> Command {
    // The kernel's own count, which only a parent can ask for.
    const PEAK: &str = "\
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)";
    let mut command = Command::new(interpreter);
    command.args(["-c", PEAK]).args(words);
    command
}

/// Reads what a weighed command printed, in MiB.
pub(crate) fn weight(text: &str) -> f64 {
    let peak: f64 = text.trim().parse().expect("Python prints a number");
    // Bytes on a Mac, KiB elsewhere.
    if cfg!(target_os = "macos") { peak / 1024.0 / 1024.0 } else { peak / 1024.0 }
}
