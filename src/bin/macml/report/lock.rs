//! What `macml lock`, `macml add` and `macml remove` print with `--output-format json`: schema/report.schema.json is generated
//! from here.

use std::path::Path;

use macml::diag::Finding;
use macml::diag::Severity;
use macml::diag::Source;
use macml::lock;
use macml::lock::diff::EnvDiff;
use macml::lock::diff::PackageChange;
use macml::lock::diff::SettingChange;
use macml::lock::model::LockedEnv;
use macml::lock::model::LockedRef;
use macml::manifest::model::Gpu;
use macml::pipeline;
use macml::pipeline::Answer;
use macml::pipeline::AnswerOrigin;
use macml::pipeline::KnownProblem;
use macml::pipeline::Outcome;
use macml::resolve::resolution::Held;
use macml::target::Floor;
use serde::Serialize;

use crate::context::Context;
use crate::error::CommandError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml lock --output-format json`, `add` and `remove` print to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    pub(crate) schema: u32,
    /// The verb: `lock`, `add` or `remove`.
    pub(crate) command: Command,
    /// The end, in one word.
    pub(crate) verdict: Verdict,
    /// The exit code of the process: 0 yes, 1 the answer is no, 2 macml could not tell.
    pub(crate) exit_code: u8,
    /// One for each environment and platform looked at, in the order of macml.toml.
    pub(crate) environments: Vec<Environment>,
    /// Lines that macml.toml got, as they are written there; present with `add`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lines: Option<Vec<String>>,
    /// What differs from the lock before, by environment and platform; those without a difference are left out.
    pub(crate) changes: Vec<Changes>,
    /// Warnings and notes about macml.toml and the indexes and, when the verdict is `error`, the mistakes in it.
    pub(crate) findings: Vec<ReportedFinding>,
    /// Why there is no answer; present with the verdicts `unsatisfiable` and `error`, and with `stale` when the
    /// difference could not be found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ReportedError>,
}

/// A verb with a report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Command {
    /// `macml lock`
    Lock,
    /// `macml add`
    Add,
    /// `macml remove`
    Remove,
}

/// The end, in one word.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// macml.lock answers macml.toml; nothing was written. Exit code 0.
    Unchanged,
    /// macml.lock was written. Exit code 0.
    Written,
    /// macml.lock would be written (`--dry-run`). Exit code 0.
    Differs,
    /// Something else than macml.toml was tried (`--macos`, `--python`); nothing was written. Exit code 0.
    Tried,
    /// macml.lock does not answer macml.toml (`--check`). Exit code 1.
    Stale,
    /// Nothing satisfies macml.toml. Exit code 1.
    Unsatisfiable,
    /// macml could not tell. Exit code 2.
    Error,
}

/// One environment on one platform.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Environment {
    /// Its name in macml.toml; `default` for the unnamed one.
    pub(crate) name: String,
    /// `macos-arm64`, `linux-x86_64` or `linux-aarch64`.
    pub(crate) platform: String,
    /// Lowest macOS; Macs only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) macos: Option<String>,
    /// Lowest chip; Macs only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chip: Option<String>,
    /// Lowest glibc; Linux only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) glibc: Option<String>,
    /// `required` or `optional`.
    pub(crate) gpu: String,
    /// The chosen Python, `3.13`.
    pub(crate) python: String,
    /// Patch releases of it that are left over, as PEP 440 specifiers; absent when all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) python_full: Option<String>,
    /// Names of macml's knowledge that macml.toml switched off for it, sorted.
    pub(crate) ignore_rules: Vec<String>,
    /// Whether it was solved in this run, or kept from the lock.
    pub(crate) solved: bool,
    /// Its packages by name.
    pub(crate) packages: Vec<Package>,
    /// Names of the knowledge that shaped it; `macml rules NAME` shows one.
    pub(crate) rules: Vec<String>,
    /// Why no later Python of the range was taken; absent where there is none, or where that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) python_held: Option<ReportedPythonHeld>,
    /// What is known to go wrong with exactly these packages on the lowest Mac, the worst first.
    pub(crate) problems: Vec<ReportedProblem>,
    /// Roots older than their newest release, with the reason.
    pub(crate) held: Vec<ReportedHeld>,
    /// Warnings and notes about this answer.
    pub(crate) findings: Vec<ReportedFinding>,
}

/// A package of an environment.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Package {
    /// Its normalized name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Extras in use.
    pub(crate) extras: Vec<String>,
}

/// What differs from the lock before in one environment on one platform.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Changes {
    /// The environment.
    pub(crate) environment: String,
    /// The platform.
    pub(crate) platform: String,
    /// Whether both locks have it.
    pub(crate) presence: Presence,
    /// Settings first, then packages by name.
    pub(crate) changes: Vec<Change>,
}

/// Which lock has an environment.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Presence {
    /// The new one only.
    Added,
    /// The old one only.
    Removed,
    /// Both.
    Kept,
}

/// A difference from the lock before.
#[derive(Serialize, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Change {
    /// What kind of difference.
    pub(crate) kind: ChangeKind,
    /// The package or the setting.
    pub(crate) name: String,
    /// The version (of `moved` the origin, of `setting` the value) that was there; absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// The version (of `moved` the origin, of `setting` the value) that is there; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// What kind of difference.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChangeKind {
    /// A setting of the environment, such as `python` or `macos`, has another value.
    Setting,
    /// A package is new.
    Added,
    /// A package is gone.
    Removed,
    /// A package has a later version.
    Upgraded,
    /// A package has an earlier version.
    Downgraded,
    /// A package has the same version from elsewhere.
    Moved,
    /// A package has the same version with other extras, dependencies or files.
    Altered,
}

/// A root that did not get its newest release.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedHeld {
    /// The package.
    pub(crate) name: String,
    /// What it got.
    pub(crate) chosen: String,
    /// What exists.
    pub(crate) newest: String,
    /// Why.
    pub(crate) reason: String,
}

/// A later Python of the range than the chosen one.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedPythonHeld {
    /// The newest of the range.
    pub(crate) newer: String,
    /// What it lacks.
    pub(crate) reason: String,
}

/// Something known to go wrong.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedProblem {
    /// The package.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// `wrong-numbers`, `crash` or `slow`.
    pub(crate) problem: String,
    /// What goes wrong, in a sentence.
    pub(crate) reason: String,
    /// What to take instead, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prefer: Option<String>,
    /// The name of the rule.
    pub(crate) rule: String,
}

/// Something we looked at and have a judgement on.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedFinding {
    /// A stable name of its kind.
    pub(crate) code: String,
    /// How bad it is.
    pub(crate) severity: ReportedSeverity,
    /// One sentence.
    pub(crate) message: String,
    /// Where, the main place first.
    pub(crate) places: Vec<Place>,
    /// Further sentences.
    pub(crate) notes: Vec<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

/// How bad a finding is.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ReportedSeverity {
    /// The answer is no.
    Error,
    /// Worth knowing.
    Warning,
    /// Plain information.
    Note,
}

/// A place in a file.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Place {
    /// The file as shown to people.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The column in characters, from 1.
    pub(crate) column: usize,
    /// What is to be said there; may be empty.
    pub(crate) text: String,
}

/// Why there is no answer.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedError {
    /// `unsatisfiable`, `stale`, `usage`, `manifest`, `lockfile`, `index` or `disk`.
    pub(crate) kind: String,
    /// What failed.
    pub(crate) message: String,
    /// Why, from the outside to the inside.
    pub(crate) causes: Vec<String>,
    /// The explanation of a refusal, line by line.
    pub(crate) explanation: Vec<String>,
    /// What to do; edits among them were tried.
    pub(crate) hints: Vec<String>,
}

impl Report {
    /// Makes the report of a run that ended without an outcome.
    pub(crate) fn failed(command: Command, error: &CommandError) -> Self {
        let findings = error.findings.as_deref().map_or_else(Vec::new, |(source, findings)| {
            findings.iter().map(|finding| ReportedFinding::new(finding, Some(source))).collect()
        });
        let exit_code = error.kind.code();
        let verdict = if exit_code == 1 { Verdict::Unsatisfiable } else { Verdict::Error };
        let error = Some(ReportedError::new(error));
        let (environments, lines, changes) = (Vec::new(), None, Vec::new());
        Self { schema: SCHEMA, command, verdict, exit_code, environments, lines, changes, findings, error }
    }

    /// Makes the report of an outcome.
    pub(crate) fn locked(command: Command, outcome: &Outcome, context: &Context) -> Self {
        let source = Source {
            name: context.shown(Path::new(&outcome.project.source.name)),
            text: outcome.project.source.text.clone(),
        };
        let found = outcome.findings.iter();
        let verdict = match outcome.verdict {
            pipeline::Verdict::Unchanged => Verdict::Unchanged,
            pipeline::Verdict::Written => Verdict::Written,
            pipeline::Verdict::Differs => Verdict::Differs,
            pipeline::Verdict::Stale => Verdict::Stale,
            pipeline::Verdict::Tried => Verdict::Tried,
        };
        let error = (verdict == Verdict::Stale).then(|| CommandError::stale(outcome));
        let environment = |answer: &Answer| {
            let locked = outcome.lockfile.env(&answer.env.name, answer.platform)?;
            Some(Environment::new(answer, locked, &source))
        };
        Self {
            schema: SCHEMA,
            command,
            verdict,
            exit_code: error.as_ref().map_or(0, |error| error.kind.code()),
            environments: outcome.answers.iter().filter_map(environment).collect(),
            lines: None,
            changes: outcome.diff().envs.iter().map(Changes::from).collect(),
            findings: found.map(|finding| ReportedFinding::new(finding, Some(&source))).collect(),
            error: error.as_ref().map(ReportedError::new),
        }
    }
}

impl Environment {
    fn new(answer: &Answer, locked: &LockedEnv, source: &Source) -> Self {
        let (macos, chip, glibc) = match &locked.floor {
            Floor::Mac { macos, chip } => (Some(macos.to_string()), Some(chip.to_string()), None),
            Floor::Glibc(major, minor) => (None, None, Some(format!("{major}.{minor}"))),
        };
        let package = |entry: &LockedRef| Package {
            name: entry.name.to_string(),
            version: entry.version.to_string(),
            extras: entry.extras.iter().map(ToString::to_string).collect(),
        };
        Self {
            name: locked.name.clone(),
            platform: locked.platform.to_string(),
            macos,
            chip,
            glibc,
            gpu: if locked.gpu == Gpu::Required { "required" } else { "optional" }.to_owned(),
            python: locked.python.to_string(),
            python_full: locked.python_full.as_ref().map(ToString::to_string),
            ignore_rules: locked.ignored.clone(),
            solved: answer.origin == AnswerOrigin::Solved,
            packages: locked.packages.iter().map(package).collect(),
            rules: locked.rules.clone(),
            python_held: answer
                .python_held
                .as_ref()
                .map(|held| ReportedPythonHeld { newer: held.newer.to_string(), reason: held.reason.clone() }),
            problems: answer.problems.iter().map(ReportedProblem::from).collect(),
            held: answer.held.iter().map(ReportedHeld::from).collect(),
            findings: answer.findings.iter().map(|finding| ReportedFinding::new(finding, Some(source))).collect(),
        }
    }
}

impl From<&EnvDiff> for Changes {
    fn from(diff: &EnvDiff) -> Self {
        let setting = |change: &SettingChange| Change {
            kind: ChangeKind::Setting,
            name: change.key.to_owned(),
            before: change.old.clone(),
            after: change.new.clone(),
        };
        Self {
            environment: diff.name.clone(),
            platform: diff.platform.to_string(),
            presence: match diff.presence {
                lock::diff::Presence::Added => Presence::Added,
                lock::diff::Presence::Removed => Presence::Removed,
                lock::diff::Presence::Kept => Presence::Kept,
            },
            changes: diff.settings.iter().map(setting).chain(diff.packages.iter().map(Change::from)).collect(),
        }
    }
}

impl From<&PackageChange> for Change {
    fn from(change: &PackageChange) -> Self {
        use lock::diff::ChangeKind as K;
        let text = |version: &dyn std::fmt::Display| Some(version.to_string());
        let (kind, before, after) = match &change.kind {
            K::Added { version } => (ChangeKind::Added, None, text(version)),
            K::Removed { version } => (ChangeKind::Removed, text(version), None),
            K::Upgraded { old, new } => (ChangeKind::Upgraded, text(old), text(new)),
            K::Downgraded { old, new } => (ChangeKind::Downgraded, text(old), text(new)),
            K::Moved { old, new, .. } => (ChangeKind::Moved, text(old), text(new)),
            K::Altered { version, .. } => (ChangeKind::Altered, text(version), text(version)),
        };
        Self { kind, name: change.name.to_string(), before, after }
    }
}

impl From<Severity> for ReportedSeverity {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Note => Self::Note,
        }
    }
}

impl ReportedFinding {
    /// Copies a finding; its places need the file that they point into.
    pub(crate) fn new(finding: &Finding, source: Option<&Source>) -> Self {
        let place = |label: &macml::diag::Label| {
            let source = source?;
            let (line, column) = source.line_column(label.span.start);
            Some(Place { file: source.name.clone(), line, column, text: label.text.clone() })
        };
        Self {
            code: finding.code.to_string(),
            severity: finding.severity.into(),
            message: finding.message.clone(),
            places: finding.labels.iter().filter_map(place).collect(),
            notes: finding.notes.clone(),
            hint: finding.hint.clone(),
        }
    }
}

impl ReportedError {
    /// Copies an error.
    pub(crate) fn new(error: &CommandError) -> Self {
        Self {
            kind: error.kind.word().to_owned(),
            message: error.source.to_string(),
            causes: error.causes(),
            explanation: error.lines.clone(),
            hints: error.hints.clone(),
        }
    }
}

impl From<&KnownProblem> for ReportedProblem {
    fn from(known: &KnownProblem) -> Self {
        Self {
            name: known.name.to_string(),
            version: known.version.to_string(),
            problem: known.problem.to_string(),
            reason: known.reason.clone(),
            prefer: known.prefer.as_ref().map(|prefer| prefer.replace('`', "")),
            rule: known.rule.clone(),
        }
    }
}

impl From<&Held> for ReportedHeld {
    fn from(held: &Held) -> Self {
        let (chosen, newest) = (held.chosen.to_string(), held.newest.to_string());
        Self { name: held.name.to_string(), chosen, newest, reason: held.reason.clone() }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("report.schema.json");
    }
}
