//! What a shell hook may act on: nothing but what this user's macml built here, whatever a repository brings along.

use std::path::{Path, PathBuf};
use std::process::Command;

use macml::environment::{Built, Generation, Known, Place, Replace, STAMP_NAME};

use super::{Project, SITE, build, write};
use crate::support::built::note;

const ANOTHER: Known = Known::Changed("is another one than macml built");
const CHANGED: Known = Known::Changed("was changed since macml built it");

fn state(project: &Project) -> PathBuf {
    project.folder.path().join("state")
}

/// A project with an environment that was built and noted.
fn built() -> (Project, Place, Generation) {
    let project = Project::new();
    let generation = project.with(&["a"]).remove(0);
    let place = project.place();
    note(&place, &generation).write(&state(&project), &place).unwrap();
    (project, place, generation)
}

#[track_caller]
fn check(project: &Project, expected: &Known) {
    assert_eq!(Known::of(&state(project), &project.place()).unwrap(), *expected);
}

#[test]
fn what_was_built_here_is_known_and_nothing_else() {
    let (project, place, generation) = built();
    let known = Known::Built(Box::new(note(&place, &generation)));
    check(&project, &known);
    // What runs in it changes nothing.
    drop(generation.hold().unwrap());
    check(&project, &known);
    // The same files somewhere else are not known: they are named by a path.
    let copy = project.path().with_file_name("copy");
    assert!(Command::new("cp").arg("-a").args([&project.path(), &copy]).status().unwrap().success());
    let other = Place::of(&copy, "default", None).unwrap();
    assert_eq!(Known::of(&state(&project), &other).unwrap(), Known::Nothing);
    // Nor with the note of the other project under the name of this one's.
    std::fs::copy(Built::path(&state(&project), &place), Built::path(&state(&project), &other)).unwrap();
    assert_eq!(Known::of(&state(&project), &other).unwrap(), Known::Nothing);
    assert_eq!(Known::of(&project.folder.path().join("nobody"), &place).unwrap(), Known::Nothing);
    // Another environment of the project has a note of its own.
    let tf = Place::of(&project.path(), "tf", None).unwrap();
    assert_eq!(Known::of(&state(&project), &tf).unwrap(), Known::Nothing);
    Built::forget_all(&state(&project), &place).unwrap();
    check(&project, &Known::Nothing);
    Built::forget_all(&state(&project), &place).unwrap();
}

#[test]
fn a_note_that_is_none_says_nothing() {
    let (project, place, _) = built();
    let path = Built::path(&state(&project), &place);
    let text = std::fs::read_to_string(&path).unwrap();
    for bad in ["", "{}", &text.replace("\"version\": 1", "\"version\": 2"), &text[..text.len() / 2]] {
        std::fs::write(&path, bad).unwrap();
        check(&project, &Known::Nothing);
    }
}

/// What `git pull` or an unpacked archive could write, once something was built.
#[test]
fn what_a_repository_writes_is_not_activated() {
    type Attack = fn(&Place, &Generation);
    fn evil(place: &Place) -> PathBuf {
        place.project.join("evil")
    }
    fn replace(path: &Path, by: &Path) {
        let _ = std::fs::remove_file(path);
        if path.is_dir() {
            std::fs::rename(path, path.with_extension("aside")).unwrap();
        }
        std::os::unix::fs::symlink(by, path).unwrap();
    }
    /// Copies all of `.macml`, secret and times included: more than anybody else could bring.
    fn copied(place: &Place) -> PathBuf {
        let evil = evil(place);
        assert!(Command::new("cp").arg("-a").args([&place.project.join(".macml"), &evil]).status().unwrap().success());
        evil
    }
    let attacks: [(&str, Known, Attack); 21] = [
        ("a command", CHANGED, |_, one| write(&one.path.join("bin/ls"), "evil")),
        ("a module", CHANGED, |_, one| write(&one.path.join(SITE).join("evil.py"), "")),
        ("another Python", CHANGED, |_, one| {
            let path = one.path.join("pyvenv.cfg");
            std::fs::remove_file(&path).unwrap();
            write(&path, "home = /evil\n");
        }),
        ("no pyvenv.cfg", CHANGED, |_, one| std::fs::remove_file(one.path.join("pyvenv.cfg")).unwrap()),
        ("a linked pyvenv.cfg", CHANGED, |place, one| {
            let evil = copied(place).join("env/default").join(one.name.to_string()).join("pyvenv.cfg");
            replace(&one.path.join("pyvenv.cfg"), &evil);
        }),
        ("a linked bin", CHANGED, |place, one| {
            let evil = copied(place).join("env/default").join(one.name.to_string()).join("bin");
            replace(&one.path.join("bin"), &evil);
        }),
        ("a linked lib", CHANGED, |place, one| {
            let evil = copied(place).join("env/default").join(one.name.to_string()).join("lib");
            replace(&one.path.join("lib"), &evil);
        }),
        ("no bin", CHANGED, |_, one| std::fs::remove_dir_all(one.path.join("bin")).unwrap()),
        ("no stamp", ANOTHER, |_, one| std::fs::remove_file(one.path.join(STAMP_NAME)).unwrap()),
        ("a stamp with another secret", ANOTHER, |_, one| {
            let mut stamp = one.stamp().unwrap().unwrap();
            stamp.token = "0".repeat(32);
            std::fs::write(one.path.join(STAMP_NAME), stamp.text()).unwrap();
        }),
        ("a linked stamp", ANOTHER, |_, one| {
            let stamp = one.path.join(STAMP_NAME);
            std::fs::rename(&stamp, one.path.join("aside")).unwrap();
            replace(&stamp, Path::new("aside"));
        }),
        ("a pipe for a stamp", ANOTHER, |_, one| {
            let stamp = one.path.join(STAMP_NAME);
            std::fs::remove_file(&stamp).unwrap();
            assert!(Command::new("mkfifo").arg(&stamp).status().unwrap().success());
        }),
        ("a stamp without end", ANOTHER, |_, one| {
            let file = std::fs::File::options().write(true).open(one.path.join(STAMP_NAME)).unwrap();
            file.set_len(1 << 40).unwrap();
        }),
        ("a linked .macml", ANOTHER, |place, _| replace(&place.project.join(".macml"), &copied(place))),
        ("a linked env", ANOTHER, |place, _| replace(&place.project.join(".macml/env"), &copied(place).join("env"))),
        ("a linked store", ANOTHER, |place, _| replace(&place.store, &copied(place).join("env/default"))),
        ("a linked generation", ANOTHER, |place, one| {
            replace(&one.path, &copied(place).join("env/default").join(one.name.to_string()));
        }),
        ("another generation", ANOTHER, |place, one| {
            let other = place.store.join("0123456789abcdef.9");
            std::fs::rename(&one.path, &other).unwrap();
            replace(&place.link, &other);
        }),
        ("a venv of its own", ANOTHER, |place, _| {
            std::fs::remove_file(&place.link).unwrap();
            write(&place.link.join("bin/ls"), "evil");
        }),
        ("a link to a venv", ANOTHER, |place, one| {
            replace(&place.link, &copied(place).join("env/default").join(one.name.to_string()));
        }),
        ("nothing", Known::Nothing, |place, _| std::fs::remove_file(&place.link).unwrap()),
    ];
    for (what, expected, attack) in attacks {
        let (project, place, generation) = built();
        attack(&place, &generation);
        assert_eq!(Known::of(&state(&project), &place).unwrap(), expected, "{what}");
    }
}

#[test]
fn a_newer_generation_needs_a_newer_note() {
    let (project, place, _) = built();
    let all = project.open();
    let next = build(&all, "b");
    check(
        &project,
        &Known::Built(Box::new(note(&place, &Generation::at(&place.link.canonicalize().unwrap()).unwrap()))),
    );
    all.activate(&next, Replace::Never).unwrap();
    check(&project, &ANOTHER);
    note(&place, &next).write(&state(&project), &place).unwrap();
    check(&project, &Known::Built(Box::new(note(&place, &next))));
}

#[test]
fn a_store_elsewhere_is_known_too_if_links_lead_to_the_folder_for_data() {
    let project = Project::new();
    let home = project.path();
    std::fs::create_dir_all(home.join("Dropbox/p")).unwrap();
    std::fs::create_dir_all(home.join("big/data")).unwrap();
    std::os::unix::fs::symlink("big/data", home.join("data")).unwrap();
    let place = Place::within(&home.join("Dropbox/p"), "default", Some(&home), Some(&home.join("data"))).unwrap();
    let all = super::open(&place).unwrap();
    let one = build(&all, "a");
    all.activate(&one, Replace::Never).unwrap();
    note(&place, &one).write(&state(&project), &place).unwrap();
    assert_eq!(Known::of(&state(&project), &place).unwrap(), Known::Built(Box::new(note(&place, &one))));
}
