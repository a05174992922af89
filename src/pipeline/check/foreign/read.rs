//! Reading a lock of another tool, and what each Mac gets of it.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::diag::Code;
use crate::diag::Finding;
use crate::host::Host;
use crate::index::download::Place;
use crate::knowledge::Circumstances;
use crate::lock::foreign;
use crate::lock::foreign::Choice;
use crate::lock::foreign::ForeignLock;
use crate::lock::foreign::Machine;
use crate::lock::foreign::Origin;
use crate::lock::foreign::Presence;
use crate::lock::foreign::Selected;
use crate::lock::foreign::Selection;
use crate::lock::foreign::Taken;
use crate::lock::foreign::model::Folder;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::pipeline::check::part::Because;
use crate::pipeline::check::part::Level;
use crate::pipeline::check::part::Of;
use crate::pipeline::check::part::On;
use crate::pipeline::check::part::Part;
use crate::pipeline::check::part::Sum;
use crate::pipeline::check::part::Word;
use crate::pipeline::check::set::Declared;
use crate::pipeline::check::set::File;
use crate::pipeline::check::set::Mac;
use crate::pipeline::check::set::Release;
use crate::pipeline::check::set::Set;
use crate::target::Floor;
use crate::target::MacosVersion;
use crate::target::Platform;
use crate::target::PythonMinor;
use crate::target::Target;

use super::Beside;
use super::Error;
use super::Find;
use super::Foreign;
use super::Open;
use super::places::Places;
use super::python;
use super::python::Python;
use super::told;
use super::told::Whom;

/// Reads a lock for the declared floor and for each Mac asked about; `here` is this machine, if it is a Mac.
///
/// The path is absolute, as are then those of wheels that the lock names by path.
///
/// # Errors
/// When it cannot be read, or nobody says for which Python and macOS.
pub fn read(
    lock: &Path,
    declared: &Declared,
    choice: &Choice,
    asked: &[Mac],
    here: Option<&Host>,
) -> Result<Foreign, Error> {
    let (read, source) = foreign::read_with_text(lock)?;
    let folder = lock.parent().unwrap_or(Path::new(""));
    let python = python::decide(declared.python, folder, lock, read.requires_python.as_ref())?;
    let own = || here.and_then(|host| MacosVersion::told_by(&host.macos));
    let macos = declared.macos.or_else(own).ok_or_else(|| Error::NoMacos { lock: lock.to_owned() })?;
    let part = Part {
        level: Level::Lock,
        of: None,
        word: Word::Readable,
        otherwise: Word::Readable,
        sum: Sum::Nothing,
        told: Vec::new(),
        took: Duration::ZERO,
    };
    let places = Places::of(&read, folder);
    let foreign = Foreign {
        part,
        sets: Vec::new(),
        indexes: places.indexes.clone(),
        source,
        lines: BTreeMap::new(),
        lock: lock.to_owned(),
        beside: Vec::new(),
    };
    let mut reading = Reading { lock: &read, places, choice, declared, python: &python, foreign };
    let floor = Mac { chip: declared.chip.clone(), macos };
    reading.on(&floor, Whom::Floor);
    for mac in asked.iter().filter(|mac| **mac != floor) {
        reading.on(mac, Whom::Asked(mac));
    }
    reading.say(declared.macos.is_none().then_some(macos));
    Ok(reading.foreign)
}

/// Lists the releases that a lock has for one Mac without a wheel that fits: they are built from their sources where the lock
/// is installed. `python` is the one in use, where the lock's folder names none.
///
/// # Errors
/// When it cannot be read, or nobody says for which Python.
pub fn from_source(
    lock: &Path,
    python: Option<PythonMinor>,
    mac: &Mac,
) -> Result<Vec<(PackageName, Option<Version>)>, Error> {
    let (read, _) = foreign::read_with_text(lock)?;
    let folder = lock.parent().unwrap_or(Path::new(""));
    let python = python::decide(None, folder, lock, read.requires_python.as_ref()).or_else(|error| match python {
        Some(minor) => python::decide(Some(minor), folder, lock, None),
        None => Err(error),
    })?;
    let floor = Floor::Mac { macos: mac.macos, chip: mac.chip.clone() };
    let target = Target { platform: Platform::MacosArm64, floor, python: python.minor };
    let machine = Machine { target, python_full: python.full };
    // What is not for this Mac builds nothing on it.
    let Ok(selection) = read.on(&machine, &Choice::default()) else { return Ok(Vec::new()) };
    let built = selection.packages.iter().filter(|one| matches!(one.taken, Taken::Source(Some(_))));
    Ok(built.map(|one| (one.release.name.clone(), one.release.version.clone())).collect())
}

struct Reading<'a> {
    lock: &'a ForeignLock,
    places: Places,
    choice: &'a Choice,
    declared: &'a Declared,
    python: &'a Python,
    foreign: Foreign,
}

impl Reading<'_> {
    /// Adds what one Mac gets.
    fn on(&mut self, mac: &Mac, whom: Whom<'_>) {
        let floor = Floor::Mac { macos: mac.macos, chip: mac.chip.clone() };
        let target = Target { platform: Platform::MacosArm64, floor, python: self.python.minor };
        let machine = Machine { target, python_full: self.python.full.clone() };
        match self.lock.on(&machine, self.choice) {
            Ok(selection) => self.take(&selection, mac, whom),
            Err(refusal) => {
                // Nothing was judged for that Mac.
                self.foreign.part.otherwise = Word::Unsure;
                self.foreign.part.tell(whom.refused(&refusal), None);
            }
        }
    }

    fn take(&mut self, selection: &Selection<'_>, mac: &Mac, whom: Whom<'_>) {
        let because = match whom {
            Whom::Floor => Because::Floor,
            Whom::Asked(_) => Because::Asked,
        };
        let circumstances = Circumstances { macos: mac.macos, chip: mac.chip.clone(), gpu: self.declared.gpu };
        let of = Of {
            env: self.foreign.lock.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            platform: Platform::MacosArm64,
            python: self.python.minor,
            on: Some(On { mac: circumstances, because }),
        };
        let mut releases: Vec<Release> = Vec::new();
        let mut beside = Beside::default();
        for selected in one_of_each(selection) {
            let (release, name) = (selected.release, &selected.release.name);
            let file = release.file.clone().unwrap_or_else(|| self.foreign.lock.clone());
            self.foreign.lines.entry(name.clone()).or_insert((file, release.line));
            let found = self.tell(selected, whom);
            let spare = matches!(release.origin, Origin::Folder { .. }) || selected.presence != Presence::Certain;
            if spare || release.version.is_none() {
                beside.spare.insert(name.clone());
            }
            // What has no version yet cannot be judged, and the project itself is no release.
            let linked = matches!(release.origin, Origin::Folder { kind: Folder::Editable | Folder::Virtual, .. });
            let (Some(version), false) = (&release.version, linked) else { continue };
            let (file, find) = found;
            beside.open.extend(find.map(|find| Open { at: releases.len(), find }));
            releases.push(Release { name: name.clone(), version: version.clone(), file });
        }
        if matches!(whom, Whom::Floor) {
            self.foreign.part.sum = Sum::Releases(releases.len());
        }
        let (unknown, ignored, solved_with) = (BTreeSet::new(), Vec::new(), None);
        self.foreign.sets.push(Set { of, releases, unknown, ignored, solved_with });
        self.foreign.beside.push(beside);
    }

    /// Tells what is to be told of a release; returns its file as far as the lock knows it, and what is to be found.
    fn tell(&mut self, selected: &Selected<'_>, whom: Whom<'_>) -> (Option<File>, Option<Find>) {
        let release = selected.release;
        let (name, version) = (&release.name, release.version.as_ref());
        if let Presence::Possible(marker) = &selected.presence {
            let message = format!("{} is there only where `{marker}` holds", told::named(name, version));
            self.tell_at(Finding::note(Code::LockRead, message), name, release);
        }
        match &selected.taken {
            Taken::Wheel(wheel) => {
                let Some(place) = self.places.of_wheel(&release.origin, wheel) else { return (None, None) };
                if let Place::Path(path) = &place
                    && self.places.is_outside(path)
                {
                    let path = self.places.shown(path).to_string();
                    self.tell_at(told::outside(name, version, &path), name, release);
                }
                let (wheel, sha256, size) = (wheel.file.clone(), wheel.sha256, wheel.size);
                let find = match &place {
                    Place::Index(_) => Find::Listed(self.places.indexes_of(&release.origin), wheel.clone(), sha256),
                    _ => Find::Direct(place.clone(), wheel.clone(), sha256),
                };
                let file = sha256.map(|sha256| File { wheel, sha256, size, place });
                (file, (size.is_none() || sha256.is_none()).then_some(find))
            }
            Taken::OneOf(hashes) => (None, Some(Find::OneOf(self.places.indexes_of(&release.origin), hashes.to_vec()))),
            // The project itself.
            Taken::Source(None) if self.lock.members.contains(name) => (None, None),
            Taken::Source(None) => {
                // Beside a lock there may well be another folder of the same repository.
                if let Origin::Folder { path, .. } = &release.origin
                    && Path::new(path).is_absolute()
                    && self.places.is_outside(Path::new(path))
                {
                    self.tell_at(told::outside(name, version, path), name, release);
                }
                self.tell_at(told::built_here(release), name, release);
                (None, None)
            }
            Taken::Source(Some(unfit)) => {
                let finding = whom.built(name, version, unfit);
                self.tell_at(told::there_are(finding, release, unfit), name, release);
                (None, None)
            }
            Taken::Nothing(unfit) => {
                let finding = whom.nothing(name, version, unfit);
                self.tell_at(told::there_are(finding, release, unfit), name, release);
                (None, None)
            }
            Taken::Project => (None, None),
        }
    }

    fn tell_at(&mut self, finding: Finding, name: &PackageName, release: &foreign::Release) {
        let file: &Path = release.file.as_deref().unwrap_or(&self.foreign.lock);
        let finding = told::placed(finding, &self.foreign.source, &self.foreign.lock, (file, release.line));
        self.foreign.part.tell(finding, Some(name));
    }

    /// Tells what holds for the lock as a whole. `macos` is that of this Mac, where it was taken for the floor.
    fn say(&mut self, macos: Option<MacosVersion>) {
        let Self { lock, foreign, .. } = self;
        let refused = foreign.sets.is_empty();
        let here = |name: &PackageName| refused || foreign.lines.contains_key(name);
        for (finding, package) in told::notes(&lock.notes, here, &foreign.source, &foreign.lock) {
            foreign.part.tell(finding, package.as_ref());
        }
        let mut note = |message: String| foreign.part.tell(Finding::note(Code::LockRead, message), None);
        if let Some(because) = &self.python.because {
            note(format!("judged for {because}; `--python` names another"));
        }
        if let Some(macos) = macos {
            note(format!("judged for macOS {macos}, that of this Mac; `--macos` names another"));
        }
        if self.choice.members.is_empty() && lock.members.len() > 1 {
            note(format!("judged for all {} members of the workspace; `--package` names one", lock.members.len()));
        }
        foreign.part.settle();
    }
}

/// Returns one release of each package: the one that every Mac gets, else the newest of those that some get.
fn one_of_each<'a, 'b>(selection: &'b Selection<'a>) -> impl Iterator<Item = &'b Selected<'a>> {
    let mut best: BTreeMap<&PackageName, &'b Selected<'a>> = BTreeMap::new();
    let rank = |one: &Selected<'_>| (one.presence == Presence::Certain, one.release.version.clone());
    for selected in &selection.packages {
        let kept = best.entry(&selected.release.name).or_insert(selected);
        if rank(selected) > rank(kept) {
            *kept = selected;
        }
    }
    best.into_values()
}
