//! The one test target. Each module says what belongs in it.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests may look at the world and stop at once")]

/// What several tests share.
mod support;
