//! What `macml explain` makes of texts, through the library.

mod verb;
