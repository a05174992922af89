//! On a real terminal: what people see and press reaches the command as if macml were not there.

use serde_json::{Value, json};

use super::made::Made;
use crate::support::terminal;

/// Plays steps in a made project whose environment is taken as it is.
fn play(made: &Made, steps: &Value, command: &[&str]) -> (String, i64) {
    terminal::play(&made.root, &[("MACML_NO_SYNC", "1")], steps, command)
}

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
    let (shown, code) = play(&made, &steps, &["$macml", "run", "bar.py"]);
    let bar = "[True, True, True] (111, 33)\r\n\r  0%\r 25%\r 50%\r 75%\r100%\r\n(55, 44)\r\n";
    assert_eq!((shown.as_str(), code), (bar, 0));
}

/// What stays beside a command must not be seen, until the command is over.
const BESIDE: &str = "note: no torch was loaded, and no fallback was printed\r\n";

#[test]
fn a_progress_bar_that_is_read_along_has_a_terminal_too() {
    let made = Made::new("");
    made.project.write(
        "bar.py",
        "import os, signal, sys\n\
         print([os.isatty(stream) for stream in range(3)], [tuple(os.get_terminal_size(2))], file=sys.stderr, flush=True)\n\
         for done in range(0, 101, 25): print(f'\\r\\x1b[32m{done:3}%\\x1b[0m', end='', file=sys.stderr, flush=True)\n\
         signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n\
         print(file=sys.stderr, flush=True)\n\
         signal.sigwait([signal.SIGWINCH])\n\
         while os.get_terminal_size(2) != os.get_terminal_size(1): pass\n\
         print(tuple(os.get_terminal_size(2)), input('name? '), end='', file=sys.stderr)\n",
    );
    let steps = json!([["wait", "100%\u{1b}[0m\r\n"], ["size", 44, 55], ["wait", "name? "], ["send", "x\n"]]);
    let (shown, code) = play(&made, &steps, &["$macml", "run", "--report-fallbacks", "bar.py"]);
    let done = |percent| format!("\r\u{1b}[32m{percent:3}%\u{1b}[0m");
    let bar: String = [0, 25, 50, 75, 100].map(done).concat();
    let expected = format!("[True, True, True] [(111, 33)]\r\n{bar}\r\nname? x\r\n(55, 44) x\r\n{BESIDE}");
    assert_eq!((shown, code), (expected, 0));
}

#[test]
fn keys_reach_a_command_that_is_read_along_once() {
    let made = Made::new("");
    made.project.write(
        "wait.py",
        // Not by `print`: a handler that prints in the middle of another print is an error.
        "import os, signal, sys, time\n\
         count = 0\n\
         def got(*_):\n    global count\n    count += 1\n    \
         if count == 2: sys.exit(3)\n    \
         time.sleep(0.2)\n    os.write(2, f'caught {count}\\n'.encode())\n\
         signal.signal(signal.SIGINT, got)\n\
         os.write(2, b'ready\\n')\n\
         while True: time.sleep(1)\n",
    );
    let steps = json!([["wait", "ready"], ["send", "\u{3}"], ["wait", "caught 1"], ["send", "\u{3}"]]);
    let (shown, code) = play(&made, &steps, &["$macml", "run", "--report-fallbacks", "wait.py"]);
    assert_eq!((shown.as_str(), code), (&*format!("ready\r\n^Ccaught 1\r\n^C{BESIDE}"), 3));
    let steps = json!([["wait", "ready"], ["send", "\u{1c}"]]);
    let (shown, code) =
        play(&made, &steps, &["/bin/sh", "-c", "ulimit -c 0; exec \"$macml\" run --report-fallbacks wait.py"]);
    assert_eq!((shown.as_str(), code), (&*format!("ready\r\n^\\{BESIDE}"), -3));
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
    let (shown, code) = play(&made, &steps, &["$macml", "run", "wait.py", "once"]);
    assert_eq!((shown.as_str(), code), ("ready\r\n^Ccaught\r\n", 3));
    let steps = json!([["wait", "ready"], ["send", "\u{3}"], ["wait", "again"], ["send", "\u{3}"]]);
    let (shown, code) = play(&made, &steps, &["$macml", "run", "wait.py"]);
    assert!(shown.contains("KeyboardInterrupt") && code == -2, "{code} {shown}");
}

#[test]
fn ctrl_z_stops_the_command_and_fg_goes_on_with_it() {
    stops_and_goes_on("\"$macml\" run count.py\n");
}

#[test]
fn ctrl_z_stops_a_command_that_is_read_along_too() {
    stops_and_goes_on("\"$macml\" run --report-fallbacks count.py\n");
}

#[test]
fn ctrl_z_stops_a_command_that_is_to_be_explained_too() {
    stops_and_goes_on("\"$macml\" run --explain count.py\n");
}

fn stops_and_goes_on(line: &str) {
    let made = Made::new("");
    made.project.write(
        "count.py",
        "import sys\nprint('ready', flush=True)\nfor line in sys.stdin: print('got', line.strip(), flush=True)\n\
         print('end', flush=True)\nsys.exit(5)\n",
    );
    let steps = json!([
        ["wait", "sh> "],
        ["send", line],
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
    let (_, code) = play(&made, &steps, &["/bin/sh", "-i"]);
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
    let (shown, code) = play(&made, &steps, &["$macml", "run", "python"]);
    assert_eq!(code, 0, "{shown}");
}
