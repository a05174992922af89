//! `macml ops`: which operators of torch have a GPU kernel, told from the table in torch's own wheel for Macs.

mod text;
mod word;

pub(crate) use word::Word;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use macml::manifest;
use macml::operators;
use macml::operators::Asked;
use macml::operators::Overloads;
use macml::operators::State;
use macml::operators::Table;
use macml::pep::Version;
use macml::pipeline;
use macml::pipeline::ops;
use macml::pipeline::ops::OpsError;
use macml::pipeline::ops::OpsJob;
use macml::pipeline::ops::Tables;
use macml::progress::Progress;

use crate::amount;
use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::args::ReachArgs;
use crate::context;
use crate::context::Context;
use crate::context::serving;
use crate::error;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::progress::Draw;
use crate::progress::Transfers;
use crate::report;
use crate::report::ops::Report;

/// How many releases are named where one does not exist.
const MOST_RELEASES: usize = 5;

/// Say which operators of torch have a GPU kernel on a Mac, in the locked torch, and since which release
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Without NAME or FILE: how many operators have a GPU (MPS) kernel, and those that have none though the processor has one.
NAME is an operator or a function of torch: `aten::linalg_qr`, `linalg_qr.out`, `torch.linalg.qr`; without an overload it has a kernel when one of its overloads has, and the others are named. FILE is any text, such \
as what a program printed: every `aten::name` in it counts, as in torch's warnings of a fallback and in its refusals, and \
lines that are nothing but names, with comments behind `#`.
`composite` operators call others and run on the GPU as far as those do; of operators of nearly the same name that do the \
work it is told what they have, and what their gradients have, which does not count for the exit code.
The table is read from torch's wheel for Macs, on any machine: from the cache, or by a few ranged reads from the index, \
which cannot be held against the wheel's sha256. What it cannot tell: kernels that are registered in C++ only, and types \
and shapes that a kernel refuses; `macml verify --ops` tries operators on the GPU itself.
Exit code: 0, 1 where something that was asked about by NAME or FILE has no GPU kernel, 2 macml could not tell.")]
pub(crate) struct OpsArgs {
    /// Operators to ask about, or files that mention them
    #[arg(value_name = "NAME|FILE")]
    asked: Vec<String>,

    /// Take the torch that this environment has locked for Macs [default: default] [env: MACML_ENV]
    #[arg(long, value_name = "NAME", conflicts_with = "torch")]
    env: Option<String>,

    /// Take this release of torch instead of the locked one; needs no macml.toml
    #[arg(long, value_name = "VERSION")]
    torch: Option<Version>,

    /// Say what changed from that torch to this release
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["asked", "all"])]
    compare: Option<Version>,

    /// List operators that people do not call too: names that begin with `_`, and backward halves
    #[arg(long, conflicts_with = "asked")]
    all: bool,

    #[command(flatten)]
    reach: ReachArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// What was asked about in one word of the command line.
pub(crate) struct Answer {
    /// The file, as people know it; absent for a name.
    pub(crate) file: Option<String>,
    /// What is said of each name.
    pub(crate) asked: Vec<Asked>,
    /// Lines of the file that name none, less empty ones and comments.
    others: Vec<String>,
}

/// Runs the verb.
pub(crate) fn run(args: &OpsArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let draw = Arc::new(Draw::new(context.progress, printer));
    let result = answer(args, context, &draw);
    draw.clear();
    let (tables, answers) = match result {
        Ok(result) => result,
        Err(error) => {
            error.show(printer);
            return match format {
                FormatArg::Text => error.kind.code().into(),
                FormatArg::Json => {
                    let report = Report::failed(&error);
                    error::finish(printer.data(&report::text(&report)), error.kind.code(), printer)
                }
            };
        }
    };
    let code = code(&answers);
    // Those of a file have their line there.
    let typed = answers.iter().filter(|answer| answer.file.is_none()).flat_map(|answer| &answer.asked);
    for asked in typed.filter(|asked| asked.rows.is_empty()) {
        unknown(asked, &tables.one.version).show(printer);
    }
    for Answer { file, others, .. } in &answers {
        if let (Some(shown), Some(first)) = (file, others.first()) {
            let lines = amount::count(others.len(), "line");
            let sentence = format!("{lines} of `{shown}` counted for nothing, the first: {first}");
            printer.aside(&format!("{}: {sentence}\n", styled(NAME, "note")));
        }
    }
    for finding in &tables.findings {
        printer.aside(&format!("{}: {}\n", styled(WARN, "warning"), finding.message));
    }
    let written = match format {
        FormatArg::Json => printer.data(&report::text(&Report::new(&tables, &answers, code))),
        FormatArg::Text if !args.asked.is_empty() => printer.result(&text::answers(&answers, &tables.one.version)),
        FormatArg::Text => match &tables.other {
            Some(other) => printer.result(&text::comparison(&tables.one, other)),
            None => printer.result(&text::summary(&tables.one, args.all)),
        },
    };
    error::finish(written, code, printer)
}

fn answer(args: &OpsArgs, context: &Context, draw: &Arc<Draw>) -> Result<(Tables, Vec<Answer>), CommandError> {
    let config = context.config(args.reach.offline, &args.reach.mirror)?;
    let is_name = |word: &str| !operators::readings(word).is_empty();
    let words = args.asked.iter().map(|word| Word::read(word, &is_name, context)).collect::<Result<Vec<_>, _>>()?;
    let job = OpsJob {
        start: context.start.clone(),
        home: context.env.home().map(PathBuf::from),
        version: context::version(),
        env: context.env_name(args.env.as_deref()).unwrap_or("default").to_owned(),
        torch: args.torch.clone(),
        compare: args.compare.clone(),
    };
    let progress: Arc<dyn Progress> = Arc::new(Transfers(draw.clone()));
    let serve = |manifest: Option<&manifest::Manifest>| match manifest {
        Some(manifest) => serving(&config, manifest),
        None => config.clone(),
    };
    let tables = ops::read(&job, &serve, &progress).map_err(|error| failed(error, context))?;
    let answers: Vec<Answer> = words.iter().map(|word| word.answer(&tables.one.table)).collect();
    match answers.iter().find(|answer| answer.asked.is_empty()) {
        Some(Answer { file: Some(shown), .. }) => Err(no_operator(shown)),
        _ => Ok((tables, answers)),
    }
}

impl Word {
    fn answer(&self, table: &Table) -> Answer {
        match self {
            Self::Name(name) => {
                let asked = vec![operators::ask(table, name, Overloads::All)];
                Answer { file: None, asked, others: Vec::new() }
            }
            Self::File { shown, text } => {
                let ask = |name: &str| operators::ask(table, name, Overloads::Exact);
                let in_table =
                    |words: &[&str]| words.iter().all(|name| operators::knows(table, name, Overloads::Exact));
                let operators::Mentioned { names, others } = operators::mentioned(text, &in_table);
                Answer { file: Some(shown.clone()), asked: names.iter().map(|name| ask(name)).collect(), others }
            }
        }
    }
}

/// Decides on the exit code: what has no kernel is a no, whatever else could not be told.
fn code(answers: &[Answer]) -> u8 {
    let states: Vec<Option<State>> = answers.iter().flat_map(|answer| &answer.asked).map(Asked::state).collect();
    match states.contains(&Some(State::None)) {
        true => 1,
        false if states.contains(&None) => 2,
        false => 0,
    }
}

/// Makes the error about a file that names nothing.
fn no_operator(shown: &str) -> CommandError {
    CommandError::usage(format!("`{shown}` names no operator"))
        .hint("write one or more a line, as `linalg_qr` or `torch.linalg.qr`; in other text each `aten::name` counts")
}

/// Makes the error about a name that the table does not have.
fn unknown(asked: &Asked, torch: &Version) -> CommandError {
    // No overload is called like the end of a file's name, but for `out`.
    const ENDS: [&str; 5] = ["txt", "log", "err", "json", "md"];
    let name = asked.text.as_str();
    if let Some((stem, end)) = name.rsplit_once('.')
        && ENDS.contains(&end)
        && !stem.starts_with("torch.")
    {
        let error = format!("there is no file `{name}`, and torch {torch} has no operator of that name");
        return CommandError::usage(error);
    }
    let error = CommandError::usage(format!("torch {torch} has no operator `{name}`"));
    // Modules are called like classes, and no operator of torch that is to be called begins so.
    let last = name.rsplit('.').next().unwrap_or(name);
    if last.starts_with(|c: char| c.is_ascii_uppercase()) && !name.contains("::") {
        return error.hint(format!("`macml verify --ops {name}` tries modules, with all operators that they run"));
    }
    text::instead(asked, torch).into_iter().fold(error, CommandError::hint)
}

/// Turns what stood in the way into what people read.
fn failed(error: OpsError, context: &Context) -> CommandError {
    let releases = |known: &[Version]| {
        let newest = known.iter().take(MOST_RELEASES).map(ToString::to_string).collect::<Vec<_>>().join(", ");
        (!known.is_empty()).then(|| format!("the newest with wheels for Apple Silicon Macs: {newest}"))
    };
    const NAMED: &str = "`--torch VERSION` asks about a release without a lock";
    match error {
        OpsError::Pipeline(pipeline::Error::Manifest(error @ manifest::Error::NotFound { .. })) => {
            CommandError::from_pipeline(pipeline::Error::Manifest(error), context).hint(NAMED)
        }
        OpsError::Pipeline(error) => CommandError::from_pipeline(error, context),
        OpsError::Unlocked => CommandError::new(Kind::Lockfile, error).hint("`macml lock` writes it").hint(NAMED),
        OpsError::Broken => {
            CommandError::new(Kind::Lockfile, error).hint("`macml lock` brings it up to date").hint(NAMED)
        }
        OpsError::NotForMacs { ref torch, .. } => {
            let hint = match torch {
                Some(torch) => format!("`--torch {torch}` asks about the torch that it has elsewhere, as Macs have it"),
                None => NAMED.to_owned(),
            };
            CommandError::new(Kind::Usage, error).hint(hint)
        }
        OpsError::NoTorch { .. } => CommandError::new(Kind::Usage, error).hint(NAMED),
        OpsError::NoRelease { ref known, .. } | OpsError::NoMacWheel { ref known, .. } => {
            let hint = releases(known);
            hint.into_iter().fold(CommandError::new(Kind::Usage, error), CommandError::hint)
        }
        OpsError::Offline { .. } => {
            CommandError::new(Kind::Index, error).hint("run it once without `--offline`: the table is kept")
        }
        OpsError::NoTable { .. } | OpsError::Table { .. } => CommandError::new(Kind::Index, error)
            .hint("this macml reads the tables of torch 1.12 to 2.15; a later macml may know this one"),
        OpsError::Unusable { .. } | OpsError::Index(_) => CommandError::new(Kind::Index, error),
        OpsError::Disk(error) => CommandError::from_disk(error),
    }
}
