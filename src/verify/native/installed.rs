//! What torch is in an environment, told from its files: asking its Python would import it, and that may be what hangs.

use std::path::{Path, PathBuf};

use crate::pep::Version;
use crate::sys::fs;
use crate::sys::fs::FsError;

/// A torch in an environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Torch {
    /// `site-packages/torch`, which holds `include` and `lib`: what tch calls `LIBTORCH`.
    pub folder: PathBuf,
    /// Its version, with the local one that says for which accelerator it was built.
    pub version: Version,
}

impl Torch {
    /// Looks for it in a `site-packages`; `None` when there is no torch, or one that does not say its version.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn inside(site_packages: &Path) -> Result<Option<Self>, FsError> {
        let folder = site_packages.join("torch");
        let Some(text) = fs::read_text(&folder.join("version.py"))? else { return Ok(None) };
        Ok(stated(&text).map(|version| Self { folder, version }))
    }

    /// Returns the folder of its libraries.
    pub fn libraries(&self) -> PathBuf {
        self.folder.join("lib")
    }
}

/// Reads `__version__ = '2.13.0+cu130'`.
fn stated(text: &str) -> Option<Version> {
    let value = text.lines().find_map(|line| line.strip_prefix("__version__")?.trim_start().strip_prefix('='))?;
    value.trim().trim_matches(['\'', '"']).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(stated(text).map(|version| version.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn the_version_is_read_from_what_torch_writes() {
        // As in torch 2.13.0 and 2.1.0.
        check(
            "from typing import Optional\n\n__all__ = ['__version__']\n__version__ = '2.13.0+cu130'\n",
            Some("2.13.0+cu130"),
        );
        check("__version__ = '2.1.0'\ndebug = False\n", Some("2.1.0"));
        check("__version__ = \"2.15.0a0+gitcf30153\"", Some("2.15.0a0+gitcf30153"));
        check("debug = False\n", None);
        check("__version__ = version()\n", None);
    }

    #[test]
    fn a_folder_without_torch_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Torch::inside(folder.path()).unwrap(), None);
        assert_eq!(Torch::inside(&folder.path().join("missing")).unwrap(), None);
    }
}
