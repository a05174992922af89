//! Locks of other tools beside the project: what of them would have to be compiled. Asked only where there is no compiler.

use std::path::Path;

use crate::doctor::Facts;
use crate::doctor::facts::OtherLock;
use crate::host::Processor;
use crate::pipeline::check::Mac;
use crate::pipeline::check::foreign;
use crate::sys::fs::is_file;
use crate::target::MacosVersion;
use crate::target::PythonMinor;

use super::Look;
use super::glance::names;
use super::glance::shown;
use super::glance::unseen;

/// More than this many lists of requirements in one folder are no locks.
const MOST: usize = 8;

/// Reads those in the project's folder, or where macml was started.
pub(super) fn gather(look: &Look<'_>, facts: &mut Facts) {
    let Some(host) = look.host.filter(|_| facts.tools.lacks_compiler()) else { return };
    let Some(macos) = MacosVersion::told_by(&host.macos) else { return };
    let Processor::Chip(chip) = host.processor() else { return };
    let mac = Mac { chip, macos };
    let folder = look.project.as_deref().unwrap_or_else(|| look.env.cwd());
    let python = python(facts);
    for name in names(folder).into_iter().filter(|name| is_lock(name)).take(MOST) {
        let path = folder.join(&name);
        if !is_file(&path) {
            continue;
        }
        match foreign::from_source(&path, python, &mac) {
            Ok(built) => {
                let named = |(name, version): &(_, Option<_>)| version_of(name, version.as_ref());
                facts.locks.push(OtherLock { path: shown(&path), from_source: built.iter().map(named).collect() });
            }
            // Most lists of requirements are no locks.
            Err(_) if name.ends_with(".txt") => {}
            Err(error) => unseen(facts, format!("what of `{}` has to be compiled", shown(&path)), error),
        }
    }
}

fn version_of(name: &crate::pep::PackageName, version: Option<&crate::pep::Version>) -> String {
    version.map_or_else(|| name.to_string(), |version| format!("{name} {version}"))
}

fn is_lock(name: &str) -> bool {
    let pylock = name.starts_with("pylock.") && Path::new(name).extension().is_some_and(|ending| ending == "toml");
    name == "uv.lock" || pylock || (name.starts_with("requirements") && name.ends_with(".txt"))
}

/// The Python that the environment there has, else the first that is known.
fn python(facts: &Facts) -> Option<PythonMinor> {
    let environments = facts.environments.iter().filter_map(|one| one.python_version.as_deref());
    let known = facts.pythons.iter().filter_map(|one| one.version.as_deref());
    environments.chain(known).find_map(PythonMinor::of_release)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Laid;
    use super::*;
    use crate::doctor::facts::Tools;

    const LOCK: &str = r#"version = 1
requires-python = ">=3.11"

[[package]]
name = "p"
version = "0"
source = { virtual = "." }
dependencies = [{ name = "pkg" }, { name = "whole" }]

[[package]]
name = "pkg"
version = "1.0"
source = { registry = "https://index.example/simple" }
sdist = { url = "https://index.example/pkg-1.0.tar.gz", hash = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }

[[package]]
name = "whole"
version = "2.0"
source = { registry = "https://index.example/simple" }
wheels = [{ url = "https://index.example/whole-2.0-py3-none-any.whl", hash = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }]
"#;

    fn look(laid: &Laid, tools: Tools) -> Facts {
        let env = laid.env(&[]);
        let mut facts = Facts { tools, ..Facts::default() };
        gather(&laid.looking(&env), &mut facts);
        facts
    }

    #[test]
    fn r20_what_a_lock_would_compile_is_seen_where_there_is_no_compiler() {
        let laid = Laid::mac(&[("uv.lock", LOCK), ("requirements.txt", "pkg\n"), ("pylock.toml", "damaged")]);
        let without = Tools { command_line_tools: Some(false), ..Tools::default() };
        let facts = look(&laid, without.clone());
        let built: Vec<(bool, &[String])> =
            facts.locks.iter().map(|one| (one.path.ends_with("uv.lock"), one.from_source.as_slice())).collect();
        assert!(built.contains(&(true, &["pkg 1.0".to_owned()])), "{built:?}");
        assert!(facts.unseen.iter().all(|one| one.what.contains("pylock.toml")), "{:?}", facts.unseen);
        assert_eq!(look(&laid, Tools { command_line_tools: Some(true), ..without }).locks, []);
    }
}
