//! The binary as a person meets it: arguments, streams, exit codes, JSON. No index is asked here.

use std::process::Stdio;

use crate::manifest;
use crate::support::project::Project;

const VALID: &str = r#"
[target]
chip = "m1"
macos = "14.0"
gpu = "optional"
python = ">=3.11,<3.14"

[dependencies]
idna = "*"

[env.tf]
python = ">=3.11,<3.13"
[env.tf.dependencies]
idna = ">=3"
"#;

#[test]
fn help_and_version_are_answers() {
    let project = Project::empty();
    let version = project.run(&["--version"]);
    assert_eq!((version.code, version.stdout.as_str()), (0, concat!("macml ", env!("CARGO_PKG_VERSION"), "\n")));
    for words in [
        &["--help"][..],
        &["-h"],
        &["lock", "--help"],
        &["lock", "-h"],
        &["help"],
        &["help", "lock"],
        &["rules", "--help"],
        &["rules", "-h"],
    ] {
        let help = project.run(words);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{words:?}");
        assert!(help.stdout.contains("Usage: macml"), "{}", help.stdout);
        assert!(!help.stdout.contains('\u{1b}'), "no colours in a pipe");
    }
}

/// Returns every help page, by the words that ask for it.
fn help_pages() -> Vec<(Vec<String>, String)> {
    let project = Project::empty();
    let mut pages = Vec::new();
    let mut open = vec![Vec::<String>::new()];
    while let Some(words) = open.pop() {
        let asked: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let page = project.run(&asked).stdout;
        // Verbs stand above what is global, a verb's own verbs under a heading.
        let from = if words.is_empty() { Some(0) } else { page.find("\nCommands:\n") };
        let to = page.find(if words.is_empty() { "\nGlobal options:" } else { "\nOptions:" });
        if let Some(list) = from.and_then(|from| page.get(from..to?)) {
            let verbs = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
            let verbs = verbs.filter(|verb| !verb.is_empty() && *verb != "help");
            open.extend(verbs.map(|verb| [&words[..], &[verb.to_owned()]].concat()));
        }
        pages.push((words, page));
    }
    assert!(pages.iter().any(|(words, _)| words.join(" ") == "cache prune"), "{:?}", pages.len());
    pages
}

/// A line that ends early in the middle of a sentence was broken by hand, for a terminal of another width.
#[test]
fn help_is_broken_into_lines_by_the_terminal_s_width() {
    for (words, page) in help_pages() {
        let lines: Vec<&str> = page.lines().collect();
        for pair in lines.windows(2) {
            let prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            let ends = pair[0].ends_with(['.', ':']);
            let next = pair[1].split(' ').next().unwrap_or_default().chars().count();
            let early = pair[0].chars().count() + 1 + next <= 100;
            assert!(!(prose(pair[0]) && prose(pair[1]) && early && !ends), "{words:?}: {}\n{}", pair[0], pair[1]);
        }
    }
}

#[test]
fn every_variable_that_counts_stands_in_a_help_page() {
    fn read(folder: &std::path::Path, texts: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.file_name().unwrap() != "tests" => read(&path, texts),
                false if path.extension().is_some_and(|end| end == "rs") => {
                    let text = std::fs::read_to_string(&path).unwrap();
                    texts.push(text.split("#[cfg(test)]").next().unwrap().to_owned());
                }
                _ => {}
            }
        }
    }
    let mut texts = Vec::new();
    read(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts);
    let name = |text: &str| {
        let end = text.find(|one: char| !one.is_ascii_uppercase() && one != '_').unwrap_or(text.len());
        text[..end].to_owned()
    };
    // As a text of its own, not as a part of another name.
    let named = texts.iter().flat_map(|text| text.split("\"MACML_").skip(1).map(name));
    let named: std::collections::BTreeSet<String> = named.map(|rest| format!("MACML_{rest}")).collect();
    assert!(named.contains("MACML_OFFLINE") && named.contains("MACML_INDEX_"), "{named:?}");
    let pages: String = help_pages().into_iter().map(|(_, page)| page).collect();
    let missing: Vec<&String> = named.iter().filter(|name| !pages.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn usage_errors_are_told_on_stderr_with_2() {
    let project = Project::new(VALID);
    let check = |words: &[&str], part: &str| {
        let run = project.run(words);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words:?}");
        assert!(run.stderr.contains(part), "{words:?}: {}", run.stderr);
    };
    check(&[], "Usage: macml");
    check(&["lokc"], "a similar subcommand exists: 'lock'");
    check(&["lock", "--dryrun"], "a similar argument exists: '--dry-run'");
    check(&["lock", "--check", "--dry-run"], "cannot be used with");
    check(&["lock", "-U", "-P", "idna"], "cannot be used with");
    check(&["lock", "--macos", "16"], "macOS 16 never existed: 15 was followed by 26");
    check(&["lock", "--python", "3"], "`3` is not a Python such as `3.13`");
    check(&["lock", "-P", "-x-"], "error: ");
    check(&["lock", "--mirror", "nowhere"], "`nowhere` is neither a known mirror");
    check(&["lock", "-C", "nowhere"], "there is no folder `nowhere`");
    check(
        &["lock", "-C", "macml.toml"],
        "`macml.toml` is a file, not a folder\n\nhint: name the folder that it lies in",
    );
    check(&["lock", "--project", "macml.toml"], "/macml.toml` is a file, not a folder");
    check(&["lock", "--config-file", "nowhere.toml"], "nowhere.toml`");
    assert!(!project.path().join("macml.lock").exists());
}

#[test]
fn variables_stand_in_for_flags_and_wrong_ones_are_refused() {
    let project = Project::new(VALID);
    project
        .run_with(&[("MACML_OFFLINE", "perhaps")], &["lock"])
        .fails(2, "error: `MACML_OFFLINE`: `perhaps` is neither `1` nor `0`");
    project.run_with(&[("MACML_LOCKED", "1")], &["lock", "-U"]).fails(
        2,
        "error: MACML_LOCKED is set, but the command line asks for another lock\n\nhint: run it with MACML_LOCKED=0",
    );
    let run = project.run_with(&[("MACML_LOCKED", "1"), ("MACML_OFFLINE", "1")], &["lock"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let run = project.run_with(&[("MACML_OUTPUT_FORMAT", "json"), ("MACML_OFFLINE", "1")], &["lock"]);
    assert_eq!(run.json()["verdict"], "error");
}

#[test]
fn a_missing_manifest_is_told_with_the_place() {
    Project::empty().run(&["lock"]).fails(
        2,
        "error: no `macml.toml` in `[HERE]` or in a folder above it\n\n\
         hint: go to the project's folder, or name it with `-C DIR` or `--project DIR`",
    );
}

#[test]
fn every_mistake_of_a_manifest_is_shown_with_its_place() {
    let project = Project::new("[target]\nchip = \"m1\"\nmacoss = \"14.0\"\npython = \"3.12\"\n");
    let run = project.run(&["lock"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    for part in [
        "error[unknown-key]: unknown key `macoss`; did you mean `macos`?\n --> macml.toml:3:1",
        "error[bare-version]",
        "error: 2 errors in `macml.toml`\n",
    ] {
        assert!(run.stderr.contains(part), "{part} in\n{}", run.stderr);
    }
    assert!(!run.stderr.contains('\u{1b}'), "no colours in a pipe");
    let colored = project.run(&["lock", "--color", "always"]);
    assert!(colored.stderr.contains('\u{1b}'));
    let colored = project.run_with(&[("CLICOLOR_FORCE", "1")], &["lock"]);
    assert!(colored.stderr.contains('\u{1b}'));
    assert_eq!(project.run(&["lock", "-q"]).stderr, run.stderr, "errors are printed quietly too");
}

#[test]
fn findings_as_json_are_stable() {
    let (path, text) =
        manifest::cases("invalid").into_iter().find(|(path, _)| path.ends_with("many-mistakes.toml")).unwrap();
    let run = Project::new(&text).run(&["lock", "--output-format", "json"]);
    assert_eq!(run.code, 2);
    let report = run.json();
    assert_eq!((&report["verdict"], &report["exit-code"]), (&"error".into(), &2.into()));
    assert_eq!(report["error"]["kind"], "manifest");
    assert_eq!(manifest::same_as(&path.with_extension("json"), &run.stdout), Ok(()));
}

#[test]
fn an_unknown_environment_is_told_with_the_nearest() {
    let project = Project::new(VALID);
    project
        .run(&["lock", "--env", "ft"])
        .fails(2, "error: macml.toml has no environment `ft`\n\nhint: its environments: `default`, `tf`");
    project
        .run(&["lock", "--env", "defualt"])
        .fails(2, "error: macml.toml has no environment `defualt`\n\nhint: did you mean `default`?");
}

#[test]
fn the_project_is_found_from_below_and_by_option() {
    let project = Project::empty();
    project.write("one/macml.toml", "nonsense = 1\n");
    project.write("one/src/deep/file.py", "");
    for words in [&["-C", "one", "lock"][..], &["lock", "-C", "one/src/deep"], &["lock", "--project", "one/src"]] {
        let run = project.run(words);
        assert!(run.stderr.contains("unknown"), "{words:?}: {}", run.stderr);
        assert_eq!(run.code, 2);
    }
}

#[test]
fn a_lock_of_a_newer_macml_is_left_alone() {
    let project = Project::new(VALID);
    let newer = "version = 99\nrevision = 0\n";
    project.write("macml.lock", newer);
    for words in [&["lock"][..], &["lock", "-U"], &["lock", "--check"], &["lock", "--dry-run"]] {
        let run = project.run(words);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words:?}");
        assert!(run.stderr.contains("was written by a newer macml: version 99"), "{}", run.stderr);
        assert!(run.stderr.contains("hint: update macml"), "{}", run.stderr);
    }
    assert_eq!(std::fs::read_to_string(project.path().join("macml.lock")).unwrap(), newer);
}

#[test]
fn offline_with_an_empty_cache_says_what_is_missing_and_writes_nothing() {
    let project = Project::new(VALID);
    let run = project.run(&["lock", "--offline"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(run.stderr.contains("the network is switched off"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: run it once without `--offline`"), "{}", run.stderr);
    assert!(!project.path().join("macml.lock").exists());
    let report = project.run(&["lock", "--offline", "--output-format", "json"]).json();
    assert_eq!(report["error"]["kind"], "index");
}

#[test]
fn checking_without_a_lock_is_a_no_even_when_nothing_can_be_fetched() {
    let project = Project::new(VALID);
    for words in [&["lock", "--check", "--offline"][..], &["lock", "--locked", "--offline"]] {
        let run = project.run(words);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains("error: there is no `macml.lock`"), "{}", run.stderr);
        assert!(run.stderr.contains("hint: `macml lock` writes it"), "{}", run.stderr);
    }
    let run = project.run(&["lock", "--check", "--offline", "--output-format", "json"]);
    assert_eq!((run.code, &run.json()["verdict"]), (1, &"stale".into()));
    assert!(!project.path().join("macml.lock").exists());
}

#[test]
fn a_manifest_without_requirements_locks_without_an_index() {
    let project =
        Project::new("[target]\nchip = \"m1\"\nmacos = \"14.0\"\npython = \">=3.11,<3.14\"\ngpu = \"optional\"\n");
    let first = project.run(&["lock", "--offline"]);
    assert_eq!((first.code, first.stderr.as_str()), (0, ""));
    assert!(first.stdout.contains("macml.lock written: 0 packages in 1 environment, "), "{}", first.stdout);
    let lock = std::fs::read(project.path().join("macml.lock")).unwrap();
    let again = project.run(&["lock", "--check"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""));
    assert!(again.stdout.contains("macml.lock unchanged, "), "{}", again.stdout);

    // A trial shows the difference and the edit, and writes nothing.
    let trial = project.run(&["lock", "--offline", "--macos", "13.0"]);
    assert_eq!((trial.code, trial.stderr.as_str()), (0, ""));
    assert!(trial.stdout.contains(" ~ macos 14.0 -> 13.0\n"), "{}", trial.stdout);
    assert!(
        trial.stdout.ends_with("to adopt it, write macos = \"13.0\" under [target] in macml.toml\n"),
        "{}",
        trial.stdout
    );
    assert_eq!(std::fs::read(project.path().join("macml.lock")).unwrap(), lock);

    // Quiet says nothing, JSON is one document.
    let quiet = project.run(&["lock", "-q"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (0, "", ""));
    let report = project.run(&["lock", "-q", "--output-format", "json"]).json();
    assert_eq!((&report["verdict"], &report["exit-code"]), (&"unchanged".into(), &0.into()));

    // A comment changes nothing, a floor does.
    let text = std::fs::read_to_string(project.path().join("macml.toml")).unwrap();
    project.write("macml.toml", &format!("# a comment\n{text}"));
    assert_eq!(project.run(&["lock", "--check"]).code, 0);
    project.write("macml.toml", &text.replace("14.0", "15.0"));
    let stale = project.run(&["lock", "--check", "--offline"]);
    assert_eq!(stale.code, 1);
    assert!(stale.stdout.contains(" ~ macos 14.0 -> 15.0\n"), "{}", stale.stdout);
    assert!(stale.stderr.starts_with("error: `macml.lock` does not answer `macml.toml`\n"), "{}", stale.stderr);
    let dry = project.run(&["lock", "--dry-run", "--offline"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert_eq!(std::fs::read(project.path().join("macml.lock")).unwrap(), lock);
}

#[test]
fn a_lock_with_conflict_markers_is_solved_afresh() {
    let project =
        Project::new("[target]\nchip = \"m1\"\nmacos = \"14.0\"\npython = \">=3.11,<3.14\"\ngpu = \"optional\"\n");
    project.run(&["lock", "--offline", "--python", "3.12"]);
    project.run(&["lock", "--offline"]);
    let lock = std::fs::read_to_string(project.path().join("macml.lock")).unwrap();
    let conflict = lock.replace(
        "python = \"3.13\"\n",
        "<<<<<<< ours\npython = \"3.12\"\n=======\npython = \"3.13\"\n>>>>>>> theirs\n",
    );
    assert_ne!(conflict, lock);
    project.write("macml.lock", &conflict);
    let check = project.run(&["lock", "--check", "--offline"]);
    assert_eq!(check.code, 1, "{}", check.stderr);
    let run = project.run(&["lock", "--offline"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("`macml.lock` has conflict markers: solving afresh, both sides as preferences"),
        "{}",
        run.stderr
    );
    let solved = std::fs::read_to_string(project.path().join("macml.lock")).unwrap();
    assert_eq!(solved, lock.replace("python = \"3.13\"", "python = \"3.12\""), "the first side's Python is preferred");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let project = Project::empty();
    let mut child = project.command(&["--help"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn mistakes_in_the_settings_are_shown_with_their_place() {
    let project = Project::new(VALID);
    project.write("config.toml", "mirors = [\"tuna\"]\n");
    let run = project.run(&["lock", "--offline", "--config-file", "config.toml"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains(" --> config.toml:1:1"), "{}", run.stderr);
    assert!(run.stderr.contains("error: 1 error in `config.toml`"), "{}", run.stderr);
}

/// What completes the words of macml is read by the shells that are here, and knows each verb.
#[test]
fn completions_are_read_by_each_shell() {
    let project = Project::empty();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let run = project.run(&["completions", shell]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{shell}");
        for word in ["doctor", "explain", "sync", "rollback"] {
            assert!(run.stdout.contains(word), "{shell} does not know {word}");
        }
        project.write("completions", &run.stdout);
        let checked = std::process::Command::new(shell).arg(check).arg(project.path().join("completions")).output();
        // A shell that is not here has nothing to say.
        if let Ok(output) = checked {
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    project.run(&["completions", "tcsh"]).says(2, &["tcsh"]);
}
