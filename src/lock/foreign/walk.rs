//! What of a `uv.lock` one kind of Mac gets: from the chosen members along the dependencies whose markers hold there.
//!
//! Members, extras and groups that exclude each other stand in markers as if they were extras (`extra-4-demo-cpu`), and
//! an extra of a member may be asked for by a dependency too. So where there are such sets the walk is repeated until it
//! asks for nothing new.

use std::collections::{BTreeMap, BTreeSet};

use crate::pep::{Asked, ExtraName, MarkerEnv, PackageName, Truth};

use super::error::Refusal;
use super::model::{Edge, ForeignLock, Graph, Item, Part};
use super::on::{Presence, Wanted};

/// Places of releases, each with whether every Mac asked about gets it.
pub(super) type Reached = BTreeMap<usize, Presence>;

/// What is looked at next: a release, or one of its extras.
type Step<'a> = (usize, Option<&'a ExtraName>);

/// Walks from the chosen members.
///
/// # Errors
/// When there is no such member, or what was chosen excludes each other.
pub(super) fn reach(
    lock: &ForeignLock,
    graph: &Graph,
    env: &MarkerEnv,
    members: &[PackageName],
    wanted: &Wanted,
) -> Result<Reached, Refusal> {
    let name = |at: usize| &lock.releases[at].name;
    if let Some(unknown) = members.iter().find(|member| !lock.members.contains(member)) {
        let known = lock.members.iter().map(ToString::to_string).collect();
        return Err(Refusal::Unknown { kind: "member", name: unknown.to_string(), known });
    }
    let roots = graph.members.iter().copied().filter(|at| members.is_empty() || members.contains(name(*at)));
    let roots: Vec<usize> = roots.collect();
    let mut asked: BTreeSet<Item> = BTreeSet::new();
    for root in &roots {
        let item = |part| Item { package: name(*root).clone(), part };
        let node = &graph.nodes[*root];
        asked.insert(item(Part::Project));
        asked.extend(
            wanted.extras.iter().filter(|one| node.extras.contains_key(*one)).cloned().map(Part::Extra).map(item),
        );
        asked.extend(
            wanted.groups.iter().filter(|one| node.groups.contains_key(*one)).cloned().map(Part::Group).map(item),
        );
    }
    for set in &graph.conflicts {
        let together: Vec<String> = set.iter().filter(|item| asked.contains(item)).map(ToString::to_string).collect();
        if together.len() > 1 {
            return Err(Refusal::Conflict { items: together });
        }
    }
    // Only these stand in markers.
    let excluding: BTreeSet<&Item> = graph.conflicts.iter().flatten().collect();
    asked.retain(|item| excluding.contains(item));
    let walk = Walk { lock, graph, env, wanted, roots: &roots, whole: members.is_empty() };
    loop {
        let (reached, extras) = walk.once(&asked);
        let before = asked.len();
        let extra = |(at, extra): (usize, ExtraName)| Item { package: name(at).clone(), part: Part::Extra(extra) };
        asked.extend(extras.into_iter().map(extra).filter(|item| excluding.contains(item)));
        if asked.len() == before {
            return Ok(reached);
        }
    }
}

struct Walk<'a> {
    lock: &'a ForeignLock,
    graph: &'a Graph,
    env: &'a MarkerEnv,
    wanted: &'a Wanted,
    roots: &'a [usize],
    /// Whether what belongs to no member counts.
    whole: bool,
}

impl<'a> Walk<'a> {
    /// Walks once; returns what was reached and which extras were asked for on the way.
    fn once(&self, asked: &BTreeSet<Item>) -> (Reached, BTreeSet<(usize, ExtraName)>) {
        let active: Vec<ExtraName> = asked.iter().filter_map(Item::encoded).collect();
        let mut seen: BTreeMap<Step<'a>, Presence> = BTreeMap::new();
        let mut open: Vec<(Step<'a>, Presence)> = Vec::new();
        let mut edges: Vec<(&'a Edge, Presence)> = Vec::new();
        for root in self.roots {
            open.push(((*root, None), Presence::Certain));
            let node = &self.graph.nodes[*root];
            open.extend(
                node.extras
                    .keys()
                    .filter(|one| self.wanted.extras.contains(one))
                    .map(|extra| ((*root, Some(extra)), Presence::Certain)),
            );
            let groups = node.groups.iter().filter(|(group, _)| self.wanted.groups.contains(group));
            edges.extend(groups.flat_map(|(_, edges)| edges).map(|edge| (edge, Presence::Certain)));
        }
        if self.whole {
            let top = &self.graph.top;
            let groups = top.groups.iter().filter(|(group, _)| self.wanted.groups.contains(group));
            let all = top.dependencies.iter().chain(groups.flat_map(|(_, edges)| edges));
            edges.extend(all.map(|edge| (edge, Presence::Certain)));
        }
        loop {
            for (edge, from) in edges.drain(..) {
                self.follow(edge, &from, &active, &mut open);
            }
            let Some((step, presence)) = open.pop() else { break };
            if seen.get(&step).is_some_and(|before| *before == Presence::Certain || presence != Presence::Certain) {
                continue;
            }
            let (at, extra) = step;
            let node = &self.graph.nodes[at];
            let next = match extra {
                None => Some(&node.dependencies),
                Some(extra) => node.extras.get(extra),
            };
            edges.extend(next.into_iter().flatten().map(|edge| (edge, presence.clone())));
            seen.insert(step, presence);
        }
        let extras = seen.keys().filter_map(|(at, extra)| Some((*at, (*extra)?.clone()))).collect();
        (
            seen.into_iter().filter_map(|((at, extra), presence)| extra.is_none().then_some((at, presence))).collect(),
            extras,
        )
    }

    /// Adds what a dependency leads to, where its marker does not exclude it.
    fn follow(&self, edge: &'a Edge, from: &Presence, active: &[ExtraName], open: &mut Vec<(Step<'a>, Presence)>) {
        let asked = Asked { extras: active, groups: &[] };
        let along = |from: &Presence, truth: Truth, marker: &dyn Fn() -> String| match truth {
            Truth::Never => None,
            Truth::Always => Some(from.clone()),
            Truth::Unknown if *from == Presence::Certain => Some(Presence::Possible(marker())),
            Truth::Unknown => Some(from.clone()),
        };
        let own = match &edge.marker {
            None => Some(from.clone()),
            Some(marker) => along(from, marker.evaluate_asked(self.env, asked), &|| marker.to_string()),
        };
        let Some(presence) = own else { return };
        for at in &edge.to {
            let markers = &self.lock.releases[*at].markers;
            // A dependency that leads to one release says itself where it holds.
            let presence = if edge.to.len() > 1 {
                along(&presence, any(markers, self.env, asked), &|| listed(markers))
            } else {
                Some(presence.clone())
            };
            let Some(presence) = presence else { continue };
            open.push(((*at, None), presence.clone()));
            open.extend(edge.extras.iter().map(|extra| ((*at, Some(extra)), presence.clone())));
        }
    }
}

/// Says whether one of some markers holds; none at all is always.
pub(super) fn any(markers: &[crate::pep::Marker], env: &MarkerEnv, asked: Asked<'_>) -> Truth {
    let mut truth = if markers.is_empty() { Truth::Always } else { Truth::Never };
    for marker in markers {
        match marker.evaluate_asked(env, asked) {
            Truth::Always => return Truth::Always,
            Truth::Unknown => truth = Truth::Unknown,
            Truth::Never => {}
        }
    }
    truth
}

/// Writes markers of which one must hold.
pub(super) fn listed(markers: &[crate::pep::Marker]) -> String {
    markers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}
