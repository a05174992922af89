//! Homebrews: where they are, and which of the formulae that count here they have.

use std::path::Path;
use std::path::PathBuf;

use crate::doctor::Facts;
use crate::doctor::facts::Homebrew;
use crate::pep::Version;

use super::Look;
use super::glance::names;
use super::glance::resolved;
use super::glance::shown;
use super::pythons;
use crate::sys::fs::is_file;

/// Looks for them where they may be.
pub(super) fn gather(look: &Look<'_>, facts: &mut Facts) {
    let mut seen: Vec<PathBuf> = Vec::new();
    for prefix in pythons::machine(look).homebrews() {
        let Some(real) = resolved(&prefix).filter(|real| !seen.contains(real)) else { continue };
        seen.push(real);
        let brew = is_file(&prefix.join("bin/brew"));
        let formulae = formulae(&prefix);
        if brew || !formulae.is_empty() {
            facts.homebrews.push(Homebrew { prefix: shown(&prefix), brew, formulae });
        }
    }
}

/// Lists the formulae of interest, each with the version that `opt` leads to, else the newest that is there.
fn formulae(prefix: &Path) -> Vec<String> {
    let cellar = prefix.join("Cellar");
    let of_interest = |name: &String| name == "libomp" || name == "mlx" || name.starts_with("python@3.");
    let all = names(&cellar).into_iter().filter(of_interest);
    let version = |name: &String| {
        let linked = resolved(&prefix.join("opt").join(name)).and_then(|folder| of_cellar(&folder));
        linked.map(|(_, version)| version).or_else(|| {
            let kept = names(&cellar.join(name)).into_iter().filter(|version| !version.starts_with('.'));
            kept.max_by_key(|version| version.split('_').next().unwrap_or_default().parse::<Version>().ok())
        })
    };
    all.filter_map(|name| Some(format!("{name} {}", version(&name)?))).collect()
}

/// Splits `/opt/homebrew/Cellar/libomp/21.1.5/…` into the formula and its version.
pub(super) fn of_cellar(path: &Path) -> Option<(String, String)> {
    let mut parts = path.iter().map(|part| part.to_string_lossy().into_owned());
    parts.find(|part| part == "Cellar")?;
    Some((parts.next()?, parts.next()?))
}
