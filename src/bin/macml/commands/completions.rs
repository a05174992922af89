//! `macml completions`: what shells read to complete words of macml.

use std::process::ExitCode;

use crate::args;
use crate::error;
use crate::printer::Printer;

/// Print what makes a shell complete the words of macml
#[derive(clap::Args, Debug)]
#[command(after_help = "\
To install it:
  zsh     macml completions zsh > \"${fpath[1]}/_macml\"
  bash    macml completions bash > ~/.local/share/bash-completion/completions/macml
  fish    macml completions fish > ~/.config/fish/completions/macml.fish

Exit code: 0; 2 it could not be written.")]
pub(crate) struct CompletionsArgs {
    /// The shell that is to read it
    #[arg(value_name = "SHELL", value_enum)]
    shell: ShellArg,
}

/// A shell.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum ShellArg {
    /// zsh.
    Zsh,
    /// bash.
    Bash,
    /// fish.
    Fish,
}

impl From<ShellArg> for clap_complete::Shell {
    fn from(shell: ShellArg) -> Self {
        match shell {
            ShellArg::Zsh => Self::Zsh,
            ShellArg::Bash => Self::Bash,
            ShellArg::Fish => Self::Fish,
        }
    }
}

/// Prints it.
pub(crate) fn run(args: &CompletionsArgs, printer: &Printer) -> ExitCode {
    let mut text = Vec::new();
    let shell = clap_complete::Shell::from(args.shell);
    clap_complete::generate(shell, &mut args::command(), "macml", &mut text);
    error::finish(printer.code(&String::from_utf8_lossy(&text)), 0, printer)
}
