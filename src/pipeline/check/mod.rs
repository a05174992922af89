//! Proof, without a Mac, that an environment is the locked one and that its libraries load together.
//!
//! ```text
//! macml.lock, a lock of another tool, a folder -> Set for each Mac -> facts of its wheels ─> libraries ─┐
//!     └─> does it answer macml.toml      └─> environment against lock  └─> knowledge, index ────────────┴─> Parts
//! ```

pub mod environment;
pub mod facts;
pub mod foreign;
pub mod job;
mod known;
mod libraries;
pub mod locked;
pub mod offered;
pub mod part;
pub mod policy;
pub mod prefix;
mod run;
pub mod set;

pub use facts::{Unread, Why};
pub use job::{Job, Locks, Outcome, Subject};
pub use known::known;
pub use libraries::libraries;
pub use part::{Because, Class, Level, Of, On, Part, Sum, Told, Word};
pub use policy::{Judged, Policy, Verdict};
pub use prefix::{Prefix, prefix};
pub use run::{Download, Error, Open, Reaching, check};
pub use set::{Declared, File, Mac, NotAMac, Release, Set};
