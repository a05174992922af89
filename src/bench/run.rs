//! `Run`: what one run of the benchmark measured, and on what, as plain data. One line of the history each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::verify::Circumstances;
use crate::verify::Verdict;
use crate::verify::Word;
use crate::verify::protocol::Device;
use crate::verify::protocol::ElementType;
use crate::verify::protocol::Framework;

/// What one run measured. Another macml may have written it: one whose version is not this one's is not read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Run {
    /// The version of this form.
    pub version: u32,
    /// When, in seconds since the beginning of 1970.
    pub when: u64,
    /// The environment's name.
    pub env: String,
    /// Of what it was measured, and where.
    pub circumstances: Circumstances,
    /// The memory of the machine in bytes.
    pub memory: Option<u64>,
    /// How many programs waited for a processor in the minute before, for each of its processors: from 1 on, other programs
    /// computed all the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// The versions of all packages of the environment, and of its Python.
    pub packages: BTreeMap<String, String>,
    /// The times.
    pub measurements: Vec<Measurement>,
    /// What broke while it was measured, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// What came of `--batch-sizes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch_sizes: Vec<BatchSize>,
    /// What came of `--workers`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Workers>,
}

/// The packages that times depend on first of all.
const MAIN_PACKAGES: [&str; 9] = [
    "torch",
    "tensorflow",
    "tensorflow-macos",
    "tensorflow-cpu",
    "tensorflow-metal",
    "mlx",
    "mlx-metal",
    "numpy",
    "python",
];

/// A framework that could not be measured on a device to the end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Failure {
    /// Which one.
    pub framework: Framework,
    /// Where.
    pub device: Device,
    /// What happened, in a word.
    pub word: Word,
    /// What happened.
    pub sentence: String,
}

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// A product of two square matrices.
    Product,
    /// One epoch of training a small convolutional network.
    Convolution,
}

/// The times of one piece of work.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Measurement {
    /// What computed it.
    pub framework: Framework,
    /// What was computed.
    pub work: Work,
    /// How large: the side of the matrices, or the samples of an epoch.
    pub size: u64,
    /// The element type.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// Where.
    pub device: Device,
    /// What the device is: `Apple M3 Max`.
    pub device_name: Option<String>,
    /// How long everything took that was computed before the first time that counts, in seconds: the first time, with all
    /// that is done once, and on the CPU the smaller sizes by which this one was chosen.
    pub warm_up: f64,
    /// How long each time after it took in seconds, until the result was there, without bringing it back.
    pub seconds: Vec<f64>,
    /// How long it took in seconds to bring the operands to the device and the result back; none on the CPU, and where
    /// both share their memory.
    pub transfer: Option<f64>,
    /// The most memory that the device had in use, in bytes, where that can be asked.
    pub device_bytes: Option<u64>,
    /// The most memory that the process had in use up to its end, in bytes. Each framework has a process for each device,
    /// which measures one work after the other.
    pub process_bytes: Option<u64>,
    /// What the framework said instead of computing; there are no times then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it was not measured, though nothing failed; there are no times then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// One size of a batch that was tried.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BatchSize {
    /// What computed it.
    pub framework: Framework,
    /// Where.
    pub device: Device,
    /// How many samples went through at once.
    pub samples: u64,
    /// How many samples a second were trained.
    pub rate: Option<f64>,
    /// The most memory that the device had in use, in bytes.
    pub device_bytes: Option<u64>,
    /// How hard up for memory the system was then, from 0 (not at all) to 1, by its own reading, where it has one.
    pub pressure: Option<f64>,
    /// Why no larger one was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// One way of loading data that was tried.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Workers {
    /// How many worker processes.
    pub workers: u32,
    /// Whether they live on from one epoch to the next.
    pub persistent: bool,
    /// How long the first epoch took in seconds, with starting them.
    pub first: f64,
    /// How long each epoch after it took in seconds.
    pub seconds: Vec<f64>,
}

impl Run {
    /// The version of the form that this macml writes.
    pub const VERSION: u32 = 1;

    /// Names the machine, as far as that can be told: its chip, or its processor where it is no Mac.
    pub fn processor(&self) -> Option<&str> {
        let chip = Some(self.circumstances.chip.as_str()).filter(|chip| !chip.is_empty());
        let named = |one: &&Measurement| one.device == Device::Cpu;
        chip.or_else(|| self.measurements.iter().find(named)?.device_name.as_deref())
    }

    /// Returns whether anything was measured.
    pub fn has_times(&self) -> bool {
        self.measurements.iter().any(|one| !one.seconds.is_empty())
    }

    /// Returns whether anything came of it: times, batches or workers.
    pub fn has_answers(&self) -> bool {
        self.has_times() || !self.batch_sizes.is_empty() || !self.workers.is_empty()
    }

    /// Returns whether two runs are of the same kind of machine: the same processor with as much memory.
    pub fn is_of_machine(&self, other: &Self) -> bool {
        // The kernel keeps a part for itself, which is another one with another kernel.
        let apart = |(one, other): (u64, u64)| one.abs_diff(other) > one.max(other) / 20;
        let memory = self.memory.zip(other.memory).is_some_and(apart);
        self.processor() == other.processor() && !memory
    }

    /// Returns the measurement of a work.
    pub(super) fn find(
        &self,
        framework: Framework,
        work: Work,
        element: ElementType,
        device: Device,
    ) -> Option<&Measurement> {
        let key = |one: &Measurement| (one.framework, one.work, one.element, one.device);
        self.measurements.iter().find(|one| key(one) == (framework, work, element, device))
    }

    /// Returns the measurement of the same work on another device, or on the same one of another run.
    pub fn same(&self, like: &Measurement, device: Device) -> Option<&Measurement> {
        self.find(like.framework, like.work, like.element, device)
    }

    /// Lists the packages that times depend on first of all, with their versions.
    pub fn main_packages(&self) -> Vec<(&str, &str)> {
        let versions = MAIN_PACKAGES.iter().filter_map(|name| self.packages.get_key_value(*name));
        versions.map(|(name, version)| (name.as_str(), version.as_str())).collect()
    }

    /// Returns how many times as fast as on the CPU something was computed; none for what the CPU did itself, or did not.
    pub fn against_cpu(&self, of: &Measurement) -> Option<f64> {
        let cpu = self.same(of, Device::Cpu).filter(|_| of.device != Device::Cpu)?;
        of.speedup(cpu).filter(|ratio| ratio.is_finite())
    }
}

impl Failure {
    /// Makes that of a probe that did not do what it was asked; none where all that is missing is what was not begun in
    /// time.
    pub(super) fn of(verdict: &Verdict) -> Option<Self> {
        let worst = verdict.problems.iter().find(|problem| problem.word != Word::Incomplete)?;
        let (framework, device) = (verdict.framework, verdict.device);
        Some(Self { framework, device, word: worst.word, sentence: worst.sentence.clone() })
    }

    /// Returns whether it happened before anything could be computed.
    pub fn is_before_all(&self) -> bool {
        self.word <= Word::NoDevice
    }
}

impl Work {
    /// Names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Product => "product",
            Self::Convolution => "convolution",
        }
    }
}

impl Measurement {
    /// Returns the median of the times after the first in seconds; none when there are none.
    pub fn median(&self) -> Option<f64> {
        median(&self.seconds)
    }

    /// Returns how far the time that lies farthest from the median lies from it, as a part of it.
    pub fn spread(&self) -> Option<f64> {
        self.distances()?.into_iter().max_by(f64::total_cmp)
    }

    /// Returns how far a time typically lies from the median, as a part of it: the median of the distances, which a few
    /// hiccups leave as it is, as they leave the median of the times.
    pub fn noise(&self) -> Option<f64> {
        median(&self.distances()?)
    }

    fn distances(&self) -> Option<Vec<f64>> {
        let middle = self.median().filter(|middle| *middle > 0.0)?;
        Some(self.seconds.iter().map(|one| (one - middle).abs() / middle).collect())
    }

    /// Returns the median as it would be for another size of the work, by what a unit takes.
    pub fn median_for(&self, size: u64) -> Option<f64> {
        match size == self.size {
            true => self.median(),
            false => self.unit().map(|unit| unit * units(self.work, size)),
        }
    }

    /// Returns how long one unit of the work takes in seconds: the multiplication of two elements, a sample. It stays much
    /// the same for works of other sizes.
    pub fn unit(&self) -> Option<f64> {
        let units = units(self.work, self.size);
        self.median().filter(|_| units > 0.0).map(|median| median / units)
    }

    /// Returns how many times as fast this is as another device.
    pub fn speedup(&self, other: &Self) -> Option<f64> {
        Some(other.unit()? / self.unit().filter(|unit| *unit > 0.0)?)
    }
}

/// Counts the units of a work: what its time grows with.
fn units(work: Work, size: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "sizes are small")]
    let size = size as f64;
    match work {
        Work::Product => size.powi(3),
        Work::Convolution => size,
    }
}

impl Workers {
    /// Returns the median of the epochs after the first in seconds; none when there are none.
    pub fn median(&self) -> Option<f64> {
        median(&self.seconds)
    }
}

/// Returns the middle of numbers.
pub(super) fn median(numbers: &[f64]) -> Option<f64> {
    let mut numbers = numbers.to_vec();
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => None,
        count if count % 2 == 1 => Some(numbers[middle]),
        _ => Some(f64::midpoint(numbers[middle - 1], numbers[middle])),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::bench) fn measured(device: Device, seconds: &[f64]) -> Measurement {
        Measurement {
            framework: Framework::Torch,
            work: Work::Product,
            size: 5000,
            element: ElementType::Float32,
            device,
            device_name: Some("Xeon".to_owned()),
            warm_up: 9.0,
            seconds: seconds.to_vec(),
            transfer: None,
            device_bytes: None,
            process_bytes: None,
            error: None,
            left_out: None,
        }
    }

    pub(in crate::bench) fn run(when: u64, measurements: Vec<Measurement>) -> Run {
        Run {
            version: Run::VERSION,
            when,
            env: "default".to_owned(),
            circumstances: Circumstances::of(None, None, None),
            memory: Some(16 << 30),
            load: None,
            packages: BTreeMap::new(),
            measurements,
            failures: Vec::new(),
            batch_sizes: Vec::new(),
            workers: Vec::new(),
        }
    }

    #[test]
    fn a_median_is_the_middle_of_the_times() {
        let median = |seconds: &[f64]| measured(Device::Mps, seconds).median();
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[5.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn one_hiccup_is_seen_and_is_no_noise() {
        let of = |seconds: &[f64]| {
            let one = measured(Device::Mps, seconds);
            one.spread().zip(one.noise())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[2.0]), Some((0.0, 0.0)));
        assert_eq!(of(&[2.0, 2.0, 2.0, 2.0, 3.0]), Some((0.5, 0.0)));
        assert_eq!(of(&[2.0, 2.0, 1.0]), Some((0.5, 0.0)));
        assert_eq!(of(&[1.0, 2.0, 3.0]), Some((0.5, 0.5)));
        assert_eq!(of(&[0.0, 0.0]), None);
    }

    #[test]
    fn works_of_other_sizes_are_compared_by_what_a_unit_takes() {
        let gpu = measured(Device::Mps, &[0.1]);
        let cpu = Measurement { size: 1000, ..measured(Device::Cpu, &[0.08]) };
        assert!((gpu.speedup(&cpu).unwrap() - 100.0).abs() < 1e-9);
        assert_eq!(gpu.speedup(&measured(Device::Cpu, &[])), None);
        assert!((cpu.median_for(5000).unwrap() - 10.0).abs() < 1e-9);
        assert_eq!(cpu.median_for(1000), Some(0.08));
        let run = run(1, vec![gpu.clone(), cpu.clone()]);
        assert!((run.against_cpu(&gpu).unwrap() - 100.0).abs() < 1e-9);
        assert_eq!(run.against_cpu(&cpu), None);
    }

    #[test]
    fn a_machine_is_known_by_processor_and_memory() {
        let one = run(1, vec![measured(Device::Cpu, &[1.0])]);
        let mut other = one.clone();
        other.memory = Some((16 << 30) - (100 << 20));
        assert!(one.is_of_machine(&other));
        other.memory = Some(8 << 30);
        assert!(!one.is_of_machine(&other));
        other.memory = None;
        assert!(one.is_of_machine(&other));
        other.circumstances.chip = "Apple M1".to_owned();
        assert!(!one.is_of_machine(&other));
        assert_eq!(other.processor(), Some("Apple M1"));
    }
}
