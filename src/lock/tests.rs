//! The lockfile as data: round trips, building, merging, comparing.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::index::source::File;
use crate::manifest::model::{EnvSpec, Gpu, MacFloor, Resolution as Settings, Wheels};
use crate::pep::{PackageName, Sha256, Specifiers};
use crate::resolve::resolution::{Origin, Package, Resolution};
use crate::target::{Floor, Platform, PythonMinor};

use super::build::{Answer, build, with_envs};
use super::conflict::split;
use super::diff::diff;
use super::error::BuildError;
use super::format::to_text;
use super::model::{LockedEnv, LockedPackage, LockedRef, LockedWheel, Lockfile};
use super::parse::parse;
use super::pick::Picker;
use super::pins::{Pins, combine, preferences};
use super::satisfies::{changes, satisfies};

/// One environment's answer in short: `name version file file -> edge edge`, one line a package.
struct Short<'a> {
    env: &'a str,
    platform: Platform,
    macos: &'a str,
    python: &'a str,
    packages: &'a [&'a str],
}

const BASE: Short<'static> =
    Short { env: "default", platform: Platform::MacosArm64, macos: "14.0", python: "3.13", packages: &[] };

fn spec(short: &Short<'_>) -> EnvSpec {
    let mac = MacFloor { macos: short.macos.parse().unwrap(), macos_span: (0..0).into(), chip: "m1".parse().unwrap() };
    EnvSpec {
        name: short.env.to_owned(),
        platforms: vec![short.platform],
        mac: short.platform.is_mac().then_some(mac),
        glibc: (2, 28),
        gpu: Gpu::Required,
        python: ">=3.11".parse().unwrap(),
        python_span: (0..0).into(),
        memory: None,
        roots: Vec::new(),
        resolution: Settings {
            exclude_newer: None,
            prereleases: Vec::new(),
            constraints: BTreeMap::new(),
            overrides: BTreeMap::new(),
            ignore_rules: Vec::new(),
            allow_overlap: Vec::new(),
            wheels: Wheels::Host,
        },
    }
}

fn wheel(name: &str) -> Arc<File> {
    Arc::new(File {
        wheel: name.parse().unwrap(),
        filename: name.into(),
        url: "".into(),
        sha256: Some(Sha256::of(name.as_bytes())),
        size: Some(7),
        requires_python: None,
        upload_day: None,
        yanked: None,
        metadata_file: None,
    })
}

fn package(line: &str) -> (PackageName, Package) {
    let (release, edges) = line.split_once(" -> ").unwrap_or((line, ""));
    let mut words = release.split(' ');
    let (name, version) = (words.next().unwrap(), words.next().unwrap());
    let files: Vec<_> = words.map(wheel).collect();
    let pure = || vec![wheel(&format!("{name}-{version}-py3-none-any.whl"))];
    let package = Package {
        version: version.parse().unwrap(),
        origin: Origin::Index("pypi".into()),
        extras: Vec::new(),
        requires: edges.split_whitespace().map(|edge| edge.parse().unwrap()).collect(),
        wheels: if files.is_empty() { pure() } else { files },
    };
    (name.parse().unwrap(), package)
}

fn answer(short: &Short<'_>) -> Answer {
    let resolution = Resolution {
        env: spec(short),
        platform: short.platform,
        python: short.python.parse().unwrap(),
        python_full: Specifiers::any(),
        packages: short.packages.iter().map(|line| package(line)).collect(),
        held: Vec::new(),
        python_held: None,
        rules: Vec::new(),
        findings: Vec::new(),
    };
    Answer { resolution, inputs: Sha256::of(short.env.as_bytes()) }
}

fn lock(shorts: &[Short<'_>]) -> Lockfile {
    let answers: Vec<_> = shorts.iter().map(answer).collect();
    let lock = build("", &answers).unwrap();
    assert_eq!(parse(&to_text(&lock)).as_ref(), Ok(&lock));
    lock
}

fn files(lock: &Lockfile, name: &str) -> Vec<String> {
    let package = lock.packages.iter().find(|package| package.name.as_str() == name).unwrap();
    package.wheels.iter().map(|wheel| wheel.file.to_string()).collect()
}

const MLX: &str =
    "mlx 0.32.4 mlx-0.32.4-cp313-cp313-macosx_14_0_arm64.whl mlx-0.32.4-cp313-cp313-macosx_15_0_arm64.whl";
const MLX_14: &str = "mlx 0.32.4 mlx-0.32.4-cp313-cp313-macosx_14_0_arm64.whl";
const MLX_15: &str = "mlx 0.32.4 mlx-0.32.4-cp313-cp313-macosx_15_0_arm64.whl";
const MLX_312: &str = "mlx 0.32.4 mlx-0.32.4-cp312-cp312-macosx_15_0_arm64.whl";

#[test]
fn environments_share_releases_and_the_union_of_their_files() {
    let lock = lock(&[
        Short { packages: &[MLX, "a 1"], ..BASE },
        Short { env: "next", python: "3.12", macos: "15.0", packages: &[MLX_312], ..BASE },
    ]);
    assert_eq!(lock.packages.len(), 2);
    let all = ["cp312-cp312-macosx_15", "cp313-cp313-macosx_14", "cp313-cp313-macosx_15"];
    assert_eq!(files(&lock, "mlx"), all.map(|tags| format!("mlx-0.32.4-{tags}_0_arm64.whl")));
    let mlx = lock.package(lock.envs[1].entry(&"mlx".parse().unwrap()).unwrap()).unwrap();
    let own: Vec<_> = Picker::new(&lock.envs[1]).files(mlx).into_iter().map(|wheel| wheel.file.to_string()).collect();
    assert_eq!(own, ["mlx-0.32.4-cp312-cp312-macosx_15_0_arm64.whl"]);
}

#[test]
fn sync_takes_the_file_of_its_mac() {
    let lock = lock(&[Short { packages: &[MLX], ..BASE }]);
    let check = |env: &LockedEnv, macos: &str, expected: &str| {
        let files = Picker::on(env, macos.parse().unwrap()).files(&lock.packages[0]);
        let names: Vec<_> = files.into_iter().map(|wheel| wheel.file.to_string()).collect();
        assert_eq!(names, [format!("mlx-0.32.4-cp313-cp313-macosx_{expected}_0_arm64.whl")], "{macos}");
    };
    check(&lock.envs[0], "14.6", "14");
    check(&lock.envs[0], "26.1", "15");
    check(&LockedEnv { wheels: Wheels::Floor, ..lock.envs[0].clone() }, "26.1", "14");
}

#[test]
fn edges_are_said_once_and_differences_beside_them() {
    let linux = Short { platform: Platform::LinuxX86_64, packages: &["a 1 -> b c", "b 1", "c 1"], ..BASE };
    let both = lock(&[linux, Short { packages: &["a 1 -> b", "b 1"], ..BASE }]);
    let names = |edges: &[PackageName]| edges.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(both.envs[0].platform, Platform::MacosArm64, "platforms have their own order");
    assert_eq!(names(&both.packages[0].requires), "b");
    assert_eq!(both.packages[0].requires_in.len(), 1);
    assert_eq!(names(both.packages[0].edges("default", Platform::LinuxX86_64)), "b c");
    assert_eq!(names(both.packages[0].edges("default", Platform::MacosArm64)), "b");
}

#[test]
fn what_does_not_go_into_one_lock_is_refused() {
    let refused = |change: &dyn Fn(&mut Package)| {
        let mut one = answer(&Short { packages: &["a 1"], ..BASE });
        one.resolution.packages.values_mut().for_each(change);
        let other = Short { env: "other", packages: &["a 1"], ..BASE };
        build("", &[answer(&other), one]).unwrap_err().to_string()
    };
    let said = refused(&|package| Arc::get_mut(&mut package.wheels[0]).unwrap().sha256 = Some(Sha256::of(b"x")));
    let expected = "has one content in environment `other` and another in `default`: lock both together";
    assert_eq!(said, format!("`a-1-py3-none-any.whl` {expected}"));
    let said = refused(&|package| Arc::get_mut(&mut package.wheels[0]).unwrap().size = None);
    assert_eq!(said, "no size is known of `a-1-py3-none-any.whl`");
    let said = refused(&|package| package.origin = Origin::Path("/tmp/a-1-py3-none-any.whl".to_owned()));
    assert!(said.starts_with("`a` is a wheel by absolute path"), "{said}");
    let url = || Origin::Url { url: "https://me:secret@example.com/a.whl".to_owned(), sha256: Sha256::of(b"") };
    let said = refused(&|package| package.origin = url());
    assert!(!said.contains("secret"), "{said}");
    let twice = [answer(&BASE), answer(&BASE)];
    assert!(matches!(build("", &twice), Err(BuildError::DuplicateEnv { .. })));
}

#[test]
fn one_environment_is_replaced_and_the_others_stay() {
    let old = lock(&[
        Short { packages: &[MLX, "a 1 -> b", "b 1"], ..BASE },
        Short { env: "next", python: "3.12", macos: "15.0", packages: &[MLX_312, "a 1", "gone 1"], ..BASE },
    ]);
    let new = lock(&[Short { env: "next", macos: "15.0", packages: &[MLX_15, "a 2"], ..BASE }]);
    let merged = with_envs(&old, &new).unwrap();
    assert_eq!(merged.envs, [old.envs[0].clone(), new.envs[0].clone()]);
    let releases: Vec<_> = merged.packages.iter().map(|one| format!("{} {}", one.name, one.version)).collect();
    assert_eq!(releases, ["a 1", "a 2", "b 1", "mlx 0.32.4"]);
    assert_eq!(files(&merged, "mlx"), files(&old, "mlx")[1..], "the file for 3.12 has no user");
    // The same as solving both at once.
    let once = lock(&[
        Short { packages: &[MLX, "a 1 -> b", "b 1"], ..BASE },
        Short { env: "next", macos: "15.0", packages: &[MLX_15, "a 2"], ..BASE },
    ]);
    assert_eq!(to_text(&merged), to_text(&once));
    assert_eq!(to_text(&with_envs(&merged, &merged).unwrap()), to_text(&merged));
}

/// What was kept was not solved with the newer knowledge, so the file must not claim it.
#[test]
fn a_merged_lock_claims_the_older_knowledge() {
    let lock = |knowledge: &str, env: &str| build(knowledge, &[answer(&Short { env, ..BASE })]).unwrap();
    let check = |old: &Lockfile, new: &Lockfile, expected: &str| {
        assert_eq!(with_envs(old, new).unwrap().knowledge, expected);
    };
    check(&lock("2026.01.01", "default"), &lock("2026.02.01", "next"), "2026.01.01");
    check(&lock("2026.01.01", "next"), &lock("2026.02.01", "next"), "2026.02.01");
    check(&lock("", "default"), &lock("2026.02.01", "next"), "");
}

#[test]
fn stale_locks_say_why() {
    let lock = lock(&[Short { packages: &["a 1"], ..BASE }, Short { env: "old", ..BASE }]);
    let digest = |env: &str| Sha256::of(env.as_bytes());
    let check = |wanted: &[(&str, Platform, Sha256)], expected: &[&str]| {
        let wanted: Vec<_> =
            wanted.iter().map(|(env, platform, inputs)| ((*env).to_owned(), *platform, *inputs)).collect();
        let said: Vec<_> = satisfies(&lock, &wanted).iter().map(ToString::to_string).collect();
        assert_eq!(said, expected);
    };
    let (mac, linux) = (Platform::MacosArm64, Platform::LinuxX86_64);
    let (default, old) = (("default", mac, digest("default")), ("old", mac, digest("old")));
    check(&[default, old], &[]);
    check(&[default], &["environment `old` is locked but not in the manifest"]);
    check(
        &[default, old, ("new", mac, digest("new")), ("new", linux, digest("new"))],
        &["environment `new` is not locked"],
    );
    check(&[default, ("default", linux, digest("")), old], &["environment `default` is not locked for linux-x86_64"]);
    let elsewhere = "environment `old` is locked for macos-arm64, which the manifest does not name";
    check(&[default, ("old", linux, digest(""))], &["environment `old` is not locked for linux-x86_64", elsewhere]);
    let changed = "what environment `default` asks for on macos-arm64 has changed since it was locked";
    check(&[("default", mac, digest("other")), old], &[changed]);
}

#[test]
fn an_unused_release_makes_a_lock_stale() {
    let mut lock = lock(&[Short { packages: &["a 1", "b 1"], ..BASE }]);
    lock.envs[0].packages.pop();
    let said = satisfies(&lock, &[("default".to_owned(), Platform::MacosArm64, Sha256::of(b"default"))]);
    assert_eq!(said[0].to_string(), "`b 1` is locked but no environment uses it");
}

#[test]
fn a_changed_declaration_is_put_in_words() {
    let lock = lock(&[BASE]);
    let wanted =
        EnvSpec { gpu: Gpu::Optional, python: "<3.13".parse().unwrap(), ..spec(&Short { macos: "13.0", ..BASE }) };
    let expected = [
        "the macOS floor was 14.0 and is 13.0",
        "the value of `gpu` was `required` and is `optional`",
        "Python 3.13 is locked, but <3.13 is asked for",
    ];
    assert_eq!(changes(&lock.envs[0], &wanted), expected);
    assert_eq!(changes(&lock.envs[0], &spec(&BASE)), [""; 0]);
}

#[test]
fn what_is_switched_off_stands_in_the_lock() {
    let with = |ids: &[&str]| {
        let mut answer = answer(&BASE);
        answer.resolution.env.resolution.ignore_rules = ids.iter().map(|id| (*id).to_owned()).collect();
        answer
    };
    let lock = |ids: &[&str]| build("", &[with(ids)]).unwrap();
    let (none, both) = (lock(&[]), lock(&["b", "a", "b"]));
    assert_eq!(both.envs[0].ignored, ["a", "b"]);
    let line = "ignore-rules = [\"a\", \"b\"]\n";
    assert_eq!(to_text(&both).replace(line, ""), to_text(&none), "without any the text is as it always was");
    assert!(to_text(&both).contains(line));
    assert_eq!(parse(&to_text(&both)), Ok(both.clone()));
    let said = |old: &Lockfile, new: &Lockfile| diff(Some(old), Some(new)).to_string();
    assert_eq!(said(&none, &both), "default on macos-arm64\n+ ignore-rules a, b\n");
    assert_eq!(said(&both, &lock(&["b"])), "default on macos-arm64\n~ ignore-rules a, b -> b\n");
    assert_eq!(
        changes(&both.envs[0], &with(&["b", "c"]).resolution.env),
        ["`c` is new in `ignore-rules`", "`a` is gone from `ignore-rules`"]
    );
}

#[test]
fn differences_read_as_lines() {
    let check = |old: &[Short<'_>], new: &[Short<'_>], expected: &[&str]| {
        let (old, new) = (lock(old), lock(new));
        let found = diff(Some(&old), Some(&new));
        assert_eq!(found.to_string().lines().collect::<Vec<_>>(), expected);
        assert_eq!(found.is_empty(), expected.is_empty());
        assert!(diff(Some(&new), Some(&new)).is_empty());
    };
    let heading = "default on macos-arm64";
    let with = |packages| Short { packages, ..BASE };
    check(&[with(&["a 1", "b 1"])], &[with(&["a 1", "b 1"])], &[]);
    check(
        &[with(&["a 1", "b 2", "c 1"])],
        &[with(&["b 1", "c 2", "d 1"])],
        &[heading, "- a 1", "~ b 2 -> 1", "~ c 1 -> 2", "+ d 1"],
    );
    check(
        &[with(&["a 1"])],
        &[Short { python: "3.12", macos: "13.3", packages: &["a 1"], ..BASE }],
        &[heading, "~ python 3.13 -> 3.12", "~ macos 14.0 -> 13.3"],
    );
    check(&[with(&[MLX])], &[with(&[MLX_14])], &[heading, "~ mlx 0.32.4 (files -1)"]);
    check(&[with(&["a 1", "b 1"])], &[with(&["a 1 -> b", "b 1"])], &[heading, "~ a 1 (requires +b)"]);
    check(
        &[with(&[])],
        &[with(&[]), Short { env: "tf", packages: &["a 1"], ..BASE }],
        &[
            "tf on macos-arm64 (new)",
            "+ python 3.13",
            "+ macos 14.0",
            "+ chip m1",
            "+ gpu required",
            "+ wheels host",
            "+ a 1",
        ],
    );
    check(
        &[with(&[]), Short { env: "tf", packages: &["a 1"], ..BASE }],
        &[with(&[])],
        &["tf on macos-arm64 (removed)", "- a 1"],
    );
}

#[test]
fn other_extras_and_origins_are_differences() {
    let changed = |change: &dyn Fn(&mut Package)| {
        let old = lock(&[Short { packages: &["a 1"], ..BASE }]);
        let mut new = answer(&Short { packages: &["a 1"], ..BASE });
        new.resolution.packages.values_mut().for_each(change);
        diff(Some(&old), Some(&build("", &[new]).unwrap())).to_string()
    };
    let heading = "default on macos-arm64\n";
    let said = changed(&|package| package.extras = vec!["s3".parse().unwrap()]);
    assert_eq!(said, format!("{heading}~ a 1 (extras +s3)\n"));
    let said = changed(&|package| package.origin = Origin::Index("corp".into()));
    assert_eq!(said, format!("{heading}~ a 1 (index pypi -> index corp)\n"));
    let rebuilt = |package: &mut Package| Arc::get_mut(&mut package.wheels[0]).unwrap().sha256 = Some(Sha256::of(b"x"));
    assert_eq!(changed(&rebuilt), format!("{heading}~ a 1 (files +1 -1)\n"));
}

/// A file that another environment brought or took is no change of this one.
#[test]
fn differences_are_those_of_the_environment() {
    let default = || Short { packages: &[MLX], ..BASE };
    let next = Short { env: "next", python: "3.12", macos: "15.0", packages: &[MLX_312], ..BASE };
    let found = diff(Some(&lock(&[default(), next])), Some(&lock(&[default()])));
    assert_eq!(found.to_string(), "next on macos-arm64 (removed)\n- mlx 0.32.4\n");
}

#[test]
fn differences_serialize() {
    let old = lock(&[Short { packages: &["a 1"], ..BASE }]);
    let new = lock(&[Short { packages: &["a 2"], ..BASE }]);
    let json = serde_json::to_value(diff(Some(&old), Some(&new))).unwrap();
    let change = serde_json::json!({ "name": "a", "change": "upgraded", "old": "1", "new": "2" });
    assert_eq!(json["envs"][0]["packages"][0], change);
    assert_eq!(json["envs"][0]["platform"], "macos-arm64");
}

#[test]
fn an_old_lock_is_the_preference() {
    let lock = lock(&[
        Short { packages: &["a 1"], ..BASE },
        Short { env: "next", python: "3.12", packages: &["a 2"], ..BASE },
    ]);
    let wanted = preferences(&lock, "next", Platform::MacosArm64);
    assert_eq!(wanted.python, Some(PythonMinor { major: 3, minor: 12 }));
    assert_eq!(wanted.versions[&"a".parse().unwrap()], ["2".parse().unwrap()]);
    let absent = preferences(&lock, "new", Platform::MacosArm64);
    assert!(absent.python.is_none() && absent.versions.is_empty());
    // Where no environment can be made out, any release is a better guess than none.
    let (torn, _) = Pins::make_out(&to_text(&lock).replace("[[env]]", "[[evn]]"));
    let wanted = combine(&[&torn], "new", Platform::MacosArm64);
    assert_eq!(wanted.versions[&"a".parse().unwrap()], ["2".parse().unwrap(), "1".parse().unwrap()]);
}

#[test]
fn conflicts_split_into_their_sides() {
    let check = |text: &str, ours: &str, theirs: &str| {
        let sides = split(text).unwrap();
        assert_eq!((sides.ours.as_str(), sides.theirs.as_str()), (ours, theirs), "{text}");
    };
    assert_eq!(split("a\n== b\n"), None);
    check("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\nd\n", "a\nb\nd\n", "a\nc\nd\n");
    check("<<<<<<< HEAD\nb\n||||||| 1\nz\n=======\nc\n>>>>>>> x\n", "b\n", "c\n");
    check("<<<<<<< HEAD\r\nb\r\n=======\r\n>>>>>>> x\r\n", "b\r\n", "");
    // Cut off, or half tidied by hand.
    check("a\n<<<<<<< HEAD\nb\n", "a\nb\n", "a\n");
    check("a\n=======\nc\n>>>>>>> x", "a\n", "a\nc\n");
    check("ä<<<<<<<\n>>>>>>> x\n", "ä<<<<<<<\n", "ä<<<<<<<\n");
}

/// Solving afresh would overwrite what the newer macml wrote.
#[test]
fn a_newer_version_on_one_side_of_a_conflict_stops_everything() {
    let text = to_text(&lock(&[BASE]));
    let newer = "<<<<<<< HEAD\nversion = 1\n=======\nversion = 2\n>>>>>>> x\n";
    assert_eq!(super::file::interpret(&text.replace("version = 1\n", newer)), Err(2));
    let torn = format!("{}[[env", text.replace("version = 1\n", "version = 2\n"));
    assert_eq!(super::file::interpret(&torn), Err(2));
}

const NAMES: [&str; 5] = ["a", "b-c", "torch", "x1", "zope-interface"];
const VERSIONS: [&str; 4] = ["1.0", "2.10.0+cpu", "2.0rc1", "1!3.post2"];
const EXTRAS: [&str; 2] = ["s3", "vision-all"];
const ENVS: [&str; 3] = ["default", "tf", "with \"quotes\\ and ü"];
const TAGS: [&str; 3] = ["cp313-cp313-macosx_14_0_arm64", "cp313-cp313-manylinux_2_28_x86_64", "py3-none-any"];

fn generated_origin(kind: usize, file: &str) -> Origin {
    match kind {
        0 => Origin::Index("pypi".into()),
        1 => Origin::Index("corp (old)".into()),
        2 => Origin::Path(format!("vendor/\"ä\" (1)/{file}")),
        _ => Origin::Url { url: format!("https://example.com/{file}"), sha256: Sha256::of(file.as_bytes()) },
    }
}

/// An environment in numbers: its place in the lists above, then its packages with version, origin, extras and edges.
type Numbers = ((usize, usize), BTreeMap<usize, (usize, usize, usize, u8)>);

fn generated(numbers: &[Numbers]) -> Lockfile {
    let mut lock = Lockfile { knowledge: "2026.11.30".to_owned(), envs: Vec::new(), packages: Vec::new() };
    for ((env, platform_number), packages) in numbers {
        let platform = Platform::ALL[*platform_number];
        if lock.env(ENVS[*env], platform).is_some() {
            continue;
        }
        let mac = Floor::Mac { macos: "14.0".parse().unwrap(), chip: "m2-pro".parse().unwrap() };
        let mut locked = LockedEnv {
            name: ENVS[*env].to_owned(),
            platform,
            floor: if platform.is_mac() { mac } else { Floor::Glibc(2, 28) },
            gpu: if *env == 0 { Gpu::Required } else { Gpu::Optional },
            wheels: if *env == 1 { Wheels::Floor } else { Wheels::Host },
            python: PythonMinor { major: 3, minor: 13 },
            python_full: (*env == 2).then(|| "!=3.13.8, >=3.13.2".parse().unwrap()),
            inputs: Sha256::of(&[*env as u8]),
            rules: (0..*env).map(|rule| format!("a-rule-with-a-rather-long-name-{rule}")).collect(),
            ignored: (0..*platform_number).map(|rule| format!("switched-off-{rule}")).collect(),
            packages: Vec::new(),
        };
        for (name, (version, origin, extras, edges)) in packages {
            let stem = format!("{}-{}", NAMES[*name].replace('-', "_"), VERSIONS[*version]);
            let origin = generated_origin(*origin, &format!("{stem}-py3-none-any.whl"));
            let entry = LockedRef {
                name: NAMES[*name].parse().unwrap(),
                version: VERSIONS[*version].parse().unwrap(),
                extras: EXTRAS.iter().take(*extras).map(|extra| extra.parse().unwrap()).collect(),
                origin: origin.clone(),
            };
            let tags = if matches!(origin, Origin::Index(_)) { &TAGS[..] } else { &TAGS[2..] };
            let wheel = |tags: &&str| {
                let file = format!("{stem}-{tags}.whl");
                LockedWheel {
                    sha256: Sha256::of(file.as_bytes()),
                    size: file.len() as u64,
                    file: file.parse().unwrap(),
                }
            };
            let requires = packages.keys().filter(|other| edges >> **other & 1 == 1);
            let edges = super::model::EdgesIn {
                env: locked.name.clone(),
                platform,
                requires: requires.map(|other| NAMES[*other].parse().unwrap()).collect(),
            };
            match lock
                .packages
                .iter_mut()
                .find(|one| one.name == entry.name && one.version == entry.version && one.origin == origin)
            {
                Some(package) => package.requires_in.push(edges),
                None => lock.packages.push(LockedPackage {
                    name: entry.name.clone(),
                    version: entry.version.clone(),
                    origin,
                    requires: Vec::new(),
                    requires_in: vec![edges],
                    wheels: tags.iter().map(wheel).collect(),
                }),
            }
            locked.packages.push(entry);
        }
        lock.envs.push(locked);
    }
    lock
}

fn numbers() -> impl Strategy<Value = Vec<Numbers>> {
    let packages = prop::collection::btree_map(0..5_usize, (0..4_usize, 0..4_usize, 0..3_usize, any::<u8>()), 0..5);
    prop::collection::vec(((0..3_usize, 0..3_usize), packages), 0..6)
}

proptest! {
    #[test]
    fn what_is_written_reads_back(numbers in numbers()) {
        let mut lock = generated(&numbers);
        let text = to_text(&lock);
        lock.canonicalize();
        let read = parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&read, &lock);
        prop_assert_eq!(to_text(&read), text.clone());
        // Nothing in it depends on the order in which it was put together.
        let mut reversed = lock.clone();
        reversed.envs.reverse();
        reversed.packages.reverse();
        reversed.packages.iter_mut().for_each(|package| package.wheels.reverse());
        prop_assert_eq!(to_text(&reversed), text);
    }

    /// No text whatever stops the program: a damaged lock is read as far as it goes.
    #[test]
    fn torn_locks_never_stop_the_program(numbers in numbers(), cut in 0..4000_usize, junk in ".{0,20}") {
        let text = to_text(&generated(&numbers));
        let (before, after) = text.split_at(text.floor_char_boundary(cut));
        let torn = format!("{before}{junk}{}", after.get(20..).unwrap_or_default());
        let _ = super::file::interpret(&torn);
        let _ = super::file::interpret(&format!("{before}\n<<<<<<< {junk}"));
    }
}
