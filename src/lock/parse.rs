//! Text to model: reads macml.lock strictly. What passes here can be installed as it stands.

use std::collections::{BTreeMap, BTreeSet};

use toml::de::DeTable;

use crate::manifest::model::{Gpu, Wheels};
use crate::pep::{ExtraName, PackageName, Sha256, Version, WheelName};
use crate::resolve::resolution::Origin;
use crate::target::{Floor, Platform};

use super::error::{FormatError, Problem};
use super::format::{self, EDGES_KEYS, ENV_KEYS, PACKAGE_KEYS, TOP_KEYS, WHEEL_KEYS};
use super::model::{EdgesIn, LockedEnv, LockedPackage, LockedRef, LockedWheel, Lockfile};
use super::table::{self, Fail, Span, Table, Unknown, value};

/// Parses the text of a lockfile.
///
/// # Errors
/// The first thing that is wrong with it, with its place.
pub fn parse(text: &str) -> Result<Lockfile, FormatError> {
    table::document(text, read_file)
}

fn read_file(document: &DeTable<'_>) -> Result<Lockfile, Fail> {
    let top = Table { keys: document, span: 0..0, what: "the file", unknown: Unknown::Refused };
    let (version, span) = top.need(top.number("version")?, "version")?;
    match version {
        0 => return Err((span, Problem::Value { key: "version", reason: "there is no version 0".to_owned() })),
        found if found > format::VERSION => return Err((span, Problem::Newer { found })),
        _ => {}
    }
    let (revision, _) = top.need(top.number("revision")?, "revision")?;
    let unknown = if revision > format::REVISION { Unknown::PassedOver } else { Unknown::Refused };
    let top = Table { unknown, ..top };
    top.only(TOP_KEYS)?;
    let knowledge = top.text("knowledge")?.map(|(text, _)| text.to_owned()).unwrap_or_default();
    let mut packages = Vec::new();
    let mut seen = BTreeSet::new();
    for table in top.tables("package", "`[[package]]`")? {
        let package = read_package(&table)?;
        if !seen.insert((package.name.clone(), package.version.clone(), format::origin(&package.origin))) {
            let what = format!("`{} {}` ({})", package.name, package.version, format::origin(&package.origin));
            return Err((table.span, Problem::Duplicate { what }));
        }
        packages.push((package, table.span));
    }
    let mut by_name: ByName<'_> = BTreeMap::new();
    for (package, _) in &packages {
        by_name.entry(&package.name).or_default().push(package);
    }
    let mut envs: Vec<LockedEnv> = Vec::new();
    for table in top.tables("env", "`[[env]]`")? {
        let env = read_env(&table, &by_name)?;
        if envs.iter().any(|other| other.name == env.name && other.platform == env.platform) {
            let what = format!("environment `{}` on {}", env.name, env.platform);
            return Err((table.span, Problem::Duplicate { what }));
        }
        envs.push(env);
    }
    edges_lead_somewhere(&envs, &packages)?;
    let mut lock = Lockfile { knowledge, envs, packages: packages.into_iter().map(|(package, _)| package).collect() };
    lock.canonicalize();
    Ok(lock)
}

type ByName<'a> = BTreeMap<&'a PackageName, Vec<&'a LockedPackage>>;

fn edges_lead_somewhere(envs: &[LockedEnv], packages: &[(LockedPackage, Span)]) -> Result<(), Fail> {
    let entries = |env: &'_ LockedEnv| -> BTreeMap<PackageName, LockedRef> {
        env.packages.iter().map(|entry| (entry.name.clone(), entry.clone())).collect()
    };
    let envs: Vec<_> = envs.iter().map(|env| (env, entries(env))).collect();
    for (package, span) in packages {
        let is = |entry: &LockedRef| entry.version == package.version && entry.origin == package.origin;
        let users = envs.iter().filter(|(_, entries)| entries.get(&package.name).is_some_and(is));
        let users: Vec<_> = users.collect();
        for EdgesIn { env, platform, .. } in &package.requires_in {
            if !users.iter().any(|(user, _)| user.name == *env && user.platform == *platform) {
                let reason = format!("environment `{env}` on {platform} does not have it");
                return Err((span.clone(), Problem::Value { key: "requires-in", reason }));
            }
        }
        for (user, entries) in users {
            let (env, platform) = (user.name.clone(), user.platform);
            if let Some(name) = package.edges(&env, platform).iter().find(|name| !entries.contains_key(name)) {
                let (package, name) = (package.name.clone(), name.clone());
                return Err((span.clone(), Problem::DanglingEdge { package, name, env, platform }));
            }
        }
    }
    Ok(())
}

fn read_env(table: &Table<'_, '_>, releases: &ByName<'_>) -> Result<LockedEnv, Fail> {
    table.only(ENV_KEYS)?;
    let (name, span) = table.need_text("name")?;
    if name.is_empty() {
        return Err((span, Problem::Value { key: "name", reason: "it is empty".to_owned() }));
    }
    let platform: Platform = table.need_value("platform")?;
    let gpu = table.choice("gpu", &[("required", Gpu::Required), ("optional", Gpu::Optional)])?;
    let wheels = table.choice("wheels", &[("host", Wheels::Host), ("floor", Wheels::Floor)])?;
    let (inputs, span) = table.need_text("inputs")?;
    let digest = inputs.strip_prefix("sha256:").unwrap_or_default();
    let inputs = digest.parse().map_err(|_| value(span, "inputs", "it is not `sha256:` and 64 hexadecimal digits"))?;
    let mut entries = Vec::new();
    let mut names = BTreeSet::new();
    for (text, span) in table.need(table.texts("packages")?, "packages")? {
        let entry = resolve_reference(text, &span, releases)?;
        if !names.insert(entry.name.clone()) {
            return Err((span, Problem::Duplicate { what: format!("`{}`", entry.name) }));
        }
        entries.push(entry);
    }
    Ok(LockedEnv {
        name: name.to_owned(),
        platform,
        floor: read_floor(table, platform)?,
        gpu: table.need(gpu, "gpu")?,
        wheels: wheels.unwrap_or(Wheels::Host),
        python: table.need_value("python")?,
        python_full: table.value("python-full")?,
        inputs,
        rules: table.plain_texts("rules")?,
        ignored: table.plain_texts("ignore-rules")?,
        packages: entries,
    })
}

fn read_floor(table: &Table<'_, '_>, platform: Platform) -> Result<Floor, Fail> {
    let foreign: &[&'static str] = if platform.is_mac() { &["glibc"] } else { &["macos", "chip"] };
    for key in foreign {
        if let Some((_, span)) = table.text(key)? {
            return Err((span, Problem::Misplaced { key, reason: "the platform is another one" }));
        }
    }
    if platform.is_mac() {
        return Ok(Floor::Mac { macos: table.need_value("macos")?, chip: table.need_value("chip")? });
    }
    let (text, span) = table.need_text("glibc")?;
    let numbers = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = numbers.ok_or_else(|| value(span, "glibc", "it is not two numbers such as `2.28`"))?;
    Ok(Floor::Glibc(major, minor))
}

/// A reference in parts, with the text of its origin where it has one.
pub(super) struct Reference<'a> {
    pub(super) name: PackageName,
    pub(super) extras: Vec<ExtraName>,
    pub(super) version: Version,
    origin: Option<&'a str>,
}

/// Takes `torch 2.14.1`, `datasets[vision] 4.1.0` or `mylib 1.0 (index corp)` apart.
pub(super) fn parse_reference(text: &str) -> Option<Reference<'_>> {
    let (release, origin) = match text.split_once(" (") {
        Some((release, origin)) => (release, Some(origin.strip_suffix(')')?)),
        None => (text, None),
    };
    let (name, version) = release.split_once(' ')?;
    let (name, extras) = match name.split_once('[') {
        Some((name, extras)) => (name, extras.strip_suffix(']')?.split(',').map(str::parse).collect()),
        None => (name, Ok(Vec::new())),
    };
    let mut extras: Vec<ExtraName> = extras.ok()?;
    extras.sort();
    extras.dedup();
    Some(Reference { name: name.parse().ok()?, extras, version: version.parse().ok()?, origin })
}

fn resolve_reference(text: &str, span: &Span, releases: &ByName<'_>) -> Result<LockedRef, Fail> {
    let form = || value(span.clone(), "packages", &format!("`{text}` is not a name and a version"));
    let parts = parse_reference(text).ok_or_else(form)?;
    let mut fitting = releases.get(&parts.name).into_iter().flatten().filter(|package| {
        package.version == parts.version && parts.origin.is_none_or(|origin| format::origin(&package.origin) == origin)
    });
    let unknown = || (span.clone(), Problem::UnknownPackage { reference: text.to_owned() });
    let first = fitting.next().ok_or_else(unknown)?;
    if fitting.next().is_some() {
        let example = format::origin(&first.origin);
        return Err((span.clone(), Problem::AmbiguousPackage { reference: text.to_owned(), example }));
    }
    let Reference { name, extras, version, .. } = parts;
    Ok(LockedRef { name, version, extras, origin: first.origin.clone() })
}

fn read_package(table: &Table<'_, '_>) -> Result<LockedPackage, Fail> {
    table.only(PACKAGE_KEYS)?;
    let name: PackageName = table.need_value("name")?;
    let version: Version = table.need_value("version")?;
    let mut wheels: Vec<LockedWheel> = Vec::new();
    for wheel in table.tables("wheels", "a wheel")? {
        let read = read_wheel(&wheel, &name, &version)?;
        if wheels.iter().any(|other| other.file == read.file) {
            return Err((wheel.span, Problem::Duplicate { what: format!("`{}`", read.file) }));
        }
        wheels.push(read);
    }
    let first = wheels.first().ok_or_else(|| (table.span.clone(), Problem::NoWheels { package: name.clone() }))?;
    let origin = read_origin(table, first.sha256)?;
    if !matches!(origin, Origin::Index(_)) && wheels.len() > 1 {
        let reason = "a wheel by path or address is one file".to_owned();
        return Err((table.span.clone(), Problem::Value { key: "wheels", reason }));
    }
    let mut requires_in: Vec<EdgesIn> = Vec::new();
    for edges in table.tables("requires-in", "an entry of `requires-in`")? {
        edges.only(EDGES_KEYS)?;
        let (env, _) = edges.need_text("env")?;
        let platform = edges.need_value("platform")?;
        if requires_in.iter().any(|other| other.env == env && other.platform == platform) {
            let what = format!("environment `{env}` on {platform}");
            return Err((edges.span, Problem::Duplicate { what }));
        }
        requires_in.push(EdgesIn { env: env.to_owned(), platform, requires: edges.names("requires")? });
    }
    Ok(LockedPackage { name, version, origin, requires: table.names("requires")?, requires_in, wheels })
}

fn read_origin(table: &Table<'_, '_>, sha256: Sha256) -> Result<Origin, Fail> {
    let (index, path, url) = (table.text("index")?, table.text("path")?, table.text("url")?);
    match (index, path, url) {
        (Some((name, span)), None, None) => match name {
            "" => Err(value(span, "index", "it is empty")),
            name if name.contains('/') => Err(value(span, "index", "it is an index's name, never its address")),
            name => Ok(Origin::Index(name.into())),
        },
        (None, Some((path, span)), None) => match is_relative(path) {
            true => Ok(Origin::Path(path.to_owned())),
            false => Err(value(span, "path", &format!("`{path}` is not relative to the project"))),
        },
        (None, None, Some((url, span))) => match is_public_address(url) {
            true => Ok(Origin::Url { url: url.to_owned(), sha256 }),
            false => Err(value(span, "url", "it is not an http or https address without a user name")),
        },
        (None, None, None) => Err((table.span.clone(), Problem::Missing { table: table.what, key: "index" })),
        (_, _, Some((_, span))) => Err((span, Problem::Misplaced { key: "url", reason: ONE_ORIGIN })),
        (_, Some((_, span)), _) => Err((span, Problem::Misplaced { key: "path", reason: ONE_ORIGIN })),
    }
}

const ONE_ORIGIN: &str = "a package has one of `index`, `path` and `url`";

/// Returns whether a path is relative on every system.
pub(super) fn is_relative(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':');
    !path.is_empty() && !path.starts_with(['/', '\\', '~']) && !drive
}

/// Returns whether a text is a web address that holds no secret.
pub(super) fn is_public_address(text: &str) -> bool {
    text.parse::<url::Url>().is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
    })
}

fn read_wheel(table: &Table<'_, '_>, name: &PackageName, version: &Version) -> Result<LockedWheel, Fail> {
    table.only(WHEEL_KEYS)?;
    let (text, span) = table.need_text("file")?;
    // Before anything else looks at it: this text becomes a file's name on disk.
    if text.contains(['/', '\\', '\0']) || text.starts_with('.') {
        return Err(value(span, "file", &format!("`{text}` is not a plain file name")));
    }
    let file: WheelName = text.parse().map_err(|error| value(span.clone(), "file", &format!("{error}")))?;
    if file.name != *name || file.version != *version {
        let (file, name, version) = (text.to_owned(), name.clone(), version.clone());
        return Err((span, Problem::ForeignWheel { file, name, version }));
    }
    let (size, _) = table.need(table.number("size")?, "size")?;
    Ok(LockedWheel { file, size, sha256: table.need_value("sha256")? })
}
