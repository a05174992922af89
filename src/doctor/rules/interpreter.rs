//! Interpreters that do not start, lack modules, are gone, or should not be used: bug reports R19, R21, R24.

use super::python::{first, known, quoted, used};
use super::remedies::{anew, made_anew, rebuilt, synced};
use crate::diag::Code;
use crate::doctor::facts::{Environment, Facts, Python};
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    found.extend(facts.environments.iter().filter_map(gone));
    if facts.machine.host.is_some() {
        found.extend(facts.environments.iter().filter_map(apples));
    }
    let mut told: Vec<&str> = Vec::new();
    for one in used(facts) {
        let Some(python) = known(facts, one.path).filter(|python| !told.contains(&python.resolved.as_str())) else {
            continue;
        };
        told.push(&python.resolved);
        let all = killed(python, &one.how)
            .into_iter()
            .chain(lacking(python, &one.how, one.environment))
            .chain(without_certificates(facts, python, &one.how));
        found.extend(all.map(|diagnosis| diagnosis.about(one.path)));
    }
    let path = first(facts, &["python", "python3"]).and_then(|(_, program)| program.resolved.as_deref());
    let active = facts.environments.iter().any(|one| one.there && one.roles.iter().any(|role| role == "VIRTUAL_ENV"));
    let bare = !active && facts.project.is_none();
    if let Some(python) = path.and_then(|path| known(facts, path)).filter(|python| bare && python.origin == "apple") {
        let seen = format!("the first Python on PATH is that of Apple's tools, `{}`", python.path);
        let why = "Apple replaces it with the tools, it is old, and most current frameworks have no wheel for it";
        let diagnosis = Diagnosis::note(Code::ApplePython, Subject::Pythons, seen, why).about(&python.path);
        found.push(diagnosis.remedy("install another one for your own work").command("brew install python@3.13"));
    }
    if let Some(python) = path.and_then(|path| known(facts, path)).filter(|_| bare)
        && python.origin == "conda-base"
    {
        let seen = format!("conda's base environment is in use: `{}` comes first on PATH", python.path);
        let why = "what is installed there can break conda itself, and cannot be built again from a file";
        let diagnosis = Diagnosis::warning(Code::CondaBase, Subject::Pythons, seen, why);
        found.push(
            diagnosis
                .remedy("keep it from activating by itself")
                .command("conda config --set auto_activate_base false"),
        );
    }
    found
}

/// An environment whose Python is gone.
fn gone(environment: &Environment) -> Option<Diagnosis> {
    let python =
        environment.python.as_deref().filter(|_| environment.there && environment.python_resolved.is_none())?;
    let home = environment.home.as_deref().unwrap_or("a folder that is gone");
    let seen =
        format!("`{python}` leads to nothing: the Python of environment `{}` was in `{home}`", environment.folder);
    let why = match home.contains("/Cellar/") || home.contains("homebrew") {
        true => "Homebrew removes an old Python when it updates it, and with it what environments stand on",
        false => "nothing in this environment can start",
    };
    let diagnosis = Diagnosis::error(Code::InterpreterGone, Subject::Environment, seen, why).about(&environment.folder);
    let says = "build it anew with a Python that is there";
    Some(match environment.of_project() {
        Some(name) => diagnosis.remedy(says).command(synced(environment, name)),
        None => anew(environment, diagnosis),
    })
}

/// An environment on the Python of Apple's tools.
fn apples(environment: &Environment) -> Option<Diagnosis> {
    const PLACES: [&str; 3] = ["/Library/Developer/CommandLineTools/", "/Applications/Xcode", "/usr/bin/python3"];
    let python = environment.python_resolved.as_deref().filter(|_| environment.there)?;
    if !PLACES.iter().any(|place| python.starts_with(place)) {
        return None;
    }
    let seen = format!("environment `{}` stands on the Python of Apple's tools, `{python}`", environment.folder);
    let why = "Apple replaces it with the tools, it is old, and most current frameworks have no wheel for it";
    let diagnosis = Diagnosis::warning(Code::ApplePython, Subject::Pythons, seen, why);
    let diagnosis = diagnosis.about(&environment.folder);
    Some(diagnosis.remedy("take another Python, and build the environment anew").command("brew install python@3.13"))
}

/// A Python that the system ends at once.
fn killed(python: &Python, how: &str) -> Option<Diagnosis> {
    const SIGKILL: i32 = 9;
    let Some(first) = python.unsigned.first() else {
        if python.ended_by != Some(SIGKILL) {
            return None;
        }
        let seen = format!("the Python {how}, `{}`, was killed by the system when it was started", python.path);
        let why = "its own files are signed as they should be; a library that it loads may not be, or a program that guards this Mac ended it";
        let diagnosis = Diagnosis::error(Code::PythonKilled, Subject::Pythons, seen, why);
        let says = "see what the system has against it, and install this Python anew";
        return Some(diagnosis.remedy(says).command(format!("codesign --verify --verbose {}", quoted(&python.path))));
    };
    let what = if first.signature == "missing" { "has no signature".to_owned() } else { first.signature.clone() };
    let seen = format!("the Python {how} is killed by the system at once: `{}` {what}", first.path);
    let why = "a Mac with Apple Silicon runs no program that is unsigned, or changed after it was signed";
    let mut diagnosis = Diagnosis::error(Code::PythonKilled, Subject::Pythons, seen, why);
    let rest = python.unsigned.iter().skip(1).take(MOST_TOLD - 1);
    diagnosis.details.extend(rest.map(|file| format!("`{}` too", file.path)));
    let untold = python.unsigned.len().saturating_sub(MOST_TOLD);
    if untold > 0 {
        diagnosis = diagnosis.detail(format!("and {untold} more files of it"));
    }
    if python.quarantined == Some(true) {
        diagnosis = diagnosis.detail("its file has the attribute `com.apple.quarantine` besides");
    }
    let all: Vec<&str> = python.unsigned.iter().map(|file| file.path.as_str()).collect();
    let named = |files: &[&str]| {
        let files: Vec<String> = files.iter().map(|path| quoted(path)).collect();
        format!("codesign --force --sign - {}", files.join(" "))
    };
    // So many that each by its name is no line that can be copied.
    let command = match whole(python, &all).filter(|_| untold > 0) {
        None => named(&all),
        Some(prefix) => format!(
            "find {} -type f \\( -name '*.so' -o -name '*.dylib' -o -perm +111 \\) -exec codesign --force --sign - {{}} +",
            quoted(prefix)
        ),
    };
    let remedy = "install this Python anew with what installed it, or sign its files where they lie";
    Some(diagnosis.remedy(remedy).command(command))
}

/// So many files are told by name.
const MOST_TOLD: usize = 4;

/// The folder of a Python, above its `bin`, where some files are all of it.
fn whole<'p>(python: &'p Python, files: &[&str]) -> Option<&'p str> {
    let prefix = python.resolved.rsplit_once("/bin/").map(|(prefix, _)| prefix)?;
    files.iter().all(|path| path.starts_with(&format!("{prefix}/"))).then_some(prefix)
}

/// A Python without a module of its standard library.
fn lacking(python: &Python, how: &str, environment: Option<&Environment>) -> Option<Diagnosis> {
    let missing = python.missing.first()?;
    let all: Vec<String> = python.missing.iter().map(|name| format!("`{name}`")).collect();
    let seen = format!("the Python {how}, `{}`, was built without {}", python.path, all.join(", "));
    let (why, formula) = match missing.as_str() {
        "_lzma" => ("`import torchvision` and pandas need it, and stop there", "xz"),
        "_ssl" => ("nothing can be downloaded from inside Python", "openssl@3"),
        "_sqlite3" => ("notebooks and caches of models need it", "sqlite"),
        "_ctypes" => ("numpy and most of its users need it", "libffi"),
        "_bz2" => ("packages need it, and stop there", "bzip2"),
        // Homebrew gives `_tkinter` apart, and no framework needs it.
        _ => {
            let why = "what imports it stops there; no framework does";
            let diagnosis = Diagnosis::note(Code::PythonLacks, Subject::Pythons, seen, why);
            return Some(diagnosis.remedy("leave it as it is, unless something of yours needs it"));
        }
    };
    let mut diagnosis = Diagnosis::error(Code::PythonLacks, Subject::Pythons, seen, why);
    diagnosis = diagnosis.detail(format!(
        "no package brings it: it is made when Python is built, if `{formula}` is there for the same architecture"
    ));
    if let Some(environment) = environment {
        diagnosis = diagnosis
            .detail(format!("`{}` stands on this Python, and has to be built anew after it", environment.folder));
    }
    let again = environment.map(|environment| match environment.of_project() {
        Some(name) => rebuilt(environment, name),
        None => made_anew(environment),
    });
    let (says, command) = match (python.origin.as_str(), &python.version) {
        ("pyenv", Some(version)) => (
            format!("install `{formula}` for the same architecture, build this Python again, then the environment"),
            vec![format!("brew install {formula}"), format!("pyenv install --force {version}")],
        ),
        _ => {
            let says = "take another Python, and build the environment anew with it";
            (says.to_owned(), vec!["brew install python@3.13".to_owned()])
        }
    };
    let command: Vec<String> = command.into_iter().chain(again).collect();
    Some(diagnosis.remedy(says).command(command.join(" && ")))
}

/// A Python that trusts nobody.
fn without_certificates(facts: &Facts, python: &Python, how: &str) -> Option<Diagnosis> {
    let certificates = python.certificates.as_ref().filter(|certificates| !certificates.there)?;
    // It takes that file in the place of its own.
    let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().filter_map(|name| facts.shell.variable(name));
    let is_there = |file: &&str| facts.network.certificate_files.iter().any(|one| one.there && one.file == **file);
    if named.into_iter().any(|file| is_there(&file)) {
        return None;
    }
    let seen =
        format!("the Python {how}, `{}`, finds no certificates: there is no `{}`", python.path, certificates.file);
    let why = "downloads from inside Python will fail: weights and data sets above all; macml itself uses the keychain";
    let diagnosis = Diagnosis::warning(Code::NoCertificates, Subject::Network, seen, why);
    let minor = python.version.as_deref().and_then(|version| version.split('.').nth(1)).unwrap_or("13");
    Some(match python.origin.as_str() {
        "python-org" => diagnosis
            .remedy("run the script that python.org's installer brings for it")
            .command(format!("open '/Applications/Python 3.{minor}/Install Certificates.command'")),
        _ => diagnosis
            .remedy("name a file of certificates in SSL_CERT_FILE")
            .command("export SSL_CERT_FILE=/etc/ssl/cert.pem"),
    })
}
