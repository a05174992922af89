//! What `macml matrix --output-format json` prints: schema/matrix.schema.json is generated from here.

use std::collections::BTreeMap;

use macml::matrix;
use macml::matrix::Answer;
use macml::matrix::Mark;
use macml::target::Gpu;
use serde::Serialize;

use crate::error::CommandError;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml matrix --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `matrix`.
    command: Command,
    /// The end, in one word.
    verdict: Verdict,
    /// The exit code of the process: 0 some cell has a set, 1 none has, 2 macml could not tell.
    pub(crate) exit_code: u8,
    /// One for each set that was asked about.
    tables: Vec<Table>,
    /// Why there is no table; present with the verdict `error`, and with `unsatisfiable` when a package does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// The verb.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml matrix`
    Matrix,
}

/// The end, in one word.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// Some cell has a set. Exit code 0.
    Made,
    /// No cell has one. Exit code 1.
    Unsatisfiable,
    /// macml could not tell. Exit code 2.
    Error,
}

/// The answers for one set of packages.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Table {
    /// The packages of which a cell tells the versions, by name.
    packages: Vec<String>,
    /// What was asked for, as requirements.
    asked: Vec<String>,
    /// `required` or `optional`.
    gpu: String,
    /// The lowest chip.
    chip: String,
    /// The day to which the knowledge is true.
    knowledge: String,
    /// The rows.
    pythons: Vec<String>,
    /// The columns: lowest macOS.
    macos: Vec<String>,
    /// Row by row, one cell for each Python and macOS.
    cells: Vec<Cell>,
    /// What goes wrong with the sets of some cells.
    problems: Vec<Problem>,
    /// Releases in some cells that are later than the knowledge.
    unknown: Vec<Unknown>,
}

/// One Python on one macOS.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Cell {
    /// The Python.
    python: String,
    /// The lowest macOS.
    macos: String,
    /// What is to be thought of it, in one word.
    mark: CellMark,
    /// The packages asked about, with their versions; empty where there is no set.
    versions: BTreeMap<String, String>,
    /// The whole set.
    set: BTreeMap<String, String>,
    /// Names of rules that tell of something wrong with this set at this floor, worst first.
    problems: Vec<String>,
    /// Packages of the set that are later than the knowledge.
    unknown: Vec<String>,
    /// Why there is no set, in the order of reasoning; empty where there is one.
    reasons: Vec<String>,
}

/// What is to be thought of a cell.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum CellMark {
    /// There is a set, and nothing is known against it.
    Ok,
    /// There is a set with a release later than the knowledge.
    Unknown,
    /// There is a set, and something goes wrong with it.
    Problems,
    /// There is none.
    None,
}

/// Something that goes wrong.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Problem {
    /// The rule that tells of it.
    pub(crate) rule: String,
    /// The package that it is about.
    pub(crate) package: String,
    /// The versions of it that are in the table with this problem.
    pub(crate) versions: Vec<String>,
    /// The columns in which it shows.
    pub(crate) macos: Vec<String>,
    /// Those columns in short.
    #[serde(skip)]
    pub(crate) spans: String,
    /// Why, as one sentence.
    pub(crate) reason: String,
    /// What to take instead, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) instead: Option<String>,
}

/// Releases that are later than the knowledge.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Unknown {
    /// The package.
    pub(crate) package: String,
    /// Its releases in the table of which nothing is known.
    pub(crate) versions: Vec<String>,
    /// The newest of which something is known.
    pub(crate) newest: String,
}

impl Report {
    /// Makes the report of a run.
    pub(crate) fn new(result: &Result<Vec<matrix::Table>, CommandError>) -> Self {
        let (verdict, tables, error) = match result {
            Ok(tables) if tables.iter().any(matrix::Table::has_answer) => (Verdict::Made, tables.as_slice(), None),
            Ok(tables) => (Verdict::Unsatisfiable, tables.as_slice(), None),
            Err(error) if error.kind.code() == 1 => (Verdict::Unsatisfiable, &[][..], Some(error)),
            Err(error) => (Verdict::Error, &[][..], Some(error)),
        };
        let exit_code = match verdict {
            Verdict::Made => 0,
            Verdict::Unsatisfiable => 1,
            Verdict::Error => 2,
        };
        let (tables, error) = (tables.iter().map(Table::from).collect(), error.map(ReportedError::new));
        Self { schema: SCHEMA, command: Command::Matrix, verdict, exit_code, tables, error }
    }
}

impl From<&matrix::Table> for Table {
    fn from(table: &matrix::Table) -> Self {
        Self {
            packages: texts(&table.asked),
            asked: table.lines.clone(),
            gpu: gpu(table.gpu).to_owned(),
            chip: table.chip.to_string(),
            knowledge: table.knowledge.date.clone(),
            pythons: texts(&table.axes.pythons),
            macos: texts(&table.axes.floors),
            cells: table.rows.iter().flatten().map(|cell| Cell::new(cell, table)).collect(),
            problems: problems(table),
            unknown: unknown(table),
        }
    }
}

impl Cell {
    fn new(cell: &matrix::Cell, table: &matrix::Table) -> Self {
        let versions = table.asked.iter().filter_map(|name| Some((name.to_string(), cell.version(name)?.to_string())));
        let (set, reasons) = match &cell.answer {
            Answer::Set(set) => {
                (set.iter().map(|(name, version)| (name.to_string(), version.to_string())).collect(), Vec::new())
            }
            Answer::Refusal(reasons) => (BTreeMap::new(), reasons.clone()),
        };
        Self {
            python: cell.python.to_string(),
            macos: cell.macos.to_string(),
            mark: match cell.mark() {
                Mark::Fine => CellMark::Ok,
                Mark::Unknown => CellMark::Unknown,
                Mark::Problems => CellMark::Problems,
                Mark::Refused => CellMark::None,
            },
            versions: versions.collect(),
            set,
            problems: cell.problems.clone(),
            unknown: texts(&cell.unknown),
            reasons,
        }
    }
}

/// Says it in the word of macml.toml.
pub(crate) fn gpu(gpu: Gpu) -> &'static str {
    match gpu {
        Gpu::Required => "required",
        Gpu::Optional => "optional",
    }
}

/// Lists what goes wrong, rule by rule.
pub(crate) fn problems(table: &matrix::Table) -> Vec<Problem> {
    let problem = |(rule, cells): (&macml::knowledge::Rule, Vec<&matrix::Cell>)| {
        let mut versions: Vec<_> = cells.iter().filter_map(|cell| cell.version(&rule.package)).collect();
        versions.sort();
        versions.dedup();
        let mut macos: Vec<_> = cells.iter().map(|cell| cell.macos).collect();
        macos.sort_unstable();
        macos.dedup();
        Problem {
            rule: rule.id.clone(),
            package: rule.package.to_string(),
            versions: texts(&versions),
            macos: texts(&macos),
            spans: table.spans(&macos),
            reason: rule.reason.clone(),
            instead: rule.prefer().map(|prefer| prefer.to_string()),
        }
    };
    table.problems().into_iter().map(problem).collect()
}

/// Lists releases that are later than the knowledge, by name.
pub(crate) fn unknown(table: &matrix::Table) -> Vec<Unknown> {
    let mut all: BTreeMap<_, std::collections::BTreeSet<_>> = BTreeMap::new();
    for cell in table.rows.iter().flatten() {
        for name in &cell.unknown {
            all.entry(name).or_default().extend(cell.version(name));
        }
    }
    let unknown = |(name, versions): (&macml::pep::PackageName, std::collections::BTreeSet<_>)| Unknown {
        package: name.to_string(),
        versions: texts(versions),
        newest: table.knowledge.newest.get(name).map(ToString::to_string).unwrap_or_default(),
    };
    all.into_iter().map(unknown).collect()
}

fn texts<T: ToString>(all: impl IntoIterator<Item = T>) -> Vec<String> {
    all.into_iter().map(|one| one.to_string()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("matrix.schema.json");
    }
}
