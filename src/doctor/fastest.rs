//! `fastest`: of what `--network` measured, who serves the default index best, and what it takes to be served by that one.

use super::facts::{Measured, Network};
use crate::index::builtin;

/// How much faster another one must be to be worth a change: measured twice, the same one differs by less.
const WORTH_IT: f64 = 1.5;

/// What the measurements come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fastest {
    /// The fastest.
    pub name: String,
    /// What it comes to, in one lowercase sentence without a full stop.
    pub says: String,
    /// The line of config.toml that adopts it; none where nothing is to be changed.
    pub line: Option<String>,
}

/// Compares those that serve the default index; none where none of them sent a file.
pub fn fastest(network: &Network) -> Option<Fastest> {
    let sent = |one: &&Measured| serves_the_default(&one.name) && one.bytes_per_second.is_some();
    let speed = |one: &Measured| one.bytes_per_second.unwrap_or_default();
    let best = network.measured.iter().filter(sent).max_by_key(|one| (speed(one), std::cmp::Reverse(one.page_ms)))?;
    let name = best.name.clone();
    // macml asks the first mirror first, and the index itself where there is none.
    let first = network.mirrors.first().map_or(builtin::DEFAULT, String::as_str);
    let now = network.measured.iter().find(|one| one.name == first);
    if name == first {
        let says = format!("`{name}` is the fastest, and the one that macml asks first");
        return Some(Fastest { name, says, line: None });
    }
    #[expect(clippy::cast_precision_loss, reason = "it is a ratio for people")]
    let ratio = now.and_then(|now| now.bytes_per_second).map(|now| speed(best) as f64 / now.max(1) as f64);
    match ratio {
        Some(ratio) if ratio < WORTH_IT => {
            let says = format!("`{name}` is the fastest, though not by much: `{first}`, asked first, will do");
            Some(Fastest { name, says, line: None })
        }
        Some(ratio) => {
            let says = format!("`{name}` is the fastest, {ratio:.1} times as fast as `{first}`, which is asked first");
            Some(Fastest { line: Some(adopting(&name)), name, says })
        }
        None => {
            let says = format!("`{name}` is the fastest, and `{first}`, which is asked first, sent nothing");
            Some(Fastest { line: Some(adopting(&name)), name, says })
        }
    }
}

/// Whether what was measured under a name is the default index, or one that stands in for it.
fn serves_the_default(name: &str) -> bool {
    name == builtin::DEFAULT || builtin::mirror(name).is_some() || (name.contains("://") && !name.contains(' '))
}

/// Returns the line of config.toml.
fn adopting(name: &str) -> String {
    match name {
        builtin::DEFAULT => "mirrors = []".to_owned(),
        mirror => format!("mirrors = [\"{mirror}\"]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mirrors: &[&str], measured: &[(&str, Option<u64>)]) -> Option<(String, Option<String>)> {
        let one = |(name, speed): &(&str, Option<u64>)| Measured {
            name: (*name).to_owned(),
            page_ms: Some(40),
            bytes_per_second: *speed,
            error: None,
        };
        let network = Network {
            mirrors: mirrors.iter().map(|name| (*name).to_owned()).collect(),
            measured: measured.iter().map(one).collect(),
            ..Network::default()
        };
        fastest(&network).map(|fastest| (fastest.says, fastest.line))
    }

    #[test]
    fn the_line_that_adopts_the_fastest_is_given_where_it_is_worth_it() {
        let both = [("pypi", Some(1_000_000)), ("tuna", Some(9_000_000)), ("ustc", None)];
        let (says, line) = of(&[], &both).unwrap();
        assert_eq!(says, "`tuna` is the fastest, 9.0 times as fast as `pypi`, which is asked first");
        assert_eq!(line.as_deref(), Some("mirrors = [\"tuna\"]"));
        assert_eq!(of(&["tuna"], &both).unwrap().1, None);
        assert!(of(&["ustc"], &both).unwrap().0.ends_with("`ustc`, which is asked first, sent nothing"));
        let close = [("pypi", Some(1_000_000)), ("tuna", Some(1_400_000))];
        assert_eq!(of(&[], &close).unwrap().1, None);
        assert_eq!(of(&["tuna"], &[("tuna", Some(1)), ("pypi", Some(9))]).unwrap().1.as_deref(), Some("mirrors = []"));
        assert_eq!(of(&[], &[("pypi", None)]), None);
        // Another index is no stand-in for the default one, however fast.
        assert_eq!(of(&[], &[("pytorch", Some(9)), ("pytorch by https://m.example/", Some(9))]), None);
    }
}
