//! The one test target. Each module says what belongs in it.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests may look at the world and stop at once")]

/// How good and bad macml.toml files are read and explained.
mod manifest;
/// Everything in `pep/` against the `packaging` package (live).
mod oracle;
/// The schemas we publish.
mod schema;
