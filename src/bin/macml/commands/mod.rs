//! One file per verb: its arguments, whose comments are its help, and `run`.

pub(crate) mod lock;
pub(crate) mod rules;
