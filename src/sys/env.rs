//! `Env`: environment variables, working folder and home, taken once or built from a map.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A snapshot of what the process was given.
#[derive(Clone, Debug)]
pub struct Env {
    vars: BTreeMap<String, String>,
    /// Those with a value that is no text.
    no_text: BTreeSet<String>,
    cwd: PathBuf,
}

impl Env {
    /// Takes the snapshot of this process. Called once, in the binary.
    ///
    /// # Errors
    /// When the working folder does not exist any more.
    pub fn capture() -> std::io::Result<Self> {
        let cwd = std::env::current_dir()?;
        let (mut vars, mut no_text) = (BTreeMap::new(), BTreeSet::new());
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(vars.insert(name, value)),
                Err(_) => drop(no_text.insert(name)),
            }
        }
        Ok(Self { vars, no_text, cwd })
    }

    /// Builds one for tests.
    pub fn from_map(vars: BTreeMap<String, String>, cwd: PathBuf) -> Self {
        Self { vars, no_text: BTreeSet::new(), cwd }
    }

    /// Returns a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns a variable that is set, be it to nothing.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str)
    }

    /// Returns whether what a variable is set to, if it is, is text.
    pub fn is_text(&self, name: &str) -> bool {
        !self.no_text.contains(name)
    }

    /// Returns the working folder.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the home folder.
    pub fn home(&self) -> Option<&Path> {
        self.get("HOME").map(Path::new)
    }

    /// Returns the folder for a kind of files of this user, such as `~/.local/state`; `None` without a home.
    pub fn folder(&self, kind: Folder) -> Option<PathBuf> {
        let (variable, below_home) = match kind {
            Folder::Cache => ("XDG_CACHE_HOME", ".cache"),
            Folder::Config => ("XDG_CONFIG_HOME", ".config"),
            Folder::Data => ("XDG_DATA_HOME", ".local/share"),
            Folder::State => ("XDG_STATE_HOME", ".local/state"),
        };
        // The specification has relative paths ignored.
        let named = self.get(variable).map(Path::new).filter(|path| path.is_absolute());
        named.map(Path::to_owned).or_else(|| Some(self.home()?.join(below_home)))
    }
}

/// Kinds of files of a user, each in a folder of its own, by the XDG base directory specification: on Macs too, where
/// people of the command line look for them there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Folder {
    /// What can be made again.
    Cache,
    /// Settings.
    Config,
    /// What is kept.
    Data,
    /// What was noted, and is of use on this machine only.
    State,
}
