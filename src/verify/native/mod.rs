//! The native probe: a small program over tch-rs, linked to the environment's own libtorch.
//!
//! A release of tch is made for one release of torch, so macml cannot bring one probe for all. It carries the probe's
//! source instead, and builds it on the user's machine, once for each release of torch, into the cache; who may ask for
//! that is the caller's business. This folder owns the table of torch releases ([`LINES`]), what is written out to be
//! built (`tree`), the building (`compile`) and the reasons why there is no probe ([`NotRun`]).
//!
//! ```text
//! site-packages/torch -> Torch -> Line -> Tree -> cargo build --locked -> <cache>/probes-v1/<digest>/macml-probe
//! ```
//!
//! What the probe is asked and answers is `verify::protocol`; the probe is `src/bin/macml-probe`.

mod compile;
mod installed;
mod line;
mod tools;
mod tree;

pub use compile::{Builder, Built, Executable, NotRun, USUAL_LIMIT};
pub use installed::Torch;
pub use line::{LINES, Line, Minor, NoLine, Standing};
pub use tools::{NoTools, Tools};
