//! What Cargo.lock may hold: no second TLS, and no crate twice without a reason.

use std::collections::BTreeMap;

/// Crates that bring a system library or a second crypto provider.
const BANNED: [&str; 5] = ["openssl", "openssl-sys", "native-tls", "aws-lc-rs", "aws-lc-sys"];

/// Crates that are there in two or more incompatible versions, and who holds on to the older one.
const TWICE: [(&str, &str); 19] = [
    ("base64", "boon, in tests only, is a release behind"),
    ("block-buffer", "follows sha2, in the native probe only"),
    ("constant_time_eq", "follows zip, in the native probe only"),
    ("core-foundation", "system-configuration, which reads the Mac's proxy settings, is a release behind"),
    ("cpufeatures", "follows sha2, in the native probe only"),
    ("crypto-common", "follows sha2, in the native probe only"),
    ("digest", "follows sha2, in the native probe only"),
    ("embedded-io", "postcard names two in optional features; neither is compiled"),
    ("getrandom", "ring stays on 0.2 and ahash on 0.3"),
    ("r-efi", "follows getrandom, on UEFI only"),
    ("rand", "tch, in the native probe only, is on 0.8"),
    ("rand_core", "follows rand"),
    ("sha2", "the zip that tch has, in the native probe only, is releases behind"),
    ("syn", "the ecosystem is on its way from 2 to 3; build time only"),
    ("synstructure", "follows syn"),
    ("thiserror", "tch, in the native probe only, is on 1"),
    ("thiserror-impl", "follows thiserror"),
    ("windows-sys", "ring is on 0.52; Windows only"),
    ("zip", "tch, in the native probe only, is on 0.6; its files of weights are read with that"),
];

/// Returns the versions of every crate in a Cargo.lock.
fn versions(lock: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut name = "";
    for line in lock.lines() {
        if let Some(value) = line.strip_prefix("name = ") {
            name = value.trim_matches('"');
        } else if let Some(value) = line.strip_prefix("version = \"") {
            all.entry(name).or_default().push(value.trim_matches('"'));
        }
    }
    all
}

fn complaints(lock: &str) -> Vec<String> {
    let all = versions(lock);
    let mut complaints = Vec::new();
    for name in BANNED.iter().filter(|name| all.contains_key(*name)) {
        complaints.push(format!("`{name}` is banned: TLS is rustls on ring"));
    }
    for (name, versions) in all.iter().filter(|(_, versions)| versions.len() > 1) {
        if !TWICE.iter().any(|(known, _)| known == name) {
            complaints.push(format!("`{name}` is there as {}: find out why and say so here", versions.join(" and ")));
        }
    }
    for (name, _) in TWICE.iter().filter(|(name, _)| all.get(name).is_none_or(|versions| versions.len() < 2)) {
        complaints.push(format!("`{name}` is not there twice any more: strike it from the list"));
    }
    complaints
}

#[test]
fn lock_is_clean() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock");
    super::assert_clean(&complaints(&std::fs::read_to_string(path).unwrap()));
}

#[test]
fn lock_can_be_dirty() {
    let package = |name: &str, version: &str| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n");
    let known: String = TWICE.iter().map(|(name, _)| package(name, "1.0.0") + &package(name, "2.0.0")).collect();
    let lock = |more: &[(&str, &str)]| {
        let more: String = more.iter().map(|(name, version)| package(name, version)).collect();
        format!("version = 4\n\n{known}{more}")
    };
    assert_eq!(complaints(&lock(&[("serde", "1.0.0")])), Vec::<String>::new());
    assert_eq!(complaints(&lock(&[("openssl-sys", "0.9.0")])).len(), 1);
    assert_eq!(
        complaints(&lock(&[("serde", "1.0.0"), ("serde", "2.0.0")])),
        ["`serde` is there as 1.0.0 and 2.0.0: find out why and say so here"]
    );
    assert_eq!(complaints("").len(), TWICE.len());
}
