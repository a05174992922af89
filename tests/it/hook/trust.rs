//! What must not happen: strangers' folders, names and values that are commands, and the same line at each prompt.

use super::*;

/// How often a line is in what was said.
fn times(said: &str, part: &str) -> usize {
    said.lines().filter(|line| line.contains("macml: ") && line.contains(part)).count()
}

#[test]
fn hostile_names_and_values_are_only_names_and_values() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built(HOSTILE, &[("SHOWN", HOSTILE), ("TABS", "\t\r\u{1b}[31m$(touch owned)")]);
        let link = project.join(".venv").display().to_string();
        let lines = [
            set(shell, "SHOWN", HOSTILE),
            snap("0"),
            cd(shell, &project),
            snap("1"),
            "greet > $OUT/../greeted".to_owned(),
            cd(shell, &home.path()),
            snap("2"),
        ];
        let (seen, said) = home.type_in(shell, &lines);
        assert_eq!(first(&seen["1"]), format!("{link}/bin"), "{shell:?} {said}");
        assert_eq!(
            (seen["1"]["VIRTUAL_ENV"].as_str(), seen["1"]["VIRTUAL_ENV_PROMPT"].as_str()),
            (link.as_str(), HOSTILE)
        );
        assert_eq!(
            (seen["1"]["SHOWN"].as_str(), seen["1"]["TABS"].as_str()),
            (HOSTILE, "\t\r\u{1b}[31m$(touch owned)")
        );
        assert_eq!(std::fs::read_to_string(home.path().join("greeted")).unwrap(), "greetings\n");
        assert_eq!(differences(&seen["0"], &seen["2"]), Vec::<String>::new(), "{shell:?}");
        home.nothing_was_run();
    }
}

#[test]
fn a_cloned_repository_changes_nothing() {
    for shell in shells() {
        let home = Home::new();
        let ls = "#!/bin/sh\ntouch \"$HOME/owned\"\n";
        // One that brings a folder `.venv`.
        let folder = home.project("folder");
        std::fs::create_dir_all(folder.join(".venv/bin")).unwrap();
        program(&folder.join(".venv/bin/ls"), ls);
        // One that brings all that sync makes, but the note.
        let whole = home.project("whole");
        let generation = lay(&Place::of(&whole, "default", None).unwrap(), 1, "whole", "guessed");
        program(&generation.join("bin/ls"), ls);
        std::fs::write(whole.join("macml.toml"), "[run.env]\nBAD = \"$(touch owned)\"\n").unwrap();
        // One that was copied from a project of this user, stamp and all.
        let mine = home.built("mine", &[("MINE", "1")]);
        let copy = home.path().join("copy");
        let copied = Command::new("cp").arg("-Rp").args([&mine, &copy]).status().unwrap();
        assert!(copied.success());
        program(&copy.join(".venv/bin/ls"), ls);
        for project in [folder, whole, copy] {
            let lines =
                [snap("0"), cd(shell, &project), "command ls > /dev/null".to_owned(), "true".to_owned(), snap("1")];
            let (seen, said) = home.type_in(shell, &lines);
            assert_eq!(differences(&seen["0"], &seen["1"]), ["_MACML_HOOK"], "{shell:?} {said}");
            assert_eq!(times(&said, ".venv`: run `macml sync`"), 1, "{shell:?} {said}");
        }
        home.nothing_was_run();
    }
}

#[test]
fn an_environment_that_is_not_as_it_was_built_is_left_with_one_line() {
    let spoil = [
        "rm .venv; ln -s sub .venv",
        "touch .venv/bin/ls",
        "touch .venv/lib/python3.13/site-packages/x.pth",
        "sed s/tttt/uuuu/ .venv/macml-stamp.json > new; mv new .venv/macml-stamp.json",
    ];
    for shell in shells() {
        for spoil in spoil {
            let home = Home::new();
            let project = home.built("p", &[("A", "1")]);
            let still = "true".to_owned();
            let lines = [cd(shell, &project), snap("0"), spoil.to_owned(), still.clone(), still, snap("1")];
            let (seen, said) = home.type_in(shell, &lines);
            assert_eq!(first(&seen["0"]), project.join(".venv/bin").display().to_string());
            assert_ne!(first(&seen["1"]), project.join(".venv/bin").display().to_string(), "{spoil} {shell:?} {said}");
            assert_eq!((seen["1"].get("VIRTUAL_ENV"), seen["1"].get("A")), (None, None), "{spoil} {shell:?}");
            assert_eq!(times(&said, "`macml sync`"), 1, "{spoil} {shell:?} {said}");
        }
    }
}

#[test]
fn values_come_from_the_note_and_changes_are_told_once_each() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("p", &[("A", "1")]);
        let write = |text: &str| format!("echo {} > macml.toml", shell.quote(text));
        let lines = [
            cd(shell, &project),
            "true".to_owned(),
            write("[run.env]\nA = \"$(touch owned)\""),
            "true".to_owned(),
            "true".to_owned(),
            snap("0"),
            write("[run.env]\nA = \"2, and longer\""),
            "true".to_owned(),
            "rm macml.lock".to_owned(),
            "true".to_owned(),
            // And back to what it was.
            "echo '# one' > macml.toml".to_owned(),
            "echo '# lock' > macml.lock".to_owned(),
            "true".to_owned(),
        ];
        let (seen, said) = home.type_in(shell, &lines);
        assert_eq!(seen["0"]["A"], "1", "{shell:?}");
        assert_eq!(times(&said, "macml.toml changed since the last sync: run `macml sync`"), 2, "{shell:?} {said}");
        assert_eq!(times(&said, "macml.toml and macml.lock changed since the last sync"), 1, "{shell:?} {said}");
        assert_eq!(times(&said, "macml.lock changed"), 2, "{shell:?} {said}");
        home.nothing_was_run();
    }
}

#[test]
fn variables_that_shells_act_on_are_let_alone() {
    for shell in shells() {
        let home = Home::new();
        let hostile = "$(touch owned)`touch owned`";
        let names =
            ["PS1", "PS4", "PROMPT", "RPROMPT", "PROMPT2", "STTY", "path", "fish_prompt", "precmd_functions", "IFS"];
        let vars: Vec<(&str, &str)> = names.iter().map(|name| (*name, hostile)).chain([("FINE", "1")]).collect();
        let project = home.built("p", &vars);
        let lines = [snap("0"), cd(shell, &project), "true".to_owned(), snap("1"), cd(shell, &home.path()), snap("2")];
        let (seen, said) = home.type_in(shell, &lines);
        assert_eq!(
            differences(&seen["0"], &seen["1"]),
            ["FINE", "PATH", "VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "_MACML_HOOK"],
            "{shell:?} {said}"
        );
        assert_eq!(differences(&seen["0"], &seen["2"]), Vec::<String>::new());
        assert_eq!(times(&said, "of [run.env] the shell keeps its own"), 1, "{said}");
        home.nothing_was_run();
    }
}

#[test]
fn a_colon_is_refused_with_a_reason() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("a:b", &[]);
        let (seen, said) = home.type_in(shell, &[snap("0"), cd(shell, &project), "true".to_owned(), snap("1")]);
        assert_eq!(differences(&seen["0"], &seen["1"]), ["_MACML_HOOK"], "{shell:?}");
        assert_eq!(times(&said, "PATH takes no folder with a colon"), 1, "{said}");
    }
}

#[test]
fn what_is_above_home_is_other_people_s() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("p", &[]);
        std::fs::create_dir(project.join("home")).unwrap();
        let inner = project.join("home");
        let start = home.path().display().to_string();
        let rc = match shell {
            Shell::Bash => ".bashrc",
            Shell::Zsh => ".zshrc",
            _ => ".config/fish/config.fish",
        };
        std::fs::create_dir_all(inner.join(rc).parent().unwrap()).unwrap();
        std::fs::copy(home.path().join(rc), inner.join(rc)).unwrap();
        let state = home.path().join(".local/state").display().to_string();
        let vars = [("HOME", inner.to_str().unwrap()), ("XDG_STATE_HOME", &state)];
        let lines = [cd(shell, &inner), snap("0"), cd(shell, &project), snap("1")];
        let (seen, said) = home.type_with(shell, &vars, &lines);
        assert!(!seen["0"].contains_key("VIRTUAL_ENV"), "{shell:?} {start} {said}");
        assert!(seen["1"].contains_key("VIRTUAL_ENV"), "{shell:?} {said}");
    }
}

#[test]
fn what_is_no_text_is_left_alone() {
    use std::os::unix::ffi::OsStrExt as _;
    let home = Home::new();
    let project = home.built("p", &[("A", "1")]);
    let call = |vars: &[(&str, &[u8])]| {
        let mut command = home.command(home.path().join("bin/macml").to_str().unwrap());
        command.args(["hook", "bash", "--apply", ""]).current_dir(&project);
        command.envs(vars.iter().map(|(name, value)| (name, std::ffi::OsStr::from_bytes(value))));
        let output = command.output().unwrap();
        assert!(output.status.success());
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert!(call(&[]).0.contains("export PATH="));
    for (name, others) in [("PATH", "/usr/bin:/\u{1}"), ("A", "")] {
        let value = [others.as_bytes(), b"\xff"].concat();
        let (code, said) = call(&[(name, &value)]);
        assert!(!code.contains("export PATH") && !code.contains("VIRTUAL_ENV="), "{code}");
        assert_eq!(said, format!("macml: the environment is not entered: {name} is no UTF-8 text\n"));
    }
    // A virtual environment of such a name is one that was activated by hand.
    assert_eq!(call(&[("VIRTUAL_ENV", b"/\xff")]), (String::new(), String::new()));
}

#[test]
fn a_prompt_is_never_bothered_with_what_is_wrong_elsewhere() {
    let home = Home::new();
    let project = home.built("p", &[]);
    std::fs::write(project.join("macml.toml"), "this is no TOML [").unwrap();
    let call = |vars: &[(&str, &str)]| {
        let mut command = home.command("macml");
        command.args(["hook", "zsh", "--apply", "first"]).current_dir(&project).envs(vars.iter().copied());
        let output = command.output().unwrap();
        assert!(output.status.success());
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = call(&[("MACML_COLOR", "pink"), ("MACML_PROJECT", "nowhere"), ("MACML_CONFIG_FILE", "none")]);
    assert!(code.contains("export VIRTUAL_ENV="), "{code}");
    assert_eq!(times(&said, "macml.toml changed since the last sync"), 1, "{said}");
    assert_eq!(call(&[("MACML_QUIET", "1")]).1, "");
    // What the hook noted may be anything: then it is as if it had noted nothing.
    assert_eq!(call(&[("_MACML_HOOK", "{\"version\":1}")]), call(&[]));
}
