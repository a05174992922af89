//! The speed of `macml sync` beside uv's, on one machine, in one run, from the same wheels.
//!
//! `cargo bench --bench sync` records what it needs from PyPI on its first run, under `target/bench-index/` (more than a
//! gigabyte), and installs uv under `target/bench-venv/`; later runs need no network. macml locks a list of packages
//! once; uv is given exactly the same versions. Then the tools take turns, each with a folder and a cache of its own. A
//! table in Markdown goes to standard output.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark may look at the world, stop at once and talk"
)]

mod index;
mod record;
mod samples;
mod server;
mod uv;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use index::Index;
use samples::{Samples, Unit};
use server::Server;
use uv::output;

/// What people put into one environment: about 150 wheels and 40,000 files, of many small packages and some huge ones.
const ROOTS: [&str; 16] = [
    "datasets",
    "jupyterlab",
    "matplotlib",
    "networkx",
    "nltk",
    "numba",
    "pandas",
    "plotly",
    "polars",
    "scikit-image",
    "scikit-learn",
    "seaborn",
    "statsmodels",
    "sympy",
    "tensorflow",
    "transformers",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tool {
    Macml,
    Uv,
}

/// One kind of work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    /// Nothing is cached, no environment is there.
    Cold,
    /// Everything is cached and unpacked, no environment is there.
    Warm(&'static str),
    /// The environment is there.
    Nothing,
    /// Peak memory of [`Row::Cold`].
    ColdMemory,
    /// Peak memory of [`Row::Warm`].
    WarmMemory,
}

impl Row {
    const ALL: [Self; 7] = [
        Self::Cold,
        Self::Warm("hardlink"),
        Self::Warm("clone"),
        Self::Warm("copy"),
        Self::Nothing,
        Self::ColdMemory,
        Self::WarmMemory,
    ];

    fn title(self) -> String {
        match self {
            Self::Cold => "sync, empty cache".to_owned(),
            Self::Warm(mode) => format!("sync, warm cache, `--link-mode {mode}`"),
            Self::Nothing => "sync with nothing to do".to_owned(),
            Self::ColdMemory => "peak memory of sync, empty cache".to_owned(),
            Self::WarmMemory => "peak memory of sync, warm cache".to_owned(),
        }
    }

    fn mode(self) -> &'static str {
        if let Self::Warm(mode) = self { mode } else { "hardlink" }
    }
}

struct Bench {
    work: PathBuf,
    macml: PathBuf,
    uv: uv::Installed,
    server: Server,
}

const USAGE: &str = "\
cargo bench --bench sync -- [OPTIONS]
  --runs N        timed runs of each tool for each row (default 5)
  --delay-ms N    the index waits so long before each answer (default 0)
  --macml PATH    measure this macml instead of the one just built
  --warm          leave out the rows that begin with an empty cache or copy, which take minutes";

fn main() {
    let (mut runs, mut delay) = (5, Duration::ZERO);
    let mut long = true;
    let mut macml = PathBuf::from(env!("CARGO_BIN_EXE_macml"));
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("`{word}` needs a value\n{USAGE}"));
        match word.as_str() {
            // Cargo says so to every benchmark.
            "--bench" => {}
            "--runs" => runs = value().parse().expect("a number of runs"),
            "--delay-ms" => delay = Duration::from_millis(value().parse().expect("milliseconds")),
            "--macml" => macml = value().into(),
            "--warm" => long = false,
            other => panic!("unknown option `{other}`\n{USAGE}"),
        }
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned();
    let bench = Bench {
        work: target.join("bench-work/sync"),
        macml,
        uv: uv::install(&target),
        server: Server::start(Index::new(std::collections::HashMap::new(), Some(target.join("bench-index"))), delay),
    };
    eprintln!("recording what is missing…");
    bench.lay_out();
    for tool in [Tool::Macml, Tool::Uv] {
        bench.forget(tool, Row::Cold);
        bench.run(tool, Row::Cold);
    }
    bench.describe(runs);
    println!("| work | macml sync | uv sync | macml / uv |\n| --- | ---: | ---: | ---: |");
    let clones = bench.clones();
    for row in Row::ALL {
        if !long && matches!(row, Row::Cold | Row::ColdMemory | Row::Warm("copy")) {
            continue;
        }
        if row == Row::Warm("clone") && !clones {
            // uv makes hard links then, and macml copies: two kinds of work.
            eprintln!("{}: not measured, this volume cannot clone", row.title());
            continue;
        }
        eprintln!("{}…", row.title());
        let [ours, theirs] = bench.row(row, runs);
        println!("| {} | {ours} | {theirs} | {:.2} |", row.title(), ours.median() / theirs.median());
    }
    // uv has none; what a prompt waits for is the whole process.
    let hook = || {
        let begun = Instant::now();
        let mut command = Command::new(&bench.macml);
        command.args(["hook", "zsh", "--apply"]).current_dir(bench.folder(Tool::Macml).join("project"));
        assert!(output(bench.dress(Tool::Macml, &mut command)).contains("VIRTUAL_ENV"), "the environment is entered");
        begun.elapsed().as_secs_f64() * 1000.0
    };
    let samples = Samples::new(Unit::Milliseconds, (0..20 * runs).map(|_| hook()).collect());
    println!("| the hook of a shell, entering the project | {samples} | – | – |");
}

impl Bench {
    fn folder(&self, tool: Tool) -> PathBuf {
        self.work.join(if tool == Tool::Macml { "macml" } else { "uv" })
    }

    /// Returns the version of the Python that both build with.
    fn python(&self) -> String {
        let version = "import platform; print(platform.python_version())";
        output(Command::new(&self.uv.interpreter).args(["-c", version])).trim().to_owned()
    }

    /// Returns whether files can share their bytes on this volume until one is written to.
    fn clones(&self) -> bool {
        let (from, to) = (self.work.join("whole"), self.work.join("clone"));
        std::fs::write(&from, "x").unwrap();
        let mode = if cfg!(target_os = "macos") { "-c" } else { "--reflink=always" };
        let cloned = Command::new("cp").arg(mode).args([&from, &to]).output().unwrap().status.success();
        let _ = std::fs::remove_file(to);
        cloned
    }

    /// Locks for both tools.
    fn lay_out(&self) {
        let python = self.python();
        let target = match cfg!(target_os = "macos") {
            true => "chip = \"m1\"\nmacos = \"15.0\"\ngpu = \"optional\"\n".to_owned(),
            false => format!("platforms = [\"linux-{}\"]\n", std::env::consts::ARCH),
        };
        let lines: String = ROOTS.iter().map(|root| format!("{root} = \"*\"\n")).collect();
        let ours = self.folder(Tool::Macml).join("project");
        std::fs::create_dir_all(&ours).unwrap();
        let minor = python.rsplit_once('.').expect("three numbers").0;
        let manifest = format!("[target]\n{target}python = \"=={minor}.*\"\n\n[dependencies]\n{lines}");
        std::fs::write(ours.join("macml.toml"), manifest).unwrap();
        // The canonical index is out of bounds: what is measured must come from the loopback.
        std::fs::write(ours.with_file_name("config.toml"), "mirror-only = true\n").unwrap();
        let words = [&*self.macml.to_string_lossy(), "-C", &ours.to_string_lossy(), "lock", "-q"].map(str::to_owned);
        output(self.dress(Tool::Macml, Command::new(&words[0]).args(&words[1..])));

        let pins = self.locked().packages.into_iter().map(|package| format!("{}=={}", package.name, package.version));
        let theirs = self.folder(Tool::Uv).join("project");
        std::fs::create_dir_all(&theirs).unwrap();
        let pins: Vec<String> = pins.collect();
        let environment = match cfg!(target_os = "macos") {
            true => "sys_platform == 'darwin' and platform_machine == 'arm64'".to_owned(),
            false => format!("sys_platform == 'linux' and platform_machine == '{}'", std::env::consts::ARCH),
        };
        let manifest = format!(
            "[project]\nname = \"bench\"\nversion = \"0.1.0\"\nrequires-python = \"=={python}\"\n\
             dependencies = {pins:?}\n\n[tool.uv]\nno-build = true\nenvironments = [\"{environment}\"]\n"
        );
        std::fs::write(theirs.join("pyproject.toml"), manifest).unwrap();
        let mut command = Command::new(&self.uv.uv);
        output(self.dress(Tool::Uv, command.args(["lock", "-q", "--directory"]).arg(&theirs)));
    }

    fn locked(&self) -> macml::lock::Lockfile {
        let text = std::fs::read_to_string(self.folder(Tool::Macml).join("project/macml.lock")).unwrap();
        macml::lock::parse::parse(&text).unwrap()
    }

    fn describe(&self, runs: usize) {
        let version = |program: &Path| output(Command::new(program).arg("--version")).trim().to_owned();
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        let lock = self.locked();
        let bytes: u64 = lock.packages.iter().flat_map(|package| &package.wheels).map(|wheel| wheel.size).sum();
        println!(
            "{} {}, {cores} cores; {}; {}; Python {}\n",
            std::env::consts::OS,
            std::env::consts::ARCH,
            version(&self.macml),
            version(&self.uv.uv),
            self.python()
        );
        let files = |tool| {
            let site = self.folder(tool).join("project/.venv/lib");
            let site = std::fs::canonicalize(site).unwrap();
            output(Command::new("find").arg(site).args(["-type", "f"])).lines().count()
        };
        println!(
            "{} wheels, {} MB; files: macml {}, uv {}. Median of {runs} runs (least–most).\n",
            lock.packages.len(),
            bytes / 1_000_000,
            files(Tool::Macml),
            files(Tool::Uv),
        );
    }

    /// Measures one row, the tools taking turns.
    fn row(&self, row: Row, runs: usize) -> [Samples; 2] {
        let tools = [Tool::Macml, Tool::Uv];
        let mut values = [Vec::new(), Vec::new()];
        for turn in 0..=runs {
            for (tool, values) in tools.iter().zip(&mut values) {
                self.forget(*tool, row);
                let before = self.server.index().fetched();
                let sample = self.run(*tool, row);
                assert_eq!(self.server.index().fetched(), before, "the recording is not complete");
                // The first brings files into the page cache, and is not counted.
                if turn > 0 {
                    values.push(sample);
                }
            }
        }
        let unit = if matches!(row, Row::ColdMemory | Row::WarmMemory) { Unit::Mebibytes } else { Unit::Milliseconds };
        values.map(|values| Samples::new(unit, values))
    }

    /// Goes back to where a row begins.
    fn forget(&self, tool: Tool, row: Row) {
        let folder = self.folder(tool);
        let remove = |path: &Path| match path.symlink_metadata() {
            Ok(found) if found.is_dir() => std::fs::remove_dir_all(path).unwrap(),
            Ok(_) => std::fs::remove_file(path).unwrap(),
            Err(_) => {}
        };
        if matches!(row, Row::Cold | Row::ColdMemory) {
            remove(&folder.join("cache"));
        }
        if row != Row::Nothing {
            remove(&folder.join("project/.venv"));
            remove(&folder.join("project/.macml"));
        }
    }

    /// Syncs; returns milliseconds, or MiB.
    fn run(&self, tool: Tool, row: Row) -> f64 {
        let project = self.folder(tool).join("project").to_string_lossy().into_owned();
        let program = if tool == Tool::Macml { &self.macml } else { &self.uv.uv };
        let mut words = vec![program.to_string_lossy().into_owned()];
        words.extend(match tool {
            Tool::Macml => ["-C".to_owned(), project, "sync".to_owned(), "-q".to_owned()],
            Tool::Uv => ["sync".to_owned(), "-q".to_owned(), "--directory".to_owned(), project],
        });
        if row != Row::Nothing {
            words.push("--frozen".to_owned());
        }
        words.extend(["--link-mode".to_owned(), row.mode().to_owned()]);
        if matches!(row, Row::ColdMemory | Row::WarmMemory) {
            let mut command = samples::weighed(&self.uv.interpreter, &words);
            return samples::weight(&output(self.dress(tool, &mut command)));
        }
        let begun = Instant::now();
        output(self.dress(tool, Command::new(&words[0]).args(&words[1..])));
        begun.elapsed().as_secs_f64() * 1000.0
    }

    /// Gives a command the same small environment, whichever tool it is.
    fn dress<'c>(&self, tool: Tool, command: &'c mut Command) -> &'c mut Command {
        let kept = ["PATH", "HOME", "TMPDIR", "LANG"].map(|name| (name, std::env::var_os(name)));
        command.env_clear().envs(kept.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let folder = self.folder(tool);
        let url = self.server.url();
        match tool {
            Tool::Macml => command
                .env("MACML_CACHE_DIR", folder.join("cache"))
                .env("MACML_CONFIG_FILE", folder.join("config.toml"))
                .env("XDG_STATE_HOME", folder.join("state"))
                .env("MACML_PYTHON", base(&self.uv.interpreter))
                .env("MACML_MIRROR", url),
            Tool::Uv => command
                .env("UV_CACHE_DIR", folder.join("cache"))
                .env("UV_NO_CONFIG", "1")
                .env("UV_DEFAULT_INDEX", url)
                .env("UV_PYTHON", base(&self.uv.interpreter))
                .env("UV_PYTHON_DOWNLOADS", "never"),
        }
    }
}

/// Follows a virtual environment's interpreter to the one that it was made from.
fn base(interpreter: &Path) -> PathBuf {
    std::fs::canonicalize(interpreter).unwrap()
}
