//! What `macml outdated --output-format json` prints: schema/outdated.schema.json is generated from here.

use macml::pipeline::Why;
use serde::Serialize;

use crate::error::CommandError;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml outdated --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `outdated`.
    command: Command,
    /// The exit code of the process: 0 yes, 1 there is no answer, 2 macml could not tell.
    exit_code: u8,
    /// What is older than its newest release, by environment and platform.
    packages: Vec<Outdated>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml outdated`
    Outdated,
}

/// A package that is older than its newest release.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Outdated {
    /// Its name; `python` is the Python.
    name: String,
    /// The environment.
    environment: String,
    /// The platform.
    platform: String,
    /// What is locked.
    version: String,
    /// The newest release.
    newest: String,
    /// Why it is not taken.
    reason: String,
}

impl Report {
    /// Makes the report of what is held.
    pub(crate) fn new(all: &[Why<'_>]) -> Self {
        let outdated = |why: &Why<'_>| {
            let standing = why.standing.as_ref()?;
            let held = standing.held.as_ref()?;
            Some(Outdated {
                name: why.name.to_string(),
                environment: why.env.name.clone(),
                platform: why.platform.to_string(),
                version: standing.version.to_string(),
                newest: held.newest.to_string(),
                reason: held.reason.clone(),
            })
        };
        let packages = all.iter().filter_map(outdated).collect();
        Self { schema: SCHEMA, command: Command::Outdated, exit_code: 0, packages, error: None }
    }

    /// Makes the report of a run without an answer.
    pub(crate) fn failed(error: &CommandError) -> Self {
        let (exit_code, error) = (error.kind.code(), Some(ReportedError::new(error)));
        Self { schema: SCHEMA, command: Command::Outdated, exit_code, packages: Vec::new(), error }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("outdated.schema.json");
    }
}
