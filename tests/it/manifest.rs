//! Good and bad manifests: each file of `tests/manifests` is read as macml reads it.
//!
//! What is said about a file stands beside it as `.txt`, byte for byte; `MACML_BLESS=1` rewrites those.

use std::path::Path;
use std::path::PathBuf;

use macml::diag::Finding;
use macml::diag::Source;
use macml::manifest;
use macml::manifest::Context;
use macml::manifest::Manifest;

#[path = "../../src/bin/macml/render.rs"]
mod render;

/// Returns the manifests of a folder, by name.
pub(crate) fn cases(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests").join(folder);
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    paths.sort();
    let case = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.trim_start_matches('\u{feff}').starts_with("# "), "{} does not say why it exists", path.display());
        (path, text)
    };
    paths.into_iter().map(case).collect()
}

fn parse(text: &str) -> Result<(Manifest, Vec<Finding>), Vec<Finding>> {
    manifest::parse(text, Context { folder: "folder", version: &semver::Version::new(0, 1, 0) })
}

fn rendered(findings: &[Finding], text: &str) -> String {
    let source = Source { name: "macml.toml".to_owned(), text: text.to_owned() };
    let all: Vec<_> = findings.iter().map(|finding| render::finding(finding, Some(&source))).collect();
    anstream::adapter::strip_str(&all.join("\n")).to_string()
}

/// Compares with the file beside a case, or rewrites that; no text is no file.
pub(crate) fn same_as(path: &Path, got: &str) -> Result<(), String> {
    if std::env::var_os("MACML_BLESS").is_some() {
        if got.is_empty() {
            let _ = std::fs::remove_file(path);
        } else {
            std::fs::write(path, got).unwrap();
        }
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let differs = || format!("{} differs; MACML_BLESS=1 rewrites it. Now:\n{got}", path.display());
    if expected == got { Ok(()) } else { Err(differs()) }
}

#[test]
fn invalid_manifests_are_explained() {
    let cases = cases("invalid");
    assert!(cases.len() >= 40);
    let mut failed = Vec::new();
    for (path, text) in cases {
        match parse(&text) {
            Ok(_) => failed.push(format!("{} was accepted", path.display())),
            Err(findings) => {
                assert!(findings.iter().all(|finding| !finding.labels.is_empty()), "a place for each: {findings:#?}");
                failed.extend(same_as(&path.with_extension("txt"), &rendered(&findings, &text)).err());
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn valid_manifests_are_accepted() {
    let cases = cases("valid");
    assert!(cases.len() >= 12);
    let mut failed = Vec::new();
    for (path, text) in cases {
        match parse(&text) {
            Ok((_, findings)) => failed.extend(same_as(&path.with_extension("txt"), &rendered(&findings, &text)).err()),
            Err(findings) => failed.push(format!("{}\n{}", path.display(), rendered(&findings, &text))),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn secrets_never_come_back() {
    let (path, text) = cases("invalid").into_iter().find(|(path, _)| path.ends_with("credentials.toml")).unwrap();
    let findings = parse(&text).unwrap_err();
    assert_eq!(findings.len(), 3, "{}", path.display());
    assert!(!rendered(&findings, &text).contains("hunter2"));
    assert!(!serde_json::to_string(&findings).unwrap().contains("hunter2"));
}

#[test]
fn the_nearest_manifest_upward_is_found() {
    let top = tempfile::tempdir().unwrap();
    let home = top.path().join("home");
    let deep = home.join("project/src/deep");
    std::fs::create_dir_all(&deep).unwrap();
    let valid = std::fs::read_to_string(&cases("valid")[0].0).unwrap();
    let not_found = |result| matches!(result, Err(manifest::Error::NotFound { start }) if start == deep);

    std::fs::write(top.path().join("macml.toml"), &valid).unwrap();
    assert!(not_found(manifest::discover(&deep, Some(&home))), "what lies above the home folder is not looked at");
    assert_eq!(manifest::discover(&deep, None).unwrap(), top.path().join("macml.toml"));

    // A folder of that name is not the file.
    std::fs::create_dir_all(home.join("project/src/macml.toml")).unwrap();
    std::fs::write(home.join("project/macml.toml"), &valid).unwrap();
    assert_eq!(manifest::discover(&deep, Some(&home)).unwrap(), home.join("project/macml.toml"));
}

#[test]
fn reading_tells_absent_unreadable_and_wrong_apart() {
    let version = semver::Version::new(0, 1, 0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("手写识别").join("macml.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(matches!(manifest::read(&path, &version), Err(manifest::Error::Missing { .. })));
    std::fs::write(&path, b"# \xd6\xd0\xce\xc4 in GBK").unwrap();
    assert!(matches!(manifest::read(&path, &version), Err(manifest::Error::NotText { .. })));
    std::fs::write(&path, "x = 1").unwrap();
    assert!(
        matches!(manifest::read(&path, &version), Err(manifest::Error::Invalid { findings, .. }) if findings.len() == 2)
    );
    std::fs::write(&path, "[target]\nchip = 'm1'\nmacos = '14.0'\npython = '>=3.12'").unwrap();
    assert_eq!(manifest::read(&path, &version).unwrap().manifest.name, "手写识别");
}
