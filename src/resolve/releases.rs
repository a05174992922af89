//! Which releases of a package count for one Python, in the order in which they are tried.
//!
//! Everything here is fixed before the solver asks: a release counts or not by its page, the target and what this run
//! admits, never by the range that is asked for or by who asks.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use crate::index::source::{IndexName, Page, Release};
use crate::knowledge::InForce;
use crate::knowledge::rule::{Rule, Says, Scope};
use crate::pep::{PackageName, Point, Specifiers, Version, VersionRange};
use crate::target::MacosVersion;
use crate::target::PythonMinor;

use super::candidate::{Fit, Selector, Short, Unfit, Yanked};

/// Why a release does not count.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Absence {
    /// No wheel fits, or none that counts.
    Unfit(Unfit),
    /// A pre-release, and nothing admits it.
    Prerelease,
    /// Outside what `[resolution] constraints` leaves of the package.
    Constrained(Specifiers),
    /// A local version, and the plain one fits.
    Local,
    /// Only an `any` wheel, while the newer release named has platform wheels, none of which fits.
    Superseded(Version, Unfit),
    /// By knowledge it does not work on this target.
    Known(Known),
}

/// What knowledge holds against a release.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Known {
    /// The rule.
    pub(crate) rule: String,
    /// What is at stake.
    pub(crate) scope: Scope,
    /// The lowest macOS on which it would not hold any more.
    pub(crate) macos: Option<MacosVersion>,
    /// What it says, as a lowercase fragment.
    text: String,
}

impl Known {
    fn new(rule: &Rule, floor: Option<MacosVersion>) -> Self {
        let purpose = rule.scope.purpose();
        let (text, macos) = match &rule.says {
            Says::NeedsMacos(needs) => {
                let macos = floor.and_then(|floor| floor.upward().find(|one| needs.contains(&one.version())));
                let wanted = macos.map_or_else(|| needs.to_string(), |macos| Short(macos).to_string());
                let floor = floor.map(|floor| format!("; your floor is {floor}")).unwrap_or_default();
                (format!("needs macOS {wanted}{purpose}{floor}"), macos)
            }
            Says::NeedsPython(needs) => (format!("needs Python {needs}{purpose}"), None),
            _ if rule.scope == Scope::Gpu => ("cannot use the GPU".to_owned(), None),
            _ => ("is of no use on a Mac".to_owned(), None),
        };
        Self { rule: rule.id.clone(), scope: rule.scope, macos, text }
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfit(unfit) => unfit.fmt(f),
            Self::Prerelease => f.write_str("a pre-release, which nothing admits"),
            Self::Constrained(narrow) => write!(f, "outside `{narrow}`, to which `constraints` narrows it"),
            Self::Local => f.write_str("a local version, and the plain one fits"),
            Self::Known(known) => write!(f, "{} (rule `{}`)", known.text, known.rule),
            Self::Superseded(newer, why) => {
                write!(f, "too old to be meant: {newer} has native wheels, but {why}")
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
    /// `[resolution] constraints` for the package.
    pub(crate) narrowed: Option<Specifiers>,
}

/// Whose releases they are, for which Python, and what binds there.
pub(crate) struct Bound {
    pub(crate) name: PackageName,
    pub(crate) python: PythonMinor,
    pub(crate) in_force: Rc<InForce>,
}

/// The releases of one package for one Python.
pub(crate) struct Releases {
    pub(crate) index: IndexName,
    page: Arc<Page>,
    pub(crate) selector: Arc<Selector>,
    admission: Admission,
    bound: Bound,
    /// Newest first.
    versions: Vec<Point>,
    states: Vec<OnceCell<Result<Fit, Absence>>>,
    /// Positions in `versions`, in the order in which they are tried.
    order: Vec<usize>,
}

impl Releases {
    pub(crate) fn new(
        (index, page): (IndexName, Arc<Page>),
        selector: Arc<Selector>,
        mut admission: Admission,
        bound: Bound,
    ) -> Self {
        let versions: Vec<Point> = page.versions().map(|version| Point::from(version.clone())).collect();
        // A package that never had a final release is only to be had as a pre-release.
        admission.prereleases |= !page.versions().any(|version| !version.any_prerelease());
        let states = versions.iter().map(|_| OnceCell::new()).collect();
        let mut releases = Self { index, page, selector, admission, bound, versions, states, order: Vec::new() };
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

    /// Returns the first `count` releases, in the order of trying, that count and lie in `range`.
    pub(crate) fn first(&self, range: &VersionRange, count: usize) -> impl Iterator<Item = &Fit> {
        let in_range = self.order.iter().filter(|at| range.contains(&self.versions[**at]));
        in_range.filter_map(|at| self.state(*at).as_ref().ok()).take(count)
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
            !matches!(
                self.get(version),
                Some(Err(Absence::Unfit(Unfit::Yanked { .. } | Unfit::TooNew { .. }) | Absence::Local))
            )
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

    /// Returns the files of a version.
    pub(crate) fn release(&self, version: &Version) -> Option<&Release> {
        self.page.release(version)
    }

    fn judge(&self, at: usize) -> Result<Fit, Absence> {
        let version = self.version(at);
        let exactly = self.admission.exactly.contains(version);
        if let Some(narrow) = self.admission.narrowed.as_ref().filter(|narrow| !narrow.contains(version)) {
            return Err(Absence::Constrained(narrow.clone()));
        }
        if version.any_prerelease() && !self.admission.prereleases && !exactly {
            return Err(Absence::Prerelease);
        }
        let fit = self.fit(at, if exactly { Yanked::Admitted } else { Yanked::Refused }).map_err(Absence::Unfit)?;
        let Bound { name, python, in_force } = &self.bound;
        if let Some(rule) = in_force.excludes(name, version, *python) {
            return Err(Absence::Known(Known::new(rule, in_force.macos())));
        }
        if version.is_local() && !exactly {
            let plain = version.clone().without_local();
            if matches!(self.get(&plain), Some(Ok(_))) {
                return Err(Absence::Local);
            }
        }
        let pure = fit.files.iter().all(|file| file.wheel.platform_tags().any(|tag| tag == "any"));
        if let Some((newer, why)) = pure.then(|| self.superseding(at)).flatten() {
            return Err(Absence::Superseded(newer.clone(), why));
        }
        Ok(fit)
    }

    fn fit(&self, at: usize, yanked: Yanked) -> Result<Fit, Unfit> {
        let release = self.page.release(self.version(at)).expect("the version is of the page");
        match (self.selector.fit(release, Yanked::Refused), yanked) {
            (Err(Unfit::Yanked { .. }), Yanked::Admitted) => self.selector.fit(release, Yanked::Admitted),
            (fit, _) => fit,
        }
    }

    /// Finds the newest release above `at` that has platform wheels, none of which fits.
    ///
    /// Solvers otherwise slide back to a decade-old pure wheel. A newer release that the user's own line excludes
    /// does not count: then the old one is what was asked for.
    fn superseding(&self, at: usize) -> Option<(&Version, Unfit)> {
        (0..at).find_map(|newer| {
            let version = self.version(newer);
            let own = self.admission.own_range.iter().chain(self.admission.narrowed.as_ref().map(Specifiers::range));
            let excluded = own.into_iter().any(|own| !own.contains(&self.versions[newer]));
            if excluded || (version.any_prerelease() && !self.admission.prereleases) {
                return None;
            }
            let release = self.page.release(version).expect("the version is of the page");
            let native = release.wheels.iter().any(|file| file.wheel.platform_tags().all(|tag| tag != "any"));
            if !native {
                return None;
            }
            match self.fit(newer, Yanked::Refused) {
                Err(Unfit::Yanked { .. } | Unfit::TooNew { .. }) | Ok(_) => None,
                Err(why) => Some((version, why)),
            }
        })
    }
}
