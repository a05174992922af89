//! Stage 2: what exists.

pub mod source;

mod simple;
mod stored;
