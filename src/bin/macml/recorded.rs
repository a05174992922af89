//! `--host FILE`: another machine in a file, as facts of `macml doctor --facts` or as a Mac alone.

use std::path::Path;

use macml::doctor::Facts;
use macml::doctor::facts;
use macml::host::Host;
use macml::sys::fs;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::CommandError;

/// How large a file may be: facts of a machine with many environments have a few megabytes.
const LARGEST: u64 = 256 << 20;

/// What the file has.
#[derive(Debug)]
pub(crate) enum Recorded {
    /// Everything that was looked at.
    Facts(Box<Facts>),
    /// A Mac, and nothing else.
    Mac(Box<Host>),
}

/// Reads the file.
pub(crate) fn read(path: &Path, context: &Context) -> Result<Recorded, CommandError> {
    let shown = context.shown(path);
    let bytes = fs::read_start(path, LARGEST + 1).map_err(CommandError::from_disk)?;
    let bytes = bytes.ok_or_else(|| CommandError::usage(format!("there is no file `{shown}`")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(neither(&shown));
    }
    // Some editors put a mark before UTF-8.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| CommandError::usage(format!("`{shown}` is not JSON: {error}")).hint(WRITES))?;
    let has = |key: &str| value.get(key).is_some();
    match value.get("version").and_then(Value::as_u64) {
        Some(0) if has("machine") => {
            Err(CommandError::usage(format!("`{shown}` has facts of form 0, which there never was")))
        }
        Some(version) if version > u64::from(facts::VERSION) && has("machine") => {
            let mine = facts::VERSION;
            let text = format!("`{shown}` has facts of form {version}, and this macml reads form {mine}");
            Err(CommandError::usage(text).hint("update macml"))
        }
        Some(_) if has("machine") => typed(bytes, &shown, "facts").map(|facts| Recorded::Facts(Box::new(facts))),
        None if has("cpu") => typed(bytes, &shown, "a recorded Mac").map(|host| Recorded::Mac(Box::new(host))),
        _ => Err(neither(&shown)),
    }
}

/// Reads bytes again, for the place of what is wrong.
fn typed<T: DeserializeOwned>(bytes: &[u8], shown: &str, what: &str) -> Result<T, CommandError> {
    let said = |error: serde_json::Error| {
        CommandError::usage(format!("`{shown}` is not {what} as macml writes them: {error}"))
    };
    serde_json::from_slice(bytes).map_err(said)
}

fn neither(shown: &str) -> CommandError {
    let text = format!("`{shown}` is neither facts of `macml doctor --facts` nor a recorded Mac");
    CommandError::usage(text).hint(WRITES)
}

/// How such a file is made.
const WRITES: &str = "`macml doctor --facts > FILE` writes one, on the machine that it is about";

impl Recorded {
    /// Returns the Mac.
    pub(crate) fn host(self, path: &Path, context: &Context) -> Result<Host, CommandError> {
        match self {
            Self::Mac(host) => Ok(*host),
            Self::Facts(facts) => {
                let system = facts.machine.system;
                facts.machine.host.ok_or_else(|| {
                    let shown = context.shown(path);
                    match system.as_str() {
                        "" | "macos" => CommandError::usage(format!("`{shown}` does not say which Mac it is of")),
                        system => CommandError::usage(format!("`{shown}` is of no Mac: its system is `{system}`")),
                    }
                })
            }
        }
    }

    /// Returns the facts; of a Mac alone there are few.
    pub(crate) fn facts(self) -> Facts {
        match self {
            Self::Facts(facts) => *facts,
            Self::Mac(host) => {
                let mut facts = Facts { version: facts::VERSION, source: host.source.clone(), ..Facts::default() };
                facts.machine.system = "macos".to_owned();
                facts.memory.total = Some(host.memory);
                facts.machine.host = Some(*host);
                facts
            }
        }
    }
}
