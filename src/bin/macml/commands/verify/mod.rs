//! `macml verify`: does the GPU of an environment train, and are its numbers right.

mod operators;
mod text;

pub(crate) use operators::without_kernel;

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use macml::environment::Stamp;
use macml::host::Host;
use macml::knowledge::Knowledge;
use macml::lock::Lockfile;
use macml::manifest::model::RootTable;
use macml::pipeline::verify;
use macml::pipeline::verify::Consent;
use macml::pipeline::verify::Foreseen;
use macml::pipeline::verify::Job;
use macml::pipeline::verify::Kept;
use macml::pipeline::verify::Locked;
use macml::pipeline::verify::Outcome;
use macml::pipeline::verify::Probes;
use macml::sys::fs::FsError;
use macml::target::Platform;
use macml::verify::Class;
use macml::verify::Subject;
use macml::verify::Word;
use macml::verify::framework_of;
use macml::verify::native::Builder;
use macml::verify::native::Torch;
use macml::verify::native::USUAL_LIMIT;
use macml::verify::protocol::Device;
use macml::verify::protocol::Framework;
use macml::verify::protocol::Limits;
use macml::verify::protocol::ProbeKind;

use crate::amount;
use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::commands::sync;
use crate::context;
use crate::context::Context;
use crate::device;
use crate::device::DeviceArg;
use crate::error;
use crate::error::CommandError;
use crate::inside;
use crate::inside::Inside;
use crate::inside::InsideArgs;
use crate::printer::Level;
use crate::printer::Printer;
use crate::progress::Draw;
use crate::report;
use crate::report::verify::Report;

/// Find out whether the GPU trains, and whether its numbers are right
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The environment is brought in line with macml.lock first, as by `macml sync`. Then each of its frameworks (torch, \
TensorFlow, MLX, Core ML tools) is asked in a process of its own: is the device there; a matrix product; two small \
networks, trained on the device and on the CPU from the same seed; and shapes, layouts and types that are known to have \
been wrong somewhere, each compared with the CPU in float64. NaN and infinities are wrong. A crash or a hang is a result \
like any other. What is known to go wrong with these releases on this Mac is said before.\n\n\
By itself torch is asked through Python, and natively too where the native probe for its release was built already. \
Building it takes minutes, once for each release, and needs cargo and a C++ compiler: `--native` builds it, and so does \
yes at a terminal, or `build-native-probe = true` in config.toml.\n\n\
`--ops` tries operators on the device, forward and backward, and compares them with the CPU: supported, fallback (computed \
on the CPU), fails or wrong; `-v` lists those that are supported too. NAME, also several with commas between them, is an \
operator (`aten::linalg_qr`, `torch.linalg.qr`), a variant of one (`interpolate[bicubic]`) or a module (`torch.nn.LSTM`, or \
`LSTM`) with all operators that it runs; `tf.nn.conv2d` and `Conv2D` are TensorFlow's, of which is only looked up whether \
the device has a kernel. FILE has such names, one or more a line, with comments behind `#`; in any other text each \
`aten::name` counts, as in torch's warnings. What breaks a process is left out of the next one. Without names about 500 \
operators and variants of torch are tried, sparse products, paddings, interpolations, grid_sample, norms, linalg, CTC, a \
custom backward and others, and about 200 operators of TensorFlow are looked up. Hardly any GPU supports them all, so that \
exit code 1 is the usual one there: name those that your program needs. Nothing is kept of it.\n\n\
What was found is kept in .macml/verified, so that `macml sync` can say whether the GPU is verified with this lock.\n\n\
Words: ok; wrong-numbers, nan, did-not-learn; cannot-load, wrong-release, not-built, crashed, garbage, failed, fallback, \
optimizer-elsewhere, incomplete; no-device, not-visible, hung, out-of-memory, not-run.\n\
Exit code: 0 all is right, 1 something does not work, 2 macml could not tell: no device, a hang, no memory, or a probe \
that could not be run, 3 the numbers are wrong, NaN or infinite. With `--if-possible` 0 where this process has no GPU.")]
pub(crate) struct VerifyArgs {
    /// Where to compute [default: mps on a Mac, cuda elsewhere]
    #[arg(long, value_name = "DEVICE", value_enum)]
    device: Option<DeviceArg>,

    /// Ask torch natively, through its C++ library alone, and build the probe for that where it is not there yet
    #[arg(long)]
    native: bool,

    /// Ask through Python alone; with --native both ways
    #[arg(long)]
    python: bool,

    /// Try operators one by one and nothing else, through torch's and TensorFlow's Python: those named, those in files,
    /// or all that macml knows how to try
    #[arg(long, value_name = "NAME|FILE", num_args = 0..)]
    ops: Option<Vec<String>>,

    #[command(flatten)]
    inside: InsideArgs,

    /// Verify this environment, of venv or conda, instead of one of a macml.toml; nothing is kept of it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["env", "no_sync", "locked", "frozen", "offline"])]
    prefix: Option<PathBuf>,

    /// End with 0 and a note where this process has no GPU
    #[arg(long)]
    if_possible: bool,

    /// How long each process of a probe may take before it is stopped; it begins nothing new in the last fifth
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,

    #[command(flatten)]
    output: OutputArgs,
}

/// What a run came to.
pub(crate) struct Done {
    /// What the environment is called.
    pub(crate) name: String,
    /// Where was computed.
    pub(crate) device: Device,
    /// The Mac that this is.
    pub(crate) host: Option<Host>,
    /// What was known before.
    pub(crate) foreseen: Foreseen,
    /// What came of it.
    pub(crate) outcome: Outcome,
    /// Frameworks that macml.toml names and that are not installed.
    pub(crate) missing: BTreeSet<String>,
    /// Whether it was kept, or why not; `None` for an environment that is no project's.
    pub(crate) kept: Option<NotKept>,
    /// Whether that this process has no GPU is no failure.
    pub(crate) forgiven: bool,
    /// What is worth knowing, a sentence each.
    pub(crate) notes: Vec<String>,
    /// What to do, best first.
    pub(crate) hints: Vec<String>,
}

/// Whether what was found was kept.
#[derive(Debug)]
pub(crate) enum NotKept {
    /// It was.
    Kept,
    /// There was nothing to keep.
    Nothing,
    /// Operators alone were asked about, which says nothing of the rest.
    OnlyOperators,
    /// The environment is not what macml.lock says.
    NotAsLocked,
    /// It could not be written.
    Failed(FsError),
}

impl Done {
    /// Returns the exit code.
    pub(crate) fn code(&self) -> u8 {
        let class = Class::of_all(self.outcome.answers.iter().map(|answer| answer.verdict.word));
        if self.forgiven { 0 } else { class.code() }
    }

    /// Says why nothing was kept, where somebody might expect it.
    pub(crate) fn not_kept(&self) -> Option<String> {
        match self.kept.as_ref()? {
            NotKept::Kept | NotKept::Nothing | NotKept::OnlyOperators => None,
            NotKept::NotAsLocked => {
                Some(format!("nothing was kept of this, since `{}` is not what macml.lock says", self.name))
            }
            NotKept::Failed(error) => Some(format!("nothing was kept of this: {error} ({})", error.cause)),
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &VerifyArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    match (format, answer(args, format, context, printer)) {
        (FormatArg::Text, Ok(done)) => {
            let asides = text::asides(&done);
            let written = printer.result(&text::text(&done, printer.level()));
            printer.aside(&asides);
            error::finish(written, done.code(), printer)
        }
        (FormatArg::Json, Ok(done)) => {
            let report = Report::new(&done);
            error::finish(printer.data(&report::text(&report)), report.exit_code, printer)
        }
        (FormatArg::Text, Err(error)) => error.show(printer),
        (FormatArg::Json, Err(error)) => {
            error.show(printer);
            let report = Report::failed(&error);
            error::finish(printer.data(&report::text(&report)), report.exit_code, printer)
        }
    }
}

fn answer(args: &VerifyArgs, format: FormatArg, context: &Context, printer: &Printer) -> Result<Done, CommandError> {
    if args.native && args.ops.is_some() {
        let error = CommandError::usage("`--ops` asks through Python, and `--native` without it");
        return Err(error.hint("`macml verify --ops` and `macml verify --native` are two runs"));
    }
    let config = context.config(args.inside.offline, &[])?;
    let host = context.host()?;
    let (inside, subject) = inside::subject(args.prefix.as_deref(), &args.inside, context, printer)?;
    let name = match &inside {
        Some(inside) => context.shown(&inside.place.link),
        None => subject.name.clone(),
    };
    if subject.frameworks().is_empty() {
        let named = if inside.is_some() { "; macml.toml names them in [frameworks]" } else { "" };
        let hint = format!("there are probes for torch, tensorflow, mlx and coremltools{named}");
        return Err(CommandError::usage(format!("`{name}` has no framework that could be verified")).hint(hint));
    }
    let wanted = args.ops.as_ref().map(|words| operators::wanted(words, &subject, &name, context)).transpose()?;
    let as_locked = inside
        .as_ref()
        .filter(|_| wanted.is_none())
        .and_then(|inside| as_locked(inside, &args.inside, context, printer));
    let spec = inside.as_ref().and_then(|inside| {
        let envs = &inside.project.manifest.envs;
        envs.iter().find(|env| env.name == inside.place.env)
    });
    let job = Job {
        subject: &subject,
        device: device::meant(args.device, host.as_ref()),
        host: host.as_ref(),
        memory: device::memory(host.as_ref()).unwrap_or(device::LITTLE),
        limits: Limits { begin: args.timeout * 4 / 5, end: args.timeout },
        probes: match (args.native, args.python) {
            (false, false) => Probes::Usual,
            (true, false) => Probes::Native,
            (false, true) => Probes::Python,
            (true, true) => Probes::Both,
        },
        operators: wanted.as_ref().map(|wanted| &*wanted.names),
        ignored: spec.map_or(&[], |spec| &spec.resolution.ignore_rules),
    };
    let foreseen = job.foresee(&Knowledge::built_in());
    if format == FormatArg::Text {
        // A reader who left early is told of at the end.
        let _ = printer.result(&text::before(&foreseen, host.as_ref()));
    }
    let draw = Draw::new(context.progress, printer);
    let builder = config.cache_dir.as_deref().map(|cache| Builder {
        cache,
        env: &context.env,
        progress: &draw,
        limit: USUAL_LIMIT,
    });
    let ask = |torch: &Torch| asked(torch, printer);
    let consent = match () {
        () if config.build_native_probe => Consent::Given,
        () if format == FormatArg::Text && may_ask(context, printer) => Consent::Asked(&ask),
        () => Consent::Withheld,
    };
    let outcome = verify::verify(&job, &foreseen, builder.as_ref(), consent, &draw);
    draw.clear();
    let missing = spec.map_or_else(BTreeSet::new, |spec| {
        let named = spec.roots.iter().filter(|root| root.table == RootTable::Frameworks);
        let absent = named.filter(|root| {
            let framework = framework_of(&root.name);
            framework.is_some_and(|framework| subject.frameworks().iter().all(|(there, _)| *there != framework))
        });
        // Once for each platform that a root names.
        absent.map(|root| root.name.to_string()).collect::<BTreeSet<_>>()
    });
    let kept = inside.as_ref().map(|inside| match wanted {
        Some(_) => NotKept::OnlyOperators,
        None => keep(inside, as_locked.as_ref(), host.as_ref(), &outcome),
    });
    let forgiven = args.if_possible && outcome.is_absence();
    let hints = hints(args, &subject, &outcome, host.as_ref());
    let device = job.device;
    let notes = wanted.map_or_else(Vec::new, |wanted| wanted.notes);
    Ok(Done { name, device, foreseen, outcome, missing, kept, forgiven, notes, hints, host })
}

/// Returns whether somebody is there who can be asked.
fn may_ask(context: &Context, printer: &Printer) -> bool {
    let terminals = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    terminals && !context::is_ci(&context.env) && printer.level() > Level::Quiet
}

/// Asks whether the native probe may be built; no is what comes of anything but yes.
fn asked(torch: &Torch, printer: &Printer) -> bool {
    printer.error(&format!(
        "torch {} can be asked natively too, by a probe that is built once, in a few minutes, with cargo and a C++ \
         compiler\nbuild it now? [y/N] ",
        torch.version
    ));
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// What macml.lock says of an environment that is as it says.
struct AsLocked {
    lockfile: Lockfile,
    stamp: Stamp,
    platform: Platform,
}

/// Finds out whether an environment is as macml.lock says, before anything is asked: the lock may move on meanwhile.
fn as_locked(inside: &Inside, args: &InsideArgs, context: &Context, printer: &Printer) -> Option<AsLocked> {
    if !inside.in_line && !sync::is_as_locked(args.env.as_deref(), context, printer) {
        return None;
    }
    let stamp = inside.generation.stamp().ok().flatten()?;
    let platform = stamp.platform.parse::<Platform>().ok()?;
    let lockfile = verify::lock_in(inside.project.folder()).ok().flatten()?;
    let entry = lockfile.env(&inside.place.env, platform)?;
    let locked = entry.packages.iter().map(|one| (one.name.to_string(), one.version.to_string()));
    let built = stamp.packages.iter().map(|one| (one.name.clone(), one.version.clone()));
    let same = locked.collect::<BTreeSet<_>>() == built.collect::<BTreeSet<_>>();
    same.then_some(AsLocked { lockfile, stamp, platform })
}

/// Keeps what was found, where it is about what macml.lock says.
fn keep(inside: &Inside, as_locked: Option<&AsLocked>, host: Option<&Host>, outcome: &Outcome) -> NotKept {
    let entry = as_locked.and_then(|one| Some((one, one.lockfile.env(&inside.place.env, one.platform)?)));
    let Some((AsLocked { lockfile, stamp, .. }, entry)) = entry else { return NotKept::NotAsLocked };
    let locked = Locked { folder: inside.project.folder(), lockfile, entry, content: &stamp.content, host };
    let now = amount::since_1970(SystemTime::now());
    match verify::keep(&locked, outcome, now) {
        Ok(Kept::Written) => NotKept::Kept,
        Ok(Kept::Nothing) => NotKept::Nothing,
        Err(error) => NotKept::Failed(error),
    }
}

/// Lists what to do about what was found.
fn hints(args: &VerifyArgs, subject: &Subject, outcome: &Outcome, host: Option<&Host>) -> Vec<String> {
    let mut hints = Vec::new();
    let word = outcome.word();
    let no_device = word.is_absence() || word == Word::NotBuilt;
    if no_device && args.device.is_none() && host.is_none() {
        hints.push("`--device cpu` asks the processor instead".to_owned());
    }
    if word == Word::NotVisible && host.is_some() && !args.if_possible {
        hints.push("run it in a terminal of this Mac itself; `--if-possible` makes no failure of it".to_owned());
    }
    if outcome.answers.iter().any(|answer| answer.late) {
        hints.push(format!("`--timeout` gives each process more than these {} s", args.timeout));
    }
    let native = outcome
        .answers
        .iter()
        .any(|answer| answer.verdict.probe == ProbeKind::Native && answer.verdict.word == Word::NotRun);
    if native && subject.frameworks().iter().any(|(framework, _)| *framework == Framework::Torch) {
        hints.push("`--python` asks without it".to_owned());
    }
    hints
}

/// What is said where `--if-possible` counts.
pub(crate) const FORGIVEN: &str =
    "this process has no GPU, so nothing was verified; `--if-possible` makes no failure of it";
