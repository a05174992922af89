//! `Venv`: what an environment has besides wheels, so that Python takes it for one.
//!
//! <https://peps.python.org/pep-0405/>. Nothing in it names the folder that it is made in, which gets another name.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::generation::IN_USE_NAME;
use super::stamp::STAMP_NAME;
use crate::install;
use crate::python::Interpreter;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::tree;
use crate::sys::tree::{Mode, NewFile};

/// The file that puts `[project] paths` on the import path.
const PTH: &str = "macml-project.pth";

/// The script that stands where people look for pip.
const PIP: &str = include_str!("pip.py");

/// Whose `pip` and `pip3` are in `bin`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pip {
    /// A script of macml's that lists what is there, and says how to change it.
    Launcher,
    /// That of the lock.
    Locked,
}

/// An environment without packages, before it is there.
#[derive(Clone, Copy, Debug)]
pub struct Venv<'a> {
    /// What it is made from.
    pub python: &'a Interpreter,
    /// What its commands start: the `python` behind the link that people name.
    pub commands: &'a install::Interpreter,
    /// What the prompt shows.
    pub prompt: &'a str,
    /// The project's folder, with every link followed.
    pub project: &'a Path,
    /// `[project] paths`, relative to it.
    pub paths: &'a [String],
    /// Whose `pip` is in it.
    pub pip: Pip,
}

/// Why an environment cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum VenvError {
    /// pyvenv.cfg has one line for each value.
    #[error("no environment can be made from `{}`: its path holds a line break, or is no UTF-8", .0.display())]
    Unwritable(PathBuf),
    /// A file or folder could not be made.
    #[error(transparent)]
    File(#[from] FsError),
}

/// Lists the paths that are the environment's own besides those of [`install::Layout::venv`], relative to its root.
pub(super) fn own_paths(site: &str, pip: Pip) -> Vec<String> {
    let python = site.split('/').nth(1).unwrap_or("python3");
    let commands = ["python", "python3", python, "activate", "activate.fish", "activate.csh", "Activate.ps1"];
    let pips: &[&str] = match pip {
        Pip::Launcher => &["pip", "pip3"],
        Pip::Locked => &[],
    };
    let commands = commands.iter().chain(pips).map(|name| format!("bin/{name}"));
    let others = ["pyvenv.cfg", ".gitignore", STAMP_NAME, IN_USE_NAME].map(str::to_owned);
    commands.chain(others).chain([format!("{site}/{PTH}")]).collect()
}

impl Venv<'_> {
    /// Returns the folder that packages lie in, relative to the root.
    pub fn site(&self) -> String {
        let (major, minor) = self.python.minor;
        format!("lib/python{major}.{minor}/site-packages")
    }

    /// Lists the paths that are its own, for [`install::Layout::reserving`]: no wheel may own them.
    pub fn own_paths(&self) -> Vec<String> {
        let mut paths = own_paths(&self.site(), self.pip);
        if self.has_lib64() {
            paths.push("lib64".to_owned());
        }
        paths
    }

    /// Makes it below a folder that is there, and in which none of its files is. Activation scripts are
    /// another's to add.
    ///
    /// # Errors
    /// When its Python cannot be named in it, or a file cannot be made.
    pub fn write(&self, root: &Path) -> Result<(), VenvError> {
        let config = self.config()?;
        let site = self.site();
        tree::make_folder(&root.join("bin"))?;
        let mut folder = root.to_owned();
        // Python makes the last one at the first import of a module that is a single file, which would change the time
        // of the folder above it.
        for name in site.split('/').chain(["__pycache__"]) {
            folder.push(name);
            tree::make_folder(&folder)?;
        }
        if self.has_lib64() {
            tree::symlink(Path::new("lib"), &root.join("lib64"))?;
        }
        let (major, minor) = self.python.minor;
        tree::symlink(&self.python.path, &root.join("bin/python"))?;
        for name in ["python3".to_owned(), format!("python{major}.{minor}")] {
            tree::symlink(Path::new("python"), &root.join("bin").join(name))?;
        }
        put(&root.join(".gitignore"), b"*\n", Mode::PLAIN)?;
        if !self.paths.is_empty() {
            put(&root.join(&site).join(PTH), self.pth().as_bytes(), Mode::PLAIN)?;
        }
        if self.pip == Pip::Launcher {
            let text = self.commands.script(PIP);
            for name in ["bin/pip", "bin/pip3"] {
                put(&root.join(name), &text, Mode::PROGRAM)?;
            }
        }
        Ok(put(&root.join("pyvenv.cfg"), config.as_bytes(), Mode::PLAIN)?)
    }

    fn has_lib64(&self) -> bool {
        self.python.platlibdir == "lib64"
    }

    /// Returns `[project] paths` as Python needs them.
    fn folders(&self) -> Vec<PathBuf> {
        // Without the dots that mean nothing.
        self.paths.iter().map(|path| self.project.join(path).components().collect()).collect()
    }

    /// Writes pyvenv.cfg.
    fn config(&self) -> Result<String, VenvError> {
        let line = |path: &Path| match path.to_str() {
            Some(text) if !text.contains(['\n', '\r']) => Ok(text.to_owned()),
            _ => Err(VenvError::Unwritable(path.to_owned())),
        };
        let prompt: String = self.prompt.chars().filter(|char| !char.is_control()).collect();
        Ok(format!(
            "home = {}\ninclude-system-site-packages = false\nversion = {}\nexecutable = {}\nprompt = {prompt}\n\
             macml = {}\n",
            line(&self.home()?)?,
            self.python.version,
            line(&self.python.resolved)?,
            env!("CARGO_PKG_VERSION"),
        ))
    }

    /// Returns the folder from which Python finds its standard library: beside it, or beside the file that its path leads
    /// to. Python follows no link there itself, and `/usr/local/bin/python3` may be one to anywhere.
    fn home(&self) -> Result<PathBuf, FsError> {
        let (major, minor) = self.python.minor;
        let folder = |path: &Path| path.parent().unwrap_or(Path::new("/")).to_owned();
        let lasting = folder(&self.python.path);
        for home in [&lasting, &folder(&self.python.resolved)] {
            let above = folder(home);
            for lib in ["lib", &self.python.platlibdir] {
                if fs::size(&above.join(format!("{lib}/python{major}.{minor}/os.py")))?.is_some() {
                    return Ok(home.clone());
                }
            }
        }
        // A framework finds its own by where its library lies.
        Ok(lasting)
    }

    /// Writes the file that puts the project's folders on the import path.
    fn pth(&self) -> String {
        let mut text = String::new();
        for folder in self.folders() {
            match folder
                .to_str()
                .filter(|path| path.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !path.ends_with(' '))
            {
                Some(path) => text.push_str(path),
                // Before 3.13 Python reads the file in the encoding of the locale, which need not have these letters.
                None => {
                    let bytes = folder.as_os_str().as_bytes().escape_ascii();
                    write!(text, "import os, sys; sys.path.append(os.fsdecode(b\"{bytes}\"))")
                        .expect("writing to a text does not fail");
                }
            }
            text.push('\n');
        }
        text
    }
}

fn put(path: &Path, bytes: &[u8], mode: Mode) -> Result<(), FsError> {
    let mut file = NewFile::create(path, mode)?;
    file.write(bytes)?;
    file.finish(None)
}

/// Lists those of `[project] paths` that are no folders of the project: Python passes over them.
pub fn missing_paths<'a>(project: &Path, paths: &'a [String]) -> Vec<&'a String> {
    let is_folder = |path: &Path| matches!(fs::kind(path), Ok(Some(fs::Kind::Folder)));
    paths.iter().filter(|path| !is_folder(&project.join(path))).collect()
}
