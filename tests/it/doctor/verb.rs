//! `macml doctor` through the binary: of machines in files, where it must say what the library says; of this one; of files
//! that are none; in pipes and plain terminals.

use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;

use macml::diag::Severity;
use macml::doctor::{Facts, judge};
use macml::knowledge::Knowledge;
use serde_json::Value;

use super::scenarios::{files, lay, machine};
use crate::support::project::Project;

fn path(folder: &str, name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name).with_extension("json").display().to_string()
}

/// Returns the facts of each machine and of each scenario.
fn all() -> Vec<(String, Value)> {
    let machines = files("tests/machines", "json").into_keys().map(|name| (name.clone(), machine(&name)));
    let scenarios = files("tests/scenarios/doctor", "toml").into_iter().map(|(name, path)| {
        let scenario: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
        let mut facts = machine(scenario["machine"].as_str().unwrap());
        if let Some(patch) = scenario.get("facts") {
            lay(&mut facts, serde_json::to_value(patch).unwrap());
        }
        (name, facts)
    });
    machines.chain(scenarios).collect()
}

#[test]
fn machines_in_files_are_judged_as_the_library_judges_them() {
    let project = Project::empty();
    for (name, facts) in all() {
        let facts: Facts = serde_json::from_value(facts).unwrap();
        let said = judge(&facts, &Knowledge::built_in());
        let count = |severity| said.iter().filter(|one| one.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        project.write("facts.json", &serde_json::to_string(&facts).unwrap());
        let run = |words: &[&str]| project.run(&[&["doctor", "--host", "facts.json"], words].concat());
        let json = run(&["--output-format", "json"]);
        let report = json.json_as("doctor.schema.json");
        assert_eq!(report["counts"]["errors"], errors, "{name}");
        let codes: Vec<&str> =
            report["diagnoses"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
        let expected: Vec<&str> = said.iter().map(|one| one.code.as_str()).collect();
        assert_eq!(codes, expected, "{name}");
        assert_eq!(report["exit-code"], json.code, "{name}");
        let text = run(&[]);
        assert_eq!(text.code, json.code, "{name}");
        if errors > 0 {
            assert_eq!(json.code, 1, "{name}");
        } else {
            assert_ne!(json.code, 1, "{name}");
        }
        if warnings > 0 {
            assert_eq!(run(&["--strict"]).code, 1, "{name}");
        }
        for one in &said {
            let head = format!("[{}]: {}", one.code, one.seen.replace('\n', " "));
            assert!(text.stdout.contains(&head), "{name}: {head}\n{}", text.stdout);
            if let Some(command) = &one.remedy.command {
                let alone = text.stdout.lines().any(|line| line.trim() == command.trim());
                assert!(alone || command.contains('\n'), "{name}: {command}\n{}", text.stdout);
            }
        }
        // Those that only want to know read the errors alone.
        let quiet = run(&["--quiet"]);
        assert_eq!((quiet.code, quiet.stdout.as_str()), (json.code, ""), "{name}");
        assert_eq!(quiet.stderr.is_empty(), json.code == 0, "{name}: {}", quiet.stderr);
        assert_eq!(quiet.stderr.matches("error[").count(), errors, "{name}");
        // Written again, it is the same file.
        let again: Facts = serde_json::from_str(&run(&["--facts"]).stdout).unwrap();
        assert_eq!(again, facts, "{name}");
    }
}

#[test]
fn this_machine_is_looked_at_and_can_be_judged_elsewhere() {
    let project = Project::empty();
    let seen = project.run(&["doctor", "--facts"]);
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""));
    let facts: Facts = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!((facts.version, facts.macml.as_str(), facts.source.as_str()), (1, env!("CARGO_PKG_VERSION"), "seen"));
    // Facts have one form, whatever else is asked for.
    let vars = [("MACML_OUTPUT_FORMAT", "json"), ("MACML_QUIET", "1")];
    let again: Facts = serde_json::from_str(&project.run_with(&vars, &["doctor", "--facts"]).stdout).unwrap();
    assert_eq!(again.machine.system, facts.machine.system);
    let live = project.run(&["doctor", "--output-format", "json"]);
    let report = live.json_as("doctor.schema.json");
    assert_eq!((&report["exit-code"], report["source"].as_str()), (&Value::from(live.code), Some("seen")));
    // A copy elsewhere says the same.
    project.write("facts.json", &seen.stdout);
    let replayed = project.run(&["doctor", "--host", "facts.json", "--output-format", "json"]);
    let replayed = replayed.json_as("doctor.schema.json");
    assert_eq!(replayed["verdict"], report["verdict"]);
    let last = project.run(&["doctor"]).stdout;
    let last = last.lines().last().unwrap();
    assert!(last.ends_with(" ms)") || last.ends_with(" s)"), "{last}");
}

#[test]
fn settings_that_cannot_be_read_are_a_line_and_what_is_typed_wrong_an_error() {
    let project = Project::empty();
    project.write(".config/macml/config.toml", "mirors = 1\n");
    let run = project.run(&["doctor", "--output-format", "json"]);
    let report = run.json_as("doctor.schema.json");
    let unseen = report["unseen"].as_array().unwrap().iter().find(|one| one["what"] == "macml's own settings").unwrap();
    assert!(unseen["why"].as_str().unwrap().contains("config.toml has no key `mirors`"), "{unseen}");
    assert!(!unseen["why"].as_str().unwrap().contains("[HERE]"), "{unseen}");
    let project = Project::empty();
    project.run(&["doctor", "--mirror", "nowhere"]).says(2, &["`--mirror`: `nowhere` is neither a known mirror"]);
}

#[test]
fn what_is_no_machine_is_refused_in_one_error() {
    let project = Project::empty();
    let check = |name: &str, text: &str, expected: &str| {
        project.write(name, text);
        for verb in [&["doctor"][..], &["explain", "x.log"], &["check"]] {
            project.write("x.log", "nothing known\n");
            let run = project.run(&[verb, &["--host", name]].concat());
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{verb:?}: {}", run.stderr);
            assert!(run.stderr.starts_with(&format!("error: `{name}` {expected}")), "{verb:?}: {}", run.stderr);
            assert_eq!(run.stderr.matches("error").count(), 1, "{}", run.stderr);
        }
    };
    let neither = "is neither facts of `macml doctor --facts` nor a recorded Mac";
    check("other.json", "{\"name\": \"x\"}", neither);
    check("list.json", "[1]", neither);
    check("old.json", "{\"version\": 1}", neither);
    check("cut.json", "{\"version\": 1, \"mach", "is not JSON: EOF while parsing");
    check("page.html", "<html>", "is not JSON: expected value at line 1");
    check("binary", "\u{0}\u{1}", "is not JSON");
    check(
        "newer.json",
        "{\"version\": 2, \"machine\": {}, \"wonders\": []}",
        "has facts of form 2, and this macml reads form 1",
    );
    let odd = "is not facts as macml writes them: unknown field `wonders`";
    check("odd.json", "{\"version\": 1, \"machine\": {\"wonders\": 1}}", odd);
    check("mac.json", "{\"cpu\": \"Apple M1\"}", "is not a recorded Mac as macml writes them: missing field `macos`");
    project.run(&["doctor", "--host", "absent.json"]).says(2, &["error: there is no file `absent.json`"]);
    let json = project.run(&["doctor", "--host", "cut.json", "--output-format", "json"]);
    assert_eq!((json.code, &json.json_as("doctor.schema.json")["verdict"]), (2, &Value::from("error")));
    // What looks here cannot be asked of a file.
    let facts = path("tests/machines", "m3-max-macos15");
    for flag in [&["--full"][..], &["--network"], &["--prefix", "x"]] {
        let words = [&["doctor", "--host", &facts], flag].concat();
        project.run(&words).says(2, &[flag[0], "looks at this machine"]);
    }
}

#[test]
fn both_kinds_of_files_stand_for_a_mac_in_every_verb() {
    let project = Project::empty();
    let facts = path("tests/machines", "m3-max-macos15");
    let host = path("tests/hosts", "m5-macos26");
    project.run(&["doctor", "--host", &host]).says(0, &["Apple M5"]);
    project.run(&["--host", &facts, "doctor"]).says(0, &["Apple M3 Max"]);
    // Which macOS a lock is judged for is the recorded Mac's.
    project.write("requirements.txt", &format!("six==1.17.0 --hash=sha256:{}\n", "0".repeat(64)));
    let macos = |file: &str| {
        let words = ["check", "--offline", "--lock", "requirements.txt", "--python", "3.13", "--output-format", "json"];
        let json = project.run(&[&words[..], &["--host", file]].concat()).json_as("check.schema.json");
        let parts = json["parts"].as_array().unwrap().clone();
        parts.iter().find_map(|part| part["mac"]["macos"].as_str().map(str::to_owned))
    };
    assert_eq!((macos(&facts).as_deref(), macos(&host).as_deref()), (Some("15.6"), Some("26.4")));
    project.write("linux.json", "{\"version\": 1, \"machine\": {\"system\": \"linux\"}}");
    project.run(&["check", "--host", "linux.json"]).says(2, &["is of no Mac: its system is `linux`"]);
    project.run(&["doctor", "--host", "linux.json"]).says(0, &[]);
    let unseen = "[{\"what\": \"`macml.lock`\", \"why\": \"permission denied\"}]";
    project.write(
        "unread.json",
        &format!("{{\"version\": 1, \"machine\": {{\"system\": \"linux\"}}, \"unseen\": {unseen}}}"),
    );
    project.run(&["doctor", "--host", "unread.json"]).says(2, &["not everything could be seen"]);
    project.write("nobody.json", "{\"version\": 1, \"machine\": {}}");
    project.run(&["doctor", "--host", "nobody.json"]).says(2, &["not everything could be seen"]);
}

#[test]
fn a_terminal_without_utf_8_gets_plain_marks() {
    let project = Project::empty();
    let facts = path("tests/machines", "m3-max-macos15");
    let marks = |vars: &[(&str, &str)]| {
        let text = project.run_with(vars, &["doctor", "--host", &facts]).stdout;
        text.lines().last().unwrap().chars().next().unwrap()
    };
    assert_eq!(marks(&[("LANG", "en_US.UTF-8")]), '✓');
    assert_eq!(marks(&[("LANG", "C")]), '+');
    assert_eq!(marks(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")]), '+');
    assert_eq!(marks(&[]), '+');
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let project = Project::empty();
    let facts = path("tests/machines", "m3-max-macos15");
    for words in [&["doctor", "--facts"][..], &["doctor"], &["explain", "--list"]] {
        let words = [words, &["--host", &facts]].concat();
        let mut child = project.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert_eq!((child.wait().unwrap().code(), errors.as_str()), (Some(0), ""), "{words:?}");
    }
}
