//! What `macml env … --output-format json` prints: schema/env.schema.json is generated from here.

use macml::environment::PackageChange;
use serde::Serialize;

use crate::error::CommandError;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml env …` prints to stdout with `--output-format json`, on success and on failure: one document, nothing
/// else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    pub(crate) schema: u32,
    /// The verb.
    pub(crate) command: Verb,
    /// The exit code of the process: 0 yes, 1 the answer is no, 2 macml could not tell.
    pub(crate) exit_code: u8,
    /// `list`: the environments of macml.toml, then those that are on disk only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environments: Option<Vec<Environment>>,
    /// `rollback`: where the link leads now, and what that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rollback: Option<Rollback>,
    /// `remove`: what was removed, by environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) removed: Option<Vec<Removed>>,
    /// Why there is no answer, or what stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Verb {
    /// `macml env list`
    #[serde(rename = "env list")]
    List,
    /// `macml env rollback`
    #[serde(rename = "env rollback")]
    Rollback,
    /// `macml env remove`
    #[serde(rename = "env remove")]
    Remove,
}

/// An environment.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Environment {
    /// Its name.
    pub(crate) name: String,
    /// Whether macml.toml has it.
    pub(crate) declared: bool,
    /// The path of its link, which need not be there.
    pub(crate) link: String,
    /// What stands there.
    pub(crate) state: State,
    /// The folder of its generations.
    pub(crate) store: String,
    /// Its generations, the newest first.
    pub(crate) generations: Vec<Generation>,
}

/// What stands at the link of an environment.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// A link to a generation that is whole.
    Active,
    /// A link of macml's that leads to no whole generation.
    Broken,
    /// Nothing.
    Absent,
    /// Something that macml did not make.
    Foreign,
}

/// A generation.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Generation {
    /// Its name.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) path: String,
    /// Whether the link leads to it.
    pub(crate) current: bool,
    /// Whether `macml env rollback` leads to it.
    pub(crate) before: bool,
    /// Whether something runs in it that `macml run` started.
    pub(crate) in_use: bool,
    /// When it was built, in seconds since the beginning of 1970.
    pub(crate) built: u64,
    /// The Python's version, with the patch.
    pub(crate) python: String,
    /// The platform.
    pub(crate) platform: String,
    /// How many packages it has.
    pub(crate) packages: usize,
    /// With `--size`: the sum of the lengths of its files, shared ones too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
}

/// A rollback.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Rollback {
    /// The environment.
    pub(crate) environment: String,
    /// The generation that the link led to; absent where it led to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The one that it leads to now.
    pub(crate) to: String,
    /// What is different there, by name; `python` first.
    pub(crate) changes: Vec<Change>,
    /// Whether the shell hook activates it: this user's macml is known to have built it.
    pub(crate) trusted: bool,
}

/// A package, or `python`, that is another.
#[derive(Serialize, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Change {
    /// The package.
    pub(crate) name: String,
    /// Its version before; absent when it was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// Its version now; absent when it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

impl From<PackageChange> for Change {
    fn from(PackageChange { name, before, after }: PackageChange) -> Self {
        Self { name, before, after }
    }
}

/// An environment that was removed.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Removed {
    /// Its name.
    pub(crate) environment: String,
    /// How many generations went.
    pub(crate) generations: usize,
    /// The folders of those that stay, because something runs in them.
    pub(crate) in_use: Vec<String>,
}

impl Report {
    /// Makes one with nothing in it.
    pub(crate) fn new(command: Verb) -> Self {
        Self { schema: SCHEMA, command, exit_code: 0, environments: None, rollback: None, removed: None, error: None }
    }

    /// Says how it ended otherwise than well.
    pub(crate) fn failed(self, error: &CommandError) -> Self {
        Self { exit_code: error.kind.code(), error: Some(ReportedError::new(error)), ..self }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("env.schema.json");
    }
}
