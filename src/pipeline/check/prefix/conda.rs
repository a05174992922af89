//! Packages of conda: what `conda-meta/` says that each brought, and whether that is there.
//!
//! conda writes the prefix's path into what it installs, libraries too, and signs those anew; the RECORDs that lie in its
//! packages are of the files before that. Its own notes have the digest of each file as it was then left.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::SystemTime;

use serde::Deserialize;

use crate::check::contents::How;
use crate::check::contents::Level;
use crate::check::contents::Tree;
use crate::check::contents::Unsure;
use crate::check::contents::What;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::pep::Version;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::parallel;
use crate::sys::survey;
use crate::sys::survey::ToDigest;
use crate::sys::tree;

use super::installed::Distribution;

/// The folder of conda's notes.
const FOLDER: &str = "conda-meta";

/// The largest note that is read: 100,000 files have 30 MB.
const LARGEST: u64 = 256 << 20;

/// What conda noted in a prefix.
#[derive(Debug, Default)]
pub(in crate::pipeline) struct Conda {
    /// Its packages, by name.
    pub(in crate::pipeline) packages: Vec<Package>,
    /// Notes that cannot be read, and why.
    pub(in crate::pipeline) failed: Vec<(String, String)>,
    /// The place of the package that brought a path.
    owners: BTreeMap<String, usize>,
}

/// A package of conda's.
#[derive(Debug)]
pub(in crate::pipeline) struct Package {
    /// Its name there, which may be that of no distribution.
    pub(in crate::pipeline) name: String,
    /// Its version there.
    pub(in crate::pipeline) version: String,
    /// The names of what it depends on.
    pub(in crate::pipeline) depends: BTreeSet<String>,
    /// What it brought.
    files: Vec<File>,
    /// When that was noted, which is done last.
    written: SystemTime,
}

#[derive(Debug)]
struct File {
    path: String,
    link: bool,
    size: Option<u64>,
    sha256: Option<Sha256>,
}

#[derive(Deserialize)]
struct Note {
    name: String,
    version: String,
    #[serde(default)]
    depends: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    paths_data: PathsData,
}

#[derive(Deserialize, Default)]
struct PathsData {
    #[serde(default)]
    paths: Vec<Noted>,
}

#[derive(Deserialize)]
struct Noted {
    #[serde(rename = "_path")]
    path: String,
    #[serde(default)]
    path_type: Option<String>,
    #[serde(default)]
    sha256: Option<String>,
    #[serde(default)]
    sha256_in_prefix: Option<String>,
    #[serde(default)]
    size_in_bytes: Option<u64>,
    #[serde(default)]
    prefix_placeholder: Option<String>,
}

impl From<Noted> for File {
    fn from(noted: Noted) -> Self {
        let digest = |text: Option<String>| text?.parse().ok();
        let plain = noted.prefix_placeholder.is_none_or(|placeholder| placeholder.is_empty());
        // Where a path is written in, the archive's bytes are not those of the prefix.
        let sha256 = digest(noted.sha256_in_prefix).or_else(|| digest(noted.sha256).filter(|_| plain));
        let link = noted.path_type.as_deref() == Some("softlink");
        Self { path: noted.path, link, size: noted.size_in_bytes.filter(|_| plain && !link), sha256 }
    }
}

/// Reads conda's notes; empty where it made no prefix.
pub(in crate::pipeline) fn read(tree: &Tree) -> Result<Conda, FsError> {
    let folder = tree.root.join(FOLDER);
    let names: Vec<String> = fs::names(&folder)?.into_iter().filter(|name| name.ends_with(".json")).collect();
    let read = parallel::map(&names, tree::workers(), |name| package(tree, name).map_err(|why| (name.clone(), why)));
    let mut conda = Conda::default();
    for read in read {
        match read {
            Ok(package) => conda.packages.push(package),
            Err((name, why)) => conda.failed.push((format!("{FOLDER}/{name}"), why)),
        }
    }
    for (at, package) in conda.packages.iter().enumerate() {
        for file in &package.files {
            conda.owners.entry(file.path.clone()).or_insert(at);
        }
    }
    Ok(conda)
}

fn package(tree: &Tree, name: &str) -> Result<Package, String> {
    let path = tree.root.join(FOLDER).join(name);
    let shown = |error: FsError| error.cause.to_string();
    let facts = tree::facts(&path).map_err(shown)?.filter(|facts| facts.plain && facts.size <= LARGEST);
    let facts = facts.ok_or("it is no file that conda writes")?;
    let bytes = fs::read_bytes(&path).map_err(shown)?.unwrap_or_default();
    let note: Note = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let mut files: Vec<File> = note.paths_data.paths.into_iter().map(File::from).collect();
    if files.is_empty() {
        let bare = |path| File { path, link: false, size: None, sha256: None };
        files.extend(note.files.into_iter().map(bare));
    }
    // Nothing outside of the prefix is looked at, whatever a note says.
    files.retain(|file| !file.path.split('/').any(|part| matches!(part, "" | "." | "..")));
    let depends = note.depends.iter().filter_map(|depends| depends.split([' ', '=', '<', '>', '!', '[']).next());
    let depends = depends.map(str::to_owned).collect();
    Ok(Package { name: note.name, version: note.version, depends, files, written: facts.modified })
}

impl Conda {
    /// Returns the place of the package that brought a path.
    pub(in crate::pipeline) fn owner(&self, path: &str) -> Option<usize> {
        self.owners.get(path).copied()
    }

    /// Returns the place of the package that brought a distribution, as long as it is that distribution that is there.
    pub(in crate::pipeline) fn brought(&self, distribution: &Distribution) -> Option<usize> {
        let metadata = ["METADATA", "PKG-INFO"].iter().find_map(|file| {
            let path = format!("{}/{file}", distribution.folder);
            self.owner(&path)
        });
        // The older form may be one file.
        metadata.or_else(|| self.owner(&distribution.folder))
    }

    /// Says whether a package brought something at a path or below it.
    pub(super) fn has(&self, path: &str) -> bool {
        let below = self.owners.range(path.to_owned()..).next();
        below.is_some_and(|(first, _)| first == path || path.ends_with('/') && first.starts_with(path))
    }

    /// Finds packages of which another installer has put in another release: their distribution is there no more, and one
    /// of the same name is.
    pub(super) fn replaced<'a>(&self, installed: &'a [Distribution]) -> BTreeMap<usize, &'a Distribution> {
        let mut replaced = BTreeMap::new();
        for one in installed.iter().filter(|one| self.brought(one).is_none()) {
            let name = one.name.as_str().replace('-', "_");
            for (at, package) in self.packages.iter().enumerate() {
                let is = |file: &File| {
                    let metadata = file.path.strip_suffix(".dist-info/METADATA");
                    let stem = metadata.and_then(|path| path.rsplit('/').next());
                    let found = stem.and_then(|stem| stem.split_once('-'));
                    found.is_some_and(|(found, _)| {
                        found.parse::<PackageName>().is_ok_and(|found| found.as_str().replace('-', "_") == name)
                    })
                };
                if let Some(file) = package.files.iter().find(|file| is(file))
                    && !installed.iter().any(|other| file.path.starts_with(&format!("{}/", other.folder)))
                {
                    replaced.insert(at, one);
                }
            }
        }
        replaced
    }
}

impl Package {
    /// Lists what it brought, but for what is compiled of it.
    pub(in crate::pipeline) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.path.as_str()).filter(|path| !path.ends_with(".pyc"))
    }

    /// Returns its name as one that a distribution might have.
    pub(super) fn package_name(&self) -> Option<PackageName> {
        self.name.trim_matches('_').parse().ok()
    }

    /// Returns its version as one that a distribution might have: what PEP 440 does not know stands behind a `+`.
    pub(super) fn pep_version(&self) -> Version {
        let own = self.version.parse().ok();
        own.or_else(|| {
            let end = self.version.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(self.version.len());
            let (number, rest) = self.version.split_at(end);
            let rest: String = rest.chars().filter(char::is_ascii_alphanumeric).collect();
            let number = if number.trim_matches('.').is_empty() { "0" } else { number.trim_matches('.') };
            if rest.is_empty() { number.parse().ok() } else { format!("{number}+{rest}").parse().ok() }
        })
        .unwrap_or_else(|| "0".parse().expect("a version"))
    }
}

/// What came of holding a prefix against conda's notes.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// What is not as noted: the place of the package, and what.
    pub(super) differences: Vec<(usize, What)>,
    /// What could not be told.
    pub(super) unsure: Vec<Unsure>,
    /// How many files were looked at.
    pub(super) files: usize,
    /// How many of them were read whole.
    pub(super) hashed: usize,
}

/// Holds what is there against the notes, but for packages at the places in `but`.
pub(super) fn hold(tree: &Tree, conda: &Conda, but: &BTreeSet<usize>, level: Level) -> Held {
    let mut held = Held::default();
    if level == Level::Names {
        return held;
    }
    let all = conda.packages.iter().enumerate().filter(|(at, _)| !but.contains(at));
    // Of a path that two brought the last one's is there: which that was is not noted.
    let all = all.flat_map(|(at, package)| package.files.iter().map(move |file| (at, file)));
    let all: Vec<(usize, &File)> =
        all.filter(|(at, file)| !file.path.ends_with(".pyc") && conda.owner(&file.path) == Some(*at)).collect();
    held.files = all.len();
    let found = parallel::map(&all, tree::workers(), |(_, file)| tree::facts(&tree.root.join(&file.path)));
    let mut suspects: Vec<(usize, &File, u64)> = Vec::new();
    for ((at, file), found) in all.into_iter().zip(found) {
        let path = file.path.clone();
        let changed = |how| What::Changed { path: file.path.clone(), how };
        let what = match found {
            Err(error) => {
                held.unsure.push(Unsure::Unreadable { path, why: error.cause.to_string() });
                continue;
            }
            Ok(None) => What::Missing { path },
            Ok(Some(facts)) if facts.folder => changed(How::NotAFile { found: "a folder" }),
            Ok(Some(_)) if file.link => continue,
            Ok(Some(facts)) if facts.link => {
                suspects.push((at, file, facts.size));
                continue;
            }
            Ok(Some(facts)) => match file.size {
                Some(expected) if expected != facts.size => changed(How::Size { expected, found: facts.size }),
                _ => {
                    if level == Level::Full || facts.modified >= conda.packages[at].written {
                        suspects.push((at, file, facts.size));
                    }
                    continue;
                }
            },
        };
        held.differences.push((at, what));
    }
    suspects.retain(|(_, file, _)| file.sha256.is_some());
    let to_digest = |(_, file, size): &(usize, &File, u64)| ToDigest { path: tree.root.join(&file.path), size: *size };
    let digests = survey::sha256(&suspects.iter().map(to_digest).collect::<Vec<_>>());
    for ((at, file, _), digest) in suspects.into_iter().zip(digests) {
        let path = file.path.clone();
        match digest {
            Err(error) => held.unsure.push(Unsure::Unreadable { path, why: error.cause.to_string() }),
            Ok(None) => held.differences.push((at, What::Missing { path })),
            Ok(Some(digest)) => {
                held.hashed += 1;
                if Some(Sha256::from_bytes(digest)) != file.sha256 {
                    held.differences.push((at, What::Changed { path, how: How::Bytes }));
                }
            }
        }
    }
    held.differences.sort_by(|(one, first), (other, second)| (one, first.path()).cmp(&(other, second.path())));
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_other_kinds() {
        let check = |text: &str, expected: &str| {
            let package = Package {
                name: "x".to_owned(),
                version: text.to_owned(),
                depends: BTreeSet::new(),
                files: Vec::new(),
                written: SystemTime::UNIX_EPOCH,
            };
            assert_eq!(package.pep_version().to_string(), expected);
        };
        check("2.1.0", "2.1.0");
        check("1.1.1w", "1.1.1+w");
        check("9e", "9+e");
        check("2.0.1_1", "2.0.1+1");
        check("master", "0+master");
        check("", "0");
    }
}
