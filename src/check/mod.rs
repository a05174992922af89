//! Stage 6: do the libraries of an environment load together on a Mac. Told from their files, so that any machine can.
//!
//! ```text
//! wheel, or files on disk -> facts -> WheelFacts of each -> dyld -> Answer -> rules -> Finding
//! ```
//!
//! Knows nothing of manifests, indexes and solving.

pub mod dyld;
pub mod facts;
pub mod rules;
