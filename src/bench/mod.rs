//! How fast is it: matrix products and a small convolutional network, on the CPU and on the GPU, measured in a child
//! process, kept with what they were measured on, compared with earlier runs and drawn.
//!
//! ```text
//! Request -> probe, a child process -> Run -> .macml/bench/NAME.jsonl -> Comparison, page, block in a README
//! ```
//!
//! Times are judged only against times of the same machine. Knows nothing of manifests, indexes and solving.

mod run;

pub mod shown;

pub mod readme;

mod page;

pub use page::page;
pub use run::{BatchSize, Measurement, Run, Work, Workers};
