//! What `macml doctor --output-format json` prints: schema/doctor.schema.json is generated from here.

use macml::diag::Severity;
use macml::doctor::Diagnosis;
use macml::doctor::Fastest;
use macml::doctor::Mark;
use macml::doctor::Remedy;
use macml::doctor::Section;
use macml::doctor::Subject;
use macml::doctor::facts;
use serde::Serialize;

use crate::commands::doctor::Seen;
use crate::error::CommandError;
use crate::report::lock::ReportedError;
use crate::report::lock::ReportedSeverity;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml doctor --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `doctor`.
    command: Command,
    /// The end, in one word. Exit code 0: `ok`. Exit code 1: `problems` where something is broken, `strict` where `--strict`
    /// met a warning. Exit code 2: `unseen` where the machine or the project could not be seen, `error` where there is
    /// nothing to judge.
    verdict: &'static str,
    /// The exit code of the process.
    exit_code: u8,
    /// The macml that looked, of which a file of facts may name another one.
    macml: String,
    /// Where the facts come from: `seen`, or what a file says of itself.
    source: String,
    /// How many diagnoses there are.
    counts: Counts,
    /// What is wrong or worth knowing, the worst first.
    diagnoses: Vec<ReportedDiagnosis>,
    /// What is there, by subject.
    sections: Vec<ReportedSection>,
    /// What could not be seen.
    unseen: Vec<ReportedUnseen>,
    /// How indexes and mirrors answered; empty without `--network`.
    measured: Vec<ReportedSpeed>,
    /// What that comes to; absent where none sent a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    fastest: Option<ReportedFastest>,
    /// How long it took, in seconds.
    seconds: f64,
    /// Why nothing was judged; present with the verdict `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml doctor`
    Doctor,
}

/// How many diagnoses there are.
#[derive(Serialize, Clone, Copy, Default, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Counts {
    /// Errors.
    errors: usize,
    /// Warnings.
    warnings: usize,
    /// Notes.
    notes: usize,
}

/// One thing that is wrong, or worth knowing.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedDiagnosis {
    /// The stable code, which `macml explain` has a page on.
    code: String,
    /// `error`, `warning` or `note`.
    severity: ReportedSeverity,
    /// The section that it belongs to.
    subject: ReportedSubject,
    /// The thing that is wrong, as its section names it: the folder of an environment, a program; absent where it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// What was seen.
    seen: String,
    /// Why that matters.
    why: String,
    /// Further sentences.
    details: Vec<String>,
    /// What to do.
    remedy: ReportedRemedy,
}

/// What to do.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) struct ReportedRemedy {
    /// What to do, in one sentence.
    says: String,
    /// The command line that does it; absent where no command does.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

/// What a section is about.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum ReportedSubject {
    /// The machine, its system and memory.
    Mac,
    /// What this process sees of the GPU.
    Gpu,
    /// Compilers and other tools.
    Tools,
    /// PATH, variables, Pythons.
    Pythons,
    /// The project: macml.toml, macml.lock.
    Project,
    /// What is installed.
    Environment,
    /// Volumes and folders.
    Disk,
    /// Proxies, certificates, mirrors.
    Network,
}

/// Lines about one subject.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedSection {
    /// What it is about.
    subject: ReportedSubject,
    /// Its heading.
    title: String,
    /// What was seen.
    lines: Vec<ReportedLine>,
}

/// One thing that was looked at.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedLine {
    /// How it is.
    mark: ReportedMark,
    /// What it is.
    text: String,
}

/// How something is.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum ReportedMark {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// Perhaps a problem.
    Warning,
    /// A problem.
    Error,
    /// It could not be seen.
    Unseen,
}

/// Something that could not be seen.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedUnseen {
    /// What.
    what: String,
    /// Why.
    why: String,
}

/// How an index or a mirror answered.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedSpeed {
    /// Its name: `pypi`, `tuna`, or its address.
    name: String,
    /// Milliseconds to the answer of a page; absent where none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    page_ms: Option<u64>,
    /// Bytes a second of a file; absent where none came.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<u64>,
    /// Why there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Who serves packages of PyPI best.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedFastest {
    /// Its name.
    name: String,
    /// The verdict in a sentence.
    says: String,
    /// The line of config.toml that adopts it; absent where nothing is to be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
}

impl Report {
    /// Makes the report of what was seen.
    pub(crate) fn new(seen: &Seen) -> Self {
        let count = |severity| seen.diagnoses.iter().filter(|one| one.severity == severity).count();
        Self {
            verdict: seen.verdict.word(),
            exit_code: seen.verdict.code(),
            macml: seen.facts.macml.clone(),
            source: seen.facts.source.clone(),
            counts: Counts {
                errors: count(Severity::Error),
                warnings: count(Severity::Warning),
                notes: count(Severity::Note),
            },
            diagnoses: seen.diagnoses.iter().map(ReportedDiagnosis::from).collect(),
            sections: seen.sections.iter().map(ReportedSection::from).collect(),
            unseen: seen.facts.unseen.iter().map(ReportedUnseen::from).collect(),
            measured: seen.facts.network.measured.iter().map(ReportedSpeed::from).collect(),
            fastest: seen.fastest.as_ref().map(ReportedFastest::from),
            seconds: seen.took.as_secs_f64(),
            ..Self::empty()
        }
    }

    /// Makes the report of a run that had nothing to judge.
    pub(crate) fn failed(error: &CommandError) -> Self {
        Self { exit_code: error.kind.code(), error: Some(ReportedError::new(error)), ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            schema: SCHEMA,
            command: Command::Doctor,
            verdict: "error",
            exit_code: 2,
            macml: env!("CARGO_PKG_VERSION").to_owned(),
            source: String::new(),
            counts: Counts::default(),
            diagnoses: Vec::new(),
            sections: Vec::new(),
            unseen: Vec::new(),
            measured: Vec::new(),
            fastest: None,
            seconds: 0.0,
            error: None,
        }
    }
}

impl From<&Diagnosis> for ReportedDiagnosis {
    fn from(one: &Diagnosis) -> Self {
        Self {
            code: one.code.to_string(),
            severity: one.severity.into(),
            subject: one.subject.into(),
            about: one.about.clone(),
            seen: one.seen.clone(),
            why: one.why.clone(),
            details: one.details.clone(),
            remedy: (&one.remedy).into(),
        }
    }
}

impl From<&Remedy> for ReportedRemedy {
    fn from(remedy: &Remedy) -> Self {
        Self { says: remedy.says.clone(), command: remedy.command.clone() }
    }
}

impl From<Subject> for ReportedSubject {
    fn from(subject: Subject) -> Self {
        match subject {
            Subject::Mac => Self::Mac,
            Subject::Gpu => Self::Gpu,
            Subject::Tools => Self::Tools,
            Subject::Pythons => Self::Pythons,
            Subject::Project => Self::Project,
            Subject::Environment => Self::Environment,
            Subject::Disk => Self::Disk,
            Subject::Network => Self::Network,
        }
    }
}

impl From<&Section> for ReportedSection {
    fn from(section: &Section) -> Self {
        let line = |line: &macml::doctor::Line| ReportedLine { mark: line.mark.into(), text: line.text.clone() };
        Self {
            subject: section.subject.into(),
            title: section.title.to_string(),
            lines: section.lines.iter().map(line).collect(),
        }
    }
}

impl From<Mark> for ReportedMark {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::Good => Self::Good,
            Mark::Note => Self::Note,
            Mark::Warning => Self::Warning,
            Mark::Error => Self::Error,
            Mark::Unseen => Self::Unseen,
        }
    }
}

impl From<&facts::Unseen> for ReportedUnseen {
    fn from(one: &facts::Unseen) -> Self {
        Self { what: one.what.clone(), why: one.why.clone() }
    }
}

impl From<&facts::Measured> for ReportedSpeed {
    fn from(one: &facts::Measured) -> Self {
        Self {
            name: one.name.clone(),
            page_ms: one.page_ms,
            bytes_per_second: one.bytes_per_second,
            error: one.error.clone(),
        }
    }
}

impl From<&Fastest> for ReportedFastest {
    fn from(one: &Fastest) -> Self {
        Self { name: one.name.clone(), says: one.says.clone(), line: one.line.clone() }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("doctor.schema.json");
    }
}
