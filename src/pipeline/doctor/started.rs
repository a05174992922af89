//! What starts a script: its first line, and what stands behind the `/bin/sh` that takes the place of a line which is too
//! long or has a blank in it. Pure.

use crate::install::Launch;

/// How much of a script tells what starts it: a path of 4,096 bytes, some of them quoted.
pub(super) const MOST: u64 = 8 * 1024;

/// What starts a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Started {
    /// The first line as it is written, `#!` and all.
    pub(super) line: String,
    /// The program.
    pub(super) program: String,
    /// What it is given before the script.
    pub(super) arguments: Vec<String>,
    /// Whether a shell starts it, for which lengths and blanks do not matter.
    pub(super) by_shell: bool,
}

impl Started {
    /// Reads the beginning of a file; `None` for what is no script.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        let end = start.iter().position(|byte| *byte == b'\n').unwrap_or(start.len());
        let line = String::from_utf8_lossy(&start[..end]).trim_end().to_owned();
        let words = line.strip_prefix("#!")?.split([' ', '\t']).filter(|word| !word.is_empty());
        let mut words = words.map(str::to_owned);
        let first = words.next().unwrap_or_default();
        if first == "/bin/sh" {
            let behind = Launch::of(start).map(|launch| (launch.interpreter, launch.arguments));
            if let Some((program, arguments)) = behind.or_else(|| exec(&start[end..])) {
                return Some(Self { line, program, arguments, by_shell: true });
            }
        }
        let arguments = words.collect();
        Some(Self { line, program: first, arguments, by_shell: false })
    }

    /// Returns the name that `env` looks for on PATH; `None` where it is not `env` that starts the script.
    pub(super) fn of_env(&self) -> Option<&str> {
        if !self.program.ends_with("/env") {
            return None;
        }
        let words = self.arguments.iter().map(String::as_str);
        words.filter(|word| !word.contains('=')).find_map(|word| match word.strip_prefix("-S") {
            Some(rest) => Some(rest).filter(|rest| !rest.is_empty()),
            None => Some(word).filter(|word| !word.starts_with('-')),
        })
    }
}

/// Reads the second line as pip, uv and conda write it: `'''exec' "/path/python" "$0" "$@"`.
fn exec(rest: &[u8]) -> Option<(String, Vec<String>)> {
    let line = rest.split(|byte| *byte == b'\n').nth(1)?;
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let words = line.strip_prefix("'''exec' ")?.strip_suffix(" \"$0\" \"$@\"")?;
    let mut words = shell_words(words)?.into_iter();
    let program = words.next()?;
    Some((program, words.collect()))
}

/// Takes words of a shell apart; `None` where the shell would put something in.
fn shell_words(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let (mut open, mut quote) = (false, None);
    let mut rest = text.chars();
    while let Some(one) = rest.next() {
        match (one, quote) {
            (one, Some(end)) if one == end => quote = None,
            ('$' | '`', None | Some('"')) => return None,
            (' ' | '\t', None) => {
                open = false;
                continue;
            }
            (one, of) => {
                if !open {
                    words.push(String::new());
                    open = true;
                }
                match (one, of) {
                    ('"' | '\'', None) => quote = Some(one),
                    ('\\', None | Some('"')) => words.last_mut()?.push(rest.next()?),
                    (one, _) => words.last_mut()?.push(one),
                }
            }
        }
    }
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_behind_shells_and_env() {
        let check = |text: &str, program: &str, env: Option<&str>| {
            let started = Started::of(text.as_bytes()).unwrap();
            assert_eq!((started.program.as_str(), started.of_env()), (program, env), "{text}");
        };
        check("#!/v/bin/python\nprint()\n", "/v/bin/python", None);
        check("#! /v/bin/python -I", "/v/bin/python", None);
        check("#!/v v/python\n", "/v", None);
        check("#!/usr/bin/env python3\n", "/usr/bin/env", Some("python3"));
        check("#!/usr/bin/env -S A=1 python3 -E\n", "/usr/bin/env", Some("python3"));
        check("#!/usr/bin/env -Spython3 -E\n", "/usr/bin/env", Some("python3"));
        check("#!/usr/bin/env\n", "/usr/bin/env", None);
        check("#!/bin/sh\n'''exec' \"/v v/python\" \"$0\" \"$@\"\n' '''\n", "/v v/python", None);
        check("#!/bin/sh\n'''exec' '/v v/python' -I \"$0\" \"$@\"\n' '''\n", "/v v/python", None);
        check("#!/bin/sh\n'''exec' /v/python \"$0\" \"$@\"\n", "/v/python", None);
        check("#!/bin/sh\n'exec' '/v v/python' \"$0\" \"$@\"\n", "/v v/python", None);
        check("#!/bin/sh\n'''exec' \"$(dirname -- \"$0\")\"/'python' \"$0\" \"$@\"\n", "/bin/sh", None);
        check("#!/bin/sh\nexec python \"$@\"\n", "/bin/sh", None);
        check("#!\n", "", None);
        assert_eq!(Started::of(b"\x7fELF"), None);
        assert_eq!(Started::of(b""), None);
    }
}
