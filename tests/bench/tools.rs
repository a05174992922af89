//! The tools that are measured: their projects on disk and their command lines.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::Row;
use crate::samples;
use crate::server::Server;
use crate::uv;
use crate::uv::output;

/// The macOS floor of every project.
pub(crate) const MACOS: &str = "15.0";

/// Something that locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    /// `macml lock`.
    Macml,
    /// `uv lock`, for arm64 Macs only.
    UvLock,
    /// `uv pip compile`, for arm64 Macs from the floor upward.
    UvCompile,
}

impl Tool {
    pub(crate) const ALL: [Self; 3] = [Self::Macml, Self::UvLock, Self::UvCompile];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Macml => "macml lock",
            Self::UvLock => "uv lock",
            Self::UvCompile => "uv pip compile",
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::Macml => "macml",
            Self::UvLock => "uv-lock",
            Self::UvCompile => "uv-compile",
        }
    }

    /// The file that it writes.
    fn lock(self) -> &'static str {
        match self {
            Self::Macml => "macml.lock",
            Self::UvLock => "uv.lock",
            Self::UvCompile => "requirements.txt",
        }
    }
}

/// What is to be locked.
pub(crate) struct Project {
    /// Names its folders.
    pub(crate) name: String,
    /// Packages asked for, any version.
    pub(crate) roots: Vec<String>,
}

/// Where everything is.
pub(crate) struct Bench {
    target: PathBuf,
    macml: PathBuf,
    uv: PathBuf,
    interpreter: PathBuf,
    /// `3.13`
    python: String,
}

impl Bench {
    /// Finds the tools, installing uv where it is not yet there.
    pub(crate) fn new(target: &Path, macml: PathBuf) -> Self {
        let uv::Installed { uv, interpreter } = uv::install(target);
        let version = "import sys; print('%d.%d' % sys.version_info[:2])";
        let python = output(Command::new(&interpreter).args(["-c", version])).trim().to_owned();
        Self { target: target.to_owned(), macml, uv, interpreter, python }
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns the Python minor that is locked for: uv wants an interpreter of it.
    pub(crate) fn python(&self) -> &str {
        &self.python
    }

    /// Says what was measured on what.
    pub(crate) fn describe(&self, tools: &[Tool]) -> String {
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        let mut parts = vec![format!("{} {}, {cores} cores", std::env::consts::OS, std::env::consts::ARCH)];
        if tools.contains(&Tool::Macml) {
            parts.push(output(Command::new(&self.macml).arg("--version")).trim().to_owned());
        }
        parts.push(output(Command::new(&self.uv).arg("--version")).trim().to_owned());
        parts.join("; ")
    }

    /// Lays out a project for a tool.
    pub(crate) fn folder<'a>(&'a self, tool: Tool, project: &Project, server: &Server) -> Folder<'a> {
        let root = self.target.join("bench-work").join(&project.name).join(tool.folder());
        let folder =
            Folder { bench: self, tool, project: root.join("project"), cache: root.join("cache"), url: server.url() };
        std::fs::create_dir_all(&folder.project).unwrap();
        let (python, roots) = (&self.python, &project.roots);
        let write = |name: &str, text: String| std::fs::write(folder.project.join(name), text).unwrap();
        match tool {
            Tool::Macml => {
                let lines: String = roots.iter().map(|root| format!("{root} = \"*\"\n")).collect();
                write(
                    "macml.toml",
                    format!(
                        "[target]\nchip = \"m1\"\nmacos = \"{MACOS}\"\ngpu = \"optional\"\npython = \"=={python}.*\"\n\n\
                         [dependencies]\n{lines}"
                    ),
                );
                // The canonical index is out of bounds: what is measured must come from the loopback.
                std::fs::write(root.join("config.toml"), "mirror-only = true\n").unwrap();
            }
            Tool::UvLock => write(
                "pyproject.toml",
                format!(
                    "[project]\nname = \"bench\"\nversion = \"0.1.0\"\nrequires-python = \"=={python}.*\"\n\
                     dependencies = {roots:?}\n\n[tool.uv]\nno-build = true\n\
                     environments = [\"sys_platform == 'darwin' and platform_machine == 'arm64'\"]\n"
                ),
            ),
            Tool::UvCompile => write("requirements.in", roots.join("\n") + "\n"),
        }
        folder
    }
}

/// A project of one tool, with a cache of its own.
pub(crate) struct Folder<'a> {
    bench: &'a Bench,
    tool: Tool,
    project: PathBuf,
    cache: PathBuf,
    url: String,
}

impl Folder<'_> {
    /// Goes back to before the first run.
    pub(crate) fn forget_all(&self) {
        self.forget_lock();
        if self.cache.exists() {
            std::fs::remove_dir_all(&self.cache).unwrap();
        }
    }

    /// Removes the lockfile.
    pub(crate) fn forget_lock(&self) {
        let lock = self.project.join(self.tool.lock());
        if lock.exists() {
            std::fs::remove_file(lock).unwrap();
        }
    }

    /// Locks; returns the peak memory in MiB for the row that asks for it.
    pub(crate) fn run(&self, row: Row) -> Option<f64> {
        let words = self.words(row);
        if row == Row::Memory {
            let mut command = samples::weighed(&self.bench.interpreter, &words);
            return Some(samples::weight(&output(self.dress(&mut command))));
        }
        output(self.dress(Command::new(&words[0]).args(&words[1..])));
        None
    }

    /// Returns how many packages the lockfile names.
    pub(crate) fn packages(&self) -> usize {
        let text = std::fs::read_to_string(self.project.join(self.tool.lock())).unwrap();
        match self.tool {
            Tool::Macml => text.matches("[[package]]").count(),
            // One of them is the project itself.
            Tool::UvLock => text.matches("[[package]]").count() - 1,
            Tool::UvCompile => text.lines().filter(|line| line.contains("==") && !line.starts_with([' ', '#'])).count(),
        }
    }

    fn words(&self, row: Row) -> Vec<String> {
        let text = |path: &Path| path.to_str().expect("the target folder has a name in UTF-8").to_owned();
        let mut words = match self.tool {
            Tool::Macml => vec![text(&self.bench.macml), "-C".into(), text(&self.project), "lock".into()],
            Tool::UvLock => vec![text(&self.bench.uv), "lock".into(), "--directory".into(), text(&self.project)],
            Tool::UvCompile => {
                let mut words = vec![text(&self.bench.uv), "pip".into(), "compile".into()];
                words
                    .extend(["--only-binary", ":all:", "--python-platform", "aarch64-apple-darwin"].map(str::to_owned));
                words.extend(["--python-version".into(), self.bench.python.clone(), "--generate-hashes".into()]);
                words.extend(["-o".into(), text(&self.project.join("requirements.txt"))]);
                words.push(text(&self.project.join("requirements.in")));
                words
            }
        };
        words.push("-q".into());
        if row == Row::Offline {
            words.push("--offline".into());
        }
        words
    }

    /// Gives a command the same small environment, whichever tool it is.
    fn dress<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let kept = ["PATH", "HOME", "TMPDIR", "LANG"].map(|name| (name, std::env::var_os(name)));
        command.env_clear().envs(kept.into_iter().filter_map(|(name, value)| Some((name, value?))));
        match self.tool {
            Tool::Macml => command
                .env("MACML_CACHE_DIR", &self.cache)
                .env("MACML_CONFIG_FILE", self.project.with_file_name("config.toml"))
                .env("MACML_MIRROR", &self.url),
            Tool::UvLock | Tool::UvCompile => command
                .env("UV_CACHE_DIR", &self.cache)
                .env("UV_NO_CONFIG", "1")
                .env("UV_DEFAULT_INDEX", &self.url)
                .env("UV_PYTHON", &self.bench.interpreter)
                .env("UV_PYTHON_DOWNLOADS", "never")
                .env("MACOSX_DEPLOYMENT_TARGET", MACOS),
        }
    }
}
