//! What `macml python … --output-format json` prints: schema/python.schema.json is generated from here.

use macml::python;
use macml::python::Candidate;
use macml::python::Interpreter;
use macml::python::Machine;
use macml::python::Misfit;
use macml::python::Refusal;
use macml::python::Seen;
use macml::python::System;
use serde::Serialize;

use crate::error::CommandError;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml python list` and `macml python find` print to stdout with `--output-format json`, on success and on
/// failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb.
    command: Verb,
    /// The exit code of the process: 0 yes, 1 no Python fits, 2 macml could not tell.
    exit_code: u8,
    /// `list`: every Python found, best first. `find`: the one that fits; where there is none, every one looked at.
    pythons: Vec<ReportedPython>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Verb {
    /// `macml python list`
    #[serde(rename = "python list")]
    List,
    /// `macml python find`
    #[serde(rename = "python find")]
    Find,
}

/// A Python, or what was taken for one.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedPython {
    /// Its path, by a name that stays when its installer updates it.
    path: String,
    /// The file that the path leads to.
    file: String,
    /// Whose it is: `homebrew`, `pyenv`, `python-org`, `uv`, `path`, `elsewhere`, `conda`, `conda-base` or `apple`.
    origin: String,
    /// The environment of conda that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    conda_environment: Option<String>,
    /// Whether it can be used.
    verdict: Verdict,
    /// Its version, where that is known; only the minor where its name told enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// What it runs as: `arm64`, `x86_64`, `aarch64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    architecture: Option<String>,
    /// The platform that it was built for.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<String>,
    /// The prefix of its standard library.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_prefix: Option<String>,
    /// What people should know who build on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<ReportedRefusal>,
}

/// Whether a Python can be used.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// It can.
    Ok,
    /// It cannot.
    Refused,
}

/// Why a Python cannot be used.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedRefusal {
    /// A stable word for the kind of reason, such as `architecture`, `lacks-modules` or `killed`.
    reason: String,
    /// The sentence that people read, which goes on after the path.
    message: String,
    /// What to do; absent where nothing is wrong with it but its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Report {
    /// Makes the report of all that were seen.
    pub(crate) fn list(seen: &[Seen], machine: &Machine) -> Self {
        let python = |one: &Seen| match &one.verdict {
            Ok(interpreter) => ReportedPython::of(interpreter),
            Err(refusal) => ReportedPython::refused(one, refusal, one.remedy(machine)),
        };
        let pythons = seen.iter().map(python).collect();
        Self { schema: SCHEMA, command: Verb::List, exit_code: 0, pythons, error: None }
    }

    /// Makes the report of the one that fits.
    pub(crate) fn found(interpreter: &Interpreter) -> Self {
        let pythons = vec![ReportedPython::of(interpreter)];
        Self { schema: SCHEMA, command: Verb::Find, exit_code: 0, pythons, error: None }
    }

    /// Makes the report of a search in which none fitted.
    pub(crate) fn not_found(error: &python::Error) -> Self {
        let python = |one: &Misfit| ReportedPython::refused(&one.seen, &one.refusal, one.remedy.clone());
        let pythons = match error {
            python::Error::OtherMachine { .. } => Vec::new(),
            python::Error::Named(misfit) => vec![python(misfit)],
            python::Error::None { seen, .. } => seen.iter().map(python).collect(),
        };
        Self { pythons, ..Self::failed(Verb::Find, &CommandError::from_python(error.clone())) }
    }

    /// Makes the report of a run without an answer.
    pub(crate) fn failed(command: Verb, error: &CommandError) -> Self {
        let (exit_code, error) = (error.kind.code(), Some(ReportedError::new(error)));
        Self { schema: SCHEMA, command, exit_code, pythons: Vec::new(), error }
    }
}

impl ReportedPython {
    fn new(candidate: &Candidate, verdict: Verdict) -> Self {
        let Candidate { path, resolved, origin } = candidate;
        let conda_environment = match origin {
            python::Origin::Conda(name) => Some(name.clone()),
            _ => None,
        };
        Self {
            path: path.display().to_string(),
            file: resolved.display().to_string(),
            origin: origin.word().to_owned(),
            conda_environment,
            verdict,
            version: None,
            architecture: None,
            platform: None,
            base_prefix: None,
            note: None,
            refusal: None,
        }
    }

    fn of(found: &Interpreter) -> Self {
        let Interpreter { path, resolved, origin, .. } = found.clone();
        let system = if found.platform.starts_with("macosx-") { System::Mac } else { System::Linux };
        Self {
            version: Some(found.version.to_string()),
            architecture: Some(found.arch.on(system).to_owned()),
            platform: Some(found.platform.clone()),
            base_prefix: Some(found.base_prefix.display().to_string()),
            note: found.note(),
            ..Self::new(&Candidate { path, resolved, origin }, Verdict::Ok)
        }
    }

    fn refused(seen: &Seen, refusal: &Refusal, remedy: Option<String>) -> Self {
        let reason = refusal.word().to_owned();
        Self {
            version: seen.version.as_ref().map(ToString::to_string),
            refusal: Some(ReportedRefusal { reason, message: refusal.to_string(), remedy }),
            ..Self::new(&seen.candidate, Verdict::Refused)
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("python.schema.json");
    }
}
