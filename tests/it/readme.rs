//! The transcripts in the READMEs: commands that are shown are run, and must print what is shown.
//!
//! A transcript is a fenced block after `<!-- transcript: NAME -->`. Its first line is `$ ` and the command as people type
//! it; the rest is everything that the command prints, standard output and standard error as they come, or its first lines
//! where the last that is shown is `…`. Times, sizes of downloads, rounding errors and the name of the processor are compared
//! by their shape only, and what was downloaded not at all. `MACML_WRITE_README=1 MACML_LIVE=1 cargo test readme` writes them anew; that of `macml verify` is run
//! and written by `live_native`, where its torch and the probe for it are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use macml::pipeline::check::Word;

use crate::support::real;
use crate::uv_agreement::install_uv;

const FILES: [&str; 2] = ["README.md", "README.zh-CN.md"];

/// The commands that are shown, by the name of their transcript, as words after `macml`.
const SHOWN: [(&str, &str); 16] = [
    (UV, "check --lock uv.lock --macos 14.0 --wheels"),
    ("lock", "lock"),
    ("tensorflow", "-C examples/tensorflow lock"),
    ("why", "-C examples/tensorflow why tensorflow-metal"),
    ("matrix", "-C examples/pytorch matrix --macos 13.0,14.0,15.0"),
    ("floor", "lock --env mlx --macos 13.5 --dry-run"),
    ("impossible", "-C examples/impossible lock"),
    ("sync", "-C examples/science sync"),
    ("run", "-C examples/science run python train.py"),
    ("stage", "sync --locked --env mlx --target target/mlx-for-mac --platform macos-arm64"),
    (VERIFY, "verify --prefix torch --device cpu --native --python"),
    ("ops", "ops linalg_svd linalg_eig"),
    ("ops-compare", "ops --torch 2.13.0 --compare 2.15.0"),
    ("explain", "explain --no-project examples/errors/nms.txt"),
    ("doctor", "doctor --host examples/errors/a-mac.json"),
    ("check", "check --target target/mlx-for-mac --full"),
];

/// The one that looks at a lock of uv, which names the addresses of an index and so is made where it is needed.
const UV: &str = "uv";

/// The project of that lock: what anybody would write who wants TensorFlow on a Mac's GPU, as it is answered on one day.
const UV_PROJECT: &str = r#"[project]
name = "training"
version = "0.1.0"
requires-python = ">=3.11,<3.13"
dependencies = ["tensorflow", "tensorflow-metal"]

[tool.uv]
environments = ["sys_platform == 'darwin' and platform_machine == 'arm64'"]
exclude-newer = "2026-11-30T00:00:00Z"
"#;

/// The one that takes a torch and minutes of compiling.
const VERIFY: &str = "verify";

/// The end of what is not shown whole.
const REST: &str = "…\n";

/// What the commands that are shown make, so that each time they make it anew.
const MADE: [&str; 3] = ["examples/science/.venv", "examples/science/.macml", "target/mlx-for-mac"];

/// One transcript: where its text stands in the file, and what it says.
#[derive(Debug, PartialEq)]
struct Transcript<'a> {
    name: &'a str,
    command: &'a str,
    printed: &'a str,
    /// The bytes between the fences.
    place: std::ops::Range<usize>,
}

fn transcripts(text: &str) -> Vec<Transcript<'_>> {
    const MARK: &str = "<!-- transcript: ";
    let mut found = Vec::new();
    for (at, _) in text.match_indices(MARK) {
        let rest = &text[at + MARK.len()..];
        let name = rest.split(" -->").next().unwrap();
        let open = at + text[at..].find("```console\n").unwrap_or_else(|| panic!("`{name}` has no block")) + 11;
        let close = open + text[open..].find("```").unwrap_or_else(|| panic!("`{name}` is not closed"));
        let (command, printed) = text[open..close].split_once('\n').unwrap();
        let command = command.strip_prefix("$ ").unwrap_or_else(|| panic!("`{name}` has no command"));
        found.push(Transcript { name, command, printed, place: open..close });
    }
    found
}

/// Returns as much of what was printed as a transcript shows.
fn cut(printed: &str, shown: &str) -> String {
    let Some(shown) = shown.strip_suffix(REST) else { return printed.to_owned() };
    let lines: Vec<&str> = printed.split_inclusive('\n').collect();
    let first = shown.lines().count();
    assert!(first < lines.len(), "nothing is left out of `{printed}`");
    lines[..first].concat() + REST
}

/// Replaces the name of the device, which stands in parentheses.
fn without_device(line: &str) -> String {
    let Some((before, rest)) = line.split_once(" on cpu (") else { return line.to_owned() };
    let (_, after) = rest.split_once("), ").unwrap();
    format!("{before} on cpu (NAME), {after}")
}

/// Leaves out what had to be fetched, which depends on what was read before.
fn without_fetched(line: &str) -> String {
    let Some((before, rest)) = line.split_once(" fetched (") else { return line.to_owned() };
    let Some((before, wheels)) = before.rsplit_once(", ") else { return line.to_owned() };
    match (wheels.split_once(' '), rest.split_once(')')) {
        (Some((number, "wheel" | "wheels")), Some((_, after))) if number.parse::<usize>().is_ok() => {
            format!("{before}{after}")
        }
        _ => line.to_owned(),
    }
}

/// Replaces what differs from run to run: durations, how much had to be fetched, and how far off numbers were.
fn normalized(text: &str) -> String {
    let mut words = Vec::new();
    for line in text.lines() {
        let line = without_fetched(&without_device(line));
        let mut line: Vec<&str> = line.trim_end().split(' ').collect();
        for at in 0..line.len() {
            let number =
                |word: &str| !word.is_empty() && word.chars().all(|digit| digit.is_ascii_digit() || digit == '.');
            let (next, unit) = (line.get(at + 1).copied().unwrap_or_default(), ["ms", "s", "min", "MB", "kB"]);
            let next = next.trim_end_matches([',', '.', ')', ';']);
            // The patch is the machine's.
            let version =
                line[at].trim_end_matches(',').split('.').count() == 3 && number(line[at].trim_end_matches(','));
            if at > 0 && line[at - 1] == "Python" && version {
                line[at] = "X.Y.Z";
            }
            let error = line[at].trim_end_matches(',').split_once("e-");
            if error.is_some_and(|(digits, exponent)| number(digits) && number(exponent)) {
                line[at] = "ERROR";
            }
            if number(line[at].trim_start_matches('(')) && unit.contains(&next) {
                line[at] = "N";
                line[at + 1] = "UNIT";
            }
        }
        words.push(line.join(" "));
    }
    words.join("\n")
}

/// Runs a shown command on the project itself and returns what a person sees.
fn run(words: &str) -> String {
    run_in(Path::new(env!("CARGO_MANIFEST_DIR")), &[], words)
}

fn run_in(folder: &Path, vars: &[(&str, &str)], words: &str) -> String {
    // Both streams into one file, in the order of writing.
    let mut seen = tempfile::tempfile().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_macml"))
        .args(words.split(' '))
        .current_dir(folder)
        .env("MACML_NO_CONFIG", "1")
        .env("MACML_NO_PROGRESS", "1")
        .env("MACML_COLOR", "never")
        .envs(vars.iter().copied())
        .stdin(Stdio::null())
        .stdout(seen.try_clone().unwrap())
        .stderr(seen.try_clone().unwrap())
        .status()
        .unwrap();
    assert_ne!(status.code(), Some(2), "`macml {words}` could not tell");
    let mut text = String::new();
    std::io::Seek::rewind(&mut seen).unwrap();
    std::io::Read::read_to_string(&mut seen, &mut text).unwrap();
    text
}

fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

#[test]
fn both_readmes_show_the_same_commands() {
    let expected: Vec<(String, String)> = SHOWN
        .iter()
        .map(|(name, words)| {
            // The first one is how people without a `macml` on their PATH begin.
            let program = if *name == "lock" { "cargo run --release --" } else { "macml" };
            ((*name).to_owned(), format!("{program} {words}"))
        })
        .collect();
    for file in FILES {
        let text = read(file);
        let shown: Vec<(String, String)> = transcripts(&text)
            .iter()
            .map(|transcript| (transcript.name.to_owned(), transcript.command.to_owned()))
            .collect();
        assert_eq!(shown, expected, "{file}");
    }
}

#[test]
fn transcripts_are_real() {
    if !matches!(std::env::var("MACML_LIVE").as_deref(), Ok("1" | "full")) {
        eprintln!("not asked for: set MACML_LIVE=1 to run what the READMEs show");
        return;
    }
    for path in MADE.map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path)) {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(path).unwrap(),
            Ok(_) => std::fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
    }
    let here = SHOWN.iter().filter(|(name, _)| *name != VERIFY);
    let printed = |name: &str, words: &str| match name {
        UV => run_in(&project_of_uv(), &[], words),
        _ => run(words),
    };
    let seen: Vec<(&str, String)> = here.map(|(name, words)| (*name, printed(name, words))).collect();
    hold(&seen);
}

/// Locks the project with uv, and returns its folder.
fn project_of_uv() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme-uv");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("pyproject.toml"), UV_PROJECT).unwrap();
    let mut lock = Command::new(install_uv());
    lock.args(["lock", "--no-config", "--quiet"]).current_dir(&folder).env("UV_PYTHON_DOWNLOADS", "never");
    assert!(lock.status().unwrap().success(), "{lock:?}");
    folder
}

/// Holds the transcript of `macml verify` to a real run, in the environment with torch that `live_native` asks; `cache` has
/// the probe that was built for it.
pub(crate) fn verify_is_real(cache: &Path) {
    let (_, words) = SHOWN.iter().find(|(name, _)| *name == VERIFY).unwrap();
    let printed = run_in(&real::folder(), &[("MACML_CACHE_DIR", cache.to_str().unwrap())], words);
    eprintln!("{printed}");
    hold(&[(VERIFY, printed)]);
}

/// Asserts that both show this, which a test has from a run that is no transcript.
#[track_caller]
pub(crate) fn both_show(printed: &str) {
    for file in FILES {
        let printed = printed.trim_end();
        assert!(read(file).contains(&format!("\n{printed}\n```\n")), "{file} does not show\n{printed}");
    }
}

/// Compares transcripts with what was printed, or replaces them by it.
fn hold(seen: &[(&str, String)]) {
    // Tests run side by side, and so do their writings.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let write = std::env::var_os("MACML_WRITE_README").is_some();
    for file in FILES {
        let mut text = read(file);
        let old = text.clone();
        // From the last to the first, so that places stay right.
        for transcript in transcripts(&old).into_iter().rev() {
            let Some((_, printed)) = seen.iter().find(|(name, _)| *name == transcript.name) else { continue };
            let printed = cut(printed, transcript.printed);
            if write {
                let command = transcript.command;
                text.replace_range(transcript.place, &format!("$ {command}\n{printed}"));
            } else {
                let name = transcript.name;
                assert_eq!(normalized(transcript.printed), normalized(&printed), "{file}: `{name}` is out of date");
            }
        }
        if write {
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), text).unwrap();
        }
    }
}

#[test]
fn only_what_is_the_machine_s_is_overlooked() {
    let check = |left: &str, right: &str, same: bool| {
        assert_eq!(normalized(left) == normalized(right), same, "`{left}` and `{right}`");
    };
    check("macml.lock unchanged, 14 ms", "macml.lock unchanged, 1.20 s", true);
    check("fetched 3.4 MB (2 s)", "fetched 12 kB (900 ms)", true);
    check("macml.lock unchanged, 14 ms", "macml.lock written, 14 ms", false);
    check("go, 33 wheels fetched (279.4 MB), 1 note", "go, 1 wheel fetched (2 kB), 1 note", true);
    check("go, 33 wheels fetched (279.4 MB), 1 note", "go, 1 note", true);
    check("go, 33 wheels fetched (279.4 MB), 1 note", "go, 2 notes", false);
    check("torch 2.14.1", "torch 2.14.2", false);
    check("macOS 14.0", "macOS 13.0", false);
    check("18 packages, Python 3.11.2, 1 s", "18 packages, Python 3.11.14, 2 s", true);
    check("18 packages, Python 3.11", "18 packages, Python 3.12", false);
    check("", "error: no answer", false);
    let verified = "ok  torch 2.13.0 natively on cpu (AMD EPYC), 120 compared, largest error float32 5.5e-7, 10.9 s";
    let other = "ok  torch 2.13.0 natively on cpu (ARM), 120 compared, largest error float32 1.0e-6, 1.9 s";
    check(verified, other, true);
    check(verified, &other.replace("120", "119"), false);
    check(verified, &other.replace("ok", "wrong-numbers"), false);
    check(verified, &other.replace("float32", "float16"), false);
}

#[test]
fn every_word_of_a_check_is_told() {
    for file in FILES {
        let text = read(file);
        let untold: Vec<&str> =
            Word::ALL.iter().map(|word| word.as_str()).filter(|word| !text.contains(&format!("`{word}`"))).collect();
        assert!(untold.is_empty(), "{file}: {untold:?}");
    }
}

#[test]
fn transcripts_are_found() {
    let text = "Before.\n\n<!-- transcript: lock -->\n```console\n$ macml lock\nfine\n```\nAfter.\n";
    let found = transcripts(text);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].name, found[0].command, found[0].printed), ("lock", "macml lock", "fine\n"));
    assert_eq!(&text[found[0].place.clone()], "$ macml lock\nfine\n");
}

#[test]
fn what_is_shown_in_part_is_compared_in_part() {
    assert_eq!(cut("one\ntwo\nthree\n", "1\n2\n…\n"), "one\ntwo\n…\n");
    assert_eq!(cut("one\ntwo\n", "1\n"), "one\ntwo\n");
}
