//! Variables that change what Python imports, commands that start nothing, and a Homebrew for Intel.

use super::python::{first, is_apple_silicon, is_intel};
use super::remedies::anew;
use crate::diag::Code;
use crate::doctor::facts::Facts;
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    for variable in facts.shell.variables.iter().filter(|one| !one.value.is_empty()) {
        let why = match variable.name.as_str() {
            "PYTHONPATH" => "every Python imports from there before its own environment",
            "PYTHONHOME" => {
                "every Python takes its standard library from there, and one of another version does not start"
            }
            _ => continue,
        };
        let seen = format!("{} is set to `{}`", variable.name, variable.value);
        let diagnosis = Diagnosis::warning(Code::PythonVariables, Subject::Pythons, seen, why);
        let remedy = "take it away; a project's own folders belong into `paths` of macml.toml";
        found.push(diagnosis.remedy(remedy).command(format!("unset {}", variable.name)));
    }
    for environment in facts.environments.iter().filter(|one| one.there && !one.broken_commands.is_empty()) {
        let first = &environment.broken_commands[0];
        let more = environment.broken_commands.len() - 1;
        let rest = if more == 0 { String::new() } else { format!(", and {more} more commands") };
        let seen = format!(
            "`{}` of environment `{}` begins with `{}`, which leads nowhere{rest}",
            first.name, environment.folder, first.line
        );
        let why = "the environment was moved, or its path has a blank, at which the line is cut";
        let diagnosis =
            Diagnosis::error(Code::ShebangBroken, Subject::Environment, seen, why).about(&environment.folder);
        found.push(anew(environment, diagnosis));
    }
    if is_apple_silicon(facts)
        && let Some((folder, brew)) = first(facts, &["brew"])
        && (folder.starts_with("/usr/local/") || is_intel(&brew.archs))
    {
        let seen = format!("the Homebrew that comes first on PATH is the one for Intel, in `{folder}`");
        let why = "what it installs is for Intel: Pythons, libomp, compilers";
        let prefix = folder.trim_end_matches("/bin");
        let diagnosis = Diagnosis::warning(Code::IntelHomebrew, Subject::Tools, seen, why).about(prefix);
        found.push(
            diagnosis
                .remedy("install the one for Apple Silicon, in `/opt/homebrew`, and let it come first")
                .command("eval \"$(/opt/homebrew/bin/brew shellenv)\""),
        );
    }
    found
}
