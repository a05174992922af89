//! On a real terminal: what people see and press reaches the command as if macml were not there.

use serde_json::json;

use super::made::Made;
use crate::support::terminal::play;

#[test]
fn a_progress_bar_has_the_terminal_to_itself() {
    let made = Made::new("");
    made.project.write(
        "bar.py",
        "import os, signal, sys\n\
         print([os.isatty(stream) for stream in range(3)], tuple(os.get_terminal_size()))\n\
         for done in range(0, 101, 25): print(f'\\r{done:3}%', end='', flush=True)\n\
         signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n\
         print(flush=True)\n\
         signal.sigwait([signal.SIGWINCH])\n\
         print(tuple(os.get_terminal_size()))\n",
    );
    let steps = json!([["wait", "100%\r\n"], ["size", 44, 55]]);
    let (shown, code) = play(&made.root, &[("MACML_NO_SYNC", "1")], &steps, &["$macml", "run", "bar.py"]);
    let bar = "[True, True, True] (111, 33)\r\n\r  0%\r 25%\r 50%\r 75%\r100%\r\n(55, 44)\r\n";
    assert_eq!((shown.as_str(), code), (bar, 0));
}

#[test]
fn ctrl_c_is_the_command_s() {
    let made = Made::new("");
    made.project.write(
        "wait.py",
        "import sys, time\n\
         try:\n    print('ready', flush=True)\n    time.sleep(60)\n\
         except KeyboardInterrupt:\n    print('caught', flush=True)\n\
         if sys.argv[1:]: sys.exit(3)\n\
         print('again', flush=True)\ntime.sleep(60)\n",
    );
    let steps = json!([["wait", "ready"], ["send", "\u{3}"], ["wait", "caught"]]);
    let (shown, code) = play(&made.root, &[("MACML_NO_SYNC", "1")], &steps, &["$macml", "run", "wait.py", "once"]);
    assert_eq!((shown.as_str(), code), ("ready\r\n^Ccaught\r\n", 3));
    let steps = json!([["wait", "ready"], ["send", "\u{3}"], ["wait", "again"], ["send", "\u{3}"]]);
    let (shown, code) = play(&made.root, &[("MACML_NO_SYNC", "1")], &steps, &["$macml", "run", "wait.py"]);
    assert!(shown.contains("KeyboardInterrupt") && code == -2, "{code} {shown}");
}

#[test]
fn ctrl_z_stops_the_command_and_fg_goes_on_with_it() {
    let made = Made::new("");
    made.project.write(
        "count.py",
        "import sys\nprint('ready', flush=True)\nfor line in sys.stdin: print('got', line.strip(), flush=True)\n\
         print('end', flush=True)\nsys.exit(5)\n",
    );
    let steps = json!([
        ["wait", "sh> "],
        ["send", "\"$macml\" run count.py\n"],
        ["wait", "ready"],
        ["send", "one\n"],
        ["wait", "got one"],
        ["send", "\u{1a}"],
        ["wait", "topped"],
        ["wait", "sh> "],
        // The shell has the terminal now.
        ["send", "echo mine $((6 * 7))\n"],
        ["wait", "mine 42"],
        ["wait", "sh> "],
        ["send", "fg\n"],
        ["wait", "count.py"],
        ["send", "two\n"],
        ["wait", "got two"],
        ["send", "\u{4}"],
        ["wait", "end"],
        ["wait", "sh> "],
        ["send", "echo code $?\n"],
        ["wait", "code 5"],
        ["wait", "sh> "],
        ["send", "exit\n"],
    ]);
    let (_, code) = play(&made.root, &[("MACML_NO_SYNC", "1")], &steps, &["/bin/sh", "-i"]);
    assert_eq!(code, 0);
}

#[test]
fn a_python_prompt_works() {
    let made = Made::new("");
    let steps = json!([
        ["wait", ">>> "],
        ["send", "import sys; print(sys.prefix, 6 * 7)\n"],
        ["wait", format!("{} 42", made.generation(1).display())],
        ["wait", ">>> "],
        ["send", "half a line"],
        ["wait", "half a line"],
        // Python misses one that comes between its prompt and its waiting, until the next key.
        ["press", "\u{3}", "KeyboardInterrupt"],
        ["wait", ">>> "],
        ["send", "input('name? ')\n"],
        ["wait", "name? "],
        ["wait", "name? "],
        ["send", "x\n"],
        ["wait", "'x'"],
        ["wait", ">>> "],
        ["send", "\u{4}"],
    ]);
    let (shown, code) = play(&made.root, &[("MACML_NO_SYNC", "1")], &steps, &["$macml", "run", "python"]);
    assert_eq!(code, 0, "{shown}");
}
