//! The one test target. Each module says what belongs in it.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may look at the world and stop at once"
)]

/// Servers and made-up packages that tests share.
mod support;

/// Asking indexes, mirrors and caches over loopback.
mod index;
/// Pages and METADATA of the real index.
mod live_index;

#[test]
fn placeholder() {
    assert_eq!(std::fs::read_to_string("Cargo.toml").unwrap().lines().next(), Some("[package]"));
}
