//! What the hook decides, without a shell: `tests/it/hook` has those.
use super::*;

#[test]
fn placeholder() {}
