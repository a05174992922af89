//! What dyld refuses, and what Python does.

use macml::check::facts::{ForeignFormat, Hook, Kind, Platform, Signature, Unloadable};

use super::made::{Wheel, check, dylib, wheel};
use crate::support::image::{Made, module};

const TORCH: &str = "torch-2.13.0-cp312-cp312-macosx_14_0_arm64";
const VISION: &str = "torchvision-0.29.2-cp312-cp312-macosx_14_0_arm64";
const METAL: &str = "tensorflow_metal-1.1.0-cp312-cp312-macosx_12_0_arm64";

fn metal(module: Made) -> Wheel {
    wheel(METAL).with(module).plugs_into(Hook::TensorFlow)
}

fn tensorflow(version: &str, install_name: &str) -> Wheel {
    let big = dylib("tensorflow/python/_pywrap_tensorflow_internal.so", install_name).exports(&["_TF_NewStatus", "_a"]);
    wheel(&format!("tensorflow-{version}-cp312-cp312-macosx_12_0_arm64")).with(big)
}

fn plugin() -> Made {
    dylib("tensorflow-plugins/libmetal_plugin.dylib", "bazel-out/libmetal_plugin.dylib")
        .needs("@rpath/_pywrap_tensorflow_internal.so")
        .rpath("@loader_path/../_solib")
}

#[test]
fn what_is_as_it_should_be_is_no_news() {
    check(&[tensorflow("2.18.1", "@rpath/_pywrap_tensorflow_internal.so"), metal(plugin().imports(1, &["_a"]))], &[]);
    let c10 = dylib("torch/lib/libc10.dylib", "@rpath/libc10.dylib").exports(&["_a"]);
    let c = module("torch/_C.so").needs("@rpath/libc10.dylib").rpath("@loader_path/lib");
    let ours = module("torchvision/_C.cpython-312-darwin.so").needs("@rpath/libc10.dylib").imports(1, &["_a"]);
    check(&[wheel(TORCH).with(c).with(c10), wheel(VISION).with(ours).requires("torch")], &[]);
}

#[test]
fn names_that_are_missing_are_one_finding_for_each_image() {
    let names = ["__ZN3c101aEv", "__ZN3c101bEv", "__ZN3c101cEv"];
    let c10 = || dylib("torch/lib/libc10.dylib", "@rpath/libc10.dylib");
    let other = dylib("torch/lib/libother.dylib", "@rpath/libother.dylib").exports(&["__ZN3c101aEv"]);
    let c = module("torch/_C.so").needs("@rpath/libc10.dylib").rpath("@loader_path/lib");
    let torch = || wheel(TORCH).with(c.clone()).with(c10()).with(other.clone());
    let ours = || module("torchvision/_C.so").needs("@rpath/libc10.dylib");
    let set = |names: &[&str]| [torch(), wheel(VISION).with(ours().imports(1, names)).requires("torch")];
    let words = "dyld says: Symbol not found: __ZN3c101aEv | Referenced from: torchvision/_C.so | \
                 Expected in:     torch/lib/libc10.dylib";
    let place = "which `torch/lib/libc10.dylib` of `torch` 2.13.0 does not have";
    check(
        &set(&names),
        &[
            &format!(
                "error[symbol-missing]: `torchvision/_C.so` of `torchvision` 0.29.2 needs `__ZN3c101aEv` and 2 more names, \
                 {place}"
            ),
            &format!("  {words}"),
            "  it is in `torch/lib/libother.dylib`, where it is not looked for",
            "  = take releases of `torchvision` and `torch` that were built for each other",
        ],
    );
    check(
        &set(&names[1..2]),
        &[
            &format!(
                "error[symbol-missing]: `torchvision/_C.so` of `torchvision` 0.29.2 needs `__ZN3c101bEv`, {place}"
            ),
            &format!("  {}", words.replace("1aEv", "1bEv")),
            "  = take releases of `torchvision` and `torch` that were built for each other",
        ],
    );
}

#[test]
fn what_fits_is_told_where_it_is_known() {
    let names = ["__ZN3tsl1aEv"];
    let set = [tensorflow("2.18.1", "@rpath/_pywrap_tensorflow_internal.so"), metal(plugin().imports(1, &names))];
    let findings = super::made::judged(&set);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(finding.code.as_str(), "symbol-missing");
    let hint = finding.hint.as_deref().unwrap();
    assert!(hint.starts_with("`tensorflow-metal` 1.1.0 needs `tensorflow`") && hint.contains("rule `"), "{hint}");
}

#[test]
fn a_library_that_is_there_under_another_name() {
    let set = [tensorflow("2.20.0", "bazel-out/lib_16.dylib"), metal(plugin().imports(-2, &["_TF_Other"]))];
    let findings = super::made::judged(&set);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    let told = super::made::told(finding);
    for part in [
        "error[library-missing]: `tensorflow-plugins/libmetal_plugin.dylib` of `tensorflow-metal` 1.1.0 needs \
         `@rpath/_pywrap_tensorflow_internal.so`, which is not where dyld looks for it",
        "dyld says: Library not loaded: @rpath/_pywrap_tensorflow_internal.so | Referenced from",
        "`tensorflow/python/_pywrap_tensorflow_internal.so` of `tensorflow` 2.20.0 is called `bazel-out/lib_16.dylib`",
        "besides, `_TF_Other` is missing from what is loaded",
        "= `tensorflow-metal` 1.1.0 needs `tensorflow`",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
}

#[test]
fn libraries_from_outside_by_where_they_are_expected() {
    let set = |images: Vec<Made>| [images.into_iter().fold(wheel("a-1.0-cp312-cp312-macosx_12_0_arm64"), Wheel::with)];
    let start = |rpath: &str| module("a/_x.so").needs("@rpath/libx.dylib").rpath(rpath);
    let check = |images: Vec<Made>, severity: &str, parts: &[&str]| {
        let findings = super::made::judged(&set(images));
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        let told = super::made::told(finding);
        assert!(told.starts_with(&format!("{severity}[library-from-outside]: ")), "{told}");
        parts.iter().for_each(|part| assert!(told.contains(part), "{part}\n{told}"));
    };
    check(vec![start("/opt/homebrew/opt/x/lib")], "warning", &["`brew install x`"]);
    check(vec![start("/opt/local/lib")], "warning", &["MacPorts"]);
    check(vec![start("/Users/b/lib")], "warning", &["machine that built the wheel"]);
    check(
        vec![start("@loader_path")],
        "warning",
        &["in the environment only", "Library not loaded: @rpath/libx.dylib"],
    );
    let optional = |number: u8| {
        let names = ["avutil", "avcodec", "avformat"].map(|name| format!("@rpath/lib{name}.{number}.dylib"));
        names.iter().fold(module(&format!("a/_ffmpeg{number}.so")), |made, name| made.needs(name))
    };
    check(
        vec![optional(4), optional(5), optional(6)],
        "note",
        &["`a/_ffmpeg4.so` and 2 more images of `a` 1.0 need `libavcodec.4.dylib`", "and 5 more, which no package"],
    );
}

#[test]
fn what_is_for_another_processor_or_system() {
    let numpy = || wheel("numpy-2.3.5-cp312-cp312-macosx_14_0_x86_64");
    let intel = |path: &str| module(path).broken(Unloadable::Architecture);
    let told = |set: &[Wheel]| super::made::judged(set).iter().map(super::made::told).collect::<Vec<_>>();
    let all = told(&[numpy().with(intel("numpy/_a.so")).with(intel("numpy/_b.so"))]);
    assert_eq!(all.len(), 1);
    assert!(
        all[0]
            .starts_with("error[wrong-architecture]: all 2 images of `numpy` 2.3.5 are for x86_64 and not for arm64\n"),
        "{all:?}"
    );
    let some = told(&[numpy().with(intel("numpy/_a.so")).with(module("numpy/_b.so"))]);
    assert!(some[0].starts_with("error[wrong-architecture]: `numpy/_a.so` of `numpy` 2.3.5 is for x86_64"), "{some:?}");
    assert!(
        some[0]
            .contains("(mach-o file, but is an incompatible architecture (have 'x86_64', need 'arm64e' or 'arm64'))")
    );
    let phone = module("numpy/_a.so").but(|slice| slice.build.as_mut().unwrap().platform = Platform::Other(2));
    let phone = told(&[numpy().with(phone)]);
    assert!(phone[0].starts_with("error[wrong-architecture]: `numpy/_a.so` of `numpy` 2.3.5 is for another system"));
    // As debugpy's and paddlepaddle's: nobody imports or needs it.
    let beside = |path: &str| {
        let aside = dylib(path, "@rpath/aside").broken(Unloadable::Architecture);
        told(&[wheel("a-1.0-cp312-cp312-macosx_12_0_arm64").with(aside).with(module("a/_c.so"))])
    };
    assert_eq!(
        beside("a/attach_x86_64.dylib"),
        [
            "note[wrong-architecture]: `a/attach_x86_64.dylib` of `a` 1.0 is for x86_64 and not for arm64\n  its name says so, \
          and no image needs it"
        ]
    );
    let aside = beside("a/libblas.dylib");
    assert!(
        aside[0].starts_with("warning[wrong-architecture]: `a/libblas.dylib` of `a` 1.0 is for x86_64"),
        "{aside:?}"
    );
    // As mediapipe 0.10.8 has them, left over from joining two wheels.
    let stub = intel("a/_c/arm64.cpython-312-darwin.so");
    let module_beside = module("a/_c.cpython-312-darwin.so");
    let behind = told(&[wheel("a-1.0-cp312-cp312-macosx_12_0_arm64").with(stub).with(module_beside)]);
    assert!(behind[0].starts_with("warning[wrong-architecture]: `a/_c/arm64.cpython-312-darwin.so`"), "{behind:?}");
    // One that is needed, and one that is all there is.
    let library = || dylib("a/libx_x86_64.dylib", "@rpath/libx").broken(Unloadable::Architecture);
    let user = module("a/_c.so").needs("@loader_path/libx_x86_64.dylib");
    let needed = told(&[wheel("a-1.0-cp312-cp312-macosx_12_0_arm64").with(library()).with(user)]);
    assert!(needed.iter().any(|one| one.starts_with("error[wrong-architecture]: `a/libx_x86_64.dylib`")), "{needed:?}");
    let only = dylib("a/liba.dylib", "@rpath/liba").broken(Unloadable::Architecture);
    let only = told(&[wheel("a-1.0-py3-none-macosx_12_0_arm64").with(only)]);
    assert!(only[0].starts_with("error[wrong-architecture]: `a/liba.dylib` of `a` 1.0 is for x86_64"), "{only:?}");
    let excused = "torch-1.10.2-cp39-none-macosx_11_0_arm64";
    let excused = told(&[wheel(excused).with(intel("torch/_dl.cpython-39-darwin.so")).with(module("torch/_C.so"))]);
    assert!(
        excused
            .iter()
            .any(|one| one.starts_with("note[wrong-architecture]: `torch/_dl.cpython-39-darwin.so` of `torch` 1.10.2")),
        "{excused:?}"
    );
}

#[test]
fn damaged_and_unsigned() {
    let with = |image: macml::check::facts::Image| [wheel("a-1.0-cp312-cp312-macosx_12_0_arm64").with(image)];
    check(
        &with(module("a/_c.so").broken(Unloadable::Malformed("a segment reaches over its end".to_owned()))),
        &[
            "error[damaged-image]: `a/_c.so` of `a` 1.0 cannot be read",
            "  dyld says: tried: 'a/_c.so' (not a valid mach-o file: a segment reaches over its end)",
            "  = install `a` again; if the wheel itself is so, tell its makers",
        ],
    );
    let signed = |signature: Signature| with(module("a/_c.so").but(|slice| slice.signature = signature).into());
    check(
        &signed(Signature::Broken(8192)),
        &[
            "error[signature-broken]: `a/_c.so` of `a` 1.0 was changed after it was signed: its page at 8192 has another digest",
            "  dyld says: 'a/_c.so': Termination Reason: Namespace CODESIGNING, Code 2, Invalid Page",
            "  = install `a` again; what was patched on purpose must be signed again with `codesign`",
        ],
    );
    let absent = super::made::judged(&signed(Signature::Absent));
    assert!(absent[0].message.ends_with("is not signed, and arm64 code must be"), "{absent:?}");
    check(
        &signed(Signature::Unusable("sha1 only".to_owned())),
        &["note[undecided]: whether `a` 1.0 is as it was signed cannot be told: `a/_c.so`"],
    );
    check(&signed(Signature::Unread), &[]);
}

#[test]
fn names_that_files_do_not_tell() {
    let image = module("a/_c.so").imports(-2, &["_nobodysname", "_nobodyselse"]);
    check(
        &[wheel("a-1.0-cp312-cp312-macosx_12_0_arm64").with(image)],
        &[
            "note[undecided]: whether a Mac has what `a` 1.0 looks for anywhere cannot be told: `_nobodyselse` and `_nobodysname`",
            "  `a/_c.so` needs `_nobodyselse`, and no library of the set has it",
        ],
    );
}

#[test]
fn a_library_that_something_else_must_load_first() {
    // Only another image that itself needs it, by the same text, could bring it in.
    let lost = module("a/_c.so").needs("@rpath/libx.dylib");
    let library = dylib("b/hidden/libx.dylib", "@rpath/libx.dylib").but(|slice| slice.kind = Kind::Dylib);
    let user = |path: &str| module(path).needs("@rpath/libx.dylib");
    let other = wheel("b-1.0-cp312-cp312-macosx_12_0_arm64").with(library);
    let set = [wheel("a-1.0-cp312-cp312-macosx_12_0_arm64").with(lost).with(user("a/_d.so")), other];
    let findings = super::made::judged(&set);
    let told: Vec<String> = findings.iter().map(super::made::told).collect();
    assert!(
        told[0].starts_with(
            "warning[load-order]: `a/_c.so` and another image of `a` 1.0 find `@rpath/libx.dylib` only where \
             `b/hidden/libx.dylib` of `b` 1.0 was loaded before"
        ),
        "{told:?}"
    );
    // As torchcodec's: the package opens one after the other.
    let part = |path: &str, name: &str| dylib(path, &format!("@rpath/{name}.dylib"));
    let set = wheel("a-1.0-cp312-cp312-macosx_12_0_arm64")
        .with(part("a/libcore4.dylib", "libcore4"))
        .with(part("a/libops4.dylib", "libops4").needs("@rpath/libcore4.dylib"))
        .with(part("a/libcore5.dylib", "libcore5"))
        .with(part("a/libops5.dylib", "libops5").needs("@rpath/libcore5.dylib"));
    check(
        &[set],
        &[
            "note[load-order]: `a/libops4.dylib` and another image of `a` 1.0 find a library of the package itself only where \
             that was loaded before",
            "  what must be loaded before is `a/libcore4.dylib` and `a/libcore5.dylib`",
            "  = nothing is to be done: the package opens them itself; opened by hand the image fails with `Library not loaded`",
        ],
    );
    let one = dylib("a/libone.dylib", "@rpath/libone.dylib").needs("@rpath/libtwo.dylib");
    let user = |path: &str, rpath: &str| module(path).needs("@loader_path/libone.dylib").rpath(rpath);
    let copy = |path: &str| dylib(path, "@rpath/libtwo.dylib");
    let set = wheel("a-1.0-cp312-cp312-macosx_12_0_arm64").with(one).with(user("a/_a.so", "@loader_path/a"));
    let set = set.with(user("a/_b.so", "@loader_path/b")).with(copy("a/a/libtwo.dylib")).with(copy("a/b/libtwo.dylib"));
    check(
        &[set],
        &["note[load-order]: `a/libone.dylib` of `a` 1.0 finds another `@rpath/libtwo.dylib` in another process"],
    );
}

#[test]
fn the_other_half_is_not_in_the_set() {
    let core = || module("mlx/core.cpython-312-darwin.so").needs("@rpath/libmlx.dylib").rpath("@loader_path/lib");
    let mlx =
        || wheel("mlx-0.32.4-cp312-cp312-macosx_14_0_arm64").with(core().imports(1, &["_m"])).requires("mlx-metal");
    let half = dylib("mlx/lib/libmlx.dylib", "@rpath/libmlx.dylib").exports(&["_m"]);
    check(&[mlx(), wheel("mlx_metal-0.32.4-py3-none-macosx_14_0_arm64").with(half)], &[]);
    check(
        &[mlx()],
        &[
            "error[native-half-missing]: `mlx/core.cpython-312-darwin.so` of `mlx` 0.32.4 needs `@rpath/libmlx.dylib`, and \
             `mlx-metal`, which brings it, is not in the set",
            "  dyld says: Library not loaded: @rpath/libmlx.dylib | Referenced from: mlx/core.cpython-312-darwin.so | \
             Reason: tried: 'mlx/lib/libmlx.dylib' (no such file)",
            "  = add `mlx-metal` to the set",
        ],
    );
    let plain = wheel("a-1.0-cp312-cp312-macosx_14_0_arm64").with(core().imports(1, &["_m"])).requires("b");
    let findings = super::made::judged(&[plain]);
    let told = super::made::told(&findings[0]);
    assert!(told.starts_with("warning[native-half-missing]: "), "{told}");
    assert!(told.contains("it requires `b`, of which nothing is in the set"), "{told}");
    // What is looked for on another machine is in no package; numba's wheels are so, and require others for older Pythons.
    let builder = module("a/_c.so").needs("@rpath/libomp.dylib").rpath("/Users/ci/lib");
    let builder = wheel("a-1.0-cp312-cp312-macosx_14_0_arm64").with(builder).requires("b");
    let findings = super::made::judged(&[builder]);
    assert!(findings.len() == 1 && findings[0].code == macml::diag::Code::LibraryFromOutside, "{findings:?}");
    // Plugins without their framework: one that cannot be loaded, and one that can.
    let findings = super::made::judged(&[metal(plugin())]);
    let told = super::made::told(&findings[0]);
    assert!(
        told.starts_with(
            "error[native-half-missing]: `tensorflow-metal` 1.1.0 is a plugin for `tensorflow`, which is not"
        ),
        "{told}"
    );
    let jax = dylib("jax_plugins/x/p.dylib", "p.dylib");
    check(
        &[wheel("jax_metal-0.1.1-py3-none-macosx_13_0_arm64").with(jax).plugs_into(Hook::Jax)],
        &[
            "warning[native-half-missing]: `jax-metal` 0.1.1 is a plugin for `jaxlib`, which is not in the set",
            "  = add `jaxlib` to the set",
        ],
    );
}

#[test]
fn modules_for_another_python() {
    let a = || wheel("a-1.0-cp311-cp311-macosx_12_0_arm64");
    let check = |set: Wheel, expected: &[&str]| check(&[set], expected);
    let hint = "  = install the wheel of `a` that is tagged `cp312`";
    check(
        a().with(module("a/_a.cpython-311-darwin.so")).with(module("a/_b.cpython-311-darwin.so")),
        &[
            "error[wrong-cpython]: `_a.cpython-311-darwin.so` and another extension module of `a` 1.0 are for CPython 3.11, \
             and not for 3.12",
            hint,
        ],
    );
    check(
        a().with(module("a/_a.cpython-311-darwin.so")).with(module("a/_b.cpython-312-darwin.so")),
        &["warning[wrong-cpython]: `_a.cpython-311-darwin.so` of `a` 1.0 is for CPython 3.11, and not for 3.12", hint],
    );
    check(
        a().with(module("a/_a.cpython-312t-darwin.so")),
        &["error[wrong-cpython]: `_a.cpython-312t-darwin.so` of `a` 1.0 is for CPython 3.12t, and not for 3.12", hint],
    );
    for beside in ["a/_a.cpython-312-darwin.so", "a/_a.abi3.so", "a/_a.so"] {
        check(a().with(module("a/_a.cpython-311-darwin.so")).with(module(beside)), &[]);
    }
    // Its file name does not say it, its names do: 3.12 took it away.
    let old = module("a/_c.so").imports(-2, &["_PyUnicode_AsUnicode"]);
    check(
        a().with(old),
        &[
            "error[wrong-cpython]: `_c.so` of `a` 1.0 is for another CPython than 3.12",
            "  dyld says: symbol not found in flat namespace '_PyUnicode_AsUnicode'",
            hint,
        ],
    );
}

#[test]
fn wheels_for_all_with_libraries_of_others() {
    let any = |path: &str, format| [wheel("a-1.0-py3-none-any").foreign(path, format)];
    let hint = "  = look for a release of `a` with a wheel for macOS; what uses these libraries fails on a Mac";
    let linux = "a/_c.cpython-312-x86_64-linux-gnu.so";
    check(
        &any(linux, ForeignFormat::Elf),
        &[
            "warning[foreign-binaries]: `a` 1.0 is tagged for every system, and its libraries are for Linux only",
            &format!("  they are `{linux}`"),
            hint,
        ],
    );
    check(
        &any("a/data/libx.so.1", ForeignFormat::Elf),
        &[
            "note[foreign-binaries]: `a` 1.0 is tagged for every system, and its libraries are for Linux only",
            "  they are `a/data/libx.so.1`",
            hint,
        ],
    );
    // What starts scripts on Windows, and a wheel that has libraries for each system.
    check(&any("a/cli-64.exe", ForeignFormat::Pe), &[]);
    check(&[wheel("a-1.0-py3-none-any").foreign(linux, ForeignFormat::Elf).with(module("a/_c.so"))], &[]);
    check(&[wheel("a-1.0-cp312-cp312-macosx_12_0_arm64").foreign(linux, ForeignFormat::Elf)], &[]);
}
