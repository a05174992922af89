//! What a program finds itself in: one generation, whatever the machine says and whatever happens meanwhile.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use super::made::{Made, until};
use crate::support::program::program;

const GENERATION: &str = "[HERE]/.macml/env/default/0123456789abcdef.1";

#[test]
fn path_interpreter_and_variable_name_the_generation() {
    let made = Made::new("");
    let code = "import os, sys, shutil\nfor text in (sys.executable, sys.prefix, os.environ['VIRTUAL_ENV'], \
                os.environ['PATH'].split(':')[0], shutil.which('python')): print(text)";
    let expected = ["/bin/python", "", "", "/bin", "/bin/python"].map(|end| format!("{GENERATION}{end}"));
    assert_eq!(made.python(&[], &[], code), expected);
}

/// Bug report R28: conda's base and another virtual environment are active.
#[test]
fn r28_the_project_s_environment_counts_whatever_is_active() {
    let made = Made::new("");
    let strangers = made.root.join("miniconda3/bin");
    std::fs::create_dir_all(&strangers).unwrap();
    for name in ["python", "python3", "pip", "torchrun"] {
        program(&strangers.join(name), "#!/bin/sh\necho stranger\n");
    }
    let shebang = format!("#!{}/.venv/bin/python\n", made.root.display());
    made.program("pip", &(shebang + "import os, sys\nprint(os.path.realpath(sys.prefix))\n"));
    let conda = made.root.join("miniconda3").display().to_string();
    let (venv, other) = (made.root.join(".venv").display().to_string(), "/elsewhere/.venv");
    for active in [venv.as_str(), other] {
        let path = format!("{conda}/bin:{active}/bin:/usr/bin:/bin");
        let vars = [
            ("VIRTUAL_ENV", active),
            ("CONDA_PREFIX", conda.as_str()),
            ("CONDA_DEFAULT_ENV", "base"),
            ("PATH", path.as_str()),
            ("PYTHONHOME", conda.as_str()),
            ("PYTHONEXECUTABLE", "/elsewhere/python"),
            ("__PYVENV_LAUNCHER__", "/elsewhere/python"),
        ];
        let code = "import os, sys\nprint(sys.prefix)\nfor name in ('PYTHONHOME', 'PYTHONEXECUTABLE', \
                    '__PYVENV_LAUNCHER__', 'CONDA_PREFIX', 'PATH'): print(os.environ.get(name))";
        let path = format!("{GENERATION}/bin:[HERE]/miniconda3/bin:/usr/bin:/bin");
        let expected = [GENERATION, "None", "None", "None", "[HERE]/miniconda3", &path];
        assert_eq!(made.python(&vars, &[], code), expected);
        for word in ["pip", "sh"] {
            let run = made.run_with(&vars, &[word, "-c", "pip"]);
            assert_eq!((run.stdout.as_str(), run.stderr.as_str()), (&*format!("{GENERATION}\n"), ""));
        }
        // What only they have can still be run, as from any shell.
        assert_eq!(made.run_with(&vars, &["torchrun"]).stdout, "stranger\n");
    }
}

#[test]
fn packages_that_pythonpath_puts_first_are_named() {
    let made = Made::new("");
    made.project.write("src/mine.py", "");
    let run = made.run_with(&[("PYTHONPATH", "src")], &["python", "-c", "import mine"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let vars = [("PYTHONPATH", "src:/opt/homebrew/lib/python3.13/site-packages")];
    let run = made.run_with(&vars, &["python", "-c", "import mine"]);
    let warned = "warning: PYTHONPATH puts the packages of another Python before those of the environment: \
                  `/opt/homebrew/lib/python3.13/site-packages`\n";
    assert_eq!((run.code, run.stderr.as_str()), (0, warned));
    assert_eq!(made.project.run_with(&vars, &["-q", "run", "--no-sync", "true"]).stderr, "");
}

#[test]
fn the_manifest_s_variables_win() {
    let made = Made::new("[run.env]\nPYTORCH_ENABLE_MPS_FALLBACK = \"1\"\nEMPTY = \"\"\nTEXT = \"a\\nb 'c' $HOME\"\n");
    let code = "import os\nfor name in ('PYTORCH_ENABLE_MPS_FALLBACK', 'EMPTY', 'TEXT', 'OTHER'): \
                print(repr(os.environ[name]))";
    let vars = [("PYTORCH_ENABLE_MPS_FALLBACK", "0"), ("EMPTY", "x"), ("OTHER", "y")];
    assert_eq!(made.python(&vars, &[], code), ["'1'", "''", r#""a\nb 'c' $HOME""#, "'y'"]);
}

#[test]
fn workers_stay_when_the_environment_is_replaced() {
    let made = Made::new("");
    made.project.write(
        "work.py",
        "import multiprocessing, os, subprocess, sys\n\
         def told(_): return sys.executable, sys.prefix, os.environ['VIRTUAL_ENV']\n\
         if __name__ == '__main__':\n\
         \x20   print('ready', flush=True)\n\
         \x20   sys.stdin.readline()\n\
         \x20   with multiprocessing.get_context('spawn').Pool(2) as pool:\n\
         \x20       for one in sorted(set(pool.map(told, range(8), chunksize=1))): print(*one)\n\
         \x20   print(subprocess.run(['python', '-c', 'import sys; print(sys.prefix)'], capture_output=True, \
         text=True).stdout, end='')\n\
         \x20   print(subprocess.run(['tool'], capture_output=True, text=True).stdout, end='')\n",
    );
    made.program("tool", "#!/bin/sh\necho old\n");
    let mut child = made.command(&["work.py"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    assert!(made.is_held());
    made.generate(2);
    program(&made.generation(2).join("bin/tool"), "#!/bin/sh\necho new\n");
    made.lead_to(2);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let lines: Vec<String> = lines.map(Result::unwrap).collect();
    let own = made.generation(1).display().to_string();
    assert_eq!(lines, [format!("{own}/bin/python {own} {own}"), own, "old".to_owned()]);
    assert!(child.wait().unwrap().success());
    assert!(!made.is_held());
}

#[test]
fn the_generation_is_held_as_long_as_anything_runs_in_it() {
    let made = Made::new("");
    assert!(!made.is_held());
    let mut child = made.command(&["cat"]).stdin(Stdio::piped()).spawn().unwrap();
    until("it is held", || made.is_held());
    // Two may hold it at once.
    made.run(&["true"]).says(0, &[]);
    assert!(made.is_held());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(!made.is_held());
    // A program that is killed lets go.
    let mut child = made.command(&["sleep", "100"]).spawn().unwrap();
    until("it is held", || made.is_held());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!made.is_held());
    // A script that opens and closes descriptors of its own does not.
    let script = "exec 3>three 4>four 5<&0 9>nine; exec 3>&- 4>&- 5<&- 6>&- 7>&- 8>&- 9>&-; echo > ready; cat";
    let mut child = made.command(&["sh", "-c", script]).stdin(Stdio::piped()).spawn().unwrap();
    until("it runs", || made.root.join("ready").exists());
    assert!(made.is_held());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    // What it left running goes on holding it.
    let script = "(read line < go) & sleep 0.1; exit 0";
    made.run(&["sh", "-c", "mkfifo go"]).says(0, &[]);
    let mut child = made.command(&["sh", "-c", script]).spawn().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(made.is_held());
    std::fs::write(made.root.join("go"), "\n").unwrap();
    until("it is free", || !made.is_held());
}
