//! Activation by hand, in the shells that have a text for it.

use super::*;

/// The shells that read `bin/activate`, and how each is called.
const POSIX: [(&str, &[&str]); 3] = [("bash", &["--norc", "-c"]), ("zsh", &["-f", "-c"]), ("dash", &["-c"])];

/// Runs a script in a shell, in which `$activate` names the text of the project's environment, and `$other` that of
/// another one. It ends with success.
fn run(home: &Home, shell: (&str, &[&str]), project: &Path, script: &str) -> String {
    let file = match shell.0 {
        "fish" => "bin/activate.fish",
        "tcsh" => "bin/activate.csh",
        _ => "bin/activate",
    };
    let other = home.path().join("other");
    let mut command = home.command(shell.0);
    command.args(shell.1).arg(script).env("activate", project.join(".venv").join(file)).current_dir(home.path());
    command.env("other", other.join(".venv").join(file)).env("root", project.join(".venv"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{shell:?}: {:?} {said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// A home with a project of a hostile name and another.
fn home() -> (Home, PathBuf) {
    let home = Home::new();
    let project = home.built(HOSTILE, &[("A", "1")]);
    home.built("other", &[]);
    // No hook is to help here.
    for rc in [".bashrc", ".zshrc", ".config/fish/config.fish"] {
        home.write(rc, "");
    }
    (home, project)
}

#[test]
fn posix_shells_come_in_and_out() {
    let script = r#"
        set -eu
        export PYTHONHOME=/somewhere
        PS1='mine> '
        before="$PATH"
        . "$activate"
        [ "$PATH" = "$root/bin:$before" ]
        [ "$VIRTUAL_ENV" = "$root" ]
        [ -z "${PYTHONHOME+set}" ]
        [ "$(greet)" = greetings ]
        [ "$(sh -c 'printf "%s" "$VIRTUAL_ENV_PROMPT"')" = "$expected" ]
        case "$PS1" in "("*") mine> ") ;; *) exit 3 ;; esac
        [ -z "${A-}" ]
        # Twice is once.
        . "$activate"
        [ "$PATH" = "$root/bin:$before" ]
        case "$PS1" in *") ("*) exit 4 ;; esac
        # What came into PATH since stays.
        PATH="/first:$PATH:/last"
        deactivate
        [ "$PATH" = "/first:$before:/last" ]
        [ "$PS1" = 'mine> ' ]
        [ "$PYTHONHOME" = /somewhere ]
        [ -z "${VIRTUAL_ENV+set}${VIRTUAL_ENV_PROMPT+set}" ]
        # PATH may have a command of that name.
        if [ "$(command -v deactivate || :)" = deactivate ]; then exit 5; fi
        # From one into another, and out.
        PATH="$before"
        . "$other"
        . "$activate"
        [ "$PATH" = "$root/bin:$before" ]
        deactivate
        [ "$PATH" = "$before" ]
        [ "$PS1" = 'mine> ' ]
        # Into one where another was active that this shell did not see come in, with a bare PATH, without a prompt.
        VIRTUAL_ENV=/a/venv
        PATH="/a/venv/bin:$before"
        VIRTUAL_ENV_DISABLE_PROMPT=1
        . "$activate"
        [ "$PATH" = "$root/bin:$before" ]
        [ "$PS1" = 'mine> ' ]
        deactivate
        unset PS1 PYTHONHOME VIRTUAL_ENV_DISABLE_PROMPT
        PATH=
        . "$activate"
        [ "$PATH" = "$root/bin" ]
        [ -z "${PS1+set}" ]
        deactivate
        [ -z "$PATH" ]
        set +eu
        echo done
    "#;
    for shell in POSIX.into_iter().filter(|shell| installed(shell.0)) {
        let (home, project) = home();
        let script = format!("expected={}\n{script}", Shell::Bash.quote(HOSTILE));
        assert_eq!(run(&home, shell, &project, &script), "done\n", "{shell:?}");
        home.nothing_was_run();
    }
}

#[test]
fn a_prompt_runs_nothing() {
    // The prompt itself is drawn: in bash by expanding it, in zsh with every option that makes it read more.
    for shell in POSIX.into_iter().take(2).filter(|shell| installed(shell.0)) {
        let (home, project) = home();
        let draw = match shell.0 {
            "bash" => "shopt -s promptvars; printf '%s' \"${PS1@P}\"",
            _ => "setopt prompt_subst prompt_bang prompt_percent; print -rnP -- \"$PS1\"",
        };
        let text = run(&home, shell, &project, &format!("PS1='> '; . \"$activate\"; {draw}"));
        assert!(
            text.starts_with("(_(touch owned) _touch owned_ it's \"q\" ") && text.ends_with("実験 é _n__) > "),
            "{text}"
        );
        home.nothing_was_run();
    }
}

#[test]
fn a_virtual_environment_of_python_s_own_leaves_first() {
    let theirs = r#"
        deactivate () {
            if [ -n "${_OLD_VIRTUAL_PATH:-}" ] ; then
                PATH="${_OLD_VIRTUAL_PATH:-}"; export PATH; unset _OLD_VIRTUAL_PATH
            fi
            unset VIRTUAL_ENV
            if [ ! "${1:-}" = "nondestructive" ] ; then unset -f deactivate ; fi
        }
        before="$PATH"
        _OLD_VIRTUAL_PATH="$PATH"; VIRTUAL_ENV=/their/venv; PATH="/their/venv/bin:$PATH"; export PATH VIRTUAL_ENV
        set -eu
        . "$activate"
        [ "$PATH" = "$root/bin:$before" ]
        deactivate
        [ "$PATH" = "$before" ]
        set +eu
        echo done
    "#;
    for shell in POSIX.into_iter().filter(|shell| installed(shell.0)) {
        let (home, project) = home();
        assert_eq!(run(&home, shell, &project, theirs), "done\n", "{shell:?}");
    }
}

#[test]
fn fish_comes_in_and_out() {
    if !installed("fish") {
        return;
    }
    let (home, project) = home();
    let script = r#"
        function check
            test "$argv[1]" = "$argv[2]"; or begin; echo "$argv[1] is not $argv[2]"; exit 1; end
        end
        set -gx PYTHONHOME /somewhere
        function fish_prompt; echo -n "$status> "; end
        set before $PATH
        source "$activate"
        check "$PATH" "$root/bin:"(string join : $before | string collect)
        check "$VIRTUAL_ENV" "$root"
        check "$(set -q PYTHONHOME; or echo gone)" gone
        check "$(greet)" greetings
        check "$(sh -c 'printf "%s" "$VIRTUAL_ENV_PROMPT"' | string collect -N)" "$expected"
        false
        check "$(fish_prompt | string match -r '\) 1> $')" ") 1> "
        source "$activate"
        check "$(string join : $PATH | string collect)" "$(string join : "$root/bin" $before | string collect)"
        check "$(fish_prompt | string match -ar '1> |0> ' | count)" 1
        set -gx PATH /first $PATH /last
        deactivate
        check "$PATH" (string join : /first $before /last | string collect)
        check "$(fish_prompt)" "0> "
        check "$PYTHONHOME" /somewhere
        check "$(set -q VIRTUAL_ENV; or echo gone)" gone
        check "$(functions -q deactivate; or echo gone)" gone
        set -gx PATH $before
        source "$other"
        source "$activate"
        check "$PATH" (string join : "$root/bin" $before | string collect)
        deactivate
        check "$PATH" (string join : $before | string collect)
        set -gx VIRTUAL_ENV_DISABLE_PROMPT 1
        source "$activate"
        check "$(fish_prompt)" "0> "
        deactivate
        echo done
    "#;
    let script = format!("set -g expected {}\n{script}", Shell::Fish.quote(HOSTILE));
    assert_eq!(run(&home, ("fish", &["-c"]), &project, &script), "done\n");
    home.nothing_was_run();
}

#[test]
fn csh_comes_in_and_out() {
    if !installed("tcsh") {
        return;
    }
    let (home, project) = home();
    // What csh makes of a line feed in a name it says nowhere; the other signs are all there.
    let project = {
        let plain = home.built(&HOSTILE.replace('\n', ""), &[]);
        drop(project);
        plain
    };
    let script = r#"
set before = $PATH:q
setenv PYTHONHOME /somewhere
set prompt = "mine> "
source $activate:q
if ( $PATH:q != $root:q/bin:$before:q ) exit 2
if ( $VIRTUAL_ENV:q != $root:q ) exit 3
if ( $?PYTHONHOME ) exit 4
greet
sh -c 'printf "%s\n" "$VIRTUAL_ENV_PROMPT"'
echo $prompt:q
source $activate:q
if ( $PATH:q != $root:q/bin:$before:q ) exit 5
source $other:q
source $activate:q
deactivate
if ( $PATH:q != $before:q ) exit 6
if ( $?VIRTUAL_ENV ) exit 7
if ( $prompt:q != "mine> " ) exit 8
if ( $PYTHONHOME:q != /somewhere ) exit 9
echo done
"#;
    std::fs::write(home.path().join("script"), script).unwrap();
    let text = run(&home, ("tcsh", &["-f"]), &project, "script");
    let lines: Vec<&str> = text.lines().collect();
    let name = HOSTILE.replace('\n', "");
    assert_eq!((lines[0], lines[1], lines[3]), ("greetings", name.as_str(), "done"), "{text}");
    assert!(lines[2].starts_with("(_(touch owned) ") && lines[2].ends_with(") mine> "), "{text}");
    home.nothing_was_run();
}
