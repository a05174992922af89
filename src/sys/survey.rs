//! What is below a folder, all of it at once: each name with what the system keeps of it, looked at on several threads. And
//! the digests of many files.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use sha2::Digest as _;

use super::fs;
use super::fs::{FsError, is_absent};
use super::parallel;
use super::tree;
use super::tree::Facts;

/// Everything below a folder, links not followed, in no order.
#[derive(Debug, Default)]
pub struct Survey {
    /// Files, links, folders and whatever else there is, by their paths, relative to the root and with `/`.
    pub found: Vec<(String, Facts)>,
    /// Names that are no text, as well as they can be shown.
    pub unnamed: Vec<String>,
    /// What could not be looked at.
    pub failed: Vec<(String, FsError)>,
}

/// Looks at everything below `root`, or below the folder `from` of it; into folders of a name in `skipped` it does not look,
/// and they are not told. Where there is no such folder there is nothing.
pub fn survey(root: &Path, from: &str, skipped: &[&str]) -> Survey {
    let walk = Walk { root, skipped, open: Mutex::new((vec![from.to_owned()], 0)), more: Condvar::new() };
    let parts = parallel::map(&vec![(); tree::workers()], tree::workers(), |()| walk.some());
    let mut all = Survey::default();
    for part in parts {
        all.found.extend(part.found);
        all.unnamed.extend(part.unnamed);
        all.failed.extend(part.failed);
    }
    all
}

struct Walk<'a> {
    root: &'a Path,
    skipped: &'a [&'a str],
    /// Folders that are still to be looked at, and how many are being looked at.
    open: Mutex<(Vec<String>, usize)>,
    more: Condvar,
}

impl Walk<'_> {
    /// Looks at folders until there are none left.
    fn some(&self) -> Survey {
        let mut survey = Survey::default();
        while let Some(folder) = self.next() {
            let inner = self.folder(&folder, &mut survey);
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.0.extend(inner);
            open.1 -= 1;
            self.more.notify_all();
        }
        survey
    }

    fn next(&self) -> Option<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(folder) = open.0.pop() {
                open.1 += 1;
                return Some(folder);
            }
            if open.1 == 0 {
                return None;
            }
            open = self.more.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Looks at one folder; returns those in it.
    fn folder(&self, folder: &str, survey: &mut Survey) -> Vec<String> {
        let path = self.root.join(folder);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |cause| FsError { doing: "look at", path, cause }
        };
        let mut inner = Vec::new();
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(cause) if is_absent(&cause) => return inner,
            Err(cause) => {
                survey.failed.push((folder.to_owned(), failed(&path)(cause)));
                return inner;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(cause) => {
                    survey.failed.push((folder.to_owned(), failed(&path)(cause)));
                    continue;
                }
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                survey.unnamed.push(below(folder, &name.to_string_lossy()));
                continue;
            };
            if self.skipped.contains(&name) {
                continue;
            }
            let below = below(folder, name);
            match entry.metadata().and_then(|found| Facts::of(&found)) {
                Ok(facts) => {
                    if facts.folder {
                        inner.push(below.clone());
                    }
                    survey.found.push((below, facts));
                }
                // It went meanwhile.
                Err(cause) if is_absent(&cause) => {}
                Err(cause) => survey.failed.push((below, failed(&entry.path())(cause))),
            }
        }
        inner
    }
}

fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { [folder, "/", name].concat() }
}

/// A file to digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToDigest {
    /// Where it is.
    pub path: PathBuf,
    /// Its size, as far as known: large ones are begun first.
    pub size: u64,
}

/// Returns the sha256 of each file, in order; `None` for one that is not there. They are read piece by piece, on as many
/// threads as there are cores.
pub fn sha256(files: &[ToDigest]) -> Vec<Result<Option<[u8; 32]>, FsError>> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(files[*at].size));
    let digests = parallel::map(&order, parallel::cores(), |at| digest(&files[*at].path));
    let mut answers: Vec<_> = order.into_iter().zip(digests).collect();
    answers.sort_unstable_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, digest)| digest).collect()
}

fn digest(path: &Path) -> Result<Option<[u8; 32]>, FsError> {
    let failed = |cause| FsError { doing: "read", path: path.to_owned(), cause };
    let mut file = match fs::at_once(path) {
        Ok(file) => file,
        Err(cause) if is_absent(&cause) => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    let expected = file.metadata().map_err(failed)?.len();
    let mut digest = sha2::Sha256::new();
    let mut take = |bytes: &[u8]| {
        digest.update(bytes);
        Ok(())
    };
    fs::pieces(&mut file, expected, &mut take).map_err(failed)?;
    Ok(Some(digest.finalize().into()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn everything_is_found_once_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for inner in ["a/b/c", "d", "a/__pycache__"] {
            std::fs::create_dir_all(root.join(inner)).unwrap();
        }
        for file in ["a/b/c/1", "a/2", "a/__pycache__/3", "d/4"] {
            std::fs::write(root.join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("../d", root.join("a/link")).unwrap();
        let told = |from: &str| {
            let survey = survey(root, from, &["__pycache__"]);
            assert!(survey.failed.is_empty() && survey.unnamed.is_empty());
            let kind = |facts: &Facts| match (facts.plain, facts.folder, facts.link) {
                (true, false, false) => "file",
                (false, true, false) => "folder",
                (false, false, true) => "link",
                _ => "other",
            };
            let mut told: Vec<_> = survey.found.iter().map(|(path, facts)| (path.clone(), kind(facts))).collect();
            told.sort();
            told.into_iter().map(|(path, kind)| format!("{kind} {path}")).collect::<Vec<_>>()
        };
        let inside = ["file a/2", "folder a/b", "folder a/b/c", "file a/b/c/1", "link a/link"];
        assert_eq!(told("a"), inside);
        assert_eq!(told("").len(), inside.len() + 3);
        assert_eq!(told("none"), [""; 0]);
    }

    #[test]
    fn digests_are_in_order_and_absence_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let large = vec![7; 600 << 10];
        for (name, bytes) in [("small", &b"x"[..]), ("large", &large), ("empty", b"")] {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        let files = ["small", "none", "large", "empty"].map(|name| ToDigest {
            path: folder.path().join(name),
            size: if name == "large" { large.len() as u64 } else { 1 },
        });
        let expected = [Some(&b"x"[..]), None, Some(&large), Some(b"")];
        let expected = expected.map(|bytes| bytes.map(|bytes| <[u8; 32]>::from(sha2::Sha256::digest(bytes))));
        assert_eq!(sha256(&files).into_iter().map(Result::unwrap).collect::<Vec<_>>(), expected);
    }
}
