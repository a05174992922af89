//! `python` and `pip` of different homes, conda and a virtual environment at once: bug report R28.

use super::python::first;
use crate::diag::Code;
use crate::doctor::facts::{Environment, Facts, Program};
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut found: Vec<Diagnosis> = facts.environments.iter().filter_map(nowhere).collect();
    let python = first(facts, &["python", "python3"]);
    let pip = first(facts, &["pip", "pip3"]);
    let (venv, conda) = (facts.shell.variable("VIRTUAL_ENV"), facts.shell.variable("CONDA_PREFIX"));
    let apart = match (python, pip) {
        (Some((folder, python)), Some((other, pip))) if folder != other && !is_of(pip, folder, python) => {
            Some((folder, python, other, pip))
        }
        _ => None,
    };
    if let Some((folder, python, other, pip)) = apart {
        let seen = format!("`{}` is `{folder}/{}`, `{}` is `{other}/{}`", python.name, python.name, pip.name, pip.name);
        let why = "what pip installs is not what python imports, and lists of packages are of the wrong one";
        let before = facts.path.iter().position(|one| one.folder == folder)
            < facts.path.iter().position(|one| one.folder == other);
        let winner = if before { folder } else { other };
        let mut diagnosis = Diagnosis::error(Code::PythonPipApart, Subject::Pythons, seen, why).detail(format!(
            "`{winner}` stands first on PATH, and each name is taken from the first folder that has it"
        ));
        diagnosis.details.extend(venv.map(|path| format!("VIRTUAL_ENV is `{path}`")));
        diagnosis.details.extend(conda.map(|path| format!("CONDA_PREFIX is `{path}`")));
        if let Some(path) = conda.filter(|path| other.starts_with(*path) || folder.starts_with(*path)) {
            let own = facts
                .path
                .iter()
                .any(|one| one.folder == format!("{path}/bin") && one.programs.iter().any(|one| one.name == "pip"));
            if !own {
                diagnosis = diagnosis.detail(format!("the environment of conda `{path}` has no pip of its own"));
            }
        }
        found.push(
            diagnosis
                .about(folder)
                .remedy("use the one python for both, whatever stands first")
                .command("python -m pip --version"),
        );
    }
    if let (Some(venv), Some(conda)) = (venv, conda)
        && venv != conda
    {
        let seen = format!("a virtual environment, `{venv}`, and one of conda, `{conda}`, are active at once");
        let why = "which Python a name means depends on the order of PATH, which each of them changes";
        let diagnosis = Diagnosis::warning(Code::TwoEnvironments, Subject::Pythons, seen, why);
        found.push(
            diagnosis.remedy("leave conda, and keep it from activating base by itself").command("conda deactivate"),
        );
    }
    found
}

/// An environment that is active, or was named, and is none.
fn nowhere(environment: &Environment) -> Option<Diagnosis> {
    const ROLES: [&str; 3] = ["VIRTUAL_ENV", "CONDA_PREFIX", "named"];
    let role = environment.roles.iter().find(|role| ROLES.contains(&role.as_str()))?;
    if environment.there && (environment.kind.is_some() || environment.python.is_some()) {
        return None;
    }
    let what = if environment.there { "no environment" } else { "nothing" };
    let seen = match role.as_str() {
        "named" => format!("there is {what} in `{}`, which `--prefix` names", environment.folder),
        name => format!("{name} is `{}`, and there is {what}", environment.folder),
    };
    let (why, says, command) = match role.as_str() {
        "named" => ("nothing of it could be judged", "name the folder that has `bin/python`", "macml doctor --help"),
        "CONDA_PREFIX" => (
            "the environment was removed while it was active: `python` is now another one",
            "leave it",
            "conda deactivate",
        ),
        _ => (
            "the environment was removed, moved or renamed while it was active: `python` is now another one",
            "forget it, and take its folder off PATH: a new shell has neither",
            "unset VIRTUAL_ENV",
        ),
    };
    let diagnosis = Diagnosis::error(Code::EnvironmentGone, Subject::Environment, seen, why).about(&environment.folder);
    Some(diagnosis.remedy(says).command(command))
}

/// Whether a pip is one of a python, wherever its file lies.
fn is_of(pip: &Program, folder: &str, python: &Program) -> bool {
    let interpreter = pip.interpreter.as_deref();
    interpreter.is_some_and(|path| path.starts_with(&format!("{folder}/")) || Some(path) == python.resolved.as_deref())
}
