//! What an environment is to be, so that one that is there can be compared: equal digests, nothing to do. Pure.

use std::path::Path;

use url::Url;

use crate::environment;
use crate::environment::Pip;
use crate::environment::Place;
use crate::install;
use crate::manifest::model::EnvSpec;
use crate::pep::Sha256;
use crate::python::Interpreter;
use crate::resolve::resolution::Origin;
use crate::target::Platform;

use super::locked::Locked;
use super::select::Chosen;

/// What an environment is to be.
pub(super) struct Content {
    /// What the prompt shows.
    pub(super) prompt: String,
    /// Whose `pip` is in it.
    pub(super) pip: Pip,
    plain: Sha256,
    compiled: Sha256,
}

impl Content {
    pub(super) fn new(
        locked: &Locked,
        env: &EnvSpec,
        place: &Place,
        platform: Platform,
        chosen: &[Chosen<'_>],
        interpreter: &Interpreter,
    ) -> Self {
        let manifest = &locked.project.manifest;
        let prompt = manifest.prompt(&env.name);
        let pip = match chosen.iter().any(|one| one.package.name.as_str() == "pip") {
            true => Pip::Locked,
            false => Pip::Launcher,
        };
        let name = |one: &Chosen<'_>| one.package.name.to_string();
        let (major, minor) = interpreter.minor;
        let content = |compiled| {
            environment::Content {
                env: &env.name,
                project: &place.project,
                platform: &platform.to_string(),
                interpreter: &interpreter.stamp(),
                python: &format!("{major}.{minor}"),
                wheels: chosen.iter().map(|one| (one.wheel.file.to_string(), one.wheel.sha256)).collect(),
                requested: chosen.iter().filter(|one| one.requested).map(name).collect(),
                direct_urls: chosen
                    .iter()
                    .filter_map(|one| Some((name(one), direct_url(one, &place.project)?)))
                    .collect(),
                paths: &manifest.paths,
                prompt: &prompt,
                pip,
                allow_overlap: env.resolution.allow_overlap.iter().cloned().collect(),
                compiled,
            }
            .digest()
        };
        let (plain, compiled) = (content(false), content(true));
        Self { plain, compiled, pip, prompt }
    }

    /// Returns the digest of one that is compiled, or not.
    pub(super) fn digest(&self, compiled: bool) -> Sha256 {
        if compiled { self.compiled } else { self.plain }
    }

    /// Returns whether an environment of this digest will do. One that is compiled always does.
    pub(super) fn accepts(&self, digest: &str, compiled: bool) -> bool {
        digest == self.compiled.to_string() || !compiled && digest == self.plain.to_string()
    }
}

/// Returns the text of direct_url.json for a wheel that does not come from an index; `project` is its folder with every
/// link followed.
pub(super) fn direct_url(chosen: &Chosen<'_>, project: &Path) -> Option<String> {
    let url = match &chosen.package.origin {
        Origin::Index(_) => return None,
        Origin::Path(path) => Url::from_file_path(project.join(path)).ok()?,
        Origin::Url { url, .. } => url.parse().ok()?,
    };
    Some(install::direct_url(&url, chosen.wheel.sha256))
}
