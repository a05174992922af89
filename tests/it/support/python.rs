//! The real Python of this machine, which environments of tests are made from.

use std::path::PathBuf;
use std::process::Command;
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
