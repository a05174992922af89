//! Recorded and made Macs in `tests/hosts`, against the locks of the examples: who can carry what, and the sentence that
//! the others read.

use std::collections::BTreeMap;
use std::path::Path;

use macml::environment::fit;
use macml::host::Host;
use macml::lock;
use macml::target::Platform;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads every host by the name of its file.
fn hosts() -> BTreeMap<String, Host> {
    let entries = std::fs::read_dir(root().join("tests/hosts")).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let host = serde_json::from_slice(&std::fs::read(&path).unwrap());
        let host: Host = host.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), host)
    };
    entries.map(read).collect()
}

/// Says of a host and an example what comes out: the macOS with the warnings, or the refusal.
fn verdict(host: &Host, example: &str) -> String {
    let text = std::fs::read_to_string(root().join("examples").join(example).join("macml.lock")).unwrap();
    let lock = lock::parse::parse(&text).unwrap();
    match fit(host, &lock, lock.env("default", Platform::MacosArm64).unwrap(), Some(16 << 30)) {
        Ok(fit) => std::iter::once(format!("fits, with macOS {}", fit.macos))
            .chain(fit.warnings)
            .collect::<Vec<_>>()
            .join("; "),
        Err(unfit) => unfit.to_string(),
    }
}

#[test]
fn every_host_says_where_it_comes_from() {
    for (name, host) in hosts() {
        let (kind, from) = host.source.split_once(": ").unwrap_or_else(|| panic!("{name}: `made: …` or `recorded: …`"));
        assert!(["made", "recorded"].contains(&kind), "{name}: {kind}");
        assert!(from.contains("https://github.com/"), "{name}: {from}");
    }
}

#[test]
fn hosts_and_examples() {
    const EXAMPLES: [&str; 5] = ["coreml", "mlx", "pytorch", "tensorflow", "two-platforms"];
    // Every example is locked for M1 and macOS 14.0, so that each Mac has one answer to all.
    let expected = [
        (
            "intel",
            "this Mac has an Intel processor (`Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz`), and environments need one of Apple's",
        ),
        ("m1-macos13", "this Mac has macOS 13.6.9, and environment `default` is locked for 14.0 and later"),
        (
            "m2-rosetta",
            "this macml runs under Rosetta, as a program for Intel, and would not see the Mac that is there",
        ),
        ("m3-max-macos15", "fits, with macOS 15.6"),
        ("m5-macos26", "fits, with macOS 26.4"),
        ("vm", "fits, with macOS 14.8; this Mac has 7 GB of memory, and the project asks for 16 GB"),
    ];
    let hosts = hosts();
    assert_eq!(hosts.keys().collect::<Vec<_>>(), expected.map(|(name, _)| name).iter().collect::<Vec<_>>());
    for (name, sentence) in expected {
        for example in EXAMPLES {
            assert_eq!(verdict(&hosts[name], example), sentence, "{name}, {example}");
        }
    }
}

/// A host is written as it is read, so that one that was looked at can be given to others.
#[test]
fn a_host_is_read_as_it_was_written() {
    for (name, host) in hosts() {
        let text = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&text).unwrap(), host, "{name}");
    }
    let error = serde_json::from_str::<Host>(r#"{"cpu": "Apple M1", "memroy": 1}"#).unwrap_err().to_string();
    assert!(error.starts_with("unknown field `memroy`"), "{error}");
}
