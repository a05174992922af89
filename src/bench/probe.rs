//! Measuring a framework on a device, in a child process of its own: whatever becomes of that is an answer.

use std::collections::BTreeMap;

use super::protocol;
use super::protocol::{Before, Request};
use super::run::{Failure, Measurement};
use crate::pep::Version;
use crate::verify::Answered;
use crate::verify::Probe;
use crate::verify::Subject;
use crate::verify::Verdict;
use crate::verify::Word;
use crate::verify::judge;
use crate::verify::protocol::Device;
use crate::verify::protocol::Event;
use crate::verify::protocol::Framework;
use crate::verify::protocol::Skipped;

/// What to measure, and where.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The environment.
    pub subject: &'a Subject,
    /// The device, beside the CPU.
    pub device: Device,
    /// The memory of the machine in bytes.
    pub memory: u64,
    /// An earlier run, for its sizes.
    pub before: Before<'a>,
}

/// What came of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Found {
    /// The times.
    pub measurements: Vec<Measurement>,
    /// What broke.
    pub failures: Vec<Failure>,
    /// What the probes said of versions, by package.
    pub versions: BTreeMap<String, String>,
    /// How busy the machine was with other things, as [`super::Run::load`] says.
    pub load: Option<f64>,
}

/// What came of measuring one framework on one device.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The times, as far as there are any.
    pub measurements: Vec<Measurement>,
    /// What the probe said of versions, by package.
    pub versions: BTreeMap<String, String>,
    /// How busy the machine was with other things, as [`super::Run::load`] says.
    pub load: Option<f64>,
    /// How the probe did: whether it could load the framework, had its device, and came to its end.
    pub verdict: Verdict,
}

/// Measures every framework of an environment, on the device and on the CPU; `tell` is called before each.
///
/// The device comes first: of a framework that does not have it nothing is measured, since there would be nothing to
/// compare.
pub fn measure_all(job: &Job<'_>, tell: &mut dyn FnMut(Framework, &Version, Device)) -> Found {
    let mut found = Found::default();
    for (framework, version) in job.subject.frameworks() {
        let Some(probe) = probe(framework, job.subject) else { continue };
        let devices = if job.device == Device::Cpu { vec![Device::Cpu] } else { vec![job.device, Device::Cpu] };
        for device in devices {
            tell(framework, &version, device);
            let request = Request::new(framework, device, job.memory, job.before);
            let answer = measure(&probe, &request);
            let failure = answer.failure();
            found.versions.extend(answer.versions);
            // What was measured itself is in those of later ones.
            found.load = found.load.or(answer.load);
            found.measurements.extend(answer.measurements);
            let useless = failure.as_ref().is_some_and(Failure::is_before_all);
            found.failures.extend(failure);
            if useless {
                break;
            }
        }
    }
    found
}

/// Makes the probe that measures a framework; none for one that computes nothing by itself.
pub fn probe(framework: Framework, subject: &Subject) -> Option<Probe> {
    script(framework, "", subject)
}

/// Makes a probe that has the works of a framework, with a text in between that may measure them in its own way.
pub(super) fn script(framework: Framework, between: &str, subject: &Subject) -> Option<Probe> {
    let own = match framework {
        Framework::Torch => include_str!("probes/torch.py"),
        Framework::Tensorflow => include_str!("probes/tensorflow.py"),
        Framework::Mlx => include_str!("probes/mlx.py"),
        Framework::Coremltools => return None,
    };
    let text = format!("{}\n\n{between}\n\n{own}", include_str!("probes/measure.py"));
    Some(Probe::script(framework, &text, &subject.interpreter, subject.vars.clone()))
}

/// Measures.
pub fn measure(probe: &Probe, request: &Request) -> Answer {
    Answer::read(request, &probe.answer(request, request.base.limits.end))
}

impl Answer {
    /// Reads what a probe printed.
    pub fn read(request: &Request, answered: &Answered) -> Self {
        let (own, transcript) = protocol::read(&request.base, answered, protocol::Event::is_sane);
        let verdict = judge(&transcript);
        let (framework, device) = (request.base.framework, request.base.device);
        let name = &verdict.device_name;
        let (mut measurements, mut load) = (Vec::new(), None);
        for event in own {
            match event {
                protocol::Event::Measured(one) => measurements.push(one.on(framework, device, name.clone())),
                protocol::Event::Load { load: one } => load = Some(one),
            }
        }
        for event in &transcript.events {
            let Event::Skipped(skipped) = event else { continue };
            measurements.extend(left_out(request, skipped, name.clone()));
        }
        let versions = transcript.hello().map(|hello| hello.versions.clone()).unwrap_or_default();
        Self { measurements, versions, load, verdict }
    }

    /// Returns what broke; what was left out for want of time is told with the measurements.
    pub fn failure(&self) -> Option<Failure> {
        let Verdict { framework, device, .. } = self.verdict;
        // What it was asked for it either measured, failed at or left out.
        let nothing = || {
            let sentence = "the probe ended without a single time".to_owned();
            self.measurements.is_empty().then_some(Failure { framework, device, word: Word::Garbage, sentence })
        };
        Failure::of(&self.verdict).or_else(nothing)
    }
}

/// Makes the measurement that stands for one that was not begun.
fn left_out(request: &Request, skipped: &Skipped, name: Option<String>) -> Option<Measurement> {
    let case =
        request.cases.iter().find(|case| case.work.as_str() == skipped.id && Some(case.element) == skipped.element)?;
    Some(Measurement {
        framework: request.base.framework,
        work: case.work,
        size: *case.sizes.first()?,
        element: case.element,
        device: request.base.device,
        device_name: name,
        warm_up: 0.0,
        seconds: Vec::new(),
        transfer: None,
        device_bytes: None,
        process_bytes: None,
        error: None,
        left_out: Some(format!("not begun, because {} s were over", request.base.limits.begin)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Ended;
    use crate::verify::protocol::PREFIX;

    fn read(events: &[&str], ended: Ended) -> Answer {
        let hello = r#"{"event":"hello","protocol":1,"probe":"python","framework":"torch","versions":{"torch":"2.13.0"},"system":"linux"}"#;
        let device = r#"{"event":"device","built":true,"available":true,"name":"Xeon"}"#;
        let lines = [hello, device].into_iter().chain(events.iter().copied());
        let stdout: String = lines.map(|line| format!("{PREFIX}{line}\n")).collect();
        let request = Request::new(Framework::Torch, Device::Cpu, 8 << 30, Before::Nothing);
        Answer::read(&request, &Answered { stdout: stdout.into_bytes(), stderr: Vec::new(), ended })
    }

    const MEASURED: &str =
        r#"{"event":"measured","work":"product","size":5000,"type":"float32","warm-up":2.0,"seconds":[1.0]}"#;
    const DONE: &str = r#"{"event":"done","seconds":1.0}"#;

    #[test]
    fn one_that_hangs_keeps_what_it_measured() {
        let next = r#"{"event":"at","id":"convolution","type":"float16"}"#;
        let answer = read(&[MEASURED, next], Ended::OutOfTime(270));
        assert_eq!((answer.measurements.len(), answer.measurements[0].device_name.as_deref()), (1, Some("Xeon")));
        let failure = answer.failure().unwrap();
        let sentence = "the probe was stopped after 270 s in the middle of `convolution` in float16";
        assert_eq!((failure.word, &*failure.sentence, failure.is_before_all()), (Word::Hung, sentence, false));
    }

    #[test]
    fn what_was_not_begun_in_time_is_left_out_and_no_failure() {
        let skipped = r#"{"event":"skipped","id":"convolution","why":"time","type":"float32"}"#;
        let answer = read(&[MEASURED, skipped, DONE], Ended::Code(0));
        let left_out = answer.measurements[1].left_out.as_deref();
        assert_eq!((left_out, answer.failure()), (Some("not begun, because 150 s were over"), None));
    }

    #[test]
    fn one_that_measures_nothing_has_not_answered() {
        let failure = read(&[DONE], Ended::Code(0)).failure().unwrap();
        assert_eq!((failure.word, &*failure.sentence), (Word::Garbage, "the probe ended without a single time"));
    }

    #[test]
    fn what_cannot_be_loaded_fails_before_all() {
        let told = r#"{"event":"cannot-load","error":"ImportError: no libtorch"}"#;
        let failure = read(&[told, DONE], Ended::Code(0)).failure().unwrap();
        assert_eq!((failure.word, failure.is_before_all()), (Word::CannotLoad, true));
    }
}
