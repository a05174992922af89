//! The one test target. Each module says what belongs in it.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests may look at the world and stop at once")]

/// What several tests share.
mod support;

// How good and bad macml.toml files are read and explained.
mod manifest;
// Resolver scenarios of another project.
mod packse;
// The solver against brute force, on generated universes.
mod properties;
// Small universes with what must come out and why.
mod scenarios;
// The schemas we publish.
mod schema;
// Rules of the house: order of modules, homes of crates, words that must stand nowhere.
mod tidy;
// Pages and METADATA of the real index.
mod live_index;
// macml and uv on the same real lists.
mod uv_agreement;
