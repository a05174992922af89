//! Processes in which images are loaded as dyld loads them, and the answer that comes of all of them.

use std::collections::{BTreeMap, HashMap};

use super::answer::{Answer, Brought, Grade, Judged, Library, Refusal, Trouble, What};
use super::host::{Host, Root};
use super::library::{Found, NotFound, find, refused};
use super::symbol::Symbols;
use super::tree::{Distribution, Id, Tree, leaf};
use crate::check::facts::{Kind, Signature};
use crate::target::PythonMinor;

/// What answered a library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bound {
    Found(Found),
    Absent,
    Missing,
}

/// A process: what is loaded, in order, and who loaded it.
#[derive(Default)]
pub(super) struct Process<'a> {
    loaded: Vec<Id>,
    /// Per image of the tree.
    state: Vec<State>,
    /// The first dylib loaded under each install name.
    install_names: HashMap<&'a str, Id>,
    /// The program, where it is one of the tree and not the interpreter.
    program: Option<Id>,
}

#[derive(Clone, Copy, Default)]
struct State {
    loaded: bool,
    expanded: bool,
    hidden: bool,
    /// It was opened by somebody else before.
    opened_before: bool,
    loader: Option<Id>,
}

impl<'a> Process<'a> {
    fn new(images: usize) -> Self {
        Self { state: vec![State::default(); images], ..Self::default() }
    }

    /// Returns the dylib that was loaded under an install name.
    pub(super) fn named(&self, install_name: &str) -> Option<Id> {
        self.install_names.get(install_name).copied()
    }

    pub(super) fn is_loaded(&self, image: Id) -> bool {
        self.state[image].loaded
    }

    /// Returns the image of the tree that is the program.
    pub(super) fn program(&self) -> Option<Id> {
        self.program
    }

    /// Returns the images whose rpaths count for one: itself, who loaded it, and so on.
    pub(super) fn chain(&self, image: Id) -> impl Iterator<Item = Id> + '_ {
        std::iter::successors(Some(image), |image| self.state[*image].loader)
    }

    /// Returns what flat lookups of an image look at: all but what only its dependents see, and itself.
    pub(super) fn visible(&self, image: Id) -> impl Iterator<Item = Id> + '_ {
        self.loaded.iter().copied().filter(move |other| *other == image || !self.state[*other].hidden)
    }

    fn insert(&mut self, tree: &Tree<'a>, image: Id) -> bool {
        if self.state[image].loaded {
            return false;
        }
        self.state[image].loaded = true;
        self.loaded.push(image);
        if let Some(name) = tree.install_name(image) {
            self.install_names.entry(name).or_insert(image);
        }
        true
    }

    /// Unloads what was loaded after the first so many.
    fn unload(&mut self, tree: &Tree<'a>, keep: usize) {
        for image in self.loaded.split_off(keep) {
            self.state[image] = State::default();
            if let Some(name) = tree.install_name(image)
                && self.install_names.get(name) == Some(&image)
            {
                self.install_names.remove(name);
            }
        }
        self.program = None;
    }
}

/// What is known of an image so far.
#[derive(Default)]
struct Known<'a> {
    /// Whether it was ever loaded.
    seen: bool,
    pulled_by: Option<Id>,
    bound: Vec<Bound>,
    checked: bool,
    troubles: Vec<Trouble<'a>>,
}

struct Simulation<'a, 't> {
    tree: &'t Tree<'a>,
    host: &'t Host,
    symbols: Symbols<'a, 't>,
    known: Vec<Known<'a>>,
    /// Images that find a library only after it was loaded: which, where that is said, and the library.
    after: Vec<(Id, usize, Id)>,
}

/// Whether a path is one where people's own package managers put libraries.
fn is_of_a_package_manager(path: &str) -> bool {
    ["/opt/homebrew/", "/opt/local/", "/usr/local/"].iter().any(|place| path.starts_with(place))
}

/// Says of each image of an environment what dyld would, for an interpreter of that minor.
pub fn simulate<'a>(distributions: &'a [Distribution<'a>], python: PythonMinor) -> Answer<'a> {
    let tree = Tree::new(distributions);
    let host = Host::new(&tree);
    let known = (0..tree.images.len()).map(|_| Known::default()).collect();
    let mut simulation =
        Simulation { tree: &tree, host: &host, symbols: Symbols::new(&tree, python), known, after: Vec::new() };
    simulation.judge_files();

    // Distributions after the same others share a process up to there.
    let mut groups: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
    for (at, before) in host.before.iter().enumerate() {
        groups.entry(before).or_default().push(at);
    }
    let mut process = Process::new(tree.images.len());
    // Who needs less comes first, so that hosts are judged in a process of their own.
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(before, _)| before.len());
    for (before, group) in &groups {
        let keep = simulation.prepare(&mut process, before);
        for root in group.iter().flat_map(|at| &host.roots[*at]) {
            if simulation.is_program(root.image) {
                let mut own = Process::new(tree.images.len());
                own.program = Some(root.image);
                simulation.open(&mut own, *root);
                simulation.check(&own, 0);
                continue;
            }
            simulation.open(&mut process, *root);
            simulation.check(&process, keep);
            process.unload(&tree, keep);
        }
    }
    // Whoever is left is needed by nobody that could be loaded, of no distribution, or by each other.
    for (before, group) in &groups {
        let is_left = |id: &Id| group.contains(&tree.owners[*id]);
        if !(0..tree.images.len()).any(|id| is_left(&id) && !simulation.known[id].checked) {
            continue;
        }
        let keep = simulation.prepare(&mut process, before);
        for image in (0..tree.images.len()).filter(is_left) {
            if !simulation.known[image].checked {
                simulation.open(&mut process, Root { image, local: true });
                simulation.check(&process, keep);
                process.unload(&tree, keep);
            }
        }
    }
    simulation.weigh_after();
    simulation.finish()
}

impl<'a> Simulation<'a, '_> {
    /// Makes a process in which everything of some distributions was opened, and returns how many images those loaded.
    fn prepare(&mut self, process: &mut Process<'a>, before: &[usize]) -> usize {
        let host = self.host;
        process.unload(self.tree, 0);
        for root in before.iter().flat_map(|at| &host.roots[*at]) {
            if !self.is_program(root.image) {
                self.open(process, *root);
            }
        }
        process.loaded.len()
    }

    fn is_program(&self, image: Id) -> bool {
        self.tree.slice(image).is_some_and(|slice| slice.kind == Kind::Executable)
    }

    fn tell(&mut self, image: Id, what: What<'a>, grade: Grade, brought_by: Vec<Brought<'a>>) {
        let trouble = Trouble { image: self.tree.path(image), what, grade, brought_by };
        self.known[image].troubles.push(trouble);
    }

    fn brought(&self, images: impl IntoIterator<Item = Id>) -> Vec<Brought<'a>> {
        let brought = |image: Id| Brought {
            image: self.tree.path(image),
            distribution: self.tree.distributions[self.tree.owners[image]].name,
        };
        images.into_iter().map(brought).collect()
    }

    /// Says what is wrong with images by themselves.
    fn judge_files(&mut self) {
        for id in 0..self.tree.images.len() {
            let image = self.tree.images[id];
            if let Some(refusal) = refused(image) {
                // Object files and debugging symbols lie about, and nobody opens them.
                if !matches!(refusal, Refusal::Kind(_)) {
                    self.tell(id, What::Refused(refusal), Grade::Error, Vec::new());
                }
                self.known[id].checked = true;
                continue;
            }
            let Some(slice) = self.tree.slice(id) else { continue };
            let grade = match slice.signature {
                Signature::Intact | Signature::Unread => continue,
                Signature::Absent | Signature::Broken(_) => Grade::Error,
                Signature::Unusable(_) => Grade::Unverifiable,
            };
            self.tell(id, What::Signature(&slice.signature), grade, Vec::new());
        }
    }

    /// Opens an image, as `dlopen` does.
    fn open(&mut self, process: &mut Process<'a>, root: Root) {
        if refused(self.tree.images[root.image]).is_some() {
            return;
        }
        if process.insert(self.tree, root.image) {
            process.state[root.image].hidden = root.local;
        } else if !root.local {
            process.state[root.image].hidden = false;
        }
        self.load_dependents(process, root.image);
    }

    /// Loads what an image names: all that it names itself, then what each of those names.
    fn load_dependents(&mut self, process: &mut Process<'a>, root: Id) {
        let mut open = vec![(root, None)];
        while let Some((image, loader)) = open.pop() {
            if std::mem::replace(&mut process.state[image].expanded, true) {
                continue;
            }
            let loader = loader.filter(|_| !process.state[image].opened_before);
            process.state[image].loader = loader;
            let bound = self.bind_libraries(process, image);
            for bound in bound.iter().rev() {
                if let Bound::Found(Found::Image(next)) = bound {
                    open.push((*next, Some(image)));
                }
            }
            let known = &mut self.known[image];
            if !std::mem::replace(&mut known.seen, true) {
                known.pulled_by = loader;
                known.bound = bound;
            } else if known.bound != bound {
                self.tell_differs(image, &bound);
            }
        }
    }

    /// Looks for the libraries that an image names, in order.
    fn bind_libraries(&mut self, process: &mut Process<'a>, image: Id) -> Vec<Bound> {
        let tree = self.tree;
        let Some(slice) = tree.slice(image) else { return Vec::new() };
        let mut all = Vec::with_capacity(slice.dependencies.len());
        for dependency in &slice.dependencies {
            let library = dependency.path.as_str();
            let bound = match find(tree, process, image, library) {
                Ok(found) => Bound::Found(found),
                Err(_) if dependency.weak && !dependency.re_export => Bound::Absent,
                Err(not_found) => {
                    let bound = self.not_found(image, library, not_found);
                    if let Bound::Found(Found::Image(found)) = bound {
                        process.state[found].opened_before = true;
                    }
                    bound
                }
            };
            if let Bound::Found(Found::Image(found)) = bound {
                process.insert(tree, found);
            }
            all.push(bound);
        }
        all
    }

    /// Says that a library is not found where it is looked for.
    fn not_found(&mut self, image: Id, library: &'a str, search: NotFound<'a>) -> Bound {
        let first_time = !self.known[image].seen;
        let named = self.tree.named(library).iter().copied().find(|other| *other != image);
        if let Some(first) = named.filter(|other| refused(self.tree.images[*other]).is_none()) {
            if first_time {
                let brought = self.brought([first]);
                self.tell(image, What::LoadsAfter { library }, Grade::Warning, brought);
                self.after.push((image, self.known[image].troubles.len() - 1, first));
            }
            return Bound::Found(Found::Image(first));
        }
        if first_time {
            let inside = self.tree.with_leaf(leaf(library)).iter().copied().filter(|other| *other != image);
            let inside: Vec<Id> = inside.collect();
            let own = self.tree.owners[image];
            let near = |other: &Id| {
                let owner = self.tree.owners[*other];
                owner == own || self.host.before[own].contains(&owner)
            };
            // A library of the same name in a stranger's wheel is another one, and what Homebrew has is not seen here.
            let ours =
                inside.iter().any(near) && !search.tried.iter().any(|tried| is_of_a_package_manager(&tried.path));
            let (grade, outside) = if ours { (Grade::Error, None) } else { (Grade::Warning, Some(search.outside)) };
            let brought = self.brought(inside);
            self.tell(image, What::LibraryMissing { library, tried: search.tried, outside }, grade, brought);
        }
        Bound::Missing
    }

    fn library(&self, bound: Bound) -> Library<'a> {
        match bound {
            Bound::Found(Found::Image(image)) => Library::Image(self.tree.path(image)),
            Bound::Found(Found::System) => Library::System,
            Bound::Absent => Library::Absent,
            Bound::Missing => Library::Missing,
        }
    }

    fn tell_differs(&mut self, image: Id, now: &[Bound]) {
        let dependencies = self.tree.slice(image).into_iter().flat_map(|slice| &slice.dependencies);
        let before = self.known[image].bound.clone();
        for ((dependency, first), then) in dependencies.zip(before).zip(now) {
            let library = dependency.path.as_str();
            let told =
                |trouble: &Trouble<'_>| matches!(trouble.what, What::Differs { library: told, .. } if told == library);
            if first != *then && !self.known[image].troubles.iter().any(told) {
                let answers = [self.library(first), self.library(*then)];
                self.tell(image, What::Differs { library, answers }, Grade::Note, Vec::new());
            }
        }
    }

    /// Looks for the names that images import, of those that were loaded after the first so many and not checked before.
    fn check(&mut self, process: &Process<'a>, keep: usize) {
        for image in &process.loaded[keep..] {
            let known = &mut self.known[*image];
            // dyld stops at a missing library, and looks for no name. Where it should be in the tree, the other names tell
            // whether it would be the only thing to mend.
            let outside = |trouble: &Trouble<'_>| matches!(trouble.what, What::LibraryMissing { outside: Some(_), .. });
            if !std::mem::replace(&mut known.checked, true) && !known.troubles.iter().any(outside) {
                self.check_image(process, *image);
            }
        }
    }

    fn check_image(&mut self, process: &Process<'a>, image: Id) {
        let known = &self.known;
        let missing = self.symbols.missing(process, image, &|image| known[image].bound.as_slice());
        for miss in missing {
            let what = What::SymbolMissing { symbol: miss.symbol, expected: miss.expected, lazy: miss.lazy };
            let brought = self.brought(miss.exporters);
            self.tell(image, what, miss.grade, brought);
        }
    }

    /// What is found only after it was loaded is no cause for alarm where somebody does load it.
    fn weigh_after(&mut self) {
        for (image, at, library) in std::mem::take(&mut self.after) {
            let opened = self.host.roots.iter().flatten().any(|root| root.image == library);
            let only_after =
                |other: Id| self.known[other].troubles.iter().any(|one| matches!(one.what, What::LoadsAfter { .. }));
            let found = Bound::Found(Found::Image(library));
            let found =
                (0..self.known.len()).any(|other| self.known[other].bound.contains(&found) && !only_after(other));
            if opened || found {
                self.known[image].troubles[at].grade = Grade::Note;
            }
        }
    }

    fn finish(self) -> Answer<'a> {
        let images = self.known.iter().enumerate().map(|(id, known)| Judged {
            image: self.tree.images[id],
            distribution: self.tree.distributions[self.tree.owners[id]].name,
            pulled_by: known.pulled_by.map(|by| self.tree.path(by)),
            libraries: known.bound.iter().map(|bound| self.library(*bound)).collect(),
            troubles: known.troubles.clone(),
        });
        Answer { images: images.collect(), decided: self.symbols.decided, assumed: self.symbols.assumed }
    }
}
