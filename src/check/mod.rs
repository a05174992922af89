//! Stage 6: is an environment the locked one, and do its libraries load together on a Mac. Told from its files, so that any
//! machine can.
//!
//! ```text
//! a tree of files, packages of a lock -> contents -> Contents: what differs, what is not sure, one digest
//! wheel, or files on disk -> facts -> WheelFacts of each -> dyld -> Answer -> rules -> Finding
//! ```
//!
//! Knows nothing of manifests, indexes and solving.

pub mod contents;
pub mod dyld;
pub mod facts;
pub mod rules;
