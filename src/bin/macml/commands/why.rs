//! `macml why`: who asks for a package, what keeps it from being newer, and what is known of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use macml::diag::Source;
use macml::knowledge::Hit;
use macml::knowledge::Knowledge;
use macml::knowledge::Reach as Reaches;
use macml::knowledge::rule::Says;
use macml::pep::PackageName;
use macml::pipeline;
use macml::pipeline::Job;
use macml::pipeline::Outcome;
use macml::pipeline::Purpose;
use macml::pipeline::Reach;
use macml::pipeline::Standing;
use macml::pipeline::Trial;
use macml::pipeline::Upgrade;
use macml::pipeline::Why;
use macml::resolve::held::Asking;
use macml::resolve::resolution::HeldBy;

use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::args::ReachArgs;
use crate::context;
use crate::context::Context;
use crate::context::reaching;
use crate::error;
use crate::error::CommandError;
use crate::printer::BAD;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::progress::Draw;
use crate::report;
use crate::report::why::Report;

/// Say why a package is here in this version: who asks for it, what holds it back, what is known of it
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Answers from macml.lock where it is current, and solves macml.toml where it is not; nothing is written.
Exit code: 0, 1 where a package is in no environment or macml.toml has no answer, 2 macml could not tell.")]
pub(crate) struct WhyArgs {
    /// The packages
    #[arg(required = true, value_name = "PACKAGE")]
    names: Vec<PackageName>,

    /// Look at this environment only; may be repeated
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    #[command(flatten)]
    reach: ReachArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the verb.
pub(crate) fn run(args: &WhyArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let knowledge = Knowledge::built_in();
    let draw = Arc::new(Draw::new(context.progress, printer));
    let result = answer(args, context, &knowledge, &draw);
    draw.clear();
    match (format, result) {
        (FormatArg::Text, Ok((outcome, all))) => {
            let absent = absent(&args.names, &all);
            let written = printer.result(&text(&outcome, &all, &knowledge, context));
            for name in &absent {
                CommandError::not_in_lock(name, &outcome).show(printer);
            }
            error::finish(written, u8::from(!absent.is_empty()), printer)
        }
        (FormatArg::Json, Ok((outcome, all))) => {
            let code = u8::from(!absent(&args.names, &all).is_empty());
            let report = Report::new(&source(&outcome, context), &all, code);
            error::finish(printer.data(&report::text(&report)), code, printer)
        }
        (FormatArg::Text, Err(error)) => error.show(printer),
        (FormatArg::Json, Err(error)) => {
            error.show(printer);
            let report = Report::failed(&error);
            error::finish(printer.data(&report::text(&report)), error.kind.code(), printer)
        }
    }
}

/// What is locked, or would be where the lock is stale, and what reaches its indexes; nothing is written.
pub(super) fn locked(
    only: &[String],
    reach: &ReachArgs,
    context: &Context,
    draw: &Arc<Draw>,
) -> Result<(Outcome, Box<dyn macml::index::source::Source>), CommandError> {
    let config = context.config(reach.offline, &reach.mirror)?;
    let mut connect = reaching(&config, draw);
    let job = Job {
        start: context.start.clone(),
        home: context.env.home().map(PathBuf::from),
        version: context::version(),
        only: only.to_vec(),
        upgrade: Upgrade::Nothing,
        trial: Trial::default(),
        purpose: Purpose::Show,
    };
    let failed = |error| CommandError::from_pipeline(error, context);
    let outcome = pipeline::lock(&job, &mut connect, &**draw).map_err(failed)?;
    let source =
        connect(&outcome.project.manifest, Reach::Network).map_err(|error| failed(pipeline::Error::Connect(error)))?;
    Ok((outcome, source))
}

fn answer<'k>(
    args: &WhyArgs,
    context: &Context,
    knowledge: &'k Knowledge,
    draw: &Arc<Draw>,
) -> Result<(Outcome, Vec<Why<'k>>), CommandError> {
    let (outcome, mut source) = locked(&args.env, &args.reach, context, draw)?;
    let mut names: Vec<PackageName> = Vec::new();
    // Asked twice, perhaps in two spellings, it is still one question.
    args.names.iter().for_each(|name| {
        if !names.contains(name) {
            names.push(name.clone())
        }
    });
    let all = pipeline::why(&outcome, &names, knowledge, &mut *source, &**draw)
        .map_err(|error| CommandError::from_pipeline(error, context))?;
    Ok((outcome, all))
}

/// Lists the packages that are in no environment looked at.
fn absent<'a>(names: &'a [PackageName], all: &[Why<'_>]) -> Vec<&'a PackageName> {
    let there = |name: &&PackageName| all.iter().any(|why| why.name == **name && why.standing.is_some());
    let names: BTreeSet<&PackageName> = names.iter().filter(|name| !there(name)).collect();
    names.into_iter().collect()
}

fn source(outcome: &Outcome, context: &Context) -> Source {
    let own = &outcome.project.source;
    Source { name: context.shown(Path::new(&own.name)), text: own.text.clone() }
}

fn text(outcome: &Outcome, all: &[Why<'_>], knowledge: &Knowledge, context: &Context) -> String {
    let source = source(outcome, context);
    let present = all.iter().filter_map(|why| Some((why, why.standing.as_ref()?)));
    let blocks = present.map(|(why, standing)| block(why, standing, knowledge, &source).join("\n") + "\n");
    blocks.collect::<Vec<_>>().join("\n")
}

/// Lays out one package in one environment.
fn block(why: &Why<'_>, standing: &Standing<'_>, knowledge: &Knowledge, source: &Source) -> Vec<String> {
    let Why { env, platform, name, .. } = why;
    let mut lines = vec![format!("{} {} in {} on {platform}", styled(NAME, name), standing.version, env.name)];
    let place = |start: usize| format!("{}:{}", source.name, source.line_column(start).0);
    lines.extend(standing.lines.iter().map(|(line, span)| format!("  asked for by {}: {line}", place(span.start))));
    lines.extend(askers(&standing.asked_by));
    match &standing.held {
        None if name.as_str() == "python" => lines.push("  no later Python of the range fits as well".to_owned()),
        None => lines.push("  it is the newest release".to_owned()),
        Some(held) => {
            let floor = match (&held.by, &env.mac) {
                (HeldBy::Floor, Some(mac)) => Some(mac.macos_span),
                (HeldBy::Rule(id), Some(mac)) => {
                    let needs = |rule: &macml::knowledge::Rule| matches!(rule.says, Says::NeedsMacos(_));
                    knowledge.rule(id).filter(|rule| needs(rule)).map(|_| mac.macos_span)
                }
                (HeldBy::Line, _) => standing.lines.first().map(|(_, span)| *span),
                (HeldBy::Python, _) => Some(env.python_span),
                _ => None,
            };
            let at = floor.filter(|span| span.end > span.start).map(|span| format!(" ({})", place(span.start)));
            lines.push(format!("  {} exists; held back: {}{}", held.newest, held.reason, at.unwrap_or_default()));
        }
    }
    lines.extend(standing.known_to.as_ref().map(|known| {
        let date = &knowledge.date;
        format!("  {}: this macml knows it up to {known} ({date})", styled(WARN, "unknown"))
    }));
    let grounds = standing.rules.iter().filter_map(|id| knowledge.ground(id));
    lines.extend(grounds.map(|ground| format!("  by {ground}")));
    lines.extend(standing.hits.iter().filter(|hit| !standing.rules.contains(&hit.rule.id)).map(hit));
    lines
}

/// Names who asks for a package, those that ask for the same in one line.
fn askers(all: &[Asking]) -> Vec<String> {
    const MOST: usize = 12;
    let line = |asking: &Asking| {
        let wants = if asking.wants.is_empty() { String::new() } else { format!(": {}", asking.wants) };
        let rule = asking.rule.as_ref().map(|rule| format!(" (rule `{rule}`)")).unwrap_or_default();
        format!("  asked for by {} {}{wants}{rule}", asking.by, asking.version)
    };
    let mut lines: Vec<String> = all.iter().take(MOST).map(line).collect();
    if all.len() > MOST {
        lines.push(format!("  and by {} more", all.len() - MOST));
    }
    lines
}

/// Tells one piece of knowledge about a package.
fn hit(hit: &Hit<'_>) -> String {
    let rule = hit.rule;
    let later = match hit.reach {
        Reaches::AtFloor => String::new(),
        Reaches::AboveFloor => format!(" on {}", rule.macs()),
    };
    let head = match (rule.problem(), &rule.says) {
        (Some(problem), _) => styled(WARN, format!("known problem{later}, {}", problem.title())),
        (None, Says::Advice(_)) => format!("to know{later}"),
        (None, _) => styled(BAD, format!("{}{later}", rule.statement_of(&hit.version).replace('`', ""))),
    };
    let prefer = rule.prefer().map(|prefer| format!(" Prefer {}.", prefer.to_string().replace('`', "")));
    let reason = &rule.reason;
    let sources = rule.evidence.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("  {head}: {reason}{} ({}, {}: {sources})", prefer.unwrap_or_default(), rule.id, rule.confidence)
}
