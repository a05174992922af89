//! `macml why` over an index on loopback: who asks, who holds back, what is known, as text and JSON.

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;

fn wheels(tags: &[&str], requires: &[&str]) -> Rel {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Rel { wheel_tags: own(tags), requires: own(requires), ..Rel::default() }
}

/// torch with a release that its rule keeps from macOS 14, and packages around it.
fn index() -> FakeIndex {
    let published = Published::default()
        .with_release("torch", "2.13.0", wheels(&["cp313-cp313-macosx_14_0_arm64"], &["sympy>=1"]))
        .with_release("torch", "2.14.1", wheels(&["cp313-cp313-macosx_14_0_arm64"], &["sympy>=1,<2"]))
        .with_release("torch", "2.15.0", wheels(&["cp313-cp313-macosx_14_0_arm64"], &["sympy>=1,<2"]))
        .with("sympy", "1.5", &[])
        .with("sympy", "2.0", &[])
        .with_release("late", "1.0", wheels(&["py3-none-macosx_12_0_arm64"], &[]))
        .with_release("late", "2.0", wheels(&["py3-none-macosx_15_0_arm64"], &[]))
        .with("free", "1.0", &[]);
    FakeIndex::from_published(&published)
}

const ROOTS: &str = "[frameworks]\ntorch = \">=2.13\"\n[dependencies]\nlate = \"*\"\nfree = \"*\"\n";

fn project(index: &FakeIndex, gpu: &str) -> Project {
    let project = Project::asking(index, "14.0", "==3.13.*", ROOTS);
    let manifest = std::fs::read_to_string(project.path().join("macml.toml")).unwrap();
    project.write("macml.toml", &manifest.replace("optional", gpu));
    project
}

#[test]
fn it_names_the_line_the_floor_and_the_rule() {
    let index = index();
    let project = project(&index, "required");
    let run = project.run(&["why", "torch"]);
    let (head, known) = run.stdout.split_once("\n  known problem").expect("2.14.1 has known problems");
    // The words of the rule are its own; better ones break nothing here.
    let ground = macml::knowledge::Knowledge::built_in().ground("torch-2.15-mps-needs-macos-15").unwrap();
    let wanted = "\
torch 2.14.1 in default on macos-arm64
  asked for by macml.toml:7: torch >=2.13
  2.15.0 exists; held back: needs macOS 15 for the GPU; your floor is 14.0 (rule `torch-2.15-mps-needs-macos-15`) (macml.toml:3)
  by ";
    assert_eq!(head, wanted.to_owned() + &ground);
    assert!(known.contains("\n  to know: MPS refuses float64"), "{known}");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(project.lock(), None, "nothing is written");

    project
        .run(&["why", "late"])
        .says(0, &["2.0 exists; held back: needs macOS 15; your floor is 14.0 (macml.toml:3)"]);
    project.run(&["why", "free"]).says(0, &["asked for by macml.toml:10: free\n  it is the newest release\n"]);
    let run = project.run(&["why", "sympy"]);
    run.says(
        0,
        &["asked for by torch 2.14.1: >=1, <2\n", "2.0 exists; held back: `torch` 2.14.1 asks for `sympy` >=1, <2\n"],
    );
}

#[test]
fn knowledge_of_later_macs_is_told_as_such() {
    let index = index();
    let project = project(&index, "required");
    project.write(
        "macml.toml",
        &std::fs::read_to_string(project.path().join("macml.toml")).unwrap().replace(">=2.13", "==2.13.0"),
    );
    let run = project.run(&["why", "torch"]);
    run.says(0, &["2.15.0 exists; held back: your line asks for `==2.13.0` (macml.toml:7)"]);
    run.says(0, &["known problem on macOS >=27.0, a crash: ", "Prefer torch >=2.14."]);
    let lock = project.run(&["lock"]);
    lock.never_says(&["macOS 27"]);
    lock.says(0, &["known problem of torch 2.13.0, wrong results: "]);
}

#[test]
fn what_is_not_there_is_a_no() {
    let index = index();
    let project = project(&index, "optional");
    let run = project.run(&["why", "sympi", "free"]);
    assert_eq!(run.code, 1);
    run.says(1, &["free 1.0 in default", "`sympi` is in no environment: nothing asks for it", "did you mean `sympy`?"]);
    project.run(&["why", "free", "--env", "no"]).says(2, &["no environment `no`"]);
    project.run(&["why"]).says(2, &["PACKAGE"]);
    let run = project.run(&["why", "torch", "--output-format", "json"]);
    let report = run.json_as("why.schema.json");
    let torch = &report["packages"][0];
    assert_eq!((&torch["version"], &torch["lines"][0]["line"]), (&"2.15.0".into(), &7.into()), "{report}");
    let known = torch["known"].as_array().unwrap();
    let rules = known.iter().map(|hit| hit["rule"].as_str().unwrap()).collect::<Vec<_>>();
    assert!(rules.contains(&"torch-2.15-mps-needs-macos-15"), "the GPU is optional, so it is told: {rules:?}");
    let run = project.run(&["why", "sympi", "--output-format", "json"]);
    assert_eq!((run.code, run.json_as("why.schema.json")["exit-code"].as_u64()), (1, Some(1)));
}

#[test]
fn json_says_who_holds_back() {
    let index = index();
    let project = project(&index, "required");
    let report = project.run(&["why", "torch", "late", "sympy", "free", "--output-format", "json"]);
    let report = report.json_as("why.schema.json");
    let by = |at: usize| {
        let held = &report["packages"][at]["held"];
        (held["by"].as_str().map(str::to_owned), held["name"].as_str().map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(by(0), (some("rule"), some("torch-2.15-mps-needs-macos-15")));
    assert_eq!(by(1), (some("floor"), None));
    assert_eq!(by(2), (some("package"), some("torch")));
    assert_eq!(by(3), (None, None));
    assert_eq!(report["packages"][2]["asked-by"][0]["wants"], ">=1, <2");
}

#[test]
fn a_manifest_without_an_answer_says_so() {
    let index = index();
    let project = Project::asking(&index, "14.0", "==3.13.*", "[frameworks]\ntorch = \">=3\"\n");
    let run = project.run(&["why", "torch"]);
    run.says(1, &["no set of packages", "there is no `torch` >=3"]);
    let run = project.run(&["why", "torch", "--output-format", "json"]);
    let report = run.json_as("why.schema.json");
    assert_eq!((run.code, &report["error"]["kind"]), (1, &"unsatisfiable".into()));
}

#[test]
fn a_package_asked_about_in_two_spellings_is_told_of_once() {
    let index = index();
    let project = project(&index, "required");
    let once = project.run(&["why", "sympy", "free"]);
    let twice = project.run(&["why", "SymPy", "free", "sympy"]);
    assert_eq!((twice.code, &twice.stdout), (0, &once.stdout));
    assert_eq!(once.stdout.matches("sympy 1.5 in").count(), 1);
}

#[test]
fn what_the_lock_keeps_back_names_who_asks_for_it_there() {
    let index = index();
    let project = project(&index, "optional");
    project.write(
        "macml.toml",
        &std::fs::read_to_string(project.path().join("macml.toml")).unwrap().replace(">=2.13", "==2.14.1"),
    );
    project.run(&["lock"]).says(0, &["macml.lock written"]);
    // The lock prefers what it has, so that torch is not held by its line any more.
    let manifest = std::fs::read_to_string(project.path().join("macml.toml")).unwrap();
    project.write("macml.toml", &manifest.replace("==2.14.1", ">=2.13"));
    project.run(&["lock"]);
    project.run(&["why", "sympy"]).says(0, &["2.0 exists; held back: `torch` 2.14.1 asks for >=1, <2\n"]);
}

#[test]
fn what_a_gpu_out_of_reach_does_wrong_is_of_later_macs() {
    let published =
        Published::default().with_release("torch", "2.11.0", wheels(&["cp313-cp313-macosx_11_0_arm64"], &[]));
    let index = FakeIndex::from_published(&published);
    let project = Project::asking(&index, "13.0", "==3.13.*", "[frameworks]\ntorch = \"*\"\n");
    let run = project.run(&["why", "torch"]);
    run.says(0, &["torch 2.11.0 needs macOS >=14.0 for the GPU", "known problem on "]);
    run.never_says(&["known problem, "]);
}

#[test]
fn the_python_has_its_reason_too() {
    let published = Published::default()
        .with_release("old", "1.0", wheels(&["cp312-cp312-macosx_11_0_arm64"], &[]))
        .with("free", "1.0", &[]);
    let index = FakeIndex::from_published(&published);
    let project = Project::asking(&index, "14.0", ">=3.11,<3.14", "[dependencies]\nold = \"*\"\nfree = \"*\"\n");
    let wanted = "\
python 3.12 in default on macos-arm64
  asked for by macml.toml:5: python >=3.11, <3.14
  3.13 exists; held back: `old` 1.0: no wheel for Python 3.13; newest is 3.12
";
    let run = project.run(&["why", "python"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, wanted), "{}", run.stderr);
    let report = project.run(&["why", "python", "--output-format", "json"]).json_as("why.schema.json");
    assert_eq!(report["packages"][0]["held"]["name"], "old");
}
