//! `macml cache`: where downloads, unpacked wheels and pages are kept, how much of them, and what makes them go.

use std::process::ExitCode;
use std::time::SystemTime;

use macml::cache;
use macml::cache::Amounts;
use macml::cache::Cache;
use macml::cache::Keep;
use macml::cache::Kind;
use macml::cache::Wait;
use macml::index::Config;
use macml::pep::PackageName;
use macml::sys::disk::Bytes;

use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::context::Context;
use crate::error;
use crate::error::CommandError;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::styled;
use crate::report;
use crate::report::cache::Report;
use crate::report::cache::Verb;

/// Show or empty the cache: wheels, downloads, index pages, metadata, answers
#[derive(clap::Args, Debug)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    verb: CacheVerb,
}

/// The verbs below `macml cache`.
#[derive(clap::Subcommand, Debug)]
enum CacheVerb {
    Dir(DirArgs),
    Size(SizeArgs),
    Prune(PruneArgs),
    Clean(CleanArgs),
}

/// Print the path of the cache
#[derive(clap::Args, Debug)]
struct DirArgs {
    #[command(flatten)]
    output: OutputArgs,
}

/// Print how much there is of each kind
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Sizes are those of the files. What environments share with unpacked wheels by hard links or clones takes its place on \
the disk once, and stays in use there when it leaves the cache.")]
struct SizeArgs {
    #[command(flatten)]
    output: OutputArgs,
}

/// Remove what is broken or given up, and what was not used for long
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Always removed: what is not as it was written, what a killed run left, downloads that were begun and not gone on with \
for a day. Then, with a limit, the wheels that were used longest ago, and after them the oldest of the rest, until the \
limit holds. Without a limit: what was not used, or fetched, for 90 days.
With `cache-size = \"20GB\"` in config.toml, `macml sync` holds to that limit too.
Environments keep their files. Waits until no other macml uses the cache.
Exit code: 0 done, 2 macml could not.")]
struct PruneArgs {
    /// Keep at most so much [default: `cache-size` of config.toml, else no limit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<Bytes>,

    #[command(flatten)]
    waiting: WaitArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Remove everything, or what belongs to some packages
#[derive(clap::Args, Debug)]
#[command(after_help = "\
With names: unpacked wheels, index pages and metadata of these packages. Downloads that are not unpacked yet bear no \
names, and go with the rest only.
Nothing but what macml put there is removed, whatever else the folder holds. Environments keep their files. Waits until \
no other macml uses the cache.
Exit code: 0 done, 2 macml could not.")]
struct CleanArgs {
    /// Packages; all that is in the cache without one
    #[arg(value_name = "NAME")]
    names: Vec<PackageName>,

    #[command(flatten)]
    waiting: WaitArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// What those that remove something take.
#[derive(clap::Args, Debug)]
struct WaitArgs {
    /// Fail at once where another macml uses the cache, instead of waiting for it
    #[arg(long)]
    no_wait: bool,
}

fn size(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|error| format!("`{text}` {error}"))
}

/// Runs the verb.
pub(crate) fn run(args: &CacheArgs, context: &Context, printer: &Printer) -> ExitCode {
    let (output, verb) = match &args.verb {
        CacheVerb::Dir(args) => (&args.output, Verb::Dir),
        CacheVerb::Size(args) => (&args.output, Verb::Size),
        CacheVerb::Prune(args) => (&args.output, Verb::Prune),
        CacheVerb::Clean(args) => (&args.output, Verb::Clean),
    };
    let format = match context.format(output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    match (answer(args, context, printer), format) {
        (Ok((report, _)), FormatArg::Json) => error::finish(printer.data(&report::text(&report)), 0, printer),
        // What was asked for by a script is told however quiet.
        (Ok((_, text)), FormatArg::Text) if verb == Verb::Dir => error::finish(printer.data(&text), 0, printer),
        (Ok((_, text)), FormatArg::Text) => error::finish(printer.result(&text), 0, printer),
        (Err(error), FormatArg::Text) => error.show(printer),
        (Err(error), FormatArg::Json) => {
            error.show(printer);
            let report = Report::failed(verb, &error);
            error::finish(printer.data(&report::text(&report)), error.kind.code(), printer)
        }
    }
}

/// Does it; returns what is told to programs and to people.
fn answer(args: &CacheArgs, context: &Context, printer: &Printer) -> Result<(Report, String), CommandError> {
    let config = context.config(false, &[])?;
    let folder = folder(&config)?;
    let cache = Cache::at(&folder);
    let now = SystemTime::now();
    let mut saying = || {
        printer.aside(&format!("{}: waiting for another macml that uses the cache\n", styled(NAME, "note")));
    };
    let wait = |args: &WaitArgs, saying| if args.no_wait { Wait::Never } else { Wait::Saying(saying) };
    match &args.verb {
        CacheVerb::Dir(_) => Ok((Report::dir(&folder), format!("{}\n", folder.display()))),
        CacheVerb::Size(_) => {
            let (present, left_over) = cache.size(now).map_err(|error| failed(error.into()))?;
            let text = table(&present, &left_over, config.cache_size);
            Ok((Report::size(&folder, config.cache_size, &present, &left_over), text))
        }
        CacheVerb::Prune(args) => {
            let limit = args.max_size.map(|size| size.0).or(config.cache_size);
            let keep = limit.map_or(Keep::Recent, Keep::AtMost);
            let removed = cache.prune(keep, now, wait(&args.waiting, &mut saying)).map_err(failed)?;
            Ok((Report::removed(Verb::Prune, &folder, limit, &removed), went(&removed)))
        }
        CacheVerb::Clean(args) => {
            let wait = wait(&args.waiting, &mut saying);
            let removed = match args.names.as_slice() {
                [] => cache.clean(wait),
                names => cache.clean_packages(names, wait),
            };
            let removed = removed.map_err(failed)?;
            Ok((Report::removed(Verb::Clean, &folder, None, &removed), went(&removed)))
        }
    }
}

/// Returns the cache folder of this run.
fn folder(config: &Config) -> Result<std::path::PathBuf, CommandError> {
    config.cache_dir.clone().ok_or_else(|| {
        CommandError::usage("there is no cache: neither HOME nor MACML_CACHE_DIR is set")
            .hint("name a folder with `--cache-dir DIR`")
    })
}

fn failed(error: cache::Error) -> CommandError {
    match error {
        cache::Error::InUse => {
            CommandError::new(error::Kind::Disk, error).hint("without `--no-wait` macml waits for it to end")
        }
        cache::Error::File(error) => CommandError::from_disk(error),
    }
}

/// Lays out how much there is, a line for each kind.
fn table(present: &Amounts, left_over: &Amounts, limit: Option<u64>) -> String {
    let total = present.total();
    let mut rows: Vec<[String; 3]> = Vec::new();
    for (kind, amount) in present.by_kind() {
        rows.push([title(kind).to_owned(), amount.files.to_string(), Bytes(amount.bytes).to_string()]);
    }
    rows.push(["together".to_owned(), total.files.to_string(), Bytes(total.bytes).to_string()]);
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (names, files, bytes) = (width(0), width(1), width(2));
    let line = |[name, count, size]: &[String; 3]| {
        let plural = if count == "1" { " " } else { "s" };
        format!("{name:<names$}  {count:>files$} file{plural}  {size:>bytes$}")
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    let left_over = left_over.total();
    if left_over.files > 0 {
        lines.push(format!("{} of it is left over: `macml cache prune` removes it", Bytes(left_over.bytes)));
    }
    if let Some(limit) = limit {
        let over = if total.bytes > limit { ", which `macml cache prune` restores" } else { "" };
        lines.push(format!("the limit is {}{over}", Bytes(limit)));
    }
    lines.join("\n") + "\n"
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Wheels => "unpacked wheels",
        Kind::Downloads => "downloads",
        Kind::Pages => "index pages",
        Kind::Metadata => "metadata",
        Kind::Pythons => "answers of Pythons",
        Kind::Matrix => "answers of `matrix`",
        Kind::Facts => "facts of libraries",
    }
}

/// Says what was removed.
fn went(removed: &Amounts) -> String {
    let total = removed.total();
    if total.files == 0 {
        return "nothing to remove\n".to_owned();
    }
    let kinds = removed.by_kind().filter(|(_, amount)| amount.files > 0);
    let kinds: Vec<String> = kinds.map(|(kind, amount)| format!("{} {}", title(kind), Bytes(amount.bytes))).collect();
    let plural = if total.files == 1 { "" } else { "s" };
    let (removed, size) = (styled(GOOD, "removed"), Bytes(total.bytes));
    format!("{removed} {} file{plural}, {size}: {}\n", total.files, kinds.join(", "))
}
