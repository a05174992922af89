//! Starting a probe: a child process with a time limit, whose output is captured. However it ends is an answer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::protocol::{At, Event, Framework, ProbeKind, Request};
use super::transcript::{Ended, Printed, Transcript};
use crate::sys::process::{self, End, Program};

/// What stands before the text of each Python probe.
const PROTOCOL: &str = include_str!("probes/protocol.py");

/// A probe that can be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probe {
    /// Which kind it is.
    pub kind: ProbeKind,
    /// The file to run: an environment's interpreter, or a native probe.
    pub program: PathBuf,
    /// What stands on the command line before the request.
    pub args: Vec<OsString>,
    /// All of its environment.
    pub env: BTreeMap<String, String>,
}

impl Probe {
    /// Makes the probe of a framework in an environment, by its interpreter. `env` is what a program of that environment
    /// would have.
    pub fn python(framework: Framework, interpreter: &Path, mut env: BTreeMap<String, String>) -> Self {
        let own = match framework {
            Framework::Torch => concat!(
                include_str!("probes/torch_operators.py"),
                "\n\n",
                include_str!("probes/torch_trials.py"),
                "\n\n",
                include_str!("probes/torch.py")
            ),
            Framework::Tensorflow => concat!(
                include_str!("probes/compared.py"),
                "\n\n",
                include_str!("probes/tensorflow_operators.py"),
                "\n\n",
                include_str!("probes/tensorflow.py")
            ),
            Framework::Mlx => include_str!("probes/mlx.py"),
            Framework::Coremltools => {
                concat!(include_str!("probes/compared.py"), "\n\n", include_str!("probes/coreml.py"))
            }
        };
        // Products of float32 may be shortened on an M5; that would be told as wrong numbers.
        env.insert("MLX_ENABLE_TF32".into(), "0".into());
        Self::script(framework, own, interpreter, env)
    }

    /// Makes a probe of a text of its own, which follows those that speak the protocol, load the framework and find the
    /// device.
    pub fn script(framework: Framework, own: &str, interpreter: &Path, env: BTreeMap<String, String>) -> Self {
        let device = match framework {
            Framework::Torch => include_str!("probes/torch_device.py"),
            Framework::Tensorflow => include_str!("probes/tensorflow_device.py"),
            Framework::Mlx => include_str!("probes/mlx_device.py"),
            Framework::Coremltools => "",
        };
        // Isolated, so that neither the folder it is started in nor `PYTHONPATH` decides what is loaded; and without
        // leaving compiled files behind.
        let args = ["-I", "-B", "-c", &format!("{PROTOCOL}\n\n{device}\n\n{own}")].map(OsString::from).into();
        Self { kind: ProbeKind::Python, program: interpreter.to_owned(), args, env: told(env) }
    }

    /// Makes a native probe. `env` says, among the rest, where it finds libtorch.
    pub fn native(program: &Path, env: BTreeMap<String, String>) -> Self {
        Self { kind: ProbeKind::Native, program: program.to_owned(), args: Vec::new(), env: told(env) }
    }

    /// Asks it. A crash, a hang, a loader's refusal and garbage are in what comes back.
    pub fn ask(&self, request: &Request) -> Transcript {
        self.ask_telling(request, &mut |_| {})
    }

    /// Asks it likewise, and passes on what it begins while it runs.
    pub fn ask_telling(&self, request: &Request, tell: &mut dyn FnMut(&At)) -> Transcript {
        let Answered { stdout, stderr, ended } = self.answer_telling(request, request.limits.end, &mut |line| {
            if let Some(Ok(Event::At(at))) = Event::of_line(line) {
                tell(&at);
            }
        });
        Transcript::read(self.kind, request.clone(), Printed { stdout: &stdout, stderr: &stderr }, ended)
    }

    /// Runs it with a request, for as many seconds at most, and returns what it printed.
    pub fn answer(&self, request: &impl Serialize, limit: u64) -> Answered {
        self.answer_telling(request, limit, &mut |_| {})
    }

    /// Runs it likewise, and passes on each line of its standard output while it runs.
    fn answer_telling(&self, request: &impl Serialize, limit: u64, tell: &mut dyn FnMut(&str)) -> Answered {
        let request = serde_json::to_string(request).expect("a request is plain data with text keys");
        let mut args = self.args.clone();
        args.push(request.into());
        let program =
            Program { path: self.program.clone(), args, env: self.env.clone(), limit: Duration::from_secs(limit) };
        match process::run_telling(&program, tell) {
            Ok(output) => {
                let ended = match output.end {
                    End::Code(code) => Ended::Code(code),
                    End::Signal(signal) => Ended::Signal(signal),
                    End::OutOfTime => Ended::OutOfTime(limit),
                };
                Answered { stdout: output.stdout, stderr: output.stderr, ended }
            }
            Err(error) => {
                let ended = Ended::NotStarted(error.cause.to_string());
                Answered { stdout: Vec::new(), stderr: Vec::new(), ended }
            }
        }
    }
}

/// What a probe printed, and how it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    /// On its standard output.
    pub stdout: Vec<u8>,
    /// On its standard error.
    pub stderr: Vec<u8>,
    /// How it ended.
    pub ended: Ended,
}

/// Adds what makes a probe tell more.
fn told(mut env: BTreeMap<String, String>) -> BTreeMap<String, String> {
    // Without it the first operator that has no GPU kernel is an error, and those after it stay unknown; with it each is
    // named. It is no answer to the user's own setting, which counts in `macml run`.
    env.insert("PYTORCH_ENABLE_MPS_FALLBACK".into(), "1".into());
    env
}
