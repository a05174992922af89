//! What `macml check` gets of wheels and of indexes: facts from wherever a wheel is, and whether it is still offered.

mod gathered;
mod offered;
