//! Whether a lock answers its manifest, and which sets it has.

use macml::diag::Code;
use macml::diag::Severity;
use macml::host::Host;
use macml::pipeline::Error;
use macml::pipeline::check::Because;
use macml::pipeline::check::Class;
use macml::pipeline::check::Mac;
use macml::pipeline::check::Set;
use macml::pipeline::check::Sum;
use macml::pipeline::check::Word;
use macml::pipeline::check::environment;
use macml::pipeline::check::environment::Found;
use macml::pipeline::check::environment::Homes;
use macml::pipeline::check::environment::There;
use macml::pipeline::check::locked::Judged;
use macml::pipeline::check::locked::Locked;
use macml::pipeline::check::locked::sets;

use super::Net;
use super::read;
use super::told;
use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;

fn published() -> Published {
    let tags = ["cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_15_0_arm64", "cp313-cp313-manylinux_2_17_x86_64"];
    let gpu = Rel { wheel_tags: tags.map(str::to_owned).to_vec(), ..Rel::default() };
    Published::default().with_release("gpu", "1.0", gpu).with("aa", "1.0", &["bb"]).with("bb", "1.0", &[]).with(
        "bb",
        "2.0",
        &[],
    )
}

const ROOTS: &str = "[dependencies]\naa = \"*\"\ngpu = \"*\"\n";

fn project(index: &FakeIndex, rest: &str) -> Project {
    let project = Project::asking(index, "14.0", "==3.13.*", rest);
    project.run(&["lock"]).says(0, &["macml.lock written"]);
    project
}

fn change(project: &Project, old: &str, new: &str) {
    let text = std::fs::read_to_string(project.path().join("macml.toml")).unwrap();
    assert!(text.contains(old), "{text}");
    project.write("macml.toml", &text.replace(old, new));
}

#[test]
fn a_current_lock_needs_no_network() {
    let index = FakeIndex::from_published(&published());
    let project = project(&index, ROOTS);
    let locked = read(project.path(), &[], &Net::Never).unwrap();
    assert_eq!((locked.part.word, told(&locked.part)), (Word::Current, vec![]));
    assert_eq!(locked.part.sum, Sum::Releases(3));
    assert!(locked.part.of.is_none() && locked.lockfile.is_some());
}

#[test]
fn a_stale_lock_is_told_with_its_reasons_and_judged_as_it_is() {
    let index = FakeIndex::from_published(&published());
    let project = project(&index, ROOTS);
    change(&project, "14.0", "14.1");
    change(&project, "aa = \"*\"", "aa = \"*\"\nbb = \"<2\"");
    let locked = read(project.path(), &[], &Net::At(&index)).unwrap();
    assert_eq!(locked.part.word, Word::Stale);
    assert_eq!(told(&locked.part), ["[lock-stale] `macml.lock` does not answer `macml.toml`"]);
    let finding = &locked.part.told[0].finding;
    assert_eq!((finding.code, finding.severity), (Code::LockStale, Severity::Error));
    assert_eq!(
        finding.notes,
        [
            "what environment `default` asks for on macos-arm64 has changed since it was locked: \
             the macOS floor was 14.0 and is 14.1",
            "default on macos-arm64: ~ macos 14.0 -> 14.1, ~ bb 2.0 -> 1.0"
        ]
    );
    assert_eq!(finding.hint.as_deref(), Some("`macml lock` brings it up to date"));
    // What is there is what is judged.
    let bb = sets(&locked, &Judged::default()).sets[0].releases.iter().find(|one| one.name.as_str() == "bb").cloned();
    assert_eq!(bb.unwrap().version.to_string(), "2.0");

    // Without a network it is as stale.
    std::fs::remove_dir_all(project.path().join(".cache")).unwrap();
    let locked = read(project.path(), &[], &Net::Off).unwrap();
    let notes = &locked.part.told[0].finding.notes;
    assert_eq!((locked.part.word, notes.len()), (Word::Stale, 2), "{notes:?}");
    assert!(notes[1].starts_with("what should be in it could not be found out: "), "{notes:?}");
}

#[test]
fn a_manifest_that_nothing_satisfies_makes_a_lock_stale() {
    let index = FakeIndex::from_published(&published());
    let project = project(&index, ROOTS);
    change(&project, "aa = \"*\"", "aa = \">=7\"");
    let locked = read(project.path(), &[], &Net::At(&index)).unwrap();
    let notes = &locked.part.told[0].finding.notes;
    assert_eq!(locked.part.word, Word::Stale);
    assert!(notes.iter().any(|note| note.starts_with("nothing satisfies `macml.toml`")), "{notes:?}");
}

#[test]
fn a_wheel_by_path_that_is_another_one_makes_a_lock_stale() {
    let index = FakeIndex::from_published(&Published::default());
    let wheel =
        |version| crate::support::wheel::build("own", "1.0", &Rel { filling: version, ..Rel::default() }).remove(0);
    let project = Project::asking(&index, "14.0", "==3.13.*", "");
    let name = wheel(1).filename;
    let manifest = std::fs::read_to_string(project.path().join("macml.toml")).unwrap();
    project.write("macml.toml", &format!("{manifest}[dependencies]\nown = {{ path = \"{name}\" }}\n"));
    std::fs::write(project.path().join(&name), wheel(1).bytes).unwrap();
    project.run(&["lock"]).says(0, &["written"]);
    assert_eq!(read(project.path(), &[], &Net::Never).unwrap().part.word, Word::Current);
    std::fs::write(project.path().join(&name), wheel(2).bytes).unwrap();
    let locked = read(project.path(), &[], &Net::At(&index)).unwrap();
    assert_eq!(locked.part.word, Word::Stale);
    assert!(locked.part.told[0].finding.notes[0].starts_with("a wheel that `macml.toml` names by path"));
}

#[test]
fn no_lock_and_what_is_none_any_more() {
    let index = FakeIndex::from_published(&published());
    let project = project(&index, ROOTS);
    let whole = project.lock().unwrap();
    let check = |code: Code, hint: &str| {
        let locked = read(project.path(), &[], &Net::Never).unwrap();
        let finding = &locked.part.told[0].finding;
        assert_eq!((locked.part.word, finding.code, locked.part.told.len()), (Word::Stale, code, 1));
        assert!(finding.hint.as_ref().unwrap().contains(hint), "{finding:?}");
        assert_eq!((locked.lockfile.as_ref(), &locked.part.sum), (None, &Sum::Nothing));
        assert_eq!(sets(&locked, &Judged::default()).sets, []);
        finding.notes.concat()
    };
    std::fs::remove_file(project.path().join("macml.lock")).unwrap();
    check(Code::LockMissing, "`macml lock` writes it");
    project.write("macml.lock", &whole[..whole.len() / 2]);
    check(Code::LockDamaged, "`macml lock` solves afresh");
    project.write("macml.lock", "\u{0}\u{1}not a lock");
    check(Code::LockDamaged, "`macml lock`");
    std::fs::write(project.path().join("macml.lock"), [0xff, 0xfe, 0, 1]).unwrap();
    check(Code::LockDamaged, "`macml lock`");
    let merged =
        whole.replacen("version = 1\n", "<<<<<<< ours\nversion = 1\n=======\nversion = 1\n>>>>>>> theirs\n", 1);
    assert_ne!(merged, whole);
    project.write("macml.lock", &merged);
    assert!(check(Code::LockDamaged, "`macml lock`").contains("a merge left both sides"));
    project.write("macml.lock", &whole.replacen("version = 1\n", "version = 99\n", 1));
    let error = read(project.path(), &[], &Net::Never).unwrap_err();
    assert!(matches!(error, Error::Lockfile(macml::lock::Error::Newer { found: 99, .. })), "{error}");
}

#[test]
fn of_named_environments_only_those_are_asked() {
    let index = FakeIndex::from_published(&published());
    let project = project(&index, &format!("{ROOTS}[env.old.dependencies]\nbb = \"<2\"\n"));
    change(&project, "bb = \"<2\"", "bb = \"<3\"");
    assert_eq!(read(project.path(), &["default"], &Net::Never).unwrap().part.word, Word::Current);
    for only in [&["old"][..], &[]] {
        let locked = read(project.path(), only, &Net::At(&index)).unwrap();
        let notes = &locked.part.told[0].finding.notes;
        assert!(notes[0].starts_with("what environment `old` asks for on macos-arm64"), "{notes:?}");
    }
    let error = read(project.path(), &["odl"], &Net::Never).unwrap_err();
    assert!(matches!(&error, Error::UnknownEnv { name, known } if name == "odl" && known.len() == 2), "{error}");
    // One that is locked and no longer declared.
    change(&project, "[env.old.dependencies]\nbb = \"<3\"\n", "");
    let locked = read(project.path(), &[], &Net::Never).unwrap();
    let notes = &locked.part.told[0].finding.notes;
    assert_eq!(notes[0], "environment `old` is locked but not in the manifest");
}

/// Says which wheel of `gpu` each set has, and for whom it is.
fn gpus(sets: &[Set]) -> Vec<String> {
    let one = |set: &Set| {
        let on = set.of.on.as_ref().map(|on| format!("{} {} {:?}", on.mac.macos, on.mac.chip, on.because));
        let gpu = set.releases.iter().find(|release| release.name.as_str() == "gpu");
        let file = gpu.and_then(|gpu| gpu.file.as_ref()).map(|file| file.wheel.to_string());
        format!("{} {}: {}", set.of.platform, on.unwrap_or_default(), file.unwrap_or_default())
    };
    sets.iter().map(one).collect()
}

fn mac(text: &str) -> Mac {
    text.parse().unwrap()
}

fn host(macos: &str, cpu: &str) -> Host {
    let text = format!(r#"{{"cpu": "{cpu}", "macos": "{macos}", "process": "native", "memory": 17179869184}}"#);
    serde_json::from_str(&text).unwrap()
}

fn two_platforms(index: &FakeIndex) -> (Project, Locked) {
    let project = Project::asking(index, "14.0", "==3.13.*", ROOTS);
    change(&project, "[target]\n", "[target]\nplatforms = [\"macos-arm64\", \"linux-x86_64\"]\n");
    project.run(&["lock"]).says(0, &["written"]);
    let locked = read(project.path(), &[], &Net::Never).unwrap();
    (project, locked)
}

const AT_14: &str = "gpu-1.0-cp313-cp313-macosx_14_0_arm64.whl";
const AT_15: &str = "gpu-1.0-cp313-cp313-macosx_15_0_arm64.whl";

#[test]
fn sets_for_each_platform_and_mac() {
    let index = FakeIndex::from_published(&published());
    let (project, locked) = two_platforms(&index);
    let macs = [mac("m5,27.0"), mac("m1,14.5"), mac("m5,27.0"), mac("m9,31.0")];
    let judged = Judged { macs: &macs, ..Judged::default() };
    let all = sets(&locked, &judged);
    let expected = [
        format!("macos-arm64 14.0 m1 Floor: {AT_14}"),
        format!("macos-arm64 27.0 m5 Asked: {AT_15}"),
        format!("macos-arm64 14.5 m1 Asked: {AT_14}"),
        format!("macos-arm64 31.0 m9 Asked: {AT_15}"),
        "linux-x86_64 : gpu-1.0-cp313-cp313-manylinux_2_17_x86_64.whl".to_owned(),
    ];
    assert_eq!(gpus(&all.sets), expected);
    let said: Vec<_> = all.parts.iter().map(|part| (part.word, part.sum.clone(), told(part))).collect();
    let newer = [
        "[newer-than-known] macOS 31.0 is newer than macml knows; it is treated like 27",
        "[newer-than-known] chip `m9` is newer than macml knows; it is treated like `m5`",
    ];
    let files = Sum::Files(3);
    assert_eq!(
        said,
        [
            (Word::Readable, files.clone(), vec![]),
            (Word::Readable, files.clone(), vec![]),
            (Word::Readable, files, newer.map(str::to_owned).to_vec())
        ]
    );
    assert!(
        all.sets.iter().all(|set| set.releases.iter().all(|release| release.file.as_ref().unwrap().size.is_some()))
    );
    assert!(all.sets[0].solved_with.is_some());
    // A tree that was staged for a later macOS is one more Mac to judge for, and this Mac none without its environment.
    project.run(&["sync", "--target", "mac", "--platform", "macos-arm64", "--macos", "15.2"]).says(0, &["staged"]);
    let staged = environment::staged(&project.path().join("mac"), &[]).unwrap();
    let here = host("26.1", "Apple M3 Max");
    let expected = [format!("macos-arm64 14.0 m1 Floor: {AT_14}"), format!("macos-arm64 15.2 m1 Asked: {AT_15}")];
    let judged = Judged { here: Some(&here), found: std::slice::from_ref(&staged), ..Judged::default() };
    assert_eq!(gpus(&sets(&locked, &judged).sets)[..2], expected);
    // Where it is there, it counts, unless it is below the floor.
    let built = Found { form: environment::Form::Built, ..staged };
    let on = |host: &Host| {
        let judged = Judged { here: Some(host), found: std::slice::from_ref(&built), ..Judged::default() };
        let sets = sets(&locked, &judged).sets;
        sets.into_iter()
            .filter_map(|set| set.of.on)
            .find(|on| on.because == Because::Here)
            .map(|on| format!("{} {}", on.mac.macos, on.mac.chip))
    };
    assert_eq!(on(&here).as_deref(), Some("26.1 m3-max"));
    assert_eq!(on(&host("13.6", "Apple M1")), None);
    assert_eq!(on(&host("15.0", "Intel(R) Core(TM) i7")), None);
}

#[test]
fn below_the_floor_the_lock_was_not_made() {
    let index = FakeIndex::from_published(&published());
    let (_project, locked) = two_platforms(&index);
    let macs = [mac("m1,13.0")];
    let all = sets(&locked, &Judged { macs: &macs, ..Judged::default() });
    assert_eq!((all.sets.len(), all.parts.len()), (2, 1));
    let part = &all.parts[0];
    assert_eq!((part.word, part.word.class(), part.told[0].finding.code), (Word::Unfit, Class::No, Code::BelowFloor));
    let expected =
        "[below-floor] environment `default` is locked for macOS 14.0 on m1 and later, not for macOS 13.0 on m1";
    assert_eq!(told(part), [expected]);
    assert_eq!(
        part.told[0].finding.hint.as_deref(),
        Some("`macml lock --macos 13.0` says what a lock for it would have")
    );
    assert_eq!(part.of.as_ref().unwrap().on.as_ref().unwrap().because, Because::Asked);
}

#[test]
fn a_chip_below_the_floor_is_told_with_both() {
    let index = FakeIndex::from_published(&published());
    let project = Project::asking(&index, "14.0", "==3.13.*", ROOTS);
    change(&project, "\"m1\"", "\"m3\"");
    project.run(&["lock"]).says(0, &["written"]);
    let locked = read(project.path(), &[], &Net::Never).unwrap();
    let macs = [mac("m2,15.0")];
    let all = sets(&locked, &Judged { macs: &macs, ..Judged::default() });
    let expected =
        "[below-floor] environment `default` is locked for macOS 14.0 on m3 and later, not for macOS 15.0 on m2";
    assert_eq!((told(&all.parts[0]), all.sets.len()), (vec![expected.to_owned()], 1));
}

/// The lock may have no file of a release for some Mac, though it has for the floor.
#[test]
fn a_release_without_a_file_is_named() {
    let index = FakeIndex::from_published(&published());
    let (project, _) = two_platforms(&index);
    // As if the wheel for the floor had become known to be for later ones.
    let text = project.lock().unwrap();
    let lines: String = text.lines().filter(|line| !line.contains(AT_14)).map(|line| format!("{line}\n")).collect();
    project.write("macml.lock", &lines);
    let locked = read(project.path(), &[], &Net::Never).unwrap();
    assert_eq!(locked.part.word, Word::Current, "{:?}", told(&locked.part));
    let macs = [mac("m1,14.2"), mac("m1,15.0")];
    let all = sets(&locked, &Judged { macs: &macs, ..Judged::default() });
    let said: Vec<_> = all.parts.iter().map(|part| (part.word, told(part))).collect();
    let lacks = |macos: &str| vec![format!("[no-wheel] `gpu` 1.0 has no locked file for macOS {macos}")];
    let expected = [(Word::Unfit, lacks("14.0")), (Word::Unfit, lacks("14.2")), (Word::Readable, vec![])];
    assert_eq!(said, expected);
    assert_eq!(all.parts[0].told[0].package.as_ref().unwrap().as_str(), "gpu");
    assert!(gpus(&all.sets)[0].ends_with("Floor: ") && gpus(&all.sets)[2].ends_with(AT_15));
}

#[test]
fn sets_of_named_environments_only() {
    let index = FakeIndex::from_published(&published());
    let project = project(&index, &format!("{ROOTS}[env.old.dependencies]\nbb = \"<2\"\n"));
    let locked = read(project.path(), &[], &Net::Never).unwrap();
    let names = |only: &[&str]| {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        let sets = sets(&locked, &Judged { only: &only, ..Judged::default() }).sets;
        sets.into_iter().map(|set| (set.of.env, set.releases.len())).collect::<Vec<_>>()
    };
    let (default, old) = (("default".to_owned(), 3), ("old".to_owned(), 1));
    assert_eq!((names(&[]), names(&["old"])), (vec![default, old.clone()], vec![old]));
    assert_eq!(locked.entries(&[]).count(), 2);
}

#[test]
fn what_is_at_a_link_that_is_not_macmls() {
    let index = FakeIndex::from_published(&published());
    let project = project(&index, ROOTS);
    let locked = read(project.path(), &[], &Net::Never).unwrap();
    let entry = &locked.lockfile.as_ref().unwrap().envs[0];
    let there = || match environment::built(&locked.folder, entry, &Homes::default()).unwrap() {
        There::Nothing(part) => *part,
        There::Tree(found) => panic!("{found:?}"),
    };
    assert_eq!((there().word, told(&there())), (Word::Absent, vec![]));
    project.write(".venv/pyvenv.cfg", "");
    let part = there();
    assert_eq!((part.word, part.told[0].finding.severity), (Word::Absent, Severity::Note));
    assert_eq!(
        told(&part),
        ["[environment-foreign] `.venv` is not macml's, so that nothing says what should be in it"]
    );
    assert!(part.told[0].finding.hint.as_ref().unwrap().contains("--prefix .venv"));
    std::fs::remove_dir_all(project.path().join(".venv")).unwrap();
    std::os::unix::fs::symlink(".macml/env/default/0123456789abcdef.3", project.path().join(".venv")).unwrap();
    assert!(told(&there())[0].starts_with("[environment-gone] `.venv` leads to `"), "{:?}", told(&there()));
}
