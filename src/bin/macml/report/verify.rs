//! What `macml verify --output-format json` prints: schema/verify.schema.json is generated from here.

use macml::operators::kernels::Later;
use macml::pipeline::verify::Answer;
use macml::pipeline::verify::NotAsked;
use macml::pipeline::verify::Unfit;
use macml::verify::Tried;
use macml::verify::protocol::Pass;
use macml::verify::protocol::ProbeKind;
use serde::Serialize;

use crate::commands::verify::Done;
use crate::commands::verify::FORGIVEN;
use crate::commands::verify::NotKept;
use crate::commands::verify::without_kernel;
use crate::error::CommandError;
use crate::report::lock::ReportedError;
use crate::report::lock::ReportedProblem;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml verify --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `verify`.
    command: Command,
    /// The word for all of it; of several that of the worst: `ok`; exit code 3: `wrong-numbers`, `nan`,
    /// `did-not-learn`; exit code 1: `cannot-load`, `wrong-release`, `not-built`, `crashed`, `garbage`, `failed`,
    /// `fallback`, `optimizer-elsewhere`, `incomplete`; exit code 2: `no-device`, `not-visible`, `hung`,
    /// `out-of-memory`, `not-run`. `error` where macml did not come as far as asking.
    verdict: String,
    /// The exit code of the process: 0 all is right, 1 something does not work, 2 macml could not tell, 3 the numbers
    /// are wrong.
    pub(crate) exit_code: u8,
    /// The environment, as people know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<String>,
    /// Where was computed: `mps`, `cuda` or `cpu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    /// The Mac that macml ran on; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<Mac>,
    /// What cannot use this Mac's GPU by what is known, told before anything was run.
    unfit: Vec<ReportedUnfit>,
    /// What is known to go wrong with these releases on this Mac, the worst first.
    known_problems: Vec<ReportedProblem>,
    /// One for each framework and way of asking it.
    verdicts: Vec<ReportedVerdict>,
    /// Why torch was not asked natively, where nobody demanded that and it could have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_left_out: Option<LeftOut>,
    /// Frameworks that macml.toml names and that are not installed.
    missing: Vec<String>,
    /// Whether this was written to .macml/verified; absent for an environment that is no project's. What `--ops` finds is
    /// not.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<bool>,
    /// What is worth knowing, a sentence each.
    notes: Vec<String>,
    /// What to do, a sentence each.
    hints: Vec<String>,
    /// Why nothing was asked; present with the verdict `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml verify`
    Verify,
}

/// A Mac.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Mac {
    /// Its macOS.
    macos: String,
    /// Its processor.
    chip: String,
    /// Its memory in bytes.
    memory: u64,
}

/// A package that cannot use this Mac's GPU.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedUnfit {
    /// The package.
    name: String,
    /// Its version.
    version: String,
    /// What it would need, as a sentence.
    statement: String,
    /// Why, as a sentence.
    reason: String,
    /// The newest release that is known to use the GPU of this macOS, where its macOS is what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    /// The name of the rule.
    rule: String,
}

/// What came of asking a framework in one way.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedVerdict {
    /// Its word.
    word: String,
    /// The framework: `torch`, `tensorflow`, `mlx` or `coremltools`.
    framework: String,
    /// How it was asked: `python` or `native`.
    probe: &'static str,
    /// The version that is installed; absent where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    installed: Option<String>,
    /// The version that was loaded; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Where was computed.
    device: String,
    /// What the device is.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_name: Option<String>,
    /// The system as the framework's process saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    /// How many computations were compared with the CPU.
    compared: u64,
    /// The largest error in each type.
    largest: Vec<Largest>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    /// What is wrong, the most telling first.
    problems: Vec<Wrong>,
    /// What came of each operator, with `--ops`; empty without.
    operators: Vec<ReportedOperator>,
    /// The operators of torch that were met and have no kernel for a Mac's GPU, by name.
    without_kernel: Vec<Without>,
    /// What was not asked or is worth knowing, and is not wrong, a sentence each.
    notes: Vec<String>,
}

/// What came of an operator in one pass.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedOperator {
    /// Its name, with its variant in brackets: `linalg_qr[reduced]`, `aten::addmm`, `torch.nn.LSTM`, `Conv2D`.
    name: String,
    /// The name for which it was tried; absent where none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
    /// Whether it is the gradient: `forward` or `backward`.
    pass: &'static str,
    /// What came of it: `supported`, `fallback`, `fails`, `wrong` or `not-tried`.
    outcome: String,
    /// The word for that, as of a verdict.
    word: String,
    /// Why, as a sentence; absent where it is supported and was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The element type of its inputs.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    element: Option<String>,
    /// The shapes of its inputs.
    shapes: Vec<Vec<u64>>,
    /// The largest error over the largest magnitude of the right result, where it was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<f64>,
    /// How long it took on the device.
    seconds: f64,
    /// The operators without a kernel of the device that were met in it.
    lacking: Vec<String>,
}

/// An operator without a kernel for a Mac's GPU.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Without {
    /// Its name as torch says it.
    operator: String,
    /// The torch from which on it runs on the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_from: Option<String>,
    /// The newest torch that macml knows, where that has no GPU kernel either.
    #[serde(skip_serializing_if = "Option::is_none")]
    none_until: Option<String>,
}

/// The largest error in a type.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Largest {
    /// The type.
    #[serde(rename = "type")]
    element: String,
    /// The error, over the largest magnitude of the right result.
    error: f64,
    /// The computation.
    id: String,
}

/// Something that is wrong.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Wrong {
    /// Its word.
    word: String,
    /// The computation, training or operator it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// What it is.
    sentence: String,
    /// The names of the rules by which it was known.
    known: Vec<String>,
}

/// Why torch was not asked natively.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct LeftOut {
    /// Why, as a sentence.
    reason: String,
    /// Whether `--native` would build what it takes.
    can_be_built: bool,
}

impl Report {
    /// Makes the report of a run that came as far as asking.
    pub(crate) fn new(done: &Done) -> Self {
        let mac =
            |host: &macml::host::Host| Mac { macos: host.macos.clone(), chip: host.cpu.clone(), memory: host.memory };
        let forgiven = done.forgiven.then(|| FORGIVEN.to_owned());
        Self {
            schema: SCHEMA,
            command: Command::Verify,
            verdict: done.outcome.word().to_string(),
            exit_code: done.code(),
            environment: Some(done.name.clone()),
            device: Some(done.device.to_string()),
            mac: done.host.as_ref().map(mac),
            unfit: done.foreseen.unfit.iter().map(ReportedUnfit::from).collect(),
            known_problems: done.foreseen.problems.iter().map(ReportedProblem::from).collect(),
            verdicts: done.outcome.answers.iter().map(ReportedVerdict::from).collect(),
            native_left_out: done
                .outcome
                .left_out
                .as_ref()
                .map(|why| LeftOut { reason: why.to_string(), can_be_built: matches!(why, NotAsked::NotBuilt) }),
            missing: done.missing.iter().cloned().collect(),
            kept: done.kept.as_ref().map(|kept| matches!(kept, NotKept::Kept)),
            notes: done.notes.iter().cloned().chain(done.not_kept()).chain(forgiven).collect(),
            hints: done.hints.clone(),
            error: None,
        }
    }

    /// Makes the report of a run that did not.
    pub(crate) fn failed(error: &CommandError) -> Self {
        Self {
            schema: SCHEMA,
            command: Command::Verify,
            verdict: "error".to_owned(),
            exit_code: error.kind.code(),
            environment: None,
            device: None,
            mac: None,
            unfit: Vec::new(),
            known_problems: Vec::new(),
            verdicts: Vec::new(),
            native_left_out: None,
            missing: Vec::new(),
            kept: None,
            notes: Vec::new(),
            hints: Vec::new(),
            error: Some(ReportedError::new(error)),
        }
    }
}

impl From<&Unfit> for ReportedUnfit {
    fn from(unfit: &Unfit) -> Self {
        Self {
            name: unfit.name.to_string(),
            version: unfit.version.to_string(),
            statement: unfit.statement.replace('`', ""),
            reason: unfit.reason.clone(),
            last: unfit.last.as_ref().map(ToString::to_string),
            rule: unfit.rule.clone(),
        }
    }
}

impl From<&Answer> for ReportedVerdict {
    fn from(answer: &Answer) -> Self {
        let verdict = &answer.verdict;
        let largest = verdict.largest.iter().map(|(element, largest)| Largest {
            element: element.to_string(),
            error: largest.error,
            id: largest.id.clone(),
        });
        let problems = verdict.problems.iter().zip(&answer.known).map(|(problem, known)| Wrong {
            word: problem.word.to_string(),
            id: problem.id.clone(),
            sentence: problem.sentence.clone(),
            known: known.clone(),
        });
        Self {
            word: verdict.word.to_string(),
            framework: verdict.framework.to_string(),
            probe: match verdict.probe {
                ProbeKind::Native => "native",
                ProbeKind::Python => "python",
            },
            installed: answer.installed.as_ref().map(ToString::to_string),
            version: verdict.version.clone(),
            device: verdict.device.to_string(),
            device_name: verdict.device_name.clone(),
            system: verdict.system.clone(),
            compared: verdict.compared,
            largest: largest.collect(),
            seconds: verdict.seconds,
            problems: problems.collect(),
            operators: answer.tried.iter().map(ReportedOperator::from).collect(),
            without_kernel: without_kernel(answer).into_iter().map(Without::from).collect(),
            notes: verdict.notes.clone(),
        }
    }
}

impl From<&Tried> for ReportedOperator {
    fn from(one: &Tried) -> Self {
        Self {
            name: one.name.clone(),
            asked: one.asked.clone(),
            pass: match one.pass {
                Pass::Forward => "forward",
                Pass::Backward => "backward",
            },
            outcome: one.outcome.to_string(),
            word: one.word.to_string(),
            why: one.why.clone(),
            element: one.element.map(|element| element.to_string()),
            shapes: one.shapes.clone(),
            error: one.error,
            seconds: one.seconds,
            lacking: one.lacking.clone(),
        }
    }
}

impl From<(String, Later)> for Without {
    fn from((operator, later): (String, Later)) -> Self {
        Self {
            operator,
            gpu_from: later.from().map(ToString::to_string),
            none_until: later.none_until().map(ToString::to_string),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("verify.schema.json");
    }
}
