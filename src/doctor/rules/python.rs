//! Which Python works here, as rules that several of them ask: the first on PATH, those of environments that count.

use crate::doctor::facts::{Distribution, Environment, Facts, Program, Python};
use crate::environment::Shell;
use crate::pep::{PackageName, Version};

/// An interpreter that somebody works with, and how it came to be that one.
pub(super) struct Used<'f> {
    /// Its path as it is known.
    pub(super) path: &'f str,
    /// What it was built for.
    pub(super) archs: &'f [String],
    /// How it came to be the one: `` first on PATH ``, `` of environment `.venv` ``.
    pub(super) how: String,
    /// The environment that it is of.
    pub(super) environment: Option<&'f Environment>,
}

/// Returns the first program on PATH of one of these names, with its folder.
pub(super) fn first<'f>(facts: &'f Facts, names: &[&str]) -> Option<(&'f str, &'f Program)> {
    let all = facts.path.iter().flat_map(|folder| folder.programs.iter().map(|one| (folder.folder.as_str(), one)));
    // A shell goes on behind a link that leads nowhere.
    let is_one = |program: &Program| names.contains(&program.name.as_str()) && program.resolved.is_some();
    let mut all = all.filter(|(_, program)| is_one(program));
    all.next()
}

/// Lists the interpreters that somebody works with, each once.
pub(super) fn used(facts: &Facts) -> Vec<Used<'_>> {
    let mut used: Vec<Used<'_>> = Vec::new();
    for environment in facts.environments.iter().filter(|one| one.there) {
        let Some(path) = environment.python_resolved.as_deref().or(environment.python.as_deref()) else { continue };
        let how = format!("of environment `{}`", environment.folder);
        used.push(Used { path, archs: &environment.archs, how, environment: Some(environment) });
    }
    if let Some((_, program)) = first(facts, &["python", "python3"])
        && let Some(path) = program.resolved.as_deref()
        && !used.iter().any(|one| one.path == path)
    {
        used.push(Used { path, archs: &program.archs, how: "first on PATH".to_owned(), environment: None });
    }
    used
}

/// Returns what is known of an interpreter by its path or by the file that it leads to.
pub(super) fn known<'f>(facts: &'f Facts, path: &str) -> Option<&'f Python> {
    facts.pythons.iter().find(|python| python.path == path || python.resolved == path)
}

/// Whether a program is for Intel alone.
pub(super) fn is_intel(archs: &[String]) -> bool {
    !archs.is_empty() && archs.iter().all(|arch| arch == "x86_64")
}

/// Whether the machine is a Mac with one of Apple's processors.
pub(super) fn is_apple_silicon(facts: &Facts) -> bool {
    facts.machine.host.as_ref().is_some_and(|host| host.arm64 == Some(true) || host.cpu.starts_with("Apple "))
}

/// Quotes a path for a shell where it has to be; `~` at its begin stays what it means.
pub(super) fn quoted(path: &str) -> String {
    if path.chars().any(char::is_control) {
        // On one line, so that half of it is never run.
        let written = path.chars().map(|char| match char {
            '\\' | '\'' => format!("\\{char}"),
            char if char.is_control() => format!("\\x{:02x}", u32::from(char)),
            char => char.to_string(),
        });
        return format!("$'{}'", written.collect::<String>());
    }
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+@~".contains(char);
    match path.strip_prefix("~/") {
        _ if path.chars().all(plain) => path.to_owned(),
        Some(rest) => format!("~/{}", Shell::Bash.quote(rest)),
        None => Shell::Bash.quote(path),
    }
}

/// Reads what is installed as the name and the version of a release.
pub(super) fn name_and_version(one: &Distribution) -> Option<(PackageName, Version)> {
    Some((one.name.parse().ok()?, one.version.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_for_a_shell() {
        let check = |path: &str, expected: &str| assert_eq!(super::quoted(path), expected);
        check("~/p/.venv/bin/python3.12", "~/p/.venv/bin/python3.12");
        check("~/my project/.venv", "~/'my project/.venv'");
        check("/Volumes/x y", "'/Volumes/x y'");
        check("/a\nrm -rf '~'", "$'/a\\x0arm -rf \\'~\\''");
    }
}
