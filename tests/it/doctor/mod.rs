//! What `macml doctor` says of recorded and made machines: through the library, from facts.

mod gather;
mod measure;
mod metal;
mod reports;
pub(crate) mod scenarios;
mod verb;
