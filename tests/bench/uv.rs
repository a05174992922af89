//! uv, installed from PyPI below `target/`, and running a command to its end.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The release of uv that macml is measured beside.
const UV: &str = "uv==0.13.9";

/// What stands in the virtual environment of the benchmarks.
pub(crate) struct Installed {
    /// uv itself.
    pub(crate) uv: PathBuf,
    /// The interpreter beside it.
    pub(crate) interpreter: PathBuf,
}

/// Finds uv below `target`, installing it where it is not yet there.
pub(crate) fn install(target: &Path) -> Installed {
    let bin = target.join("bench-venv").join("bin");
    let installed = Installed { uv: bin.join("uv"), interpreter: bin.join("python") };
    if !installed.uv.exists() {
        output(Command::new("python3").args(["-m", "venv"]).arg(target.join("bench-venv")));
        output(Command::new(&installed.interpreter).args(["-m", "pip", "install", "--quiet", UV]));
    }
    installed
}

/// Runs a command to its end and returns what it printed.
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?} failed: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
