//! What each obstacle is called, in which order, and what is none. Real hosts and locks are in `tests/it/hosts.rs`.

use super::*;

/// A lock for M2 and macOS 13.0 with mlx, whose wheel for 13 refuses to be imported below 13.5, and with torch for 14.
const LOCK: &str = r#"# Written by macml. Do not edit.
version = 1
revision = 0
knowledge = "2026.11.30"

[[env]]
name = "default"
platform = "macos-arm64"
macos = "13.0"
chip = "m2-max"
gpu = "required"
python = "3.13"
inputs = "sha256:8102a7240664595ea19e7a948471f30e9487a1728dfa2b52e8d3555c4530d4d3"
packages = ["mlx 0.29.3"]

[[env]]
name = "default"
platform = "linux-x86_64"
glibc = "2.28"
gpu = "optional"
python = "3.13"
inputs = "sha256:8102a7240664595ea19e7a948471f30e9487a1728dfa2b52e8d3555c4530d4d3"
packages = []

[[package]]
name = "mlx"
version = "0.29.3"
index = "pypi"
wheels = [
  { file = "mlx-0.29.3-cp313-cp313-macosx_13_0_arm64.whl", size = 1, sha256 = "8102a7240664595ea19e7a948471f30e9487a1728dfa2b52e8d3555c4530d4d3" },
  { file = "mlx-0.29.3-cp313-cp313-macosx_15_0_arm64.whl", size = 1, sha256 = "9102a7240664595ea19e7a948471f30e9487a1728dfa2b52e8d3555c4530d4d3" },
]
"#;

fn host(cpu: &str, macos: &str) -> Host {
    let (source, cpu, macos) = ("made".to_owned(), cpu.to_owned(), macos.to_owned());
    Host { source, cpu, macos, process: Process::Native, memory: 16 << 30, arm64: None }
}

fn decide_in(lock: &str, platform: Platform, host: &Host, memory: Option<u64>) -> Result<Fit, Unfit> {
    let lock = crate::lock::parse::parse(lock).unwrap();
    fit(host, &lock, lock.env("default", platform).unwrap(), memory)
}

fn decide(host: &Host) -> Result<Fit, Unfit> {
    decide_in(LOCK, Platform::MacosArm64, host, None)
}

#[track_caller]
fn refused(host: &Host, sentence: &str, remedy: &str) {
    let unfit = decide(host).unwrap_err();
    assert_eq!((unfit.to_string().as_str(), unfit.remedy().as_str()), (sentence, remedy));
}

#[test]
fn each_obstacle_is_one_sentence_with_a_remedy() {
    let translated = Host { process: Process::Translated, ..host("Apple M1", "12.0") };
    refused(
        &translated,
        "this macml runs under Rosetta, as a program for Intel, and would not see the Mac that is there",
        "use the arm64 one, in a terminal that does not run under Rosetta: `uname -m` says arm64 there",
    );
    refused(
        &host("Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz", "12.2"),
        "this Mac has an Intel processor (`Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz`), and environments need one of Apple's",
        "`macml sync --target DIR --platform macos-arm64` stages it here for a Mac that has one",
    );
    refused(
        &host("Apple M1", "16.0"),
        "this Mac says that its macOS is `16.0`, which is no version of macOS for Apple Silicon",
        "unset `SYSTEM_VERSION_COMPAT`, if it is set, and run it again",
    );
    refused(
        &host("Apple M1", "12.7.6"),
        "this Mac has macOS 12.7.6, and environment `default` is locked for 13.0 and later",
        "update macOS; or declare `macos = \"12.7\"` in macml.toml, and `macml lock` looks for a set that works there",
    );
    refused(
        &host("Apple M1 Ultra", "13.2"),
        "this Mac has an M1 (`Apple M1 Ultra`), and environment `default` is locked for M2 and later",
        "declare `chip = \"m1\"` in macml.toml, and `macml lock` looks for a set that works there",
    );
    refused(
        &host("Apple M2", "13.2.1"),
        "`mlx` 0.29.3 has no locked file for macOS 13.2.1: it needs 13.5",
        "update macOS to 13.5 or later; or `macml lock -P mlx` looks for a release that has one",
    );
}

#[test]
fn a_wheel_that_is_for_no_later_macos_either() {
    let lock = LOCK.replace("mlx-0.29.3-cp313-cp313-macosx_13_0_arm64", "mlx-0.29.3-cp312-cp312-macosx_13_0_arm64");
    let lock = lock.replace("mlx-0.29.3-cp313-cp313-macosx_15_0_arm64", "mlx-0.29.3-cp312-cp312-macosx_15_0_arm64");
    let unfit = decide_in(&lock, Platform::MacosArm64, &host("Apple M2", "14.0"), None).unwrap_err();
    assert_eq!(unfit.to_string(), "`mlx` 0.29.3 has no locked file for macOS 14.0");
    assert_eq!(unfit.remedy(), "`macml lock -P mlx` looks for a release that has one");
}

#[test]
fn an_environment_for_linux_is_none_for_a_mac() {
    let unfit = decide_in(LOCK, Platform::LinuxX86_64, &host("Apple M2", "14.0"), None).unwrap_err();
    assert_eq!(unfit.to_string(), "environment `default` on `linux-x86_64` is for Linux, and this is a Mac");
    assert_eq!(unfit.remedy(), "add `macos-arm64` to `[target] platforms` in macml.toml, then `macml lock`");
}

#[test]
fn sizes_of_chips_and_new_systems_are_no_obstacle() {
    let macos = |host: &Host| {
        let fit = decide(host).unwrap();
        assert_eq!(fit.warnings, [""; 0], "{host:?}");
        fit.macos.to_string()
    };
    // The floor is an M2 Max.
    assert_eq!(macos(&host("Apple M2", "13.5")), "13.5");
    assert_eq!(macos(&host("Apple M9 Extreme", "14.6.1")), "14.6");
    assert_eq!(macos(&host("Apple M4 Pro", "26.4.1")), "26.4");
    assert_eq!(macos(&host("Apple M4 Pro", "31.2")), "31.2");
    assert_eq!(macos(&host("Apple M4 Pro", "15")), "15.0");
}

#[test]
fn warnings() {
    let unnamed = decide(&host("Apple processor", "15.0")).unwrap().warnings;
    assert_eq!(
        unnamed,
        ["this Mac calls its processor `Apple processor`, which does not say whether it is an M2 or later"]
    );
    let with =
        |memory| decide_in(LOCK, Platform::MacosArm64, &host("Apple M2", "15.0"), Some(memory)).unwrap().warnings;
    assert_eq!(with(16 << 30), [""; 0]);
    assert_eq!(with(24 << 30), ["this Mac has 16 GB of memory, and the project asks for 24 GB"]);
    assert_eq!((gigabytes(7 << 30), gigabytes(7_680 << 20)), ("7 GB".to_owned(), "7.5 GB".to_owned()));
}

#[test]
fn what_is_no_version_is_none() {
    for told in ["", "x", "15.", ".6", "15.6.1 ", "-1", "10.16", "16.0", "25.9"] {
        let expected = told == "15.6.1 ";
        assert_eq!(MacosVersion::told_by(told).is_some(), expected, "`{told}`");
    }
}
