//! What tests share: made-up packages, in memory and as real wheels, and servers on loopback.

pub(crate) mod built;
pub(crate) mod image;
pub(crate) mod macho;
pub(crate) mod page;
pub(crate) mod program;
pub(crate) mod project;
pub(crate) mod published;
pub(crate) mod python;
pub(crate) mod real;
pub(crate) mod real_facts;
pub(crate) mod server;
pub(crate) mod socks;
pub(crate) mod solving;
pub(crate) mod terminal;
pub(crate) mod universe;
pub(crate) mod wheel;
pub(crate) mod zip;
