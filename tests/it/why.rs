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
