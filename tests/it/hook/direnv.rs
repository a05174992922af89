//! `use macml` in the real direnv.

use super::*;

/// A home whose direnv knows `use macml`, with an `.envrc` in a project that is allowed.
fn home_with(project: impl FnOnce(&Home) -> PathBuf, envrc: &str) -> Option<(Home, PathBuf)> {
    if !installed("direnv") {
        return None;
    }
    let home = Home::new();
    let project = project(&home);
    let text = home.command("macml").args(["hook", "direnv"]).output().unwrap();
    home.write(".config/direnv/lib/macml.sh", &String::from_utf8(text.stdout).unwrap());
    std::fs::write(project.join(".envrc"), envrc).unwrap();
    assert!(home.command("direnv").arg("allow").arg(project.join(".envrc")).output().unwrap().status.success());
    Some((home, project))
}

/// What a program sees that direnv runs in a project, and what was said.
fn exec(home: &Home, project: &Path) -> (Seen, String) {
    let output = home.command("direnv").arg("exec").arg(project).args(["env", "-0"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let pair = |one: &str| one.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    (String::from_utf8(output.stdout).unwrap().split('\0').filter_map(pair).collect(), said)
}

#[test]
fn use_macml_enters_the_environment() {
    // direnv itself trips over a `$` in the name of a folder.
    let name = "it's é 実験 ; touch owned";
    let run_env = [("PYTORCH_ENABLE_MPS_FALLBACK", "0"), ("HOSTILE", HOSTILE), ("PS4", "$(touch owned)")];
    let Some((home, project)) = home_with(|home| home.built(name, &run_env), "use macml\n") else { return };
    let (seen, said) = exec(&home, &project);
    let link = project.join(".venv").display().to_string();
    assert_eq!(first(&seen), format!("{link}/bin"), "{said}");
    assert_eq!((seen["VIRTUAL_ENV"].as_str(), seen["VIRTUAL_ENV_PROMPT"].as_str()), (link.as_str(), name));
    assert_eq!((seen["PYTORCH_ENABLE_MPS_FALLBACK"].as_str(), seen["HOSTILE"].as_str()), ("0", HOSTILE));
    assert_eq!(seen.get("PS4"), None);
    home.nothing_was_run();
}

#[test]
fn an_environment_that_lies_elsewhere() {
    let Some((home, project)) = home_with(|home| home.built("Dropbox/p", &[]), "use macml\n") else { return };
    let (seen, said) = exec(&home, &project);
    assert_eq!(seen.get("VIRTUAL_ENV"), Some(&project.join(".venv").display().to_string()), "{said}");
}

#[test]
fn another_environment_by_name() {
    let two = |home: &Home| {
        let project = home.built("p", &[]);
        home.build(&project, "tf", "p tf", &[]);
        project
    };
    let Some((home, project)) = home_with(two, "use macml tf\n") else { return };
    let (seen, said) = exec(&home, &project);
    assert_eq!(seen["VIRTUAL_ENV"], project.join(".venv-tf").display().to_string(), "{said}");
}

#[test]
fn what_was_not_built_is_told_in_one_line_and_the_rest_is_done() {
    let Some((home, project)) = home_with(|home| home.project("p"), "use macml\nexport REST=1\n") else { return };
    std::fs::create_dir_all(project.join(".venv/bin")).unwrap();
    program(&project.join(".venv/bin/env"), "#!/bin/sh\ntouch \"$HOME/owned\"\n");
    let (seen, said) = exec(&home, &project);
    assert_eq!((seen.get("VIRTUAL_ENV"), seen["REST"].as_str()), (None, "1"));
    assert_eq!(said.matches("macml: you built no `").count(), 1, "{said}");
    home.nothing_was_run();
    // A macml that is gone is told, and the rest is done as well.
    std::fs::remove_file(home.path().join("bin/macml")).unwrap();
    let (seen, said) = exec(&home, &project);
    assert_eq!(seen["REST"], "1");
    assert!(said.contains("is gone: write this file again with `macml hook direnv`"), "{said}");
}

#[test]
fn a_shell_notices_sync_and_edits() {
    let Some((home, project)) = home_with(|home| home.project("p"), "use macml\n") else { return };
    if !installed("bash") {
        return;
    }
    home.write(".bashrc", "eval \"$(direnv hook bash)\"\n");
    // Built between two prompts, as by sync in another terminal.
    let built = home.path().join("built");
    let place = home.build(&project, "default", "p", &[("A", "1")]);
    let note = Built::path(&home.state(), &place);
    std::fs::rename(&note, &built).unwrap();
    let sync = format!("mv '{}' '{}'", built.display(), note.display());
    let lines = [
        cd(Shell::Bash, &project),
        snap("0"),
        sync,
        snap("1"),
        // direnv tells times apart by the second.
        "echo '# another' > macml.toml; touch -t 203001010000 macml.toml".to_owned(),
        "true".to_owned(),
        "true".to_owned(),
        "rm .venv".to_owned(),
        "true".to_owned(),
        snap("2"),
        cd(Shell::Bash, &home.path()),
        snap("3"),
    ];
    let (seen, said) = home.type_in(Shell::Bash, &lines);
    assert_eq!(seen["0"].get("VIRTUAL_ENV"), None, "{said}");
    assert_eq!(seen["1"].get("A").map(String::as_str), Some("1"), "{said}");
    assert_eq!(said.matches("macml: macml.toml changed since the last sync").count(), 1, "{said}");
    assert_eq!((seen["2"].get("VIRTUAL_ENV"), seen["3"].get("A")), (None, None), "{said}");
}
