//! Measurements as people read them: times, memory, rates and days, each with its unit and about three digits.

/// Says how long something took: `85.2 µs`, `3.21 ms`, `1.24 s`, `2 min 5 s`.
pub fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown".to_owned();
    }
    // What rounds up to a thousand belongs to the unit above.
    match seconds {
        below if below < 999.5e-6 => format!("{} µs", digits(below * 1e6)),
        below if below < 999.5e-3 => format!("{} ms", digits(below * 1e3)),
        below if below < 119.95 => format!("{} s", digits(below)),
        long => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
            let whole = long.round() as u64;
            format!("{} min {} s", whole / 60, whole % 60)
        }
    }
}

/// Says how much memory something is: `640 KiB`, `12.5 MiB`, `1.3 GiB`, `16 GiB`.
pub fn memory(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let bytes = bytes as f64;
    let (unit, name) = match bytes {
        below if below < 1_023.5 * 1_024.0 => (1_024.0, "KiB"),
        below if below < 1_023.5 * 1_048_576.0 => (1_048_576.0, "MiB"),
        _ => (1_073_741_824.0, "GiB"),
    };
    let number = bytes / unit;
    // A machine's memory is a whole number of them.
    let whole = (number - number.round()).abs() < 0.005;
    if whole { format!("{number:.0} {name}") } else { format!("{} {name}", digits(number)) }
}

/// Says how many times as fast something is: `12.3×`, `0.85×`.
pub fn times(ratio: f64) -> String {
    if ratio.is_finite() { format!("{}×", digits(ratio)) } else { "unknown".to_owned() }
}

/// Says how many a second: `12,345 samples/s`.
pub fn rate(samples: f64) -> String {
    match samples {
        unknown if !unknown.is_finite() => "unknown".to_owned(),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        many if many >= 999.5 => format!("{} samples/s", grouped(many.round() as u64)),
        few => format!("{} samples/s", digits(few)),
    }
}

/// Writes a whole number with its thousands apart: `12,345`.
pub fn grouped(number: u64) -> String {
    let plain = number.to_string();
    let mut out = String::with_capacity(plain.len() + plain.len() / 3);
    for (at, digit) in plain.chars().enumerate() {
        if at > 0 && (plain.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Writes the day of a second since the beginning of 1970, in UTC: `2026-11-30`.
pub fn day(second: u64) -> String {
    let (year, month, day) = civil(second / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Writes a second since the beginning of 1970 to the minute, in UTC: `2026-11-30 21:45`.
pub fn minute(second: u64) -> String {
    format!("{} {:02}:{:02}", day(second), second / 3600 % 24, second / 60 % 60)
}

/// Turns days since the beginning of 1970 into a date of the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    // Counted from a 1 March, so that the leap day is the last of its year; and in cycles of 400 years.
    let days = days + 719_468;
    let (cycle, of_cycle) = (days / 146_097, days % 146_097);
    let year = (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let january = u64::from(month >= 10);
    (cycle * 400 + year + january, month + 3 - 12 * january, day)
}

/// Writes a number with three digits.
fn digits(number: f64) -> String {
    match number {
        small if small < 9.995 => format!("{small:.2}"),
        small if small < 99.95 => format!("{small:.1}"),
        large => format!("{large:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_digits_and_change_units_where_they_round() {
        let shown = [0.0, 85.2e-6, 999.6e-6, 0.003_214, 0.0999, 0.9996, 1.239, 12.34, 119.9, 125.4].map(seconds);
        let expected =
            ["0.00 µs", "85.2 µs", "1.00 ms", "3.21 ms", "99.9 ms", "1.00 s", "1.24 s", "12.3 s", "120 s", "2 min 5 s"];
        assert_eq!(shown, expected);
        assert_eq!([f64::NAN, -1.0, f64::INFINITY].map(seconds), ["unknown"; 3]);
    }

    #[test]
    fn memory_is_told_in_its_unit() {
        let shown = [0, 655_360, 13_107_200, (1 << 30) - 1, 1_395_864_371, 16 << 30, 139 << 30].map(memory);
        assert_eq!(shown, ["0 KiB", "640 KiB", "12.5 MiB", "1 GiB", "1.30 GiB", "16 GiB", "139 GiB"]);
    }

    #[test]
    fn rates_and_ratios() {
        assert_eq!(
            [12.34, 999.4, 12_345.0, 1e7].map(rate),
            ["12.3 samples/s", "999 samples/s", "12,345 samples/s", "10,000,000 samples/s"]
        );
        assert_eq!([0.85, 12.34, 250.0, f64::INFINITY].map(times), ["0.85×", "12.3×", "250×", "unknown"]);
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        // As `date -u -d @SECOND` says them.
        let known = [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_868_799, "2000-02-29 23:59"),
            (951_868_800, "2000-03-01 00:00"),
            (1_709_164_800, "2024-02-29 00:00"),
            (1_796_075_100, "2026-11-30 21:45"),
            (1_798_761_599, "2026-12-31 23:59"),
            (4_107_542_400, "2100-03-01 00:00"),
        ];
        known.iter().for_each(|(second, text)| assert_eq!(minute(*second), *text));
    }
}
