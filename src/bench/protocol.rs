//! What macml asks of a probe that measures, and what such a probe answers, as JSON: the protocol of [`verify::protocol`]
//! with works to measure in the place of questions, and one more event.
//!
//! [`verify::protocol`]: crate::verify::protocol

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::run::{Measurement, Run, Work};
use crate::verify::Answered;
use crate::verify::Printed;
use crate::verify::Transcript;
use crate::verify::protocol;
use crate::verify::protocol::Device;
use crate::verify::protocol::ElementType;
use crate::verify::protocol::Framework;
use crate::verify::protocol::Limits;
use crate::verify::protocol::ProbeKind;
use crate::verify::protocol::Sizes;
use crate::verify::protocol::Tolerances;

/// What a probe is asked.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Request {
    /// What every probe is asked; there are no questions in it.
    #[serde(flatten)]
    pub base: protocol::Request,
    /// How many samples go through the network at once.
    pub batch: u64,
    /// What to measure, in this order.
    pub cases: Vec<Case>,
}

/// What is known of an earlier run on this machine.
#[derive(Clone, Copy, Debug)]
pub enum Before<'a> {
    /// There was none.
    Nothing,
    /// There was one.
    Known(&'a Run),
    /// There was one, with which this one is to be compared.
    Compared(&'a Run),
}

/// One work to measure.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Case {
    /// What to compute.
    pub work: Work,
    /// In which element type.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// The sizes that this machine's memory bears, the largest first. A GPU is given the first; the CPU the first that is
    /// to be expected to take no longer than [`Case::longest`].
    pub sizes: Vec<u64>,
    /// The size of an earlier run, which may take four times as long.
    pub before: Option<u64>,
    /// Whether that size is taken even where a larger one would do, since the two are to be compared.
    pub again: bool,
    /// The sizes to try first on the CPU, the smallest first, until one takes long enough to tell.
    pub trials: Vec<u64>,
    /// How long one time may take in seconds.
    pub longest: f64,
    /// How long all times may take together in seconds, but for the fewest.
    pub budget: f64,
    /// The fewest times.
    pub least: u32,
    /// The most times.
    pub most: u32,
}

/// What came of one work.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Measured {
    work: Work,
    size: u64,
    #[serde(rename = "type")]
    element: ElementType,
    #[serde(default)]
    warm_up: f64,
    #[serde(default)]
    seconds: Vec<f64>,
    #[serde(default)]
    transfer: Option<f64>,
    #[serde(default)]
    device_bytes: Option<u64>,
    #[serde(default)]
    process_bytes: Option<u64>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    left_out: Option<String>,
}

/// An event that only these probes have.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Event {
    /// What came of one work.
    Measured(Measured),
    /// How many programs waited for a processor in the minute before, for each of its processors.
    Load {
        /// That.
        load: f64,
    },
}

/// After so many seconds a probe begins nothing new.
const BEGIN: u64 = 150;

/// After so many seconds it is killed.
const END: u64 = 270;

/// Makes what every probe is asked, without questions and for float32 alone.
pub(super) fn base(framework: Framework, device: Device, memory: u64, limits: Limits) -> protocol::Request {
    protocol::Request {
        protocol: protocol::PROTOCOL,
        framework,
        release: None,
        device,
        seed: 7,
        questions: Vec::new(),
        operators: Vec::new(),
        types: vec![ElementType::Float32],
        sizes: Sizes::for_memory(memory),
        limits,
        tolerances: Tolerances::default(),
    }
}

impl Request {
    /// Asks for every work in float32 and float16, in sizes that `memory` bytes bear, and as far as may be in those of an
    /// earlier run.
    pub fn new(framework: Framework, device: Device, memory: u64, before: Before<'_>) -> Self {
        let again = matches!(before, Before::Compared(_));
        let before = match before {
            Before::Nothing => None,
            Before::Known(run) | Before::Compared(run) => Some(run),
        };
        let types = vec![ElementType::Float32, ElementType::Float16];
        let works = [Work::Product, Work::Convolution];
        let each = works.iter().flat_map(|work| types.iter().map(|element| (*work, *element)));
        let cases = each.map(|(work, element)| {
            let earlier = before.and_then(|run| run.find(framework, work, element, device));
            let earlier = earlier.filter(|one| !one.seconds.is_empty());
            Case { again, ..Case::new(work, element, memory, earlier.map(|one| one.size)) }
        });
        let cases = cases.collect();
        let limits = Limits { begin: BEGIN, end: END };
        let base = protocol::Request { types, ..base(framework, device, memory, limits) };
        Self { base, batch: 128, cases }
    }
}

impl Case {
    /// Chooses sizes: what is held at one time comes to a tenth of the memory at most, since on a Mac the GPU has no other
    /// than that of all programs.
    fn new(work: Work, element: ElementType, memory: u64, before: Option<u64>) -> Self {
        let most = memory / 10;
        let (sizes, trials): (&[u64], &[u64]) = match work {
            Work::Product => (&[5000, 4000, 3000, 2000, 1500, 1000, 500], &[500, 1000]),
            Work::Convolution => (&[4096, 2048, 1024, 512, 256, 128], &[16, 128, 512]),
        };
        let bytes = |size: u64| match work {
            // Two operands and a result, on both sides, in float32 at first.
            Work::Product => 6 * 4 * size * size,
            // Images on both sides and as they were made, and what a batch of them becomes, forth and back.
            Work::Convolution => 4 * (3 * 784 * size + (16 << 20)),
        };
        let fitting: Vec<u64> = sizes.iter().copied().filter(|size| bytes(*size) <= most).collect();
        let least = *sizes.last().expect("no work is without sizes");
        Self {
            work,
            element,
            sizes: if fitting.is_empty() { vec![least] } else { fitting },
            before,
            again: false,
            trials: trials.to_vec(),
            // The product of the whole size is what people know; it is waited for.
            longest: if (work, element) == (Work::Product, ElementType::Float32) { 6.0 } else { 2.5 },
            budget: 4.0,
            least: 3,
            most: 15,
        }
    }
}

/// Takes the events that only these probes have out of what one printed, those that `is_sane`; the rest is a transcript as
/// of any other probe.
pub(super) fn read<E: DeserializeOwned>(
    request: &protocol::Request,
    answered: &Answered,
    is_sane: impl Fn(&E) -> bool,
) -> (Vec<E>, Transcript) {
    let (mut own, mut rest) = (Vec::new(), String::new());
    for line in String::from_utf8_lossy(&answered.stdout).lines() {
        match protocol::said(line) {
            Some(Ok(event)) if is_sane(&event) => own.push(event),
            _ => {
                rest.push_str(line);
                rest.push('\n');
            }
        }
    }
    let printed = Printed { stdout: rest.as_bytes(), stderr: &answered.stderr };
    (own, Transcript::read(ProbeKind::Python, request.clone(), printed, answered.ended.clone()))
}

/// Returns whether it can be a time, or a load: no clock says otherwise.
pub(super) fn is_time(seconds: &f64) -> bool {
    seconds.is_finite() && *seconds >= 0.0
}

impl Event {
    /// Returns whether a probe can have measured it.
    pub(super) fn is_sane(&self) -> bool {
        match self {
            Self::Measured(Measured { seconds, transfer, warm_up, .. }) => {
                seconds.iter().chain(transfer).chain([warm_up]).all(is_time)
            }
            Self::Load { load } => is_time(load),
        }
    }
}

impl Measured {
    /// Makes the measurement of it.
    pub(super) fn on(self, framework: Framework, device: Device, device_name: Option<String>) -> Measurement {
        let Self { work, size, element, warm_up, seconds, transfer, device_bytes, process_bytes, error, left_out } =
            self;
        Measurement {
            framework,
            work,
            size,
            element,
            device,
            device_name,
            warm_up,
            seconds,
            transfer,
            device_bytes,
            process_bytes,
            error,
            left_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::run::tests::{measured, run};
    use crate::verify::Ended;
    use crate::verify::protocol::PREFIX;

    #[test]
    fn sizes_follow_the_memory() {
        let largest = |memory: u64| -> Vec<u64> {
            let cases = Request::new(Framework::Torch, Device::Mps, memory, Before::Nothing).cases;
            [&cases[0], &cases[2]].map(|case| case.sizes[0]).into()
        };
        assert_eq!(largest(64 << 30), [5000, 4096]);
        assert_eq!(largest(8 << 30), [5000, 4096]);
        assert_eq!(largest(4 << 30), [4000, 4096]);
        assert_eq!(largest(1 << 30), [2000, 4096]);
        assert_eq!(largest(0), [500, 128]);
    }

    #[test]
    fn a_request_is_one_object_and_remembers_sizes() {
        let small = Measurement { size: 2000, ..measured(Device::Cpu, &[1.0]) };
        let before = run(1, vec![small]);
        let request = Request::new(Framework::Torch, Device::Cpu, 8 << 30, Before::Compared(&before));
        let json = serde_json::to_value(&request).unwrap();
        assert_eq!((&json["framework"], &json["limits"]["begin"]), (&"torch".into(), &150.into()));
        assert_eq!((&json["cases"][0]["before"], &json["cases"][0]["again"]), (&2000.into(), &true.into()));
        assert!(json["cases"][1]["before"].is_null());
        let elsewhere = Request::new(Framework::Torch, Device::Mps, 8 << 30, Before::Known(&before));
        assert_eq!(elsewhere.cases[0].before, None);
    }

    #[test]
    fn what_is_no_measurement_is_left_to_others() {
        let of_line = |line: &str| {
            let request = base(Framework::Torch, Device::Cpu, 1 << 30, Limits { begin: 1, end: 1 });
            let answered = Answered { stdout: line.into(), stderr: Vec::new(), ended: Ended::Code(0) };
            let (mut own, rest) = read(&request, &answered, Event::is_sane);
            assert_eq!(own.len() + rest.events.len() + rest.unreadable.iter().len() + rest.printed.len(), 1, "{line}");
            own.pop()
        };
        let line = |rest: &str| format!(r#"noise {PREFIX}{{"event":"measured","work":"product","size":5000,{rest}}}"#);
        let Some(Event::Measured(read)) = of_line(&line(r#""type":"float32","seconds":[1.5]"#)) else { panic!() };
        assert_eq!((read.seconds, read.warm_up), (vec![1.5], 0.0));
        let load = of_line(&format!(r#"{PREFIX}{{"event":"load","load":0.5}}"#));
        assert_eq!(load, Some(Event::Load { load: 0.5 }));
        assert!(of_line(&line(r#""type":"float32","seconds":[-1.5]"#)).is_none());
        assert!(of_line(&line(r#""type":"float33""#)).is_none());
        assert!(of_line(&format!(r#"{PREFIX}{{"event":"at","id":"product"}}"#)).is_none());
        assert!(of_line("a warning").is_none());
    }
}
