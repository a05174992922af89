//! `uv.lock`, version 1: text to model. The format is uv's own; what is read of it is what uv's `sync` goes by.
//!
//! A file says of each release what it depends on, after uv solved for all machines at once; so one package may stand in
//! it several times, and `dependencies` say which of them is meant under which marker.
//! <https://docs.astral.sh/uv/concepts/projects/layout/#the-lockfile>

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::de::DeValue;

use crate::lock::error::Problem;
use crate::lock::table::{Fail, Table, value};
use crate::pep::{ExtraName, PackageName, Sha256, Version};

use super::error::{Error, without_secrets};
use super::model::{Archive, Edge, Folder, ForeignLock, Format, Graph, Item, Node, Origin, Part, Release, Wheel};
use super::pieces::{self, Lines, MOST_RELEASES};
use super::told::{Note, Told};

/// The version of the format.
const VERSION: u64 = 1;

/// The newest revision that was looked at; a later one may only add what can be ignored.
const REVISION: u64 = 5;

/// The group that counts unless `pyproject.toml` says otherwise.
const DEV: &str = "dev";

/// Parses the text of a `uv.lock`, or of the lock of a script.
///
/// # Errors
/// The first thing that is wrong with it, with its line.
pub(super) fn parse(path: &Path, text: &str) -> Result<ForeignLock, Error> {
    pieces::document(path, text, |top, lines| read_file(top, path, lines))
}

fn read_file(top: &Table<'_, '_>, path: &Path, lines: &Lines) -> Result<ForeignLock, Fail> {
    let (version, span) = top.need(top.number("version")?, "version")?;
    if version != VERSION {
        let reason = format!("version {version} of uv.lock; macml reads version {VERSION}");
        return Err(value(span, "version", &reason));
    }
    let (revision, at) = top.number("revision")?.unwrap_or((0, span));
    let mut notes = Vec::new();
    if revision > REVISION {
        let told = Told::NewerRevision { found: format!("revision {revision} of uv.lock") };
        notes.push(Note { path: path.to_owned(), line: lines.at(&at), told });
    }
    if let Some(old) = top.get("distribution") {
        return Err(value(old.span(), "version", "written before uv 0.3: lock again with a newer uv"));
    }
    let tables = top.tables("package", "`[[package]]`")?;
    if let Some(table) = tables.get(MOST_RELEASES) {
        return Err(value(table.span.clone(), "package", &format!("more than {MOST_RELEASES} of them")));
    }
    let mut releases = Vec::new();
    let mut written = Vec::new();
    for table in &tables {
        let (release, source) = read_release(table, lines)?;
        releases.push(release);
        written.push(source);
    }
    let mut places: ByName<'_> = BTreeMap::new();
    for (at, release) in releases.iter().enumerate() {
        places.entry(&release.name).or_default().push(at);
    }
    let known = Known { places, releases: &releases, written: &written };
    let graph = read_graph(top, &tables, &known)?;
    let mut extras: BTreeSet<ExtraName> = BTreeSet::new();
    let mut groups: BTreeSet<ExtraName> = graph.top.groups.keys().cloned().collect();
    for member in &graph.members {
        extras.extend(graph.nodes[*member].extras.keys().cloned());
        groups.extend(graph.nodes[*member].groups.keys().cloned());
    }
    let default_groups = groups.iter().filter(|group| group.as_str() == DEV).cloned().collect();
    let mut members: Vec<PackageName> = graph.members.iter().map(|at| releases[*at].name.clone()).collect();
    members.sort();
    Ok(ForeignLock {
        format: Format::Uv { revision },
        requires_python: top.value("requires-python")?,
        environments: pieces::markers(top, "supported-markers")?,
        extras: extras.into_iter().collect(),
        groups: groups.into_iter().collect(),
        default_groups,
        members,
        releases,
        graph: Some(graph),
        notes,
    })
}

type ByName<'a> = BTreeMap<&'a PackageName, Vec<usize>>;

/// The releases of the file, to find those that dependencies mean.
struct Known<'a> {
    places: ByName<'a>,
    releases: &'a [Release],
    /// The source of each, as written.
    written: &'a [Option<(String, String)>],
}

impl Known<'_> {
    fn named(&self, name: &PackageName) -> &[usize] {
        self.places.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Reads a release, and its source as written.
fn read_release(table: &Table<'_, '_>, lines: &Lines) -> Result<(Release, Option<(String, String)>), Fail> {
    let name: PackageName = table.need_value("name")?;
    let version: Option<Version> = table.value("version")?;
    let source = table.table("source", "`source`")?;
    let source = table.need(source, "source")?;
    let origin = read_source(&source)?;
    let mut wheels = Vec::new();
    for wheel in table.tables("wheels", "a wheel")? {
        let place = pieces::place(&wheel, "filename")?;
        wheels.push(Wheel {
            file: pieces::wheel_name(&place.name, &place.span, &name, version.as_ref())?,
            size: wheel.number("size")?.map(|(size, _)| size),
            sha256: read_hash(&wheel)?,
            path: place.path,
        });
    }
    let sdist = table.table("sdist", "`sdist`")?;
    let sdist = sdist.map(|sdist| {
        let size = sdist.number("size")?.map(|(size, _)| size);
        Ok(Archive { size, sha256: read_hash(&sdist)? })
    });
    let release = Release {
        line: lines.at(&table.span),
        file: None,
        name,
        version,
        origin,
        markers: pieces::markers(table, "resolution-markers")?,
        requires_python: None,
        wheels,
        sdist: sdist.transpose()?,
        hashes: Vec::new(),
    };
    Ok((release, written_source(&source)?))
}

/// The kinds of sources, by the key that says so.
const SOURCES: [&str; 7] = ["registry", "git", "url", "path", "directory", "editable", "virtual"];

fn written_source(source: &Table<'_, '_>) -> Result<Option<(String, String)>, Fail> {
    for key in SOURCES {
        if let Some((text, _)) = source.text(key)? {
            return Ok(Some((key.to_owned(), text.to_owned())));
        }
    }
    Ok(None)
}

fn read_source(source: &Table<'_, '_>) -> Result<Origin, Fail> {
    let folder = |path: &str, kind| Origin::Folder { path: path.to_owned(), kind };
    for key in SOURCES {
        let Some((text, span)) = source.text(key)? else { continue };
        return Ok(match key {
            "registry" if text.contains("://") => Origin::Index(pieces::address(text, span, "registry")?),
            "registry" => Origin::LocalIndex(without_secrets(text)),
            "git" => {
                let commit = text.rsplit_once('#').map(|(_, commit)| commit.to_owned());
                let address = pieces::address(text, span, "git")?;
                Origin::Repository { address: address.to_string(), commit }
            }
            "url" => Origin::Url(pieces::address(text, span, "url")?),
            "path" => Origin::Path(text.to_owned()),
            "directory" => folder(text, Folder::Built),
            "editable" => folder(text, Folder::Editable),
            _ => folder(text, Folder::Virtual),
        });
    }
    let found = source.keys.keys().next().map_or_else(String::new, |key| format!(": it has `{}`", key.get_ref()));
    Err(value(source.span.clone(), "source", &format!("a source of a kind that macml does not know{found}")))
}

/// Reads `hash`, when it is a sha256.
fn read_hash(table: &Table<'_, '_>) -> Result<Option<Sha256>, Fail> {
    let Some((text, span)) = table.text("hash")? else { return Ok(None) };
    match text.split_once(':') {
        Some(("sha256", digits)) => pieces::sha256(digits, span, "hash").map(Some),
        Some(_) => Ok(None),
        None => Err(value(span, "hash", "it is not an algorithm, `:` and hexadecimal digits")),
    }
}

fn read_graph(top: &Table<'_, '_>, tables: &[Table<'_, '_>], known: &Known<'_>) -> Result<Graph, Fail> {
    let mut nodes = Vec::new();
    for table in tables {
        let mut node = Node {
            dependencies: read_edges(table, "dependencies", known, Naming::One)?,
            extras: read_parts(table, "optional-dependencies", known, Naming::One)?,
            groups: read_parts(table, "dev-dependencies", known, Naming::One)?,
        };
        if let Some(metadata) = table.table("metadata", "`[package.metadata]`")? {
            // An extra or group of nothing stands here only.
            for extra in pieces::names(&metadata, "provides-extras")? {
                node.extras.entry(extra).or_default();
            }
            if let Some(groups) = metadata.table("requires-dev", "`[package.metadata.requires-dev]`")? {
                for group in groups.keys.keys().filter_map(|key| key.get_ref().parse().ok()) {
                    node.groups.entry(group).or_default();
                }
            }
        }
        nodes.push(node);
    }
    let mut members = Vec::new();
    let mut asked = Node::default();
    if let Some(manifest) = top.table("manifest", "`[manifest]`")? {
        asked.dependencies = read_edges(&manifest, "requirements", known, Naming::Any)?;
        asked.groups = read_parts(&manifest, "dependency-groups", known, Naming::Any)?;
        for (text, span) in manifest.texts("members")?.unwrap_or_default() {
            let bad = |reason: String| value(span.clone(), "members", &reason);
            let name: PackageName = text.parse().map_err(|error| bad(format!("{error}")))?;
            let local = |at: &&usize| matches!(known.releases[**at].origin, Origin::Folder { .. });
            let member = known.named(&name).iter().find(local);
            members.push(*member.ok_or_else(|| bad(format!("`{name}` is no package of this file")))?);
        }
    }
    let nothing_else = asked.dependencies.is_empty() && asked.groups.is_empty();
    if members.is_empty() && nothing_else {
        let here = |release: &Release| matches!(&release.origin, Origin::Folder { path, .. } if path == ".");
        members.extend(known.releases.iter().position(here));
    }
    members.sort_unstable();
    members.dedup();
    if members.is_empty() && nothing_else && !known.releases.is_empty() {
        return Err(value(0..0, "package", "none of the packages is the project"));
    }
    Ok(Graph { nodes, members, top: asked, conflicts: read_conflicts(top)? })
}

/// How a dependency names a release.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// With everything that tells it from others of the name.
    One,
    /// By its name: any whose own markers hold.
    Any,
}

fn read_parts(
    table: &Table<'_, '_>,
    key: &'static str,
    known: &Known<'_>,
    naming: Naming,
) -> Result<BTreeMap<ExtraName, Vec<Edge>>, Fail> {
    let Some(parts) = table.table(key, "the table")? else { return Ok(BTreeMap::new()) };
    let mut read = BTreeMap::new();
    for (name, part) in parts.keys {
        let span = name.span();
        let name = name.get_ref().parse().map_err(|error| value(span, key, &format!("{error}")))?;
        let DeValue::Array(items) = part.get_ref() else {
            return Err((part.span(), Problem::Type { key, wanted: "a table of arrays" }));
        };
        let mut edges = Vec::new();
        for item in items {
            edges.push(read_edge(&table.of(item, key)?, key, known, naming)?);
        }
        read.insert(name, edges);
    }
    Ok(read)
}

fn read_edges(table: &Table<'_, '_>, key: &'static str, known: &Known<'_>, naming: Naming) -> Result<Vec<Edge>, Fail> {
    let edges = table.tables(key, "a dependency")?;
    edges.iter().map(|edge| read_edge(edge, key, known, naming)).collect()
}

fn read_edge(table: &Table<'_, '_>, key: &'static str, known: &Known<'_>, naming: Naming) -> Result<Edge, Fail> {
    let name: PackageName = table.need_value("name")?;
    let version: Option<Version> = table.value("version")?;
    let source = table.table("source", "`source`")?.map(|source| written_source(&source)).transpose()?.flatten();
    let is = |at: &&usize| {
        let version = version.as_ref().is_none_or(|version| known.releases[**at].version.as_ref() == Some(version));
        version && source.as_ref().is_none_or(|source| known.written[**at].as_ref() == Some(source))
    };
    let to: Vec<usize> = match naming {
        Naming::One => known.named(&name).iter().filter(is).copied().collect(),
        Naming::Any => known.named(&name).to_vec(),
    };
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    match (to.len(), naming) {
        (0, _) => return Err(value(table.span.clone(), key, &format!("`{name}{version}` is no package of this file"))),
        (2.., Naming::One) => {
            let reason = format!("`{name}{version}` is more than one package of this file");
            return Err(value(table.span.clone(), key, &reason));
        }
        _ => {}
    }
    // Dependencies say `extra`, requirements of a script `extras`.
    let mut extras = pieces::names(table, "extra")?;
    extras.extend(pieces::names(table, "extras")?);
    Ok(Edge { to, extras, marker: pieces::own_marker(table)? })
}

fn read_conflicts(top: &Table<'_, '_>) -> Result<Vec<Vec<Item>>, Fail> {
    let mut conflicts = Vec::new();
    for set in top.items("conflicts")?.unwrap_or_default() {
        let DeValue::Array(items) = set.get_ref() else {
            return Err((set.span(), Problem::Type { key: "conflicts", wanted: "an array of arrays" }));
        };
        let mut read = Vec::new();
        for item in items {
            let table = top.of(item, "conflicts")?;
            let part = match (table.value("extra")?, table.value("group")?) {
                (Some(extra), _) => Part::Extra(extra),
                (None, Some(group)) => Part::Group(group),
                (None, None) => Part::Project,
            };
            read.push(Item { package: table.need_value("package")?, part });
        }
        conflicts.push(read);
    }
    Ok(conflicts)
}
