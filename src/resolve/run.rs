//! `Run`: one request with everything needed to judge releases for it, and the scout that asks ahead.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::index::source::{Ask, DIRECT, File, IndexName, MetadataAnswer, Page, PageAnswer, Release};
use crate::knowledge::rule::Says;
use crate::knowledge::{Circumstances, Demand, InForce};
use crate::manifest::model::{EnvSpec, Root, RootSource, Wheels};
use crate::pep::{ExtraName, MarkerEnv, Metadata, PackageName, Point, Specifiers, Version, VersionRange};
use crate::target::{Floor, Platform, PythonMinor, Target};

use super::Error;
use super::candidate::{Fit, Selector, admits};
use super::edges::{self, Edge, Edges};
use super::facts::Facts;
use super::releases::{Admission, Bound, Releases};
use super::request::Request;

/// Versions that count although they would not by themselves; fixed while a solve runs.
pub(crate) type Admitted = BTreeSet<(PackageName, Version)>;

/// One request being worked on.
pub(crate) struct Run<'r, 's> {
    pub(crate) request: &'r Request,
    /// The knowledge that binds here.
    pub(crate) in_force: Rc<InForce>,
    facts: &'r mut Facts<'s>,
    admitted: &'r Admitted,
    releases: HashMap<(PackageName, PythonMinor), Option<Rc<Releases>>>,
    selectors: HashMap<PythonMinor, Arc<Selector>>,
    scout: Scout,
}

/// What is probably needed soon. It only asks; nothing that is decided depends on it.
#[derive(Default)]
struct Scout {
    minor: Option<PythonMinor>,
    wanted: HashMap<PackageName, Wanted>,
    scanned: HashSet<(PackageName, Version, Option<ExtraName>)>,
}

struct Wanted {
    range: VersionRange,
    extras: BTreeSet<ExtraName>,
}

/// The page that serves a package, with its index; `None` when no index has the name.
type Served = Option<(IndexName, Arc<Page>)>;

/// What a release's wheels say of it.
pub(crate) enum Told {
    /// Its dependencies.
    Edges(Edges),
    /// Why it cannot be used, as a lowercase fragment.
    Unusable(String),
}

impl<'r, 's> Run<'r, 's> {
    pub(crate) fn new(request: &'r Request, facts: &'r mut Facts<'s>, admitted: &'r Admitted) -> Self {
        let on = circumstances(&request.env, request.platform);
        let in_force = InForce::new(&request.knowledge, on.as_ref(), &request.env.resolution.ignore_rules);
        let (releases, selectors) = (HashMap::new(), HashMap::new());
        Self { request, in_force: Rc::new(in_force), facts, admitted, releases, selectors, scout: Scout::default() }
    }

    pub(crate) fn out_of_time(&self) -> bool {
        self.facts.out_of_time()
    }

    /// Returns what is resolved for under one Python.
    pub(crate) fn target(&self, minor: PythonMinor) -> Target {
        target(self.request, minor)
    }

    pub(crate) fn marker_env(&self, minor: PythonMinor) -> MarkerEnv {
        self.target(minor).marker_env()
    }

    /// Lists the user's requirements as one Python sees them, in the order in which they are decided.
    pub(crate) fn root_edges(&self, minor: PythonMinor) -> Vec<Edge> {
        self.roots(minor).into_iter().map(edges::root_edge).collect()
    }

    /// Lists the user's lines that may apply under one Python, in the order in which they are decided.
    pub(crate) fn roots(&self, minor: PythonMinor) -> Vec<&'r Root> {
        let mut roots = edges::roots(&self.request.env, self.request.platform, &self.marker_env(minor));
        roots.retain(|root| !self.is_for_macs_only(root));
        roots
    }

    /// Returns whether a line asks for something that other platforms than Macs do without.
    pub(crate) fn is_for_macs_only(&self, root: &Root) -> bool {
        !self.request.platform.is_mac() && self.request.knowledge.darwin_only.contains(&root.name)
    }

    /// Lists the Pythons of the declared range, oldest first.
    pub(crate) fn minors(&self) -> Vec<PythonMinor> {
        minors(self.request)
    }

    /// Asks for the pages of all roots, so that they travel together.
    pub(crate) fn ask_roots(&mut self) {
        for minor in self.minors() {
            for edge in self.root_edges(minor) {
                self.ask_page(&edge.name);
            }
        }
        let likely: Vec<PackageName> = self.request.preferences.versions.keys().cloned().collect();
        likely.iter().for_each(|name| self.ask_page(name));
    }

    /// Lists the indexes that may serve a package, the first that has it wins.
    fn indexes(&self, name: &PackageName) -> Vec<IndexName> {
        let own = self.request.env.roots.iter().find(|root| root.name == *name && root.index.is_some());
        match own.and_then(|root| root.index.as_deref()) {
            Some(index) => vec![index.into()],
            None => self.request.indexes.clone(),
        }
    }

    /// Names the indexes that were asked for a package.
    pub(crate) fn describe_indexes(&self, name: &PackageName) -> String {
        let names: Vec<String> = self.indexes(name).iter().map(|index| format!("`{index}`")).collect();
        names.join(", ")
    }

    pub(crate) fn ask_page(&mut self, name: &PackageName) {
        if self.request.direct.contains_key(name) {
            return;
        }
        for index in self.indexes(name) {
            self.facts.ask(Ask::Page { index, name: name.clone() });
        }
    }

    /// Returns the page that serves a package, if that is known yet.
    fn peek_page(&self, name: &PackageName) -> Result<Option<Served>, Error> {
        if let Some(file) = self.request.direct.get(name) {
            let release = Release { wheels: vec![file.clone()], source_archive: false };
            let page = Page::new(BTreeMap::from([(file.wheel.version.clone(), release)]));
            return Ok(Some(Some((DIRECT.into(), Arc::new(page)))));
        }
        for index in self.indexes(name) {
            match self.facts.page(&index, name) {
                None => return Ok(None),
                Some(Err(error)) => return Err(Error::Source(error.clone())),
                Some(Ok(PageAnswer::Offline)) => {
                    return Err(Error::Offline { what: format!("the page of `{name}`") });
                }
                Some(Ok(PageAnswer::Absent)) => {}
                Some(Ok(PageAnswer::Found(page))) => return Ok(Some(Some((index, page.clone())))),
            }
        }
        Ok(Some(None))
    }

    /// Returns the releases of a package for one Python; `None` when no index has the name.
    pub(crate) fn releases(&mut self, name: &PackageName, minor: PythonMinor) -> Result<Option<Rc<Releases>>, Error> {
        self.ask_page(name);
        loop {
            if let Some(releases) = self.peek_releases(name, minor)? {
                return Ok(releases);
            }
            self.wait()?;
        }
    }

    fn peek_releases(&mut self, name: &PackageName, minor: PythonMinor) -> Result<Option<Option<Rc<Releases>>>, Error> {
        let key = (name.clone(), minor);
        if let Some(known) = self.releases.get(&key) {
            return Ok(Some(known.clone()));
        }
        let Some(page) = self.peek_page(name)? else { return Ok(None) };
        let releases = page.map(|(index, page)| {
            let direct = &*index == DIRECT;
            let resolution = &self.request.env.resolution;
            let selector = if direct {
                Arc::new(Selector::new(&self.target(minor), Wheels::Floor))
            } else {
                let (target, until) = (self.target(minor), resolution.exclude_newer.as_deref());
                let knowledge = &self.request.knowledge;
                let new = || Arc::new(Selector::new(&target, resolution.wheels).until(until).knowing(knowledge));
                self.selectors.entry(minor).or_insert_with(new).clone()
            };
            let bound = Bound { name: name.clone(), python: minor, in_force: self.in_force.clone() };
            Rc::new(Releases::new((index, page), selector, self.admission(name, direct), bound))
        });
        self.releases.insert(key, releases.clone());
        Ok(Some(releases))
    }

    fn admission(&self, name: &PackageName, direct: bool) -> Admission {
        let resolution = &self.request.env.resolution;
        let own: Vec<&Specifiers> = self
            .request
            .env
            .roots
            .iter()
            .filter(|root| root.name == *name && root.platform.is_none_or(|only| only == self.request.platform))
            .filter_map(|root| match &root.source {
                RootSource::Versions(specifiers) => Some(specifiers),
                _ => None,
            })
            .collect();
        let settings = resolution.constraints.get(name).into_iter().chain(resolution.overrides.get(name));
        let named = own.iter().copied().chain(settings);
        let exact = own.iter().find_map(|specifiers| specifiers.exact()).cloned();
        let demanded = self.admitted.iter().filter(|(of, _)| of == name).map(|(_, version)| version.clone());
        Admission {
            preferred: self.request.preferences.versions.get(name).cloned().unwrap_or_default(),
            prereleases: direct
                || resolution.prereleases.contains(name)
                || named.into_iter().any(Specifiers::names_prerelease),
            exactly: demanded
                .chain(exact.clone())
                .chain(self.request.direct.get(name).map(|file| file.wheel.version.clone()))
                .collect(),
            own: exact,
            narrowed: resolution.constraints.get(name).cloned(),
            own_range: own.into_iter().map(|own| own.range().clone()).reduce(|all, one| all.union(&one)),
        }
    }

    /// Returns what a release depends on under one Python.
    pub(crate) fn told(
        &mut self,
        releases: &Releases,
        fit: &Fit,
        minor: PythonMinor,
        extra: Option<&ExtraName>,
    ) -> Result<Told, Error> {
        fit.files.iter().for_each(|file| self.ask_metadata(&releases.index, file));
        self.ask_metadata(&releases.index, &fit.floor);
        loop {
            if let Some(told) = self.peek_told(releases, fit, minor, extra)? {
                return Ok(told);
            }
            self.wait()?;
        }
    }

    /// Returns the edge of each alternative of a rule that requires something, those first that the user names.
    pub(crate) fn alternatives(&self, at: usize) -> Vec<Edge> {
        let Says::Requires(any_of) = &self.in_force.rule(at).says else { return Vec::new() };
        let mut edges: Vec<Edge> = any_of.iter().map(|wanted| edges::rule_edge(at, wanted)).collect();
        edges.sort_by_key(|edge| self.request.env.roots.iter().all(|root| root.name != edge.name));
        edges
    }

    fn ask_metadata(&mut self, index: &IndexName, file: &Arc<File>) {
        self.facts.ask(Ask::Metadata { index: index.clone(), file: file.clone() });
    }

    fn peek_metadata(&self, index: &IndexName, file: &File) -> Result<Option<Result<Arc<Metadata>, String>>, Error> {
        match self.facts.metadata(index, file) {
            None => Ok(None),
            Some(Err(error)) => Err(Error::Source(error.clone())),
            Some(Ok(MetadataAnswer::Offline)) => {
                Err(Error::Offline { what: format!("the metadata of `{}`", file.filename) })
            }
            Some(Ok(MetadataAnswer::Unusable(why))) => Ok(Some(Err(format!("`{}`: {why}", file.filename)))),
            Some(Ok(MetadataAnswer::Found(metadata))) => Ok(Some(Ok(metadata.clone()))),
        }
    }

    fn peek_told(
        &self,
        releases: &Releases,
        fit: &Fit,
        minor: PythonMinor,
        extra: Option<&ExtraName>,
    ) -> Result<Option<Told>, Error> {
        let mut first: Option<(&File, Edges)> = None;
        let others = fit.files.iter().filter(|file| file.filename != fit.floor.filename);
        for file in std::iter::once(&fit.floor).chain(others) {
            let edges = match self.peek_metadata(&releases.index, file)? {
                None => return Ok(None),
                Some(Err(why)) => return Ok(Some(Told::Unusable(why))),
                Some(Ok(metadata)) => match self.edges(&metadata, minor, extra) {
                    Err(why) => return Ok(Some(Told::Unusable(why))),
                    Ok(edges) => edges,
                },
            };
            match &first {
                None => first = Some((file, edges)),
                Some((floor, same)) if *same != edges => {
                    return Ok(Some(Told::Unusable(format!(
                        "its wheels `{}` and `{}` ask for different things",
                        floor.filename, file.filename
                    ))));
                }
                Some(_) => {}
            }
        }
        Ok(first.map(|(file, mut edges)| {
            if extra.is_none() {
                edges.demands = self.in_force.demands(&file.wheel.name, &file.wheel.version, minor);
            }
            Told::Edges(edges)
        }))
    }

    /// Decides the metadata of one wheel, with overrides applied.
    fn edges(&self, metadata: &Metadata, minor: PythonMinor, extra: Option<&ExtraName>) -> Result<Edges, String> {
        let mut edges = edges::decide(&metadata.requires_dist, &self.marker_env(minor), minor, extra)?;
        if let (None, Some(asks)) = (extra, &metadata.requires_python) {
            // By the measure of pages too, so that it does not matter whether the page says it.
            let left = edges::admitted_patches(minor, asks).filter(|_| admits(asks, minor));
            let left = left.ok_or_else(|| format!("needs Python {asks}, not {minor}"))?;
            edges.patches = match (edges.patches, left) {
                (Some(one), Some(two)) => Some(one.intersection(&two)),
                (one, two) => one.or(two),
            };
        }
        let overrides = &self.request.env.resolution.overrides;
        for edge in &mut edges.packages {
            if let Some(instead) = overrides.get(&edge.name) {
                edge.range = instead.range().clone();
                edge.exact = instead.exact().cloned();
            }
        }
        Ok(edges)
    }

    /// Returns whether a release's metadata declares an extra; only for releases whose metadata is there.
    pub(crate) fn has_extra(&self, releases: &Releases, fit: &Fit, extra: &ExtraName) -> bool {
        self.extras(releases, fit).is_none_or(|extras| extras.contains(extra))
    }

    /// Lists the extras that a release's metadata declares, if that is there.
    pub(crate) fn extras(&self, releases: &Releases, fit: &Fit) -> Option<&[ExtraName]> {
        match self.facts.metadata(&releases.index, &fit.floor) {
            Some(Ok(MetadataAnswer::Found(metadata))) => Some(&metadata.provides_extra),
            _ => None,
        }
    }

    /// Completes files that the page left without size or sha256.
    pub(crate) fn complete(&mut self, index: &IndexName, files: &[Arc<File>]) -> Result<Vec<Arc<File>>, Error> {
        let lacking = |file: &&Arc<File>| file.size.is_none() || file.sha256.is_none();
        for file in files.iter().filter(lacking) {
            self.facts.ask(Ask::Complete { index: index.clone(), file: file.clone() });
        }
        let mut whole = Vec::new();
        for file in files {
            if !lacking(&file) {
                whole.push(file.clone());
                continue;
            }
            loop {
                match self.facts.complete(index, file) {
                    Some(Ok(file)) => break whole.push(file.clone()),
                    Some(Err(error)) => return Err(Error::Source(error.clone())),
                    None => self.wait()?,
                }
            }
        }
        Ok(whole)
    }

    /// Asks for what completing will need, without waiting.
    pub(crate) fn ask_complete(&mut self, index: &IndexName, file: &Arc<File>) {
        if file.size.is_none() || file.sha256.is_none() {
            self.facts.ask(Ask::Complete { index: index.clone(), file: file.clone() });
        }
    }

    fn wait(&mut self) -> Result<(), Error> {
        let arrived = self.facts.wait().map_err(|_| Error::OutOfTime)?;
        match arrived {
            Ask::Page { name, .. } => self.scout_page(&name),
            Ask::Metadata { file, .. } => self.scout_page(&file.wheel.name),
            Ask::Complete { .. } => {}
        }
        Ok(())
    }

    /// Asks for the metadata of the first `count` releases in a range; two or more are a guess at what comes next.
    pub(crate) fn ask_ahead(&mut self, releases: &Releases, range: &VersionRange, count: usize) {
        for fit in releases.first(range, count) {
            fit.files.iter().for_each(|file| self.ask_metadata(&releases.index, file));
        }
    }

    /// Starts asking ahead from the roots of the Python that will be tried first.
    pub(crate) fn scout(&mut self, minor: PythonMinor) {
        self.scout = Scout { minor: Some(minor), ..Scout::default() };
        for edge in self.root_edges(minor) {
            self.scout_edge(&edge);
        }
    }

    fn scout_edge(&mut self, edge: &Edge) {
        self.ask_page(&edge.name);
        let wanted = self
            .scout
            .wanted
            .entry(edge.name.clone())
            .or_insert_with(|| Wanted { range: VersionRange::full(), extras: BTreeSet::new() });
        let narrowed = wanted.range.intersection(&edge.range);
        let news = narrowed != wanted.range || edge.extras.iter().any(|extra| !wanted.extras.contains(extra));
        wanted.extras.extend(edge.extras.iter().cloned());
        if !narrowed.is_empty() {
            wanted.range = narrowed;
        }
        if news || wanted.range == VersionRange::full() {
            self.scout_page(&edge.name);
        }
    }

    /// Looks at a package whose page or metadata may have arrived, and asks for what its best release leads to.
    fn scout_page(&mut self, name: &PackageName) {
        let Some(minor) = self.scout.minor else { return };
        let Some(wanted) = self.scout.wanted.get(name) else { return };
        let (range, extras) = (wanted.range.clone(), wanted.extras.clone());
        // Errors are met again when the solver needs the page.
        let Ok(Some(Some(releases))) = self.peek_releases(name, minor) else { return };
        let Some((point, fit)) = releases.best(&range) else { return };
        let (version, fit) = (point.version().expect("releases are versions").clone(), fit.clone());
        fit.files.iter().for_each(|file| self.ask_metadata(&releases.index, file));
        for extra in std::iter::once(None).chain(extras.into_iter().map(Some)) {
            let key = (name.clone(), version.clone(), extra);
            if self.scout.scanned.contains(&key) {
                continue;
            }
            let Ok(Some(Told::Edges(edges))) = self.peek_told(&releases, &fit, minor, key.2.as_ref()) else { continue };
            self.scout.scanned.insert(key);
            for demand in edges.demands {
                if let Demand::OneOf(at) = demand
                    && let Some(edge) = self.alternatives(at).first()
                {
                    self.scout_edge(edge);
                }
            }
            for edge in edges.packages {
                self.scout_edge(&edge);
            }
        }
    }

    /// Lists the exact demands that the best releases make, from the roots down; what cannot be read is passed over.
    ///
    /// A refusal may come before the solver reaches a release that demands what was refused, for no better reason than
    /// the order of names.
    pub(crate) fn demands_ahead(&mut self, minor: PythonMinor) -> Admitted {
        let mut demands = Admitted::new();
        let mut seen: HashSet<(PackageName, Option<ExtraName>)> = HashSet::new();
        let mut queue = self.root_edges(minor);
        while let Some(edge) = queue.pop() {
            demands.extend(edge.exact.clone().map(|version| (edge.name.clone(), version)));
            for extra in std::iter::once(None).chain(edge.extras.iter().cloned().map(Some)) {
                if !seen.insert((edge.name.clone(), extra.clone())) {
                    continue;
                }
                let Ok(Some(releases)) = self.releases(&edge.name, minor) else { continue };
                let Some((_, fit)) = releases.best(&edge.range) else { continue };
                if let Ok(Told::Edges(edges)) = self.told(&releases, fit, minor, extra.as_ref()) {
                    queue.extend(edges.packages);
                }
            }
        }
        demands
    }

    /// Orders the Pythons: the preferred one, then those under which the fewest roots must take an older newest release
    /// than under another, then the newest.
    pub(crate) fn python_order(&mut self) -> Result<Vec<PythonMinor>, Error> {
        let minors = self.minors();
        self.ask_roots();
        let mut newest: BTreeMap<(PackageName, usize), BTreeMap<PythonMinor, Option<Point>>> = BTreeMap::new();
        if minors.len() > 1 {
            for minor in &minors {
                let mut seen: HashMap<PackageName, usize> = HashMap::new();
                for edge in self.root_edges(*minor) {
                    let nth = seen.entry(edge.name.clone()).or_default();
                    *nth += 1;
                    let releases = self.releases(&edge.name, *minor)?;
                    let best = releases.and_then(|releases| releases.newest_fit(&edge.range).cloned());
                    newest.entry((edge.name, *nth)).or_default().insert(*minor, best);
                }
            }
        }
        let held = |minor: &PythonMinor| {
            let older = |of: &BTreeMap<PythonMinor, Option<Point>>| {
                of.get(minor).is_some_and(|own| of.values().any(|other| other > own))
            };
            newest.values().filter(|of| older(of)).count()
        };
        let preferred = self.request.preferences.python;
        let mut order = minors.clone();
        order.sort_by_key(|minor| (Some(*minor) != preferred, held(minor), std::cmp::Reverse(*minor)));
        Ok(order)
    }
}

/// Returns the lowest Mac of an environment, on Macs.
pub(crate) fn circumstances(env: &EnvSpec, platform: Platform) -> Option<Circumstances> {
    let mac = env.mac.as_ref().filter(|_| platform.is_mac())?;
    Some(Circumstances { macos: mac.macos, chip: mac.chip.clone(), gpu: env.gpu })
}

/// Returns what a request resolves for under one Python.
pub(crate) fn target(request: &Request, minor: PythonMinor) -> Target {
    let floor = match &request.env.mac {
        Some(mac) if request.platform.is_mac() => Floor::Mac { macos: mac.macos, chip: mac.chip.clone() },
        _ => Floor::Glibc(request.env.glibc.0, request.env.glibc.1),
    };
    Target { platform: request.platform, floor, python: minor }
}

/// Lists the Pythons that a request admits, oldest first.
pub(crate) fn minors(request: &Request) -> Vec<PythonMinor> {
    let released = PythonMinor::RELEASED.iter().map(|(minor, _)| *minor);
    let only = |minor: &PythonMinor| request.python.is_none_or(|only| only == *minor);
    let declared = |minor: &PythonMinor| edges::admitted_patches(*minor, &request.env.python).is_some();
    released.filter(only).filter(declared).collect()
}
