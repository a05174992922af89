//! Which program a word stands for.

use super::made::Made;
use crate::support::program::program;
use crate::support::published::Published;
use crate::support::server::FakeIndex;
use crate::sync::Here;

/// The first lines of a launcher, and what it prints: which Python runs it, with what.
const SHOWN: &str = "import sys\nprint(sys.executable, sys.flags.dev_mode, sys.argv)\n";

#[test]
fn programs_of_the_environment_go_before_those_of_the_path() {
    let made = Made::new("");
    made.program("ls", "#!/bin/sh\necho own $*\n");
    assert_eq!(made.run(&["ls", "-x"]).stdout, "own -x\n");
    assert_eq!(made.run(&["echo", "x"]).stdout, "x\n");
    // The path reaches what the program starts in turn.
    assert_eq!(made.run(&["sh", "-c", "ls -y"]).stdout, "own -y\n");
}

#[test]
fn launchers_run_in_their_generation() {
    let made = Made::new("");
    let generation = "[HERE]/.macml/env/default/0123456789abcdef.1";
    let direct = format!("#!{}/.venv/bin/python\n", made.root.display());
    let sh = format!("#!/bin/sh\n'exec' '{}/.venv/bin/python' \"$0\" \"$@\"\n", made.root.display());
    let moved = "#!/somewhere/else/.venv/bin/python3\n";
    for (start, python) in [(direct.as_str(), "python"), (&sh, "python"), (moved, "python3")] {
        made.program("tool", &(start.to_owned() + SHOWN));
        for word in ["tool", "./.venv/bin/tool", ".macml/env/default/0123456789abcdef.1/bin/tool"] {
            let shown = format!("{generation}/bin/{python} False ['{generation}/bin/tool', '-a', 'b c']\n");
            let run = made.run(&[word, "-a", "b c"]);
            assert_eq!((run.stdout.as_str(), run.stderr.as_str()), (shown.as_str(), ""), "{start} {word}");
        }
    }
    let with = format!("#!/bin/sh\n'exec' '{}/.venv/bin/python' '-X' 'dev' \"$0\" \"$@\"\n", made.root.display());
    made.program("tool", &(with + SHOWN));
    assert!(made.run(&["tool"]).stdout.contains(" True "));
    // Another program's launcher is left alone.
    made.program("tool", "#!/bin/echo\n");
    assert_eq!(made.run(&["tool"]).stdout, format!("{generation}/bin/tool\n"));
}

#[test]
fn a_python_file_is_run_by_the_environment_s_python() {
    let made = Made::new("");
    let python = "[HERE]/.macml/env/default/0123456789abcdef.1/bin/python";
    for name in ["train.py", "src/a b.PY", "-x.py"] {
        made.project.write(name, SHOWN);
        let run = made.run(&["--", name, "-v"]);
        let shown = if name.starts_with('-') { "./-x.py" } else { name };
        assert_eq!((run.stdout, run.stderr), (format!("{python} False ['{shown}', '-v']\n"), String::new()));
    }
    // Relative to where macml was told to go.
    made.project.write("sub/here.py", "import os\nprint(os.getcwd())\n");
    let run = made.project.run(&["-C", "sub", "run", "--no-sync", "here.py"]);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("[HERE]/sub\n", ""));
    // And where people are, in a folder of the project.
    let output = made.command(&["here.py"]).current_dir(made.root.join("sub")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}/sub\n", made.root.display()));
    made.run(&["absent.py"]).says(127, &["there is no command `absent.py`"]);
}

#[test]
fn what_is_not_there_is_127_and_what_cannot_be_run_is_126() {
    let made = Made::new("");
    made.program("pytest", "#!/bin/sh\n");
    made.run(&["pytset"]).fails(
        127,
        "error: there is no command `pytset`, neither in the environment nor in PATH\n\nhint: did you mean `pytest`?",
    );
    made.run(&["zzz"]).fails(
        127,
        "error: there is no command `zzz`, neither in the environment nor in PATH\n\nhint: `macml run` by itself lists \
         the commands of the environment",
    );
    made.run(&["./zzz"]).says(127, &["there is no command `./zzz`"]);
    made.run(&[""]).says(127, &["there is no command ``"]);
    made.run(&["."]).says(127, &["there is no command `.`"]);
    made.project.write("plain", "x");
    made.run(&["./plain"]).fails(126, "error: `./plain` may not be run: it has no executable bit");
    made.run(&["./."]).says(126, &["is a folder"]);
    std::fs::write(made.generation(1).join("bin/data"), "x").unwrap();
    made.run(&["data"]).says(126, &["bin/data` may not be run"]);
    // A script that does not say what runs it is one for sh, as in a shell.
    made.program("old", "echo $1\n");
    assert_eq!(made.run(&["old", "x"]).stdout, "x\n");
    made.program("torn", "#!/nowhere/python\n");
    let torn = made.run(&["torn"]);
    torn.says(126, &["0123456789abcdef.1/bin/torn`", "cause: No such file"]);
    assert!(!made.is_held());
}

#[test]
fn without_a_command_those_there_are_are_listed() {
    let made = Made::new("");
    made.program("torchrun", "#!/bin/sh\n");
    std::fs::write(made.generation(1).join("bin/activate"), "").unwrap();
    let expected = "error: there is no command to run\n\nhint: the environment has `python`, `python3`, `torchrun`";
    made.run(&[]).fails(2, expected);
    made.run(&["--"]).fails(2, expected);
}

#[test]
fn the_own_link_in_the_path_is_not_searched() {
    let made = Made::new("");
    made.generate(2);
    program(&made.generation(2).join("bin/newer"), "#!/bin/sh\n");
    made.lead_to(2);
    let path = format!("{0}/.venv/bin:{0}/.venv/bin/:/usr/bin:/bin", made.root.display());
    made.run_with(&[("PATH", &path)], &["newer"]).says(0, &[]);
    let run = made.run_with(&[("PATH", &path)], &["sh", "-c", "echo $PATH"]);
    assert_eq!(run.stdout, "[HERE]/.macml/env/default/0123456789abcdef.2/bin:/usr/bin:/bin\n");
}

#[test]
fn without_an_environment_there_is_nothing_to_run_in() {
    let made = Made::new("");
    std::fs::remove_file(made.root.join(".venv")).unwrap();
    made.run(&["true"]).fails(2, "error: there is no environment at `.venv`\n\nhint: `macml sync` makes it");
    // One that macml did not make is none of its own, and neither is half of one.
    std::fs::create_dir(made.root.join(".venv")).unwrap();
    made.run(&["true"]).says(2, &["there is no environment at `.venv`"]);
    std::fs::remove_dir(made.root.join(".venv")).unwrap();
    made.lead_to(1);
    made.run(&["true"]).says(0, &[]);
    std::fs::remove_file(made.generation(1).join("macml-stamp.json")).unwrap();
    made.run(&["true"]).says(2, &["there is no environment at `.venv`"]);
    made.run(&["--env", "test", "true"]).says(2, &["test", "its environments: `default`"]);
    std::fs::remove_file(made.root.join("macml.toml")).unwrap();
    made.run(&["true"]).says(2, &["no `macml.toml`"]);
}

/// What is not as locked is made so first; standard output stays the command's.
#[test]
fn the_environment_is_brought_in_line_first() {
    let index = FakeIndex::from_published(&Published::default().with("aa", "1.0", &[]).with("bb", "1.0", &[]));
    let here = Here::new(&index, "aa = \"*\"");
    let code = "import importlib.util as u; print(*(u.find_spec(name) is not None for name in ('aa', 'bb')))";
    let run = |words: &[&str]| here.run(&[&["run"], words, &["python", "-c", code]].concat());
    let first = run(&[]);
    assert_eq!((first.code, &*first.stdout), (0, "True False\n"), "{}", first.stderr);
    first.says(0, &["macml.lock written", ".venv ready: 1 package"]);
    let again = run(&[]);
    assert_eq!((again.code, &*again.stdout, &*again.stderr), (0, "True False\n", ""));
    here.depend("aa = \"*\"\nbb = \"*\"");
    run(&["--locked"]).says(1, &["does not answer `macml.toml`", "`--no-sync` takes the environment as it is"]);
    assert_eq!(run(&["--no-sync"]).stdout, "True False\n");
    assert_eq!(run(&["--frozen"]).stdout, "True False\n");
    let third = run(&[]);
    assert_eq!((third.code, &*third.stdout), (0, "True True\n"), "{}", third.stderr);
    third.says(0, &[" + bb 1.0"]);
}

#[test]
fn a_script_whose_program_is_gone_says_so() {
    let made = Made::new("");
    made.program("tool", "#!/absent/program -x\n");
    made.run(&["tool"]).says(126, &["could not run `", "/bin/tool`", "its first line asks for `/absent/program`"]);
    let python = made.generation(1).join("bin/python");
    std::fs::remove_file(&python).unwrap();
    made.run(&["python"]).says(2, &["`.venv` has no Python", "`macml sync` builds it"]);
    std::os::unix::fs::symlink("/absent/python3", &python).unwrap();
    for word in ["python", "tool"] {
        made.run(&[word]).says(2, &["the Python of `.venv` is gone: there is no `/absent/python3`"]);
    }
}
