//! What we tell people, as data. The binary lays it out.

mod named;

pub mod code;
pub mod page;
pub mod source;

pub use code::Code;
pub use page::{Language, Page, Topic};
pub use source::{Source, Span};

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The answer is no.
    Error,
    /// Worth knowing; never changes the exit code by itself.
    Warning,
    /// Plain information.
    Note,
}

/// A place in a [`Source`], with what is to be said there.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What; may be empty.
    pub text: String,
}

/// Something that we looked at and have a judgement on.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Finding {
    /// The stable code, which `macml explain` knows.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// One lowercase sentence without a full stop, names in backticks.
    pub message: String,
    /// Places in the file that the finding is about; the first is the main one.
    pub labels: Vec<Label>,
    /// Further sentences.
    pub notes: Vec<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// Makes an error without labels, notes or hint.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, message)
    }

    /// Makes a warning without labels, notes or hint.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, message)
    }

    /// Makes a note without labels, notes or hint.
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Note, message)
    }

    fn new(code: Code, severity: Severity, message: impl Into<String>) -> Self {
        Self { code, severity, message: message.into(), labels: Vec::new(), notes: Vec::new(), hint: None }
    }

    /// Adds a place.
    #[must_use]
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a sentence.
    #[must_use]
    pub fn noting(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Lists the first `most` of some things with commas, and says how many more there are.
pub fn few<T: std::fmt::Display>(all: &[T], most: usize) -> String {
    let shown: Vec<String> = all.iter().take(most).map(ToString::to_string).collect();
    match all.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
