//! This Mac. So far only the names of chips; probing comes with the commands that need it.

pub mod chip;

pub use chip::Chip;
