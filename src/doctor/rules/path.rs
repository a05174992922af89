//! `python` and `pip` of different homes, conda and a virtual environment at once: bug report R28.

use super::python::{first, known, quoted};
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
        (Some((folder, python)), Some((other, pip))) if is_apart(facts, (folder, python), (other, pip)) => {
            Some((folder, python, other, pip))
        }
        _ => None,
    };
    if let Some((folder, python, other, pip)) = apart {
        let seen = format!("`{}` is `{folder}/{}`, `{}` is `{other}/{}`", python.name, python.name, pip.name, pip.name);
        let why = "what pip installs is not what python imports, and lists of packages are of the wrong one";
        let starts = |program: &Program| {
            let of = program.interpreter.as_deref().or(program.resolved.as_deref())?;
            Some(format!("`{}` is started by `{of}`", program.name))
        };
        let before = facts.path.iter().position(|one| one.folder == folder)
            < facts.path.iter().position(|one| one.folder == other);
        let winner = if before { folder } else { other };
        let mut diagnosis = Diagnosis::error(Code::PythonPipApart, Subject::Pythons, seen, why).detail(format!(
            "`{winner}` stands first on PATH, and each name is taken from the first folder that has it"
        ));
        if folder == other {
            diagnosis.details = starts(pip).into_iter().collect();
        }
        diagnosis.details.extend(venv.map(|path| format!("VIRTUAL_ENV is `{path}`")));
        diagnosis.details.extend(conda.map(|path| format!("CONDA_PREFIX is `{path}`")));
        let has_pip = |folder: &str| {
            facts.path.iter().any(|one| one.folder == folder && one.programs.iter().any(|one| one.name == "pip"))
        };
        let without = conda.filter(|path| other.starts_with(*path) || folder.starts_with(*path));
        let without = without.filter(|path| !has_pip(&format!("{path}/bin")));
        diagnosis
            .details
            .extend(without.map(|path| format!("the environment of conda `{path}` has no pip of its own")));
        let diagnosis = diagnosis.about(folder);
        let masked = venv.is_some_and(|venv| other.starts_with(venv) && !folder.starts_with(venv));
        // A python that has no pip cannot be asked for it.
        found.push(match without.filter(|path| folder.starts_with(*path)) {
            _ if masked && conda.is_some() => {
                diagnosis.remedy("leave conda, so that the active environment stands first").command("conda deactivate")
            }
            Some(path) => diagnosis
                .remedy("give the environment a pip of its own")
                .command(format!("conda install --prefix {} pip", quoted(path))),
            None => diagnosis
                .remedy("use the one python for both, whatever stands first")
                .command("python -m pip --version"),
        });
    }
    found.extend(of_another_project(facts));
    found.extend(script_without_python(facts));
    if let (Some(venv), Some(conda)) = (venv, conda)
        && venv != conda
    {
        let seen = format!("a virtual environment, `{venv}`, and one of conda, `{conda}`, are active at once");
        let why = "which Python a name means depends on the order of PATH, which each of them changes";
        let wins = python.map(|(folder, python)| format!("{folder}/{}", python.name));
        // The prompt names the one, and `python` is another.
        let masked = wins.as_ref().is_some_and(|wins| !wins.starts_with(&format!("{venv}/")));
        let diagnosis = match masked && apart.is_none() {
            true => Diagnosis::error(Code::TwoEnvironments, Subject::Pythons, seen, why),
            false => Diagnosis::warning(Code::TwoEnvironments, Subject::Pythons, seen, why),
        };
        let mut diagnosis = diagnosis;
        diagnosis.details.extend(wins.map(|wins| {
            let of =
                if masked { "not the one of the virtual environment" } else { "the one of the virtual environment" };
            format!("`python` is `{wins}`, {of}: its folder stands first on PATH")
        }));
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
    // A Python stands in an environment of venv by its `pyvenv.cfg` alone, and sees nothing of it without.
    let is_one = environment.kind.is_some() || (role != "VIRTUAL_ENV" && environment.python.is_some());
    if environment.unreadable || (environment.there && is_one) {
        return None;
    }
    let what = match (environment.there, environment.python.is_some()) {
        (true, true) => "no `pyvenv.cfg` in it, without which its Python is none of an environment",
        (true, false) => "no environment",
        (false, _) => "nothing",
    };
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

/// An environment that is active in the folder of a project that has another.
fn of_another_project(facts: &Facts) -> Option<Diagnosis> {
    let project = facts.project.as_ref()?;
    let active =
        facts.environments.iter().find(|one| one.there && one.roles.iter().any(|role| role == "VIRTUAL_ENV"))?;
    if active.of_project().is_some() {
        return None;
    }
    let seen = format!("the active environment is `{}`, and this is the project `{}`", active.folder, project.folder);
    let why = "`python` and `pip` are those of the other environment; `macml run` takes this project's all the same";
    let diagnosis = Diagnosis::warning(Code::TwoEnvironments, Subject::Pythons, seen, why).about(&active.folder);
    Some(diagnosis.remedy("leave it, and let `macml hook` activate each in its own folder").command("deactivate"))
}

/// A pip that comes first on PATH and is started by a Python that is gone.
fn script_without_python(facts: &Facts) -> Option<Diagnosis> {
    let (folder, pip) = first(facts, &["pip", "pip3"])?;
    let interpreter = pip.interpreter.as_deref().filter(|_| pip.interpreter_there == Some(false))?;
    let seen = format!("`{folder}/{}` is started by `{interpreter}`, which is not there", pip.name);
    let why = "that Python was removed, by an update of Homebrew for one, and its pip was left behind";
    let diagnosis = Diagnosis::error(Code::ShebangBroken, Subject::Pythons, seen, why).about(folder);
    Some(diagnosis.remedy("ask the Python that you mean for its own pip").command("python3 -m pip --version"))
}

/// Whether a pip installs for another python than the one that comes first.
fn is_apart(facts: &Facts, (folder, python): (&str, &Program), (other, pip): (&str, &Program)) -> bool {
    if pip.interpreter_there == Some(false) {
        return false;
    }
    if folder != other {
        return !is_of(pip, folder, python);
    }
    // In one folder they are of one home, unless both are known to be of two.
    let file = |path: &str| known(facts, path).map(|python| python.resolved.as_str());
    match (pip.interpreter.as_deref().and_then(file), python.resolved.as_deref()) {
        (Some(of_pip), Some(python)) => of_pip != python,
        _ => false,
    }
}

/// Whether a pip is one of a python, wherever its file lies.
fn is_of(pip: &Program, folder: &str, python: &Program) -> bool {
    let interpreter = pip.interpreter.as_deref();
    interpreter.is_some_and(|path| path.starts_with(&format!("{folder}/")) || Some(path) == python.resolved.as_deref())
}
