//! What `macml sync --output-format json` prints: schema/sync.schema.json is generated from here.

use std::path::Path;

use macml::diag::Source;
use macml::environment::PackageChange;
use macml::pipeline;
use macml::pipeline::sync;
use macml::pipeline::sync::Outcome;
use macml::pipeline::sync::Staged;
use macml::pipeline::sync::Synced;
use macml::verify::Standing;
use serde::Serialize;

use crate::commands::sync::findings;
use crate::commands::sync::shown_link;
use crate::context::Context;
use crate::error::CommandError;
use crate::report::lock::ReportedError;
use crate::report::lock::ReportedFinding;
use crate::report::lock::ReportedProblem;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml sync --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `sync`.
    command: Command,
    /// The end, in one word.
    verdict: Verdict,
    /// The exit code of the process: 0 yes, 1 the answer is no, 2 macml could not tell.
    pub(crate) exit_code: u8,
    /// Whether macml.lock was solved and written by this run.
    lock_written: bool,
    /// One for each environment asked for, in the order of macml.toml.
    environments: Vec<Environment>,
    /// The tree that was staged, with `--target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    staged: Option<Tree>,
    /// Warnings and notes about macml.toml and, when the verdict is `error`, the mistakes in it.
    findings: Vec<ReportedFinding>,
    /// Why the environment is not as locked; present with the verdicts `refused` and `error`, and with `differs` when
    /// `--check` was to find that out.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml sync`
    Sync,
}

/// The end, in one word.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// Every environment was as locked. Exit code 0.
    Unchanged,
    /// At least one was built. Exit code 0.
    Built,
    /// At least one is not as locked, and nothing was written: exit code 0 with `--dry-run`, 1 with `--check`.
    Differs,
    /// A tree was staged. Exit code 0.
    Staged,
    /// An environment cannot be as locked here: this machine, a wheel or the lock stands against it. Exit code 1.
    Refused,
    /// macml could not tell. Exit code 2.
    Error,
}

/// An environment.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Environment {
    /// Its name in macml.toml; `default` for the unnamed one.
    name: String,
    /// The platform.
    platform: String,
    /// What became of it: `unchanged`, `built` or `differs`.
    verdict: Verdict,
    /// What people and editors name: the path of `.venv`.
    path: String,
    /// The folder that the path leads to; absent where there is none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<String>,
    /// The version of its Python, with the patch.
    python: String,
    /// The Python that it is made from.
    interpreter: String,
    /// How many packages it has.
    packages: usize,
    /// Why it was, or is, not as locked, a sentence each.
    differences: Vec<String>,
    /// What came, went and moved; everything where there was no environment before.
    changes: Vec<Change>,
    /// What was in it and not put there by macml.
    strays: Vec<String>,
    /// Wheels that were downloaded, or would be.
    downloads: usize,
    /// Their bytes.
    download_bytes: u64,
    /// How its files were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Files>,
    /// The new path of what was in its place and not made by macml.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_aside: Option<String>,
    /// What is known to go wrong on this machine, the worst first; told when it was built.
    problems: Vec<ReportedProblem>,
    /// What is not as it should be and did not stand in the way, a sentence each.
    warnings: Vec<String>,
    /// How its GPU stands with this lock on this macOS; absent where it is no Mac's, has no framework that would use it,
    /// or is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<Gpu>,
}

/// How a GPU stands, by what `macml verify` found.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Gpu {
    /// Whether all that was asked of it is right, with this lock, on this macOS and chip.
    verified: bool,
    /// Since when at the latest, in seconds since the beginning of 1970; absent where it is not verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    /// The word of what is not right, as in schema/verify.schema.json; absent where nothing is known to be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    word: Option<String>,
    /// What is other than it was when it was verified last: `lock`, `content`, `system` or `chip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<&'static str>,
}

/// A package that came, went or moved.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Change {
    /// Its name.
    name: String,
    /// Its version before; absent for one that came.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// Its version now; absent for one that went.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// How files were made, by number.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Files {
    /// Cloned from the cache.
    cloned: usize,
    /// Hard-linked from the cache.
    hard_linked: usize,
    /// Copied from the cache.
    copied: usize,
    /// Written: launchers, RECORD and its like.
    written: usize,
}

/// A tree for another machine.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Tree {
    /// Its folder.
    path: String,
    /// The environment.
    environment: String,
    /// The platform.
    platform: String,
    /// The Mac's macOS; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    macos: Option<String>,
    /// The Python.
    python: String,
    /// How many packages it has.
    packages: usize,
    /// Wheels that were downloaded.
    downloads: usize,
    /// Their bytes.
    download_bytes: u64,
    /// How its files were made.
    files: Files,
}

impl Report {
    fn new(verdict: Verdict, exit_code: u8) -> Self {
        Self {
            schema: SCHEMA,
            command: Command::Sync,
            verdict,
            exit_code,
            lock_written: false,
            environments: Vec::new(),
            staged: None,
            findings: Vec::new(),
            error: None,
        }
    }

    /// Makes the report of a run that ended without an outcome.
    pub(crate) fn failed(error: &CommandError) -> Self {
        let code = error.kind.code();
        let findings = error.findings.as_deref().map_or_else(Vec::new, |(source, findings)| {
            findings.iter().map(|finding| ReportedFinding::new(finding, Some(source))).collect()
        });
        let verdict = if code == 1 { Verdict::Refused } else { Verdict::Error };
        Self { findings, error: Some(ReportedError::new(error)), ..Self::new(verdict, code) }
    }

    /// Makes the report of environments.
    pub(crate) fn synced(outcome: &Outcome, context: &Context) -> Self {
        let verdicts = outcome.environments.iter().map(|one| one.verdict).collect::<Vec<_>>();
        let verdict = match () {
            () if verdicts.contains(&sync::Verdict::Differs) => Verdict::Differs,
            () if verdicts.contains(&sync::Verdict::Built) => Verdict::Built,
            () => Verdict::Unchanged,
        };
        let differs = outcome.environments.iter().find(|one| one.verdict == sync::Verdict::Differs);
        let error = differs.filter(|_| outcome.checked);
        let error = error.map(|synced| CommandError::not_as_locked(synced, &shown_link(synced, outcome, context)));
        let own = &outcome.project.source;
        let source = Source { name: context.shown(Path::new(&own.name)), text: own.text.clone() };
        Self {
            lock_written: outcome.solved.as_deref().is_some_and(is_written),
            environments: outcome.environments.iter().map(Environment::from).collect(),
            findings: findings(outcome).into_iter().map(|one| ReportedFinding::new(one, Some(&source))).collect(),
            error: error.as_ref().map(ReportedError::new),
            ..Self::new(verdict, error.map_or(0, |error| error.kind.code()))
        }
    }

    /// Makes the report of a tree.
    pub(crate) fn staged(staged: &Staged, target: &Path, context: &Context) -> Self {
        let own = &staged.project.source;
        let source = Source { name: context.shown(Path::new(&own.name)), text: own.text.clone() };
        let tree = Tree {
            path: target.display().to_string(),
            environment: staged.env.clone(),
            platform: staged.platform.to_string(),
            macos: staged.macos.map(|macos| macos.to_string()),
            python: staged.python.to_string(),
            packages: staged.packages,
            downloads: staged.downloads.wheels,
            download_bytes: staged.downloads.bytes,
            files: Files::from(&staged.linked),
        };
        Self {
            lock_written: staged.solved.as_deref().is_some_and(is_written),
            staged: Some(tree),
            findings: staged.project.findings.iter().map(|one| ReportedFinding::new(one, Some(&source))).collect(),
            ..Self::new(Verdict::Staged, 0)
        }
    }
}

fn is_written(solved: &pipeline::Outcome) -> bool {
    solved.verdict == pipeline::Verdict::Written
}

impl From<&Synced> for Environment {
    fn from(synced: &Synced) -> Self {
        let change = |one: &PackageChange| Change {
            name: one.name.clone(),
            before: one.before.clone(),
            after: one.after.clone(),
        };
        Self {
            name: synced.name.clone(),
            platform: synced.platform.to_string(),
            verdict: match synced.verdict {
                sync::Verdict::Unchanged => Verdict::Unchanged,
                sync::Verdict::Built => Verdict::Built,
                sync::Verdict::Differs => Verdict::Differs,
            },
            path: synced.link.display().to_string(),
            generation: synced.generation.as_ref().map(|path| path.display().to_string()),
            python: synced.python.to_string(),
            interpreter: synced.interpreter.display().to_string(),
            packages: synced.packages,
            differences: synced.differences.iter().map(ToString::to_string).collect(),
            changes: synced.changes.iter().map(change).collect(),
            strays: synced.strays.clone(),
            downloads: synced.downloads.wheels,
            download_bytes: synced.downloads.bytes,
            files: synced.linked.as_ref().map(Files::from),
            moved_aside: synced.moved_aside.as_ref().map(|path| path.display().to_string()),
            problems: synced.problems.iter().map(ReportedProblem::from).collect(),
            warnings: synced.warnings.clone(),
            gpu: synced.gpu.as_ref().map(Gpu::from),
        }
    }
}

impl From<&Standing> for Gpu {
    fn from(standing: &Standing) -> Self {
        let nothing = Self { verified: false, since: None, word: None, changed: None };
        match standing {
            Standing::Verified { since } => Self { verified: true, since: Some(*since), ..nothing },
            Standing::NotRight(word) => Self { word: Some(word.to_string()), ..nothing },
            Standing::Never => nothing,
            Standing::OtherLock => Self { changed: Some("lock"), ..nothing },
            Standing::OtherContent => Self { changed: Some("content"), ..nothing },
            Standing::OtherSystem(_) => Self { changed: Some("system"), ..nothing },
            Standing::OtherChip(_) => Self { changed: Some("chip"), ..nothing },
        }
    }
}

impl From<&macml::install::Linked> for Files {
    fn from(linked: &macml::install::Linked) -> Self {
        Self { cloned: linked.cloned, hard_linked: linked.hard_linked, copied: linked.copied, written: linked.written }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("sync.schema.json");
    }
}
