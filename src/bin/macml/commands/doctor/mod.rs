//! `macml doctor`: what is wrong with this machine, its Pythons and this project, from everything that was seen at once.

mod text;

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use std::time::Instant;

use macml::diag::Severity;
use macml::doctor;
use macml::doctor::Diagnosis;
use macml::doctor::Facts;
use macml::doctor::Fastest;
use macml::doctor::Section;
use macml::doctor::facts::Unseen;
use macml::host;
use macml::index::Config;
use macml::knowledge::Knowledge;
use macml::manifest;
use macml::pipeline::doctor::Look;
use macml::pipeline::doctor::TIME_TO_ANSWER;
use macml::pipeline::doctor::gather;
use macml::pipeline::doctor::measure;
use macml::progress::Progress as _;
use macml::sys::fs;
use macml::target::MacosVersion;

use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::args::ReachArgs;
use crate::args::ReplayArgs;
use crate::characters;
use crate::context::Context;
use crate::context::serving;
use crate::error;
use crate::error::CommandError;
use crate::printer::Level;
use crate::printer::Printer;
use crate::progress::Draw;
use crate::report;
use crate::report::doctor::Report;

pub(crate) use text::remedy;

/// Say what is wrong with this machine, its Pythons and this project, each with a remedy
#[derive(clap::Args, Debug)]
#[command(after_help = "\
It looks at the Mac, what this process sees of its GPU, memory, compilers, PATH and the Pythons on it, the project with its \
lock and environments, active environments, volumes, proxies and certificates; it starts no Python and nothing else that is \
not the system's, and changes nothing. Problems come first, the worst at the top, each with why it matters and what to do; \
`macml explain CODE` has a page on each. What could not be seen is a line, never an error.\n\n\
`--facts` writes what was seen: without the names of this user and this machine, with `~` for the home folder, and of variables that may \
hold a secret only that they are set. Sent to somebody else, `macml doctor --host FILE` says there what it would say here. \
Every other verb takes the file too, for the Mac in it.\n\n\
Exit code: 1 something is broken, else 2 the machine or the project could not be seen, else 0. Warnings change it with \
--strict only.")]
pub(crate) struct DoctorArgs {
    /// Write what was seen as JSON, and no verdict (schema/facts.schema.json)
    #[arg(long, conflicts_with = "strict")]
    facts: bool,

    #[command(flatten)]
    replay: ReplayArgs,

    /// Look at this environment too, of venv or conda
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,

    /// Look at everything: each file of the environments, whether their libraries load together, and what Pythons say when
    /// they are started; it takes much longer
    #[arg(long)]
    full: bool,

    /// Measure how fast the indexes and mirrors answer that are set, declared or built in, all at once, for at most five
    /// seconds; with MACML_MIRROR_ONLY, those that are set
    #[arg(long)]
    network: bool,

    /// Fail on warnings too
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    reach: ReachArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// What was seen, and what it comes to.
pub(crate) struct Seen {
    /// The facts.
    pub(crate) facts: Facts,
    /// What is wrong, the worst first.
    pub(crate) diagnoses: Vec<Diagnosis>,
    /// What is there.
    pub(crate) sections: Vec<Section>,
    /// What was measured comes to.
    pub(crate) fastest: Option<Fastest>,
    /// The end in one word.
    pub(crate) verdict: Verdict,
    /// How long it took.
    pub(crate) took: Duration,
}

/// The end in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing is broken.
    Ok,
    /// Something is.
    Problems,
    /// Warnings, with `--strict`.
    Strict,
    /// The machine or the project could not be seen.
    Unseen,
}

impl Verdict {
    /// Returns the exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Problems | Self::Strict => 1,
            Self::Unseen => 2,
        }
    }

    /// Returns the word in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Problems => "problems",
            Self::Strict => "strict",
            Self::Unseen => "unseen",
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &DoctorArgs, context: &Context, printer: &Printer) -> ExitCode {
    let began = Instant::now();
    // Facts are JSON whatever the format of verdicts is.
    let format = match args.facts {
        true => Ok(FormatArg::Text),
        false => context.format(args.output.format),
    };
    let format = match format {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let facts = match facts(args, context, printer) {
        Ok(facts) => facts,
        Err(error) => {
            let code = error.show(printer);
            if format == FormatArg::Text {
                return code;
            }
            return error::finish(printer.data(&report::text(&Report::failed(&error))), error.kind.code(), printer);
        }
    };
    if args.facts {
        return error::finish(printer.data(&report::text(&facts)), 0, printer);
    }
    let seen = Seen::of(facts, args.strict, began);
    let written = match format {
        FormatArg::Json => printer.data(&report::text(&Report::new(&seen))),
        FormatArg::Text => {
            let marks = text::Marks::of(characters::is_utf8(&context.env));
            match printer.level() {
                Level::Quiet => {
                    printer.error(&text::errors(&seen, marks));
                    Ok(())
                }
                Level::Normal | Level::Verbose => printer.result(&text::text(&seen, marks)),
            }
        }
    };
    error::finish(written, seen.verdict.code(), printer)
}

impl Seen {
    fn of(facts: Facts, strict: bool, began: Instant) -> Self {
        let diagnoses = doctor::judge(&facts, &Knowledge::built_in());
        let sections = doctor::sections(&facts, &diagnoses);
        let has = |severity| diagnoses.iter().any(|one| one.severity == severity);
        let verdict = match () {
            () if has(Severity::Error) => Verdict::Problems,
            () if strict && has(Severity::Warning) => Verdict::Strict,
            () if !is_seen(&facts) => Verdict::Unseen,
            () => Verdict::Ok,
        };
        let fastest = doctor::fastest(&facts.network);
        Self { facts, diagnoses, sections, fastest, verdict, took: began.elapsed() }
    }
}

/// What stands in [`Facts::unseen`] for the machine and for the project, each as a whole.
const WHOLE: [&str; 4] = ["this Mac", PROJECT, "macml.toml", "macml.lock"];
const PROJECT: &str = "this project";

/// Whether the machine and the project were seen as such.
fn is_seen(facts: &Facts) -> bool {
    let known = match facts.machine.system.as_str() {
        "" => false,
        // Without a macOS that there is, nothing can be said of what works on it.
        "macos" => facts.machine.host.as_ref().is_some_and(|host| MacosVersion::told_by(&host.macos).is_some()),
        _ => true,
    };
    known && !facts.unseen.iter().any(|one| WHOLE.contains(&one.what.trim_matches('`')))
}

/// Reads the facts of a file, or looks.
fn facts(args: &DoctorArgs, context: &Context, printer: &Printer) -> Result<Facts, CommandError> {
    if let Some(facts) = context.recorded_facts()? {
        let looking = [("--prefix", args.prefix.is_some()), ("--full", args.full), ("--network", args.network)];
        if let Some((flag, _)) = looking.iter().find(|(_, there)| *there) {
            let text = format!("`{flag}` looks at this machine, and `--host` judges another one");
            return Err(CommandError::usage(text).hint("leave one of the two out"));
        }
        return Ok(facts);
    }
    if let Some(prefix) = &args.prefix
        && fs::kind(&context.cwd.join(prefix)).map_err(CommandError::from_disk)?.is_none()
    {
        let error = CommandError::usage(format!("there is no folder `{}`", prefix.display()));
        return Err(error.hint("name the folder of an environment, the one that has `bin/python`"));
    }
    let config = context.config(args.reach.offline, &args.reach.mirror);
    let (config, mut unseen) = match config {
        Ok(config) => (Some(config), Vec::new()),
        // What is typed wrong is no fact.
        Err(error) if context.config(false, &[]).is_ok() => return Err(error),
        Err(error) => (None, vec![Unseen { what: "macml's own settings".to_owned(), why: one_line(&error, context) }]),
    };
    let mut facts = look(context, config.as_ref(), args.prefix.as_deref(), args.full);
    facts.unseen.append(&mut unseen);
    if args.network
        && let Some(config) = &config
    {
        let project = context.project().ok().flatten();
        let declared = project.map_or_else(|| config.clone(), |project| serving(config, &project.manifest));
        let draw = Draw::new(context.progress, printer);
        if !declared.offline {
            draw.probing("the indexes and mirrors", TIME_TO_ANSWER.as_secs());
        }
        measure(&mut facts, &declared, TIME_TO_ANSWER);
        draw.clear();
    }
    Ok(facts)
}

/// Looks at this machine and the project in reach.
pub(crate) fn look(context: &Context, config: Option<&Config>, prefix: Option<&Path>, full: bool) -> Facts {
    let (host, host_unseen) = match host::probe() {
        Ok(host) => (host, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let (project, unseen) = match manifest::discover(&context.start, context.env.home()) {
        Ok(file) => (file.parent().map(Path::to_owned), None),
        Err(manifest::Error::NotFound { .. }) => (None, None),
        Err(error) => {
            let why = one_line(&CommandError::usage(error.to_string()), context);
            (None, Some(Unseen { what: PROJECT.to_owned(), why }))
        }
    };
    let cache = config.and_then(|config| config.cache_dir.clone());
    let mut facts = gather(&Look {
        env: &context.env,
        root: Path::new("/"),
        host: host.as_ref(),
        host_unseen,
        project,
        prefix: prefix.map(|prefix| context.cwd.join(prefix)),
        cache: cache.or_else(|| context.cache_dir.clone()),
        config,
        full,
    });
    facts.unseen.extend(unseen);
    facts
}

/// Says an error as facts may have it: in one line, without the name of a user.
fn one_line(error: &CommandError, context: &Context) -> String {
    let first = error.findings.as_deref().and_then(|(_, findings)| findings.first()).map(|one| one.message.clone());
    let said: Vec<String> =
        [Some(error.source.to_string()), first].into_iter().flatten().chain(error.causes()).collect();
    let said = said.join(": ").replace('\n', " ");
    match context.env.home() {
        Some(home) => said.replace(&home.display().to_string(), "~"),
        None => said,
    }
}
