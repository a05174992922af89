//! Lists of real projects, read where they lie: `../shared/suites/requirements` or the folder that `MACML_SUITES` names. What
//! each line of theirs comes to is told here by its traps; where the folder is not there, nothing is tested.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use macml::import::{self, Error, Imported, Machines, Verdict};
use macml::lock::foreign::decoded;
use macml::target::MacosVersion;

/// What a line must come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Kept,
    Translated,
    Dropped,
    Refused,
}

use Word::{Dropped, Kept, Refused, Translated};

/// A case: its file, what lines that begin with a text come to, beginnings of lines that macml.toml then has, and packages that it has not.
struct Case {
    file: &'static str,
    lines: &'static [(&'static str, Word)],
    has: &'static [&'static str],
    lacks: &'static [&'static str],
    notes: &'static [&'static str],
}

const CASES: [Case; 23] = [
    Case {
        file: "01-kohya-ss-macos-arm64/requirements_macos_arm64.txt",
        lines: &[
            ("torch==2.0.0 torchvision==0.15.1", Translated),
            ("-f ", Dropped),
            ("xformers", Dropped),
            ("bitsandbytes==0.41.1", Refused),
            ("tensorflow-macos", Translated),
            ("-r requirements.txt", Kept),
            ("-e ./sd-scripts", Translated),
        ],
        has: &["torch = \"==2.0.0\"", "torchvision = \"==0.15.1\"", "tensorflow = \"*\"", "tensorboard = \"==2.14.1\""],
        lacks: &["xformers", "bitsandbytes", "tensorflow-macos"],
        notes: &["Tkinter"],
    },
    Case {
        file: "02-deep-live-cam/requirements.txt",
        lines: &[
            ("torch==2.8.0+cu128", Translated),
            ("torchvision==0.20.1", Kept),
            ("onnxruntime-silicon==1.16.3", Translated),
            ("onnxruntime-gpu", Dropped),
            ("--extra-index-url", Dropped),
            ("git+https://", Refused),
            ("pygrabber", Dropped),
            ("tk==0.1.0", Kept),
        ],
        has: &["torch = \"==2.8.0\"", "torchvision = \"==0.20.1\"", "onnxruntime = \"==1.16.3\""],
        lacks: &["pygrabber", "onnxruntime-silicon"],
        notes: &["Tkinter"],
    },
    Case {
        file: "03-text-generation-webui/requirements_apple_silicon.txt",
        lines: &[("https://github.com/oobabooga", Dropped), ("hqq", Kept), ("lm_eval==0.3.0", Kept)],
        has: &["lm-eval = \"==0.3.0\""],
        lacks: &["llama-cpp-python"],
        notes: &[],
    },
    Case {
        file: "04-gpt-sovits/requirements.txt",
        lines: &[("--no-binary opencc", Dropped), ("onnxruntime-gpu", Dropped), ("opencc", Kept)],
        has: &["onnxruntime = \"*\"", "tqdm = \"*\"", "numpy = \"<2.0\""],
        lacks: &["onnxruntime-gpu"],
        notes: &[],
    },
    Case {
        file: "05-cosyvoice/requirements.txt",
        lines: &[("--extra-index-url", Dropped), ("deepspeed", Dropped), ("tensorrt-cu12==", Dropped)],
        has: &[
            "protobuf = \"==4.25\"",
            "onnxruntime = \"==1.18.0\"",
            "torch = \"==2.3.1\"",
            "torchaudio = \"==2.3.1\"",
        ],
        lacks: &["deepspeed", "onnxruntime-gpu"],
        notes: &[],
    },
    Case {
        file: "06-exo-2024/requirements.txt",
        lines: &[("uuid", Refused), ("tinygrad @ git+", Refused), ("pynvml", Kept)],
        has: &["mlx = \"==0.15.1\""],
        lacks: &["uuid", "tinygrad"],
        notes: &["cards of NVIDIA"],
    },
    Case {
        file: "07-everyvoice-torch/requirements.torch.txt",
        lines: &[("--extra-index-url", Dropped), ("torch==2.7.1+${CUDA_TAG}", Dropped)],
        has: &["torch = \"==2.7.1\"", "torchaudio = \"==2.7.1\""],
        lacks: &[],
        notes: &[],
    },
    Case {
        file: "08-llms-from-scratch/requirements.txt",
        lines: &[("torch>=2.2.2,<2.6", Dropped), ("tensorflow>=2.16.2", Dropped)],
        has: &["torch = \">=2.2.2\"", "tensorflow = \">=2.18.0\""],
        lacks: &[],
        notes: &[],
    },
    Case {
        file: "09-coremltools-test/test.pip",
        lines: &[("torch==2.2.0", Dropped), ("-r ./pytorch.pip", Kept), ("xgboost==1.4.2", Dropped)],
        has: &["torch = \"==2.8.0\"", "olefile = \"==0.44\"", "lightgbm = \"==4.6.0\""],
        lacks: &["xgboost"],
        notes: &[],
    },
    Case {
        file: "10-xprof-hashed/requirements_lock_3_11.txt",
        lines: &[],
        has: &["absl-py = \"==2.1.0\"", "gviz-api = ", "setuptools = ", "six = "],
        lacks: &[],
        notes: &["8 hashes"],
    },
    Case {
        file: "11-openvino-constraints/model_hub_tests/pytorch/requirements.txt",
        lines: &[("auto-gptq", Refused), ("torch>=1.13,<2.3", Translated), ("--extra-index-url", Dropped)],
        has: &["torch = \"*\"", "torchaudio = \"*\""],
        lacks: &["auto-gptq", "jax"],
        notes: &[],
    },
    Case {
        file: "13-stable-diffusion-tensorflow-m1/requirements_m1.txt",
        lines: &[("tensorflow-macos==2.10.0", Kept), ("tensorflow-metal==0.6.0", Kept)],
        has: &["tensorflow-macos = \"==2.10.0\"", "tensorflow-metal = \"==0.6.0\"", "protobuf = \"==3.19\""],
        lacks: &["numpy"],
        notes: &[],
    },
    Case {
        file: "14-mineru-zh/requirements.txt",
        lines: &[("numpy", Kept), ("wordninja", Kept)],
        has: &["numpy = \">=1.21.6, <2.0.0\""],
        lacks: &[],
        notes: &[],
    },
    Case {
        file: "15-py-xiaozhi-bom/requirements.txt",
        lines: &[("comtypes", Dropped), ("sherpa-onnx==1.12.8", Kept)],
        has: &["opuslib = ", "lunar-python = "],
        lacks: &["pycaw"],
        notes: &["brew install opus"],
    },
    Case {
        file: "16-mlx-examples-wwdc25/requirements.txt",
        lines: &[("mlx==", Kept), ("torch==", Kept)],
        has: &["mlx-data = \"==0.1.0\""],
        lacks: &[],
        notes: &[],
    },
    Case {
        file: "17-deeplabcut-m1/DEEPLABCUT_M1.yaml",
        lines: &[
            ("python=3.9", Translated),
            ("apple::tensorflow-deps", Dropped),
            ("python.app", Dropped),
            ("nb_conda", Dropped),
            ("ffmpeg", Dropped),
            ("pip", Dropped),
            ("tensorflow-macos", Translated),
            ("-e ../[gui]", Refused),
        ],
        has: &["tensorflow = \"*\"", "tensorflow-metal = \"*\"", "ipython = \"*\""],
        lacks: &["python-app", "ffmpeg", "tensorflow-macos"],
        notes: &["`apple`"],
    },
    Case {
        file: "18-sleap-m1/environment_m1.yml",
        lines: &[
            ("apple::tensorflow-deps=2.9.0", Dropped),
            ("conda-forge::pyside2", Refused),
            ("conda-forge::h5py=3.6.0", Translated),
            ("-e ./", Translated),
            ("--requirement=./dev_requirements.txt", Kept),
        ],
        has: &["h5py = \"==3.6.0.*\"", "shapely = \"==1.7.1.*\"", "click = \"==8.0.4\""],
        lacks: &["pyside2", "furo"],
        notes: &["`conda-forge`"],
    },
    Case {
        file: "19-t81-558-utf16/environment.yml",
        lines: &[
            ("vc=", Dropped),
            ("wincertstore=", Dropped),
            ("pywin32==", Dropped),
            ("tensorflow-gpu==2.8.0", Translated),
            ("tf-estimator-nightly", Dropped),
            ("sklearn==0.0", Translated),
        ],
        has: &["tensorflow = \"==2.8.0\"", "scikit-learn = \"==1.0.2\""],
        lacks: &["pywin32"],
        notes: &["name a build"],
    },
    Case {
        file: "20-deepchem-torch-mac/env_torch.mac.cpu.yml",
        lines: &[("pytorch==2.2.1", Translated), ("pylibxc", Refused), ("-f ", Dropped), ("git+https", Refused)],
        has: &["torch = \"==2.2.1\"", "torch-cluster = \"==1.6.3\""],
        lacks: &["pytorch", "pylibxc"],
        notes: &[],
    },
    Case {
        file: "21-monai-dev/environment-dev.yml",
        lines: &[
            ("pytorch-cuda", Dropped),
            ("-r requirements-dev.txt", Kept),
            ("nni==2.10.1", Dropped),
            ("cucim-cu12", Dropped),
            ("git+https", Refused),
        ],
        has: &["clearml = \">=1.10.0rc0\"", "pillow = \"!=8.3.0\"", "polygraphy = \"*\""],
        lacks: &["nni", "pytorch-cuda"],
        notes: &["`nvidia`", "TensorRT"],
    },
    Case {
        file: "22-pyvideotrans-uv/pyproject.toml",
        lines: &[("openai-whisper", Kept), ("srt", Kept)],
        has: &["torch = \"*\""],
        lacks: &[],
        notes: &["only 3.12.0", "`torch`"],
    },
    Case {
        file: "23-voicevox-engine/pyproject.toml",
        lines: &[("pyopenjtalk @ git+https", Refused), ("setuptools<82", Kept), ("pyworld==0.3.5", Kept)],
        has: &["setuptools = \"<82\""],
        lacks: &["pyopenjtalk"],
        notes: &["exclude-newer", "`licenses`"],
    },
    Case {
        file: "24-langchain-chatchat-poetry/pyproject.toml",
        lines: &[],
        has: &[],
        lacks: &["torch"],
        notes: &["the groups ", "mirrors = "],
    },
];

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/suites");
    let folder = std::env::var_os("MACML_SUITES").map_or_else(beside, PathBuf::from).join("requirements");
    if !folder.is_dir() {
        eprintln!("skipped: no lists of projects in `{}`", folder.display());
        return None;
    }
    Some(folder)
}

/// Imports a file of the folder, with each text put into bytes in another way first.
fn imported(folder: &Path, file: &str, bytes: fn(&str) -> Vec<u8>) -> Result<Imported, Error> {
    let machines = Machines::macs(MacosVersion::new(14, 0));
    let mut read = |path: &Path| {
        let found = std::fs::read(folder.join(path)).map_err(|_| "there is no such file".to_owned())?;
        let text = decoded(&found).map_err(|line| format!("line {line}"))?;
        decoded(&bytes(&text)).map_err(|line| format!("line {line}"))
    };
    import::import(Path::new(file), &machines, &mut read)
}

fn word(verdict: &Verdict) -> Word {
    match verdict {
        Verdict::Kept => Kept,
        Verdict::Translated { .. } => Translated,
        Verdict::Dropped { .. } => Dropped,
        Verdict::Refused { .. } => Refused,
    }
}

#[test]
fn real_lists_come_to_what_each_of_their_lines_means_on_a_mac() {
    let Some(folder) = folder() else { return };
    let mut wrong = Vec::new();
    for case in &CASES {
        let imported = imported(&folder, case.file, |text| text.as_bytes().to_vec()).unwrap();
        for (begin, expected) in case.lines {
            let got: Vec<Word> = imported
                .items
                .iter()
                .filter(|item| item.text.starts_with(begin))
                .map(|item| word(&item.verdict))
                .collect();
            if !got.contains(expected) {
                wrong.push(format!("{}: `{begin}` is {got:?}, not {expected:?}", case.file));
            }
        }
        let lines: Vec<String> = imported.lines.iter().map(macml::manifest::edit::Line::written).collect();
        let lacking = case.has.iter().filter(|has| !lines.iter().any(|line| line.starts_with(**has)));
        wrong.extend(lacking.map(|has| format!("{}: no `{has}`", case.file)));
        let there = |name: &&&str| imported.lines.iter().any(|line| line.name.as_str() == **name);
        wrong.extend(case.lacks.iter().filter(there).map(|name| format!("{}: has `{name}`", case.file)));
        // No address of an index, no variable and no hash that nobody asked for gets in.
        let odd = lines.iter().filter(|line| ["://", "${", "sha256"].iter().any(|odd| line.contains(odd)));
        wrong.extend(odd.map(|line| format!("{}: `{line}`", case.file)));
        let notes = imported.notes.join("\n");
        wrong.extend(
            case.notes
                .iter()
                .filter(|note| !notes.contains(**note))
                .map(|note| format!("{}: no `{note}` in {notes}", case.file)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Nothing is silent: every line that pip would read has a verdict, with its place.
#[test]
fn every_line_of_real_lists_has_a_verdict() {
    let Some(folder) = folder() else { return };
    for case in CASES.iter().filter(|case| !case.file.ends_with("toml") && !case.file.contains(".y")) {
        let imported = imported(&folder, case.file, |text| text.as_bytes().to_vec()).unwrap();
        let mut told: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
        for item in &imported.items {
            told.entry(&item.file).or_default().push(item.line);
        }
        for (file, lines) in told {
            let text = decoded(&std::fs::read(folder.join(file)).unwrap()).unwrap();
            let mut goes_on = false;
            for (number, line) in (1..).zip(text.lines()) {
                let asks = !goes_on && !line.trim().is_empty() && !line.trim_start().starts_with('#');
                goes_on = line.trim_end().ends_with('\\');
                assert!(!asks || lines.contains(&number), "{}:{number} {line}", file.display());
            }
        }
    }
}

/// CRLF, a BOM and UTF-16 change nothing.
#[test]
fn real_lists_mean_the_same_however_they_are_saved() {
    let Some(folder) = folder() else { return };
    let crlf = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n").into_bytes();
    let bom = |text: &str| format!("\u{feff}{text}").into_bytes();
    let utf16 = |text: &str| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for case in &CASES {
        let plain = imported(&folder, case.file, |text| text.as_bytes().to_vec()).unwrap();
        for bytes in [crlf, bom, utf16] {
            assert_eq!(imported(&folder, case.file, bytes).unwrap(), plain, "{}", case.file);
        }
    }
}

/// A file that is not where the list says: nothing comes of it, and the one that is meant is named.
#[test]
fn a_real_list_that_counts_paths_from_elsewhere_is_refused_whole() {
    let Some(folder) = folder() else { return };
    let file = "12-invokeai-mac-mps/environments-and-requirements/requirements-mac-mps-cpu.txt";
    let error = imported(&folder, file, |text| text.as_bytes().to_vec()).unwrap_err();
    let Error::Included { line: 1, beside: Some(beside), .. } = &error else { panic!("{error}") };
    assert!(beside.ends_with("environments-and-requirements/requirements-base.txt"), "{}", beside.display());
}
