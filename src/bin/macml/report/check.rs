//! What `macml check --output-format json` prints: schema/check.schema.json is generated from here.

use macml::diag::Finding;
use macml::pipeline::check;
use macml::pipeline::check::Because;
use macml::pipeline::check::Class;
use macml::pipeline::check::Judged;
use macml::pipeline::check::Of;
use macml::pipeline::check::Sum;
use macml::target::Gpu;
use serde::Serialize;

use crate::commands::check::Done;
use crate::commands::check::Place;
use crate::commands::check::place;
use crate::commands::check::shown;
use crate::context::Context;
use crate::error::CommandError;
use crate::report::lock::ReportedError;
use crate::report::lock::ReportedFinding;
use crate::report::lock::ReportedSeverity;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml check --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `check`.
    command: Command,
    /// The end, in one word. Exit code 0: `ok`. Exit code 1: the word of the first part that is a no, which is `stale`,
    /// `unfit`, `not-offered`, `differs`, `do-not-load` or `condemned`; `denied`, where a finding about macml.toml is an
    /// error, because of a wheel outside the project or of `--deny`; `strict`, where `--strict` met a warning or something that was not looked at. Exit code 2: `unsure`.
    /// `error` where macml did not come as far as looking, with the exit code of the error.
    verdict: String,
    /// The exit code of the process: 0 nothing speaks against it, 1 something does, 2 macml could not tell.
    pub(crate) exit_code: u8,
    /// The lock; absent where there is none to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<String>,
    /// How many findings there are, of parts and about macml.toml.
    counts: Counts,
    /// One for each thing that was looked at: the lock first, then by environment, platform and Mac.
    parts: Vec<ReportedPart>,
    /// What is to be said of macml.toml and, when the verdict is `error`, the mistakes in it.
    findings: Vec<ReportedFinding>,
    /// How long it took, in seconds.
    seconds: f64,
    /// Why nothing was looked at; present with the verdict `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml check`
    Check,
}

/// How many findings there are.
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
    /// Parts that could have been looked at and were not, which `--strict` counts.
    not_looked_at: usize,
}

/// What came of one look.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedPart {
    /// What was looked at: `lock`, `index`, `environment`, `libraries` or `knowledge`.
    level: &'static str,
    /// The environment: its name in macml.toml, or the file or folder that was named; absent for the lock as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<String>,
    /// Its platform: `macos-arm64`, `linux-x86_64` or `linux-aarch64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<String>,
    /// Its Python, `3.13`.
    #[serde(skip_serializing_if = "Option::is_none")]
    python: Option<String>,
    /// The Mac that was judged for.
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<Mac>,
    /// What came of it: `current`, `readable`, `offered`, `as-locked`, `as-recorded`, `load`, `clean`; `stale`, `unfit`,
    /// `not-offered`, `differs`, `do-not-load`, `condemned`; `absent`, `unread`, `not-for-macs`; `unsure`.
    verdict: &'static str,
    /// What that means for the whole: `yes`, `no`, `unsure` or `not-looked-at`.
    means: &'static str,
    /// Of a lock, how many packages it has; of libraries, of how many packages they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    packages: Option<usize>,
    /// How many files were held against what they should be, or asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    /// How many of them were read whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    files_read: Option<usize>,
    /// The folder of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The sha256 of all its files together, where each was read: equal for the same lock, platform and generation of
    /// macOS.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// How many libraries and executables dyld was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    images: Option<usize>,
    /// Wheels that were fetched to be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    fetched: Option<Wheels>,
    /// Wheels that were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<Wheels>,
    /// How many packages have no wheel to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    without_wheel: Option<usize>,
    /// What is to be said, the worst first.
    findings: Vec<PartFinding>,
    /// How long it took, in seconds.
    seconds: f64,
}

/// A Mac that is judged for.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Mac {
    /// Its macOS.
    macos: String,
    /// Its chip.
    chip: String,
    /// Whether its GPU must be usable: `required` or `optional`.
    gpu: &'static str,
    /// Why it is judged for: `floor`, the lowest that was declared; `here`, the one that this runs on; `asked`, with `--on`.
    because: &'static str,
}

/// Some wheels.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Wheels {
    /// How many.
    wheels: usize,
    /// Their bytes, as far as those are known.
    bytes: u64,
}

/// A finding of a part.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct PartFinding {
    /// A stable name of its kind, which `--deny` and `--allow` take.
    code: &'static str,
    /// How bad it is, after `--deny` and `--allow`.
    severity: ReportedSeverity,
    /// One sentence.
    message: String,
    /// Further sentences.
    notes: Vec<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The package that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<String>,
    /// The file in the environment that it is about, from its root.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The lock, or the file that it includes, in which the package stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line there, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

impl Report {
    /// Makes the report of a check that looked.
    pub(crate) fn new(done: &Done, context: &Context) -> Self {
        let outcome = &done.outcome;
        let judged = Judged::of(&outcome.parts, &outcome.findings, done.job.here);
        let manifest = outcome.manifest.as_ref().map(|source| shown(source, context));
        Self {
            schema: SCHEMA,
            command: Command::Check,
            verdict: outcome.verdict.as_str().to_owned(),
            exit_code: outcome.verdict.code(),
            lock: outcome.lock.as_ref().map(|lock| context.shown(lock)),
            counts: Counts {
                errors: judged.errors,
                warnings: judged.warnings,
                notes: judged.notes,
                not_looked_at: judged.skipped,
            },
            parts: outcome.parts.iter().map(|part| ReportedPart::new(part, done, context)).collect(),
            findings: outcome.findings.iter().map(|finding| ReportedFinding::new(finding, manifest.as_ref())).collect(),
            seconds: outcome.took.as_secs_f64(),
            error: None,
        }
    }

    /// Makes the report of one that did not.
    pub(crate) fn failed(error: &CommandError) -> Self {
        let findings = error.findings.as_deref().map_or_else(Vec::new, |(source, findings)| {
            findings.iter().map(|finding| ReportedFinding::new(finding, Some(source))).collect()
        });
        Self {
            schema: SCHEMA,
            command: Command::Check,
            verdict: "error".to_owned(),
            exit_code: error.kind.code(),
            lock: None,
            counts: Counts::default(),
            parts: Vec::new(),
            findings,
            seconds: 0.0,
            error: Some(ReportedError::new(error)),
        }
    }
}

impl ReportedPart {
    fn new(part: &check::Part, done: &Done, context: &Context) -> Self {
        let of = part.of.as_ref();
        let mut reported = Self {
            level: part.level.as_str(),
            environment: of.map(|of| of.env.clone()),
            platform: of.map(|of| of.platform.to_string()),
            python: of.map(|of| of.python.to_string()),
            mac: of.and_then(Mac::of),
            verdict: part.word.as_str(),
            means: match part.word.class() {
                Class::Yes => "yes",
                Class::NotLooked => "not-looked-at",
                Class::Unsure => "unsure",
                Class::No => "no",
            },
            packages: None,
            files: None,
            files_read: None,
            path: None,
            digest: None,
            images: None,
            fetched: None,
            unread: None,
            without_wheel: None,
            findings: part.told.iter().map(|told| PartFinding::new(told, done, context)).collect(),
            seconds: part.took.as_secs_f64(),
        };
        match &part.sum {
            Sum::Nothing => {}
            Sum::Releases(releases) => reported.packages = Some(*releases),
            Sum::Files(files) => reported.files = Some(*files),
            Sum::Environment { root, files, hashed, digest } => {
                reported.path = Some(context.shown(root));
                reported.files = Some(*files);
                reported.files_read = Some(*hashed);
                reported.digest = digest.as_ref().map(ToString::to_string);
            }
            Sum::Libraries { images, wheels, fetched, unread, without } => {
                let some = |(wheels, bytes): (usize, u64)| Some(Wheels { wheels, bytes });
                reported.images = Some(*images);
                reported.packages = Some(*wheels);
                reported.fetched = some(*fetched);
                reported.unread = some(*unread);
                reported.without_wheel = Some(*without);
            }
        }
        reported
    }
}

impl Mac {
    fn of(of: &Of) -> Option<Self> {
        let on = of.on.as_ref()?;
        Some(Self {
            macos: on.mac.macos.to_string(),
            chip: on.mac.chip.to_string(),
            gpu: match on.mac.gpu {
                Gpu::Required => "required",
                Gpu::Optional => "optional",
            },
            because: match on.because {
                Because::Floor => "floor",
                Because::Here => "here",
                Because::Asked => "asked",
            },
        })
    }
}

impl PartFinding {
    fn new(told: &check::Told, done: &Done, context: &Context) -> Self {
        let Finding { code, severity, message, notes, hint, .. } = &told.finding;
        let (file, line) = match place(told, &done.outcome, context) {
            Some(Place { file, line, .. }) => (Some(context.shown(&file)), line),
            None => (None, None),
        };
        Self {
            code: code.as_str(),
            severity: (*severity).into(),
            message: message.clone(),
            notes: notes.clone(),
            hint: hint.clone(),
            package: told.package.as_ref().map(ToString::to_string),
            path: told.path.clone(),
            file,
            line,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("check.schema.json");
    }
}
