//! `macml check` through the binary.

mod arguments;
