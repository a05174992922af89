//! In, out, back in, elsewhere, by hand: what the variables are then, in each shell.

use super::*;

#[test]
fn in_and_out() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("a project", &[("PYTORCH_ENABLE_MPS_FALLBACK", "0"), ("HF_HOME", "ours")]);
        let link = project.join(".venv").display().to_string();
        let lines = [
            set(shell, "PYTHONHOME", "/somewhere"),
            set(shell, "HF_HOME", "before"),
            snap("0"),
            cd(shell, &project),
            snap("1"),
            "greet > $OUT/../greeted".to_owned(),
            cd(shell, &project.join("sub/sub")),
            snap("2"),
            cd(shell, &home.path().join("elsewhere")),
            snap("3"),
            cd(shell, &project.join("sub")),
            snap("4"),
            cd(shell, &home.path()),
            snap("5"),
        ];
        let (seen, said) = home.type_in(shell, &lines);
        let inside = &seen["1"];
        assert_eq!(first(inside), format!("{link}/bin"), "{shell:?} {said}");
        assert_eq!(
            (inside["VIRTUAL_ENV"].as_str(), inside["VIRTUAL_ENV_PROMPT"].as_str()),
            (link.as_str(), "a project")
        );
        assert_eq!((inside["PYTORCH_ENABLE_MPS_FALLBACK"].as_str(), inside["HF_HOME"].as_str()), ("0", "ours"));
        assert!(!inside.contains_key("PYTHONHOME"), "{shell:?}");
        assert_eq!(std::fs::read_to_string(home.path().join("greeted")).unwrap(), "greetings\n");
        assert_eq!(differences(inside, &seen["2"]), Vec::<String>::new(), "{shell:?}");
        assert_eq!(differences(inside, &seen["4"]), Vec::<String>::new(), "{shell:?}");
        assert_eq!(differences(&seen["0"], &seen["3"]), Vec::<String>::new(), "{shell:?}");
        assert_eq!(differences(&seen["0"], &seen["5"]), Vec::<String>::new(), "{shell:?}");
        assert!(!said.contains("macml:"), "{said}");
    }
}

/// A folder that another program keeps in step has its environment elsewhere, and that is the one to enter.
#[test]
fn a_project_with_its_environment_elsewhere() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("Dropbox/p", &[]);
        assert!(!project.join(".macml").exists());
        let link = project.join(".venv").display().to_string();
        let (seen, said) = home.type_in(shell, &[cd(shell, &project), snap("1"), cd(shell, &home.path()), snap("2")]);
        assert_eq!(seen["1"].get("VIRTUAL_ENV"), Some(&link), "{shell:?} {said}");
        assert_eq!(seen["2"].get("VIRTUAL_ENV"), None, "{shell:?} {said}");
        assert!(!said.contains("macml:"), "{said}");
    }
}

#[test]
fn one_project_after_another() {
    for shell in shells() {
        let home = Home::new();
        let one = home.built("one", &[("ONE", "1"), ("BOTH", "one")]);
        let two = home.built("one/two", &[("TWO", "2"), ("BOTH", "two")]);
        let three = home.build(&one, "three", "three", &[]).link;
        let lines = [
            snap("0"),
            cd(shell, &one),
            snap("1"),
            cd(shell, &two),
            snap("2"),
            cd(shell, &one),
            set(shell, "MACML_ENV", "three"),
            snap("3"),
            set(shell, "MACML_ENV", ""),
            cd(shell, &home.path()),
            snap("4"),
        ];
        let (seen, said) = home.type_in(shell, &lines);
        let bin = |link: &Path| link.join("bin").display().to_string();
        for (name, link) in [("1", one.join(".venv")), ("2", two.join(".venv")), ("3", three)] {
            assert_eq!(first(&seen[name]), bin(&link), "{shell:?} {said}");
            let of_home = |entry: &&str| entry.contains(".venv");
            assert_eq!(seen[name]["PATH"].split(':').filter(of_home).count(), 1, "{shell:?}");
        }
        assert_eq!((seen["2"]["BOTH"].as_str(), seen["2"].get("ONE")), ("two", None));
        assert_eq!(differences(&seen["0"], &seen["4"]), ["MACML_ENV"], "{shell:?}");
    }
}

#[test]
fn what_the_user_changed_in_between_stays() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("p", &[("KEPT", "theirs"), ("GONE", "theirs")]);
        let more = match shell {
            Shell::Fish => "set -gx PATH /first $PATH /last".to_owned(),
            _ => "export PATH=\"/first:$PATH:/last\"".to_owned(),
        };
        let lines = [
            snap("0"),
            cd(shell, &project),
            more,
            set(shell, "KEPT", "mine"),
            snap("1"),
            cd(shell, &home.path()),
            snap("2"),
        ];
        let (seen, said) = home.type_in(shell, &lines);
        assert!(seen["1"]["PATH"].starts_with(&format!("/first:{}/.venv/bin:", project.display())), "{shell:?} {said}");
        assert_eq!(seen["2"]["PATH"], format!("/first:{}:/last", seen["0"]["PATH"]), "{shell:?}");
        assert_eq!((seen["2"]["KEPT"].as_str(), seen["2"].get("GONE")), ("mine", None), "{shell:?}");
    }
}

#[test]
fn an_environment_that_was_activated_by_hand_is_respected() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("p", &[("A", "1")]);
        let other = home.built("other", &[]);
        let by_hand = match shell {
            Shell::Fish => {
                format!("source {}", shell.quote(&other.join(".venv/bin/activate.fish").display().to_string()))
            }
            _ => format!(". {}", shell.quote(&other.join(".venv/bin/activate").display().to_string())),
        };
        let bin = |project: &Path| project.join(".venv/bin").display().to_string();
        // Before the project is entered, and left in it.
        let lines = [
            snap("0"),
            by_hand.clone(),
            cd(shell, &project),
            snap("1"),
            "deactivate".to_owned(),
            snap("2"),
            cd(shell, &home.path()),
            snap("3"),
        ];
        let (seen, said) = home.type_in(shell, &lines);
        assert_eq!((first(&seen["1"]), seen["1"].get("A")), (bin(&other).as_str(), None), "{shell:?} {said}");
        assert_eq!((first(&seen["2"]), seen["2"]["A"].as_str()), (bin(&project).as_str(), "1"), "{shell:?}");
        assert_eq!(differences(&seen["0"], &seen["3"]), Vec::<String>::new(), "{shell:?}");
        // In the project, and left outside of it.
        let lines = [
            snap("0"),
            cd(shell, &project),
            by_hand,
            snap("1"),
            cd(shell, &home.path()),
            snap("2"),
            "deactivate".to_owned(),
            snap("3"),
        ];
        let (seen, said) = home.type_in(shell, &lines);
        assert_eq!(first(&seen["1"]), bin(&other), "{shell:?} {said}");
        assert_eq!((first(&seen["2"]), seen["2"].get("A")), (bin(&other).as_str(), None), "{shell:?}");
        assert_eq!(differences(&seen["0"], &seen["3"]), Vec::<String>::new(), "{shell:?}");
    }
}

#[test]
fn shells_in_shells() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("p", &[("A", "1")]);
        let (seen, _) = home.type_in(shell, &[snap("0"), cd(shell, &project), snap("1")]);
        let inherited: Vec<(&str, &str)> =
            seen["1"].iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        // A shell whose start sets PATH anew, as that of a Mac does for login shells.
        let own = "/usr/local/bin:/usr/bin:/bin";
        let anew = set(shell, "PATH", own);
        let hook = match shell {
            Shell::Bash => (".bashrc", "eval \"$(\"$HOME/bin/macml\" hook bash)\"\n"),
            Shell::Zsh => (".zshrc", "eval \"$(\"$HOME/bin/macml\" hook zsh)\"\n"),
            _ => (".config/fish/config.fish", "\"$HOME/bin/macml\" hook fish | source\n"),
        };
        home.write(hook.0, &format!("{anew}\n{}", hook.1));
        let lines = [cd(shell, &project.join("sub")), snap("0"), cd(shell, &home.path()), snap("1")];
        let (inner, said) = home.type_with(shell, &inherited, &lines);
        assert_eq!(inner["0"]["PATH"], format!("{}:{own}", project.join(".venv/bin").display()), "{shell:?} {said}");
        assert_eq!((inner["1"]["PATH"].as_str(), inner["1"].get("A")), (own, None), "{shell:?}");
        assert_eq!(inner["1"].get("VIRTUAL_ENV"), None, "{shell:?}");
    }
}

/// Types lines at a terminal, each when the shell has fallen silent.
const TERMINAL: &str = r#"
import os, pty, select, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:2] + ["-i"])
def drain(quiet):
    while select.select([master], [], [], quiet)[0]:
        try:
            if not os.read(master, 65536):
                return
        except OSError:
            return
drain(0.3)
for line in sys.stdin.read().splitlines() + ["exit"]:
    os.write(master, line.encode() + b"\r")
    drain(0.1)
os.waitpid(pid, 0)
"#;

#[test]
fn at_a_terminal_how_the_last_command_ended_is_still_known() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("p", &[]);
        let (name, status) = match shell {
            Shell::Bash => ("bash", "$?"),
            Shell::Zsh => ("zsh", "$?"),
            _ => ("fish", "$status"),
        };
        let lines = format!(
            "{}\nsh -c 'exit 7'\necho {status} > $OUT/../status\nenv > $OUT/../vars\ncd ..\nenv > $OUT/../after\n",
            cd(shell, &project)
        );
        let mut command = home.command("python3");
        command.args(["-c", TERMINAL, name]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        let read = |file: &str| std::fs::read_to_string(home.path().join(file)).unwrap();
        assert_eq!(read("status"), "7\n", "{shell:?}");
        let link = format!("VIRTUAL_ENV={}\n", project.join(".venv").display());
        assert!(read("vars").contains(&link) && !read("after").contains("VIRTUAL_ENV"), "{shell:?}");
    }
}

#[test]
fn strict_shells_live_on() {
    for shell in shells().into_iter().filter(|shell| *shell != Shell::Fish) {
        let home = Home::new();
        let project = home.built("p", &[]);
        let strict = ["set -u", "set -e", "! true"].map(str::to_owned);
        let lines = [cd(shell, &project), snap("0"), cd(shell, &home.path()), snap("1")];
        let (seen, said) = home.type_in(shell, &[&strict[..], &lines].concat());
        assert!(seen.len() == 2 && seen["0"].contains_key("VIRTUAL_ENV"), "{shell:?} {said}");
        assert!(!seen["1"].contains_key("VIRTUAL_ENV"), "{shell:?} {said}");
    }
}

#[test]
fn what_else_runs_at_a_prompt_of_bash_stays() {
    if !installed("bash") {
        return;
    }
    let home = Home::new();
    let project = home.built("p", &[]);
    let hook = "eval \"$(macml hook bash)\"\n";
    for before in [
        "PROMPT_COMMAND='echo a >> $OUT/../ran'",
        "PROMPT_COMMAND='echo a >> $OUT/../ran; '",
        "PROMPT_COMMAND='echo a >> $OUT/../ran # that was it'",
        "PROMPT_COMMAND=('echo a >> $OUT/../ran' 'true;')",
        "readonly RO=1; PROMPT_COMMAND='echo a >> $OUT/../ran'",
    ] {
        // Twice, as where .bashrc is read again.
        home.write(".bashrc", &format!("{before}\n{hook}{hook}"));
        let lines = [cd(Shell::Bash, &project), snap("0"), "declare -p PROMPT_COMMAND > $OUT/../hooks".to_owned()];
        let (seen, said) = home.type_in(Shell::Bash, &lines);
        assert!(seen["0"].contains_key("VIRTUAL_ENV"), "{before}: {said}");
        assert!(!said.contains("syntax error") && !said.contains("not found"), "{before}: {said}");
        assert_eq!(std::fs::read_to_string(home.path().join("ran")).unwrap(), "a\n".repeat(4), "{before}");
        let hooks = std::fs::read_to_string(home.path().join("hooks")).unwrap();
        assert_eq!(hooks.matches("_macml_hook").count(), 1, "{before}: {hooks}");
        std::fs::remove_file(home.path().join("ran")).unwrap();
    }
}

#[test]
fn zsh_follows_within_a_line() {
    if !installed("zsh") {
        return;
    }
    let home = Home::new();
    let project = home.built("p", &[]);
    home.write(
        ".zshrc",
        "precmd_functions=(mine)\nmine() { : }\neval \"$(macml hook zsh)\"\neval \"$(macml hook zsh)\"\n",
    );
    let line = format!("{} && greet > $OUT/../greeted", cd(Shell::Zsh, &project));
    let (_, said) = home.type_in(Shell::Zsh, &[line, "print $precmd_functions > $OUT/../hooks".to_owned()]);
    assert_eq!(std::fs::read_to_string(home.path().join("greeted")).unwrap(), "greetings\n", "{said}");
    assert_eq!(std::fs::read_to_string(home.path().join("hooks")).unwrap(), "mine _macml_hook\n", "{said}");
}

#[test]
fn outside_of_projects_nothing_is_started() {
    for shell in shells() {
        let home = Home::new();
        home.project("p");
        let (name, words) = match shell {
            Shell::Bash => (".bashrc", "hook bash"),
            Shell::Zsh => (".zshrc", "hook zsh"),
            _ => (".config/fish/config.fish", "hook fish"),
        };
        // A macml that counts how often it is started.
        std::fs::remove_file(home.path().join("bin/macml")).unwrap();
        let real = env!("CARGO_BIN_EXE_macml");
        program(
            &home.path().join("bin/macml"),
            format!("#!/bin/sh\necho x >> \"$HOME/started\"\nexec '{real}' \"$@\"\n"),
        );
        let own = shell.quote(&home.path().join("bin/macml").display().to_string());
        let text = home.command(real).args(words.split(' ')).output().unwrap();
        let text = String::from_utf8(text.stdout).unwrap().replace(&shell.quote(real), &own);
        assert!(text.contains(&own), "{text}");
        home.write(name, &text);
        let started = || std::fs::read_to_string(home.path().join("started")).unwrap_or_default().len() / 2;
        home.type_in(shell, &[cd(shell, &home.path().join("elsewhere")), "true".to_owned(), cd(shell, &home.path())]);
        assert_eq!(started(), 0, "{shell:?}");
        home.type_in(shell, &[cd(shell, &home.path().join("p/sub"))]);
        assert!(started() > 0, "{shell:?}");
    }
}

#[test]
fn a_macml_that_is_gone_is_missed_by_nobody() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("p", &[]);
        let lines = [
            "true".to_owned(),
            set(shell, "PATH", "/usr/bin:/bin"),
            cd(shell, &project),
            snap("0"),
            format!("rm {}", shell.quote(&home.path().join("bin/macml").display().to_string())),
            cd(shell, &home.path()),
            snap("1"),
        ];
        let (seen, said) = home.type_in(shell, &lines);
        assert!(seen["0"].contains_key("VIRTUAL_ENV"), "it is called by its path: {shell:?} {said}");
        assert!(seen.contains_key("1"));
        assert!(!said.contains("macml:") && !said.contains("No such file"), "{shell:?} {said}");
    }
}

#[test]
fn a_folder_that_was_deleted_is_no_news() {
    for shell in shells() {
        let home = Home::new();
        let project = home.built("p", &[]);
        let gone = project.join("gone");
        std::fs::create_dir(&gone).unwrap();
        let remove = format!("rmdir {}", shell.quote(&gone.display().to_string()));
        let lines = [cd(shell, &gone), remove, "true".to_owned(), cd(shell, &home.path()), snap("0")];
        let (seen, said) = home.type_in(shell, &lines);
        assert!(!seen["0"].contains_key("VIRTUAL_ENV"), "{shell:?}");
        assert!(!said.contains("error:") && !said.contains("macml:"), "{shell:?} {said}");
    }
}

#[test]
fn what_a_sync_brought_is_found() {
    for shell in shells() {
        let home = Home::new();
        program(&home.path().join("bin/greet"), "#!/bin/sh\necho from elsewhere\n");
        let project = home.project("p");
        let place = Place::of(&project, "default", None).unwrap();
        let path = Built::path(&home.state(), &place);
        // The second generation has the program, the first has not.
        let second = lay(&place, 2, "p", "second");
        note(&place, &second, "p", "second", &[("A", "2")]).write(&home.state(), &place).unwrap();
        let aside = home.path().join("note");
        std::fs::rename(&path, &aside).unwrap();
        let first = lay(&place, 1, "p", "first");
        std::fs::remove_file(first.join("bin/greet")).unwrap();
        let stamp = std::fs::read_to_string(first.join(STAMP_NAME)).unwrap();
        assert!(stamp.contains("first"));
        note(&place, &first, "p", "first", &[("A", "1"), ("B", "1")]).write(&home.state(), &place).unwrap();
        let sync =
            format!("ln -sfn .macml/env/default/0123456789abcdef.2 .venv; mv {} {}", aside.display(), path.display());
        let greet = |file: &str| format!("greet > $OUT/../{file}");
        let lines = [
            cd(shell, &project),
            greet("one"),
            snap("1"),
            sync,
            greet("two"),
            snap("2"),
            cd(shell, &home.path()),
            snap("3"),
        ];
        let (seen, said) = home.type_in(shell, &lines);
        let read = |file: &str| std::fs::read_to_string(home.path().join(file)).unwrap();
        assert_eq!(
            (read("one").as_str(), read("two").as_str()),
            ("from elsewhere\n", "greetings\n"),
            "{shell:?} {said}"
        );
        assert_eq!((seen["1"]["A"].as_str(), seen["1"]["B"].as_str()), ("1", "1"), "{shell:?} {said}");
        assert_eq!((seen["2"]["A"].as_str(), seen["2"].get("B")), ("2", None), "{shell:?}");
        assert_eq!((seen["3"].get("A"), seen["3"].get("VIRTUAL_ENV")), (None, None), "{shell:?}");
        assert!(!said.contains("macml:"), "{said}");
    }
}
