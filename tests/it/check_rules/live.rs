//! Environments of many projects as macml solves them, judged from the facts of their wheels. Runs when `MACML_LIVE` is set;
//! all but the smallest, 50 MB, only where that is `full`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use macml::check::dyld::{Distribution, simulate};
use macml::check::facts::WheelFacts;
use macml::check::rules::{self, Case, Installed};
use macml::diag::{Finding, Severity};
use macml::index::download::{Place, Wanted};
use macml::knowledge::Knowledge;
use macml::lock::ReadOutcome;
use macml::lock::model::{LockedPackage, LockedWheel, Lockfile};
use macml::lock::pick::Picker;
use macml::pep::Sha256;
use macml::resolve::resolution::Origin;
use macml::target::{MacosVersion, Platform};

use super::made::told;
use crate::live_index::live;
use crate::support::real::full;
use crate::support::real_facts;

/// The lowest macOS that environments here are judged for, and the newest.
const MACS: [MacosVersion; 2] = [MacosVersion::new(14, 0), MacosVersion::new(27, 0)];

/// What people ask for together, whether it is small, and what is found: for the lowest macOS and the newest, or only one.
struct Asked {
    packages: &'static [&'static str],
    small: bool,
    found: &'static [&'static str],
}

const fn asked(packages: &'static [&'static str], found: &'static [&'static str]) -> Asked {
    Asked { packages, small: false, found }
}

const fn small(packages: &'static [&'static str], found: &'static [&'static str]) -> Asked {
    Asked { packages, small: true, found }
}

const ASKED: &[Asked] = &[
    small(
        &["numpy", "scipy", "scikit-learn", "lightgbm"],
        &["note[several-openmp] lightgbm", "warning[library-from-outside] lightgbm"],
    ),
    small(&["psycopg2-binary", "h5py", "pillow"], &[]),
    asked(&["spacy"], &[]),
    asked(&["pandas", "pyarrow", "polars", "duckdb"], &[]),
    asked(
        &["torch", "torchvision", "torchaudio", "scikit-learn", "matplotlib"],
        &["note[several-openmp] scikit-learn"],
    ),
    // The only errors: what takes Homebrew's runtime beside that of `torch` from 2.11 on.
    asked(&["torch", "lightgbm"], &["error[several-openmp] lightgbm", "warning[library-from-outside] lightgbm"]),
    asked(
        &["torch", "faiss-cpu", "xgboost"],
        &[
            "error[several-openmp] xgboost",
            "warning[library-from-outside] xgboost",
            "warning[several-openmp] faiss-cpu",
        ],
    ),
    asked(
        &["torch==2.9.*", "lightgbm", "xgboost"],
        &[
            "note[several-openmp] lightgbm",
            "note[several-openmp] xgboost",
            "warning[library-from-outside] lightgbm",
            "warning[library-from-outside] xgboost",
        ],
    ),
    asked(
        &["xgboost", "lightgbm", "catboost"],
        &["warning[library-from-outside] lightgbm", "warning[library-from-outside] xgboost"],
    ),
    asked(&["transformers", "tokenizers", "safetensors", "sentencepiece", "accelerate"], &[]),
    asked(&["sentence-transformers", "faiss-cpu"], &["warning[several-openmp] faiss-cpu"]),
    // Both bring FFmpeg.
    asked(&["opencv-python", "av"], &[]),
    asked(
        &["torch", "torchcodec", "av", "opencv-python"],
        &["note[load-order] torchcodec", "warning[library-from-outside] torchcodec"],
    ),
    asked(&["jax", "jaxlib"], &[]),
    asked(&["mlx", "mlx-lm"], &[]),
    asked(&["coremltools", "torch"], &["note[undecided] coremltools"]),
    asked(&["tensorflow==2.18.*", "tensorflow-metal"], &[]),
    asked(&["tensorflow"], &[]),
    asked(&["onnxruntime", "faiss-cpu"], &[]),
    asked(&["pymupdf", "grpcio", "lxml", "cryptography"], &[]),
    asked(&["numba", "llvmlite", "librosa", "soundfile"], &["note[library-from-outside] numba"]),
    asked(&["torch", "numba"], &["note[library-from-outside] numba"]),
    asked(&["pymc", "statsmodels", "gensim"], &["note[library-from-outside] numba"]),
    asked(&["shapely", "pyproj", "rasterio", "fiona"], &[]),
    asked(&["jupyterlab", "pyzmq", "ipykernel"], &["note[macos-above-floor] debugpy on 14.0"]),
    asked(&["numpy<2", "pandas<2.3", "scipy<1.14", "numexpr", "tables"], &[]),
    asked(&["faster-whisper", "torch"], &[]),
    asked(&["mediapipe"], &[]),
    asked(&["ultralytics"], &[]),
    asked(&["pyqt6", "vtk", "pygame"], &["note[undecided] pygame", "warning[library-from-outside] pyqt6-qt6"]),
    asked(&["cvxpy", "ortools", "highspy"], &[]),
    asked(&["rdkit", "biopython", "pysam"], &[]),
    asked(&["netcdf4", "xarray", "h5py", "zarr"], &[]),
    asked(&["ray", "duckdb", "deltalake"], &[]),
    asked(&["open3d"], &["warning[library-from-outside] open3d"]),
    asked(&["playwright", "pyinstaller", "ruff", "cmake"], &[]),
    asked(
        &["paddlepaddle"],
        &[
            "note[load-order] paddlepaddle",
            "warning[library-from-outside] paddlepaddle",
            "warning[macos-above-floor] paddlepaddle on 14.0",
        ],
    ),
    // Libraries for Intel that nothing needs, and one that is looked for where numba was built.
    asked(&["debugpy==1.8.11"], &["note[wrong-architecture] debugpy"]),
    asked(&["paddlepaddle==2.6.*"], &["warning[wrong-architecture] paddlepaddle"]),
    asked(&["numba==0.61.*"], &["warning[library-from-outside] numba"]),
    asked(&["imagecodecs", "pyvips", "wand", "cairosvg"], &[]),
];

/// Writes a manifest for what is asked for, and locks it.
fn solved(packages: &[&str], folder: &Path) -> Lockfile {
    let requirement = |text: &&str| {
        let (name, versions) = text.split_at(text.find(['=', '<', '>']).unwrap_or(text.len()));
        format!("{name} = \"{}\"\n", if versions.is_empty() { "*" } else { versions })
    };
    let manifest = format!(
        "[target]\nchip = \"m1\"\nmacos = \"{}\"\ngpu = \"optional\"\npython = \"==3.12.*\"\n\n[dependencies]\n{}\n\
         [resolution]\nexclude-newer = \"2026-11-30\"\n",
        MACS[0],
        packages.iter().map(requirement).collect::<String>()
    );
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("macml.toml"), manifest).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_macml"));
    command.arg("-C").arg(folder).arg("lock").env("MACML_NO_CONFIG", "1");
    let output = command.env("MACML_CACHE_DIR", real_facts::cache()).output().unwrap();
    assert!(output.status.success(), "{packages:?}: {}", String::from_utf8_lossy(&output.stderr));
    locked(folder)
}

fn locked(folder: &Path) -> Lockfile {
    match macml::lock::read(&folder.join("macml.lock")).unwrap() {
        ReadOutcome::Whole(lock) => *lock,
        other => panic!("{other:?}"),
    }
}

/// What Macs on a macOS install of a lock.
fn files(lock: &Lockfile, macos: MacosVersion) -> Vec<(&LockedPackage, &LockedWheel)> {
    let env = lock.env("default", Platform::MacosArm64).unwrap();
    let picker = Picker::on(env, macos);
    let packages = env.packages.iter().map(|entry| lock.package(entry).unwrap());
    packages.map(|package| (package, picker.files(package)[0])).collect()
}

fn wanted(package: &LockedPackage, wheel: &LockedWheel) -> Wanted {
    let Origin::Index(index) = &package.origin else { panic!("{} is from no index", package.name) };
    let place = Place::Index(index.clone());
    Wanted { place, wheel: wheel.file.clone(), size: wheel.size, sha256: wheel.sha256 }
}

/// Says what is found of a lock on a macOS, each finding as [`told`] writes it.
fn judged(lock: &Lockfile, macos: MacosVersion, facts: &BTreeMap<Sha256, WheelFacts>) -> Vec<Finding> {
    let python = lock.env("default", Platform::MacosArm64).unwrap().python;
    let files = files(lock, macos);
    let installed: Vec<Installed<'_>> = files
        .iter()
        .map(|(package, wheel)| Installed {
            name: &package.name,
            version: &package.version,
            wheel: Some(&wheel.file),
            facts: &facts[&wheel.sha256],
        })
        .collect();
    let distributions: Vec<Distribution<'_>> =
        installed.iter().map(|one| Distribution { name: one.name, facts: one.facts }).collect();
    let answer = simulate(&distributions, python);
    let knowledge = Knowledge::built_in();
    let said = rules::judge(&Case {
        installed: &installed,
        answer: &answer,
        python,
        macos,
        knowledge: &knowledge,
        gone: &BTreeMap::new(),
    });
    said.into_iter().map(|said| said.finding).collect()
}

/// A finding in short: how bad, which, and of which package it speaks first.
fn short(finding: &Finding, lock: &Lockfile) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let named = finding.message.split('`').skip(1).step_by(2);
    let mut packages = named.filter(|word| lock.packages.iter().any(|one| one.name.as_str() == *word));
    format!("{severity}[{}] {}", finding.code, packages.next().unwrap_or("?"))
}

/// Judges a lock for the lowest macOS and the newest; what is found on one only says on which.
fn found(what: &str, lock: &Lockfile) -> Vec<String> {
    let mut wheels: BTreeMap<Sha256, Wanted> = BTreeMap::new();
    for macos in MACS {
        wheels.extend(files(lock, macos).into_iter().map(|(package, wheel)| (wheel.sha256, wanted(package, wheel))));
    }
    let mut facts = BTreeMap::new();
    let fetched = real_facts::each(&wheels.into_values().collect::<Vec<_>>(), |wheel, read| {
        facts.insert(wheel.sha256, read);
    });
    let images: usize = facts.values().map(|facts: &WheelFacts| facts.images.len()).sum();
    eprintln!(
        "{what}: {} wheels, {images} images, {} wheels ({} MB) fetched",
        facts.len(),
        fetched.wheels,
        fetched.bytes / 1_000_000
    );
    let mut told_on: BTreeMap<String, Vec<MacosVersion>> = BTreeMap::new();
    for macos in MACS {
        for finding in judged(lock, macos, &facts) {
            eprintln!("  on {macos}: {}", told(&finding).replace('\n', "\n    "));
            told_on.entry(short(&finding, lock)).or_default().push(macos);
        }
    }
    let line = |(short, mut on): (String, Vec<MacosVersion>)| {
        let both = MACS.iter().all(|macos| on.contains(macos));
        on.dedup();
        if both { short } else { format!("{short} on {}", on[0]) }
    };
    told_on.into_iter().map(line).collect()
}

/// Says what is found otherwise than expected.
fn difference(what: &str, lock: &Lockfile, expected: &[&str]) -> Option<String> {
    let found = found(what, lock);
    (found != expected).then(|| format!("{what}: {found:#?}, and not {expected:#?}"))
}

#[test]
fn environments_of_many_projects() {
    if !live() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (number, one) in ASKED.iter().enumerate().filter(|(_, one)| one.small || full()) {
        let lock = solved(one.packages, &folder.path().join(number.to_string()));
        wrong.extend(difference(&one.packages.join(" "), &lock, one.found));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The examples that we show, and what is found of what is locked for them.
const EXAMPLES: [(&str, &[&str]); 5] = [
    ("pytorch", &[]),
    ("tensorflow", &[]),
    ("mlx", &[]),
    ("coreml", &["note[undecided] coremltools"]),
    ("science", &[]),
];

#[test]
fn examples() {
    if !full() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let wrong: Vec<String> = EXAMPLES
        .iter()
        .filter_map(|(name, expected)| difference(name, &locked(&folder.join(name)), expected))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
