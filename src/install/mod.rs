//! Stage 5: from locked wheels to files in a folder.
//!
//! In: a wheel's bytes and what the lock says of it. Out: the wheel in the cache, judged and unpacked once; the plan of a
//! tree, which is a value; and the tree itself.
//!
//! ```text
//! bytes -> wheel (judge) -> unpack (cache) -> Unpacked -+
//!                                                       +-> plan -> Plan -> link -> files in a folder
//! where things go, which Python starts commands --------+
//! ```
//!
//! Nothing of a wheel is believed: its paths are checked before anything is written, its bytes while they are written,
//! and what lies in the cache again when it is linked. Knows of no environment's other parts: interpreter, activation and
//! stamp are to come.

mod archive;
mod content;
mod fault;
mod link;
mod marker;
mod names;
mod plan;
mod record;
mod scripts;
mod unpack;
mod wheel;

pub use content::Content;
pub use fault::{Fault, WheelError};
pub use link::{Damage, LinkError, LinkMode, LinkModeError, Linked, Linker};
pub use marker::CachedFile;
pub use names::{PathFault, Spelling, folded};
pub use plan::{Arriving, Layout, Overlap, Plan, PlanError, Planned, PlannedWheel, Source, plan};
pub use record::{Recorded, direct_url, from_root, recorded};
pub use scripts::{EntryPoint, Interpreter, InterpreterError, Kind, Launch, entry_points, unbound};
pub use unpack::{AloneCache, Bytes, CachedWheel, INSTALLERS, OpenCache, UnpackError, Unpacked, WheelCache, time};
pub use wheel::{About, Wheel, WheelFile, contradiction, open, open_to_look};
