//! `macml env` through the binary, on generations that the library made: what is listed, where a rollback leads and
//! whom it makes trusted, and what removing leaves alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use macml::environment::{
    Built, FolderTime, Generation, Generations, Known, Package, Place, Replace, STAMP_NAME, Stamp,
};
use macml::pep::Sha256;

use crate::support::built;
use crate::support::project::Project;

const MANIFEST: &str = "\
[target]
platforms = [\"linux-x86_64\"]
python = \">=3.11,<3.14\"
[env.tf]
";

const SITE: &str = "lib/python3.13/site-packages";

fn place(project: &Project, env: &str) -> Place {
    let data = project.path().join(".local/share/macml");
    Place::within(project.path(), env, Some(project.path()), Some(&data)).unwrap()
}

fn state(project: &Project) -> PathBuf {
    project.path().join(".local/state/macml")
}

/// Builds a generation of these packages, makes it the one that counts, and notes that, as a sync does.
fn sync(project: &Project, env: &str, python: &str, packages: &[(&str, &str)]) -> Generation {
    let generation = build(project, env, python, packages);
    let place = place(project, env);
    note(&generation, &place).write(&state(project), &place).unwrap();
    generation
}

/// The same without a note: somebody else's macml did it.
fn build(project: &Project, env: &str, python: &str, packages: &[(&str, &str)]) -> Generation {
    let place = place(project, env);
    let all = Generations::open(&place, &mut || ()).unwrap();
    let building = all.begin(Sha256::of(format!("{packages:?}").as_bytes())).unwrap();
    for (path, text) in [("bin/tool", "x"), ("pyvenv.cfg", "x"), (&*format!("{SITE}/a.py"), "a = 1")] {
        let path = building.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let package = |(name, version): &(&str, &str)| Package { name: (*name).to_owned(), version: (*version).to_owned() };
    let stamp = Stamp {
        version: 0,
        env: String::new(),
        project: PathBuf::new(),
        content: String::new(),
        interpreter: "made".to_owned(),
        python: python.to_owned(),
        platform: "linux-x86_64".to_owned(),
        site: SITE.to_owned(),
        site_time: FolderTime(0, 0),
        bin_time: FolderTime(0, 0),
        token: String::new(),
        built: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() - 7300,
        packages: packages.iter().map(package).collect(),
    };
    let generation = all.publish(building, stamp).unwrap();
    all.activate(&generation, Replace::Never).unwrap();
    generation
}

fn note(generation: &Generation, place: &Place) -> Built {
    Built {
        prompt: "demo".to_owned(),
        run_env: BTreeMap::from([("SEEN".to_owned(), generation.name.to_string())]),
        manifest: Sha256::of(b"manifest").to_string(),
        lock: Sha256::of(generation.name.to_string().as_bytes()).to_string(),
        ..built::note(place, generation)
    }
}

fn leads_to(project: &Project, env: &str) -> PathBuf {
    project.path().join(Place::link_name(env)).canonicalize().unwrap()
}

fn known(project: &Project, env: &str) -> Known {
    Known::of(&state(project), &place(project, env)).unwrap()
}

fn json(project: &Project, words: &[&str]) -> serde_json::Value {
    project.run(&[&["env"], words, &["--output-format", "json"]].concat()).json_as("env.schema.json")
}

#[test]
fn what_is_declared_built_or_left_over_is_listed() {
    let project = Project::new(MANIFEST);
    let run = project.run(&["env", "list"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "default: not built\ntf: not built\n", ""));
    assert!(!project.path().join(".macml").exists(), "asking makes nothing");

    let one = sync(&project, "default", "3.13.1", &[("numpy", "2.0")]);
    let two = sync(&project, "default", "3.13.1", &[("numpy", "2.1"), ("six", "1.0")]);
    sync(&project, "old", "3.12.4", &[]);
    project.write(".venv-tf/pyvenv.cfg", "by hand");
    project.write(".venv-mine/pyvenv.cfg", "by hand, and of no environment");
    let used = one.hold().unwrap();
    let run = project.run(&["env", "list"]);
    let expected = format!(
        "default: .venv\n  * {}, built 2 hours ago, Python 3.13.1, 2 packages\n    {}, built 2 hours ago, Python 3.13.1, \
         1 package, in use, `macml env rollback` leads here\ntf: .venv-tf, which macml did not make\nold: .venv-old, not in \
         macml.toml\n  * ",
        two.name, one.name
    );
    assert!(run.stdout.starts_with(&expected), "{}\n{expected}", run.stdout);
    assert_eq!(run.stdout.lines().count(), 6);
    drop(used);

    let report = json(&project, &["list", "--size"]);
    let envs = report["environments"].as_array().unwrap();
    let names: Vec<&str> = envs.iter().map(|env| env["name"].as_str().unwrap()).collect();
    let states: Vec<&str> = envs.iter().map(|env| env["state"].as_str().unwrap()).collect();
    assert_eq!((names, states), (vec!["default", "tf", "old"], vec!["active", "foreign", "active"]));
    let first = &envs[0]["generations"][0];
    assert_eq!((&first["current"], &first["packages"], &first["in-use"]), (&true.into(), &2.into(), &false.into()));
    let stamp = std::fs::metadata(two.path.join(STAMP_NAME)).unwrap().len();
    assert_eq!(first["bytes"], stamp + 1 + 1 + 5);
    // A link that leads to nothing is told.
    std::fs::remove_dir_all(place(&project, "old").store).unwrap();
    assert_eq!(json(&project, &["list"])["environments"][2]["state"], "broken");
    project.run(&["env", "list"]).says(0, &["old: .venv-old, which leads to nothing: `macml sync` builds it, not in"]);
}

#[test]
fn a_rollback_leads_to_what_was_before_and_the_next_one_back() {
    let project = Project::new(MANIFEST);
    let one = sync(&project, "default", "3.12.9", &[("numpy", "2.0"), ("six", "1.0"), ("tqdm", "4.0")]);
    let two = sync(&project, "default", "3.13.1", &[("numpy", "2.1"), ("rich", "9.0"), ("tqdm", "4.0")]);
    let run = project.run(&["env", "rollback"]);
    let expected = " ~ python 3.13.1 -> 3.12.9\n ~ numpy 2.1 -> 2.0\n - rich 9.0\n + six 1.0\n\
                    .venv is what was built 2 hours ago: Python 3.12.9, 3 packages\n";
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, expected, ""));
    assert_eq!(leads_to(&project, "default"), one.path.canonicalize().unwrap());
    // What the shell hook goes by is what was noted when that generation was built: lock and `[run.env]` of then.
    assert_eq!(known(&project, "default"), Known::Built(Box::new(note(&one, &place(&project, "default")))));
    let report = json(&project, &["rollback"]);
    let rollback = &report["rollback"];
    assert_eq!((&rollback["from"], &rollback["to"]), (&one.name.to_string().into(), &two.name.to_string().into()));
    assert_eq!((&rollback["trusted"], rollback["changes"].as_array().unwrap().len()), (&true.into(), 4));
    assert_eq!(leads_to(&project, "default"), two.path.canonicalize().unwrap());
    assert_eq!(known(&project, "default"), Known::Built(Box::new(note(&two, &place(&project, "default")))));
}

#[test]
fn without_a_generation_before_there_is_no_way_back() {
    let project = Project::new(MANIFEST);
    let hint = "hint: each `macml sync` that changes something leaves the one before";
    let refused = format!("error: environment `default` has no generation before this one\n\n{hint}");
    project.run(&["env", "rollback"]).fails(1, &refused);
    assert!(!project.path().join(".macml").exists());
    let one = sync(&project, "default", "3.13.1", &[]);
    project.run(&["env", "rollback", "--env", "default"]).fails(1, &refused);
    assert_eq!(leads_to(&project, "default"), one.path.canonicalize().unwrap());
    let report = json(&project, &["rollback"]);
    assert_eq!((&report["exit-code"], &report["error"]["kind"]), (&1.into(), &"refused".into()));
    for name in ["tff", "../default", "..", ""] {
        project.run(&["env", "rollback", "--env", name]).says(2, &["macml.toml has no environment"]);
    }
    // Where somebody put something else, it stays.
    sync(&project, "default", "3.13.1", &[("six", "1.0")]);
    std::fs::remove_file(project.path().join(".venv")).unwrap();
    project.write(".venv/mine", "by hand");
    project.run(&["env", "rollback"]).says(2, &["error: `.venv` was not made by macml, and stays as it is"]);
    assert!(project.path().join(".venv/mine").exists());
}

#[test]
fn a_rollback_makes_nothing_trusted_that_this_user_did_not_build() {
    let project = Project::new(MANIFEST);
    // A repository brings a generation; the user builds the next one.
    let hostile = build(&project, "default", "3.13.1", &[("evil", "1.0")]);
    let own = sync(&project, "default", "3.13.1", &[("six", "1.0")]);
    let run = project.run(&["env", "rollback"]);
    run.says(0, &["warning: this generation is not known as one that macml built here as it is", "evil 1.0"]);
    assert_eq!(leads_to(&project, "default"), hostile.path.canonicalize().unwrap());
    assert!(matches!(known(&project, "default"), Known::Changed(_)));
    assert_eq!(json(&project, &["rollback"])["rollback"]["trusted"], true);
    assert_eq!(leads_to(&project, "default"), own.path.canonicalize().unwrap());
    // One of the user's own in whose place something else was put is not that one any more.
    let next = sync(&project, "default", "3.13.1", &[("six", "2.0")]);
    let stamp = std::fs::read_to_string(own.path.join(STAMP_NAME)).unwrap();
    let token = own.stamp().unwrap().unwrap().token;
    std::fs::write(own.path.join(STAMP_NAME), stamp.replace(&token, &"0".repeat(token.len()))).unwrap();
    assert_eq!(json(&project, &["rollback"])["rollback"]["trusted"], false);
    assert_eq!(json(&project, &["rollback"])["rollback"]["trusted"], true);
    assert_eq!(leads_to(&project, "default"), next.path.canonicalize().unwrap());
    // And one into which something was put since is told from what it was.
    std::fs::write(own.path.join(STAMP_NAME), stamp).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(own.path.join("bin/ls"), "evil").unwrap();
    assert_eq!(json(&project, &["rollback"])["rollback"]["trusted"], false);
}

#[test]
fn removing_takes_what_macml_made_and_nothing_else() {
    let project = Project::new(MANIFEST);
    for env in ["default", "old"] {
        sync(&project, env, "3.13.1", &[("six", "1.0")]);
        sync(&project, env, "3.13.1", &[("six", "2.0")]);
    }
    project.write(".venv-tf/mine", "by hand");
    project.run(&["env", "remove"]).says(2, &["required"]);
    project.run(&["env", "remove", "../p"]).says(2, &["macml.toml has no environment `../p`"]);
    let run = project.run(&["env", "remove", "default"]);
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (0, "removed environment `default`: 2 generations\n", "")
    );
    assert!(project.path().join(".venv").symlink_metadata().is_err());
    assert_eq!(known(&project, "default"), Known::Nothing);
    project.run(&["env", "remove", "default"]).says(0, &["environment `default` is not built: nothing to remove"]);
    let notes = || macml::sys::fs::walk(&state(&project)).unwrap().len();
    assert_eq!(notes(), 2, "those of `old`");

    let report = json(&project, &["remove", "--all"]);
    assert_eq!((&report["exit-code"], &report["removed"][0]["environment"]), (&1.into(), &"old".into()));
    assert_eq!(report["error"]["causes"][0], "`.venv-tf` was not made by macml");
    assert!(project.path().join(".venv-tf/mine").exists());
    assert!(!place(&project, "old").store.exists());
    assert_eq!(notes(), 0);
    std::fs::remove_dir_all(project.path().join(".venv-tf")).unwrap();
    project.run(&["env", "remove", "--all"]).says(0, &["no environment is built: nothing to remove"]);
}

#[test]
fn what_is_in_use_stays_and_is_named() {
    let project = Project::new(MANIFEST);
    let one = sync(&project, "default", "3.13.1", &[("six", "1.0")]);
    let two = sync(&project, "default", "3.13.1", &[("six", "2.0")]);
    let used = one.hold().unwrap();
    let run = project.run(&["env", "remove", "default"]);
    run.says(1, &["removed environment `default`: 1 generation\n", "error: not all of it was removed"]);
    run.says(1, &[&format!("cause: something runs in `.macml/env/default/{}`", one.name)]);
    assert!(one.path.join("bin/tool").exists() && !two.path.exists());
    assert!(project.path().join(".venv").symlink_metadata().is_err());
    project.run(&["env", "list"]).says(0, &["default: no .venv: `macml sync` makes it", "in use"]);
    // It can be gone back to while it is there.
    project.run(&["env", "rollback"]).says(0, &["warning: ", ".venv is what was built"]);
    assert_eq!(leads_to(&project, "default"), one.path.canonicalize().unwrap());
    drop(used);
    project.run(&["env", "remove", "default"]).says(0, &["removed environment `default`: 1 generation"]);
    assert!(!Path::new(&one.path).exists());
}

#[test]
fn without_a_manifest_there_is_no_project() {
    let project = Project::empty();
    let run = project.run(&["env", "list", "--output-format", "json"]);
    assert_eq!((run.code, &run.json_as("env.schema.json")["error"]["kind"]), (2, &"manifest".into()));
    project.write("macml.toml", "nonsense = 1\n");
    project.run(&["env", "list"]).says(2, &["nonsense"]);
}
