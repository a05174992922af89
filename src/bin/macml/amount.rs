//! Numbers as people read them: counts with what is counted, and how long something took.

use std::time::Duration;

/// Counts things.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Says how long something took.
pub(crate) fn duration(took: Duration) -> String {
    match took.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", took.as_secs_f64()),
    }
}
