//! Wheels that macml.toml names by path or address, from the file to the lock, through the binary.

use std::path::Path;
use std::process::Command;

use macml::pep::Sha256;

use crate::support::published::{Published, Rel};
use crate::support::server::FakeIndex;
use crate::support::wheel;

const NAME: &str = "beta-2.0-py3-none-any.whl";

/// Locks a project whose only requirement is `source`; returns the exit code and what was said on standard error.
fn lock(folder: &Path, source: &str, words: &[&str]) -> (i32, String) {
    let manifest = format!(
        "[target]\nchip = \"m1\"\nmacos = \"14.0\"\ngpu = \"optional\"\npython = \">=3.11,<3.14\"\n\
         [dependencies]\nbeta = {source}\n"
    );
    std::fs::write(folder.join("macml.toml"), manifest).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_macml"));
    command.arg("lock").args(words).current_dir(folder).env_clear().env("HOME", folder);
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn bytes() -> Vec<u8> {
    wheel::build("beta", "2.0", &Rel::default()).remove(0).bytes
}

fn locked(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("macml.lock")).unwrap()
}

#[test]
fn a_wheel_by_path_needs_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("{{ path = \"{NAME}\" }}");
    std::fs::write(folder.path().join(NAME), bytes()).unwrap();
    assert_eq!(lock(folder.path(), &source, &["--offline"]), (0, String::new()));
    let file = format!("file = \"{NAME}\", size = {}, sha256 = \"{}\"", bytes().len(), Sha256::of(&bytes()));
    assert!(locked(folder.path()).contains(&file), "{}", locked(folder.path()));

    // Built anew, it is another file of the same name.
    let again = wheel::build("beta", "2.0", &Rel { filling: 9, ..Rel::default() }).remove(0).bytes;
    std::fs::write(folder.path().join(NAME), &again).unwrap();
    assert_eq!(lock(folder.path(), &source, &["--offline", "--check"]).0, 1);
    assert_eq!(lock(folder.path(), &source, &["--offline"]), (0, String::new()));
    assert!(locked(folder.path()).contains(&Sha256::of(&again).to_string()));
}

#[test]
fn a_wheel_by_address_is_locked_by_its_hash() {
    let folder = tempfile::tempdir().unwrap();
    let index = FakeIndex::from_published(&Published::default().with("beta", "2.0", &[]));
    let address = index.root().join(&format!("files/{NAME}")).unwrap().to_string();
    let source = |address: &str| format!("{{ url = \"{address}\", sha256 = \"{}\" }}", Sha256::of(&bytes()));
    assert_eq!(lock(folder.path(), &source(&address), &[]), (0, String::new()));
    assert!(locked(folder.path()).contains(&format!("size = {}", bytes().len())));
    // Everything about it is cached under its hash.
    assert_eq!(lock(folder.path(), &source(&address), &["--offline", "-U"]), (0, String::new()));

    let gone = address.replace("beta-2.0", "beta-2.1");
    let (code, said) = lock(folder.path(), &source(&gone), &["-U", "--no-config"]);
    assert_eq!((code, said), (2, format!("error: the wheel's server answers with status 404 for `{gone}`\n")));
}

#[test]
fn a_wheel_by_path_that_is_missing_or_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("{{ path = \"{NAME}\" }}");
    let (code, said) = lock(folder.path(), &source, &[]);
    let path = folder.path().canonicalize().unwrap().join(NAME);
    assert_eq!((code, said), (2, format!("error: there is no wheel `{}`\n", path.display())));
    std::fs::write(folder.path().join(NAME), "no zip").unwrap();
    let (code, said) = lock(folder.path(), &source, &[]);
    assert_eq!(code, 1);
    assert!(said.contains("it is no readable zip archive"), "{said}");
    assert!(!folder.path().join("macml.lock").exists());
}
