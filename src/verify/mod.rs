//! Stage 7: does the GPU train, and are its numbers right. Probes compute in the frameworks of an environment; here it is
//! said what they are asked.
//!
//! ```text
//! Request -> probe, a child process -> Events
//! ```
//!
//! Knows nothing of manifests, indexes and solving.

pub mod protocol;

pub mod native;
