//! Numbers as people read them: counts with what is counted, and how long something took.

use std::time::Duration;
use std::time::SystemTime;

/// Counts things.
pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Counts many things, with the thousands apart.
pub(crate) fn many(number: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// Writes a number with its thousands apart: `16,902`.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Says how long something took.
pub(crate) fn duration(took: Duration) -> String {
    match took.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", took.as_secs_f64()),
    }
}

/// Counts the seconds since the beginning of 1970; none before it.
pub(crate) fn since_1970(now: SystemTime) -> u64 {
    now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Says how long ago a second was, counted since the beginning of 1970.
pub(crate) fn ago(second: u64, now: SystemTime) -> String {
    let plural = |count: u64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    match since_1970(now).saturating_sub(second) {
        0..60 => "just now".to_owned(),
        seconds @ 60..3600 => plural(seconds / 60, "minute"),
        seconds @ 3600..86_400 => plural(seconds / 3600, "hour"),
        seconds => plural(seconds / 86_400, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let check = |number: usize, text: &str| assert_eq!(many(number, "file"), text);
        check(0, "0 files");
        check(1, "1 file");
        check(999, "999 files");
        check(1_000, "1,000 files");
        check(16_902, "16,902 files");
        check(1_234_567, "1,234,567 files");
    }

    #[test]
    fn times_are_told_as_people_say_them() {
        let check = |seconds: u64, text: &str| {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
            assert_eq!(ago(1_000_000 - seconds, now), text);
        };
        check(0, "just now");
        check(59, "just now");
        check(60, "1 minute ago");
        check(7199, "1 hour ago");
        check(172_800, "2 days ago");
        assert_eq!(ago(2_000_000, SystemTime::UNIX_EPOCH), "just now", "a clock that was wrong");
    }
}
