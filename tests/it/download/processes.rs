//! Downloads in several processes: one waits for the other, kills at any moment, a full disk, and memory. The other
//! process is this test program again, with `MACML_TEST_JOB` naming what to do.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::slice::from_ref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use macml::index::download::{DownloadError, Place, Wanted};
use serde::{Deserialize, Serialize};

use super::{BIG, CUT, Run, Told, check_names, config, from, place, published, ranges, size, wanted};
use crate::support::published::{Published, Rel};
use crate::support::server::{Action, Behaviour, FakeIndex};

const JOB: &str = "MACML_TEST_JOB";

/// What another process does.
#[derive(Serialize, Deserialize)]
struct Job {
    index: String,
    cache: std::path::PathBuf,
    /// Names, sizes and digests.
    wanted: Vec<(String, u64, String)>,
    /// Fill the volume when the first bytes arrive.
    fill: bool,
}

impl Job {
    fn new(index: &FakeIndex, cache: &Path, wanted: &[Wanted]) -> Self {
        let wanted = wanted.iter().map(|one| (one.wheel.to_string(), one.size, one.sha256.to_string()));
        Self { index: index.url().into(), cache: cache.to_owned(), wanted: wanted.collect(), fill: false }
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
        command.args(["--exact", "download::processes::works_alone_or_for_another", "--nocapture", "--test-threads=1"]);
        command.env(JOB, serde_json::to_string(self).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self) -> Child {
        self.command(&[]).spawn().unwrap()
    }

    fn run(&self) -> String {
        said(&self.command(&[]).output().unwrap())
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Waits, but not for ever.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} did not come about");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

/// The most memory that this process had, in kB, where the system says so.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// Does the job of another test; started as a test like all, a small one of its own.
#[test]
fn works_alone_or_for_another() {
    let Ok(job) = std::env::var(JOB) else {
        let index = FakeIndex::from_published(&published());
        Run::at(&index).get(&[wanted(&index, BIG)]);
        return;
    };
    let job: Job = serde_json::from_str(&job).unwrap();
    let wanted = job.wanted.iter().map(|(file, size, sha256)| Wanted {
        place: Place::Index("pypi".into()),
        wheel: file.parse().unwrap(),
        size: *size,
        sha256: sha256.parse().unwrap(),
    });
    let told = Arc::new(Told::default());
    if job.fill {
        let filling = job.cache.join("filling");
        *told.hook.lock().unwrap() = Some(Box::new(move |_| {
            // It ends where nothing more fits.
            let file = std::fs::File::create(&filling).unwrap();
            while std::io::Write::write(&mut &file, &[0; 4096]).is_ok_and(|count| count > 0) {}
        }));
    }
    let before = peak();
    let got = macml::index::download::Downloads::begin(
        &config(&job.index.parse().unwrap(), &job.cache),
        &wanted.collect::<Vec<_>>(),
        told,
    );
    match got.and_then(|got| got.collect::<Result<Vec<_>, DownloadError>>()) {
        Ok(ready) => println!("got {} files, grown by {} kB", ready.len(), peak() - before),
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            println!("error: {error} ({})", cause.unwrap_or_default());
        }
    }
    for entry in macml::sys::fs::walk(&job.cache).unwrap() {
        println!("left {} {}", length(&entry), entry.extension().unwrap_or_default().display());
    }
}

/// Bytes come slowly enough for a process to be seen at work.
fn paced(published: &Published) -> FakeIndex {
    let pace = Some((8 << 10, Duration::from_millis(8)));
    FakeIndex::behaving(published, Behaviour { pace, ..Behaviour::default() })
}

#[test]
fn a_second_process_waits_and_takes_what_the_first_got() {
    let index = paced(&Published::default().with_release("big", "1.0", Rel { filling: 3000 << 10, ..Rel::default() }));
    let run = Run::at(&index);
    let one = wanted(&index, BIG);
    let mut child = Job::new(&index, run.cache.path(), from_ref(&one)).start();
    until("a beginning", || length(&run.place(&one, "part")) > 0);
    run.get(from_ref(&one));
    assert!(child.wait().unwrap().success());
    assert_eq!((index.files().len(), index.sent()), (1, size(&index)));
    let counts = run.counts();
    assert_eq!(counts.notes, [format!("waiting for another macml that downloads `{BIG}`")]);
    assert_eq!((counts.arrived, counts.done), (0, vec![(BIG.to_owned(), one.size, 0)]));
}

#[test]
fn a_killed_owner_blocks_nobody_and_its_bytes_count() {
    let index = FakeIndex::from_published(&published());
    index.rule(BIG, 1, Action::Stall(CUT, Duration::from_secs(20)));
    let run = Run::at(&index);
    let one = wanted(&index, BIG);
    let mut child = Job::new(&index, run.cache.path(), from_ref(&one)).start();
    until("the beginning", || length(&run.place(&one, "part")) == CUT as u64);
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run.get(from_ref(&one)).len());
        std::thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished());
        child.kill().unwrap();
        child.wait().unwrap();
        waiting.join().unwrap()
    });
    assert_eq!((waiting, ranges(&index)), (1, vec![None, from(CUT)]));
    assert_eq!((index.sent(), run.counts().arrived), (size(&index), (size(&index) - CUT) as u64));
}

/// Killed at any moment, nothing wrong has a final name, and what arrived does not come again.
#[test]
fn kills_cost_nothing_that_arrived() {
    const KILLS: u64 = 16;
    let filled = |at: usize| Rel { filling: (100 + 40 * at) << 10, ..Rel::default() };
    let published = (0..6).fold(Published::default(), |all, at| all.with_release(&format!("p{at}"), "1", filled(at)));
    let index = paced(&published);
    let all: Vec<Wanted> = (0..6).map(|at| wanted(&index, &format!("p{at}-1-py3-none-any.whl"))).collect();
    let cache = tempfile::tempdir().unwrap();
    let job = Job::new(&index, cache.path(), &all);
    let there = || -> u64 {
        all.iter()
            .map(|one| length(&place(cache.path(), one, "whl")).max(length(&place(cache.path(), one, "part"))))
            .sum()
    };
    let total: u64 = all.iter().map(|one| one.size).sum();
    let mut between = 0;
    let mut last = 0;
    for round in 1..=KILLS {
        let mut child = job.start();
        // Each time a little further, so that kills land over the whole of it.
        until("progress", || there() >= total * round / (KILLS + 1) || child.try_wait().unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        check_names(cache.path());
        assert!(there() >= last, "nothing that arrived is lost");
        last = there();
        between += u64::from(last < total);
    }
    assert!(between >= KILLS * 3 / 4, "{between} kills came between the first byte and the last");
    assert!(job.run().contains("got 6 files"));
    check_names(cache.path());
    // What was on its way when a process died is all that came twice: a piece or two for each file and kill.
    let again = index.sent() as u64 - total;
    assert!(again <= KILLS * 6 * (64 << 10), "{again} of {total} bytes came twice");
    assert!(index.files().iter().filter(|one| one.headers.contains_key("range")).count() as u64 >= between);
}

#[test]
fn memory_does_not_grow_with_the_files() {
    if peak() == 0 {
        return eprintln!("this system does not say how much memory a process had");
    }
    let name = |at: usize| format!("p{at}-1-py3-none-any.whl");
    let grown = |filling: usize| -> u64 {
        let release =
            |at: usize, all: Published| all.with_release(&format!("p{at}"), "1", Rel { filling, ..Rel::default() });
        let index = FakeIndex::from_published(&(0..4).fold(Published::default(), |all, at| release(at, all)));
        let all: Vec<Wanted> = (0..4).map(|at| wanted(&index, &name(at))).collect();
        let cache = tempfile::tempdir().unwrap();
        // One half is there: reading it again must not need memory either.
        let part = place(cache.path(), &all[0], "part");
        std::fs::create_dir_all(part.parent().unwrap()).unwrap();
        std::fs::write(part, &index.bytes(&name(0))[..filling / 2]).unwrap();
        let said = Job::new(&index, cache.path(), &all).run();
        let grown = said.split("got 4 files, grown by ").nth(1).and_then(|rest| rest.split(' ').next());
        grown.expect(&said).parse().unwrap()
    };
    // What the program itself needs, certificates and all.
    let (small, large) = (grown(1 << 20), grown(24 << 20));
    assert!(large < small + (8 << 10), "{small} kB for 4 MB, {large} kB for 96 MB");
}

/// Runs a job on a volume of 6 MB of which `part` is taken by a beginning of the file.
fn on_a_small_volume(job: &Job, cache: &Path, part: Option<&Path>) -> Option<String> {
    let able = Command::new("unshare").args(["-rm", "true"]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        eprintln!("no volumes can be mounted here");
        return None;
    }
    let prepare = part.map_or(String::new(), |part| {
        format!("mkdir -p \"$0/{0}\" && mv \"$1\" \"$0/{0}\"/ &&", part.parent().unwrap().display())
    });
    let script = format!("mount -t tmpfs -o size=6m tmpfs \"$0\" && {prepare} shift && exec \"$@\"");
    let moved = part.map_or("-".into(), |part| cache.with_file_name(part.file_name().unwrap()).display().to_string());
    let cache = cache.display().to_string();
    Some(said(&job.command(&["unshare", "-rm", "sh", "-c", &script, &cache, &moved]).output().unwrap()))
}

#[test]
fn room_is_counted_with_what_is_there_already() {
    let index = FakeIndex::from_published(&Published::default().with_release(
        "big",
        "1.0",
        Rel { filling: 5 << 20, ..Rel::default() },
    ));
    let one = wanted(&index, BIG);
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    let part = place(Path::new(""), &one, "part");
    std::fs::write(folder.path().join(part.file_name().unwrap()), &index.bytes(BIG)[..4 << 20]).unwrap();
    let Some(said) = on_a_small_volume(&Job::new(&index, &cache, &[one]), &cache, Some(&part)) else { return };
    assert!(said.contains("got 1 files"), "{said}");
    assert_eq!(ranges(&index), [from(4 << 20)]);
}

#[test]
fn a_disk_that_fills_up_meanwhile_is_told_and_what_arrived_stays() {
    let index = FakeIndex::from_published(&Published::default().with_release(
        "big",
        "1.0",
        Rel { filling: 5 << 20, ..Rel::default() },
    ));
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().canonicalize().unwrap();
    let job = Job { fill: true, ..Job::new(&index, &cache, &[wanted(&index, BIG)]) };
    let Some(said) = on_a_small_volume(&job, &cache, None) else { return };
    let told = format!(" kB free on the volume `{}`", cache.display());
    assert!(said.contains("error: no space for downloads: ") && said.contains(&told), "{said}");
    assert!(said.contains("(No space left on device"), "{said}");
    let left = said.lines().find_map(|line| line.strip_prefix("left ")?.strip_suffix(" part")).expect(&said);
    assert!(left.parse::<u64>().unwrap() > 0, "{said}");
}

/// The same error without a volume of one's own: a beginning that takes nothing.
#[test]
#[cfg(target_os = "linux")]
fn a_write_that_does_not_fit_is_no_fault_of_the_server() {
    let (mirror, index) = (FakeIndex::from_published(&published()), FakeIndex::from_published(&published()));
    let run = Run::at(&index).mirror("m", &mirror);
    let one = wanted(&index, BIG);
    run.put(&one, "part", b"");
    std::fs::remove_file(run.place(&one, "part")).unwrap();
    std::os::unix::fs::symlink("/dev/full", run.place(&one, "part")).unwrap();
    let error = run.try_get(from_ref(&one)).unwrap_err();
    assert!(matches!(&error, DownloadError::NoSpace { needed, cause: Some(_), .. } if *needed == one.size), "{error}");
    assert_eq!(index.requests().len(), 0, "nobody else could do better");
}
