//! macml and uv on the same real lists, floor, Python and day: `tests/agreement`. Runs when `MACML_LIVE` is set.
//!
//! The manifests name only roots; where they come from stands in each. uv is installed from PyPI below `target/`.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use macml::manifest::model::EnvSpec;
use macml::manifest::model::Root;
use macml::manifest::model::RootSource;
use macml::pep::Specifiers;
use macml::target::PythonMinor;

use crate::support::project::Project;
use crate::support::solving::manifest;

/// What `MACML_LIVE=1` compares: small and large, every framework, old and new floors, and the lists that differ.
/// `MACML_LIVE=full` compares all.
const USUAL: [&str; 13] = [
    "coremltools-test",
    "deep-live-cam",
    "everyday-language",
    "everyday-mlx",
    "everyday-old-floor",
    "everyday-pytorch",
    "everyday-tables",
    "everyday-tensorflow",
    "exo",
    "kohya-ss",
    "mlx-examples",
    "monai",
    "pyvideotrans",
];

/// Packages that differ, by list, and why macml's answer is meant.
const DIFFERENCES: &[(&str, &[&str], &str)] = &[
    (
        "openvino",
        &[
            "httpcore",
            "httpcore2",
            "httpx",
            "httpx2",
            "huggingface-hub",
            "tokenizers",
            "torchaudio",
            "transformers",
            "truststore",
            "typer-slim",
        ],
        "its torch is 2.2: torchaudio 2.11 misses symbols there, and transformers from 5.1 on act as if it were absent; \
         the others come with the older transformers",
    ),
    (
        "everyday-old-floor",
        &["onnxruntime"],
        "onnxruntime 1.20 to 1.23 are tagged for macOS 13.0 but built for 13.3 and 13.4, says wheels.toml; uv goes by the tag",
    ),
    (
        "pyvideotrans",
        &[
            "annotated-doc",
            "click",
            "datasets",
            "fsspec",
            "gtts",
            "huggingface-hub",
            "markdown-it-py",
            "mdurl",
            "pygments",
            "rich",
            "shellingham",
            "six",
            "typer",
        ],
        "the newest `datasets` (through `huggingface-hub` 2 and a newer `click`) and the newest `gtts` (`click <8.2`) exclude \
     each other; of two roots macml lets the first by name be newest, uv here the other",
    ),
    (
        "monai",
        &["clearml"],
        "the list's own `clearml >=1.10.0rc0` names a pre-release, which opens the package as packse and packaging have \
         it; uv takes final releases first",
    ),
    (
        "monai",
        &["graphene", "python-dateutil", "tzdata"],
        "nobody's root: the newest `graphene` and the newest `python-dateutil` exclude each other, either may be newest",
    ),
];

#[test]
fn macml_and_uv_agree_on_real_lists() {
    if !matches!(std::env::var("MACML_LIVE").as_deref(), Ok("1" | "full")) {
        eprintln!("skipped: needs the real index, set MACML_LIVE=1");
        return;
    }
    let full = std::env::var("MACML_LIVE").as_deref() == Ok("full");
    let only = std::env::var("MACML_AGREEMENT").ok();
    let uv = install_uv();
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agreement");
    std::fs::create_dir_all(&work).unwrap();
    let lists = lists();
    let mut compared = 0;
    let mut failures = Vec::new();
    for list in lists {
        let name = list.file_stem().unwrap().to_string_lossy().into_owned();
        let wanted = match &only {
            Some(only) => name.contains(only.as_str()),
            None => full || USUAL.contains(&name.as_str()),
        };
        if !wanted {
            continue;
        }
        compared += 1;
        let text = std::fs::read_to_string(&list).unwrap();
        let manifest = manifest(&text);
        let env = &manifest.envs[0];
        let start = std::time::Instant::now();
        let ours = match lock(&text, &work) {
            Ok(report) => report,
            Err(error) => {
                failures.push(format!("{name}: macml: {error}"));
                continue;
            }
        };
        let took = start.elapsed().as_millis();
        let environment = &ours["environments"][0];
        let python = newest_patch(environment);
        let theirs = match compile(&uv, env, &python, &work.join(&name)) {
            Ok(theirs) => theirs,
            Err(error) => {
                failures.push(format!("{name}: uv on Python {python}: {error}"));
                continue;
            }
        };
        let pin = |package: &serde_json::Value| {
            (package["name"].as_str().unwrap().to_owned(), package["version"].as_str().unwrap().to_owned())
        };
        let ours: BTreeMap<String, String> = environment["packages"].as_array().unwrap().iter().map(pin).collect();
        eprintln!("{name}: {} roots, {} packages on Python {python}, {took} ms", env.roots.len(), ours.len());
        let problem = compare(&name, &ours, &theirs);
        failures.extend(problem.map(|problem| format!("{name} on Python {python}: {problem}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(only.is_some() || compared >= 12, "only {compared} lists were compared");
}

/// Says how two answers differ beyond the differences that are listed.
fn compare(list: &str, ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>) -> Option<String> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differing: Vec<&String> = names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name)).collect();
    let listed: BTreeSet<&str> =
        DIFFERENCES.iter().filter(|(of, ..)| *of == list).flat_map(|(_, names, _)| names.iter().copied()).collect();
    if differing.iter().map(|name| name.as_str()).collect::<BTreeSet<_>>() == listed {
        return None;
    }
    let version = |of: &BTreeMap<String, String>, name: &str| of.get(name).map_or("none".to_owned(), String::clone);
    let line = |name: &&String| format!("  {name}: macml {}, uv {}", version(ours, name), version(theirs, name));
    let lines: Vec<String> = differing.iter().map(line).collect();
    Some(format!("{} of {} differ (listed: {listed:?})\n{}", differing.len(), ours.len(), lines.join("\n")))
}

fn lists() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agreement");
    let mut lists: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    lists.sort();
    lists
}

/// Locks a list with the binary, from a cache that the lists share, and returns its report.
fn lock(manifest: &str, work: &Path) -> Result<serde_json::Value, String> {
    let project = Project::new(manifest);
    let output = project
        .command(&["lock", "--dry-run", "--output-format", "json"])
        .envs(std::env::vars_os().filter(|(name, _)| name.to_string_lossy().to_ascii_lowercase().ends_with("_proxy")))
        .env("MACML_CACHE_DIR", work.join("cache"))
        .env("MACML_NO_CONFIG", "1")
        .output()
        .unwrap();
    match output.status.code() {
        Some(0) => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Returns the newest known patch release that the answer leaves; uv takes `3.13` for 3.13.0.
fn newest_patch(environment: &serde_json::Value) -> String {
    let minor: PythonMinor = environment["python"].as_str().unwrap().parse().unwrap();
    let left: Specifiers = environment["python-full"].as_str().unwrap_or("").parse().unwrap();
    let known = PythonMinor::RELEASED.iter().find(|(one, _)| *one == minor).unwrap().1;
    let text = |patch: u16| format!("{minor}.{patch}");
    text((0..=known).rev().find(|patch| left.contains(&text(*patch).parse().unwrap())).unwrap())
}

fn compile(uv: &Path, env: &EnvSpec, python: &str, stem: &Path) -> Result<BTreeMap<String, String>, String> {
    let roots = stem.with_extension("in");
    std::fs::write(&roots, env.roots.iter().map(line).collect::<String>()).unwrap();
    let constraints = stem.with_extension("constraints");
    let constraint =
        |(name, specifiers): (&macml::pep::PackageName, &macml::pep::Specifiers)| format!("{name} {specifiers}\n");
    std::fs::write(&constraints, env.resolution.constraints.iter().map(constraint).collect::<String>()).unwrap();
    // uv takes a bare date as local time and as a last moment.
    let day = env.resolution.exclude_newer.as_deref().unwrap();
    let output = Command::new(uv)
        .args(["pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-config", "--only-binary", ":all:"])
        .args(["--python-platform", "aarch64-apple-darwin", "--python-version", python])
        .args(["--exclude-newer", &format!("{day}T23:59:59.999Z")])
        .arg(&roots)
        .arg("--constraints")
        .arg(&constraints)
        .env("MACOSX_DEPLOYMENT_TARGET", env.mac.as_ref().unwrap().macos.to_string())
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let pin = |line: &str| {
        let (name, version) = line.split_once("==").unwrap_or_else(|| panic!("uv printed `{line}`"));
        (name.to_owned(), version.to_owned())
    };
    let text = String::from_utf8(output.stdout).unwrap();
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(pin).collect())
}

/// Writes a root as a line of requirements.
fn line(root: &Root) -> String {
    let RootSource::Versions(versions) = &root.source else { panic!("`{}` is no release of an index", root.name) };
    let extras: Vec<&str> = root.extras.iter().map(macml::pep::ExtraName::as_str).collect();
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let versions = if versions.is_any() { String::new() } else { versions.to_string() };
    let marker = root.marker.as_ref().map_or_else(String::new, |marker| format!(" ; {marker}"));
    format!("{}{extras}{versions}{marker}\n", root.name)
}

/// Installs uv from PyPI below `target/`, once.
pub(crate) fn install_uv() -> PathBuf {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("uv");
    let uv = venv.join("bin/uv");
    if !uv.is_file() {
        let succeed = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&venv));
        succeed(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "uv"]));
    }
    uv
}
