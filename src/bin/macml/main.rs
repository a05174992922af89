//! The `macml` command: parse, put together, dispatch, exit code. The only user of clap, colours and progress bars.

mod amount;
mod args;
mod characters;
mod commands;
mod context;
mod destination;
mod device;
mod error;
mod inside;
mod printer;
mod progress;
mod recorded;
mod render;
mod report;
mod tail;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use macml::pipeline::doctor::{METAL_WORD, metal_answer};
use macml::sys::Env;

use crate::args::Command;
use crate::context::Context;
use crate::error::CommandError;
use crate::printer::Colors;
use crate::printer::Level;
use crate::printer::Printer;

fn main() -> ExitCode {
    let words = std::env::args_os().collect::<Vec<_>>();
    if words.get(1).is_some_and(|word| word == METAL_WORD) {
        // What ends this process is known to who asked.
        return match std::io::stdout().write_all(metal_answer().as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let call = commands::hook::call(&words);
    let env = match context::capture() {
        Ok(env) => env,
        // A prompt in a folder that was deleted needs no word on it each time.
        Err(_) if call.is_some() => return ExitCode::SUCCESS,
        Err(cause) => {
            let colors = Colors { stdout: anstream::ColorChoice::Never, stderr: anstream::ColorChoice::Never };
            return CommandError::no_folder(cause).show(&Printer::new(colors, Level::Normal));
        }
    };
    let typed = args::color_in(&words);
    let colors = Colors {
        stdout: context::color(typed, &env, std::io::stdout().is_terminal().into()),
        stderr: context::color(typed, &env, std::io::stderr().is_terminal().into()),
    };
    match call {
        Some(call) => commands::hook::answer(&call, &env, colors),
        None => run(&words, env, colors),
    }
}

fn run(words: &[OsString], env: Env, colors: Colors) -> ExitCode {
    let args = match args::parse(words) {
        Ok(args) => args,
        Err(error) => return error::usage(&error, colors),
    };
    let context = match Context::new(&args.global, env, std::io::stderr().is_terminal().into()) {
        Ok(context) => context,
        Err(error) => return error.show(&Printer::new(colors, Level::Normal)),
    };
    let printer = Printer::new(colors, context.level);
    match args.command {
        Command::Add(args) => commands::add::run(&args, &context, &printer),
        Command::Bench(args) => commands::bench::run(&args, &context, &printer),
        Command::Bundle(args) => commands::bundle::run(&args, &context, &printer),
        Command::Cache(args) => commands::cache::run(&args, &context, &printer),
        Command::Check(args) => commands::check::run(&args, &context, &printer),
        Command::Completions(args) => commands::completions::run(&args, &printer),
        Command::Diff(args) => commands::diff::run(&args, &context, &printer),
        Command::Doctor(args) => commands::doctor::run(&args, &context, &printer),
        Command::Env(args) => commands::env::run(&args, &context, &printer),
        Command::Explain(args) => commands::explain::run(&args, &context, &printer),
        Command::Export(args) => commands::export::run(&args, &context, &printer),
        Command::Hook(args) => {
            let program = words.first().map(OsString::as_os_str).unwrap_or_default();
            commands::hook::run(&args, &context, &printer, program)
        }
        Command::Init(args) => commands::init::run(&args, &context, &printer),
        Command::Lock(args) => commands::lock::run(&args, &context, &printer),
        Command::Matrix(args) => commands::matrix::run(&args, &context, &printer),
        Command::Ops(args) => commands::ops::run(&args, &context, &printer),
        Command::Outdated(args) => commands::outdated::run(&args, &context, &printer),
        Command::Python(args) => commands::python::run(&args, &context, &printer),
        Command::Remove(args) => commands::add::run_remove(&args, &context, &printer),
        Command::Rules(args) => commands::rules::run(&args, &context, &printer),
        Command::Run(args) => commands::run::run(&args, &context, &printer),
        Command::Sync(args) => commands::sync::run(&args, &context, &printer),
        Command::Tree(args) => commands::tree::run(&args, &context, &printer),
        Command::Verify(args) => commands::verify::run(&args, &context, &printer),
        Command::Why(args) => commands::why::run(&args, &context, &printer),
    }
}
