//! The bridge to pubgrub.
//!
//! What is chosen and what it depends on are functions of package and version alone: never of the range, of who
//! asked, or of what the network has answered so far. That is what makes learned conflicts sound and answers the same
//! from run to run.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::rc::Rc;

use pubgrub::{Dependencies, DependencyConstraints, DependencyProvider, PackageResolutionStatistics};

use crate::knowledge::rule::Says;
use crate::knowledge::{Demand, InForce, Side};
use crate::pep::{ExtraName, PackageName, Point, Version, VersionRange};
use crate::target::PythonMinor;

use super::Error;
use super::edges::{self, Edge, Edges};
use super::package::Node;
use super::run::{Admitted, Run, Told};

/// The highest is decided first.
pub(crate) type Priority = Reverse<(u8, usize, Option<PackageName>, Option<ExtraName>)>;

/// A derivation tree in our types.
pub(crate) type Tree = pubgrub::DerivationTree<Node, VersionRange, String>;

/// Answers pubgrub from a [`Run`].
pub(crate) struct Provider<'p, 'r, 's> {
    run: &'p RefCell<Run<'r, 's>>,
    in_force: Rc<InForce>,
    python_order: Vec<PythonMinor>,
    /// The place of each root in the order of its Python.
    root_ranks: HashMap<(PythonMinor, PackageName), usize>,
    demands: RefCell<Admitted>,
    decided: RefCell<HashMap<(Node, Version), Edges>>,
    /// How often a version of a package was chosen.
    tries: RefCell<HashMap<PackageName, u32>>,
}

impl<'p, 'r, 's> Provider<'p, 'r, 's> {
    pub(crate) fn new(run: &'p RefCell<Run<'r, 's>>, python_order: Vec<PythonMinor>) -> Self {
        let mut root_ranks = HashMap::new();
        for minor in &python_order {
            for (rank, edge) in run.borrow().root_edges(*minor).into_iter().enumerate() {
                root_ranks.entry((*minor, edge.name)).or_insert(rank);
            }
        }
        Self {
            run,
            in_force: run.borrow().in_force.clone(),
            python_order,
            root_ranks,
            demands: RefCell::default(),
            decided: RefCell::default(),
            tries: RefCell::default(),
        }
    }

    /// Returns exact demands of reached releases for versions that do not count by themselves.
    pub(crate) fn demands(&self) -> Admitted {
        self.demands.borrow().clone()
    }

    /// Returns what a chosen version depends on.
    pub(crate) fn edges(&self, node: &Node, version: &Version) -> Option<Edges> {
        self.decided.borrow().get(&(node.clone(), version.clone())).cloned()
    }

    fn constraints(&self, edges: &Edges, minor: PythonMinor) -> DependencyConstraints<Node, VersionRange> {
        let mut all: BTreeMap<(PackageName, Option<ExtraName>), VersionRange> = BTreeMap::new();
        let mut add = |name: &PackageName, extra: Option<&ExtraName>, range: &VersionRange| {
            let known = all.entry((name.clone(), extra.cloned())).or_insert_with(VersionRange::full);
            *known = known.intersection(range);
        };
        for edge in &edges.packages {
            add(&edge.name, None, &edge.range);
            edge.extras.iter().for_each(|extra| add(&edge.name, Some(extra), &edge.range));
        }
        let packages = all.into_iter().map(|((name, extra), range)| (Node::Release { name, extra, minor }, range));
        let python = edges.patches.clone().map(|patches| (Node::PythonFull(minor), patches));
        packages.chain(python).chain(self.rules(edges, minor)).collect()
    }

    /// Lists what knowledge demands of whoever has these edges: what is said of itself, and what every release in the
    /// range of an edge must be kept apart from. Without the latter, two packages that exclude each other in all their
    /// releases would be tried release by release.
    ///
    /// They have an order, since the solver goes by it: from several conflicts it tells of the first.
    fn rules(&self, edges: &Edges, minor: PythonMinor) -> BTreeMap<Node, VersionRange> {
        let mut all: BTreeMap<Node, VersionRange> = BTreeMap::new();
        let mut add = |node: Node, range: VersionRange| {
            let known = all.entry(node).or_insert_with(VersionRange::full);
            *known = known.intersection(&range);
        };
        for demand in &edges.demands {
            match *demand {
                Demand::OneOf(at) => add(Node::Rule { at, minor }, VersionRange::full()),
                Demand::Apart(at, side) => add(Node::Rule { at, minor }, only(side_version(side))),
                Demand::Night(at, night) => add(Node::Night { at, minor }, only(Version::new([night]))),
            }
        }
        for edge in &edges.packages {
            for (at, side) in self.in_force.apart(&edge.name, &edge.range, minor) {
                add(Node::Rule { at, minor }, only(side_version(side)));
            }
        }
        all
    }

    /// Returns whether a rule keeps two sides apart; another one that has a node needs something.
    fn keeps_apart(&self, at: usize) -> bool {
        matches!(self.in_force.rule(at).says, Says::Conflicts(_))
    }

    fn demand(&self, edges: &[Edge]) {
        let mut demands = self.demands.borrow_mut();
        for edge in edges {
            if let Some(version) = &edge.exact {
                demands.insert((edge.name.clone(), version.clone()));
            }
        }
    }
}

/// Makes the version that stands for a Python minor.
pub(crate) fn minor_version(minor: PythonMinor) -> Version {
    Version::new([u64::from(minor.major), u64::from(minor.minor)])
}

/// Makes the version that stands for one side of a rule that keeps two apart.
fn side_version(side: Side) -> Version {
    Version::new([match side {
        Side::Own => 1,
        Side::Other => 2,
    }])
}

/// Makes the version that stands for the alternative at a place.
fn alternative_version(place: usize) -> Version {
    Version::new([place as u64 + 1])
}

fn only(version: Version) -> VersionRange {
    VersionRange::singleton(version)
}

impl DependencyProvider for Provider<'_, '_, '_> {
    type P = Node;
    type V = Point;
    type VS = VersionRange;
    type M = String;
    type Priority = Priority;
    type Err = Error;

    fn prioritize(&self, node: &Node, _: &VersionRange, _: &PackageResolutionStatistics) -> Priority {
        Reverse(match node {
            Node::Root => (0, 0, None, None),
            Node::Python => (1, 0, None, None),
            // What a release needs by a rule is known as soon as the release is chosen.
            Node::Rule { at, .. } if !self.keeps_apart(*at) => (2, *at, None, None),
            Node::Release { name, extra, minor } => match self.root_ranks.get(&(*minor, name.clone())) {
                Some(rank) => (4, *rank, None, extra.clone()),
                None => (5, 0, Some(name.clone()), extra.clone()),
            },
            Node::Needs { name, extra, minor } => match self.root_ranks.get(&(*minor, name.clone())) {
                Some(rank) => (4, *rank, None, Some(extra.clone())),
                None => (5, 0, Some(name.clone()), Some(extra.clone())),
            },
            Node::PythonFull(_) => (6, 0, None, None),
            // These bring nothing along: a side or a night is what releases make of it. Decided any earlier, which may
            // come to pass once the solver has learned that one must be, it would choose the releases.
            Node::Rule { at, .. } => (7, *at, None, None),
            Node::Night { at, .. } => (8, *at, None, None),
        })
    }

    fn choose_version(&self, node: &Node, range: &VersionRange) -> Result<Option<Point>, Error> {
        match node {
            Node::Root => Ok(Some(Version::new([0]).into())),
            Node::Python => {
                let versions = self.python_order.iter().map(|minor| Point::from(minor_version(*minor)));
                Ok(versions.into_iter().find(|version| range.contains(version)))
            }
            Node::PythonFull(minor) => {
                let newest_first = edges::patches(*minor).into_iter().rev().map(Point::from);
                Ok(newest_first.into_iter().find(|patch| range.contains(patch)))
            }
            Node::Rule { at, minor } => {
                let versions: Vec<Version> = if self.keeps_apart(*at) {
                    vec![side_version(Side::Own), side_version(Side::Other)]
                } else {
                    (0..self.run.borrow().alternatives(*at, *minor).len()).map(alternative_version).collect()
                };
                Ok(versions.into_iter().map(Point::from).find(|version| range.contains(version)))
            }
            // Every night that is asked for exists. Several are left where the solver has learned that one of them must
            // be, whichever release will ask for it; the newest comes first.
            Node::Night { .. } => {
                let nights = range.iter().filter_map(|(night, _)| match night {
                    Bound::Included(night) => Some(night.clone()),
                    Bound::Excluded(_) | Bound::Unbounded => None,
                });
                Ok(nights.last())
            }
            Node::Release { name, minor, .. } | Node::Needs { name, minor, .. } => {
                let mut run = self.run.borrow_mut();
                let Some(releases) = run.releases(name, *minor)? else { return Ok(None) };
                if matches!(node, Node::Release { extra: None, .. }) {
                    let mut tries = self.tries.borrow_mut();
                    let tries = tries.entry(name.clone()).or_default();
                    *tries += 1;
                    // Whoever goes down a list of releases will probably go on; asking one by one would take for ever.
                    run.ask_ahead(&releases, range, 1 << tries.saturating_sub(1).min(5));
                }
                Ok(releases.best(range).map(|(point, _)| point.clone()))
            }
        }
    }

    fn get_dependencies(
        &self,
        node: &Node,
        version: &Point,
    ) -> Result<Dependencies<Node, VersionRange, String>, Error> {
        let version = version.version().expect("only versions are chosen");
        let (name, extra, minor) = match node {
            Node::Root => {
                let minors = self.python_order.iter().map(|minor| only(minor_version(*minor)));
                let range = minors.fold(VersionRange::empty(), |all, one| all.union(&one));
                return Ok(Dependencies::Available([(Node::Python, range)].into_iter().collect()));
            }
            Node::Python => {
                let is_it = |minor: &&PythonMinor| minor_version(**minor) == *version;
                let minor = *self.python_order.iter().find(is_it).expect("only listed minors are chosen");
                let run = self.run.borrow();
                let patches = edges::admitted_patches(minor, &run.request.env.python).flatten();
                let edges = Edges { packages: run.root_edges(minor), patches, demands: Vec::new() };
                self.demand(&edges.packages);
                let constraints = self.constraints(&edges, minor);
                self.decided.borrow_mut().insert((node.clone(), version.clone()), edges);
                return Ok(Dependencies::Available(constraints));
            }
            Node::PythonFull(_) | Node::Night { .. } => {
                return Ok(Dependencies::Available(DependencyConstraints::default()));
            }
            Node::Rule { at, minor } => {
                let alternatives = self.run.borrow().alternatives(*at, *minor).into_iter().enumerate();
                let chosen = alternatives.into_iter().find(|(place, _)| alternative_version(*place) == *version);
                let edges = Edges { packages: chosen.map(|(_, edge)| edge).into_iter().collect(), ..Edges::default() };
                let constraints = self.constraints(&edges, *minor);
                self.decided.borrow_mut().insert((node.clone(), version.clone()), edges);
                return Ok(Dependencies::Available(constraints));
            }
            Node::Release { name, extra: Some(extra), minor } => {
                let pinned = [Node::base(name, *minor), Node::needs(name, extra, *minor)];
                let pinned = pinned.into_iter().map(|node| (node, only(version.clone())));
                return Ok(Dependencies::Available(pinned.collect()));
            }
            Node::Release { name, extra: None, minor } => (name, None, *minor),
            Node::Needs { name, extra, minor } => (name, Some(extra), *minor),
        };
        let mut run = self.run.borrow_mut();
        let releases = run.releases(name, minor)?.expect("only releases of a page are chosen");
        let Some(Ok(fit)) = releases.get(version) else { unreachable!("only releases that count are chosen") };
        let edges = match run.told(&releases, fit, minor, extra)? {
            Told::Unusable(why) => return Ok(Dependencies::Unavailable(why)),
            Told::Edges(edges) => edges,
        };
        self.demand(&edges.packages);
        let point = Point::from(version.clone());
        let mut constraints: Vec<(Node, VersionRange)> = Vec::new();
        for (other, range) in self.constraints(&edges, minor) {
            match &other {
                // `all = ["pkg[a]"]`: an extra of the package itself comes in the same version.
                Node::Release { name: itself, extra, .. } if itself == name => {
                    if !range.contains(&point) {
                        return Ok(Dependencies::Unavailable("it asks for another version of itself".to_owned()));
                    }
                    if extra.is_some() {
                        constraints.push((other, only(version.clone())));
                    }
                }
                _ => constraints.push((other, range)),
            }
        }
        self.decided.borrow_mut().insert((node.clone(), version.clone()), edges);
        Ok(Dependencies::Available(constraints.into_iter().collect()))
    }

    fn should_cancel(&self) -> Result<(), Error> {
        if self.run.borrow().out_of_time() { Err(Error::OutOfTime) } else { Ok(()) }
    }
}
