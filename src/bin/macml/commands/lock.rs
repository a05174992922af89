//! `macml lock`: from macml.toml to macml.lock.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use macml::diag::Code;
use macml::diag::Finding;
use macml::diag::Source;
use macml::index;
use macml::lock::Diff;
use macml::lock::diff::Sign;
use macml::lock::model::LockedEnv;
use macml::manifest::model::Gpu;
use macml::manifest::model::RootTable;
use macml::pep::PackageName;
use macml::pipeline;
use macml::pipeline::Answer;
use macml::pipeline::AnswerOrigin;
use macml::pipeline::Before;
use macml::pipeline::Job;
use macml::pipeline::KnownProblem;
use macml::pipeline::Outcome;
use macml::pipeline::Purpose;
use macml::pipeline::Trial;
use macml::pipeline::Upgrade;
use macml::pipeline::Verdict;
use macml::resolve::resolution::Held;
use macml::resolve::resolution::PythonHeld;
use macml::target::Floor;
use macml::target::MacosVersion;
use macml::target::PythonMinor;

use crate::amount;
use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::args::ReachArgs;
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
use crate::render;
use crate::report;
use crate::report::lock::Report;

/// Solve macml.toml and write macml.lock, or say why there is no answer
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Versions in an existing macml.lock are kept while they fit; -U and -P move them.
Exit code: 0 the lock is good, 1 there is no answer or the lock is stale, 2 macml could not tell.")]
pub(crate) struct LockArgs {
    /// Write nothing; fail with the difference where macml.lock does not answer macml.toml [env: MACML_LOCKED]
    #[arg(long, visible_alias = "locked", conflicts_with_all = ["dry_run", "upgrade", "upgrade_package", "macos", "python"])]
    check: bool,

    /// Solve and print the difference, but write nothing [env: MACML_DRY_RUN]
    #[arg(long)]
    dry_run: bool,

    /// Keep no version of the present lock: take the newest that fit
    #[arg(short = 'U', long)]
    upgrade: bool,

    /// Keep every version but this package's; may be repeated
    #[arg(short = 'P', long, value_name = "NAME", conflicts_with = "upgrade")]
    upgrade_package: Vec<PackageName>,

    /// Look at this environment only and leave the others as they are; may be repeated
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    /// Try this Python instead of the declared range; writes nothing
    #[arg(long, value_name = "X.Y")]
    python: Option<PythonMinor>,

    /// Try this macOS floor instead of the declared one; writes nothing
    #[arg(long, value_name = "VERSION")]
    macos: Option<MacosVersion>,

    #[command(flatten)]
    reach: ReachArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the verb.
pub(crate) fn run(args: &LockArgs, context: &Context, printer: &Printer) -> ExitCode {
    let begun = Instant::now();
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let draw = Arc::new(Draw::new(context.progress, printer));
    let result = solve(args, context, &draw);
    draw.clear();
    match (format, result) {
        (FormatArg::Text, Ok(outcome)) => text(&outcome, begun.elapsed(), context, printer),
        (FormatArg::Json, Ok(outcome)) => {
            let report = Report::locked(report::lock::Command::Lock, &outcome, context);
            error::finish(printer.data(&report::text(&report)), report.exit_code, printer)
        }
        (FormatArg::Text, Err(error)) => error.show(printer),
        (FormatArg::Json, Err(error)) => {
            error.show(printer);
            let report = Report::failed(report::lock::Command::Lock, &error);
            error::finish(printer.data(&report::text(&report)), report.exit_code, printer)
        }
    }
}

fn solve(args: &LockArgs, context: &Context, draw: &Arc<Draw>) -> Result<Outcome, CommandError> {
    let job = args.job(context)?;
    let config = context.config(args.reach.offline, &args.reach.mirror)?;
    let outcome = pipeline::lock(&job, &mut reaching(&config, draw), &**draw);
    let mut outcome = outcome.map_err(|error| CommandError::from_pipeline(error, context))?;
    if outcome.answers.iter().any(|answer| answer.origin == AnswerOrigin::Solved) {
        let config = serving(&config, &outcome.project.manifest);
        outcome.findings.extend(index::foreign_settings(&config, outcome.project.folder()));
    }
    Ok(outcome)
}

impl LockArgs {
    fn job(&self, context: &Context) -> Result<Job, CommandError> {
        let trial = Trial { macos: self.macos, python: self.python };
        let moves = self.upgrade || !self.upgrade_package.is_empty() || trial != Trial::default() || self.dry_run;
        let locked = context::flag(&context.env, "MACML_LOCKED")?;
        if locked && moves {
            return Err(CommandError::usage("MACML_LOCKED is set, but the command line asks for another lock")
                .hint("run it with MACML_LOCKED=0"));
        }
        let dry_run = self.dry_run || context::flag(&context.env, "MACML_DRY_RUN")?;
        Ok(Job {
            start: context.start.clone(),
            home: context.env.home().map(PathBuf::from),
            version: context::version(),
            only: self.env.clone(),
            upgrade: match self.upgrade {
                true => Upgrade::Everything,
                false if self.upgrade_package.is_empty() => Upgrade::Nothing,
                false => Upgrade::Packages(self.upgrade_package.iter().cloned().collect()),
            },
            trial,
            purpose: match self.check || locked {
                true => Purpose::Check,
                false if dry_run => Purpose::Show,
                false => Purpose::Write,
            },
        })
    }
}

/// Shows an outcome to people.
fn text(outcome: &Outcome, took: Duration, context: &Context, printer: &Printer) -> ExitCode {
    findings(outcome, context, printer);
    let written = printer.result(&summary(outcome, took, printer.level()));
    if outcome.verdict == Verdict::Stale {
        let error = CommandError::stale(outcome);
        let code = error.show(printer);
        return if written.is_err() { error::finish(written, error.kind.code(), printer) } else { code };
    }
    error::finish(written, 0, printer)
}

/// Shows what is to be said of macml.toml, the indexes and the releases.
pub(super) fn findings(outcome: &Outcome, context: &Context, printer: &Printer) {
    let own = &outcome.project.source;
    let source = Source { name: context.shown(Path::new(&own.name)), text: own.text.clone() };
    let mut findings: Vec<&Finding> = Vec::new();
    // Faults of mirrors were told when they were met.
    let told = |finding: &&Finding| finding.code != Code::MirrorFault;
    for finding in
        outcome.findings.iter().filter(told).chain(outcome.answers.iter().flat_map(|answer| &answer.findings))
    {
        // Platforms of one environment often say the same.
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    for finding in findings {
        printer.aside(&(render::finding(finding, Some(&source)) + "\n"));
    }
}

/// Lays out what people read: what moved, then the state of each environment, then the end in one line.
pub(super) fn summary(outcome: &Outcome, took: Duration, level: Level) -> String {
    let mut lines = Vec::new();
    // Without a lock to compare with all is new, and the list would only push the summary off the screen.
    if matches!(outcome.before, Before::Whole(_)) || level == Level::Verbose {
        lines.extend(changes(&outcome.diff()));
    }
    for answer in &outcome.answers {
        if let Some(locked) = outcome.lockfile.env(&answer.env.name, answer.platform) {
            lines.extend(environment(answer, locked));
            let first = outcome.lockfile.envs.iter().find(|env| env.name == locked.name);
            lines.extend(first.and_then(|first| differences(locked, first)));
        }
    }
    lines.push(last_line(outcome, took));
    if outcome.verdict == Verdict::Tried {
        lines.extend(adoption(outcome));
    }
    lines.join("\n") + "\n"
}

/// Lays out one environment: what it is, its frameworks, what its floor and rules cost.
fn environment(answer: &Answer, locked: &LockedEnv) -> Vec<String> {
    let mut lines = vec![format!(
        "{} on {}: Python {}, {}, GPU {}, {}",
        styled(NAME, &locked.name),
        locked.platform,
        locked.python,
        floor(locked),
        gpu(locked.gpu),
        amount::count(locked.packages.len(), "package"),
    )];
    let roots = answer.env.roots.iter().filter(|root| root.table == RootTable::Frameworks);
    let mut frameworks = roots.filter_map(|root| locked.entry(&root.name)).collect::<Vec<_>>();
    frameworks.dedup();
    let frameworks =
        frameworks.iter().map(|package| format!("{} {}", package.name, package.version)).collect::<Vec<_>>();
    if !frameworks.is_empty() {
        lines.push(format!("  {}", frameworks.join(", ")));
    }
    if let Some(PythonHeld { newer, reason, .. }) = &answer.python_held {
        lines.push(format!("  Python {newer} is in the range; {} was taken: {reason}", locked.python));
    }
    for Held { name, newest, chosen, reason, .. } in &answer.held {
        lines.push(format!("  {name} {newest} exists; held at {chosen}: {reason}"));
    }
    lines.extend(problems(&answer.problems));
    lines
}

/// Tells the worst of what is known to go wrong, and how to see the rest.
pub(crate) fn problems(all: &[KnownProblem]) -> Vec<String> {
    const MOST: usize = 3;
    let mut lines: Vec<String> = all.iter().take(MOST).map(problem).collect();
    if let (Some(first), true) = (all.first(), all.len() > MOST) {
        lines.push(format!("  and {} more: macml why {}", all.len() - MOST, first.name));
    }
    lines
}

/// Tells what is known to go wrong, with what to take instead.
pub(crate) fn problem(known: &KnownProblem) -> String {
    let KnownProblem { name, version, problem, reason, prefer, rule, .. } = known;
    let reason = reason.trim_end_matches('.');
    let prefer = prefer.as_ref().map(|prefer| format!("; prefer {}", prefer.replace('`', ""))).unwrap_or_default();
    format!("  {} of {name} {version}, {}: {reason}{prefer} ({rule})", styled(WARN, "known problem"), problem.title())
}

/// Says where a platform could not take what the first one of its environment took.
fn differences(locked: &LockedEnv, first: &LockedEnv) -> Option<String> {
    const MOST: usize = 8;
    let python = (locked.python != first.python).then(|| format!("Python {} (there {})", locked.python, first.python));
    let unlike = locked.unlike(first);
    let versions = unlike.iter().map(|(name, here, there)| format!("{name} {here} (there {there})"));
    let all: Vec<String> = python.into_iter().chain(versions).collect();
    let more = all.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let told = all.get(..MOST).unwrap_or(&all).join(", ");
    (!all.is_empty()).then(|| format!("  unlike {}: {told}{more}", first.platform))
}

fn floor(locked: &LockedEnv) -> String {
    match &locked.floor {
        Floor::Mac { macos, chip } => format!("macOS {macos}, {chip}"),
        Floor::Glibc(major, minor) => format!("glibc {major}.{minor}"),
    }
}

fn gpu(gpu: Gpu) -> &'static str {
    match gpu {
        Gpu::Required => "required",
        Gpu::Optional => "optional",
    }
}

/// Lays out what moved, environment by environment, with an empty line below.
pub(super) fn changes(diff: &Diff) -> Vec<String> {
    let line = |line: macml::lock::diff::Line| match line.sign {
        Sign::Heading => styled(NAME, line.text),
        Sign::Added => format!(" {} {}", styled(GOOD, "+"), line.text),
        Sign::Removed => format!(" {} {}", styled(BAD, "-"), line.text),
        Sign::Changed => format!(" {} {}", styled(WARN, "~"), line.text),
    };
    let mut lines = diff.lines().into_iter().map(line).collect::<Vec<_>>();
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// Says how it ended.
fn last_line(outcome: &Outcome, took: Duration) -> String {
    let took = amount::duration(took);
    let envs = outcome.lockfile.envs.iter().map(|env| &env.name).collect::<BTreeSet<_>>();
    let size = format!(
        "{} in {}",
        amount::count(outcome.lockfile.packages.len(), "package"),
        amount::count(envs.len(), "environment")
    );
    match outcome.verdict {
        Verdict::Unchanged => format!("{} unchanged, {took}", styled(GOOD, "macml.lock")),
        Verdict::Written => format!("{} written: {size}, {took}", styled(GOOD, "macml.lock")),
        Verdict::Differs => format!("{} not written (--dry-run): {size}, {took}", styled(WARN, "macml.lock")),
        Verdict::Stale => format!("{} stale, {took}", styled(BAD, "macml.lock")),
        Verdict::Tried => {
            format!("{} not written, since this was a trial: {size}, {took}", styled(WARN, "macml.lock"))
        }
    }
}

/// Says which edit makes a trial the declaration.
fn adoption(outcome: &Outcome) -> Vec<String> {
    let declared = &outcome.project.manifest.envs;
    let mut lines: Vec<String> = Vec::new();
    for answer in &outcome.answers {
        let Some(before) = declared.iter().find(|env| env.name == answer.env.name) else { continue };
        let table = if before.name == "default" { "[target]".to_owned() } else { format!("[env.{}]", before.name) };
        let mut edits = Vec::new();
        if let (Some(old), Some(new)) = (&before.mac, &answer.env.mac)
            && old.macos != new.macos
        {
            edits.push(format!("macos = \"{}\"", new.macos));
        }
        if before.python != answer.env.python {
            edits.push(format!("python = \"{}\"", answer.env.python));
        }
        let line = format!("to adopt it, write {} under {table} in macml.toml", edits.join(" and "));
        if !edits.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}
