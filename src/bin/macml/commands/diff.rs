//! `macml diff`: what changed between two locks, and what that means for the GPU.

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use macml::knowledge::Hit;
use macml::knowledge::Knowledge;
use macml::knowledge::Reach;
use macml::lock;
use macml::lock::Lockfile;
use macml::lock::ReadOutcome;
use macml::manifest;
use macml::pipeline;
use macml::pipeline::compare::Compared;
use macml::pipeline::compare::compare;
use macml::sys::fs;
use macml::sys::process;
use macml::sys::process::End;
use macml::sys::process::Program;

use super::lock::changes;
use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::context::Context;
use crate::error;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::report;
use crate::report::diff::Report;

/// Show what changed between two locks, and what that means for the GPU
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples: `macml diff` compares with the last commit, `macml diff HEAD~1` with the one before, `macml diff main feature` two \
branches, `macml diff old.lock` a file. Nothing is written, and no index is asked.
Exit code: 0, whether something changed or not; 2 macml could not tell. With --exit-code, 1 where something changed.")]
pub(crate) struct DiffArgs {
    /// What to compare with: a revision of git, or a lock as a file
    #[arg(value_name = "OLD", default_value = "HEAD")]
    old: String,

    /// What is compared: a revision of git, or a lock as a file [default: macml.lock as it is]
    #[arg(value_name = "NEW")]
    new: Option<String>,

    /// End with 1 where something changed, as `git diff --exit-code` does
    #[arg(long)]
    exit_code: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// How long git may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the verb.
pub(crate) fn run(args: &DiffArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let knowledge = Knowledge::built_in();
    let compared = both(args, context).map(|(old, new)| compare(old.as_ref(), &new, &knowledge));
    match (format, compared) {
        (FormatArg::Text, Ok(compared)) => {
            let code = u8::from(args.exit_code && !compared.diff.is_empty());
            error::finish(printer.result(&text(&compared)), code, printer)
        }
        (FormatArg::Json, Ok(compared)) => {
            let code = u8::from(args.exit_code && !compared.diff.is_empty());
            error::finish(printer.data(&report::text(&Report::new(&compared, code))), code, printer)
        }
        (FormatArg::Text, Err(error)) => error.show(printer),
        (FormatArg::Json, Err(error)) => {
            error.show(printer);
            error::finish(printer.data(&report::text(&Report::failed(&error))), error.kind.code(), printer)
        }
    }
}

/// Reads both sides. That there was no lock yet is an answer; that there is none now is not.
fn both(args: &DiffArgs, context: &Context) -> Result<(Option<Lockfile>, Lockfile), CommandError> {
    let own = own(context);
    let old = side(&args.old, &own, context)?;
    let new = match &args.new {
        Some(new) => side(new, &own, context)?
            .ok_or_else(|| CommandError::usage(format!("there was no macml.lock in `{new}`")))?,
        None => {
            let path = own?;
            let gone = || CommandError::new(Kind::Stale, "there is no `macml.lock`").hint("`macml lock` writes it");
            read(&path, context)?.ok_or_else(gone)?
        }
    };
    Ok((old, new))
}

/// Finds the lock of the project in reach.
fn own(context: &Context) -> Result<PathBuf, CommandError> {
    let failed = |error| CommandError::from_pipeline(pipeline::Error::Manifest(error), context);
    let manifest = manifest::discover(&context.start, context.env.home()).map_err(failed)?;
    Ok(manifest.with_file_name("macml.lock"))
}

/// Reads one side: a file where there is one of that name, else a revision.
fn side(named: &str, own: &Result<PathBuf, CommandError>, context: &Context) -> Result<Option<Lockfile>, CommandError> {
    let file = context.cwd.join(named);
    if matches!(fs::kind(&file), Ok(Some(fs::Kind::File))) {
        return read(&file, context);
    }
    let Ok(path) = own else {
        let error = CommandError::usage(format!("there is no file `{named}`, and no macml.toml in reach"));
        return Err(error.hint("go to the project's folder, or name two locks as files"));
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let text = of_revision(named, folder, context)?;
    text.map(|text| parsed(&text, &format!("macml.lock of `{named}`"))).transpose()
}

fn read(path: &Path, context: &Context) -> Result<Option<Lockfile>, CommandError> {
    let shown = context.shown(path);
    match lock::read(path).map_err(|error| CommandError::from_pipeline(error.into(), context))? {
        ReadOutcome::Absent => Ok(None),
        ReadOutcome::Whole(lock) => Ok(Some(*lock)),
        ReadOutcome::Conflicted { .. } => {
            let error = CommandError::new(Kind::Lockfile, format!("`{shown}` has conflict markers"));
            Err(error.hint("`macml lock` solves it afresh, close to both sides"))
        }
        ReadOutcome::Damaged { error, .. } => {
            Err(CommandError::new(Kind::Lockfile, format!("`{shown}` is no lock: {error}")))
        }
    }
}

fn parsed(text: &str, name: &str) -> Result<Lockfile, CommandError> {
    lock::parse::parse(text).map_err(|error| CommandError::new(Kind::Lockfile, format!("{name} is no lock: {error}")))
}

/// Asks git for macml.lock as a revision has it; `None` where it has none.
fn of_revision(revision: &str, folder: &Path, context: &Context) -> Result<Option<String>, CommandError> {
    // What begins with a dash would be an option of git.
    if revision.starts_with('-') || revision.contains(':') {
        return Err(CommandError::usage(format!("`{revision}` is neither a file nor a revision of git")));
    }
    let git = |words: &[&str]| {
        let args = ["-C", &folder.display().to_string()].iter().chain(words).map(std::ffi::OsString::from).collect();
        let program = Program { path: "git".into(), args, env: context.env.all().clone(), limit: PATIENCE };
        process::run(&program)
    };
    let known = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{revision}^{{commit}}")]);
    let known = known.map_err(|error| {
        CommandError::new(Kind::Usage, error).hint("install git, or name a lock as a file: `macml diff old.lock`")
    })?;
    if known.end != End::Code(0) {
        let error = CommandError::usage(format!("`{revision}` is neither a file nor a revision of git here"));
        return Err(error.hint("name a commit, a branch or a tag, or a lock as a file"));
    }
    let listed = git(&["ls-tree", "--name-only", revision, "macml.lock"])
        .map_err(|error| CommandError::new(Kind::Disk, error))?;
    if listed.stdout.is_empty() {
        return Ok(None);
    }
    let shown =
        git(&["show", &format!("{revision}:./macml.lock")]).map_err(|error| CommandError::new(Kind::Disk, error))?;
    if shown.end != End::Code(0) || shown.stdout.len() >= process::MOST_OUTPUT {
        return Err(CommandError::new(Kind::Disk, format!("git did not give macml.lock of `{revision}`")));
    }
    Ok(Some(String::from_utf8_lossy(&shown.stdout).into_owned()))
}

fn text(compared: &Compared<'_>) -> String {
    if compared.diff.is_empty() {
        return format!("{}\n", styled(GOOD, "no difference"));
    }
    let mut lines = changes(&compared.diff);
    let several = compared.meanings.len() > 1;
    for meaning in &compared.meanings {
        let place = if several { format!(" ({} on {})", meaning.env, meaning.platform) } else { String::new() };
        let line = |hit: &Hit<'_>| {
            let later = if hit.reach == Reach::AboveFloor { format!(" on {}", hit.rule.macs()) } else { String::new() };
            let what = match hit.rule.problem() {
                Some(problem) => format!("{} of {} {}", problem.title(), hit.rule.package, hit.version),
                None => hit.rule.statement_of(&hit.version).replace('`', ""),
            };
            format!("{what}{later}: {} ({})", hit.rule.reason.trim_end_matches('.'), hit.rule.id)
        };
        for hit in &meaning.gained {
            let style = if hit.rule.problem().is_some() { WARN } else { BAD };
            lines.push(format!("{}{place} {}", styled(style, "new:"), line(hit)));
        }
        lines.extend(meaning.lost.iter().map(|hit| format!("{}{place} {}", styled(GOOD, "gone:"), line(hit))));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}
