//! Plans of small wheels that are not there.

use super::*;
use crate::install::scripts::{EntryPoint, Kind};
use crate::install::wheel::About;

/// Makes an unpacked wheel; of each file its path and its bytes.
fn wheel(name: &str, files: &[(&str, &str)]) -> Unpacked {
    let info = format!("{name}-1.0.dist-info");
    let file = |path: &str, text: &str| CachedFile {
        path: path.to_owned(),
        size: text.len() as u64,
        sha256: Sha256::of(text.as_bytes()),
        executable: false,
        native: false,
        python_script: false,
    };
    let mut all: Vec<CachedFile> = files.iter().map(|(path, text)| file(path, text)).collect();
    all.extend(["METADATA", "RECORD"].map(|one| file(&format!("{info}/{one}"), name)));
    Unpacked {
        name: format!("{name}-1.0-py3-none-any.whl").parse().unwrap(),
        sha256: Sha256::of(name.as_bytes()),
        about: About {
            dist_info: info,
            data: Some(format!("{name}-1.0.data")),
            purelib: true,
            entry_points: Vec::new(),
            strange_tags: Vec::new(),
        },
        files: all.into_iter().map(Into::into).collect(),
        scripts: BTreeMap::new(),
        folder: PathBuf::from("/cache"),
    }
}

fn entry(name: &str, module: &str) -> EntryPoint {
    EntryPoint { kind: Kind::Console, name: name.to_owned(), module: module.to_owned(), object: "main".to_owned() }
}

fn layout(platform: Platform) -> Layout {
    let python = PythonMinor { major: 3, minor: 13 };
    Layout::venv(python, platform, Interpreter::new("/p/.venv/bin/python").unwrap())
}

fn planned(wheels: &[&Unpacked], platform: Platform, allowed: &[&str]) -> Result<Plan, PlanError> {
    let arriving: Vec<Arriving<'_>> =
        wheels.iter().map(|wheel| Arriving { wheel, requested: false, direct_url: None }).collect();
    plan(&arriving, &layout(platform), &allowed.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>())
}

fn text(plan: &Plan, path: &str) -> String {
    match &plan.files[path].source {
        Source::Text(bytes) | Source::Command(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        Source::Cached(file) => panic!("{path} is cached: {file:?}"),
    }
}

const SITE: &str = "lib/python3.13/site-packages";

#[test]
fn every_part_of_a_wheel_has_its_place() {
    let mut one = wheel(
        "one",
        &[
            ("one/a.py", "a"),
            ("one-1.0.data/purelib/p.py", "p"),
            ("one-1.0.data/platlib/q.so", "q"),
            ("one-1.0.data/scripts/run", "#!python\nrun()\n"),
            ("one-1.0.data/scripts/sh", "#!/bin/sh\n"),
            ("one-1.0.data/headers/one.h", "h"),
            ("one-1.0.data/data/share/man/one.1", "m"),
            ("one-1.0.dist-info/INSTALLER", "stranger"),
            ("one-1.0.dist-info/direct_url.json", "{}"),
        ],
    );
    one.scripts.insert("one-1.0.data/scripts/run".to_owned(), b"#!python\nrun()\n".to_vec());
    one.about.entry_points.push(entry("one", "one.cli"));
    let arriving = Arriving { wheel: &one, requested: true, direct_url: Some("{\"url\":1}".to_owned()) };
    let plan = plan(&[arriving], &layout(Platform::MacosArm64), &[]).unwrap();
    let paths: Vec<String> = plan.files.keys().map(|path| path.replace(SITE, "SITE")).collect();
    let expected = [
        "bin/one",
        "bin/run",
        "bin/sh",
        "include/site/python3.13/one/one.h",
        "SITE/one-1.0.dist-info/INSTALLER",
        "SITE/one-1.0.dist-info/METADATA",
        "SITE/one-1.0.dist-info/RECORD",
        "SITE/one-1.0.dist-info/REQUESTED",
        "SITE/one-1.0.dist-info/direct_url.json",
        "SITE/one/a.py",
        "SITE/p.py",
        "SITE/q.so",
        "share/man/one.1",
    ];
    assert_eq!(paths, expected);
    let own = |file: &str| format!("{SITE}/one-1.0.dist-info/{file}");
    assert_eq!(text(&plan, &own("INSTALLER")), "macml\n");
    assert_eq!(text(&plan, &own("REQUESTED")), "");
    assert_eq!(text(&plan, &own("direct_url.json")), "{\"url\":1}");
    assert_eq!(text(&plan, "bin/run"), "#!/p/.venv/bin/python\nrun()\n");
    assert!(text(&plan, "bin/one").contains("from one.cli import main"));
    // RECORD lists all of it, as seen from site-packages, and itself without a hash.
    let record = text(&plan, &own("RECORD"));
    let mut listed: Vec<&str> = record.lines().map(|line| line.split(',').next().unwrap()).collect();
    let mut seen: Vec<String> = plan.files.keys().map(|path| relative(path, SITE)).collect();
    listed.sort_unstable();
    seen.sort_unstable();
    assert_eq!(listed, seen);
    assert!(listed.contains(&"../../../bin/one") && listed.contains(&"../../../share/man/one.1"));
    assert!(record.contains("one-1.0.dist-info/RECORD,,\n"));
    assert_eq!(record.matches(",,").count(), 1);
}

#[test]
fn without_a_request_or_an_address_nobody_says_so() {
    let plan = planned(&[&wheel("one", &[])], Platform::MacosArm64, &[]).unwrap();
    let names: Vec<&str> = plan.files.keys().map(|path| path.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["INSTALLER", "METADATA", "RECORD"]);
}

#[test]
fn a_path_of_two_wheels_passes_with_equal_bytes_only() {
    let shared = |text: &'static str| [("pkg/same.py", "same"), ("pkg/x.py", text)];
    let (one, two) = (wheel("one", &shared("1")), wheel("two", &shared("2")));
    let error = planned(&[&one, &two], Platform::MacosArm64, &[]).unwrap_err();
    let expected = format!(
        "`one-1.0-py3-none-any.whl` and `two-1.0-py3-none-any.whl` both own `{SITE}/pkg/x.py`, with different bytes; \
         list a path in `[resolution] allow-overlap` if it does not matter which one is there"
    );
    assert_eq!(error.to_string(), expected);
    let long = format!("{SITE}/pkg/x.py");
    for allowed in ["pkg/x.py", long.as_str()] {
        let plan = planned(&[&one, &two], Platform::MacosArm64, &[allowed]).unwrap();
        assert_eq!(plan.files[&long].owner, 0);
        // Both RECORDs say what is there.
        let line = |wheel: &str| {
            let record = text(&plan, &format!("{SITE}/{wheel}-1.0.dist-info/RECORD"));
            record.lines().find(|line| line.starts_with("pkg/x.py,")).unwrap().to_owned()
        };
        assert_eq!(line("one"), line("two"));
    }
    assert!(planned(&[&one, &two], Platform::MacosArm64, &["x.py", "pkg"]).is_err());
}

#[test]
fn all_overlaps_are_told_and_the_first_by_name() {
    let files: Vec<(String, [&str; 2])> = (0..5).map(|at| (format!("t/{at}.py"), ["1", "2"])).collect();
    let side = |at: usize| files.iter().map(|(path, texts)| (path.as_str(), texts[at])).collect::<Vec<_>>();
    let error = planned(&[&wheel("one", &side(0)), &wheel("two", &side(1))], Platform::MacosArm64, &[]).unwrap_err();
    assert!(error.to_string().contains("; and 2 more; "), "{error}");
    assert!(matches!(error, PlanError::Overlaps(all) if all.len() == 5));
}

#[test]
fn a_command_of_two_wheels_is_one_when_it_starts_the_same() {
    let (mut one, mut two) = (wheel("one", &[]), wheel("two", &[]));
    one.about.entry_points.push(entry("board", "board.main"));
    two.about.entry_points.push(entry("board", "board.main"));
    assert!(planned(&[&one, &two], Platform::MacosArm64, &[]).is_ok());
    two.about.entry_points[0].module = "other".to_owned();
    let error = planned(&[&one, &two], Platform::MacosArm64, &[]).unwrap_err();
    assert!(error.to_string().contains("both own `bin/board`"), "{error}");
}

#[test]
fn names_that_a_mac_takes_for_one_are_refused_for_macs() {
    let check = |paths: [&str; 2], expected: &str| {
        let (one, two) = (wheel("one", &[(paths[0], "1")]), wheel("two", &[(paths[1], "2")]));
        let error = planned(&[&one, &two], Platform::MacosArm64, &[]).unwrap_err().to_string();
        assert_eq!(error.replace(SITE, "SITE").replace("-1.0-py3-none-any.whl", ""), expected);
        planned(&[&one, &two], Platform::LinuxX86_64, &[]).unwrap();
    };
    let same = "are one name on a Mac: they differ in case or accents only";
    check(["pkg/A.py", "pkg/a.py"], &format!("`SITE/pkg/a.py` of `two` and `SITE/pkg/A.py` of `one` {same}"));
    check(["PIL/x.py", "pil/y.py"], &format!("`SITE/pil/y.py` of `two` and `SITE/PIL` of `one` {same}"));
    check(["\u{e9}.py", "e\u{301}.py"], &format!("`SITE/e\u{301}.py` of `two` and `SITE/\u{e9}.py` of `one` {same}"));
}

#[test]
fn a_file_is_no_folder() {
    let (one, two) = (wheel("one", &[("pkg", "1")]), wheel("two", &[("pkg/x.py", "2")]));
    for wheels in [[&one, &two], [&two, &one]] {
        let error = planned(&wheels, Platform::LinuxX86_64, &[]).unwrap_err().to_string();
        assert!(error.contains("to be both a file and a folder"), "{error}");
    }
}

#[test]
fn what_the_environment_owns_no_wheel_replaces() {
    let check = |path: &str, platform, refused: bool| {
        let one = wheel("one", &[(path, "1")]);
        let error = planned(&[&one], platform, &[path]).err();
        assert_eq!(matches!(error, Some(PlanError::Reserved { .. })), refused, "{path}: {error:?}");
    };
    check("one-1.0.data/scripts/python", Platform::LinuxX86_64, true);
    check("one-1.0.data/scripts/Python3", Platform::MacosArm64, true);
    check("one-1.0.data/scripts/python3.13", Platform::MacosArm64, true);
    check("one-1.0.data/data/pyvenv.cfg", Platform::MacosArm64, true);
    check("one-1.0.data/data/bin/activate", Platform::MacosArm64, true);
    check("one-1.0.data/data/bin/activate/x", Platform::MacosArm64, true);
    check("one-1.0.data/scripts/pythons", Platform::MacosArm64, false);
}

#[test]
fn paths_are_seen_from_a_folder() {
    let check = |path: &str, folder: &str, expected: &str| assert_eq!(relative(path, folder), expected);
    check("lib/site/a/b", "lib/site", "a/b");
    check("bin/x", "lib/python3.13/site-packages", "../../../bin/x");
    check("lib/other/x", "lib/site", "../other/x");
    check("lib/site-packages/x", "lib/site", "../site-packages/x");
    check("x", "lib", "../x");
}
