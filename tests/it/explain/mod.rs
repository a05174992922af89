//! What `macml explain` makes of texts, through the library.

mod foreign;
pub(crate) mod known;
mod verb;
