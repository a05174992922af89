//! What was built for another macOS, numpy or jax.

use std::sync::Arc;

use macml::check::facts::{Hook, NumpyAbi, Pjrt};
use macml::knowledge::Knowledge;

use super::made::{Wheel, check, dylib, judged_on, told, wheel};
use crate::support::image::module;

#[track_caller]
fn check_on(macos: &str, set: &[Wheel], expected: &[&str]) {
    let told: Vec<String> = judged_on(set, macos, &Knowledge::built_in()).iter().map(told).collect();
    assert_eq!(told.join("\n"), expected.join("\n"));
}

#[test]
fn the_real_lowest_macos() {
    let set = || {
        let wheel = wheel("mlx_metal-0.32.4-py3-none-macosx_26_0_arm64");
        [wheel.with(dylib("mlx/a.dylib", "@rpath/a").minos(26, 0)).with(dylib("mlx/b.dylib", "@rpath/b").minos(26, 2))]
    };
    check_on(
        "26.0",
        &set(),
        &[
            "warning[macos-above-floor]: `mlx/b.dylib` of `mlx-metal` 0.32.4 is built for macOS 26.2, later than 26.0",
            "  1 of its 2 images are built for a later macOS than 26.0",
            "  the wheel is tagged `macosx_26_0_arm64`",
            "  = take an earlier release of `mlx-metal`, or only Macs with macOS 26.2 or later",
        ],
    );
    check_on("26.2", &set(), &[]);
    check_on("27.0", &set(), &[]);
    // As debugpy's: its Python runs where there is no such image.
    let aside = wheel("debugpy-1.8.22-py2.py3-none-any").with(dylib("debugpy/attach.dylib", "attach").minos(15, 0));
    check_on(
        "14.0",
        &[aside],
        &[
            "note[macos-above-floor]: `debugpy/attach.dylib` of `debugpy` 1.8.22 is built for macOS 15.0, later than 14.0",
            "  the wheel is tagged `any`",
            "  = take an earlier release of `debugpy`, or only Macs with macOS 15.0 or later",
        ],
    );
}

#[test]
fn what_does_no_harm_is_a_note_with_the_reason() {
    let set = |version: &str| {
        let omp = dylib("torch/lib/libomp.dylib", "/opt/homebrew/opt/libomp/lib/libomp.dylib").minos(14, 0);
        [wheel(&format!("torch-{version}-cp312-none-macosx_11_0_arm64")).with(omp)]
    };
    check_on(
        "13.0",
        &set("2.8.0"),
        &[
            "note[macos-above-floor]: `torch/lib/libomp.dylib` of `torch` 2.8.0 is a library built for a later macOS than the \
             lowest, which does no harm",
            "  Built for macOS 14, but it binds nothing that earlier ones lack, and dyld does not compare.",
        ],
    );
    let told: Vec<String> = judged_on(&set("2.11.0"), "13.0", &Knowledge::built_in()).iter().map(told).collect();
    assert!(told[0].starts_with("warning[macos-above-floor]: "), "{told:?}");
    let nothing = Arc::new(Knowledge::default());
    let told: Vec<String> = judged_on(&set("2.8.0"), "13.0", &nothing).iter().map(super::made::told).collect();
    assert!(told[0].starts_with("warning[macos-above-floor]: "), "{told:?}");
}

#[test]
fn metal_libraries_of_another_generation() {
    let set = |libraries: &[(&str, u16, u8)]| {
        let wheel = wheel("mlx_metal-0.32.4-py3-none-macosx_26_0_arm64");
        [libraries.iter().fold(wheel, |wheel, (path, major, minor)| wheel.metal(path, *major, *minor))]
    };
    let it = "`mlx/lib/mlx.metallib` of `mlx-metal` 0.32.4 is compiled for macOS 26.2";
    let came = "  it came with `mlx_metal-0.32.4-py3-none-macosx_26_0_arm64.whl`";
    let hint = |macos: &str| {
        format!("  = take the wheel of `mlx-metal` for macOS {macos}, or only Macs with macOS 26.2 or later")
    };
    let own = ("mlx/lib/mlx.metallib", 26, 2);
    check_on("15.0", &set(&[own]), &[&format!("error[metal-generation]: {it}, later than 15.0"), came, &hint("15.0")]);
    check_on(
        "26.0",
        &set(&[own]),
        &[&format!("warning[metal-generation]: {it}, later than 26.0"), came, &hint("26.0")],
    );
    check_on(
        "15.0",
        &set(&[own, ("mlx/lib/old.metallib", 14, 0)]),
        &[
            &format!("warning[metal-generation]: {it}, later than 15.0"),
            "  `mlx/lib/old.metallib` may be chosen instead",
            came,
            &hint("15.0"),
        ],
    );
    check_on("26.2", &set(&[own]), &[]);
}

#[test]
fn compiled_for_another_numpy() {
    let numpy = |version: &str| wheel(&format!("numpy-{version}-cp312-cp312-macosx_14_0_arm64"));
    let built = |abi: NumpyAbi| module("a/_c.so").but(|slice| slice.markers.numpy = Some(abi));
    let a = |abi: NumpyAbi| wheel("a-1.0-cp312-cp312-macosx_12_0_arm64").with(built(abi));
    let two = NumpyAbi::Two { oldest: Some(23) };
    check(
        &[numpy("2.3.5"), a(NumpyAbi::One)],
        &[
            "warning[numpy-1-binary]: `a/_c.so` of `a` 1.0 is compiled for numpy 1 only, and beside it is `numpy` 2.3.5",
            "  its import says: A module that was compiled using NumPy 1.x cannot be run in NumPy 2.3.5",
            "  = take `numpy<2`, or a release of `a` that was compiled for numpy 2",
        ],
    );
    check(
        &[numpy("1.22.4"), a(two)],
        &[
            "warning[numpy-1-binary]: `a/_c.so` of `a` 1.0 is compiled for numpy 1.23 and later, and beside it is `numpy` 1.22.4",
            "  its import says: module compiled against ABI version … but this version of numpy is …",
            "  = take `numpy>=1.23`",
        ],
    );
    check(&[numpy("1.26.4"), a(NumpyAbi::One)], &[]);
    check(&[numpy("2.3.5"), a(two)], &[]);
    check(&[a(NumpyAbi::One)], &[]);
    let torch = wheel("torch-2.2.2-cp312-none-macosx_11_0_arm64").with(built(NumpyAbi::One));
    let findings = super::made::judged(&[numpy("2.3.5"), torch]);
    let hint = findings[0].hint.as_deref().unwrap();
    assert_eq!(hint, "`torch` 2.2.2 cannot be beside `numpy` >=2: rule `torch-before-2.3-numpy-1` (measured)");
}

#[test]
fn plugins_of_jax_by_the_version_of_their_interface() {
    let plugin = dylib("jax_plugins/metal_plugin/p.dylib", "p").but(|slice| {
        slice.markers.pjrt = Some(Pjrt { major: 0, minor: 54 });
    });
    let set = |version: &str| {
        let jaxlib = wheel(&format!("jaxlib-{version}-cp312-cp312-macosx_11_0_arm64"));
        let metal = wheel("jax_metal-0.1.1-py3-none-macosx_13_0_arm64").with(plugin.clone()).plugs_into(Hook::Jax);
        [jaxlib, metal]
    };
    let check = |version: &str, expected: &str| {
        let findings = super::made::judged(&set(version));
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        let told = told(finding);
        assert!(told.starts_with(expected), "{told}");
        assert!(told.contains("`jax_plugins/metal_plugin/p.dylib` loads all the same"), "{told}");
    };
    let starts = "warning[pjrt-version]: `jax-metal` 0.1.1 speaks version 0.54 of PJRT's interface, and `jaxlib`";
    check("0.7.0", &format!("{starts} 0.7.0 speaks 0.73\n"));
    // What is known of this pair besides.
    let findings = super::made::judged(&set("0.7.0"));
    assert!(findings[0].notes[1].starts_with("rule `jax-metal-0.1.1-pjrt-version`: "), "{findings:?}");
    check("0.9.0", &format!("{starts} 0.9.0 speaks 0.73 or a later one\n"));
    // It fits, may fit, and is older than what is known.
    for version in ["0.4.34", "0.4.35", "0.4.30"] {
        assert!(super::made::judged(&set(version)).is_empty(), "{version}");
    }
}
