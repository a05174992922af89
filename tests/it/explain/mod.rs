//! What `macml explain` makes of texts, through the library.

pub(crate) mod known;
mod verb;
