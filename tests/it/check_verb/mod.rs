//! `macml check` through the binary.

mod arguments;
mod damage;
mod live;
mod loading;
mod meaning;
mod policy;
