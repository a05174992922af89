//! `Case`: a generated universe with what is asked of it, as numbers that read two ways: as texts for the solver, and
//! directly by the brute force, so that neither depends on how the other reads versions and markers.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::support::universe::Packages;
use crate::support::universe::Rel;
use crate::support::universe::Universe;

use super::rules::RuleLine;
use super::rules::rules;

/// The Pythons of every case: minor, and the newest patch that counts as known.
pub(crate) const MINORS: [u16; 3] = [11, 12, 13];

/// A universe and a question.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) packages: Vec<Package>,
    pub(crate) roots: Vec<RootLine>,
    pub(crate) constraints: BTreeMap<usize, Spec>,
    pub(crate) overrides: BTreeMap<usize, Spec>,
    pub(crate) prereleases: Vec<usize>,
    pub(crate) locked: BTreeMap<usize, usize>,
    pub(crate) locked_python: Option<u16>,
    pub(crate) rules: Vec<RuleLine>,
}

#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) kind: Kind,
    pub(crate) releases: Vec<Release>,
}

/// What is special about a package. One thing at a time, so that what the rules leave open never decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Pure wheels.
    Plain,
    /// Some releases are release candidates.
    Candidates,
    /// All are.
    OnlyCandidates,
    /// Some are withdrawn.
    Yanked,
    /// Wheels differ from release to release; none is pure.
    Tagged,
    /// Pure wheels, and wheels for some Pythons.
    Slide,
    /// Pure wheels with demands on Python.
    Pythons,
    /// All are nightly builds, and those of all such packages must be of one night.
    Nightly,
}

#[derive(Clone, Debug)]
pub(crate) struct Release {
    /// Picks among what the kind has to offer.
    pub(crate) pick: u8,
    pub(crate) deps: Vec<Dep>,
}

#[derive(Clone, Debug)]
pub(crate) struct Dep {
    pub(crate) to: usize,
    pub(crate) spec: Spec,
    /// The extra asked for: 0 none, 1 `x`, 2 `y`.
    pub(crate) extra: u8,
    /// The extra in which it stands.
    pub(crate) inside: u8,
    pub(crate) mark: Mark,
}

#[derive(Clone, Debug)]
pub(crate) struct RootLine {
    pub(crate) to: usize,
    pub(crate) spec: Spec,
    pub(crate) extra: u8,
    pub(crate) mark: Mark,
    pub(crate) framework: Framework,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framework {
    Yes,
    No,
}

/// A specifier; numbers are those of releases, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spec {
    Any,
    Ge(u8),
    Le(u8),
    Lt(u8),
    Gt(u8),
    Ne(u8),
    Eq(u8),
    Within(u8, u8),
    /// `==N.0rc1`
    EqCandidate(u8),
    /// `>=N.0rc1`
    GeCandidate(u8),
}

/// A marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    None,
    PyLt(u16),
    PyGe(u16),
    Darwin,
    Linux,
    /// `python_full_version >= '3.m.p'`, undecided within that minor.
    FullGe(u16, u16),
    FullLt(u16, u16),
    /// Stands for two lines: below the patch with this specifier, from it on with `>=` of the number.
    Split(u16, u16, u8),
}

/// A version: its number, and whether it is a release candidate of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct V {
    pub(crate) number: u8,
    /// `false < true`, so a candidate sorts before its final release.
    pub(crate) is_final: bool,
    /// The day of a nightly build; 0 for what is none.
    pub(crate) night: u8,
}

/// What a release asks of Python.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PythonWish {
    Any,
    Ge(u16),
    Lt(u16),
    /// `<=3.m`, which admits 3.m.0 and no later patch.
    LeMinor(u16),
    GePatch(u16, u16),
    NotPatch(u16, u16),
}

/// Which wheels a release has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Files {
    Pure,
    /// Bits of [`MINORS`].
    For(u8),
    StableAbi(u16),
    NewerMac,
    Linux,
    SourceOnly,
}

pub(crate) const EXTRAS: [&str; 3] = ["", "x", "y"];

impl Case {
    /// Returns the name of a package. Names do not follow the order of the roots.
    pub(crate) fn name(package: usize) -> String {
        format!("{}{package}", ["p", "c", "q", "a"][package % 4])
    }

    pub(crate) fn version(&self, package: usize, release: usize) -> V {
        let Package { kind, releases } = &self.packages[package];
        let pick = releases[release].pick;
        let is_final = match kind {
            Kind::Candidates => pick % 2 == 0,
            Kind::OnlyCandidates | Kind::Nightly => false,
            _ => true,
        };
        let night = if *kind == Kind::Nightly { pick % 3 + 1 } else { 0 };
        V { number: release as u8 + 1, is_final, night }
    }

    pub(crate) fn is_yanked(&self, package: usize, release: usize) -> bool {
        let Package { kind, releases } = &self.packages[package];
        *kind == Kind::Yanked && releases[release].pick.is_multiple_of(2)
    }

    pub(crate) fn wish(&self, package: usize, release: usize) -> PythonWish {
        let Package { kind, releases } = &self.packages[package];
        if *kind != Kind::Pythons {
            return PythonWish::Any;
        }
        match releases[release].pick % 8 {
            0 => PythonWish::Ge(12),
            1 => PythonWish::Lt(13),
            2 => PythonWish::LeMinor(12),
            3 => PythonWish::GePatch(12, 4),
            4 => PythonWish::NotPatch(13, 1),
            5 => PythonWish::Ge(13),
            _ => PythonWish::Any,
        }
    }

    pub(crate) fn files(&self, package: usize, release: usize) -> Files {
        let Package { kind, releases } = &self.packages[package];
        let pick = releases[release].pick;
        match kind {
            Kind::Tagged => match pick % 10 {
                0 => Files::NewerMac,
                1 => Files::Linux,
                2 => Files::SourceOnly,
                3 => Files::StableAbi(12),
                mask => Files::For(mask - 2),
            },
            Kind::Slide if pick % 2 == 0 => Files::For(pick / 2 % 7 + 1),
            _ => Files::Pure,
        }
    }

    /// Writes the universe down.
    pub(crate) fn universe(&self) -> Universe {
        let mut packages = Packages::new();
        for (at, package) in self.packages.iter().enumerate() {
            let mut releases = BTreeMap::new();
            for (number, release) in package.releases.iter().enumerate() {
                let rel = Rel {
                    wheels: self.files(at, number).tags(),
                    sdist: true,
                    requires: release.deps.iter().flat_map(Dep::lines).collect(),
                    requires_python: self.wish(at, number).text(),
                    extras: vec!["x".to_owned(), "y".to_owned()],
                    yanked: self.is_yanked(at, number).then(|| "broken".to_owned()),
                    ..Rel::default()
                };
                releases.insert(self.version(at, number).text(), rel);
            }
            packages.insert(Self::name(at), releases);
        }
        Universe::of_pypi(packages)
    }
}

impl Dep {
    fn lines(&self) -> Vec<String> {
        let line = |spec: Spec, mark: Option<String>| {
            let extra = if self.extra == 0 { String::new() } else { format!("[{}]", EXTRAS[self.extra as usize]) };
            let inside = (self.inside != 0).then(|| format!("extra == '{}'", EXTRAS[self.inside as usize]));
            let marker = mark.into_iter().chain(inside).collect::<Vec<_>>().join(" and ");
            let marker = if marker.is_empty() { marker } else { format!("; {marker}") };
            format!("{}{extra}{}{marker}", Case::name(self.to), spec.text())
        };
        match self.mark {
            Mark::Split(minor, patch, number) => vec![
                line(self.spec, Mark::FullLt(minor, patch).text()),
                line(Spec::Ge(number), Mark::FullGe(minor, patch).text()),
            ],
            mark => vec![line(self.spec, mark.text())],
        }
    }
}

impl V {
    pub(crate) fn text(self) -> String {
        match self {
            Self { number, is_final: true, .. } => format!("{number}.0"),
            Self { number, night: 0, .. } => format!("{number}.0rc1"),
            Self { number, night, .. } => format!("{number}.0.dev2026010{night}"),
        }
    }
}

impl Spec {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Any => String::new(),
            Self::Ge(n) => format!(">={n}.0"),
            Self::Le(n) => format!("<={n}.0"),
            Self::Lt(n) => format!("<{n}.0"),
            Self::Gt(n) => format!(">{n}.0"),
            Self::Ne(n) => format!("!={n}.0"),
            Self::Eq(n) => format!("=={n}.0"),
            Self::Within(a, b) => format!(">={a}.0,<{b}.0"),
            Self::EqCandidate(n) => format!("=={n}.0rc1"),
            Self::GeCandidate(n) => format!(">={n}.0rc1"),
        }
    }

    /// Says whether it admits `v`, pre-releases like any other version (PEP 440).
    pub(crate) fn admits(self, v: V) -> bool {
        let V { number, is_final, night } = v;
        match self {
            Self::Any => true,
            Self::Ge(n) => number > n || (number == n && is_final),
            Self::Le(n) => number <= n,
            // `<2.0` does not admit candidates of 2.0.
            Self::Lt(n) => number < n,
            Self::Gt(n) => number > n,
            Self::Ne(n) => number != n || !is_final,
            Self::Eq(n) => number == n && is_final,
            Self::Within(a, b) => Self::Ge(a).admits(v) && Self::Lt(b).admits(v),
            Self::EqCandidate(n) => number == n && !is_final && night == 0,
            Self::GeCandidate(n) => number > n || (number == n && night == 0),
        }
    }

    /// Returns the one version that it demands, if it does.
    pub(crate) fn exact(self) -> Option<V> {
        match self {
            Self::Eq(number) => Some(V { number, is_final: true, night: 0 }),
            Self::EqCandidate(number) => Some(V { number, is_final: false, night: 0 }),
            _ => None,
        }
    }

    pub(crate) fn names_candidate(self) -> bool {
        matches!(self, Self::EqCandidate(_) | Self::GeCandidate(_))
    }
}

impl Mark {
    pub(crate) fn text(self) -> Option<String> {
        Some(match self {
            Self::None => return None,
            Self::PyLt(minor) => format!("python_version < '3.{minor}'"),
            Self::PyGe(minor) => format!("python_version >= '3.{minor}'"),
            Self::Darwin => "sys_platform == 'darwin' and platform_machine == 'arm64'".to_owned(),
            Self::Linux => "sys_platform == 'linux'".to_owned(),
            Self::FullGe(minor, patch) => format!("python_full_version >= '3.{minor}.{patch}'"),
            Self::FullLt(minor, patch) => format!("python_full_version < '3.{minor}.{patch}'"),
            Self::Split(..) => unreachable!("written as two lines"),
        })
    }

    /// Says whether it holds on an arm64 Mac with Python 3.`minor`.`patch`.
    pub(crate) fn holds(self, minor: u16, patch: u16) -> bool {
        match self {
            Self::None | Self::Darwin => true,
            Self::Linux => false,
            Self::PyLt(than) => minor < than,
            Self::PyGe(than) => minor >= than,
            Self::FullGe(m, p) => (minor, patch) >= (m, p),
            Self::FullLt(m, p) => (minor, patch) < (m, p),
            Self::Split(..) => unreachable!("read as two lines"),
        }
    }
}

impl PythonWish {
    fn text(self) -> Option<String> {
        Some(match self {
            Self::Any => return None,
            Self::Ge(minor) => format!(">=3.{minor}"),
            Self::Lt(minor) => format!(">=3.8,<3.{minor}"),
            Self::LeMinor(minor) => format!("<=3.{minor}"),
            Self::GePatch(minor, patch) => format!(">=3.{minor}.{patch}"),
            Self::NotPatch(minor, patch) => format!(">=3.9,!=3.{minor}.{patch}"),
        })
    }

    pub(crate) fn admits(self, minor: u16, patch: u16) -> bool {
        match self {
            Self::Any => true,
            Self::Ge(than) => minor >= than,
            Self::Lt(than) => minor < than,
            Self::LeMinor(than) => (minor, patch) <= (than, 0),
            Self::GePatch(m, p) => (minor, patch) >= (m, p),
            Self::NotPatch(m, p) => (minor, patch) != (m, p),
        }
    }
}

impl Files {
    fn tags(self) -> Vec<String> {
        let mac = |minor: u16| format!("cp3{minor}-cp3{minor}-macosx_11_0_arm64");
        match self {
            Self::Pure => vec!["py3-none-any".to_owned()],
            Self::For(mask) => MINORS
                .iter()
                .enumerate()
                .filter(|(bit, _)| mask >> bit & 1 == 1)
                .map(|(_, minor)| mac(*minor))
                .collect(),
            Self::StableAbi(minor) => vec![format!("cp3{minor}-abi3-macosx_14_0_arm64")],
            Self::NewerMac => vec!["py3-none-macosx_26_0_arm64".to_owned()],
            Self::Linux => vec!["py3-none-manylinux_2_17_x86_64".to_owned()],
            Self::SourceOnly => Vec::new(),
        }
    }

    /// Says whether one of them fits Python 3.`minor` on a Mac with macOS 14.
    pub(crate) fn fit(self, minor: u16) -> bool {
        match self {
            Self::Pure => true,
            Self::For(mask) => MINORS.iter().enumerate().any(|(bit, m)| *m == minor && mask >> bit & 1 == 1),
            Self::StableAbi(least) => minor >= least,
            Self::NewerMac | Self::Linux | Self::SourceOnly => false,
        }
    }
}

/// Generates cases of up to seven packages with up to four releases each.
pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let size = 2..=7usize;
    size.prop_flat_map(|size| {
        let roots = vec((0..size, spec(), extra(), mark(), any::<bool>()), 1..=3);
        let constraints = option::weighted(0.3, (0..size, bounds()));
        let overrides = option::weighted(0.3, (0..size, bounds()));
        let prereleases = option::weighted(0.2, 0..size);
        let locked = vec((0..size, 0..4usize), 0..3);
        let python = option::weighted(0.3, prop::sample::select(MINORS.to_vec()));
        let settings = (constraints, overrides, prereleases, locked, python);
        (vec(package(size), size), roots, settings, rules(size)).prop_map(tidy)
    })
}

type Raw = (
    Vec<Package>,
    Vec<(usize, Spec, u8, Mark, bool)>,
    (Option<(usize, Spec)>, Option<(usize, Spec)>, Option<usize>, Vec<(usize, usize)>, Option<u16>),
    Vec<RuleLine>,
);

/// Takes out what the written rules leave open.
fn tidy((mut packages, roots, (constraint, over, prerelease, locked, locked_python), rules): Raw) -> Case {
    for package in &mut packages {
        for release in &mut package.releases {
            // Complementary markers are told by package: one line with patch releases for each.
            let mut patched = Vec::new();
            release.deps.retain(|dep| {
                let patch = matches!(dep.mark, Mark::FullGe(..) | Mark::FullLt(..) | Mark::Split(..));
                let keep = !patch || !patched.contains(&dep.to);
                patched.extend(patch.then_some(dep.to));
                keep
            });
        }
    }
    let mut lines: Vec<RootLine> = Vec::new();
    for (to, spec, extra, mark, framework) in roots {
        // Splits are for releases; a root with patch markers twice would be another rule.
        let whole = matches!(mark, Mark::Split(..)) || packages[to].kind == Kind::Slide;
        let mark = if whole { Mark::None } else { mark };
        // Whether a line that holds nowhere still admits what it names is not written.
        let names = spec.exact().is_some() || spec.names_candidate();
        let spec = if mark != Mark::None && names { Spec::Any } else { spec };
        if lines.iter().all(|line| line.to != to) {
            let framework = if framework { Framework::Yes } else { Framework::No };
            lines.push(RootLine { to, spec, extra, mark, framework });
        }
    }
    // Frameworks first, then by name, as a manifest has them.
    lines.sort_by_key(|line| (line.framework == Framework::No, Case::name(line.to)));
    let is_root = |package: usize| lines.iter().any(|line| line.to == package);
    let locked = locked.into_iter().filter(|(package, release)| {
        let Package { kind, releases } = &packages[*package];
        *release < releases.len()
            && !matches!(kind, Kind::Yanked | Kind::Candidates | Kind::OnlyCandidates | Kind::Nightly)
    });
    Case {
        constraints: constraint.filter(|(package, _)| packages[*package].kind != Kind::Slide).into_iter().collect(),
        overrides: over
            .filter(|(package, _)| !is_root(*package) && packages[*package].kind != Kind::Slide)
            .into_iter()
            .collect(),
        prereleases: prerelease.into_iter().collect(),
        locked: locked.collect(),
        locked_python,
        roots: lines,
        packages,
        rules,
    }
}

fn package(size: usize) -> impl Strategy<Value = Package> {
    let kind = prop_oneof![
        3 => Just(Kind::Plain),
        2 => Just(Kind::Candidates),
        1 => Just(Kind::OnlyCandidates),
        1 => Just(Kind::Yanked),
        3 => Just(Kind::Tagged),
        1 => Just(Kind::Slide),
        2 => Just(Kind::Pythons),
        2 => Just(Kind::Nightly),
    ];
    let release = (any::<u8>(), vec(dep(size), 0..=3)).prop_map(|(pick, deps)| Release { pick, deps });
    (kind, vec(release, 1..=4)).prop_map(|(kind, releases)| Package { kind, releases })
}

fn dep(size: usize) -> impl Strategy<Value = Dep> {
    let inside = prop_oneof![4 => Just(0u8), 1 => Just(1), 1 => Just(2)];
    (0..size, spec(), extra(), inside, mark()).prop_map(|(to, spec, extra, inside, mark)| Dep {
        to,
        spec,
        extra,
        inside,
        mark,
    })
}

fn extra() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(0u8), 1 => Just(1), 1 => Just(2)]
}

/// Specifiers that neither pin nor name a pre-release.
fn bounds() -> impl Strategy<Value = Spec> {
    let number = 1..=4u8;
    prop_oneof![
        3 => number.clone().prop_map(Spec::Ge),
        2 => number.clone().prop_map(Spec::Le),
        2 => number.clone().prop_map(Spec::Lt),
        1 => number.clone().prop_map(Spec::Gt),
        1 => number.clone().prop_map(Spec::Ne),
        1 => (number.clone(), number).prop_map(|(a, b)| Spec::Within(a.min(b), a.max(b) + 1)),
    ]
}

pub(crate) fn spec() -> impl Strategy<Value = Spec> {
    prop_oneof![
        4 => Just(Spec::Any),
        6 => bounds(),
        2 => (1..=4u8).prop_map(Spec::Eq),
        1 => (1..=4u8).prop_map(Spec::EqCandidate),
        1 => (1..=4u8).prop_map(Spec::GeCandidate),
    ]
}

fn mark() -> impl Strategy<Value = Mark> {
    let minor = prop::sample::select(vec![12u16, 13]);
    let patch = 1..=6u16;
    prop_oneof![
        12 => Just(Mark::None),
        1 => minor.clone().prop_map(Mark::PyLt),
        1 => minor.clone().prop_map(Mark::PyGe),
        1 => Just(Mark::Darwin),
        1 => Just(Mark::Linux),
        1 => (minor.clone(), patch.clone()).prop_map(|(m, p)| Mark::FullGe(m, p)),
        1 => (minor.clone(), patch.clone()).prop_map(|(m, p)| Mark::FullLt(m, p)),
        1 => (minor, patch, 1..=4u8).prop_map(|(m, p, n)| Mark::Split(m, p, n)),
    ]
}
