//! `macml init`: a first macml.toml, for this Mac.

use std::fmt::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use macml::environment::Package;
use macml::environment::distribution_folders;
use macml::host::Chip;
use macml::host::Host;
use macml::host::Processor;
use macml::import;
use macml::import::Imported;
use macml::import::Installed;
use macml::import::Machines;
use macml::import::Verdict;
use macml::index::OnlineSource;
use macml::init;
use macml::init::Range;
use macml::init::Start;
use macml::lock::foreign::decoded;
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
use macml::target::PythonMinor;

use crate::amount;
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
use crate::printer::WARN;
use crate::printer::styled;
use crate::progress::Draw;
use crate::progress::Transfers;

/// Write a first macml.toml, for this Mac
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Chip and macOS of this Mac become the lowest that must work; elsewhere `m1` and macOS 14.0 do, the lowest for which current \
frameworks are made. The range of Pythons is the one in which all frameworks are as new as in any, by real solves, and it ends \
below the newest CPython. `--from` reads what a project asks for already, line by line, and says of each what became of it: kept, \
translated for a Mac, dropped, or refused with a remedy; it runs nothing and asks nobody. Nothing is installed: `macml lock` comes next.
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

    /// Take over what this asks for: a requirements file with all that it includes, pyproject.toml, environment.yml of conda,
    /// uv.lock, or the folder of an environment
    #[arg(long, value_name = "FILE", conflicts_with = "framework")]
    from: Option<PathBuf>,

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
    let mut start = start(args, context, draw)?;
    let imported = match &args.from {
        None => None,
        Some(file) => {
            let imported = imported(file, &start, context)?;
            take_over(&mut start, &imported, args, context, file);
            Some(imported)
        }
    };
    let text = init::text(&start);
    fs::create_folder(&folder).map_err(CommandError::from_disk)?;
    let read = manifest::read_as(&path, text.clone(), &context::version());
    let read = read.map_err(|error| CommandError::from_pipeline(macml::pipeline::Error::Manifest(error), context))?;
    let written = fs::write_atomic(&path, text.as_bytes(), fs::Durability::Flushed);
    written.map_err(CommandError::from_disk)?;
    let mut said = vec![format!("{} written for project `{}`:", styled(GOOD, &shown), read.manifest.name)];
    said.extend(text.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") }));
    said.push(String::new());
    if let Some(imported) = &imported {
        said.extend(told(imported, context));
        said.push(String::new());
    }
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
        None if !for_macs || args.reach.offline || args.from.is_some() => Range::usual(),
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

/// Reads the file, decided for the machines that are declared.
fn imported(file: &Path, start: &Start, context: &Context) -> Result<Imported, CommandError> {
    let macos = start.mac.as_ref().map_or(MacosVersion::new(14, 0), |(_, macos, _)| *macos);
    let machines = match start.platforms.as_slice() {
        [Platform::MacosArm64] => Machines::macs(macos),
        platforms => Machines::on(platforms, macos),
    };
    let mut read = |path: &Path| match fs::read_start(&context.cwd.join(path), LONGEST + 1) {
        Ok(None) => Err("there is no such file".to_owned()),
        Ok(Some(bytes)) if bytes.len() as u64 > LONGEST => Err("it is longer than any list of packages".to_owned()),
        Ok(Some(bytes)) => decoded(&bytes).map_err(|line| format!("line {line} is no text in UTF-8")),
        Err(error) => Err(error.cause.to_string()),
    };
    let folder = context.cwd.join(file);
    let imported = match fs::kind(&folder).map_err(CommandError::from_disk)? {
        Some(fs::Kind::Folder) => of_environment(file, &folder, &machines),
        _ => import::import(file, &machines, &mut read),
    };
    imported.map_err(|error| match error {
        import::Error::OtherForm { instead, .. } => CommandError::usage(error.to_string()).hint(instead),
        import::Error::Included { beside: Some(ref beside), .. } => {
            let beside = context.shown(&context.cwd.join(beside));
            CommandError::new(Kind::Manifest, error.to_string())
                .hint(format!("`{beside}` is there: paths are taken from the file that includes"))
        }
        error => CommandError::new(Kind::Manifest, error),
    })
}

/// Reads what lies in an environment.
fn of_environment(file: &Path, folder: &Path, machines: &Machines) -> Result<Imported, import::Error> {
    let unreadable =
        |error: &fs::FsError| import::Error::Unreadable { path: file.to_owned(), why: error.cause.to_string() };
    let lib = folder.join("lib");
    let libs = fs::names(&lib).unwrap_or_default();
    let python = |name: &str| name.strip_prefix("python")?.parse::<PythonMinor>().ok();
    let found = libs.iter().find_map(|name| Some((lib.join(name).join("site-packages"), python(name)?)));
    let Some((site, python)) = found.filter(|(site, _)| fs::kind(site).ok().flatten().is_some()) else {
        return Err(import::Error::OtherForm {
            path: file.to_owned(),
            what: "a folder, and no environment of Python: it has no `lib/python3.X/site-packages`",
            instead: "name a file in it, such as requirements.txt or pyproject.toml",
        });
    };
    let all = distribution_folders(&site).map_err(|error| unreadable(&error))?;
    let of = |(entry, package): (String, Package)| {
        let direct_url = fs::read_text(&site.join(entry).join("direct_url.json"));
        direct_url.map(|direct_url| Installed { name: package.name, version: package.version, direct_url })
    };
    let all: Result<Vec<Installed>, _> = all.into_iter().map(of).collect();
    Ok(import::import_installed(file, &all.map_err(|error| unreadable(&error))?, Some(python), machines))
}

/// Puts what was imported into what is written.
fn take_over(start: &mut Start, imported: &Imported, args: &InitArgs, context: &Context, file: &Path) {
    start.lines.clone_from(&imported.lines);
    start.constraints.clone_from(&imported.constraints);
    start.paths.clone_from(&imported.paths);
    // A name that macml.toml would not take is left out: the folder has one.
    start.name = imported.name.clone().filter(|name| !name.trim().is_empty() && !name.contains(char::is_control));
    if let (Some(python), None) = (&imported.python, &args.python) {
        let why = format!("as `{}` says", context.shown(&context.cwd.join(file)));
        start.python = Range { specifiers: python.to_string(), why };
    }
}

/// Says what became of each line that is not simply there.
fn told(imported: &Imported, context: &Context) -> Vec<String> {
    let mut said = Vec::new();
    let mut kept = 0;
    for item in &imported.items {
        let mut place = context.shown(&context.cwd.join(&item.file));
        if item.line > 0 {
            let _ = write!(place, ":{}", item.line);
        }
        let (word, rest) = match &item.verdict {
            Verdict::Kept => {
                kept += 1;
                continue;
            }
            Verdict::Translated { to, why } => (styled(NAME, "translated"), format!("-> `{to}`: {why}")),
            Verdict::Dropped { why } => (styled(ASIDE, "dropped"), format!("-- {why}")),
            Verdict::Refused { why, remedy } => (styled(WARN, "refused"), format!("-- {why}; {remedy}")),
        };
        said.push(format!("{place} {word}: `{}` {rest}", item.text));
    }
    let refused = imported.items.iter().filter(|item| matches!(item.verdict, Verdict::Refused { .. })).count();
    said.extend(imported.notes.iter().map(|note| format!("{}: {note}", styled(NAME, "note"))));
    let rest = imported.items.len() - kept - refused;
    said.push(format!(
        "{} kept as they are, {rest} translated or dropped, {refused} refused",
        amount::count(kept, "line")
    ));
    said
}

/// More bytes than this have no list of packages.
const LONGEST: u64 = 32 << 20;

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
