//! The devices of Metal, as a process of macml's own sees them: it is asked in one that may end in any way, within a second.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::Duration;

use crate::doctor::facts::Metal;
use crate::doctor::facts::MetalDevice;
use crate::sys;
use crate::sys::mac;
use crate::sys::process;
use crate::sys::process::{End, Output, Program};

use super::Look;

/// The word that makes macml answer with [`metal_answer`]; nobody types it.
pub const METAL_WORD: &str = "--metal-devices-of-this-process";

/// What closes a whole answer.
const END: &str = "end";

/// How long an answer is waited for.
const LIMIT: Duration = Duration::from_secs(1);

/// Asks for the devices; `None` on a system without Metal. What could not be seen is why.
pub(super) fn metal(look: &Look<'_>) -> Option<Result<Metal, String>> {
    if !cfg!(target_os = "macos") {
        return None;
    }
    Some(ask(look))
}

fn ask(look: &Look<'_>) -> Result<Metal, String> {
    let path = sys::own_path(OsStr::new("macml"), look.env).map_err(|error| error.to_string())?;
    let home = look.env.get("HOME").map(|home| ("HOME".to_owned(), home.to_owned()));
    let env: BTreeMap<String, String> = home.into_iter().collect();
    let output = process::run(&Program { path, args: vec![METAL_WORD.into()], env, limit: LIMIT });
    read(&output.map_err(|error| error.to_string())?)
}

/// Asks Metal in this process, and returns what is to be printed.
pub fn metal_answer() -> String {
    match mac::devices() {
        Ok(devices) => {
            let line = |(name, bytes): &mac::Device| format!("{bytes} {}\n", name.replace(['\n', '\r'], " "));
            devices.iter().map(line).chain([format!("{END}\n")]).collect()
        }
        Err(error) => format!("error {error}\n"),
    }
}

/// Reads an answer.
fn read(output: &Output) -> Result<Metal, String> {
    match output.end {
        End::Code(0) => {}
        End::Code(code) => return Err(format!("what asked ended with code {code}")),
        End::Signal(signal) => return Err(format!("what asked was ended by signal {signal}")),
        End::OutOfTime => return Err(format!("no answer within {} s", LIMIT.as_secs())),
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut devices = Vec::new();
    for line in text.lines() {
        match line.split_once(' ') {
            None if line == END => return Ok(Metal { devices }),
            Some(("error", error)) => return Err(error.to_owned()),
            Some((bytes, name)) => {
                let bytes: u64 = bytes.parse().map_err(|_| "the answer is not understood".to_owned())?;
                devices
                    .push(MetalDevice { name: name.to_owned(), working_set: Some(bytes).filter(|bytes| *bytes > 0) });
            }
            None => break,
        }
    }
    Err("the answer is not whole".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(end: End, stdout: &str) -> Result<Vec<(String, Option<u64>)>, String> {
        let output = Output { end, stdout: stdout.into(), stderr: Vec::new() };
        let device = |one: MetalDevice| (one.name, one.working_set);
        read(&output).map(|metal| metal.devices.into_iter().map(device).collect())
    }

    #[test]
    fn answers_are_read_and_those_that_broke_off_say_so() {
        let m3 = ("Apple M3 Max".to_owned(), Some(28_991_029_248));
        let check = |end, stdout: &str, error: &str| assert_eq!(told(end, stdout).unwrap_err(), error, "{stdout}");
        assert_eq!(told(End::Code(0), "28991029248 Apple M3 Max\nend\n"), Ok(vec![m3]));
        assert_eq!(told(End::Code(0), "0 Apple Paravirtual device\nend\n").unwrap()[0].1, None);
        assert_eq!(told(End::Code(0), "end\n"), Ok(Vec::new()));
        check(End::Code(0), "28991029248 Apple M3 Max\n", "the answer is not whole");
        check(End::Code(0), "", "the answer is not whole");
        check(End::Code(0), "running 0 tests\nend\n", "the answer is not understood");
        check(End::Code(0), "error `x` cannot be loaded\n", "`x` cannot be loaded");
        check(End::Code(2), "end\n", "what asked ended with code 2");
        check(End::Signal(6), "end\n", "what asked was ended by signal 6");
        check(End::OutOfTime, "", "no answer within 1 s");
    }

    #[test]
    fn what_is_printed_is_understood() {
        let read = told(End::Code(0), &metal_answer());
        if !cfg!(target_os = "macos") {
            assert_eq!(read, Err("there is no Metal on this system".to_owned()));
        }
    }
}
