//! The speed of `macml lock` beside uv's, on one machine, in one run, against one loopback index.
//!
//! `cargo bench --bench lock` records what it needs from PyPI on its first run, under `target/bench-index/`, and installs
//! uv under `target/bench-venv/`; later runs need no network. The tools take turns (A B C A B C), each with a folder and
//! a cache of its own. A table in Markdown goes to standard output.
//!
//! uv is measured in two ways, since neither asks quite macml's question. `uv lock`, narrowed to arm64 Macs and to one
//! Python, writes a lockfile, but knows no macOS floor. `uv pip compile` knows the floor, but writes requirements with
//! hashes and has no check for "nothing to do". Ratios are against the faster of the two.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark may look at the world, stop at once and talk"
)]

mod index;
mod made;
mod measure;
mod record;
mod researcher;
mod samples;
mod server;
mod tools;
mod uv;

use std::path::Path;
use std::time::Duration;

use index::Index;
use measure::{Contest, Row};
use researcher::ROOTS;
use samples::Samples;
use server::Server;
use tools::{Bench, Project, Tool};

/// Sizes of the made-up universes that show growth.
const SIZES: [usize; 3] = [10, 100, 500];

/// What was typed.
struct Options {
    runs: usize,
    delay: Duration,
    macml: Option<String>,
    tools: Vec<Tool>,
    project: Part,
    growth: Part,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Measure,
    Skip,
}

const USAGE: &str = "\
cargo bench --bench lock -- [OPTIONS]
  --runs N        timed runs of each tool for each row (default 7)
  --delay-ms N    the index waits so long before each answer (default 0)
  --macml PATH    measure this macml instead of the one just built
  --only PART     project or growth
  --uv-only       measure uv alone, to see what this machine does";

fn options() -> Options {
    let mut options = Options {
        runs: 7,
        delay: Duration::ZERO,
        macml: None,
        tools: Tool::ALL.to_vec(),
        project: Part::Measure,
        growth: Part::Measure,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("`{word}` needs a value\n{USAGE}"));
        match word.as_str() {
            // Cargo says so to every benchmark.
            "--bench" => {}
            "--runs" => options.runs = value().parse().expect("a number of runs"),
            "--delay-ms" => options.delay = Duration::from_millis(value().parse().expect("milliseconds")),
            "--macml" => options.macml = Some(value()),
            "--uv-only" => options.tools.retain(|tool| *tool != Tool::Macml),
            "--only" => match value().as_str() {
                "project" => options.growth = Part::Skip,
                "growth" => options.project = Part::Skip,
                other => panic!("no part `{other}`\n{USAGE}"),
            },
            other => panic!("unknown option `{other}`\n{USAGE}"),
        }
    }
    options
}

fn main() {
    let options = options();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned();
    let macml = options.macml.clone().unwrap_or_else(|| env!("CARGO_BIN_EXE_macml").to_owned());
    let bench = Bench::new(&target, macml.into());
    println!("{}\n", bench.describe(&options.tools));
    if options.delay > Duration::ZERO {
        println!("The index waits {} ms before each answer.\n", options.delay.as_millis());
    }
    if options.project == Part::Measure {
        project(&options, &bench);
    }
    if options.growth == Part::Measure {
        growth(&options, &bench);
    }
}

/// Times the researcher's project.
fn project(options: &Options, bench: &Bench) {
    let index = Index::new(std::collections::HashMap::new(), Some(bench.target().join("bench-index")));
    let contest = Contest {
        runs: options.runs,
        tools: &options.tools,
        bench,
        project: Project { name: "project".to_owned(), roots: ROOTS.map(str::to_owned).to_vec() },
        server: Server::start(index, options.delay),
    };

    eprintln!("recording what is missing…");
    for tool in &options.tools {
        let folder = contest.folder(*tool);
        // Tools ask ahead in an order that depends on timing, so one round may not have asked for everything.
        for _ in 0..5 {
            let before = contest.server.index().fetched();
            folder.forget_all();
            folder.run(Row::Cold);
            if contest.server.index().fetched() == before {
                break;
            }
        }
    }

    let mut table = Vec::new();
    for row in Row::ALL {
        eprintln!("{}…", row.title());
        table.push((row.title().to_owned(), measure::row(row, &contest)));
    }
    let found = options.tools.iter().map(|tool| format!("{} {}", tool.title(), contest.folder(*tool).packages()));
    println!(
        "{} roots, arm64 Macs from macOS {}, Python {}; packages found: {}. Median of {} runs (least–most).\n",
        ROOTS.len(),
        tools::MACOS,
        bench.python(),
        found.collect::<Vec<_>>().join(", "),
        options.runs
    );
    print_table(&options.tools, &table);
}

/// Times made-up universes of growing size.
fn growth(options: &Options, bench: &Bench) {
    let mut table = Vec::new();
    for size in SIZES {
        eprintln!("{size} made-up packages…");
        let contest = Contest {
            runs: options.runs,
            tools: &options.tools,
            bench,
            project: Project { name: format!("made-{size}"), roots: made::roots() },
            server: Server::start(made::universe(size), options.delay),
        };
        table.push((format!("lock {size} packages, empty cache"), measure::row(Row::Cold, &contest)));
    }
    println!("\nMade-up universes, {} releases of each package, every package needed.\n", made::RELEASES);
    print_table(&options.tools, &table);
}

fn print_table(tools: &[Tool], rows: &[(String, Vec<Samples>)]) {
    let names: Vec<&str> = tools.iter().map(|tool| tool.title()).collect();
    println!("| work | {} | macml / uv |", names.join(" | "));
    println!("| --- |{} ---: |", " ---: |".repeat(tools.len()));
    for (title, samples) in rows {
        let cells: Vec<String> = samples.iter().map(Samples::to_string).collect();
        println!("| {title} | {} | {} |", cells.join(" | "), measure::ratio(tools, samples));
    }
}
