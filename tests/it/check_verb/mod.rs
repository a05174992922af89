//! `macml check` through the binary.

mod arguments;
mod live;
mod loading;
mod meaning;
