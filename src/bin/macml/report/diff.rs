//! What `macml diff --output-format json` prints: schema/diff.schema.json is generated from here.

use macml::knowledge::Hit;
use macml::pipeline::compare::Compared;
use macml::pipeline::compare::Meaning;
use serde::Serialize;

use crate::error::CommandError;
use crate::report::lock::Changes;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml diff --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `diff`.
    command: Command,
    /// The exit code of the process: 0 yes, 1 something changed and `--exit-code` asks, 2 macml could not tell.
    exit_code: u8,
    /// What differs, by environment and platform; those without a difference are left out.
    changes: Vec<Changes>,
    /// What is known of one side alone, by environment and platform.
    meanings: Vec<ReportedMeaning>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml diff`
    Diff,
}

/// What is known of one side alone.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedMeaning {
    /// The environment.
    environment: String,
    /// The platform.
    platform: String,
    /// What counts for the new side alone.
    gained: Vec<ReportedHit>,
    /// What counted for the old side alone.
    lost: Vec<ReportedHit>,
}

/// A piece of knowledge.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedHit {
    /// The name of the rule.
    rule: String,
    /// The package.
    package: String,
    /// Its version on that side.
    version: String,
    /// `wrong-numbers`, `crash` or `slow`; absent where it is something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Why, in a sentence.
    reason: String,
}

impl Report {
    /// Makes the report of two locks.
    pub(crate) fn new(compared: &Compared<'_>, exit_code: u8) -> Self {
        let changes = compared.diff.envs.iter().map(Changes::from).collect();
        let meanings = compared.meanings.iter().map(ReportedMeaning::from).collect();
        Self { schema: SCHEMA, command: Command::Diff, exit_code, changes, meanings, error: None }
    }

    /// Makes the report of a run without an answer.
    pub(crate) fn failed(error: &CommandError) -> Self {
        let (exit_code, error) = (error.kind.code(), Some(ReportedError::new(error)));
        Self { schema: SCHEMA, command: Command::Diff, exit_code, changes: Vec::new(), meanings: Vec::new(), error }
    }
}

impl From<&Meaning<'_>> for ReportedMeaning {
    fn from(meaning: &Meaning<'_>) -> Self {
        Self {
            environment: meaning.env.clone(),
            platform: meaning.platform.to_string(),
            gained: meaning.gained.iter().map(ReportedHit::from).collect(),
            lost: meaning.lost.iter().map(ReportedHit::from).collect(),
        }
    }
}

impl From<&Hit<'_>> for ReportedHit {
    fn from(hit: &Hit<'_>) -> Self {
        Self {
            rule: hit.rule.id.clone(),
            package: hit.rule.package.to_string(),
            version: hit.version.to_string(),
            problem: hit.rule.problem().map(|problem| problem.to_string()),
            reason: hit.rule.reason.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("diff.schema.json");
    }
}
