//! Everything at once: what was seen of a machine, its Pythons and a project, and what that means.
//!
//! Input: [`Facts`], plain data that [`crate::pipeline::doctor`] gathers or a file brings from another machine. Output:
//! [`Diagnosis`] for each thing that is wrong, with one remedy, and [`Section`]s of lines that say what is there. Pure: the same
//! facts say the same on every machine, so that a colleague can read the verdict of a file.
//!
//! ```text
//! Facts -> each rule -> Diagnoses ─┐
//!      └-> lines ──────────────────┴-> Report
//! ```
//!
//! Never an error: what could not be seen is one of [`Facts::unseen`], and a line.

pub mod facts;

mod diagnosis;

mod rules;

mod shown;

mod fastest;

pub use diagnosis::{Diagnosis, Remedy, Subject};
pub use facts::Facts;
pub use fastest::{Fastest, fastest};
pub use rules::judge;
pub use shown::{Line, Mark, Section, sections};
