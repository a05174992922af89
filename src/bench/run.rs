//! `Run`: what one run of the benchmark measured, and on what, as plain data. One line of the history each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::verify::Circumstances;
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
    /// The versions of what was measured and of what it computes with, by package.
    pub packages: BTreeMap<String, String>,
    /// The times.
    pub measurements: Vec<Measurement>,
    /// What came of `--batch-sizes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch_sizes: Vec<BatchSize>,
    /// What came of `--workers`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Workers>,
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
    /// How long the first time took in seconds, with all that is done once.
    pub warm_up: f64,
    /// How long each time after it took in seconds, until the result was there, without bringing it back.
    pub seconds: Vec<f64>,
    /// How long it took in seconds to bring the operands to the device and the result back; none on the CPU.
    pub transfer: Option<f64>,
    /// The most memory that the device had in use, in bytes, where that can be asked.
    pub device_bytes: Option<u64>,
    /// The most memory that the process had in use, in bytes.
    pub process_bytes: Option<u64>,
    /// What the framework said instead of computing; there are no times then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
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

    /// Returns how many times as fast as on the CPU something was computed; none for what the CPU did itself, or did not.
    pub fn speedup(&self, of: &Measurement) -> Option<f64> {
        let work = |one: &Measurement| (one.framework, one.work, one.size, one.element);
        let same = |one: &&Measurement| one.device == Device::Cpu && work(one) == work(of);
        let cpu = self.measurements.iter().find(same).filter(|_| of.device != Device::Cpu)?;
        let ratio = cpu.median()? / of.median()?;
        ratio.is_finite().then_some(ratio)
    }
}

impl Measurement {
    /// Returns the median of the times after the first in seconds; none when there are none.
    pub fn median(&self) -> Option<f64> {
        median(&self.seconds)
    }
}

impl Workers {
    /// Returns the median of the epochs after the first in seconds; none when there are none.
    pub fn median(&self) -> Option<f64> {
        median(&self.seconds)
    }
}

/// Returns the middle of some numbers; none when there are none.
fn median(numbers: &[f64]) -> Option<f64> {
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
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_of_the_times() {
        let measured = |seconds: &[f64]| Measurement {
            framework: Framework::Torch,
            work: Work::Product,
            size: 5000,
            element: ElementType::Float32,
            device: Device::Mps,
            device_name: None,
            warm_up: 9.0,
            seconds: seconds.to_vec(),
            transfer: None,
            device_bytes: None,
            process_bytes: None,
            error: None,
        };
        assert_eq!(measured(&[]).median(), None);
        assert_eq!(measured(&[3.0]).median(), Some(3.0));
        assert_eq!(measured(&[5.0, 1.0, 2.0]).median(), Some(2.0));
        assert_eq!(measured(&[4.0, 1.0, 2.0, 3.0]).median(), Some(2.5));
    }
}
