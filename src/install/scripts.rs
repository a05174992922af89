//! Commands: entry points, and the texts of the files in `bin` that start them.
//!
//! A first line `#!` takes no blanks in the interpreter's path and is cut off where it is long, so that paths with
//! either are started by `/bin/sh`, in a line that is one text to Python.
//! <https://packaging.python.org/en/latest/specifications/entry-points/>

use super::fault::Fault;
use crate::target::PythonMinor;

/// The longest first line that every system takes, with `#!` and the line's end: Linux before 5.1 cut at 128 bytes.
const LONGEST_FIRST_LINE: usize = 127;

/// How a command is meant to be run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// In a terminal.
    Console,
    /// With windows. Its file is the same on a Mac and on Linux.
    Gui,
}

/// A command that a wheel asks for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EntryPoint {
    /// How it is meant.
    pub kind: Kind,
    /// The command.
    pub name: String,
    /// What is imported: `pkg.cli`.
    pub module: String,
    /// What is called, inside it: `main` or `App.run`.
    pub object: String,
}

/// Reads the commands out of entry_points.txt, in order; other groups may be whatever they like.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<EntryPoint>, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::EntryPoint { line: 1, reason: "is no UTF-8" })?;
    let mut found: Vec<EntryPoint> = Vec::new();
    let mut kind = None;
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let bad = |reason| Fault::EntryPoint { line: at + 1, reason };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(group) = line.strip_prefix('[') {
            kind = match group.strip_suffix(']').map(str::trim) {
                Some("console_scripts") => Some(Kind::Console),
                Some("gui_scripts") => Some(Kind::Gui),
                _ => None,
            };
            continue;
        }
        let Some(kind) = kind else { continue };
        let (name, target) = line.split_once('=').ok_or(bad("has no `=`"))?;
        let (name, target) = (name.trim(), target.trim());
        if name.contains('/') || super::names::check(name).is_err() {
            return Err(bad("names a command that is no file name"));
        }
        // `[extra]` behind the object is of old and means nothing to an installer.
        let target = match target.split_once('[') {
            Some((target, extras)) if extras.ends_with(']') => target.trim_end(),
            Some(_) => return Err(bad("does not say what to call, as `module:function`")),
            None => target,
        };
        let (module, object) = target.split_once(':').ok_or(bad("does not say what to call, as `module:function`"))?;
        let (module, object) = (module.trim(), object.trim());
        // They become part of a program.
        if !is_dotted(module) || !is_dotted(object) {
            return Err(bad("does not say what to call, as `module:function`"));
        }
        let new = EntryPoint { kind, name: name.to_owned(), module: module.to_owned(), object: object.to_owned() };
        match found.iter().find(|other| other.name == new.name) {
            Some(other) if (&other.module, &other.object) == (&new.module, &new.object) => {}
            Some(_) => return Err(bad("names a command for the second time")),
            None => found.push(new),
        }
    }
    Ok(found)
}

/// Reads the commands out of the entry_points.txt of an installed package; `None` when it cannot be read.
pub fn entry_points(bytes: &[u8]) -> Option<Vec<EntryPoint>> {
    parse(bytes).ok()
}

/// Whether a text is identifiers joined by dots.
fn is_dotted(text: &str) -> bool {
    let identifier = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && chars.all(|char| char.is_alphanumeric() || char == '_')
    };
    text.split('.').all(identifier)
}

/// Why no file of `bin` can start an interpreter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no command can name the interpreter `{}`: its path holds a control character", .0.escape_debug())]
pub struct InterpreterError(String);

/// An interpreter that commands start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interpreter {
    /// The absolute path of a program.
    program: String,
    /// What the program is to start, where it is not the interpreter itself.
    started: Option<String>,
}

impl Interpreter {
    /// Takes the path of one.
    ///
    /// # Errors
    /// When it holds a line break or another control character.
    pub fn new(path: &str) -> Result<Self, InterpreterError> {
        if path.is_empty() || path.chars().any(char::is_control) {
            return Err(InterpreterError(path.to_owned()));
        }
        Ok(Self { program: path.to_owned(), started: None })
    }

    /// Takes whichever one of a minor stands first in PATH where the command is run: for trees that have none of their own.
    pub fn on_path(python: PythonMinor) -> Self {
        Self { program: "/usr/bin/env".to_owned(), started: Some(format!("python{python}")) }
    }

    /// Puts it into the first line of a script of Python that begins with `#!python`.
    pub fn script(&self, text: &str) -> Vec<u8> {
        rewrite(text.as_bytes(), self)
    }

    /// Writes what a command begins with: one line where the system can, else two. `arguments` go before the command's.
    fn first_lines(&self, arguments: &str) -> String {
        let own = self.started.as_deref().unwrap_or_default();
        let blank = if own.is_empty() && arguments.is_empty() { "" } else { " " };
        let plain = format!("#!{}{blank}{own}{arguments}\n", self.program);
        // The system hands on what follows the program as one word.
        let one_word = own.is_empty() || arguments.is_empty();
        if !self.program.contains(' ') && one_word && plain.len() <= LONGEST_FIRST_LINE {
            return plain;
        }
        // To sh, four words; to Python, texts in a row, which are one text and do nothing.
        let program = std::iter::once(self.program.as_str()).chain(self.started.as_deref());
        let words = program.chain(arguments.split_whitespace()).map(quote);
        format!("#!/bin/sh\n'exec' {} \"$0\" \"$@\"\n", words.collect::<Vec<_>>().join(" "))
    }

    /// Returns whether commands start it without `/bin/sh`.
    fn is_direct(&self, arguments: &str) -> bool {
        !self.first_lines(arguments).starts_with("#!/bin/sh\n")
    }
}

/// Quotes a word so that it is the same to sh and, as one text or several in a row, to Python.
fn quote(word: &str) -> String {
    let mut text = String::from("'");
    for char in word.chars() {
        match char {
            '\'' => text.push_str("'\"'\"'"),
            '\\' => text.push_str("'\"\\\\\"'"),
            other => text.push(other),
        }
    }
    text.push('\'');
    text
}

/// What the first lines of a file in `bin` start, read back from them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch {
    /// The interpreter's path.
    pub interpreter: String,
    /// What goes to it before the file's own path.
    pub arguments: Vec<String>,
}

impl Launch {
    /// How much of a file its first lines take at most: a path of 4,096 bytes, each of them quoted, and some arguments.
    pub const MOST: u64 = 32 * 1024;

    /// Reads them in either form that commands are written in: a first line that names the interpreter, or one that
    /// names `/bin/sh` and a second that it takes over with `exec`. `None` for anything else, such as machine code.
    pub fn of(start: &[u8]) -> Option<Self> {
        let mut lines = start.split(|byte| *byte == b'\n');
        let first = std::str::from_utf8(lines.next()?.strip_prefix(b"#!")?).ok()?.trim();
        if first != "/bin/sh" {
            // The system takes these two for blanks, and no others.
            let mut words = first.split([' ', '\t']).filter(|word| !word.is_empty()).map(str::to_owned);
            return Some(Self { interpreter: words.next()?, arguments: words.collect() });
        }
        let second = std::str::from_utf8(lines.next()?).ok()?;
        let rest = second.strip_prefix("'exec' ")?.strip_suffix(" \"$0\" \"$@\"")?;
        let mut words = unquote(rest)?.into_iter();
        Some(Self { interpreter: words.next()?, arguments: words.collect() })
    }
}

/// Takes words apart that [`quote`] wrote, with a blank between them; `None` for words that it never writes.
fn unquote(text: &str) -> Option<Vec<String>> {
    let mut words = vec![String::new()];
    let mut rest = text;
    loop {
        let word = words.last_mut()?;
        let (inner, after) = rest.strip_prefix('\'')?.split_once('\'')?;
        word.push_str(inner);
        rest = after;
        for (quoted, meant) in [("\"'\"", '\''), ("\"\\\\\"", '\\')] {
            if let Some(after) = rest.strip_prefix(quoted) {
                word.push(meant);
                rest = after;
            }
        }
        match rest.strip_prefix(' ') {
            Some(after) => {
                rest = after;
                words.push(String::new());
            }
            None if rest.is_empty() => return Some(words),
            None => {}
        }
    }
}

/// Writes the file in `bin` for a command.
pub(super) fn launcher(entry: &EntryPoint, interpreter: &Interpreter) -> String {
    let EntryPoint { module, object, .. } = entry;
    let imported = object.split('.').next().unwrap_or(object);
    format!(
        "{}import sys\n\nfrom {module} import {imported}\n\nif __name__ == \"__main__\":\n    sys.exit({object}())\n",
        interpreter.first_lines("")
    )
}

/// What a script of `.data/scripts` begins with that is to be run by the environment's Python.
pub(super) const PYTHON: &[u8] = b"#!python";

/// What stands around a script that is run whole, by a file of two lines.
const COMPILED: (&[u8], &[u8]) = (b"exec(compile(b\"", b"\", __file__, \"exec\", dont_inherit=True))\n");

/// Puts the environment's interpreter into the first line of a script that begins with [`PYTHON`].
pub(super) fn rewrite(script: &[u8], interpreter: &Interpreter) -> Vec<u8> {
    let end = script.iter().position(|byte| *byte == b'\n').map_or(script.len(), |at| at + 1);
    let (first, rest) = script.split_at(end);
    // `#!pythonw` is for Windows; the text behind it are the interpreter's own arguments.
    let arguments = first.strip_prefix(PYTHON).unwrap_or_default();
    let arguments = String::from_utf8_lossy(arguments.strip_prefix(b"w").unwrap_or(arguments));
    let arguments = arguments.trim();
    let arguments = if arguments.chars().any(char::is_control) { "" } else { arguments };
    let mut text = interpreter.first_lines(arguments).into_bytes();
    let future = rest.windows(10).any(|bytes| bytes == b"__future__");
    if interpreter.is_direct(arguments) || std::str::from_utf8(rest).is_ok() && !future {
        text.extend_from_slice(rest);
        return text;
    }
    // A text before it would be one statement too many for `from __future__`, and the second line is too late for a
    // script to name its encoding: it is run whole instead.
    text.extend_from_slice(COMPILED.0);
    text.extend_from_slice(bytes_literal(script).as_bytes());
    text.extend_from_slice(COMPILED.1);
    text
}

/// Returns a script of `bin` with `#!python` as its first line instead of the one that an installer wrote, whatever the
/// environment's Python is called and whether or not it takes `/bin/sh` to start it: what does not depend on where the
/// environment is. `own` says whether an interpreter is the environment's; what it is given as arguments is lost, since some
/// installers drop it. `None` for what is started by something else.
pub fn unbound(script: &[u8], own: &dyn Fn(&Launch) -> bool) -> Option<Vec<u8>> {
    let (first, rest) = split_lines(script, 1);
    if first.starts_with(PYTHON) {
        return Some([PYTHON, b"\n", rest].concat());
    }
    let launch = Launch::of(script)?;
    if !own(&launch) {
        return None;
    }
    let (_, rest) = split_lines(script, if first.trim_ascii_end() == b"#!/bin/sh" { 2 } else { 1 });
    if let Some(inner) = rest.strip_prefix(COMPILED.0).and_then(|rest| rest.strip_suffix(COMPILED.1)) {
        let inner = read_literal(inner)?;
        return Some([PYTHON, b"\n", split_lines(&inner, 1).1].concat());
    }
    Some([PYTHON, b"\n", rest].concat())
}

/// Splits a text behind so many lines.
fn split_lines(text: &[u8], lines: usize) -> (&[u8], &[u8]) {
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    text.split_at(ends.map(|(at, _)| at + 1).nth(lines - 1).unwrap_or(text.len()))
}

/// Writes bytes as Python writes them, without `b` and quotes.
fn bytes_literal(bytes: &[u8]) -> String {
    // What `escape_ascii` escapes, Python reads: \t, \r, \n, \', \", \\ and \x followed by two digits.
    bytes.escape_ascii().map(char::from).collect()
}

/// Reads what [`bytes_literal`] writes.
fn read_literal(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        let read = match byte {
            b'\\' => match rest.next()? {
                b't' => b'\t',
                b'r' => b'\r',
                b'n' => b'\n',
                b'x' => {
                    let mut digit = || char::from(*rest.next()?).to_digit(16);
                    u8::try_from(digit()? * 16 + digit()?).ok()?
                }
                other @ (b'\'' | b'"' | b'\\') => *other,
                _ => return None,
            },
            b'"' => return None,
            other => *other,
        };
        bytes.push(read);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Vec<(Kind, String)> {
        let found = parse(text.as_bytes()).unwrap();
        found.into_iter().map(|one| (one.kind, format!("{}={}:{}", one.name, one.module, one.object))).collect()
    }

    #[test]
    fn commands_are_read() {
        let text = "[other]\nwhat ever\n\n[console_scripts]\n# no\npip = pip._internal.cli:main\npip3.13=a:B.c [x,y]\n\
                    [ gui_scripts ]\nidle-3=idle:run\nidle-3 = idle:run\n[console_scripts]\nnaïve=mödule:f\n";
        let expected = [
            (Kind::Console, "pip=pip._internal.cli:main"),
            (Kind::Console, "pip3.13=a:B.c"),
            (Kind::Gui, "idle-3=idle:run"),
            (Kind::Console, "naïve=mödule:f"),
        ];
        assert_eq!(entry(text), expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn commands_that_cannot_be() {
        let check = |line: &str, expected: &str| match parse(format!("[console_scripts]\n{line}").as_bytes()) {
            Err(Fault::EntryPoint { line: 2, reason }) => assert_eq!(reason, expected, "{line}"),
            other => panic!("{line}: {other:?}"),
        };
        let (name, call) = ("names a command that is no file name", "does not say what to call, as `module:function`");
        check("x", "has no `=`");
        for bad in ["../x = a:b", "a/b = a:b", " = a:b", ".. = a:b", "a\\b = a:b", "a\x1b = a:b"] {
            check(bad, name);
        }
        for bad in ["x = a", "x = a:", "x = :b", "x = a b:c", "x = a:b()", "x = a:b;import os", "x = a:b [x", "x = 1:b"]
        {
            check(bad, call);
        }
        let twice = parse(b"[console_scripts]\nx = a:b\n[gui_scripts]\nx = a:c\n").unwrap_err();
        assert_eq!(twice.to_string(), "line 4 of its entry_points.txt names a command for the second time");
    }

    #[test]
    fn a_launcher_imports_and_calls() {
        let [entry] = &parse(b"[console_scripts]\nx = pkg.cli:App.run\n").unwrap()[..] else { panic!() };
        let python = Interpreter::new("/p/.venv/bin/python").unwrap();
        let expected = "#!/p/.venv/bin/python\nimport sys\n\nfrom pkg.cli import App\n\nif __name__ == \"__main__\":\n    \
                        sys.exit(App.run())\n";
        assert_eq!(launcher(entry, &python), expected);
    }

    #[test]
    fn long_paths_and_blanks_go_through_sh() {
        let check = |path: &str, expected: &str| {
            assert_eq!(Interpreter::new(path).unwrap().first_lines(""), expected);
        };
        check("/a/python", "#!/a/python\n");
        check("/実験/python", "#!/実験/python\n");
        check("/a b/python", "#!/bin/sh\n'exec' '/a b/python' \"$0\" \"$@\"\n");
        check("/a b's $x\\y/\"`z`", "#!/bin/sh\n'exec' '/a b'\"'\"'s $x'\"\\\\\"'y/\"`z`' \"$0\" \"$@\"\n");
        let fits = format!("/{}", "x".repeat(123));
        check(&fits, &format!("#!{fits}\n"));
        check(&format!("{fits}x"), &format!("#!/bin/sh\n'exec' '{fits}x' \"$0\" \"$@\"\n"));
        for bad in ["", "/a\nb", "/a\0"] {
            assert!(Interpreter::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_starts_a_command_is_read_back() {
        let long = format!("/{}/python", "x".repeat(200));
        for path in
            ["/v/python", "/v\u{3000}v/python", "/v v/python3.13", "/it's/\\'\\\\'/\"`$x`/p", "/実験/é p", &long]
        {
            for arguments in ["", "-u", "-X dev -W it's"] {
                let start = Interpreter::new(path).unwrap().first_lines(arguments);
                let expected = Launch {
                    interpreter: path.to_owned(),
                    arguments: arguments.split_whitespace().map(str::to_owned).collect(),
                };
                assert_eq!(Launch::of(format!("{start}import sys\n").as_bytes()), Some(expected), "{start}");
            }
        }
        let others: [&[u8]; 8] = [
            b"",
            b"#!",
            b"\x7fELF\x02\n",
            b"#!/bin/sh",
            b"#!/bin/sh\necho 'exec' 'x' \"$0\" \"$@\"\n",
            b"#!/bin/sh\n'exec' x \"$0\" \"$@\"\n",
            b"#!/bin/sh\n'exec' 'x'y \"$0\" \"$@\"\n",
            b"#!\xff\n",
        ];
        for other in others {
            assert_eq!(Launch::of(other), None, "{}", other.escape_ascii());
        }
        assert_eq!(Launch::of(b"#!/bin/bash\n").unwrap().interpreter, "/bin/bash");
    }

    #[test]
    fn scripts_get_the_interpreter() {
        let direct = Interpreter::new("/v/python").unwrap();
        let blank = Interpreter::new("/v v/python").unwrap();
        let check = |interpreter: &Interpreter, script: &str, expected: &str| {
            assert_eq!(String::from_utf8(rewrite(script.as_bytes(), interpreter)).unwrap(), expected, "{script}");
        };
        check(&direct, "#!python\nprint()\n", "#!/v/python\nprint()\n");
        check(&direct, "#!pythonw\r\nprint()\n", "#!/v/python\nprint()\n");
        check(&direct, "#!python -u\n", "#!/v/python -u\n");
        check(&direct, "#!python", "#!/v/python\n");
        let trampoline = "#!/bin/sh\n'exec' '/v v/python' \"$0\" \"$@\"\n";
        check(&blank, "#!python\nprint('é')\n", &format!("{trampoline}print('é')\n"));
        check(&blank, "#!python -u\n", "#!/bin/sh\n'exec' '/v v/python' '-u' \"$0\" \"$@\"\n");
        check(
            &blank,
            "#!python\n'''x'''\nfrom __future__ import annotations\n",
            &format!(
                "{trampoline}exec(compile(b\"#!python\\n\\'\\'\\'x\\'\\'\\'\\nfrom __future__ import annotations\\n\", \
                 __file__, \"exec\", dont_inherit=True))\n"
            ),
        );
        let latin = rewrite(b"#!python\n# coding: latin-1\nprint('\xe9')\n", &blank);
        assert!(String::from_utf8(latin).unwrap().contains("\\xe9"));
    }

    #[test]
    fn a_script_without_its_interpreter_is_the_same_wherever_it_is() {
        let scripts: [&[u8]; 4] = [
            b"#!python -u\nprint('a')\n",
            b"#!python\n'''x'''\nfrom __future__ import annotations\nx = \"\\t\"\t\r\n",
            b"#!python\n# coding: latin-1\nprint('\xe9')\n",
            b"#!python",
        ];
        let paths = ["/v/python", "/v v/it's/python", "/w/python3.13"];
        let own = |launch: &Launch| paths.contains(&&*launch.interpreter) || launch.interpreter == "/usr/bin/env";
        let minor: PythonMinor = "3.13".parse().unwrap();
        for script in scripts {
            let expected = unbound(script, &|_| false).unwrap();
            assert!(expected.starts_with(b"#!python\n"));
            let bound = paths.map(|path| Interpreter::new(path).unwrap()).into_iter();
            for interpreter in bound.chain([Interpreter::on_path(minor)]) {
                let bound = rewrite(script, &interpreter);
                assert_eq!(unbound(&bound, &own).unwrap(), expected, "{}", bound.escape_ascii());
                assert_eq!(unbound(&bound, &|_| false), None);
            }
        }
        assert_eq!(unbound(b"\xcf\xfa\xed\xfe", &own), None);
        assert_eq!(unbound(b"", &own), None);
    }
}
