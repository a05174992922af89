//! Whether a Mac can carry what was locked: told before anything is downloaded. Pure.

use crate::host::Host;
use crate::lock::Lockfile;
use crate::lock::model::LockedEnv;
use crate::target::MacosVersion;

/// What a Mac that can carry an environment means for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fit {
    /// Its macOS, by which wheels are picked.
    pub macos: MacosVersion,
    /// What is not as declared and no obstacle, a sentence each: less memory than asked for, for example.
    pub warnings: Vec<String>,
}

/// Why a Mac cannot carry an environment.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unfit {
    // Filled in by the implementation.
}

/// Decides it. `memory` is what the manifest asks for, in bytes.
///
/// # Errors
/// When it cannot: one sentence.
pub fn fit(_host: &Host, _lock: &Lockfile, _env: &LockedEnv, _memory: Option<u64>) -> Result<Fit, Unfit> {
    unimplemented!()
}
