//! Environments of real frameworks from the real index, each made once for all runs, for tests that were asked for by
//! `MACML_LIVE`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::real_answers::live;

/// Whether the large frameworks are to be downloaded too, two gigabytes of them: `MACML_LIVE=full`.
pub(crate) fn full() -> bool {
    live() && std::env::var("MACML_LIVE").as_deref() == Ok("full")
}

/// What the Linux wheel of torch 2.13 needs beside it on a processor; the rest of what it names computes on GPUs.
const TORCH: &[&str] = &[
    "--no-deps",
    "torch==2.13.0",
    "numpy",
    "typing_extensions",
    "sympy",
    "mpmath",
    "networkx",
    "jinja2",
    "markupsafe",
    "filelock",
    "fsspec",
    "nvidia-cuda-runtime==13.5.37",
    "nvidia-cuda-cupti==13.5.25",
];

/// The libraries of GPUs that torch's own are linked to, two gigabytes of them, of which a processor needs no function.
const GPU_LIBRARIES: [&str; 12] = [
    "libcublas.so.13",
    "libcublasLt.so.13",
    "libcudnn.so.9",
    "libcufft.so.12",
    "libcufile.so.0",
    "libcurand.so.10",
    "libcusolver.so.12",
    "libcusparse.so.12",
    "libcusparseLt.so.0",
    "libnccl.so.2",
    "libnvrtc.so.13",
    "libnvshmem_host.so.3",
];

/// Where they are, and what is kept of runs.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-verify")
}

/// Returns the interpreter of the environment with torch 2.13.0.
pub(crate) fn torch() -> PathBuf {
    environment("torch", TORCH)
}

/// Makes an environment with these packages, or takes the one that an earlier run made, and returns its interpreter.
pub(crate) fn environment(name: &str, packages: &[&str]) -> PathBuf {
    // One at a time, since several tests need the same.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let root = folder().join(name);
    let python = root.join("bin/python");
    let mark = root.join("made-of");
    let wanted = packages.join(" ");
    if std::fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        return python;
    }
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).unwrap();
    done(Command::new("python3").args(["-m", "venv"]).arg(&root));
    done(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages));
    if name == "torch" && cfg!(target_os = "linux") {
        without_gpu(&python);
    }
    std::fs::write(mark, wanted).unwrap();
    python
}

/// Returns where the packages of an environment lie.
pub(crate) fn site_packages(python: &Path) -> PathBuf {
    let code = "import sysconfig; print(sysconfig.get_path('platlib'))";
    PathBuf::from(done(Command::new(python).args(["-I", "-c", code])).trim())
}

#[track_caller]
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Puts empty libraries in the place of those for GPUs. Torch's own bind functions when they are called, if Python lets
/// them.
fn without_gpu(python: &Path) {
    let site = site_packages(python);
    let folder = site.join("nvidia/cu13/lib");
    let source = folder.join("nothing.c");
    std::fs::write(&source, "typedef int nothing;\n").unwrap();
    for library in GPU_LIBRARIES {
        let name = format!("-Wl,-soname,{library}");
        done(Command::new("cc").args(["-shared", "-fPIC", &name, "-o"]).arg(folder.join(library)).arg(&source));
    }
    std::fs::write(site.join("lazy.pth"), "import sys, os; sys.setdlopenflags(os.RTLD_LAZY)\n").unwrap();
}
