//! The digest of everything that decides what is in an environment: equal digests, nothing to do. Pure.

use std::fmt::Write as _;
use std::path::Path;

use url::Url;

use crate::environment::Place;
use crate::install;
use crate::manifest::model::EnvSpec;
use crate::pep::Sha256;
use crate::python::Interpreter;
use crate::resolve::resolution::Origin;

use super::locked::Locked;
use super::select::Chosen;

/// The form of environments that this macml builds. Another needs another number, and environments are built again then.
const FORM: u32 = 1;

/// What an environment is to be, as digests.
pub(super) struct Content {
    /// What the prompt shows.
    pub(super) prompt: String,
    plain: Sha256,
    compiled: Sha256,
}

impl Content {
    pub(super) fn new(
        locked: &Locked,
        env: &EnvSpec,
        place: &Place,
        chosen: &[Chosen<'_>],
        interpreter: &Interpreter,
    ) -> Self {
        let manifest = &locked.project.manifest;
        let prompt = match &*env.name {
            "default" => manifest.name.clone(),
            other => format!("{}:{other}", manifest.name),
        };
        let mut text = format!("macml environment {FORM}\n");
        let mut line = |key: &str, value: &str| {
            writeln!(text, "{key} {value:?}").expect("writing to a text does not fail");
        };
        line("project", &place.project.to_string_lossy());
        line("env", &env.name);
        line("prompt", &prompt);
        line("interpreter", &interpreter.stamp());
        line("path", &interpreter.path.to_string_lossy());
        manifest.paths.iter().for_each(|path| line("source", path));
        env.resolution.allow_overlap.iter().for_each(|path| line("overlap", path));
        for one in chosen {
            line("wheel", &format!("{} {} {}", one.wheel.file, one.wheel.sha256, one.requested));
            if let Some(text) = direct_url(one, &place.project) {
                line("direct", &text);
            }
        }
        let plain = Sha256::of(text.as_bytes());
        text.push_str("compiled\n");
        Self { prompt, plain, compiled: Sha256::of(text.as_bytes()) }
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

/// Returns the text of direct_url.json for a wheel that does not come from an index; `project` is its folder with every link
/// followed.
pub(super) fn direct_url(chosen: &Chosen<'_>, project: &Path) -> Option<String> {
    let url = match &chosen.package.origin {
        Origin::Index(_) => return None,
        Origin::Path(path) => Url::from_file_path(project.join(path)).ok()?,
        Origin::Url { url, .. } => url.parse().ok()?,
    };
    Some(install::direct_url(&url, chosen.wheel.sha256))
}
