//! `Content`: everything that decides what is in a generation, and its digest. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use super::venv::Pip;
use crate::pep::Sha256;

/// The version of what a macml makes of the same content: another one builds anew.
const FORM: u32 = 1;

/// What decides what is in a generation. Where one is not made of the same, another is built beside it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Content<'a> {
    /// The environment's name, and with it that of the link that commands name.
    pub env: &'a str,
    /// The project's folder, with every link followed.
    pub project: &'a Path,
    /// The platform, as in the lock.
    pub platform: &'a str,
    /// The interpreter, as [`crate::python::Interpreter::stamp`] tells it.
    pub interpreter: &'a str,
    /// Its minor, such as `3.13`.
    pub python: &'a str,
    /// The digest of each wheel, by its file name.
    pub wheels: BTreeMap<String, Sha256>,
    /// The packages that somebody asked for by name.
    pub requested: BTreeSet<String>,
    /// The text of direct_url.json of packages that did not come from an index.
    pub direct_urls: BTreeMap<String, String>,
    /// `[project] paths`, in the order in which Python looks into them.
    pub paths: &'a [String],
    /// What the prompt shows.
    pub prompt: &'a str,
    /// Whose `pip` is in it.
    pub pip: Pip,
    /// `[resolution] allow-overlap`.
    pub allow_overlap: BTreeSet<String>,
    /// Whether packages are compiled to bytecode.
    pub compiled: bool,
}

impl Content<'_> {
    /// Returns the digest; the order in which wheels, names and the like were found is none of it.
    pub fn digest(&self) -> Sha256 {
        // In JSON no two contents are one text: names end where their quotes do.
        let text = serde_json::to_vec(&(FORM, self)).expect("texts and numbers, and a project that is UTF-8");
        Sha256::of(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(paths: &[String]) -> Content<'_> {
        Content {
            env: "default",
            project: Path::new("/p"),
            platform: "macos-arm64",
            interpreter: "3.13.1 1.2",
            python: "3.13",
            wheels: BTreeMap::new(),
            requested: BTreeSet::new(),
            direct_urls: BTreeMap::new(),
            paths,
            prompt: "p",
            pip: Pip::Launcher,
            allow_overlap: BTreeSet::new(),
            compiled: false,
        }
    }

    #[test]
    fn each_part_decides_and_order_only_where_it_matters() {
        let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<String>>();
        let (none, paths, turned) = (texts(&[]), texts(&["src", "lib"]), texts(&["lib", "src"]));
        let base = content(&none);
        let with = |change: &dyn Fn(&mut Content<'_>)| {
            let mut one = base.clone();
            change(&mut one);
            one.digest()
        };
        let wheel = |name: &str, bytes: &str| (name.to_owned(), Sha256::of(bytes.as_bytes()));
        let all = [
            base.digest(),
            with(&|one| one.env = "tf"),
            with(&|one| one.project = Path::new("/q")),
            with(&|one| one.platform = "linux-x86_64"),
            with(&|one| one.interpreter = "3.13.1 1.3"),
            with(&|one| one.python = "3.12"),
            with(&|one| one.wheels = [wheel("a", "1")].into()),
            with(&|one| one.wheels = [wheel("a", "2")].into()),
            with(&|one| one.wheels = [wheel("a", "1"), wheel("b", "1")].into()),
            with(&|one| one.requested = ["a".to_owned()].into()),
            with(&|one| one.allow_overlap = ["a".to_owned()].into()),
            with(&|one| one.direct_urls = [("a".to_owned(), "{}".to_owned())].into()),
            content(&paths).digest(),
            content(&turned).digest(),
            with(&|one| one.prompt = "q"),
            with(&|one| one.pip = Pip::Locked),
            with(&|one| one.compiled = true),
        ];
        let different: BTreeSet<Sha256> = all.into_iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(
            with(&|one| one.wheels = [wheel("a", "1"), wheel("b", "2")].into_iter().collect()),
            with(&|one| one.wheels = [wheel("b", "2"), wheel("a", "1")].into_iter().collect())
        );
    }
}
