//! A Mac as plain data. Looking at this one is `probe`'s; what follows from it is for others to say.

pub mod chip;
mod probe;

pub use chip::{Chip, Processor};
pub use probe::{ProbeError, probe};

use serde::{Deserialize, Serialize};

/// A Mac, as far as environments depend on it. Recorded ones are files: `--host FILE` takes them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Whether the processor is one of Apple's, `hw.optional.arm64`, which under Rosetta is told too; absent: by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm64: Option<bool>,
}

impl Host {
    /// Returns what its processor is.
    pub fn processor(&self) -> Processor {
        match (Processor::named(&self.cpu), self.arm64) {
            (Processor::Foreign, Some(true)) => Processor::Unnamed,
            (Processor::Unnamed | Processor::Chip(_), Some(false)) => Processor::Foreign,
            (named, _) => named,
        }
    }
}

/// What a process runs as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// As the processor is.
    Native,
    /// As x86-64 under Rosetta, `sysctl.proc_translated`.
    Translated,
}

/// Writes an amount of memory as a manifest does.
pub fn gigabytes(bytes: u64) -> String {
    let gigabytes = bytes as f64 / f64::from(1_u32 << 30);
    if gigabytes.fract() < 0.05 { format!("{gigabytes:.0} GB") } else { format!("{gigabytes:.1} GB") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_knows_better_than_a_name() {
        let processor = |cpu: &str, arm64| {
            let (source, macos) = ("made".to_owned(), "15.0".to_owned());
            Host { source, cpu: cpu.to_owned(), macos, process: Process::Native, memory: 1, arm64 }.processor()
        };
        let m1 = Processor::Chip("m1".parse().unwrap());
        assert_eq!(processor("Apple M1", None), m1);
        assert_eq!(processor("Apple M1", Some(true)), m1);
        assert_eq!(processor("QEMU Virtual CPU", Some(true)), Processor::Unnamed);
        assert_eq!(processor("Intel(R) Core(TM) i7", None), Processor::Foreign);
        assert_eq!(processor("Apple M1", Some(false)), Processor::Foreign);
    }
}
