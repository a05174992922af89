//! What `macml bundle --output-format json` prints: schema/bundle.schema.json is generated from here.

use macml::pipeline::bundle::Bundled;
use serde::Serialize;

use crate::error::CommandError;
use crate::report::lock::ReportedError;
use crate::report::lock::ReportedFinding;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml bundle` prints to stdout with `--output-format json`, on success and on failure: one document, nothing
/// else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `bundle`.
    command: String,
    /// The exit code of the process: 0 written, 1 the lock is stale or has no wheel that fits, 2 macml could not.
    exit_code: u8,
    /// The bundle; absent where none was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// What it is for.
    environments: Vec<ReportedEnv>,
    /// Its wheels, by name.
    wheels: Vec<ReportedWheel>,
    /// Warnings and notes, such as a mirror that lacked a file.
    findings: Vec<ReportedFinding>,
    /// Why there is no bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// An environment on a platform.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedEnv {
    /// Its name.
    name: String,
    /// The platform.
    platform: String,
}

/// A wheel of a bundle.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedWheel {
    /// Its file name.
    file: String,
    /// Its size in bytes.
    size: u64,
    /// Its digest.
    sha256: String,
    /// Whether the bundle that was there before had it.
    kept: bool,
}

impl Report {
    /// Makes the report of a bundle that was written.
    pub(crate) fn new(bundled: &Bundled) -> Self {
        let env = |(name, platform): &(String, macml::target::Platform)| ReportedEnv {
            name: name.clone(),
            platform: platform.to_string(),
        };
        let wheel = |wheel: &macml::pipeline::bundle::BundledWheel| ReportedWheel {
            file: wheel.file.clone(),
            size: wheel.size,
            sha256: wheel.sha256.to_string(),
            kept: wheel.kept,
        };
        Self {
            schema: SCHEMA,
            command: "bundle".to_owned(),
            exit_code: 0,
            folder: Some(bundled.folder.display().to_string()),
            environments: bundled.envs.iter().map(env).collect(),
            wheels: bundled.wheels.iter().map(wheel).collect(),
            findings: bundled.findings.iter().map(|finding| ReportedFinding::new(finding, None)).collect(),
            error: None,
        }
    }

    /// Makes the report of a run without a bundle.
    pub(crate) fn failed(error: &CommandError) -> Self {
        Self {
            schema: SCHEMA,
            command: "bundle".to_owned(),
            exit_code: error.kind.code(),
            folder: None,
            environments: Vec::new(),
            wheels: Vec::new(),
            findings: Vec::new(),
            error: Some(ReportedError::new(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("bundle.schema.json");
    }
}
