//! What `macml bench --output-format json` prints: schema/bench.schema.json is generated from here.

use std::collections::BTreeMap;

use macml::bench;
use macml::bench::Comparison;
use macml::bench::History;
use macml::bench::Trend;
use macml::verify::Class;
use serde::Serialize;

use crate::commands::bench::Outcome;
use crate::error::CommandError;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml bench --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `bench`.
    command: Command,
    /// The end, in one word.
    verdict: Verdict,
    /// The exit code of the process: 0 measured, 1 something failed or became slower, 2 there is no such device, or macml
    /// could not tell.
    pub(crate) exit_code: u8,
    /// The run; with `--list` those that were kept, the last first.
    runs: Vec<Run>,
    /// The file that the run was kept in.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
    /// The run beside an earlier one; present with `--compare` where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Compared>,
    /// Why there is no answer; present with the verdict `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// The verb.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml bench`
    Bench,
}

/// The end, in one word.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// Everything was measured, and nothing became slower than it was in the run compared with. Exit code 0.
    Measured,
    /// Something became slower. Exit code 1.
    Slower,
    /// Something failed. Exit code 1.
    Failed,
    /// A device, or an answer in time, is missing. Exit code 2.
    Unknown,
    /// The runs that were kept. Exit code 0.
    Listed,
    /// macml could not tell. Exit code 2, or 1 where the environment cannot be as locked.
    Error,
}

/// One run.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Run {
    /// The number by which `--compare` takes it; present with `--list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<usize>,
    /// When, in seconds since the beginning of 1970.
    when: u64,
    /// The environment.
    environment: String,
    /// The system: `macOS 15.6.1`.
    system: String,
    /// The processor.
    processor: Option<String>,
    /// The memory of the machine in bytes.
    memory: Option<u64>,
    /// How many programs waited for a processor in the minute before, for each of its processors.
    load: Option<f64>,
    /// The digest of what macml.lock has for the environment.
    lock: Option<String>,
    /// The digest of the environment's content.
    content: Option<String>,
    /// All packages with their versions, and Python's.
    packages: BTreeMap<String, String>,
    /// The times.
    measurements: Vec<Measurement>,
    /// What broke.
    failures: Vec<Failure>,
    /// The batches that `--batch-sizes` tried.
    batch_sizes: Vec<BatchSize>,
    /// The ways of loading data that `--workers` tried.
    workers: Vec<Workers>,
}

/// One size of a batch.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct BatchSize {
    /// `torch`, `tensorflow` or `mlx`.
    framework: String,
    /// `mps`, `cuda` or `cpu`.
    device: String,
    /// How many samples went through at once.
    samples: u64,
    /// How many samples a second were trained.
    rate: Option<f64>,
    /// The most memory that the device had in use, in bytes.
    device_bytes: Option<u64>,
    /// How hard up for memory the system was, from 0 to 1.
    pressure: Option<f64>,
    /// Why no larger one was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
}

/// One way of loading data.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Workers {
    /// How many worker processes.
    workers: u32,
    /// Whether they live on from one epoch to the next.
    persistent: bool,
    /// How long the first epoch took in seconds, with starting them.
    first: f64,
    /// How long each epoch after it took in seconds.
    seconds: Vec<f64>,
    /// The median of those.
    median: Option<f64>,
}

/// One work on one device.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Measurement {
    /// `torch`, `tensorflow` or `mlx`.
    framework: String,
    /// `product` or `convolution`.
    work: String,
    /// The side of the matrices, or the images of an epoch.
    size: u64,
    /// `float32` or `float16`.
    #[serde(rename = "type")]
    element: String,
    /// `mps`, `cuda` or `cpu`.
    device: String,
    /// What the device is.
    device_name: Option<String>,
    /// The median of the times in seconds.
    median: Option<f64>,
    /// How far the time that lies farthest from the median lies from it, as a part of it.
    spread: Option<f64>,
    /// Every time after the first in seconds.
    seconds: Vec<f64>,
    /// How long it took before the first time that counts, in seconds.
    warm_up: Option<f64>,
    /// How long it took to bring the operands to the device and the result back, in seconds.
    transfer: Option<f64>,
    /// How many times as much work is done in a second as on the CPU.
    speedup: Option<f64>,
    /// The most memory that the device had in use, in bytes.
    device_bytes: Option<u64>,
    /// The most memory that the process had in use up to its end, in bytes.
    process_bytes: Option<u64>,
    /// What the framework said instead of computing.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Why it was not measured, though nothing failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<String>,
}

/// A framework that could not be measured on a device to the end.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Failure {
    /// Which one.
    framework: String,
    /// Where.
    device: String,
    /// What happened, in a word of `macml verify`: `no-device`, `not-built`, `crashed`, `hung`, ….
    word: String,
    /// What happened.
    message: String,
}

/// Two runs beside each other.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Compared {
    /// When the earlier one was, in seconds since the beginning of 1970.
    before: u64,
    /// Whether both are of the same machine; where not, nothing is slower or faster.
    same_machine: bool,
    /// How many programs waited for a processor before the earlier one, for each of its processors.
    load_before: Option<f64>,
    /// What both measured.
    times: Vec<Times>,
    /// What the earlier one measured and this one could not, as `torch product float32 mps`.
    missing: Vec<String>,
    /// What changed between them: packages, `system`, `processor`, `memory`, `macml.lock`, `content of the environment`.
    changes: Vec<Change>,
}

/// One work in two runs.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Times {
    /// `torch`, `tensorflow` or `mlx`.
    framework: String,
    /// `product` or `convolution`.
    work: String,
    /// `float32` or `float16`.
    #[serde(rename = "type")]
    element: String,
    /// `mps`, `cuda` or `cpu`.
    device: String,
    /// The median of the earlier run in seconds.
    before: f64,
    /// The median of this run in seconds.
    now: f64,
    /// How many times as long it takes now, for as much work.
    ratio: f64,
    /// How far from 1 the ratio may be without that meaning anything.
    bound: f64,
    /// What it comes to.
    trend: ReportedTrend,
}

/// What a ratio of times comes to.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum ReportedTrend {
    /// It takes longer, beyond the bound.
    Slower,
    /// It takes less long, beyond the bound.
    Faster,
    /// It is within the bound.
    Same,
    /// The runs are of different machines.
    OtherMachine,
}

/// Something that is not what it was.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Change {
    /// The package, or what else it is.
    what: String,
    /// What it was; absent for something new.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// What it is; absent for something that is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
}

impl Report {
    fn new(verdict: Verdict, exit_code: u8) -> Self {
        let (runs, kept, comparison, error) = (Vec::new(), None, None, None);
        Self { schema: SCHEMA, command: Command::Bench, verdict, exit_code, runs, kept, comparison, error }
    }

    /// Makes the report of a run.
    pub(crate) fn measured(outcome: &Outcome) -> Self {
        let class = outcome.class();
        let failed = outcome.run.measurements.iter().any(|one| one.error.is_some()) || !outcome.run.failures.is_empty();
        let verdict = match class {
            Class::Yes => Verdict::Measured,
            Class::Unknown => Verdict::Unknown,
            Class::No | Class::Numbers if failed => Verdict::Failed,
            Class::No | Class::Numbers => Verdict::Slower,
        };
        Self {
            runs: vec![Run::from(&outcome.run)],
            kept: outcome.kept.as_ref().map(|path| path.display().to_string()),
            comparison: outcome.comparison.as_ref().map(Compared::from),
            ..Self::new(verdict, class.code())
        }
    }

    /// Makes the report of the runs that were kept.
    pub(crate) fn listed(history: &History) -> Self {
        let numbered = |(number, run)| Run { number: Some(number), ..Run::from(run) };
        let runs = history.numbered().map(numbered).collect();
        Self { runs, ..Self::new(Verdict::Listed, 0) }
    }

    /// Makes the report of the same, where a file could not be written.
    pub(crate) fn but(self, error: &CommandError) -> Self {
        Self { verdict: Verdict::Error, exit_code: error.kind.code(), error: Some(ReportedError::new(error)), ..self }
    }

    /// Makes the report of a run without an answer.
    pub(crate) fn failed(error: &CommandError) -> Self {
        Self { error: Some(ReportedError::new(error)), ..Self::new(Verdict::Error, error.kind.code()) }
    }
}

impl From<&bench::BatchSize> for BatchSize {
    fn from(size: &bench::BatchSize) -> Self {
        Self {
            framework: size.framework.to_string(),
            device: size.device.to_string(),
            samples: size.samples,
            rate: size.rate,
            device_bytes: size.device_bytes,
            pressure: size.pressure,
            stopped: size.stopped.clone(),
        }
    }
}

impl From<&bench::Workers> for Workers {
    fn from(way: &bench::Workers) -> Self {
        Self {
            workers: way.workers,
            persistent: way.persistent,
            first: way.first,
            seconds: way.seconds.clone(),
            median: way.median(),
        }
    }
}

impl From<&bench::Run> for Run {
    fn from(run: &bench::Run) -> Self {
        let failure = |one: &bench::Failure| Failure {
            framework: one.framework.to_string(),
            device: one.device.to_string(),
            word: one.word.to_string(),
            message: one.sentence.clone(),
        };
        Self {
            number: None,
            when: run.when,
            environment: run.env.clone(),
            system: run.circumstances.system.clone(),
            processor: run.processor().map(str::to_owned),
            memory: run.memory,
            load: run.load,
            lock: run.circumstances.lock.as_ref().map(ToString::to_string),
            content: run.circumstances.content.clone(),
            packages: run.packages.clone(),
            measurements: run.measurements.iter().map(|one| measurement(one, run)).collect(),
            failures: run.failures.iter().map(failure).collect(),
            batch_sizes: run.batch_sizes.iter().map(BatchSize::from).collect(),
            workers: run.workers.iter().map(Workers::from).collect(),
        }
    }
}

fn measurement(one: &bench::Measurement, run: &bench::Run) -> Measurement {
    Measurement {
        framework: one.framework.to_string(),
        work: one.work.as_str().to_owned(),
        size: one.size,
        element: one.element.to_string(),
        device: one.device.to_string(),
        device_name: one.device_name.clone(),
        median: one.median(),
        spread: one.spread(),
        seconds: one.seconds.clone(),
        warm_up: (!one.seconds.is_empty()).then_some(one.warm_up),
        transfer: one.transfer,
        speedup: run.against_cpu(one),
        device_bytes: one.device_bytes,
        process_bytes: one.process_bytes,
        error: one.error.clone(),
        left_out: one.left_out.clone(),
    }
}

impl From<&Comparison> for Compared {
    fn from(comparison: &Comparison) -> Self {
        let times = |row: &bench::Row| Times {
            framework: row.framework.to_string(),
            work: row.work.as_str().to_owned(),
            element: row.element.to_string(),
            device: row.device.to_string(),
            before: row.seconds.0,
            now: row.seconds.1,
            ratio: row.ratio,
            bound: row.bound,
            trend: match row.trend {
                Trend::Slower => ReportedTrend::Slower,
                Trend::Faster => ReportedTrend::Faster,
                Trend::Same => ReportedTrend::Same,
                Trend::OtherMachine => ReportedTrend::OtherMachine,
            },
        };
        let missing = |one: &bench::Measurement| {
            format!("{} {} {} {}", one.framework, one.work.as_str(), one.element, one.device)
        };
        let change =
            |one: &bench::Change| Change { what: one.what.clone(), before: one.before.clone(), now: one.now.clone() };
        Self {
            before: comparison.before,
            same_machine: comparison.same_machine,
            load_before: comparison.loads.0,
            times: comparison.rows.iter().map(times).collect(),
            missing: comparison.gone.iter().map(missing).collect(),
            changes: comparison.changes.iter().map(change).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("bench.schema.json");
    }
}
