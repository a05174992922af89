//! `Machine`: where interpreters are looked for, and which ones fit. Plain data, so that a test can lay out a whole Mac
//! in a folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::header::Arch;
use crate::sys::Env;

/// An operating system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    /// macOS.
    Mac,
    /// Linux with glibc.
    Linux,
}

/// A machine as far as interpreters are concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Its system.
    pub system: System,
    /// What interpreters must be built for.
    pub arch: Arch,
    /// What `/` is: places such as `/opt/homebrew` are looked for below it.
    pub root: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The folders of PATH, in order.
    pub path: Vec<PathBuf>,
    /// Words to put before an interpreter to start it, such as `arch -arm64`.
    pub starter: Vec<OsString>,
    /// `HOMEBREW_PREFIX`.
    pub homebrew: Option<PathBuf>,
    /// Where pyenv lives: `PYENV_ROOT`, or its usual place.
    pub pyenv: Option<PathBuf>,
    /// Where uv keeps its Pythons: `UV_PYTHON_INSTALL_DIR`, or its usual place.
    pub uv: Option<PathBuf>,
    /// Prefixes of conda that the environment names: `CONDA_PREFIX` and the like.
    pub conda: Vec<PathBuf>,
}

impl Machine {
    /// Describes this one; `None` on a system or processor that macml makes no environments for.
    pub fn here(env: &Env) -> Option<Self> {
        let (system, arch) = match (std::env::consts::OS, std::env::consts::ARCH) {
            // Whatever macml itself was built for, on a Mac only Apple Silicon counts.
            ("macos", _) => (System::Mac, Arch::Arm64),
            ("linux", "x86_64") => (System::Linux, Arch::X86_64),
            ("linux", "aarch64") => (System::Linux, Arch::Arm64),
            _ => return None,
        };
        // A universal Python started below a terminal under Rosetta would answer, and then work, as an Intel one.
        let starter = match system {
            System::Mac => vec!["/usr/bin/arch".into(), "-arm64".into()],
            System::Linux => Vec::new(),
        };
        Some(Self { system, arch, starter, ..Self::of(env, system, arch, Path::new("/")) })
    }

    /// Describes a machine whose `/` is `root`, with the variables of `env`.
    pub fn of(env: &Env, system: System, arch: Arch, root: &Path) -> Self {
        let absolute = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = env.home().filter(|home| home.is_absolute()).map(Path::to_owned);
        let at_home = |place: &str| home.as_ref().map(|home| home.join(place));
        let data = absolute("XDG_DATA_HOME").or_else(|| at_home(".local/share"));
        let path = env.get("PATH").unwrap_or_default().split(':').map(PathBuf::from);
        // `…/bin/conda` or `…/condabin/conda` in the base.
        let exe = |name: &str| absolute(name)?.parent()?.parent().map(Path::to_owned);
        let conda = [absolute("CONDA_PREFIX"), exe("CONDA_EXE"), absolute("MAMBA_ROOT_PREFIX"), exe("MAMBA_EXE")];
        Self {
            system,
            arch,
            root: root.to_owned(),
            // A relative entry means another folder in each working folder.
            path: path.filter(|folder| folder.is_absolute()).collect(),
            starter: Vec::new(),
            homebrew: absolute("HOMEBREW_PREFIX"),
            pyenv: absolute("PYENV_ROOT").or_else(|| at_home(".pyenv")),
            uv: absolute("UV_PYTHON_INSTALL_DIR").or_else(|| Some(data?.join("uv/python"))),
            conda: conda.into_iter().flatten().collect(),
            home,
        }
    }

    /// Lists the folders that Homebrew may live in: its own for Apple Silicon, where the user says, and its own for Intel.
    pub fn homebrews(&self) -> Vec<PathBuf> {
        let mut all = vec![self.at("opt/homebrew")];
        all.extend(self.homebrew.clone());
        all.push(self.at("usr/local"));
        all.dedup();
        all
    }

    /// Returns a place of the whole machine, such as `opt/homebrew`.
    pub(super) fn at(&self, place: &str) -> PathBuf {
        self.root.join(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(vars: &[(&str, &str)]) -> Machine {
        let vars = vars.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Machine::of(&Env::from_map(vars, "/".into()), System::Linux, Arch::X86_64, Path::new("/"))
    }

    #[test]
    fn the_usual_places_hang_on_home() {
        let usual = machine(&[("HOME", "/home/ada")]);
        assert_eq!(usual.pyenv.unwrap(), Path::new("/home/ada/.pyenv"));
        assert_eq!(usual.uv.unwrap(), Path::new("/home/ada/.local/share/uv/python"));
        let nowhere = machine(&[]);
        assert_eq!((nowhere.home, nowhere.pyenv, nowhere.uv), (None, None, None));
    }

    #[test]
    fn variables_move_them_and_what_is_relative_does_not_count() {
        let moved = machine(&[
            ("HOME", "/home/ada"),
            ("PATH", "/usr/bin::bin:.:/bin"),
            ("PYENV_ROOT", "/pyenv"),
            ("XDG_DATA_HOME", "/data"),
            ("CONDA_EXE", "/conda/bin/conda"),
            ("CONDA_PREFIX", "env"),
        ]);
        assert_eq!(moved.path, [Path::new("/usr/bin"), Path::new("/bin")]);
        assert_eq!(moved.pyenv.unwrap(), Path::new("/pyenv"));
        assert_eq!(moved.uv.unwrap(), Path::new("/data/uv/python"));
        assert_eq!(moved.conda, [Path::new("/conda")]);
        let relative = machine(&[("HOME", "ada"), ("UV_PYTHON_INSTALL_DIR", "x")]);
        assert_eq!((relative.home, relative.uv), (None, None));
    }
}
