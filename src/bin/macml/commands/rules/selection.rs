//! Which pieces of the knowledge were asked for, and in what order they are shown.

use macml::knowledge::Knowledge;
use macml::knowledge::OneNight;
use macml::knowledge::Rule;
use macml::knowledge::rule::Scope;
use macml::knowledge::wheels::InnerTag;
use macml::knowledge::wheels::WheelFact;
use macml::manifest::meant;
use macml::pep::PackageName;

/// Kinds of knowledge, as `--kind` takes them, with what each says.
pub(crate) const KINDS: [(&str, &str); 7] = [
    ("requires", "A release needs another package"),
    ("conflicts", "A release cannot be beside another, or is of no use"),
    ("needs-macos", "A release needs a later macOS than its files say"),
    ("needs-python", "A release needs another Python than its files say"),
    ("advice", "Something to know of a release; never binding"),
    (ONE_NIGHT, "Nightly builds that must be of one night"),
    (WHEEL, "A tag of a wheel is wrong"),
];

/// The kind of groups of nightly builds.
pub(crate) const ONE_NIGHT: &str = "one-night";
/// The kind of facts on single wheels.
pub(crate) const WHEEL: &str = "wheel";

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Selection<'k> {
    /// What is listed, by package; `None` where only rules were named.
    pub(crate) list: Option<Vec<Group<'k>>>,
    /// Whether the list is that of named packages.
    pub(crate) of_packages: bool,
    /// What is shown whole, in the order in which it was named.
    pub(crate) whole: Vec<Piece<'k>>,
    /// What there is not.
    pub(crate) unknown: Vec<Unknown<'k>>,
}

/// What is known of a package first of all.
#[derive(Debug)]
pub(crate) struct Group<'k> {
    /// The package.
    pub(crate) package: &'k PackageName,
    /// Rules about it.
    pub(crate) rules: Vec<&'k Rule>,
    /// Groups of nightly builds that it leads.
    pub(crate) nights: Vec<&'k OneNight>,
    /// Wheels of it for a later macOS than they say.
    pub(crate) wheels: Vec<&'k WheelFact>,
    /// Wheels of it whose inside contradicts their name.
    pub(crate) inner_tags: Vec<&'k InnerTag>,
}

/// A piece of knowledge that has a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece<'k> {
    /// A rule.
    Rule(&'k Rule),
    /// A group of nightly builds.
    Night(&'k OneNight),
}

/// A name of nothing, with what was probably meant.
#[derive(Debug)]
pub(crate) struct Unknown<'k> {
    /// What was typed.
    pub(crate) name: &'k str,
    /// The nearest package.
    pub(crate) package: Option<&'k str>,
    /// The nearest rule.
    pub(crate) rule: Option<&'k str>,
}

/// What a list is narrowed to; empty lists narrow nothing.
#[derive(Debug)]
pub(crate) struct Filter<'a> {
    /// `--kind`.
    pub(crate) kinds: &'a [String],
    /// `--scope`.
    pub(crate) scopes: &'a [Scope],
}

impl<'k> Selection<'k> {
    /// Finds what `names` stand for; none of them stands for all.
    pub(crate) fn new(knowledge: &'k Knowledge, names: &'k [String], filter: &Filter<'_>) -> Self {
        let known = knowledge.packages();
        let (mut packages, mut whole, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            let piece = Piece::named(knowledge, name);
            let package = name.parse::<PackageName>().ok().and_then(|name| known.get(&name).copied());
            match (piece, package) {
                (Some(piece), _) => whole.push(piece),
                (None, Some(package)) => packages.push(package),
                (None, None) => unknown.push(Unknown::new(knowledge, name)),
            }
        }
        let listed = names.is_empty() || !packages.is_empty();
        let list = listed.then(|| groups(knowledge, &packages, filter));
        Self { list, of_packages: !packages.is_empty(), whole, unknown }
    }

    /// Returns whether there would be something to list, were it not for the filter.
    pub(crate) fn is_filtered_out(&self) -> bool {
        self.list.as_ref().is_some_and(Vec::is_empty)
    }

    /// Lists every rule once.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &'k Rule> {
        let mut rules: Vec<&'k Rule> = self.groups().flat_map(|group| group.rules.iter().copied()).collect();
        for piece in &self.whole {
            match piece {
                Piece::Rule(rule) if rules.iter().all(|other| other.id != rule.id) => rules.push(rule),
                _ => {}
            }
        }
        rules.into_iter()
    }

    /// Lists every group of nightly builds once.
    pub(crate) fn nights(&self) -> impl Iterator<Item = &'k OneNight> {
        let mut nights: Vec<&'k OneNight> = self.groups().flat_map(|group| group.nights.iter().copied()).collect();
        for piece in &self.whole {
            match piece {
                Piece::Night(night) if nights.iter().all(|other| other.id != night.id) => nights.push(night),
                _ => {}
            }
        }
        nights.into_iter()
    }

    /// Lists every wheel for a later macOS than it says.
    pub(crate) fn wheels(&self) -> impl Iterator<Item = &'k WheelFact> {
        self.groups().flat_map(|group| group.wheels.iter().copied())
    }

    /// Lists every wheel whose inside contradicts its name.
    pub(crate) fn inner_tags(&self) -> impl Iterator<Item = &'k InnerTag> {
        self.groups().flat_map(|group| group.inner_tags.iter().copied())
    }

    fn groups(&self) -> impl Iterator<Item = &Group<'k>> {
        self.list.iter().flatten()
    }
}

/// Gathers what speaks of `packages`, of any when there are none: their own groups first, then the others in the order of
/// the knowledge.
fn groups<'k>(knowledge: &'k Knowledge, packages: &[&'k PackageName], filter: &Filter<'_>) -> Vec<Group<'k>> {
    let asked = |name: &PackageName| packages.is_empty() || packages.contains(&name);
    let mut groups: Vec<Group<'k>> = packages.iter().copied().map(Group::new).collect();
    let speaks = |rule: &&Rule| asked(&rule.package) || rule.others().iter().any(|other| asked(&other.name));
    for rule in knowledge.rules().iter().filter(speaks).filter(|rule| filter.admits(rule)) {
        group(&mut groups, &rule.package).rules.push(rule);
    }
    let among = |names: &'k [PackageName]| names.iter().any(asked).then(|| names.first()).flatten();
    for night in knowledge.one_night.iter().filter(|_| filter.admits_kind(ONE_NIGHT)) {
        if let Some(first) = among(&night.packages) {
            group(&mut groups, first).nights.push(night);
        }
    }
    for fact in knowledge.wheels.iter().filter(|_| filter.admits_kind(WHEEL)) {
        if let Some(first) = among(&fact.packages) {
            group(&mut groups, first).wheels.push(fact);
        }
    }
    for tag in knowledge.inner_tags.iter().filter(|_| filter.admits_kind(WHEEL)) {
        if let Some(first) = among(&tag.packages) {
            group(&mut groups, first).inner_tags.push(tag);
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Returns the group of a package, a new one at the end where there was none.
fn group<'g, 'k>(groups: &'g mut Vec<Group<'k>>, package: &'k PackageName) -> &'g mut Group<'k> {
    let at = groups.iter().position(|group| group.package == package).unwrap_or_else(|| {
        groups.push(Group::new(package));
        groups.len() - 1
    });
    &mut groups[at]
}

impl<'k> Group<'k> {
    fn new(package: &'k PackageName) -> Self {
        Self { package, rules: Vec::new(), nights: Vec::new(), wheels: Vec::new(), inner_tags: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.nights.is_empty() && self.wheels.is_empty() && self.inner_tags.is_empty()
    }
}

impl<'k> Piece<'k> {
    fn named(knowledge: &'k Knowledge, id: &str) -> Option<Self> {
        let night = || knowledge.one_night.iter().find(|night| night.id == id).map(Self::Night);
        knowledge.rule(id).map(Self::Rule).or_else(night)
    }
}

impl<'k> Unknown<'k> {
    fn new(knowledge: &'k Knowledge, name: &'k str) -> Self {
        // `torch>=2.15` and `torch[opt]` are about `torch`.
        let end = name.find(|char: char| "<>=!~[;@ ".contains(char)).unwrap_or(name.len());
        let stem = name[..end].to_lowercase().replace(['_', '.'], "-");
        let meant = meant::meant(&stem).filter(|meant| knowledge.packages().iter().any(|name| name.as_str() == *meant));
        let package = meant.or_else(|| knowledge.nearest_package(&stem));
        Self { name, package, rule: knowledge.nearest_id(name) }
    }
}

impl Filter<'_> {
    fn admits(&self, rule: &Rule) -> bool {
        let kind = self.kinds.is_empty() || self.kinds.contains(&rule.says.to_string());
        kind && (self.scopes.is_empty() || self.scopes.contains(&rule.scope))
    }

    /// Returns whether it admits what is no rule: that has no scope.
    fn admits_kind(&self, kind: &str) -> bool {
        self.scopes.is_empty() && (self.kinds.is_empty() || self.kinds.iter().any(|one| one == kind))
    }
}
