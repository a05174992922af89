//! Generations that several processes make: one waits for the other, kills at any instant and at every step, full disks and
//! places that are read-only. The other process is this test program again, with `MACML_TEST_GENERATIONS` naming what to do.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use macml::environment::{Error, Generations, Place, Replace};
use macml::pep::Sha256;
use serde::{Deserialize, Serialize};

use super::{Project, build, fill, in_days, label, open, stamp, write};

const JOB: &str = "MACML_TEST_GENERATIONS";

/// The steps that a process tells of, in order.
const STEPS: [&str; 7] = ["opened", "begun", "half", "filled", "published", "activated", "cleaned"];

#[derive(Serialize, Deserialize)]
struct Job {
    project: PathBuf,
    /// What is built, one after the other.
    labels: Vec<String>,
    /// The step after which it waits to be killed.
    stop: Option<String>,
    /// How much is written besides, more than there is room for.
    filling: usize,
}

impl Job {
    fn new(project: &Path, labels: &[&str]) -> Self {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Self { project: project.to_owned(), labels, stop: None, filling: 0 }
    }

    /// Returns the command, to be run as it is or below others.
    fn command(&self, around: &[&str]) -> Command {
        let program = std::env::current_exe().unwrap();
        let mut command = match around {
            [] => Command::new(&program),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(&program);
                command
            }
        };
        let test = "generations::processes::works_alone_or_for_another";
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        command.env(JOB, serde_json::to_string(self).unwrap());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, around: &[&str]) -> String {
        said(&self.command(around).output().unwrap())
    }

    fn work(&self) -> Result<(), Error> {
        let place = Place::of(&self.project, "default", None).unwrap();
        let all = Generations::open(&place, &mut || tell("waiting"))?;
        self.step("opened");
        for label in &self.labels {
            let building = all.begin(Sha256::of(label.as_bytes()))?;
            self.step("begun");
            write(&building.path().join("bin/first"), label);
            self.step("half");
            fill(building.path(), label);
            if self.filling > 0 {
                // What does not fit is the linker's to tell; the generation is not published then.
                if std::fs::write(building.path().join("bin/filling"), vec![0; self.filling]).is_err() {
                    tell("full");
                    // Nothing is left for the stamp, however small it is.
                    drop(std::fs::write(building.path().join("bin/rest"), vec![0; 4096]));
                }
            }
            self.step("filled");
            let built = all.publish(building, stamp())?;
            self.step("published");
            all.activate(&built, Replace::Never)?;
            self.step("activated");
            all.clean(in_days(8))?;
            self.step("cleaned");
        }
        Ok(())
    }

    fn step(&self, name: &str) {
        tell(name);
        if self.stop.as_deref() == Some(name) {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
}

/// Does the job of another test; started as a test like all, a small one of its own.
#[test]
fn works_alone_or_for_another() {
    let Ok(job) = std::env::var(JOB) else {
        let project = Project::new();
        Job::new(&project.path(), &["a", "b"]).work().unwrap();
        assert_eq!(label(&project.place().link), "b");
        return;
    };
    // The line has begun with the name of this test.
    println!();
    match serde_json::from_str::<Job>(&job).unwrap().work() {
        Ok(()) => println!("done"),
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            println!("error: {error} ({})", cause.unwrap_or_default());
        }
    }
}

#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
fn tell(line: &str) {
    println!("{line}");
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Reads what a process tells until it tells of a step.
fn until(child: &mut Child, step: &str) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == step), "`{step}` was not told");
    // It goes on, and must not stop where nobody listens.
    std::thread::spawn(move || lines.for_each(drop));
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What must hold whenever a process died: the link leads to a whole generation of one of these, all others that have a
/// name are whole, and the next process sweeps the rest. Returns what the link leads to.
#[track_caller]
fn check(project: &Project, labels: &[&str]) -> String {
    let place = project.place();
    let current = label(&place.link);
    assert!(labels.contains(&&*current), "{current}");
    assert_eq!(label(&Generations::current(&place).unwrap().unwrap().path), current);
    drop(open(&place).unwrap());
    for one in Generations::all(&place).unwrap() {
        label(&one.path);
    }
    let allowed = [".macml", ".venv", ".macml/.gitignore", ".macml/env", ".macml/env/default/.history"];
    let left: Vec<String> = project.names().into_iter().filter(|name| !allowed.contains(&&**name)).collect();
    assert!(left.is_empty(), "{left:?}");
    current
}

#[test]
fn killed_at_each_step_the_link_leads_to_the_old_one_or_the_new_one() {
    for (at, step) in STEPS.iter().enumerate() {
        let project = Project::new();
        project.with(&["old"]);
        let mut job = Job::new(&project.path(), &["new"]);
        job.stop = Some((*step).to_owned());
        let mut child = job.command(&[]).spawn().unwrap();
        until(&mut child, step);
        kill(child);
        let expected = if at < 5 { "old" } else { "new" };
        assert_eq!(check(&project, &["old", "new"]), expected, "after {step}");
        assert!(Job::new(&project.path(), &["next"]).run(&[]).contains("done"));
        assert_eq!(check(&project, &["next"]), "next");
    }
}

#[test]
fn killed_at_any_instant_the_link_leads_to_a_whole_one() {
    const KILLS: u64 = 40;
    let project = Project::new();
    project.with(&["start"]);
    let labels: Vec<String> = (0..2000).map(|at| format!("{}", at % 7)).collect();
    let mut labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let job = Job::new(&project.path(), &labels);
    labels.push("start");
    let mut state = 1_u64;
    let mut unfinished = 0;
    for _ in 0..KILLS {
        let mut child = job.command(&[]).spawn().unwrap();
        until(&mut child, "opened");
        // Over a round or two of building, which takes a few milliseconds.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_micros((state >> 33) % 12_000));
        kill(child);
        let names = project.names();
        unfinished += u64::from(names.iter().any(|name| name.contains("/.new-") || name.contains("/.old-")));
        check(&project, &labels);
    }
    assert!(unfinished > KILLS / 4, "{unfinished} kills left something behind");
}

/// Kills before each single change of names that a process makes, one after the other.
#[test]
#[cfg(target_os = "linux")]
fn killed_before_each_change_of_names_the_link_leads_to_a_whole_one() {
    let able = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=symlinkat", "true"]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        return eprintln!("no system calls can be watched here");
    }
    let (mut old, mut new) = (0, 0);
    // Each is counted by itself. Of removals, of which there is one for each file, every eighth is enough.
    for (call, step) in [
        ("symlink", 1),
        ("symlinkat", 1),
        ("rename", 1),
        ("renameat", 1),
        ("renameat2", 1),
        ("unlink", 1),
        ("unlinkat", 8),
    ] {
        for at in (1..200).step_by(step) {
            let project = Project::new();
            // One that goes, one that is kept for the way back, and a left-over.
            project.with(&["older", "old", "before"]);
            write(&project.place().store.join(".new-x/y"), "");
            let (trace, inject) = (format!("trace=?{call}"), format!("inject=?{call}:signal=KILL:when={at}"));
            let around = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
            let said = Job::new(&project.path(), &["new"]).run(&around);
            if said.contains("\ndone\n") {
                break;
            }
            assert!(said.contains("running 1 test"), "{said}");
            match &*check(&project, &["before", "new"]) {
                "new" => new += 1,
                _ => old += 1,
            }
            let all = project.open();
            all.activate(&build(&all, "next"), Replace::Never).unwrap();
            assert_eq!(label(&project.place().link), "next");
        }
    }
    // The probe and its end, the left-over, the new one's name, the note, the link twice; then what is removed.
    assert!(old >= 7 && new >= 3, "{old} kills before the link was changed, {new} after");
}

#[test]
fn a_second_process_waits_for_the_first_and_says_so() {
    let project = Project::new();
    let first = project.open();
    let mut child = Job::new(&project.path(), &["b"]).command(&[]).spawn().unwrap();
    until(&mut child, "waiting");
    let one = build(&first, "a");
    first.activate(&one, Replace::Never).unwrap();
    assert!(child.try_wait().unwrap().is_none());
    drop(first);
    assert!(child.wait().unwrap().success());
    assert_eq!(check(&project, &["b"]), "b");
    assert_eq!(project.open().before().unwrap(), Some(one));
}

#[test]
fn many_processes_at_once_each_have_their_turn() {
    let project = Project::new();
    let labels = ["a", "b", "c", "d"];
    let start = |label: &&str| Job::new(&project.path(), &[*label, *label]).command(&[]).spawn().unwrap();
    let children: Vec<Child> = labels.iter().map(start).collect();
    for child in children {
        assert!(said(&child.wait_with_output().unwrap()).contains("\ndone\n"));
    }
    check(&project, &labels);
    let place = project.place();
    let numbers = super::numbers(&place);
    assert_eq!(numbers.iter().map(|one| one.parse().unwrap()).max(), Some(8));
}

/// Runs a job behind a script that prepares volumes of its own: `$0` is the project.
fn on_volumes(job: &Job, script: &str) -> Option<String> {
    let able = Command::new("unshare").args(["-rm", "true"]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        eprintln!("no volumes can be mounted here");
        return None;
    }
    let script = format!("{script} && exec \"$@\"");
    Some(job.run(&["unshare", "-rm", "sh", "-c", &script, &job.project.display().to_string()]))
}

#[test]
fn a_place_that_is_read_only_is_told_before_anything_is_removed() {
    for read_only in ["", "/.macml", "/.macml/env/default"] {
        let project = Project::new();
        project.with(&["old"]);
        let left = project.place().store.join(".new-x/y");
        write(&left, "");
        let mount =
            format!("mount --bind \"$0{read_only}\" \"$0{read_only}\" && mount -o remount,bind,ro \"$0{read_only}\"");
        let Some(said) = on_volumes(&Job::new(&project.path(), &["new"]), &mount) else { return };
        let folder = project.path().display().to_string() + read_only;
        let lock = format!("error: could not lock `{}/.macml/env/.lock`", project.path().display());
        assert!(said.contains(&format!("error: could not write to `{folder}`")) || said.contains(&lock), "{said}");
        assert!(said.contains("(Read-only file system"), "{said}");
        assert!(left.symlink_metadata().is_ok(), "nothing was removed");
        assert_eq!(check(&project, &["old"]), "old");
    }
}

/// A volume without symbolic links, as the system tells of it, is named before anything is built.
#[test]
#[cfg(target_os = "linux")]
fn a_volume_without_symbolic_links_is_named() {
    let able = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=symlinkat", "true"]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        return eprintln!("no system calls can be watched here");
    }
    let project = Project::new();
    let inject = "inject=?symlink,?symlinkat:error=EPERM";
    let around = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=?symlink,?symlinkat", "-e", inject];
    let said = Job::new(&project.path(), &["new"]).run(&around);
    assert!(said.contains("error: the volume `/"), "{said}");
    let named = format!("has no symbolic links, which `{}` has to be", project.place().link.display());
    assert!(said.contains(&named), "{said}");
    assert!(project.names().iter().all(|name| !name.contains("/.new-")), "{:?}", project.names());
}

/// Where the project is on one volume and macml's folder on another no link can be renamed from there.
#[test]
fn a_folder_of_macml_on_another_volume_serves_too() {
    let project = Project::new();
    let folder = project.path().join(".macml");
    std::fs::create_dir(&folder).unwrap();
    let job = Job::new(&project.path(), &["a", "b"]);
    let Some(said) = on_volumes(&job, "mount -t tmpfs -o size=6m tmpfs \"$0/.macml\"") else { return };
    assert!(said.contains("\ndone\n"), "{said}");
    assert_eq!(macml::sys::fs::names(&project.path()).unwrap(), [".macml", ".venv"]);
    // That volume is gone now.
    let target = project.path().join(std::fs::read_link(project.place().link).unwrap());
    assert!(target.starts_with(&folder) && target.symlink_metadata().is_err());
}

#[test]
fn a_full_disk_leaves_the_old_one() {
    let project = Project::new();
    let mut job = Job::new(&project.path(), &["new"]);
    job.filling = 4 << 20;
    // The old one comes there first, from another run on the same volume.
    let old = serde_json::to_string(&Job::new(&project.path(), &["old"])).unwrap();
    let script = format!("mount -t tmpfs -o size=2m tmpfs \"$0\" && {JOB}='{old}' \"$@\" >/dev/null");
    let after = "; \"$@\" && cat \"$0/.venv/bin/tool\" && ls -A \"$0/.macml/env/default\" && exit";
    let Some(said) = on_volumes(&job, &(script + after)) else { return };
    assert!(said.contains("\nfull\n"), "{said}");
    assert!(said.contains("error: could not write `") && said.contains("(No space left on device"), "{said}");
    let left = said.rsplit("\n\n").next().unwrap_or_default();
    let name = format!("{}.1", &Sha256::of(b"old").to_string()[..16]);
    assert!(left.contains(&format!("old{name}\n")) && !left.contains(".new-"), "{said}");
}

/// A stop of this test's process leaves nothing that runs: the other one ends with its time at the latest.
#[test]
fn steps_are_told_in_order() {
    let project = Project::new();
    let begun = Instant::now();
    let said = Job::new(&project.path(), &["a"]).run(&[]);
    let told: Vec<&str> = said.lines().filter(|line| STEPS.contains(line)).collect();
    assert_eq!(told, STEPS);
    assert!(begun.elapsed() < Duration::from_secs(60));
}
