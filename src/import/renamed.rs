//! Packages that a Mac has under another name, or not at all: what projects for CUDA and Windows name.

/// What becomes of a package on a Mac.
pub(super) enum Renamed {
    /// It is this one.
    To(&'static str, &'static str),
    /// It means nothing.
    Gone(&'static str),
    /// It can be asked for, and cannot work; from a version on it does, where one is named.
    Unfit { below: Option<&'static str>, why: &'static str, remedy: &'static str },
}

const CUDA: &str = "it is for CUDA, which no Mac has, and has no wheel for one";
const WINDOWS: &str = "it is for Windows";

/// Names, normalized, with what becomes of them. Read from PyPI's lists of files on 2026-11-30: those that are gone have no
/// wheel for arm64 Macs in any release.
const RENAMED: [(&str, Renamed); 30] = [
    ("apex", Renamed::Gone(CUDA)),
    (
        "auto-gptq",
        Renamed::Unfit {
            below: None,
            why: CUDA,
            remedy: "run a model that is quantized for MLX or GGUF, and leave this out",
        },
    ),
    (
        "bitsandbytes",
        Renamed::Unfit {
            below: Some("0.49"),
            why: "its wheels below 0.49 install on a Mac and hold nothing that runs there",
            remedy: "`bitsandbytes >=0.49` has a wheel for Macs",
        },
    ),
    ("cucim-cu12", Renamed::Gone(CUDA)),
    ("cupy-cuda12x", Renamed::Gone(CUDA)),
    ("deepspeed", Renamed::Gone(CUDA)),
    ("flash-attn", Renamed::Gone(CUDA)),
    ("onnxruntime-gpu", Renamed::To("onnxruntime", "the build for CUDA; the usual one has a wheel for Macs")),
    ("onnxruntime-silicon", Renamed::To("onnxruntime", "it was superseded: the usual one has a wheel for Macs")),
    ("pygrabber", Renamed::Gone(WINDOWS)),
    ("pywin32", Renamed::Gone(WINDOWS)),
    ("pywinpty", Renamed::Gone(WINDOWS)),
    (
        "pyside2",
        Renamed::Unfit {
            below: None,
            why: "no release has a wheel for Apple Silicon",
            remedy: "`pyside6` has one, and takes most programs with few changes",
        },
    ),
    ("pytorch", Renamed::To("torch", "what is called so on PyPI refuses to be installed")),
    ("sklearn", Renamed::To("scikit-learn", "the name of its module; what is called so on PyPI is empty")),
    ("tensorflow-cpu", Renamed::To("tensorflow", "on a Mac there is one build")),
    ("tensorflow-gpu", Renamed::To("tensorflow", "its old name with CUDA")),
    ("tensorflow-intel", Renamed::Gone(WINDOWS)),
    ("tensorrt", Renamed::Gone(CUDA)),
    ("tensorrt-cu12", Renamed::Gone(CUDA)),
    ("tensorrt-cu12-bindings", Renamed::Gone(CUDA)),
    ("tensorrt-cu12-libs", Renamed::Gone(CUDA)),
    ("tf-estimator-nightly", Renamed::Gone("TensorFlow does not need it any more")),
    ("triton", Renamed::Gone(CUDA)),
    (
        "uuid",
        Renamed::Unfit {
            below: None,
            why: "it is a source archive of 2006 that would hide the module `uuid` of Python itself",
            remedy: "leave it out: `import uuid` works without it",
        },
    ),
    ("vllm", Renamed::Gone(CUDA)),
    ("windows-curses", Renamed::Gone(WINDOWS)),
    ("wincertstore", Renamed::Gone(WINDOWS)),
    ("xformers", Renamed::Gone(CUDA)),
    ("pyreadline", Renamed::Gone(WINDOWS)),
];

/// Returns what becomes of a package on a Mac; `None` where it stays what it is.
pub(super) fn renamed(name: &str) -> Option<&'static Renamed> {
    if name.starts_with("nvidia-") && name != "nvidia-ml-py" {
        return Some(&Renamed::Gone(CUDA));
    }
    RENAMED.iter().find(|(known, _)| *known == name).map(|(_, renamed)| renamed)
}

/// What is worth knowing of packages that are kept.
const ADVICE: [(&str, &str); 8] = [
    ("nvidia-ml-py", "reads cards of NVIDIA, which no Mac has"),
    ("onnx-graphsurgeon", "prepares models for TensorRT, which runs on no Mac"),
    ("opuslib", "needs the library opus besides: `brew install opus`"),
    ("polygraphy", "is for TensorRT, which runs on no Mac"),
    ("pynvml", "reads cards of NVIDIA, which no Mac has"),
    ("pyreadline3", "is for Windows"),
    ("tk", "is not Tkinter, which comes with Python: `import tkinter`"),
    ("exllamav2", "computes with CUDA, which no Mac has"),
];

/// Returns what is worth knowing of a package that is kept.
pub(super) fn advice(name: &str) -> Option<&'static str> {
    ADVICE.iter().find(|(known, _)| *known == name).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_name_becomes_stays() {
        for (name, renamed) in &RENAMED {
            assert!(name.parse::<crate::pep::PackageName>().is_ok_and(|one| one.as_str() == *name), "{name}");
            if let Renamed::To(to, _) = renamed {
                assert!(super::renamed(to).is_none(), "{name}");
            }
        }
    }
}
