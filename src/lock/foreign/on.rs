//! What one kind of Mac gets of a lock: which releases, and of each which wheel, or why none. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::index::source;
use crate::manifest::model::Wheels;
use crate::pep::{Asked, ExtraName, MarkerEnv, PackageName, Sha256, Specifiers, Truth, Version};
use crate::resolve::candidate::{Selector, Unfit, Yanked, admits};
use crate::target::Target;

use super::error::{Refusal, listed};
use super::model::{Folder, ForeignLock, Format, Origin, Release, Wheel};
use super::walk::{self, Reached};

/// The Macs asked about.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// Platform, floor and Python.
    pub target: Target,
    /// The patch release of the Python; `None` for every one.
    pub python_full: Option<Version>,
}

/// What of the lock is asked for. By default: every member, no extra, the groups that count by default.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Members of the workspace; none at all for all of them.
    pub members: Vec<PackageName>,
    /// Extras.
    pub extras: Chosen,
    /// Dependency groups, beside those that count by default.
    pub groups: Chosen,
    /// Whether groups that count by default do so.
    pub default_groups: bool,
}

/// Some of the extras or groups of a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chosen {
    /// These.
    Named(Vec<ExtraName>),
    /// All that there are.
    All,
}

/// What a lock has for the Macs asked about.
#[derive(Clone, PartialEq, Debug)]
pub struct Selection<'a> {
    /// The releases, by name.
    pub packages: Vec<Selected<'a>>,
}

/// A release that is installed.
#[derive(Clone, PartialEq, Debug)]
pub struct Selected<'a> {
    /// The release.
    pub release: &'a Release,
    /// Whether on all of the Macs.
    pub presence: Presence,
    /// What is installed.
    pub taken: Taken<'a>,
}

/// Whether all of the Macs asked about get a release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Presence {
    /// All of them.
    Certain,
    /// Some of them, or that cannot be told: the marker that decides, mostly on the patch release of Python.
    Possible(String),
}

/// What is installed of a release.
#[derive(Clone, PartialEq, Debug)]
pub enum Taken<'a> {
    /// A wheel: the best by its tags for the floor.
    Wheel(&'a Wheel),
    /// The best wheel of the release among the files with these digests; none at all for any file.
    OneOf(&'a [Sha256]),
    /// What is built from source: because there is no wheel, or none fits, or a folder or repository was named.
    Source(Option<Unfit>),
    /// Nothing can be: no wheel fits, and there is no source.
    Nothing(Unfit),
    /// Nothing has to be: a project of which only the dependencies are installed.
    Project,
}

/// Extras and groups by name.
pub(super) struct Wanted {
    pub(super) extras: Vec<ExtraName>,
    pub(super) groups: Vec<ExtraName>,
}

impl Default for Choice {
    fn default() -> Self {
        let none = || Chosen::Named(Vec::new());
        Self { members: Vec::new(), extras: none(), groups: none(), default_groups: true }
    }
}

impl Machine {
    fn env(&self) -> MarkerEnv {
        MarkerEnv { python_full_version: self.python_full.clone(), ..self.target.marker_env() }
    }

    fn admitted_by(&self, requires: &Specifiers) -> bool {
        match &self.python_full {
            Some(version) => requires.contains(version),
            None => admits(requires, self.target.python),
        }
    }

    fn python(&self) -> String {
        self.python_full.as_ref().map_or_else(|| self.target.python.to_string(), ToString::to_string)
    }
}

impl ForeignLock {
    /// Says what the Macs asked about get of it.
    ///
    /// # Errors
    /// When the lock is not for them, what was asked for is not in it, or it does not say which of two releases is meant.
    pub fn on(&self, machine: &Machine, choice: &Choice) -> Result<Selection<'_>, Refusal> {
        if let Some(requires) = self.requires_python.as_ref().filter(|requires| !machine.admitted_by(requires)) {
            return Err(Refusal::Python { requires: Box::new(requires.clone()), python: machine.python() });
        }
        let env = machine.env();
        let wanted = self.wanted(choice)?;
        let asked = Asked { extras: &wanted.extras, groups: &wanted.groups };
        if walk::any(&self.environments, &env, asked) == Truth::Never {
            let environments = self.environments.iter().map(ToString::to_string).collect();
            return Err(Refusal::Environment { environments });
        }
        let reached = match &self.graph {
            Some(graph) => walk::reach(self, graph, &env, &choice.members, &wanted)?,
            None => match choice.members.first() {
                Some(member) => {
                    return Err(Refusal::Unknown { kind: "member", name: member.to_string(), known: Vec::new() });
                }
                None => self.marked(&env, asked),
            },
        };
        let mut by_name: Vec<(&Release, Presence)> =
            reached.into_iter().map(|(at, presence)| (&self.releases[at], presence)).collect();
        by_name.sort_by(|(a, _), (b, _)| (&a.name, a.line).cmp(&(&b.name, b.line)));
        let mut certain: BTreeMap<&PackageName, &Release> = BTreeMap::new();
        for (release, _) in by_name.iter().filter(|(_, presence)| *presence == Presence::Certain) {
            if let Some(first) = certain.insert(&release.name, release) {
                let (first, second) = (first.place(), release.place());
                return Err(Refusal::Ambiguous { name: release.name.clone(), first, second });
            }
        }
        let selector = Selector::new(&machine.target, Wheels::Floor);
        let mut packages = Vec::new();
        for (release, presence) in by_name {
            if let Some(requires) = release.requires_python.as_ref().filter(|one| !machine.admitted_by(one)) {
                let (place, name) = (release.place(), release.name.clone());
                return Err(Refusal::PackagePython {
                    place,
                    name,
                    requires: Box::new(requires.clone()),
                    python: machine.python(),
                });
            }
            packages.push(Selected { release, presence, taken: self.taken(release, &selector) });
        }
        Ok(Selection { packages })
    }

    /// Names the extras and groups that a choice means.
    fn wanted(&self, choice: &Choice) -> Result<Wanted, Refusal> {
        let named = |chosen: &Chosen, known: &[ExtraName], kind: &'static str| match chosen {
            Chosen::All => Ok(known.to_vec()),
            Chosen::Named(names) => match names.iter().find(|name| !known.contains(name)) {
                Some(name) => Err(Refusal::Unknown { kind, name: name.to_string(), known: listed(known) }),
                None => Ok(names.clone()),
            },
        };
        let extras = named(&choice.extras, &self.extras, "extra")?;
        let mut groups = named(&choice.groups, &self.groups, "group")?;
        if choice.default_groups {
            groups.extend(self.default_groups.iter().cloned());
        }
        groups.sort();
        groups.dedup();
        Ok(Wanted { extras, groups })
    }

    /// Goes through releases that say themselves where they are installed.
    fn marked(&self, env: &MarkerEnv, asked: Asked<'_>) -> Reached {
        let presence = |release: &Release| match walk::any(&release.markers, env, asked) {
            Truth::Always => Some(Presence::Certain),
            Truth::Unknown => Some(Presence::Possible(walk::listed(&release.markers))),
            Truth::Never => None,
        };
        self.releases.iter().enumerate().filter_map(|(at, release)| Some((at, presence(release)?))).collect()
    }

    fn taken<'a>(&self, release: &'a Release, selector: &Selector) -> Taken<'a> {
        match &release.origin {
            Origin::Folder { kind: Folder::Virtual, .. } => return Taken::Project,
            Origin::Folder { .. } | Origin::Repository { .. } => return Taken::Source(None),
            _ => {}
        }
        if self.format == Format::Requirements && release.wheels.is_empty() {
            return match release.origin {
                Origin::Url(_) | Origin::Path(_) => Taken::Source(None),
                _ => Taken::OneOf(&release.hashes),
            };
        }
        match selector.pick(&release.wheels, |wheel| &wheel.file).first() {
            Some(wheel) => Taken::Wheel(wheel),
            None => match unfit(release, selector) {
                unfit if release.sdist.is_some() => Taken::Source(Some(unfit)),
                unfit => Taken::Nothing(unfit),
            },
        }
    }
}

/// Says why no wheel of a release fits.
fn unfit(release: &Release, selector: &Selector) -> Unfit {
    let file = |wheel: &Wheel| {
        let (sha256, size) = (wheel.sha256, wheel.size);
        Arc::new(source::File { sha256, size, ..source::File::at(wheel.file.clone(), "") })
    };
    let wheels = release.wheels.iter().map(file).collect();
    let files = source::Release { wheels, source_archive: release.sdist.is_some() };
    selector.fit(&files, Yanked::Admitted).err().unwrap_or(Unfit::NoFiles)
}
