//! `macml matrix` over an index on loopback: the table, the JSON, the page, and what is kept for the next run.

use std::path::PathBuf;

use macml::knowledge::Knowledge;
use macml::pep::Sha256;

use crate::real_answers::live;
use crate::support::page::well_formed;
use crate::support::project::Project;
use crate::support::project::Run;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;

/// A release with wheels of these tags.
fn wheels(tags: &[&str], requires: &[&str]) -> Rel {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Rel { wheel_tags: own(tags), requires: own(requires), ..Rel::default() }
}

/// `fast` 2.0 needs macOS 14 and Python 3.13; `slow` needs an older `fast`.
fn published() -> Published {
    let old = ["cp312-cp312-macosx_12_0_arm64", "cp313-cp313-macosx_12_0_arm64"];
    Published::default()
        .with_release("fast", "2.0", wheels(&["cp313-cp313-macosx_14_0_arm64"], &[]))
        .with_release("fast", "1.0", wheels(&old, &[]))
        .with("slow", "1.0", &["fast<2"])
        .with_release("late", "1.0", wheels(&["cp312-cp312-macosx_14_0_arm64", "cp313-cp313-macosx_12_0_arm64"], &[]))
        .with_release("never", "1.0", wheels(&["cp37-cp37m-macosx_12_0_arm64"], &[]))
}

/// A folder without macml.toml that reaches `index` in the place of PyPI.
fn asking(index: &FakeIndex) -> Project {
    let project = Project::asking(index, "14.0", ">=3.12", "");
    std::fs::remove_file(project.path().join("macml.toml")).unwrap();
    project
}

fn ask(project: &Project, words: &[&str]) -> Run {
    project.run(&[&["matrix"], words].concat())
}

fn json(run: &Run) -> serde_json::Value {
    run.json_as("matrix.schema.json")
}

/// Returns what a cell says of a package.
fn version(table: &serde_json::Value, python: &str, macos: &str, name: &str) -> String {
    let cells = table["cells"].as_array().unwrap();
    let cell = cells.iter().find(|cell| cell["python"] == python && cell["macos"] == macos).unwrap();
    cell["versions"][name].as_str().unwrap_or("none").to_owned()
}

#[test]
fn the_table_has_a_mark_in_each_cell_and_says_why_others_are_empty() {
    let index = FakeIndex::from_published(&published());
    let project = asking(&index);
    let run = ask(&project, &["fast"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let wanted = "\
fast
newest working set by Python and lowest macOS; GPU required, chip m1 and later

Python  macOS     12.0-13.0     14.0-27.0
3.12    fast   ok 1.0        ok 1.0
3.13    fast   ok 1.0        ok 2.0

ok  solved, and nothing is known against it
nothing on Python 3.8-3.11: `fast` 2.0: no wheel for this Python; oldest is 3.13
nothing on Python 3.14-3.15: `fast` 1.0 to 2.0: no wheel for this Python; newest
is 3.13
";
    assert_eq!(run.stdout, wanted);
    let run = ask(&project, &["fast>=2", "--python", ">=3.12,<3.14", "--macos", "13.0,14.0", "--color", "never"]);
    run.says(0, &["nothing on Python 3.12: ", "nothing on macOS 13.0: `fast` 2.0: needs macOS 14\n"]);
    let run = ask(&project, &["late", "--python", ">=3.12,<3.14", "--macos", "13.0,14.0"]);
    run.says(0, &["\n3.12    late   -  a     ok 1.0\n", "\n-   no set\n  a   `late` 1.0: needs macOS 14\n"]);
    let colored = ask(&project, &["fast", "--python", "3.13", "--color", "always"]);
    assert!(colored.stdout.contains("\u{1b}[1m\u{1b}[32mok\u{1b}[0m 1.0"), "{:?}", colored.stdout);
}

#[test]
fn packages_named_together_are_one_set() {
    let index = FakeIndex::from_published(&published());
    let project = asking(&index);
    let words = ["fast", "slow", "--python", "3.13", "--macos", "14.0"];
    let run = ask(&project, &words);
    run.says(0, &["Python  macOS     14.0\n3.13    fast   ok 1.0\n        slow      1.0\n"]);
    let json = json(&ask(&project, &[&words[..], &["--output-format", "json"]].concat()));
    assert_eq!((&json["verdict"], &json["exit-code"], &json["schema"]), (&"made".into(), &0.into(), &1.into()));
    let table = &json["tables"][0];
    assert_eq!(version(table, "3.13", "14.0", "fast"), "1.0");
    assert_eq!(table["cells"][0]["mark"], "ok");
    assert_eq!(table["cells"][0]["set"], serde_json::json!({"fast": "1.0", "slow": "1.0"}));
    let run = ask(&project, &["fast>=2", "slow", "--python", "3.13", "--macos", "14.0", "--output-format", "json"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let json = self::json(&run);
    assert_eq!(json["verdict"], "unsatisfiable");
    let cell = &json["tables"][0]["cells"][0];
    assert_eq!((&cell["mark"], &cell["versions"]), (&"none".into(), &serde_json::json!({})));
    assert!(cell["reasons"][0].as_str().unwrap().contains("asks for `fast` <2"), "{cell}");
}

#[test]
fn where_nothing_works_the_answer_is_no() {
    let index = FakeIndex::from_published(&published());
    let run = ask(&asking(&index), &["never"]);
    run.says(1, &["nothing on Python 3.8-3.15: `never` 1.0: no wheel for this Python; newest is 3.7\n"]);
    assert_eq!(run.stderr, "");
}

#[test]
fn a_name_that_no_index_has_is_one_error() {
    let index = FakeIndex::from_published(&published());
    let project = asking(&index);
    ask(&project, &["fast", "torchvison"])
        .fails(1, "error: there is no package `torchvison` on `pypi`; did you mean `torchvision`?");
    let json = json(&ask(&project, &["torchvison", "--output-format", "json"]));
    assert_eq!((&json["verdict"], &json["error"]["kind"]), (&"unsatisfiable".into(), &"unsatisfiable".into()));
}

#[test]
fn mistakes_in_words_are_told_with_2() {
    let index = FakeIndex::from_published(&published());
    let project = asking(&index);
    let check = |words: &[&str], part: &str| {
        let run = ask(&project, words);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{words:?}: {}", run.stderr);
    };
    check(&["fast 2"], "`fast 2` is not a dependency specifier");
    check(&["fast @ https://x.example/fast-1.0-py3-none-any.whl"], "names one file");
    check(&["fast", "--python", ">=4"], "no released Python is in `>=4`");
    check(&["fast", "--python", "three"], "`three` is not a version specifier");
    check(&["fast", "--macos", "14.0,16.0"], "macOS 16.0 never existed");
    check(&["fast", "--chip", "m1-mini"], "`m1-mini` is not a chip");
    check(&["fast", "--env", "tf"], "there is no macml.toml whose environment could be shown");
    check(&["fast", "--html", "-", "--output-format", "json"], "cannot both go to stdout");
    check(&["fast", "--offline"], "the network is switched off");
    check(&["fast", "--html", "."], "could not write `.`: it is a folder");
    project.write("README.md", "# mine\n");
    check(&["fast", "--html", "README.md"], "`README.md` is there, and is no page of macml");
    assert_eq!(std::fs::read_to_string(project.path().join("README.md")).unwrap(), "# mine\n");
    assert!(index.requests().is_empty());
}

#[test]
fn without_names_the_frameworks_of_the_manifest_are_shown_with_its_settings() {
    let published = Published::default()
        .with_release("keras", "2.0", wheels(&["cp313-cp313-macosx_14_0_arm64"], &[]))
        .with_release("keras", "1.0", wheels(&["cp313-cp313-macosx_12_0_arm64"], &[]))
        .with("slow", "1.0", &["keras<2"]);
    let index = FakeIndex::from_published(&published);
    let manifest = "[frameworks]\nkeras = \"*\"\n[dependencies]\nslow = \"*\"\n[env.alone.frameworks]\nkeras = \"*\"\n\
                    [env.bare.dependencies]\nslow = \"*\"\n";
    let project = Project::asking(&index, "13.3", ">=3.12", manifest);
    let run = ask(&project, &["--output-format", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report = json(&run);
    let table = &report["tables"][0];
    assert_eq!((&table["packages"], &table["gpu"]), (&serde_json::json!(["keras"]), &"optional".into()));
    let floors: Vec<&str> = table["macos"].as_array().unwrap().iter().map(|floor| floor.as_str().unwrap()).collect();
    assert!(["13.0", "13.3", "14.0", "27.0"].iter().all(|floor| floors.contains(floor)), "{floors:?}");
    assert_eq!(version(table, "3.13", "14.0", "keras"), "1.0", "`slow` takes part");
    let alone = json(&ask(&project, &["--env", "alone", "--gpu", "required", "--output-format", "json"]));
    let table = &alone["tables"][0];
    assert_eq!((version(table, "3.13", "14.0", "keras"), &table["gpu"]), ("2.0".to_owned(), &"required".into()));
    ask(&project, &["--env", "bare"])
        .fails(2, "error: environment `bare` has no frameworks\n\nhint: name the packages: `macml matrix FRAMEWORK…`");
    ask(&project, &["--env", "alon"])
        .fails(2, "error: macml.toml has no environment `alon`\n\nhint: did you mean `alone`?");
    assert_eq!(project.lock(), None);
}

/// What the knowledge says of a set is marked, whatever the solver thinks of it.
#[test]
fn known_problems_and_what_is_later_than_the_knowledge_are_marked() {
    let published = Published::default().with("torch", "99.0", &[]).with("tensorflow", "2.19.1", &[]).with(
        "tensorflow-metal",
        "1.2.0",
        &[],
    );
    let index = FakeIndex::from_published(&published);
    let project = asking(&index);
    let one = ["--python", "3.12", "--macos", "15.0"];
    let words = |names: &[&'static str]| [names, &one[..]].concat();
    let run = ask(&project, &words(&["torch"]));
    run.says(0, &["\n?   torch 99.0: nothing is known of it; the knowledge of "]);
    // Problems without an end may be known all the same, and go before.
    assert!(["torch  ?  99.0\n", " 99.0?\n"].iter().any(|one| run.stdout.contains(one)), "{}", run.stdout);
    run.never_says(&["ok  "]);
    let report = json(&ask(&project, &words(&["torch", "--output-format", "json"])));
    let cell = &report["tables"][0]["cells"][0];
    assert_eq!(cell["unknown"], serde_json::json!(["torch"]));
    assert_ne!(cell["mark"], "ok");
    assert_eq!(report["tables"][0]["unknown"][0]["versions"], serde_json::json!(["99.0"]));
    let run = ask(&project, &words(&["tensorflow", "--output-format", "json"]));
    let report = json(&run);
    let (table, cell) = (&report["tables"][0], &report["tables"][0]["cells"][0]);
    assert_eq!(cell["mark"], "problems", "{cell}");
    let ids: Vec<&str> = cell["problems"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let knowledge = Knowledge::built_in();
    assert!(ids.iter().all(|id| knowledge.rule(id).is_some_and(|rule| rule.problem().is_some())), "{ids:?}");
    assert_eq!(table["problems"].as_array().unwrap().len(), ids.len());
    let run = ask(&project, &words(&["tensorflow"]));
    run.says(0, &[&format!("tensorflow  !{} 2.19.1\n", ids.len()), &format!("\n!   `{}`: ", ids[0]), "on macOS 15.0)"]);
}

#[test]
fn the_page_stands_alone_and_is_written_whole() {
    let index = FakeIndex::from_published(&published());
    let project = asking(&index);
    let words = ["fast>=1", "slow", "--python", ">=3.12,<3.15"];
    let run = ask(&project, &[&words[..], &["--html", "out/page.html"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.ends_with("\nout/page.html written\n"), "{}", run.stdout);
    let page = std::fs::read_to_string(project.path().join("out/page.html")).unwrap();
    well_formed(&page);
    for part in [
        "<caption>",
        "<th scope=\"row\">3.13</th>",
        "<th scope=\"col\">macOS 12.0\u{2013}27.0</th>",
        "<td class=\"fine\">\n<span class=\"mark\">ok</span>",
        "<li><span>fast</span> <b>1.0</b></li>",
        "fast &gt;=1, slow",
        "Python 3.14: <code>fast</code>",
    ] {
        assert!(page.contains(part), "`{part}` is not in\n{page}");
    }
    let run = ask(&project, &[&words[..], &["--html", "-"]].concat());
    assert_eq!((run.code, run.stdout.as_str()), (0, page.as_str()));

    // A cell without a set says why, and opens without a script.
    let run = ask(&project, &["late", "--python", ">=3.12,<3.14", "--macos", "13.0,14.0", "--html", "-"]);
    well_formed(&run.stdout);
    let cell = "<td class=\"refused\">\n<details><summary><span class=\"mark\">-</span> none: <code>late</code> 1.0: needs \
                macOS 14</summary>\n<ul>\n<li><code>late</code> 1.0: needs macOS 14; your floor is 13.0</li>";
    assert!(run.stdout.contains(cell), "{}", run.stdout);
    let run = ask(&project, &["fast<2", "slow<1", "--html", "-"]);
    assert_eq!(run.code, 1);
    well_formed(&run.stdout);
    assert!(run.stdout.contains("slow</code> &lt;1"), "{}", run.stdout);
}

/// Lists the answers kept in a project's cache.
fn kept(project: &Project) -> Vec<PathBuf> {
    let folder = project.path().join(".cache/macml/matrix-v1");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_second_run_asks_the_index_nothing() {
    let index = FakeIndex::from_published(&published());
    // Pages are asked for again each time, so that a solve is seen.
    index.behave(|behaviour| behaviour.cache_control = Some("max-age=0".to_owned()));
    let project = asking(&index);
    let words = ["fast", "--python", "3.13", "--macos", "13.0,14.0"];
    let first = ask(&project, &words);
    let asked = index.requests().len();
    let check = |words: &[&str], asks: bool| {
        let before = index.requests().len();
        let run = ask(&project, words);
        assert_eq!((run.code, &run.stdout), (0, &first.stdout), "{}", run.stderr);
        assert_eq!(index.requests().len() > before, asks, "{words:?}");
    };
    assert!(asked > 0);
    assert_eq!(kept(&project).len(), 2);
    check(&words, false);
    check(&[&words[..], &["--refresh"]].concat(), true);
    check(&[&words[..], &["--offline"]].concat(), false);

    // What is damaged, foreign or too old does not exist.
    for file in kept(&project) {
        let text = std::fs::read(&file).unwrap();
        std::fs::write(&file, &text[..text.len() - 3]).unwrap();
    }
    check(&words, true);
    kept(&project).iter().for_each(|file| std::fs::write(file, b"\xff\xfe not ours").unwrap());
    check(&words, true);
    for file in kept(&project) {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut body: serde_json::Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
        body["made"] = (body["made"].as_u64().unwrap() - 600).into();
        let body = body.to_string();
        std::fs::write(&file, format!("{}\n{body}", Sha256::of(body.as_bytes()))).unwrap();
    }
    check(&[&words[..], &["--offline"]].concat(), false);
    check(&words, true);
    check(&words, false);

    // Another question has other answers.
    let before = index.requests().len();
    ask(&project, &["fast<2", "--python", "3.13", "--macos", "13.0,14.0"]);
    assert!(index.requests().len() > before);
    assert_eq!(kept(&project).len(), 4);

    drop(index);
    let run = ask(&project, &["slow", "--refresh"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}

/// The floor decides which torch has wheels and computes on the GPU.
#[test]
fn torch_at_two_floors_of_the_real_index() {
    if !live() {
        return;
    }
    let project = Project::empty();
    let proxies = std::env::vars().filter(|(name, _)| name.to_ascii_lowercase().ends_with("_proxy"));
    let vars: Vec<(String, String)> = proxies.collect();
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let minors = |gpu: &str| {
        let words =
            ["matrix", "torch", "--gpu", gpu, "--python", "3.12", "--macos", "13.0,15.0", "--output-format", "json"];
        let run = project.run_with(&vars, &words);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let report = json(&run);
        ["13.0", "15.0"].map(|macos| {
            let text = version(&report["tables"][0], "3.12", macos, "torch");
            text.split('.').nth(1).unwrap().parse::<u64>().unwrap()
        })
    };
    let ([required, new], [optional, _]) = (minors("required"), minors("optional"));
    assert_eq!(optional, 11, "the last with wheels for macOS 13");
    assert_eq!(required, 8, "the last whose MPS works there");
    assert!(new >= 15);
}
