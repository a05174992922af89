//! `FallbackNotes`: what Pythons note of operators that torch left to the CPU, in a file of one run.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::first;
use crate::sys::fs;
use crate::sys::fs::{Durability, FsError};

/// What Python runs.
const HOOK: &str = include_str!("fallbacks.py");

/// How much of the notes is read.
const MOST: u64 = 8 << 20;

/// The file with notes; it goes when this value does.
#[derive(Debug)]
pub struct FallbackNotes {
    file: PathBuf,
}

/// What was noted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Noted {
    /// How many processes of Python there were that could be looked into.
    pub pythons: usize,
    /// The torch of each process that loaded one.
    pub loaded: Vec<Loaded>,
    /// What torch said in a process, and the line of the program that was at it.
    pub said: Vec<(u32, String, Option<String>)>,
    /// Programs that set the variable after torch had read it.
    pub late: Vec<Late>,
    /// What the notes could not be taken of.
    pub troubles: BTreeSet<String>,
}

/// A torch that was loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// Its version.
    pub version: String,
    /// The value of the variable that it read.
    pub read: Option<String>,
    /// Whether the program had set that itself.
    pub own: bool,
}

/// The variable was set when torch had read it already.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Late {
    /// The value that the program set.
    pub set: Option<String>,
    /// The value that torch had read.
    pub read: Option<String>,
}

/// A line of the file.
#[derive(Deserialize)]
struct Line {
    process: u32,
    python: Option<String>,
    torch: Option<String>,
    read: Option<String>,
    #[serde(default)]
    own: bool,
    said: Option<String>,
    at: Option<String>,
    /// There, and perhaps nothing.
    #[serde(default, deserialize_with = "there")]
    late: Option<Option<String>>,
    trouble: Option<String>,
}

impl Line {
    /// Makes each text one line: it is shown within others.
    fn flat(mut self) -> Self {
        let late = self.late.iter_mut().flatten();
        let texts = [&mut self.torch, &mut self.read, &mut self.said, &mut self.at, &mut self.trouble];
        for text in texts.into_iter().flatten().chain(late) {
            *text = text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
        }
        self
    }
}

fn there<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl FallbackNotes {
    /// Puts the file for Python in place and an empty one for notes; returns the variables that are set where PYTHONPATH was
    /// `path`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn begin(state: &Path, path: Option<&OsStr>) -> Result<(Self, [(OsString, OsString); 2]), FsError> {
        let path = first::put(state, "fallbacks", HOOK, path)?;
        let file = state.join("fallbacks").join(format!("{}.notes", fs::secret()?));
        fs::write_atomic(&file, b"", Durability::Cached)?;
        let changes = [("PYTHONPATH".into(), path), ("MACML_FALLBACKS".into(), file.clone().into_os_string())];
        Ok((Self { file }, changes))
    }

    /// Reads what was noted until now.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&self) -> Result<Noted, FsError> {
        // The program knows where it is.
        let bytes = match fs::kind(&self.file)? {
            Some(fs::Kind::File) => fs::read_start(&self.file, MOST)?.unwrap_or_default(),
            _ => Vec::new(),
        };
        Ok(Noted::of(&String::from_utf8_lossy(&bytes)))
    }
}

impl Drop for FallbackNotes {
    fn drop(&mut self) {
        // What stays is a few lines.
        let _ = fs::remove_file(&self.file);
    }
}

impl Noted {
    fn of(text: &str) -> Self {
        let mut noted = Self::default();
        // A process that was killed may have left half a line.
        for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()).map(Line::flat) {
            noted.pythons += usize::from(line.python.is_some());
            if let Some(version) = line.torch {
                noted.loaded.push(Loaded { version, read: line.read.clone(), own: line.own });
            }
            if let Some(said) = line.said {
                noted.said.push((line.process, said, line.at));
            }
            if let Some(set) = line.late {
                noted.late.push(Late { set, read: line.read });
            }
            noted.troubles.extend(line.trouble);
        }
        noted
    }
}
