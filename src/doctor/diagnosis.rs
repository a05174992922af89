//! What a rule says: what was seen, why it matters, and the one remedy.

use serde::Serialize;

use crate::diag::{Code, Severity};

/// One thing that is wrong, or worth knowing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Diagnosis {
    /// The stable code, which `macml explain` has a page on.
    pub code: Code,
    /// How bad it is: only an error makes the verdict of all no.
    pub severity: Severity,
    /// The section that it belongs to.
    pub subject: Subject,
    /// The thing that is wrong, as a line of its section names it: the folder of an environment, a program. Absent where it is
    /// none of those.
    pub about: Option<String>,
    /// What was seen: one lowercase sentence without a full stop, names in backticks.
    pub seen: String,
    /// Why that matters, in one sentence.
    pub why: String,
    /// Further sentences: each path, each version.
    pub details: Vec<String>,
    /// What to do.
    pub remedy: Remedy,
}

/// What to do about it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Remedy {
    /// What to do, in one sentence.
    pub says: String,
    /// The command line that does it, to be copied as it is; none where no command does.
    pub command: Option<String>,
}

/// What a section is about, in the order in which people read them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The machine, its system and memory.
    Mac,
    /// What this process sees of the GPU.
    Gpu,
    /// Compilers and other tools.
    Tools,
    /// PATH, variables, Pythons.
    Pythons,
    /// The project: macml.toml, macml.lock.
    Project,
    /// What is installed.
    Environment,
    /// Volumes and folders.
    Disk,
    /// Proxies, certificates, mirrors.
    Network,
}

impl Diagnosis {
    /// Makes an error without details; its remedy is a sentence.
    pub fn error(code: Code, subject: Subject, seen: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, subject, seen.into(), why.into())
    }

    /// Makes a warning likewise.
    pub fn warning(code: Code, subject: Subject, seen: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, subject, seen.into(), why.into())
    }

    /// Makes a note likewise.
    pub fn note(code: Code, subject: Subject, seen: impl Into<String>, why: impl Into<String>) -> Self {
        Self::new(code, Severity::Note, subject, seen.into(), why.into())
    }

    fn new(code: Code, severity: Severity, subject: Subject, seen: String, why: String) -> Self {
        let remedy = Remedy { says: String::new(), command: None };
        Self { code, severity, subject, about: None, seen, why, details: Vec::new(), remedy }
    }

    /// Names the thing that is wrong.
    #[must_use]
    pub fn about(mut self, about: impl Into<String>) -> Self {
        self.about = Some(about.into());
        self
    }

    /// Adds a sentence.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn remedy(mut self, says: impl Into<String>) -> Self {
        self.remedy.says = says.into();
        self
    }

    /// Gives the command line that does it.
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.remedy.command = Some(command.into());
        self
    }
}
