//! What building takes: cargo and a C++ compiler, found on PATH and where they usually are.

use std::path::{Path, PathBuf};

use crate::sys::Env;
use crate::sys::Identity;

/// A cargo and a C++ compiler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tools {
    /// The cargo.
    pub cargo: PathBuf,
    /// The compiler.
    pub compiler: PathBuf,
}

/// Which of them is missing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoTools {
    /// There is no cargo.
    #[error("there is no cargo to build it with: install Rust, from rustup or from your package manager")]
    Cargo,
    /// There is no C++ compiler.
    #[error("there is no C++ compiler to build it with: {0}")]
    Compiler(&'static str),
}

const INSTALL_COMPILER: &str =
    if cfg!(target_os = "macos") { "run `xcode-select --install`" } else { "install g++ or clang++" };

/// Where cargo is for people whose PATH does not say: below home, then Homebrew.
const USUAL_CARGO: [&str; 2] = ["/opt/homebrew/bin/cargo", "/usr/local/bin/cargo"];

impl Tools {
    /// Finds them, starting nothing.
    ///
    /// # Errors
    /// When one of them is missing.
    pub fn find(env: &Env) -> Result<Self, NoTools> {
        Self::find_below(Path::new("/"), env)
    }

    fn find_below(root: &Path, env: &Env) -> Result<Self, NoTools> {
        let own = env.get("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env.home()?.join(".cargo")));
        let usual = own.into_iter().map(|own| own.join("bin/cargo")).chain(USUAL_CARGO.map(|path| below(root, path)));
        let cargo = on_path(env, "cargo").chain(usual).find(|path| may_run(path)).ok_or(NoTools::Cargo)?;
        let named = env.get("CXX").map(|name| on_path(env, name).collect::<Vec<_>>()).unwrap_or_default();
        let usual = ["c++", "g++", "clang++"].iter().flat_map(|name| on_path(env, name));
        let compiler = named.into_iter().chain(usual).find(|path| may_run(path) && !is_shim(root, path));
        Ok(Self { cargo, compiler: compiler.ok_or(NoTools::Compiler(INSTALL_COMPILER))? })
    }
}

/// Lists where a program of this name could be; a name with a slash is a path already.
fn on_path<'a>(env: &'a Env, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
    let folders = match name.contains('/') {
        true => "/",
        false => env.get("PATH").unwrap_or_default(),
    };
    folders.split(':').filter(|folder| folder.starts_with('/')).map(move |folder| Path::new(folder).join(name))
}

fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn may_run(path: &Path) -> bool {
    matches!(Identity::of(path), Ok(Some(found)) if found.may_run())
}

/// Tells whether this is what a Mac without developer tools has in the compiler's place: a program that opens a window
/// which offers to install them, and fails.
fn is_shim(root: &Path, compiler: &Path) -> bool {
    let there = |path: &str| matches!(Identity::of(&below(root, path)), Ok(Some(_)));
    let is_system = compiler.parent() == Some(&below(root, "/usr/bin"));
    // Only Macs have the file; the others are where the tools are, and which Xcode was chosen.
    is_system
        && there("/usr/bin/xcode-select")
        && !there("/Library/Developer/CommandLineTools/usr/bin")
        && !there("/var/db/xcode_select_link")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::sys::fs;
    use crate::sys::tree::{Mode, NewFile};

    /// A machine of empty programs.
    struct Machine {
        root: tempfile::TempDir,
    }

    impl Machine {
        fn with(files: &[&str]) -> Self {
            let root = tempfile::tempdir().unwrap();
            for path in files {
                let path = below(root.path(), path);
                fs::create_folder(path.parent().unwrap()).unwrap();
                NewFile::create(&path, Mode::PROGRAM).unwrap().finish(None).unwrap();
            }
            Self { root }
        }

        fn find(&self, vars: &[(&str, &str)]) -> Result<[String; 2], NoTools> {
            let root = self.root.path();
            let inside = |value: &str| {
                let parts: Vec<String> = value.split(':').map(|part| below(root, part).display().to_string()).collect();
                parts.join(":")
            };
            let vars = vars.iter().map(|(name, value)| match value.starts_with('/') {
                true => ((*name).to_owned(), inside(value)),
                false => ((*name).to_owned(), (*value).to_owned()),
            });
            let env = Env::from_map(vars.collect::<BTreeMap<_, _>>(), root.to_owned());
            let found = Tools::find_below(root, &env)?;
            let outside = |path: PathBuf| format!("/{}", path.strip_prefix(root).unwrap().display());
            Ok([outside(found.cargo), outside(found.compiler)])
        }
    }

    const PATH: (&str, &str) = ("PATH", "/usr/local/bin:/usr/bin");

    #[test]
    fn they_are_found_on_path_first() {
        let machine =
            Machine::with(&["/usr/bin/cargo", "/usr/bin/c++", "/usr/local/bin/c++", "/home/.cargo/bin/cargo"]);
        let found = machine.find(&[PATH, ("HOME", "/home")]).unwrap();
        assert_eq!(found, ["/usr/bin/cargo", "/usr/local/bin/c++"]);
    }

    #[test]
    fn cargo_is_found_where_rustup_and_homebrew_put_it() {
        let machine =
            Machine::with(&["/usr/bin/g++", "/home/.cargo/bin/cargo", "/opt/homebrew/bin/cargo", "/c/bin/cargo"]);
        let cargo = |vars: &[(&str, &str)]| machine.find(vars).unwrap()[0].clone();
        assert_eq!(cargo(&[PATH, ("HOME", "/home")]), "/home/.cargo/bin/cargo");
        assert_eq!(cargo(&[PATH, ("HOME", "/home"), ("CARGO_HOME", "/c")]), "/c/bin/cargo");
        assert_eq!(cargo(&[PATH, ("HOME", "/nobody")]), "/opt/homebrew/bin/cargo");
    }

    #[test]
    fn the_compiler_that_is_named_comes_first_if_it_is_one() {
        let machine = Machine::with(&["/usr/bin/cargo", "/usr/bin/c++", "/usr/bin/clang++-19", "/llvm/clang++"]);
        let compiler = |name: &str| machine.find(&[PATH, ("CXX", name)]).unwrap()[1].clone();
        assert_eq!(compiler("clang++-19"), "/usr/bin/clang++-19");
        assert_eq!(compiler("/llvm/clang++"), "/llvm/clang++");
        assert_eq!(compiler("missing"), "/usr/bin/c++");
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(Machine::with(&["/usr/bin/c++"]).find(&[PATH, ("HOME", "/home")]), Err(NoTools::Cargo));
        let none = Err(NoTools::Compiler(INSTALL_COMPILER));
        assert_eq!(Machine::with(&["/usr/bin/cargo"]).find(&[PATH]), none);
        assert_eq!(Machine::with(&["/usr/bin/cargo", "/usr/bin/c++"]).find(&[]), Err(NoTools::Cargo));
    }

    #[test]
    fn the_shim_of_a_mac_without_developer_tools_is_no_compiler() {
        let bare = ["/usr/bin/cargo", "/usr/bin/c++", "/usr/bin/clang++", "/usr/bin/xcode-select"];
        assert_eq!(Machine::with(&bare).find(&[PATH]), Err(NoTools::Compiler(INSTALL_COMPILER)));
        for tools in ["/Library/Developer/CommandLineTools/usr/bin/c++", "/var/db/xcode_select_link/usr/bin/c++"] {
            let found = Machine::with(&[&bare[..], &[tools]].concat()).find(&[PATH]).unwrap();
            assert_eq!(found[1], "/usr/bin/c++");
        }
        let homebrew = Machine::with(&[&bare[..], &["/usr/local/bin/g++"]].concat()).find(&[PATH]).unwrap();
        assert_eq!(homebrew[1], "/usr/local/bin/g++");
    }
}
