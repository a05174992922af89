//! The real Python of this machine, which environments of tests are made from.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Returns its file, every link followed, and its minor, as in `3.11`.
pub(crate) fn python() -> &'static (PathBuf, String) {
    static PYTHON: OnceLock<(PathBuf, String)> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let query =
            "import os, sys; print(os.path.realpath(sys._base_executable)); print('%d.%d' % sys.version_info[:2])";
        let output = Command::new("python3").args(["-I", "-c", query]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (path, minor) = text.trim().split_once('\n').unwrap();
        (path.into(), minor.to_owned())
    })
}

/// Makes a virtual environment of this name with one requirement, once for all runs; returns its Python.
pub(crate) fn python_with(name: &str, requirement: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let python = folder.join("bin/python");
    let run = |program: &Path, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).stdout(Stdio::null()).status().unwrap();
        assert!(status.success(), "{} {arguments:?}", program.display());
    };
    if !python.exists() {
        run(Path::new("python3"), &["-m", "venv", folder.to_str().unwrap()]);
    }
    run(&python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]);
    python
}
