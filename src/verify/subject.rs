//! `Subject`: an environment that probes are started in, macml's own or anybody's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::protocol::Framework;
use crate::environment;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::target::PythonMinor;

/// An environment that probes are started in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// What people call it: its name in macml.toml, or its folder.
    pub name: String,
    /// Its Python.
    pub interpreter: PathBuf,
    /// Where its packages lie.
    pub site_packages: PathBuf,
    /// All variables of a program that runs in it.
    pub vars: BTreeMap<String, String>,
    /// Its distributions.
    pub installed: BTreeMap<PackageName, Version>,
}

impl Subject {
    /// Looks at the environment at `root`, one of `venv`, of conda or of macml; `None` when there is none.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn inside(root: &Path, name: &str, vars: BTreeMap<String, String>) -> Result<Option<Self>, FsError> {
        let interpreter = root.join("bin/python");
        if fs::kind(&interpreter)?.is_none() {
            return Ok(None);
        }
        let library = root.join("lib");
        // A folder of another Python stays behind where `venv --upgrade` was used: the newest is the one that runs.
        let minor = |folder: &String| folder.strip_prefix("python3.")?.trim_end_matches('t').parse::<u32>().ok();
        let newest = fs::names(&library)?.into_iter().filter(|folder| minor(folder).is_some()).max_by_key(minor);
        let Some(folder) = newest else { return Ok(None) };
        let site_packages = library.join(folder).join("site-packages");
        let known = environment::distributions(&site_packages)?.into_iter();
        let installed = known.filter_map(|one| Some((one.name.parse().ok()?, one.version.parse().ok()?))).collect();
        Ok(Some(Self { name: name.to_owned(), interpreter, site_packages, vars, installed }))
    }

    /// Lists the frameworks in it that there is a probe for.
    pub fn frameworks(&self) -> Vec<(Framework, Version)> {
        frameworks(&self.installed)
    }

    /// Returns the minor of its Python.
    pub fn python(&self) -> Option<PythonMinor> {
        let folder = self.site_packages.parent()?.file_name()?.to_str()?;
        folder.strip_prefix("python")?.trim_end_matches('t').parse().ok()
    }
}

/// The packages that a probe loads, and as which framework; one before another that it brings along.
const PACKAGES: [(&str, Framework); 6] = [
    ("torch", Framework::Torch),
    ("tensorflow", Framework::Tensorflow),
    ("tensorflow-macos", Framework::Tensorflow),
    ("tensorflow-cpu", Framework::Tensorflow),
    ("mlx", Framework::Mlx),
    ("coremltools", Framework::Coremltools),
];

/// Returns the framework that a package is, if there is a probe for it.
pub fn framework_of(package: &PackageName) -> Option<Framework> {
    PACKAGES.iter().find(|(name, _)| *name == package.as_str()).map(|(_, framework)| *framework)
}

/// Lists the frameworks among distributions that there is a probe for.
pub fn frameworks(installed: &BTreeMap<PackageName, Version>) -> Vec<(Framework, Version)> {
    let mut found: Vec<(Framework, Version)> = Vec::new();
    for (name, framework) in PACKAGES {
        let version = installed.iter().find(|(installed, _)| installed.as_str() == name);
        // `tensorflow` brings `tensorflow-macos` along.
        if let Some((_, version)) = version
            && found.iter().all(|(known, _)| *known != framework)
        {
            found.push((framework, version.clone()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::tree;
    use crate::sys::tree::{Mode, NewFile};

    fn subject(folders: &[&str]) -> Option<Subject> {
        let root = tempfile::tempdir().unwrap();
        fs::create_folder(&root.path().join("bin")).unwrap();
        NewFile::create(&root.path().join("bin/python"), Mode::PROGRAM).unwrap().finish(None).unwrap();
        for folder in folders {
            fs::create_folder(&root.path().join("lib").join(folder)).unwrap();
        }
        tree::make_folder(&root.path().join("share")).unwrap();
        Subject::inside(root.path(), "x", BTreeMap::new()).unwrap()
    }

    #[test]
    fn frameworks_are_known_by_what_is_installed() {
        let found = subject(&[
            "python3.9/site-packages/torch-1.0.dist-info",
            "python3.13/site-packages/torch-2.13.0+cu130.dist-info",
            "python3.13/site-packages/tensorflow_macos-2.15.1.dist-info",
            "python3.13/site-packages/tensorflow-2.15.1.dist-info",
            "python3.13/site-packages/torch",
        ])
        .unwrap();
        let names: Vec<String> = found.frameworks().iter().map(|(name, version)| format!("{name} {version}")).collect();
        assert_eq!(names, ["torch 2.13.0+cu130", "tensorflow 2.15.1"]);
        assert!(found.site_packages.ends_with("lib/python3.13/site-packages"));
        assert_eq!(found.python(), Some("3.13".parse().unwrap()));
    }

    #[test]
    fn a_folder_without_packages_or_python_is_no_environment() {
        assert_eq!(subject(&[]), None);
        assert_eq!(subject(&["python3.x"]), None);
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(Subject::inside(empty.path(), "x", BTreeMap::new()).unwrap(), None);
    }
}
