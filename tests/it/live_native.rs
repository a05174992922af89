//! The native probe, really built and run on the CPU, against torches from PyPI (when `MACML_LIVE` is set: the newest line
//! that has a tch, and the experimental one; `full`: all), and the records of that, which each row of the table must have.
//!
//! `MACML_WRITE_RECORDS=1 MACML_LIVE=full cargo test --test it live_native` writes them anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use macml::progress::Progress;
use macml::sys::Env;
use macml::verify::native::{Builder, Executable, LINES, Line, Standing, Torch};
use macml::verify::protocol::{CHECKS, Device, ElementType, Event, Framework, Limits, PROTOCOL, Question, Request};
use macml::verify::protocol::{Sizes, Tolerances, Why};
use macml::verify::{Ended, Transcript, Word, judge};
use serde_json::{Value, json};

use crate::readme;
use crate::real_answers::live;
use crate::support::real;
use crate::support::real::site_packages;
use crate::verify_verb::verified;

/// A release of each row. What a Linux wheel's `libtorch_cpu` loads beside it is in two small packages; on a Mac, nothing.
const RELEASES: [(&str, &[&str]); 5] = [
    ("2.9.1", &["nvidia-cuda-runtime-cu12==12.8.90", "nvidia-cuda-cupti-cu12==12.8.90"]),
    ("2.10.0", &["nvidia-cuda-runtime-cu12==12.8.90", "nvidia-cuda-cupti-cu12==12.8.90"]),
    ("2.11.0", &["nvidia-cuda-runtime==13.5.37", "nvidia-cuda-cupti==13.5.25"]),
    ("2.13.0", &["nvidia-cuda-runtime==13.5.37", "nvidia-cuda-cupti==13.5.25"]),
    ("2.15.0", &["nvidia-cuda-runtime==13.5.37", "nvidia-cuda-cupti==13.5.25"]),
];

/// The release that is asked through Python and through the verb too.
const PROVED: &str = "2.13.0";

/// Prints as the binary would.
struct Aloud;

impl Progress for Aloud {
    fn note(&self, text: &str) {
        eprintln!("{text}");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("native")
}

/// Returns a torch, installed as pip does it, without all that it needs for more than loading its library; of the release
/// that Python is asked about too, with what its Python needs.
fn torch(release: &str) -> Torch {
    let place = if release == PROVED { site_packages(&real::torch()) } else { apart(release) };
    let torch = Torch::inside(&place).unwrap().unwrap();
    assert_eq!(torch.version.clone().without_local().to_string(), release);
    torch
}

/// Installs a torch into a folder of its own.
fn apart(release: &str) -> PathBuf {
    let (_, beside) = RELEASES.iter().find(|(known, _)| *known == release).unwrap();
    let place = folder().join(format!("torch-{release}"));
    if !place.exists() {
        let new = folder().join(format!("new-torch-{release}"));
        let _ = std::fs::remove_dir_all(&new);
        let wheel = format!("torch=={release}");
        let mut pip = Command::new("pip");
        pip.args(["install", "--quiet", "--no-deps", "--no-compile", "--only-binary", ":all:", "--target"]);
        pip.arg(&new).arg(wheel);
        if cfg!(target_os = "linux") {
            pip.args(*beside);
        }
        assert!(pip.status().unwrap().success(), "{pip:?}");
        std::fs::rename(new, &place).unwrap();
    }
    place
}

/// Asks the same torch through the verb, natively with the probe that was built, and through Python; for programs, and as
/// the READMEs show it.
fn through_the_verb(cache: &Path) {
    let root = real::folder().join("torch");
    readme::verify_is_real(cache);
    let cache = cache.display().to_string();
    for words in ["--native", "--python"] {
        let verdicts = verified(&root, &["--cache-dir", &cache, words]);
        let [verdict] = &verdicts[..] else { panic!("{verdicts:#?}") };
        assert_eq!(verdict["probe"], words.trim_start_matches('-'));
        assert!(verdict["compared"].as_u64().unwrap() > 100, "{verdict:#}");
        assert!(verdict["version"].as_str().unwrap().starts_with(PROVED), "{verdict:#}");
    }
}

/// Returns this machine's cargo and compiler as the user has them.
fn env() -> Env {
    Env::from_map(std::env::vars().collect(), folder())
}

fn request(release: Option<&str>, device: Device) -> Request {
    Request {
        protocol: PROTOCOL,
        framework: Framework::Torch,
        release: release.map(str::to_owned),
        device,
        seed: 20_261_130,
        questions: Question::USUAL.into(),
        types: ElementType::ASKED.into(),
        sizes: Sizes::for_memory(8 << 30),
        limits: Limits { begin: 240, end: 300 },
        tolerances: Tolerances::default(),
        operators: Vec::new(),
    }
}

fn ask(probe: &Executable, torch: &Torch, request: &Request) -> Transcript {
    probe.probe(torch, BTreeMap::new()).ask(request)
}

/// Builds and runs, holds the answer to the tolerances, and returns the record of it.
fn prove(release: &str) -> Value {
    let torch = torch(release);
    let line = Line::of(&torch.version).unwrap();
    let cache = folder().join(format!("cache-{release}"));
    let _ = std::fs::remove_dir_all(&cache);
    let env = env();
    let limit = Duration::from_secs(20 * 60);
    let probe = Builder { cache: &cache, env: &env, progress: &Aloud, limit }.build(&torch).unwrap();
    let asked = request(Some(release), Device::Cpu);
    let transcript = ask(&probe, &torch, &asked);
    let verdict = judge(&transcript);
    assert_eq!((verdict.word, &transcript.ended), (Word::Ok, &Ended::Code(0)), "{verdict:?}\n{:?}", transcript.printed);
    let events = transcript.events;
    let Some(Event::Hello(hello)) = events.first() else { panic!("{events:?}") };
    assert_eq!(hello.versions["torch"], release);
    let Some(Event::Device(device)) = events.get(1) else { panic!("{events:?}") };
    assert!(device.available && device.error.is_none(), "{device:?}");
    let Some(Event::Done(done)) = events.last() else { panic!("{events:?}") };
    let worst = checks(&events, &asked);
    let trained = trainings(&events, &asked);
    if release == PROVED {
        failures(&probe, &torch);
        through_the_verb(&cache);
    }
    json!({
        "kind": "recorded",
        "date": date(),
        "command": format!("MACML_WRITE_RECORDS=1 MACML_LIVE=full cargo test --test it live_native::{}", name(release)),
        "system": hello.system,
        "processor": device.name,
        "torch": torch.version.to_string(),
        "tch": line.tch,
        "standing": if line.standing == Standing::Exact { "exact" } else { "experimental" },
        "cargo": first_line(&probe.built.cargo),
        "compiler": first_line(&probe.built.compiler),
        "jobs": std::env::var("CARGO_BUILD_JOBS").ok(),
        "build-seconds": probe.built.seconds,
        "probe-bytes": probe.built.size,
        "device": "cpu",
        "run-seconds": done.seconds.round(),
        "worst-relative-error": worst,
        "trainings": trained,
        "skipped": skipped(&events),
    })
}

/// Every check of the protocol must have been asked in every type that has it, and be right. Returns the worst by type.
fn checks(events: &[Event], asked: &Request) -> BTreeMap<String, Value> {
    let mut worst: BTreeMap<String, (f64, Value)> = BTreeMap::new();
    let mut seen: BTreeMap<(&str, ElementType), usize> = BTreeMap::new();
    for event in events {
        match event {
            Event::Check(check) => {
                *seen.entry((&check.id, check.element)).or_default() += 1;
                let right = check.error.is_none() && check.elsewhere.is_none() && check.elements > 0;
                assert!(right && (check.beyond, check.nan, check.inf) == (0, 0, 0), "{check:?}");
                let error = check.max_rel.unwrap();
                assert!(error <= asked.tolerances.of(check.element), "{check:?}");
                let place = worst.entry(check.element.to_string()).or_insert((-1.0, Value::Null));
                if error > place.0 {
                    *place = (error, json!({ "error": format!("{error:.1e}"), "check": check.id }));
                }
            }
            Event::Skipped(skipped) => {
                assert_eq!(skipped.why, Why::NoOperation, "{skipped:?}");
                *seen.entry((&skipped.id, skipped.element.unwrap())).or_default() += 1;
            }
            _ => {}
        }
    }
    for known in CHECKS.iter().filter(|known| known.question != Question::Convert) {
        for element in asked.types.iter().copied() {
            let half = matches!(element, ElementType::Float16 | ElementType::Bfloat16);
            let has = match known.question {
                Question::Autocast => half,
                Question::Optimizer => element == ElementType::Float32,
                _ => (known.id == "linear-complex") == (element == ElementType::Complex64),
            };
            let has = has && (known.id != "sum-long" || element == ElementType::Float32);
            let risky = ["linear-transposed-weight", "linear-expanded-input", "linear-deep-backward", "linear-complex"];
            let again = ["product", "matmul-", "bmm", "linear-"].iter().any(|one| known.id.starts_with(one));
            let again = again && !risky.contains(&known.id);
            let times = if has { 1 + usize::from(again) } else { 0 };
            assert_eq!(seen.get(&(known.id, element)).copied().unwrap_or_default(), times, "{} in {element}", known.id);
        }
    }
    worst.into_iter().map(|(element, (_, worst))| (element, worst)).collect()
}

fn trainings(events: &[Event], asked: &Request) -> Vec<Value> {
    let trained: Vec<_> = events
        .iter()
        .filter_map(|event| if let Event::Training(trained) = event { Some(trained) } else { None })
        .collect();
    assert_eq!(trained.len(), 2);
    for training in &trained {
        let (first, last) = (training.device.first.unwrap(), training.device.last.unwrap());
        assert!(training.error.is_none() && last < asked.tolerances.learned * first, "{training:?}");
        assert!(training.apart.unwrap() < asked.tolerances.loss && training.moved == Some(true), "{training:?}");
        assert_eq!((training.device.not_finite, training.device.steps), (0, training.cpu.steps));
    }
    let told = |loss: Option<f64>| format!("{:.4}", loss.unwrap());
    trained
        .iter()
        .map(|training| {
            json!({
                "id": training.id,
                "steps": training.device.steps,
                "first-loss": told(training.device.first),
                "last-loss": told(training.device.last),
                "apart": format!("{:.1e}", training.apart.unwrap()),
            })
        })
        .collect()
}

fn skipped(events: &[Event]) -> Vec<Value> {
    let told = |event: &Event| match event {
        Event::Skipped(skipped) => {
            Some(json!({ "id": skipped.id, "type": skipped.element, "why": skipped.why, "error": skipped.error }))
        }
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

/// What goes wrong without a Mac: a device that is not there, another torch than was asked for, another protocol, nonsense,
/// and libraries that are missing.
fn failures(probe: &Executable, torch: &Torch) {
    let word = |request: &Request| {
        let transcript = ask(probe, torch, request);
        let word = judge(&transcript).word;
        (transcript, word)
    };
    if cfg!(target_os = "linux") {
        let (transcript, found) = word(&request(None, Device::Mps));
        let [Event::Hello(_), Event::Device(device), Event::Done(_)] = transcript.events.as_slice() else {
            panic!("{transcript:?}")
        };
        assert_eq!((found, device.available), (Word::NoDevice, false));

        // The library for CUDA is there, and those that it needs are empty.
        let (transcript, _) = word(&request(None, Device::Cuda));
        let [Event::Hello(_), Event::Device(device), Event::Done(_)] = transcript.events.as_slice() else {
            panic!("{transcript:?}")
        };
        let why = device.error.as_deref().unwrap_or_default();
        assert!(device.built == Some(true) && !device.available, "{device:?}");
        assert!(why.contains("undefined symbol"), "{device:?}");
    }

    let (transcript, found) = word(&request(Some("2.12.0"), Device::Cpu));
    assert!(matches!(transcript.events.as_slice(), [Event::Hello(_), Event::Done(_)]), "{transcript:?}");
    assert_eq!((found, transcript.version()), (Word::WrongRelease, Some("2.13.0")));

    let (transcript, found) = word(&Request { protocol: PROTOCOL + 1, ..request(None, Device::Cpu) });
    assert!(matches!(transcript.events.as_slice(), [Event::Hello(hello)] if hello.protocol == PROTOCOL));
    assert_ne!(found, Word::Ok);

    let (transcript, found) = word(&Request { framework: Framework::Mlx, ..request(None, Device::Cpu) });
    assert!(matches!(transcript.events.as_slice(), [Event::CannotLoad(_), Event::Done(_)]), "{transcript:?}");
    assert_eq!(found, Word::CannotLoad);

    let (transcript, found) = word(&Request { limits: Limits { begin: 0, end: 300 }, ..request(None, Device::Cpu) });
    let skipped = |event: &Event| matches!(event, Event::Skipped(skipped) if skipped.why == Why::Time);
    assert!(transcript.events.iter().any(skipped) && transcript.checks().next().is_none(), "{transcript:?}");
    assert_eq!(found, Word::Incomplete);

    let nowhere = Torch { folder: folder().join("nowhere"), version: torch.version.clone() };
    let transcript = ask(probe, &nowhere, &request(None, Device::Cpu));
    assert!(transcript.events.is_empty(), "{transcript:?}");
    assert!(transcript.loader_words().is_some_and(|words| words.contains("libtorch_cpu")), "{transcript:?}");
    assert_eq!(judge(&transcript).word, Word::CannotLoad);
}

fn name(release: &str) -> String {
    format!("torch_{}", release.split('.').take(2).collect::<Vec<_>>().join("_"))
}

fn first_line(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
}

/// Today in UTC.
fn date() -> String {
    let output = Command::new("date").args(["-u", "+%F"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn record(line: &Line) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/records/native/torch-{}.json", line.torch))
}

fn prove_and_record(release: &str) {
    let text = format!("{:#}\n", prove(release));
    if std::env::var("MACML_WRITE_RECORDS").is_ok() {
        let line = Line::of(&release.parse().unwrap()).unwrap();
        std::fs::write(record(line), text).unwrap();
    }
    std::fs::write(folder().join(format!("ran-{release}")), "").unwrap();
}

fn prove_when(full: bool, release: &str) {
    let asked = if full { real::full() } else { live() };
    if asked {
        prove_and_record(release);
    }
}

#[test]
fn torch_2_13() {
    prove_when(false, "2.13.0");
}

#[test]
fn torch_2_15() {
    prove_when(false, "2.15.0");
}

#[test]
fn torch_2_11() {
    prove_when(true, "2.11.0");
}

#[test]
fn torch_2_10() {
    prove_when(true, "2.10.0");
}

#[test]
fn torch_2_9() {
    prove_when(true, "2.9.1");
}

/// A row that nobody built would send people into minutes of compiling for nothing.
#[test]
fn every_row_of_the_table_was_built_and_run() {
    for line in &LINES {
        let path = record(line);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let record: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(record["kind"], "recorded", "{}", path.display());
        assert_eq!(record["tch"], line.tch, "{}", path.display());
        assert!(Line::of(&record["torch"].as_str().unwrap().parse().unwrap()).is_ok_and(|of| of.torch == line.torch));
        let errors = record["worst-relative-error"].as_object().unwrap();
        assert!(errors.contains_key("float32") && record["trainings"].as_array().unwrap().len() == 2);
    }
    let known = RELEASES.iter().map(|(release, _)| Line::of(&release.parse().unwrap()).unwrap().torch);
    assert!(known.eq(LINES.iter().map(|line| line.torch)));
}
