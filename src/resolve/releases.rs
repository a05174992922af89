//! Which releases of a package count for one Python, in the order in which they are tried.
//!
//! Everything here is fixed before the solver asks: a release counts or not by its page, the target and what this run
//! admits, never by the range that is asked for or by who asks.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::index::source::{File, IndexName, Page};
use crate::manifest::model::Wheels;
use crate::pep::{Point, Version, VersionRange};
use crate::target::{PythonMinor, Target};

use super::candidate::{self, Unfit};
use super::edges;

/// The files of a release that fits.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    /// The floor's wheel, whose metadata speaks for the release.
    pub(crate) file: Arc<File>,
    /// Every wheel that some machine from the floor up may pick, the floor's included.
    pub(crate) wheels: Vec<Arc<File>>,
    /// Why the release was withdrawn, when it was and counts all the same.
    pub(crate) yanked: Option<Arc<str>>,
}

/// Why a release does not count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Absence {
    /// No wheel fits.
    Unfit(Unfit),
    /// Its `requires-python` leaves no patch of this Python.
    Python {
        /// What it asks for.
        asks: String,
        /// The Python.
        minor: PythonMinor,
    },
    /// Everything was uploaded after `exclude-newer`.
    TooNew(String),
    /// A pre-release, and nothing admits it.
    Prerelease,
    /// Withdrawn, with the reason given.
    Yanked(String),
    /// A local version, and the plain one fits.
    Local,
    /// Only an `any` wheel, while the newer release named has platform wheels, none of which fits.
    Superseded(Version, Box<Self>),
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit(unfit) => unfit.fmt(f),
            Self::Python { asks, minor } => write!(f, "needs Python {asks}, not {minor}"),
            Self::TooNew(day) => write!(f, "uploaded after {day} (`exclude-newer`)"),
            Self::Prerelease => f.write_str("a pre-release, which nothing admits"),
            Self::Yanked(reason) if reason.is_empty() => f.write_str("withdrawn by its authors"),
            Self::Yanked(reason) => write!(f, "withdrawn by its authors: {reason}"),
            Self::Local => f.write_str("a local version, and the plain one fits"),
            Self::Superseded(newer, why) => {
                write!(f, "a relic that only seems to fit: since {newer} there are native wheels, and {newer} {why}")
            }
        }
    }
}

/// What a run admits of one package beyond plain final releases.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admission {
    /// Versions to try first.
    pub(crate) preferred: Vec<Version>,
    /// Pre-releases count.
    pub(crate) prereleases: bool,
    /// Pre-releases, withdrawn and local versions that something asks for exactly.
    pub(crate) exactly: BTreeSet<Version>,
    /// Those of `exactly` that the user's own line asks for; they are tried in their natural place.
    pub(crate) own: Option<Version>,
    /// Versions that the user's own line admits.
    pub(crate) own_range: Option<VersionRange>,
}

/// What the releases are judged for.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// The floor with the Python.
    pub(crate) target: Target,
    /// One wheel or one for each macOS generation.
    pub(crate) wheels: Wheels,
    /// Last day whose uploads count.
    pub(crate) exclude_newer: Option<Arc<str>>,
}

/// The releases of one package for one Python.
pub(crate) struct Releases {
    pub(crate) index: IndexName,
    page: Arc<Page>,
    terms: Arc<Terms>,
    admission: Admission,
    /// Newest first.
    versions: Vec<Point>,
    states: Vec<OnceCell<Result<Fit, Absence>>>,
    /// Positions in `versions`, in the order in which they are tried.
    order: Vec<usize>,
}

impl Releases {
    pub(crate) fn new(index: IndexName, page: Arc<Page>, terms: Arc<Terms>, mut admission: Admission) -> Self {
        let versions: Vec<Point> = page.versions().map(|version| Point::from(version.clone())).collect();
        // A package that never had a final release is only to be had as a pre-release.
        admission.prereleases |= !page.versions().any(|version| !version.any_prerelease());
        let states = versions.iter().map(|_| OnceCell::new()).collect();
        let mut releases = Self { index, page, terms, admission, versions, states, order: Vec::new() };
        let mut order: Vec<usize> = (0..releases.versions.len()).collect();
        order.sort_by_key(|at| {
            let preferred = releases.admission.preferred.iter().position(|one| one == releases.version(*at));
            (preferred.unwrap_or(usize::MAX), releases.is_demanded(*at), *at)
        });
        releases.order = order;
        releases
    }

    /// Returns the first release in the order of trying that counts and lies in `range`.
    pub(crate) fn best(&self, range: &VersionRange) -> Option<(&Point, &Fit)> {
        let in_range = self.order.iter().filter(|at| range.contains(&self.versions[**at]));
        in_range.filter_map(|at| Some((&self.versions[*at], self.state(*at).as_ref().ok()?))).next()
    }

    /// Returns the newest release in `range` that counts, whatever is preferred; one that counts only because a
    /// release demands it comes after all others.
    pub(crate) fn newest_fit(&self, range: &VersionRange) -> Option<&Point> {
        let demanded = |at: &usize| self.is_demanded(*at);
        let (late, plain): (Vec<usize>, Vec<usize>) = (0..self.versions.len()).partition(demanded);
        let fits = |at: &usize| range.contains(&self.versions[*at]) && self.state(*at).is_ok();
        plain.into_iter().chain(late).find(fits).map(|at| &self.versions[at])
    }

    /// Returns whether a version counts only because a reached release asks for exactly it.
    fn is_demanded(&self, at: usize) -> bool {
        let version = self.version(at);
        self.admission.exactly.contains(version) && self.admission.own.as_ref() != Some(version)
    }

    /// Returns what is known of one version.
    pub(crate) fn get(&self, version: &Version) -> Option<&Result<Fit, Absence>> {
        let at = self.versions.iter().position(|one| one.version() == Some(version))?;
        Some(self.state(at))
    }

    /// Returns the newest final release there is, fitting or not.
    pub(crate) fn newest(&self) -> Option<&Version> {
        let final_ones = self
            .versions
            .iter()
            .filter_map(Point::version)
            .filter(|version| self.admission.prereleases || !version.any_prerelease());
        final_ones.into_iter().find(|version| {
            !matches!(self.get(version), Some(Err(Absence::Yanked(_) | Absence::TooNew(_) | Absence::Local)))
        })
    }

    /// Lists the versions, newest first.
    pub(crate) fn points(&self) -> &[Point] {
        &self.versions
    }

    /// Judges the version at a position, once.
    pub(crate) fn state(&self, at: usize) -> &Result<Fit, Absence> {
        self.states[at].get_or_init(|| self.judge(at))
    }

    fn version(&self, at: usize) -> &Version {
        self.versions[at].version().expect("made from a version")
    }

    fn judge(&self, at: usize) -> Result<Fit, Absence> {
        let version = self.version(at);
        let exactly = self.admission.exactly.contains(version);
        if version.any_prerelease() && !self.admission.prereleases && !exactly {
            return Err(Absence::Prerelease);
        }
        let fit = self.fit(at)?;
        if let Some(reason) = &fit.yanked {
            if !exactly {
                return Err(Absence::Yanked(reason.to_string()));
            }
        }
        if version.is_local() && !exactly {
            let plain = version.clone().without_local();
            if matches!(self.get(&plain), Some(Ok(_))) {
                return Err(Absence::Local);
            }
        }
        if fit.wheels.iter().all(|file| file.wheel.platform_tags().any(|tag| tag == "any")) {
            if let Some((newer, why)) = self.superseding(at) {
                return Err(Absence::Superseded(newer.clone(), Box::new(why)));
            }
        }
        Ok(fit)
    }

    fn fit(&self, at: usize) -> Result<Fit, Absence> {
        let minor = self.terms.target.python;
        let release = self.page.release(self.version(at)).expect("the version is of the page");
        let in_time = |file: &&Arc<File>| match (&self.terms.exclude_newer, &file.upload_day) {
            (Some(limit), Some(day)) => day <= limit,
            _ => true,
        };
        let wheels: Vec<Arc<File>> = release.wheels.iter().filter(in_time).cloned().collect();
        if wheels.is_empty() && !release.wheels.is_empty() {
            let limit = self.terms.exclude_newer.as_deref().unwrap_or_default();
            return Err(Absence::TooNew(limit.to_owned()));
        }
        let right_python = |file: &&Arc<File>| {
            let asks = file.requires_python.as_ref();
            asks.is_none_or(|asks| edges::admitted_patches(minor, asks).is_some())
        };
        let right: Vec<Arc<File>> = wheels.iter().filter(right_python).cloned().collect();
        if right.is_empty() && !wheels.is_empty() {
            // The tags tell more than the range where both exclude this Python.
            if let Err(unfit @ (Unfit::OnlyIntel | Unfit::OtherPlatforms(_))) =
                candidate::select(&wheels, release.source_archive, &self.terms.target, self.terms.wheels)
            {
                return Err(Absence::Unfit(unfit));
            }
            let asks = wheels.iter().find_map(|file| file.requires_python.as_ref());
            return Err(Absence::Python { asks: asks.map(ToString::to_string).unwrap_or_default(), minor });
        }
        let select = |files: &[Arc<File>]| {
            candidate::select(files, release.source_archive, &self.terms.target, self.terms.wheels)
        };
        let sound: Vec<Arc<File>> = right.iter().filter(|file| file.yanked.is_none()).cloned().collect();
        if let Ok(selection) = select(&sound) {
            return Ok(Fit { file: selection.floor, wheels: selection.wheels, yanked: None });
        }
        let selection = select(&right).map_err(Absence::Unfit)?;
        let yanked = selection.floor.yanked.clone();
        Ok(Fit { file: selection.floor, wheels: selection.wheels, yanked })
    }

    /// Finds the newest release above `at` that has platform wheels, none of which fits.
    ///
    /// Solvers otherwise slide back to a decade-old pure wheel. A newer release that the user's own line excludes
    /// does not count: then the old one is what was asked for.
    fn superseding(&self, at: usize) -> Option<(&Version, Absence)> {
        (0..at).find_map(|newer| {
            let version = self.version(newer);
            let excluded = self.admission.own_range.as_ref().is_some_and(|own| !own.contains(&self.versions[newer]));
            if excluded || (version.any_prerelease() && !self.admission.prereleases) {
                return None;
            }
            let release = self.page.release(version).expect("the version is of the page");
            let native = release.wheels.iter().any(|file| file.wheel.platform_tags().all(|tag| tag != "any"));
            match self.fit(newer) {
                Err(why @ (Absence::Unfit(_) | Absence::Python { .. })) if native => Some((version, why)),
                _ => None,
            }
        })
    }
}
