//! Texts that are not ours, most of them with the words of ours: none may be given a cause.

use macml::explain::explain;
use macml::knowledge::Knowledge;

/// Words that stand in patterns of ours.
const WORDS: [&str; 24] = [
    "MPS",
    "mps",
    "dylib",
    "symbol",
    "killed",
    "Killed",
    "torch",
    "certificate",
    "OMP",
    "libomp",
    "metal",
    "Rosetta",
    "x86_64",
    "arm64",
    "numpy",
    "lzma",
    "xcrun",
    "RECORD",
    "spawn",
    "NaN",
    "float64",
    "memory",
    "No module named",
    "Keras",
];

const FILES: [&str; 6] = [
    include_str!("../../explain/foreign/words.txt"),
    include_str!("../../explain/foreign/chinese.txt"),
    include_str!("../../explain/foreign/own.txt"),
    include_str!("../../explain/foreign/systems.txt"),
    include_str!("../../explain/foreign/builds.txt"),
    include_str!("../../explain/foreign/homonyms.txt"),
];

#[test]
fn what_is_not_ours_is_unknown() {
    let knowledge = Knowledge::built_in();
    let all: Vec<(&str, &str)> =
        FILES.iter().flat_map(|file| file.split("=== ").skip(1)).filter_map(|log| log.split_once('\n')).collect();
    let with_words = all.iter().filter(|(_, text)| WORDS.iter().any(|word| text.contains(word))).count();
    assert!(all.len() >= 200 && with_words >= 100, "{} logs, {with_words} with words of ours", all.len());
    let caused = all.iter().filter_map(|(name, text)| Some((name, explain(text.as_bytes(), None, &knowledge)?)));
    let wrong: Vec<String> =
        caused.map(|(name, found)| format!("{name}: {} by {:?}", found.code, found.matched)).collect();
    assert!(wrong.is_empty(), "{} false causes\n{}", wrong.len(), wrong.join("\n"));
}
