//! What `macml cache … --output-format json` prints: schema/cache.schema.json is generated from here.

use std::path::Path;

use macml::cache::Amounts;
use serde::Serialize;

use crate::error::CommandError;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml cache …` prints to stdout with `--output-format json`, on success and on failure: one document, nothing
/// else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb.
    command: Verb,
    /// The exit code of the process: 0 yes, 2 macml could not tell.
    exit_code: u8,
    /// The cache folder, which need not be there; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// The most bytes that the cache may keep, as config.toml or `--max-size` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// `size`: what is there, by kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    present: Option<ReportedAmounts>,
    /// `size`: what of it nobody needs, which `macml cache prune` removes.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_over: Option<ReportedAmounts>,
    /// `prune` and `clean`: what was removed, by kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<ReportedAmounts>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Verb {
    /// `macml cache dir`
    #[serde(rename = "cache dir")]
    Dir,
    /// `macml cache size`
    #[serde(rename = "cache size")]
    Size,
    /// `macml cache prune`
    #[serde(rename = "cache prune")]
    Prune,
    /// `macml cache clean`
    #[serde(rename = "cache clean")]
    Clean,
}

/// How much of each kind, and together.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedAmounts {
    /// Every kind, also where there is nothing of it.
    kinds: Vec<ReportedAmount>,
    /// Files together.
    files: u64,
    /// Bytes together.
    bytes: u64,
}

/// How much of a kind.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedAmount {
    /// `wheels`, `downloads`, `pages`, `metadata`, `pythons` or `matrix`.
    kind: String,
    /// Files.
    files: u64,
    /// The sum of their lengths; hard links in environments keep those of wheels in use.
    bytes: u64,
}

impl Report {
    fn new(command: Verb, folder: &Path) -> Self {
        let folder = Some(folder.display().to_string());
        let (limit, present, left_over, removed, error) = (None, None, None, None, None);
        Self { schema: SCHEMA, command, exit_code: 0, folder, limit, present, left_over, removed, error }
    }

    /// Makes the report of where it is.
    pub(crate) fn dir(folder: &Path) -> Self {
        Self::new(Verb::Dir, folder)
    }

    /// Makes the report of how much there is.
    pub(crate) fn size(folder: &Path, limit: Option<u64>, present: &Amounts, left_over: &Amounts) -> Self {
        let (present, left_over) = (Some(present.into()), Some(left_over.into()));
        Self { limit, present, left_over, ..Self::new(Verb::Size, folder) }
    }

    /// Makes the report of what went.
    pub(crate) fn removed(command: Verb, folder: &Path, limit: Option<u64>, removed: &Amounts) -> Self {
        Self { limit, removed: Some(removed.into()), ..Self::new(command, folder) }
    }

    /// Makes the report of a run without an answer.
    pub(crate) fn failed(command: Verb, error: &CommandError) -> Self {
        let (exit_code, error) = (error.kind.code(), Some(ReportedError::new(error)));
        Self { exit_code, folder: None, error, ..Self::new(command, Path::new("")) }
    }
}

impl From<&Amounts> for ReportedAmounts {
    fn from(amounts: &Amounts) -> Self {
        let kinds = amounts.by_kind().map(|(kind, amount)| ReportedAmount {
            kind: kind.word().to_owned(),
            files: amount.files,
            bytes: amount.bytes,
        });
        let total = amounts.total();
        Self { kinds: kinds.collect(), files: total.files, bytes: total.bytes }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("cache.schema.json");
    }
}
