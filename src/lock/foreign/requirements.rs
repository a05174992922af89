//! Requirements files, as pip, pip-tools and uv write and read them: text to model.
//!
//! Lines are joined, stripped of comments and taken apart as pip does. What an option says of where files come from is
//! told and not followed; files that a file includes are read.
//! <https://pip.pypa.io/en/stable/reference/requirements-file-format/>

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::pep::requirements_file::{ARCHIVES, Named, apart, logical_lines, named, option_and_value, words};
use crate::pep::{Marker, PackageName, Requirement, RequirementSource, Sha256, Version, WheelName};

use super::address::{Address, last_part};
use super::error::{Error, masked, without_secrets};
use super::file::MOST_BYTES;
use super::model::{Archive, Folder, ForeignLock, Format, Origin, Release, Wheel};
use super::pieces::MOST_RELEASES;
use super::told::{Note, Told};

/// No list includes more files.
const MOST_FILES: usize = 100;

/// Reads the text of an included file.
pub(super) type ReadText<'a> = &'a mut dyn FnMut(&Path) -> Result<String, Error>;

/// Parses the text of a requirements file, and of those that it includes, which `read` brings.
///
/// # Errors
/// The first thing that is wrong, with its file and line.
pub(super) fn parse(path: &Path, text: String, read: ReadText<'_>) -> Result<ForeignLock, Error> {
    let mut reader = Reader { read, files: 0, bytes: 0, asked: Vec::new(), constraints: Vec::new(), notes: Vec::new() };
    reader.file(path, &text, Role::Asked, &mut Vec::new())?;
    let Reader { asked, constraints, mut notes, .. } = reader;
    let mut releases: Vec<Release> = Vec::new();
    let mut places: BTreeMap<PackageName, Vec<usize>> = BTreeMap::new();
    let mut pins: BTreeMap<&PackageName, Vec<&Line>> = BTreeMap::new();
    for constraint in constraints.iter().filter(|one| one.release.markers.is_empty()) {
        pins.entry(&constraint.release.name).or_default().push(constraint);
    }
    for mut line in asked {
        line.constrain(pins.get(&line.release.name).map_or(&[], Vec::as_slice));
        notes.extend(line.shortcomings().into_iter().map(|told| Note {
            path: line.path.clone(),
            line: line.release.line,
            told,
        }));
        let mut release = line.release;
        release.file = Some(line.path).filter(|file| file != path);
        let same = places.entry(release.name.clone()).or_default();
        let twin = same.iter().find(|at| releases[**at].is_same(&release));
        match twin {
            Some(at) => {
                let hashes: &mut Vec<Sha256> = &mut releases[*at].hashes;
                hashes.append(&mut release.hashes);
                hashes.sort();
                hashes.dedup();
            }
            None => {
                same.push(releases.len());
                releases.push(release);
            }
        }
    }
    Ok(ForeignLock {
        format: Format::Requirements,
        requires_python: None,
        environments: Vec::new(),
        extras: Vec::new(),
        groups: Vec::new(),
        default_groups: Vec::new(),
        members: Vec::new(),
        releases,
        graph: None,
        notes,
    })
}

/// What lines of a file are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// What is installed.
    Asked,
    /// Limits for what is installed.
    Constraints,
}

struct Reader<'a> {
    read: ReadText<'a>,
    files: usize,
    bytes: usize,
    asked: Vec<Line>,
    constraints: Vec<Line>,
    notes: Vec<Note>,
}

/// A requirement with its place.
struct Line {
    path: PathBuf,
    release: Release,
    /// Hashes of any kind.
    hashed: bool,
}

impl Release {
    fn is_same(&self, other: &Self) -> bool {
        self.version == other.version && self.origin == other.origin && self.markers == other.markers
    }
}

impl Line {
    /// Takes version and hashes from constraints where the requirement lacks them.
    fn constrain(&mut self, constraints: &[&Self]) {
        if self.release.origin != Origin::AnyIndex {
            return;
        }
        for constraint in constraints.iter().map(|line| &line.release) {
            if self.release.version.is_none() {
                self.release.version.clone_from(&constraint.version);
            }
        }
        for constraint in constraints.iter().filter(|line| line.release.version == self.release.version) {
            if self.release.hashes.is_empty() {
                self.release.hashes.clone_from(&constraint.release.hashes);
            }
            self.hashed |= constraint.hashed;
        }
    }

    fn shortcomings(&self) -> Vec<Told> {
        let (release, mut told) = (&self.release, Vec::new());
        let named = || release.name.clone();
        if release.origin == Origin::AnyIndex && release.version.is_none() {
            told.push(Told::Unpinned(named()));
        }
        let one_file = !matches!(release.origin, Origin::Folder { .. } | Origin::Repository { .. });
        match (self.hashed, release.hashes.is_empty()) {
            (false, _) if one_file => told.push(Told::Unhashed(named())),
            (true, true) => told.push(Told::NoSha256(named())),
            _ => {}
        }
        told
    }
}

impl Reader<'_> {
    /// Reads a file's text; `stack` are those that include it.
    fn file(&mut self, path: &Path, text: &str, role: Role, stack: &mut Vec<PathBuf>) -> Result<(), Error> {
        self.files += 1;
        self.bytes += text.len();
        stack.push(path.to_owned());
        for (line, text) in logical_lines(text) {
            if self.files > MOST_FILES || self.bytes as u64 > MOST_BYTES {
                return Err(Error::at(path, line, "it includes more files, or longer ones, than any list"));
            }
            if self.asked.len() + self.constraints.len() > MOST_RELEASES {
                return Err(Error::at(path, line, &format!("more than {MOST_RELEASES} requirements")));
            }
            if text.starts_with('-') {
                self.options(path, line, &text, role, stack)?;
            } else {
                self.requirement(path, line, &text, role, Editable::No)?;
            }
        }
        stack.pop();
        Ok(())
    }

    fn tell(&mut self, path: &Path, line: usize, told: Told) {
        self.notes.push(Note { path: path.to_owned(), line, told });
    }

    /// Reads a line of options.
    fn options(
        &mut self,
        path: &Path,
        line: usize,
        text: &str,
        role: Role,
        stack: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        // What is editable may be followed by a marker, which is no option.
        let editable = ["--editable=", "--editable ", "-e"].iter().find_map(|option| text.strip_prefix(option));
        if let Some(named) = editable {
            return self.requirement(path, line, named.trim_start_matches(['=', ' ', '\t']), role, Editable::Yes);
        }
        let mut words = words(text).into_iter();
        while let Some(word) = words.next() {
            let (option, value) = option_and_value(&word);
            let mut value = || {
                let value = value.clone().or_else(|| words.next()).filter(|value| !value.is_empty());
                value.ok_or_else(|| Error::at(path, line, &format!("nothing follows `{option}`")))
            };
            match option.as_str() {
                "-r" | "--requirement" | "-c" | "--constraint" => {
                    let limits = matches!(option.as_str(), "-c" | "--constraint");
                    let role = if limits { Role::Constraints } else { role };
                    let named = value()?;
                    self.include(path, line, &option, &named, role, stack)?;
                }
                "-i" | "--index-url" | "--pypi-url" | "--extra-index-url" | "-f" | "--find-links" => {
                    let named = value()?;
                    let address = Address::of(&named).map_or_else(|| masked(&named), |address| address.to_string());
                    self.tell(path, line, Told::Index { option, address });
                }
                _ if option.starts_with('-') => self.tell(path, line, Told::Option(masked(&option))),
                // The value of an option that was passed over.
                _ => {}
            }
        }
        Ok(())
    }

    fn include(
        &mut self,
        path: &Path,
        line: usize,
        option: &str,
        named: &str,
        role: Role,
        stack: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        if named.contains("://") {
            let address = Address::of(named).map_or_else(|| masked(named), |address| address.to_string());
            self.tell(path, line, Told::Elsewhere { option: option.to_owned(), address });
            return Ok(());
        }
        let file = path.parent().unwrap_or(Path::new("")).join(named);
        if stack.contains(&file) {
            return Err(Error::at(path, line, &format!("`{}` includes itself", file.display())));
        }
        let text = match (self.read)(&file) {
            Err(Error::Absent(file)) => {
                return Err(Error::at(path, line, &format!("there is no file `{}`", file.display())));
            }
            other => other?,
        };
        self.file(&file, &text, role, stack)
    }

    /// Reads a requirement with its options.
    fn requirement(
        &mut self,
        path: &Path,
        line: usize,
        text: &str,
        role: Role,
        editable: Editable,
    ) -> Result<(), Error> {
        let bad = |what: &str| Error::at(path, line, what);
        let (text, options) = apart(text);
        let (mut hashes, mut hashed) = (Vec::new(), false);
        let mut words = words(options).into_iter();
        while let Some(word) = words.next() {
            let (option, value) = option_and_value(&word);
            if option == "--hash" {
                let value = value.or_else(|| words.next()).unwrap_or_default();
                let (kind, digits) = value.split_once(':').ok_or_else(|| bad("`--hash` names no kind of hash"))?;
                hashed = true;
                if kind.eq_ignore_ascii_case("sha256") {
                    hashes.push(digits.parse().map_err(|error| bad(&format!("{error}")))?);
                }
            } else if option.starts_with('-') {
                self.tell(path, line, Told::Option(masked(&option)));
            }
        }
        let read = match named(text, editable == Editable::Yes) {
            Named::Requirement => {
                let requirement = Requirement::parse_lenient(text).map_err(|error| bad(&error.to_string()))?;
                of_requirement(requirement).map_err(|what| bad(&what))?
            }
            Named::File { file, marker } => {
                of_file(file, None, editable).and_then(|read| with_marker(read, marker)).map_err(|what| bad(&what))?
            }
        };
        hashes.extend(read.sha256);
        hashes.sort();
        hashes.dedup();
        hashed |= !hashes.is_empty();
        let Some(name) = read.name else {
            self.tell(path, line, Told::Unnamed);
            return Ok(());
        };
        let one_hash = if let [one] = hashes[..] { Some(one) } else { None };
        let wheel = read.wheel.map(|(file, path)| Wheel { file, size: None, sha256: one_hash, path: Some(path) });
        let source = matches!(read.origin, Origin::Url(_) | Origin::Path(_)) && wheel.is_none();
        let release = Release {
            line,
            file: None,
            name,
            version: read.version,
            origin: read.origin,
            markers: read.marker.into_iter().collect(),
            requires_python: None,
            wheels: wheel.into_iter().collect(),
            sdist: source.then_some(Archive { size: None, sha256: one_hash }),
            hashes,
        };
        let lines = if role == Role::Asked { &mut self.asked } else { &mut self.constraints };
        lines.push(Line { path: path.to_owned(), release, hashed });
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Editable {
    Yes,
    No,
}

/// What a requirement says.
struct Read {
    name: Option<PackageName>,
    version: Option<Version>,
    origin: Origin,
    marker: Option<Marker>,
    wheel: Option<(WheelName, String)>,
    /// From the fragment of its address.
    sha256: Option<Sha256>,
}

fn of_requirement(requirement: Requirement) -> Result<Read, String> {
    let Requirement { name, source, marker, .. } = requirement;
    match source {
        RequirementSource::Versions(versions) => Ok(Read {
            name: Some(name),
            version: versions.exact().cloned(),
            origin: Origin::AnyIndex,
            marker,
            wheel: None,
            sha256: None,
        }),
        RequirementSource::Url(address) => {
            let read = of_file(&address, Some(&name), Editable::No)?;
            Ok(Read { marker, ..read })
        }
    }
}

fn with_marker(read: Read, marker: Option<&str>) -> Result<Read, String> {
    let marker = marker.map(|marker| marker.parse().map_err(|error| format!("{error}"))).transpose()?;
    Ok(Read { marker, ..read })
}

/// Reads an address or path.
fn of_file(text: &str, name: Option<&PackageName>, editable: Editable) -> Result<Read, String> {
    let (plain, fragment) = text.split_once('#').unwrap_or((text, ""));
    let part = |key: &str| fragment.split('&').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
    let egg = part("egg").map(|egg| egg.split('[').next().unwrap_or_default());
    let sha256 = part("sha256").map(|digits| digits.parse().map_err(|error| format!("{error}"))).transpose()?;
    let name = match (name, egg) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(egg)) => Some(egg.parse().map_err(|error| format!("{error}"))?),
        (None, None) => None,
    };
    let mut read = Read { name, version: None, origin: Origin::AnyIndex, marker: None, wheel: None, sha256 };
    if let Some((_, address)) = plain.split_once('+').filter(|(kind, _)| ["git", "hg", "svn", "bzr"].contains(kind)) {
        read.origin = repository(address);
        return Ok(read);
    }
    let (file, path) = if plain.contains("://") || plain.starts_with("file:") {
        let address = Address::of(plain).ok_or_else(|| format!("`{}` is not an address", masked(plain)))?;
        let parts = (address.file_name(), address.path());
        read.origin = Origin::Url(address);
        parts
    } else {
        let path = without_secrets(plain.split('[').next().unwrap_or_default());
        read.origin = Origin::Path(path.clone());
        (last_part(&path).to_owned(), path)
    };
    if file.ends_with(".whl") {
        let wheel: WheelName = file.parse().map_err(|error| format!("{error}"))?;
        if let Some(other) = read.name.as_ref().filter(|name| **name != wheel.name) {
            return Err(format!("`{wheel}` is not a wheel of {other}"));
        }
        read.name = Some(wheel.name.clone());
        read.version = Some(wheel.version.clone());
        read.wheel = Some((wheel, path));
    } else if editable == Editable::Yes || !ARCHIVES.iter().any(|ending| file.ends_with(ending)) {
        let kind = if editable == Editable::Yes { Folder::Editable } else { Folder::Built };
        if !matches!(&read.origin, Origin::Url(address) if !address.as_str().starts_with("file:")) {
            read.origin = Origin::Folder { path, kind };
        }
    }
    Ok(read)
}

/// Reads `https://host/repository@revision`.
fn repository(address: &str) -> Origin {
    let host = address.find("://").map_or(0, |at| at + 3);
    let path = address[host..].find('/').map_or(address.len(), |at| host + at);
    let (plain, revision) = match address[path..].rfind('@') {
        Some(at) => (&address[..path + at], Some(&address[path + at + 1..])),
        None => (address, None),
    };
    let whole = |revision: &&str| revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    let commit = revision.filter(whole).map(str::to_owned);
    let address = Address::of(plain).map_or_else(|| without_secrets(plain), |address| address.to_string());
    Origin::Repository { address, commit }
}
