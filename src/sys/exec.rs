//! `Exec`: become another program. It keeps this process's number, streams, terminal, limits and open locks, so that
//! nothing has to be passed on to it or back from it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

/// A program to become.
#[derive(Clone, Debug)]
pub struct Exec {
    /// The file to run.
    pub path: PathBuf,
    /// What it is told to be called.
    pub name: OsString,
    /// What follows on the command line.
    pub args: Vec<OsString>,
    /// Variables that get a value, or go; it inherits all others as they are, those that are no text included.
    pub changes: Vec<(OsString, Option<OsString>)>,
    /// The folder to go to first; `None` stays.
    pub folder: Option<PathBuf>,
}

impl Exec {
    /// Becomes it. Returns only when the system refuses, with what it said.
    pub fn become_it(self) -> std::io::Error {
        self.command().exec()
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg0(&self.name).args(&self.args);
        for (name, value) in &self.changes {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }
}
