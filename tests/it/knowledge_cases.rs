//! Sets for which metadata is not enough: the whole text that a person reads and the report that a program reads, over an
//! index on loopback; and what the real index gives, as of a day (live).
//!
//! The scenarios `case-*` hold the same cases over small universes, and more of them.

use std::path::Path;

use crate::manifest::same_as;
use crate::real_answers::live;
use crate::real_answers::lock_for;
use crate::real_answers::version;
use crate::support::project::Project;
use crate::support::project::Run;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;

const PYTHONS: &str = ">=3.10,<3.14";

/// TensorFlow and its plugin, with the wheels that they have on PyPI.
fn published() -> Published {
    let wheels = |pythons: &[u8]| {
        let tag = |minor: &u8| format!("cp3{minor}-cp3{minor}-macosx_12_0_arm64");
        Rel { wheel_tags: pythons.iter().map(tag).collect(), ..Rel::default() }
    };
    Published::default()
        .with_release("tensorflow", "2.18.1", wheels(&[10, 11, 12]))
        .with_release("tensorflow", "2.19.1", wheels(&[10, 11, 12]))
        .with_release("tensorflow", "2.20.0", wheels(&[10, 11, 12, 13]))
        .with_release("tensorflow", "2.21.0", wheels(&[10, 11, 12, 13]))
        .with_release("tensorflow-macos", "2.15.0", wheels(&[10, 11]))
        .with_release("tensorflow-metal", "1.1.0", wheels(&[10, 11]))
        .with_release("tensorflow-metal", "1.2.0", wheels(&[10, 11, 12]))
}

/// Asks for `tensorflow` with the GPU required.
fn asking(index: &FakeIndex, tensorflow: &str) -> Project {
    let line = format!("[frameworks]\ntensorflow = \"{tensorflow}\"\n");
    Project::asking(index, "14.0", PYTHONS, &line).requiring_the_gpu()
}

/// Compares what was said with a file below `tests/knowledge/said`, but for the time that it took.
fn said(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/knowledge/said").join(name);
    same_as(&path, text).unwrap_or_else(|error| panic!("{error}"));
}

/// Writes both streams with the code, without the time of the last line.
fn transcript(run: &Run) -> String {
    let timed = |line: &str| match line.strip_prefix("macml.lock written: ").and_then(|line| line.rsplit_once(", ")) {
        Some((what, _)) => format!("macml.lock written: {what}, [TIME]\n"),
        None => format!("{line}\n"),
    };
    let stdout: String = run.stdout.lines().map(timed).collect();
    format!("{stdout}--- on stderr\n{}--- code {}\n", run.stderr, run.code)
}

/// Writes a report, which must be as its schema says.
fn report(run: &Run) -> String {
    format!("{:#}\n", run.json())
}

#[test]
fn what_a_lock_that_rules_shaped_says() {
    let index = FakeIndex::from_published(&published());
    let project = asking(&index, "*");
    said("locked.txt", &transcript(&project.run(&["lock"])));
    let rules = format!("rules = {:?}\n", ["metal-1.2.0-tf", "metal-dead-for-tf-2.20", "tensorflow-gpu-needs-metal"]);
    assert!(project.lock().unwrap().contains(&rules), "{rules} is not in\n{}", project.lock().unwrap());
    said("locked.json", &report(&asking(&index, "*").run(&["lock", "--output-format", "json"])));
}

#[test]
fn what_a_refusal_by_a_rule_says() {
    let index = FakeIndex::from_published(&published());
    let project = asking(&index, ">=2.20");
    said("refused.txt", &transcript(&project.run(&["lock"])));
    said("refused.json", &report(&project.run(&["lock", "--output-format", "json"])));
    assert_eq!(project.lock(), None);
}

/// Locks as of the day on which these cases were written.
fn as_of_the_day(gpu: &str, macos: &str, python: &str, rest: &str) -> (Run, Option<String>) {
    lock_for(gpu, macos, python, &format!("{rest}\n[resolution]\nexclude-newer = \"2026-11-29\"\n"))
}

/// Solves and returns what was printed and written.
fn solved(gpu: &str, macos: &str, python: &str, rest: &str) -> (Run, String) {
    let (run, lock) = as_of_the_day(gpu, macos, python, rest);
    run.says(0, &["macml.lock written"]);
    (run, lock.unwrap())
}

/// Says that there is no answer, that the text has these parts, and that it is one that can be read.
fn refused(gpu: &str, macos: &str, python: &str, rest: &str, parts: &[&str]) -> Run {
    let (run, lock) = as_of_the_day(gpu, macos, python, rest);
    run.says(1, parts);
    assert_eq!(lock, None);
    run.never_says(&["rule:", "!="]);
    assert!(run.stderr.len() < 3500, "{} bytes\n{}", run.stderr.len(), run.stderr);
    run
}

/// Says that the lock has exactly these of the packages that they name.
fn has(lock: &str, packages: &[&str]) {
    for package in packages {
        let name = package.split(' ').next().unwrap();
        assert!(lock.contains(&format!("\"{package}\"")), "`{package}` is not it but {}", version(lock, name));
    }
}

#[test]
fn tensorflow_takes_a_plugin_that_it_can_load() {
    if !live() {
        return;
    }
    let not_newer =
        "tensorflow 2.21.0 exists; held at 2.19.1: `tensorflow-metal` 1.2.0 needs `tensorflow` >=2.13, <2.20";
    let not_3_13 = "3.12 was taken: `tensorflow-metal` 1.2.0: no wheel for Python 3.13; newest is 3.12";
    for lines in ["tensorflow = \"*\"", "tensorflow = \"*\"\ntensorflow-metal = \"*\""] {
        let (run, lock) = solved("required", "14.0", PYTHONS, &format!("[frameworks]\n{lines}"));
        run.says(0, &[not_newer, not_3_13]);
        has(&lock, &["tensorflow 2.19.1", "tensorflow-metal 1.2.0"]);
    }
    let edits = ["tensorflow = \">=2.19.1\" gives tensorflow 2.19.1", "gpu = \"optional\" gives tensorflow 2.21.0"];
    let ground = "so that `import tensorflow` itself fails";
    let parts = [ground, edits[0], edits[1], "TensorFlow's own wheel computes on the CPU"];
    refused("required", "14.0", PYTHONS, "[frameworks]\ntensorflow = \">=2.20\"", &parts);
    let (run, lock) = solved("optional", "14.0", PYTHONS, "[frameworks]\ntensorflow = \"*\"");
    run.says(0, &["needs `tensorflow-metal` for the GPU", "TensorFlow's own wheel computes on the CPU"]);
    has(&lock, &["tensorflow 2.21.0"]);
    assert!(!lock.contains("tensorflow-metal"), "{lock}");
}

#[test]
fn torch_is_one_whose_mps_works_at_the_floor() {
    if !live() {
        return;
    }
    let line = "[frameworks]\ntorch = \"*\"";
    for (macos, torch) in
        [("12.3", "2.4.1"), ("13.0", "2.8.0"), ("14.0", "2.14.1"), ("15.0", "2.15.0"), ("27.0", "2.15.0")]
    {
        let (_, lock) = solved("required", macos, ">=3.10,<3.15", line);
        has(&lock, &[&format!("torch {torch}")]);
    }
    for (macos, torch, needs) in [("12.3", "2.11.0", "14.0"), ("13.0", "2.11.0", "14.0"), ("14.0", "2.15.0", "15.0")] {
        let (run, lock) = solved("optional", macos, ">=3.10,<3.15", line);
        has(&lock, &[&format!("torch {torch}")]);
        run.says(0, &[&format!("`torch` {torch} needs macOS >={needs} for the GPU")]);
        // Where the GPU is not used, what goes wrong on it is no news.
        run.never_says(&["known problem"]);
    }
}

#[test]
fn the_trio_differs_by_floor() {
    if !live() {
        return;
    }
    let trio = "[frameworks]\ntorch = \"*\"\ntorchvision = \"*\"\ntorchaudio = \"*\"";
    for (macos, torch) in [("14.0", "torch 2.14.1"), ("15.0", "torch 2.15.0")] {
        let (_, lock) = solved("required", macos, ">=3.11,<3.15", trio);
        has(&lock, &[torch, "torchvision 0.29.2", "torchaudio 2.11.1"]);
    }
    let pinned = "[frameworks]\ntorch = \"==2.15.*\"\ntorchvision = \"==0.29.2\"";
    has(&solved("required", "15.0", ">=3.11,<3.15", pinned).1, &["torch 2.15.0", "torchvision 0.29.2"]);
}

#[test]
fn pairs_of_torch_that_metadata_allows_and_that_cannot_load() {
    if !live() {
        return;
    }
    let refused = |lines: &str, parts: &[&str]| {
        refused("optional", "14.0", PYTHONS, &format!("[dependencies]\n{lines}"), parts);
    };
    let solved = |lines: &str| solved("optional", "14.0", PYTHONS, &format!("[dependencies]\n{lines}"));
    refused(
        "torch = \"<2.10\"\ntorchaudio = \"==2.11.0\"",
        &[
            "`torchaudio` 2.11.0 needs `torch` >=2.10",
            "hint: torch = \"==2.15.*\" gives torch 2.15.0, torchaudio 2.11.0",
        ],
    );
    has(&solved("torch = \"<2.10\"\ntorchaudio = \"*\"").1, &["torch 2.9.1", "torchaudio 2.9.1"]);
    has(&solved("torch = \"*\"\ntorchtext = \"*\"").1, &["torch 2.3.1", "torchtext 0.18.0"]);
    refused(
        "torch = \">=2.4\"\ntorchtext = \"*\"",
        &["`torchtext` 0.18.0 needs `torch` >=2.3, <2.4", "hint: torch = \">=2.3.1\""],
    );
    has(&solved("torch = \"==2.2.*\"\nnumpy = \"*\"").1, &["torch 2.2.2", "numpy 1.26.4"]);
    assert!(!solved("torch = \"==2.2.*\"").1.contains("numpy"), "nothing is pulled in");
    refused(
        "torch = \"==2.2.*\"\nnumpy = \">=2\"",
        &["`torch` <2.3 cannot be beside `numpy` >=2", "numpy = \">=1.26.4\""],
    );
}

#[test]
fn what_no_set_has() {
    if !live() {
        return;
    }
    let dependencies = |lines: &str| format!("[dependencies]\n{lines}");
    let (run, lock) = solved("optional", "14.0", ">=3.12,<3.15", &dependencies("coremltools = \"*\"\ntorch = \"*\""));
    run.says(0, &["Python 3.13", "The newest torch that this release was tested with is 2.7.0", "prefer `torch` <2.8"]);
    has(&lock, &["coremltools 9.0", "torch 2.15.0"]);
    let source = ["no wheel for Python 3.14", "newest is 3.13", "source archives of `coremltools` are no way out"];
    refused("optional", "14.0", "==3.14.*", &dependencies("coremltools = \"*\""), &source);

    let empty = ["(rule `tensorflow-macos-2.15.1-empty`)", "gives tensorflow-macos 2.15.0"];
    refused("optional", "14.0", "==3.11.*", &dependencies("tensorflow-macos = \"==2.15.1\""), &empty);
    let (_, lock) = solved("required", "14.0", "==3.11.*", &dependencies("tensorflow-macos = \"<2.16\""));
    has(&lock, &["tensorflow-macos 2.15.0", "tensorflow-metal 1.2.0"]);

    let (_, lock) = solved("required", "14.4", PYTHONS, &dependencies("jax-metal = \"*\"\njax = \"*\""));
    has(&lock, &["jax-metal 0.1.1", "jax 0.5.0", "jaxlib 0.5.0"]);
    let later = ["`jax-metal` 0.1.1 needs `jax` >=0.4.34, <0.5.1", "hint: jax = \">=0.5.0\""];
    refused("required", "14.4", "==3.13.*", &dependencies("jax-metal = \"==0.1.1\"\njax = \">=0.6\""), &later);

    let both = ["`keras` cannot be beside `keras-nightly`", "without the line of `keras-nightly` gives keras 3.15.1"];
    refused("optional", "14.0", PYTHONS, &dependencies("keras = \"*\"\nkeras-nightly = \"*\""), &both);
    let both = ["`onnxruntime-silicon` cannot be beside `onnxruntime`", "gives onnxruntime 1.32.0"];
    refused("optional", "14.0", "==3.11.*", &dependencies("onnxruntime = \"*\"\nonnxruntime-silicon = \"*\""), &both);
}

#[test]
fn bitsandbytes_does_not_slide_back() {
    if !live() {
        return;
    }
    let line = "[dependencies]\nbitsandbytes = \"*\"";
    for (macos, python) in [("14.0", "==3.10.*"), ("14.0", "==3.14.*"), ("15.0", "==3.15.*"), ("26.0", "==3.12.*")] {
        has(&solved("optional", macos, python, line).1, &["bitsandbytes 0.50.2"]);
    }
    let parts = ["0.49.0 to 0.50.2: needs macOS 14", "hint: [target] macos = \"14.0\" gives bitsandbytes 0.50.2"];
    for macos in ["12.3", "13.0"] {
        refused("optional", macos, ">=3.10,<3.15", line, &parts);
    }
    let parts = ["(rule `bitsandbytes-before-0.43-is-for-linux`)", "every library in it is a Linux one"];
    refused("optional", "14.0", "==3.13.*", "[dependencies]\nbitsandbytes = \"<0.49\"", &parts);
}

#[test]
fn torch_and_tensorflow_have_an_environment_each() {
    if !live() {
        return;
    }
    let apart = "[frameworks]\ntorch = \"*\"\n[env.tensorflow]\npython = \">=3.10,<3.13\"\n\
                 [env.tensorflow.frameworks]\ntensorflow = \"*\"\ntensorflow-metal = \"*\"";
    let (run, lock) = solved("required", "15.0", ">=3.10,<3.15", apart);
    run.never_says(&["better-apart"]);
    has(&lock, &["torch 2.15.0", "tensorflow 2.19.1", "tensorflow-metal 1.2.0"]);
    run.says(0, &["default on macos-arm64: Python 3.14", "tensorflow on macos-arm64: Python 3.12"]);
    let together = "[frameworks]\ntorch = \"*\"\ntensorflow = \"*\"";
    let (run, _) = solved("required", "15.0", ">=3.10,<3.15", together);
    run.says(0, &["[better-apart]", "`[env.tensorflow.frameworks]`"]);
}
