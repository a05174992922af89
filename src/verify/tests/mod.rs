//! Judging of answers that are made up here from what people reported, and the record of what was verified.

mod operators;
mod records;
mod verdicts;

use std::collections::BTreeMap;

use super::protocol::{Check, Curve, Device, DeviceSeen, Done, ElementType, Event, Framework, Hello, Limits, PROTOCOL};
use super::protocol::{ProbeKind, Question, Request, Sizes, Tolerances, Training};
use super::{Ended, Printed, Transcript};

/// What is asked of a Mac in these tests.
fn request() -> Request {
    Request {
        protocol: PROTOCOL,
        framework: Framework::Torch,
        release: Some("2.13.0".into()),
        device: Device::Mps,
        seed: 7,
        questions: vec![Question::Product, Question::Training, Question::Numbers],
        types: vec![ElementType::Float32, ElementType::Float16],
        sizes: Sizes::for_memory(8 << 30),
        limits: Limits { begin: 240, end: 300 },
        tolerances: Tolerances::default(),
        operators: Vec::new(),
    }
}

fn hello(version: &str) -> Event {
    Event::Hello(Hello {
        protocol: PROTOCOL,
        probe: ProbeKind::Python,
        framework: Framework::Torch,
        versions: BTreeMap::from([("torch".to_owned(), version.to_owned())]),
        system: "darwin 26.4 arm64".into(),
    })
}

fn m1() -> DeviceSeen {
    DeviceSeen {
        built: Some(true),
        available: true,
        id: Some("mps:0".into()),
        name: Some("Apple M1".into()),
        ..DeviceSeen::default()
    }
}

fn check(id: &str, element: ElementType, error: f64) -> Check {
    Check {
        id: id.into(),
        element,
        round: 0,
        shapes: vec![vec![80, 1, 2], vec![192, 2]],
        error: None,
        elements: 15_360,
        max_abs: Some(error),
        max_rel: Some(error),
        worst: vec![0, 0, 7],
        beyond: 0,
        nan: 0,
        inf: 0,
        elsewhere: None,
        seconds: 0.01,
    }
}

fn curve(first: f64, last: f64) -> Curve {
    Curve { first: Some(first), last: Some(last), least: Some(last), steps: 40, not_finite: 0, seconds: 1.0 }
}

fn training() -> Training {
    Training {
        id: "training-dense".into(),
        error: None,
        device: curve(1.4, 0.13),
        cpu: curve(1.4, 0.13),
        apart: Some(1e-6),
        state: BTreeMap::from([("exp_avg".to_owned(), "mps:0".to_owned())]),
        state_on_device: Some(true),
        moved: Some(true),
    }
}

/// All that a Mac says on which everything is right.
fn good() -> Vec<Event> {
    vec![
        hello("2.13.0"),
        Event::Device(m1()),
        Event::Check(check("product", ElementType::Float32, 6e-7)),
        Event::Training(training()),
        Event::Check(check("linear-thin", ElementType::Float32, 9e-8)),
        Event::Check(check("linear-thin", ElementType::Float16, 4e-4)),
        Event::Done(Done { seconds: 12.5, device_bytes: None }),
    ]
}

/// What is heard of a probe that says these events.
fn heard(events: &[Event], stderr: &str, ended: Ended) -> Transcript {
    let lines: Vec<String> = events.iter().map(Event::to_line).collect();
    let stdout = lines.join("\n");
    let printed = Printed { stdout: stdout.as_bytes(), stderr: stderr.as_bytes() };
    Transcript::read(ProbeKind::Python, request(), printed, ended)
}
