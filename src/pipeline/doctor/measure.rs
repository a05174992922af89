//! `--network`: how fast the indexes and mirrors answer that are set, declared or built in.

use std::time::Duration;

use crate::doctor::Facts;
use crate::doctor::facts::{Measured, Unseen};
use crate::index::Config;
use crate::index::speed;

use super::redact;

/// How long each has that is asked.
pub const TIME_TO_ANSWER: Duration = Duration::from_secs(5);

/// Measures them all at the same time, and notes how each answered; what goes wrong is noted too.
pub fn measure(facts: &mut Facts, config: &Config, limit: Duration) {
    if config.offline {
        let (what, why) = ("how fast indexes answer".to_owned(), "macml is told to stay offline".to_owned());
        facts.unseen.push(Unseen { what, why });
        return;
    }
    let asked = speed::all(config);
    let speeds = speed::measure(config, &asked, limit);
    let measured = |(one, speed): (&speed::Asked, speed::Speed)| Measured {
        name: redact::secrets(&one.name),
        page_ms: speed.page.map(|page| u64::try_from(page.as_millis()).unwrap_or(u64::MAX)),
        bytes_per_second: speed.bytes_per_second,
        error: speed.error.map(|error| redact::secrets(&error)),
    };
    facts.network.measured = asked.iter().zip(speeds).map(measured).collect();
}
