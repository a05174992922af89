//! Tables of real file names, as the index lists them, against what each target takes.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::index::source::{File, Release};
use crate::knowledge::Knowledge;
use crate::knowledge::rule::{Confidence, Evidence};
use crate::knowledge::wheels::WheelFact;
use crate::manifest::model::Wheels;
use crate::pep::Sha256;
use crate::target::{Floor, MacosVersion, Platform, PythonMinor, Target};

use super::{Selector, Yanked, admits};

/// Both builds that torch 2.10.0 has on the index; wheels for Linux shortened to two.
const TORCH_2_10_0: &[&str] = &[
    "torch-2.10.0-cp310-none-macosx_11_0_arm64.whl",
    "torch-2.10.0-cp311-none-macosx_11_0_arm64.whl",
    "torch-2.10.0-cp312-none-macosx_11_0_arm64.whl",
    "torch-2.10.0-cp313-cp313t-macosx_14_0_arm64.whl",
    "torch-2.10.0-cp313-none-macosx_11_0_arm64.whl",
    "torch-2.10.0-cp314-cp314-macosx_14_0_arm64.whl",
    "torch-2.10.0-cp314-cp314t-macosx_14_0_arm64.whl",
    "torch-2.10.0-2-cp310-none-macosx_11_0_arm64.whl",
    "torch-2.10.0-2-cp311-none-macosx_11_0_arm64.whl",
    "torch-2.10.0-2-cp312-none-macosx_11_0_arm64.whl",
    "torch-2.10.0-2-cp313-none-macosx_11_0_arm64.whl",
    "torch-2.10.0-3-cp313-cp313-manylinux_2_28_x86_64.whl",
    "torch-2.10.0-3-cp314-cp314-manylinux_2_28_x86_64.whl",
];

const MLX_0_30_0: &[&str] = &[
    "mlx-0.30.0-cp312-cp312-macosx_14_0_arm64.whl",
    "mlx-0.30.0-cp312-cp312-macosx_15_0_arm64.whl",
    "mlx-0.30.0-cp312-cp312-macosx_26_0_arm64.whl",
    "mlx-0.30.0-cp313-cp313-macosx_14_0_arm64.whl",
    "mlx-0.30.0-cp313-cp313-macosx_15_0_arm64.whl",
    "mlx-0.30.0-cp313-cp313-macosx_26_0_arm64.whl",
];

const MLX_0_32_4: &[&str] = &[
    "mlx-0.32.4-cp313-cp313-macosx_14_0_arm64.whl",
    "mlx-0.32.4-cp313-cp313-macosx_15_0_arm64.whl",
    "mlx-0.32.4-cp313-cp313-macosx_26_0_arm64.whl",
    "mlx-0.32.4-cp313-cp313t-macosx_14_0_arm64.whl",
    "mlx-0.32.4-cp313-cp313t-macosx_15_0_arm64.whl",
    "mlx-0.32.4-cp313-cp313t-macosx_26_0_arm64.whl",
];

const MLX_METAL_0_32_4: &[&str] = &[
    "mlx_metal-0.32.4-py3-none-macosx_14_0_arm64.whl",
    "mlx_metal-0.32.4-py3-none-macosx_15_0_arm64.whl",
    "mlx_metal-0.32.4-py3-none-macosx_26_0_arm64.whl",
];

fn file(name: &str) -> File {
    File {
        wheel: name.parse().unwrap(),
        filename: name.into(),
        url: "".into(),
        sha256: Some(Sha256::of(name.as_bytes())),
        size: Some(1),
        requires_python: None,
        upload_day: None,
        yanked: None,
        metadata_file: None,
    }
}

fn release(names: &[&str]) -> Release {
    Release { wheels: names.iter().map(|name| Arc::new(file(name))).collect(), source_archive: false }
}

fn mac(macos: &str, python: &str) -> Target {
    let floor = Floor::Mac { macos: macos.parse().unwrap(), chip: "m1".parse().unwrap() };
    Target { platform: Platform::MacosArm64, floor, python: python.parse().unwrap() }
}

fn linux(platform: Platform, glibc: (u16, u16), python: &str) -> Target {
    Target { platform, floor: Floor::Glibc(glibc.0, glibc.1), python: python.parse().unwrap() }
}

/// What a target takes: the file for the floor first, then the others by name; or why nothing.
fn taken(target: &Target, wheels: Wheels, release: &Release) -> Result<Vec<String>, String> {
    let fit = Selector::new(target, wheels).fit(release, Yanked::Refused).map_err(|unfit| unfit.to_string())?;
    let others = fit.files.iter().filter(|file| file.filename != fit.floor.filename);
    Ok(std::iter::once(&fit.floor).chain(others).map(|file| file.filename.to_string()).collect())
}

fn check(target: &Target, names: &[&str], expected: Result<&[&str], &str>) {
    let expected = expected.map(|files| files.iter().map(|file| (*file).to_owned()).collect());
    assert_eq!(taken(target, Wheels::Host, &release(names)), expected.map_err(str::to_owned), "{target:?}");
    // The order of the page is nobody's wish.
    let reversed: Vec<_> = names.iter().rev().copied().collect();
    assert_eq!(taken(target, Wheels::Host, &release(&reversed)), taken(target, Wheels::Host, &release(names)));
}

#[test]
fn the_higher_build_number_wins() {
    check(&mac("13.0", "3.13"), TORCH_2_10_0, Ok(&["torch-2.10.0-2-cp313-none-macosx_11_0_arm64.whl"]));
    check(&mac("14.0", "3.14"), TORCH_2_10_0, Ok(&["torch-2.10.0-cp314-cp314-macosx_14_0_arm64.whl"]));
    check(
        &mac("14.0", "3.13"),
        &["a-1-2-py3-none-any.whl", "a-1-10-py3-none-any.whl", "a-1-9z-py3-none-any.whl", "a-1-py3-none-any.whl"],
        Ok(&["a-1-10-py3-none-any.whl"]),
    );
}

#[test]
fn a_better_tag_beats_a_higher_build_number() {
    let names = &["a-1-9-py3-none-any.whl", "a-1-cp313-cp313-macosx_11_0_arm64.whl"];
    check(&mac("14.0", "3.13"), names, Ok(&["a-1-cp313-cp313-macosx_11_0_arm64.whl"]));
}

#[test]
fn the_name_decides_between_equals() {
    let names = &["b_1-1.0-py3-none-any.whl", "B_1-1.0-py3-none-any.whl", "b_1-1-py3-none-any.whl"];
    check(&mac("14.0", "3.13"), names, Ok(&["B_1-1.0-py3-none-any.whl"]));
}

#[test]
fn each_macos_generation_gets_its_best_file() {
    let generations = |from: usize| -> Vec<&str> { MLX_0_30_0[3 + from..].to_vec() };
    check(&mac("14.0", "3.13"), MLX_0_30_0, Ok(&generations(0)));
    check(&mac("15.0", "3.13"), MLX_0_30_0, Ok(&generations(1)));
    check(&mac("15.4", "3.13"), MLX_0_30_0, Ok(&generations(1)));
    check(&mac("27.0", "3.13"), MLX_0_30_0, Ok(&generations(2)));
    check(&mac("14.0", "3.13"), MLX_0_32_4, Ok(&MLX_0_32_4[..3]));
    check(&mac("14.0", "3.13"), MLX_METAL_0_32_4, Ok(MLX_METAL_0_32_4));
}

#[test]
fn one_file_where_one_is_asked_for() {
    let floor = taken(&mac("14.0", "3.13"), Wheels::Floor, &release(MLX_0_30_0));
    assert_eq!(floor.unwrap(), ["mlx-0.30.0-cp313-cp313-macosx_14_0_arm64.whl"]);
    check(
        &linux(Platform::LinuxX86_64, (2, 28), "3.13"),
        TORCH_2_10_0,
        Ok(&["torch-2.10.0-3-cp313-cp313-manylinux_2_28_x86_64.whl"]),
    );
}

#[test]
fn universal_and_stable_wheels_fit() {
    let universal =
        &["coremltools-8.0-cp312-none-macosx_10_9_universal2.whl", "coremltools-8.0-cp312-none-macosx_10_9_x86_64.whl"];
    check(&mac("14.0", "3.12"), universal, Ok(&universal[..1]));
    let arm_beside = &["a-1-cp39-abi3-macosx_10_9_universal2.whl", "a-1-cp39-abi3-macosx_11_0_arm64.whl"];
    check(&mac("14.0", "3.14"), arm_beside, Ok(&arm_beside[1..]));
    check(&mac("14.0", "3.8"), arm_beside, Err("no wheel for Python 3.8; oldest is 3.9"));
    check(&mac("14.0", "3.13"), &["a-1-py3-none-macosx_11_0_arm64.whl"], Ok(&["a-1-py3-none-macosx_11_0_arm64.whl"]));
    check(&mac("14.0", "3.13"), &["a-1-py2.py3-none-any.whl"], Ok(&["a-1-py2.py3-none-any.whl"]));
    let both = &["a-1-cp313-cp313-macosx_10_13_universal2.macosx_11_0_arm64.whl"];
    check(&mac("11.0", "3.13"), both, Ok(both));
}

#[test]
fn says_what_keeps_a_release_from_fitting() {
    check(&mac("13.0", "3.13"), MLX_0_30_0, Err("needs macOS 14; your floor is 13.0"));
    check(&mac("13.0", "3.14"), TORCH_2_10_0, Err("needs macOS 14; your floor is 13.0"));
    check(&mac("14.0", "3.14"), &TORCH_2_10_0[..4], Err("no wheel for Python 3.14; newest is 3.12"));
    check(&mac("14.0", "3.9"), TORCH_2_10_0, Err("no wheel for Python 3.9; oldest is 3.10"));
    check(&mac("14.0", "3.13"), &TORCH_2_10_0[3..4], Err("only free-threaded wheels for Python 3.13"));
    let gap = &["a-1-cp311-cp311-macosx_11_0_arm64.whl", "a-1-cp313-cp313-macosx_11_0_arm64.whl"];
    check(&mac("14.0", "3.12"), gap, Err("no wheel for Python 3.12; nearest are 3.11 and 3.13"));
    let intel = &["a-1-cp313-cp313-macosx_10_13_x86_64.whl", "a-1-cp313-cp313-manylinux_2_28_x86_64.whl"];
    check(&mac("14.0", "3.13"), intel, Err("only Intel wheels"));
    check(&mac("14.0", "3.13"), &intel[1..], Err("no wheel for arm64 Macs"));
    check(&mac("14.0", "3.13"), &["a-1-cp313-cp313-win_amd64.whl"], Err("no wheel for arm64 Macs"));
    check(&mac("14.0", "3.13"), &["a-1-py2-none-any.whl"], Err("no wheel for Python 3.13"));
    check(&mac("14.0", "3.13"), &["a-1-pp310-pypy310_pp73-macosx_11_0_arm64.whl"], Err("no wheel for Python 3.13"));
    check(&mac("14.0", "3.13"), &[], Err("no files"));
    let source = Release { wheels: Vec::new(), source_archive: true };
    assert_eq!(taken(&mac("14.0", "3.13"), Wheels::Host, &source), Err("only a source archive".to_owned()));
}

/// Other Pythons count only where their wheels are for this kind of machine: Linux having 3.14 helps no Mac.
#[test]
fn other_pythons_are_those_of_this_platform() {
    let names = &["a-1-cp313-cp313-macosx_11_0_arm64.whl", "a-1-cp314-cp314-manylinux_2_28_x86_64.whl"];
    check(&mac("14.0", "3.14"), names, Err("no wheel for Python 3.14; newest is 3.13"));
    check(&linux(Platform::LinuxX86_64, (2, 28), "3.13"), names, Err("no wheel for Python 3.13; oldest is 3.14"));
    check(&linux(Platform::LinuxAarch64, (2, 28), "3.13"), names, Err("no wheel for linux-aarch64"));
}

/// A tag with a minor release of macOS 11 or later is on no installer's list, so no macOS is new enough for it.
#[test]
fn a_minor_macos_tag_fits_no_mac() {
    let names = &["a-1-cp313-cp313-macosx_14_4_arm64.whl"];
    check(&mac("14.5", "3.13"), names, Err("no wheel for arm64 Macs"));
    check(&mac("13.0", "3.13"), names, Err("no wheel for arm64 Macs"));
}

#[test]
fn a_later_macos_than_known_is_named() {
    check(&mac("14.0", "3.13"), &["a-1-py3-none-macosx_28_0_arm64.whl"], Err("needs macOS 28; your floor is 14.0"));
}

#[test]
fn linux_floors() {
    let names = &["a-1-cp313-cp313-manylinux_2_34_x86_64.whl", "a-1-cp313-cp313-musllinux_1_2_x86_64.whl"];
    check(&linux(Platform::LinuxX86_64, (2, 28), "3.13"), names, Err("needs glibc 2.34; your floor is 2.28"));
    check(&linux(Platform::LinuxX86_64, (2, 35), "3.13"), names, Ok(&names[..1]));
    check(&linux(Platform::LinuxX86_64, (2, 35), "3.13"), &names[1..], Err("no wheel for linux-x86_64"));
    let old = &["a-1-cp313-cp313-manylinux2014_aarch64.whl"];
    check(&linux(Platform::LinuxAarch64, (2, 17), "3.13"), old, Ok(old));
    check(&linux(Platform::LinuxAarch64, (2, 12), "3.13"), old, Err("needs glibc 2.17; your floor is 2.12"));
}

#[test]
fn what_the_page_says_of_a_file_counts() {
    let with = |change: &dyn Fn(&mut File)| {
        let mut one = file("a-1-py3-none-any.whl");
        change(&mut one);
        Release { wheels: vec![Arc::new(one)], source_archive: true }
    };
    let target = mac("14.0", "3.13");
    let refused = |release: &Release, expected: &str| {
        assert_eq!(taken(&target, Wheels::Host, release), Err(expected.to_owned()));
    };
    let old = with(&|file| file.requires_python = Some(">=3.8,<3.13".parse().unwrap()));
    refused(&old, "excludes Python 3.13: it requires >=3.8, <3.13");
    let yanked = with(&|file| file.yanked = Some("broken".into()));
    refused(&yanked, "withdrawn by its publisher: broken");
    assert!(Selector::new(&target, Wheels::Host).fit(&yanked, Yanked::Admitted).is_ok());
    refused(&with(&|file| file.yanked = Some("".into())), "withdrawn by its publisher");

    let late = with(&|file| file.upload_day = Some("2026-11-16".into()));
    let until = |release: &Release, day| {
        let fit = Selector::new(&target, Wheels::Host).until(Some(day)).fit(release, Yanked::Refused);
        fit.map(|fit| fit.files.len()).map_err(|unfit| unfit.to_string())
    };
    assert_eq!(until(&late, "2026-11-16"), Ok(1));
    assert_eq!(until(&late, "2026-11-15"), Err("uploaded 2026-11-16, after 2026-11-15".to_owned()));
    let undated = with(&|_| {});
    let unknown = "the index does not say whether it was uploaded by 2026-11-15";
    assert_eq!(until(&undated, "2026-11-15"), Err(unknown.to_owned()));
}

/// A later build that comes after the day is as if it were not there: the earlier one is taken.
#[test]
fn the_day_counts_for_each_file() {
    let mut release = release(&TORCH_2_10_0[4..5]);
    let mut rebuilt = file("torch-2.10.0-2-cp313-none-macosx_11_0_arm64.whl");
    rebuilt.upload_day = Some("2026-02-10".into());
    Arc::get_mut(&mut release.wheels[0]).unwrap().upload_day = Some("2026-01-21".into());
    release.wheels.push(Arc::new(rebuilt));
    let floor = |day| {
        let selector = Selector::new(&mac("14.0", "3.13"), Wheels::Host).until(Some(day));
        selector.fit(&release, Yanked::Refused).unwrap().floor.filename.to_string()
    };
    assert_eq!(floor("2026-02-10"), "torch-2.10.0-2-cp313-none-macosx_11_0_arm64.whl");
    assert_eq!(floor("2026-02-09"), "torch-2.10.0-cp313-none-macosx_11_0_arm64.whl");
}

/// On macOS 26, mlx for 26 beside mlx-metal for 15 would not match.
#[test]
fn a_group_uses_only_generations_that_all_have() {
    let selector = Selector::new(&mac("14.0", "3.13"), Wheels::Host);
    let (mlx, metal) = (release(MLX_0_32_4), release(&MLX_METAL_0_32_4[..2]));
    let versions = |all: &[&str]| all.iter().map(|one| one.parse().unwrap()).collect::<BTreeSet<MacosVersion>>();
    let shared = selector.shared_generations(&[&mlx, &metal]).unwrap();
    assert_eq!(shared, versions(&["14.0", "15.0"]));
    let files = |release| {
        let fit = selector.fit_among(release, Yanked::Refused, &shared).unwrap();
        fit.files.iter().map(|file| file.filename.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(files(&mlx), MLX_0_32_4[..2]);
    assert_eq!(files(&metal), MLX_METAL_0_32_4[..2]);

    // The floor itself falls back to a generation that both have.
    let selector = Selector::new(&mac("15.0", "3.13"), Wheels::Host);
    let metal = release(&[MLX_METAL_0_32_4[0], MLX_METAL_0_32_4[2]]);
    let shared = selector.shared_generations(&[&mlx, &metal]).unwrap();
    let fit = selector.fit_among(&mlx, Yanked::Refused, &shared).unwrap();
    assert_eq!(&*fit.floor.filename, MLX_0_32_4[0]);
    assert_eq!(&*fit.files[1].filename, MLX_0_32_4[2]);

    // Pure wheels, and those of one generation, run beside any.
    let (pure, torch) = (release(&["a-1-py3-none-any.whl"]), release(TORCH_2_10_0));
    assert_eq!(selector.shared_generations(&[&pure, &torch]), None);
    assert_eq!(selector.shared_generations(&[&pure, &mlx, &torch]).unwrap(), versions(&["14.0", "15.0", "26.0"]));

    let apart = release(&["b-1-py3-none-macosx_27_0_arm64.whl", "b-1-py3-none-macosx_11_0_arm64.whl"]);
    let shared = selector.shared_generations(&[&mlx, &apart]).unwrap();
    let unfit = selector.fit_among(&mlx, Yanked::Refused, &shared).unwrap_err();
    assert_eq!(unfit.to_string(), "no macOS generation for which all packages that must match have a wheel");
}

/// Knowledge of wheels: packages, versions, the tag's macOS, and the macOS that it is really for.
fn known(facts: &[(&str, &str, &str, &str)]) -> Knowledge {
    let fact = |(packages, versions, tag, macos): &(&str, &str, &str, &str)| WheelFact {
        packages: packages.split(' ').map(|name| name.parse().unwrap()).collect(),
        versions: versions.parse().unwrap(),
        tag: format!("macosx_{tag}_arm64"),
        macos: macos.parse().unwrap(),
        reason: "Its libraries are built for that.".to_owned(),
        evidence: vec![Evidence::Address("https://example.com/".to_owned())],
        confidence: Confidence::Measured,
    };
    let mut knowledge = Knowledge::default();
    knowledge.wheels = facts.iter().map(fact).collect();
    knowledge
}

/// Macs from `floor` up, of a macml that knows `facts`: the platform tags of the files taken, the floor's first.
fn check_known(facts: &[(&str, &str, &str, &str)], floor: &str, release_name: &str, tags: &str, expected: &str) {
    let names: Vec<String> =
        tags.split(' ').map(|tag| format!("{release_name}-py3-none-macosx_{tag}_arm64.whl")).collect();
    for reversed in [false, true] {
        let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
        if reversed {
            names.reverse();
        }
        let selector = Selector::new(&mac(floor, "3.13"), Wheels::Host).knowing(&known(facts));
        let fit = selector.fit(&release(&names), Yanked::Refused);
        let taken = fit.map_or_else(
            |unfit| unfit.to_string(),
            |fit| {
                let others = fit.files.iter().filter(|file| file.filename != fit.floor.filename);
                let all =
                    std::iter::once(&fit.floor).chain(others).map(|file| file.wheel.platform_tags().next().unwrap());
                let short = all.map(|tag| tag.trim_start_matches("macosx_").trim_end_matches("_arm64").to_owned());
                short.collect::<Vec<_>>().join(" ")
            },
        );
        assert_eq!(taken, expected, "{floor} {release_name} {tags}");
    }
}

#[test]
fn a_wheel_counts_from_the_macos_that_it_is_really_for() {
    let facts =
        &[("lib lib-metal", ">=2", "26_0", "26.2"), ("lib", ">=1,<2", "13_0", "13.5"), ("lib", "<1", "14_0", "14.1")];
    let check = |floor, release, tags, expected| check_known(facts, floor, release, tags, expected);
    check("14.0", "lib-2", "14_0 15_0 26_0", "14_0 15_0 26_0");
    check("26.0", "lib-2", "14_0 15_0 26_0", "15_0 26_0");
    check("26.1", "lib_metal-2", "14_0 15_0 26_0", "15_0 26_0");
    check("26.2", "lib-2", "14_0 15_0 26_0", "26_0");
    check("26.3", "lib-2", "14_0 15_0 26_0", "26_0");
    check("27.0", "lib-2", "14_0 15_0 26_0", "26_0");
    check("27.0", "lib-2", "14_0 27_0", "27_0");
    check("26.0", "lib-2", "14_0 27_0", "14_0 27_0");
    // What is between two generations is looked at where a fact names it.
    check("14.0", "lib-0.1", "13_0 14_0", "13_0 14_0");
    check("14.0", "lib-0.1", "13_0 14_0 15_0", "13_0 14_0 15_0");
    check("14.1", "lib-0.1", "13_0 14_0", "14_0");
    check("13.5", "lib-1", "13_0", "13_0");
    check("12.0", "lib-1", "12_0 13_0", "12_0 13_0");
    // Other releases and packages are what their tags say.
    check("26.0", "lib-1", "15_0 26_0", "26_0");
    check("26.0", "other-2", "15_0 26_0", "26_0");
    check("13.0", "lib-2", "13_0", "13_0");
}

#[test]
fn says_that_a_tag_is_wrong_where_that_keeps_a_release_from_fitting() {
    let facts = &[("lib", ">=2", "26_0", "26.2"), ("lib", ">=1,<2", "13_0", "13.5"), ("lib", "<1", "14_0", "14.1")];
    let check = |floor, release, tags, expected| check_known(facts, floor, release, tags, expected);
    check("13.0", "lib-1", "13_0 14_0 15_0", "needs macOS 13.5 although its tag says 13.0; your floor is 13.0");
    check("13.4", "lib-1", "13_0", "needs macOS 13.5 although its tag says 13.0; your floor is 13.4");
    check("12.3", "lib-1", "13_0", "needs macOS 13.5 although its tag says 13.0; your floor is 12.3");
    check("13.0", "lib-0.1", "14_0 15_0", "needs macOS 14.1 although its tag says 14.0; your floor is 13.0");
    check("26.1", "lib-2", "26_0 27_0", "needs macOS 26.2 although its tag says 26.0; your floor is 26.1");
    // Where a right tag helps as early, that is enough to say.
    let facts = &[("lib", "*", "13_0", "14.0")].map(|(names, _, tag, macos)| (names, ">=0", tag, macos));
    check_known(facts, "13.0", "lib-1", "13_0 14_0", "needs macOS 14; your floor is 13.0");
    check_known(facts, "13.0", "lib-1", "13_0", "needs macOS 14 although its tag says 13.0; your floor is 13.0");

    // Neither another Python nor a withdrawn file is hidden behind it.
    let selector = Selector::new(&mac("26.0", "3.13"), Wheels::Host).knowing(&known(&[("lib", ">=2", "26_0", "26.2")]));
    let said = |release: &Release| selector.fit(release, Yanked::Refused).unwrap_err().to_string();
    let other = release(&["lib-2-cp312-cp312-macosx_26_0_arm64.whl"]);
    assert_eq!(said(&other), "no wheel for Python 3.13; newest is 3.12");
    let mut withdrawn = file("lib-2-py3-none-macosx_15_0_arm64.whl");
    withdrawn.yanked = Some("broken".into());
    let mut both = release(&["lib-2-py3-none-macosx_26_0_arm64.whl"]);
    both.wheels.push(Arc::new(withdrawn));
    assert_eq!(said(&both), "withdrawn by its publisher: broken");
}

/// A fact about a macOS that no table has yet: machines newer than the newest known count as that.
#[test]
fn facts_beyond_the_newest_macos() {
    let facts = &[("lib", ">=1", "27_0", "28.1")];
    check_known(facts, "26.0", "lib-1", "26_0 27_0", "26_0");
    check_known(facts, "28.0", "lib-1", "26_0 27_0", "26_0 27_0");
    check_known(facts, "28.1", "lib-1", "26_0 27_0", "27_0");
    check_known(&[("lib", ">=1", "27_0", "27.3")], "26.0", "lib-1", "26_0 27_0", "26_0 27_0");
}

#[test]
fn one_file_is_that_of_the_floor_as_it_really_is() {
    let floor = |macos| {
        let selector =
            Selector::new(&mac(macos, "3.13"), Wheels::Floor).knowing(&known(&[("mlx", ">=0.32", "26_0", "26.2")]));
        let fit = selector.fit(&release(MLX_0_32_4), Yanked::Refused).unwrap();
        fit.files.iter().map(|file| file.filename.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(floor("26.1"), MLX_0_32_4[1..2]);
    assert_eq!(floor("26.2"), MLX_0_32_4[2..3]);
}

#[test]
fn what_is_known_of_macs_is_nothing_to_linux() {
    let target = linux(Platform::LinuxX86_64, (2, 28), "3.13");
    let selector = Selector::new(&target, Wheels::Host).knowing(&known(&[("a", ">=0", "11_0", "26.2")]));
    let both = release(&["a-1-py3-none-macosx_11_0_arm64.whl", "a-1-py3-none-manylinux_2_28_x86_64.whl"]);
    assert_eq!(selector.fit(&both, Yanked::Refused).unwrap().floor, both.wheels[1]);
}

/// A generation is what the wheels are really for, so a fact about one of two that must match parts them.
#[test]
fn a_group_shares_generations_as_they_really_are() {
    let versions = |all: &[&str]| all.iter().map(|one| one.parse().unwrap()).collect::<BTreeSet<MacosVersion>>();
    let (mlx, metal) = (release(MLX_0_32_4), release(MLX_METAL_0_32_4));
    let shared = |floor, packages| {
        let knowledge = known(&[(packages, ">=0.32", "26_0", "26.2"), (packages, ">=0.32", "14_0", "14.1")]);
        let selector = Selector::new(&mac(floor, "3.13"), Wheels::Host).knowing(&knowledge);
        let shared = selector.shared_generations(&[&mlx, &metal]).unwrap();
        let files = [&mlx, &metal].map(|release| {
            let fit = selector.fit_among(release, Yanked::Refused, &shared).unwrap();
            fit.files.iter().filter_map(|file| file.wheel.platform_tags().next().map(str::to_owned)).collect::<Vec<_>>()
        });
        assert_eq!(files[0], files[1], "{floor} {packages}");
        (shared, files[0].len())
    };
    assert_eq!(shared("14.1", "mlx mlx-metal"), (versions(&["14.0", "15.0", "26.2"]), 3));
    assert_eq!(shared("26.0", "mlx mlx-metal"), (versions(&["14.0", "15.0", "26.2"]), 2));
    assert_eq!(shared("26.0", "mlx"), (versions(&["14.0", "15.0"]), 1));
    assert_eq!(shared("26.2", "mlx"), (versions(&["14.0", "15.0", "26.0"]), 1));
}

#[test]
fn some_patch_release_is_enough() {
    let check = |requires: &str, python: &str, expected: bool| {
        let python: PythonMinor = python.parse().unwrap();
        assert_eq!(admits(&requires.parse().unwrap(), python), expected, "{requires} {python}");
    };
    check(">=3.10", "3.9", false);
    check("<3.13", "3.13", false);
    check("!=3.13.*", "3.13", false);
    check("!=3.13.8", "3.13", true);
    check(">=3.13.14", "3.13", true);
    check(">3.13.14", "3.13", true);
    check("==3.13.2", "3.13", true);
}
