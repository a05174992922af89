//! What `macml check` costs of libraries: gathering facts that are kept and asking dyld's rules over them; and the first
//! reading of the two largest wheels.
//!
//! `cargo bench --bench check` locks a PyTorch and a TensorFlow environment for Macs and fetches their wheels from PyPI on
//! its first run, under `target/bench-work/check/` (a gigabyte); later runs need no network. A table in Markdown goes to
//! standard output.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark may look at the world, stop at once and talk"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use macml::check::dyld::{Distribution, simulate};
use macml::check::facts::read_wheel;
use macml::index::Config;
use macml::index::download::{Downloads, Place, Wanted};
use macml::install;
use macml::lock;
use macml::lock::ReadOutcome;
use macml::lock::pick::Picker;
use macml::pipeline::check::File;
use macml::pipeline::check::facts::{From, gather};
use macml::progress::Silent;
use macml::sys::Env;

/// A name, its Python, its roots, a bound, the largest wheel and a bound of that.
type Project = (&'static str, &'static str, &'static [&'static str], f64, &'static str, f64);

/// What the environments ask for, with the time in milliseconds that both steps may take, and the wheel that is read anew
/// with the seconds of processor time that it may take.
const PROJECTS: [Project; 2] = [
    (
        "torch",
        "3.13",
        &[
            "torch==2.15.0",
            "torchvision",
            "torchaudio",
            "numpy",
            "scipy",
            "scikit-learn",
            "pandas",
            "pillow",
            "transformers",
        ],
        50.0,
        "torch",
        2.0,
    ),
    (
        "tensorflow",
        "3.12",
        &["tensorflow==2.19.1", "tensorflow-metal", "numpy", "scipy", "scikit-learn", "pandas", "pillow"],
        150.0,
        "tensorflow",
        5.0,
    ),
];

/// What the first reading of a wheel may take of memory, in MiB.
const MEMORY: f64 = 300.0;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match &words[..] {
        [] => measure(20),
        [option, runs] if option == "--runs" => measure(runs.parse().expect("a number of runs")),
        [option, wheel] if option == "--read" => read(Path::new(wheel)),
        _ => panic!("cargo bench --bench check -- [--runs N]   timed runs of each row (default 20)"),
    }
}

fn measure(runs: usize) {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("bench-work/check");
    let config = Config { cache_dir: Some(work.join("cache")), ..Config::new(Env::capture().unwrap()) };
    println!("| work | median of {runs} (least–most) | bound |\n| --- | ---: | ---: |");
    let mut first = Vec::new();
    for (name, python, roots, bound, largest, seconds) in PROJECTS {
        let (files, minor) = locked(&work, name, python, roots);
        let kept = fetch(&config, &work, &files, largest);
        let download = |wanted: &[Wanted]| Downloads::begin(&config, wanted, Arc::new(Silent));
        let from = From { cache: Some(&work.join("cache")), download: Some(&download) };
        let all: Vec<&File> = files.iter().collect();
        let facts = gather(&all, &from, &Silent);
        assert!(facts.unread.is_empty(), "{:?}", facts.unread);
        let from = From { download: None, ..from };
        let (mut gathered, mut judged, mut both) = (Vec::new(), Vec::new(), Vec::new());
        let mut images = 0;
        for turn in 0..=runs {
            let begun = Instant::now();
            let facts = gather(&all, &from, &Silent);
            let gathering = begun.elapsed();
            let known = |file: &&&File| facts.get(file).expect("its facts are kept");
            let distributions: Vec<Distribution<'_>> =
                all.iter().map(|file| Distribution { name: &file.wheel.name, facts: known(&file) }).collect();
            let answer = simulate(&distributions, minor);
            let whole = begun.elapsed();
            images = answer.images.len();
            // The first brings files into the page cache, and is not counted.
            if turn > 0 {
                gathered.push(gathering.as_secs_f64() * 1000.0);
                judged.push((whole - gathering).as_secs_f64() * 1000.0);
                both.push(whole.as_secs_f64() * 1000.0);
            }
        }
        println!("| {name}, {} wheels, {images} images: gather | {} | |", all.len(), shown(gathered));
        println!("| {name}: simulate | {} | |", shown(judged));
        println!("| {name}: both | {} | {bound} ms |", shown(both));
        first.push((kept, seconds));
    }
    println!("\n| first reading | processor | bound | memory | bound |\n| --- | ---: | ---: | ---: | ---: |");
    for (wheel, seconds) in first {
        let output = Command::new(std::env::current_exe().unwrap()).arg("--read").arg(&wheel).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let (took, memory) = text.trim().split_once(' ').expect("two numbers");
        println!("| {} | {took} s | {seconds} s | {memory} MiB | {MEMORY} MiB |", wheel.file_name().unwrap().display());
    }
}

/// Reads a wheel, and tells what that took of processor time and memory, as Linux counts it.
fn read(wheel: &Path) {
    let name = wheel.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let file = std::io::BufReader::new(std::fs::File::open(wheel).unwrap());
    let facts = read_wheel(&mut install::open(file, &name).unwrap()).unwrap();
    assert!(!facts.images.is_empty());
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a Linux");
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = fields[11..13].iter().map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: f64 = peak.trim().strip_suffix("kB").unwrap().trim().parse().unwrap();
    println!("{:.2} {:.0}", ticks / 100.0, peak / 1024.0);
}

/// Locks a project, unless it is locked; returns what a Mac at its floor takes.
fn locked(work: &Path, name: &str, python: &str, roots: &[&str]) -> (Vec<File>, macml::target::PythonMinor) {
    let project = work.join(name);
    let path = project.join("macml.lock");
    if !path.exists() {
        let dependencies = roots.iter().map(|root| match root.split_once("==") {
            Some((name, version)) => format!("{name} = \"=={version}\"\n"),
            None => format!("{root} = \"*\"\n"),
        });
        let manifest = format!(
            "[target]\nchip = \"m1\"\nmacos = \"15.0\"\ngpu = \"optional\"\npython = \"=={python}.*\"\n[dependencies]\n{}",
            dependencies.collect::<String>()
        );
        std::fs::create_dir_all(&project).unwrap();
        std::fs::write(project.join("macml.toml"), manifest).unwrap();
        eprintln!("locking {name}…");
        let macml = Command::new(env!("CARGO_BIN_EXE_macml"))
            .args(["-C", project.to_str().unwrap(), "lock", "-q"])
            .env("MACML_CACHE_DIR", work.join("cache"))
            .status();
        assert!(macml.unwrap().success());
    }
    let ReadOutcome::Whole(lock) = lock::read(&path).unwrap() else { panic!("{} is no lock", path.display()) };
    let env = &lock.envs[0];
    let picker = Picker::new(env);
    let file = |one| {
        let wheel = picker.files(lock.package(one).unwrap())[0];
        let place = Place::Index("pypi".into());
        File { wheel: wheel.file.clone(), sha256: wheel.sha256, size: Some(wheel.size), place }
    };
    (env.packages.iter().map(file).collect(), env.python)
}

/// Fetches a wheel and keeps it.
fn fetch(config: &Config, work: &Path, files: &[File], package: &str) -> PathBuf {
    let file = files.iter().find(|file| file.wheel.name.as_str() == package).expect("it is locked");
    let kept = work.join("wheels").join(file.wheel.to_string());
    if !kept.exists() {
        eprintln!("fetching {}…", file.wheel);
        std::fs::create_dir_all(work.join("wheels")).unwrap();
        let size = file.size.unwrap();
        let wanted = Wanted { place: file.place.clone(), wheel: file.wheel.clone(), size, sha256: file.sha256 };
        let ready = Downloads::begin(config, &[wanted], Arc::new(Silent)).unwrap().next().unwrap().unwrap();
        std::fs::hard_link(ready.path, &kept).unwrap();
    }
    kept
}

fn shown(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    format!("{:.1} ms ({:.1}–{:.1})", values[values.len() / 2], values[0], values[values.len() - 1])
}
