//! `Env`: environment variables, working folder and home, taken once or built from a map.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A snapshot of what the process was given.
#[derive(Clone, Debug)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
    cwd: PathBuf,
}

impl Env {
    /// Takes the snapshot of this process. Called once, in the binary.
    ///
    /// # Errors
    /// When the working folder does not exist any more.
    pub fn capture() -> std::io::Result<Self> {
        Ok(Self { vars: std::env::vars_os().collect(), cwd: std::env::current_dir()? })
    }

    /// Builds one for tests.
    pub fn from_map(vars: BTreeMap<String, String>, cwd: PathBuf) -> Self {
        Self { vars: vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect(), cwd }
    }

    /// Returns a variable that is set, not empty, and text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.raw(name)?.to_str()
    }

    /// Returns a variable that is set and not empty, whether it is text or not.
    pub fn raw(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Returns a variable that is set, be it to nothing, and text.
    pub fn even_empty(&self, name: &str) -> Option<&str> {
        self.vars.get(OsStr::new(name))?.to_str()
    }

    /// Returns whether what a variable is set to, if it is, is text.
    pub fn is_text(&self, name: &str) -> bool {
        self.vars.get(OsStr::new(name)).is_none_or(|value| value.to_str().is_some())
    }

    /// Returns all variables whose name and value are text.
    pub fn all(&self) -> BTreeMap<String, String> {
        let text =
            |(name, value): (&OsString, &OsString)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()));
        self.vars.iter().filter_map(text).collect()
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
