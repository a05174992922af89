//! macml-probe: computes with the libtorch that the loader finds, on the device that is asked for, and says what came of it.
//!
//! macml carries this folder and `verify/protocol.rs` as text and builds them against an environment's own torch (see
//! `verify::native`); in macml's own repository the feature `tch` builds it. It judges nothing: what is asked and answered
//! is the protocol's.

#![expect(clippy::disallowed_methods, reason = "it stands alone, without macml's library and its `sys`")]

mod checks;
mod compare;
mod device;
#[path = "../../verify/protocol.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is macml's, and serves the Python probes too")]
mod protocol;
mod training;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use protocol::{At, CannotLoad, Check, Device, Done, ElementType, Event, Framework, Hello, KnownCheck, ProbeKind};
use protocol::{PROTOCOL, Question, Request, Skipped, Training, Why};
use tch::TchError;

use checks::Case;

fn main() -> ExitCode {
    let begun = Instant::now();
    let text = std::env::args_os().next_back().map(|last| last.to_string_lossy().into_owned()).unwrap_or_default();
    match protocol_of(&text) {
        Some(PROTOCOL) => {}
        Some(_) => {
            say(&hello());
            return ExitCode::SUCCESS;
        }
        None => return refuse("its last argument must be a request: one JSON object"),
    }
    let request: Request = match serde_json::from_str(&text) {
        Ok(request) => request,
        Err(error) => return refuse(&format!("the request cannot be read: {error}")),
    };
    Probe { request, begun }.answer();
    ExitCode::SUCCESS
}

/// Reads the version of the protocol out of a request, whatever else it holds.
fn protocol_of(text: &str) -> Option<u32> {
    let request: serde_json::Value = serde_json::from_str(text).ok()?;
    request.get("protocol")?.as_u64()?.try_into().ok()
}

fn refuse(why: &str) -> ExitCode {
    // Nobody may be reading.
    let _ = writeln!(std::io::stderr(), "macml-probe: {why}");
    ExitCode::from(2)
}

/// Prints an event, and sees to it that it is out before anything else happens.
fn say(event: &Event) {
    let mut out = std::io::stdout().lock();
    // Whoever asked may be gone; what is computed for nobody ends by itself.
    let _ = writeln!(out, "{}", event.to_line());
    let _ = out.flush();
}

fn hello() -> Event {
    let versions = device::torch_version().map(|version| ("torch".to_owned(), version));
    Event::Hello(Hello {
        protocol: PROTOCOL,
        probe: ProbeKind::Native,
        framework: Framework::Torch,
        versions: BTreeMap::from_iter(versions),
        system: device::system(),
    })
}

/// A request that is being answered.
struct Probe {
    request: Request,
    begun: Instant,
}

impl Probe {
    fn answer(&self) {
        if self.request.framework != Framework::Torch {
            say(&Event::CannotLoad(CannotLoad {
                error: format!("this probe has torch, not {}", self.request.framework),
            }));
            return self.done();
        }
        // Before anything else of torch: it looks for CUDA once.
        let loaded = device::load(self.request.device);
        say(&hello());
        let found = device::torch_version();
        let wanted = self.request.release.as_deref().map(public);
        if wanted.is_some() && found.is_some() && wanted != found.as_deref() {
            return self.done();
        }
        let (seen, device) = device::look(self.request.device, loaded);
        say(&Event::Device(seen));
        if let Some(device) = device {
            for question in &self.request.questions {
                self.ask(*question, device);
            }
            if self.request.questions.contains(&Question::Numbers) {
                self.checks(protocol::CHECKS.iter().filter(|known| checks::is_risky(known.id)), 0, device);
            }
        }
        self.done();
    }

    fn done(&self) {
        say(&Event::Done(Done { seconds: self.begun.elapsed().as_secs_f64(), device_bytes: None }));
    }

    fn ask(&self, question: Question, device: tch::Device) {
        match question {
            Question::Training => {
                for network in training::NETWORKS {
                    self.train(network, device);
                }
            }
            Question::Again => {
                self.churn(device);
                let again = |known: &&KnownCheck| {
                    let repeated = ["product", "matmul-", "bmm", "linear-"].iter().any(|one| known.id.starts_with(one));
                    repeated && !checks::is_risky(known.id)
                };
                self.checks(protocol::CHECKS.iter().filter(again), 1, device);
            }
            // Converting is for Core ML tools.
            Question::Convert | Question::Operators => {}
            Question::Product | Question::Optimizer | Question::Autocast | Question::Numbers => {
                let asked = |known: &&KnownCheck| known.question == question && !checks::is_risky(known.id);
                self.checks(protocol::CHECKS.iter().filter(asked), 0, device);
            }
        }
    }

    fn checks<'a>(&self, known: impl Iterator<Item = &'a KnownCheck>, round: u32, device: tch::Device) {
        for known in known {
            for element in &self.request.types {
                if let Some(case) = checks::case(known.id, &self.request.sizes, *element) {
                    self.check(&case, *element, round, device);
                }
            }
        }
    }

    fn check(&self, case: &Case, element: ElementType, round: u32, device: tch::Device) {
        let skip = |why, error| {
            say(&Event::Skipped(Skipped { id: case.id.to_owned(), element: Some(element), why, error }));
        };
        if self.is_late() {
            return skip(Why::Time, None);
        }
        if case.bytes(element) > self.request.sizes.most {
            return skip(Why::Memory, None);
        }
        if let Some(error) = case.missing(element, device) {
            return skip(Why::NoOperation, Some(error.to_owned()));
        }
        if let Err(error) = device::has_type(device, checks::kind(element)) {
            return skip(Why::NoType, Some(short(&error)));
        }
        say(&Event::At(At { id: case.id.to_owned(), element: Some(element), round }));
        let mut check = Check {
            id: case.id.to_owned(),
            element,
            round,
            shapes: case.shapes.iter().map(|shape| shape.iter().map(|side| side.unsigned_abs()).collect()).collect(),
            error: None,
            elements: 0,
            max_abs: None,
            max_rel: None,
            worst: Vec::new(),
            beyond: 0,
            nan: 0,
            inf: 0,
            elsewhere: None,
            seconds: 0.0,
        };
        let tolerance = self.request.tolerances.of(element);
        match checks::compute(case, element, self.request.seed, device) {
            Ok(computed) => match compare::compare(&computed, tolerance, &mut check) {
                Ok(()) => {}
                Err(error) => check.error = Some(short(&error)),
            },
            Err(error) => match absent(&short(&error)) {
                Some(why) => return skip(why, Some(short(&error))),
                None => check.error = Some(short(&error)),
            },
        }
        say(&Event::Check(check));
    }

    fn train(&self, network: &training::Network, device: tch::Device) {
        if self.is_late() {
            let skipped = Skipped { id: network.id.to_owned(), element: None, why: Why::Time, error: None };
            return say(&Event::Skipped(skipped));
        }
        say(&Event::At(At { id: network.id.to_owned(), element: Some(ElementType::Float32), round: 0 }));
        let trained = training::compare(network, &self.request, device).unwrap_or_else(|error| Training {
            id: network.id.to_owned(),
            error: Some(short(&error)),
            device: protocol::Curve::default(),
            cpu: protocol::Curve::default(),
            apart: None,
            state: BTreeMap::new(),
            state_on_device: None,
            moved: None,
        });
        say(&Event::Training(trained));
    }

    /// Sends memory through the allocator in pieces of many sizes, and keeps a part until the end.
    fn churn(&self, device: tch::Device) {
        say(&Event::At(At { id: "churn".to_owned(), element: None, round: 1 }));
        if let Err(error) = checks::churn(self.request.sizes.churn, device) {
            let error = Some(short(&error));
            say(&Event::Skipped(Skipped { id: "churn".to_owned(), element: None, why: Why::Memory, error }));
        }
    }

    fn is_late(&self) -> bool {
        self.begun.elapsed().as_secs() >= self.request.limits.begin
    }
}

/// Tells why something could not be asked, where torch says that it is not there and not that it failed.
fn absent(error: &str) -> Option<Why> {
    const NO_TYPE: [&str; 3] = ["is not supported on MPS", "only supported on MacOS", "only supported on macOS"];
    // Of a type: `"conv" not implemented for 'Half'`; of the device: `aten::… is not currently implemented for the MPS device`.
    const NO_OPERATION: [&str; 2] = ["\" not implemented for '", "not currently implemented for the"];
    let says = |any: &[&str]| any.iter().any(|part| error.contains(part));
    match (says(&NO_TYPE), says(&NO_OPERATION)) {
        (true, _) => Some(Why::NoType),
        (false, true) => Some(Why::NoOperation),
        (false, false) => None,
    }
}

/// Returns the release without the local version behind it.
fn public(version: &str) -> &str {
    version.split('+').next().unwrap_or_default()
}

/// Returns the first lines of what torch said: below them is where in its sources.
fn short(error: &TchError) -> String {
    let text = match error {
        TchError::Torch(text) => text.clone(),
        other => other.to_string(),
    };
    let lines: Vec<&str> = text.lines().take_while(|line| !line.starts_with("Exception raised from")).take(4).collect();
    lines.join("\n")
}

/// The device that a request names.
const fn device_of(device: Device) -> tch::Device {
    match device {
        Device::Mps => tch::Device::Mps,
        Device::Cuda => tch::Device::Cuda(0),
        Device::Cpu => tch::Device::Cpu,
    }
}
