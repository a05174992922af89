//! How an environment gets in order again, as a command that does it there: a project's by macml, any other by what made it.

use crate::doctor::Diagnosis;
use crate::doctor::facts::Environment;

use super::python::quoted;

/// Says how an environment is built anew.
pub(super) fn anew(environment: &Environment, diagnosis: Diagnosis) -> Diagnosis {
    match environment.of_project() {
        Some(name) => diagnosis.remedy("build the environment anew").command(rebuilt(environment, name)),
        None => diagnosis.remedy("make the environment anew").command(made_anew(environment)),
    }
}

/// Says how one release is installed again, with all of its files.
pub(super) fn again(environment: &Environment, name: &str, version: &str, diagnosis: Diagnosis) -> Diagnosis {
    let conda =
        environment.distributions.iter().any(|one| one.name == name && one.installer.as_deref() == Some("conda"));
    let command = match environment.of_project() {
        Some(env) => rebuilt(environment, env),
        None if conda => {
            format!("conda install --prefix {} --force-reinstall {name}={version}", quoted(&environment.folder))
        }
        None if environment.pip => {
            format!("{} -m pip install --force-reinstall --no-deps {name}=={version}", python(environment))
        }
        None => format!("uv pip install --python {} --reinstall {name}=={version}", python(environment)),
    };
    let says = match environment.of_project() {
        Some(_) => format!("build the environment anew, with all files of `{name}`"),
        None => format!("install `{name}` again"),
    };
    diagnosis.remedy(says).command(command)
}

/// Says how what is asked for gets into an environment in the place of what is there: `torch<2.11`.
pub(super) fn instead(
    environment: &Environment,
    says: String,
    asked: Option<String>,
    diagnosis: Diagnosis,
) -> Diagnosis {
    let diagnosis = diagnosis.remedy(says);
    match (environment.of_project(), asked) {
        (Some("default"), _) => diagnosis.command("macml lock"),
        (Some(name), _) => diagnosis.command(format!("macml lock --env {}", quoted(name))),
        // pip and conda do not know of each other's packages.
        (None, Some(asked)) if is_of_conda(environment, &asked) => diagnosis,
        (None, Some(asked)) if environment.pip => {
            diagnosis.command(format!("{} -m pip install '{asked}'", python(environment)))
        }
        (None, Some(asked)) => diagnosis.command(format!("uv pip install --python {} '{asked}'", python(environment))),
        (None, None) => diagnosis,
    }
}

/// Whether conda brought the package that a requirement names.
fn is_of_conda(environment: &Environment, asked: &str) -> bool {
    let end = asked.find(|char: char| !(char.is_ascii_alphanumeric() || "-_.".contains(char))).unwrap_or(asked.len());
    let mut all = environment.distributions.iter();
    all.any(|one| one.name == asked[..end] && one.installer.as_deref() == Some("conda"))
}

/// Builds an environment of a project anew. A sync keeps one that is what the lock says: it has to go first.
pub(super) fn rebuilt(environment: &Environment, name: &str) -> String {
    let sync = synced(environment, name);
    match is_foreign(environment) {
        true => sync,
        false => format!("macml env remove {} && {sync}", quoted(name)),
    }
}

/// Builds an environment of a project where it is not what the lock says.
pub(super) fn synced(environment: &Environment, name: &str) -> String {
    let env = if name == "default" { String::new() } else { format!(" --env {}", quoted(name)) };
    // Somebody else's is moved aside, not taken away.
    let replace = if is_foreign(environment) { " --replace" } else { "" };
    format!("macml sync{env}{replace}")
}

fn is_foreign(environment: &Environment) -> bool {
    environment.kind.as_deref().is_some_and(|kind| kind != "macml")
}

/// Makes an environment of another tool anew, empty.
pub(super) fn made_anew(environment: &Environment) -> String {
    let folder = quoted(&environment.folder);
    match environment.kind.as_deref() {
        Some("conda") => format!("conda remove --prefix {folder} --all"),
        _ => format!("python3 -m venv --clear {folder}"),
    }
}

fn python(environment: &Environment) -> String {
    quoted(environment.python.as_deref().unwrap_or("python"))
}
