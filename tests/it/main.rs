//! The one test target. Each module says what belongs in it.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests may look at the world and stop at once")]

/// Everything in `pep/` against the `packaging` package (live).
mod oracle;

#[test]
fn placeholder() {
    assert_eq!(std::fs::read_to_string("Cargo.toml").unwrap().lines().next(), Some("[package]"));
}
