//! `macml check` through the binary.

mod arguments;
mod policy;
