//! Environment markers (PEP 508) and their evaluation over a set of machines.

use std::fmt;
use std::str::FromStr;

use super::name::ExtraName;
use super::version::Version;

/// A parsed marker expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Marker {}

/// Why a text is no marker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an environment marker: {reason}")]
pub struct MarkerError {
    text: String,
    reason: String,
}

/// Whether a marker holds on all, none or only some of the machines that a [`MarkerEnv`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// Holds on every one.
    Always,
    /// Holds on none.
    Never,
    /// Holds on some, or cannot be told.
    Unknown,
}

/// The values of marker variables on the machines resolved for; what varies among them is a set or unknown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkerEnv {
    /// `os_name`, `posix` on all of ours.
    pub os_name: String,
    /// `sys_platform`: `darwin` or `linux`.
    pub sys_platform: String,
    /// `platform_machine`: `arm64`, `aarch64` or `x86_64`.
    pub platform_machine: String,
    /// `platform_system`: `Darwin` or `Linux`.
    pub platform_system: String,
    /// `platform_release`: the lowest kernel release (Darwin version) that counts; unknown on Linux.
    pub platform_release_floor: Option<Version>,
    /// `python_version`, major and minor.
    pub python_version: (u64, u64),
    /// `python_full_version` when it is one patch release; `None` stands for every patch of the minor.
    pub python_full_version: Option<Version>,
}

impl Marker {
    /// Evaluates for `env`; `extras` are the extras asked for (`extra == "…"` is false when there are none).
    pub fn evaluate(&self, env: &MarkerEnv, extras: &[ExtraName]) -> Truth {
        let _ = (env, extras);
        unimplemented!("pep helper")
    }
}

impl FromStr for Marker {
    type Err = MarkerError;

    fn from_str(text: &str) -> Result<Self, MarkerError> {
        let _ = text;
        unimplemented!("pep helper")
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let _ = f;
        unimplemented!("pep helper: canonical text that parses to the same marker")
    }
}
