//! `Tree`: which folder is looked at, where its packages lie, and who made it.

use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::environment::STAGED_NAME;
use crate::environment::STAMP_NAME;
use crate::environment::Stamp;
use crate::install::Interpreter;
use crate::install::Launch;
use crate::install::Layout;
use crate::sys::entry;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::tree;
use crate::target::Platform;
use crate::target::PythonMinor;

/// A folder with packages in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    /// The folder.
    pub root: PathBuf,
    /// The folder that packages lie in, relative to it and with `/`.
    pub site: String,
    /// Its Python.
    pub python: PythonMinor,
    /// Who made it.
    pub maker: Maker,
    /// The folders of its Python, as commands may name them.
    pub bins: Vec<PathBuf>,
}

/// Who made a tree, and with it what is known of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maker {
    /// macml: every file below its root is a package's or macml's.
    Macml {
        /// When it was finished.
        done: SystemTime,
    },
    /// Somebody else: whatever lies outside of the folder of packages is theirs, but for what a RECORD names.
    Other,
}

impl Tree {
    /// Takes a generation; `link` is what people and commands name. `None` where its site is none that macml makes.
    ///
    /// # Errors
    /// When its stamp cannot be looked at.
    pub fn generation(root: &Path, stamp: &Stamp, link: &Path) -> Result<Option<Self>, FsError> {
        let (Some(python), Some(stamped)) = (python(&stamp.site), tree::facts(&root.join(STAMP_NAME))?) else {
            return Ok(None);
        };
        let maker = Maker::Macml { done: stamped.modified };
        let bins = vec![link.join("bin"), root.join("bin")];
        Ok(Some(Self { root: root.to_owned(), site: stamp.site.clone(), python, maker, bins }))
    }

    /// Takes a tree that was staged for another machine; `None` where there is none.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn staged(root: &Path) -> Result<Option<Self>, FsError> {
        let Some(mark) = tree::facts(&root.join(STAGED_NAME))? else { return Ok(None) };
        let found = Self::prefixes(root)?.into_iter().next();
        Ok(found.map(|found| Self { maker: Maker::Macml { done: mark.modified }, ..found }))
    }

    /// Lists what a virtual environment or a prefix of conda's may be, one for each Python that it has packages of.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn prefixes(root: &Path) -> Result<Vec<Self>, FsError> {
        let bins = [Some(root.to_owned()), crate::sys::resolve(root)?];
        let bins: Vec<PathBuf> = bins.into_iter().flatten().map(|folder| folder.join("bin")).collect();
        let mut all = Vec::new();
        for lib in ["lib", "lib64"] {
            // Of links another is the folder.
            if tree::read_link(&root.join(lib))?.is_some() {
                continue;
            }
            for folder in entry::folders(&root.join(lib))? {
                let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
                let site = format!("{lib}/{name}/site-packages");
                let is_there = fs::kind(&root.join(&site))? == Some(fs::Kind::Folder);
                if let Some(python) = python(&site).filter(|_| is_there) {
                    all.push(Self { root: root.to_owned(), site, python, maker: Maker::Other, bins: bins.clone() });
                }
            }
        }
        Ok(all)
    }

    /// Returns where the parts of wheels go in it.
    pub fn layout(&self) -> Layout {
        let layout = Layout::venv(self.python, Platform::MacosArm64, Interpreter::on_path(self.python));
        Layout { purelib: self.site.clone(), platlib: self.site.clone(), ..layout }
    }

    /// Returns whether what a command starts is the tree's own Python: the one in its folder, or whichever of its minor
    /// stands first in PATH.
    pub(super) fn starts_own(&self, launch: &Launch) -> bool {
        let minor = format!("python{}", self.python);
        if launch.interpreter == "/usr/bin/env" {
            return launch.arguments.first() == Some(&minor);
        }
        let path = Path::new(&launch.interpreter);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_python = ["python", "python3", &minor].contains(&name);
        is_python && path.parent().is_some_and(|folder| self.bins.iter().any(|bin| bin == folder))
    }
}

/// Reads the Python out of the path of a folder of packages.
fn python(site: &str) -> Option<PythonMinor> {
    site.split('/').find_map(|part| part.strip_prefix("python")?.parse().ok())
}
