//! Kills while an environment moves from one lock to another: after each, every file belongs wholly to one of them, it
//! works, and the next sync ends well. And programs that run while it is replaced.
//!
//! At named steps this test program is started again, with `MACML_TEST_SYNC` naming the step at which it kills itself;
//! at random instants the real binary is killed. `MACML_LIVE` makes that 200 of them instead of a few.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;
use std::time::SystemTime;

use macml::environment::Replace;
use macml::index::Config;
use macml::index::download::Downloads;
use macml::pipeline::sync;
use macml::pipeline::sync::Job;
use macml::pipeline::sync::Purpose;
use macml::pipeline::sync::Reaching;
use macml::pipeline::sync::Staleness;
use macml::pipeline::sync::Which;
use macml::progress::Progress;
use macml::progress::Silent;
use macml::progress::Step;
use macml::python::Machine;
use macml::python::Search;
use macml::sys::Env;

use super::Here;
use super::packages;
use super::site;
use super::with_files;
use crate::support::published::Published;
use crate::support::python::python;
use crate::support::server::FakeIndex;

const JOB: &str = "MACML_TEST_SYNC";

const PACKAGES: [&str; 6] = ["pa", "pb", "pc", "pd", "pe", "pf"];

/// Packages of a dozen modules each, all of which differ from version to version.
fn published() -> Published {
    let mut published = Published::default();
    for version in ["1.0", "2.0"] {
        for name in PACKAGES {
            let modules = (0..12).map(|at| (format!("{name}/m{at}.py"), format!("version = {version:?}\nat = {at}\n")));
            let mut release = with_files(&[], &[]);
            release.files.extend(modules);
            let command = format!("[console_scripts]\nrun-{name} = {name}.m0:version\n");
            release.files.insert("{info}/entry_points.txt".to_owned(), command);
            published = published.with_release(name, version, release);
        }
    }
    published
}

/// A project with two locks between which it moves.
pub(super) struct Moving {
    pub(super) here: Here,
    pub(super) locks: [String; 2],
    /// The packages of each.
    pub(super) packages: [BTreeSet<String>; 2],
    /// What imports them, and what it then prints at each.
    pub(super) code: String,
    pub(super) prints: [String; 2],
}

impl Moving {
    /// Makes one of made-up packages that is at the first lock.
    fn new(index: &FakeIndex) -> Self {
        let here = Here::new(index, "");
        let lock = |version: &str| {
            let roots = PACKAGES.map(|name| format!("{name} = \"=={version}\"\n")).concat();
            here.depend(&roots);
            here.run(&["lock"]).says(0, &[]);
            here.project.lock().unwrap()
        };
        let locks = ["1.0", "2.0"].map(lock);
        let code = |name: &str| format!("import {name}.m11; print({name}.__version__, {name}.m11.version)\n");
        let this = Self {
            here,
            locks,
            packages: ["1.0", "2.0"].map(|version| PACKAGES.map(|name| format!("{name}-{version}")).into()),
            code: PACKAGES.map(code).concat(),
            prints: ["1.0", "2.0"].map(|version| format!("{version} {version}\n").repeat(6).trim_end().to_owned()),
        };
        this.go(0);
        this.here.run(&["sync", "--frozen"]).says(0, &["ready"]);
        assert_eq!(this.state(), Some(0));
        this
    }

    /// Puts a lock in place; the environment is to follow.
    pub(super) fn go(&self, to: usize) {
        self.here.project.write("macml.lock", &self.locks[to]);
    }

    /// Says at which lock the environment is, wholly; `None` where there is none.
    pub(super) fn state(&self) -> Option<usize> {
        if !self.here.path().join(".venv").exists() {
            return None;
        }
        let found = packages(&self.here.generation(), &site());
        let at = self.packages.iter().position(|packages| found == *packages);
        let at = at.unwrap_or_else(|| panic!("a mix: {found:?}"));
        assert_eq!(self.here.python(&self.code), self.prints[at]);
        Some(at)
    }

    /// Ends what was begun.
    pub(super) fn settle(&self, at: usize) {
        let run = self.here.run(&["sync", "--frozen"]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        assert_eq!(packages(&self.here.generation(), &site()), self.packages[at]);
        let store = self.here.generation().parent().unwrap().to_owned();
        let names: Vec<String> =
            std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert!(!names.iter().any(|name| name.starts_with(".new-") || name.starts_with(".old-")), "{names:?}");
    }

    /// Lists what a sync writes, so that it can be told whether one has begun to.
    fn written(&self) -> BTreeSet<PathBuf> {
        let mut all = BTreeSet::new();
        for folder in [".macml/env/default", ".cache/macml/wheels-v1", ".cache/macml/downloads-v1"] {
            let entries = std::fs::read_dir(self.here.path().join(folder)).into_iter().flatten().flatten();
            all.extend(entries.map(|entry| entry.path()));
        }
        all
    }

    fn note(&self) -> Option<Vec<u8>> {
        let folder = self.here.path().join(".local/state/macml/built");
        let entry = std::fs::read_dir(folder).ok()?.flatten().next()?;
        std::fs::read(entry.path()).ok()
    }
}

/// Kills this process when a step was taken.
struct Killed(Step);

impl Progress for Killed {
    fn step(&self, step: Step) {
        if step == self.0 {
            let pid = std::process::id().to_string();
            let _ = Command::new("kill").args(["-9", &pid]).status();
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

/// Syncs a project with the library and kills itself; started as a test like all, it does nothing.
#[test]
fn syncs_for_another_test() {
    let Ok(job) = std::env::var(JOB) else { return };
    let (step, project) = job.split_once(' ').unwrap();
    let step = Step::ALL.into_iter().find(|one| format!("{one:?}") == step).unwrap();
    let project = Path::new(project);
    let vars = BTreeMap::from([("HOME".to_owned(), project.display().to_string())]);
    let env = Env::from_map(vars, project.to_owned());
    let cache = project.join(".cache/macml");
    let mut config = Config::new(env.clone());
    config.cache_dir = Some(cache.clone());
    let job = Job {
        source: sync::Source {
            start: project.to_owned(),
            home: Some(project.to_owned()),
            version: env!("CARGO_PKG_VERSION").parse().unwrap(),
            staleness: Staleness::Ignore,
            cache: Some(cache.clone()),
            wheels: None,
        },
        which: Which::Default,
        purpose: Purpose::Build,
        link_mode: None,
        compile: step == Step::Compiled,
        replace: Replace::Never,
        search: Search {
            machine: Machine::here(&env).unwrap(),
            cache: Some(cache),
            limit: Duration::from_secs(60),
            named: Some(python().0.clone()),
        },
        host: macml::host::probe().unwrap(),
        data: Some(project.join(".local/share/macml")),
        state: Some(project.join(".local/state/macml")),
        now: SystemTime::now(),
    };
    let mut reaching = Reaching {
        connect: &mut |_, _| panic!("a frozen lock needs no index"),
        download: &|_, wanted| Downloads::begin(&config, wanted, std::sync::Arc::new(Silent)),
    };
    sync::sync(&job, &mut reaching, &Killed(step)).unwrap();
    panic!("{step:?} was not taken");
}

#[test]
fn killed_at_each_step() {
    let index = FakeIndex::from_published(&published());
    let moving = Moving::new(&index);
    // Both are in the cache, so that no step needs the index.
    moving.go(1);
    moving.settle(1);
    let mut at = 1;
    for step in Step::ALL {
        let to = 1 - at;
        moving.go(to);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "sync::kills::syncs_for_another_test", "--nocapture", "--test-threads=1"]);
        command.env(JOB, format!("{step:?} {}", moving.here.path().display()));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), None, "{step:?}: {}", super::said(&output));
        let expected = if step >= Step::Activated { to } else { at };
        assert_eq!(moving.state(), Some(expected), "{step:?}");
        moving.settle(to);
        at = to;
    }
}

#[test]
fn killed_at_random_instants() {
    let wanted = if std::env::var_os("MACML_LIVE").is_some() { 200 } else { 8 };
    let index = FakeIndex::from_published(&published());
    // Every other time wheels have to come and to be unpacked too.
    killed(&Moving::new(&index), wanted, 2);
}

/// Kills so many syncs that move to the other lock, three quarters of them while they write. Of `cold` moves one begins
/// without wheels in the cache.
pub(super) fn killed(moving: &Moving, wanted: usize, cold: usize) {
    let mut random = std::process::id();
    let mut next = |most: u32| {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random % most.max(1)
    };
    // How long a move takes from its first write on.
    let mut span = Duration::from_millis(100);
    let (mut kills, mut inside, mut moved, mut at) = (0, 0, 0, 0);
    for round in 0..wanted * 4 {
        if kills >= wanted && inside * 4 >= wanted * 3 {
            break;
        }
        let to = 1 - at;
        moving.go(to);
        if round % cold == cold - 1 {
            let _ = std::fs::remove_dir_all(moving.here.path().join(".cache/macml/wheels-v1"));
        }
        let (before, note) = (moving.written(), moving.note());
        let mut child =
            moving.here.command(&["sync", "--frozen"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while moving.written() == before && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(200));
        }
        let begun = Instant::now();
        std::thread::sleep(span * next(110) / 100);
        let ended = child.try_wait().unwrap();
        child.kill().unwrap();
        let end = child.wait().unwrap();
        if let Some(end) = ended {
            assert!(end.success(), "{end}");
            span = (begun.elapsed() + span * 3) / 4;
        }
        if end.code().is_none() {
            kills += 1;
            inside += usize::from(moving.written() != before && moving.note() == note);
            moved += usize::from(moving.state() == Some(to));
            span = span * 101 / 100;
        }
        moving.settle(to);
        at = to;
    }
    eprintln!("{kills} kills, {inside} between the first and the last write, {moved} after the move");
    assert!(kills >= wanted && inside * 4 >= wanted * 3, "{kills} kills, {inside} of them at work");
}

/// A program whose workers start anew all the time stays in its generation while another takes its place.
#[test]
fn a_program_with_spawned_workers_stays_in_its_generation() {
    let index = FakeIndex::from_published(&published());
    let moving = Moving::new(&index);
    let here = &moving.here;
    here.project.write(
        "work.py",
        "import multiprocessing, pathlib, sys\n\
         def work(at):\n    import pa, pf.m3\n    return pa.__version__ + ' ' + pf.m3.version + ' ' + sys.prefix\n\
         if __name__ == '__main__':\n    \
             multiprocessing.set_start_method('spawn')\n    seen, last = [], False\n    \
             while True:\n        \
                 last = pathlib.Path('synced').exists()\n        \
                 with multiprocessing.Pool(1) as pool:\n            seen.append(pool.apply(work, (1,)))\n        \
                 pathlib.Path('started').touch()\n        \
                 if last:\n            break\n    \
             print('\\n'.join(sorted(set(seen))))\n",
    );
    let generation = here.generation();
    let child = Command::new(generation.join("bin/python"))
        .arg("work.py")
        .current_dir(here.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !here.path().join("started").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    moving.go(1);
    moving.settle(1);
    here.project.write("synced", "");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", super::said(&output));
    assert_eq!(super::said(&output), format!("1.0 1.0 {}\n", generation.display()));
}
