//! `macml init`: a first macml.toml, for this Mac.

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use macml::host::Chip;
use macml::host::Host;
use macml::host::Processor;
use macml::index::OnlineSource;
use macml::init;
use macml::init::Range;
use macml::init::Start;
use macml::manifest;
use macml::manifest::FILE_NAME;
use macml::manifest::Manifest;
use macml::manifest::edit::Line;
use macml::manifest::model::Gpu;
use macml::pep::PackageName;
use macml::pep::Specifiers;
use macml::sys::fs;
use macml::target::MacosVersion;
use macml::target::Platform;

use crate::args::ReachArgs;
use crate::context;
use crate::context::Context;
use crate::context::serving;
use crate::error;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::ASIDE;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::styled;
use crate::progress::Draw;
use crate::progress::Transfers;

/// Write a first macml.toml, for this Mac
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Chip and macOS of this Mac become the lowest that must work; elsewhere `m1` and macOS 14.0 do, the lowest for which current \
frameworks are made. The range of Pythons is the one in which all frameworks are as new as in any, by real solves, and it ends \
below the newest CPython. Nothing is installed: `macml lock` comes next.
Exit code: 0 written, 1 a framework is on no index, 2 macml could not.")]
pub(crate) struct InitArgs {
    /// The folder of the project, which is made where it is not there [default: the working folder]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Ask for this framework, such as torch, tensorflow, mlx or coremltools; may be repeated or listed with commas
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    framework: Vec<String>,

    /// Take this chip for the lowest that must work, instead of this Mac's
    #[arg(long, value_name = "CHIP")]
    chip: Option<Chip>,

    /// Take this macOS for the lowest that must work, instead of this Mac's
    #[arg(long, value_name = "VERSION")]
    macos: Option<MacosVersion>,

    /// Take this range of Pythons, such as \">=3.11,<3.14\", and ask no index
    #[arg(long, value_name = "RANGE")]
    python: Option<Specifiers>,

    /// Lock for these platforms, macos-arm64, linux-x86_64, linux-aarch64 [default: macos-arm64]
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',')]
    platform: Vec<Platform>,

    /// Have it work on the CPU alone as well: `gpu = \"optional\"`
    #[arg(long)]
    cpu: bool,

    /// Keep environments out of git, by .gitignore
    #[arg(long)]
    gitignore: bool,

    /// Have direnv activate the environment, by .envrc
    #[arg(long)]
    envrc: bool,

    #[command(flatten)]
    reach: ReachArgs,
}

/// What .gitignore gets: without a slash behind, as `.venv` is a link.
const IGNORED: [&str; 2] = [".venv", ".venv-*"];

/// What .envrc gets.
const ENVRC: &str = "use macml";

/// Runs the verb.
pub(crate) fn run(args: &InitArgs, context: &Context, printer: &Printer) -> ExitCode {
    let draw = Arc::new(Draw::new(context.progress, printer));
    let result = make(args, context, &draw);
    draw.clear();
    match result {
        Ok(text) => error::finish(printer.result(&text), 0, printer),
        Err(error) => error.show(printer),
    }
}

fn make(args: &InitArgs, context: &Context, draw: &Arc<Draw>) -> Result<String, CommandError> {
    let folder = args.folder.as_ref().map_or_else(|| context.cwd.clone(), |folder| context.cwd.join(folder));
    let path = folder.join(FILE_NAME);
    let shown = context.shown(&path);
    if fs::kind(&path).map_err(CommandError::from_disk)?.is_some() {
        let error = CommandError::usage(format!("`{shown}` is there already"));
        return Err(error.hint("`macml add NAME` adds a package to it; or delete it first"));
    }
    let start = start(args, context, draw)?;
    let text = init::text(&start);
    fs::create_folder(&folder).map_err(CommandError::from_disk)?;
    let read = manifest::read_as(&path, text.clone(), &context::version());
    let read = read.map_err(|error| CommandError::from_pipeline(macml::pipeline::Error::Manifest(error), context))?;
    let written = fs::write_atomic(&path, text.as_bytes(), fs::Durability::Flushed);
    written.map_err(CommandError::from_disk)?;
    let mut said = vec![format!("{} written for project `{}`:", styled(GOOD, &shown), read.manifest.name)];
    said.extend(text.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") }));
    said.push(String::new());
    if args.gitignore {
        said.extend(with_lines(&folder.join(".gitignore"), &IGNORED, context)?);
    }
    if args.envrc {
        said.extend(with_lines(&folder.join(".envrc"), &[ENVRC], context)?);
        said.push(styled(ASIDE, "`macml hook direnv` says how direnv learns `use macml`; then `direnv allow`"));
    }
    if let Ok(above) = manifest::discover(folder.parent().unwrap_or(&folder), context.env.home())
        && above != path
    {
        let above = context.shown(&above);
        said.push(styled(ASIDE, format!("below it counts instead of `{above}`")));
    }
    let enter = if folder == context.cwd { String::new() } else { format!("cd {} && ", context.shown(&folder)) };
    let more = if start.lines.is_empty() { "macml add torch" } else { "macml lock" };
    said.push(format!("next: {}", styled(NAME, format!("{enter}{more}"))));
    Ok(said.join("\n") + "\n")
}

fn start(args: &InitArgs, context: &Context, draw: &Arc<Draw>) -> Result<Start, CommandError> {
    let mut platforms = if args.platform.is_empty() { vec![Platform::MacosArm64] } else { args.platform.clone() };
    platforms.sort_unstable();
    platforms.dedup();
    let for_macs = platforms.contains(&Platform::MacosArm64);
    if !for_macs && (args.chip.is_some() || args.macos.is_some()) {
        return Err(CommandError::usage("`--chip` and `--macos` are about Macs, which `--platform` leaves out"));
    }
    let host = if for_macs { context.host()? } else { None };
    let (chip, macos, from) = lowest(args, host.as_ref())?;
    let frameworks = frameworks(&args.framework)?;
    let gpu = if args.cpu { Gpu::Optional } else { Gpu::Required };
    let python = match &args.python {
        Some(range) => Range { specifiers: range.to_string(), why: "as it was asked for".to_owned() },
        None if !for_macs || args.reach.offline => Range::usual(),
        None => {
            let config = context.config(args.reach.offline, &args.reach.mirror)?;
            let config = serving(&config, &Manifest::default());
            let progress = draw.clone();
            let mut connect = || {
                let source = OnlineSource::new(&config, Arc::new(Transfers(progress.clone())))?;
                Ok(Box::new(source) as Box<dyn macml::index::source::Source>)
            };
            init::range(&frameworks, (&chip, macos, gpu), &config, &mut connect, &**draw)
                .map_err(CommandError::from_matrix)?
        }
    };
    Ok(Start {
        name: None,
        paths: Vec::new(),
        mac: for_macs.then_some((chip, macos, from)),
        platforms,
        gpu,
        python,
        lines: frameworks.into_iter().map(|name| Line { versions: Some("*".to_owned()), ..Line::of(name) }).collect(),
        constraints: std::collections::BTreeMap::new(),
        prereleases: Vec::new(),
    })
}

/// The lowest Mac, and where it comes from.
fn lowest(args: &InitArgs, host: Option<&Host>) -> Result<(Chip, MacosVersion, String), CommandError> {
    let m1 = || "m1".parse::<Chip>().expect("it is the first chip");
    // The lowest macOS for which the current releases of torch, MLX and coremltools are made.
    let oldest = MacosVersion::new(14, 0);
    let all = args.chip.is_some() && args.macos.is_some();
    let of = |host: &Host| MacosVersion::told_by(&host.macos).unwrap_or(oldest);
    let (chip, macos, from) = match host.map(|host| (host, host.processor())) {
        Some((host, Processor::Chip(chip))) => (chip, of(host), "this Mac"),
        Some((host, Processor::Unnamed)) => (m1(), of(host), "this Mac"),
        Some((host, Processor::Foreign)) if !all => {
            let error = CommandError::new(Kind::Usage, format!("this Mac has an Intel processor, `{}`", host.cpu));
            return Err(error.hint("name the Mac that it is to work on: `--chip m1 --macos 14.0`"));
        }
        Some((_, Processor::Foreign)) | None => (m1(), oldest, "this is no Mac, so that it is a guess"),
    };
    let named = args.chip.is_some() || args.macos.is_some();
    let from = if named { "as it was asked for" } else { from };
    Ok((args.chip.clone().unwrap_or(chip), args.macos.unwrap_or(macos), from.to_owned()))
}

/// Reads names of frameworks, in any spelling.
fn frameworks(names: &[String]) -> Result<Vec<PackageName>, CommandError> {
    let mut all: Vec<PackageName> = Vec::new();
    for name in names {
        let parsed: PackageName = name.trim().parse().map_err(|error| CommandError::usage(format!("{error}")))?;
        let meant = manifest::meant::meant(parsed.as_str()).and_then(|meant| meant.parse().ok());
        let name = meant.unwrap_or(parsed);
        if !all.contains(&name) {
            all.push(name);
        }
    }
    Ok(all)
}

/// Adds lines to a file that lacks them, and says so.
fn with_lines(path: &Path, lines: &[&str], context: &Context) -> Result<Option<String>, CommandError> {
    let before = fs::read_text(path).map_err(CommandError::from_disk)?.unwrap_or_default();
    let has = |line: &&&str| before.lines().any(|there| there.trim() == **line);
    let missing: Vec<&str> = lines.iter().filter(|line| !has(line)).copied().collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let text = format!("{before}{gap}{}\n", missing.join("\n"));
    fs::write_atomic(path, text.as_bytes(), fs::Durability::Flushed).map_err(CommandError::from_disk)?;
    let missing: Vec<String> = missing.iter().map(|line| format!("`{line}`")).collect();
    Ok(Some(format!("{} has {} now", styled(GOOD, context.shown(path)), missing.join(" and "))))
}
