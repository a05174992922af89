//! Several OpenMP runtimes, as real wheels have and expect them.

use super::made::{Wheel, check, dylib, judged, told, wheel};
use crate::support::image::{Made, module};

fn runtime(path: &str, install_name: &str) -> Made {
    dylib(path, install_name).but(|slice| slice.markers.openmp = true).exports(&["___kmpc_fork_call"])
}

fn torch(version: &str, install_name: &str) -> Wheel {
    let cpu = dylib("torch/lib/libtorch_cpu.dylib", "@rpath/libtorch_cpu.dylib");
    let cpu = cpu.needs("@loader_path/libomp.dylib").imports(1, &["___kmpc_fork_call"]);
    let stem = format!("torch-{version}-cp312-cp312-macosx_14_0_arm64");
    wheel(&stem).with(cpu).with(runtime("torch/lib/libomp.dylib", install_name))
}

/// As `delocate` leaves it.
fn sklearn() -> Wheel {
    let name = "/DLC/sklearn/.dylibs/libomp.dylib";
    let module = module("sklearn/_isotonic.cpython-312-darwin.so").needs("@loader_path/.dylibs/libomp.dylib");
    wheel("scikit_learn-1.7.2-cp312-cp312-macosx_12_0_arm64")
        .with(module.imports(1, &["___kmpc_fork_call"]))
        .with(runtime("sklearn/.dylibs/libomp.dylib", name))
}

/// As the wheels of 4.6.0 and 4.7.0 are.
fn lightgbm() -> Wheel {
    let library = dylib("lightgbm/lib/lib_lightgbm.dylib", "@rpath/lib_lightgbm.dylib")
        .needs("@rpath/libomp.dylib")
        .rpath("/opt/homebrew/opt/libomp/lib")
        .rpath("/opt/local/lib/libomp")
        .imports(1, &["___kmpc_fork_call", "_omp_get_max_threads"]);
    wheel("lightgbm-4.6.0-py3-none-macosx_12_0_arm64").with(library)
}

/// What is said of several runtimes.
fn several(set: &[Wheel]) -> Vec<String> {
    judged(set).iter().filter(|one| one.code == macml::diag::Code::SeveralOpenmp).map(told).collect()
}

#[test]
fn one_is_no_news() {
    check(&[torch("2.15.0", "/opt/llvm-openmp/lib/libomp.dylib")], &[]);
    check(&[sklearn()], &[]);
    assert!(several(&[lightgbm()]).is_empty());
}

#[test]
fn each_its_own_is_a_note() {
    check(
        &[torch("2.15.0", "/opt/llvm-openmp/lib/libomp.dylib"), sklearn()],
        &[
            "note[several-openmp]: `scikit-learn` and `torch` bring an OpenMP runtime each",
            "  `sklearn/.dylibs/libomp.dylib` of `scikit-learn` 1.7.2",
            "  `torch/lib/libomp.dylib` of `torch` 2.15.0",
            "  = nothing is to be done unless a process that uses several of them at once aborts with `OMP: Error #15` or \
             crashes; `KMP_DUPLICATE_LIB_OK` is no cure",
        ],
    );
    // Of these two a crash is known.
    let faiss = wheel("faiss_cpu-1.12.0-cp312-cp312-macosx_14_0_arm64")
        .with(runtime("faiss/.dylibs/libomp.dylib", "/DLC/faiss/.dylibs/libomp.dylib"));
    let told = several(&[torch("2.15.0", "/opt/llvm-openmp/lib/libomp.dylib"), faiss]);
    assert!(told[0].starts_with("warning[several-openmp]: `faiss-cpu` and `torch` bring an OpenMP runtime each\n"));
    assert!(told[0].contains("rule `faiss-and-torch-bring-openmp-each`"), "{told:?}");
}

#[test]
fn one_from_the_mac_beside_one_of_the_set_is_an_error() {
    let told = several(&[torch("2.13.0", "/opt/llvm-openmp/lib/libomp.dylib"), lightgbm()]);
    assert_eq!(
        told,
        [
            "error[several-openmp]: `lightgbm/lib/lib_lightgbm.dylib` of `lightgbm` 4.6.0 loads an OpenMP runtime of the Mac \
          beside that of `torch` 2.13.0\n  it looks for `@rpath/libomp.dylib`, and `torch/lib/libomp.dylib` is called \
          `/opt/llvm-openmp/lib/libomp.dylib`\n  both in one process crash or compute wrong; `KMP_DUPLICATE_LIB_OK` only \
          silences the message\n  = keep `lightgbm` and `torch` in environments or processes of their own; a release of \
          `torch` whose runtime is called `@rpath/libomp.dylib` or \
          `/opt/homebrew/opt/libomp/lib/libomp.dylib` would be shared; or let `lightgbm` use one thread"
        ]
    );
    // Beside copies that others keep to themselves it is everyday, unless a crash is known.
    assert_eq!(
        several(&[sklearn(), lightgbm()]),
        [
            "note[several-openmp]: `lightgbm/lib/lib_lightgbm.dylib` of `lightgbm` 4.6.0 loads an OpenMP runtime of the Mac \
          beside that of `scikit-learn` 1.7.2\n  it looks for `@rpath/libomp.dylib`, and `sklearn/.dylibs/libomp.dylib` is \
          called `/DLC/sklearn/.dylibs/libomp.dylib`\n  = nothing is to be done unless a process that uses several of them \
          at once aborts with `OMP: Error #15` or crashes; `KMP_DUPLICATE_LIB_OK` is no cure"
        ]
    );
    // The worst is told.
    let told = several(&[sklearn(), torch("2.13.0", "/opt/llvm-openmp/lib/libomp.dylib"), lightgbm()]);
    assert_eq!(told.len(), 2);
    assert!(told[0].starts_with("error[several-openmp]: ") && told[0].contains("`torch` 2.13.0"), "{told:?}");
    assert!(told[1].starts_with("note[several-openmp]: `scikit-learn` and `torch`"), "{told:?}");
}

#[test]
fn a_runtime_that_is_called_as_it_is_looked_for_is_shared() {
    for (version, name) in [("2.8.0", "/opt/homebrew/opt/libomp/lib/libomp.dylib"), ("2.6.0", "@rpath/libomp.dylib")] {
        let told = several(&[torch(version, name), lightgbm()]);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with(&format!(
                "note[several-openmp]: `lightgbm/lib/lib_lightgbm.dylib` of `lightgbm` 4.6.0 takes the OpenMP runtime of \
                 `torch` {version} only where that is loaded first\n"
            )),
            "{told:?}"
        );
    }
}

/// As numba's wheels are: no folder is named, so that no runtime of the Mac is ever loaded.
#[test]
fn one_that_is_looked_for_nowhere_is_none() {
    let numba = || {
        let module = module("numba/np/ufunc/omppool.cpython-312-darwin.so").needs("@rpath/libomp.dylib");
        wheel("numba-0.68.1-cp312-cp312-macosx_12_0_arm64").with(module.imports(1, &["___kmpc_fork_call"]))
    };
    let torch_of = |name: &str| torch("2.15.0", name);
    assert!(several(&[torch_of("/opt/llvm-openmp/lib/libomp.dylib"), numba()]).is_empty());
    assert!(several(&[sklearn(), numba()]).is_empty());
    // It takes one that is called as it is looked for, whatever else is there.
    let told = several(&[sklearn(), torch_of("@rpath/libomp.dylib"), numba()]);
    assert!(told[0].contains("of `numba` 0.68.1 takes the OpenMP runtime of `torch` 2.15.0 only where"), "{told:?}");
    assert!(told.len() == 2 && told.iter().all(|one| one.starts_with("note[")), "{told:?}");
    // One of a folder of the machine that built it, which no other has, is none either.
    let library = dylib("b/libb.dylib", "@rpath/libb.dylib").needs("@rpath/libomp.dylib").rpath("/Users/builder/lib");
    let b = wheel("b-1.0-py3-none-macosx_12_0_arm64").with(library.imports(1, &["___kmpc_fork_call"]));
    assert!(several(&[torch_of("/opt/llvm-openmp/lib/libomp.dylib"), b]).is_empty());
}

#[test]
fn what_is_missing_is_told_besides() {
    let findings = judged(&[torch("2.13.0", "/opt/llvm-openmp/lib/libomp.dylib"), lightgbm()]);
    let told: Vec<String> = findings.iter().map(told).collect();
    let outside = told.iter().find(|one| one.starts_with("warning[library-from-outside]: ")).unwrap();
    assert!(outside.contains("that of `torch` is not where this one is looked for"), "{outside}");
    assert!(outside.contains("`brew install libomp`"), "{outside}");
}
