//! `macml rules`: what is known beyond package metadata, as a list or a piece whole.

pub(crate) mod selection;
mod text;

use std::process::ExitCode;

use clap::builder::PossibleValue;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use macml::knowledge::Knowledge;
use macml::knowledge::rule::Scope;

use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::context::Context;
use crate::error;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::report;

use selection::Filter;
use selection::Selection;
use selection::Unknown;

/// List what macml knows beyond package metadata, or show a rule whole, with its evidence
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Reads the built-in knowledge only: no project, no network. `[resolution] ignore-rules` in macml.toml switches a rule off.
Exit code: 0, also when no rule speaks of a package; 2 for a command line that makes no sense.")]
pub(crate) struct RulesArgs {
    /// Packages, to list the rules that speak of them, or names of rules, to show each whole; nothing lists all
    #[arg(value_name = "PACKAGE|RULE")]
    names: Vec<String>,

    /// List only this kind; may be repeated
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    kind: Vec<String>,

    /// List only what endangers this; may be repeated
    #[arg(long, value_name = "SCOPE", value_parser = scopes())]
    scope: Vec<Scope>,

    #[command(flatten)]
    output: OutputArgs,
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(selection::KINDS.map(|(kind, help)| PossibleValue::new(kind).help(help)))
}

fn scopes() -> impl TypedValueParser<Value = Scope> {
    let scope = |scope: Scope| PossibleValue::new(scope.to_string()).help(text::stake(scope));
    let parse = |text: String| Scope::ALL.into_iter().find(|scope| scope.to_string() == text);
    PossibleValuesParser::new(Scope::ALL.map(scope)).map(move |text| parse(text).expect("clap admits scopes only"))
}

/// Runs the verb.
pub(crate) fn run(args: &RulesArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let knowledge = Knowledge::built_in();
    let selection = Selection::new(&knowledge, &args.names, &Filter { kinds: &args.kind, scopes: &args.scope });
    let written = match format {
        FormatArg::Json => printer.data(&report::text(&report::rules::Report::new(&selection, &knowledge))),
        FormatArg::Text => {
            printer.aside(&notes(&selection));
            printer.result(&text::text(&selection, &knowledge))
        }
    };
    error::finish(written, 0, printer)
}

/// Says what was asked for and is not there.
fn notes(selection: &Selection<'_>) -> String {
    let note = |text: &str| format!("{}: {text}\n", styled(WARN, "note"));
    let unknown = |unknown: &Unknown<'_>| {
        let hint = hint(unknown).map(|hint| format!("{}: {hint}\n", styled(NAME, "hint"))).unwrap_or_default();
        note(&format!("no rule speaks of `{}`, and none is named so", unknown.name.escape_debug())) + &hint
    };
    let mut notes: String = selection.unknown.iter().map(unknown).collect();
    if selection.is_filtered_out() {
        notes += &note("no rule is of this kind and scope");
    }
    notes
}

fn hint(unknown: &Unknown<'_>) -> Option<String> {
    match (unknown.package, unknown.rule) {
        (Some(package), Some(rule)) => Some(format!("did you mean the package `{package}` or the rule `{rule}`?")),
        (Some(package), None) => Some(format!("did you mean the package `{package}`?")),
        (None, Some(rule)) => Some(format!("did you mean the rule `{rule}`?")),
        (None, None) => None,
    }
}
