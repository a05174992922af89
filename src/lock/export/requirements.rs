//! A requirements file with hashes, as pip takes it with `--require-hashes`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::index::builtin;
use crate::resolve::resolution::Origin;

use super::{Export, described};

/// Writes it.
///
/// Packages of indexes other than the default one need these named: an address of each stands at the top.
pub fn requirements(export: &Export<'_>) -> String {
    let mut out = format!(
        "# Made by `macml export` from macml.lock of `{}`, environment `{}`. Do not edit.\n",
        one_line(export.project),
        export.env
    );
    for env in &export.platforms {
        let _ = writeln!(out, "# {}", described(env));
    }
    let indexes: BTreeSet<&str> = export
        .releases
        .iter()
        .filter_map(|one| match &one.package.origin {
            Origin::Index(index) if &**index != builtin::DEFAULT => export.indexes.get(&**index).map(String::as_str),
            _ => None,
        })
        .collect();
    for address in indexes {
        let _ = writeln!(out, "--extra-index-url {address}");
    }
    for one in &export.releases {
        let package = one.package;
        let what = match &package.origin {
            Origin::Index(_) => format!("{}=={}", package.name, package.version),
            Origin::Path(path) if path.starts_with(['/', '.']) => path.clone(),
            Origin::Path(path) => format!("./{path}"),
            Origin::Url { url, .. } => format!("{} @ {url}", package.name),
        };
        let marker = export.marker(one).map(|marker| format!(" ; {marker}")).unwrap_or_default();
        let _ = write!(out, "{what}{marker}");
        let hashes: BTreeSet<String> = one.wheels.iter().map(|wheel| wheel.sha256.to_string()).collect();
        for hash in hashes {
            let _ = write!(out, " \\\n    --hash=sha256:{hash}");
        }
        out.push('\n');
        let own = export.roots.contains(&package.name).then_some("macml.toml");
        let askers: Vec<&str> = own.into_iter().chain(one.asked_by.iter().map(|name| name.as_str())).collect();
        if !askers.is_empty() {
            let _ = writeln!(out, "    # via {}", askers.join(", "));
        }
    }
    out
}

/// A name of a project may hold what would end a comment.
fn one_line(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}
