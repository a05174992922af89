//! `--report-fallbacks`, with a made-up torch that warns as the real one does: of the first operator of a process alone,
//! unless it is told otherwise.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::made::{Made, feed, until};
use crate::support::project::Run;

const REPORT: &str = "--report-fallbacks";

/// What torch adds to its words.
const IMPLICATIONS: &str = "This may have performance implications. (Triggered internally at /p/MPSFallback.mm:14.)";

/// Makes a torch 2.13.0; `native` in it prints as C++ does, past Python.
fn torch(made: &Made) {
    made.module(
        "torch/__init__.py",
        &format!(
            "import os, types, warnings\n\
             __version__ = '2.13.0'\n\
             backends = types.SimpleNamespace(mps=types.SimpleNamespace())\n\
             _read = os.environ.get('PYTORCH_ENABLE_MPS_FALLBACK')\n\
             _always, _warned = False, set()\n\
             def _set(always):\n    global _always\n    _always = always\n\
             _C = types.SimpleNamespace(_set_warnAlways=_set, _get_warnAlways=lambda: _always)\n\
             def set_warn_always(always): _C._set_warnAlways(always)\n\
             def is_warn_always_enabled(): return _C._get_warnAlways()\n\
             def once(site, text):\n    \
             if _always or site not in _warned:\n        \
             if not _always: _warned.add(site)\n        \
             warnings.warn(text, UserWarning, stacklevel=3)\n\
             def _not_implemented(name): return f\"The operator 'aten::{{name}}' is not currently implemented for the MPS \
             device. If you want this op to be considered for addition\"\n\
             def run(name):\n    \
             if (_read or '0') == '0': raise NotImplementedError(_not_implemented(name))\n    \
             once('fallback', f\"The operator 'aten::{{name}}' is not currently supported on the MPS backend and will \
             fall back to run on the CPU. {IMPLICATIONS}\")\n\
             def nonzero(): once('nonzero', 'MPS: nonzero op is supported natively starting from macOS 14.0. Falling \
             back on CPU. {IMPLICATIONS}')\n\
             def native(name): os.write(2, f\"[W1130 21:00:00.1 MPSFallback.mm:14] Warning: The operator \
             'aten::{{name}}' is not currently supported on the MPS backend and will fall back to run on the CPU. \
             (function mps_fallback)\\n\".encode())\n"
        ),
    );
}

/// Runs a script with the report; returns what it and macml printed, apart.
fn report(made: &Made, vars: &[(&str, &str)], options: &[&str], script: &str) -> (Run, String, String) {
    made.project.write("train.py", script);
    let run = made.run_with(vars, &[&[REPORT], options, &["python"], &["train.py"]].concat());
    let (own, told) = split(&run.stderr);
    (run, own, told)
}

/// Splits the report from what the program printed.
fn split(stderr: &str) -> (String, String) {
    let starts = ["warning: torch", "warning: 1 op", "warning: 2 op", "note: no ", "note: `"];
    let at = stderr
        .split_inclusive('\n')
        .scan(0, |at, line| {
            *at += line.len();
            Some((*at - line.len(), line))
        })
        .find(|(_, line)| starts.iter().any(|start| line.starts_with(start)))
        .map_or(stderr.len(), |(at, _)| at);
    (stderr[..at].to_owned(), stderr[at..].to_owned())
}

const BY_MACML: &str = "note: `--report-fallbacks` set `PYTORCH_ENABLE_MPS_FALLBACK` to 1: neither [run.env] nor the shell \
                        sets it, and without it such an operator ends the program\n";

#[test]
fn every_operator_is_told_and_the_program_sees_the_first_warning_alone() {
    let made = Made::new("");
    torch(&made);
    let script = "import torch\ntorch.run('_ctc_loss')\nfor _ in range(3):\n    torch.run('linalg_eig')\n\
                  torch.nonzero()\ntorch.nonzero()\nprint(torch.is_warn_always_enabled())\n";
    let (run, own, told) = report(&made, &[], &[], script);
    assert_eq!((run.code, run.stdout.as_str()), (0, "False\n"));
    let expected = format!(
        "warning: torch 2.13.0 computed 3 operators on the CPU instead of the GPU\n\
         \x20 aten::_ctc_loss  at train.py:2, runs on the GPU from torch 2.14.0 on\n\
         \x20 aten::linalg_eig  at train.py:4, no torch up to 2.15.0 has a GPU kernel\n\
         \x20 nonzero  at train.py:5, needs macOS 14.0\n{BY_MACML}"
    );
    assert_eq!(told, expected);
    crate::readme::both_show(&expected);
    // Without the report it sees the same.
    let plain = made.run_with(&[("PYTORCH_ENABLE_MPS_FALLBACK", "1")], &["python", "train.py"]);
    assert_eq!(own, plain.stderr);
    assert_eq!(own.matches("UserWarning").count(), 2, "{own}");
    // Nothing stays but the file that Python runs.
    let left: Vec<_> = fs::read_dir(made.root.join(".local/state/macml/fallbacks")).unwrap().collect();
    assert_eq!(left.len(), 1);
}

#[test]
fn filters_hide_no_operator_and_are_what_they_were() {
    let made = Made::new("");
    torch(&made);
    let check = |options: &[&str], vars: &[(&str, &str)], script: &str| {
        made.project.write("train.py", &format!("import torch, warnings\n{script}"));
        let words = [&["python"], options, &["train.py"]].concat();
        let vars = [&[("PYTORCH_ENABLE_MPS_FALLBACK", "1")], vars].concat();
        let plain = made.run_with(&vars, &words);
        let run = made.run_with(&vars, &[&[REPORT], &*words].concat());
        let (own, told) = split(&run.stderr);
        assert_eq!((run.code, &run.stdout, &own), (plain.code, &plain.stdout, &plain.stderr));
        for name in ["aten::one", "aten::two"] {
            assert!(told.contains(name), "{name}: {}", run.stderr);
        }
    };
    let both = "torch.run('one'); torch.run('two')\nprint(len(warnings.filters), list(warnings.filters), \
                warnings.filters[:1], [*warnings.filters])";
    check(&["-W", "ignore"], &[], both);
    check(&[], &[("PYTHONWARNINGS", "ignore,default::UserWarning")], both);
    check(&[], &[], &format!("warnings.simplefilter('ignore')\n{both}"));
    check(&[], &[], &format!("warnings.filterwarnings('ignore', append=True); warnings.resetwarnings()\n{both}"));
    check(&[], &[], &format!("with warnings.catch_warnings():\n  warnings.simplefilter('ignore')\n  {both}"));
    check(&[], &[], &format!("warnings.showwarning = lambda *args, **kwargs: print('mine', args[0])\n{both}"));
    // As pytest's recwarn does it.
    let recorded = "with warnings.catch_warnings(record=True) as log:\n  warnings.simplefilter('always')\n  \
                    torch.run('one'); torch.run('two'); warnings.warn('other')\n\
                    print([str(one.message)[:25] for one in log])\n";
    check(&[], &[], recorded);
    // Where warnings are errors it gets the one that it would have got.
    let caught = "for name in ('one', 'two'):\n  try: torch.run(name)\n  except UserWarning as error: print(error)\n";
    check(&["-W", "error"], &[], caught);
    // And where it asked for all, all.
    check(&[], &[], &format!("torch.set_warn_always(True)\n{both}\nprint(torch.is_warn_always_enabled())"));
    // Others can be sent to workers that know nothing of it.
    check(&[], &[], &format!("import pickle, copy\n{both}\nprint(pickle.loads(pickle.dumps(warnings.filters)))"));
}

#[test]
fn the_list_of_filters_is_a_list_to_its_users() {
    let made = Made::new("");
    let code = "import random, sys, warnings\n\
                kind = type(warnings.filters)\n\
                print(kind is list)\n\
                rolls = random.Random(7)\n\
                one, other = warnings.filters, list(warnings.filters)\n\
                def both(do):\n    \
                told = []\n    \
                for it in (one, other):\n        \
                try: told.append(repr(do(it)))\n        \
                except Exception as error: told.append(type(error).__name__)\n    \
                assert told[0] == told[1], told\n    \
                assert one == other and not one != other and other == list(one) and len(one) == len(other), (one, other)\n\
                for turn in range(3000):\n    \
                at, to, what = rolls.randint(-9, 9), rolls.randint(-9, 9), rolls.randint(0, 9)\n    \
                step = rolls.choice([None, 1, 2, -1])\n    \
                both(rolls.choice([\n        \
                lambda it: it.insert(at, what), lambda it: it.append(what), lambda it: it.extend([what]),\n        \
                lambda it: it.pop(), lambda it: it.pop(at), lambda it: it.remove(what), lambda it: it.index(what),\n        \
                lambda it: it[at], lambda it: it[at:to], lambda it: it[at:to:step], lambda it: it.__setitem__(at, what),\n        \
                lambda it: it.__delitem__(at), lambda it: it.__setitem__(slice(at, to), [what] * 2),\n        \
                lambda it: it.__delitem__(slice(at, to, step)), lambda it: it.reverse(), lambda it: it.copy(),\n        \
                lambda it: list(reversed(it)), lambda it: what in it, lambda it: it.count(what), lambda it: it + [what],\n        \
                lambda it: bool(it), lambda it: tuple(it), lambda it: sorted(map(str, it)), lambda it: it.__iadd__([what]),\n        \
                lambda it: it.clear() if len(it) > 8 else None]))\n\
                print('same')\n";
    let run = made.run(&[REPORT, "python", "-c", code]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "False\nsame\n"), "{}", run.stderr);
}

#[test]
fn workers_are_looked_into_however_they_begin() {
    let made = Made::new("");
    torch(&made);
    let script = "import multiprocessing, os, subprocess, sys, threading\n\
                  def work(name):\n    import torch, warnings\n    warnings.simplefilter('ignore')\n    torch.run(name)\n\
                  def killed(name):\n    work(name)\n    os.kill(os.getpid(), 9)\n\
                  if __name__ == '__main__':\n\
                  \x20   for method in ('spawn', 'fork'):\n\
                  \x20       context = multiprocessing.get_context(method)\n\
                  \x20       for target in (work, killed):\n\
                  \x20           workers = [context.Process(target=target, args=(f'{method}_{target.__name__}',)) for _ in '12']\n\
                  \x20           for worker in workers: worker.start()\n\
                  \x20           for worker in workers: worker.join()\n\
                  \x20   thread = threading.Thread(target=work, args=('thread',)); thread.start(); thread.join()\n\
                  \x20   subprocess.run([sys.executable, '-W', 'ignore', '-c', 'import torch; torch.run(\"child\")'])\n\
                  \x20   subprocess.run([sys.executable, '-I', '-c', 'import torch; torch.native(\"apart\")'])\n";
    let refused = made.run(&[REPORT, "--fallbacks-to", "out/told.json", "true"]);
    refused.says(2, &["could not write `out/told.json`: there is no folder `out`", "mkdir -p out"]);
    fs::create_dir(made.root.join("out")).unwrap();
    let (run, _, told) = report(&made, &[], &["--fallbacks-to", "out/told.json"], script);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(told.starts_with("warning: torch 2.13.0 computed 7 operators"), "{}", run.stderr);
    for name in ["spawn_work", "spawn_killed", "fork_work", "fork_killed"] {
        assert!(told.contains(&format!("  aten::{name}  at train.py:5, in 2 processes\n")), "{told}");
    }
    let line = |name: &str| told.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert_eq!(line("aten::thread"), "  aten::thread  at train.py:5");
    assert_eq!(line("aten::child"), "  aten::child  at <string>:1");
    assert_eq!(line("aten::apart"), "  aten::apart");
    let json: Value = serde_json::from_slice(&fs::read(made.root.join("out/told.json")).unwrap()).unwrap();
    assert_eq!((json["schema"].as_u64(), json["torch"][0].as_str()), (Some(1), Some("2.13.0")));
    assert_eq!(json["fell-back"][0], serde_json::json!({"operator": "aten::apart", "processes": 0}));
    assert_eq!(json["variable"], serde_json::json!({"value": "1", "by": "macml"}));
}

#[test]
fn the_manifest_goes_before_the_shell_and_both_before_the_report() {
    const OFF: &str = "[run.env]\nPYTORCH_ENABLE_MPS_FALLBACK = \"0\"\n";
    let made = Made::new(OFF);
    torch(&made);
    let script = "import torch\ntorch.run('_ctc_loss')\n";
    let failed = "warning: 1 operator failed for want of a GPU kernel (torch 2.13.0)\n  aten::_ctc_loss  runs on the \
                  GPU from torch 2.14.0 on\n";
    let (run, own, told) = report(&made, &[("PYTORCH_ENABLE_MPS_FALLBACK", "1")], &[], script);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(own.ends_with("to be considered for addition\n") || own.ends_with("for addition\n"), "{own}");
    let decided =
        "note: `PYTORCH_ENABLE_MPS_FALLBACK` is 0, by [run.env] of macml.toml, which goes before the shell's 1\n";
    assert_eq!(told, format!("{failed}{decided}"));
    let (_, _, told) = report(&made, &[], &[], script);
    assert_eq!(told, format!("{failed}note: `PYTORCH_ENABLE_MPS_FALLBACK` is 0, by [run.env] of macml.toml\n"));
    let made = Made::new("");
    torch(&made);
    let (_, _, told) = report(&made, &[("PYTORCH_ENABLE_MPS_FALLBACK", "0")], &[], script);
    let decided = "note: `PYTORCH_ENABLE_MPS_FALLBACK` is 0, by the shell: [run.env] of macml.toml does not set it\n";
    assert_eq!(told, format!("{failed}{decided}"));
}

#[test]
fn r26_a_variable_that_is_set_too_late_is_told() {
    let late = "import torch\nimport os\nos.environ['PYTORCH_ENABLE_MPS_FALLBACK'] = '1'\ntorch.run('linalg_eig')\n";
    let made = Made::new("");
    torch(&made);
    let set = "warning: the program set `PYTORCH_ENABLE_MPS_FALLBACK` to 1 after it loaded torch, which has no effect: \
               torch had read";
    let hint = "  hint: put it under [run.env] of macml.toml\n";
    // Where the shell says 0 it fails all the same.
    let (run, _, told) = report(&made, &[("PYTORCH_ENABLE_MPS_FALLBACK", "0")], &[], late);
    assert_eq!(run.code, 1);
    assert!(told.ends_with(&format!("{set} 0 by then\n{hint}")), "{told}");
    // Where the report has set it, it is the same value, and seen to be set all the same.
    let (run, _, told) = report(&made, &[], &[], late);
    assert_eq!(run.code, 0);
    assert!(told.ends_with(&format!("{set} the 1 of `--report-fallbacks` by then\n{hint}")), "{told}");
    // Before torch is loaded it counts, and nothing is wrong.
    let early = "import os\nos.environ['PYTORCH_ENABLE_MPS_FALLBACK'] = '1'\nimport torch\ntorch.run('linalg_eig')\n\
                 import subprocess, sys\n\
                 print(os.environb[b'PYTORCH_ENABLE_MPS_FALLBACK'], dict(os.environ)['PYTORCH_ENABLE_MPS_FALLBACK'])\n\
                 subprocess.run([sys.executable, '-c', 'import torch'], env=dict(os.environ), check=True)\n";
    let (run, _, told) = report(&made, &[("PYTORCH_ENABLE_MPS_FALLBACK", "0")], &[], early);
    assert_eq!((run.code, run.stdout.as_str()), (0, "b'1' 1\n"));
    let own = "note: the program set `PYTORCH_ENABLE_MPS_FALLBACK` to 1 before it loaded torch, which counts\n";
    assert!(told.ends_with(own) && told.contains("aten::linalg_eig"), "{told}");
    // Nobody touched it.
    let (_, _, told) = report(&made, &[], &[], "import torch\n");
    let by_macml = BY_MACML.replace(", and without it such an operator ends the program", "");
    let none = "note: no operator fell back to the CPU, none failed for want of a kernel (torch 2.13.0)\n";
    assert_eq!(told, format!("{none}{by_macml}"));
}

#[test]
fn nothing_seen_is_not_nothing_there() {
    let made = Made::new("");
    torch(&made);
    let (run, own, told) = report(&made, &[], &[], "print('on')\n");
    assert_eq!((run.code, run.stdout.as_str(), own.as_str()), (0, "on\n", ""));
    assert_eq!(told, "note: no torch was loaded, and no fallback was printed\n");
    let apart = "note: no Python could be looked into, and no fallback was printed\n";
    for words in [&["true"][..], &["python", "-I", "-c", "import torch"], &["python", "-E", "-c", ""]] {
        let run = made.run(&[&[REPORT], words].concat());
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", apart));
    }
    // What C++ prints is seen all the same.
    let run = made.run(&[REPORT, "python", "-I", "-c", "import torch; torch.native('col2im')"]);
    assert!(run.stderr.contains("\nwarning: torch computed 1 operator on the CPU instead of the GPU\n  aten::col2im"));
    made.run(&["--fallbacks-to", "x.json", "true"]).says(2, &["--report-fallbacks"]);
    made.run(&["--help"]).says(0, &["--report-fallbacks", "warnings.filters"]);
}

#[test]
fn a_sitecustomize_and_the_one_for_the_cpu_still_run() {
    let made = Made::new("");
    torch(&made);
    made.module("sitecustomize.py", "import sys\nsys.hello = 1\n");
    let code = "import sys, torch, warnings, os\nwarnings.simplefilter('ignore')\ntorch.run('linalg_eig')\n\
                print(sys.hello, os.environ['CUDA_VISIBLE_DEVICES'], [one for one in sys.path if 'state/macml' in one])";
    let run = made.run(&[REPORT, "--device", "cpu", "python", "-c", code]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "1 -1 []\n"), "{}", run.stderr);
    assert!(run.stderr.contains("  aten::linalg_eig  at <string>:3"), "{}", run.stderr);
}

#[test]
fn the_end_is_the_program_s() {
    let made = Made::new("");
    for code in [0, 1, 2, 77, 255] {
        let output = made.command(&[REPORT, "sh", "-c", &format!("echo out; exit {code}")]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(code), &b"out\n"[..]));
    }
    for (name, number) in [("HUP", 1), ("INT", 2), ("KILL", 9), ("SEGV", 11), ("TERM", 15), ("PIPE", 13), ("TSTP", 0)] {
        let script = match number {
            0 => "(sleep 0.2; kill -CONT $$) & kill -TSTP $$; exit 7".to_owned(),
            _ => format!("ulimit -c 0; kill -{name} $$; exit 7"),
        };
        let status = made.command(&[REPORT, "sh", "-c", &script]).stderr(Stdio::null()).status().unwrap();
        let expected = if number == 0 { (Some(7), None) } else { (None, Some(number)) };
        assert_eq!((status.code(), status.signal()), expected, "{name}");
    }
    made.run(&[REPORT, "nothing-of-that-name"]).says(127, &["there is no command"]);
    crate::support::program::program(&made.root.join("broken"), "#!/nowhere/sh\n");
    made.run(&[REPORT, "./broken"]).says(126, &["could not run `broken`", "`/nowhere/sh`"]);
}

#[test]
fn what_macml_is_sent_the_program_gets() {
    let made = Made::new("");
    for (name, number) in [("INT", 2), ("HUP", 1), ("TERM", 15), ("USR1", 10)] {
        let script = format!("trap 'echo got {name}; exit 5' {name}; echo ready; while :; do sleep 0.02; done");
        let mut command = made.command(&[REPORT, "sh", "-c", &script]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut ready = [0; 6];
        stdout.read_exact(&mut ready).unwrap();
        assert!(made.is_held());
        let sent = std::process::Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        assert_eq!((text, child.wait().unwrap().code()), (format!("got {name}\n"), Some(5)), "{number}");
    }
    // What was ignored stays ignored.
    let script = "trap '' HUP; exec \"$0\" run --no-sync --report-fallbacks sh -c 'kill -HUP $$ $PPID; echo alive'";
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_macml")]).current_dir(&made.root);
    let output = command.env_clear().env("HOME", &made.root).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"alive\n"[..]));
}

#[test]
fn bytes_of_every_stream_pass_untouched() {
    let made = Made::new("");
    let input: Vec<u8> = (0..3_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let output = feed(made.command(&[REPORT, "sh", "-c", "tee /dev/stderr"]), input.clone());
    assert!(output.status.success() && output.stdout == input);
    let (passed, rest) = output.stderr.split_at(input.len());
    assert!(passed == input);
    assert_eq!(
        String::from_utf8_lossy(rest).trim_start(),
        "note: no Python could be looked into, and no fallback was printed\n"
    );
    // Live: the program waits for an answer to what it printed.
    let mut command = made.command(&[REPORT, "sh", "-c", "printf ask >&2; read answer; echo $answer"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut ask = [0; 3];
    child.stderr.as_mut().unwrap().read_exact(&mut ask).unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"yes\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.stdout.as_slice(), &output.stderr[..6]), (&b"yes\n"[..], &b"\nnote:"[..]));
    // A reader that leaves stops the program.
    let mut child = made.command(&[REPORT, "sh", "-c", "exec yes >&2"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().signal(), Some(13));
}

#[test]
fn what_is_left_running_is_not_waited_for() {
    let made = Made::new("");
    let begun = Instant::now();
    // It would write for ever.
    let script = "(while sleep 0.01; do echo on >&2; done) & echo $!; echo end >&2";
    let output = made.command(&[REPORT, "sh", "-c", script]).output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("end\n"));
    let id = String::from_utf8(output.stdout).unwrap();
    let gone = || {
        !std::process::Command::new("kill").args(["-0", id.trim()]).stderr(Stdio::null()).status().unwrap().success()
    };
    until("it ends when nobody reads", gone);
    // One that closes its standard error goes on.
    let run = made.run(&[REPORT, "sh", "-c", "exec 2>&-; sleep 0.1; echo on; exit 4"]);
    assert_eq!((run.code, run.stdout.as_str()), (4, "on\n"));
}

#[test]
fn a_list_of_the_program_s_own_is_told_and_the_program_sees_no_more() {
    let made = Made::new("");
    torch(&made);
    let check = |before: &str, after: &str| {
        let caught =
            "for name in ('one', 'two'):\n  try: torch.run(name)\n  except UserWarning as error: print(error)\n";
        made.project.write("train.py", &format!("import warnings\n{before}\nimport torch\n{after}\n{caught}"));
        let plain = made.run_with(&[("PYTORCH_ENABLE_MPS_FALLBACK", "1")], &["python", "train.py"]);
        let run = made.run(&[REPORT, "python", "train.py"]);
        assert_eq!((run.code, &run.stdout), (plain.code, &plain.stdout));
        assert_eq!(run.stdout.matches("aten::").count(), 1, "{}", run.stdout);
        let trouble = "warning: fallbacks may be missing: the program put a list of its own at warnings.filters\n";
        assert!(run.stderr.ends_with(trouble), "{}", run.stderr);
    };
    let own = "saved = warnings.filters; warnings.filters = [('error', None, Warning, None, 0)]";
    check(own, "");
    check("", own);
    // Once it put back what was there, all is seen again.
    check("", &format!("{own}\nwarnings.filters = saved; warnings.simplefilter('error')"));
}

#[test]
fn a_python_that_asks_nobody_is_left_as_it_is() {
    let made = Made::new("");
    torch(&made);
    // The same in Python alone, which goes through the list as any program does. From 3.14 on it lies elsewhere.
    let theirs = made.run(&["python", "-c", "import warnings; print(open(warnings.__file__).read())"]).stdout;
    let alone = theirs.replace("from _warnings import", "from _no_warnings import");
    if alone == theirs {
        return;
    }
    made.project.write("path/warnings.py", &alone);
    let path = made.root.join("path").display().to_string();
    made.project.write("train.py", "import torch\ntorch.run('one'); torch.run('two'); torch.run('one')\n");
    let vars = [("PYTHONPATH", &*path), ("PYTORCH_ENABLE_MPS_FALLBACK", "1")];
    let plain = made.run_with(&vars, &["python", "train.py"]);
    let run = made.run_with(&vars, &[REPORT, "python", "train.py"]);
    let (own, told) = split(&run.stderr);
    assert_eq!((run.code, own), (0, plain.stderr));
    assert!(told.contains("aten::one") && !told.contains("aten::two"), "{told}");
    assert!(told.contains("fallbacks may be missing: this Python does not ask its filters as others do"), "{told}");
}

#[test]
fn hostile_notes_are_neither_waited_for_nor_obeyed() {
    let made = Made::new("");
    let run = |code: &str| {
        made.run(&[REPORT, "python", "-c", &format!("import json, os\npath = os.environ['MACML_FALLBACKS']\n{code}")])
    };
    let said =
        "The operator 'aten::one' is not currently supported on the MPS backend and will fall back to run on the CPU";
    let forged = run(&format!(
        "with open(path, 'ab') as file:\n  file.write(b'\\xff\\n[]\\n' + b'[' * 100000 + b'\\n')\n  \
         file.write(json.dumps({{'process': 1, 'said': \"{said}\", 'at': 'x\\x1b[2J\\nwarning: forged:1'}}).encode())"
    ));
    assert_eq!(forged.code, 0);
    assert!(forged.stderr.contains("  aten::one  at x [2J warning: forged:1\n"), "{}", forged.stderr);
    for instead in ["os.mkfifo(path)", "os.symlink('/dev/zero', path)", "os.mkdir(path)"] {
        let run = run(&format!("os.remove(path)\n{instead}"));
        run.says(0, &["note: no Python could be looked into"]);
    }
}
