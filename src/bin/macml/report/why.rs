//! What `macml why --output-format json` prints: schema/why.schema.json is generated from here.

use macml::diag::Source;
use macml::diag::Span;
use macml::knowledge::Hit;
use macml::knowledge::Reach;
use macml::pipeline::Standing;
use macml::pipeline::Why;
use macml::resolve::held::Asking;
use macml::resolve::resolution::Held;
use macml::resolve::resolution::HeldBy;
use serde::Serialize;

use crate::error::CommandError;
use crate::report::lock::Place;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml why --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `why`.
    command: Command,
    /// The exit code of the process: 0 yes, 1 a package is in no environment or there is no answer, 2 macml could not
    /// tell.
    exit_code: u8,
    /// One for each package, environment and platform looked at.
    packages: Vec<ReportedWhy>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml why`
    Why,
}

/// One package in one environment on one platform.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedWhy {
    /// The package.
    name: String,
    /// The environment.
    environment: String,
    /// The platform.
    platform: String,
    /// The chosen version; absent where the package is not in this environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Lines of macml.toml that ask for it.
    lines: Vec<Place>,
    /// Packages that ask for it.
    asked_by: Vec<ReportedAsking>,
    /// The newest release, where it is another one, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<ReportedHeld>,
    /// The newest release that this macml knows of, where the chosen or the newest one is later: then nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    known_to: Option<String>,
    /// Names of the rules that shaped the environment and speak of the package.
    rules: Vec<String>,
    /// What is known of exactly this release in this set, from the lowest Mac upward, the worst first.
    known: Vec<ReportedHit>,
}

/// A package that asks for another.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedAsking {
    /// The package.
    name: String,
    /// Its version.
    version: String,
    /// The versions that it asks for; empty for any.
    wants: String,
    /// The rule by which it asks; absent where its metadata does.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

/// Why the newest release is not the chosen one.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedHeld {
    /// The newest release.
    newest: String,
    /// Why.
    reason: String,
    /// Who keeps it out: `line`, `floor`, `rule`, `python`, `package`, `setting`, `itself`, or `open` where only
    /// another solve could tell.
    by: String,
    /// The rule or the package that keeps it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// A piece of knowledge that applies.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedHit {
    /// The name of the rule.
    rule: String,
    /// Its kind, as in `macml rules`.
    kind: String,
    /// `wrong-numbers`, `crash` or `slow`, where something goes wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Whether it applies to the lowest Mac, or to later ones only.
    at_floor: bool,
    /// Why, in a sentence.
    reason: String,
    /// What to take instead, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    prefer: Option<String>,
}

impl Report {
    /// Makes the report of packages; `source` is the manifest.
    pub(crate) fn new(source: &Source, all: &[Why<'_>], exit_code: u8) -> Self {
        let packages = all.iter().map(|why| ReportedWhy::new(why, source)).collect();
        Self { schema: SCHEMA, command: Command::Why, exit_code, packages, error: None }
    }

    /// Makes the report of a run without an answer.
    pub(crate) fn failed(error: &CommandError) -> Self {
        let (exit_code, error) = (error.kind.code(), Some(ReportedError::new(error)));
        Self { schema: SCHEMA, command: Command::Why, exit_code, packages: Vec::new(), error }
    }
}

impl ReportedWhy {
    fn new(why: &Why<'_>, source: &Source) -> Self {
        let empty = Self {
            name: why.name.to_string(),
            environment: why.env.name.clone(),
            platform: why.platform.to_string(),
            version: None,
            lines: Vec::new(),
            asked_by: Vec::new(),
            held: None,
            known_to: None,
            rules: Vec::new(),
            known: Vec::new(),
        };
        let Some(standing) = &why.standing else { return empty };
        let Standing { version, lines, asked_by, held, known_to, hits, rules, .. } = standing;
        let place = |(text, span): &(String, Span)| {
            let (line, column) = source.line_column(span.start);
            Place { file: source.name.clone(), line, column, text: text.clone() }
        };
        Self {
            version: Some(version.to_string()),
            lines: lines.iter().map(place).collect(),
            asked_by: asked_by.iter().map(ReportedAsking::from).collect(),
            held: held.as_ref().map(ReportedHeld::from),
            known_to: known_to.as_ref().map(ToString::to_string),
            rules: rules.clone(),
            known: hits.iter().map(ReportedHit::from).collect(),
            ..empty
        }
    }
}

impl From<&Asking> for ReportedAsking {
    fn from(asking: &Asking) -> Self {
        let Asking { by, version, wants, rule } = asking;
        Self { name: by.to_string(), version: version.to_string(), wants: wants.clone(), rule: rule.clone() }
    }
}

impl From<&Held> for ReportedHeld {
    fn from(held: &Held) -> Self {
        let (by, name) = match &held.by {
            HeldBy::Line => ("line", None),
            HeldBy::Floor => ("floor", None),
            HeldBy::Rule(id) => ("rule", Some(id.clone())),
            HeldBy::Python => ("python", None),
            HeldBy::Package(name) => ("package", Some(name.to_string())),
            HeldBy::Setting => ("setting", None),
            HeldBy::Itself => ("itself", None),
            HeldBy::Open => ("open", None),
        };
        Self { newest: held.newest.to_string(), reason: held.reason.clone(), by: by.to_owned(), name }
    }
}

impl From<&Hit<'_>> for ReportedHit {
    fn from(hit: &Hit<'_>) -> Self {
        Self {
            rule: hit.rule.id.clone(),
            kind: hit.rule.says.to_string(),
            problem: hit.rule.problem().map(|problem| problem.to_string()),
            at_floor: hit.reach == Reach::AtFloor,
            reason: hit.rule.reason.clone(),
            prefer: hit.rule.prefer().map(|prefer| prefer.to_string().replace('`', "")),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("why.schema.json");
    }
}
