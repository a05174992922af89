//! A real virtual environment of this machine's Python, with wheels that its pip installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use macml::check::contents::Level;
use macml::pipeline::check::Word;

use super::Made;
use super::lines;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::python::python;
use crate::support::server::FakeIndex;
use crate::support::wheel::build;
use crate::sync::Here;

#[test]
fn what_pip_installed() {
    let (python, minor) = python();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("env");
    let run = |words: &[&str]| {
        let run = Command::new(python).arg("-I").args(words).output().unwrap();
        assert!(run.status.success(), "{words:?}: {}", String::from_utf8_lossy(&run.stderr));
    };
    // The venv needs no pip of its own, which some systems keep in a package apart.
    run(&["-m", "venv", "--without-pip", root.to_str().unwrap()]);
    let site = root.join(format!("lib/python{minor}/site-packages"));
    let release = Rel {
        wheel_tags: vec!["py3-none-any".to_owned()],
        files: [
            ("{info}/entry_points.txt".to_owned(), "[console_scripts]\nalpha = alpha:main\n".to_owned()),
            ("alpha/data.txt".to_owned(), "text".to_owned()),
        ]
        .into(),
        ..Rel::default()
    };
    let built = build("alpha", "1.0", &release).remove(0);
    let wheel = folder.path().join(&built.filename);
    fs::write(&wheel, built.bytes).unwrap();
    let pip = ["-m", "pip", "--python", root.to_str().unwrap(), "install", "--quiet", "--no-index", "--no-deps"];
    run(&[&pip[..], &["--disable-pip-version-check", wheel.to_str().unwrap()]].concat());

    let check = |level, word, said: &[&str]| {
        let found = super::all(&root, level, None).unwrap().remove(0);
        assert_eq!(
            (lines(&found.parts[0]), found.parts[0].word),
            (said.iter().map(ToString::to_string).collect(), word)
        );
        assert_eq!(found.of.platform.is_mac(), cfg!(target_os = "macos"));
        assert_eq!(found.of.python.to_string(), *minor);
    };
    check(Level::Times, Word::AsRecorded, &[]);
    check(Level::Full, Word::AsRecorded, &[]);
    fs::write(site.join("alpha/data.txt"), "next").unwrap();
    let path = format!("lib/python{minor}/site-packages/alpha/data.txt");
    let said = format!("error[not-as-recorded]: `{path}` of `alpha` 1.0 has other bytes than RECORD says");
    check(Level::Times, Word::Differs, &[&said]);
}

#[test]
fn an_environment_of_macml_is_one_too() {
    // What `sync --target` leaves, as far as a tree of it goes.
    let made = Made::new();
    made.install("a", "1.0", super::ARM64, &[("a.py", b"x = 1\n")]);
    let mark = made.root().join(macml::environment::STAGED_NAME);
    let written = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    fs::write(&mark, "{}").unwrap();
    fs::File::options().append(true).open(&mark).unwrap().set_modified(written).unwrap();
    let found = super::one(made.root(), Level::Times);
    assert_eq!((lines(&found.parts[0]), found.parts[0].word), (vec![], Word::AsRecorded));
    fs::write(made.site("a.py"), "x = 2\n").unwrap();
    let later = written + std::time::Duration::from_secs(1);
    fs::File::options().append(true).open(made.site("a.py")).unwrap().set_modified(later).unwrap();
    let found = super::one(made.root(), Level::Times);
    assert_eq!(found.parts[0].word, Word::Differs);
    assert!(found.parts[0].told[0].finding.hint.as_ref().unwrap().contains("macml sync"));
    assert!(Path::new(&found.of.env).is_absolute());
}

#[test]
fn what_macml_synced() {
    let release = Rel { files: [("tool/data.txt".to_owned(), "text".to_owned())].into(), ..Rel::default() };
    let index = FakeIndex::from_published(&Published::default().with_release("tool", "1.0", release));
    let here = Here::new(&index, "tool = \"*\"");
    here.sync();
    // By its link and by its own name, without a look at the project.
    for root in [here.path().join(".venv"), here.generation()] {
        for level in [Level::Times, Level::Full] {
            let found = super::all(&root, level, None).unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!((lines(&found[0].parts[0]), found[0].parts[0].word), (vec![], Word::AsRecorded));
        }
    }
    let site = fs::read_dir(here.generation().join("lib")).unwrap().next().unwrap().unwrap().path();
    let data = site.join("site-packages/tool/data.txt");
    fs::remove_file(&data).unwrap();
    fs::write(&data, "next").unwrap();
    let found = super::all(&here.path().join(".venv"), Level::Times, None).unwrap();
    let said = lines(&found[0].parts[0]);
    assert!(said.len() == 1 && said[0].contains("tool/data.txt` of `tool` 1.0 has other bytes"), "{said:?}");
}
