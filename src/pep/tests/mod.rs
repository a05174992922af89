//! Tests of the vocabulary, one file for each file of `pep/`. The live test `tests/it/oracle.rs` compares all of it
//! with the `packaging` package on generated cases.

mod marker;
mod metadata;
mod range;
mod requirement;
mod tag;
mod version;
mod wheel_name;
