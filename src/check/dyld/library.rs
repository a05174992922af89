//! Finding a library: by the text of its path among what is loaded, then along the rpaths of those who asked.

use super::answer::{Outside, Refusal, Tried};
use super::process::Process;
use super::system;
use super::tree::{Id, Tree, folder, join, leaf};
use crate::check::facts::{Image, Kind, Platform, Slice, Unloadable, Version};

/// The SDK from which on dyld no longer looks for a library's leaf name where the system's are.
const NO_FALLBACK_SINCE: Version = Version::new(14, 0, 0);

/// Where the interpreter's program lies, from `site-packages`.
const INTERPRETER: &str = "../../../bin";

/// What answers a library's path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// An image of the tree.
    Image(Id),
    /// The system has it, or is taken to.
    System,
}

/// A search that came to nothing.
pub(super) struct NotFound<'a> {
    pub(super) tried: Vec<Tried<'a>>,
    pub(super) outside: Outside,
}

fn is_system(path: &str) -> bool {
    path.starts_with("/usr/lib/") || path.starts_with("/System/")
}

/// Returns why an image is not loaded when it is opened, whatever it is linked into.
pub(super) fn refused(image: &Image) -> Option<Refusal<'_>> {
    match &image.slice {
        Err(Unloadable::Architecture) => Some(Refusal::Architecture(&image.architectures)),
        Err(Unloadable::Malformed(reason)) => Some(Refusal::Malformed(reason)),
        Ok(Slice { build: Some(build), .. }) if build.platform != Platform::MacOs => {
            Some(Refusal::Platform(build.platform))
        }
        Ok(Slice { kind: Kind::Other(kind), .. }) => Some(Refusal::Kind(*kind)),
        Ok(_) => None,
    }
}

/// Returns why an image is not loaded as a library of another.
fn refused_as_library(image: &Image) -> Option<Refusal<'_>> {
    refused(image).or(match image.slice.as_ref().map(|slice| slice.kind) {
        Ok(Kind::Bundle) => Some(Refusal::Bundle),
        Ok(Kind::Executable) => Some(Refusal::Executable),
        _ => None,
    })
}

/// A search for one library.
struct Search<'a, 's> {
    tree: &'s Tree<'a>,
    process: &'s Process<'a>,
    tried: Vec<Tried<'a>>,
}

/// Looks for a library that an image names.
pub(super) fn find<'a>(
    tree: &Tree<'a>,
    process: &Process<'a>,
    image: Id,
    library: &'a str,
) -> Result<Found, NotFound<'a>> {
    // By text before any search. Paths of other forms are compared once they are expanded.
    if !library.starts_with("@loader_path/")
        && !library.starts_with("@executable_path/")
        && let Some(loaded) = process.named(library)
    {
        return Ok(Found::Image(loaded));
    }
    if is_system(library) {
        return Ok(Found::System);
    }
    let mut search = Search { tree, process, tried: Vec::new() };
    let mut rpaths = (false, false);
    if let Some(rest) = library.strip_prefix("@rpath/") {
        // The interpreter's own come last, unless another program runs.
        let interpreter = tree.interpreter().filter(|_| process.program().is_none());
        for link in process.chain(image).chain(interpreter) {
            for rpath in tree.slice(link).map_or(&[][..], |slice| &slice.rpaths) {
                rpaths = (true, rpaths.1 || (rpath.starts_with('/') && !is_system(&format!("{rpath}/"))));
                let folder = search.expanded(link, rpath);
                if let Some(found) = search.look(&join(&folder, rest)) {
                    return Ok(found);
                }
            }
        }
    } else {
        let path = search.expanded(image, library);
        rpaths = (true, library.starts_with('/'));
        // A path without a beginning is one from wherever the program was started.
        if !library.starts_with(['@', '/']) {
            search.tried.push(Tried { path, refused: None });
        } else if let Some(found) = search.look(&path) {
            return Ok(found);
        }
    }
    let sdk = tree.slice(image).and_then(|slice| slice.build).map(|build| build.sdk);
    // One that does not tell its SDK is an old one.
    if sdk.is_none_or(|sdk| sdk < NO_FALLBACK_SINCE)
        && let Some(found) = search.look_quietly(&format!("/usr/lib/{}", leaf(library)))
    {
        return Ok(found);
    }
    let outside = match rpaths {
        (false, _) => Outside::Expected,
        (true, true) => Outside::BuildMachine,
        (true, false) => Outside::Beside,
    };
    Err(NotFound { tried: search.tried, outside })
}

impl<'a> Search<'a, '_> {
    /// Expands the first part of a path that an image gives.
    fn expanded(&self, image: Id, path: &str) -> String {
        let beside = |rest: &str, base: &str| join(base, rest.trim_start_matches('/'));
        if let Some(rest) = path.strip_prefix("@loader_path") {
            beside(rest, folder(self.tree.path(image)))
        } else if let Some(rest) = path.strip_prefix("@executable_path") {
            beside(rest, self.process.program().map_or(INTERPRETER, |program| folder(self.tree.path(program))))
        } else {
            path.to_owned()
        }
    }

    /// Looks at a place, and notes what is wrong with it.
    fn look(&mut self, path: &str) -> Option<Found> {
        let found = self.look_quietly(path);
        if found.is_none() && !self.tried.iter().any(|tried| tried.path == path) {
            let refused = self.tree.at(path).and_then(|id| refused_as_library(self.tree.images[id]));
            self.tried.push(Tried { path: path.to_owned(), refused });
        }
        found
    }

    fn look_quietly(&self, path: &str) -> Option<Found> {
        if let Some(loaded) = self.process.named(path) {
            return Some(Found::Image(loaded));
        }
        if let Some(id) = self.tree.at(path) {
            let fits = self.process.is_loaded(id) || refused_as_library(self.tree.images[id]).is_none();
            return fits.then_some(Found::Image(id));
        }
        (is_system(path) && system::has_library(path)).then_some(Found::System)
    }
}
