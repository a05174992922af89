//! A terminal of its own for a command, and the person in front of it.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::python::python;

/// Plays steps on a terminal in which a command runs in `folder`, macml's own file being `$macml`; returns what was shown,
/// and the exit code or the negative number of a signal.
pub(crate) fn play(folder: &Path, vars: &[(&str, &str)], steps: &Value, command: &[&str]) -> (String, i64) {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/support/terminal.py");
    let macml = env!("CARGO_BIN_EXE_macml");
    let words = command.iter().map(|word| if *word == "$macml" { macml } else { word });
    let output = Command::new(&python().0)
        .args(["-I".as_ref(), driver.as_os_str()])
        .arg(steps.to_string())
        .args(words)
        .current_dir(folder)
        .env_clear()
        .envs([("HOME", folder.to_str().unwrap()), ("PATH", "/usr/bin:/bin"), ("TERM", "dumb"), ("PS1", "sh> ")])
        .env("macml", macml)
        .envs(vars.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let ended: Value = serde_json::from_slice(&output.stdout).unwrap();
    (ended["shown"].as_str().unwrap().to_owned(), ended["code"].as_i64().unwrap())
}
