//! `macml add` and `macml remove`: macml.toml edited, solved and written with its lock, or left as it was.

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use macml::manifest::edit::Line;
use macml::manifest::edit::WheelFile;
use macml::pep::PackageName;
use macml::pep::Requirement;
use macml::pep::RequirementSource;
use macml::pep::WheelName;
use macml::pipeline;
use macml::pipeline::Change;
use macml::pipeline::Edited;
use macml::pipeline::Job;
use macml::pipeline::Purpose;
use macml::pipeline::Trial;
use macml::pipeline::Upgrade;
use macml::pipeline::Verdict;

use super::lock;
use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::args::ReachArgs;
use crate::context;
use crate::context::Context;
use crate::context::reaching;
use crate::error;
use crate::error::CommandError;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::progress::Draw;
use crate::report;
use crate::report::lock::Command;
use crate::report::lock::Report;

/// Add packages to macml.toml, or change what is asked of them, and lock
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples: `macml add torch torchvision`, `macml add 'transformers>=5' 'datasets[vision]'`, `macml add --env tf tensorflow`.
A package without a version gets the chosen one as its least: `torch = \">=2.14\"`. Frameworks go to [frameworks], the rest to \
[dependencies]; comments, order and quotes of macml.toml stay. Nothing is written unless the whole is solved.
Exit code: 0 written or nothing to do, 1 there is no answer, 2 macml could not tell.")]
pub(crate) struct AddArgs {
    /// What to add: a name with versions, extras and a marker as pip takes them, or the path of a wheel
    #[arg(required = true, value_name = "REQUIREMENT")]
    requirements: Vec<String>,

    /// Let only this index serve them, one of macml.toml or built in
    #[arg(long, value_name = "NAME")]
    index: Option<String>,

    #[command(flatten)]
    edit: EditArgs,
}

/// Take packages out of macml.toml, and lock
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Comments of macml.toml stay, but for the one on the line itself. What others ask for stays in the lock.
Exit code: 0 written, 1 there is no answer, 2 macml could not tell, or a package is not there.")]
pub(crate) struct RemoveArgs {
    /// The packages
    #[arg(required = true, value_name = "PACKAGE")]
    names: Vec<PackageName>,

    #[command(flatten)]
    edit: EditArgs,
}

/// What both take.
#[derive(clap::Args, Debug)]
struct EditArgs {
    /// Edit this environment instead of the default one
    #[arg(long, value_name = "NAME", default_value = "default", hide_default_value = true)]
    env: String,

    /// Solve and print what would change, but write nothing [env: MACML_DRY_RUN]
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    reach: ReachArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `add`.
pub(crate) fn run(args: &AddArgs, context: &Context, printer: &Printer) -> ExitCode {
    let lines = || {
        let lines: Result<Vec<Line>, CommandError> =
            args.requirements.iter().map(|text| line(text, args.index.as_deref(), context)).collect();
        lines.map(Change::Add)
    };
    answer(Command::Add, &lines, &args.edit, context, printer)
}

/// Runs `remove`.
pub(crate) fn run_remove(args: &RemoveArgs, context: &Context, printer: &Printer) -> ExitCode {
    let names = || Ok(Change::Remove(args.names.clone()));
    answer(Command::Remove, &names, &args.edit, context, printer)
}

fn answer(
    verb: Command,
    change: &dyn Fn() -> Result<Change, CommandError>,
    args: &EditArgs,
    context: &Context,
    printer: &Printer,
) -> ExitCode {
    let begun = Instant::now();
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let draw = Arc::new(Draw::new(context.progress, printer));
    let result = change().and_then(|change| edit(&change, args, context, &draw));
    draw.clear();
    match (format, result) {
        (FormatArg::Text, Ok(edited)) => {
            lock::findings(&edited.outcome, context, printer);
            let text = edits(&edited) + &lock::summary(&edited.outcome, begun.elapsed(), printer.level());
            error::finish(printer.result(&text), 0, printer)
        }
        (FormatArg::Json, Ok(edited)) => {
            let added = matches!(verb, Command::Add);
            let lines = added.then(|| edited.lines.iter().map(Line::written).collect());
            let report = Report { lines, ..Report::locked(verb, &edited.outcome, context) };
            error::finish(printer.data(&report::text(&report)), 0, printer)
        }
        (format, Err(error)) => {
            let code = error.show(printer);
            if format == FormatArg::Text {
                return code;
            }
            error::finish(printer.data(&report::text(&Report::failed(verb, &error))), error.kind.code(), printer)
        }
    }
}

fn edit(change: &Change, args: &EditArgs, context: &Context, draw: &Arc<Draw>) -> Result<Edited, CommandError> {
    let config = context.config(args.reach.offline, &args.reach.mirror)?;
    let dry_run = args.dry_run || context::flag(&context.env, "MACML_DRY_RUN")?;
    let job = Job {
        start: context.start.clone(),
        home: context.env.home().map(PathBuf::from),
        version: context::version(),
        only: Vec::new(),
        upgrade: Upgrade::Nothing,
        trial: Trial::default(),
        purpose: if dry_run { Purpose::Show } else { Purpose::Write },
    };
    let edited = pipeline::edit(&job, (&args.env, change), &mut reaching(&config, draw), &**draw);
    edited.map_err(|error| match error {
        // The caret is on a line that is not there.
        error @ pipeline::Error::Edit(_) => CommandError::from_pipeline(error, context),
        error => CommandError::from_pipeline(error, context).hint("macml.toml and macml.lock are as they were"),
    })
}

/// Says which lines of macml.toml are other than before.
fn edits(edited: &Edited) -> String {
    let (before, after) = (edited.before.as_str(), edited.outcome.project.source.text.as_str());
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| (BAD_SIGN, line));
    let come = new.iter().filter(|line| !old.contains(line) && !line.trim().is_empty()).map(|line| (GOOD_SIGN, line));
    let lines: Vec<String> =
        gone.chain(come).map(|(sign, line)| format!(" {} {line}\n", styled(sign.0, sign.1))).collect();
    if lines.is_empty() {
        return format!("{} unchanged: it asks for that already\n", styled(NAME, "macml.toml"));
    }
    let head = match edited.outcome.verdict {
        Verdict::Differs => format!("{} not written (--dry-run)", styled(WARN, "macml.toml")),
        _ => format!("{} written", styled(GOOD, "macml.toml")),
    };
    format!("{head}:\n{}\n", lines.concat())
}

const GOOD_SIGN: (anstyle::Style, &str) = (GOOD, "+");
const BAD_SIGN: (anstyle::Style, &str) = (crate::printer::BAD, "-");

/// Reads what somebody wants to add.
fn line(text: &str, index: Option<&str>, context: &Context) -> Result<Line, CommandError> {
    let index = index.map(str::to_owned);
    if text.ends_with(".whl") && !text.contains("://") {
        return wheel(text, context).map(|line| Line { index, ..line });
    }
    if text.starts_with("git+") || text.contains("@ git+") {
        let error = CommandError::usage(format!("`{text}` is a git requirement, which macml does not take yet"));
        return Err(error.hint("name a release of it, or build its wheel and add that by path"));
    }
    let requirement: Requirement = text.parse().map_err(|error| {
        CommandError::usage(format!("{error}"))
            .hint("write it as pip does: `torch`, `'transformers>=5'`, `'datasets[vision]'`, or the path of a wheel")
    })?;
    let Requirement { name, extras, source, marker } = requirement;
    let extras = extras.iter().map(ToString::to_string).collect();
    let line =
        Line { extras, marker: marker.map(|marker| marker.to_string().replace('"', "'")), index, ..Line::of(name) };
    match source {
        RequirementSource::Versions(versions) if versions.is_any() => Ok(line),
        RequirementSource::Versions(versions) => Ok(Line { versions: Some(versions.to_string()), ..line }),
        RequirementSource::Url(address) => {
            let (url, fragment) = address.split_once('#').unwrap_or((&address, ""));
            let digest = fragment.split('&').find_map(|part| part.strip_prefix("sha256="));
            let Some(sha256) = digest else {
                let error = CommandError::usage(format!("`{address}` comes without a digest"));
                return Err(error.hint("write `#sha256=` and its 64 digits behind the address"));
            };
            let file = WheelFile::Url { url: url.to_owned(), sha256: sha256.to_owned() };
            Ok(Line { file: Some(file), ..line })
        }
    }
}

/// Reads the path of a wheel as macml.toml has it: from the project's folder where it lies in it.
fn wheel(text: &str, context: &Context) -> Result<Line, CommandError> {
    let path = context.cwd.join(text);
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let wheel: WheelName = file.parse().map_err(|error| CommandError::usage(format!("{error}")))?;
    if !matches!(macml::sys::fs::kind(&path), Ok(Some(macml::sys::fs::Kind::File))) {
        return Err(CommandError::usage(format!("there is no file `{text}`")));
    }
    let project = context.project()?.map(|project| project.folder().to_owned());
    let within = project.as_deref().and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(&path);
    let shown = tidy(within).display().to_string();
    Ok(Line { file: Some(WheelFile::Path(shown)), ..Line::of(wheel.name) })
}

/// Leaves out what says nothing: `./`.
fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}
