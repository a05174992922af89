//! `macml bundle`: the locked wheels as a folder, for machines without a network.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use macml::index::download::DownloadError;
use macml::pipeline::bundle;
use macml::pipeline::bundle::BundleError;
use macml::pipeline::bundle::BundleJob;
use macml::pipeline::bundle::Bundled;
use macml::progress::Progress;
use macml::sys::disk::Bytes;
use macml::target::MacosVersion;
use macml::target::Platform;

use crate::amount;
use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::args::ReachArgs;
use crate::context;
use crate::context::Context;
use crate::context::serving;
use crate::error;
use crate::error::CommandError;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::styled;
use crate::progress::Draw;
use crate::progress::Transfers;
use crate::report;
use crate::report::bundle::Report;

/// Write the locked wheels into a folder from which `macml sync --from` installs offline
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The folder holds macml.toml, macml.lock and every wheel by its file name. It appears whole or not at all; a bundle that is \
there already is replaced, and the wheels that both have are not downloaded again.
The lock is used as it is: one that does not answer macml.toml is an error.
Exit code: 0 written, 1 the lock is stale or has no wheel that fits, 2 macml could not.")]
pub(crate) struct BundleArgs {
    /// Where it goes [default: <project>-bundle in the working folder]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Take this environment; may be repeated [default: default]
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    /// Take every environment
    #[arg(long, conflicts_with = "env")]
    all: bool,

    /// Take wheels for this platform only, macos-arm64, linux-x86_64 or linux-aarch64 [default: all that are locked]
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<Platform>,

    /// Take wheels for Macs with this macOS only [default: every macOS from the declared one up]
    #[arg(long, value_name = "VERSION")]
    macos: Option<MacosVersion>,

    #[command(flatten)]
    reach: ReachArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the verb.
pub(crate) fn run(args: &BundleArgs, context: &Context, printer: &Printer) -> ExitCode {
    let begun = Instant::now();
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let draw = Arc::new(Draw::new(context.progress, printer));
    let result = make(args, context, &draw);
    draw.clear();
    match (result, format) {
        (Ok(bundled), FormatArg::Json) => {
            error::finish(printer.data(&report::text(&Report::new(&bundled))), 0, printer)
        }
        (Ok(bundled), FormatArg::Text) => {
            error::finish(printer.result(&text(&bundled, begun.elapsed(), context)), 0, printer)
        }
        (Err(error), FormatArg::Text) => error.show(printer),
        (Err(error), FormatArg::Json) => {
            error.show(printer);
            error::finish(printer.data(&report::text(&Report::failed(&error))), error.kind.code(), printer)
        }
    }
}

fn make(args: &BundleArgs, context: &Context, draw: &Arc<Draw>) -> Result<Bundled, CommandError> {
    let config = context.config(args.reach.offline, &args.reach.mirror)?;
    let job = BundleJob {
        start: context.start.clone(),
        home: context.env.home().map(PathBuf::from),
        version: context::version(),
        only: match (args.all, args.env.as_slice()) {
            (true, _) => Vec::new(),
            (false, []) => vec!["default".to_owned()],
            (false, names) => names.to_vec(),
        },
        platform: args.platform,
        macos: args.macos,
        to: args.folder.clone(),
        cwd: context.cwd.clone(),
    };
    let progress: Arc<dyn Progress> = Arc::new(Transfers(draw.clone()));
    let made = bundle::bundle(&job, &|manifest| serving(&config, manifest), progress);
    made.map_err(|error| failed(error, context))
}

/// Turns what stood in the way into what people read.
fn failed(error: BundleError, context: &Context) -> CommandError {
    use error::Kind;
    match error {
        BundleError::NotCurrent(error) => CommandError::from_not_current(error, context),
        BundleError::NoWheel { .. } => CommandError::new(Kind::Unsatisfiable, error)
            .hint("it is now known to need a later macOS than when it was locked: `macml lock -U` chooses again"),
        BundleError::OtherPlatform { .. } => CommandError::new(Kind::Usage, error)
            .hint("add it to `platforms` under [target] in macml.toml, then `macml lock`"),
        BundleError::BelowFloor { .. } => CommandError::new(Kind::Usage, error),
        BundleError::SameName { .. } => {
            CommandError::new(Kind::Usage, error).hint("make a bundle for each environment, with `--env NAME`")
        }
        BundleError::Occupied { ref folder, ref what } => {
            CommandError::usage(format!("`{}` {what}", context.shown(folder))).hint("name another folder, or remove it")
        }
        BundleError::NoSpace { .. } => CommandError::new(Kind::Disk, error),
        BundleError::Download(DownloadError::Offline { .. }) => {
            CommandError::new(Kind::Index, error).hint("run it once without `--offline` (or MACML_OFFLINE)")
        }
        BundleError::Download(DownloadError::NoSpace { .. } | DownloadError::Disk(_)) | BundleError::Disk(_) => {
            CommandError::new(Kind::Disk, error)
        }
        BundleError::Download(DownloadError::NoCache) => CommandError::new(Kind::Usage, error),
        BundleError::Download(_) => CommandError::new(Kind::Index, error),
    }
}

/// Says what was made of what, and what it is for.
fn text(bundled: &Bundled, took: Duration, context: &Context) -> String {
    let bytes: u64 = bundled.wheels.iter().map(|wheel| wheel.size).sum();
    let kept = bundled.wheels.iter().filter(|wheel| wheel.kept).count();
    let kept = if kept > 0 { format!(", {kept} of them there before") } else { String::new() };
    let envs = bundled.envs.iter().map(|(env, platform)| format!("{env} on {platform}")).collect::<Vec<_>>().join(", ");
    let took = amount::duration(took);
    let shown = context.shown(&bundled.folder);
    let (name, install) = (styled(GOOD, &shown), styled(NAME, format!("macml sync --from {shown}")));
    format!(
        "{name} written: {}, {}{kept}, for {envs}, {took}\n`{install}` installs it without a network\n",
        amount::count(bundled.wheels.len(), "wheel"),
        Bytes(bytes),
    )
}
