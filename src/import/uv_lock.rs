//! uv.lock, of which only the project's own requirements are read: the rest was chosen for other machines.
//! <https://docs.astral.sh/uv/concepts/projects/layout/#the-lockfile>

use std::path::Path;

use serde::Deserialize;

use super::Error;
use super::requirements::{Asked, AskedItem, What};

#[derive(Deserialize)]
struct Lock {
    #[serde(rename = "requires-python")]
    python: Option<String>,
    #[serde(default, rename = "package")]
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    source: Option<Source>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Source {
    #[serde(rename = "virtual")]
    virtual_: Option<String>,
    editable: Option<String>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default, rename = "requires-dist")]
    requires: Vec<toml::Spanned<Requires>>,
}

#[derive(Deserialize)]
struct Requires {
    name: String,
    specifier: Option<String>,
    marker: Option<String>,
    #[serde(default)]
    extras: Vec<String>,
    git: Option<String>,
    url: Option<String>,
    #[serde(alias = "directory", alias = "path")]
    editable: Option<String>,
}

/// Reads the requirements of the project, or of each project of a workspace.
///
/// # Errors
/// When it is no uv.lock.
pub(super) fn read(path: &Path, text: &str) -> Result<Asked, Error> {
    let damaged = |why: String| Error::Damaged { path: path.to_owned(), why };
    let lock: Lock = toml::from_str(text).map_err(|error| damaged(error.message().to_owned()))?;
    let mut asked = Asked { python: lock.python, ..Asked::default() };
    let own = |package: &Package| {
        let source = package.source.as_ref();
        source.and_then(|source| source.virtual_.clone().or_else(|| source.editable.clone()))
    };
    let mut projects = 0;
    for package in &lock.packages {
        let Some(folder) = own(package) else { continue };
        projects += 1;
        if folder == "." {
            asked.name = Some(package.name.clone());
        }
        for requires in package.metadata.iter().flat_map(|metadata| &metadata.requires) {
            let line = text[..requires.span().start].matches('\n').count() + 1;
            let Requires { name, specifier, marker, extras, git, url, editable } = requires.get_ref();
            let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
            let from = match (git, url, editable) {
                // `?rev=main#commit` is written as `@commit`.
                (Some(git), ..) => {
                    let (address, commit) = git.split_once('#').unwrap_or((git, ""));
                    let at = if commit.is_empty() { "" } else { "@" };
                    format!(" @ git+{}{at}{commit}", address.split('?').next().unwrap_or_default())
                }
                (_, Some(url), _) => format!(" @ {url}"),
                (.., Some(folder)) => format!(" @ file:{folder}"),
                _ => specifier.clone().unwrap_or_default(),
            };
            let marker = marker.as_ref().map(|marker| format!(" ; {marker}")).unwrap_or_default();
            let text = format!("{name}{extras}{from}{marker}");
            // A requirement of an extra has `extra == 'name'`, which holds for nobody who does not ask for it.
            let what = What::Requirement { text, limits: false, editable: false, hashes: 0 };
            asked.items.push(AskedItem { file: path.to_owned(), line, what });
        }
    }
    if projects == 0 {
        return Err(damaged("it has no project in it".to_owned()));
    }
    asked.notes.push(
        "what uv chose is not taken over, only what the project asks for: `macml lock` chooses for Macs".to_owned(),
    );
    Ok(asked)
}
