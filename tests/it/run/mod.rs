//! `macml run`, with environments made by hand around the machine's own Python.

mod cpu;
mod fallbacks;
mod lookup;
pub(crate) mod made;
mod streams;
mod terminal;
mod within;
