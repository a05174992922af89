//! Stage 7: does the GPU train, and are its numbers right. In: an environment with frameworks. Out: a verdict for each.
//!
//! ```text
//! Request -> probe, a child process -> Transcript -> Verdict -> Record in .macml/
//! ```
//!
//! Probes compute and measure; whether that is good is judged here, from plain data, so that what a Mac once answered
//! can be judged anywhere. A probe that crashes, hangs or speaks nonsense has answered too.
//!
//! Knows nothing of manifests, indexes and solving.

pub mod protocol;

mod fallback;
mod memory;
mod operators;
mod probe;
mod record;
mod subject;
mod transcript;
mod verdict;

pub mod native;

pub use fallback::{Became, Said};
pub use memory::out_of_memory;
pub use operators::{Outcome, Tried, remaining, tally, tried, tried_in_all};
pub use probe::{Answered, Probe};
pub use record::{Circumstances, Record, Standing, Verified, lock_digest};
pub use subject::{Subject, framework_of, frameworks};
pub use transcript::{Ended, Printed, Transcript};
pub use verdict::{Class, Problem, Verdict, Word, judge, judge_all};

#[cfg(test)]
mod tests;
