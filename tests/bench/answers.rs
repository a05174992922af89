//! What macml and uv answer to natural requests, marked by facts that macml's own rules have no part in.
//!
//! `cargo bench --bench answers` puts every request of `requests.toml` to `macml lock` and to `uv pip compile` at the same
//! macOS floor, on the real index, and marks each answer by `facts.toml`. Nothing is run on a Mac: `works` says that every
//! package has a wheel for that macOS and Python and that nothing known of these releases says otherwise.
//!
//! uv is asked twice. With `--only-binary :all:` it answers macml's question, and stands in the table. As it comes it may
//! also take source archives; where that changes the answer, a line below the table says so.
//!
//! `--knowledge-cost` measures instead what knowledge costs the solver, on recorded pages. uv and the recordings are kept
//! below `target/`, as those of the other benchmark.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark may look at the world, stop at once and talk"
)]

mod asked;
mod cost;
mod facts;
#[expect(dead_code, reason = "the other benchmark makes up indexes too, and looks whether they are complete")]
mod index;
mod record;
mod requests;
mod researcher;
#[expect(dead_code, reason = "the other benchmark looks into its index")]
mod server;
mod uv;

use std::path::Path;

use asked::{Answer, Asker, Tool};
use facts::{Facts, Mark, Reason, Verdict};
use requests::Request;

/// What was typed.
struct Options {
    /// Only requests whose name contains it.
    only: Option<String>,
    macml: Option<String>,
    form: Form,
    sources: Sources,
    /// Timed runs each way of `--knowledge-cost`.
    runs: usize,
}

/// What is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Every answer with its evidence, then the table.
    Long,
    /// The table alone.
    Markdown,
    /// What knowledge costs.
    Cost,
}

/// Whether uv is asked as it comes, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sources {
    Ask,
    Skip,
}

const USAGE: &str = "\
cargo bench --bench answers -- [OPTIONS]
  --only TEXT       only requests whose name contains it
  --markdown        print only the table that README.md shows
  --no-sources      do not ask uv a second time with source archives allowed
  --macml PATH      ask this macml instead of the one just built
  --knowledge-cost  measure the solver with knowledge and without, instead of all that
  --runs N          its runs each way (default 20)";

fn options() -> Options {
    let mut options = Options { only: None, macml: None, form: Form::Long, sources: Sources::Ask, runs: 20 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("`{word}` needs a value\n{USAGE}"));
        match word.as_str() {
            // Cargo says so to every benchmark.
            "--bench" => {}
            "--only" => options.only = Some(value()),
            "--markdown" => options.form = Form::Markdown,
            "--no-sources" => options.sources = Sources::Skip,
            "--macml" => options.macml = Some(value()),
            "--knowledge-cost" => options.form = Form::Cost,
            "--runs" => options.runs = value().parse().expect("a number of runs"),
            other => panic!("unknown option `{other}`\n{USAGE}"),
        }
    }
    options
}

/// A request, and what every tool made of it.
struct Row<'a> {
    request: &'a Request,
    outcomes: Vec<(Tool, Outcome)>,
}

/// An answer and its mark.
struct Outcome {
    answer: Answer,
    verdict: Verdict,
}

fn main() {
    let options = options();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned();
    if options.form == Form::Cost {
        cost::print(&target, options.runs);
        return;
    }
    let macml = options.macml.clone().unwrap_or_else(|| env!("CARGO_BIN_EXE_macml").to_owned());
    let mut asker = Asker::new(macml.into(), uv::install(&target).uv, target.join("bench-answers"));
    let requests = requests::all();
    let facts = Facts::read(&requests);
    let tools: &[Tool] = match options.sources {
        Sources::Ask => &[Tool::Uv, Tool::UvSources, Tool::Macml],
        Sources::Skip => &[Tool::Uv, Tool::Macml],
    };
    let mut rows = Vec::new();
    for request in &requests {
        if options.only.as_ref().is_some_and(|only| !request.id.contains(only.as_str())) {
            continue;
        }
        eprintln!("{}…", request.id);
        let mut outcome = |tool: &Tool| {
            let answer = asker.ask(*tool, request);
            let verdict = facts.judge(request, &answer);
            (*tool, Outcome { answer, verdict })
        };
        let row = Row { request, outcomes: tools.iter().map(&mut outcome).collect() };
        if options.form == Form::Long {
            print_long(&row);
        }
        rows.push(row);
    }
    println!("{}\n", asker.describe());
    print_table(&rows);
    print_sources(&rows, options.sources);
}

impl Row<'_> {
    fn of(&self, tool: Tool) -> &Outcome {
        let found = self.outcomes.iter().find(|(one, _)| *one == tool);
        &found.unwrap_or_else(|| panic!("{tool:?} was asked")).1
    }

    /// Writes what was chosen of the packages that matter.
    fn chosen(&self, tool: Tool) -> String {
        let Answer::Set { python, packages, .. } = &self.of(tool).answer else { return String::new() };
        let version = |name| packages.iter().find(|package| package.name == name);
        let shown = self.request.shown().filter_map(version);
        let mut parts: Vec<String> = shown.map(|package| format!("{} {}", package.name, package.version)).collect();
        parts.push(format!("Python {python}"));
        parts.join(", ")
    }
}

impl Outcome {
    /// Writes the mark, and whether the tool itself said something of a package that is at fault.
    fn marked(&self) -> String {
        let Verdict { mark, reasons } = &self.verdict;
        let warned =
            reasons.iter().any(|reason| reason.package.as_ref().is_some_and(|name| self.answer.warns_of(name)));
        match mark.is_right() {
            true => mark.to_string(),
            false if warned => format!("**{mark}**, and says so"),
            false => format!("**{mark}**"),
        }
    }
}

/// Prints everything about a request.
fn print_long(row: &Row<'_>) {
    let request = row.request;
    let gpu = if request.gpu { ", on the GPU" } else { "" };
    println!("{}: {} (macOS {}{gpu}, Python {})", request.id, request.lines.join(", "), request.macos, request.python);
    println!("  {}", request.why);
    for (tool, outcome) in &row.outcomes {
        println!("  {}: {} {}", tool.title(), outcome.marked(), row.chosen(*tool));
        for Reason { because, evidence, .. } in &outcome.verdict.reasons {
            println!("    {because} [{evidence}]");
        }
        if let Answer::Nothing(said) = &outcome.answer {
            said.trim().lines().take(12).for_each(|line| println!("    | {line}"));
        }
    }
    println!();
}

/// Prints the table and how often each mark was given.
fn print_table(rows: &[Row<'_>]) {
    println!("| asked for | macOS | uv | macml | why |");
    println!("| --- | --- | --- | --- | --- |");
    for row in rows {
        let lines: Vec<String> = row.request.lines.iter().map(|line| format!("`{line}`")).collect();
        let gpu = if row.request.gpu { ", GPU" } else { "" };
        let cell = |tool| {
            let mark = row.of(tool).marked();
            match row.chosen(tool) {
                chosen if chosen.is_empty() => mark,
                chosen => format!("{mark}: {chosen}"),
            }
        };
        let (uv, macml) = (cell(Tool::Uv), cell(Tool::Macml));
        println!("| {} | {}{gpu} | {uv} | {macml} | {} |", lines.join(", "), row.request.macos, why(row));
    }
    println!();
    for tool in [Tool::Uv, Tool::Macml] {
        let count = |mark: &Mark| rows.iter().filter(|row| row.of(tool).verdict.mark == *mark).count();
        let counts = Mark::ALL.iter().map(|mark| (count(mark), mark)).filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, mark)| format!("{mark} {count}")).collect();
        println!("{}, {} requests: {}.", tool.title(), rows.len(), counts.join(", "));
    }
}

/// Puts the reasons of both tools into one sentence.
fn why(row: &Row<'_>) -> String {
    let text = |tool| {
        let reasons = row.of(tool).verdict.reasons.iter().map(|reason| reason.because.as_str());
        reasons.collect::<Vec<_>>().join("; ")
    };
    let (uv, macml) = (text(Tool::Uv), text(Tool::Macml));
    match (uv.is_empty(), macml.is_empty()) {
        _ if uv == macml => uv,
        (false, true) => uv,
        (true, false) => format!("macml: {macml}"),
        _ => format!("uv: {uv}; macml: {macml}"),
    }
}

/// Says where uv answers otherwise as it comes.
fn print_sources(rows: &[Row<'_>], sources: Sources) {
    if sources == Sources::Skip {
        return;
    }
    let alike = |row: &Row<'_>| {
        let mark = |tool| row.of(tool).verdict.mark;
        mark(Tool::Uv) == mark(Tool::UvSources) && row.chosen(Tool::Uv) == row.chosen(Tool::UvSources)
    };
    let others: Vec<&Row<'_>> = rows.iter().filter(|row| !alike(row)).collect();
    println!("\nuv with source archives allowed, as it comes: {} answers differ.", others.len());
    for row in others {
        let verdict = &row.of(Tool::UvSources).verdict;
        let reasons: Vec<&str> = verdict.reasons.iter().map(|reason| reason.because.as_str()).collect();
        println!("* {}: {}, {}; {}", row.request.id, verdict.mark, row.chosen(Tool::UvSources), reasons.join("; "));
    }
}
