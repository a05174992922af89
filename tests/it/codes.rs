//! Every code of a finding is there because something produces it, and some expectation holds it.

use std::path::Path;
use std::path::PathBuf;

use macml::diag::Code;

/// Reads every file below `folder` that ends so.
fn texts(folder: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one)) {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

#[test]
fn every_code_is_produced_and_expected_somewhere() {
    let sources = texts("src", &["rs"]);
    let signatures = texts("src/explain", &["toml"]);
    let rendered = [texts("tests/manifests", &["txt"]), texts("tests/it", &["rs"])].concat();
    let scenarios = [texts("tests/scenarios", &["toml"]), texts("tests/explain", &["toml"])].concat();
    let has = |files: &[(PathBuf, String)], words: &[String]| {
        let own = |path: &Path| path.ends_with("diag/code.rs") || path.ends_with("it/codes.rs");
        files.iter().any(|(path, text)| !own(path) && words.iter().any(|word| text.contains(word.as_str())))
    };
    let mut complaints = Vec::new();
    for code in Code::ALL {
        let variant = format!("Code::{code:?}");
        let leads_to = format!("code = \"{code}\"");
        if !has(&sources, std::slice::from_ref(&variant)) && !has(&signatures, &[leads_to]) {
            complaints.push(format!("`{code}`: nothing in src/ produces it"));
        }
        // As the binary prints it to people or to programs, as a scenario expects it, or by name through the library.
        let quoted = format!("\"{code}\"");
        let severity = |word: &str| format!("\"{word} {code}\"");
        let in_scenario =
            [format!("\"{code}:"), quoted.clone(), severity("error"), severity("warning"), severity("note")];
        if !has(&rendered, &[format!("[{code}]"), quoted, variant]) && !has(&scenarios, &in_scenario) {
            complaints.push(format!("`{code}`: no scenario and no test expects it"));
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
