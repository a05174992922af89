//! `macml hook`: what shells and direnv read at their start, and the call that they make at each prompt.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use macml::environment;
use macml::environment::Followed;
use macml::environment::Prompt;
use macml::environment::Shell;
use macml::environment::Told;
use macml::manifest;
use macml::sys;
use macml::sys::Env;
use macml::sys::Folder;

use crate::context;
use crate::context::Context;
use crate::error;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::Colors;
use crate::printer::Level;
use crate::printer::Printer;

/// Print what makes a shell enter and leave environments as you change folders
#[derive(clap::Args, Debug)]
#[command(after_help = "\
To install it, add one line:
  zsh     eval \"$(macml hook zsh)\"    in ~/.zshrc
  bash    eval \"$(macml hook bash)\"   in ~/.bashrc
  fish    macml hook fish | source     in ~/.config/fish/config.fish
  direnv  macml hook direnv > ~/.config/direnv/lib/macml.sh, then `use macml` in a project's .envrc

In a project, and in folders below it, the environment `default` is active, or the one that MACML_ENV names: PATH, \
VIRTUAL_ENV, VIRTUAL_ENV_PROMPT and the variables of `[run.env]`. Outside they are as they were before. Only what `macml \
sync` built for you in that folder is entered: a repository that brings a `.venv` of its own changes nothing. An \
environment that you activated by hand stays active until you leave it.
Exit code: 0; 2 the line could not be written.")]
pub(crate) struct HookArgs {
    /// What is to read it
    #[arg(value_name = "SHELL", value_enum)]
    shell: ShellArg,
}

/// What reads a hook.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum ShellArg {
    /// In ~/.zshrc.
    Zsh,
    /// In ~/.bashrc.
    Bash,
    /// In ~/.config/fish/config.fish.
    Fish,
    /// In ~/.config/direnv/lib/macml.sh.
    Direnv,
}

impl ShellArg {
    /// Returns the shell that reads what is printed.
    fn shell(self) -> Shell {
        match self {
            Self::Zsh => Shell::Zsh,
            Self::Bash | Self::Direnv => Shell::Bash,
            Self::Fish => Shell::Fish,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &HookArgs, context: &Context, printer: &Printer, program: &OsStr) -> ExitCode {
    let template = match args.shell {
        ShellArg::Zsh => include_str!("hook.zsh"),
        ShellArg::Bash => include_str!("hook.bash"),
        ShellArg::Fish => include_str!("hook.fish"),
        ShellArg::Direnv => include_str!("hook.direnv"),
    };
    let path = match sys::own_path(program, &context.env) {
        Ok(path) => path,
        Err(error) => return CommandError::new(Kind::Disk, error).show(printer),
    };
    let Some(path) = path.to_str() else {
        let text = format!("`{}`, where this macml lies, is no UTF-8 text, which a hook has to be", path.display());
        return CommandError::new(Kind::Disk, text).show(printer);
    };
    let text = template.replace("@MACML@", &args.shell.shell().quote(path));
    error::finish(printer.code(&text), 0, printer)
}

/// A call that a hook makes.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    shell: ShellArg,
    rest: &'a [OsString],
}

/// Recognizes the call of a hook, before anything else is looked at: no setting that is wrong may be told at each prompt,
/// and no prompt is to wait.
pub(crate) fn call(words: &[OsString]) -> Option<Call<'_>> {
    let [_, verb, shell, flag, rest @ ..] = words else { return None };
    let shell = <ShellArg as clap::ValueEnum>::from_str(shell.to_str()?, false).ok()?;
    (verb == "hook" && flag == "--apply").then_some(Call { shell, rest })
}

/// Answers it, always with success: what a prompt cannot do, it does not do.
pub(crate) fn answer(call: &Call<'_>, env: &Env, colors: Colors) -> ExitCode {
    let quiet = context::flag(env, "MACML_QUIET").unwrap_or(false);
    let printer = Printer::new(colors, if quiet { Level::Quiet } else { Level::Normal });
    let Some(state) = env.folder(Folder::State).map(|folder| folder.join("macml")) else {
        return ExitCode::SUCCESS;
    };
    let data = env.folder(Folder::Data).map(|folder| folder.join("macml"));
    let project = project(env);
    let named = match call.shell {
        ShellArg::Direnv => call.rest.first().and_then(|name| name.to_str()),
        ShellArg::Zsh | ShellArg::Bash | ShellArg::Fish => env.get("MACML_ENV"),
    };
    let name = named.unwrap_or("default");
    let prompt = Prompt {
        project: project.as_deref(),
        env: name,
        state: &state,
        data: data.as_deref(),
        home: env.home(),
        first: call.rest.first().is_some_and(|word| word == "first"),
    };
    let shell = call.shell.shell();
    let (followed, mut code) = if call.shell == ShellArg::Direnv {
        let followed = environment::enter(&prompt, env);
        let watched = followed.watch.iter().filter_map(|path| path.to_str());
        let watched: Vec<String> = watched.map(|path| shell.quote(path)).collect();
        let line = if watched.is_empty() { String::new() } else { format!("watch_file {}\n", watched.join(" ")) };
        if prompt.project.is_none() {
            printer.aside("macml: there is no macml.toml here\n");
        }
        (followed, line)
    } else {
        (environment::follow(&prompt, env), String::new())
    };
    let Followed { changes, told, .. } = followed;
    for one in told {
        printer.aside(&format!("macml: {}\n", sentence(&one, name)));
    }
    code.push_str(&shell.commands(&changes));
    if !changes.is_empty() && shell != Shell::Fish {
        // After a sync the same folder has other programs, and these shells remember where they found those of before.
        code.push_str("hash -r 2>/dev/null || :\n");
    }
    error::finish(printer.code(&code), 0, &printer)
}

/// Finds the project's folder.
fn project(env: &Env) -> Option<PathBuf> {
    // The working folder has every link followed; the home folder has to have too, or the search would not end there.
    let home = env.home().and_then(|home| sys::resolve(home).ok().flatten());
    let path = manifest::discover(env.cwd(), home.as_deref()).ok()?;
    path.parent().map(Path::to_owned)
}

/// Puts into words what the user is told.
fn sentence(told: &Told, env: &str) -> String {
    let sync = if env == "default" { "run `macml sync`".to_owned() } else { format!("run `macml sync --env {env}`") };
    match told {
        Told::NotBuilt(link) => format!("you built no `{}`: {sync}", link.display()),
        Told::Changed(link, how) => format!("`{}` {how}, so that it is not entered: {sync}", link.display()),
        Told::Unreadable(what) => format!("the environment is not entered: {what}"),
        Told::Stale(names) => format!("{} changed since the last sync: {sync}", names.join(" and ")),
        Told::ShellsOwn(names) => {
            format!("of [run.env] the shell keeps its own {}: `macml run` sets it", names.join(", "))
        }
        Told::Colon(project) => {
            format!("`{}` is not entered: PATH takes no folder with a colon in its name", project.display())
        }
        Told::NoText(names) => format!("the environment is not entered: {} is no UTF-8 text", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hook_s_own_call_is_one() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(call(&words("macml hook bash --apply")).is_some());
        assert!(call(&words("macml hook direnv --apply tf")).is_some());
        for line in ["macml", "macml hook bash", "macml hook tcsh --apply", "macml -q hook bash --apply"] {
            assert!(call(&words(line)).is_none(), "{line}");
        }
    }
}
