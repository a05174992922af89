//! Which file a Mac takes: tables of published wheels against floors and hosts, by what macml really knows.

use std::sync::Arc;

use crate::index::source::{File, Release};
use crate::manifest::model::Wheels;
use crate::pep::{Sha256, WheelName};
use crate::resolve::candidate::{Selector, Yanked};
use crate::target::{Gpu, Platform};

use super::*;

/// Releases as published: the wheels for arm64 Macs and Python 3.13, and some beside them; `made` is ours.
const RELEASES: &[(&str, &[&str])] = &[
    ("mlx 0.22.1", &["cp313-cp313-macosx_13_0_arm64", "cp313-cp313-macosx_14_0_arm64"]),
    (
        "mlx 0.26.5",
        &["cp313-cp313-macosx_13_0_arm64", "cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_15_0_arm64"],
    ),
    ("mlx_metal 0.26.5", &["py3-none-macosx_13_0_arm64", "py3-none-macosx_14_0_arm64", "py3-none-macosx_15_0_arm64"]),
    (
        "mlx 0.29.3",
        &["cp313-cp313-macosx_13_0_arm64", "cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_15_0_arm64"],
    ),
    ("mlx_metal 0.29.3", &["py3-none-macosx_13_0_arm64", "py3-none-macosx_14_0_arm64", "py3-none-macosx_15_0_arm64"]),
    // Of this release alone the wheel for 14 was never built.
    ("mlx 0.29.4", &["cp313-cp313-macosx_15_0_arm64"]),
    ("mlx_metal 0.29.4", &["py3-none-macosx_14_0_arm64", "py3-none-macosx_15_0_arm64"]),
    (
        "mlx 0.31.2",
        &["cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_15_0_arm64", "cp313-cp313-macosx_26_0_arm64"],
    ),
    ("mlx_metal 0.31.2", &["py3-none-macosx_14_0_arm64", "py3-none-macosx_15_0_arm64", "py3-none-macosx_26_0_arm64"]),
    (
        "mlx 0.32.0",
        &["cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_15_0_arm64", "cp313-cp313-macosx_26_0_arm64"],
    ),
    ("mlx_metal 0.32.0", &["py3-none-macosx_14_0_arm64", "py3-none-macosx_15_0_arm64", "py3-none-macosx_26_0_arm64"]),
    (
        "mlx 0.32.4",
        &[
            "cp313-cp313-macosx_14_0_arm64",
            "cp313-cp313-macosx_15_0_arm64",
            "cp313-cp313-macosx_26_0_arm64",
            "cp313-cp313t-macosx_26_0_arm64",
        ],
    ),
    ("mlx_metal 0.32.4", &["py3-none-macosx_14_0_arm64", "py3-none-macosx_15_0_arm64", "py3-none-macosx_26_0_arm64"]),
    (
        "torch 2.10.0",
        &[
            "cp313-cp313t-macosx_14_0_arm64",
            "cp313-none-macosx_11_0_arm64",
            "2-cp313-none-macosx_11_0_arm64",
            "cp314-cp314-macosx_14_0_arm64",
            "3-cp313-cp313-manylinux_2_28_x86_64",
        ],
    ),
    (
        "numpy 2.4.0",
        &["cp313-cp313-macosx_10_13_x86_64", "cp313-cp313-macosx_11_0_arm64", "cp313-cp313-macosx_14_0_arm64"],
    ),
    ("onnxruntime 1.22.1", &["cp313-cp313-macosx_13_0_universal2"]),
    ("onnxruntime 1.23.2", &["cp313-cp313-macosx_13_0_arm64", "cp313-cp313-manylinux_2_27_x86_64"]),
    ("made 1.0", &["py3-none-macosx_15_0_arm64", "py3-none-macosx_28_0_arm64"]),
];

/// The day on which files were uploaded.
const FIRST_BUILD: &str = "2026-01-21";
/// A day after all uploads.
const LAST: &str = "2026-11-30";
/// The day on which files with a build number were uploaded.
const SECOND_BUILD: &str = "2026-02-10";

/// Release, last day that counts, floor, host; then the file that the host takes, or why the floor has none.
type Row = (&'static str, &'static str, &'static str, &'static str, Result<&'static str, &'static str>);

const HOSTS: &[Row] = &[
    // The wheel tagged 26.0 is for 26.2 since 0.32.0.
    ("mlx 0.32.4", LAST, "14.0", "14.0", Ok("cp313-cp313-macosx_14_0_arm64")),
    ("mlx 0.32.4", LAST, "14.0", "14.8", Ok("cp313-cp313-macosx_14_0_arm64")),
    ("mlx 0.32.4", LAST, "14.0", "15.0", Ok("cp313-cp313-macosx_15_0_arm64")),
    ("mlx 0.32.4", LAST, "14.0", "15.7", Ok("cp313-cp313-macosx_15_0_arm64")),
    ("mlx 0.32.4", LAST, "14.0", "26.0", Ok("cp313-cp313-macosx_15_0_arm64")),
    ("mlx 0.32.4", LAST, "14.0", "26.1", Ok("cp313-cp313-macosx_15_0_arm64")),
    ("mlx 0.32.4", LAST, "14.0", "26.2", Ok("cp313-cp313-macosx_26_0_arm64")),
    ("mlx 0.32.4", LAST, "14.0", "26.5", Ok("cp313-cp313-macosx_26_0_arm64")),
    ("mlx 0.32.4", LAST, "14.0", "27.0", Ok("cp313-cp313-macosx_26_0_arm64")),
    ("mlx 0.32.4", LAST, "14.0", "28.0", Ok("cp313-cp313-macosx_26_0_arm64")),
    ("mlx 0.32.4", LAST, "26.0", "26.0", Ok("cp313-cp313-macosx_15_0_arm64")),
    ("mlx 0.32.4", LAST, "26.1", "26.1", Ok("cp313-cp313-macosx_15_0_arm64")),
    ("mlx 0.32.4", LAST, "26.1", "26.2", Ok("cp313-cp313-macosx_26_0_arm64")),
    ("mlx 0.32.4", LAST, "26.2", "26.2", Ok("cp313-cp313-macosx_26_0_arm64")),
    ("mlx 0.32.4", LAST, "28.0", "28.0", Ok("cp313-cp313-macosx_26_0_arm64")),
    ("mlx 0.32.4", LAST, "13.5", "13.5", Err("needs macOS 14; your floor is 13.5")),
    ("mlx_metal 0.32.4", LAST, "14.0", "14.0", Ok("py3-none-macosx_14_0_arm64")),
    ("mlx_metal 0.32.4", LAST, "14.0", "26.1", Ok("py3-none-macosx_15_0_arm64")),
    ("mlx_metal 0.32.4", LAST, "14.0", "26.2", Ok("py3-none-macosx_26_0_arm64")),
    ("mlx_metal 0.32.4", LAST, "26.0", "26.1", Ok("py3-none-macosx_15_0_arm64")),
    ("mlx_metal 0.32.4", LAST, "26.0", "27.0", Ok("py3-none-macosx_26_0_arm64")),
    ("mlx 0.32.0", LAST, "15.0", "26.1", Ok("cp313-cp313-macosx_15_0_arm64")),
    ("mlx_metal 0.32.0", LAST, "15.0", "26.2", Ok("py3-none-macosx_26_0_arm64")),
    ("mlx 0.31.2", LAST, "14.0", "26.0", Ok("cp313-cp313-macosx_26_0_arm64")),
    ("mlx_metal 0.31.2", LAST, "26.0", "26.0", Ok("py3-none-macosx_26_0_arm64")),
    // The one tagged 13.0 is for 13.5.
    ("mlx 0.29.3", LAST, "13.0", "15.0", Err("needs macOS 13.5 although its tag says 13.0; your floor is 13.0")),
    ("mlx 0.29.3", LAST, "13.4", "13.4", Err("needs macOS 13.5 although its tag says 13.0; your floor is 13.4")),
    ("mlx 0.29.3", LAST, "13.5", "13.5", Ok("cp313-cp313-macosx_13_0_arm64")),
    ("mlx 0.29.3", LAST, "13.5", "13.7", Ok("cp313-cp313-macosx_13_0_arm64")),
    ("mlx 0.29.3", LAST, "13.5", "14.0", Ok("cp313-cp313-macosx_14_0_arm64")),
    ("mlx 0.29.3", LAST, "13.5", "26.1", Ok("cp313-cp313-macosx_15_0_arm64")),
    ("mlx 0.29.4", LAST, "14.0", "15.0", Err("needs macOS 15; your floor is 14.0")),
    ("mlx_metal 0.29.3", LAST, "13.5", "26.1", Ok("py3-none-macosx_15_0_arm64")),
    // The one tagged 14.0 was for 14.1 once: 14.0 itself takes that for 13.5.
    ("mlx 0.22.1", LAST, "14.0", "14.0", Ok("cp313-cp313-macosx_13_0_arm64")),
    ("mlx 0.22.1", LAST, "14.0", "14.1", Ok("cp313-cp313-macosx_14_0_arm64")),
    ("mlx 0.22.1", LAST, "13.5", "14.0", Ok("cp313-cp313-macosx_13_0_arm64")),
    ("mlx 0.22.1", LAST, "13.5", "15.0", Ok("cp313-cp313-macosx_14_0_arm64")),
    // Others.
    (
        "onnxruntime 1.22.1",
        LAST,
        "13.0",
        "13.3",
        Err("needs macOS 13.3 although its tag says 13.0; your floor is 13.0"),
    ),
    ("onnxruntime 1.22.1", LAST, "13.3", "13.3", Ok("cp313-cp313-macosx_13_0_universal2")),
    (
        "onnxruntime 1.23.2",
        LAST,
        "13.3",
        "14.0",
        Err("needs macOS 13.4 although its tag says 13.0; your floor is 13.3"),
    ),
    ("onnxruntime 1.23.2", LAST, "13.4", "27.0", Ok("cp313-cp313-macosx_13_0_arm64")),
    // Two builds of one file: the later one wins, though the name of the plain one may come first.
    ("torch 2.10.0", LAST, "13.0", "13.0", Ok("2-cp313-none-macosx_11_0_arm64")),
    ("torch 2.10.0", LAST, "14.0", "27.0", Ok("2-cp313-none-macosx_11_0_arm64")),
    ("torch 2.10.0", SECOND_BUILD, "14.0", "15.0", Ok("2-cp313-none-macosx_11_0_arm64")),
    ("torch 2.10.0", "2026-02-09", "14.0", "15.0", Ok("cp313-none-macosx_11_0_arm64")),
    ("torch 2.10.0", FIRST_BUILD, "13.0", "27.0", Ok("cp313-none-macosx_11_0_arm64")),
    ("torch 2.10.0", "2026-01-20", "14.0", "15.0", Err("uploaded 2026-01-21, after 2026-01-20")),
    // numpy links Apple's libraries from macOS 14 on.
    ("numpy 2.4.0", LAST, "13.0", "13.6", Ok("cp313-cp313-macosx_11_0_arm64")),
    ("numpy 2.4.0", LAST, "13.0", "14.0", Ok("cp313-cp313-macosx_14_0_arm64")),
    ("numpy 2.4.0", LAST, "11.0", "26.2", Ok("cp313-cp313-macosx_14_0_arm64")),
    ("numpy 2.4.0", LAST, "14.0", "28.0", Ok("cp313-cp313-macosx_14_0_arm64")),
    // A macOS newer than the newest known counts as that, unless it is the floor.
    ("made 1.0", LAST, "15.0", "27.0", Ok("py3-none-macosx_15_0_arm64")),
    ("made 1.0", LAST, "15.0", "28.0", Ok("py3-none-macosx_15_0_arm64")),
    ("made 1.0", LAST, "28.0", "28.0", Ok("py3-none-macosx_28_0_arm64")),
    ("made 1.0", LAST, "28.0", "30.1", Ok("py3-none-macosx_28_0_arm64")),
    ("made 1.0", LAST, "14.0", "28.0", Err("needs macOS 15; your floor is 14.0")),
];

#[test]
fn each_host_takes_the_file_that_it_can_load() {
    for (release, until, floor, host, expected) in HOSTS {
        let got = match lock(release, until, floor) {
            Err(why) => Err(why),
            Ok(locked) => Ok(host_file(&locked, &env(floor, Wheels::Host), host).expect("a floor that fits")),
        };
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(got, expected, "{release}, floor {floor}, macOS {host}, until {until}");
    }
}

/// A host never takes a file that the lock of its floor does not hold, nor one that is for a later macOS.
#[test]
fn what_a_host_takes_is_locked_and_loads() {
    let knowledge = Knowledge::built_in();
    let mut checked = 0;
    for (release, _) in RELEASES {
        for floor in macos_versions() {
            let Ok(locked) = lock(release, LAST, &floor) else { continue };
            for host in macos_versions().into_iter().filter(|host| version(host) >= version(&floor)) {
                // As after a second environment with other floors put its files into the same release.
                let whole = LockedPackage { wheels: whole(release, LAST), ..locked.clone() };
                let env = env(&floor, Wheels::Host);
                let file = host_file(&locked, &env, &host).expect("what fits the floor fits what is above it");
                assert_eq!(host_file(&whole, &env, &host).as_ref(), Some(&file), "{release} {floor} {host}");
                let wheel = name(release, &file);
                let about =
                    knowledge.wheels_of(&wheel.name).filter(|fact| fact.is_about(&wheel.name, &wheel.version, &wheel));
                about.for_each(|fact| assert!(fact.macos <= version(&host), "{wheel} on {host}"));
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "only {checked}");
}

/// mlx and mlx-metal load each other's libraries: on every Mac they are of one generation, in every line of releases.
#[test]
fn mlx_and_mlx_metal_are_always_alike() {
    let platform = |file: Option<String>| file.map(|file| file.rsplit('-').next().map(str::to_owned));
    let lines = ["0.26.5", "0.29.3", "0.29.4", "0.31.2", "0.32.0", "0.32.4"];
    for line in lines {
        let pair = [format!("mlx {line}"), format!("mlx_metal {line}")];
        let mut hosts = 0;
        for floor in macos_versions() {
            let env = env(&floor, Wheels::Host);
            let selector = selector(LAST, &floor);
            let releases = [published(&pair[0]), published(&pair[1])];
            let fits = [0, 1].map(|at| selector.fit(&releases[at], Yanked::Refused));
            let [Ok(_), Ok(_)] = fits else { continue };
            let shared = selector.shared_generations(&[&releases[0], &releases[1]]);
            let locked = [0, 1].map(|at| {
                let fit = match &shared {
                    Some(shared) => selector.fit_among(&releases[at], Yanked::Refused, shared).unwrap(),
                    None => fits[at].clone().unwrap(),
                };
                package(&pair[at], fit.files.iter().map(|file| locked_wheel(&file.wheel)).collect())
            });
            for host in macos_versions().into_iter().filter(|host| version(host) >= version(&floor)) {
                let [mlx, metal] = [0, 1].map(|at| platform(host_file(&locked[at], &env, &host)));
                assert_eq!(mlx, metal, "{line}, floor {floor}, macOS {host}");
                assert!(mlx.is_some(), "{line}, floor {floor}, macOS {host}");
                hosts += 1;
            }
        }
        assert!(hosts > 100, "{line}: only {hosts}");
    }
}

/// Before it was known that the wheel is for 26.2, a floor of 26.0 locked it alone.
#[test]
fn a_lock_made_before_may_have_nothing_for_a_host() {
    let only = name("mlx 0.32.4", "cp313-cp313-macosx_26_0_arm64");
    let old = package("mlx 0.32.4", vec![locked_wheel(&only)]);
    let on = |env: &LockedEnv, host: &str| host_file(&old, env, host);
    let env_host = env("26.0", Wheels::Host);
    assert_eq!(on(&env_host, "26.0"), None);
    assert_eq!(on(&env_host, "26.1"), None);
    assert_eq!(on(&env_host, "26.2").as_deref(), Some("cp313-cp313-macosx_26_0_arm64"));
    assert_eq!(on(&env("26.0", Wheels::Floor), "26.2"), None, "one file is that of the floor");
    let picker = Picker::new(&env_host);
    assert!(picker.files(&old).is_empty());
    assert_eq!(picker.kept(&old), [&old.wheels[0]], "it stays in the lock until somebody locks anew");
    let user_s = LockedPackage { origin: Origin::Path("vendor/mlx.whl".to_owned()), ..old.clone() };
    assert_eq!(host_file(&user_s, &env_host, "26.0").as_deref(), Some("cp313-cp313-macosx_26_0_arm64"));
}

#[test]
fn one_file_for_all_is_the_floor_s() {
    let locked = package("mlx 0.32.4", whole("mlx 0.32.4", LAST));
    let check = |floor: &str, host: &str, expected: &str| {
        let file = host_file(&locked, &env(floor, Wheels::Floor), host);
        assert_eq!(file, Some(format!("cp313-cp313-macosx_{expected}_0_arm64")), "{floor} {host}");
    };
    check("14.0", "27.0", "14");
    check("26.1", "27.0", "15");
    check("26.2", "27.0", "26");
}

fn version(text: &str) -> MacosVersion {
    text.parse().unwrap()
}

/// Every macOS from 13.0 to 27.6, and some that are newer than any known.
fn macos_versions() -> Vec<String> {
    let majors = [13, 14, 15, 26, 27].into_iter().flat_map(|major| (0..7).map(move |minor| format!("{major}.{minor}")));
    majors.chain(["28.0", "28.1", "30.0"].map(str::to_owned)).collect()
}

fn env(floor: &str, wheels: Wheels) -> LockedEnv {
    LockedEnv {
        name: "default".to_owned(),
        platform: Platform::MacosArm64,
        floor: Floor::Mac { macos: version(floor), chip: "m1".parse().unwrap() },
        gpu: Gpu::Required,
        wheels,
        python: "3.13".parse().unwrap(),
        python_full: None,
        inputs: Sha256::of(b""),
        rules: Vec::new(),
        ignored: Vec::new(),
        packages: Vec::new(),
    }
}

fn selector(until: &str, floor: &str) -> Selector {
    let target = env(floor, Wheels::Host).target();
    Selector::new(&target, Wheels::Host).until(Some(until)).knowing(&Knowledge::built_in())
}

fn name(release: &str, tags: &str) -> WheelName {
    format!("{}-{tags}.whl", release.replace(' ', "-")).parse().unwrap()
}

fn published(release: &str) -> Release {
    let (_, files) = RELEASES.iter().find(|(one, _)| *one == release).unwrap();
    let file = |tags: &&str| {
        let wheel = name(release, tags);
        let day = if wheel.build.is_some() { SECOND_BUILD } else { FIRST_BUILD };
        Arc::new(File {
            filename: wheel.to_string().into(),
            wheel,
            url: "".into(),
            sha256: None,
            size: None,
            requires_python: None,
            upload_day: Some(day.into()),
            yanked: None,
            metadata_file: None,
        })
    };
    Release { wheels: files.iter().map(file).collect(), source_archive: false }
}

fn locked_wheel(file: &WheelName) -> LockedWheel {
    LockedWheel { file: file.clone(), size: 1, sha256: Sha256::of(file.to_string().as_bytes()) }
}

fn package(release: &str, mut wheels: Vec<LockedWheel>) -> LockedPackage {
    let (name, version) = release.split_once(' ').unwrap();
    wheels.sort_by_cached_key(|wheel| wheel.file.to_string());
    LockedPackage {
        name: name.parse().unwrap(),
        version: version.parse().unwrap(),
        origin: Origin::Index("pypi".into()),
        requires: Vec::new(),
        requires_in: Vec::new(),
        wheels,
    }
}

/// Every file of a release that counts by its day.
fn whole(release: &str, until: &str) -> Vec<LockedWheel> {
    let early = |file: &&Arc<File>| file.upload_day.as_deref().is_some_and(|day| day <= until);
    published(release).wheels.iter().filter(early).map(|file| locked_wheel(&file.wheel)).collect()
}

/// Locks a release by itself.
fn lock(release: &str, until: &str, floor: &str) -> Result<LockedPackage, String> {
    let fit = selector(until, floor).fit(&published(release), Yanked::Refused).map_err(|unfit| unfit.to_string())?;
    Ok(package(release, fit.files.iter().map(|file| locked_wheel(&file.wheel)).collect()))
}

/// The tags of the one file that a host takes, if any.
fn host_file(locked: &LockedPackage, env: &LockedEnv, host: &str) -> Option<String> {
    let files = Picker::on(env, version(host)).files(locked);
    assert!(files.len() <= 1, "a host takes one file of a release");
    let file = files.first()?.file.to_string();
    Some(file.splitn(3, '-').nth(2)?.trim_end_matches(".whl").to_owned())
}
