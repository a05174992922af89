//! What is said of an error text.

use serde::Serialize;

use crate::diag::Code;
use crate::doctor::Remedy;

/// The cause behind an error text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Explanation {
    /// What it is; `macml explain CODE` prints the page.
    pub code: Code,
    /// Where in the text that is said.
    pub matched: Matched,
    /// The cause, in one lowercase sentence without a full stop, with the names and numbers of the text.
    pub cause: String,
    /// Further sentences: what the facts of this machine and project add or rule out, with paths and versions.
    pub details: Vec<String>,
    /// What to do.
    pub remedy: Remedy,
    /// Other known patterns of the text, which are not the cause: consequences, or earlier mishaps. The nearest to the end
    /// first.
    pub others: Vec<(Code, Matched)>,
}

/// Where a pattern was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Matched {
    /// The pattern's name in `signatures.toml`.
    pub signature: String,
    /// The line, from 1.
    pub line: usize,
    /// That line as people see it: without colours, its middle cut out where it is long.
    pub text: String,
}
