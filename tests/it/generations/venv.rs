//! The real Python of the machine, started through environments that macml wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use macml::environment::{
    Generation, Generations, Package, Pip, Place, Replace, STAMP_NAME, Stamp, Venv, missing_paths,
};
use macml::install::{self, Layout};
use macml::pep::Sha256;
use macml::python::{Interpreter, Machine, Search, USUAL_LIMIT};
use macml::sys::Env;
use macml::target::{Platform, PythonMinor};

use super::{Project, open, stamp, write};

/// Finds a Python of this machine, if there is one.
fn python() -> Option<Interpreter> {
    let vars = BTreeMap::from(["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default())));
    let machine = Machine::here(&Env::from_map(vars, "/".into()))?;
    let search = Search { machine, cache: None, limit: USUAL_LIMIT, named: None };
    let found = search.all().into_iter().find_map(|seen| seen.verdict.ok());
    if found.is_none() {
        eprintln!("this machine has no Python");
    }
    found
}

/// An environment in a project of a certain name, with a package in it.
struct Made {
    project: Project,
    place: Place,
    python: Interpreter,
    generation: Generation,
}

impl Made {
    fn new(name: &str, paths: &[&str], pip: Pip) -> Option<Self> {
        let project = Project::new();
        let folder = project.path().with_file_name(name);
        std::fs::rename(project.path(), &folder).unwrap();
        let place = Place::of(&folder, "default", None).unwrap();
        let python = python()?;
        let all = open(&place).unwrap();
        let building = all.begin(Sha256::of(b"a")).unwrap();
        let commands = install::Interpreter::new(place.link.join("bin/python").to_str().unwrap()).unwrap();
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        for path in paths.iter().filter(|path| *path != "missing") {
            std::fs::create_dir_all(folder.join(path)).unwrap();
        }
        let venv =
            Venv { python: &python, commands: &commands, prompt: "my\nproject", project: &folder, paths: &paths, pip };
        venv.write(building.path()).unwrap();
        let missing = paths.iter().filter(|path| *path == "missing").map(|path| folder.join(path));
        let found = missing_paths(&folder, &paths).into_iter().map(|path| folder.join(path));
        assert_eq!(found.collect::<Vec<PathBuf>>(), missing.collect::<Vec<PathBuf>>());
        let site = building.path().join(venv.site());
        for name in ["one", "two"] {
            write(&site.join(format!("{name}.py")), &format!("name = '{name}'\n"));
            let info = site.join(format!("{name}-1.0.dist-info"));
            let requires = if name == "one" { "Requires-Dist: two\nRequires-Dist: x; extra == 'y'\n" } else { "" };
            let metadata =
                format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nSummary: It is {name}\n{requires}");
            write(&info.join("METADATA"), &metadata);
            let record = format!("{name}.py,,\n{name}-1.0.dist-info/METADATA,,\n../../../bin/{name},,\n");
            write(&info.join("RECORD"), &record);
            write(&building.path().join("bin").join(name), "");
        }
        write(&site.join("two-1.0.dist-info/direct_url.json"), r#"{"url": "file:///two.whl"}"#);
        let packages = ["one", "two"].map(|name| Package { name: name.to_owned(), version: "1".to_owned() }).to_vec();
        let version = python.version.to_string();
        let generation =
            all.publish(building, Stamp { site: venv.site(), packages, python: version, ..stamp() }).unwrap();
        all.activate(&generation, Replace::Never).unwrap();
        drop(all);
        Some(Self { project, place, python, generation })
    }

    fn run(&self, program: &Path, args: &[&str]) -> Output {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_remove("PYTHONPATH")
            .env_remove("PYTHONDONTWRITEBYTECODE")
            .env("LC_ALL", "C.UTF-8")
            // Later Pythons end with what they warn of.
            .env("PYTHONWARNINGS", "error")
            .output()
            .unwrap()
    }

    #[track_caller]
    fn ask(&self, program: &str, args: &[&str]) -> String {
        let output = self.run(&self.place.link.join(program), args);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert!(output.status.success(), "{} {}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }
}

const FACTS: &str = "import sys, sysconfig, site
print(sys.prefix); print(sys.base_prefix); print(sysconfig.get_path('purelib'))
print(site.ENABLE_USER_SITE); import one, two; print(one.name, two.name, one.__file__)";

#[test]
fn python_takes_it_for_an_environment() {
    for name in ["plain", "with a blank", "実験 é"] {
        let Some(made) = Made::new(name, &[], Pip::Launcher) else { return };
        let link = made.place.link.display();
        let (major, minor) = made.python.minor;
        let site = format!("{link}/lib/python{major}.{minor}/site-packages");
        let base = made.python.base_prefix.display();
        let expected = format!("{link}\n{base}\n{site}\nFalse\none two {site}/one.py\n");
        for program in ["python", "python3", &format!("python{major}.{minor}")] {
            assert_eq!(made.ask(&format!("bin/{program}"), &["-c", FACTS]), expected, "{name}");
        }
        // As its own folder it is one too: that is how `run` starts it.
        let own = made.run(&made.generation.path.join("bin/python"), &["-c", FACTS]);
        let own = String::from_utf8(own.stdout).unwrap();
        assert_eq!(own.lines().next(), made.generation.path.to_str());
        assert_eq!(
            own.lines().last().unwrap(),
            format!(
                "one two {}/{}/one.py",
                made.generation.path.display(),
                made.generation.stamp().unwrap().unwrap().site
            )
        );
        // Imports have left their bytecode where that changes nothing.
        let stamp = made.generation.stamp().unwrap().unwrap();
        assert!(made.generation.path.join(&stamp.site).join("__pycache__").read_dir().unwrap().next().is_some());
        assert!(stamp.is_untouched(&made.generation.path).unwrap());
        assert_eq!(made.generation.strays(&stamp).unwrap(), Vec::<String>::new());
        assert_eq!(made.ask("bin/pip", &["list"]), "Package Version\n------- -------\none     1.0\ntwo     1.0\n");
        let config = std::fs::read_to_string(made.generation.path.join("pyvenv.cfg")).unwrap();
        assert!(config.contains("\nprompt = myproject\n") && config.contains("\nmacml = "), "{config}");
        assert!(
            config.starts_with("home = /") && config.contains("\ninclude-system-site-packages = false\n"),
            "{config}"
        );
    }
}

#[test]
fn pip_lists_and_does_not_change() {
    let Some(made) = Made::new("p", &[], Pip::Launcher) else { return };
    let ask = |args: &[&str]| made.ask("bin/pip3", args);
    assert_eq!(
        ask(&["list", "--format", "json"]),
        "[{\"name\": \"one\", \"version\": \"1.0\"}, {\"name\": \"two\", \"version\": \"1.0\"}]\n"
    );
    assert_eq!(ask(&["--disable-pip-version-check", "list", "--format=freeze"]), "one==1.0\ntwo==1.0\n");
    assert_eq!(ask(&["list", "--not-required", "--format=freeze"]), "one==1.0\n");
    assert_eq!(ask(&["list", "--exclude", "ONE", "--exclude=two"]), "");
    assert_eq!(ask(&["freeze"]), "one==1.0\ntwo @ file:///two.whl\n");
    let shown = ask(&["show", "-f", "Two", "one"]);
    let location = made.place.link.join(made.generation.stamp().unwrap().unwrap().site);
    for part in [
        "Name: two\nVersion: 1.0\nSummary: It is two\n",
        &format!("Location: {}\nRequires: \nRequired-by: one\nFiles:\n  ../../../bin/two\n", location.display()),
        "---\nName: one\n",
        "Requires: two\n",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(ask(&["--version"]).starts_with("pip 0+macml from "));
    assert!(ask(&[]).contains("instead of pip install NAME"));
    let refuse = |args: &[&str], code: i32, expected: &str| {
        let output = made.run(&made.place.link.join("bin/pip"), args);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told.contains(expected)), (Some(code), true), "{told}");
    };
    refuse(
        &["install", "-U", "numpy>=2"],
        1,
        "hint: write `numpy>=2` under `[dependencies]` in macml.toml, then run `macml sync`\n",
    );
    refuse(&["-q", "install", "torch"], 1, "error: `pip install` would change an environment that macml builds");
    refuse(&["uninstall", "-y", "one"], 1, "hint: take `one` out of macml.toml, then run `macml sync`\n");
    refuse(&["download"], 1, "hint: write a package under `[dependencies]` in macml.toml, then run `macml sync`\n");
    refuse(&["show", "three"], 1, "WARNING: Package(s) not found: three\n");
    refuse(&["config", "list"], 1, "error: `pip config` is not to be had");
    refuse(&["list", "--outdated"], 2, "error: no such option here: --outdated\n");
    assert!(made.generation.stamp().unwrap().unwrap().is_untouched(&made.generation.path).unwrap());
    // A locked pip has the names for itself.
    let Some(made) = Made::new("p", &[], Pip::Locked) else { return };
    assert!(made.generation.path.join("bin/pip").symlink_metadata().is_err());
}

#[test]
fn the_projects_own_folders_are_on_the_path() {
    // The last ones are no text for a line of a `.pth` in every locale.
    let folders = ["src", "./lib", "with a blank", "実験", "ends ", "a\nb'\"\\", "missing", "."];
    let project = |name: &str| format!("import {name}; print({name}.__file__)");
    let Some(made) = Made::new("p", &folders, Pip::Launcher) else { return };
    for (at, folder) in folders.iter().enumerate().filter(|(_, folder)| **folder != "missing") {
        write(&made.place.project.join(folder).join(format!("own{at}.py")), "");
        for locale in ["C.UTF-8", "en_US.ISO-8859-1", "POSIX"] {
            let mut command = Command::new(made.place.link.join("bin/python"));
            let output = command.args(["-c", &project(&format!("own{at}"))]).env("LC_ALL", locale).output().unwrap();
            assert!(output.status.success(), "{folder:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let path = made.ask("bin/python", &["-I", "-c", "import sys; print(*map(ascii, sys.path), sep='\\n')"]);
    assert!(path.contains(&format!("'{}'\n", made.place.project.join("src").display())), "{path}");
}

#[test]
fn what_came_in_by_hand_is_named() {
    let Some(made) = Made::new("p", &[], Pip::Launcher) else { return };
    let stamp = made.generation.stamp().unwrap().unwrap();
    let root = &made.generation.path;
    let site = root.join(&stamp.site);
    write(&site.join("requests-2.31.0.dist-info/RECORD"), "requests/__init__.py,,\n../../../bin/req,,\n");
    write(&site.join("requests/__init__.py"), "");
    write(&root.join("bin/req"), "");
    write(&site.join("loose.py"), "");
    write(&site.join("old.egg-info"), "");
    write(&root.join("bin/mine"), "");
    std::fs::rename(site.join("two-1.0.dist-info"), site.join("two-1.1.dist-info")).unwrap();
    let expected = [
        "bin/mine".to_owned(),
        format!("{}/loose.py", stamp.site),
        format!("{}/old.egg-info", stamp.site),
        "requests 2.31.0".to_owned(),
        "two 1.1".to_owned(),
    ];
    assert_eq!(made.generation.strays(&stamp).unwrap(), expected);
    assert!(!stamp.is_untouched(root).unwrap());
}

#[test]
fn no_wheel_may_own_what_is_the_environments() {
    let Some(python) = python() else { return };
    let commands = install::Interpreter::new("/p/.venv/bin/python").unwrap();
    let minor = PythonMinor { major: 3, minor: u16::try_from(python.minor.1).unwrap() };
    let base = Layout::venv(minor, Platform::LinuxX86_64, commands.clone());
    let venv = Venv {
        python: &python,
        commands: &commands,
        prompt: "p",
        project: Path::new("/p"),
        paths: &[],
        pip: Pip::Launcher,
    };
    let reserved = base.clone().reserving(venv.own_paths()).reserved;
    for path in [STAMP_NAME, "macml-in-use", "bin/pip", "bin/pip3", "pyvenv.cfg", "bin/activate", "bin/python"] {
        assert!(reserved.iter().any(|one| one == path), "{path}");
    }
    assert!(reserved.contains(&format!("{}/macml-project.pth", base.purelib)));
    assert!(!Venv { pip: Pip::Locked, ..venv }.own_paths().iter().any(|path| path.ends_with("pip")));
}

/// A sync elsewhere while workers of a program start one after the other.
#[test]
fn a_program_stays_in_its_generation() {
    let Some(made) = Made::new("p", &[], Pip::Launcher) else { return };
    let held = made.generation.hold().unwrap();
    let script = "import subprocess, sys, time\nsys.stdin.readline()\n\
                  subprocess.check_call([sys.executable, '-c', 'import one, sys; print(sys.prefix, one.__file__)'])";
    let mut child = Command::new(made.generation.path.join("bin/python"))
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let all = open(&made.place).unwrap();
    for label in ["b", "c", "d"] {
        all.activate(&super::build(&all, label), Replace::Never).unwrap();
    }
    // One of the three that came after, and not that of the program.
    super::clean(&all, 1);
    drop(child.stdin.take());
    std::thread::sleep(Duration::from_millis(1));
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let root = made.generation.path.display();
    assert!(said.starts_with(&format!("{root} {root}/")), "{said}");
    drop(held);
    super::clean(&all, 1);
    assert_ne!(Generations::current(&made.place).unwrap().unwrap(), made.generation);
    drop(made.project);
}
