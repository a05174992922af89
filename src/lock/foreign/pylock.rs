//! `pylock.toml`, version 1 (PEP 751): text to model.
//!
//! <https://packaging.python.org/en/latest/specifications/pylock-toml/>

use std::path::Path;

use crate::lock::table::{Fail, Table, value};
use crate::pep::{PackageName, Sha256, Specifiers, Version};

use super::address::last_part;
use super::error::{Error, masked};
use super::model::{Archive, Folder, ForeignLock, Format, Origin, Release, Wheel};
use super::pieces::{self, Lines, MOST_RELEASES};
use super::told::{Note, Told};

/// The version of the format, and the newest minor that was looked at.
const VERSION: (u64, u64) = (1, 0);

/// Ways in which a package comes, of which an entry has one.
const DIRECT: [&str; 3] = ["vcs", "directory", "archive"];

/// Parses the text of a `pylock.toml`.
///
/// # Errors
/// The first thing that is wrong with it, with its line.
pub(super) fn parse(path: &Path, text: &str) -> Result<ForeignLock, Error> {
    pieces::document(path, text, |top, lines| read_file(top, path, lines))
}

fn read_file(top: &Table<'_, '_>, path: &Path, lines: &Lines) -> Result<ForeignLock, Fail> {
    let (version, span) = top.need_text("lock-version")?;
    let bad = |reason: String| value(span.clone(), "lock-version", &reason);
    let parts = version.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor): (u64, u64) = parts.ok_or_else(|| bad(format!("`{version}` is not a version such as `1.0`")))?;
    if major != VERSION.0 {
        return Err(bad(format!("version {version} of pylock.toml; macml reads version {}", VERSION.0)));
    }
    let mut notes = Vec::new();
    if minor > VERSION.1 {
        let told = Told::NewerRevision { found: format!("version {version} of pylock.toml") };
        notes.push(Note { path: path.to_owned(), line: lines.at(&span), told });
    }
    let (created_by, _) = top.need_text("created-by")?;
    let tables = top.tables("packages", "`[[packages]]`")?;
    // A lock of nothing is one too, but the standard wants the key.
    top.need(top.get("packages"), "packages")?;
    if let Some(table) = tables.get(MOST_RELEASES) {
        return Err(value(table.span.clone(), "packages", &format!("more than {MOST_RELEASES} of them")));
    }
    Ok(ForeignLock {
        format: Format::Pylock { created_by: masked(created_by) },
        requires_python: top.value("requires-python")?,
        environments: pieces::markers(top, "environments")?,
        extras: pieces::names(top, "extras")?,
        groups: pieces::names(top, "dependency-groups")?,
        default_groups: pieces::names(top, "default-groups")?,
        members: Vec::new(),
        releases: tables.iter().map(|table| read_release(table, lines)).collect::<Result<_, _>>()?,
        graph: None,
        notes,
    })
}

fn read_release(table: &Table<'_, '_>, lines: &Lines) -> Result<Release, Fail> {
    let name: PackageName = table.need_value("name")?;
    let version: Option<Version> = table.value("version")?;
    let requires_python: Option<Specifiers> = table.value("requires-python")?;
    let mut wheels = Vec::new();
    for wheel in table.tables("wheels", "a wheel")? {
        let place = pieces::place(&wheel, "name")?;
        wheels.push(Wheel {
            file: pieces::wheel_name(&place.name, &place.span, &name, version.as_ref())?,
            size: size(&wheel)?,
            sha256: hashes(&wheel)?,
            path: place.path,
        });
    }
    let sdist = table.table("sdist", "`sdist`")?;
    let sdist = sdist.map(|sdist| Ok(Archive { size: size(&sdist)?, sha256: hashes(&sdist)? })).transpose()?;
    let ways: Vec<&str> = DIRECT.into_iter().filter(|way| table.get(way).is_some()).collect();
    if let (Some(way), true) = (ways.first(), ways.len() > 1 || !wheels.is_empty() || sdist.is_some()) {
        let reason = format!("`{name}` has `{way}` and another source beside it");
        return Err(value(table.span.clone(), "packages", &reason));
    }
    let mut release = Release {
        line: lines.at(&table.span),
        file: None,
        name,
        version,
        origin: Origin::AnyIndex,
        markers: pieces::own_marker(table)?.into_iter().collect(),
        requires_python,
        wheels,
        sdist,
        hashes: Vec::new(),
    };
    if let Some(vcs) = table.table("vcs", "`vcs`")? {
        let address = match (vcs.text("url")?, vcs.text("path")?) {
            (Some((text, span)), _) => pieces::address(text, span, "url")?.to_string(),
            (None, path) => vcs.need(path, "url")?.0.to_owned(),
        };
        let (commit, _) = vcs.need_text("commit-id")?;
        release.origin = Origin::Repository { address, commit: Some(commit.to_owned()) };
    } else if let Some(directory) = table.table("directory", "`directory`")? {
        let (path, _) = directory.need_text("path")?;
        let editable = match directory.get("editable").map(|found| (found.get_ref(), found.span())) {
            None => false,
            Some((toml::de::DeValue::Boolean(editable), _)) => *editable,
            Some((_, span)) => return Err(value(span, "editable", "it is not `true` or `false`")),
        };
        let kind = if editable { Folder::Editable } else { Folder::Built };
        release.origin = Origin::Folder { path: path.to_owned(), kind };
    } else if let Some(archive) = table.table("archive", "`archive`")? {
        read_archive(&archive, &mut release)?;
    } else if let Some((text, span)) = table.text("index")? {
        release.origin = Origin::Index(pieces::address(text, span, "index")?);
    }
    Ok(release)
}

/// An archive is one file by itself: a wheel or a source.
fn read_archive(archive: &Table<'_, '_>, release: &mut Release) -> Result<(), Fail> {
    let (name, path, span) = match (archive.text("url")?, archive.text("path")?) {
        (Some((text, span)), _) => {
            let address = pieces::address(text, span.clone(), "url")?;
            let (name, path) = (address.file_name(), address.path());
            release.origin = Origin::Url(address);
            (name, path, span)
        }
        (None, path) => {
            let (text, span) = archive.need(path, "url")?;
            release.origin = Origin::Path(text.to_owned());
            (last_part(text).to_owned(), text.to_owned(), span)
        }
    };
    let (size, sha256) = (size(archive)?, hashes(archive)?);
    if name.ends_with(".whl") {
        let file = pieces::wheel_name(&name, &span, &release.name, release.version.as_ref())?;
        release.version.get_or_insert_with(|| file.version.clone());
        release.wheels.push(Wheel { file, size, sha256, path: Some(path) });
    } else {
        release.sdist = Some(Archive { size, sha256 });
    }
    Ok(())
}

fn size(table: &Table<'_, '_>) -> Result<Option<u64>, Fail> {
    Ok(table.number("size")?.map(|(size, _)| size))
}

/// Reads `hashes`, which must be there, and of it the sha256, which need not.
fn hashes(table: &Table<'_, '_>) -> Result<Option<Sha256>, Fail> {
    let hashes = table.need(table.table("hashes", "`hashes`")?, "hashes")?;
    hashes.text("sha256")?.map(|(text, span)| pieces::sha256(text, span, "sha256")).transpose()
}
