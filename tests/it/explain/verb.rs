//! `macml explain` through the binary, where it must say what the library says; names, languages, pipes; and
//! `macml run --explain`, in pipes and on a terminal.

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;

use macml::diag::{Language, Page};
use macml::explain::explain;
use macml::knowledge::Knowledge;
use serde_json::{Value, json};

use crate::run::made::{Made, feed};
use crate::support::project::{Project, Run};
use crate::support::terminal;

/// Nothing of it is known to anybody.
const NONSENSE: &str = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    frobnicate()\n\
                        FrobnicationError: the gizmo is not gizmatic\n";

/// What many have seen.
const USUAL: [&str; 3] = [
    "OMP: Error #15: Initializing libomp.dylib, but found libomp.dylib already initialized.\n",
    "RuntimeError: MPS backend out of memory (MPS allocated: 17.90 GB, other allocations: 384.00 KB, max allowed: 18.13 GB). \
     Tried to allocate 256.00 MB on private pool.\n",
    "error: externally-managed-environment\n\n× This environment is externally managed\n",
];

/// Explains what is piped in.
fn piped(project: &Project, words: &[&str], text: impl Into<Vec<u8>>) -> Run {
    let mut command = project.command(&[&["explain"], words].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = feed(command, text.into());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_text_is_explained_as_the_library_does_it() {
    let project = Project::empty();
    for text in USUAL.into_iter().chain([NONSENSE]) {
        let expected = explain(text.as_bytes(), None, &Knowledge::built_in());
        project.write("error.log", text);
        let by_file = project.run(&["explain", "--no-project", "error.log"]);
        let by_pipe = piped(&project, &["--no-project"], text);
        let by_dash = piped(&project, &["--no-project", "-"], text);
        assert_eq!((&by_file.stdout, &by_dash.stdout), (&by_pipe.stdout, &by_pipe.stdout));
        let report = piped(&project, &["--no-project", "--output-format", "json"], text);
        let json = report.json_as("explain.schema.json");
        assert_eq!((&json["exit-code"], report.code), (&Value::from(by_pipe.code), by_pipe.code));
        match expected {
            Some(found) => {
                by_pipe.says(0, &[&format!("cause[{}]: ", found.code), &format!("line {} | ", found.matched.line)]);
                assert_eq!(json["explanation"]["code"], found.code.as_str());
                assert_eq!(json["verdict"], "explained");
                // However much was printed before, it is the same line.
                let log = format!("{}{text}", "an epoch passed\n".repeat(700_000));
                let long = piped(&project, &["--no-project", "--output-format", "json"], log);
                let line = &long.json_as("explain.schema.json")["explanation"]["matched"]["line"];
                assert_eq!(*line, 700_000 + found.matched.line, "{text}");
            }
            None => {
                by_pipe.says(1, &["unknown: ", "macml does not guess", "macml doctor", "data-loading"]);
                assert_eq!(json["verdict"], "unknown");
            }
        }
        let quiet = piped(&project, &["--no-project", "-q"], text);
        assert_eq!((quiet.code, quiet.stdout, quiet.stderr), (by_pipe.code, String::new(), String::new()));
    }
}

#[test]
fn what_is_not_known_is_called_so() {
    let project = Project::empty();
    piped(&project, &[], NONSENSE).says(1, &["none of the errors that macml knows is in 4 lines of text"]);
    piped(&project, &[], [0xff, 0xfe, b'\n', 0x1b, b'[', b'2', b'J']).says(1, &["in 2 lines of text"]);
    for empty in ["", "\n \n"] {
        piped(&project, &[], empty)
            .says(2, &["error: there is nothing to explain: the text is empty", "2>&1 | macml explain"]);
    }
}

#[test]
fn a_stream_without_end_of_lines_is_read_in_bounds() {
    let project = Project::empty();
    let mut child =
        project.command(&["explain", "--no-project"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..128 {
        stdin.write_all(&piece).unwrap();
    }
    // What it holds then is a fraction of what came.
    if let Ok(status) = std::fs::read_to_string(format!("/proc/{}/status", child.id())) {
        let held = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let held: u64 = held.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(held < 64 << 10, "{held} KiB");
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("in 1 line of text"));
}

#[test]
fn a_name_has_its_page_in_the_language_of_the_reader() {
    let project = Project::empty();
    let page = |vars: &[(&str, &str)], words: &[&str]| project.run_with(vars, &[&["explain"], words].concat()).stdout;
    let [english, chinese] = Language::ALL.map(|language| Page::named("slow").unwrap().text(language));
    assert_eq!(page(&[], &["slow"]), english);
    assert_eq!(page(&[], &["slow", "--lang", "zh"]), chinese);
    assert_eq!(page(&[("LANG", "zh_CN.UTF-8")], &["slow"]), chinese);
    assert_eq!(page(&[("LANG", "zh_CN.UTF-8")], &["slow", "--lang", "en"]), english);
    assert_eq!(page(&[("LANG", "zh_CN.UTF-8"), ("MACML_LANG", "en")], &["slow"]), english);
    // As it is copied from a finding; a file of that name is named by a path.
    let code = Page::named("no-gpu").unwrap().text(Language::English);
    project.write("no-gpu", NONSENSE);
    for name in ["no-gpu", "[no-gpu]", "error[no-gpu]", "warning[no-gpu]:"] {
        assert_eq!(page(&[], &[name]), code, "{name}");
    }
    project.run(&["explain", "./no-gpu", "--no-project"]).says(1, &["unknown"]);
    let report = project.run(&["explain", "no-gpu", "--lang", "zh", "--output-format", "json"]);
    let json = report.json_as("explain.schema.json");
    assert_eq!((&json["page"]["kind"], &json["page"]["language"]), (&json!("code"), &json!("zh")));
    let list = project.run(&["explain", "--list"]);
    let json = project.run(&["explain", "--list", "--output-format", "json"]).json_as("explain.schema.json");
    let names = json["names"].as_array().unwrap();
    assert_eq!(names.len(), Page::all().count());
    assert!(Page::all().all(|page| list.stdout.contains(&format!("  {} ", page.as_str()))), "{}", list.stdout);
}

#[test]
fn a_name_that_is_none_gets_the_nearest() {
    let project = Project::empty();
    let check = |words: &[&str], parts: &[&str]| project.run(&[&["explain"], words].concat()).says(2, parts);
    check(&["slw"], &["there is no code, topic or file `slw`", "did you mean `slow`?"]);
    check(&["gpu"], &["`no-gpu`"]);
    project.run(&["explain", "No-GPU"]).says(0, &["# no-gpu: "]);
    check(&[""], &["the name is empty"]);
    check(&["xyzzy"], &["`macml explain --list` names them all"]);
    check(&["run.log"], &["error: there is no file `run.log`"]);
    check(&["RuntimeError: it broke"], &["a text is read from a file or a pipe"]);
    check(&["."], &["`.` is a folder"]);
    check(&["slow", "--list"], &["cannot be used with"]);
    let report = project.run(&["explain", "slw", "--output-format", "json"]);
    assert_eq!(report.json_as("explain.schema.json")["error"]["hints"], json!(["did you mean `slow`?"]));
}

#[test]
fn on_a_terminal_a_page_is_laid_out_and_silence_is_answered() {
    let project = Project::empty();
    let folder = project.path();
    let play = |vars: &[(&str, &str)], words: &[&str]| {
        let words = [&["$macml", "explain"], words].concat();
        terminal::play(folder, vars, &json!([]), &words)
    };
    let (shown, code) = play(&[("CLICOLOR_FORCE", "1")], &["slow"]);
    assert_eq!(code, 0);
    assert!(shown.starts_with("\u{1b}[1mslow: "), "{shown}");
    let (plain, _) = play(&[], &["slow"]);
    assert!(plain.starts_with("slow: ") && !plain.contains("\n#"), "{plain}");
    let (shown, code) = play(&[], &[]);
    assert_eq!(code, 2);
    assert!(shown.contains("no name, no file, and no text on standard input"), "{shown}");
    assert!(shown.contains("2>&1 | macml explain`") && shown.contains("macml run --explain"), "{shown}");
}

#[test]
fn facts_of_another_machine_are_taken_for_this_one_s() {
    let project = Project::empty();
    let facts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines/m3-max-macos15.json");
    let facts = facts.to_str().unwrap();
    let recorded = serde_json::from_slice(&std::fs::read(facts).unwrap()).unwrap();
    for text in USUAL {
        let expected = explain(text.as_bytes(), Some(&recorded), &Knowledge::built_in());
        let run = piped(&project, &["--host", facts, "--output-format", "json"], text);
        let json = run.json_as("explain.schema.json");
        let details = expected.map(|found| found.details);
        assert_eq!(json["explanation"]["details"], serde_json::to_value(details).unwrap());
    }
    piped(&project, &["--host", facts, "--no-project"], NONSENSE).says(2, &["cannot be used with"]);
}

/// What is said of a failure that nobody knows.
const NOTE: &str = "note: macml knows no cause of this failure; `macml doctor` looks at the machine and the project\n";

#[test]
fn a_command_that_fails_is_explained_and_one_that_does_not_is_left_alone() {
    let made = Made::new("");
    let run = |script: &str| {
        made.project.write("train.py", script);
        made.run_with(&[], &["--explain", "train.py"])
    };
    let fine = run("import sys; print('out'); print('odd: FrobnicationError', file=sys.stderr)");
    assert_eq!((fine.code, fine.stdout.as_str(), fine.stderr.as_str()), (0, "out\n", "odd: FrobnicationError\n"));
    let failed = run("import sys; print('out'); sys.stderr.write('FrobnicationError: x'); sys.exit(7)");
    assert_eq!((failed.code, failed.stdout.as_str()), (7, "out\n"));
    assert_eq!(failed.stderr, format!("FrobnicationError: x\n{NOTE}"));
    // What is known comes after what was printed, whole.
    for text in USUAL {
        let failed = run(&format!("import sys; sys.stderr.write({text:?}); sys.exit(3)"));
        assert_eq!(failed.code, 3);
        let after = failed.stderr.strip_prefix(text).unwrap_or_else(|| panic!("{}", failed.stderr));
        match explain(text.as_bytes(), None, &Knowledge::built_in()) {
            Some(_) => assert!(after.starts_with("cause["), "{after}"),
            None => assert_eq!(after, NOTE),
        }
    }
    // Nothing is said where only errors are wanted, or there is no command.
    made.project.write("train.py", "import sys; sys.exit(4)");
    let quiet = made.run_with(&[("MACML_QUIET", "1")], &["--explain", "train.py"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (4, ""));
    made.run_with(&[], &["--explain", "no-such-command"]).says(127, &["there is no command `no-such-command`"]);
}

#[test]
fn what_a_signal_ended_ends_macml_by_the_same() {
    let made = Made::new("");
    made.project.write("train.py", "import os, sys; os.write(2, b'at work'); os.kill(os.getpid(), int(sys.argv[1]))");
    let end = |signal: &str| {
        let command = made.command(&["--explain", "train.py", signal]).output().unwrap();
        (command.status.signal(), String::from_utf8(command.stderr).unwrap())
    };
    let (signal, errors) = end("9");
    assert_eq!(signal, Some(9));
    assert!(errors.starts_with("at work\n") && errors.len() > "at work\n".len(), "{errors}");
    // Who pressed Ctrl-C knows why.
    let (signal, errors) = end("2");
    assert!(signal == Some(2) && errors.ends_with("KeyboardInterrupt\n"), "{errors}");
}

#[test]
fn a_long_run_keeps_its_end_alone_and_both_options_work_together() {
    let made = Made::new("");
    made.project.write(
        "train.py",
        "import sys\nfor _ in range(60): sys.stderr.write('x' * 99_999 + '\\n')\n\
         sys.stderr.write('FrobnicationError')\nsys.exit(5)\n",
    );
    let mut child = made
        .command(&["--explain", "--report-fallbacks", "train.py"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let expected = format!("FrobnicationError\nnote: no torch was loaded, and no fallback was printed\n{NOTE}");
    assert_eq!(errors.matches('x').count(), 60 * 99_999);
    assert!(errors.ends_with(&expected), "{}", &errors[errors.len() - 300..]);
}

#[test]
fn on_a_terminal_the_command_has_one_and_is_explained_after_it() {
    let made = Made::new("");
    made.project.write(
        "train.py",
        "import os, sys\nprint([os.isatty(stream) for stream in range(3)], file=sys.stderr, flush=True)\n\
         print('\\r 50%', end='', file=sys.stderr)\nsys.exit(6)\n",
    );
    let vars = [("MACML_NO_SYNC", "1")];
    let words = ["$macml", "run", "--explain", "train.py"];
    let (shown, code) = terminal::play(&made.root, &vars, &json!([]), &words);
    let note = NOTE.replace('\n', "\r\n");
    assert_eq!((shown, code), (format!("[True, True, True]\r\n\r 50%\r\n{note}"), 6));
}
