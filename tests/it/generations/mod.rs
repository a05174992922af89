//! Generations and the link to the one that counts. Kills and several processes are in `processes`, what a hostile
//! repository brings in `trust`, and the real Python in `venv`.

mod processes;
mod trust;
mod venv;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use macml::environment::{
    Activated, Error, FolderTime, Generation, Generations, IN_USE_NAME, Place, Replace, Retired, STAMP_NAME, Stamp,
};
use macml::pep::Sha256;

const SITE: &str = "lib/python3.13/site-packages";

/// How many modules a made generation has.
const MODULES: usize = 8;

struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("p")).unwrap();
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("p")
    }

    fn place(&self) -> Place {
        Place::of(&self.path(), "default", None).unwrap()
    }

    fn open(&self) -> Generations {
        open(&self.place()).unwrap()
    }

    /// Builds generations and makes the link lead to each in turn.
    fn with(&self, labels: &[&str]) -> Vec<Generation> {
        let all = self.open();
        let build = |label: &&str| {
            let built = build(&all, label);
            assert_eq!(all.activate(&built, Replace::Never).unwrap(), Activated::default());
            built
        };
        labels.iter().map(build).collect()
    }

    /// What stands in the project and in the store, but for the generations' inside.
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for folder in ["", ".macml/", ".macml/env/default/"] {
            let mut all = macml::sys::fs::names(&self.path().join(folder)).unwrap();
            all.retain(|name| !name.contains('.') || name.starts_with('.'));
            names.extend(all.into_iter().map(|name| format!("{folder}{name}")));
        }
        names
    }
}

fn open(place: &Place) -> Result<Generations, Error> {
    Generations::open(place, &mut || ())
}

fn stamp() -> Stamp {
    let never = FolderTime(0, 0);
    Stamp {
        version: 0,
        env: String::new(),
        project: PathBuf::new(),
        content: String::new(),
        interpreter: "3.13.1 1.2".to_owned(),
        python: "3.13.1".to_owned(),
        platform: "linux-x86_64".to_owned(),
        site: SITE.to_owned(),
        site_time: never,
        bin_time: never,
        token: String::new(),
        built: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(),
        packages: Vec::new(),
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Fills the folder of a generation: every file of it says whose it is.
fn fill(root: &Path, label: &str) {
    write(&root.join("bin/tool"), label);
    write(&root.join("pyvenv.cfg"), label);
    for at in 0..MODULES {
        write(&root.join(SITE).join(format!("pkg/m{at}.py")), label);
    }
}

fn build(all: &Generations, label: &str) -> Generation {
    let building = all.begin(Sha256::of(label.as_bytes())).unwrap();
    fill(building.path(), label);
    all.publish(building, stamp()).unwrap()
}

/// Reads a generation that must be whole, and of one label in every file.
#[track_caller]
fn label(root: &Path) -> String {
    let label = std::fs::read_to_string(root.join("bin/tool")).unwrap();
    for at in 0..MODULES {
        assert_eq!(std::fs::read_to_string(root.join(SITE).join(format!("pkg/m{at}.py"))).unwrap(), label);
    }
    assert_eq!(std::fs::read_to_string(root.join("pyvenv.cfg")).unwrap(), label);
    let stamp = Stamp::read(root).unwrap().unwrap();
    assert_eq!(stamp.content, Sha256::of(label.as_bytes()).to_string());
    assert!(stamp.is_untouched(root).unwrap());
    label
}

fn numbers(place: &Place) -> Vec<String> {
    Generations::all(place).unwrap().iter().map(|one| one.name.to_string()[17..].to_owned()).collect()
}

fn in_days(days: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(days * 24 * 3600)
}

/// Cleans until so many are gone. A child that another test forks in this moment may hold a lock a little longer.
#[track_caller]
fn clean(all: &Generations, gone: usize) -> Vec<Retired> {
    let begun = Instant::now();
    let mut retired = Vec::new();
    while retired.len() < gone {
        assert!(begun.elapsed() < Duration::from_secs(30), "{retired:?}");
        std::thread::sleep(Duration::from_millis(5));
        retired.extend(all.clean(in_days(8)).unwrap());
    }
    assert_eq!(retired.len(), gone);
    retired
}

#[test]
fn a_generation_is_built_published_and_made_current() {
    let project = Project::new();
    let place = project.place();
    let all = project.open();
    assert_eq!(Generations::current(&place).unwrap(), None);
    let building = all.begin(Sha256::of(b"a")).unwrap();
    fill(building.path(), "a");
    assert!(numbers(&place).is_empty(), "it does not exist yet");
    let one = all.publish(building, stamp()).unwrap();
    assert_eq!(one.path, place.store.join(format!("{}.1", &Sha256::of(b"a").to_string()[..16])));
    assert_eq!(Generations::current(&place).unwrap(), None, "it exists and does not count yet");
    all.activate(&one, Replace::Never).unwrap();
    assert_eq!(Generations::current(&place).unwrap().as_ref(), Some(&one));
    assert_eq!(label(&place.link), "a");
    let target = std::fs::read_link(&place.link).unwrap();
    assert_eq!(target, one.path.strip_prefix(&place.project).unwrap(), "it may be moved with the project");
    let told = one.stamp().unwrap().unwrap();
    assert_eq!((told.version, &*told.env, &told.project), (Stamp::VERSION, "default", &place.project));
    assert_eq!((told.token.len(), told.python.as_str()), (32, "3.13.1"));
    // The same content again is another generation, with another secret.
    let two = build(&all, "a");
    assert_ne!(two.stamp().unwrap().unwrap().token, told.token);
    assert_eq!(numbers(&place), ["2", "1"]);
    assert_eq!(std::fs::read_to_string(place.project.join(".macml/.gitignore")).unwrap(), "*\n");
    let names = [".macml", ".venv", ".macml/.gitignore", ".macml/env", ".macml/env/default/"];
    assert_eq!(project.names(), names[..4]);
    // What comes in later is seen by the time of its folder.
    write(&two.path.join("bin/new"), "");
    assert!(!two.stamp().unwrap().unwrap().is_untouched(&two.path).unwrap());
    // One that nobody publishes is gone.
    drop(all.begin(Sha256::of(b"b")).unwrap());
    assert_eq!(numbers(&place), ["2", "1"]);
    assert_eq!(project.names(), names[..4]);
    // Nothing is left of one that cannot be: it has no `bin`.
    let none = all.publish(all.begin(Sha256::of(b"b")).unwrap(), stamp()).unwrap_err();
    assert!(none.to_string().starts_with("could not look at"), "{none}");
    assert_eq!(project.names(), names[..4]);
}

#[test]
fn what_is_not_ours_stays_or_is_moved_aside() {
    let project = Project::new();
    let place = project.place();
    let at = |name: &str| place.project.join(name);
    let all = project.open();
    let one = build(&all, "a");
    write(&at(".venv/bin/python"), "by hand");
    let stays = all.activate(&one, Replace::Never).unwrap_err();
    assert!(matches!(&stays, Error::Foreign { link } if *link == place.link), "{stays}");
    assert_eq!(stays.to_string(), format!("`{}` is not macml's: it stays as it is", place.link.display()));
    assert_eq!(std::fs::read_to_string(at(".venv/bin/python")).unwrap(), "by hand");
    let moved = all.activate(&one, Replace::MoveAside).unwrap();
    assert_eq!(moved.moved_aside.unwrap(), at(".venv.before-macml"));
    assert_eq!(std::fs::read_to_string(at(".venv.before-macml/bin/python")).unwrap(), "by hand");
    assert_eq!(label(&place.link), "a");
    // A file, and a link to a venv elsewhere, are not ours either; names that are taken stay.
    for (make, name) in [(0, ".venv.before-macml.2"), (1, ".venv.before-macml.3"), (2, ".venv.before-macml.4")] {
        std::fs::remove_file(&place.link).unwrap();
        match make {
            0 => write(&place.link, ""),
            1 => std::os::unix::fs::symlink("elsewhere/venv", &place.link).unwrap(),
            _ => std::os::unix::fs::symlink(".macml/env/tf/0123456789abcdef.1", &place.link).unwrap(),
        }
        assert!(matches!(all.activate(&one, Replace::Never), Err(Error::Foreign { .. })));
        assert_eq!(all.activate(&one, Replace::MoveAside).unwrap().moved_aside.unwrap(), at(name));
        assert_eq!(label(&place.link), "a");
        assert!(at(name).symlink_metadata().is_ok());
    }
    // The environment's removal does not touch what took the place of its link.
    std::fs::remove_file(&place.link).unwrap();
    write(&at(".venv/x"), "");
    assert_eq!(all.remove().unwrap(), []);
    assert!(at(".venv/x").symlink_metadata().is_ok());
    assert!(place.store.symlink_metadata().is_err());
}

#[test]
fn the_last_two_stay_and_others_while_they_are_young_or_used() {
    let project = Project::new();
    let place = project.place();
    let built = project.with(&["a", "b", "c", "d", "e"]);
    let all = project.open();
    assert_eq!(all.clean(SystemTime::now()).unwrap(), [], "all are young");
    assert_eq!(all.clean(in_days(6)).unwrap(), []);
    let used = built[0].hold().unwrap();
    let removed = clean(&all, 2);
    assert_eq!(removed.iter().map(|one| &one.0).collect::<Vec<_>>(), [&built[2].name, &built[1].name]);
    assert_eq!(numbers(&place), ["5", "4", "1"]);
    drop(used);
    clean(&all, 1);
    assert_eq!(numbers(&place), ["5", "4"]);
    // Numbers grow, whatever is gone.
    assert!(build(&all, "f").name.to_string().ends_with(".6"));
    assert_eq!(project.names(), [".macml", ".venv", ".macml/.gitignore", ".macml/env", ".macml/env/default/.history"]);
}

#[test]
fn the_way_back_leads_to_what_was_current_before() {
    let project = Project::new();
    let [a, b, c] = &project.with(&["a", "b", "c"])[..] else { panic!() };
    let all = project.open();
    let before = || all.before().unwrap();
    assert_eq!(before().as_ref(), Some(b));
    all.activate(b, Replace::Never).unwrap();
    assert_eq!(before().as_ref(), Some(c), "and back again");
    // It is not the order in which they were built that counts.
    all.activate(a, Replace::Never).unwrap();
    assert_eq!(before().as_ref(), Some(b));
    let d = build(&all, "d");
    assert_eq!(before().as_ref(), Some(b), "built is not current");
    all.activate(&d, Replace::Never).unwrap();
    assert_eq!(before().as_ref(), Some(a));
    clean(&all, 2);
    assert_eq!(numbers(&project.place()), ["4", "1"]);
    // A note that was written before a kill changes nothing: what it says of the current one still stands in it.
    let history = project.place().store.join(".history");
    let text = std::fs::read_to_string(&history).unwrap();
    assert_eq!(text, format!("{} {}\n{} {}\n", a.name, b.name, d.name, a.name));
    std::fs::remove_file(&history).unwrap();
    assert_eq!(before().as_ref(), Some(a), "the newest of the others");
    // A link in its place would have another file written.
    let other = project.path().join("precious");
    write(&other, "precious");
    std::os::unix::fs::symlink(&other, &history).unwrap();
    all.activate(a, Replace::Never).unwrap();
    assert_eq!(before().as_ref(), Some(&d));
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
    // Without a link the newest is what there is to go back to.
    std::fs::remove_file(project.place().link).unwrap();
    assert_eq!(before().as_ref(), Some(&d));
}

#[test]
fn one_that_is_gone_or_not_whole_does_not_count() {
    let project = Project::new();
    let place = project.place();
    let [a, b] = &project.with(&["a", "b"])[..] else { panic!() };
    let all = project.open();
    std::fs::remove_file(a.path.join(STAMP_NAME)).unwrap();
    assert_eq!((numbers(&place), all.before().unwrap()), (vec!["2".to_owned()], None));
    assert!(matches!(all.activate(a, Replace::Never), Err(Error::Gone(path)) if path == a.path));
    std::fs::remove_dir_all(&b.path).unwrap();
    assert_eq!(Generations::current(&place).unwrap(), None);
    assert_eq!(b.hold().unwrap_err().to_string(), format!("could not use `{}`", b.path.display()));
    // The link leads nowhere and is ours all the same.
    let c = build(&all, "c");
    all.activate(&c, Replace::Never).unwrap();
    assert_eq!(label(&place.link), "c");
    // A folder that only has such a name goes with its time.
    clean(&all, 1);
}

#[test]
fn an_environment_is_removed_but_for_what_is_used() {
    let project = Project::new();
    let place = project.place();
    let [a, _] = &project.with(&["a", "b"])[..] else { panic!() };
    let used = a.hold().unwrap();
    assert_eq!(project.open().remove().unwrap(), std::slice::from_ref(a));
    assert!(place.link.symlink_metadata().is_err());
    assert_eq!(numbers(&place), ["1"]);
    assert_eq!(label(&a.path), "a");
    drop(used);
    let begun = Instant::now();
    while !project.open().remove().unwrap().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
    assert!(place.store.symlink_metadata().is_err());
    assert_eq!(project.names(), [".macml", ".macml/.gitignore", ".macml/env"]);
}

#[test]
fn a_program_holds_what_it_inherited() {
    let project = Project::new();
    let built = project.with(&["a", "b", "c"]);
    let all = project.open();
    let mut child = {
        let _held = built[0].hold().unwrap().inherited().unwrap();
        Command::new("/bin/sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap()
    };
    assert_eq!(all.clean(in_days(8)).unwrap(), []);
    drop(child.stdin.take());
    child.wait().unwrap();
    clean(&all, 1);
    // Somebody threw away the file.
    std::fs::remove_file(built[2].path.join(IN_USE_NAME)).unwrap();
    drop(built[2].hold().unwrap());
    assert!(built[2].path.join(IN_USE_NAME).symlink_metadata().is_ok());
}

#[test]
fn left_overs_are_swept_and_what_is_not_ours_is_not() {
    let project = Project::new();
    let place = project.place();
    project.with(&["a"]);
    let at = |name: &str| place.project.join(name);
    write(&place.store.join(".new-x/bin/y"), "");
    write(&place.store.join(".old-0123456789abcdef.7/bin/y"), "");
    write(&place.store.join(".macml-x.tmp"), "");
    write(&place.store.join("mine"), "");
    for link in [".macml-link-x", ".macml/.macml-link-y"] {
        std::os::unix::fs::symlink("nowhere", at(link)).unwrap();
    }
    write(&at(".macml-link-file"), "");
    project.open();
    let left = [".macml", ".macml-link-file", ".venv", ".macml/.gitignore", ".macml/env", ".macml/env/default/mine"];
    assert_eq!(project.names(), left);
    assert_eq!(label(&place.link), "a");
}

/// A folder of macml's that is something else: one error, and nothing is changed.
#[test]
fn what_stands_where_environments_lie_is_named() {
    for (path, make, found) in [
        (".macml", 0, "a file"),
        (".macml", 1, "a symbolic link"),
        (".macml", 2, "a symbolic link"),
        (".macml/env", 0, "a file"),
        (".macml/env/default", 1, "a symbolic link"),
        (".macml/env/.lock", 1, "no file"),
    ] {
        let project = Project::new();
        let at = project.path().join(path);
        let out = project.path().with_file_name("out");
        write(&out.join(".new-x/y"), "");
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        match make {
            0 => write(&at, "x"),
            1 => std::os::unix::fs::symlink(&out, &at).unwrap(),
            _ => std::os::unix::fs::symlink("nowhere", &at).unwrap(),
        }
        let error = open(&project.place()).unwrap_err();
        let expected = format!("`{}` is {found}, where macml keeps environments in a folder of its own", at.display());
        assert_eq!(error.to_string(), expected);
        assert!(out.join(".new-x/y").symlink_metadata().is_ok(), "nothing is removed there");
        assert_eq!(macml::sys::fs::walk(&out).unwrap().len(), 1, "and nothing made");
    }
}

#[test]
fn a_project_that_another_program_keeps_in_step_has_its_generations_elsewhere() {
    let project = Project::new();
    let home = project.path();
    std::fs::create_dir_all(home.join("Dropbox/p")).unwrap();
    let data = home.join("data/macml");
    let place = || Place::within(&home.join("Dropbox/p"), "default", Some(&home), Some(&data)).unwrap();
    // It lay in the project until that was moved.
    let old = Place::of(&home.join("Dropbox/p"), "default", None).unwrap();
    let all = open(&old).unwrap();
    all.activate(&build(&all, "a"), Replace::Never).unwrap();
    drop(all);
    let all = open(&place()).unwrap();
    let b = build(&all, "b");
    assert_eq!(label(&Generations::current(&place()).unwrap().unwrap().path), "a", "until there is a new one");
    all.activate(&b, Replace::Never).unwrap();
    assert_eq!(std::fs::read_link(&place().link).unwrap(), b.path);
    assert!(b.path.starts_with(&data));
    assert_eq!(label(&place().link), "b");
    all.activate(&build(&all, "c"), Replace::Never).unwrap();
    assert_eq!(all.before().unwrap(), Some(b));
    assert_eq!(macml::sys::fs::names(&home.join("Dropbox/p")).unwrap(), [".macml", ".venv"]);
    assert_eq!(all.remove().unwrap(), []);
    assert!(place().link.symlink_metadata().is_err());
}
