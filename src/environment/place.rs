//! `Place`: where an environment of a project lies, and what stands at its link.

use std::path::{Path, PathBuf};

use crate::sys;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::tree;

/// Where an environment of a project lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The project's folder with every link followed, so that it is one however it is reached.
    pub project: PathBuf,
    /// The environment's name.
    pub env: String,
    /// What people and editors name: `.venv`, or `.venv-NAME`.
    pub link: PathBuf,
    /// The folder of its generations.
    pub store: PathBuf,
}

/// What stands at the link of an environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// Our link, to this generation, which need not be there any more.
    Ours(PathBuf),
    /// Something that macml did not make.
    Foreign,
}

impl Place {
    /// Finds it out. `data` is this user's folder for macml's own files, where the environments of projects lie whose
    /// own folder does not suit them.
    ///
    /// # Errors
    /// When the project's folder is not there or cannot be looked at.
    pub fn of(project: &Path, env: &str, data: Option<&Path>) -> Result<Self, FsError> {
        let absent =
            || FsError { doing: "look at", path: project.to_owned(), cause: std::io::ErrorKind::NotFound.into() };
        let project = sys::resolve(project)?.ok_or_else(absent)?;
        let _ = data;
        let store = project.join(".macml/env").join(env);
        let link = project.join(Self::link_name(env));
        Ok(Self { project, env: env.to_owned(), link, store })
    }

    /// Returns the name of an environment's link.
    pub fn link_name(env: &str) -> String {
        if env == "default" { ".venv".to_owned() } else { format!(".venv-{env}") }
    }

    /// Says what stands at the link. A link that leads into the folder of generations is ours.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn standing(&self) -> Result<Standing, FsError> {
        match tree::read_link(&self.link)? {
            Some(target) => {
                let target = self.project.join(target);
                Ok(if target.parent() == Some(&self.store) { Standing::Ours(target) } else { Standing::Foreign })
            }
            None if fs::kind(&self.link)?.is_some() => Ok(Standing::Foreign),
            None => Ok(Standing::Nothing),
        }
    }
}
