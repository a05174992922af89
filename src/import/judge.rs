//! What each line comes to on the machines that it is for.

use crate::lock::foreign::masked;
use crate::manifest::edit::{Line, WheelFile};
use crate::pep::requirements_file::{ARCHIVES, Named, file_and_marker, named};
use crate::pep::{Marker, Requirement, RequirementSource, Specifiers, Truth, WheelName};

use super::renamed::{Renamed, renamed};
use super::requirements::{Asked, AskedItem, What};
use super::{Item, Machines, Verdict};

/// Lines with what they come to, and what they ask for.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) name: Option<String>,
    pub(super) python: Option<Specifiers>,
    /// Each with what it asks for, where it does.
    pub(super) items: Vec<(Item, Option<Entry>)>,
    pub(super) paths: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// What a line asks for.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Entry {
    pub(super) line: Line,
    pub(super) versions: Specifiers,
    /// Whether it only limits what others ask for.
    pub(super) limits: bool,
}

/// What a line is, before its place is put to it.
struct Outcome {
    verdict: Verdict,
    entry: Option<Entry>,
    path: Option<String>,
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, entry: None, path: None }
    }
}

pub(super) fn judge(asked: Asked, machines: &Machines) -> Judged {
    let mut judged = Judged { name: asked.name, notes: asked.notes, ..Judged::default() };
    let mut hashes = 0;
    for AskedItem { file, line, what } in asked.items {
        let (text, outcome) = match what {
            What::Requirement { text, limits, editable, hashes: own } => {
                hashes += own;
                let outcome = requirement(&text, (limits, editable), machines);
                (if editable { format!("-e {text}") } else { text }, outcome)
            }
            What::Option { name, value } => option(&name, value.as_deref()),
            What::Translated { from, text, why: other } => {
                let mut outcome = requirement(&text, (false, false), machines);
                outcome.verdict = match (outcome.verdict, &outcome.entry) {
                    (Verdict::Kept, Some(entry)) => Verdict::Translated { to: entry.line.written(), why: other },
                    (Verdict::Translated { to, why }, _) => Verdict::Translated { to, why: format!("{other}; {why}") },
                    (verdict, _) => verdict,
                };
                (from, outcome)
            }
            What::Decided { text, verdict } => (text, verdict.into()),
            What::Included { text } => (text, Outcome::from(Verdict::Kept)),
            What::Several { count, text } => {
                let why = "pip takes one requirement a line; scripts of projects take several".to_owned();
                (text, Verdict::Translated { to: format!("{count} requirements"), why }.into())
            }
        };
        judged.paths.extend(outcome.path.filter(|path| !judged.paths.contains(path)));
        // What names an address may hold a password.
        let item = Item { file, line, text: masked(&text), verdict: outcome.verdict };
        judged.items.push((item, outcome.entry));
    }
    if hashes > 0 {
        judged.notes.push(format!(
            "{hashes} hashes of the file are not taken over: macml.lock has its own, of each file that it may install"
        ));
    }
    if let Some(text) = &asked.python {
        match text.parse() {
            Ok(python) => {
                judged.notes.extend(one_patch_only(&python));
                judged.python = Some(python);
            }
            Err(_) => judged.notes.push(format!("`{text}` is no range of Pythons that macml.toml takes")),
        }
    }
    judged
}

/// Says that `<=3.12` takes 3.12.0 and no later patch of it.
fn one_patch_only(python: &Specifiers) -> Option<String> {
    let text = python.to_string();
    let number = text.split(',').find_map(|one| one.trim().strip_prefix("<="))?.trim().to_owned();
    let (major, minor) = number.split_once('.')?;
    let next = minor.parse::<u16>().ok()? + 1;
    Some(format!(
        "`<={number}` takes of Python {number} only {number}.0; `<{major}.{next}` takes all of it, if that is what is meant"
    ))
}

fn option(name: &str, value: Option<&str>) -> (String, Outcome) {
    let masked = value.map(crate::lock::foreign::without_secrets).unwrap_or_default();
    let text = if masked.is_empty() { name.to_owned() } else { format!("{name} {masked}") };
    let dropped = |why: &str| Outcome::from(Verdict::Dropped { why: why.to_owned() });
    let outcome = match name {
        "-i" | "--index-url" | "--pypi-url" | "--extra-index-url" | "-f" | "--find-links" => dropped(
            "PyPI has the wheels for Macs; a mirror belongs into config.toml, an index of your own into `[[index]]`",
        ),
        "--pre" => dropped("pre-releases are admitted by name: `[resolution] prereleases`"),
        "--no-binary" | "--only-binary" | "--prefer-binary" => dropped("macml installs wheels only"),
        "--require-hashes" => dropped("macml.lock has a hash of each file"),
        "-r" | "-c" => Verdict::Refused {
            why: "it is a list at an address, which is not fetched".to_owned(),
            remedy: "download it and name the file".to_owned(),
        }
        .into(),
        _ => dropped("it tells pip how to install, which macml does in its own way"),
    };
    (text, outcome)
}

/// How often a marker holds on the machines.
fn truth(marker: &Marker, machines: &Machines) -> Truth {
    let truths: Vec<Truth> = machines.0.iter().map(|env| marker.evaluate(env, &[])).collect();
    match (truths.iter().all(|one| *one == Truth::Never), truths.iter().all(|one| *one == Truth::Always)) {
        (true, _) => Truth::Never,
        (_, true) => Truth::Always,
        _ => Truth::Unknown,
    }
}

/// Splits off the marker.
fn with_marker(text: &str) -> (&str, Option<&str>) {
    let (plain, marker) = match text.contains("://") {
        true => file_and_marker(text),
        false => text.split_once(';').map_or((text, None), |(plain, marker)| (plain, Some(marker))),
    };
    (plain.trim(), marker.map(str::trim).filter(|marker| !marker.is_empty()))
}

fn requirement(text: &str, (limits, editable): (bool, bool), machines: &Machines) -> Outcome {
    let refused =
        |why: &str, remedy: &str| Outcome::from(Verdict::Refused { why: why.to_owned(), remedy: remedy.to_owned() });
    // What a Mac does not use is decided before anything else about it may fail.
    let (plain, marker) = with_marker(text);
    let marker = match marker.map(str::parse::<Marker>) {
        Some(Err(error)) => {
            return refused(&format!("its marker cannot be read: {error}"), "write it as PEP 508 has it");
        }
        Some(Ok(marker)) => match truth(&marker, machines) {
            Truth::Never => {
                let why = format!("`{marker}` holds on no Mac with Apple Silicon");
                return Verdict::Dropped { why }.into();
            }
            Truth::Always => None,
            _ => Some(marker),
        },
        None => None,
    };
    if plain.contains("${") || plain.contains("$(") {
        return refused("it has a variable in it, and none is put in", "write what the variable stands for");
    }
    match named(plain, editable) {
        Named::File { file, .. } => of_file(file, marker, editable),
        Named::Requirement => match Requirement::parse_lenient(plain) {
            Err(error) => refused(&error.to_string(), "write a name with PEP 440 specifiers, such as `torch>=2.13`"),
            Ok(Requirement { name, extras, source, .. }) => match source {
                RequirementSource::Url(address) if address.starts_with("git+") => git(&address),
                RequirementSource::Url(address) => of_file(&address, marker, editable),
                RequirementSource::Versions(versions) => {
                    let extras = extras.iter().map(ToString::to_string).collect();
                    versioned(name.as_str(), versions, Line { extras, ..Line::of(name.clone()) }, marker, limits)
                }
            },
        },
    }
}

/// A package by name.
fn versioned(name: &str, mut versions: Specifiers, line: Line, marker: Option<Marker>, limits: bool) -> Outcome {
    let mut whys: Vec<String> = Vec::new();
    let mut line = line;
    match renamed(name) {
        Some(Renamed::Gone(why)) => return Verdict::Dropped { why: (*why).to_owned() }.into(),
        Some(Renamed::Unfit { below, why, remedy }) => {
            let fits = below.is_some_and(|below| {
                let above = format!(">={below}").parse::<Specifiers>().expect("a version of the list");
                !versions.range().intersection(above.range()).is_empty()
            });
            if !fits {
                return Verdict::Refused { why: (*why).to_owned(), remedy: (*remedy).to_owned() }.into();
            }
        }
        Some(Renamed::To(to, why)) => {
            line.name = to.parse().expect("a name of the list");
            whys.push(format!("`{name}` is `{to}` on a Mac: {why}"));
            // The only release of the empty one says nothing about the real one.
            versions = if name == "sklearn" { Specifiers::any() } else { versions };
        }
        None if name == "tensorflow-macos" && versions.is_any() => {
            line.name = "tensorflow".parse().expect("it is a name");
            whys.push("from 2.16 on the old name only stands for `tensorflow`".to_owned());
        }
        None => {}
    }
    let (versions, local) = without_local(versions);
    whys.extend(local.map(|local| format!("`+{local}` is a build for another processor than a Mac's")));
    line.versions = Some(if versions.is_any() { "*".to_owned() } else { versions.to_string() });
    line.marker = marker.map(|marker| marker.to_string().replace('"', "'"));
    let entry = Entry { line: line.clone(), versions, limits };
    let verdict = match whys.is_empty() {
        true => Verdict::Kept,
        false => Verdict::Translated { to: line.written(), why: whys.join("; ") },
    };
    Outcome { verdict, entry: Some(entry), path: None }
}

/// Takes local versions out of exact pins, `2.8.0+cu128`: they name a build, which Macs have without.
fn without_local(versions: Specifiers) -> (Specifiers, Option<String>) {
    let text = versions.to_string();
    let Some((_, rest)) = text.split_once('+') else { return (versions, None) };
    let local: String = rest.chars().take_while(|char| char.is_ascii_alphanumeric() || *char == '.').collect();
    let foreign = ["cu", "cpu", "rocm", "xpu"].iter().any(|begin| local.starts_with(begin));
    match text.replace(&format!("+{local}"), "").parse() {
        Ok(plain) if foreign => (plain, Some(local)),
        _ => (versions, None),
    }
}

fn git(address: &str) -> Outcome {
    let plain = crate::lock::foreign::without_secrets(address);
    let revision = plain.rsplit_once('@').map(|(_, revision)| revision.split('#').next().unwrap_or_default());
    let whole = revision.is_some_and(|one| one.len() == 40 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let why = match (whole, revision) {
        (true, Some(commit)) => format!("git requirements are not taken yet; it names the commit {commit}"),
        (false, Some(branch)) => format!("git requirements are not taken yet, and `{branch}` is no commit: it moves"),
        _ => "git requirements are not taken yet, and it names no commit".to_owned(),
    };
    Verdict::Refused { why, remedy: "name a release of it, or build its wheel and name that by path".to_owned() }.into()
}

/// An address or a path.
fn of_file(file: &str, marker: Option<Marker>, editable: bool) -> Outcome {
    let refused = |why: String, remedy: &str| Outcome::from(Verdict::Refused { why, remedy: remedy.to_owned() });
    let (plain, fragment) = file.split_once('#').unwrap_or((file, ""));
    if ["git+", "hg+", "svn+", "bzr+"].iter().any(|kind| plain.starts_with(kind)) {
        return git(file);
    }
    let plain = plain.strip_prefix("file:").map_or(plain, |path| path.strip_prefix("//").unwrap_or(path));
    let address = plain.contains("://");
    if address && masked(plain) != plain {
        return refused(
            "an address with a password in it".to_owned(),
            "name it without, and give the password to its index in config.toml or to git",
        );
    }
    if editable || !(address || ARCHIVES.iter().any(|ending| plain.ends_with(ending))) {
        let folder = plain.split('[').next().unwrap_or_default().trim_end_matches('/');
        let inside = folder.trim_start_matches("./");
        return match inside {
            "" | "." => own(".", file),
            _ if inside.starts_with(['/', '~', '.']) || inside.contains("..") || address => refused(
                "a folder outside of the project, which is built where it lies".to_owned(),
                "name a release of it, or build its wheel and name that by path",
            ),
            _ => own(inside, file),
        };
    }
    let last = plain.rsplit('/').next().unwrap_or_default();
    if !last.ends_with(".whl") {
        return refused(
            "a source archive, which would have to be built".to_owned(),
            "name a release of it that has a wheel",
        );
    }
    let last = crate::index::percent_decoded(last);
    let Ok(wheel) = last.parse::<WheelName>() else {
        return refused(format!("`{last}` is no name of a wheel"), "name a wheel by its own name");
    };
    let file = match address {
        false => Some(WheelFile::Path(plain.trim_start_matches("./").to_owned())),
        true => fragment
            .split('&')
            .find_map(|part| part.strip_prefix("sha256="))
            .map(|sha256| WheelFile::Url { url: plain.to_owned(), sha256: sha256.to_owned() }),
    };
    let Some(file) = file else {
        return refused(
            "a wheel at an address without its sha256".to_owned(),
            "write `#sha256=` and its 64 digits behind the address",
        );
    };
    let name = wheel.name.clone();
    let marker = marker.map(|marker| marker.to_string().replace('"', "'"));
    let line = Line { file: Some(file), marker, ..Line::of(name) };
    let verdict = Verdict::Translated { to: line.written(), why: "macml.toml names a wheel by its key".to_owned() };
    Outcome { verdict, entry: Some(Entry { line, versions: Specifiers::any(), limits: false }), path: None }
}

fn own(folder: &str, written: &str) -> Outcome {
    let to = format!("[project] paths = [\"{folder}\"]");
    let extra = if written.contains('[') { "; its extras are not taken over" } else { "" };
    let why = format!("the project's own code is found where it lies, and what it requires is named here{extra}");
    Outcome { verdict: Verdict::Translated { to, why }, entry: None, path: Some(folder.to_owned()) }
}
