//! What passes through: exit codes, signals, streams, arguments and variables, as they are.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use super::made::{Made, feed};

#[test]
fn the_exit_code_is_the_command_s() {
    let made = Made::new("");
    for code in (0..=255).step_by(5).chain([1, 2, 126, 127, 128, 129]) {
        let output = made.command(&["sh", "-c", &format!("exit {code}")]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(code), Vec::new(), Vec::new()));
    }
}

#[test]
fn a_signal_ends_it_as_it_ends_the_command() {
    let made = Made::new("");
    // Of these macml itself ignores the last, as every Rust program does: what it starts must not.
    for (name, number) in [("HUP", 1), ("INT", 2), ("KILL", 9), ("SEGV", 11), ("TERM", 15), ("PIPE", 13)] {
        let output = made.command(&["sh", "-c", &format!("ulimit -c 0; kill -{name} $$; exit 7")]).output().unwrap();
        assert_eq!((output.status.code(), output.status.signal()), (None, Some(number)), "{name}");
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn what_was_ignored_stays_ignored() {
    let made = Made::new("");
    // As `nohup` does it.
    let script = "trap '' HUP; exec \"$0\" run --no-sync sh -c 'kill -HUP $$; echo alive'";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_macml")]).current_dir(&made.root);
    let output = command.env_clear().env("HOME", &made.root).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice(), output.stderr), (Some(0), &b"alive\n"[..], Vec::new()));
}

#[test]
fn the_command_has_the_process_itself() {
    let made = Made::new("");
    let mut child = made.command(&["sh", "-c", "echo $$"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text.trim(), child.id().to_string());
    assert!(child.wait().unwrap().success());
}

#[test]
fn bytes_pass_in_and_out_untouched() {
    let made = Made::new("");
    let input: Vec<u8> = (0..3_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let output = feed(made.command(&["cat"]), input.clone());
    assert!(output.status.success() && output.stdout == input && output.stderr.is_empty());
    let output = feed(made.command(&["sh", "-c", "cat >&2"]), input.clone());
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr == input);
    // Not a byte of what another one shall read is taken.
    let output = feed(made.command(&["sh", "-c", "read first; exec cat"]), b"one\ntwo\n\xff".to_vec());
    assert_eq!(output.stdout, b"two\n\xff");
    let output = made.command(&["head", "-c", "50000000", "/dev/zero"]).output().unwrap();
    assert!(output.stdout.len() == 50_000_000 && output.stdout.iter().all(|byte| *byte == 0));
}

#[test]
fn a_reader_that_leaves_stops_the_command() {
    let made = Made::new("");
    let mut child = made.command(&["yes"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().signal(), Some(13));
}

const SHOW: &str = "import os, sys; print([os.fsencode(word) for word in sys.argv[1:]])";

#[test]
fn words_pass_untouched() {
    let made = Made::new("");
    let check = |words: &[&OsStr], shown: &str| {
        let output = made.command(&["python", "-c", SHOW]).args(words).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), shown);
        assert!(output.status.success() && output.stderr.is_empty());
    };
    check(&["".as_ref(), " a  b ".as_ref(), "x\ny".as_ref()], r"[b'', b' a  b ', b'x\ny']");
    check(&[OsStr::from_bytes(b"\xff\xfe"), "é".as_ref()], r"[b'\xff\xfe', b'\xc3\xa9']");
    // What could be meant for macml is not.
    check(&["--".as_ref(), "-q".as_ref(), "--".as_ref()], "[b'--', b'-q', b'--']");
    check(&["--help".as_ref(), "--env".as_ref(), "x".as_ref()], "[b'--help', b'--env', b'x']");
    check(&["--device=cpu".as_ref(), "-C".as_ref(), "/".as_ref()], "[b'--device=cpu', b'-C', b'/']");
}

#[test]
fn options_before_the_command_are_macml_s() {
    let made = Made::new("");
    assert_eq!(made.run(&["--", "python", "-c", SHOW, "--", "x"]).stdout, "[b'--', b'x']\n");
    made.run(&["--nonsense", "python"]).says(2, &["unexpected argument '--nonsense'"]);
    made.run(&["--", "--version"]).says(127, &["there is no command `--version`"]);
    made.run(&["--help"]).says(0, &["--device cpu", "126"]);
}

#[test]
fn variables_that_are_no_text_pass_too() {
    let made = Made::new("");
    let code = "import os; print(os.environb[b'VALUE'], os.environb[b'NA\\xffME'], os.environb[b'EMPTY'], \
                os.environb[b'PATH'].split(b':')[-1])";
    let mut command = made.command(&["python", "-c", code]);
    command.env("VALUE", OsStr::from_bytes(b"\xff=\xfe")).env(OsStr::from_bytes(b"NA\xffME"), "x").env("EMPTY", "");
    let mut path = OsString::from("/usr/bin:/bin:");
    path.push(OsStr::from_bytes(b"/\xff"));
    let output = command.env("PATH", path).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "b'\\xff=\\xfe' b'x' b'' b'/\\xff'\n");
}
