//! What it means to be in an environment: the variables that change. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// An environment to be in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activation {
    /// Its root as programs shall see it: the link for a shell, the generation for a program.
    pub root: PathBuf,
    /// What the prompt shows, without brackets.
    pub prompt: String,
    /// `[run.env]`.
    pub run_env: BTreeMap<String, String>,
}

/// What becomes of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// It gets this value.
    Set(String),
    /// It goes.
    Unset,
}

impl Activation {
    /// Lists the variables that change where PATH was `path` and a virtual environment at `before` was active, by name.
    ///
    /// Its own `bin` stands first, once, and that of the environment before is gone. PYTHONHOME goes: with it no virtual
    /// environment works.
    pub fn changes(&self, path: Option<&str>, before: Option<&str>) -> BTreeMap<String, Change> {
        let bin = |root: &str| format!("{}/bin", root.trim_end_matches('/'));
        let own = bin(&self.root.display().to_string());
        let before = before.map(bin);
        let rest = path.unwrap_or("/usr/bin:/bin").split(':');
        let rest = rest.filter(|entry| *entry != own && Some(*entry) != before.as_deref());
        let path = std::iter::once(&*own).chain(rest).collect::<Vec<_>>().join(":");
        let mut changes: BTreeMap<String, Change> =
            self.run_env.iter().map(|(name, value)| (name.clone(), Change::Set(value.clone()))).collect();
        changes.insert("PATH".to_owned(), Change::Set(path));
        changes.insert("VIRTUAL_ENV".to_owned(), Change::Set(self.root.display().to_string()));
        changes.insert("VIRTUAL_ENV_PROMPT".to_owned(), Change::Set(self.prompt.clone()));
        changes.insert("PYTHONHOME".to_owned(), Change::Unset);
        changes
    }
}
