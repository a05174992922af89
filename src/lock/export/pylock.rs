//! `pylock.toml`, version 1.0: <https://packaging.python.org/en/latest/specifications/pylock-toml/>.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::pep::{PackageName, Sha256};
use crate::resolve::resolution::Origin;

use super::{Export, Exported, described, marker};

/// Files whose addresses nobody knows: the form demands one for each.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the addresses of {} wheels are not known, `{first}` first", count)]
pub struct Unplaced {
    /// How many.
    pub count: usize,
    /// The first of them.
    pub first: String,
}

/// Writes it.
///
/// # Errors
/// When the address of a file is not known.
pub fn pylock(export: &Export<'_>) -> Result<String, Unplaced> {
    let mut out = String::from("# Made by `macml export` from macml.lock. Do not edit.\n");
    for env in &export.platforms {
        let _ = writeln!(out, "# {}", described(env));
    }
    out.push_str("lock-version = \"1.0\"\n");
    let first = export.platforms.first().expect("an environment is for some platform");
    let same = export.platforms.iter().all(|env| (env.python, &env.python_full) == (first.python, &first.python_full));
    let python = |env: &super::LockedEnv| {
        let full = env.python_full.as_ref().map(|full| format!(",{full}")).unwrap_or_default();
        format!("=={}.*{full}", env.python).replace(' ', "")
    };
    let environments = export.platforms.iter().map(|env| {
        let own = marker(env.platform);
        quoted(&if same { own } else { format!("{own} and python_version == '{}'", env.python) })
    });
    let _ = writeln!(out, "environments = [\n    {},\n]", environments.collect::<Vec<_>>().join(",\n    "));
    if same {
        let _ = writeln!(out, "requires-python = {}", quoted(&python(first)));
    }
    out.push_str("extras = []\ndependency-groups = []\ndefault-groups = []\ncreated-by = \"macml\"\n");
    let mut unplaced: Vec<String> = Vec::new();
    for one in &export.releases {
        package(&mut out, export, one, &mut unplaced);
    }
    match unplaced.first() {
        Some(first) => Err(Unplaced { count: unplaced.len(), first: first.clone() }),
        None => Ok(out),
    }
}

fn package(out: &mut String, export: &Export<'_>, one: &Exported<'_>, unplaced: &mut Vec<String>) {
    let package = one.package;
    let _ = writeln!(out, "\n[[packages]]\nname = {}", quoted(package.name.as_str()));
    let _ = writeln!(out, "version = {}", quoted(&package.version.to_string()));
    if let Some(marker) = export.marker(one) {
        let _ = writeln!(out, "marker = {}", quoted(&marker));
    }
    let there = |name: &&PackageName| export.releases.iter().any(|other| other.package.name == **name);
    let depends = one.platforms.iter().flat_map(|platform| package.edges(export.env, *platform));
    let depends: BTreeSet<&PackageName> = depends.filter(there).collect();
    let depends: Vec<String> = depends.iter().map(|name| format!("{{ name = {} }}", quoted(name.as_str()))).collect();
    if !depends.is_empty() {
        let _ = writeln!(out, "dependencies = [\n    {},\n]", depends.join(",\n    "));
    }
    if let Origin::Index(index) = &package.origin
        && let Some(address) = export.indexes.get(&**index)
    {
        let _ = writeln!(out, "index = {}", quoted(address));
    }
    out.push_str("wheels = [\n");
    for wheel in &one.wheels {
        let name = wheel.file.to_string();
        let place = match &package.origin {
            Origin::Path(path) => format!("path = {}", quoted(path)),
            Origin::Url { url, .. } => format!("url = {}", quoted(url)),
            Origin::Index(_) => match export.addresses.get(&wheel.sha256) {
                Some(address) => format!("url = {}", quoted(address)),
                None => {
                    unplaced.push(name);
                    continue;
                }
            },
        };
        let _ = writeln!(
            out,
            "    {{ name = {}, {place}, size = {}, hashes = {{ {} }} }},",
            quoted(&name),
            wheel.size,
            hash(&wheel.sha256)
        );
    }
    out.push_str("]\n");
}

fn hash(sha256: &Sha256) -> String {
    format!("sha256 = {}", quoted(&sha256.to_string()))
}

/// Writes a text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
