//! What several tests share.

pub(crate) mod solving;
pub(crate) mod universe;
