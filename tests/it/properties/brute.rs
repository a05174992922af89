//! The brute force: every valid complete answer to a [`Case`], by the written rules alone, and which is preferred.
//!
//! It shares no code with the solver, nor with the reading of versions, markers and tags.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use macml::target::PythonMinor;

use super::case::Case;
use super::case::Dep;
use super::case::Files;
use super::case::Framework;
use super::case::Kind;
use super::case::MINORS;
use super::case::Mark;
use super::case::RootLine;
use super::case::Spec;
use super::rules::Says;

/// A complete answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    pub(crate) minor: u16,
    /// Release by package.
    pub(crate) releases: BTreeMap<usize, usize>,
    /// Patch releases of Python that everything in it admits.
    pub(crate) patches: BTreeSet<u16>,
    /// Names that each package depends on.
    pub(crate) edges: BTreeMap<usize, BTreeSet<usize>>,
    /// Whether each release that counts only on demand is demanded by a release of the answer itself.
    pub(crate) grounded: Grounded,
}

/// A solver learns of exact demands as it reaches releases, also of some that it leaves again; so the rule has two
/// readings, and only what both agree on is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Grounded {
    Yes,
    No,
}

/// How good a candidate is for its package, least best.
pub(crate) type Rank = (u8, std::cmp::Reverse<usize>);

impl Case {
    /// Lists the patch releases of a minor: all known, and one that stands for later ones.
    pub(crate) fn patches(minor: u16) -> BTreeSet<u16> {
        let known = PythonMinor::RELEASED.iter().find(|(python, _)| python.minor == minor).unwrap().1;
        (0..=known + 1).collect()
    }

    /// Lists the Pythons in the order of the run.
    pub(crate) fn python_order(&self) -> Vec<u16> {
        let newest_fitting: Vec<BTreeMap<usize, Option<usize>>> = MINORS
            .iter()
            .map(|minor| {
                let applying = self.roots.iter().filter(|root| applies(root.mark, *minor) != Applies::Never);
                let newest = applying.map(|root| {
                    let fits = |release: &usize| {
                        let admitted = self.counts_from_the_start(root.to, *release);
                        let wanted = self.allowed(root.to, root.spec, *release);
                        admitted && wanted && self.available(root.to, *release, *minor)
                    };
                    (root.to, (0..self.packages[root.to].releases.len()).rev().find(fits))
                });
                newest.collect()
            })
            .collect();
        let held = |at: usize| {
            let older = |(root, newest): &(&usize, &Option<usize>)| {
                newest_fitting.iter().filter_map(|other| other.get(root)).any(|other| other > newest)
            };
            newest_fitting[at].iter().filter(older).count()
        };
        let mut order: Vec<usize> = (0..MINORS.len()).collect();
        order.sort_by_key(|at| (Some(MINORS[*at]) != self.locked_python, held(*at), std::cmp::Reverse(*at)));
        order.into_iter().map(|at| MINORS[at]).collect()
    }

    /// Returns the roots of a minor in the order in which their versions matter.
    pub(crate) fn root_order(&self, minor: u16) -> Vec<&RootLine> {
        let mut roots: Vec<&RootLine> =
            self.roots.iter().filter(|root| applies(root.mark, minor) != Applies::Never).collect();
        let key = |root: &RootLine| (root.spec.exact().is_none(), root.framework == Framework::No, Self::name(root.to));
        roots.sort_by_key(|root| key(root));
        roots
    }

    /// Returns how good `release` is among those of `package`.
    pub(crate) fn rank(&self, package: usize, release: usize) -> Rank {
        let tier = if self.locked.get(&package) == Some(&release) {
            0
        } else if self.counts_from_the_start(package, release) {
            1
        } else {
            2
        };
        (tier, std::cmp::Reverse(release))
    }

    /// Lists every valid answer under Python 3.`minor`.
    pub(crate) fn answers(&self, minor: u16) -> Vec<Answer> {
        let mut state = State {
            case: self,
            minor,
            releases: BTreeMap::new(),
            patches: Self::patches(minor),
            asked: Vec::new(),
            askers: Vec::new(),
            by_rules: Vec::new(),
            nodes: Vec::new(),
            edges: BTreeMap::new(),
        };
        let mut answers = Vec::new();
        for root in &self.roots {
            if applies(root.mark, minor) == Applies::Never {
                continue;
            }
            if !state.ask(None, root.to, root.spec, root.extra) {
                return answers;
            }
        }
        state.search(0, &mut answers);
        answers
    }

    /// Says whether constraints and overrides leave `release` to one who asks for `spec`.
    fn allowed(&self, package: usize, spec: Spec, release: usize) -> bool {
        let version = self.version(package, release);
        let spec = self.overrides.get(&package).copied().unwrap_or(spec);
        spec.admits(version) && self.constraints.get(&package).is_none_or(|constraint| constraint.admits(version))
    }

    /// Says whether a release counts without anyone's exact demand.
    pub(crate) fn counts_from_the_start(&self, package: usize, release: usize) -> bool {
        let own = || self.roots.iter().filter(|root| root.to == package);
        let version = self.version(package, release);
        let kind = self.packages[package].kind;
        let all = 0..self.packages[package].releases.len();
        let candidates = self.prereleases.contains(&package)
            || own().any(|root| root.spec.names_candidate())
            || all.clone().all(|other| !self.version(package, other).is_final);
        let pinned = own().any(|root| root.spec.exact() == Some(version));
        (version.is_final || candidates) && (kind != Kind::Yanked || !self.is_yanked(package, release) || pinned)
    }

    /// Says whether files of a release fit, and a patch release of the minor satisfies it.
    fn available(&self, package: usize, release: usize, minor: u16) -> bool {
        let fit = |release: usize| self.files(package, release).fit(minor);
        let wish = self.wish(package, release);
        if self.rules_about(package, release, minor).any(|rule| rule.excludes(minor)) {
            return false;
        }
        if !fit(release) || !Self::patches(minor).iter().any(|patch| wish.admits(minor, *patch)) {
            return false;
        }
        if self.files(package, release) != Files::Pure {
            return true;
        }
        // A pure wheel below a release that only has wheels for other Pythons, unless the user excludes that one.
        let specs: Vec<Spec> = self.roots.iter().filter(|root| root.to == package).map(|root| root.spec).collect();
        let newer = release + 1..self.packages[package].releases.len();
        !newer.into_iter().any(|newer| {
            let platform = self.files(package, newer) != Files::Pure && !fit(newer);
            platform && specs.iter().all(|spec| spec.admits(self.version(package, newer)))
        })
    }

    /// Says whether some release of the universe demands exactly this one.
    fn demanded_anywhere(&self, package: usize, release: usize) -> bool {
        let mut deps = self.packages.iter().flat_map(|package| &package.releases).flat_map(|release| &release.deps);
        deps.any(|dep| dep.to == package && dep.spec.exact() == Some(self.version(package, release)))
    }
}

struct State<'a> {
    case: &'a Case,
    minor: u16,
    releases: BTreeMap<usize, usize>,
    patches: BTreeSet<u16>,
    asked: Vec<(usize, Spec)>,
    /// Who asked, at the same place; `None` is the user.
    askers: Vec<Option<usize>>,
    /// What rules ask for.
    by_rules: Vec<(usize, Spec)>,
    /// Packages with an extra (0 for none), in the order in which they were asked for.
    nodes: Vec<(usize, u8)>,
    edges: BTreeMap<usize, BTreeSet<usize>>,
}

impl State<'_> {
    /// Takes up a requirement; `false` when a release already chosen does not satisfy it.
    fn ask(&mut self, asker: Option<usize>, to: usize, spec: Spec, extra: u8) -> bool {
        self.asked.push((to, spec));
        self.askers.push(asker);
        for node in [(to, 0), (to, extra)] {
            if !self.nodes.contains(&node) {
                self.nodes.push(node);
            }
        }
        self.releases.get(&to).is_none_or(|release| self.case.allowed(to, spec, *release))
    }

    /// Goes on with the node at `at`.
    fn search(&mut self, at: usize, answers: &mut Vec<Answer>) {
        let Some(&(package, extra)) = self.nodes.get(at) else {
            if !self.is_against_rules() {
                answers.push(self.answer());
            }
            return;
        };
        if self.releases.contains_key(&package) {
            self.expand(package, extra, at, answers);
            return;
        }
        for release in 0..self.case.packages[package].releases.len() {
            let wish = self.case.wish(package, release);
            let admitted =
                self.case.counts_from_the_start(package, release) || self.case.demanded_anywhere(package, release);
            let wanted =
                self.asked.iter().all(|(to, spec)| *to != package || self.case.allowed(package, *spec, release));
            if !admitted
                || !wanted
                || !self.is_as_rules_ask(package, release)
                || !self.case.available(package, release, self.minor)
            {
                continue;
            }
            let patches: BTreeSet<u16> = self.patches.iter().copied().filter(|p| wish.admits(self.minor, *p)).collect();
            if patches.is_empty() {
                continue;
            }
            let before = std::mem::replace(&mut self.patches, patches);
            self.releases.insert(package, release);
            self.expand(package, extra, at, answers);
            self.releases.remove(&package);
            self.patches = before;
        }
    }

    /// Takes up what a chosen release asks for in an extra, then goes on, then forgets it.
    fn expand(&mut self, package: usize, extra: u8, at: usize, answers: &mut Vec<Answer>) {
        let (asked, nodes) = (self.asked.len(), self.nodes.len());
        let (patches, edges) = (self.patches.clone(), self.edges.clone());
        let release = self.releases[&package];
        let lines: Vec<(Dep, Mark)> = self.case.packages[package].releases[release]
            .deps
            .iter()
            .filter(|dep| dep.inside == extra)
            .flat_map(|dep| match dep.mark {
                Mark::Split(minor, patch, number) => vec![
                    (dep.clone(), Mark::FullLt(minor, patch)),
                    (Dep { spec: Spec::Ge(number), ..dep.clone() }, Mark::FullGe(minor, patch)),
                ],
                mark => vec![(dep.clone(), mark)],
            })
            .collect();
        let mut holds = true;
        for (dep, mark) in &lines {
            match applies(*mark, self.minor) {
                Applies::Never => continue,
                Applies::Always => {}
                Applies::Depends => {
                    let other = lines.iter().any(|(other, other_mark)| {
                        let complement =
                            |patch: &u16| mark.holds(self.minor, *patch) != other_mark.holds(self.minor, *patch);
                        other.to == dep.to && Case::patches(self.minor).iter().all(complement)
                    });
                    let newest = Case::patches(self.minor).last().copied().unwrap();
                    if other && !mark.holds(self.minor, newest) {
                        continue;
                    }
                    if other {
                        self.patches.retain(|patch| mark.holds(self.minor, *patch));
                    }
                }
            }
            self.edges.entry(package).or_default().insert(dep.to);
            holds &= self.ask(Some(package), dep.to, dep.spec, dep.extra);
        }
        if holds && !self.patches.is_empty() {
            let rules = self.case.rules_about(package, release, self.minor);
            let needs: Vec<&[(usize, Spec)]> = rules
                .filter_map(|rule| match &rule.says {
                    Says::Requires(any_of) if extra == 0 => Some(any_of.as_slice()),
                    _ => None,
                })
                .collect();
            self.take_alternatives(package, &needs, at, answers);
        }
        self.asked.truncate(asked);
        self.askers.truncate(asked);
        self.nodes.truncate(nodes);
        self.patches = patches;
        self.edges = edges;
    }

    /// Takes up one alternative of each rule in every way, then goes on.
    fn take_alternatives(&mut self, package: usize, needs: &[&[(usize, Spec)]], at: usize, answers: &mut Vec<Answer>) {
        let Some((any_of, others)) = needs.split_first() else {
            self.search(at + 1, answers);
            return;
        };
        for (to, spec) in any_of.iter().filter(|(to, _)| *to < self.case.packages.len()) {
            let (nodes, edges) = (self.nodes.len(), self.edges.clone());
            // Overrides replace nothing of what rules ask for, and it demands no version exactly.
            self.by_rules.push((*to, *spec));
            if !self.nodes.contains(&(*to, 0)) {
                self.nodes.push((*to, 0));
            }
            self.edges.entry(package).or_default().insert(*to);
            let chosen = self.releases.get(to).copied();
            if chosen.is_none_or(|release| self.is_as_rules_ask(*to, release)) {
                self.take_alternatives(package, others, at, answers);
            }
            self.by_rules.pop();
            self.nodes.truncate(nodes);
            self.edges = edges;
        }
    }

    fn is_as_rules_ask(&self, package: usize, release: usize) -> bool {
        let version = self.case.version(package, release);
        let narrowed = self.case.constraints.get(&package).is_none_or(|constraint| constraint.admits(version));
        narrowed && self.by_rules.iter().all(|(to, spec)| *to != package || spec.admits(version))
    }

    /// Says whether two releases are together that must not be.
    fn is_against_rules(&self) -> bool {
        let nights: BTreeSet<u8> =
            self.releases.iter().map(|(at, release)| self.case.version(*at, *release).night).collect();
        let apart = self.case.rules.iter().filter(|rule| rule.counts_on(self.minor)).any(|rule| {
            let has = |package: usize, spec: Spec| {
                self.releases.get(&package).is_some_and(|at| spec.admits(self.case.version(package, *at)))
            };
            matches!(&rule.says, Says::Conflicts(other, spec) if has(rule.package, rule.spec) && has(*other, *spec))
        });
        apart || nights.iter().filter(|night| **night != 0).count() > 1
    }

    fn answer(&self) -> Answer {
        let grounded = self.releases.iter().all(|(package, release)| {
            let version = self.case.version(*package, *release);
            // What nobody else asks for is never reached, so its asking for itself admits nothing.
            let others = self.asked.iter().zip(&self.askers).filter(|(_, asker)| **asker != Some(*package));
            let mut exact = others.map(|(asked, _)| asked).filter(|(to, _)| to == package);
            let overridden = self.case.overrides.contains_key(package);
            self.case.counts_from_the_start(*package, *release)
                || (!overridden && exact.any(|(_, spec)| spec.exact() == Some(version)))
        });
        Answer {
            minor: self.minor,
            releases: self.releases.clone(),
            patches: self.patches.clone(),
            edges: self.edges.clone(),
            grounded: if grounded { Grounded::Yes } else { Grounded::No },
        }
    }
}

#[derive(PartialEq, Eq)]
enum Applies {
    Always,
    Never,
    Depends,
}

fn applies(mark: Mark, minor: u16) -> Applies {
    let truths: BTreeSet<bool> = Case::patches(minor).iter().map(|patch| mark.holds(minor, *patch)).collect();
    match (truths.contains(&true), truths.contains(&false)) {
        (true, false) => Applies::Always,
        (false, _) => Applies::Never,
        (true, true) => Applies::Depends,
    }
}
