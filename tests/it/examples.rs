//! The manifests that we show: each is read without a remark, and the committed locks still answer them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of every manifest that we show, the project's own first.
fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root.join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Texts and a machine to be explained, which are no project.
    folders.retain(|folder| !folder.ends_with("errors"));
    folders.sort();
    folders.insert(0, root.to_owned());
    folders
}

fn manifest_of(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("macml.toml")).unwrap()
}

#[test]
fn every_example_is_valid_and_says_what_it_shows() {
    let version = semver::Version::parse(env!("CARGO_PKG_VERSION")).unwrap();
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let text = manifest_of(&folder);
        let context = macml::manifest::Context { folder: name, version: &version };
        match macml::manifest::parse(&text, context) {
            Ok((_, remarks)) => assert!(remarks.is_empty(), "{name}: {remarks:?}"),
            Err(mistakes) => panic!("{name}: {mistakes:?}"),
        }
        assert!(text.starts_with("# "), "{name} does not say what it shows");
    }
}

#[test]
fn examples_of_the_public_index_are_frozen() {
    for folder in folders().into_iter().skip(1) {
        let frozen = manifest_of(&folder).contains("exclude-newer = ");
        assert_eq!(frozen, !folder.ends_with("nightly"), "{}", folder.display());
    }
}

/// Locks each committed lock again, with itself as preference: the bytes must not change. An upstream release that was
/// yanked or deleted shows up here with its name, in the difference that macml prints.
#[test]
fn locks_again() {
    if !matches!(std::env::var("MACML_LIVE").as_deref(), Ok("1" | "full")) {
        eprintln!("not asked for: set MACML_LIVE=1 to lock against the real index");
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let mut locked = 0;
    let mut complaints = Vec::new();
    for folder in folders() {
        let lock = folder.join("macml.lock");
        let Ok(before) = std::fs::read_to_string(&lock) else { continue };
        // Solved in a folder of its own, so that a difference does not end up in the tree. Its name stays: it may name
        // the project.
        let copy = cache.path().join("projects").join(folder.file_name().unwrap());
        std::fs::create_dir_all(&copy).unwrap();
        std::fs::write(copy.join("macml.lock"), &before).unwrap();
        std::fs::write(copy.join("macml.toml"), manifest_of(&folder)).unwrap();
        let run = |words: &[&str]| {
            Command::new(env!("CARGO_BIN_EXE_macml"))
                .arg("-C")
                .arg(&copy)
                .args(words)
                .env("MACML_CACHE_DIR", cache.path().join("cache"))
                .env("MACML_NO_CONFIG", "1")
                .output()
                .unwrap()
        };
        let fresh = run(&["lock", "--check"]);
        let stale = stale_digests(&before);
        std::fs::write(copy.join("macml.lock"), stale).unwrap();
        let again = run(&["lock"]);
        let after = std::fs::read_to_string(copy.join("macml.lock")).unwrap();
        for (what, output) in [("lock --check", &fresh), ("lock", &again)] {
            if output.status.code() != Some(0) {
                complaints.push(format!(
                    "{}: `{what}`: {}\n{}{}",
                    folder.display(),
                    output.status,
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                ));
            }
        }
        if after != before {
            let said = String::from_utf8_lossy(&again.stdout);
            complaints.push(format!("{}: solved again, the lock differs:\n{said}", folder.display()));
        }
        locked += 1;
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    assert!(locked >= 6, "only {locked} locks are committed");
    // What `.ci/run` looks for, so that this cannot pass by not running.
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-ran"), "").unwrap();
}

/// Spoils the digests of the inputs, so that the lock counts as a preference and not as an answer.
fn stale_digests(lock: &str) -> String {
    let spoil = |line: &str| match line.strip_prefix("inputs = \"sha256:") {
        Some(rest) => format!("inputs = \"sha256:{}{}", "0".repeat(8), &rest[8..]),
        None => line.to_owned(),
    };
    let mut text: String = lock.lines().map(|line| spoil(line) + "\n").collect();
    text.truncate(if lock.ends_with('\n') { text.len() } else { text.len() - 1 });
    text
}

#[test]
fn digests_are_spoiled_and_nothing_else() {
    let lock = format!("version = 1\ninputs = \"sha256:{}\"\n", "ab".repeat(32));
    let spoiled = stale_digests(&lock);
    assert_eq!(spoiled, lock.replacen("abababab", "00000000", 1));
    assert_eq!(spoiled.len(), lock.len());
}
