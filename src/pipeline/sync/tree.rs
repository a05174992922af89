//! A tree of the files of locked wheels: fetched, planned, linked; again where the cache turns out to be damaged.

use std::path::Path;

use crate::install;
use crate::install::Arriving;
use crate::install::Layout;
use crate::install::LinkError;
use crate::install::LinkMode;
use crate::install::Linked;
use crate::install::Linker;
use crate::install::Plan;
use crate::install::Unpacked;
use crate::progress::Progress;
use crate::progress::Step;
use crate::sys::disk;
use crate::sys::fs::FsError;
use crate::sys::tree;

use super::Amount;
use super::Error;
use super::content;
use super::fetch::Fetch;
use super::select::Chosen;

/// How often files of the cache may turn out to be damaged: who damages them again and again is still at it.
const MOST_TRIES: usize = 3;

/// What a tree is made from.
pub(super) struct Tree<'a> {
    pub(super) fetch: Fetch<'a>,
    pub(super) chosen: &'a [Chosen<'a>],
    pub(super) layout: Layout,
    pub(super) allow_overlap: &'a [String],
    pub(super) link_mode: Option<LinkMode>,
    pub(super) progress: &'a dyn Progress,
}

/// A tree that is there.
pub(super) struct Made<T> {
    /// Its folder, as its maker has it.
    pub(super) root: T,
    pub(super) plan: Plan,
    pub(super) linked: Linked,
    /// What was got for it.
    pub(super) got: Amount,
}

impl Tree<'_> {
    /// Makes it in a folder that `begin` makes, a fresh one for each try.
    pub(super) fn make<T>(
        &self,
        begin: &dyn Fn() -> Result<T, Error>,
        path: &dyn Fn(&T) -> &Path,
    ) -> Result<Made<T>, Error> {
        let mut got = Amount::default();
        let mut tries = 1;
        loop {
            let (wheels, new) = self.fetch.all(self.chosen)?;
            got = Amount { wheels: got.wheels + new.wheels, bytes: got.bytes + new.bytes };
            self.progress.step(Step::Unpacked);
            let plan = self.plan(&wheels)?;
            let root = begin()?;
            self.progress.step(Step::Made);
            match self.link(&plan, path(&root)) {
                Ok(linked) => return Ok(Made { root, plan, linked, got }),
                Err(Error::Link(LinkError::Damaged(damaged))) if tries < MOST_TRIES => {
                    tries += 1;
                    for one in &damaged {
                        let text = format!("the cached `{}` was changed by somebody (`{}`)", one.wheel, one.path);
                        self.progress.note(&(text + ": it is made anew"));
                        self.fetch.cache.discard(one.sha256)?;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn plan(&self, wheels: &[Unpacked]) -> Result<Plan, Error> {
        let arriving = self.chosen.iter().zip(wheels).map(|(chosen, wheel)| Arriving {
            wheel,
            requested: chosen.requested,
            direct_url: content::direct_url(chosen, self.fetch.folder),
        });
        let arriving = arriving.collect::<Vec<_>>();
        Ok(install::plan(&arriving, &self.layout, self.allow_overlap)?)
    }

    fn link(&self, plan: &Plan, root: &Path) -> Result<Linked, Error> {
        let needed = plan.files.values().map(|file| file.source.size()).sum();
        // Once it is full, half of the tree is what filled it.
        let space = disk::space(root)?;
        // Nothing is shared between volumes: there each file takes its place.
        let volume = |folder: &Path| Ok::<_, FsError>(tree::facts(folder)?.map(|facts| facts.identity.0));
        let full = |space, cause| Error::NoSpace { what: "the environment".to_owned(), needed, space, cause };
        if volume(self.fetch.cache.root())? != volume(root)? && needed > space.free {
            return Err(full(space, None));
        }
        Linker::new(self.link_mode).link(plan, root).map_err(|error| match error {
            LinkError::Full { cause, .. } => full(space, Some(cause)),
            other => other.into(),
        })
    }
}
