//! `macml python`: which interpreters there are, and which one serves.

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use macml::lock;
use macml::pep::Specifiers;
use macml::pipeline;
use macml::python;
use macml::python::Machine;
use macml::python::Search;
use macml::python::Seen;
use macml::python::Wanted;
use macml::target::Platform;
use macml::target::PythonMinor;

use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::context::Context;
use crate::error;
use crate::error::CommandError;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::report;
use crate::report::python::Report;
use crate::report::python::Verb;

/// List the Pythons of this machine, or find the one to use
#[derive(clap::Args, Debug)]
pub(crate) struct PythonArgs {
    #[command(subcommand)]
    verb: PythonVerb,
}

/// The verbs below `macml python`.
#[derive(clap::Subcommand, Debug)]
enum PythonVerb {
    List(ListArgs),
    Find(FindArgs),
}

/// List every Python found, best first, with what it is or why it cannot be used
#[derive(clap::Args, Debug)]
#[command(after_help = "\
On a Mac: Homebrew's, pyenv's, python.org's, uv's, those of conda's environments; on Linux those on PATH, pyenv's and \
uv's. What is built for another processor, is Apple's or is conda's base is told apart without being started.
Exit code: 0, also when none can be used; 2 macml could not tell.")]
struct ListArgs {
    #[command(flatten)]
    named: NamedArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Print the path of the first Python that fits
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Without a version: the Python that macml.lock asks for, without a lock one of the range in macml.toml, and without a \
macml.toml any.
Exit code: 0 there is one, 1 there is none, 2 macml could not tell.")]
struct FindArgs {
    /// The Python, such as `3.13`
    #[arg(value_name = "X.Y", conflicts_with = "env")]
    version: Option<PythonMinor>,

    /// The environment of macml.toml to find it for [default: default]
    #[arg(long, value_name = "NAME")]
    env: Option<String>,

    #[command(flatten)]
    named: NamedArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// What both verbs take.
#[derive(clap::Args, Debug)]
struct NamedArgs {
    /// Look at this Python only: its file, or the folder whose `bin` it lies in [env: MACML_PYTHON]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
}

/// Runs the verb.
pub(crate) fn run(args: &PythonArgs, context: &Context, printer: &Printer) -> ExitCode {
    let (typed, verb) = match &args.verb {
        PythonVerb::List(args) => (args.output.format, Verb::List),
        PythonVerb::Find(args) => (args.output.format, Verb::Find),
    };
    let format = match context.format(typed) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let answer = match &args.verb {
        PythonVerb::List(args) => list(args, context, format, printer),
        PythonVerb::Find(args) => find(args, context, format, printer),
    };
    answer.unwrap_or_else(|error| {
        error.show(printer);
        match format {
            FormatArg::Text => error.kind.code().into(),
            FormatArg::Json => {
                let report = Report::failed(verb, &error);
                error::finish(printer.data(&report::text(&report)), error.kind.code(), printer)
            }
        }
    })
}

fn list(args: &ListArgs, context: &Context, format: FormatArg, printer: &Printer) -> Result<ExitCode, CommandError> {
    let search = search(&args.named, context)?;
    let seen = search.all();
    let written = match format {
        FormatArg::Json => printer.data(&report::text(&Report::list(&seen, &search.machine))),
        FormatArg::Text if seen.is_empty() => {
            // Searching again finds nothing again, and says what to do.
            let error = search.choose(&any(&search.machine)).err();
            error.into_iter().for_each(|error| printer.aside(&CommandError::from_python(error).note()));
            Ok(())
        }
        FormatArg::Text => printer.result(&text(&seen, &search.machine)),
    };
    Ok(error::finish(written, 0, printer))
}

fn find(args: &FindArgs, context: &Context, format: FormatArg, printer: &Printer) -> Result<ExitCode, CommandError> {
    let search = search(&args.named, context)?;
    let wanted = wanted(args, context, &search.machine, printer)?;
    let written = match (search.choose(&wanted), format) {
        (Ok(interpreter), FormatArg::Json) => printer.data(&report::text(&Report::found(&interpreter))),
        (Ok(interpreter), FormatArg::Text) => {
            if let Some(note) = interpreter.note() {
                printer.aside(&format!("{}: {note}\n", styled(WARN, "note")));
            }
            printer.data(&format!("{}\n", interpreter.path.display()))
        }
        (Err(error), FormatArg::Json) => {
            let report = Report::not_found(&error);
            let error = CommandError::from_python(error);
            error.show(printer);
            let code = error.kind.code();
            return Ok(error::finish(printer.data(&report::text(&report)), code, printer));
        }
        (Err(error), FormatArg::Text) => return Err(CommandError::from_python(error)),
    };
    Ok(error::finish(written, 0, printer))
}

fn search(args: &NamedArgs, context: &Context) -> Result<Search, CommandError> {
    let machine = Machine::here(&context.env).ok_or_else(|| {
        CommandError::usage("macml makes environments for macOS and for Linux on x86_64 and aarch64 only")
    })?;
    let named = args.python.clone().or_else(|| context.env.get("MACML_PYTHON").map(PathBuf::from));
    Ok(Search {
        machine,
        cache: context.config(false, &[])?.cache_dir,
        limit: python::USUAL_LIMIT,
        named: named.map(|path| context.cwd.join(path)),
    })
}

/// Wants any Python of the machine.
fn any(machine: &Machine) -> Wanted {
    let Machine { system, arch, .. } = *machine;
    Wanted { system, arch, minor: None, within: Specifiers::any(), suggested: python::USUAL }
}

/// Finds out which Python is wanted.
fn wanted(args: &FindArgs, context: &Context, machine: &Machine, printer: &Printer) -> Result<Wanted, CommandError> {
    let any = any(machine);
    if let Some(minor) = args.version {
        return Ok(Wanted { minor: Some(minor.into()), suggested: minor.into(), ..any });
    }
    let Some(project) = context.project()? else {
        return match &args.env {
            Some(_) => Err(CommandError::usage("there is no macml.toml whose environment could be looked up")
                .hint("go to the project's folder, or name it with `-C DIR` or `--project DIR`")),
            None => Ok(any),
        };
    };
    let name = args.env.as_deref().unwrap_or("default");
    let env = pipeline::env(&project.manifest.envs, name);
    let env = env.map_err(|error| CommandError::from_pipeline(error, context))?;
    let path = Path::new(&project.source.name).with_file_name("macml.lock");
    let outcome = lock::read(&path);
    let locked =
        match outcome.map_err(|error| CommandError::from_pipeline(pipeline::Error::Lockfile(error), context))? {
            lock::ReadOutcome::Absent => None,
            lock::ReadOutcome::Whole(lock) => Some(lock),
            lock::ReadOutcome::Conflicted { .. } | lock::ReadOutcome::Damaged { .. } => {
                let text = "`macml.lock` cannot be used as it is: looking for a Python of macml.toml's range";
                printer.aside(&format!("{}: {text}\n", styled(WARN, "note")));
                None
            }
        };
    let locked = locked.as_ref().and_then(|lock| {
        let own = Platform::of(machine).and_then(|platform| lock.env(name, platform));
        // Platforms differ in their Python only where nothing else fits.
        own.or_else(|| lock.envs.iter().find(|env| env.name == name))
    });
    // A lock that the manifest has moved away from does not count.
    let admitted = |minor: PythonMinor| {
        let known = minor.known_patches();
        known.is_empty() || known.iter().any(|patch| env.python.contains(patch))
    };
    Ok(match locked.filter(|locked| admitted(locked.python)) {
        Some(locked) => {
            let minor = locked.python.into();
            let within = locked.python_full.clone().unwrap_or_else(Specifiers::any);
            Wanted { minor: Some(minor), within, suggested: minor, ..any }
        }
        None => {
            let newest = PythonMinor::RELEASED.iter().rev().map(|(minor, _)| *minor).filter(|minor| admitted(*minor));
            let all: Vec<(u64, u64)> = newest.map(<(u64, u64)>::from).collect();
            let usual = all.iter().find(|minor| **minor == python::USUAL);
            let suggested = usual.or(all.first()).copied().unwrap_or(python::USUAL);
            Wanted { within: env.python.clone(), suggested, ..any }
        }
    })
}

/// Lays out what was seen: a line for each, with what to know and to do below.
fn text(seen: &[Seen], machine: &Machine) -> String {
    let version = |one: &Seen| one.version.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    let width =
        |column: &dyn Fn(&Seen) -> String| seen.iter().map(|one| column(one).chars().count()).max().unwrap_or(0);
    let (versions, origins) = (width(&version), width(&|one| one.candidate.origin.to_string()));
    let mut lines = Vec::new();
    for one in seen {
        let (style, verdict) = if one.verdict.is_ok() { (GOOD, "ok") } else { (BAD, "refused") };
        let rest = format!(
            "{:<versions$}  {:<origins$}  {}",
            version(one),
            one.candidate.origin.to_string(),
            one.candidate.path.display()
        );
        lines.push(format!("{}  {rest}", styled(style, format!("{verdict:<7}"))));
        match &one.verdict {
            Ok(interpreter) => {
                lines.extend(interpreter.note().map(|note| format!("         {}: {note}", styled(WARN, "note"))));
            }
            Err(refusal) => {
                lines.push(format!("         {refusal}"));
                let remedy = one.remedy(machine);
                lines.extend(remedy.map(|remedy| format!("         {}: {remedy}", styled(NAME, "remedy"))));
            }
        }
    }
    lines.join("\n") + "\n"
}
