//! The simulation of dyld: by made-up images, one trap each (`libraries`, `symbols`), and against pairs of real wheels of which it is known whether they load together.
//!
//! `tests/dyld/truth.csv` has the verdicts: made on 2026-11-30 by another reader and another simulation, and held against
//! logs of Macs where there are some. `tests/dyld/wheels.json.gz` has the facts of those wheels, without a verdict.

mod libraries;
mod live;
mod made;
pub(crate) mod record;
mod symbols;
mod truth;
