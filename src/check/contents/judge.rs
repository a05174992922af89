//! From what is in a tree and what should be to what differs. Pure: what has to be read meanwhile is asked for, and handed
//! in.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;
use std::time::SystemTime;

use crate::environment;
use crate::environment::Package;
use crate::install;
use crate::install::CachedFile;
use crate::install::INSTALLERS;
use crate::install::Unpacked;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::pep::WheelName;
use crate::sys::tree::Facts;

use super::Contents;
use super::Difference;
use super::How;
use super::Level;
use super::Unsure;
use super::What;
use super::digest;
use super::digest::Content;
use super::launcher;
use super::read::Digested;
use super::read::Distribution;
use super::read::Found;
use super::read::Record;
use super::read::Row;
use super::tree::Maker;
use super::tree::Tree;
use super::wanted::Wanted;
use super::wanted::WantedPackage;

/// Compares distributions by name and version.
pub(super) fn names<'a>(found: impl Iterator<Item = &'a Package>, wanted: &Wanted) -> Vec<Difference> {
    let mut there: BTreeMap<&PackageName, bool> = BTreeMap::new();
    let mut differences = Vec::new();
    let mut found: Vec<&Package> = found.collect();
    found.sort();
    for package in found {
        let version = package.version.clone();
        let Some(locked) = wanted.packages.iter().find(|locked| locked.name.as_str() == package.name) else {
            let name: Option<PackageName> = package.name.parse().ok();
            if name.as_ref().is_none_or(|name| !wanted.spare.contains(name)) {
                differences.push(Difference { package: name, what: What::NotLocked { found: version } });
            }
            continue;
        };
        let whole = there.entry(&locked.name).or_default();
        if locked.is(package) && !*whole {
            *whole = true;
        } else {
            let what = What::OtherVersion { found: version, locked: locked.version.clone() };
            differences.push(Difference { package: Some(locked.name.clone()), what });
        }
    }
    for locked in wanted.packages.iter().filter(|locked| !there.contains_key(&locked.name)) {
        let what = What::NotInstalled { locked: locked.version.clone() };
        differences.push(Difference { package: Some(locked.name.clone()), what });
    }
    differences.sort_by(|one, other| one.package.cmp(&other.package));
    differences
}

impl WantedPackage {
    /// Returns whether a distribution is the one that should be there.
    pub fn is(&self, found: &Package) -> bool {
        let own = Package { name: self.name.to_string(), version: self.version.to_string() };
        environment::is_same(&own, found)
    }
}

/// A distribution, or a package without one.
struct Unit<'a> {
    name: &'a PackageName,
    distribution: Option<&'a Distribution>,
    /// What is locked of it; `None` where another release, or none, is.
    locked: Option<&'a WantedPackage>,
    /// Its wheel in the cache, where that was asked.
    wheel: Option<Unpacked>,
    /// The files that should be there.
    rows: Cow<'a, [Row]>,
}

/// A file whose bytes count.
struct Suspect {
    unit: usize,
    row: usize,
}

/// The comparison of a tree with what should be in it.
pub(super) struct Judge<'a> {
    tree: &'a Tree,
    wanted: &'a Wanted,
    level: Level,
    found: &'a Found,
    own: BTreeSet<String>,
    units: Vec<Unit<'a>>,
    suspects: Vec<Suspect>,
    names: Vec<Difference>,
    /// By their paths.
    files: BTreeMap<String, Difference>,
    unsure: BTreeSet<Unsure>,
    judged: usize,
}

impl<'a> Judge<'a> {
    pub(super) fn new(tree: &'a Tree, wanted: &'a Wanted, level: Level, found: &'a Found) -> Self {
        let mut units = Vec::with_capacity(found.distributions.len());
        for distribution in &found.distributions {
            let locked = wanted.packages.iter().find(|locked| locked.is(&distribution.package));
            let rows = Cow::Borrowed(distribution.record.rows());
            let name = &distribution.name;
            units.push(Unit { name, distribution: Some(distribution), locked, wheel: None, rows });
        }
        for locked in &wanted.packages {
            if !found.distributions.iter().any(|one| one.name == locked.name) {
                let rows = Cow::Borrowed(&[][..]);
                units.push(Unit { name: &locked.name, distribution: None, locked: Some(locked), wheel: None, rows });
            }
        }
        let unreadable = found.failed.iter().map(|(path, why)| (path.clone(), why.clone()));
        Self {
            tree,
            wanted,
            level,
            found,
            own: environment::own_paths(&tree.site),
            units,
            suspects: Vec::new(),
            names: names(found.distributions.iter().map(|one| &one.package), wanted),
            files: BTreeMap::new(),
            unsure: unreadable.map(|(path, why)| Unsure::Unreadable { path, why }).collect(),
            judged: 0,
        }
    }

    /// Lists the units whose wheel would tell more than RECORD does.
    pub(super) fn needs_wheel(&self) -> Vec<usize> {
        let needs = |at: &usize| self.level == Level::Full || self.is_touched(&self.units[*at]);
        (0..self.units.len()).filter(|at| self.wheel(*at).is_some()).filter(needs).collect()
    }

    /// Returns the wheel that a unit is to be from.
    pub(super) fn wheel(&self, at: usize) -> Option<&'a (WheelName, Sha256)> {
        let unit = &self.units[at];
        // What conda packed has other bytes.
        unit.locked?.wheel.as_ref().filter(|_| unit.distribution.is_none_or(|one| !one.conda))
    }

    /// Takes it.
    pub(super) fn take_wheel(&mut self, at: usize, wheel: Unpacked) {
        self.units[at].wheel = Some(wheel);
    }

    /// Returns whether RECORD or one of its files is not as it was when the tree was finished, as far as times tell.
    fn is_touched(&self, unit: &Unit<'_>) -> bool {
        let Some(distribution) = unit.distribution else { return true };
        let unread = matches!(distribution.record, Record::Absent | Record::Broken);
        unread
            || self.is_record_late(distribution)
            || unit.rows.iter().any(|row| {
                self.found.facts.get(&row.path).is_some_and(|facts| facts.plain && !self.is_timely(unit, row, facts))
            })
    }

    /// Returns whether files of a tree of macml's bear other times than those of the locked wheel: they may be of another
    /// one of the same release, and RECORD with them.
    fn is_doubtful(&self, unit: &Unit<'_>) -> bool {
        let is_macmls = matches!(self.tree.maker, Maker::Macml { .. });
        is_macmls && unit.locked.is_some_and(|locked| locked.wheel.is_some()) && self.is_touched(unit)
    }

    /// Returns whether RECORD was written after the tree was finished.
    fn is_record_late(&self, distribution: &Distribution) -> bool {
        match self.tree.maker {
            Maker::Macml { done } => distribution.time.is_none_or(|time| time > done),
            Maker::Other => false,
        }
    }

    /// Returns whether a file bears a time that only one bears that was not written to since it was installed.
    fn is_timely(&self, unit: &Unit<'_>, row: &Row, facts: &Facts) -> bool {
        let written: Option<SystemTime> = unit.distribution.and_then(|one| one.time);
        match self.tree.maker {
            Maker::Macml { done } => {
                let wheel = unit.locked.and_then(|locked| locked.wheel.as_ref());
                let Some((_, sha256)) = wheel else { return facts.modified <= done };
                let made = row.path.starts_with("bin/") || is_installers(&self.tree.site, &row.path);
                facts.modified == install::time(sha256) || made && facts.modified <= done
            }
            Maker::Other => written.is_some_and(|written| facts.modified < written),
        }
    }

    /// Holds files against rows, by what is known without reading them.
    pub(super) fn files(&mut self) {
        let shared = self.shared();
        for at in 0..self.units.len() {
            if self.units[at].locked.is_some() {
                self.records(at, &shared);
                self.rows(at);
            }
        }
    }

    /// Lists the paths that more than one RECORD names, where that matters.
    fn shared(&self) -> HashSet<String> {
        let mut shared = HashSet::new();
        if self.units.iter().any(|unit| unit.wheel.is_some()) {
            let mut seen = HashSet::new();
            let all = self.units.iter().flat_map(|unit| unit.rows.iter());
            shared.extend(all.filter(|row| !seen.insert(row.path.as_str())).map(|row| row.path.clone()));
        }
        shared
    }

    /// Judges the RECORD of a unit, and puts the rows of its wheel in their place.
    fn records(&mut self, at: usize, shared: &HashSet<String>) {
        let unit = &self.units[at];
        let name = unit.name.clone();
        let late = unit.distribution.is_some_and(|one| self.is_record_late(one));
        let mut edited = false;
        if let Some(wheel) = &unit.wheel {
            let (rows, differs) = self.of_wheel(unit, wheel, shared);
            edited = differs;
            self.units[at].rows = Cow::Owned(rows);
        } else if unit.distribution.is_some() && (self.level == Level::Full || late || self.is_doubtful(unit)) {
            self.unsure.insert(Unsure::Record { package: name.clone() });
        }
        let Some(distribution) = self.units[at].distribution else { return };
        let path = format!("{}/RECORD", distribution.folder);
        match &distribution.record {
            Record::Rows { outside, .. } => {
                for path in outside {
                    self.unsure.insert(Unsure::Outside { package: name.clone(), path: path.clone() });
                }
                if edited {
                    self.differs(Some(&name), What::Changed { path, how: How::Bytes });
                }
            }
            Record::Broken => self.differs(Some(&name), What::Changed { path, how: How::Bytes }),
            Record::Absent if self.is_unread(&path) => {}
            Record::Absent => {
                let known = self.units[at].wheel.is_some() || matches!(self.tree.maker, Maker::Macml { .. });
                if known && distribution.folder.ends_with(".dist-info") {
                    let what = match self.found.facts.get(&path) {
                        Some(facts) => What::Changed { path, how: How::NotAFile { found: what_is(facts) } },
                        None => What::Missing { path },
                    };
                    self.differs(Some(&name), what);
                }
                if self.units[at].wheel.is_none() {
                    self.unsure.insert(Unsure::NoRecord { package: name });
                }
            }
        }
    }

    /// Returns the files that a wheel brings, with those that an installer adds as RECORD has them, and whether RECORD
    /// contradicts it.
    fn of_wheel(&self, unit: &Unit<'_>, wheel: &Unpacked, shared: &HashSet<String>) -> (Vec<Row>, bool) {
        let layout = self.tree.layout();
        // Headers have a folder of another name with each installer.
        let plain = |path: &str| digest::plain_path(path, &self.tree.site, self.tree.python);
        let places = wheel.own_files().map(|file| (layout.place(wheel, &file.path), file));
        let mut files: BTreeMap<String, _> = places.map(|(path, file)| (plain(&path), (path, file))).collect();
        let commands = wheel.about.entry_points.iter().map(|entry| format!("bin/{}", entry.name));
        let commands: BTreeSet<String> = commands.collect();
        // Other installers leave scripts the modes that the archive has, which may be none.
        let runs = |file: &CachedFile, path: &str| {
            file.executable && (self.tree.maker != Maker::Other || !path.starts_with("bin/"))
        };
        let mut rows = Vec::with_capacity(files.len() + 4);
        let mut edited = false;
        for row in unit.rows.iter() {
            match files.remove(&plain(&row.path)) {
                // What an installer writes anew, and what another package may have put there.
                Some((_, file)) if file.python_script || shared.contains(&row.path) => {
                    rows.push(Row { executable: runs(file, &row.path), ..row.clone() });
                }
                Some((_, file)) => {
                    edited |= row.sha256.is_some_and(|sha256| sha256 != file.sha256)
                        || row.size.is_some_and(|size| size != file.size);
                    let (size, sha256) = (Some(file.size), Some(file.sha256));
                    rows.push(Row { path: row.path.clone(), size, sha256, executable: runs(file, &row.path) });
                }
                None if commands.contains(&row.path) => rows.push(Row { executable: true, ..row.clone() }),
                None if is_installers(&self.tree.site, &row.path) || is_compiled(&row.path) => rows.push(row.clone()),
                // Other installers add what they like.
                None if self.tree.maker == Maker::Other && !row.path.starts_with(&self.tree.site) => {
                    rows.push(row.clone());
                }
                None => edited = true,
            }
        }
        for (path, file) in files.into_values() {
            edited = true;
            let (size, sha256) = (Some(file.size), Some(file.sha256));
            let content = if file.python_script { (None, None) } else { (size, sha256) };
            let executable = runs(file, &path);
            rows.push(Row { path, size: content.0, sha256: content.1, executable });
        }
        (rows, edited)
    }

    fn rows(&mut self, at: usize) {
        let rows = std::mem::take(&mut self.units[at].rows);
        let path_of_record = self.units[at].distribution.map(|one| format!("{}/RECORD", one.folder));
        for (row_at, row) in rows.iter().enumerate() {
            if is_compiled(&row.path) {
                continue;
            }
            self.judged += 1;
            let unit = &self.units[at];
            let changed = |how| What::Changed { path: row.path.clone(), how };
            let what = match self.found.facts.get(&row.path) {
                None if self.is_unread(&row.path) => continue,
                None => What::Missing { path: row.path.clone() },
                // Some installers make links into their cache, or their store.
                Some(facts) if facts.link && self.tree.maker == Maker::Other => {
                    self.suspects.push(Suspect { unit: at, row: row_at });
                    continue;
                }
                Some(facts) if !facts.plain => changed(How::NotAFile { found: what_is(facts) }),
                Some(facts) => match row.size {
                    Some(expected) if expected != facts.size => changed(How::Size { expected, found: facts.size }),
                    _ => {
                        if path_of_record.as_ref() != Some(&row.path)
                            && (self.level == Level::Full || !self.is_timely(unit, row, facts))
                        {
                            self.suspects.push(Suspect { unit: at, row: row_at });
                        }
                        if facts.executable || !row.executable && !self.is_command(unit, row, facts) {
                            continue;
                        }
                        changed(How::NotExecutable)
                    }
                },
            };
            let name = unit.name.clone();
            self.differs(Some(&name), what);
        }
        self.units[at].rows = rows;
    }

    /// Returns whether a file of `bin` was written by macml, rather than linked with the mode that its wheel gives it.
    fn is_command(&self, unit: &Unit<'_>, row: &Row, facts: &Facts) -> bool {
        let wheel = unit.locked.and_then(|locked| locked.wheel.as_ref()).filter(|_| self.tree.maker != Maker::Other);
        row.path.starts_with("bin/") && wheel.is_some_and(|(_, sha256)| facts.modified != install::time(sha256))
    }

    /// Returns whether a path could not be looked at, or a folder above it.
    fn is_unread(&self, path: &str) -> bool {
        let is_above = |folder: &str| folder.is_empty() || path == folder || path.starts_with(&format!("{folder}/"));
        self.found.failed.iter().any(|(folder, _)| is_above(folder))
    }

    fn differs(&mut self, package: Option<&PackageName>, what: What) {
        let path = match &what {
            What::Missing { path } | What::Changed { path, .. } | What::Extra { path, .. } => path.clone(),
            _ => return self.names.push(Difference { package: package.cloned(), what }),
        };
        let known = self.files.get(&path).map(|one| &one.what);
        // Other bytes tell more than a mode does.
        if known.is_none_or(|what| matches!(what, What::Changed { how: How::NotExecutable, .. })) {
            self.files.insert(path, Difference { package: package.cloned(), what });
        }
    }

    /// Lists the files to digest, with their sizes.
    pub(super) fn to_digest(&self) -> Vec<(String, u64)> {
        let size = |path: &str| self.found.facts.get(path).map_or(0, |facts| facts.size);
        let mut paths: BTreeSet<&str> = BTreeSet::new();
        paths.extend(self.suspects.iter().map(|one| self.row(one).path.as_str()));
        if self.level == Level::Full {
            let all = self.found.facts.iter();
            let readable = all.filter(|(_, facts)| facts.plain || facts.link && self.tree.maker == Maker::Other);
            paths.extend(readable.map(|(path, _)| path.as_str()).filter(|path| !self.own.contains(*path)));
        }
        paths.into_iter().map(|path| (path.to_owned(), size(path))).collect()
    }

    fn row(&self, suspect: &Suspect) -> &Row {
        &self.units[suspect.unit].rows[suspect.row]
    }

    /// Lists the files whose bytes are needed themselves: commands, and what links lead to.
    pub(super) fn to_read(&self) -> Vec<String> {
        if self.level < Level::Full {
            return Vec::new();
        }
        let needed = |path: &str, facts: &Facts| {
            facts.link || facts.plain && (path.starts_with("bin/") || path.ends_with(".dist-info/entry_points.txt"))
        };
        let needed = self.found.facts.iter().filter(|(path, facts)| needed(path, facts));
        needed.map(|(path, _)| path.clone()).filter(|path| !self.own.contains(path)).collect()
    }

    /// Ends it with what was read.
    pub(super) fn settle(mut self, digests: HashMap<String, Digested>, texts: &HashMap<String, Vec<u8>>) -> Contents {
        self.bytes(&digests);
        if self.level == Level::Full {
            self.commands(texts);
        }
        let mut files = std::mem::take(&mut self.files);
        let owners = self.owners();
        let extras = self.extras(&owners);
        let extras = respelled(&mut files, extras);
        let extras = self.gathered(extras, &owners);
        let digest = match self.level {
            Level::Full => self.digest(&digests, texts, &owners),
            _ => None,
        };
        let read = digests.iter().filter(|(_, digest)| matches!(digest, Ok(Some(_))));
        let (hashed, bytes) = read.fold((0, 0), |(files, bytes), (path, _)| {
            (files + 1, bytes + self.found.facts.get(path).map_or(0, |facts| facts.size))
        });
        let mut files: Vec<Difference> = files.into_values().chain(extras).collect();
        files.sort_by(|one, other| one.what.path().cmp(&other.what.path()));
        let differences = self.names.into_iter().chain(files).collect();
        let unsure = self.unsure.into_iter().collect();
        Contents { differences, unsure, files: self.judged, hashed, bytes, digest }
    }

    /// Holds digests against rows.
    fn bytes(&mut self, digests: &HashMap<String, Digested>) {
        for suspect in std::mem::take(&mut self.suspects) {
            let (row, name) = (self.row(&suspect).clone(), self.units[suspect.unit].name.clone());
            let path = row.path.clone();
            let what = match digests.get(&row.path) {
                Some(Err(why)) => {
                    self.unsure.insert(Unsure::Unreadable { path, why: why.clone() });
                    continue;
                }
                None | Some(Ok(None)) => What::Missing { path },
                Some(Ok(Some(found))) => match row.sha256 {
                    Some(expected) if expected == *found => continue,
                    Some(_) => What::Changed { path, how: How::Bytes },
                    // Of itself RECORD has none, and what a wheel's scripts become its text tells.
                    None if is_installers(&self.tree.site, &path) || self.units[suspect.unit].wheel.is_some() => {
                        continue;
                    }
                    None => {
                        self.unsure.insert(Unsure::NoDigest { package: name, path });
                        continue;
                    }
                },
            };
            self.differs(Some(&name), what);
        }
    }

    /// Holds commands against the wheels that they are made from: RECORD may have been edited with them.
    fn commands(&mut self, texts: &HashMap<String, Vec<u8>>) {
        let layout = self.tree.layout();
        let mut changed = Vec::new();
        for unit in &self.units {
            let Some(wheel) = &unit.wheel else { continue };
            let unbound = |text: &Vec<u8>| install::unbound(text, &|launch| self.tree.starts_own(launch));
            let scripts = wheel.scripts.iter().map(|(path, script)| {
                let path = layout.place(wheel, path);
                let same =
                    texts.get(&path).is_none_or(|text| unbound(text).is_some_and(|text| Some(text) == unbound(script)));
                (path, same)
            });
            let commands = wheel.about.entry_points.iter().map(|entry| {
                let path = format!("bin/{}", entry.name);
                let called = |text| launcher::called(&unbound(text)?);
                let expected = format!("{}:{}", entry.module, entry.object);
                let same = texts.get(&path).is_none_or(|text| called(text) == Some(expected));
                (path, same)
            });
            let all = scripts.chain(commands).filter(|(_, same)| !same);
            // Other installers may have forms of their own.
            changed.extend(all.filter(|_| self.tree.maker != Maker::Other).map(|(path, _)| (unit.name.clone(), path)));
        }
        for (name, path) in changed {
            self.differs(Some(&name), What::Changed { path, how: How::Bytes });
        }
    }

    /// Says whose each file is: a place in the units.
    fn owners(&self) -> HashMap<&str, usize> {
        let mut owners = HashMap::with_capacity(self.found.facts.len());
        for (at, unit) in self.units.iter().enumerate() {
            for row in unit.rows.iter() {
                owners.entry(row.path.as_str()).or_insert(at);
            }
        }
        owners
    }

    /// Lists the files that nobody brought.
    fn extras(&self, owners: &HashMap<&str, usize>) -> Vec<String> {
        let folders =
            self.units.iter().enumerate().filter_map(|(at, unit)| Some((unit.distribution?.folder.as_str(), at)));
        let folders: HashMap<&str, usize> = folders.collect();
        // The folder of a distribution without RECORD, and RECORD itself, belong to it.
        let of_distribution = |path: &str| {
            let rest = path.strip_prefix(self.tree.site.as_str()).and_then(|rest| rest.strip_prefix('/'));
            let first = rest.and_then(|rest| rest.split('/').next());
            let Some(folder) = first.map(|first| &path[..self.tree.site.len() + 1 + first.len()]) else { return false };
            folders.get(folder).is_some_and(|at| {
                let record = self.units[*at].distribution.map(|one| &one.record);
                !matches!(record, Some(Record::Rows { .. })) || path[folder.len()..] == *"/RECORD"
            })
        };
        let is_extra = |path: &str| !owners.contains_key(path) && !self.is_aside(path) && !of_distribution(path);
        let all = self.found.facts.iter().filter(|(_, facts)| !facts.folder).map(|(path, _)| path);
        let mut extras: Vec<String> = all.filter(|path| is_extra(path)).chain(&self.found.unnamed).cloned().collect();
        extras.sort();
        extras
    }

    /// Returns whether a file that no RECORD names is nobody's business: the environment's own, compiled, a Finder's.
    fn is_aside(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let venv = [".lock", "CACHEDIR.TAG"].contains(&path);
        let others = self.tree.maker == Maker::Other && ["_virtualenv.py", "_virtualenv.pth"].contains(&name);
        // Python takes the source where both are.
        let source = |path: &str| path.strip_suffix('c').is_some_and(|source| self.found.facts.contains_key(source));
        self.own.contains(path)
            || name == ".DS_Store"
            || venv
            || others
            || is_compiled(path)
            || path.ends_with(".pyc") && source(path)
    }

    /// Says which folder each of them lies in where nothing there was brought by a package, and whose it is else.
    fn gathered(&self, extras: Vec<String>, owners: &HashMap<&str, usize>) -> Vec<Difference> {
        if extras.is_empty() {
            return Vec::new();
        }
        let mut folders: HashMap<&str, Option<usize>> = HashMap::new();
        for (at, _) in self.tree.site.match_indices('/').chain([(self.tree.site.len(), "")]) {
            folders.insert(&self.tree.site[..at], None);
        }
        folders.insert("bin", None);
        let mut owned: Vec<(&str, usize)> = owners.iter().map(|(path, at)| (*path, *at)).collect();
        owned.sort_unstable();
        for (path, at) in owned {
            let mut rest = path;
            while let Some(end) = rest.rfind('/') {
                rest = &rest[..end];
                if folders.contains_key(rest) {
                    break;
                }
                folders.insert(rest, Some(at));
            }
        }
        let mut gathered: BTreeMap<String, (usize, Option<usize>)> = BTreeMap::new();
        for path in extras {
            let ends = path.match_indices('/').map(|(end, _)| end);
            let mut near = None;
            let mut shown = path.clone();
            for end in ends {
                match folders.get(&path[..end]) {
                    Some(owner) => near = *owner,
                    None => {
                        shown = path[..=end].to_owned();
                        break;
                    }
                }
            }
            gathered.entry(shown).or_insert((0, near)).0 += 1;
        }
        let one = |(path, (files, near)): (String, (usize, Option<usize>))| Difference {
            package: near.map(|at| self.units[at].name.clone()),
            what: What::Extra { path, files },
        };
        gathered.into_iter().map(one).collect()
    }

    /// Computes the digest of all that is there; `None` where something could not be read.
    fn digest(
        &self,
        digests: &HashMap<String, Digested>,
        texts: &HashMap<String, Vec<u8>>,
        owners: &HashMap<&str, usize>,
    ) -> Option<Sha256> {
        if !self.found.failed.is_empty() || !self.found.unnamed.is_empty() {
            return None;
        }
        let is_spare =
            |at: &usize| self.units[*at].locked.is_none() && self.wanted.spare.contains(self.units[*at].name);
        let commands: BTreeMap<String, String> = texts
            .iter()
            .filter(|(path, _)| path.ends_with("/entry_points.txt"))
            .flat_map(|(_, text)| install::entry_points(text).unwrap_or_default())
            .map(|entry| (format!("bin/{}", entry.name), format!("{}:{}", entry.module, entry.object)))
            .collect();
        let spare: Vec<&str> = self
            .units
            .iter()
            .enumerate()
            .filter(|(at, _)| is_spare(at))
            .filter_map(|(_, unit)| Some(unit.distribution?.folder.as_str()))
            .collect();
        let mut entries = BTreeMap::new();
        for (path, facts) in self.found.facts.iter().filter(|(_, facts)| !facts.folder) {
            let owner = owners.get(path.as_str());
            let in_spare = spare.iter().any(|folder| path.starts_with(*folder));
            if in_spare
                || owner.is_some_and(is_spare)
                || is_installers(&self.tree.site, path)
                || owner.is_none() && self.is_aside(path)
                || is_compiled(path)
            {
                continue;
            }
            let content = match texts.get(path) {
                Some(target) if facts.link && self.tree.maker != Maker::Other => Content::Link(target.clone()),
                Some(text) if !facts.link && path.starts_with("bin/") => {
                    match install::unbound(text, &|launch| self.tree.starts_own(launch)) {
                        Some(text) => digest::command(&text, commands.get(path)),
                        None => Content::Bytes(Sha256::of(text)),
                    }
                }
                _ => Content::Bytes((*digests.get(path)?.as_ref().ok()?)?),
            };
            entries.insert(digest::plain_path(path, &self.tree.site, self.tree.python), content);
        }
        Some(digest::of(&entries))
    }
}

impl What {
    /// Returns the path of a file; `None` where it is about a distribution.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Missing { path } | Self::Changed { path, .. } | Self::Extra { path, .. } => Some(path),
            Self::NotInstalled { .. } | Self::NotLocked { .. } | Self::OtherVersion { .. } => None,
        }
    }
}

/// Finds files that are missing under one name and there under another that is the same to a Mac.
fn respelled(files: &mut BTreeMap<String, Difference>, extras: Vec<String>) -> Vec<String> {
    if extras.is_empty() || files.is_empty() {
        return extras;
    }
    let missing = files.iter().filter(|(_, one)| matches!(one.what, What::Missing { .. }));
    let missing: HashMap<String, String> = missing.map(|(path, _)| (install::folded(path), path.clone())).collect();
    let keep = |found: &String| match missing.get(&install::folded(found)) {
        Some(path) => {
            let how = How::Respelled { found: found.clone() };
            if let Some(one) = files.get_mut(path) {
                one.what = What::Changed { path: path.clone(), how };
            }
            false
        }
        None => true,
    };
    extras.into_iter().filter(keep).collect()
}

/// Whether a path is that of something that Python compiled.
pub(super) fn is_compiled(path: &str) -> bool {
    path.split('/').any(|part| part == "__pycache__")
}

/// Whether a path is that of a file that an installer writes about a package, and no wheel may bring.
pub(super) fn is_installers(site: &str, path: &str) -> bool {
    let inside = path.strip_prefix(site).and_then(|rest| rest.strip_prefix('/'));
    let parts = inside.and_then(|inside| inside.split_once(".dist-info/"));
    // uv notes there what it took from its cache.
    parts.is_some_and(|(stem, file)| !stem.contains('/') && (INSTALLERS.contains(&file) || file == "uv_cache.json"))
}

fn what_is(facts: &Facts) -> &'static str {
    match (facts.folder, facts.link) {
        (true, _) => "a folder",
        (_, true) => "a symbolic link",
        _ => "no plain file",
    }
}
