//! Environments of conda: its names, ranges and channels, and requirements of pip within.
//! <https://docs.conda.io/projects/conda/en/stable/user-guide/tasks/manage-environments.html>
//!
//! A name of conda's is passed on only where it is known that PyPI means the same by it, or by another one.

use std::path::Path;

use super::requirements::{Asked, AskedItem, What, lines};
use super::yaml::{self, Node};
use super::{Error, Read, Verdict};

/// What a package of conda's is elsewhere.
enum Known {
    /// It has the same name on PyPI.
    Same,
    /// It has another name there.
    As(&'static str),
    /// It is no package of Python, or none that a Mac needs.
    Gone(&'static str),
}

const LIBRARY: &str = "a library of conda's own, which wheels bring along";
const PROGRAM: &str =
    "a program and no package of Python; `brew install` has it, and what PyPI calls so is another thing";
const CONDA: &str = "it is only of use within conda";
const CUDA: &str = "it is for CUDA, which no Mac has";
const WINDOWS: &str = "it is for Windows";

/// Names of conda's, in lower case and as they are written there, which PyPI has otherwise or not at all.
const NAMES: [(&str, Known); 71] = [
    ("blas", Known::Gone(LIBRARY)),
    ("bzip2", Known::Gone(LIBRARY)),
    ("ca-certificates", Known::Gone(LIBRARY)),
    ("cmake", Known::Gone(PROGRAM)),
    ("compilers", Known::Gone(PROGRAM)),
    ("conda", Known::Gone(CONDA)),
    ("cuda-toolkit", Known::Gone(CUDA)),
    ("cudatoolkit", Known::Gone(CUDA)),
    ("cudnn", Known::Gone(CUDA)),
    ("cxx-compiler", Known::Gone(PROGRAM)),
    ("eigen", Known::Gone(LIBRARY)),
    ("faiss", Known::As("faiss-cpu")),
    ("faiss-cpu", Known::As("faiss-cpu")),
    ("ffmpeg", Known::Gone(PROGRAM)),
    ("freetype", Known::Gone(LIBRARY)),
    ("gcc", Known::Gone(PROGRAM)),
    ("git", Known::Gone(PROGRAM)),
    ("git-lfs", Known::Gone(PROGRAM)),
    ("gxx", Known::Gone(PROGRAM)),
    ("hdf5", Known::Gone(LIBRARY)),
    ("jpeg", Known::Gone(LIBRARY)),
    ("libblas", Known::Gone(LIBRARY)),
    ("libcxx", Known::Gone(LIBRARY)),
    ("libffi", Known::Gone(LIBRARY)),
    ("libgcc-ng", Known::Gone(LIBRARY)),
    ("libpng", Known::Gone(LIBRARY)),
    ("libsndfile", Known::Gone(LIBRARY)),
    ("libstdcxx-ng", Known::Gone(LIBRARY)),
    ("llvm-openmp", Known::Gone(LIBRARY)),
    ("matplotlib-base", Known::As("matplotlib")),
    ("mkl", Known::Gone("Intel's library, which has no build for Apple Silicon")),
    ("mkl-service", Known::Gone("Intel's library, which has no build for Apple Silicon")),
    ("msgpack-python", Known::As("msgpack")),
    ("nb_conda", Known::Gone(CONDA)),
    ("nb_conda_kernels", Known::Gone(CONDA)),
    ("ncurses", Known::Gone(LIBRARY)),
    ("ninja", Known::Gone(PROGRAM)),
    ("nodejs", Known::Gone(PROGRAM)),
    ("nomkl", Known::Gone("a Mac has no MKL to be left out")),
    ("openblas", Known::Gone(LIBRARY)),
    ("opencv", Known::As("opencv-python")),
    ("openmp", Known::Gone(LIBRARY)),
    ("openssl", Known::Gone(LIBRARY)),
    ("pandoc", Known::Gone(PROGRAM)),
    ("pip", Known::Gone("macml installs; `macml sync` needs no pip")),
    ("pkg-config", Known::Gone(PROGRAM)),
    ("py-opencv", Known::As("opencv-python")),
    ("pyqt", Known::As("pyqt5")),
    ("pytables", Known::As("tables")),
    ("python-graphviz", Known::As("graphviz")),
    ("python-kaleido", Known::As("kaleido")),
    ("python.app", Known::Gone(CONDA)),
    ("pytorch", Known::As("torch")),
    ("pytorch-cpu", Known::As("torch")),
    ("pytorch-cuda", Known::Gone(CUDA)),
    ("pytorch-gpu", Known::As("torch")),
    ("pytorch-mutex", Known::Gone(CONDA)),
    ("readline", Known::Gone(LIBRARY)),
    ("scikit-learn-intelex", Known::Gone("it is for processors of Intel")),
    ("sqlite", Known::Gone(LIBRARY)),
    ("tbb", Known::Gone(LIBRARY)),
    ("tensorflow-base", Known::As("tensorflow")),
    ("tensorflow-deps", Known::Gone("it stood for what TensorFlow needs, which its wheels bring along")),
    ("tensorflow-gpu", Known::As("tensorflow")),
    ("tk", Known::Gone("the library of Tkinter, which comes with Python")),
    ("tzdata", Known::Gone(LIBRARY)),
    ("vc", Known::Gone(WINDOWS)),
    ("vs2015_runtime", Known::Gone(WINDOWS)),
    ("wincertstore", Known::Gone(WINDOWS)),
    ("xz", Known::Gone(LIBRARY)),
    ("zlib", Known::Gone(LIBRARY)),
];

/// Names that mean the same on PyPI.
const SAME: [&str; 188] = [
    "absl-py",
    "accelerate",
    "aiohttp",
    "albumentations",
    "altair",
    "astropy",
    "attrs",
    "beautifulsoup4",
    "biopython",
    "black",
    "bokeh",
    "boto3",
    "bottleneck",
    "certifi",
    "cffi",
    "charset-normalizer",
    "click",
    "cloudpickle",
    "colorama",
    "coremltools",
    "cryptography",
    "cycler",
    "cython",
    "dask",
    "datasets",
    "decorator",
    "deepdiff",
    "dill",
    "distributed",
    "docutils",
    "einops",
    "faker",
    "fastapi",
    "filelock",
    "flake8",
    "flask",
    "fonttools",
    "fsspec",
    "ftfy",
    "gdown",
    "gensim",
    "geopandas",
    "gitpython",
    "gradio",
    "h5py",
    "httpx",
    "huggingface-hub",
    "hydra-core",
    "idna",
    "imageio",
    "ipykernel",
    "ipython",
    "ipywidgets",
    "isort",
    "jax",
    "jaxlib",
    "jedi",
    "jinja2",
    "joblib",
    "jsonschema",
    "jupyter",
    "jupyterlab",
    "kaggle",
    "keras",
    "kiwisolver",
    "kornia",
    "librosa",
    "lightgbm",
    "lightning",
    "lmdb",
    "loguru",
    "lxml",
    "markdown",
    "markupsafe",
    "matplotlib",
    "mlflow",
    "mlx",
    "mock",
    "mpmath",
    "mypy",
    "nbconvert",
    "nbformat",
    "netcdf4",
    "networkx",
    "nibabel",
    "nilearn",
    "nltk",
    "notebook",
    "numba",
    "numexpr",
    "numpy",
    "omegaconf",
    "onnx",
    "onnxruntime",
    "openpyxl",
    "optuna",
    "packaging",
    "pandas",
    "patsy",
    "peft",
    "pillow",
    "pip-tools",
    "platformdirs",
    "plotly",
    "polars",
    "pooch",
    "pre-commit",
    "protobuf",
    "psutil",
    "psycopg2",
    "pyarrow",
    "pycocotools",
    "pydantic",
    "pydicom",
    "pydot",
    "pygments",
    "pymongo",
    "pyparsing",
    "pyside2",
    "pyside6",
    "pysocks",
    "pytest",
    "pytest-cov",
    "python-dateutil",
    "pytorch-lightning",
    "pytz",
    "pywavelets",
    "pyyaml",
    "pyzmq",
    "qtpy",
    "rasterio",
    "regex",
    "requests",
    "rich",
    "ruff",
    "sacrebleu",
    "safetensors",
    "scikit-image",
    "scikit-learn",
    "scipy",
    "seaborn",
    "sentence-transformers",
    "sentencepiece",
    "setuptools",
    "shap",
    "shapely",
    "simpleitk",
    "six",
    "spacy",
    "sqlalchemy",
    "statsmodels",
    "streamlit",
    "sympy",
    "tabulate",
    "tensorboard",
    "tensorboardx",
    "tensorflow",
    "termcolor",
    "tifffile",
    "timm",
    "tokenizers",
    "tomli",
    "toolz",
    "torchaudio",
    "torchio",
    "torchmetrics",
    "torchtext",
    "torchvision",
    "tornado",
    "tqdm",
    "traitlets",
    "transformers",
    "typing-extensions",
    "umap-learn",
    "urllib3",
    "wandb",
    "werkzeug",
    "wheel",
    "widgetsnbextension",
    "wrapt",
    "xarray",
    "xgboost",
    "xlrd",
    "yacs",
    "yapf",
    "yarl",
    "zarr",
    "zipp",
];

fn known(name: &str) -> Option<&'static Known> {
    let normal = name.replace('_', "-");
    match NAMES.iter().find(|(known, _)| *known == name) {
        Some((_, known)) => Some(known),
        None => SAME.contains(&normal.as_str()).then_some(&Known::Same),
    }
}

/// A package as conda writes it.
struct Spec {
    channel: Option<String>,
    name: String,
    versions: String,
    build: bool,
    /// Whether conda's `=` stands there, which is not that of PEP 440.
    loose: bool,
}

/// Takes `channel::name=1.2=build` apart.
fn spec(text: &str) -> Spec {
    let (channel, rest) = match text.split_once("::") {
        Some((channel, rest)) => (Some(channel.trim().to_owned()), rest),
        None => (None, text),
    };
    let rest = rest.split('[').next().unwrap_or_default().trim();
    let end = rest.find(|c: char| "=<>!~ ".contains(c)).unwrap_or(rest.len());
    let (name, behind) = (rest[..end].to_lowercase(), rest[end..].trim());
    let loose = behind.starts_with('=') && !behind.starts_with("==") && behind.matches('=').count() == 1;
    let (versions, build) = match behind.strip_prefix('=').filter(|one| !one.starts_with('=')) {
        Some(one) => match one.split_once('=') {
            // With a build it is that version.
            Some((version, _)) => (format!("=={}", version.trim()), true),
            None if one.contains(['*', ',', '<', '>']) => (with_operator(one), false),
            None => (format!("=={}.*", one.trim()), false),
        },
        None => {
            let mut words = behind.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                // `numpy 1.11.1 py36_0`
                (Some(version), Some(_), None) if !behind.contains(['<', '>', '=', ',']) => {
                    (format!("=={version}"), true)
                }
                _ => (with_operator(behind), false),
            }
        }
    };
    Spec { channel, name, versions, build, loose }
}

/// Writes conda's ranges in the form of PEP 440; a version alone is exact.
fn with_operator(text: &str) -> String {
    let each = |one: &str| {
        let one = one.trim();
        match one.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("=={one}"),
            false => one.to_owned(),
        }
    };
    let text = text.trim();
    if text.is_empty() || text == "*" { String::new() } else { text.split(',').map(each).collect::<Vec<_>>().join(",") }
}

/// Reads an environment.
///
/// # Errors
/// When it is none, or a file that its part for pip includes cannot be read.
pub(super) fn read(path: &Path, text: &str, read: Read<'_>) -> Result<Asked, Error> {
    let damaged = |why: String| Error::Damaged { path: path.to_owned(), why };
    let document = yaml::read(text).map_err(damaged)?;
    let dependencies = document.as_ref().and_then(|document| document.get("dependencies"));
    let (Some(document), Some(dependencies)) = (&document, dependencies) else {
        return Err(damaged("it has no `dependencies`, as an environment of conda has".to_owned()));
    };
    let mut asked = Asked { name: document.get("name").and_then(Node::text).map(str::to_owned), ..Asked::default() };
    let mut channels: Vec<String> =
        document.get("channels").into_iter().flat_map(Node::items).filter_map(Node::text).map(str::to_owned).collect();
    let mut builds = 0;
    for item in dependencies.items() {
        if let Some(pip) = item.get("pip") {
            let of = |node: &Node| Some((node.line, node.text()?.trim().to_owned()));
            let asked_of_pip = lines(path, pip.items().iter().filter_map(of).collect(), read)?;
            asked.items.extend(asked_of_pip.items);
            continue;
        }
        let Some(text) = item.text() else {
            return Err(damaged(format!("line {}: neither a package nor a list for pip", item.line)));
        };
        let spec = spec(text);
        builds += usize::from(spec.build);
        channels.extend(spec.channel.clone().filter(|channel| !channels.contains(channel)));
        let what = if spec.name == "python" {
            let to = format!("[target] python = \"{}\"", spec.versions);
            asked.python = Some(spec.versions).filter(|versions| !versions.is_empty());
            let why = "the Python of the environment is one of the target's keys".to_owned();
            What::Decided { text: text.to_owned(), verdict: Verdict::Translated { to, why } }
        } else {
            of_conda(text, &spec)
        };
        asked.items.push(AskedItem { file: path.to_owned(), line: item.line, what });
    }
    if !channels.is_empty() {
        let channels: Vec<String> =
            channels.iter().map(|channel| format!("`{}`", crate::lock::foreign::without_secrets(channel))).collect();
        asked
            .notes
            .push(format!("the channels {} are not taken over: macml installs wheels of PyPI", channels.join(", ")));
    }
    if builds > 0 {
        asked.notes.push(format!(
            "{builds} packages name a build of conda's, which is left out: wheels are chosen by the lock"
        ));
    }
    Ok(asked)
}

fn of_conda(text: &str, spec: &Spec) -> What {
    let Spec { name, versions, .. } = spec;
    let plain = |name: &str| match versions.is_empty() {
        true => name.to_owned(),
        false => format!("{name} {versions}"),
    };
    let decided = |verdict| What::Decided { text: text.to_owned(), verdict };
    match known(name) {
        Some(Known::Same) if !spec.loose => {
            What::Requirement { text: plain(name), limits: false, editable: false, hashes: 0 }
        }
        Some(Known::Same) => {
            let why = "`=` of conda's leaves open what follows, which `.*` says".to_owned();
            What::Translated { from: text.to_owned(), text: plain(name), why }
        }
        Some(Known::As(other)) => {
            What::Translated { from: text.to_owned(), text: plain(other), why: format!("what conda calls `{name}`") }
        }
        Some(Known::Gone(why)) if name == "tensorflow-deps" && !versions.is_empty() => {
            let why =
                format!("{why}; it was that of TensorFlow {}", versions.trim_start_matches('=').trim_end_matches(".*"));
            decided(Verdict::Dropped { why })
        }
        Some(Known::Gone(why)) => decided(Verdict::Dropped { why: (*why).to_owned() }),
        None => decided(Verdict::Refused {
            why: format!("it is not known what conda's `{name}` is on PyPI, where the name may be a stranger's"),
            remedy: "if it is the same, or you know its name there: `macml add NAME`".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_conda_are_those_of_pep_440() {
        for (conda, name, versions) in [
            ("numpy", "numpy", ""),
            ("numpy=1.2", "numpy", "==1.2.*"),
            ("numpy==1.2", "numpy", "==1.2"),
            ("numpy=1.2=py39_0", "numpy", "==1.2"),
            ("numpy 1.2.*", "numpy", "==1.2.*"),
            ("numpy 1.2 py39_0", "numpy", "==1.2"),
            ("numpy>=1.24,<3.0", "numpy", ">=1.24,<3.0"),
            ("numpy >=1.24, <3", "numpy", ">=1.24,<3"),
            ("conda-forge::NumPy=1.2.*", "numpy", "==1.2.*"),
            ("numpy=*", "numpy", ""),
        ] {
            let spec = spec(conda);
            assert_eq!((spec.name.as_str(), spec.versions.as_str()), (name, versions), "{conda}");
        }
    }

    #[test]
    fn names_stand_in_order_and_once() {
        assert!(SAME.is_sorted() && NAMES.is_sorted_by_key(|(name, _)| *name));
        for (name, known) in &NAMES {
            assert!(!SAME.contains(name), "{name}");
            if let Known::As(other) = known {
                assert!(other.parse::<crate::pep::PackageName>().is_ok_and(|one| one.as_str() == *other));
            }
        }
    }
}
