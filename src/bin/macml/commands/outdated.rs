//! `macml outdated`: what is newer than what is locked, and why it is not taken.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use macml::knowledge::Knowledge;
use macml::manifest::model::EnvSpec;
use macml::pep::PackageName;
use macml::pipeline;
use macml::pipeline::Outcome;
use macml::pipeline::Why;

use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::args::ReachArgs;
use crate::commands::why::locked;
use crate::context::Context;
use crate::error;
use crate::error::CommandError;
use crate::printer::ASIDE;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::styled;
use crate::progress::Draw;
use crate::report;
use crate::report::outdated::Report;

/// Say which releases are newer than those that are locked, and why each is not taken
#[derive(clap::Args, Debug)]
#[command(after_help = "\
`macml lock -U` takes all that nothing holds back, `macml lock -P NAME` those of one package. Nothing is written.
Exit code: 0, whether something is newer or not; 1 macml.toml has no answer; 2 macml could not tell.")]
pub(crate) struct OutdatedArgs {
    /// Look at every package, not only at those that macml.toml asks for
    #[arg(short, long)]
    all: bool,

    /// Look at this environment only; may be repeated
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    #[command(flatten)]
    reach: ReachArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the verb.
pub(crate) fn run(args: &OutdatedArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let knowledge = Knowledge::built_in();
    let draw = Arc::new(Draw::new(context.progress, printer));
    let result = answer(args, context, &knowledge, &draw);
    draw.clear();
    match (format, result) {
        (FormatArg::Text, Ok(all)) => error::finish(printer.result(&text(&all)), 0, printer),
        (FormatArg::Json, Ok(all)) => error::finish(printer.data(&report::text(&Report::new(&all))), 0, printer),
        (FormatArg::Text, Err(error)) => error.show(printer),
        (FormatArg::Json, Err(error)) => {
            error.show(printer);
            error::finish(printer.data(&report::text(&Report::failed(&error))), error.kind.code(), printer)
        }
    }
}

fn answer<'k>(
    args: &OutdatedArgs,
    context: &Context,
    knowledge: &'k Knowledge,
    draw: &Arc<Draw>,
) -> Result<Vec<Why<'k>>, CommandError> {
    let (outcome, mut source) = locked(&args.env, &args.reach, context, draw)?;
    let names = names(&outcome, args.all);
    let mut all = pipeline::why(&outcome, &names, knowledge, &mut *source, &**draw)
        .map_err(|error| CommandError::from_pipeline(error, context))?;
    all.retain(|why| why.standing.as_ref().is_some_and(|standing| standing.held.is_some()));
    Ok(all)
}

/// Names what is looked at: the Python, then packages by name.
fn names(outcome: &Outcome, all: bool) -> Vec<PackageName> {
    let roots = |env: &EnvSpec| env.roots.iter().map(|root| root.name.clone()).collect::<Vec<_>>();
    let asked = outcome.answers.iter().flat_map(|answer| roots(&answer.env));
    let locked = outcome.lockfile.packages.iter().map(|package| package.name.clone());
    let mut names: Vec<PackageName> = if all { locked.collect() } else { asked.collect() };
    names.sort();
    names.dedup();
    let python: PackageName = "python".parse().expect("it is a name");
    names.insert(0, python);
    names
}

fn text(all: &[Why<'_>]) -> String {
    if all.is_empty() {
        return format!("{}\n", styled(GOOD, "nothing is newer"));
    }
    let mut out = String::new();
    let mut at: Option<(&str, String)> = None;
    for why in all {
        let Some(standing) = &why.standing else { continue };
        let Some(held) = &standing.held else { continue };
        let here = (why.env.name.as_str(), why.platform.to_string());
        if at.as_ref() != Some(&here) {
            let _ = writeln!(out, "{}", styled(NAME, format!("{} on {}", here.0, here.1)));
            at = Some(here);
        }
        let (name, version, newest) = (&why.name, &standing.version, &held.newest);
        let _ = writeln!(out, "  {name} {version} -> {}: {}", styled(GOOD, newest), held.reason);
    }
    out + &format!("{}\n", styled(ASIDE, "`macml why NAME` says more; `macml lock -U` takes what nothing holds back"))
}
