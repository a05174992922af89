//! How fast is it: matrix products and a small convolutional network, on the CPU and on the GPU, measured in a child
//! process, kept with what they were measured on, compared with earlier runs and drawn.
//!
//! ```text
//! Request -> probe, a child process -> Run -> .macml/bench/NAME.jsonl -> Comparison, page, block in a README
//! ```
//!
//! Times are judged only against times of the same machine. Knows nothing of manifests, indexes and solving.

pub mod batch_sizes;
pub mod protocol;
pub mod readme;
pub mod shown;
pub mod workers;

mod compare;
mod history;
mod page;
pub(crate) mod pressure;
mod probe;
mod run;

pub use compare::{Change, Comparison, Row, Trend, compare};
pub use history::{History, Unread, Which};
pub use page::page;
pub use probe::{Answer, Found, Job, measure, measure_all, probe};
pub use run::{BatchSize, Failure, Measurement, Run, Work, Workers};
