//! Building the probe, once for each release of torch, into the cache.
//!
//! ```text
//! ~/.cache/macml/probes-v1/
//!   <digest>/macml-probe     the probe
//!   <digest>/built           what it was made from, its size; without a whole one the entry does not exist
//!   <digest>.turn            locked by the one who builds
//!   <digest>.log             what cargo said, when it failed
//!   .new-<digest>-…          being made; swept by the next who builds the same
//! ```
//!
//! An entry appears by one rename, so whatever ends macml or cargo leaves a whole probe or none. Two who want the same one
//! wait for each other, and the second finds it there.
//!
//! cargo runs in the tree's folder with what is named in [`PASSED`] and nothing else of the user's environment, so that
//! flags and settings of a project at hand do not reach a binary that all projects share.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::installed::Torch;
use super::line::{Line, NoLine, Standing};
use super::tools::{NoTools, Tools};
use super::tree;
use crate::progress::Progress;
use crate::sys::fs::{Durability, FsError};
use crate::sys::process::{End, ProcessError, Program};
use crate::sys::tree::{Mode, NewFile, NewFolder};
use crate::sys::{Env, Turn};
use crate::sys::{fs, process};
use crate::verify::Probe;

/// The libraries that the probe is linked to. Beside them a libtorch for CUDA has one that tch would link as well, and with
/// it all of CUDA: cargo is shown a folder without it.
const LIBRARIES: [&str; 3] = ["torch_cpu", "torch", "c10"];

/// Variables that cargo, rustup, the compiler and the way to the crates' registry need.
const PASSED: [&str; 28] = [
    "PATH",
    "HOME",
    "USER",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTUP_AUTO_INSTALL",
    "CARGO_BUILD_JOBS",
    "CARGO_NET_OFFLINE",
    "CARGO_NET_GIT_FETCH_WITH_CLI",
    "CARGO_HTTP_PROXY",
    "CARGO_HTTP_CAINFO",
    "CARGO_HTTP_TIMEOUT",
    "CARGO_HTTP_MULTIPLEXING",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "DEVELOPER_DIR",
    "SDKROOT",
    "NIX_LDFLAGS",
];

/// The variable that tells the loader where libraries are that a program was not linked to by path.
const LIBRARY_PATH: &str = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

const LIBRARY_SUFFIX: &str = if cfg!(target_os = "macos") { "dylib" } else { "so" };

/// The probe's name, in the tree and in the cache.
const PROBE: &str = "macml-probe";

/// Runs a command in a folder, with all that it says in a file, where a person can look meanwhile: `sh -c SCRIPT sh FOLDER
/// LOG COMMAND…`. The folder, because cargo heeds the settings of those around it. When macml is gone, by Ctrl-C or by
/// worse, the command goes too instead of compiling for nobody.
const SCRIPT: &str = r#"cd -- "$1" && log=$2 && shift 2 || exit
(while kill -0 "$PPID"; do sleep 1; done; kill 0) >/dev/null 2>&1 &
"$@" >"$log" 2>&1
status=$?
kill "$!"
exit "$status""#;

/// How many of the last lines of a failed build are shown.
const LAST_LINES: usize = 12;

/// Where probes are kept and what it takes to build one.
#[derive(Clone, Copy)]
pub struct Builder<'a> {
    /// macml's cache folder.
    pub cache: &'a Path,
    /// The user's environment: where tools are.
    pub env: &'a Env,
    /// Is told how far it is.
    pub progress: &'a dyn Progress,
    /// How long cargo may take.
    pub limit: Duration,
}

/// How long cargo is usually given. Measured: three to five minutes on one core, eleven on a part of one; an old machine
/// behind a slow line takes longer.
pub const USUAL_LIMIT: Duration = Duration::from_secs(30 * 60);

/// A probe that was built.
#[derive(Clone, Debug)]
pub struct Executable {
    /// The program.
    pub path: PathBuf,
    /// The row that it was built by.
    pub line: &'static Line,
    /// What it was made from.
    pub built: Built,
}

/// What a probe was made from, and what that took.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Built {
    /// The release of torch.
    pub torch: String,
    /// The minor release of tch.
    pub tch: String,
    /// The compiler.
    pub compiler: PathBuf,
    /// The cargo.
    pub cargo: PathBuf,
    /// How long it took, in seconds.
    pub seconds: u64,
    /// The size of the probe in bytes: another one is not what was built.
    pub size: u64,
}

/// Why there is no native probe: what follows `native: not run`.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// No row fits the torch.
    #[error(transparent)]
    NoLine(#[from] NoLine),
    /// There is nothing to build it with.
    #[error(transparent)]
    NoTools(#[from] NoTools),
    /// The environment's torch lacks what a probe is built against.
    #[error("torch is not whole: there is no `{}`", .0.display())]
    NotWhole(PathBuf),
    /// The build ended with an error.
    #[error("building it failed; all that cargo said is in `{}`\n{}", log.display(), last.join("\n"))]
    Failed {
        /// The file with everything that was said.
        log: PathBuf,
        /// The last lines of it.
        last: Vec<String>,
    },
    /// The build took too long.
    #[error("building it took more than {} s; what cargo said is in `{}`", limit.as_secs(), log.display())]
    OutOfTime {
        /// The file with everything that was said.
        log: PathBuf,
        /// How long it might take.
        limit: Duration,
    },
    /// cargo could not be started.
    #[error(transparent)]
    Program(#[from] ProcessError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FsError),
}

impl Executable {
    /// Returns the probe that asks the torch that it was built for. `env` is what a program of that environment would have.
    pub fn probe(&self, torch: &Torch, mut env: BTreeMap<String, String>) -> Probe {
        env.insert(LIBRARY_PATH.to_owned(), torch.libraries().to_string_lossy().into_owned());
        // CUDA shortens the inner type of convolutions by default; that would be told as wrong numbers.
        env.insert("NVIDIA_TF32_OVERRIDE".to_owned(), "0".to_owned());
        Probe::native(&self.path, env)
    }

    /// Returns what is to be said where it is used; none for a probe whose tch was made for its torch.
    pub fn caution(&self) -> Option<String> {
        let Line { torch, tch, standing, .. } = self.line;
        (*standing == Standing::Experimental).then(|| {
            format!("experimental: tch {tch} was not made for torch {torch}, and is built against it all the same")
        })
    }
}

impl Builder<'_> {
    /// Returns the probe for a torch if it was built before.
    ///
    /// # Errors
    /// When no row fits, or the cache cannot be read.
    pub fn find(&self, torch: &Torch) -> Result<Option<Executable>, NotRun> {
        let line = Line::of(&torch.version)?;
        Ok(entry(&self.place(line, torch).join(PROBE), line)?)
    }

    /// Says whether all is there that building a probe takes, without building it.
    ///
    /// # Errors
    /// With what is missing.
    pub fn ready(&self, torch: &Torch) -> Result<(&'static Line, Tools), NotRun> {
        let line = Line::of(&torch.version)?;
        let tools = Tools::find(self.env)?;
        whole(torch)?;
        Ok((line, tools))
    }

    /// Returns the probe for a torch, and builds it first where it is not there. That compiles C++ for minutes and
    /// gets crates from their registry: whoever calls this has asked.
    ///
    /// # Errors
    /// When there is no probe then.
    pub fn build(&self, torch: &Torch) -> Result<Executable, NotRun> {
        if let Some(probe) = self.find(torch)? {
            return Ok(probe);
        }
        let (line, tools) = self.ready(torch)?;
        let place = self.place(line, torch);
        let turn = place.with_extension("turn");
        fs::create_folder(&self.root())?;
        match NewFile::create(&turn, Mode::PLAIN) {
            Err(error) if error.cause.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        let mut waiting = || self.progress.note("another macml is building the same native probe: waiting for it");
        let _turn = Turn::take(&turn, &mut waiting)?;
        if let Some(probe) = entry(&place.join(PROBE), line)? {
            return Ok(probe);
        }
        self.sweep(&place)?;
        self.make(line, torch, &tools, &place)
    }

    fn root(&self) -> PathBuf {
        self.cache.join("probes-v1")
    }

    fn place(&self, line: &Line, torch: &Torch) -> PathBuf {
        self.root().join(tree::digest(line, &torch.version).to_string())
    }

    /// Removes what killed builds of this probe left, and an entry that is not whole.
    fn sweep(&self, place: &Path) -> Result<(), FsError> {
        let prefix = prefix(place);
        for name in fs::names(&self.root())?.iter().filter(|name| name.starts_with(&prefix)) {
            crate::sys::tree::remove(&self.root().join(name))?;
        }
        crate::sys::tree::remove(place)
    }

    /// Builds beside, and renames.
    fn make(&self, line: &'static Line, torch: &Torch, tools: &Tools, place: &Path) -> Result<Executable, NotRun> {
        let begun = Instant::now();
        let folder = NewFolder::in_folder(&self.root(), &prefix(place))?;
        let compiler = self.lay_out(line, torch, tools, folder.path())?;
        let log = place.with_extension("log");
        let said = format!(
            "building the native probe for torch {} with tch {} and `{}`, once: this takes a few minutes",
            torch.version,
            line.tch,
            tools.compiler.display()
        );
        self.progress.note(&said);
        let target = folder.path().join("target");
        self.compile(line, &self.cargo(tools, &compiler, folder.path(), &log), &log)?;
        let made = NewFolder::in_folder(&self.root(), &prefix(place))?;
        crate::sys::tree::rename(&target.join("debug").join(PROBE), &made.path().join(PROBE))?;
        let size = fs::size(&made.path().join(PROBE))?.unwrap_or_default();
        let built = Built {
            torch: torch.version.clone().without_local().to_string(),
            tch: line.tch.to_owned(),
            compiler: tools.compiler.clone(),
            cargo: tools.cargo.clone(),
            seconds: begun.elapsed().as_secs(),
            size,
        };
        let text = serde_json::to_string(&built).expect("it is plain data with text keys");
        fs::write_atomic(&made.path().join("built"), text.as_bytes(), Durability::Flushed)?;
        // Whoever is here has the turn, so nothing is in the way. Without locks another may have been faster: as good.
        made.publish(place)?;
        fs::remove_file(&log)?;
        self.progress.note(&format!("built the native probe in {} s", built.seconds));
        Ok(Executable { path: place.join(PROBE), line, built })
    }

    /// Writes the tree and the folder that stands for libtorch; returns the compiler to use.
    fn lay_out(&self, line: &Line, torch: &Torch, tools: &Tools, folder: &Path) -> Result<PathBuf, FsError> {
        for file in tree::files(line, &tools.compiler, folder) {
            let path = folder.join(file.path);
            fs::create_folder(path.parent().expect("it is below the folder"))?;
            let mode = if file.executable { Mode::PROGRAM } else { Mode::PLAIN };
            let mut new = NewFile::create(&path, mode)?;
            new.write(file.text.as_bytes())?;
            new.finish(None)?;
        }
        let libtorch = folder.join("libtorch");
        fs::create_folder(&libtorch.join("lib"))?;
        crate::sys::tree::symlink(&torch.folder.join("include"), &libtorch.join("include"))?;
        for library in LIBRARIES.map(library) {
            crate::sys::tree::symlink(&torch.libraries().join(&library), &libtorch.join("lib").join(&library))?;
        }
        Ok(tree::compiler(line, &tools.compiler, folder))
    }

    fn cargo(&self, tools: &Tools, compiler: &Path, folder: &Path, log: &Path) -> Program {
        let text = |path: &Path| OsString::from(path);
        let words = ["build", "--locked", "--bin", PROBE].map(OsString::from);
        let head = ["-c".into(), SCRIPT.into(), "sh".into(), text(folder), text(log), text(&tools.cargo)];
        let mut env: BTreeMap<String, String> =
            PASSED.iter().filter_map(|name| Some(((*name).to_owned(), self.env.get(name)?.to_owned()))).collect();
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let own = [
            ("CARGO_TERM_COLOR", "never".to_owned()),
            ("CARGO_TARGET_DIR", path(&folder.join("target"))),
            ("CARGO_INCREMENTAL", "0".to_owned()),
            ("CXX", path(compiler)),
            ("LIBTORCH", path(&folder.join("libtorch"))),
            // Every wheel of these releases is built with the new layouts of std::string and std::list.
            ("LIBTORCH_CXX11_ABI", "1".to_owned()),
            // The row was chosen by the exact release; the libtorch of a wheel does not say its release to tch anyway.
            ("LIBTORCH_BYPASS_VERSION_CHECK", "1".to_owned()),
            // A library that happens to be there would have to be there for ever.
            ("BZIP2_NO_PKG_CONFIG", "1".to_owned()),
            ("LC_ALL", "C".to_owned()),
        ];
        env.extend(own.map(|(name, value)| (name.to_owned(), value)));
        Program { path: "/bin/sh".into(), args: head.into_iter().chain(words).collect(), env, limit: self.limit }
    }

    /// Runs cargo to its end, and tells from the log how far it is.
    fn compile(&self, line: &Line, cargo: &Program, log: &Path) -> Result<(), NotRun> {
        let ended = AtomicBool::new(false);
        let output = std::thread::scope(|scope| {
            scope.spawn(|| self.follow(line, log, &ended));
            let output = process::run(cargo);
            ended.store(true, Ordering::Relaxed);
            output
        })?;
        let log = log.to_owned();
        match output.end {
            End::Code(0) => Ok(()),
            End::OutOfTime => Err(NotRun::OutOfTime { log, limit: self.limit }),
            End::Code(_) | End::Signal(_) => {
                let text = fs::read_bytes(&log)?.unwrap_or_default();
                let mut last = last_lines(&String::from_utf8_lossy(&text));
                if let End::Signal(signal) = output.end {
                    last.push(format!("ended by signal {signal}"));
                }
                Err(NotRun::Failed { log, last })
            }
        }
    }

    fn follow(&self, line: &Line, log: &Path, ended: &AtomicBool) {
        let mut told = 0;
        while !ended.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(200));
            // What cannot be read now can be later, and else the build's own end says what is wrong.
            let text = fs::read_bytes(log).ok().flatten().unwrap_or_default();
            let stage = stage(&String::from_utf8_lossy(&text));
            for stage in told..stage {
                let text = match stage {
                    0 => "compiling the crates that the probe needs".to_owned(),
                    1 => format!("compiling tch {} against torch {}, the longest part", line.tch, line.torch),
                    _ => "compiling and linking the probe".to_owned(),
                };
                self.progress.note(&text);
            }
            told = told.max(stage);
        }
    }
}

/// Tells how far a build is by what cargo said: 1 while the first crates compile, 2 from tch's C++ on, 3 at the probe itself.
fn stage(log: &str) -> usize {
    let begun = |name: &str| log.lines().any(|line| line.trim_start().starts_with(&format!("Compiling {name}")));
    ["", "torch-sys ", "macml-probe "].iter().rposition(|name| begun(name)).map_or(0, |last| last + 1)
}

/// Returns the lines that say why a build failed: the last ones, blank ones left out.
fn last_lines(log: &str) -> Vec<String> {
    let mut last: Vec<String> =
        log.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_LINES).map(cut).collect();
    last.reverse();
    last
}

/// Cuts a line that nobody would read to its end: the compiler's whole command line, for example.
fn cut(line: &str) -> String {
    const MOST: usize = 240;
    let cut: String = line.chars().take(MOST).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut }
}

/// Returns the beginning of the names of what is being made for an entry.
fn prefix(place: &Path) -> String {
    format!(".new-{}-", place.file_name().unwrap_or_default().to_string_lossy())
}

fn library(name: &str) -> String {
    format!("lib{name}.{LIBRARY_SUFFIX}")
}

/// Looks for all that a probe is built against.
fn whole(torch: &Torch) -> Result<(), NotRun> {
    let libraries = LIBRARIES.map(|name| torch.libraries().join(library(name)));
    for path in libraries.into_iter().chain([torch.folder.join("include/torch/csrc/api/include/torch/torch.h")]) {
        if fs::kind(&path)?.is_none() {
            return Err(NotRun::NotWhole(path));
        }
    }
    Ok(())
}

/// Returns a probe of the cache if it is there and whole.
fn entry(path: &Path, line: &'static Line) -> Result<Option<Executable>, FsError> {
    let Some(text) = fs::read_text(&path.with_file_name("built"))? else { return Ok(None) };
    let Ok(built) = serde_json::from_str::<Built>(&text) else { return Ok(None) };
    let whole = fs::size(path)? == Some(built.size);
    Ok(whole.then(|| Executable { path: path.to_owned(), line, built }))
}

#[cfg(test)]
mod tests;
