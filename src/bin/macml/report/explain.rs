//! What `macml explain --output-format json` prints: schema/explain.schema.json is generated from here.

use macml::diag::Code;
use macml::diag::Language;
use macml::diag::Page;
use macml::explain::Explanation;
use macml::explain::Matched;
use serde::Serialize;

use crate::commands::explain::Answer;
use crate::error::CommandError;
use crate::report::doctor::ReportedRemedy;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml explain --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `explain`.
    command: Command,
    /// What came of it. Exit code 0: `page`, `list`, or `explained`. Exit code 1: `unknown`. Exit code 2: `error`.
    verdict: &'static str,
    /// The exit code of the process.
    exit_code: u8,
    /// The page that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<ReportedPage>,
    /// Every name, topics first; present with the verdict `list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<Vec<Name>>,
    /// The cause behind a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<ReportedExplanation>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml explain`
    Explain,
}

/// A page.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedPage {
    /// Its name.
    #[serde(flatten)]
    name: Name,
    /// `en` or `zh`.
    language: &'static str,
    /// Its text, as Markdown.
    markdown: &'static str,
}

/// A name that has a page.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Name {
    /// The name.
    name: &'static str,
    /// `code` or `topic`.
    kind: &'static str,
    /// What it is about, in a line.
    title: &'static str,
}

/// The cause behind a text.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedExplanation {
    /// What it is.
    code: String,
    /// Where in the text that is said.
    matched: ReportedMatch,
    /// The cause, in a sentence.
    cause: String,
    /// Further sentences.
    details: Vec<String>,
    /// What to do.
    remedy: ReportedRemedy,
    /// Other known patterns of the text, which are not the cause, the nearest to the end first.
    others: Vec<Other>,
}

/// Where a pattern was found.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct ReportedMatch {
    /// The pattern's name.
    signature: String,
    /// The line, from 1.
    line: usize,
    /// That line, without colours, its middle cut out where it is long.
    text: String,
}

/// Another pattern.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Other {
    /// What it is of.
    code: String,
    /// Where.
    #[serde(flatten)]
    matched: ReportedMatch,
}

impl Report {
    /// Makes the report of an answer.
    pub(crate) fn new(answer: &Answer) -> Self {
        let report = Self { exit_code: answer.code(), ..Self::empty() };
        match answer {
            Answer::List => Self { verdict: "list", names: Some(Page::all().map(Name::from).collect()), ..report },
            Answer::Page(page, language) => {
                let markdown = page.text(*language);
                let language = match language {
                    Language::English => "en",
                    Language::Chinese => "zh",
                };
                let page = ReportedPage { name: (*page).into(), language, markdown };
                Self { verdict: "page", page: Some(page), ..report }
            }
            Answer::Cause(found) => Self { verdict: "explained", explanation: Some((&**found).into()), ..report },
            Answer::Unknown(_) => Self { verdict: "unknown", ..report },
        }
    }

    /// Makes the report of a run without an answer.
    pub(crate) fn failed(error: &CommandError) -> Self {
        Self { exit_code: error.kind.code(), error: Some(ReportedError::new(error)), ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            schema: SCHEMA,
            command: Command::Explain,
            verdict: "error",
            exit_code: 2,
            page: None,
            names: None,
            explanation: None,
            error: None,
        }
    }
}

impl From<Page> for Name {
    fn from(page: Page) -> Self {
        let kind = match page {
            Page::Code(_) => "code",
            Page::Topic(_) => "topic",
        };
        Self { name: page.as_str(), kind, title: page.title() }
    }
}

impl From<&Explanation> for ReportedExplanation {
    fn from(found: &Explanation) -> Self {
        let other = |(code, matched): &(Code, Matched)| Other { code: code.to_string(), matched: matched.into() };
        Self {
            code: found.code.to_string(),
            matched: (&found.matched).into(),
            cause: found.cause.clone(),
            details: found.details.clone(),
            remedy: (&found.remedy).into(),
            others: found.others.iter().map(other).collect(),
        }
    }
}

impl From<&Matched> for ReportedMatch {
    fn from(matched: &Matched) -> Self {
        Self { signature: matched.signature.clone(), line: matched.line, text: matched.text.clone() }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("explain.schema.json");
    }
}
