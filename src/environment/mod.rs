//! Environments on disk: a project's generations, the link to the one that counts, and what is known of each.
//!
//! In: a plan of files, an interpreter, and what a project says of its environment. Out: a generation, built beside those
//! that are there, which takes the place of the one before in one rename.
//!
//! ```text
//! project/
//!   .venv -> .macml/env/default/<content>.<number>     the only thing that is ever replaced
//!   .macml/
//!     .gitignore                                       `*`: nothing in here is the project's
//!     env/.lock                                        held while generations come or go
//!     env/default/<content>.<number>/                  a generation: a virtual environment (PEP 405)
//!       pyvenv.cfg, bin/, lib/, …
//!       macml-stamp.json                               written last; without a whole one it is no generation
//!       macml-in-use                                   locked, shared, by whoever runs something in it
//!     env/default/.history                             which one came after which, for the way back
//!     env/default/.new-…                               being built: swept when nobody builds
//! ~/.local/state/macml/built/<digest>.json             what this user's macml built for a project (`trust`)
//! ~/.local/state/macml/cpu/<digest>/sitecustomize.py   hides the GPU from a Python (`without_gpu`)
//! ~/.local/state/macml/fallbacks/<digest>/…            notes what torch leaves to the CPU (`FallbackNotes`)
//! ~/.local/state/macml/built/<digest>.earlier.json     the notes on earlier generations, for the way back (`earlier`)
//! ```
//!
//! Knows nothing of manifests, indexes and solving.

mod activate;
mod activation;
mod content;
mod cpu;
mod earlier;
mod fallbacks;
mod first;
mod fit;
mod generation;
mod hook;
mod listing;
mod place;
mod shell;
mod stamp;
mod strays;
mod trust;
mod venv;

pub use activate::activate_scripts;
pub use activation::{Activation, Change};
pub use content::Content;
pub use cpu::without_gpu;
pub use fallbacks::{FallbackNotes, Late, Loaded, Noted};
pub use fit::{Fit, Unfit, fit};
pub use generation::{
    Activated, Building, Error, Generation, GenerationName, Generations, IN_USE_NAME, InUse, Replace, Retired,
};
pub use hook::{Followed, HOOK_VARIABLE, Prompt, Told, enter, follow};
pub use listing::{Listed, ListedGeneration, names};
pub use place::{Elsewhere, Place, Standing, synchronized_by};
pub use shell::Shell;
pub use stamp::{FolderTime, Package, PackageChange, STAGED_NAME, STAMP_NAME, Stamp, package_changes};
pub use strays::{distribution_folders, distributions, is_same, own_paths};
pub use trust::{Built, Known};
pub use venv::{Pip, Venv, VenvError, missing_paths};
