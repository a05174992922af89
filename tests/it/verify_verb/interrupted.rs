//! Who interrupts `macml verify` leaves nothing running: neither a probe nor cargo, and not what they started.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Prefix, program};

/// Waits until a file has a whole line, and returns the number in it.
fn number(path: &Path) -> String {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => assert!(Instant::now() < deadline, "there is no {}", path.display()),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process runs; one that only waits to be taken note of does not.
fn runs(id: &str) -> bool {
    let status = Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap();
    !status.stdout.is_empty() && !status.stdout.starts_with(b"Z")
}

/// Ends macml by a signal once both files have numbers; they must be gone soon, and macml by that signal.
#[track_caller]
fn interrupted(prefix: &Prefix, words: &[&str], path: &str, signal: i32) {
    let mut command = prefix.project.command(&[&["verify", "--prefix", "env", "--device", "cpu"], words].concat());
    let mut macml = command.env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let ids = ["leader", "child"].map(|name| number(&prefix.path().join(name)));
    assert!(ids.iter().all(|id| runs(id)));
    let sent = Command::new("kill").args([format!("-{signal}"), macml.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ended = macml.wait().unwrap();
    assert_eq!(ended.signal(), Some(signal), "{ended:?}");
    let deadline = Instant::now() + Duration::from_secs(10);
    while ids.iter().any(|id| runs(id)) {
        assert!(Instant::now() < deadline, "{ids:?} still run");
        std::thread::sleep(Duration::from_millis(5));
    }
    for name in ["leader", "child"] {
        std::fs::remove_file(prefix.path().join(name)).unwrap();
    }
}

/// Starts a child, writes both numbers down and waits for long.
fn waiting(folder: &Path) -> String {
    let folder = folder.display();
    format!("sleep 60 &\necho $! > '{folder}/child'\necho $$ > '{folder}/leader'\nwait\n")
}

#[test]
fn a_probe_and_what_it_started_end_with_macml() {
    let prefix = Prefix::new(&["torch-2.13.0"], "");
    let script = format!("#!/bin/sh\n{}", waiting(prefix.path()));
    program(&prefix.path().join("env/bin/python"), script);
    for signal in [1, 2, 3, 15] {
        interrupted(&prefix, &[], "/usr/bin:/bin", signal);
    }
}

#[test]
fn a_build_ends_with_macml() {
    let prefix = super::native::buildable();
    program(&prefix.path().join("tools/c++"), "#!/bin/sh\nexit 1\n");
    program(&prefix.path().join("tools/cargo"), format!("#!/bin/sh\n{}", waiting(prefix.path())));
    let path = format!("{}:/usr/bin:/bin", prefix.path().join("tools").display());
    interrupted(&prefix, &["--native"], &path, 2);
}
