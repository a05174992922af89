//! Why a root did not get its newest release: what floor, rules and other packages cost.

use std::collections::BTreeMap;

use crate::manifest::model::{RootSource, RootTable};
use crate::pep::{PackageName, Point, Version, range};
use crate::target::PythonMinor;

use super::Error;
use super::answer::Chosen;
use super::candidate::Fit;
use super::releases::{Absence, Releases};
use super::resolution::Held;
use super::run::{Run, Told};

/// Lists the roots whose newest release was not taken, frameworks first.
pub(crate) fn held(
    run: &mut Run<'_, '_>,
    chosen: &BTreeMap<PackageName, Chosen>,
    minor: PythonMinor,
) -> Result<Vec<Held>, Error> {
    let request = run.request;
    let mut roots: Vec<_> = request.env.roots.iter().filter(|root| chosen.contains_key(&root.name)).collect();
    roots.sort_by_key(|root| (root.table == RootTable::Dependencies, root.name.clone()));
    roots.dedup_by_key(|root| root.name.clone());
    let mut all = Vec::new();
    for root in roots {
        let RootSource::Versions(own) = &root.source else { continue };
        let package = &chosen[&root.name];
        let Some(newest) = package.releases.newest().cloned() else { continue };
        if newest <= package.version {
            continue;
        }
        let reason = match package.releases.get(&newest) {
            Some(Err(absence)) => absence.to_string(),
            _ if !own.contains(&newest) => format!("your line asks for `{own}`"),
            Some(Ok(fit)) => conflict(run, chosen, (&root.name, &newest, fit), minor)?,
            None => continue,
        };
        all.push(Held { name: root.name.clone(), chosen: package.version.clone(), newest, reason });
    }
    Ok(all)
}

/// Says which chosen package keeps `newest` out: one that it asks for otherwise, or one that asks for an older one.
fn conflict(
    run: &mut Run<'_, '_>,
    chosen: &BTreeMap<PackageName, Chosen>,
    (name, newest, fit): (&PackageName, &Version, &Fit),
    minor: PythonMinor,
) -> Result<String, Error> {
    let point = Point::from(newest.clone());
    for (by, package) in chosen {
        let asks = package.edges.iter().find(|edge| edge.name == *name && !edge.range.contains(&point));
        if let Some(edge) = asks {
            return Ok(format!("`{by}` {} asks for `{name}` {}", package.version, range::describe(&edge.range)));
        }
    }
    let releases = chosen[name].releases.clone();
    match run.told(&releases, fit, minor, None)? {
        Told::Unusable(why) => Ok(why),
        Told::Edges(edges) => {
            for edge in &edges.packages {
                if let Some(other) = chosen.get(&edge.name) {
                    if !edge.range.contains(&Point::from(other.version.clone())) {
                        let wants = range::describe(&edge.range);
                        return Ok(format!("it asks for `{}` {wants}; the rest allows {}", edge.name, other.version));
                    }
                } else if let Some(why) = nothing_fits(run, edge, minor)? {
                    return Ok(why);
                }
            }
            Ok("the lock kept the older one, or other packages exclude it; `-U` tries again".to_owned())
        }
    }
}

fn nothing_fits(run: &mut Run<'_, '_>, edge: &super::edges::Edge, minor: PythonMinor) -> Result<Option<String>, Error> {
    let Some(releases) = run.releases(&edge.name, minor)? else {
        return Ok(Some(format!("it asks for `{}`, which no index has", edge.name)));
    };
    if releases.best(&edge.range).is_some() {
        return Ok(None);
    }
    let wants = range::describe(&edge.range);
    let why = newest_absence(&releases, &edge.range).map(|why| format!(": {why}")).unwrap_or_default();
    Ok(Some(format!("it asks for `{}` {wants}, and none fits{why}", edge.name)))
}

/// Returns why the newest release in a range does not count.
pub(crate) fn newest_absence(releases: &Releases, range: &crate::pep::VersionRange) -> Option<Absence> {
    let in_range = |at: &usize| range.contains(&releases.points()[*at]);
    (0..releases.points().len()).filter(in_range).find_map(|at| releases.state(at).as_ref().err().cloned())
}
