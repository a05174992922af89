//! What `macml run --report-fallbacks --fallbacks-to FILE` writes: schema/fallbacks.schema.json is generated from here.

use serde::Serialize;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What torch left to the CPU in one run, as one document.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `run`.
    command: Command,
    /// How many processes of Python could be looked into.
    pub(crate) pythons: usize,
    /// The versions of torch that were loaded; none says that nothing below could be seen but what was printed.
    pub(crate) torch: Vec<String>,
    /// Operators that the CPU computed, by name.
    pub(crate) fell_back: Vec<Operator>,
    /// Operators that failed for want of a GPU kernel, by name.
    pub(crate) failed: Vec<Operator>,
    /// By what torch was told to go on with the CPU.
    pub(crate) variable: Variable,
    /// Programs that set the variable after they had loaded torch, which has no effect.
    pub(crate) set_late: Vec<SetLate>,
}

/// A verb with this report.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml run`.
    Run,
}

/// An operator without a GPU kernel.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Operator {
    /// Its name as torch says it.
    pub(crate) operator: String,
    /// In how many processes of Python it was noted; 0 where it was only printed.
    pub(crate) processes: usize,
    /// The line of the program that used it first, `FILE:LINE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    /// What stands in the way where it is not the kernel: `needs macOS 14.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) because: Option<String>,
    /// The torch from which on it runs on the GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gpu_from: Option<String>,
    /// The newest torch that macml knows, where that has no GPU kernel either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) none_until: Option<String>,
}

/// The value of PYTORCH_ENABLE_MPS_FALLBACK that the program was given.
#[derive(Serialize, Clone, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Variable {
    /// The value.
    pub(crate) value: String,
    /// Who set it.
    pub(crate) by: By,
}

/// Who set a variable: the first that does.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum By {
    /// `[run.env]` of macml.toml.
    Manifest,
    /// The shell.
    Shell,
    /// `--report-fallbacks`.
    Macml,
}

/// The variable was set after torch had read it.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct SetLate {
    /// The value that the program set; none where it unset it.
    pub(crate) set: Option<String>,
    /// The value that torch had read.
    pub(crate) read: Option<String>,
}

impl Report {
    /// Makes one with nothing in it.
    pub(crate) fn new(variable: Variable) -> Self {
        Self {
            schema: SCHEMA,
            command: Command::Run,
            pythons: 0,
            torch: Vec::new(),
            fell_back: Vec::new(),
            failed: Vec::new(),
            variable,
            set_late: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("fallbacks.schema.json");
    }
}
