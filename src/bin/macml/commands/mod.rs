//! One file per verb: its arguments, whose comments are its help, and `run`.

pub(crate) mod add;
pub(crate) mod bench;
pub(crate) mod bundle;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod env;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod lock;
pub(crate) mod matrix;
pub(crate) mod ops;
pub(crate) mod outdated;
pub(crate) mod python;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod sync;
pub(crate) mod tree;
pub(crate) mod verify;
pub(crate) mod why;
