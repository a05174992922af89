//! `Made`: a project with an environment that was made by hand, around the machine's own Python.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use macml::environment::{FolderTime, STAMP_NAME, Stamp};

use crate::support::program::program;
use crate::support::project::{Project, Run};
use crate::support::python::python;

const MANIFEST: &str = "[target]\nchip = \"m1\"\nmacos = \"14.0\"\ngpu = \"optional\"\npython = \">=3.11\"\n";

/// A project with an environment.
pub(crate) struct Made {
    pub(crate) project: Project,
    /// The project's folder, every link followed.
    pub(crate) root: PathBuf,
}

impl Made {
    /// Makes one whose manifest ends with `rest`, with a generation numbered 1.
    pub(crate) fn new(rest: &str) -> Self {
        let project = Project::new(&(MANIFEST.to_owned() + rest));
        let root = project.path().canonicalize().unwrap();
        let made = Self { project, root };
        made.generate(1);
        made.lead_to(1);
        made
    }

    pub(crate) fn generation(&self, number: u32) -> PathBuf {
        self.root.join(format!(".macml/env/default/0123456789abcdef.{number}"))
    }

    /// Makes a generation.
    pub(crate) fn generate(&self, number: u32) {
        let (python, minor) = python();
        let root = self.generation(number);
        let site = format!("lib/python{minor}/site-packages");
        std::fs::create_dir_all(root.join(&site)).unwrap();
        std::fs::create_dir_all(root.join("bin")).unwrap();
        symlink(python, root.join("bin/python")).unwrap();
        symlink("python", root.join("bin/python3")).unwrap();
        let config = format!("home = {}\ninclude-system-site-packages = false\n", python.parent().unwrap().display());
        std::fs::write(root.join("pyvenv.cfg"), config).unwrap();
        File::create(root.join("macml-in-use")).unwrap();
        let stamp = Stamp {
            version: Stamp::VERSION,
            env: "default".to_owned(),
            project: self.root.clone(),
            content: "0123456789abcdef".repeat(4),
            interpreter: String::new(),
            python: minor.clone(),
            platform: "linux-x86_64".to_owned(),
            site_time: FolderTime::of(&root.join(&site)).unwrap().unwrap(),
            site,
            bin_time: FolderTime::of(&root.join("bin")).unwrap().unwrap(),
            token: number.to_string(),
            built: 0,
            packages: Vec::new(),
        };
        std::fs::write(root.join(STAMP_NAME), stamp.text()).unwrap();
    }

    /// Makes the link lead to a generation.
    pub(crate) fn lead_to(&self, number: u32) {
        let new = self.root.join(".venv-new");
        symlink(format!(".macml/env/default/0123456789abcdef.{number}"), &new).unwrap();
        std::fs::rename(&new, self.root.join(".venv")).unwrap();
    }

    /// Writes a program into `bin` of generation 1.
    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.generation(1).join("bin").join(name);
        program(&path, text);
        path
    }

    /// Writes a module into the packages of generation 1.
    pub(crate) fn module(&self, name: &str, text: &str) {
        let path = self.generation(1).join(format!("lib/python{}/site-packages", python().1)).join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The environment is taken as it was made: there is no index to lock from.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.project.command(&[&["run"], words].concat());
        command.env("MACML_NO_SYNC", "1");
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.run_with(&[], words)
    }

    pub(crate) fn run_with(&self, vars: &[(&str, &str)], words: &[&str]) -> Run {
        self.project.run_with(&[vars, &[("MACML_NO_SYNC", "1")]].concat(), &[&["run"], words].concat())
    }

    /// Runs Python, which must succeed, and returns the lines that it printed.
    pub(crate) fn python(&self, vars: &[(&str, &str)], options: &[&str], code: &str) -> Vec<String> {
        let run = self.run_with(vars, &[options, &["python", "-c", code]].concat());
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.stdout);
        run.stdout.lines().map(str::to_owned).collect()
    }

    /// Whether something holds generation 1.
    pub(crate) fn is_held(&self) -> bool {
        File::open(self.generation(1).join("macml-in-use")).unwrap().try_lock().is_err()
    }
}

/// Runs a command with bytes on its standard input.
pub(crate) fn feed(mut command: Command, input: Vec<u8>) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // The program need not have read it all.
    let _ = writer.join().unwrap();
    output
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
