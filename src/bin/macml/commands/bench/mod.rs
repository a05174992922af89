//! `macml bench`: how fast the frameworks of an environment compute on the GPU and on the CPU, kept and compared.

mod modes;
mod text;

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use std::time::SystemTime;

use macml::bench;
use macml::bench::Comparison;
use macml::bench::Found;
use macml::bench::History;
use macml::bench::Job;
use macml::bench::Run;
use macml::bench::Which;
use macml::bench::protocol::Before;
use macml::bench::readme;
use macml::sys::fs;
use macml::verify::Circumstances;
use macml::verify::Class;
use macml::verify::Subject;
use macml::verify::Word;
use macml::verify::protocol::Device;
use macml::verify::protocol::Framework;

use crate::amount;
use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::context::Context;
use crate::context::Drawing;
use crate::destination;
use crate::device;
use crate::device::DeviceArg;
use crate::error;
use crate::error::CommandError;
use crate::inside;
use crate::inside::Inside;
use crate::inside::InsideArgs;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::report;
use crate::report::bench::Report;

/// Measure how fast the environment's frameworks compute on the GPU and on the CPU, and compare with earlier runs
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The environment is brought in line with macml.lock first, as by `macml sync`.

Measured are a product of two matrices of 5000 by 5000 and an epoch of 4096 images through a small convolutional network, \
in float32 and float16, with torch, TensorFlow and MLX, as far as they are installed; each framework in a process of its \
own for each device. Times are medians of 3 to 15, until the result is there, with the distance of the farthest of them (±); what is done once (warm-up) and bringing data \
to the GPU and back (transfer) stand apart. Sizes are smaller where the memory is small or the CPU would take long; a \
speedup between two sizes is by work done per second, and marked with ~. Other programs that compute make times \
worthless: close them.

--compare judges the medians against those of an earlier run on the same processor with as much memory: slower or faster \
is what differs by more than a tenth and three times the usual distance of a single time from its median in both runs (the median of the distances: a few outliers, which ± shows, change neither it nor the medians). \
Runs are kept in .macml/bench/NAME.jsonl, one a line.

--batch-sizes doubles the batch of that network, each in a process of its own, until the system says that memory is scarce, the framework is refused memory, less is trained in a second, two minutes are over, or the next one would leave less than an eighth of the memory free. --workers loads data with torch's data loader by 0, 2, 4 and 8 workers, with and without persistent ones, in about 40 seconds on two processors. --readme replaces what stands between the lines `<!-- macml bench -->` and `<!-- /macml bench -->`.
Exit code: 0 measured, 1 something failed, or is slower than the run compared with, 2 there is no such GPU, or macml could \
not tell.")]
pub(crate) struct BenchArgs {
    /// What to measure beside the CPU; `cpu` measures that alone [default: mps on a Mac, cuda elsewhere]
    #[arg(long, value_name = "DEVICE", value_enum)]
    device: Option<DeviceArg>,

    /// Compare with an earlier run: a number of --list, the last run of a day such as 2026-11-30, or by itself the last run
    /// on this machine and device
    #[arg(long, value_name = "RUN", num_args = 0..=1)]
    compare: Option<Option<String>>,

    /// Find the largest batch before memory becomes scarce, and measure nothing else
    #[arg(long, conflicts_with_all = ["compare", "list"])]
    batch_sizes: bool,

    /// Find out how many data-loader workers are fastest, and measure nothing else
    #[arg(long, conflicts_with_all = ["compare", "list"])]
    workers: bool,

    /// Write the runs of the environment to this file, as a page with plots; it may replace an earlier page, and nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Put the times of the last run between two markers of this Markdown file
    #[arg(long, value_name = "FILE")]
    readme: Option<PathBuf>,

    /// List the runs that were kept, the last first, and measure nothing
    #[arg(long, conflicts_with_all = ["device", "compare", "no_save"])]
    list: bool,

    /// Do not keep this run
    #[arg(long)]
    no_save: bool,

    /// Measure this environment, of venv or conda, instead of one of a macml.toml; the run is not kept
    #[arg(long, value_name = "DIR", conflicts_with_all = ["env", "no_sync", "locked", "frozen", "offline", "compare", "list"])]
    prefix: Option<PathBuf>,

    #[command(flatten)]
    inside: InsideArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// The load for each processor from which on times say little.
const BUSY: f64 = 0.7;

/// What came of measuring.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What was measured.
    pub(crate) run: Run,
    /// The device, beside the CPU.
    pub(crate) device: Device,
    /// Where it was kept.
    pub(crate) kept: Option<PathBuf>,
    /// The comparison, where there is one.
    pub(crate) comparison: Option<Comparison>,
    /// How long it all took in seconds.
    pub(crate) seconds: f64,
    /// Those that were kept before.
    history: History,
}

/// What was asked for.
enum Answer {
    Measured(Box<Outcome>),
    Listed(History),
}

/// Runs the verb.
pub(crate) fn run(args: &BenchArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    // Measuring takes minutes.
    let page = args.html.as_deref().map_or(Ok(()), |file| {
        destination::in_folder(file, context)?;
        destination::for_page(file, context)
    });
    let answer = page.and_then(|()| match args.list {
        true => list(args, context, printer).map(Answer::Listed),
        false => measure(args, context, printer).map(|outcome| Answer::Measured(Box::new(outcome))),
    });
    if let Err(error) = &answer {
        error.show(printer);
    }
    let drawn = answer.as_ref().map_or(Ok(()), |answer| draw(args, answer, context, printer));
    let mut report = match &answer {
        Ok(Answer::Measured(outcome)) => {
            tell(outcome, printer);
            Report::measured(outcome)
        }
        Ok(Answer::Listed(history)) => Report::listed(history),
        Err(error) => Report::failed(error),
    };
    if let Err(error) = &drawn {
        // What was measured was measured.
        report = report.but(error);
    }
    let written = match (format, &answer) {
        (FormatArg::Json, _) => printer.data(&report::text(&report)),
        (FormatArg::Text, Ok(Answer::Measured(outcome))) => printer.result(&text::outcome(outcome, context)),
        (FormatArg::Text, Ok(Answer::Listed(history))) => printer.result(&text::listed(history)),
        (FormatArg::Text, Err(_)) => Ok(()),
    };
    if let Err(error) = &drawn {
        error.show(printer);
    }
    error::finish(written, report.exit_code, printer)
}

/// Writes what was asked for into files: the page of all runs, and the block of a README about the last with times.
fn draw(args: &BenchArgs, answer: &Answer, context: &Context, printer: &Printer) -> Result<(), CommandError> {
    let runs: Vec<Run> = match answer {
        Answer::Measured(outcome) if !outcome.run.has_answers() => {
            for file in [&args.html, &args.readme].into_iter().flatten() {
                note(&format!("nothing was measured: `{}` was not written", file.display()), printer);
            }
            return Ok(());
        }
        Answer::Listed(history) => history.runs.clone(),
        Answer::Measured(outcome) => outcome.history.runs.iter().chain([&outcome.run]).cloned().collect(),
    };
    let written = |file: &Path| printer.aside(&format!("{} written\n", styled(GOOD, file.display())));
    if let Some(file) = &args.html {
        let page = bench::page(&runs);
        let path = context.cwd.join(file);
        fs::write_atomic(&path, page.as_bytes(), fs::Durability::Flushed).map_err(CommandError::from_disk)?;
        written(file);
    }
    if let Some(file) = &args.readme {
        let last = runs.iter().rfind(|run| run.has_times());
        let last = last.ok_or_else(|| {
            CommandError::usage(format!("there are no times for `{}`", file.display()))
                .hint("`macml bench --readme FILE` measures them")
        })?;
        readme::write(&context.cwd.join(file), last).map_err(|error| CommandError::from_readme(error, file))?;
        written(file);
    }
    Ok(())
}

fn list(args: &BenchArgs, context: &Context, printer: &Printer) -> Result<History, CommandError> {
    let inside = Inside::enter(&InsideArgs { no_sync: true, ..env_alone(&args.inside) }, context, printer)?;
    history(&inside, printer)
}

/// Takes what says which environment is meant.
fn env_alone(args: &InsideArgs) -> InsideArgs {
    InsideArgs { env: args.env.clone(), ..InsideArgs::default() }
}

fn measure(args: &BenchArgs, context: &Context, printer: &Printer) -> Result<Outcome, CommandError> {
    if let Some(file) = &args.readme {
        // Measuring takes minutes.
        readme::check(&context.cwd.join(file)).map_err(|error| CommandError::from_readme(error, file))?;
    }
    let which = match &args.compare {
        None => None,
        Some(None) => Some(Which::Last),
        Some(Some(text)) => Some(Which::parse(text).ok_or_else(|| {
            CommandError::usage(format!("`{text}` is no run"))
                .hint("name a number of `macml bench --list`, or a day such as `2026-11-30`")
        })?),
    };
    let host = context.host()?;
    let device = device::meant(args.device, host.as_ref());
    let (inside, subject) = inside::subject(args.prefix.as_deref(), &args.inside, context, printer)?;
    if subject.frameworks().iter().all(|(framework, _)| *framework == Framework::Coremltools) {
        let text = format!("nothing in `{}` can be measured", subject.name);
        return Err(CommandError::usage(text).hint("`macml bench` measures torch, tensorflow and mlx"));
    }
    let history = inside.as_ref().map(|inside| history(inside, printer)).transpose()?.unwrap_or_default();
    let circumstances = match &inside {
        Some(inside) => inside.circumstances(context)?,
        None => Circumstances::of(None, None, host.as_ref()),
    };
    let memory = device::memory(host.as_ref());
    let mut run = blank(&subject, circumstances, memory);
    let named = match &which {
        Some(which @ (Which::Number(_) | Which::Day(_))) => Some(history.find(which, &run).ok_or_else(|| {
            let text = format!("no such run of `{}` was kept", subject.name);
            CommandError::usage(text).hint("`macml bench --list` lists those that were")
        })?),
        _ => None,
    };
    // Which machine this is, a processor that is no Mac's says only when it is measured.
    let same_chip = |before: &&Run| before.circumstances.chip == run.circumstances.chip;
    let before =
        match (named.or_else(|| history.runs.iter().rev().filter(|run| run.has_times()).find(same_chip)), &which) {
            (Some(before), Some(_)) => Before::Compared(before),
            (Some(before), None) => Before::Known(before),
            (None, _) => Before::Nothing,
        };
    let begun = Instant::now();
    let job = Job { subject: &subject, device, memory: memory.unwrap_or(device::LITTLE), before };
    if args.batch_sizes || args.workers {
        let progress = context.progress != Drawing::Nothing;
        let place = modes::Place { subject: &subject, device, memory: job.memory, printer, progress };
        if args.workers && !modes::workers(&place, &mut run) {
            return Err(CommandError::usage(format!("there is no torch in `{}`", subject.name))
                .hint("`--workers` measures torch's data loader"));
        }
        if args.batch_sizes {
            modes::batches(&place, &mut run);
        }
    } else {
        works(&job, context, printer, &mut run);
    }
    // Where nothing was measured, a comparison would tell of another machine: what this one is, times say.
    let earlier = which.as_ref().filter(|_| run.has_times()).and_then(|which| history.find(which, &run));
    if which.is_some() && earlier.is_none() && run.has_times() {
        note("no earlier run on this machine and device was kept: there is nothing to compare with", printer);
    }
    let comparison = earlier.map(|earlier| bench::compare(earlier, &run));
    let kept = match &inside {
        // Measuring took minutes: what came of it is shown in any case.
        Some(inside) if !args.no_save && run.has_answers() => keep(inside, &run, printer)
            .inspect_err(|error| {
                let why = [vec![error.source.to_string()], error.causes()].concat().join(": ");
                printer.aside(&format!("{}: this run was not kept: {why}\n", styled(WARN, "warning")));
            })
            .ok(),
        _ => None,
    };
    Ok(Outcome { run, device, kept, comparison, seconds: begun.elapsed().as_secs_f64(), history })
}

/// Measures every framework, and notes that in the run.
fn works(job: &Job<'_>, context: &Context, printer: &Printer, run: &mut Run) {
    let Found { measurements, failures, versions, load } =
        bench::measure_all(job, &mut |framework, version, device| {
            if context.progress != Drawing::Nothing {
                printer.aside(&format!("measuring {framework} {version} on {device}\n"));
            }
        });
    run.measurements = measurements;
    run.failures = failures;
    run.load = load;
    if let Some(load) = load.filter(|load| *load > BUSY) {
        let text = format!("other programs computed when this began (load {load:.1} for each processor)");
        printer.aside(&format!("{}: {text}: times may be too long\n", styled(WARN, "warning")));
    }
    for (name, version) in versions {
        run.packages.entry(name).or_insert(version);
    }
}

/// Makes a run in which nothing is measured yet.
fn blank(subject: &Subject, circumstances: Circumstances, memory: Option<u64>) -> Run {
    let packages = subject.installed.iter().map(|(name, version)| (name.to_string(), version.to_string()));
    Run {
        version: Run::VERSION,
        when: amount::since_1970(SystemTime::now()),
        env: subject.name.clone(),
        circumstances,
        memory,
        load: None,
        packages: packages.collect(),
        measurements: Vec::new(),
        failures: Vec::new(),
        batch_sizes: Vec::new(),
        workers: Vec::new(),
    }
}

/// Reads the runs of the environment, and tells of lines that are none.
fn history(inside: &Inside, printer: &Printer) -> Result<History, CommandError> {
    let env = &inside.place.env;
    let history = History::read(inside.project.folder(), env).map_err(CommandError::from_disk)?;
    for unread in &history.unread {
        let what = match unread.version {
            Some(version) if version != Run::VERSION => format!("was written by another macml (form {version})"),
            _ => "is no whole run".to_owned(),
        };
        note(&format!("line {} of `.macml/bench/{env}.jsonl` {what}, and does not count", unread.line), printer);
    }
    Ok(history)
}

/// Keeps a run, and returns where.
fn keep(inside: &Inside, run: &Run, printer: &Printer) -> Result<PathBuf, CommandError> {
    let project = inside.project.folder();
    let mut waiting = || printer.aside("waiting for another macml that keeps a run\n");
    History::add(project, run, &mut waiting).map_err(CommandError::from_disk)?;
    Ok(History::path(project, &run.env))
}

fn note(text: &str, printer: &Printer) {
    printer.aside(&format!("{}: {text}\n", styled(WARN, "note")));
}

/// Says what failed.
fn tell(outcome: &Outcome, printer: &Printer) {
    for failure in &outcome.run.failures {
        let (framework, device) = (failure.framework, failure.device);
        printer.error(&format!("{}: {framework} on {device}: {}\n", styled(BAD, "error"), failure.sentence));
    }
    for one in &outcome.run.measurements {
        let Some(error) = &one.error else { continue };
        let what = format!("{} on {}, {} in {}", one.framework, one.device, one.work.as_str(), one.element);
        printer.error(&format!("{}: {what}: {}\n", styled(BAD, "error"), error.replace('\n', " ")));
    }
    if outcome.device != Device::Cpu && outcome.run.failures.iter().any(bench::Failure::is_before_all) {
        let hint = "`macml bench --device cpu` measures the CPU alone";
        printer.error(&format!("{}: {hint}\n", styled(NAME, "hint")));
    }
}

impl Outcome {
    /// Returns what the end means for a program that calls.
    pub(crate) fn class(&self) -> Class {
        let failed = self.run.measurements.iter().any(|one| one.error.is_some());
        let slower = self.comparison.as_ref().is_some_and(|comparison| comparison.slower().next().is_some());
        let words = self.run.failures.iter().map(|failure| failure.word);
        let own = [if failed || slower { Word::Failed } else { Word::Ok }];
        Class::of_all(words.chain(own))
    }
}
