//! A Mac as plain data. Looking at this one is `probe`'s; what follows from it is for others to say.

pub mod chip;
mod probe;

pub use chip::Chip;
pub use probe::{ProbeError, probe};

use serde::{Deserialize, Serialize};

/// A Mac, as far as environments depend on it. Recorded ones are files: `--host FILE` takes them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Host {
    /// Where it comes from: `probed`, `recorded` with an address, `made` with the source of each field.
    #[serde(default)]
    pub source: String,
    /// The processor's name, `machdep.cpu.brand_string`: `Apple M3 Max`, `Apple M1 (Virtual)`, `Intel(R) Core(TM) i7 …`.
    pub cpu: String,
    /// The version of macOS, `kern.osproductversion`: `15.6.1`.
    pub macos: String,
    /// What this process runs as.
    pub process: Process,
    /// Memory in bytes, `hw.memsize`.
    pub memory: u64,
}

/// What a process runs as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// As the processor is.
    Native,
    /// As x86-64 under Rosetta, `sysctl.proc_translated`.
    Translated,
}
