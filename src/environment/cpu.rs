//! Hiding the GPU from programs: the variables that frameworks obey, and for those that have none a file that Python runs
//! first.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::first;
use crate::sys::fs::FsError;

/// What Python runs.
const HOOK: &str = include_str!("cpu.py");

/// Variables by which frameworks are told to leave GPUs alone, and those that would say otherwise.
const VARIABLES: [(&str, Option<&str>); 5] = [
    ("CUDA_VISIBLE_DEVICES", Some("-1")),
    ("JAX_PLATFORMS", Some("cpu")),
    // Of old, and for other devices than JAX_PLATFORMS admits an error.
    ("JAX_PLATFORM_NAME", None),
    // torch cannot be told to have no MPS, but to give it no memory: who asks for `mps` by name is refused. Without the
    // second it refuses the first, for the lower mark must not be the higher one; 0 switches that mark off.
    ("PYTORCH_MPS_HIGH_WATERMARK_RATIO", Some("1e-12")),
    ("PYTORCH_MPS_LOW_WATERMARK_RATIO", Some("0.0")),
];

/// Puts the file for Python in place, and lists the variables that change where PYTHONPATH was `path`.
///
/// # Errors
/// When the file cannot be written.
pub fn without_gpu(state: &Path, path: Option<&OsStr>) -> Result<Vec<(OsString, Option<OsString>)>, FsError> {
    let path = first::put(state, "cpu", HOOK, path)?;
    let changes = VARIABLES.iter().map(|(name, value)| (name.into(), value.map(OsString::from)));
    Ok(changes.chain([("PYTHONPATH".into(), Some(path))]).collect())
}
