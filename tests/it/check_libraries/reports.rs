//! Full reports, R04 to R09 and R18: what people met, as sets.

use macml::check::facts::Unloadable;
use macml::pipeline::check::Class;

use super::sets::{check, one, real, reals, set, text};
use crate::check_rules::made::{Wheel, dylib, wheel};
use crate::support::image::{Made, module};

const TORCH: &str = "torch-2.9.1-cp311-none-macosx_11_0_arm64";

/// The tag fits, the header fits, and MPS needs another macOS.
#[test]
fn r04_torch_that_needs_a_later_macos_for_the_gpu() {
    let set = |wheel: &str| set([real(wheel)], "13.7");
    let newer = set("torch-2.11.0-cp311-cp311-macosx_11_0_arm64");
    check(
        &newer.known(),
        "condemned",
        Class::No,
        "known-conflict",
        &[
            "error[known-conflict]: by what is known this set does not work on macOS 13.7: `torch` 2.11.0 needs macOS >=14.0 \
             for the GPU",
            "rule `torch-2.9-mps-needs-macos-14`: ",
            "= take `torch` 2.8.0, the newest known to use the GPU of macOS 13.7; or only Macs with macOS >=14.0",
        ],
    );
    assert_eq!(newer.libraries().word.as_str(), "load");
    assert_eq!(set("torch-2.8.0-cp311-none-macosx_11_0_arm64").known().word.as_str(), "clean");
}

/// dyld is content with this pair: only metadata tells.
#[test]
fn r05_torchvision_beside_another_torch() {
    let vision = |torch: &str| {
        let [torch, vision] = &mut reals(&[torch, "torchvision-0.22.1-cp311-cp311-macosx_11_0_arm64"])[..] else {
            unreachable!()
        };
        let vision = std::mem::replace(vision, wheel("a-1-py3-none-any")).asks("torch", "==2.7.1");
        set([std::mem::replace(torch, wheel("a-1-py3-none-any")), vision], "14.0").libraries()
    };
    check(
        &vision("torch-2.8.0-cp311-none-macosx_11_0_arm64"),
        "do-not-load",
        Class::No,
        "requirement-unmet",
        &[
            "error[requirement-unmet]: `torchvision` 0.22.1 asks for `torch` 2.7.1, and beside it is `torch` 2.8.0",
            "= take `torch` 2.7.1, or a release of `torchvision` that asks for `torch` 2.8.0",
        ],
    );
    // Of another one it lacks names too, and the hint says which it asks for.
    let older = vision("torch-2.6.0-cp311-none-macosx_11_0_arm64");
    let symbols = one(&older, "symbol-missing");
    assert_eq!(symbols.finding.hint.as_deref(), Some("`torchvision` 0.22.1 itself asks for `torch` 2.7.1"));
    assert_eq!(symbols.package.as_ref().unwrap().as_str(), "torchvision");
    assert!(symbols.path.as_ref().unwrap().starts_with("torchvision/"), "{symbols:?}");
    let own = vision("torch-2.7.1-cp311-none-macosx_11_0_arm64");
    assert_eq!((own.word.as_str(), text(&own).as_str()), ("load", ""));
}

#[test]
fn r05_torchaudio_that_declares_no_torch() {
    let part = set(reals(&["torchaudio-2.11.0-cp311-cp311-macosx_11_0_arm64", TORCH]), "14.0").libraries();
    let needs = "`torchaudio` 2.11.0 needs `torch` >=2.10: rule `torchaudio-2.11.0-needs-torch-2.10`";
    check(&part, "do-not-load", Class::No, "symbol-missing", &["of `torch` 2.9.1 does not have", needs]);
    // The next one declares it.
    let [audio, torch] =
        <[Wheel; 2]>::try_from(reals(&["torchaudio-2.11.1-py3-none-macosx_14_0_arm64", TORCH])).ok().unwrap();
    let part = set([audio.asks("torch", ">=2.11"), torch], "14.0").libraries();
    check(&part, "do-not-load", Class::No, "symbol-missing", &["= `torchaudio` 2.11.1 itself asks for `torch` >=2.11"]);
}

#[test]
fn r06_the_plugin_breaks_tensorflow() {
    const METAL: &str = "tensorflow_metal-1.2.0-cp311-cp311-macosx_12_0_arm64";
    let fits = "`tensorflow-metal` 1.2.0 needs `tensorflow` >=2.13, <2.20 or `tensorflow-macos` >=2.12, <2.15.1";
    let forced = set(reals(&["tensorflow-2.21.0-cp311-cp311-macosx_12_0_arm64", METAL]), "14.0");
    let part = forced.libraries();
    check(
        &part,
        "do-not-load",
        Class::No,
        "library-missing",
        &[
            "dyld says: Library not loaded: @rpath/_pywrap_tensorflow_internal.so | Referenced from: \
             tensorflow-plugins/libmetal_plugin.dylib",
            &format!("= {fits}"),
        ],
    );
    let told = one(&part, "library-missing");
    assert_eq!(told.package.as_ref().unwrap().as_str(), "tensorflow-metal");
    assert_eq!(told.path.as_deref(), Some("tensorflow-plugins/libmetal_plugin.dylib"));
    let known = forced.known();
    assert_eq!(known.word.as_str(), "condemned");
    assert!(text(&known).contains(&format!("does not work on macOS 14.0: {fits}")), "{}", text(&known));
    assert!(
        text(&known).contains("= take `tensorflow` >=2.13, <2.20, or leave `tensorflow-metal` out"),
        "{}",
        text(&known)
    );
    // Another rule says the same of the pair, and less.
    one(&known, "known-conflict");
    // Forced by `ignore-rules`, which says so, dyld says no all the same.
    let ignored = ["metal-1.2.0-tf", "metal-dead-for-tf-2.20"].map(str::to_owned).to_vec();
    let forced = forced.locked().but(|set| set.ignored = ignored);
    let known = forced.known();
    assert_eq!(known.word.as_str(), "clean", "{}", text(&known));
    assert!(text(&known).contains("note[rule-ignored]: rule `metal-1.2.0-tf` is switched off by `ignore-rules`"));
    assert_eq!(forced.libraries().word.as_str(), "do-not-load");

    let older = reals(&[
        "tensorflow-2.18.1-cp311-cp311-macosx_12_0_arm64",
        "tensorflow_metal-1.1.0-cp311-cp311-macosx_12_0_arm64",
    ]);
    check(
        &set(older, "14.0").libraries(),
        "do-not-load",
        Class::No,
        "symbol-missing",
        &["Symbol not found: ", "needs `tensorflow` >=2.13, <2.18"],
    );
    let pair = set(reals(&["tensorflow-2.18.1-cp311-cp311-macosx_12_0_arm64", METAL]), "14.0");
    assert_eq!((pair.libraries().word.as_str(), pair.known().word.as_str()), ("load", "clean"));
}

#[test]
fn r07_mlx_without_its_library_or_with_another() {
    let mlx = || real("mlx-0.32.0-cp311-cp311-macosx_14_0_arm64").asks("mlx-metal", "==0.32.0");
    let metal = |version: &str| real(&format!("mlx_metal-{version}-py3-none-macosx_14_0_arm64"));
    assert_eq!(set([mlx(), metal("0.32.0")], "14.0").libraries().word.as_str(), "load");
    // The upgrade took it away.
    let gone = set([mlx(), wheel("mlx_metal-0.32.0-py3-none-macosx_14_0_arm64")], "14.0").libraries();
    let told = one(&gone, "library-from-outside");
    assert_eq!(told.package.as_ref().unwrap().as_str(), "mlx");
    assert!(text(&gone).contains("dyld says: Library not loaded: @rpath/libmlx.dylib"), "{}", text(&gone));
    // It is not in the set.
    let absent = set([mlx()], "14.0").libraries();
    let hint = "= add `mlx-metal` to the set";
    check(&absent, "do-not-load", Class::No, "native-half-missing", &["`mlx-metal`, which brings it", hint]);
    let other = set([mlx(), metal("0.29.4")], "14.0").libraries();
    check(&other, "do-not-load", Class::No, "symbol-missing", &["= `mlx` 0.32.0 itself asks for `mlx-metal` 0.32.0"]);
    check(&other, "do-not-load", Class::No, "requirement-unmet", &["asks for `mlx-metal` 0.32.0"]);
    // Before the library moved.
    let both = set([wheel("mlx-0.26.3-cp311-cp311-macosx_14_0_arm64"), metal("0.28.0")], "14.0").known();
    check(
        &both,
        "condemned",
        Class::No,
        "known-conflict",
        &["`mlx` 0.26.3 cannot be beside `mlx-metal`", "= take `mlx` >=0.26.5"],
    );
}

#[test]
fn r08_nightly_builds_of_several_nights() {
    let nights = |audio: &str| {
        set([], "14.0")
            .built("torch", "2.7.0.dev20260105")
            .built("torchaudio", audio)
            .built("torchvision", "0.22.0.dev20260105")
    };
    check(
        &nights("2.8.0.dev20251103").known(),
        "condemned",
        Class::No,
        "known-conflict",
        &["nightly builds of several nights", "`torchaudio` of 20251103", "rule `torch-nightlies-of-one-night`"],
    );
    assert_eq!(nights("2.8.0.dev20260105").known().word.as_str(), "clean");
    let ignored = nights("2.8.0.dev20251103").but(|set| set.ignored = vec!["torch-nightlies-of-one-night".to_owned()]);
    assert_eq!(ignored.known().word.as_str(), "clean");
    // What macml locked was of one night once.
    let news = nights("2.8.0.dev20251103").locked().known();
    check(&news, "clean", Class::Yes, "newly-known", &["warning[newly-known]: by what is known now"]);
}

#[test]
fn r09_coremltools_from_source() {
    let source = set([], "14.0").built("coremltools", "9.0");
    check(
        &source.libraries(),
        "unread",
        Class::NotLooked,
        "wheel-unread",
        &["warning[wheel-unread]: `coremltools` has no wheel for this Mac"],
    );
    let known = source.known();
    assert!(text(&known).contains("builds on any Python, but without the native libraries"), "{}", text(&known));
}

fn torch(version: &str) -> Wheel {
    let omp = "/opt/llvm-openmp/lib/libomp.dylib";
    let omp = dylib("torch/lib/libomp.dylib", omp).but(|slice| slice.markers.openmp = true);
    let cpu = dylib("torch/lib/libtorch_cpu.dylib", "@rpath/libtorch_cpu.dylib").needs("@loader_path/libomp.dylib");
    wheel(&format!("torch-{version}-cp311-cp311-macosx_14_0_arm64")).with(cpu).with(omp)
}

fn sklearn() -> Wheel {
    let omp = dylib("sklearn/.dylibs/libomp.dylib", "/DLC/sklearn/.dylibs/libomp.dylib");
    let module = module("sklearn/_isotonic.cpython-311-darwin.so").needs("@loader_path/.dylibs/libomp.dylib");
    wheel("scikit_learn-1.7.2-cp311-cp311-macosx_12_0_arm64")
        .with(module)
        .with(omp.but(|slice| slice.markers.openmp = true))
}

fn lightgbm() -> Wheel {
    let library: Made = dylib("lightgbm/lib/lib_lightgbm.dylib", "@rpath/lib_lightgbm.dylib")
        .needs("@rpath/libomp.dylib")
        .rpath("/opt/homebrew/opt/libomp/lib")
        .imports(1, &["___kmpc_fork_call"]);
    wheel("lightgbm-4.6.0-py3-none-macosx_12_0_arm64").with(library)
}

#[test]
fn r18_torch_beside_lightgbm() {
    let part = set([torch("2.13.0"), lightgbm(), sklearn()], "14.0").libraries();
    assert_eq!(part.word.as_str(), "do-not-load", "{}", text(&part));
    let errors: Vec<_> =
        part.told.iter().filter(|told| told.finding.severity == macml::diag::Severity::Error).collect();
    let [error] = errors[..] else { panic!("{}", text(&part)) };
    assert_eq!(error.finding.code.as_str(), "several-openmp");
    assert_eq!(error.package.as_ref().unwrap().as_str(), "lightgbm");
    assert!(error.finding.hint.as_ref().unwrap().contains("environments or processes of their own"), "{error:?}");
    let known = set([torch("2.13.0"), lightgbm(), sklearn()], "14.0").known();
    let problem = "known problem of `lightgbm` 4.6.0, a crash: It takes Homebrew's OpenMP runtime";
    check(&known, "clean", Class::Yes, "known-problem", &[problem, "`n_jobs=1`", "= prefer `torch` <2.11"]);
    let part = set([torch("2.13.0"), sklearn()], "14.0").libraries();
    check(&part, "load", Class::Yes, "several-openmp", &["note[several-openmp]: "]);
}

/// One x86_64 file among others, and one bit.
#[test]
fn what_is_wrong_with_single_files_is_named() {
    let other = module("a/_y.so").broken(Unloadable::Architecture);
    let part =
        set([wheel("a-1.0-cp311-cp311-macosx_12_0_arm64").with(module("a/_x.so")).with(other)], "14.0").libraries();
    check(&part, "do-not-load", Class::No, "wrong-architecture", &["`a/_y.so` of `a` 1.0"]);
    assert_eq!(one(&part, "wrong-architecture").path.as_deref(), Some("a/_y.so"));
    let flipped = module("a/_x.so").but(|slice| slice.signature = macml::check::facts::Signature::Broken(4096));
    let part = set([wheel("a-1.0-cp311-cp311-macosx_12_0_arm64").with(flipped)], "14.0").libraries();
    check(&part, "do-not-load", Class::No, "signature-broken", &["its page at 4096"]);
    assert_eq!(one(&part, "signature-broken").path.as_deref(), Some("a/_x.so"));
}
