//! `macml sync`: from macml.lock to an environment, or to a tree of files for another machine.

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use macml::cache::Cache;
use macml::diag::Code;
use macml::diag::Finding;
use macml::diag::Source;
use macml::environment::PackageChange;
use macml::environment::Replace;
use macml::index::Config;
use macml::index::download::Downloads;
use macml::install::LinkMode;
use macml::pipeline;
use macml::pipeline::sync;
use macml::pipeline::sync::Difference;
use macml::pipeline::sync::Job;
use macml::pipeline::sync::Outcome;
use macml::pipeline::sync::Purpose;
use macml::pipeline::sync::Reaching;
use macml::pipeline::sync::StageJob;
use macml::pipeline::sync::Staged;
use macml::pipeline::sync::Staleness;
use macml::pipeline::sync::Synced;
use macml::pipeline::sync::Verdict;
use macml::pipeline::sync::Which;
use macml::progress::Progress as _;
use macml::python;
use macml::python::Machine;
use macml::python::Search;
use macml::sys::Folder;
use macml::sys::disk::Bytes;
use macml::sys::fs;
use macml::target::MacosVersion;
use macml::target::Platform;
use macml::target::PythonMinor;
use macml::verify::Standing;

use crate::amount;
use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::args::ReachArgs;
use crate::commands::lock;
use crate::context;
use crate::context::Context;
use crate::context::reaching;
use crate::context::serving;
use crate::error;
use crate::error::CommandError;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::Level;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::progress::Draw;
use crate::progress::Transfers;
use crate::render;
use crate::report;
use crate::report::sync::Report;

/// Build the environment exactly as locked, or leave the old one untouched
#[derive(clap::Args, Debug, Default)]
#[command(after_help = "\
A lock that is missing or stale is solved first; --locked and --frozen do not.
Exit code: 0 the environment is as locked, 1 it is not or cannot be on this machine, 2 macml could not tell.")]
pub(crate) struct SyncArgs {
    /// Fail where macml.lock does not answer macml.toml, instead of solving [env: MACML_LOCKED]
    #[arg(long, conflicts_with = "frozen")]
    pub(crate) locked: bool,

    /// Take macml.lock as it is, whatever macml.toml says by now [env: MACML_FROZEN]
    #[arg(long)]
    pub(crate) frozen: bool,

    /// Print what would be downloaded, added and removed, but write nothing [env: MACML_DRY_RUN]
    #[arg(long, conflicts_with = "check")]
    pub(crate) dry_run: bool,

    /// Write nothing; fail with what differs where the environment is not as locked
    #[arg(long)]
    pub(crate) check: bool,

    /// Build this environment instead of the default one; may be repeated [env: MACML_ENV]
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub(crate) env: Vec<String>,

    /// Build every environment that is for this machine's platform
    #[arg(long)]
    pub(crate) all: bool,

    /// With --platform: stage the files of an environment for another machine in this folder; no Python is needed, and
    /// none is in it
    #[arg(long, value_name = "DIR", requires = "platform", conflicts_with_all = ["all", "dry_run", "check", "compile", "replace", "python"])]
    pub(crate) target: Option<PathBuf>,

    /// The platform that files are staged for
    #[arg(long, value_name = "NAME", requires = "target")]
    pub(crate) platform: Option<Platform>,

    /// Stage the files for a Mac with this macOS, instead of for the declared floor
    #[arg(long, value_name = "VERSION", requires = "target")]
    pub(crate) macos: Option<MacosVersion>,

    /// How files get in: clone, hardlink or copy; by itself the best that the file systems can [env: MACML_LINK_MODE]
    #[arg(long, value_name = "MODE")]
    pub(crate) link_mode: Option<LinkMode>,

    /// Compile all modules, so that their first import is fast
    #[arg(long)]
    pub(crate) compile: bool,

    /// Move aside what is in the environment's place and was not made by macml
    #[arg(long)]
    pub(crate) replace: bool,

    /// Take the locked wheels from this folder, such as `macml bundle` writes, and ask no index; implies --locked
    #[arg(long, value_name = "DIR")]
    pub(crate) from: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reach: ReachArgs,

    /// Build with this Python, a program or a folder with one, which stays while it fits [env: MACML_PYTHON]
    #[arg(long, value_name = "PATH")]
    pub(crate) python: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What a run came to.
enum Done {
    Synced(Box<Outcome>),
    Staged(Box<Staged>, PathBuf),
}

/// Runs the verb.
pub(crate) fn run(args: &SyncArgs, context: &Context, printer: &Printer) -> ExitCode {
    let begun = Instant::now();
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let draw = Arc::new(Draw::new(context.progress, printer));
    let result = work(args, context, &draw);
    draw.clear();
    match (format, result) {
        (FormatArg::Text, Ok(Done::Synced(outcome))) => text(&outcome, begun.elapsed(), context, printer),
        (FormatArg::Text, Ok(Done::Staged(staged, target))) => {
            let written = printer.result(&staging(&staged, &context.shown(&target), begun.elapsed()));
            error::finish(written, 0, printer)
        }
        (FormatArg::Json, Ok(done)) => {
            let report = match &done {
                Done::Synced(outcome) => Report::synced(outcome, context),
                Done::Staged(staged, target) => Report::staged(staged, target, context),
            };
            error::finish(printer.data(&report::text(&report)), report.exit_code, printer)
        }
        (FormatArg::Text, Err(error)) => error.show(printer),
        (FormatArg::Json, Err(error)) => {
            error.show(printer);
            let report = Report::failed(&error);
            error::finish(printer.data(&report::text(&report)), report.exit_code, printer)
        }
    }
}

fn work(args: &SyncArgs, context: &Context, draw: &Arc<Draw>) -> Result<Done, CommandError> {
    let config = context.config(args.reach.offline || args.from.is_some(), &args.reach.mirror)?;
    let source = args.source(context, &config)?;
    let link_mode = args.link_mode(context)?;
    let mut connect = reaching(&config, draw);
    let download = |manifest: &_, wanted: &[_]| {
        Downloads::begin(&serving(&config, manifest), wanted, Arc::new(Transfers(draw.clone())))
    };
    let mut reaching = Reaching { connect: &mut connect, download: &download };
    let told = |error| CommandError::from_sync(error, context);
    let (Some(target), Some(platform)) = (&args.target, args.platform) else {
        let job = args.job(context, &config, source, link_mode)?;
        let outcome = sync::sync(&job, &mut reaching, &**draw).map_err(told)?;
        if outcome.environments.iter().any(|one| one.verdict == Verdict::Built && one.downloads.wheels > 0) {
            hold_to_limit(&config, draw);
        }
        return Ok(Done::Synced(Box::new(outcome)));
    };
    let env = match &args.env[..] {
        [] => context.env_name(None).unwrap_or("default").to_owned(),
        [one] => one.clone(),
        _ => return Err(CommandError::usage("only one environment at a time goes into a folder")),
    };
    let target = context.cwd.join(target);
    let job = StageJob { source, env, platform, macos: args.macos, target: target.clone(), link_mode };
    let staged = sync::stage(&job, &mut reaching, &**draw).map_err(told)?;
    if staged.downloads.wheels > 0 {
        hold_to_limit(&config, draw);
    }
    Ok(Done::Staged(Box::new(staged), target))
}

/// Keeps the cache below the size that the user's settings give it. Somebody else who uses it just now will do that.
fn hold_to_limit(config: &Config, draw: &Draw) {
    let (Some(folder), Some(limit)) = (&config.cache_dir, config.cache_size) else { return };
    if let Err(error) = Cache::at(folder).hold_to(limit, SystemTime::now()) {
        draw.note(&format!("the cache could not be held to `cache-size`: {error}"));
    }
}

/// Brings an environment in line with its lock for another verb, which has standard output for itself: what was built is
/// told on standard error, and of what is as locked nothing is said.
pub(crate) fn make_ready(args: &SyncArgs, context: &Context, printer: &Printer) -> Result<(), CommandError> {
    let begun = Instant::now();
    let draw = Arc::new(Draw::new(context.progress, printer));
    let done = work(args, context, &draw);
    draw.clear();
    let Done::Synced(outcome) = done? else { return Ok(()) };
    let changed = outcome.solved.as_ref().is_some_and(|solved| solved.verdict != pipeline::Verdict::Unchanged)
        || outcome.environments.iter().any(|synced| synced.verdict != Verdict::Unchanged);
    if changed {
        told(&outcome, context, printer);
        printer.aside(&summary(&outcome, begun.elapsed(), context, printer));
    }
    Ok(())
}

impl SyncArgs {
    fn source(&self, context: &Context, config: &Config) -> Result<sync::Source, CommandError> {
        let frozen = self.frozen || !self.locked && context::flag(&context.env, "MACML_FROZEN")?;
        let locked =
            self.locked || self.check || self.from.is_some() || !frozen && context::flag(&context.env, "MACML_LOCKED")?;
        Ok(sync::Source {
            start: context.start.clone(),
            home: context.env.home().map(PathBuf::from),
            version: context::version(),
            staleness: match (frozen, locked) {
                (true, _) => Staleness::Ignore,
                (false, true) => Staleness::Refuse,
                (false, false) => Staleness::Solve,
            },
            cache: config.cache_dir.clone(),
            wheels: self.from.as_ref().map(|folder| context.cwd.join(folder)),
        })
    }

    fn link_mode(&self, context: &Context) -> Result<Option<LinkMode>, CommandError> {
        match (self.link_mode, context.env.get("MACML_LINK_MODE")) {
            (Some(mode), _) => Ok(Some(mode)),
            (None, None | Some("")) => Ok(None),
            (None, Some(text)) => {
                let mode = text.parse().map_err(|error| CommandError::usage(format!("MACML_LINK_MODE: {error}")))?;
                Ok(Some(mode))
            }
        }
    }

    fn job(
        &self,
        context: &Context,
        config: &Config,
        source: sync::Source,
        link_mode: Option<LinkMode>,
    ) -> Result<Job, CommandError> {
        let machine = Machine::here(&context.env).ok_or_else(|| {
            CommandError::usage("macml makes environments for macOS and for Linux on x86_64 and aarch64 only")
                .hint("`--target DIR --platform NAME` stages the files of one on any machine")
        })?;
        let dry_run = self.dry_run || !self.check && context::flag(&context.env, "MACML_DRY_RUN")?;
        let purpose = match self.check {
            true => Purpose::Check,
            false if dry_run => Purpose::Show,
            false => Purpose::Build,
        };
        let named = self.python.clone().or_else(|| context.env.get("MACML_PYTHON").map(PathBuf::from));
        let version =
            named.as_ref().filter(|named| named.to_str().is_some_and(|text| text.parse::<PythonMinor>().is_ok()));
        if let Some(version) = version.filter(|named| !matches!(fs::kind(&context.cwd.join(named)), Ok(Some(_)))) {
            return Err(CommandError::usage(format!("`{}` is a version, not a program", version.display()))
                .hint("the version is that of macml.lock; `macml lock --python X.Y` tries another"));
        }
        let macml = |kind| context.env.folder(kind).map(|folder| folder.join("macml"));
        Ok(Job {
            source,
            which: match &self.env[..] {
                _ if self.all => Which::All,
                [] => context.env_name(None).map_or(Which::Default, |env| Which::Named(vec![env.to_owned()])),
                names => Which::Named(names.to_vec()),
            },
            purpose,
            link_mode,
            compile: self.compile,
            replace: if self.replace { Replace::MoveAside } else { Replace::Never },
            host: context.host()?,
            search: Search {
                machine,
                cache: config.cache_dir.clone().filter(|_| purpose == Purpose::Build),
                limit: python::USUAL_LIMIT,
                named: named.map(|path| context.cwd.join(path)),
            },
            data: macml(Folder::Data),
            state: macml(Folder::State),
            now: SystemTime::now(),
        })
    }
}

/// Shows an outcome to people.
fn text(outcome: &Outcome, took: Duration, context: &Context, printer: &Printer) -> ExitCode {
    told(outcome, context, printer);
    let written = printer.result(&summary(outcome, took, context, printer));
    let differing = outcome.environments.iter().find(|one| outcome.checked && one.verdict == Verdict::Differs);
    let Some(synced) = differing else { return error::finish(written, 0, printer) };
    let error = CommandError::not_as_locked(synced, &shown_link(synced, outcome, context));
    let code = error.show(printer);
    if written.is_err() { error::finish(written, error.kind.code(), printer) } else { code }
}

/// Tells what is no result: findings, and what was moved or dropped.
fn told(outcome: &Outcome, context: &Context, printer: &Printer) {
    let own = &outcome.project.source;
    let source = Source { name: context.shown(Path::new(&own.name)), text: own.text.clone() };
    for finding in findings(outcome) {
        printer.aside(&(render::finding(finding, Some(&source)) + "\n"));
    }
    for synced in &outcome.environments {
        asides(synced, &shown_link(synced, outcome, context), printer);
    }
}

/// Lays out what became of each environment.
fn summary(outcome: &Outcome, took: Duration, context: &Context, printer: &Printer) -> String {
    let mut lines = Vec::new();
    lines.extend(outcome.solved.as_deref().and_then(lock_line));
    let alone = outcome.environments.len() == 1;
    for synced in &outcome.environments {
        let took = if alone { took } else { synced.took };
        lines.extend(environment(synced, printer.level()));
        lines.push(last_line(synced, &shown_link(synced, outcome, context), took, outcome.checked));
    }
    lines.extend(gpu_lines(&outcome.environments, SystemTime::now()));
    lines.join("\n") + "\n"
}

/// Says how the GPU stands in each environment that has something to use it.
fn gpu_lines(environments: &[Synced], now: SystemTime) -> Vec<String> {
    let standings = environments.iter().filter_map(|synced| Some((&*synced.name, synced.gpu.as_ref()?)));
    let lines: Vec<_> = standings.map(|(name, standing)| (name, gpu_line(standing, name, now))).collect();
    match &lines[..] {
        [(_, alone)] => vec![alone.clone()],
        lines => lines.iter().map(|(name, line)| format!("{name}: {line}")).collect(),
    }
}

/// Says how the GPU stands in an environment.
fn gpu_line(standing: &Standing, env: &str, now: SystemTime) -> String {
    let verify = match env {
        "default" => "`macml verify`".to_owned(),
        env => format!("`macml verify --env {env}`"),
    };
    match standing {
        Standing::Verified { since } => {
            format!("GPU {} with this lock on this macOS, {}", styled(GOOD, "verified"), amount::ago(*since, now))
        }
        Standing::NotRight(word) => {
            format!("GPU {} with this lock on this macOS: {word}; {verify} says more", styled(BAD, "not right"))
        }
        Standing::Never
        | Standing::OtherLock
        | Standing::OtherContent
        | Standing::OtherSystem(_)
        | Standing::OtherChip(_) => {
            format!("GPU {} with this lock on this macOS: run {verify}", styled(WARN, "not verified"))
        }
    }
}

/// Returns whether an environment is what macml.lock says as it stands, whatever macml.toml says by now.
pub(crate) fn is_as_locked(env: Option<&str>, context: &Context, printer: &Printer) -> bool {
    let env = context.env_name(env).map(str::to_owned).into_iter().collect();
    let wanted = SyncArgs {
        frozen: true,
        reach: ReachArgs { offline: true, ..ReachArgs::default() },
        check: true,
        env,
        ..SyncArgs::default()
    };
    let draw = Arc::new(Draw::new(context.progress, printer));
    let done = work(&wanted, context, &draw);
    draw.clear();
    match done {
        Ok(Done::Synced(outcome)) => outcome.environments.iter().all(|one| one.verdict == Verdict::Unchanged),
        Ok(Done::Staged(..)) | Err(_) => false,
    }
}

/// Lists what is to be said of the manifest and of solving, each once.
pub(crate) fn findings(outcome: &Outcome) -> Vec<&Finding> {
    let solved = outcome.solved.iter();
    let solved = solved.flat_map(|lock| lock.findings.iter().chain(lock.answers.iter().flat_map(|one| &one.findings)));
    let told = outcome.environments.iter().flat_map(|synced| &synced.findings);
    let mut all: Vec<&Finding> = Vec::new();
    for finding in outcome.findings.iter().chain(solved).chain(told).filter(|finding| finding.code != Code::MirrorFault)
    {
        if !all.contains(&finding) {
            all.push(finding);
        }
    }
    all
}

/// Says what became of macml.lock.
fn lock_line(solved: &pipeline::Outcome) -> Option<String> {
    match solved.verdict {
        pipeline::Verdict::Written => Some(format!(
            "{} written: {}",
            styled(GOOD, "macml.lock"),
            amount::count(solved.lockfile.packages.len(), "package")
        )),
        pipeline::Verdict::Differs => Some(format!("{} would be written", styled(WARN, "macml.lock"))),
        _ => None,
    }
}

/// Returns the name of an environment's link as people know it.
pub(crate) fn shown_link(synced: &Synced, outcome: &Outcome, context: &Context) -> String {
    let name = synced.link.file_name().unwrap_or_default();
    context.shown(&outcome.folder.join(name))
}

/// Tells what is not as it should be and did not stand in the way.
fn asides(synced: &Synced, name: &str, printer: &Printer) {
    let warn = |text: &str| printer.aside(&format!("{}: {text}\n", styled(WARN, "warning")));
    synced.warnings.iter().for_each(|text| warn(text));
    if let Some(aside) = &synced.moved_aside {
        let aside = aside.file_name().unwrap_or_default().to_string_lossy().into_owned();
        printer.aside(&format!("{}: what was at `{name}` is now `{aside}`\n", styled(NAME, "note")));
    }
    if !synced.strays.is_empty() {
        let verb = if synced.verdict == Verdict::Built { "dropped" } else { "not locked" };
        let names = synced.strays.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        warn(&format!("{verb}, since macml did not put it into `{name}`: {names}"));
        let hint = "what is to stay belongs into `[dependencies]` in macml.toml";
        printer.aside(&format!("{}: {hint}\n", styled(NAME, "hint")));
    }
}

/// Lays out what changed in an environment, and what is known to go wrong in it.
fn environment(synced: &Synced, level: Level) -> Vec<String> {
    let mut lines = Vec::new();
    if synced.had_before || level == Level::Verbose {
        lines.extend(synced.changes.iter().map(change));
    }
    // What its packages do not tell by themselves.
    let told = |one: &&Difference| !matches!(one, Difference::Absent | Difference::Packages);
    lines.extend(synced.differences.iter().filter(told).map(|one| format!("  {one}")));
    lines.extend(lock::problems(&synced.problems));
    lines
}

/// Says what became of an environment.
fn last_line(synced: &Synced, name: &str, took: Duration, checked: bool) -> String {
    let size = format!("{}, Python {}", amount::count(synced.packages, "package"), synced.python);
    let took = amount::duration(took);
    match synced.verdict {
        Verdict::Unchanged => format!("{} unchanged, {took}", styled(GOOD, name)),
        Verdict::Built => format!("{} ready: {size}, {took}", styled(GOOD, name)),
        Verdict::Differs if checked => format!("{} differs, {took}", styled(BAD, name)),
        Verdict::Differs => format!("{} would be built: {size}, {}", styled(WARN, name), downloads(synced.downloads)),
    }
}

/// Says what became of a package.
pub(crate) fn change(change: &PackageChange) -> String {
    match (&change.before, &change.after) {
        (None, after) => format!(" {} {} {}", styled(GOOD, "+"), change.name, after.as_deref().unwrap_or_default()),
        (Some(before), None) => format!(" {} {} {before}", styled(BAD, "-"), change.name),
        (Some(before), Some(after)) => format!(" {} {} {before} -> {after}", styled(WARN, "~"), change.name),
    }
}

fn downloads(amount: sync::Amount) -> String {
    match amount.wheels {
        0 => "nothing to download".to_owned(),
        wheels => format!("{} to download ({})", amount::count(wheels, "wheel"), Bytes(amount.bytes)),
    }
}

/// Lays out what was staged.
fn staging(staged: &Staged, target: &str, took: Duration) -> String {
    let machine = match staged.macos {
        Some(macos) => format!("macOS {macos}"),
        None => staged.platform.to_string(),
    };
    let (packages, files) = (amount::count(staged.packages, "package"), amount::count(staged.files, "file"));
    let mut lines: Vec<String> = staged.solved.as_deref().and_then(lock_line).into_iter().collect();
    let size = format!("{packages}, {files}, Python {}", staged.python);
    lines.push(format!("{} staged for {machine}: {size}, {}", styled(GOOD, target), amount::duration(took)));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use macml::verify::Word;

    use super::*;

    #[test]
    fn the_gpu_stands_as_it_was_verified() {
        let check = |standing: Standing, env: &str, text: &str| {
            let line = gpu_line(&standing, env, SystemTime::UNIX_EPOCH + Duration::from_secs(200_000));
            assert_eq!(anstream::adapter::strip_str(&line).to_string(), text);
        };
        let run = "GPU not verified with this lock on this macOS: run `macml verify`";
        check(Standing::Never, "default", run);
        check(Standing::OtherLock, "default", run);
        check(Standing::OtherContent, "default", run);
        check(Standing::OtherSystem("macOS 15.6".into()), "default", run);
        check(Standing::OtherChip("Apple M1".into()), "tf", &run.replace("verify`", "verify --env tf`"));
        let verified = "GPU verified with this lock on this macOS, 1 day ago";
        check(Standing::Verified { since: 100_000 }, "default", verified);
        let wrong = "GPU not right with this lock on this macOS: wrong-numbers; `macml verify` says more";
        check(Standing::NotRight(Word::WrongNumbers), "default", wrong);
    }
}
