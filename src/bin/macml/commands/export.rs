//! `macml export`: macml.lock in the forms of other tools.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use macml::manifest;
use macml::pipeline;
use macml::pipeline::export::Error;
use macml::pipeline::export::Form;
use macml::sys::fs;
use macml::target::Platform;

use crate::args::ReachArgs;
use crate::context;
use crate::context::Context;
use crate::context::reaching;
use crate::destination;
use crate::error;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::GOOD;
use crate::printer::Printer;
use crate::printer::styled;
use crate::progress::Draw;

/// Write macml.lock as requirements with hashes, or as pylock.toml (PEP 751)
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples: `macml export -o requirements.txt`, then `pip install --require-hashes -r requirements.txt`; \
`macml export -o pylock.toml`, then `uv pip sync pylock.toml`.
One environment is written for all platforms that it is locked for, with markers, or for one of them. The lock is used as it \
is: one that does not answer macml.toml is an error. A requirements file needs no network; pylock.toml names the address of \
each file, for which indexes or their cached pages are asked: through a mirror, it is the mirror's.
Exit code: 0 written, 1 the lock is stale or has no wheel that fits, 2 macml could not.")]
pub(crate) struct ExportArgs {
    /// The form [default: pylock where the file is called so, else requirements]
    #[arg(long, value_name = "FORM", value_enum)]
    format: Option<FormArg>,

    /// Write into this file instead of to stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Take this environment instead of the default one
    #[arg(long, value_name = "NAME", default_value = "default", hide_default_value = true)]
    env: String,

    /// Write it for this platform only, macos-arm64, linux-x86_64 or linux-aarch64
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<Platform>,

    #[command(flatten)]
    reach: ReachArgs,
}

/// `--format`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum FormArg {
    /// Requirements with hashes, for pip.
    Requirements,
    /// PEP 751.
    Pylock,
}

/// Runs the verb.
pub(crate) fn run(args: &ExportArgs, context: &Context, printer: &Printer) -> ExitCode {
    let draw = Arc::new(Draw::new(context.progress, printer));
    let result = text(args, context, &draw);
    draw.clear();
    let written = result.and_then(|text| match &args.output {
        None => Ok(printer.data(&text)),
        Some(path) => {
            destination::in_folder(path, context)?;
            let file = context.cwd.join(path);
            fs::write_atomic(&file, text.as_bytes(), fs::Durability::Flushed).map_err(CommandError::from_disk)?;
            let lines = text.lines().count();
            Ok(printer.result(&format!("{} written: {lines} lines\n", styled(GOOD, path.display()))))
        }
    });
    match written {
        Ok(written) => error::finish(written, 0, printer),
        Err(error) => error.show(printer),
    }
}

fn text(args: &ExportArgs, context: &Context, draw: &Arc<Draw>) -> Result<String, CommandError> {
    let config = context.config(args.reach.offline, &args.reach.mirror)?;
    let failed = |error| CommandError::from_pipeline(pipeline::Error::Manifest(error), context);
    let path = manifest::discover(&context.start, context.env.home()).map_err(failed)?;
    let project = manifest::read(&path, &context::version()).map_err(failed)?;
    let named = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("pylock.") && path.extension().is_some_and(|ending| ending == "toml")
    };
    let form = match args.format {
        Some(FormArg::Pylock) => Form::Pylock,
        Some(FormArg::Requirements) => Form::Requirements,
        None if args.output.as_ref().is_some_and(named) => Form::Pylock,
        None => Form::Requirements,
    };
    let written = pipeline::export::export(&project, (&args.env, args.platform), form, &mut reaching(&config, draw));
    written.map_err(|error| match error {
        Error::NotCurrent(error) => CommandError::from_not_current(error, context),
        Error::OtherPlatform { .. } => CommandError::new(Kind::Usage, error)
            .hint("add it to `platforms` under [target] in macml.toml, then `macml lock`"),
        Error::NoFile(_) => CommandError::new(Kind::Unsatisfiable, error)
            .hint("it is now known to need a later macOS than when it was locked: `macml lock -U` chooses again"),
        Error::Unplaced(_) => CommandError::new(Kind::Index, error)
            .hint("their index does not offer them any more: `macml check --index` says which"),
        Error::Index { .. } | Error::Connect(_) => CommandError::new(Kind::Index, error),
    })
}
