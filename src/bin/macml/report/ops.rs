//! What `macml ops --output-format json` prints: schema/ops.schema.json is generated from here.

use macml::operators;
use macml::operators::Asked;
use macml::operators::Change;
use macml::operators::Kernel;
use macml::operators::Row;
use macml::operators::State;
use macml::pipeline::ops::Carried;
use macml::pipeline::ops::Tables;
use serde::Serialize;

use crate::commands::ops::Answer;
use crate::error::CommandError;
use crate::report::lock::ReportedError;
use crate::report::lock::ReportedFinding;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml ops --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `ops`.
    command: String,
    /// The exit code of the process: 0, 1 where something that was asked about has no GPU kernel, 2 macml could not tell.
    exit_code: u8,
    /// The torch that is meant; absent where there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    torch: Option<ReportedTorch>,
    /// Without NAME, FILE and `--compare`: every operator that the processor has and the GPU lacks, internal ones too.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Vec<ReportedRow>>,
    /// With NAME or FILE: what is said of each name.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<Vec<ReportedAsked>>,
    /// With `--compare`: what changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<ReportedComparison>,
    /// Warnings and notes, such as a mirror that lacked a file.
    findings: Vec<ReportedFinding>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A torch release, with how many of its operators are in which state for tensors on a Mac's GPU.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedTorch {
    /// Its version.
    version: String,
    /// The wheel whose table was read.
    wheel: String,
    /// The digest of the table.
    table_sha256: String,
    /// How many operators the table spells out.
    operators: usize,
    /// How many torch makes from those.
    variants: usize,
    /// How many have a GPU kernel.
    gpu: usize,
    /// How many are made of other operators.
    composite: usize,
    /// How many have none, though the processor has one.
    none: usize,
    /// How many are for other backends only.
    other: usize,
}

/// What tensors on the GPU meet.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum ReportedState {
    /// A kernel.
    Gpu,
    /// Other operators, which may have kernels or not.
    Composite,
    /// Nothing: torch refuses, or falls back to the CPU.
    None,
}

/// An operator.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedRow {
    /// Its name, with overload, without `aten::`.
    name: String,
    /// What runs.
    state: ReportedState,
    /// The function that is the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    /// The operator whose kernel it is, or that is called, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<String>,
    /// The same for sparse tensors, where the operator knows such on any backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    sparse: Option<ReportedState>,
    /// The same for tensors that are sparse by rows, columns or blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    sparse_csr: Option<ReportedState>,
    /// `nn`, `linalg`, `fft`, `special` or `sparse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    /// Whether people do not call it.
    internal: bool,
    /// The first release from which on all later ones run it on the GPU, as far as this macml knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<String>,
}

/// What is said of a name.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedAsked {
    /// As it was written.
    name: String,
    /// The file that names it; absent where it was typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// What it comes to: the worst of the operators that are meant and of those that do their work, where one overload with
    /// a kernel suffices; absent where the name is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<ReportedState>,
    /// The first release that has a kernel of it, or will have.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    /// What is meant.
    operators: Vec<ReportedRow>,
    /// Operators of nearly the same name that do the work of composite ones.
    leads_to: Vec<ReportedRow>,
    /// Operators of the same name for the gradient.
    backward: Vec<ReportedRow>,
    /// What was probably meant, where the name is unknown.
    near: Vec<String>,
}

/// What changed to another release.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedComparison {
    /// The other release.
    torch: ReportedTorch,
    /// What runs there and did not, or has a kernel and was composite.
    gained: Vec<ReportedChange>,
    /// The other way round.
    lost: Vec<ReportedChange>,
    /// What is there only.
    new: Vec<ReportedChange>,
    /// What is not there any more.
    gone: Vec<ReportedChange>,
}

/// What became of an operator.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedChange {
    /// Its name, with overload.
    name: String,
    /// What ran; absent where it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<ReportedState>,
    /// What runs; absent where it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<ReportedState>,
}

impl Report {
    /// Makes the report of an answer.
    pub(crate) fn new(tables: &Tables, answers: &[Answer], exit_code: u8) -> Self {
        let table = &tables.one.table;
        let plain = answers.is_empty() && tables.other.is_none();
        let asked = answers.iter().flat_map(|answer| {
            answer.asked.iter().map(|asked| ReportedAsked::new(asked, answer.file.clone())).collect::<Vec<_>>()
        });
        Self {
            exit_code,
            torch: Some(ReportedTorch::from(&tables.one)),
            missing: plain.then(|| rows(&operators::missing(table))),
            asked: (!answers.is_empty()).then(|| asked.collect()),
            compared: tables.other.as_ref().map(|other| {
                let operators::Comparison { gained, lost, new, gone } = operators::compare(table, &other.table);
                let changes = |changes: &[Change]| changes.iter().map(ReportedChange::from).collect();
                ReportedComparison {
                    torch: ReportedTorch::from(other),
                    gained: changes(&gained),
                    lost: changes(&lost),
                    new: changes(&new),
                    gone: changes(&gone),
                }
            }),
            findings: tables.findings.iter().map(|finding| ReportedFinding::new(finding, None)).collect(),
            ..Self::empty()
        }
    }

    /// Makes the report of a run without an answer.
    pub(crate) fn failed(error: &CommandError) -> Self {
        Self { exit_code: error.kind.code(), error: Some(ReportedError::new(error)), ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            schema: SCHEMA,
            command: "ops".to_owned(),
            exit_code: 0,
            torch: None,
            missing: None,
            asked: None,
            compared: None,
            findings: Vec::new(),
            error: None,
        }
    }
}

fn rows(rows: &[Row]) -> Vec<ReportedRow> {
    rows.iter().map(ReportedRow::from).collect()
}

impl From<&Carried> for ReportedTorch {
    fn from(carried: &Carried) -> Self {
        let counts = operators::counts(&carried.table);
        Self {
            version: carried.version.to_string(),
            wheel: carried.wheel.to_string(),
            table_sha256: carried.sha256.to_string(),
            operators: carried.table.functions(),
            variants: carried.table.variants(),
            gpu: counts.gpu,
            composite: counts.composite,
            none: counts.none,
            other: counts.elsewhere,
        }
    }
}

impl From<State> for ReportedState {
    fn from(state: State) -> Self {
        match state {
            State::Gpu => Self::Gpu,
            State::Composite => Self::Composite,
            State::None => Self::None,
        }
    }
}

impl From<&Row> for ReportedRow {
    fn from(row: &Row) -> Self {
        let (kernel, through) = match &row.kernel {
            Kernel::Own { function, of } => (Some(function.clone()), of.as_ref()),
            Kernel::Generated { from } => (None, Some(from)),
            Kernel::Composite | Kernel::Nothing => (None, None),
        };
        Self {
            name: row.name.to_string(),
            state: row.state.into(),
            kernel,
            through: through.map(ToString::to_string),
            sparse: row.sparse.map(ReportedState::from),
            sparse_csr: row.sparse_csr.map(ReportedState::from),
            module: row.module.clone(),
            internal: row.name.is_internal(),
            first: row.first.as_ref().map(|first| first.version.to_string()),
        }
    }
}

impl ReportedAsked {
    fn new(asked: &Asked, file: Option<String>) -> Self {
        Self {
            name: asked.text.clone(),
            file,
            state: asked.state().map(ReportedState::from),
            first: asked.first().filter(|_| !asked.rows.is_empty()).map(|first| first.version.to_string()),
            operators: rows(&asked.rows),
            leads_to: rows(&asked.leads_to),
            backward: rows(&asked.backward),
            near: asked.near.clone(),
        }
    }
}

impl From<&Change> for ReportedChange {
    fn from(change: &Change) -> Self {
        let state = |state: Option<State>| state.map(ReportedState::from);
        Self { name: change.name.to_string(), before: state(change.before), after: state(change.after) }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("ops.schema.json");
    }
}
